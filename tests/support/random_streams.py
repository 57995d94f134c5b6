"""Random inserts, deletes of rows that exist, and updates, for any relations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from m3.program import Column, Relation

Row = tuple[Any, ...]
Event = tuple[int, str, Row]
Batch = list[Event]
ValueMaker = Callable[[random.Random, Relation, Column], Any]


class RandomStream:
    """The live rows of the tables, and how they change. Declared keys stay unique.

    Args:
        seed: of the random choices.
        relations: the tables that change.
        value: makes a value of a column; None for NULL.
    """

    def __init__(self, seed: int, relations: Sequence[Relation], value: ValueMaker) -> None:
        self.random, self.relations, self._value = random.Random(seed), relations, value
        self.live: dict[str, list[Row]] = {r.name: [] for r in relations}
        self._keys = {r.name: [i for i, c in enumerate(r.columns) if c.name in r.key] for r in relations}

    def batch(self, size: int, inserts: float) -> Batch:
        """About ``size`` events, that share of them inserts; the others are deletes and updates, half and half."""
        events: Batch = []
        for _ in range(size):
            relation = self.random.choice(self.relations)
            rows = self.live[relation.name]
            if self.random.random() < inserts or not rows:
                events += self._put(relation, tuple(self._value(self.random, relation, c) for c in relation.columns))
                continue
            old = rows.pop(self.random.randrange(len(rows)))
            events.append((-1, relation.name, old))
            if self.random.random() < 0.5:
                events += self._put(relation, self._changed(relation, old))
        return events

    def _changed(self, relation: Relation, old: Row) -> Row:
        change = self.random.randrange(len(old))
        new = self._value(self.random, relation, relation.columns[change])
        return (*old[:change], new, *old[change + 1 :])

    def _put(self, relation: Relation, row: Row) -> Batch:
        key = self._keys[relation.name]
        if key and any(all(row[i] == other[i] for i in key) for other in self.live[relation.name]):
            return []
        self.live[relation.name].append(row)
        return [(1, relation.name, row)]


def left_over(batches: Sequence[Batch]) -> Batch:
    """The deletes that empty the tables."""
    live: dict[tuple[str, Row], int] = {}
    for sign, relation, row in (event for batch in batches for event in batch):
        live[relation, row] = live.get((relation, row), 0) + sign
    return [(-1, relation, row) for (relation, row), n in live.items() for _ in range(n)]
