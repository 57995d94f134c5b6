"""Subquery computation (Cumulus paper, section 6): what the auxiliary maps of recursive compilation buy."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_papers.case import paper
from cumulus_papers.experiments.measures import Experiment, Plot, Row, measured
from cumulus_papers.load import Load
from cumulus_papers.protocols import PROTOCOLS
from m3 import check, parse

__all__ = ["SUBQUERIES"]

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


def _measure(scale: float) -> Iterator[Row]:
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
    _measure,
    (
        Plot("events", "bytes_per_event", "program", "Bytes per event, as the tables grow", "x"),
        Plot("events", "messages_per_event", "program", "Messages per event", "x"),
        Plot("events", "events_per_s", "program", "Events a second that the busiest actor bears", "x"),
    ),
)
