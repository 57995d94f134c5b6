"""Messages and bytes by protocol and number of nodes; events and client queries a second by nodes."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import Measured, capacity, measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.programs import paper
from cumulus_ops.simulation.protocols import PROTOCOLS
from cumulus_ops.simulation.run import Outcome
from m3 import check, parse
from m3.program import Program

__all__ = ["NODES", "SCALING"]

#: All that an event concerns is in one segment of each map; against Example 2.1, whose loop variables concern many.
KEYED = """PROGRAM keyed SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(a INT);
MAP m1[a INT] : INT; MAP m2[b INT] : INT;
ON +r(a, b) { m1[a] += m2[b] } ON +s(a) { m2[a] += 1 }
"""
#: The same, where the two maps are read and written by the same key, and so are on the same node.
SAME_KEY = """PROGRAM same_key SEMANTICS SNAPSHOT; RELATION r(a INT); RELATION s(a INT);
MAP m1[a INT] : INT; MAP m2[a INT] : INT;
ON +r(a) { m1[a] += m2[a] } ON +s(a) { m2[a] += 1 }
"""
#: Up to how many nodes a protocol is simulated, without loop variables and with them: what takes seconds, not hours.
REACH = {
    "target": (10_000, 10_000),
    "source": (1000, 100),
    "blocking": (1000, 1000),
    "optimistic": (1000, 300),
    "eventual": (1000, 300),
    "pipeline": (1000, 1000),
}


def _programs() -> dict[str, Program]:
    return {"by key": check(parse(KEYED)), "with loops": paper("cumulus-2.1")}


def _measure(scale: float) -> Iterator[Row]:
    for kind, (program_name, program) in enumerate(_programs().items()):
        for name, spec in PROTOCOLS.items():
            for nodes in (10, 30, 100, 300, 1000, 3000, 10_000):
                if nodes > REACH[name][kind]:
                    break
                events = min(100, max(6, 10_000 // nodes))
                load = Load(
                    program, nodes=nodes, events=events, domain=max(50, nodes), epochs=0 if name != "blocking" else 1
                )
                runs = measured(spec, load, scale=scale, seeds=1)
                yield {
                    "program": program_name,
                    "protocol": name,
                    "nodes": nodes,
                    "events": runs.outcomes[0].events,
                    "messages_per_event": runs.mean(_update_messages),
                    "bytes_per_event": runs.mean(_update_bytes),
                    "latency_ms": runs.settled_ms(),
                }


def _update_messages(outcome: Outcome) -> float:
    """Messages about events, per event; those of epochs are left out."""
    return sum(1 for s in outcome.trace if not s.local and s.sender and s.message.about()) / outcome.events


def _update_bytes(outcome: Outcome) -> float:
    return sum(s.size for s in outcome.trace if not s.local and s.sender and s.message.about()) / outcome.events


NODES = Experiment(
    "nodes",
    "How many messages and bytes does an event cost, by protocol and number of nodes?",
    _measure,
    (
        Plot("nodes", "messages_per_event", ("protocol", "program"), "Messages per event", "xy"),
        Plot("nodes", "bytes_per_event", ("protocol", "program"), "Bytes per event", "xy"),
        Plot(
            "nodes",
            "latency_ms",
            ("protocol", "program"),
            "Until the last message about an event has arrived (median)",
            "xy",
        ),
    ),
)


def _scaling(scale: float) -> Iterator[Row]:
    """As many switches as it takes: one for five nodes."""
    for keys, text in (("the same key", SAME_KEY), ("another key", KEYED)):
        for name in ("optimistic", "eventual"):
            for nodes in (5, 10, 20, 40, 80):
                load = Load(
                    check(parse(text)),
                    nodes,
                    max(1, nodes // 5),
                    events=40 * nodes,
                    domain=20 * nodes,
                    rate=100.0 * nodes,
                    epochs=0,
                )
                updates = measured(PROTOCOLS[name], load, scale=scale, seeds=1)
                yield {
                    "protocol": name,
                    "reads": keys,
                    "nodes": nodes,
                    "updates_per_s": updates.capacity("node"),
                    "updates_per_s_of_switches": updates.capacity("coordinator"),
                    "queries_per_s": _queries_per_s(load, updates, scale) if name == "optimistic" else "",
                }


def _queries_per_s(load: Load, updates: Measured, scale: float) -> float:
    """Of whole maps: by how much busier the busiest node is with four queries a node than without."""
    asked = 4 * load.nodes
    asking = measured(PROTOCOLS["optimistic"], load, {"queries": asked}, scale=scale, seeds=1)
    return asked / (_busiest_s(asking.outcomes[0]) - _busiest_s(updates.outcomes[0]))


def _busiest_s(outcome: Outcome) -> float:
    return outcome.events / capacity(outcome, "node")


SCALING = Experiment(
    "scaling",
    "Do updates and client queries a second grow with the number of nodes? By how busy the busiest node, and the busiest switch, is.",
    _scaling,
    (
        Plot("nodes", "updates_per_s", ("protocol", "reads"), "Updates a second that the nodes bear", "xy"),
        Plot(
            "nodes",
            "updates_per_s_of_switches",
            ("protocol", "reads"),
            "Updates a second that the switches bear (one for five nodes)",
            "xy",
        ),
        Plot("nodes", "queries_per_s", ("protocol", "reads"), "Client queries of whole maps a second", "xy"),
    ),
)
