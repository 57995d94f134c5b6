"""The whole check: so many random cases, dealt out to the protocols so that the rarer messages of each are met often enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cumulus_ops.simulation.draw import draw_case
from cumulus_ops.simulation.protocols import PROTOCOLS
from cumulus_ops.simulation.shrink import describe_failure, shrink
from cumulus_ops.simulation.sweep import Failure, SweepReport, Tally, sweep

__all__ = ["check_protocols", "dealt", "minimal_failure"]

#: How many cases a protocol gets, relative to the others: more for those with more kinds of messages and options.
WEIGHTS = {"eventual": 12, "optimistic": 12, "source": 6, "target": 4}
WEIGHT = 5


def dealt(protocols: Sequence[str], seeds: int) -> dict[str, int]:
    """Protocol -> how many of the cases it gets.

    >>> dealt(["target", "eventual"], 8)
    {'target': 2, 'eventual': 6}
    """
    weights = {name: WEIGHTS.get(name, WEIGHT) for name in protocols}
    total = sum(weights.values())
    counts = {name: seeds * weight // total for name, weight in weights.items()}
    counts[protocols[-1]] += seeds - sum(counts.values())
    return counts


def check_protocols(
    protocols: Sequence[str],
    seeds: int,
    first: int,
    processes: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> SweepReport:
    """Run ``seeds`` cases in all, from the seed ``first`` on; ``on_progress`` is called with the number of cases that have been done since."""
    tallies: dict[str, Tally] = {}
    failures: list[Failure] = []
    specs = tuple(PROTOCOLS[name] for name in protocols)
    for spec in specs:
        reached = 0

        def progress(done: int, _: int) -> None:
            nonlocal reached
            on_progress(done - reached)
            reached = done

        count = dealt(protocols, seeds)[spec.name]
        report = sweep([spec], range(first, first + count), processes=processes, on_progress=progress)
        tallies |= report.by_protocol
        failures += report.failures
    return SweepReport(specs, tallies, tuple(failures))


def minimal_failure(report: SweepReport) -> str:
    """The first failure of a report, as small as it can be made, message by message."""
    failure = report.failures[0]
    spec = PROTOCOLS[failure.protocol]
    return describe_failure(shrink(draw_case(failure.seed, spec), spec), spec)
