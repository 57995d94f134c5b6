"""Which switch gets which update, and how many switches there are (semester paper, section 6, "Partitioning")."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.protocols import PROTOCOLS

__all__ = ["SWITCHES"]


def _measure(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for assign in ("", "key", "relation"):
        for coordinators in (1, 2, 3, 4, 5):
            load = Load(coordinators=coordinators, assign=assign, rate=4000.0, domain=10, events=500)
            runs = measured(spec, load, scale=scale)
            yield {
                "assignment": {"": "at random", "key": "by key", "relation": "by relation"}[assign],
                "coordinators": coordinators,
                "corrections_per_event": runs.count("corrections"),
                "messages_per_event": runs.messages(),
                "settled_ms": runs.settled_ms(),
            }


SWITCHES = Experiment(
    "switches",
    "Does it matter which coordinator gets which event? Corrections by assignment and number of coordinators.",
    _measure,
    (
        Plot("coordinators", "corrections_per_event", "assignment", "Corrections per event"),
        Plot("coordinators", "messages_per_event", "assignment", "Messages per event"),
    ),
)
