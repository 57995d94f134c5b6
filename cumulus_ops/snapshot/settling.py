"""Settling: correcting soon after batches were applied, so that tentative answers do not stay wrong until the epoch's commit.

A correction costs about the same for one batch as for many that came together. So what is applied waits for a **buffer period**
(``corrections: {after: 2s}``; Cumulus paper, sections 4.1 and 4.2, and semester paper, 3.5, "Buffering corrective updates"), and
is then corrected with all that has come since. Every process that applies looks after each batch, and while it waits for drops,
whoever has applied what: the catalog knows since when something is missing. So a process that dies leaves it to the others, and the
last one that ends leaves nothing.

When nothing is applied for that long, tentative answers equal the serial interpreter's, run over all that is applied.
"""

from __future__ import annotations

import datetime

from cumulus_ops.catalog import Unsettled
from cumulus_ops.engine import Runtime
from cumulus_ops.errors import Conflict
from cumulus_ops.snapshot.commits import correct
from cumulus_ops.snapshot.refreshing import refresh, try_refresh

__all__ = ["settle", "settle_if_due"]

ATTEMPTS = 5


def settle_if_due(rt: Runtime) -> bool:
    """Correct and refresh, if something has been waiting for the buffer period; refresh in any case. Costs one short query if there is
    nothing to do.

    Returns:
        whether this process corrected, and so settled all that was applied before.
    """
    unsettled = rt.catalog.unsettled()
    if unsettled is None:
        return False
    if _is_due(unsettled, rt.project.corrections.after):
        return _settle(rt)
    if unsettled.stale:
        try_refresh(rt)
    return False


def settle(rt: Runtime) -> None:
    """Correct and refresh now what has been applied so far: nobody may be there to do it later."""
    for _ in range(ATTEMPTS):
        if rt.catalog.unsettled() is None:
            return
        _settle(rt)


def _is_due(unsettled: Unsettled, after: datetime.timedelta) -> bool:
    """By this machine's clock; if the one that committed has a very different one, it is."""
    waiting = datetime.datetime.now(datetime.UTC) - unsettled.since
    return not datetime.timedelta(0) <= waiting < after


def _settle(rt: Runtime) -> bool:
    """False if others do the same at the same time: it is left to them."""
    try:
        correct(rt)
        refresh(rt)
    except Conflict:
        return False
    return True
