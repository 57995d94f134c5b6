"""The experiments on the engine, small: that they count what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.experiments.costs import slope
from benchmarks.experiments.data import merge_csv, read_csv
from benchmarks.experiments.rounds import staggered
from benchmarks.experiments.shop import Run, Settings, run_shop

EVEN = (1 / 3, 1 / 3, 1 / 3)


def played(folder: Path, versions: str, delays: tuple[int, ...], **options: object) -> Run:
    small = Settings(versions, EVEN, delays, periods=3, epochs=2, stories=60, **options)  # type: ignore[arg-type]
    return run_shop(folder, small)


def test_staggering_creates_corrections_for_programs_from_sql(tmp_path: Path) -> None:
    aligned = played(tmp_path / "aligned", "batch", (0, 0, 0))
    moved = played(tmp_path / "staggered", "batch", staggered(3, 3))
    assert aligned.events.total() == moved.events.total() == 660
    assert not aligned.corrected
    assert moved.corrected[0] > moved.corrected[2] == 0, "who is ahead is corrected, who is behind never"


def test_aligned_epochs_correct_the_lower_priorities_where_events_have_versions(tmp_path: Path) -> None:
    aligned = played(tmp_path / "aligned", "event", (0, 0, 0))
    assert 0 == aligned.corrected[0] < aligned.corrected[1] < aligned.corrected[2]


def test_readings_are_right_after_corrections_and_only_then(tmp_path: Path) -> None:
    run = played(tmp_path, "batch", (0, 0, 0), together=True, every=6, watched=True)
    assert sum(p.entries for p in run.passes) == run.corrected.total() > 0
    periods = [run.wrong[i : i + 3] for i in range(0, len(run.wrong), 3)]
    assert any(any(periods[i]) for i in (0, 2, 3)), (
        "batches that read together miss each other until they are corrected"
    )
    assert not any(any(periods[i]) for i in (1, 4)), (
        "six batches after the beginning, or after the commit behind period 2"
    )


def test_rows_with_the_same_keys_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    merge_csv(file, [{"a": 1, "b": 2, "n": 3}, {"a": 1, "b": 3, "n": 4}], ("a", "b"))
    merge_csv(file, [{"a": 1, "b": 2, "n": 5}, {"a": 2, "b": 2, "n": 6}], ("a", "b"))
    assert [(r["a"], r["b"], r["n"]) for r in read_csv(file)] == [("1", "2", "5"), ("1", "3", "4"), ("2", "2", "6")]


def test_a_slope_is_per_row() -> None:
    assert slope([10, 20, 30], [1.5, 2.5, 3.5]) == pytest.approx(0.1)


def test_nobody_waits_for_who_is_late_and_is_corrected_instead(tmp_path: Path) -> None:
    late = played(tmp_path / "late", "batch", (2, 0, 0), passing=True)
    assert late.events.total() == 660, "all epochs are complete"
    assert late.corrected[0] == 0 < late.corrected[1] + late.corrected[2]
