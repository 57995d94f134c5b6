"""The case of lost files at the smallest scale: what is measured is made again, and its answers are right; and what the summary says of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cases import recovery
from benchmarks.peers.cumulus_worker import apply_all
from benchmarks.report.summary import summary
from benchmarks.rows import Row
from benchmarks.settings import Settings
from benchmarks.states import State
from benchmarks.workload import drops_of, relations_of
from cumulus_ops.repair.maps import Repaired


@contextmanager
def loaded_here(home: Path, tables: Path, queries: tuple[str, ...], **_: Any) -> Iterator[State]:
    landing = drops_of(home, tables, relations_of(queries), 5000)
    folder = home / "states" / "here"
    folder.mkdir(parents=True)
    spec = {"folder": str(folder), "queries": list(queries), "landing": str(landing), "batches": None}
    done = apply_all({**spec, "kind": "inprocess"})
    yield State(folder, queries, done["events"], done["seconds"], 0.0)


def measure(home: Path, patch: pytest.MonkeyPatch, query: str) -> list[Row]:
    for name, value in {"LIVE": (1, 2), "MAPS": 2, "ALONE": 2, "WARM_UPS": 0, "SMALL": (1, 1)}.items():
        patch.setattr(recovery, name, value)
    patch.setattr(recovery, "loaded", loaded_here)
    settings = Settings((0.001,), (query,), repetitions=1, batch_sizes=(20,), home=home)
    return [row for rows in recovery.run(settings) for row in rows]


def test_lost_runs_are_measured_beside_their_backfill_and_all_maps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = measure(tmp_path, monkeypatch, "q3")
    assert [(row.variant, row.note) for row in rows if not row.seconds] == []
    found = {(row.contestant, row.variant): row for row in rows}
    lost = {variant for who, variant in found if who == "cumulus"}  # of a committed epoch all may be merged already
    assert {variant for variant in lost if "committed" not in variant} == {
        "normal operation, 1 batches",
        "one run of a live batch; 1 live batches",
        "all runs of a live batch; 1 live batches",
        "all live runs; 1 live batches",
        "a map, 1 of 2; 1 live batches",
        "a map, 2 of 2; 1 live batches",
        "all runs of a live batch; 2 live batches",
        "all live runs; 2 live batches",
        "a map, 2 of 2; 2 live batches",
    }
    assert found["cumulus", "one run of a live batch; 1 live batches"].runs == 2
    assert "proved by hashes" in found["cumulus", "a map, 2 of 2; 1 live batches"].note
    whole = found["cumulus", "a map, 2 of 2; 1 live batches"].events
    assert whole > found["cumulus", "all live runs; 2 live batches"].events > 0
    assert "1 answers checked" in found["cumulus-anew", "all maps; 2 live batches"].note
    hashing = found["cumulus-hashes", "normal operation, 1 batches"].seconds
    assert hashing is not None
    assert 0 < hashing < (found["cumulus", "normal operation, 1 batches"].seconds or 0)
    page = summary(rows)
    assert "| all maps |" in page
    assert "q3, SF 0.001, 1 batches of 20 events" in page


def test_a_lost_run_that_nobody_made_again_has_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "HASHED", ())
    monkeypatch.setattr(recovery, "repair_runs", lambda *_: Repaired((), (), 0.0))
    lost = [row for row in measure(tmp_path, monkeypatch, "q1") if row.contestant == "cumulus"]
    assert lost
    assert all(row.seconds is None and row.note.startswith("WRONG ANSWER: 0 of") for row in lost)


def test_a_file_of_each_kind_is_lost_and_none_is_damaged_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = measure(tmp_path, monkeypatch, "files")
    assert [(row.variant, row.note) for row in rows if not row.seconds] == []
    assert [row.variant for row in rows] == [*(what for what, *_ in recovery.FILES), "all maps"]
    assert rows[-1].note.endswith("no file is damaged, 1 answers checked")
    assert "a key index, SF 0.001" in summary(rows)


def test_the_summary_compares_what_is_lost_with_all_maps_and_by_scale_factor() -> None:
    def row(what: str, scale: float, seconds: float, contestant: str = "cumulus") -> Row:
        return Row("recovery", contestant, "all", f"{what}; 1 live batches", scale, 1000, 1, 0, 10, seconds, 1, seconds, seconds,
                   None, None, "2 groups, 1 levels deep; 1 answers checked", "2026-01-01", "here")  # fmt: skip

    rows = [row("one run of a live batch", 0.1, 0.02), row("one run of a live batch", 1.0, 0.03)]
    rows += [row("a map, 8 of 8", 1.0, 3.0), row("a map, 8 of 8", 1.0, 2.0, "cumulus-fill")]
    rows += [row("all maps", 0.1, 1.0, "cumulus-anew"), row("all maps", 1.0, 12.0, "cumulus-anew")]
    page = summary(rows)
    assert "| one run of a live batch | 0.02 | 0.03 | 1.5x | 400x |" in page
    assert "| the largest map | – | 3 | – | 4x |" in page
    assert "| 3 | 2 | 1.5x | 4x |" in page
