"""The stream: random transfers, in the order in which they arrive, as drops for the coordinators."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["Scenario", "Transfers", "land"]

#: When the first transfer happens, in microseconds since 1970.
START_US = 1_767_225_600_000_000
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """What is played. Event time goes on by ``epoch_s`` seconds an epoch. A transfer arrives up to ``late_s`` seconds after it
    happened, at one of the coordinators by their ``shares``. Each coordinator takes what has arrived in a period, of which an
    epoch has as many as there are coordinators, as one mini-batch.

    >>> Scenario(transfers=1000, epochs=4).periods
    14
    """

    transfers: int
    epochs: int
    shares: tuple[float, ...] = (1 / 3, 1 / 3, 1 / 3)
    accounts: int = 10
    epoch_s: float = 10.0
    late_s: float = 10.0
    seed: int = 0

    @property
    def coordinators(self) -> int:
        """How many coordinators there are."""
        return len(self.shares)

    @property
    def periods(self) -> int:
        """So many that the last coordinator, whose first epoch is the longest, has ended its last one."""
        return self.coordinators * (self.epochs + 1) - 1


class Transfers:
    """All transfers of a scenario, in the order of their arrival."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        rng = np.random.default_rng(scenario.seed)
        rows, accounts = scenario.transfers, scenario.accounts
        last_s = scenario.periods * scenario.epoch_s / scenario.coordinators - scenario.late_s
        happened = np.sort(rng.uniform(0, max(last_s, 0), rows) * SECOND_US).astype(np.int64)
        arrived = happened + (rng.uniform(0, scenario.late_s, rows) * SECOND_US).astype(np.int64)
        order = np.argsort(arrived, kind="stable")
        self.ids, self.happened, arrived = order, happened[order] + START_US, arrived[order]
        self.source = rng.integers(0, accounts, rows)
        self.target = (self.source + rng.integers(1, accounts, rows)) % accounts
        self.amount = rng.integers(1, 1001, rows)
        self.coordinator = rng.choice(scenario.coordinators, rows, p=scenario.shares)
        period_us = scenario.epoch_s / scenario.coordinators * SECOND_US
        self._ends = np.searchsorted(arrived, np.arange(scenario.periods + 1) * period_us)
        self._ends[-1] = rows

    def places(self, period: int, coordinator: int) -> np.ndarray:
        """The places in the order of arrival of what a coordinator gets in a period."""
        begin, end = self._ends[period], self._ends[period + 1]
        found: np.ndarray = begin + np.flatnonzero(self.coordinator[begin:end] == coordinator)
        return found

    def net(self, places: np.ndarray) -> np.ndarray:
        """What those transfers add to the balance of each account."""
        accounts = self.scenario.accounts
        credits = np.bincount(self.target[places], self.amount[places], accounts)
        return (credits - np.bincount(self.source[places], self.amount[places], accounts)).astype(np.int64)

    def table(self, places: np.ndarray) -> pa.Table:
        """The rows of a drop."""
        return pa.table(
            {
                "op": pa.repeat(pa.scalar("I"), len(places)),
                "event": places,
                "id": self.ids[places],
                "from_account": self.source[places],
                "to_account": self.target[places],
                "amount": self.amount[places],
                "at": pa.array(self.happened[places]).cast(pa.timestamp("us")),
            }
        )

    @cached_property
    def lateness_s(self) -> float:
        """By how much, at most, a transfer happened before one that arrived earlier."""
        newest = np.maximum.accumulate(self.happened)
        return float((newest - self.happened).max()) / SECOND_US


def land(landing: Path, transfers: Transfers, period: int, coordinator: int) -> np.ndarray:
    """Land the drop of a period for a coordinator, by one rename.

    Returns:
        what it adds to the balances.
    """
    places = transfers.places(period, coordinator)
    folder = landing / str(coordinator)
    written = folder / f".p{period:06}"
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    pq.write_table(transfers.table(places), written / "transfers.parquet")
    written.rename(folder / f"p{period:06}")
    return transfers.net(places)
