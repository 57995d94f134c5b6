"""What readers get is what is compared: the rows of the published version, in the view's order and up to its limit; and where they cannot be
compared, nothing says that they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cumulus_ops.cli.main import main
from cumulus_ops.compute.steps import InProcess
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.validation.request import ValidationReport
from cumulus_ops.validation.run import validate

pytestmark = pytest.mark.spark

PROJECT = """
name: shop
relations:
  orders: {columns: {id: bigint, customer: string, price: "decimal(15,2)"}, key: [id]}
views: {top: top.sql, totals: totals.sql, others: others.sql}
sources: {landing: {path: landing, settle: 0s}}
epochs: {length: 15m, start: 2026-01-01T00:00:00Z}
dialect: postgres
executor: {kind: inprocess}
validation: {policy: fail, unproved: warn}
state: state
publish: {path: published}
"""
VIEWS = {
    "top": "SELECT customer, SUM(price) AS total FROM orders GROUP BY customer ORDER BY SUM(price) DESC LIMIT 3 OFFSET 1",
    "totals": "SELECT COUNT(*) AS n, SUM(price) AS s FROM orders",
    "others": "SELECT customer FROM orders ORDER BY price DESC, id LIMIT 4",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "cumulus.yaml").write_text(PROJECT)
    for name, sql in VIEWS.items():
        (folder / f"{name}.sql").write_text(sql)
    drop = folder / "landing" / "0" / "d"
    drop.mkdir(parents=True)
    rows = [f"I,{i},c{i % 7},{i % 5}.00\n" for i in range(40)]
    (drop / "orders.csv").write_text("op,id,customer,price\n" + "".join(rows))
    with patch.object(InProcess, "session", spark, create=True):
        done = call(folder, "run")
        assert done.exit_code == 0, done.output
        yield load_project(folder)


@pytest.fixture
def rt(project: Project) -> Iterator[Runtime]:
    with open_runtime(project) as rt:
        yield rt


def call(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(folder)], catch_exceptions=False)


def observed(report: ValidationReport) -> dict[str, tuple[str, str]]:
    return {v.view: (v.outcome, v.observed) for v in report.verdicts}


def rewritten(project: Project, view: str, change: object) -> Path:
    """Change the rows in the file of the published version; statistics and counts of the log stay."""
    (name,) = DeltaTable(str(project.published / view)).file_uris()
    file = project.published / view / Path(name).name
    pq.write_table(change(pq.ParquetFile(file).read()), file)
    return file


def more(rows: pa.Table) -> pa.Table:
    totals = rows["total"].to_pylist()
    return rows.set_column(1, "total", pa.array([totals[0] + 1, *totals[1:]], rows["total"].type))


def swapped(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array([1, 0, *range(2, len(rows))]))


def test_rows_behind_a_limit_are_compared_as_they_were_published(rt: Runtime) -> None:
    found = observed(validate(rt, 0))
    assert found["top"] == ("equal", "7 rows, all equal; published as version 0, in this order: 3 rows, all equal")
    assert found["others"] == ("equal", "40 rows, all equal; published as version 0, in this order: 4 rows, all equal")
    assert found["totals"] == ("equal", "1 rows, all equal; published as version 0: 1 rows, all equal")


@pytest.mark.parametrize("change", [more, swapped, lambda rows: rows.slice(1)], ids=["value", "order", "row"])
def test_damage_to_published_rows_is_found(change: object, project: Project, rt: Runtime) -> None:
    kept = (file := rewritten(project, "top", lambda rows: rows)).read_bytes()
    rewritten(project, "top", change)
    try:
        done = call(project.folder, "validate", "0", "--view", "top")
        assert done.exit_code == 1, done.output
        assert "published as version 0, in this order: " in done.output
        assert "7 rows, all equal" in done.output
        (top,) = (v for v in rt.catalog.results.validations()[0].verdicts.items() if v[0] == "top")
        assert top[1][0] == "differs"
        assert [(e.state, e.validation) for e in status(rt).epochs[:1]] == [("failed", "failed")]
    finally:
        file.write_bytes(kept)


def test_published_rows_that_are_gone_are_no_rows_that_hold(project: Project, rt: Runtime) -> None:
    kept = (file := rewritten(project, "totals", lambda rows: rows)).read_bytes()
    file.unlink()
    try:
        found = observed(validate(rt, 0, ["totals"]))["totals"]
        assert found[0] == "differs"
        assert "published as version 0: unreadable: " in found[1]
    finally:
        file.write_bytes(kept)


def test_without_published_rows_what_is_read_is_compared_and_said(rt: Runtime) -> None:
    unpublished = dataclasses.replace(rt, project=dataclasses.replace(rt.project, published=None))
    found = observed(validate(unpublished, 0))
    assert found["top"][1] == "7 rows, all equal; nothing is published; as it is read, in this order: 3 rows, all equal"
    assert found["totals"][1] == "1 rows, all equal; nothing is published"
    with patch.object(type(rt.catalog.results), "published_in", lambda *_: {}):
        assert "not published, or not yet" in observed(validate(rt, 0))["totals"][1]


def test_what_spark_cannot_run_is_unproved_wherever_it_is_shown(project: Project, rt: Runtime) -> None:
    refused = patch("cumulus_ops.validation.recompute.write_out", side_effect=_refuse("totals", VIEWS["totals"]))
    with refused:
        done = call(project.folder, "validate", "0")
    assert done.exit_code == 2, done.output
    assert "epoch 0 is not proved: 2 of 3 views equal their recomputation, 1 unproved" in done.output
    assert "view totals: not compared" in done.output
    kept = rt.catalog.results.validations()[0]
    assert (kept.outcome, kept.verdicts["totals"][0], kept.failures) == ("unproved", "unproved", ())
    assert [(e.state, e.validation) for e in status(rt).epochs[:1]] == [("unproved", "unproved")]
    assert "unproved: 2 of 3" in " ".join(call(project.folder, "status").output.replace("│", " ").split())
    index = (project.reports / "index.html").read_text()
    assert '<td class="unproved">unproved</td>' in index
    assert '<pre class="unproved">view totals: not compared' in index
    file = project.folder / "cumulus.yaml"
    file.write_text(PROJECT.replace("unproved: warn", "unproved: fail"))
    try:
        with refused:
            assert call(project.folder, "validate", "0").exit_code == 1
    finally:
        file.write_text(PROJECT)


def _refuse(view: str, text: str) -> object:
    from cumulus_ops.validation.meaning import write_out
    from cumulus_ops.validation.meaning.terms import refusal

    def write(sql: str, *args: object, **kwargs: object) -> object:
        if sql.strip() == text:
            raise refusal(f"the view {view}")
        return write_out(sql, *args, **kwargs)

    return write
