"""Tree clocks and diffs: which message of which node, by which path, something descends from (thesis, 3.1.1).

A clock is an inverted tree. Its root is the node that keeps it; below a node are those that send to it; a node stands once for every path by
which its messages may have come. A time counts the messages that a node has made. A **diff** is the part of a clock that one message
changes; a linear one is one path.

>>> clock = parse_clock("H:8 [C:7 [A:5 B:6] F:8 [C:8 D:1]]")
>>> clock.at("H", "F", "D"), clock.at("D"), clock.at("H", "C")
(1, 1, 7)
>>> diff = parse_clock("C:9 [B:7]").extend("H", clock.time + 1)
>>> str(diff), diff.is_linear
('H:9 [C:9 [B:7]]', True)
>>> str(clock.apply(diff))
'H:9 [C:9 [A:5 B:7] F:8 [C:8 D:1]]'
>>> str(clock.cut(2)), str(clock.below_root("F"))
('H:8 [C:7 F:8]', 'F:8 [C:8 D:1]')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from m3.recovery.graph import Flow, RecoveryError

__all__ = ["Clock", "merge", "parse_clock", "zero_clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """A node at a time, and below it the nodes that send to it, by name. A value: nothing changes it."""

    node: str
    time: int
    below: tuple[Clock, ...] = ()

    def __str__(self) -> str:
        inner = f" [{' '.join(map(str, self.below))}]" if self.below else ""
        return f"{self.node}:{self.time}{inner}"

    @property
    def is_linear(self) -> bool:
        """Whether it is one path, as diffs of nodes without state are."""
        return not self.below or (len(self.below) == 1 and self.below[0].is_linear)

    @property
    def size(self) -> int:
        """The entries."""
        return 1 + sum(clock.size for clock in self.below)

    @property
    def origin(self) -> tuple[str, int] | None:
        """Of a linear diff, the parent's message that it was made from; none at a source."""
        return (self.below[0].node, self.below[0].time) if self.below else None

    def below_root(self, node: str) -> Clock | None:
        """The clock of a parent, as this node knows it."""
        return next((clock for clock in self.below if clock.node == node), None)

    def time_of(self, parent: str) -> int:
        """The latest time of a parent; 0 if nothing was received of it."""
        clock = self.below_root(parent)
        return clock.time if clock else 0

    def at(self, *path: str) -> int:
        """The time at a path from the root; of a single node, where the path to it is unambiguous (3.1.1: ``t[H,F,D] = t[D]``).

        Raises:
            RecoveryError: no such path, or several paths to the node.
        """
        found = [c.time for way, c in self.walk() if way == path or (len(path) == 1 and way[-1] == path[0])]
        if len(found) != 1:
            problem = "no path" if not found else f"{len(found)} paths"
            raise RecoveryError(f"{self} has {problem} to {','.join(path)}", kind="clock-path")
        return found[0]

    def walk(self, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Clock]]:
        """Each entry with its path from the root."""
        path = (*before, self.node)
        yield path, self
        for clock in self.below:
            yield from clock.walk(path)

    def extend(self, node: str, time: int) -> Clock:
        """The diff of what ``node`` makes at a time of a message with this diff (3.1.4, step 1)."""
        return Clock(node, time, (self,))

    def apply(self, diff: Clock) -> Clock:
        """The greater time of corresponding entries (3.1.4, step 2).

        Raises:
            RecoveryError: the diff has another root.
        """
        if diff.node != self.node:
            raise RecoveryError(f"a diff of {diff.node} is no change of a clock of {self.node}", kind="clock-root")
        time = max(self.time, diff.time)
        if not diff.below:
            return self if time == self.time else Clock(self.node, time, self.below)
        changes = {clock.node: clock for clock in diff.below}
        below = [clock.apply(changes.pop(clock.node)) if clock.node in changes else clock for clock in self.below]
        if changes:
            below = sorted((*below, *changes.values()), key=lambda clock: clock.node)
        return Clock(self.node, time, tuple(below))

    def cut(self, levels: int) -> Clock:
        """The clock down to so many levels."""
        if not self.below:
            return self
        return Clock(self.node, self.time, tuple(c.cut(levels - 1) for c in self.below) if levels > 1 else ())


def merge(clock: Clock, diffs: Iterable[Clock]) -> Clock:
    """A clock after diffs, in any order."""
    for diff in diffs:
        clock = clock.apply(diff)
    return clock


def zero_clock(flow: Flow, node: str, levels: int | None = None) -> Clock:
    """The clock of a node that has received nothing: every path to it, of at most so many levels, all times 0."""
    if levels == 1:
        return Clock(node, 0)
    deeper = None if levels is None else levels - 1
    return Clock(node, 0, tuple(zero_clock(flow, parent, deeper) for parent in flow.parents[node]))


_TOKEN = re.compile(r"\s*(?:(?P<node>[^\s:\[\],]+)\s*:\s*(?P<time>\d+)|(?P<bracket>[\[\]]))")


def parse_clock(text: str) -> Clock:
    """A clock from the thesis's notation; the nodes of a layer may stand in any order.

    Raises:
        RecoveryError: the text is no clock.
    """
    clocks, end = _parse_layer(text, 0)
    if len(clocks) != 1 or text[end:].strip(" .;"):
        raise RecoveryError(f"{text!r} is no clock: one node with a time is expected, and [..] below it", kind="clock")
    return clocks[0]


def _parse_layer(text: str, at: int) -> tuple[tuple[Clock, ...], int]:
    clocks: list[Clock] = []
    while (token := _TOKEN.match(text, at)) and (token["node"] or (token["bracket"] == "[" and clocks)):
        at = token.end()
        if token["node"]:
            clocks.append(Clock(token["node"], int(token["time"])))
            continue
        if clocks[-1].below:
            raise RecoveryError(f"{clocks[-1].node} has two layers in {text!r}", kind="clock")
        below, at = _parse_layer(text, at)
        close = _TOKEN.match(text, at)
        if not below or not close or close["bracket"] != "]":
            raise RecoveryError(f"what is below {clocks[-1].node} does not end in {text!r}", kind="clock")
        clocks[-1] = Clock(clocks[-1].node, clocks[-1].time, below)
        at = close.end()
    ordered = tuple(sorted(clocks, key=lambda clock: clock.node))
    if len({clock.node for clock in ordered}) < len(ordered):
        raise RecoveryError(f"a layer names a node twice in {text!r}", kind="clock")
    return ordered, at
