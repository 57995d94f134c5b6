"""Publishing a snapshot: every view becomes one version of its Delta table; one that is in error says so in its table's properties
and is published again from the first epoch on in which it is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cumulus_ops.catalog import ViewError, in_error, left_out
from cumulus_ops.engine import Runtime
from cumulus_ops.errors import ViewInError
from cumulus_ops.faults import reach
from cumulus_ops.query import read_view, view_error
from cumulus_ops.snapshot.delta_tables import publish_error, publish_view
from cumulus_ops.snapshot.finals import require_finals
from cumulus_ops.snapshot.notices import write_notices

__all__ = ["awaiting", "publish", "to_validate"]


def awaiting(rt: Runtime, consumer: str) -> Iterator[int]:
    """The epochs of the snapshots that ``consumer`` (``publish`` or ``validate``) has yet to deal with, oldest first, each
    once. It asks before each: while one is dealt with, the next may expire."""
    last = -1
    while left := [epoch for epoch in rt.catalog.awaiting(consumer) if epoch > last]:
        last = left[0]
        yield last


def to_validate(rt: Runtime) -> Iterator[int]:
    """The epochs that await validation and are due by the project's settings; the others need not wait any longer. One is due as well if
    one is that repeats its snapshot; as long as no other has come, that may be so later."""
    settings = rt.project.validation
    for epoch in awaiting(rt, "validate"):
        last, has_successor = rt.catalog.last_repeat(epoch)
        if settings.due(epoch, last):
            yield epoch
        elif has_successor or settings.policy == "off":
            rt.catalog.record_done("validate", epoch)


def publish(rt: Runtime, epoch: int) -> dict[str, int]:
    """Publish the snapshot of ``epoch``; views that are published already are left alone, and so is one that has expired.
    Views in error are recorded in the catalog, see :func:`cumulus_ops.query.views_in_error`.

    Returns:
        view -> version of its Delta table, without the views in error; empty when the project publishes nothing.

    Raises:
        NotYet: the epoch has no snapshot.
        InputProblem: it has expired just now.
        IntegrityProblem: it has other rows than were final before.
    """
    if rt.project.published is None:
        return {}
    if rt.catalog.outcome("publish", epoch) is None:
        _publish(rt, epoch, rt.project.published)
        write_notices(rt)
        rt.catalog.record_done("publish", epoch)
    return {view: version for (view, e), version in rt.catalog.published().items() if e == epoch}


def _publish(rt: Runtime, epoch: int, folder: Path) -> None:
    done = rt.catalog.published()
    without = "; ".join(map(str, left_out(rt.catalog.batches(), epoch)))
    for view in rt.program.views:
        if (view.name, epoch) in done:
            continue
        reach("publish.before-table")
        try:
            rows = read_view(rt, view.name, as_of=epoch)
        except ViewInError as problem:
            _publish_error(rt, view_error(view.name, epoch, problem), folder / view.name)
            continue
        require_finals(rt, view.name, rows, epoch)
        version = publish_view(rows, folder / view.name, epoch=epoch, program=rt.program.name, without=without)
        reach("publish.before-commit")
        rt.catalog.record_published(view.name, epoch, version, len(rows))
        reach("publish.after-commit")


def _publish_error(rt: Runtime, error: ViewError, path: Path) -> None:
    """Tell the readers of the table, and then the catalog."""
    known = in_error([*rt.catalog.view_errors(), error], error.epoch)
    described = next(e for e in known if e.view == error.view)
    publish_error(path, epoch=error.epoch, since=described.since, reason=described.reason, program=rt.program.name)
    reach("publish.before-commit")
    rt.catalog.record_view_error(error)
    reach("publish.after-commit")
