"""Sweeps count what they cover, and a failing seed shrinks to a case that a person can follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cumulus_papers.case import Case, Stamp, Version
from cumulus_papers.protocols import PROTOCOLS, central
from cumulus_papers.sweep import describe_failure, draw_case, failure_of, shrink, sweep
from m3.program import Program

TARGET, SOURCE = PROTOCOLS["target"], PROTOCOLS["source"]


def test_a_sweep_counts_what_happened() -> None:
    progress: list[tuple[int, int]] = []
    report = sweep([TARGET, SOURCE], range(4), on_progress=lambda done, of: progress.append((done, of)))
    assert (report.runs, report.failures, progress) == (8, (), [(4, 8), (8, 8)])
    tally = report.by_protocol["source"]
    assert tally.kinds["Notify"] == tally.kinds["Snapshot"] == 4
    assert tally.kinds["Slice"] == 0
    assert tally.events == sum(len(draw_case(seed, SOURCE).arrivals) for seed in range(4))
    assert tally.nodes == sum(len(draw_case(seed, SOURCE).layout.nodes) for seed in range(4))
    assert sum(n for (name, _), n in tally.options.items() if name == "fan_out") == 4
    assert "source: 4 runs" in report.describe()


def test_processes_find_the_same() -> None:
    assert sweep([TARGET], range(3), processes=2) == sweep([TARGET], range(3))


def test_what_was_not_covered_is_said() -> None:
    report = sweep([replace(TARGET, kinds=("Notify", "Rumour"), options={"fan_out": (2, 3)})], range(2))
    assert "target: Rumour in 0 of 2 runs, fewer than 5%" in report.missing()
    assert not any(line.startswith("Notify") for line in report.missing())
    small = replace(report, by_protocol={"target": replace(report.total, events=70, nodes=7, epochs=3)})
    assert {
        "35.0 events a run, fewer than 40",
        "3.5 nodes a run, fewer than 4",
        "1.5 epochs a run, fewer than 2",
    } <= set(small.missing())


@pytest.fixture
def early_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: what the event just before has written is not waited for."""
    right = central.read_bound

    def wrong(program: Program, version: Version, statement: int, after: bool) -> Stamp:
        return right(program, version._replace(sequence=version.sequence - 1), statement, after)

    monkeypatch.setattr(central, "read_bound", wrong)


@pytest.fixture
def failing(early_reads: None) -> Case:
    """The first case that the planted bug makes fail."""
    report = sweep([TARGET], range(10))
    assert report.failures
    assert report.failures[0].error.startswith("Wrong: at ")
    assert f"FAILED: target, seed {report.failures[0].seed}: Wrong" in report.describe()
    return draw_case(report.failures[0].seed, TARGET)


def test_a_failing_case_shrinks(failing: Case) -> None:
    small = shrink(failing, TARGET)
    assert failure_of(small, TARGET)
    assert len(small.arrivals) <= 4 < len(failing.arrivals)
    assert small.disorder.restarts == small.disorder.pauses == 0
    assert small.epochs == 1
    assert sum(len(t.statements) for t in small.program.triggers) <= 4
    assert len(small.layout.nodes) <= 2


def test_a_failing_case_is_told_line_by_line(failing: Case) -> None:
    small = shrink(failing, TARGET)
    text = describe_failure(small, TARGET)
    lines = text.splitlines()
    assert lines[-1] == f"Wrong: {failure_of(small, TARGET)}"
    assert f"coordinator 0 gets +{small.arrivals[0].relation}{small.arrivals[0].row}" in text
    notified = [line for line in lines if "coordinator 0 -> node" in line and "Notify event=Event(" in line]
    assert len(notified) == len(small.arrivals)
    assert any(": Slice version=" in line for line in lines)


def test_a_case_that_does_not_fail_cannot_be_shrunk() -> None:
    with pytest.raises(ValueError, match="target, seed 0 does not fail"):
        shrink(draw_case(0, TARGET), TARGET)
