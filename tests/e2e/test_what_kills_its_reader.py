"""A file, or a source, that ends the process that reads it: two processes die of it, the third one goes on without."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.attempts import FOLDER, _decode, _encode, attempt, read_rows_apart
from cumulus_ops.append.checks import read_rows
from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import put_aside, retry_put_aside
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.processes import ChildDied, ChildFailed, run_apart
from cumulus_ops.project.settings import LEAST_MEMORY, LandingSettings, Project, SourceSettings
from tests.support.children import start, wait
from tests.support.projects import make_project
from tests.unit.sources.test_landing import SALE, STOCK, aside, ids, land, lines, take_all
from tests.unit.sources.test_named_sources import NOON, project_with

#: Reads a file again and again, each time with another bit turned over, and says which.
TURN_BITS = """
import sys
from pathlib import Path
from cumulus_ops.append.checks import read_rows
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
sale = Relation("sale", (Column("id", INT), Column("shop", STRING.with_null())))
whole, file = Path(sys.argv[1]).read_bytes(), Path(sys.argv[1])
footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for bit in range(8 * footer, 8 * len(whole)):
    damaged = bytearray(whole)
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    try:
        list(read_rows(sale, file, 1000))
    except Exception:
        pass
"""


@pytest.fixture(scope="module")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A Parquet file with one wrong bit in its footer, for which the library throws where nobody catches."""
    file = tmp_path_factory.mktemp("deadly") / "sale.parquet"
    pq.write_table(pa.table({"op": ["I"], "event": [1], "id": [9], "shop": ["x"]}), file)
    died = subprocess.run([sys.executable, "-c", TURN_BITS, file], capture_output=True, check=False)
    if died.returncode == 0:
        pytest.skip("this version of the library lives through every bit")
    assert died.returncode == -signal.SIGABRT
    return file.read_bytes()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    views = {"n": "SELECT COUNT(*) AS n FROM sale, stock WHERE sale.id = stock.id"}
    made = make_project(tmp_path, (SALE, STOCK), views=views, coordinators=1)
    initialise(made)
    return made


def work(project: Project) -> None:
    """A process that takes all there is."""
    with open_runtime(project) as rt:
        take_all(rt)


def marks(project: Project) -> list[str]:
    return os.listdir(project.state / FOLDER)


def test_a_damaged_footer_is_set_aside_and_what_is_behind_it_goes_on(project: Project, deadly: bytes) -> None:
    drop = land(project, "d1", stock__csv="op,event,id\nI,1,1\n", sale__ndjson="")
    (drop / "sale.ndjson").unlink()
    (drop / "sale.parquet").write_bytes(deadly)
    land(project, "d2", sale__ndjson=lines((2, 8)))
    assert [wait(start(work, project)) for _ in range(3)] == [-signal.SIGABRT, -signal.SIGABRT, 0]
    with open_runtime(project) as rt:
        (file,) = put_aside(rt).files
        assert (file.kind, Path(file.place).name, file.relation) == ("kills-reader", "sale.parquet", "sale")
        assert "SIGABRT" in file.reason
        assert (ids(rt), [b.events for b in rt.catalog.log.batches()], marks(project)) == ([8], [1, 1], [])
        with pytest.raises(InputProblem, match="kills-reader"):  # and this process lives
            retry_put_aside(rt, [file.label])
        pq.write_table(pa.table({"op": ["I"], "event": [1], "id": [9], "shop": ["x"]}), drop / "sale.parquet")
        assert [done.accepted for done in retry_put_aside(rt, [file.label])] == [1]
        assert ids(rt) == [8, 9]


def test_a_good_delivery_of_which_processes_are_killed_is_taken_all_the_same(project: Project) -> None:
    """It is read by another process then, and what comes of it is the same; also what is said of its bad lines. Here two attempts have begun, and do not end."""
    drop = land(project, "d1", sale__csv="op,event,id,shop\nI,1,7,x\nI,2,zwei,y\nI,3\nI,4,8,\n")
    assert drop.exists()
    what = (project.state, 0, "", "d1", None)
    with open_runtime(project) as rt, attempt(*what), attempt(*what):
        assert len(marks(project)) == 1
        take_all(rt)
        assert (ids(rt), aside(rt), marks(project)) == ([7, 8], [], [])
        assert put_aside(rt).reasons == {"not-an-int": 1, "malformed-line": 1}


class Deadly:
    """A source that kills who asks it, or who reads what it hands over."""

    where: ClassVar[str] = os.environ.get("DEADLY", "")

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name

    def poll(self, position: str | None) -> Iterator[Delivery]:
        if os.environ["DEADLY"] == "poll":
            os.abort()
        if position is None:
            yield Delivery(self.name, "first", NOON, lambda: [Part("number", "first", self.read)], None, "1")

    def read(self) -> Iterator[RawFile]:
        if os.environ["DEADLY"] == "read":
            os.abort()
        yield RawFile(pa.table({"n": [5], "op": ["I"], "event": [1]}), np.arange(1))

    def close(self) -> None:
        pass


@pytest.mark.parametrize("where", ["poll", "read"])
def test_a_source_that_kills_stands_still_and_the_rest_goes_on(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLY", where)
    project = project_with(tmp_path, f"bank: {{kind: '{__name__}:Deadly', coordinator: 0}}\n")
    project = dataclasses.replace(project, coordinators=1)
    initialise(project)
    land(project, "d1", number__csv="op,event,n\nI,1,7\n")
    what = (project.state, "poll", "bank") if where == "poll" else (project.state, 0, "bank", "first", None)
    with open_runtime(project) as rt, attempt(*what), attempt(*what):
        take_all(rt)
        (standing,) = rt.catalog.problems.standing_sources()
        assert "kills-reader" in standing.problem
        assert "SIGABRT" in standing.problem
        assert [b.events for b in rt.catalog.log.batches()] == [1]
    monkeypatch.setenv("DEADLY", "")  # it is mended
    with open_runtime(project) as rt:
        while run_minibatch(rt, 0) is not None:
            pass
        assert [b.events for b in rt.catalog.log.batches()] == [1, 1]
        assert (rt.sources.problems, marks(project)) == ({}, [])


def test_an_attempt_is_counted_until_somebody_sees_its_end(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), attempt(tmp_path, 0, "d1") as before:
            before //= before
    with attempt(tmp_path, 0, "d1"), attempt(tmp_path, 0, "d1") as before, attempt(tmp_path, 1, "d1") as other:
        assert (before, other) == (1, 0)
    assert os.listdir(tmp_path / FOLDER) == []


def test_what_is_read_apart_is_what_is_read_here(tmp_path: Path) -> None:
    file = tmp_path / "sale.csv"
    file.write_text('op,event,id,shop,more\nI,1,7,x,1\nI,2\nI,3,8,"a\n"\nI,4,9,,\n')
    other = tmp_path / "sale.parquet"
    pq.write_table(pa.table({"event": range(9), "id": range(9), "shop": ["x"] * 9}), other)
    given = (3, LandingSettings(ops="insert"), LEAST_MEMORY)
    for path in (file, other):
        pieces = list(read_rows(SALE, path, *given))
        apart = list(read_rows_apart(SALE, path, *given)) if path == file else pieces
        for found in ([_decode(_encode(raw)) for raw in pieces], apart):
            assert [r.columns for r in found] == [r.columns for r in pieces]
            assert [r.row.tolist() for r in found] == [r.row.tolist() for r in pieces]
            assert [(r.ignored, r.malformed, r.ops) for r in found] == [(r.ignored, r.malformed, r.ops) for r in pieces]
    file.write_text("x,y\n")
    with pytest.raises(InputProblem) as here:
        list(read_rows(SALE, file, *given))
    with pytest.raises(InputProblem) as there:
        list(read_rows_apart(SALE, file, *given))
    assert str(there.value) == str(here.value)


def test_a_child_tells_its_end() -> None:
    call = "tests.support.speaking:speak"
    assert list(run_apart(call, [b"a", b"", b"x" * 100_000], "")) == [b"a", b"", b"x" * 100_000]
    with pytest.raises(NotYet, match=r"here: wait \[wait\]"):
        list(run_apart(call, [], "ours"))
    with pytest.raises(ChildFailed, match="ZeroDivisionError: oh") as failed:
        list(run_apart(call, [], "other"))
    assert "in speak" in failed.value.__notes__[0]
    with pytest.raises(ChildDied, match="memory"):
        list(run_apart(call, [], "all", data_bytes=1 << 32))
    with pytest.raises(ChildFailed, match="before it had begun"):
        list(run_apart("tests.support.speaking:silence"))
    several = run_apart(call, [b"a", b"b"], "")
    assert next(several) == b"a"
    several.close()  # who asks loses interest
