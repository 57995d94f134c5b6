"""The events: stories of a customer, two orders and eight items, whose rows come soon after each other, in any order, at any coordinator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["EVENTS_PER_STORY", "NATIONS", "Stories"]

ORDERS, ITEMS, NATIONS = 2, 8, 25
EVENTS_PER_STORY = 1 + ORDERS + ITEMS


class Stories:
    """All events, by when and where they come.

    Args:
        stories: how many.
        periods: the time that there is.
        late: up to so many periods after its beginning, a story's rows come.
        shares: what part of the events each coordinator gets.
        seed: of the random choices.
    """

    def __init__(self, stories: int, periods: int, late: float, shares: Sequence[float], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.stories, self.shares = stories, tuple(shares)
        self.nation = rng.integers(0, NATIONS, stories)
        self.price = rng.integers(1, 1000, stories * ITEMS)
        begins = rng.uniform(0, max(periods - late, 0), stories)
        self._period = {
            name: np.minimum(np.repeat(begins, n) + rng.uniform(0, late, stories * n), periods - 1e-9).astype(int)
            for name, n in (("customers", 1), ("orders", ORDERS), ("items", ITEMS))
        }
        self._coordinator = {
            name: rng.choice(len(self.shares), len(at), p=self.shares) for name, at in self._period.items()
        }
        self._known = {name: np.zeros(len(at), bool) for name, at in self._period.items()}

    @property
    def events(self) -> int:
        """How many there are."""
        return self.stories * EVENTS_PER_STORY

    def land(self, landing: Path, period: int, coordinator: int) -> dict[str, np.ndarray]:
        """Land a coordinator's drop of a period.

        Returns:
            relation -> the rows of it that are in the drop, for :meth:`arrived`.
        """
        chosen = {
            name: np.flatnonzero((at == period) & (self._coordinator[name] == coordinator))
            for name, at in self._period.items()
        }
        drop = landing / str(coordinator) / f".p{period:06}"
        drop.mkdir(parents=True)
        for name, rows in chosen.items():
            if len(rows):
                pq.write_table(self._table(name, rows), drop / f"{name}.parquet")
        drop.rename(drop.with_name(f"p{period:06}"))
        return chosen

    def _table(self, name: str, rows: np.ndarray) -> pa.Table:
        columns: dict[str, object] = {"op": pa.repeat(pa.scalar("I"), len(rows))}
        columns["event"] = np.arange(len(rows)) + self._landed(name, len(rows))
        if name == "customers":
            columns |= {"customer": rows, "nation": self.nation[rows]}
        elif name == "orders":
            columns |= {"ordered": rows, "customer": rows // ORDERS}
        else:
            columns |= {"item": rows, "ordered": rows // (ITEMS // ORDERS), "price": self.price[rows]}
        return pa.table(columns)

    def _landed(self, name: str, rows: int) -> int:
        """The place of the next event in its source; ascending for every coordinator, since it does for all together."""
        self._next: dict[str, int] = getattr(self, "_next", {})
        first = self._next.get(name, 0)
        self._next[name] = first + rows
        return first

    def arrived(self, rows: dict[str, np.ndarray]) -> None:
        """These rows count from now on in :meth:`revenue`."""
        for name, chosen in rows.items():
            self._known[name][chosen] = True

    def revenue(self) -> np.ndarray:
        """The view over all that has arrived, by nation: what a tentative answer should be."""
        customer = np.arange(self.stories * ITEMS) // ITEMS
        order = np.arange(self.stories * ITEMS) // (ITEMS // ORDERS)
        counts = self._known["items"] & self._known["orders"][order] & self._known["customers"][customer]
        found = np.bincount(self.nation[customer[counts]], self.price[counts], NATIONS)
        return found.astype(np.int64)
