"""Final partitions are validated by themselves: right ones pass before their epoch is over, a wrong one is found and named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.engine import Runtime
from cumulus_ops.engine.executor import InProcess
from cumulus_ops.snapshot import run_minibatch
from cumulus_ops.snapshot.finals import final_rows, finalise
from cumulus_ops.validation import finals
from cumulus_ops.validation.finals import validate_finals
from tests.support.projects import Event
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


def outcomes(rt: Runtime) -> dict[tuple[str, str], bool | None]:
    return {(f.view, f.value): f.validated for f in rt.catalog.finals()}


def test_final_partitions_equal_their_recomputation(rt: Runtime) -> None:
    finalise(rt)
    found = validate_finals(rt)
    assert {(v.partition.view, v.partition.value) for v in found} == {
        (n, v) for n in SEALED for v in ('["1"]', "[null]")
    }
    assert all(v.success for v in found), [str(v) for v in found]
    assert outcomes(rt) == dict.fromkeys(outcomes(rt), True)
    page = found[0].report.read_text(encoding="utf-8")
    assert "The final rows of counts equal its SQL" in page
    assert "campaign NULL; 1" in page or "campaign 1; NULL" in page
    assert validate_finals(rt) == []
    assert rt.catalog.closed_left("clicks", "campaign") == []


def test_a_wrong_partition_is_named(rt: Runtime) -> None:
    finalise(rt)

    def wrongly(rt: Runtime, view: object, values: list[str], **what: object) -> tuple[pa.Table, object]:
        rows, places = final_rows(rt, view, values, **what)  # type: ignore[arg-type]
        if view.view.name != "counts":  # type: ignore[attr-defined]
            return rows, places
        wrong = pa.array(
            [n if c is None else n + 1 for n, c in zip(*(rows[x].to_pylist() for x in ("n", "campaign")), strict=True)]
        )
        return rows.set_column(1, "n", wrong), places

    with patch.object(finals, "final_rows", wrongly):
        found = validate_finals(rt)
    wrong = [v for v in found if not v.success]
    assert [(v.partition.view, v.partition.value) for v in wrong] == [("counts", '["1"]')]
    assert "other values: 1" in wrong[0].observed
    assert rt.catalog.final_counts().wrong == 1
