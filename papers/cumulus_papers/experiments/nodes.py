"""Messages and bytes by protocol and number of nodes; events and client queries a second by nodes."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_papers.case import paper
from cumulus_papers.experiments.measures import Experiment, Measured, Plot, Row, capacity, measured
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.run import Load, Outcome
from m3 import check, parse

__all__ = ["BUFFER", "INTELLIGENT", "NODES", "PUTLESS", "ROUNDS", "SCALING", "SUBQUERIES", "SUPPRESSION"]


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


def _measure_nodes(scale: float) -> Iterator[Row]:
    programs = {"by key": check(parse(KEYED)), "with loops": paper("cumulus-2.1")}
    for kind, (program_name, program) in enumerate(programs.items()):
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
    _measure_nodes,
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


# Buffer size against latency and throughput; uniform against intelligent buffering (Cumulus paper, section 6); and waiting before one computes
# (semester paper, section 6).


PERIODS_MS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RATES = (500.0, 2000.0, 8000.0)


def _buffer(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for rate in RATES:
        for buffer_ms in PERIODS_MS:
            load = Load(rate=rate, domain=10, events=400)
            runs = measured(spec, load, {"buffer_s": buffer_ms / 1e3, "coalesce": "all"}, scale=scale)
            yield {
                "rate": f"{rate:g} events/s",
                "buffer_ms": buffer_ms,
                "messages_per_event": runs.messages(),
                "corrections_per_event": runs.count("corrections"),
                "settled_ms": runs.settled_ms(),
                "settled_95_ms": runs.settled_ms(0.95),
                "events_per_s": runs.capacity(),
            }


BUFFER = Experiment(
    "buffer",
    "How long should deltas be buffered? Latency, corrections and the load that is borne, by buffer period.",
    _buffer,
    (
        Plot("buffer_ms", "settled_ms", "rate", "Until an event has settled (median)"),
        Plot("buffer_ms", "corrections_per_event", "rate", "Corrections per event"),
        Plot("buffer_ms", "messages_per_event", "rate", "Messages per event"),
        Plot("buffer_ms", "events_per_s", "rate", "Events a second that the busiest actor bears"),
    ),
)


#: Maps one behind the other, and maps that read each other; keys differ, so that what is read is mostly on another node.
PROGRAMS = {
    "chain of four": """PROGRAM chain SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(b INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT; MAP m3[a INT] : INT; MAP m4[a INT] : INT;
        ON +r(a, b) { m1[a] += m2[b]; m2[a] += m3[b]; m3[a] += m4[b] } ON +s(b) { m4[b] += 1 }""",
    "cycle of two": """PROGRAM cycle SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(b INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT;
        ON +r(a, b) { m1[a] += m2[b]; m2[b] += m1[a] } ON +s(b) { m1[b] += 1; m2[b] += 1 }""",
}  # fmt: skip


def _intelligent(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for name, text in PROGRAMS.items():
        program = check(parse(text))
        for buffer_ms in PERIODS_MS[1:]:
            for intelligent in (False, True):
                options = {"buffer_s": buffer_ms / 1e3, "coalesce": "all", "intelligent": intelligent}
                runs = measured(spec, Load(program, rate=2000.0, domain=10, events=400), options, scale=scale)
                yield {
                    "program": name,
                    "buffering": "longer further down" if intelligent else "uniform",
                    "buffer_ms": buffer_ms,
                    "settled_ms": runs.settled_ms(),
                    "messages_per_event": runs.messages(),
                    "corrections_per_event": runs.count("corrections"),
                }


INTELLIGENT = Experiment(
    "intelligent-buffering",
    "Does it pay to buffer longer further down the dataflow, for the same mean period?",
    _intelligent,
    (
        Plot("buffer_ms", "corrections_per_event", ("program", "buffering"), "Corrections per event"),
        Plot("buffer_ms", "messages_per_event", ("program", "buffering"), "Messages per event"),
        Plot("buffer_ms", "settled_ms", ("program", "buffering"), "Until an event has settled (median)"),
    ),
)


def _rounds(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for name, option in (("wait for lower timestamps", "wait_s"), ("a round per level", "round_s")):
        for hold_ms in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            for rate in (500.0, 4000.0):
                runs = measured(spec, Load(rate=rate, domain=10, events=400), {option: hold_ms / 1e3}, scale=scale)
                yield {
                    "heuristic": name,
                    "rate": f"{rate:g} events/s",
                    "hold_ms": hold_ms,
                    "corrections_per_event": runs.count("corrections"),
                    "messages_per_event": runs.messages(),
                    "settled_ms": runs.settled_ms(),
                    "settled_95_ms": runs.settled_ms(0.95),
                }


ROUNDS = Experiment(
    "rounds",
    "Does it pay to wait before one computes: for events with lower timestamps, or by a round for each level of the dataflow?",
    _rounds,
    (
        Plot("hold_ms", "corrections_per_event", ("heuristic", "rate"), "Corrections per event"),
        Plot("hold_ms", "messages_per_event", ("heuristic", "rate"), "Messages per event"),
        Plot("hold_ms", "settled_ms", ("heuristic", "rate"), "Until an event has settled (median)"),
    ),
)


# What the semester paper's optimisations save (section 3.5): suppressed PUSHes, updates without PUTs.


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


# Subquery computation (Cumulus paper, section 6): what the auxiliary maps of recursive compilation buy.


#: Example 2.1 without the maps of its subqueries: each event joins the base tables.
FIRST_ORDER = """PROGRAM orders_first_order SEMANTICS SEQUENTIAL;
RELATION lineitems(oid INT, price INT); RELATION orders(cid INT, oid INT, discount INT);
RELATION customers(cid INT, nation INT);
MAP q[nation INT] : INT; MAP l[oid INT] : INT; MAP o[cid INT, oid INT] : INT; MAP c[cid INT, nation INT] : INT;
ON +lineitems(oid, price) { q[nation] += price * o[cid, oid] * c[cid, nation]; l[oid] += price }
ON +orders(cid, oid, discount) { q[nation] += discount * l[oid] * c[cid, nation]; o[cid, oid] += discount }
ON +customers(cid, nation) { q[nation] += o[cid, oid] * l[oid]; c[cid, nation] += 1 }
ON -lineitems(oid, price) { q[nation] -= price * o[cid, oid] * c[cid, nation]; l[oid] -= price }
ON -orders(cid, oid, discount) { q[nation] -= discount * l[oid] * c[cid, nation]; o[cid, oid] -= discount }
ON -customers(cid, nation) { q[nation] -= o[cid, oid] * l[oid]; c[cid, nation] -= 1 }
"""


def _measure_subqueries(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["target"]
    programs = {"with auxiliary maps": paper("cumulus-2.1"), "joining base tables": check(parse(FIRST_ORDER))}
    for name, program in programs.items():
        for events in (50, 100, 200, 400, 800):
            runs = measured(spec, Load(program, events=events, domain=8, rate=500.0), scale=scale, seeds=1)
            yield {
                "program": name,
                "events": runs.outcomes[0].events,
                "messages_per_event": runs.messages(),
                "bytes_per_event": runs.bytes(),
                "latency_ms": runs.settled_ms(),
                "events_per_s": runs.capacity(),
            }


SUBQUERIES = Experiment(
    "subqueries",
    "What do the maps of subqueries buy? Example 2.1 with them, and joining base tables for each event (target aggregation).",
    _measure_subqueries,
    (
        Plot("events", "bytes_per_event", "program", "Bytes per event, as the tables grow", "x"),
        Plot("events", "messages_per_event", "program", "Messages per event", "x"),
        Plot("events", "events_per_s", "program", "Events a second that the busiest actor bears", "x"),
    ),
)
