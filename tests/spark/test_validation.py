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

from cumulus_ops.project.verdicts import DIFFERS, EQUAL, IN_ERROR, UNPROVED
from cumulus_ops.project.versions import event_version
from cumulus_ops.validation.checkpoint import validate_snapshot
from cumulus_ops.validation.recompute import (
    MULTIPLICITY,
    base_table,
    own_session,
    recompute_m3,
    spark_schema,
)
from cumulus_ops.validation.request import ValidationReport, ValidationRequest, ViewToValidate, ViewVerdict
from m3.datatypes import DOUBLE, INT, STRING, decimal
from m3.program import Column, MapDecl, OutputColumn, Program, Relation, Statement, Trigger, View, ViewValue
from m3.scalars import Var, call, const
from tests.support.judged import judged as judge_views
from tests.support.sampling import sampled

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
    return ValidationRequest("shop", 1, (view,), (SALES,), log, folder / "reports", (0, 1), {0: 1, 1: 1}, groups)


def pages(report: ValidationReport) -> str:
    return "\n".join(p.read_text() for p in site(report).rglob("*.html"))


def site(report: ValidationReport) -> Path:
    return next(folder for folder in report.docs_index.parents if folder.name == "local_site")


def test_a_right_snapshot_passes_and_the_reports_accumulate(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    report = validate_snapshot(spark, asked)
    assert report.success, report.failures
    assert report.failures == ()
    assert report.statistics["expectations"] == 5
    assert report.docs_index.is_file()
    before = len(list(site(report).rglob("validations/**/*.html")))
    again = validate_snapshot(spark, replace(asked, epoch=1))
    assert again.success
    assert len(list(site(report).rglob("validations/**/*.html"))) == 2 * before == 8  # one for each suite
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
    asked = replace(request(tmp_path, rows, events), voted_epochs={0: 1, 1: 0})
    report = validate_snapshot(spark, asked)
    by_suite = {f.split(":")[0]: f for f in report.failures}
    assert "groups missing: 1, too many: 1, with other values: 1" in by_suite["view by_region"]
    assert "no vote of 1" in by_suite["coordinators"]
    assert "1 rows deleted more often than inserted" in by_suite["event log"]
    assert '"region":"never"' in by_suite["event log"]
    assert "1 groups without rows" in by_suite["groups"]
    assert report.statistics["successful"] == 1  # there are no net tables that could be wrong


def test_sql_that_spark_cannot_run_is_said_to_be_unproved_and_concerns_no_other_view(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked = request(tmp_path, SNAPSHOT)
    unknown = replace(asked.views[0], name="other", sql="select nothing from sales")
    report = validate_snapshot(spark, replace(asked, views=(*asked.views, unknown)))
    assert [(v.view, v.outcome) for v in report.verdicts] == [("by_region", "equal"), ("other", "unproved")]
    assert (report.outcome, report.success, report.failures) == ("unproved", False, ())
    assert "view other: not compared" in str(report)
    assert "equals its recomputation" not in str(report).replace(
        "1 of 2 views equals its recomputation, 1 unproved", ""
    )
    assert (report.statistics["successful"], report.statistics["unproved"]) == (5, 1)
    page = report.docs_index.read_text()
    assert '1 of 2 expectations hold, <span class="unproved">1 unproved</span>' in page
    assert "Succeeded" not in page
    assert page.count("✓ holds") == 1


def test_other_columns_are_a_failure_not_a_crash(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    held = asked.views[0].snapshot
    assert held is not None
    narrow = replace(asked.views[0], snapshot=held.drop_columns(["total"]))
    report = validate_snapshot(spark, replace(asked, views=(narrow,)))
    assert [f for f in report.failures if "the snapshot has the columns region, n" in f]


@pytest.fixture(scope="module")
def numbers(session: SparkSession) -> Relation:
    """A table on which some views fail."""
    relation = Relation("numbers", (Column("i", INT), Column("wide", decimal(38, 0)), Column("s", STRING)))
    big = Decimal(9 * 10**37)
    rows = [(1, big, "1"), (2, big, "2"), (0, -big, "x")]
    session.createDataFrame(rows, spark_schema(relation)).coalesce(1).createOrReplaceTempView(relation.name)
    return relation


def judged(session: SparkSession, relation: Relation, sql: str, held: pa.Table | None, error: str = "") -> ViewVerdict:
    (verdict,) = judge_views(session, [ViewToValidate("v", sql, (), held, error=error)], [relation])
    return verdict


@pytest.mark.parametrize(
    "expression",
    sampled(["10 / i", "10 % i", "CAST(s AS INT)", "CAST(wide AS INT)", "LPAD(s, 3000000 + i)", "LN(i)", "SQRT(i - 1)", "CHR(i)", "wide * wide",
     "(SELECT i FROM numbers AS n2)", "MAKE_DATE(2024, 2, i)", "CAST(CAST(s AS DATE) AS VARCHAR)", "CAST(s AS DECIMAL(9, 2))",
     "9223372036854775807 + i", "SPLIT_PART(s, 'x', i)"], 4),
)  # fmt: skip
def test_a_view_in_error_is_right_exactly_if_its_sql_fails(
    expression: str, session: SparkSession, numbers: Relation
) -> None:
    rows, fails, works = (
        pa.table({"c": [1]}),
        f"SELECT {expression} AS c FROM numbers",
        "SELECT COUNT(*) AS c FROM numbers",
    )
    assert judged(session, numbers, fails, None, "it fails").outcome == IN_ERROR
    wrong = judged(session, numbers, fails, rows)
    assert (wrong.outcome, "its recomputation fails" in wrong.observed) == (DIFFERS, True)
    held_back = judged(session, numbers, works, None, "it fails")
    assert (held_back.outcome, "but its recomputation is not" in held_back.observed) == (DIFFERS, True)


def test_one_failing_view_does_not_concern_the_others(session: SparkSession, numbers: Relation) -> None:
    three = pa.table({"c": [3]})
    views = [
        ViewToValidate("fails", "SELECT 1 / i AS c FROM numbers", (), None, error="division by zero"),
        ViewToValidate("works", "SELECT COUNT(*) AS c FROM numbers", (), three),
        ViewToValidate("unknown", "SELECT nothing AS c FROM numbers", (), three),
        ViewToValidate("wrong", "SELECT COUNT(*) + 1 AS c FROM numbers", (), three),
    ]
    outcomes = [v.outcome for v in judge_views(session, views, [numbers])]
    assert outcomes == [IN_ERROR, EQUAL, UNPROVED, DIFFERS]


def test_sums_may_pass_38_digits_on_their_way(session: SparkSession, numbers: Relation) -> None:
    held = pa.table({"c": pa.array([Decimal(9 * 10**37)], pa.decimal128(38, 0))})
    assert judged(session, numbers, "SELECT SUM(wide) AS c FROM numbers", held).outcome == EQUAL
    beyond = "SELECT SUM(wide) AS c FROM numbers WHERE wide > 0"
    assert judged(session, numbers, beyond, None, "a total beyond 38 digits").outcome == IN_ERROR


def test_star_selects_see_all_columns(spark: SparkSession, tmp_path: Path) -> None:
    asked = request(tmp_path, SNAPSHOT)
    rows = pa.table({"a": ["south"], "b": pa.array([Decimal("0.10")], pa.decimal128(15, 2)), "c": [0.5]})
    view = ViewToValidate("star", "select * from sales where region = 'south'", ("a",), rows)
    assert validate_snapshot(spark, replace(asked, views=(view,))).success


@pytest.mark.parametrize("key", sampled([("region",), ()], 2))
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
    base = base_table(session, relation, log, 1)
    net = base.where(base[MULTIPLICITY] > 0).drop(MULTIPLICITY)
    assert sorted(str(row[0]) for row in net.collect()) == ["None", "north", "north", "south", "south"]
    assert base_table(session, relation, [], 5).columns == ["region", "amount", "rate", MULTIPLICITY]
    assert base_table(session, relation, [], 5).count() == 0


def test_minus_zero_cancels_zero(session: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.float64()), ("_version", pa.int64()), ("_sign", pa.int8()), ("_offset", pa.int64())])
    rows = [{"x": 0.0, "_version": 0, "_sign": 1, "_offset": 0}, {"x": -0.0, "_version": 1, "_sign": -1, "_offset": 1}]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "z.parquet")
    assert base_table(session, Relation("z", (Column("x", DOUBLE),)), [tmp_path / "z.parquet"], 0).count() == 0


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
    found = recompute_m3(program, {r: dict.fromkeys(files, 0) for r, files in asked.log_files.items()}, 1)["by_region"]
    rows = [tuple(row.values()) for row in found.to_pylist()]
    assert sorted(rows, key=str) == sorted([(r, Decimal(t), n) for r, t, n in SNAPSHOT], key=str)
    by_m3 = replace(asked.views[0], sql="", recomputation=found)
    assert validate_snapshot(spark, replace(asked, views=(by_m3,))).success
    wrong = replace(by_m3, recomputation=found.slice(1))
    assert "too many: 1" in validate_snapshot(spark, replace(asked, views=(wrong,))).failures[0]
