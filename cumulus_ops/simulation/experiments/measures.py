"""What is read off a run: latencies, corrections, and how much load the busiest actor leaves room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from cumulus_ops.simulation.case import Version
from cumulus_ops.simulation.kernel import Costs, Disorder, Sent
from cumulus_ops.simulation.load import Load, load_case
from cumulus_ops.simulation.run import Outcome, Spec, run_case

__all__ = ["Measured", "capacity", "corrections_by_coordinator", "latencies_ms", "measured", "per_event", "percentile"]

SEEDS = 3


def measured(
    spec: Spec,
    load: Load,
    options: Mapping[str, Any] | None = None,
    *,
    scale: float = 1.0,
    disorder: Disorder | None = None,
    costs: Costs | None = None,
    seeds: int = SEEDS,
) -> Measured:
    """Some runs of a protocol under a load that differ in their seeds only; ``scale`` multiplies the number of events."""
    loads = [replace(load, seed=load.seed + i, events=max(10, round(load.events * scale))) for i in range(seeds)]
    return Measured([run_case(load_case(spec, each, options, disorder, costs), spec, record=True) for each in loads])


class Measured:
    """Runs, and what they have on average."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes

    def mean(self, of: Callable[[Outcome], float]) -> float:
        """The mean of something over the runs."""
        return fmean(map(of, self.outcomes))

    def messages(self, *kinds: str) -> float:
        """Messages per event, of these kinds, or all."""
        return self.mean(lambda o: sum(n for k, n in o.messages.items() if not kinds or k in kinds) / o.events)

    def bytes(self) -> float:
        """Bytes per event."""
        return self.mean(lambda o: sum(o.bytes.values()) / o.events)

    def count(self, name: str) -> float:
        """What the protocol counts, per event."""
        return self.mean(lambda o: o.counts[name] / o.events)

    def capacity(self, actors: str = "") -> float:
        """Events a second; see :func:`capacity`."""
        return self.mean(lambda o: capacity(o, actors))

    def settled_ms(self, share: float = 0.5) -> float:
        """After how long nothing about an event is under way any more; the median, or another quantile."""
        return self.mean(lambda o: percentile(latencies_ms(o), share))


def latencies_ms(outcome: Outcome, counts: Callable[[Sent], bool] = lambda sent: True) -> list[float]:
    """For each event the time from its dispatch to the last message about it that ``counts``, in milliseconds. The run must have been recorded."""
    first: dict[Version, float] = {}
    last: dict[Version, float] = {}
    for sent in outcome.trace:
        for version in sent.message.about():
            first[version] = min(first.get(version, sent.sent_s), sent.sent_s)
            if counts(sent):
                last[version] = max(last.get(version, 0.0), sent.arrived_s)
    return [(last[v] - first[v]) * 1e3 for v in outcome.stamped if v in last]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all lie below; 0 of nothing.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    3.0
    """
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def capacity(outcome: Outcome, actors: str = "") -> float:
    """Events a second that the busiest actor (whose name begins with ``actors``) could keep up with, were it always busy."""
    busiest = max(s for name, s in outcome.busy_s.items() if name.startswith(actors))
    return outcome.events / busiest if busiest else 0.0


def corrections_by_coordinator(outcome: Outcome) -> Counter[int]:
    """Coordinator -> corrections of its events, in a run of the eventual protocol."""
    pushed = outcome.system.pushed  # type: ignore[union-attr]
    return Counter(p.stamp.version.coordinator for p in pushed if p.cascade)


def per_event(outcome: Outcome, counted: Counter[int]) -> dict[int, float]:
    """Coordinator -> how many per event of its own."""
    events = Counter(v.coordinator for v in outcome.stamped)
    return {i: counted[i] / events[i] for i in sorted(events)}
