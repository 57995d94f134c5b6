"""Producers: a thread each, in one process, which hands over what has been written before."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiments.clickstream.clicks import Load

__all__ = ["Sequencer", "feed"]


class Sequencer:
    """The cheapest one that is correct: a row in a database, which gives the next number of the one order, durably."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, isolation_level=None, timeout=60)
        self._database.execute("CREATE TABLE IF NOT EXISTS place (next INTEGER)")
        self._database.execute("INSERT INTO place SELECT 0 WHERE NOT EXISTS (SELECT * FROM place)")

    def take(self) -> int:
        """The next place."""
        (found,) = self._database.execute("UPDATE place SET next = next + 1 RETURNING next - 1").fetchall()
        return int(found[0])


def feed(load: Load, staged: Sequence[tuple[float, int, Path]], landing: Path, *, ordered: bool, begin: float) -> None:
    """Hand over all drops, each when it is due after ``begin`` (of the monotonic clock); in one order, if ``ordered``."""
    threads = [
        threading.Thread(target=_produce, args=([s for s in staged if s[1] == producer], landing, ordered, begin))
        for producer in range(load.producers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _produce(own: Sequence[tuple[float, int, Path]], landing: Path, ordered: bool, begin: float) -> None:
    sequencer = Sequencer(landing.parent / "order.db") if ordered else None
    for due, producer, place in own:
        time.sleep(max(0.0, begin + due - time.monotonic()))
        if sequencer is None:
            place.rename(landing / str(producer) / place.name)
        else:
            place.rename(landing / "0" / f"{sequencer.take():08}")
