"""Validation must say yes to equal data only, and name exactly what is wrong otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.errors import InputProblem
from cumulus_ops.validation import ValidationReport, ValidationRequest, ViewToValidate
from cumulus_ops.validation.checkpoint import validate_snapshot
from cumulus_ops.validation.recompute import (
    MULTIPLICITY,
    base_table,
    net_table,
    own_session,
    recompute,
    recompute_m3,
    without_order,
)
from cumulus_ops.versions import event_version
from expectations.comparison import compare
from m3.datatypes import DOUBLE, INT, STRING, decimal
from m3.program import Column, MapDecl, OutputColumn, Program, Relation, Statement, Trigger, View, ViewValue
from m3.scalars import Var, call, const

pytestmark = pytest.mark.spark

SALES = Relation(
    "sales", (Column("region", STRING.with_null()), Column("amount", decimal(15, 2)), Column("rate", DOUBLE))
)
SQL = """select region, sum(amount) as total, count(*) as n -- a comment; order by nothing
from sales where region is null or region <> 'limit 1' group by region order by total desc limit 1"""
Event = tuple[int, int, str | None, str]  # epoch, sign, region, amount
EVENTS: list[Event] = [
    (0, 1, "north", "10.00"),
    (0, 1, "north", "10.00"),
    (0, 1, "south", "0.10"),
    (0, 1, None, "7.00"),
    (0, 1, "gone", "3.00"),
    (1, -1, "gone", "3.00"),
    (1, -1, "north", "10.00"),
    (1, 1, "north", "0.05"),
    (2, 1, "future", "1.00"),
]
SNAPSHOT = [("north", "10.05", 2), ("south", "0.10", 1), (None, "7.00", 1)]


@pytest.fixture(scope="session")
def session(spark: SparkSession) -> SparkSession:
    return own_session(spark)


def write_log(folder: Path, events: Iterable[Event], name: str = "log") -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"region": r, "amount": Decimal(a), "rate": 0.5, "_version": event_version(e, 0, i), "_sign": s, "_offset": i}
        for i, (e, s, r, a) in enumerate(events)
    ]
    types = [("region", pa.string()), ("amount", pa.decimal128(15, 2)), ("rate", pa.float64())]
    schema = pa.schema([*types, ("_version", pa.int64()), ("_sign", pa.int8()), ("_offset", pa.int64())])
    half = len(rows) // 2
    paths = [folder / f"{name}-{part}.parquet" for part in range(2)]
    for path, part in zip(paths, (rows[:half], rows[half:]), strict=True):
        pq.write_table(pa.Table.from_pylist(part, schema=schema), path)
    return paths


def snapshot(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    regions, totals, counts = zip(*rows, strict=True)
    amounts = pa.array(map(Decimal, totals), pa.decimal128(38, 4))  # more digits than Spark gives its sum
    return pa.table({"region": pa.array(regions, pa.string()), "total": amounts, "n": pa.array(counts, pa.int64())})


def request(folder: Path, rows: Iterable[tuple[Any, ...]], events: Iterable[Event] = EVENTS) -> ValidationRequest:
    rows = list(rows)
    view = ViewToValidate("by_region", SQL, ("region",), snapshot(rows))
    counts = [{"view": "by_region", "group": str(region), "rows": n} for region, _, n in rows]
    schema = pa.schema([("view", pa.string()), ("group", pa.string()), ("rows", pa.int64())])
    groups = pa.Table.from_pylist(counts, schema)
    log = {"sales": write_log(folder / "log", events)}
    return ValidationRequest("shop", 1, (view,), (SALES,), log, folder / "reports", 2, {0: 1, 1: 1}, groups)


def pages(report: ValidationReport) -> str:
    return "\n".join(p.read_text() for p in (report.docs_index.parent / "validations").rglob("*.html"))


def test_a_right_snapshot_passes_and_the_reports_accumulate(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    report = validate_snapshot(spark, asked)
    assert report.success, report.failures
    assert report.failures == ()
    assert report.statistics["expectations"] == 4
    assert report.docs_index.is_file()
    before = len(list(report.docs_index.parent.rglob("validations/**/*.html")))
    again = validate_snapshot(spark, replace(asked, epoch=1))
    assert again.success
    assert len(list(report.docs_index.parent.rglob("validations/**/*.html"))) == 2 * before == 8
    assert not spark.catalog.tableExists("sales")


def test_one_damaged_value_is_reported_with_both_values(spark: SparkSession, tmp_path: Path) -> None:
    report = validate_snapshot(spark, request(tmp_path, [("north", "10.06", 2), *SNAPSHOT[1:]]))
    assert not report.success
    assert report.failures == (
        "view by_region: 3 rows; groups with other values: 1 "
        "(what: differing; group: region = north; column: total; snapshot: 10.0600; recomputed: 10.0500)",
    )
    assert "10.0600" in pages(report)
    assert "10.0500" in pages(report)
    assert str(report.docs_index) in str(report)


def test_everything_else_that_can_be_wrong_is_reported_at_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("north", "10.05", 2), ("south", "0.10", 0), ("extra", "1.00", 1)]
    events = [*EVENTS, (1, -1, "never", "1.00")]
    asked = replace(request(tmp_path, rows, events), sealed_epochs={0: 1, 1: 0})
    report = validate_snapshot(spark, asked)
    by_suite = {f.split(":")[0]: f for f in report.failures}
    assert "groups missing: 1, too many: 1, with other values: 1" in by_suite["view by_region"]
    assert "not sealed by 1" in by_suite["coordinators"]
    assert "1 rows deleted more often than inserted" in by_suite["event log"]
    assert '"region":"never"' in by_suite["event log"]
    assert "1 groups without rows" in by_suite["groups"]
    assert report.statistics["successful"] == 0


def test_sql_that_spark_cannot_run_is_the_users_problem(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    broken = replace(asked, views=(replace(asked.views[0], sql="select nothing from sales"),))
    with pytest.raises(InputProblem, match="by_region"):
        validate_snapshot(spark, broken)


def test_other_columns_are_a_failure_not_a_crash(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    narrow = replace(asked.views[0], snapshot=asked.views[0].snapshot.drop_columns(["total"]))  # type: ignore[union-attr]
    report = validate_snapshot(spark, replace(asked, views=(narrow,)))
    assert [f for f in report.failures if "the snapshot has the columns region, n" in f]


def frame(session: SparkSession, rows: list[tuple[Any, ...]], schema: str = "k string, v decimal(15,2)") -> Any:
    return session.createDataFrame(
        [tuple(Decimal(x) if "." in str(x) and isinstance(x, str) else x for x in r) for r in rows], schema
    )


def test_missing_extra_and_differing_groups_are_told_apart(session: SparkSession) -> None:
    left = frame(session, [("a", "1.00"), ("b", "2.00"), (None, "3.00"), ("same", None)])
    right = frame(session, [("a", "1.01"), (None, "3.00"), ("c", "4.00"), ("same", None)])
    found = compare(left, right, ["k"])
    assert (found.missing, found.unexpected, found.differing) == (1, 1, 1)
    assert found.sample == [
        {"kind": "differing", "key": {"k": "a"}, "snapshot": [{"v": "1.00"}], "recomputed": [{"v": "1.01"}]},
        {"kind": "unexpected", "key": {"k": "b"}, "snapshot": [{"v": "2.00"}], "recomputed": []},
        {"kind": "missing", "key": {"k": "c"}, "snapshot": [], "recomputed": [{"v": "4.00"}]},
    ]


def test_null_keys_and_null_values_are_values(session: SparkSession) -> None:
    left = frame(session, [(None, None), ("a", None)])
    assert compare(left, left, ["k"]).equal
    found = compare(left, frame(session, [(None, "0.00"), ("a", None)]), ["k"])
    assert found.sample == [
        {"kind": "differing", "key": {"k": "NULL"}, "snapshot": [{"v": "NULL"}], "recomputed": [{"v": "0.00"}]}
    ]


def test_rows_count_as_often_as_they_occur(session: SparkSession) -> None:
    left, right = frame(session, [("a", "1.00")] * 3), frame(session, [("a", "1.00")])
    assert compare(left, right, ["k"]).sample[0]["snapshot"] == [{"v": "1.00", "times": "2"}]
    assert not compare(right, left, ["k"]).equal


def test_exact_numbers_are_compared_across_their_types(session: SparkSession) -> None:
    wide = frame(session, [("a", "1.5000")], "k string, v decimal(38,10)")
    assert compare(frame(session, [("a", "1.5")], "k string, v decimal(15,2)"), wide, ["k"]).equal
    assert compare(frame(session, [("a", 7)], "k string, v int"), frame(session, [("b", "7.0")]), []).differing == 1
    found = compare(frame(session, [("a", "1")], "k string, v string"), wide, ["k"])
    assert found.problem == "v is string in the snapshot, decimal(38,10) recomputed"


def test_a_view_without_groups_is_one_group(session: SparkSession) -> None:
    left = session.createDataFrame([(Decimal("1.00"),)], "v decimal(15,2)")
    right = session.createDataFrame([(None,)], "v decimal(15,2)")
    assert compare(left, left, []).equal
    found = compare(left, right, [])
    assert (found.differing, found.sample[0]["recomputed"]) == (1, [{"v": "NULL"}])


def test_doubles_have_a_tolerance_but_nan_and_null_do_not(session: SparkSession) -> None:
    nan, inf = float("nan"), float("inf")
    schema = "k string, v double"
    left = session.createDataFrame([("a", 0.1 + 0.2), ("n", nan), ("i", inf), ("0", None)], schema)
    right = session.createDataFrame([("a", 0.3), ("n", nan), ("i", inf), ("0", None)], schema)
    assert compare(left, right, ["k"], double_tolerance=1e-9).equal
    assert compare(left, right, ["k"]).differing == 1
    assert compare(left, right, ["k"], {"v": 1e-20}, 1e-9).sample[0]["recomputed"] == [{"v": "0.3"}]
    off = session.createDataFrame([("a", nan), ("n", inf), ("i", -inf), ("0", 0.0)], schema)
    assert compare(left, off, ["k"], double_tolerance=1.0).differing == 4


def test_star_selects_see_all_columns(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    rows = pa.table({"a": ["south"], "b": pa.array([Decimal("0.10")], pa.decimal128(15, 2)), "c": [0.5]})
    view = ViewToValidate("star", "select * from sales where region = 'south'", ("a",), rows)
    assert validate_snapshot(spark, replace(asked, views=(view,))).success


def test_the_sample_is_bounded(session: SparkSession) -> None:
    left = session.range(1000).selectExpr("cast(id as string) k", "id v")
    found = compare(left, left.selectExpr("k", "v + 1 v"), ["k"])
    assert (found.differing, len(found.sample)) == (1000, 20)


@pytest.mark.parametrize("key", [(), ("region",)])
def test_the_base_table_sums_the_signs_up_to_the_epoch(
    session: SparkSession, tmp_path: Path, key: tuple[str, ...]
) -> None:
    relation = replace(SALES, key=key)
    log = write_log(tmp_path, [*EVENTS, (1, -1, None, "9.00"), (0, 1, "south", "0.10")])

    def at(epoch: int) -> dict[tuple[Any, ...], int]:
        counts: dict[tuple[Any, ...], int] = {}
        for *row, n in base_table(session, relation, log, epoch).collect():
            counts[tuple(row[:2])] = counts.get(tuple(row[:2]), 0) + n
        return counts

    assert at(0) == {("north", Decimal("10.00")): 2, ("south", Decimal("0.10")): 2, (None, Decimal("7.00")): 1,
                     ("gone", Decimal("3.00")): 1}  # fmt: skip
    assert at(1)[None, Decimal("9.00")] == -1
    assert at(1)["north", Decimal("10.00")] == 1
    assert ("gone", Decimal("3.00")) not in at(1)
    assert ("future", Decimal("1.00")) in at(2)
    net = net_table(base_table(session, relation, log, 1), "net_sales")
    assert sorted(str(row[0]) for row in net.collect()) == ["None", "north", "north", "south", "south"]
    assert base_table(session, relation, [], 5).columns == ["region", "amount", "rate", MULTIPLICITY]
    assert base_table(session, relation, [], 5).count() == 0


def test_minus_zero_cancels_zero(session: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.float64()), ("_version", pa.int64()), ("_sign", pa.int8()), ("_offset", pa.int64())])
    rows = [{"x": 0.0, "_version": 0, "_sign": 1, "_offset": 0}, {"x": -0.0, "_version": 1, "_sign": -1, "_offset": 1}]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "z.parquet")
    assert base_table(session, Relation("z", (Column("x", DOUBLE),)), [tmp_path / "z.parquet"], 0).count() == 0


def test_recomputation_runs_standard_sql(session: SparkSession) -> None:
    session.createDataFrame([("it's", 1), (r"a\b", 2)], "s string, n int").createOrReplaceTempView("t")
    assert recompute(session, r"""select n as "the n" from t where s = 'a\b' order by n""").collect()[0]["the n"] == 2
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        recompute(session, "select n / 0 from t").collect()


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("select a from t order by a limit 3;", "select a from t"),
        ("select a from t\nLIMIT 3", "select a from t"),
        ("select a from (select a from t order by a limit 3) x", None),
        ("select sum(a) over (order by b) from t where c = ' order by ' ", None),
        ("select a -- limit\nfrom t /* order by a */", None),
        ('select "order", a from t order\n by a offset 1', 'select "order", a from t'),
        ("with x as (select 1 limit 2) select * from x order by 1", "with x as (select 1 limit 2) select * from x"),
    ],
)  # fmt: skip
def test_only_the_outermost_order_and_limit_are_cut_off(sql: str, kept: str | None) -> None:
    assert without_order(sql) == (kept or sql.strip())


def test_programs_without_sql_are_recomputed_by_the_interpreter(spark: SparkSession, tmp_path: Path) -> None:
    amount = Var("amount", decimal(15, 2))
    region = Var("region", STRING.with_null())
    total = MapDecl("total", (Column("region", region.type),), decimal(15, 2))
    count = MapDecl("n", (Column("region", region.type),), INT)

    def trigger(sign: int) -> Trigger:
        value = amount if sign > 0 else call("neg", amount)
        statements = (Statement("total", (region,), (value,)), Statement("n", (region,), (const(sign),)))
        return Trigger(sign, "sales", ("region", "amount", "rate"), statements)

    values = (ViewValue("s", "total"), ViewValue("c", "n"))
    outputs = (
        OutputColumn("region", region),
        OutputColumn("s", Var("s", decimal(15, 2))),
        OutputColumn("c", Var("c", INT)),
    )
    view = View("by_region", total.keys, values, "n", outputs, limit=1)
    exact = Relation("sales", (*SALES.columns[:2], Column("rate", DOUBLE)))
    program = Program("p", "snapshot", (exact,), (total, count), (trigger(1), trigger(-1)), (view,))
    asked = request(tmp_path, SNAPSHOT)
    found = recompute_m3(program, asked.log_files, 1)["by_region"]
    rows = [tuple(row.values()) for row in found.to_pylist()]
    assert sorted(rows, key=str) == sorted([(r, Decimal(t), n) for r, t, n in SNAPSHOT], key=str)
    by_m3 = replace(asked.views[0], sql="", recomputation=found)
    assert validate_snapshot(spark, replace(asked, views=(by_m3,))).success
    wrong = replace(by_m3, recomputation=found.slice(1))
    assert "too many: 1" in validate_snapshot(spark, replace(asked, views=(wrong,))).failures[0]
