"""What a node keeps to be able to send again, and to tell others what it saw: the payload log and the diff log (thesis, 3.1.2 and 3.1.3).

Both are truncated, for which the text we have gives no rule (decision 73). A payload is kept until its receiver will never ask for it again, and a diff
until its node will never be replayed from before it. What is cut off the diff log is folded into a clock, so that the clock of any later time can
still be computed.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from m3.recovery.clock import Clock, merge

__all__ = ["DiffLog", "Output", "PayloadLog"]


@dataclass(frozen=True)
class Output:
    """What a node made at a time: the diff, and a payload for each child that it is for. Of a dummy, and of what is filtered, for none."""

    time: int
    diff: Clock
    payloads: Mapping[str, Any]


@dataclass
class PayloadLog:
    """What a node has made and somebody may ask for again, by time (3.1.2).

    >>> log = PayloadLog()
    >>> log.append(Output(1, Clock("H", 1), {"I": "a", "J": "b"}))
    >>> log.append(Output(2, Clock("H", 2), {"J": "c"}))
    >>> [output.payloads["J"] for output in log.after(1, "J")]
    ['c']
    >>> log.truncate("I", 1)
    >>> [list(output.payloads) for output in log.outputs]
    [['J'], ['J']]
    """

    outputs: list[Output] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.outputs)

    def __deepcopy__(self, _: object) -> PayloadLog:
        return PayloadLog(list(self.outputs))  # an output is never changed

    def append(self, output: Output) -> None:
        """Keep what was made. Times ascend, but for what a node whose inputs commute makes again (decision 82)."""
        insort(self.outputs, output, key=lambda o: o.time)

    def after(self, time: int, child: str) -> Iterator[Output]:
        """What was made for a child after a time."""
        for output in self.outputs[self._end(time) :]:
            if child in output.payloads:
                yield output

    def truncate(self, child: str, time: int) -> None:
        """Drop what a child will never ask for again, up to a time, inclusive."""
        for i, output in enumerate(self.outputs[: self._end(time)]):
            if child in output.payloads:
                left = {other: payload for other, payload in output.payloads.items() if other != child}
                self.outputs[i] = Output(output.time, output.diff, left)

    def forget_empty(self, time: int) -> None:
        """Drop what is for nobody, or no more, up to a time, inclusive."""
        end = self._end(time)
        self.outputs[:end] = [output for output in self.outputs[:end] if output.payloads]

    def _end(self, time: int) -> int:
        """How many outputs have at most this time."""
        return bisect_right(self.outputs, time, key=lambda output: output.time)


@dataclass
class DiffLog:
    """The diffs that a node has made or heard of, by their root (3.1.3). A diff tells of its parents' messages as well, so it is kept for each
    node of its path.

    >>> log = DiffLog()
    >>> from m3.recovery.clock import parse_clock
    >>> for text in ("H:1 [C:2 [A:1]]", "H:2 [F:1 [C:3]]", "H:3 [C:4 [B:1]]"):
    ...     assert log.note(parse_clock(text))
    >>> [str(diff) for diff in log.rooted("C")]
    ['C:2 [A:1]', 'C:3', 'C:4 [B:1]']
    >>> log.truncate("H", 1)
    >>> str(log.clock_at("H", 2)), [str(diff) for diff in log.rooted("H", after=2)]
    ('H:2 [C:2 [A:1] F:1 [C:3]]', ['H:3 [C:4 [B:1]]'])
    """

    diffs: dict[str, dict[int, Clock]] = field(default_factory=dict)
    times: dict[str, list[int]] = field(default_factory=dict)
    #: By root, up to which time diffs are cut off, and the clock that they make.
    cut: dict[str, int] = field(default_factory=dict)
    folded: dict[str, Clock] = field(default_factory=dict)
    #: The nodes whose diffs are kept; all, if not given.
    roots: frozenset[str] | None = None

    def __deepcopy__(self, _: object) -> DiffLog:
        diffs = {root: dict(known) for root, known in self.diffs.items()}
        times = {root: list(known) for root, known in self.times.items()}
        return DiffLog(diffs, times, dict(self.cut), dict(self.folded), self.roots)  # a clock is never changed

    def note(self, diff: Clock) -> bool:
        """Keep a linear diff, and what it tells of the nodes below its root; of two of the same message, the one with more levels.

        Returns:
            Whether it says anything new.
        """
        for below in diff.below:
            self.note(below)
        if self.roots is not None and diff.node not in self.roots:
            return False
        if diff.time <= self.cut.get(diff.node, 0):
            self.fold(diff)
            return False
        known = self.diffs.setdefault(diff.node, {})
        old = known.get(diff.time)
        if old is not None and old.size >= diff.size:
            return False
        known[diff.time] = diff
        if old is None:
            insort(self.times.setdefault(diff.node, []), diff.time)
        return True

    def rooted(self, node: str, *, after: int = 0) -> list[Clock]:
        """The diffs with a root, after a time, by time."""
        times, known = self.times.get(node, []), self.diffs.get(node, {})
        return [known[time] for time in times[bisect_right(times, after) :]]

    def at(self, node: str, time: int) -> Clock | None:
        """The diff of a node's message, if it is known and was not cut off."""
        return self.diffs.get(node, {}).get(time)

    def clock_at(self, node: str, time: int) -> Clock:
        """The clock of a node after its message of a time, as far as it is known."""
        start = self.folded.get(node, Clock(node, 0))
        times = self.times.get(node, [])
        return merge(start, (self.diffs[node][t] for t in times[: bisect_right(times, time)]))

    def truncate(self, node: str, time: int) -> None:
        """Fold the diffs of a root up to a time, inclusive: the node will never be replayed from before it."""
        self.cut[node] = max(time, self.cut.get(node, 0))
        times = self.times.get(node, [])
        if end := bisect_right(times, time):
            self.fold(self.clock_at(node, times[end - 1]))

    def fold(self, clock: Clock) -> None:
        """Take a clock for all diffs of its root up to its time."""
        known = self.folded.get(clock.node)
        self.folded[clock.node] = known.apply(clock) if known else clock
        self.cut[clock.node] = max(clock.time, self.cut.get(clock.node, 0))
        times = self.times.get(clock.node, [])
        end = bisect_right(times, clock.time)
        for old in times[:end]:
            del self.diffs[clock.node][old]
        del times[:end]

    def __len__(self) -> int:
        return sum(map(len, self.times.values()))
