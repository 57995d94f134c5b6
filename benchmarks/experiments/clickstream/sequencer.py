"""What decides the one order of all messages."""

from __future__ import annotations

import sqlite3
from pathlib import Path

__all__ = ["Sequencer"]


class Sequencer:
    """The cheapest one that is correct: a row in a database, which gives the next place in the order, durably."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, isolation_level=None, timeout=60)
        self._database.execute("CREATE TABLE IF NOT EXISTS place (next INTEGER)")
        self._database.execute("INSERT INTO place SELECT 0 WHERE NOT EXISTS (SELECT * FROM place)")

    def take(self) -> int:
        """The next place."""
        (found,) = self._database.execute("UPDATE place SET next = next + 1 RETURNING next - 1").fetchall()
        return int(found[0])
