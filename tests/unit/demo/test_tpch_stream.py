"""The demo's stream: it must be a legal history of the tables it was made from."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.checks import check, read_rows
from cumulus_ops.demo.events import (
    deliver_period,
    drop_name,
    last_period,
    make_events,
    periods,
)
from cumulus_ops.demo.tpch import TABLES, generate_tables, read_table
from cumulus_ops.files.columns import m3_type
from cumulus_ops.project.errors import InputProblem
from m3.program import Column, Relation
from tests.support.sampling import sampled

EPOCHS, COORDINATORS = 3, 3
VIEWS = Path(__file__).parents[3] / "examples" / "tpch" / "views"
DEMO_VIEWS = ("q1", "q3", "q5", "q6", "q10", "example21")


def epoch_of_period(period: int, coordinator: int, coordinators: int) -> int:
    """The epoch in which a coordinator's drop of that period counts."""
    return max(0, (period - coordinator) // coordinators)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_tables(tmp_path_factory.mktemp("tpch") / "tables", 0.01)


@pytest.fixture(scope="module")
def stream(tables: Path) -> Path:
    return make_events(tables, tables.with_name("stream"), epochs=EPOCHS, coordinators=COORDINATORS, seed=1)


@pytest.fixture(scope="module")
def log(stream: Path) -> duckdb.DuckDBPyConnection:
    """Views ``<table>_log``: content, sign, event, coordinator, epoch, period, in ``place`` order."""
    con = duckdb.connect()
    for table in TABLES:
        con.execute(
            f"""create view {table}_log as
            select *, if(op = 'I', 1, -1) sign, greatest(0, (period - coordinator) // {COORDINATORS}) epoch
            from (select * exclude (filename), split_part(filename, '/', -3)::int coordinator,
                         split_part(split_part(filename, '/', -2), 'p', 2)::int period
                  from read_parquet('{stream}/*/p*/{table}.parquet', filename = true))"""
        )
    return con


def state(con: duckdb.DuckDBPyConnection, epoch: int) -> None:
    for table in TABLES:
        extra = "op, event, coordinator, period, epoch, sign"
        con.execute(
            f"""create or replace temp table {table} as select * exclude (n, i) from
            (select *, unnest(range(n)) i from (select * exclude ({extra}), sum(sign)::int n
                                               from {table}_log where epoch <= {epoch} group by all))"""
        )


def test_generation_is_done_once_and_typed_plainly(tables: Path) -> None:
    before = (tables / "lineitem.parquet").stat().st_mtime_ns
    assert generate_tables(tables, 0.01) == tables
    assert (tables / "lineitem.parquet").stat().st_mtime_ns == before
    assert {str(t) for t in read_table(tables, "lineitem").schema.types} == {
        "int64",
        "decimal128(15, 2)",
        "string",
        "date32[day]",
    }
    with pytest.raises(InputProblem, match=r"scale factor 0\.01"):
        generate_tables(tables, 1)


def test_every_coordinator_has_a_drop_for_each_of_its_periods(stream: Path) -> None:
    for coordinator in range(COORDINATORS):
        last = int(last_period(coordinator, EPOCHS, COORDINATORS))
        names = sorted(p.name for p in (stream / str(coordinator)).iterdir())
        assert names == [drop_name(p) for p in range(last + 1)]
        assert epoch_of_period(last, coordinator, COORDINATORS) == EPOCHS - 1
        assert epoch_of_period(last + 1, coordinator, COORDINATORS) == EPOCHS
    assert last + 1 == periods(EPOCHS, COORDINATORS)


def test_coordinators_change_epochs_one_per_period() -> None:
    for period in range(COORDINATORS, periods(EPOCHS, COORDINATORS)):
        moves = [c for c in range(COORDINATORS) if epoch_of_period(period, c, 3) != epoch_of_period(period - 1, c, 3)]
        assert moves == [period % COORDINATORS]


@pytest.mark.parametrize("table", sampled(TABLES, 3))
def test_no_prefix_of_the_versions_has_a_negative_multiplicity(log: duckdb.DuckDBPyConnection, table: str) -> None:
    columns = ", ".join(relation_columns(log, table))
    lowest = log.execute(
        f"""select min(n) from (select sum(sign) over (partition by {columns}
            order by epoch, coordinator, period, event, sign rows unbounded preceding) n from {table}_log)"""
    ).fetchone()
    assert lowest is not None
    assert lowest[0] >= 0


def relation_columns(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    extra = {"op", "event", "coordinator", "period", "epoch", "sign"}
    return [row[0] for row in con.execute(f"describe {table}_log").fetchall() if row[0] not in extra]


def test_the_last_state_is_the_tables_with_the_changes(log: duckdb.DuckDBPyConnection, tables: Path) -> None:
    state(log, EPOCHS - 1)
    for table, key in (
        ("customer", "c_custkey"),
        ("part", "p_partkey"),
        ("nation", "n_nationkey"),
        ("orders", "o_orderkey"),
    ):
        total, distinct = log.execute(f"select count(*), count(distinct {key}) from {table}").fetchone()  # type: ignore[misc]
        assert total == distinct
        rows = pq.read_metadata(tables / f"{table}.parquet").num_rows
        assert total == rows if table != "orders" else 0.93 * rows < total < 0.97 * rows
    kept = log.execute(
        f"""select count(*) from '{tables}/lineitem.parquet' l
            where l_orderkey in (select o_orderkey from orders)"""
    ).fetchone()
    assert log.execute("select count(*) from lineitem").fetchone() == kept
    assert log.execute(
        "select count(*) from lineitem where l_orderkey not in (select o_orderkey from orders)"
    ).fetchone() == (0,)
    assert log.execute("select count(*) > 0 from orders where o_shippriority > 0").fetchone() == (True,)


def test_updates_are_one_atomic_event_and_offsets_ascend(log: duckdb.DuckDBPyConnection, stream: Path) -> None:
    for table in ("orders", "lineitem", "customer"):
        sizes = log.execute(
            f"""select distinct n, net, periods from (select count(*) n, sum(sign) net, count(distinct period) periods
            from {table}_log group by coordinator, event) order by all"""
        ).fetchall()
        assert set(sizes) <= {(1, -1, 1), (1, 1, 1), (2, 0, 1)}
        assert (2, 0, 1) in sizes
        for coordinator in range(COORDINATORS):
            paths = sorted((stream / str(coordinator)).glob(f"p*/{table}.parquet"))
            offsets = pa.concat_tables([pq.read_table(p, columns=["event"]) for p in paths])["event"].to_numpy()
            assert (offsets[1:] >= offsets[:-1]).all()
            assert offsets[0] == 0
            assert offsets[-1] == len(set(offsets.tolist())) - 1


def test_children_often_arrive_elsewhere_and_before_their_parents(log: duckdb.DuckDBPyConnection) -> None:
    elsewhere, earlier, later = log.execute(
        """select avg((i.coordinator <> o.coordinator)::int),
            avg((i.period < o.period)::int), avg((i.period > o.period)::int)
        from (from lineitem_log where op = 'I') i join (from orders_log where op = 'I') o on l_orderkey = o_orderkey"""
    ).fetchone()  # type: ignore[misc]
    assert 0.5 < elsewhere < 0.8
    assert earlier > 0.2
    assert later > 0.2


@pytest.mark.parametrize("epoch", range(EPOCHS))
def test_every_view_has_rows_after_every_epoch(log: duckdb.DuckDBPyConnection, epoch: int) -> None:
    state(log, epoch)
    for path in (VIEWS / f"{view}.sql" for view in DEMO_VIEWS):
        rows = log.execute(path.read_text()).fetchall()
        assert rows, path.name
        assert rows[0][-1] is not None, path.name


def test_files_are_accepted_by_the_readers(stream: Path, tables: Path) -> None:
    for table in TABLES:
        path = stream / "0" / "p0000" / f"{table}.parquet"
        if path.exists():
            schema = read_table(tables, table).schema
            relation = Relation(table, tuple(Column(field.name, m3_type(field.type)) for field in schema))
            pieces = list(check(relation, read_rows(relation, path, 100), f"0/{table}", str(path)))
            assert sum(len(p.rejected) for p in pieces) == 0
            assert sum(len(p.rows) for p in pieces) == pq.read_metadata(path).num_rows


def test_the_seed_decides_everything(tables: Path, stream: Path, tmp_path: Path) -> None:
    again = make_events(tables, tmp_path / "again", epochs=EPOCHS, coordinators=COORDINATORS, seed=1)
    other = make_events(tables, tmp_path / "other", epochs=EPOCHS, coordinators=COORDINATORS, seed=2)
    place = Path("1") / "p0004" / "lineitem.parquet"
    assert pq.read_table(again / place).equals(pq.read_table(stream / place))
    assert not pq.read_table(other / place).equals(pq.read_table(stream / place))


def test_a_stream_is_made_once_and_never_mixed(tables: Path, stream: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in stream.rglob("*.parquet")}
    assert make_events(tables, stream, epochs=EPOCHS, coordinators=COORDINATORS, seed=1) == stream
    assert {file: file.stat().st_mtime_ns for file in stream.rglob("*.parquet")} == before
    orders = pa.concat_tables([pq.read_table(file, columns=["op"]) for file in stream.glob("*/p*/orders.parquet")])
    assert "D" in orders["op"].to_pylist()
    with pytest.raises(InputProblem, match="another stream"):
        make_events(tables, stream, epochs=EPOCHS, coordinators=COORDINATORS, seed=2)


def test_delivery_lands_each_drop_of_a_period_once(stream: Path, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landed = deliver_period(stream, landing, 2)
    assert [p.relative_to(landing).as_posix() for p in landed] == ["0/p0002", "1/p0002", "2/p0002"]
    assert sorted(p.name for p in landed[0].iterdir()) == sorted(p.name for p in (stream / "0" / "p0002").iterdir())
    assert deliver_period(stream, landing, 2) == []
    assert len(deliver_period(stream, landing, periods(EPOCHS, COORDINATORS) - 1)) == 1
