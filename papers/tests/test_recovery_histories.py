"""Nodes fail in simulated time, and what is left is an execution in which none did; nobody but those that failed was rolled back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cumulus_papers.experiments.recovery import Grid
from cumulus_papers.recovery.histories import BLOCK, check_histories
from cumulus_papers.recovery.judge import CHOICES, ORDERS, Witness, Wrong
from cumulus_papers.recovery.picture import trace_recovery
from cumulus_papers.recovery.system import Failure, Recovery, run_history
from cumulus_papers.sequence import described, to_svg
from m3.errors import M3Error
from m3.recovery.sending import Outlet

#: How many histories CI looks at; `cumulus simulate recoveries --seeds 10000` has more.
SEEDS = 40
TABLE_SEEDS = 6


def test_random_histories_of_failures_are_right() -> None:
    found = check_histories(range(SEEDS))
    assert found.failures == []
    counts = ("failures", "failures during a recovery", "taken for dead, and alive", "replayed", "tables", "overtaken")
    assert {what for what in counts if not found.counts[what]} == set()


def test_histories_that_need_tables_are_right_and_leave_a_choice() -> None:
    found = check_histories(range(TABLE_SEEDS), "tables")
    assert found.failures == []
    assert found.counts[CHOICES] >= found.counts["recoveries"] / 5
    assert 0 < found.counts[ORDERS] <= found.counts[CHOICES] <= found.counts["tables"]
    assert f"of {found.counts['recoveries']} recoveries" in found.describe()


def test_an_input_that_nobody_gets_takes_no_place_behind_later_ones() -> None:
    """A router that fails twice: in its second life what nobody wants must not be processed after later inputs of its parent."""
    assert check_histories([1850]).failures == []


@pytest.mark.parametrize("kind", ["sequence", "sum"])
def test_only_the_node_that_failed_is_rolled_back(kind: str) -> None:
    grid = Grid(3, 2, kind)
    history = grid.history(grid.inputs(0.4), failures=[Failure(0.3, ("n2.0",))], store_s=0.1, end_s=0.8)
    world = Recovery(history)
    outcome = world.run()
    assert [(name, outcome.counts["recoveries"]) for name, *_ in outcome.recovery_s] == [("n2.0", 1)]
    assert {name for name, life in world.controller.lives.items() if life > 1} == {"n2.0"}
    assert outcome.counts["replayed"] > 0 or kind == "sum"


def test_a_node_that_is_slow_is_taken_for_dead_and_nothing_is_done_twice() -> None:
    grid = Grid(2, 2)
    history = grid.history(grid.inputs(0.4), beat_s=0.01, timeout_s=0.03, end_s=0.8)
    slow = replace(history, disorder=replace(history.disorder, pauses=4.0, outage_s=0.15))
    assert run_history(slow).counts["taken for dead, and alive"] > 0


def test_a_recovery_is_drawn() -> None:
    traced = trace_recovery(3, 1)
    kinds = [sent.message.kind for sent in traced.messages]
    assert kinds.index("Hold") < kinds.index("Ask") < kinds.index("Report") < kinds.index("Start")
    assert kinds.index("Start") < kinds.index("Started") < kinds.index("Resume") < kinds.index("Data")
    assert kinds[-1] == "Recovered"
    assert "is replayed" in described(traced)[0]
    assert to_svg(traced).count("<g class") == len(traced.messages)
    assert described(traced)[-1] == "no execution-replay table was needed"
    with pytest.raises(M3Error, match="and no failure 9"):
        trace_recovery(3, 9)


def test_the_table_of_a_recovery_is_drawn() -> None:
    """Its neighbourhood in the order in which messages go, of each channel's data no more than two, and below the table, all of it."""
    traced = trace_recovery(3, 1, "tables")
    assert traced.order == ("controller", "s0", "s1", "n11", "k0", "k1", "k2")
    channels = Counter((s.sender, s.receiver) for s in traced.messages if s.message.kind == "Data")
    assert set(channels.values()) == {2}
    assert {pair for pair in channels if "n11" not in pair} == set()
    lines = described(traced)
    assert "between them are left out" in lines[-7]
    assert "one of 18 that are valid; placed by it: s1:190, s1:200, s1:208, s1:209; all else" in lines[-5]
    assert lines[-3].split()[:2] == ["s0", "162"]
    width = int(to_svg(traced).split('width="')[1].split('"')[0])
    assert width >= 6 * max(map(len, lines[-4:]))


def test_a_planted_bug_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By histories in time as well; more bugs are planted in test_recovery_mutants."""
    monkeypatch.setattr(Outlet, "had", lambda *_, **__: True)
    assert check_histories(range(BLOCK)).failures


def test_the_judge_looks_at_states(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(1, 1, "sum")
    world = Recovery(grid.history(grid.inputs(0.1), end_s=0.2))
    judge = Witness.judge

    def spoiled(self: Witness, *args: object) -> None:
        self.nodes["n1.0"].state[0] += 1
        judge(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Witness, "judge", spoiled)
    with pytest.raises(Wrong, match=r"n1\.0 has"):
        world.run()
