"""Final partitions are validated by themselves: right ones pass before their epoch is over, a wrong one is found and named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from cumulus_ops.cli.main import main
from cumulus_ops.compute.steps import InProcess
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.query.answers import SealedView, read_final_rows
from cumulus_ops.validation import finals
from cumulus_ops.validation.finals import validate_finals
from tests.support.projects import Event
from tests.support.sampling import deep
from tests.support.sealed import SEALED, append_sealing, sealed_project

pytestmark = pytest.mark.spark

FIRST: list[Event] = [
    *(("clicks", 1, (i, campaign, i % 3)) for i in range(9) for campaign in (1, 2, None)),
    *(("ads", 1, (campaign, name)) for campaign in (1, 2, None) for name in "ab"),
    ("clicks", -1, (0, 1, 0)),
]


@pytest.fixture
def rt(tmp_path: Path, spark: SparkSession) -> Iterator[Runtime]:
    with sealed_project(tmp_path) as rt, patch.object(InProcess, "session", spark, create=True):
        append_sealing(rt, 0, FIRST, "a")
        append_sealing(rt, 1, [("clicks", 1, (1, 1, 2)), ("clicks", 1, (2, 2, 2))], "b", {"clicks": [1]})
        append_sealing(rt, 0, [], "c", {"clicks": [1, None], "ads": [1, None]})
        for coordinator in (0, 1):
            run_minibatch(rt, coordinator, [])
        yield rt


def outcomes(rt: Runtime) -> dict[tuple[str, str], str | None]:
    return {(f.view, f.value): f.verdict for f in rt.catalog.finals.finals()}


@deep
def test_rows_that_show_a_form_of_the_value_equal_their_recomputation(tmp_path: Path, spark: SparkSession) -> None:
    views = {
        "texts": "SELECT 'c' || CAST(campaign AS STRING) AS c, COUNT(*) AS n FROM clicks GROUP BY 1",
        "moved": "SELECT c.campaign + 1 AS c, name FROM clicks c JOIN ads a ON c.campaign = a.campaign",
    }
    with sealed_project(tmp_path, 1, views=views) as rt, patch.object(InProcess, "session", spark, create=True):
        append_sealing(rt, 0, FIRST, "a", {"clicks": [1, 2], "ads": [1, 2]})
        run_minibatch(rt, 0, [])
        finalise(rt)
        found = validate_finals(rt)
        assert {(v.partition.view, v.partition.value) for v in found} == {
            (n, v) for n in views for v in ('["1"]', '["2"]')
        }
        assert all(v.success for v in found), [str(v) for v in found]
        assert sum(v.partition.rows for v in found) > 4


def test_final_partitions_equal_their_recomputation(rt: Runtime) -> None:
    finalise(rt)
    found = validate_finals(rt)
    assert {(v.partition.view, v.partition.value) for v in found} == {
        (n, v) for n in SEALED for v in ('["1"]', "[null]")
    }
    assert all(v.success for v in found), [str(v) for v in found]
    assert outcomes(rt) == dict.fromkeys(outcomes(rt), "equal")
    page = found[0].report.read_text(encoding="utf-8")
    assert "The final rows of counts equal its SQL" in page
    assert "campaign NULL; 1" in page or "campaign 1; NULL" in page
    assert validate_finals(rt) == []
    assert rt.catalog.finals.closed_left("clicks", "campaign") == []


def wrongly(rt: Runtime, view: SealedView, values: list[str], *, checked: bool = True) -> tuple[pa.Table, np.ndarray]:
    """The rows of partitions, but the view ``counts`` counts one more wherever there is a campaign."""
    rows, places = read_final_rows(rt, view, values, checked=checked)
    if view.view.name != "counts":
        return rows, places
    more = pc.add(rows["n"], pc.cast(pc.is_valid(rows["campaign"]), rows["n"].type))
    return rows.set_column(1, "n", more), places


def test_a_wrong_partition_is_named(rt: Runtime) -> None:
    finalise(rt)
    with patch.object(finals, "read_final_rows", wrongly):
        found = validate_finals(rt)
    wrong = [v for v in found if not v.success]
    assert [(v.partition.view, v.partition.value) for v in wrong] == [("counts", '["1"]')]
    assert "other values: 1" in wrong[0].observed
    assert rt.catalog.finals.final_counts().wrong == 1


PROJECT = """
name: clicked
relations:
  clicks:
    columns: {campaign: bigint, hour: timestamp}
    insert_only: true
    seals: {campaign: {key: [campaign, hour]}}
views: {counts: counts.sql}
sources: {landing: {path: landing, settle: 0s}}
epochs: {length: 15m, start: 2026-01-01T00:00:00Z}
validation: {policy: fail}
executor: {kind: inprocess}
state: state
publish: {path: published}
"""


def test_a_run_that_finds_one_wrong_ends_with_1(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "cumulus.yaml").write_text(PROJECT)
    (tmp_path / "counts.sql").write_text("SELECT campaign, COUNT(*) AS n, hour FROM clicks GROUP BY campaign, hour")
    for campaign, is_right in ((7, True), (8, False)):
        drop = tmp_path / "landing" / "0" / f"{campaign}"
        drop.mkdir(parents=True)
        (drop / "clicks.csv").write_text(f"op,campaign,hour\nI,{campaign},2026-05-04 08:00:00\n")
        (drop / "clicks.campaign.seal.csv").write_text(f"campaign,hour\n{campaign},2026-05-04 08:00:00\n")
        with patch.object(finals, "read_final_rows", read_final_rows if is_right else wrongly):
            done = CliRunner().invoke(main, ["run", "--project", str(tmp_path)], catch_exceptions=False)
        assert done.exit_code == (0 if is_right else 1)
        said = "1 final partition: validation " + ("passed" if is_right else "FAILED for 1")
        assert said in done.output
        assert f"epoch {campaign - 7}: validation passed" in done.output
