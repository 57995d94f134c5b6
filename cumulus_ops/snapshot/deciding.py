"""What becomes of a batch that is set aside: somebody decides."""

from __future__ import annotations

from cumulus_ops.catalog import Batch
from cumulus_ops.catalog.asides import not_aside
from cumulus_ops.engine import Runtime
from cumulus_ops.eventlog.restamp import drop, restamp
from cumulus_ops.snapshot.notices import write_notices

__all__ = ["drop_batch", "retry_batch"]


def retry_batch(rt: Runtime, number: int) -> Batch:
    """Stamp the events of a batch that is set aside into its coordinator's open epoch, as another batch, which is applied like
    any other. Done before, it is only reported.

    Returns:
        the batch that has its events now.

    Raises:
        InputProblem: it is not set aside.
        Conflict: something else was appended for its coordinator meanwhile.
    """
    batches = {b.id: b for b in rt.catalog.batches()}
    batch = batches.get(number)
    if batch is not None and batch.state == "retried":
        return next(b for b in batches.values() if b.retry_of == number)
    if batch is None or batch.state != "aside":
        raise not_aside(number, batch.state if batch else None)
    new = restamp(rt.project, rt.catalog, batch)
    write_notices(rt)
    return rt.catalog.batch(new)


def drop_batch(rt: Runtime, number: int) -> Batch:
    """Decide that the events of a batch that is set aside will never count; its source may deliver them again, in another drop.

    Where keys mean something, what later events rest on is appended again, as another batch (:mod:`cumulus_ops.keys.deciding`).

    Raises:
        InputProblem: it is not set aside.
        Conflict: something else was appended for its coordinator meanwhile.
    """
    batch = next((b for b in rt.catalog.batches(state="aside") if b.id == number), None)
    if batch is None:
        rt.catalog.drop_batch(number)  # it says what is wrong
    else:
        drop(rt.project, rt.catalog, batch)
    write_notices(rt)
    return rt.catalog.batch(number)
