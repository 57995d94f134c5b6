"""Many views over many relations: what opening the project costs, and a small batch that concerns ten of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.contest import Contestant, Turn, compete
from benchmarks.rows import Label, Row
from benchmarks.settings import REPOSITORY, Settings
from benchmarks.states import scratch
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings, Project
from cumulus_ops.query.read import read_view
from m3.datatypes import INT, decimal
from m3.program import Column, Relation

__all__ = ["run"]

RELATIONS, ROWS, EVENTS, REPETITIONS, WARM_UPS = 30, 5_000, 100, 15, 3
COLUMNS = (Column("id", INT), Column("k", INT), Column("g", INT), Column("d", INT), Column("v", decimal(15, 2)))


def run(settings: Settings) -> Iterator[list[Row]]:
    """Ten views over each of thirty relations."""
    label = Label("views", f"{10 * RELATIONS} views", "100 rows of one relation", 0.0, EVENTS, 1)
    yield compete(label, {"cumulus": lambda: _many(settings.home)}, settings.repetitions or REPETITIONS, WARM_UPS)


def _views() -> dict[str, str]:
    found = {}
    for i in range(RELATIONS):
        for j in range(6):
            found[f"s{i}_{j}"] = f"SELECT g, COUNT(*) AS c, SUM(v) AS s FROM t{i} WHERE k > {j * 10} GROUP BY g"
        for j in range(2):
            found[f"j{i}_{j}"] = (
                f"SELECT n, SUM(v) AS s, AVG(v) AS a FROM t{i}, d WHERE t{i}.d = d.d AND k < {j * 10 + 50} GROUP BY n"
            )
        found[f"m{i}"] = f"SELECT g, MIN(v) AS lo, MAX(v) AS hi FROM t{i} GROUP BY g"
        found[f"x{i}"] = f"SELECT DISTINCT g, k FROM t{i}"
    return found


def _project(folder: Path) -> Project:
    tables = [Relation(f"t{i}", COLUMNS, ("id",), 100_000) for i in range(RELATIONS)]
    small = Relation("d", (Column("d", INT), Column("n", INT)), ("d",), 100)
    return dataclasses.replace(
        load_project(REPOSITORY / "examples" / "tpch"),
        relations=(*tables, small),
        views=_views(),
        landing=folder / "landing",
        state=folder / "state",
        catalog_url=f"sqlite:///{folder}/state/catalog.db",
        published=None,
        reports=folder / "reports",
        coordinators=1,
        executor=ExecutorSettings(kind="inprocess"),
    )


@dataclass
class _Many:
    rt: Runtime
    opening_s: float
    rows: int = RELATIONS * ROWS

    def turn(self, number: int) -> Turn:
        _land(self.rt.project, f"c{number:05}", "t3", _rows(number + 1, self.rows, EVENTS))
        self.rows += EVENTS
        begun = time.perf_counter()
        report = run_minibatch(self.rt, 0)
        assert report is not None
        return Turn(time.perf_counter() - begun, report.events)

    def finish(self) -> str:
        view = read_view(self.rt, "s3_0", tentative=True)
        counted = sum(view["c"].to_pylist())
        assert counted > ROWS
        return f"opening {self.opening_s:.3f} s"


@contextmanager
def _many(home: Path) -> Iterator[Contestant]:
    with scratch(home) as folder:
        project = _project(folder)
        initialise(project)
        _land(project, "a", "d", {"d": np.arange(100), "n": np.arange(100) % 10})
        for i in range(RELATIONS):
            _land(project, f"b{i:02}", f"t{i}", _rows(0, i * ROWS, ROWS))
        with open_runtime(project) as rt:
            while run_minibatch(rt, 0) is not None:
                pass
        begun = time.perf_counter()
        _forget_plans()
        with open_runtime(project) as rt:
            yield _Many(rt, time.perf_counter() - begun)


def _forget_plans() -> None:
    """As in a new process."""
    from cumulus_ops.layout.plans import plan_json

    plan_json.cache_clear()


def _rows(seed: int, first: int, count: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    columns = {name: numbers.integers(0, top, count) for name, top in (("k", 100), ("g", 50), ("d", 100), ("v", 9999))}
    return {"id": np.arange(first, first + count), **columns}


def _land(project: Project, drop: str, relation: str, columns: dict[str, np.ndarray]) -> None:
    folder = project.landing / "0" / drop
    folder.mkdir(parents=True)
    count = len(next(iter(columns.values())))
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    if "v" in columns:
        place = table.column_names.index("v")
        table = table.set_column(place, "v", table["v"].cast(pa.decimal128(19, 0)).cast(pa.decimal128(15, 0)))
    table = table.append_column("op", pa.array(["I"] * count))
    first = int(columns["id"][0]) if "id" in columns else 0
    pq.write_table(
        table.append_column("event", pa.array(np.arange(first, first + count))), folder / f"{relation}.parquet"
    )
