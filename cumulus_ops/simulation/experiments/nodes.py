"""Messages and bytes by protocol and number of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import capacity, latencies_ms, mean_ms
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load, load_case
from cumulus_ops.simulation.protocols import PROTOCOLS
from cumulus_ops.simulation.run import run_case

__all__ = ["NODES"]


def _measure(scale: float) -> Iterator[Row]:
    for name, spec in PROTOCOLS.items():
        for nodes in (10, 30, 100, 300, 1000, 3000, 10_000):
            events = max(5, int(scale * min(200, 20_000 / nodes)))
            outcome = run_case(load_case(spec, Load(nodes=nodes, events=events)), spec, record=True)
            yield {
                "protocol": name,
                "nodes": nodes,
                "events": outcome.events,
                "messages_per_event": sum(outcome.messages.values()) / outcome.events,
                "bytes_per_event": sum(outcome.bytes.values()) / outcome.events,
                "latency_ms": mean_ms(latencies_ms(outcome)),
                "events_per_s": capacity(outcome),
            }


NODES = Experiment(
    "nodes",
    "How many messages and bytes does an event cost, by protocol and number of nodes?",
    _measure,
    (
        Plot("nodes", "messages_per_event", "protocol", "messages per event", "xy"),
        Plot("nodes", "bytes_per_event", "protocol", "bytes per event", "xy"),
        Plot("nodes", "latency_ms", "protocol", "until the last message about an event has arrived", "xy"),
    ),
)
