"""How a step keeps within the memory that its project allows it (``memory:`` in ``cumulus.yaml``).

A quarter is for runs that the process remembers, a quarter for deltas that have not been written, a quarter for the rows of one
join; the rest is for what Arrow and numpy hold beside them.
"""

from __future__ import annotations

__all__ = ["DEFAULT_MEMORY", "rows_within"]

#: Where nobody says how much.
DEFAULT_MEMORY = 4 << 30
#: What a row of a join or of a merge takes on its way: a dozen columns of 8 bytes, twice.
ROW_BYTES = 200
FEWEST_ROWS = 10_000


def rows_within(memory: int) -> int:
    """As many rows of a join, or of runs to merge, fit into a quarter of ``memory`` bytes."""
    return max(FEWEST_ROWS, memory // 4 // ROW_BYTES)
