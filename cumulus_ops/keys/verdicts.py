"""What may happen to a key, and what happens to it: the events of one relation judged together, set at a time.

The rows are brought into the order of their keys. What was there before a row is then the row above, or, for the first one of a key, what
the index says. So a violation is seen by comparing neighbours, and only the events that have to do with one are looked at one by one
(:mod:`.one_by_one`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.keys.codes import KeyCodes, Ordered, in_key_order
from cumulus_ops.keys.columns import equal_rows, plain
from cumulus_ops.keys.lookup import Found, look_up
from cumulus_ops.keys.runs import Entries, Run, stamp_of, stamped_epoch
from cumulus_ops.versions import COORDINATORS_MAX

__all__ = ["UPSERT", "Judge", "Judged"]

#: The sign of an upsert: the new row of a key, whatever was there.
UPSERT = 2


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

    def judge(self, rows: pa.Table, sign: np.ndarray, runs: Sequence[Run]) -> Judged:
        """Look at events in the order in which they came.

        Args:
            rows: the relation's columns.
            sign: +1, -1, or :data:`UPSERT`.
            runs: the index, newest first.
        """
        rows = pa.table([plain(rows[name]) for name in self.names], names=list(self.names))
        order = in_key_order(self.key, self.key.encode(rows, self.coordinator), rows)
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
            wrong = (sign == UPSERT) | (before + sign < 0)
        else:
            wrong = (sign == UPSERT) | ((sign == 1) == (before > 0))
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

    def resolved(self) -> tuple[np.ndarray, pa.Table | None, np.ndarray]:
        """What upserts and deletes by key mean.

        Returns:
            the places of the rows that take an old row away, ascending; the old rows; for each row whether it is a new row itself.
        """
        replaced = np.flatnonzero(self.before > 0)
        places = self.order.at(replaced)
        ascending = np.argsort(places, kind="stable")
        old = self.previous(replaced[ascending]) if len(replaced) else None
        return places[ascending], old, self.sign != -1
