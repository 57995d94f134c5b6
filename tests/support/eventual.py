"""The papers' eventual protocol on dictionaries, as plainly as it can be written (Cumulus paper, section 4.1, captioned Figure 5): a model
of what an apply computes from what it has read, and of what each correction has to be.

Maps are deltas by version. A history entry is a statement that was evaluated for an event, with what it has sent so far. A push is a
delta that the history has yet to be told of: every later entry that reads its map is evaluated anew, and the difference is
another push. Misprints of the figure are read as agreed on: what has been sent is subtracted and kept, and an entry sees neither
its own nor its event's later writes.
"""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cumulus_ops.project.versions import STATEMENTS_MAX, event_version
from m3.dataflow import strata
from m3.interpreter import Interpreter
from m3.program import MapRef, Program, Statement
from m3.statements import Env, Key, contributions
from tests.support.histories import Corrections
from tests.support.projects import Event

__all__ = ["Eventual"]

#: Map -> key -> version -> units.
Deltas = dict[str, dict[Key, dict[int, int]]]


@dataclass
class Entry:
    """A statement that was evaluated for the event of ``version``. ``target``: the version of what it adds. ``sent``: what it has added
    so far."""

    version: int
    target: int
    statement: Statement
    env: Env
    sent: Counter[Key] = field(default_factory=Counter)

    def sees(self, read: MapRef, version: int, sequential: bool) -> bool:
        """Whether a read sees a delta: below its event, or its statement; ``AFTER`` with its event's own."""
        if read.after:
            return version < self.version + STATEMENTS_MAX
        return version < (self.target if sequential else self.version)


@dataclass
class Batch:
    """Events that were evaluated, but are not visible; ``seen``: how many deltas had been made visible when they were."""

    entries: list[Entry]
    seen: int


class Eventual:
    """Follows a history (:class:`tests.support.histories.Listener`), and asserts that corrections are what the protocol sends."""

    def __init__(self, program: Program) -> None:
        assert not program.derivations
        self.program, self.sequential = program, program.semantics == "sequential"
        self.oracle = Interpreter(program)  # for rows as the program sees them
        self.deltas: Deltas = {m.name: {} for m in program.maps}
        self.history: list[Entry] = []
        self.pushed: list[tuple[int, str]] = []  # version and map of all that was ever made visible
        self.told = 0  # how many of those the history knows
        self.missed: list[tuple[int, str]] = []  # those that batches have not seen which committed since
        self.under_way: dict[int, Batch] = {}
        self.corrected = 0
        self._order = {name: i for i, name in enumerate(n for stratum in strata(program) for n in stratum)}

    def begin(self, batch: int, stamp: tuple[int, int, int], events: Sequence[Event]) -> None:
        """ON event: every statement, from what is visible and what the batch's earlier events add."""
        epoch, coordinator, sequence = stamp
        deltas = copy.deepcopy(self.deltas)
        entries = []
        for place, (relation, sign, row) in enumerate(events):
            for entry in self._entries(event_version(epoch, coordinator, sequence + place), relation, sign, row):
                entry.sent = self._evaluate(entry, deltas)
                for key, units in entry.sent.items():
                    _add(deltas, entry, key, units)
                entries.append(entry)
        self.under_way[batch] = Batch(entries, len(self.pushed))

    def commit(self, batch: int) -> None:
        """What it adds is pushed; the batch has yet to be told what was pushed since it began (who knows that already finds nothing
        new in it)."""
        done = self.under_way.pop(batch)
        self.missed += self.pushed[done.seen :]
        self.history += done.entries
        for entry in done.entries:
            for key, units in entry.sent.items():
                _add(self.deltas, entry, key, units)
                self.pushed.append((entry.target, entry.statement.target))

    def correct(self, corrections: Corrections) -> None:
        """ON push, for all that was pushed, until nothing is: the engine must have made the same corrections."""
        expected: Corrections = Counter()
        waiting = deque(dict.fromkeys([*self.missed, *self.pushed[self.told :]]))
        self.missed.clear()
        while waiting:
            version, name = waiting.popleft()
            for entry in self.history:
                if any(r.map == name and entry.sees(r, version, self.sequential) for r in entry.statement.reads()):
                    for key, units in self._difference(entry):
                        expected[entry.target, entry.statement.target, key] += units
                        _add(self.deltas, entry, key, units)
                        self.pushed.append((entry.target, entry.statement.target))
                        waiting.append(self.pushed[-1])
        self.told = len(self.pushed)
        expected = Counter({entry: units for entry, units in expected.items() if units})
        assert corrections == expected
        self.corrected += len(expected)

    def _difference(self, entry: Entry) -> Iterator[tuple[Key, int]]:
        """What the entry would add now, less what it has added; which it has added from then on."""
        before, entry.sent = entry.sent, self._evaluate(entry, self.deltas)
        for key in before.keys() | entry.sent.keys():
            if units := entry.sent[key] - before[key]:
                yield key, units

    def _entries(self, version: int, relation: str, sign: int, row: Key) -> list[Entry]:
        trigger = self.program.trigger(relation, sign)
        if trigger is None:
            return []
        env = dict(zip(trigger.params, self.oracle._row(relation, row), strict=True))
        entries = [Entry(version, version + i * self.sequential, s, env) for i, s in enumerate(trigger.statements)]
        return entries if self.sequential else sorted(entries, key=lambda e: self._order[e.statement.target])

    def _evaluate(self, entry: Entry, deltas: Deltas) -> Counter[Key]:
        def lookup(_: int, read: MapRef, path: tuple[int, ...], bound: Key) -> Iterator[tuple[Key, int]]:
            for key, by_version in deltas[read.map].items():
                if tuple(key[i] for i in path) == bound:
                    yield key, sum(u for v, u in by_version.items() if entry.sees(read, v, self.sequential))

        total: Counter[Key] = Counter()
        for key, units in contributions(self.program, entry.statement, entry.env, 1, lookup):
            total[key] += units
        return total


def _add(deltas: Deltas, entry: Entry, key: Key, units: int) -> None:
    by_version = deltas[entry.statement.target].setdefault(key, {})
    by_version[entry.target] = by_version.get(entry.target, 0) + units
