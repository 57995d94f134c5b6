"""What the semester paper's optimisations save (section 3.5): suppressed PUSHes, updates without PUTs."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.protocols import PROTOCOLS

__all__ = ["PUTLESS", "SUPPRESSION"]

#: How the load is called -> the relations that its events are of, each as often as it stands there: reads of maps that seldom change, or often.
MIXES = {
    "reads of maps that seldom change": ("lineitems",) * 18 + ("orders", "customers"),
    "reads of maps that change": ("lineitems", "orders", "customers"),
}
SUPPRESSIONS = {
    "off": ("off", "time-out"),
    "by TS, wait": ("timestamps", "time-out"),
    "by TS, go on": ("timestamps", "optimistic"),
    "by values, go on": ("values", "optimistic"),
}


def _suppression(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["optimistic"]
    for mix, relations in MIXES.items():
        for domain in (2, 5, 10, 20, 50):
            for name, (suppression, missing) in SUPPRESSIONS.items():
                load = Load(nodes=8, relations=relations, domain=domain, events=300, rate=1000.0)
                runs = measured(spec, load, {"suppression": suppression, "missing": missing}, scale=scale)
                yield {
                    "load": mix,
                    "keys": domain,
                    "suppression": name,
                    "pushes_per_event": runs.messages("Push"),
                    "messages_per_event": runs.messages(),
                    "bytes_per_event": runs.bytes(),
                    "corrections_per_event": runs.count("corrections"),
                    "settled_ms": runs.settled_ms(),
                }


SUPPRESSION = Experiment(
    "push-suppression",
    "How many PUSH messages need not be sent, because nothing has changed since the last one?",
    _suppression,
    (
        Plot("keys", "pushes_per_event", ("load", "suppression"), "PUSHes per event", "x"),
        Plot("keys", "messages_per_event", ("load", "suppression"), "All messages per event", "x"),
        Plot("keys", "corrections_per_event", ("load", "suppression"), "Corrections per event", "x"),
        Plot("keys", "settled_ms", ("load", "suppression"), "Until an event has settled (median)", "x"),
    ),
)


def _putless(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["optimistic"]
    for rate in (250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0):
        for blind in (False, True):
            runs = measured(spec, Load(nodes=8, domain=10, events=300, rate=rate), {"blind": blind}, scale=scale)
            yield {
                "rate": rate,
                "puts": "without PUT" if blind else "with PUT",
                "messages_per_event": runs.messages(),
                "corrections_per_event": runs.messages("Corrective"),
                "settled_ms": runs.settled_ms(),
                "events_per_s": runs.capacity("node"),
            }


PUTLESS = Experiment(
    "put-less",
    "Do updates without PUT messages save messages, or do their corrections cost more?",
    _putless,
    (
        Plot("rate", "messages_per_event", "puts", "Messages per event", "x"),
        Plot("rate", "corrections_per_event", "puts", "Corrective updates per event", "x"),
        Plot("rate", "settled_ms", "puts", "Until an event has settled (median)", "x"),
    ),
)
