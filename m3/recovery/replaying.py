"""Replaying: what a restarted node waits for, and in which order it processes what comes (thesis, 3.3.2 and 3.3.3).

Inputs are collected until all have come whose place somebody knows. Then each of those gets its place, and those between get one by a table, where one
is needed; columns without an input become dummies that nobody receives. What is left over is processed behind, as it came.

>>> from m3.recovery.clock import parse_clock
>>> replay = Replay({3: ("A", 2)}, last=3, marks={"A"}, reports=())
>>> seen = {"A": parse_clock("A:1")}
>>> replay.is_ready(seen)
False
>>> replay.buffer.append(Data("A", "B", (1, 2), parse_clock("A:2"), "a"))
>>> replay.is_ready(seen)
True
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from m3.recovery.clock import Clock
from m3.recovery.messages import Data, Report
from m3.recovery.table import Columns, Input, Origin, Table, needs_table, solve

__all__ = ["Replay"]


@dataclass
class Replay:
    """What a restarted node still has to do.

    ``known``: inputs whose time is known, with ``last`` the last time that somebody has seen; ``marks``: parents that have not yet said what they
    know; ``buffer``: inputs that wait; ``placed``: they do no more; ``table``: what was solved for that, if it was needed; ``counts``: what it took.
    """

    known: dict[int, Origin]
    last: int
    marks: set[str]
    reports: tuple[Report, ...]
    buffer: list[Data] = field(default_factory=list)
    placed: bool = False
    table: Table | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("replayed", "dummies", "held", "tables"), 0))

    def is_ready(self, seen: Mapping[str, Clock]) -> bool:
        """Whether nothing is waited for. What a parent has passed by will not come: it is stable, and nobody asks what came of it."""
        come = {message.origin for message in self.buffer}
        self.known = {t: o for t, o in self.known.items() if o in come or seen[o[0]].time < o[1]}
        return come.issuperset(self.known.values())

    def place(
        self, first: int, parents: Collection[str], children: Collection[str], wants: Callable[[Data], Collection[str]]
    ) -> Columns:
        """A place for each input that was processed before one that was seen, from a time on.

        Args:
            first: the first time.
            parents: of the node.
            children: of the node.
            wants: which children get something of an input that they have not had. What nobody gets needs no place.
        """
        if len(children) == 1:
            return self.known
        targets = set(self.known.values())
        asked = [(message, tuple(wants(message))) for message in self.buffer]
        inputs = tuple(Input(*message.origin, gets) for message, gets in asked if gets or message.origin in targets)
        # What nobody gets is dropped: processed behind the table it would stand behind later inputs of its parent.
        self.buffer = [message for message, gets in asked if gets or message.origin in targets]
        markers = {report.node: report.observed + 1 for report in self.reports}
        table = Table(first, self.last, self.known, markers, inputs)
        if needs_table(len(parents), len(children)):
            self.table = table
            self.counts["tables"] += 1
        return solve(table)
