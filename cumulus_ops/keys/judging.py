"""What may happen to a key, and what happens to it: the events of one relation judged together, set at a time.

The rows are brought into the order of their keys. What was there before a row is then the row above, or, for the first one of a key, what
the index says. So a violation is seen by comparing neighbours, and only the events that have to do with one are looked at one by one
(:func:`reject`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cumulus_ops.files.columns import UPDATE
from cumulus_ops.keys.columns import KeyCodes, Ordered, equal_rows, in_key_order, plain, row_tuples
from cumulus_ops.keys.runs import Entries, Found, Run, look_up, stamp_of, stamped_epoch
from cumulus_ops.maps.columns import canonical
from cumulus_ops.project.versions import COORDINATORS_MAX

__all__ = ["Judge", "Judged", "Reason", "Rejections", "reject", "settle", "show"]


@dataclass(frozen=True)
class Judge:
    """Who judges the events of a relation, for a ``coordinator`` in its open ``epoch``.

    ``mode``: ``strict`` or ``upsert``. ``gone``: coordinators whose keys others may take over; None if any may write any key.
    """

    key: KeyCodes
    names: tuple[str, ...]
    mode: str
    epoch: int
    coordinator: int
    gone: frozenset[int] | None

    def judge(self, rows: pa.Table, sign: np.ndarray, runs: Sequence[Run], codes: np.ndarray | None = None) -> Judged:
        """Look at events. Those of one key are in the order in which they came.

        Args:
            rows: the relation's columns.
            sign: +1, -1, or :data:`UPDATE`.
            runs: the index, newest first.
            codes: of the rows' keys, if they are known.
        """
        # As a stored run has them: of 0.0 and -0.0, which are one value, it keeps the first. So an old row is the same wherever it is from.
        rows = pa.table([canonical(plain(rows[name])) for name in self.names], names=list(self.names))
        order = in_key_order(self.key, self.key.encode(rows, self.coordinator) if codes is None else codes, rows)
        starts = np.flatnonzero(order.first)
        key_rows = rows.select(list(self.key.columns))
        found = look_up(
            self.key, runs, order.codes[starts], lambda keys: key_rows.take(pa.array(order.at(starts[keys])))
        )
        return Judged(self, rows, sign, order, starts, found)


@dataclass(frozen=True)
class Judged:
    """Rows in the order of their keys, and what was there before them. Arrays over the ordered rows, if nothing else is said."""

    by: Judge
    rows: pa.Table
    sign: np.ndarray  # over the rows as they came
    order: Ordered
    starts: np.ndarray  # of keys
    found: Found  # over keys

    @functools.cached_property
    def key(self) -> np.ndarray:
        """The number of each row's key."""
        return np.cumsum(self.order.first) - 1

    @functools.cached_property
    def key_of_rows(self) -> np.ndarray:
        """The number of each row's key, as the rows came."""
        if self.order.places is None:
            return self.key
        key = np.empty(len(self.key), np.int64)
        key[self.order.places] = self.key
        return key

    @functools.cached_property
    def ordered_sign(self) -> np.ndarray:
        """The signs."""
        return self.sign if self.order.places is None else self.sign[self.order.places]

    @functools.cached_property
    def before(self) -> np.ndarray:
        """How often the key's row is there before each row, if all rows are accepted."""
        sign = self.ordered_sign
        if self.by.key.by_coordinator:
            running = np.cumsum(sign, dtype=np.int64) - sign
            return np.asarray(self.found.count[self.key] + running - running[self.starts][self.key])
        before = np.zeros(len(sign), np.int64)
        before[1:] = sign[:-1] != -1
        before[self.starts] = self.found.count > 0
        return before

    @functools.cached_property
    def foreign(self) -> np.ndarray:
        """Over keys: which are not this coordinator's to change."""
        stamp, count = self.found.stamp, self.found.count
        later = stamped_epoch(stamp) > self.by.epoch
        if self.by.gone is None:
            return later
        owner = stamp % COORDINATORS_MAX
        others = (stamp >= 0) & (count > 0) & (owner != self.by.coordinator)
        return np.asarray(later | (others & ~np.isin(owner, list(self.by.gone))))

    def violations(self) -> np.ndarray:
        """The rows, as they came, that would be wrong if all others were accepted."""
        sign, before = self.ordered_sign, self.before
        if self.by.mode == "upsert":
            wrong = (sign == -1) & (before == 0)
        elif self.by.key.by_coordinator:
            wrong = (sign == UPDATE) | (before + sign < 0)
        else:
            wrong = (sign == UPDATE) | ((sign == 1) == (before > 0))
        if self.foreign.any():
            wrong |= self.foreign[self.key]
        if self.by.mode == "strict" and not self.by.key.by_coordinator:
            deletes = np.flatnonzero((sign == -1) & ~wrong)
            if len(deletes):
                deleted = self.rows.select(list(self.by.names)).take(pa.array(self.order.at(deletes)))
                wrong[deletes[~equal_rows(deleted, self.previous(deletes), self.by.names)]] = True
        return self.order.at(np.flatnonzero(wrong))

    def previous(self, ordered: np.ndarray) -> pa.Table:
        """The rows that were there before some of the ordered rows, in their order."""
        names = list(self.by.names)
        first = self.order.first[ordered]
        above = self.rows.select(names).take(pa.array(self.order.at(ordered[~first] - 1)))
        if not first.any():
            return above
        old = self.found.rows(self.key[ordered[first]], names)
        if first.all():
            return old
        table = pa.concat_tables([above, old])
        back = np.empty(len(ordered), np.int64)
        back[~first] = np.arange(len(above))
        back[first] = len(above) + np.arange(len(old))
        return table.combine_chunks().take(pa.array(back))

    def entries(self) -> Entries:
        """What the index is to know of the keys from now on: of each its last row."""
        ends = np.append(self.starts[1:], len(self.key)) - 1
        counts = self.before[ends] + self.ordered_sign[ends]
        if not self.by.key.by_coordinator:
            counts = (self.ordered_sign[ends] != -1).astype(np.int64)
        stamps = np.full(len(ends), stamp_of(self.by.epoch, self.by.coordinator), np.int64)
        rows = self.rows.select(list(self.by.names))
        whole = self.order.places is None and len(ends) == len(rows)
        last = rows if whole else rows.take(pa.array(self.order.at(ends)))
        return Entries(self.order.codes[ends], counts, stamps, last.combine_chunks())

    def resolve(self) -> tuple[np.ndarray, pa.Table | None, np.ndarray]:
        """What upserts and deletes by key mean.

        Returns:
            the places of the rows that take an old row away, ascending; the old rows; for each row whether it is a new row itself.
        """
        replaced = np.flatnonzero(self.before > 0)
        places = self.order.at(replaced)
        ascending = np.argsort(places, kind="stable")
        old = self.previous(replaced[ascending]) if len(replaced) else None
        return places[ascending], old, self.sign != -1


# Events that have to do with a violation, judged one by one: which are rejected depends on which are.
#
# The law: in the order in which they came, an event is accepted if all of its rows are right after what was accepted before it. Keys and
# events that are connected with a violation, and nothing else, are gone through.


#: So many times the neighbours of what is connected are taken in; after that everything is.
ROUNDS = 12


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

    def accepted(self, rows: int) -> np.ndarray:
        """Of so many rows, which are not rejected."""
        is_accepted = np.ones(rows, bool)
        is_accepted[list(self.reasons)] = False
        return is_accepted


def reject(judged: Judged, events: np.ndarray) -> Rejections:
    """The events to reject.

    Args:
        judged: rows of one relation.
        events: of each row, as they came, the number of its event; they do not go down.
    """
    wrong = np.unique(events[judged.violations()])
    if len(wrong) == 0:
        return Rejections()
    course = _Course(judged, np.flatnonzero(np.isin(events, _find_connected(judged, events, wrong))))
    for event, indices in groupby(range(len(course.rows)), lambda i: int(events[course.rows[i]])):
        course.judge_event(event, list(indices))
    return course.rejections


def settle(judged: Judged, events: np.ndarray, runs: Sequence[Run]) -> tuple[Judged, Rejections]:
    """Reject what is wrong (:func:`reject`), and judge the others once more, as what was there before a row may have been a rejected one.

    Args:
        judged: rows of one relation.
        events: see :func:`reject`.
        runs: the index, newest first.

    Returns:
        the accepted rows, which are right, and the rejected ones.
    """
    rejections = reject(judged, events)
    if not rejections.reasons:
        return judged, rejections
    is_accepted = rejections.accepted(len(events))
    rest = judged.by.judge(judged.rows.filter(pa.array(is_accepted)), judged.sign[is_accepted], runs)
    if len(rest.violations()):
        raise AssertionError("accepted events are wrong")
    return rest, rejections


def _find_connected(judged: Judged, events: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """The events that are connected with some, by keys that both have to do with; ascending.

    Whether an event is right depends on what was accepted of its keys before; so none of those that are not connected can change. Violations were
    found as if all other events were accepted, which holds for these: so they are right, and nobody has to go through them one by one.
    """
    key, connected = judged.key_of_rows, wrong
    for _ in range(ROUNDS):
        is_concerned = np.zeros(len(key), bool)
        is_concerned[key[np.isin(events, connected)]] = True
        found = np.unique(events[is_concerned[key]])
        if len(found) == len(connected):
            return found
        connected = found
    return np.unique(events)


class _Course:
    """Goes through rows in the order in which they came, and remembers what is there: ``state`` is key -> how often its row is there, and which:
    a row of ``table``, or of ``old`` as a negative number."""

    def __init__(self, judged: Judged, rows: np.ndarray) -> None:
        names, found = judged.by.names, judged.found
        self.judged, self.rejections = judged, Rejections()
        self.rows, self.sign = rows.tolist(), judged.sign[rows].tolist()
        self.key = judged.key_of_rows[rows].tolist()
        self.table = judged.rows.select(list(names)).take(pa.array(rows))
        self.tuples = row_tuples(self.table, names)
        keys = np.unique(judged.key_of_rows[rows])
        self.stamp = dict(zip(keys.tolist(), found.stamp[keys].tolist(), strict=True))
        self.foreign = dict(zip(keys.tolist(), judged.foreign[keys].tolist(), strict=True))
        known = keys[found.run[keys] >= 0]
        self.old = found.rows(known, names) if len(known) else self.table.slice(0, 0)
        self.old_tuples = row_tuples(self.old, names)
        counts = found.count[known].tolist()
        self.state = {k: (n, -1 - i) for i, (k, n) in enumerate(zip(known.tolist(), counts, strict=True))}

    def judge_event(self, event: int, indices: Sequence[int]) -> None:
        """Accept the event with these rows if all of them are right, each after those before it; else reject it."""
        changed: dict[int, tuple[int, int]] = {}
        reasons: dict[int, Reason] = {}
        for i in indices:
            count, where = changed.get(self.key[i]) or self.state.get(self.key[i], (0, 0))
            reason = self._find_fault(i, count, where)
            if reason is not None:
                reasons[i] = reason
            is_bag = self.judged.by.key.by_coordinator
            changed[self.key[i]] = (count + self.sign[i] if is_bag else int(self.sign[i] != -1), i)
        if not reasons:
            self.state |= changed
            return
        self.rejections.events.add(event)
        self.rejections.reasons |= {self.rows[i]: reasons.get(i, PART) for i in indices}

    def _find_fault(self, i: int, count: int, where: int) -> Reason | None:
        sign, mode = self.sign[i], self.judged.by.mode
        if self.foreign[self.key[i]]:
            epoch, owner = divmod(self.stamp[self.key[i]], COORDINATORS_MAX)
            if epoch > self.judged.by.epoch:
                text = f"coordinator {owner} has changed it in epoch {epoch} already, and this would count before that"
                return Reason("later-epoch", f"key: {text}")
            row = self._show(self.state[self.key[i]][1])
            return Reason("other-writer", f"key: belongs to coordinator {owner}, which has inserted {row}")
        if sign == UPDATE and mode != "upsert":
            return Reason("update", "key: op U needs `mode: upsert`")
        if sign == -1 and count <= 0:
            return Reason("absent", "key: deletes a row that is not there")
        if mode == "upsert" or self.judged.by.key.by_coordinator:
            return None
        if sign == 1 and count > 0:
            return Reason("doubled-key", f"key: inserts a row whose key is there already: {self._show(where)}")
        if sign == -1 and (self.tuples[where] if where >= 0 else self.old_tuples[-1 - where]) != self.tuples[i]:
            text = f"key: deletes a row with other values than the one that is there: {self._show(where)}"
            return Reason("other-values", text)
        return None

    def _show(self, where: int) -> str:
        table, row = (self.table, where) if where >= 0 else (self.old, -1 - where)
        return show(table.slice(row, 1).to_pylist()[0])


def show(record: Mapping[str, object]) -> str:
    """A row for people, as JSON."""
    return json.dumps(record, default=str, ensure_ascii=False)
