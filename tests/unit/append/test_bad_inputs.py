"""A corpus of bad files goes through append: no traceback, and of every row it is known what became of it."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import os
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.checks import read_relation
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.files import csv_files
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LEAST_MEMORY
from cumulus_ops.sources.drops import name_problem
from cumulus_ops.sources.landing import drop_delivery
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.bad_inputs import ITEMS, BadInput, bad_inputs, csv, lines
from tests.support.projects import make_project
from tests.support.sampling import sampled

CORPUS = bad_inputs()
OTHER = Relation("other", (Column("x", INT),))


def outcome(path: Path, memory: int = LEAST_MEMORY) -> tuple[int, int] | str:
    """Accepted and rejected rows, or the kind of problem for which the file is set aside."""
    accepted = rejected = 0
    try:
        for events in read_relation(ITEMS, path, "0/items", 1000, memory=memory):
            accepted += len(events.rows)
            rejected += len(events.rejected)
            assert None not in events.rejected["kind"].to_pylist() + events.rejected["reason"].to_pylist()
    except InputProblem as problem:
        return problem.kind if problem.hint and problem.place == str(path) else f"{problem} without a hint or its place"
    return accepted, rejected


def test_the_corpus_is_large_and_its_names_are_different() -> None:
    assert len(CORPUS) == len({case.name for case in CORPUS}) >= 200


def test_damaged_and_large_files_lose_nothing_in_silence(tmp_path: Path) -> None:
    wrong = {
        case.name: found
        for case in CORPUS
        if not is_for_append(case) and (found := _unexpected(tmp_path, case)) is not None
    }
    assert wrong == {}


def is_for_append(case: BadInput) -> bool:
    return case.accepted != -1 and len(case.data) <= 1 << 20


def _unexpected(folder: Path, case: BadInput) -> object:
    """What became of a file, if that is not what should."""
    path = folder / f"items{case.suffix}"
    path.write_bytes(case.data)
    found = outcome(path)
    path.unlink()
    if isinstance(found, str):
        return found if case.accepted not in (None, -1) else None
    if case.accepted == -1:  # damaged: whatever can be read is accepted or rejected
        return None if sum(found) == case.rows else found
    return None if found == (case.accepted, case.rows - (case.accepted or 0)) else found


@pytest.mark.parametrize("begin", sampled(range(4), 2))
def test_a_bad_file_holds_up_nobody(tmp_path: Path, begin: int) -> None:
    """Through append: a drop with a bad file and a good one of another relation; every fourth case in each run."""
    project = make_project(tmp_path, [ITEMS, OTHER], views={}, coordinators=1)
    catalog = Catalog(project.catalog_url)
    catalog.database.migrate()
    catalog.program.register(ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", 1))
    wrong: dict[str, object] = {}
    accepted: dict[int, str] = {}
    for number, case in enumerate(CORPUS[begin::4]):
        if not is_for_append(case):
            continue
        drop = project.landing / "0" / f"p{number:04d}"
        drop.mkdir(parents=True)
        (drop / f"items{case.suffix}").write_bytes(case.data)
        (drop / "other.csv").write_text(f"x,op,event\n{number},I,{number}\n")
        delivery = dataclasses.replace(drop_delivery(project, drop), source=f"source {number}")
        batches = append_delivery(project, catalog, 0, delivery)
        found = [catalog.log.batch(batch) for batch in batches]
        asides = [aside for aside in catalog.deliveries.files_aside() if aside.delivery == delivery.name]
        rows = sum(b.inserts + b.deletes for b in found) - 1, sum(b.quarantined for b in found)
        expected = (0, 0) if case.accepted is None else (case.accepted, case.rows - case.accepted)
        if rows != expected or len(asides) != (case.accepted is None) or not all(a.hint for a in asides):
            wrong[case.name] = rows, asides
        accepted[number] = case.name
    catalog.close()
    assert wrong == {}
    assert len(accepted) > 60


SMALL = Relation(
    "items", (Column("id", INT), Column("price", decimal(12, 2)), Column("name", STRING.with_null())), ("id",)
)


@pytest.mark.parametrize("suffix", sampled([".csv", ".csv.gz", ".ndjson", ".json"], 2, 1))
@pytest.mark.parametrize("numbered", [True, False])
def test_a_large_file_comes_in_pieces_that_no_event_crosses(tmp_path: Path, suffix: str, numbered: bool) -> None:
    count = 60_000
    rows = [{"id": i, "price": "1.50", "op": "I"} | ({"event": i // 3} if numbered else {}) for i in range(count)]
    data = csv(rows) if "csv" in suffix else lines(rows)
    if suffix == ".json":
        data = b"[" + data.strip().replace(b"\n", b",") + b"]"
    path = tmp_path / f"items{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    pieces = list(read_relation(SMALL, path, "0/items", 1000, memory=1 << 22))
    assert len(pieces) > 1 or not numbered
    assert [i for piece in pieces for i in piece.rows["id"].to_pylist()] == list(range(count))
    offsets = [piece.rows["_offset"].to_numpy() for piece in pieces]
    assert np.concatenate(offsets).tolist() == [i // 3 if numbered else i for i in range(count)]
    assert all(a[-1] < b[0] for a, b in pairwise(offsets))
    assert {piece.numbered for piece in pieces} == {numbered}


def test_a_large_file_must_be_in_order(tmp_path: Path) -> None:
    rows = [{"id": i, "price": "1.50", "op": "I", "event": 60_000 - i} for i in range(60_000)]
    (tmp_path / "items.csv").write_bytes(csv(rows))
    with pytest.raises(InputProblem, match="not in order"):
        list(read_relation(SMALL, tmp_path / "items.csv", "0/items", 1000, memory=1 << 22))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "target.csv").write_bytes(csv([{"id": 1, "price": "1", "op": "I", "event": 1}]))
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    (tmp_path / "gone.ndjson").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder.csv").mkdir()
    for suffix in ("parquet", "csv", "csv.gz", "json"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
    for name in sorted(p.name for p in tmp_path.iterdir() if p.name != "target.csv"):
        assert outcome(tmp_path / name) == "not-a-file", name
    (tmp_path / "locked.csv").touch()
    assert outcome(tmp_path / "missing.csv") == "unreadable-file"


def test_drops_have_names_that_the_catalog_can_keep() -> None:
    assert name_problem("p0000-Ω") is None
    assert "longer than" in (name_problem("x" * 201) or "")
    assert "not UTF-8" in (name_problem(b"p\xff".decode(errors="surrogateescape")) or "")


BOMBS = """
    import re, sys
    from pathlib import Path
    from tests.unit.append.test_bad_inputs import outcome

    def peak():
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

    before = peak()
    for path in sys.argv[1:]:
        print(Path(path).name, outcome(Path(path), 32 << 20))
    print((peak() - before) >> 10)
"""


def test_small_files_that_unfold_to_much_are_set_aside_in_little_memory(tmp_path: Path) -> None:
    zeros = np.zeros(1 << 20, np.int64)
    chunk = pa.table({"id": zeros, "price": zeros, "op": pa.repeat("I", len(zeros)), "event": zeros})
    with pq.ParquetWriter(tmp_path / "zeros.parquet", chunk.schema, compression="zstd") as writer:
        for _ in range(4):
            writer.write_table(chunk)
    few = pa.array(np.arange(3000))
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * 900_000]))
    texts = {"id": few, "price": few, "name": names, "op": pa.repeat("I", 3000), "event": few}
    pq.write_table(pa.table(texts), tmp_path / "texts.parquet", compression="zstd", store_schema=False)
    with gzip.open(tmp_path / "zeros.csv.gz", "wb", 1) as file:
        file.write(b"id,price,op,event\n" + b"\x00" * (40 << 20))
    with gzip.open(tmp_path / "spaces.ndjson.gz", "wb", 1) as file:
        file.write(b" " * (40 << 20))
    files = sorted(map(str, tmp_path.iterdir()))
    command = [sys.executable, "-c", textwrap.dedent(BOMBS), *files]
    *found, grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert found == [
        "spaces.ndjson.gz too-large",
        "texts.parquet too-large",
        "zeros.csv.gz too-large",
        "zeros.parquet too-large",
    ]
    assert int(grown) < 160


def test_blank_lines_are_not_looked_at_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(csv_files, "split_records", one_by_one)
    path = tmp_path / "items.csv.gz"
    row = b"1,1.50,I,1\r\n"
    path.write_bytes(gzip.compress(b"id,price,op,event\n" + b"\n" * (9 << 20) + row + b"\r\n" * (1 << 20), 1))
    assert outcome(path) == (1, 0)


MARK = re.compile(r"m[0-9]{4}")
MARKED = b"id,price,name,other,op,event\n" + b"".join(b"%d,1.50,m%04d,x,I,%d\n" % (i, i, i) for i in range(6))
LINE_ENDS = (
    "\r\n",
    "\r",
    "\v",
    "\f",
    "\x1c",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    "\n\n",
    ";",
    "|",
    "^",
    " ",
    ",",
    "\t",
    "\\n",
    "<br>",
    "",
)
SPLINTERS = (
    b'"',
    b'""',
    b'"\n',
    b'\n"',
    b'",',
    b',"',
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xc2\x85",
    b";",
    b",",
    b"\t",
    b"sep=;\n",
    b"\xef\xbb\xbf",
    b"name",
    b" ",
    b"\\",
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file whose rows have a mark each, with other line ends or delimiters, and something put in or cut out."""
    data = MARKED.replace(b"\n", draw(st.sampled_from(("\n", *LINE_ENDS))).encode())
    data = data.replace(b",", draw(st.sampled_from((b",", b",", b";", b"\t"))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.one_of(st.integers(0, 40), st.integers(0, len(data))))
        gone = draw(st.sampled_from((0, 0, 1, 5, 25)))
        data = data[:at] + draw(st.sampled_from((b"", *SPLINTERS))) + data[at + gone :]
    return data


@given(mutated())
@settings(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_row_of_a_mutated_file_is_accounted_for(tmp_path: Path, data: bytes) -> None:
    """Counted by the marks in its bytes: as many are in rows that are accepted or rejected, or the file is set aside."""
    landed = len(MARK.findall(data.decode("latin-1")))
    path = tmp_path / "items.csv"
    path.write_bytes(data)
    found = 0
    with contextlib.suppress(InputProblem):
        for events in read_relation(ITEMS, path, "0/items", 1000):
            texts = [*(n or "" for n in events.rows["name"].to_pylist()), *events.rejected["record"].to_pylist()]
            found += sum(max(1, len(MARK.findall(text))) for text in texts)
        assert found >= landed
