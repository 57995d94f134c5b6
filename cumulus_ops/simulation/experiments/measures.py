"""What is read off a run: latencies, and how much load the busiest actor leaves room for."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from cumulus_ops.simulation.case import Version
from cumulus_ops.simulation.kernel import Sent
from cumulus_ops.simulation.run import Outcome

__all__ = ["capacity", "latencies_ms", "mean_ms", "percentile"]


def latencies_ms(outcome: Outcome, counts: Callable[[Sent], bool] = lambda sent: True) -> list[float]:
    """For each event the time from its arrival to the last message about it that ``counts``, in milliseconds.

    The run must have been recorded."""
    last: dict[Version, float] = {}
    first: dict[Version, float] = {}
    for sent in outcome.trace:
        for version in sent.message.about() if counts(sent) else ():
            last[version] = max(last.get(version, 0.0), sent.arrived_s)
    for sent in outcome.trace:
        for version in sent.message.about():
            first[version] = min(first.get(version, sent.sent_s), sent.sent_s)
    return [(last[v] - first[v]) * 1e3 for v in outcome.stamped if v in last]


def mean_ms(values: list[float]) -> float:
    """The mean, 0 of nothing."""
    return fmean(values) if values else 0.0


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all lie below; 0 of nothing.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    3.0
    """
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def capacity(outcome: Outcome, actors: str = "") -> float:
    """Events a second that the busiest actor (whose name begins with ``actors``) could keep up with, were it always busy."""
    busiest = max(s for name, s in outcome.busy_s.items() if name.startswith(actors))
    return outcome.events / busiest if busiest else 0.0
