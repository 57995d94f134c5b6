"""Publishing a snapshot: every view becomes one version of its Delta table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cumulus_ops.catalog import left_out
from cumulus_ops.engine import Runtime
from cumulus_ops.faults import reach
from cumulus_ops.query import read_view
from cumulus_ops.snapshot.delta_tables import publish_view

__all__ = ["awaiting", "publish"]


def awaiting(rt: Runtime, consumer: str) -> Iterator[int]:
    """The epochs of the snapshots that ``consumer`` (``publish`` or ``validate``) has yet to deal with, oldest first, each
    once. It asks before each: while one is dealt with, the next may expire."""
    last = -1
    while left := [epoch for epoch in rt.catalog.awaiting(consumer) if epoch > last]:
        last = left[0]
        yield last


def publish(rt: Runtime, epoch: int) -> dict[str, int]:
    """Publish the snapshot of ``epoch``; views that are published already are left alone, and so is one that has expired.

    Returns:
        view -> version of its Delta table; empty when the project publishes nothing.

    Raises:
        NotYet: the epoch has no snapshot.
        InputProblem: it has expired just now.
    """
    if rt.project.published is None:
        return {}
    if rt.catalog.outcome("publish", epoch) is None:
        _publish(rt, epoch, rt.project.published)
        rt.catalog.record_done("publish", epoch)
    return {view: version for (view, e), version in rt.catalog.published().items() if e == epoch}


def _publish(rt: Runtime, epoch: int, folder: Path) -> None:
    done = rt.catalog.published()
    without = "; ".join(map(str, left_out(rt.catalog.batches(), epoch)))
    for view in rt.program.views:
        if (view.name, epoch) in done:
            continue
        reach("publish.before-table")
        rows = read_view(rt, view.name, as_of=epoch)
        version = publish_view(rows, folder / view.name, epoch=epoch, program=rt.program.name, without=without)
        reach("publish.before-commit")
        rt.catalog.record_published(view.name, epoch, version)
        reach("publish.after-commit")
