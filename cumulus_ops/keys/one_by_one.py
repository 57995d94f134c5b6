"""Events that have to do with a violation, judged one by one: which are rejected depends on which are.

The law: in the order in which they came, an event is accepted if all of its rows are right after what was accepted before it. Keys and
events that are connected with a violation, and nothing else, are gone through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cumulus_ops.keys.columns import row_tuples
from cumulus_ops.keys.verdicts import UPSERT, Judged
from cumulus_ops.versions import COORDINATORS_MAX

__all__ = ["Part", "Rejections", "reject", "show"]

#: So many times the neighbours of what is connected are taken in; after that everything is.
ROUNDS = 12


@dataclass(frozen=True)
class Part:
    """The rows of one relation, as they came: ``judged``, or None if the relation is trusted; ``event``: of each row."""

    judged: Judged | None
    event: np.ndarray


class Reason(NamedTuple):
    """Why a row is rejected: a stable kind, and words."""

    kind: str
    text: str


PART = Reason("part", "part of a rejected event")


@dataclass
class Rejections:
    """``reasons``: row, as it came -> why it is rejected. ``events``: the events whose rows those are."""

    reasons: dict[int, Reason] = field(default_factory=dict)
    events: set[int] = field(default_factory=set)


def reject(parts: Mapping[str, Part]) -> dict[str, Rejections]:
    """The events to reject, by relation; rows of several relations with the same number are one event.

    Args:
        parts: by relation. Within each, the numbers of events do not go down.
    """
    wrong = {event for part in parts.values() if part.judged for event in part.event[part.judged.violations()].tolist()}
    if not wrong:
        return {name: Rejections() for name in parts}
    concerned = _connected(list(parts.values()), np.array(sorted(wrong)))
    courses = {name: _Course(part, np.flatnonzero(np.isin(part.event, concerned))) for name, part in parts.items()}
    for event in concerned.tolist():
        having = [course for course in courses.values() if event in course.begin]
        verdicts = [course.try_event(event) for course in having]  # each looks, for its reasons
        if all(verdicts):
            for course in having:
                course.accept()
        else:
            for course in having:
                course.reject(event)
    return {name: course.rejections for name, course in courses.items()}


def _connected(parts: Sequence[Part], events: np.ndarray) -> np.ndarray:
    """The events that are connected with some, by keys that both have to do with; ascending."""
    keys = [None if part.judged is None else part.judged.key_of_rows for part in parts]
    for _ in range(ROUNDS):
        wider = [events]
        for part, key in zip(parts, keys, strict=True):
            if key is not None:
                marked = np.zeros(len(key), bool)
                marked[key[np.isin(part.event, events)]] = True
                wider.append(part.event[marked[key]])
        found = np.unique(np.concatenate(wider))
        if len(found) == len(events):
            return found
        events = found
    return np.unique(np.concatenate([part.event for part in parts]))


class _Course:
    """Goes through rows of one relation in the order in which they came, and remembers what is there. ``begin``: event -> the index of
    its first row."""

    def __init__(self, part: Part, rows: np.ndarray) -> None:
        self.rows, self.event = rows.tolist(), part.event[rows].tolist()
        self.begin: dict[int, int] = {}
        for i, event in enumerate(self.event):
            self.begin.setdefault(event, i)
        self.rejections = Rejections()
        self.changed: dict[int, tuple[int, int]] = {}
        self.reasons: dict[int, Reason] = {}
        self.is_judged = part.judged is not None
        if part.judged is not None:
            self.judged = part.judged
            self.sign = part.judged.sign[rows].tolist()
            self.key = part.judged.key_of_rows[rows].tolist()
            self.table = part.judged.rows.select(list(part.judged.by.names)).take(pa.array(rows))
            self.tuples = row_tuples(self.table, part.judged.by.names)
            self._begin(np.unique(part.judged.key_of_rows[rows]))

    def _begin(self, keys: np.ndarray) -> None:
        """What the index knows: key -> how often its row is there, and which: a row of ``old``, as a negative number."""
        found, by = self.judged.found, self.judged.by
        self.stamp = dict(zip(keys.tolist(), found.stamp[keys].tolist(), strict=True))
        self.foreign = dict(zip(keys.tolist(), self.judged.foreign[keys].tolist(), strict=True))
        known = keys[found.run[keys] >= 0]
        self.old = found.rows(known, by.names) if len(known) else self.table.slice(0, 0)
        self.old_tuples = row_tuples(self.old, by.names)
        counts = found.count[known].tolist()
        self.state = {k: (n, -1 - i) for i, (k, n) in enumerate(zip(known.tolist(), counts, strict=True))}

    def _of(self, event: int) -> Iterator[int]:
        """The indices of an event's rows."""
        i = self.begin[event]
        while i < len(self.rows) and self.event[i] == event:
            yield i
            i += 1

    def try_event(self, event: int) -> bool:
        """Whether its rows are right after what was accepted; what they would change, and what is wrong, is remembered."""
        self.changed, self.reasons = {}, {}
        for i in self._of(event) if self.is_judged else ():
            count, where = self.changed.get(self.key[i]) or self.state.get(self.key[i], (0, 0))
            reason = self._wrong(i, count, where)
            if reason is not None:
                self.reasons[i] = reason
            self.changed[self.key[i]] = self._after(i, count)
        return not self.reasons

    def accept(self) -> None:
        """The event that was tried last counts."""
        if self.is_judged:
            self.state |= self.changed

    def reject(self, event: int) -> None:
        """It does not."""
        for i in self._of(event):
            self.rejections.reasons[self.rows[i]] = self.reasons.get(i, PART)
        self.rejections.events.add(event)

    def _after(self, i: int, count: int) -> tuple[int, int]:
        if self.judged.by.key.by_coordinator:
            return count + self.sign[i], i
        return int(self.sign[i] != -1), i

    def _wrong(self, i: int, count: int, where: int) -> Reason | None:
        sign, mode = self.sign[i], self.judged.by.mode
        if self.foreign[self.key[i]]:
            return self._foreign(self.key[i])
        if sign == UPSERT and mode != "upsert":
            return Reason("update", "key: op U needs `mode: upsert`")
        if sign == -1 and count <= 0:
            return Reason("absent", "key: deletes a row that is not there")
        if mode == "upsert" or self.judged.by.key.by_coordinator:
            return None
        if sign == 1 and count > 0:
            return Reason("doubled-key", f"key: inserts a row whose key is there already: {self._show(where)}")
        if sign == -1 and self._tuple(where) != self.tuples[i]:
            return Reason(
                "other-values", f"key: deletes a row with other values than the one that is there: {self._show(where)}"
            )
        return None

    def _foreign(self, key: int) -> Reason:
        owner, epoch = self.stamp[key] % COORDINATORS_MAX, self.stamp[key] // COORDINATORS_MAX
        if epoch > self.judged.by.epoch:
            return Reason(
                "later-epoch",
                f"key: coordinator {owner} has changed it in epoch {epoch} already, and this would count before that",
            )
        return Reason(
            "other-writer", f"key: belongs to coordinator {owner}, which has inserted {self._show(self.state[key][1])}"
        )

    def _tuple(self, where: int) -> tuple[object, ...]:
        return self.tuples[where] if where >= 0 else self.old_tuples[-1 - where]

    def _show(self, where: int) -> str:
        table, row = (self.table, where) if where >= 0 else (self.old, -1 - where)
        return show(table.slice(row, 1).to_pylist()[0])


def show(record: Mapping[str, object]) -> str:
    """A row for people, as JSON."""
    return json.dumps(record, default=str, ensure_ascii=False)
