"""Ad reporting: ad servers send clicks to replicated reporting servers, which answer requests about campaigns (query CAMPAIGN).

A server has batches of clicks, sent at a rate; it goes through its campaigns one after the other. What coordination there is:

- **uncoordinated**: replicas count what comes, and answer at once;
- **sealed**, **independently sealed**: after a campaign's last click a server seals it; a replica counts a campaign once all servers responsible
  for it have, and answers then. Who is responsible it asks a registry, once per campaign. Every server has clicks of all campaigns, or
  campaigns of its own;
- **ordered by entry**, **ordered by batch**: all goes through a sequencer, which sends it on to all replicas in the order in which it came:
  each click by itself, or a batch at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from cumulus_ops.simulation.coordinated.ad_actors import Analyst, Registry, Replica, Sequencer, Server
from cumulus_ops.simulation.coordinated.ad_workload import (
    AdRegime,
    AdWorkload,
    Answer,
    Answered,
    Click,
    Counted,
    Plan,
    Tick,
)
from cumulus_ops.simulation.kernel import Costs, Disorder, Simulation

__all__ = ["AdRun", "run_ads"]


@dataclass
class AdRun:
    """What came of it. ``progress``: (time, clicks counted so far) of the first replica. ``answers``: what each replica answered to each request;
    ``states``: what each counted in the end."""

    clicks: int
    progress: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    answers: dict[str, dict[int, Answer]] = field(default_factory=lambda: defaultdict(dict))
    states: dict[str, Mapping[Click, int]] = field(default_factory=dict)
    messages: int = 0

    @property
    def finished_s(self) -> float:
        """When the last click was counted."""
        return self.progress[-1][0]

    @property
    def clicks_per_s(self) -> float:
        """From the beginning until everything was counted."""
        return self.clicks / self.finished_s

    def peak_per_s(self, window_s: float = 0.05) -> float:
        """The most clicks counted within some window, per second."""
        best, first = 0, 0
        for at_s, counted in self.progress:
            while self.progress[first][0] < at_s - window_s:
                first += 1
            best = max(best, counted - self.progress[max(0, first - 1)][1])
        return best / window_s

    @property
    def agreeing(self) -> bool:
        """Whether all replicas counted the same."""
        return len({tuple(sorted(s.items())) for s in self.states.values()}) == 1

    def differing(self) -> int:
        """Requests that replicas answered differently."""
        by_replica = list(self.answers.values())
        return sum(len({a.get(number) for a in by_replica}) > 1 for number in by_replica[0])

    def differing_from(self, other: AdRun) -> int:
        """Requests that some replica answered otherwise in another run."""
        return sum(
            any(other.answers[name].get(number) != mine[number] for name, mine in self.answers.items())
            for number in next(iter(self.answers.values()))
        )


def run_ads(
    regime: AdRegime,
    workload: AdWorkload,
    *,
    seed: int = 0,
    costs: Costs | None = None,
    disorder: Disorder | None = None,
) -> AdRun:
    """Simulate a workload.

    Args:
        regime: how it is coordinated.
        workload: the same events in every run.
        seed: how long messages take; another one is another run.
        costs: what things take.
        disorder: how much longer messages may take; by default 0.5 ms on average.
    """
    plan, paid = Plan(regime, workload), costs or Costs()
    simulation = Simulation(seed, paid, disorder or Disorder(delay_s=0.5e-3), record=False, handled_max=10_000_000)
    run = AdRun(workload.servers * workload.entries)
    for i in range(workload.servers):
        simulation.add(f"server {i}", partial(Server, plan=plan, server=i))
        simulation.inject(plan.gap_s(f"server {i}", -1, workload.gap_s), f"server {i}", Tick(0))
    simulation.add("analyst", partial(Analyst, plan=plan))
    simulation.inject(workload.gap_s, "analyst", Tick(0))
    simulation.add("sequencer", partial(Sequencer, plan=plan))
    simulation.add("registry", partial(Registry, plan=plan))
    for name in plan.replicas:
        simulation.add(name, partial(Replica, plan=plan, costs=paid))
    simulation.watchers.append(lambda at_s, name, what: _note(run, at_s, name, what))
    simulation.run()
    run.states = {name: dict(simulation.actor(name).counts) for name in plan.replicas}
    run.messages = simulation.messages.total()
    return run


def _note(run: AdRun, at_s: float, name: str, what: object) -> None:
    if isinstance(what, Answered):
        run.answers[name][what.number] = what.answer
    elif isinstance(what, Counted) and name == "replica 0":
        run.progress.append((at_s, run.progress[-1][1] + what.clicks))
