"""Publishing a snapshot: every view becomes one version of its Delta table."""

from __future__ import annotations

from cumulus_ops.engine import Runtime
from cumulus_ops.faults import reach
from cumulus_ops.query import read_view
from cumulus_ops.snapshot.delta_tables import publish_view

__all__ = ["publish"]


def publish(rt: Runtime, epoch: int) -> dict[str, int]:
    """Publish the snapshot of ``epoch``; views that are published already are left alone.

    Returns:
        view -> version of its Delta table; empty when the project publishes nothing.

    Raises:
        NotYet: the epoch has no snapshot.
    """
    if rt.project.published is None:
        return {}
    done = rt.catalog.published()
    for view in rt.program.views:
        if (view.name, epoch) in done:
            continue
        reach("publish.before-table")
        rows = read_view(rt, view.name, as_of=epoch)
        version = publish_view(rows, rt.project.published / view.name, epoch=epoch, program=rt.program.name)
        reach("publish.before-commit")
        rt.catalog.record_published(view.name, epoch, version)
        reach("publish.after-commit")
    return {view: version for (view, e), version in rt.catalog.published().items() if e == epoch}
