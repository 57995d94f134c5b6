"""Small dataflows of recoverable nodes, driven message by message: what tests of single nodes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from m3.recovery.clock import parse_clock
from m3.recovery.controller import Controller
from m3.recovery.graph import flow_of
from m3.recovery.hosting import Checkpoint
from m3.recovery.messages import Data, Recovered, Report, Stable, Start, Started
from m3.recovery.node import Node

#: One line, as long as diffs have to be told apart by where they come from.
LINE = flow_of([("s", "a"), ("a", "b"), ("b", "c")])


@dataclass
class Passes:
    """Sends each input on to all children, but for those that begin with ``-``; with state, it keeps them all."""

    children: tuple[str, ...]
    stateful: bool = False
    commutes: bool = False

    def start(self) -> Any:
        return [] if self.stateful else None

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        if self.stateful:
            state.append(payload)
        return {} if payload.startswith("-") else dict.fromkeys(self.children, payload)


def line(tolerance: int = 1) -> dict[str, Node]:
    """Nodes of the line; the ends have state."""
    return {n: Node(n, LINE, Passes(LINE.children[n], stateful=n in "sc"), tolerance=tolerance) for n in LINE.order}


def carry(nodes: dict[str, Node], messages: list[Any]) -> list[Any]:
    """Deliver messages, and all that comes of them; those to the controller are left."""
    left = []
    while messages:
        message, *messages = messages
        if isinstance(message, Report | Started | Recovered):
            left.append(message)
        else:
            messages += nodes[message.target].receive(message)
    return left


def stable(nodes: dict[str, Node], name: str) -> list[tuple[str, int]]:
    """What a node tells its parents to be stable, delivered."""
    told = [m for m in nodes[name].housekeeping() if isinstance(m, Stable)]
    carry(nodes, list(told))
    return [(message.target, message.time) for message in told]


#: A node with two parents and two children; an input says for whom it is.
CROSS = flow_of([("p", "n"), ("q", "n"), ("n", "c"), ("n", "d")])


class Routes(Passes):
    """Sends an input to the children that it names."""

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        return {child: payload for child in super().process(state, parent, payload) if child in payload}


def cross(*messages: str, tolerance: int = 1, stateful: bool = False) -> Node:
    """The node, after messages of its parents, each ``p:1 c``: a diff and for whom."""
    node = Node("n", CROSS, Routes(("c", "d"), stateful), tolerance=tolerance)
    for message in messages:
        take(node, message)
    return node


def take(node: Node, message: str) -> list[Any]:
    """What the node sends for a message."""
    diff, payload = message.split()
    return node.receive(Data(diff[0], "n", (1, node.life), parse_clock(diff), payload))


def restart_cross(
    *known: str, has: str, stable: int = 0, works: Routes | None = None, stored: Checkpoint | None = None
) -> tuple[Node, list[Any]]:
    """The node in its second life, and what it sent. Both children know and have the same."""
    clock = parse_clock(has)
    diffs = tuple(map(parse_clock, known))
    reports = tuple(Report(child, "n", 2, clock, clock.time, stable, known=diffs) for child in "cd")
    start = Start("n", {"n": 2} | dict.fromkeys("pqcd", 1), reports)
    return Node.restart("n", CROSS, works or Routes(("c", "d")), start, stored)


#: The node again, one of whose children keeps nothing.
FORK = flow_of([("p", "n"), ("q", "n"), ("n", "c"), ("n", "d"), ("d", "e")])


def fork() -> dict[str, Node]:
    """Its nodes; ``n`` sends to the children that an input names."""
    works = {n: Passes(FORK.children[n], stateful=n not in "nd") for n in FORK.order} | {"n": Routes(("c", "d"))}
    return {n: Node(n, FORK, works[n]) for n in FORK.order}


def recover(nodes: dict[str, Node], controller: Controller, name: str, stored: Checkpoint | None = None) -> None:
    """A node fails, and is recovered before anything else happens."""
    work, orders = nodes.pop(name).operator, controller.failed([name])
    while orders:
        order, *orders = orders
        if isinstance(order, Start):
            nodes[name], sent = Node.restart(name, FORK, work, order, stored)
        else:
            sent = nodes[order.node].receive(order)
        for answer in carry(nodes, sent):
            orders += controller.receive(answer)
