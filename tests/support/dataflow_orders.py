"""All orders, or many, in which some component instances may receive what is sent to them, and what comes of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from cumulus_ops.coordination.labelling.annotations import Stream
from tests.support.dataflow_components import Instance, State, Value
from tests.support.dataflow_worlds import VALUES, Record, restricted

__all__ = ["Message", "Node", "Orders", "Outcome", "Sent", "TooLong"]

#: States of a search, and random orders instead; of components that are confluent by construction, fewer do.
STATES_MAX, WALKS = 250, 30
CONFLUENT_STATES_MAX, CONFLUENT_WALKS = 30, 6
STEPS_MAX = 150

#: A component and the number of its instance.
Node = tuple[str, int]
#: Which of the instances gets it, on which stream, whether it is a seal, and the record, or the sealed value.
Message = tuple[int, str, bool, tuple[object, ...]]


class TooLong(Exception):
    """Records go round a cycle for ever."""


class Sent(NamedTuple):
    """What an instance has sent from one output, all in all: records, and the partitions that it has sealed, per sealed stream; its state at the
    end; streams whose seal it broke, by records after a seal or without one."""

    records: frozenset[Record]
    sealed: tuple[tuple[str, frozenset[Value]], ...]
    summary: frozenset[object]
    broken: frozenset[str]


#: What each of the instances has sent from each output: (which instance, output, what).
Outcome = tuple[tuple[int, str, Sent], ...]


class Orders:
    """The orders for these instances: ``nodes``, each with its machine. ``fed``: of each, the streams to others of them, as (output, stream, to whom).

    Messages are numbered, so that those under way are the bits of one number; all orders of the same ones meet in the same states.
    """

    def __init__(
        self,
        machines: Sequence[Instance],
        fed: Sequence[Sequence[tuple[str, Stream, int]]],
        keys: Mapping[str, frozenset[str]],
        choose: random.Random,
    ) -> None:
        self.machines, self.fed, self.keys, self.choose = machines, fed, keys, choose
        self.messages: list[Message] = []
        self.numbers: dict[Message, int] = {}
        #: Of each message, those that come before it: of a seal, the records that it seals.
        self.earlier: list[int] = []

    def outcomes(self, pool: Iterable[Message], order: str = "") -> list[Outcome]:
        """All that can come of messages, or what comes of some random orders; of one if the ``order`` is logged."""
        pending, start = self._bits(sorted(pool)), tuple(State() for _ in self.machines)
        if order == "logged":
            return [self._outcome(self._walk(pending, start, lambda n: (self.messages[n][2], self.messages[n])))]
        ends = self._search(pending, start)
        return list(dict.fromkeys(map(self._outcome, ends)))

    def _search(self, pending: int, start: tuple[State, ...]) -> dict[tuple[State, ...], None]:
        confluent = all(p.label in ("CR", "CW") for m in self.machines for p in m.component.paths)
        states_max, walks = (CONFLUENT_STATES_MAX, CONFLUENT_WALKS) if confluent else (STATES_MAX, WALKS)
        stack, seen, ends = [(pending, start)], {(pending, start)}, {}
        while stack:
            now = stack.pop()
            if not now[0]:
                ends[now[1]] = None
            for number in self._deliverable(now[0]):
                following = self._deliver(*now, number)
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
            if len(seen) > states_max:
                return ends | dict.fromkeys(self._walk(pending, start) for _ in range(walks))
        return ends

    def _walk(
        self, pending: int, states: tuple[State, ...], rank: Callable[[int], object] | None = None
    ) -> tuple[State, ...]:
        """One order. Messages are preferred by their rank, by default a random one, so that late ones are late by a lot."""
        ranks: dict[int, float] = {}
        for _ in range(STEPS_MAX):
            if not pending:
                return states
            best = min(self._deliverable(pending), key=rank or (lambda n: ranks.setdefault(n, self.choose.random())))
            pending, states = self._deliver(pending, states, best)
        raise TooLong

    def _bits(self, messages: Iterable[Message]) -> int:
        bits = 0
        for message in messages:
            if message not in self.numbers:
                self._number(message)
            bits |= 1 << self.numbers[message]
        return bits

    def _number(self, message: Message) -> None:
        self.numbers[message] = len(self.messages)
        self.messages.append(message)
        self.earlier.append(0)
        for known in self.messages:
            seal, row = (known, message) if known[2] else (message, known)
            if seal[:2] == row[:2] and seal[2] and not row[2] and seal[3] == restricted(row[3], self.keys[row[1]]):  # type: ignore[arg-type]
                self.earlier[self.numbers[seal]] |= 1 << self.numbers[row]

    def _deliverable(self, pending: int) -> list[int]:
        """Records, and seals of which no record is under way."""
        found, left = [], pending
        while left:
            lowest = left & -left
            number = lowest.bit_length() - 1
            if not self.earlier[number] & pending:
                found.append(number)
            left ^= lowest
        return found

    def _deliver(self, pending: int, states: tuple[State, ...], number: int) -> tuple[int, tuple[State, ...]]:
        at, stream, seal, what = self.messages[number]
        machine, before = self.machines[at], states[at]
        after = machine.seal(before, stream, what) if seal else machine.receive(before, stream, what)  # type: ignore[arg-type]
        sent = sorted(self._fed_back(at, before, after)) if self.fed[at] else ()
        return (pending & ~(1 << number)) | self._bits(sent), (*states[:at], after, *states[at + 1 :])

    def _fed_back(self, at: int, before: State, after: State) -> Iterator[Message]:
        """What goes to instances that are run together with it: records, and seals."""
        for output, stream, other in self.fed[at]:
            rows = (row for out, row in after.shown - before.shown if out == output)
            yield from ((other, stream.name, False, row) for row in rows)
            new = self._closed(at, after, output, stream) - self._closed(at, before, output, stream)
            yield from ((other, stream.name, True, value) for value in new)

    def _closed(self, at: int, state: State, output: str, stream: Stream) -> frozenset[Value]:
        """The partitions of an output that are sealed, if the stream is."""
        key = self.keys.get(stream.name)
        if key is None:
            return frozenset()
        values = product(*(VALUES.get(k, (None,)) for k in sorted(key)))
        return frozenset(v for v in values if self.machines[at].closed(state, output, key, v))

    def _outcome(self, states: Sequence[State]) -> Outcome:
        return tuple(
            (at, output, self._sent(at, state, output))
            for at, state in enumerate(states)
            for output in self.machines[at].outputs
        )

    def _sent(self, at: int, state: State, output: str) -> Sent:
        machine = self.machines[at]
        shown = frozenset(row for out, row in state.shown if out == output)
        sealed, broken = [], set(state.broken)
        for stream in machine.world.dataflow.streams:
            key = self.keys.get(stream.name)
            if stream.source == (machine.component.name, output) and key is not None:
                closed = self._closed(at, state, output, stream)
                sealed.append((stream.name, closed))
                if any(restricted(row, key) not in closed for row in shown):
                    broken.add(stream.name)
        return Sent(shown, tuple(sealed), machine.summary(state, output), frozenset(broken))
