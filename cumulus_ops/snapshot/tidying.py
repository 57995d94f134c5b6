"""Keeping the number of runs small within an epoch, so that the last mini-batch of a long epoch costs what the first did."""

from __future__ import annotations

from cumulus_ops.engine import Runtime
from cumulus_ops.errors import Conflict
from cumulus_ops.snapshot.commits import correct, merge
from cumulus_ops.snapshot.refreshing import refresh

__all__ = ["tidy"]

#: As many runs of one access path are left alone.
RUNS = 8


def tidy(rt: Runtime) -> int:
    """Merge where an access path has more than a few runs.

    Only what every reader has incorporated may be merged, so the live history is corrected first, which also brings
    tentative answers up to date. When others do the same at the same time, it is left to them.

    Returns:
        the number of merged access paths.
    """
    if not rt.catalog.is_crowded(rt.catalog.last_commit(), RUNS):
        return 0
    try:
        correct(rt)
        refresh(rt)
        return merge(rt)
    except Conflict:
        return 0
