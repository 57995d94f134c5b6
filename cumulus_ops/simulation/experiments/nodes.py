"""Messages and bytes by protocol and number of nodes; events a second by nodes."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.protocols import PROTOCOLS

__all__ = ["NODES"]


def _measure(scale: float) -> Iterator[Row]:
    for name, spec in PROTOCOLS.items():
        for nodes in (10, 30, 100, 300, 1000, 3000, 10_000):
            events = min(200, max(4, 20_000 // nodes))
            runs = measured(spec, Load(nodes=nodes, events=events, domain=max(50, nodes)), scale=scale, seeds=1)
            yield {
                "protocol": name,
                "nodes": nodes,
                "events": runs.outcomes[0].events,
                "messages_per_event": runs.messages(),
                "bytes_per_event": runs.bytes(),
                "latency_ms": runs.settled_ms(),
                "events_per_s": runs.capacity(),
            }


NODES = Experiment(
    "nodes",
    "How many messages and bytes does an event cost, by protocol and number of nodes? What load do they bear?",
    _measure,
    (
        Plot("nodes", "messages_per_event", "protocol", "Messages per event", "xy"),
        Plot("nodes", "bytes_per_event", "protocol", "Bytes per event", "xy"),
        Plot("nodes", "latency_ms", "protocol", "Until the last message about an event has arrived (median)", "xy"),
        Plot("nodes", "events_per_s", "protocol", "Events a second that the busiest actor bears", "xy"),
    ),
)
