"""The TPC-H example on a small stream, and the same queries recomputed by DuckDB over the event log."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.maps.deltas import VALUE
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings, Project
from cumulus_ops.query.read import read_map

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch"
VIEWS = ("q1", "q3", "q5", "q6", "q10", "example21")

Row = tuple[object, ...]


def make_project(folder: Path, landing: Path) -> Project:
    """The example project with everything it writes in ``folder``, steps run in this process, nothing published."""
    return dataclasses.replace(
        load_project(EXAMPLE),
        landing=landing,
        state=folder / "state",
        catalog_url=f"sqlite:///{folder}/state/catalog.db",
        published=None,
        reports=folder / "reports",
        executor=ExecutorSettings(kind="inprocess"),
    )


@contextmanager
def started(project: Project) -> Iterator[Runtime]:
    """The project, initialised and open."""
    initialise(project)
    with open_runtime(project) as rt:
        yield rt


def net_tables(rt: Runtime, epoch: int) -> duckdb.DuckDBPyConnection:
    """A database with each relation as the event log leaves it at the end of ``epoch``."""
    connection = duckdb.connect(config={"threads": 1})
    for relation in rt.program.relations:
        files = [f for f in rt.catalog.log.files(epoch=epoch) if f.relation == relation.name]
        paths = [str(rt.project.state / f.path) for f in files]
        columns = ", ".join(c.name for c in relation.columns)
        connection.execute(
            f"CREATE TABLE net AS SELECT {columns}, sum(_sign)::INT AS n FROM read_parquet(?) GROUP BY ALL", [paths]
        )
        assert connection.execute("SELECT coalesce(min(n), 0) >= 0 FROM net").fetchone() == (True,), relation.name
        rows = f"SELECT {columns} FROM (SELECT *, unnest(range(n)) FROM net)"
        connection.execute(f"CREATE TABLE {relation.name} AS {rows}; DROP TABLE net")
    return connection


def view_text(name: str, *, ordered: bool) -> str:
    """A view's SQL, with or without its ORDER BY and LIMIT."""
    text = (EXAMPLE / "views" / f"{name}.sql").read_text(encoding="utf-8")
    return text if ordered else text.split("\norder by")[0]


def table_rows(table: pa.Table) -> list[Row]:
    """The rows of a view as read from the maps."""
    return list(zip(*table.to_pydict().values(), strict=True))


def same_rows(ours: list[Row], theirs: list[Row]) -> bool:
    """Whether two results are the same multiset. Exact numbers must be equal to the last digit; a DOUBLE of DuckDB (its
    AVG) may differ by half a unit of our last digit, since ours is a decimal rounded half up."""
    averages = [i for i in range(len(theirs[0])) if isinstance(theirs[0][i], float)] if theirs else []

    def key(row: Row) -> Row:
        return tuple((v is None, str(_plain(v))) for i, v in enumerate(row) if i not in averages)

    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    return [key(r) for r in ours] == [key(r) for r in theirs] and all(
        _is_rounded(a[i], b[i]) for a, b in zip(ours, theirs, strict=True) for i in averages
    )


def _plain(value: object) -> object:
    return Decimal(value).normalize() if isinstance(value, int | Decimal) else value


def _is_rounded(ours: object, theirs: object) -> bool:
    assert isinstance(ours, Decimal)
    assert isinstance(theirs, float)
    half_unit = Decimal(5).scaleb(int(ours.as_tuple().exponent) - 1)
    return abs(ours - Decimal(theirs)) <= half_unit + abs(ours) * Decimal("1e-15")


def all_maps(rt: Runtime, upto: int | None = None) -> dict[str, pa.Table]:
    """The non-zero entries of every map, sorted by key."""
    tables = {m.name: read_map(rt, m.name, upto) for m in rt.program.maps}
    return {
        name: table.sort_by([(c, "ascending") for c in table.column_names if c != VALUE] or [(VALUE, "ascending")])
        for name, table in tables.items()
    }


def join_drops(landing: Path, joined: Path) -> None:
    """The same events with all drops of a coordinator made one."""
    for coordinator in landing.iterdir():
        if not coordinator.is_dir():
            continue
        parts: dict[str, list[pa.Table]] = {}
        for file in sorted(coordinator.glob("p*/*.parquet")):
            parts.setdefault(file.name, []).append(pq.read_table(file))
        target = joined / coordinator.name / "p0000"
        target.mkdir(parents=True)
        for name, tables in parts.items():
            pq.write_table(pa.concat_tables(tables), target / name)


def delete_everything(rt: Runtime, epoch: int) -> int:
    """Land one drop per coordinator that deletes what is left after ``epoch``, children apart from their parents.

    Returns:
        the number of rows to delete.
    """
    total = 0
    with net_tables(rt, epoch) as connection:
        for place, relation in enumerate(rt.program.relations):
            left = connection.execute(f"SELECT * FROM {relation.name}").to_arrow_table()
            total += len(left)
            for coordinator in range(rt.project.coordinators):
                share = len(left) // rt.project.coordinators + 1
                rows = left.slice((coordinator + place) % rt.project.coordinators * share, share)
                rows = rows.append_column("op", pa.array(["D"] * len(rows), pa.string()))
                rows = rows.append_column("event", pa.array(range(10**9, 10**9 + len(rows)), pa.int64()))
                folder = rt.project.landing / str(coordinator) / "p9999"
                folder.mkdir(exist_ok=True)
                pq.write_table(rows, folder / f"{relation.name}.parquet")
    return total
