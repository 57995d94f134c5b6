"""Whatever drops and the deliveries of sources are called, each is taken once, and none stands in another's way."""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import put_aside, retry_put_aside
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import Project, SourceSettings
from tests.unit.sources.test_named_sources import NOON, project_with

#: `NAMES=100 pytest tests/unit/sources/test_names_of_deliveries.py` draws more.
SEEDS = int(os.environ.get("NAMES", "2"))
SOURCES = ("bank", "bank_1", "Bank")


class Naming:
    """Hands over an event per delivery, whose names a test chooses."""

    names: ClassVar[dict[str, list[str]]] = {}

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name

    def poll(self, position: str | None) -> Iterator[Delivery]:
        names = self.names[self.name]
        for n in range(int(position or 0), len(names)):
            number = 1000 * (1 + SOURCES.index(self.name)) + n
            table = pa.table({"n": [number], "op": ["I"]} | ({"event": [n]} if n % 2 else {}))
            part = Part("number", f"number {n}", lambda table=table: iter([RawFile(table, np.arange(1))]))
            yield Delivery(self.name, names[n], NOON, lambda part=part: [part], str(n) if n else None, str(n + 1))

    def close(self) -> None:
        pass


def open_project(folder: Path) -> Runtime:
    text = "".join(f"{name}: {{kind: '{__name__}:Naming', coordinator: 0}}\n" for name in SOURCES)
    project = project_with(folder, text)
    initialise(project)
    return open_runtime(project).__enter__()


def land(project: Project, drop: str, number: int, *, name: str = "number.csv") -> None:
    folder = project.landing / "0" / drop
    folder.mkdir(parents=True)
    (folder / name).write_text(f"op,n\nI,{number}\n")


def numbers(rt: Runtime) -> list[int]:
    files = [pq.read_table(rt.project.state / f.path) for f in rt.catalog.log.files()]
    return sorted(n for table in files for n in table["n"].to_pylist())


def take_all(rt: Runtime) -> None:
    while run_minibatch(rt, 0) is not None:
        pass


@pytest.mark.parametrize("first", ["drop", "source"])
def test_a_drop_may_be_called_like_a_delivery_of_a_source(tmp_path: Path, first: str) -> None:
    Naming.names = {"bank": [], "bank_1": [], "Bank": []}
    rt = open_project(tmp_path)
    for what in (first, "source" if first == "drop" else "drop"):
        if what == "drop":
            land(rt.project, "bank-initial", 7)
        else:
            Naming.names["bank"] = ["bank-initial"]
        take_all(rt)
    assert numbers(rt) == [7, 1000]
    assert [(b.space, b.drop) for b in rt.catalog.log.batches()].sort() is None
    assert {(b.space, b.drop) for b in rt.catalog.log.batches()} == {("", "bank-initial"), ("bank", "bank-initial")}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_they_are_called_each_is_taken_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    pool = ["bank", "bank-0", "bank-1", "bank_1-0", "Bank-0", "bank.number.1", "d1", "D1", "d1 ", "0", "0000-tables", "d1-R1", "é", "e\u0301",
            "%", "d1'; --", "a\nb", "\u202ed1", "💧", "n" * 170, "n" * 180]  # fmt: skip
    odd = [*pool, "d1/R1", "d1/F1", "d1/F2", "", ".d1", "_d1", "/", "//", "d1/"]
    Naming.names = {name: rng.sample(odd, 8) for name in SOURCES}
    rt = open_project(tmp_path)
    drops = ["d1", *rng.sample([n for n in pool if n != "d1"], 9)]
    expected = [1000 * (1 + s) + n for s in range(3) for n in range(8)]
    for number, drop in enumerate(drops):
        is_broken = drop == "d1" or rng.random() < 0.3
        land(rt.project, drop, number, name="number.txt" if is_broken else "number.csv")
        if rng.random() < 0.5:
            run_minibatch(rt, 0)
        expected.append(number)
    take_all(rt)
    for file in put_aside(rt).files:  # "d1/F1": named like what a source calls a delivery of its own
        place = Path(file.place)
        (place.parent / "number.csv").write_text(place.read_text())
        place.unlink()
    with open_runtime(rt.project) as other:
        take_all(other)
        late = [f.label for f in put_aside(other).files if f.kind == "late-file"]
        retry_put_aside(other, late)
        take_all(other)
    assert numbers(rt) == sorted(expected)
    assert rt.sources.problems == {}


def test_a_name_that_the_catalog_cannot_keep_stops_its_source_alone(tmp_path: Path) -> None:
    Naming.names = {"bank": ["n" * 181], "bank_1": ["a\0b"], "Bank": ["good"]}
    rt = open_project(tmp_path)
    land(rt.project, "d1", 7)
    take_all(rt)
    assert numbers(rt) == [7, 3000]
    assert {name: "bad-name" in text or "name" in text for name, text in rt.sources.problems.items()} == {
        "bank": True,
        "bank_1": True,
    }


def test_drops_that_come_later_have_other_arrivals_than_sources(tmp_path: Path) -> None:
    """Who asks for a delivery of a source does not get a drop of its name, which may belong to the next epoch."""
    Naming.names = {"bank": ["d1"], "bank_1": [], "Bank": []}
    rt = open_project(tmp_path)
    land(rt.project, "d1", 7)
    wanted = [d for d in rt.sources.pending(0) if d.arrived < datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)]
    assert run_minibatch(rt, 0, wanted) is not None
    assert run_minibatch(rt, 0, wanted) is None
    assert numbers(rt) == [1000]
