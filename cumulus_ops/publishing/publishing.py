"""Publishing a snapshot: every view becomes one version of its Delta table; one that is in error says so in its table's properties
and is published again from the first epoch on in which it is right."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog.epochs import in_error, left_out
from cumulus_ops.catalog.identity import Identity
from cumulus_ops.catalog.records import ViewError
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import IntegrityProblem, ViewInError, combine
from cumulus_ops.project.processes import reach
from cumulus_ops.publishing.delta_tables import OF_ONE_TABLE, find_mark, open_table, publish_error, publish_view
from cumulus_ops.publishing.telling import watched, write_notices
from cumulus_ops.query.answers import require_finals
from cumulus_ops.query.errors import view_error
from cumulus_ops.query.read import read_view

__all__ = ["list_awaiting", "list_to_validate", "publish", "publish_all", "publish_lost"]

log = logging.getLogger(__name__)


def list_awaiting(rt: Runtime, consumer: str) -> Iterator[int]:
    """The epochs of the snapshots that ``consumer`` (``publish`` or ``validate``) has yet to deal with, oldest first, each
    once. It asks before each: while one is dealt with, the next may expire."""
    last = -1
    while left := [epoch for epoch in rt.catalog.snapshots.awaiting(consumer) if epoch > last]:
        last = left[0]
        yield last


def list_to_validate(rt: Runtime) -> Iterator[int]:
    """The epochs that await validation and are due by the project's settings; the others need not wait any longer. One is due as well if
    one is that repeats its snapshot; as long as no other has come, that may be so later."""
    settings = rt.project.validation
    for epoch in list_awaiting(rt, "validate"):
        last, has_successor = rt.catalog.snapshots.last_repeat(epoch)
        if settings.due(epoch, last):
            yield epoch
        elif has_successor or settings.policy == "off":
            rt.catalog.snapshots.record_done("validate", epoch)


def publish_all(rt: Runtime) -> Iterator[tuple[int, dict[str, int]]]:
    """Publish every snapshot that is not published yet, oldest first: epoch -> what :func:`publish` returns. A table that cannot be read or written holds up no other view, and
    no later epoch.

    Raises:
        IntegrityProblem: at last, if some cannot; their epochs wait until they are repaired.
    """
    problems: list[IntegrityProblem] = []
    # all epochs together: a later one that goes well does not tell that an earlier one waits no more
    with watched(rt, "publish"):
        for epoch in list_awaiting(rt, "publish"):
            try:
                yield epoch, publish(rt, epoch)
            except IntegrityProblem as problem:
                if problem.kind not in OF_ONE_TABLE:
                    raise
                problems.append(problem)
        if problems:
            raise combine(problems)


def publish(rt: Runtime, epoch: int) -> dict[str, int]:
    """Publish the snapshot of ``epoch``; views that are published already are left alone, and so is one that has expired.
    Views in error are recorded in the catalog, see :func:`cumulus_ops.query.errors.views_in_error`.

    Returns:
        view -> version of its Delta table, without the views in error; empty when the project publishes nothing.

    Raises:
        NotYet: the epoch has no snapshot.
        InputProblem: it has expired just now.
        IntegrityProblem: it has other rows than were final before; or some tables cannot be read or written, and all others are published.
    """
    rt, folder = rt.as_of(epoch), rt.project.published
    if folder is None:
        return {}
    if rt.catalog.snapshots.outcome("publish", epoch) is None:
        done = rt.catalog.results.published_in(epoch)
        without = "; ".join(map(str, left_out(rt.catalog.history.failed(), epoch)))
        problems: list[IntegrityProblem] = []
        for view in rt.program.views:
            if view.name in done:
                continue
            try:
                _publish_in(rt, folder / view.name, epoch, without)
            except IntegrityProblem as problem:
                if problem.kind not in OF_ONE_TABLE:
                    raise
                problems.append(problem)
        write_notices(rt)
        if problems:
            raise combine(problems)
        rt.catalog.snapshots.record_done("publish", epoch)
    return rt.catalog.results.published_in(epoch)


def _publish_in(rt: Runtime, path: Path, epoch: int, without: str) -> None:
    """Publish a view, or that it is in error."""
    name = path.name
    reach("publish.before-table")
    try:
        rows = read_view(rt, name, as_of=epoch)
    except ViewInError as problem:
        _publish_error(rt, view_error(name, epoch, problem), path)
        return
    require_finals(rt, name, rows, epoch)
    _publish_rows(rt, path, epoch, rows, without)


def _publish_rows(rt: Runtime, path: Path, epoch: int, rows: pa.Table, without: str) -> None:
    """Write the table, and then tell the catalog."""
    name, found = path.name, rt.catalog.snapshots.at(epoch)
    # a plan without the checkpoint's barrier lets rows be published before there is a snapshot
    stamp = "" if found is None else f"{found.commit}@{found.seconds!r}"
    said = {"program": rt.program.name, "without": without, "snapshot": stamp}
    table = rt.catalog.results.published_table(name)
    known = -1 if table is None else table[1]
    written = publish_view(rows, path, _owner(rt), epoch=epoch, **said, adopted=_find_adopted(rt, name), known=known)
    reach("publish.before-commit")
    rt.catalog.results.record_published(name, epoch, written.version, len(rows), (written.table_id, written.mark))
    reach("publish.after-commit")


def _owner(rt: Runtime) -> Identity:
    identity = rt.catalog.database.identity()
    assert identity is not None  # or else the project could not have been opened
    return identity


def _find_adopted(rt: Runtime, name: str) -> int | None:
    """The newest version of a view's table that the catalog knows of, as long as it was published before tables had owners."""
    if rt.catalog.results.published_table(name) is not None:
        return None
    found = rt.catalog.results.newest_published().get(name)
    return None if found is None else found[1]


def publish_lost(rt: Runtime) -> list[str]:
    """Publish once more what was published, where the table is gone, or is an older copy of itself: the newest epoch of each view, if its snapshot can be read still.

    Returns:
        the views.

    Raises:
        SetupProblem: a table is another's by now.
    """
    if rt.project.published is None:
        return []
    newest = {name: epoch for name, (epoch, _) in rt.catalog.results.newest_published().items()}
    lost = [view for view in rt.program.views if view.name in newest and _is_lost(rt, rt.project.published / view.name)]
    done = []
    for view in lost:
        epoch = newest[view.name]
        if epoch < rt.catalog.snapshots.oldest_readable():
            continue  # the next snapshot is published in its place
        without = "; ".join(map(str, left_out(rt.catalog.history.failed(), epoch)))
        try:
            rows = read_view(rt.as_of(epoch), view.name, as_of=epoch)
        except ViewInError:
            continue
        _publish_rows(rt, rt.project.published / view.name, epoch, rows, without)
        done.append(view.name)
    return done


def publish_anew(rt: Runtime, view: str) -> list[int]:
    """Publish a view into a new table: all epochs of it that were published and can be read still, in their order; returns them."""
    assert rt.project.published is not None
    epochs = sorted(epoch for name, epoch in rt.catalog.results.published() if name == view)
    done = []
    for epoch in (epoch for epoch in epochs if epoch >= rt.catalog.snapshots.oldest_readable()):
        without = "; ".join(map(str, left_out(rt.catalog.history.failed(), epoch)))
        with suppress(ViewInError):
            rows = read_view(rt.as_of(epoch), view, as_of=epoch)
            _publish_rows(rt, rt.project.published / view, epoch, rows, without)
            done.append(epoch)
    return done


def _is_lost(rt: Runtime, path: Path) -> bool:
    known = rt.catalog.results.published_table(path.name)
    if known is None:
        return False
    try:
        table = open_table(path)
    except IntegrityProblem as problem:  # it is repaired when somebody asks for that
        log.error("%s; %s", problem, problem.hint)
        return False
    if table is None or str(table.metadata().id) != known[0]:
        return True
    mark = find_mark(table, path, _owner(rt), is_adopted=True)
    return mark is not None and mark.value < known[1]


def _publish_error(rt: Runtime, error: ViewError, path: Path) -> None:
    """Tell the readers of the table, and then the catalog."""
    known = in_error([*rt.catalog.results.view_errors(), error], error.epoch)
    described = next(e for e in known if e.view == error.view)
    told = {"reason": described.reason, "program": rt.program.name}
    adopted = _find_adopted(rt, error.view)
    publish_error(path, _owner(rt), epoch=error.epoch, since=described.since, **told, adopted=adopted)
    reach("publish.before-commit")
    rt.catalog.results.record_view_error(error)
    reach("publish.after-commit")
