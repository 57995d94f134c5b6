"""The views in error: which ones a snapshot is without, and why.

What fails for some rows is counted by maps, so that it is known for all views at once (:func:`failed_checks`). What fails only when
a view's columns or its HAVING are computed is known once it is read. A snapshot never changes, so what was found is recorded, and
found once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cumulus_ops.catalog.epochs import InError, in_error
from cumulus_ops.catalog.records import ViewError
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from cumulus_ops.query.read import read_view
from m3.errors import quote_source, text_at
from m3.program import View
from m3.view_errors import places_of

__all__ = ["describe_error", "newest_errors", "quote_error", "view_error", "views_in_error"]


def view_error(view: str, epoch: int, problem: ViewInError) -> ViewError:
    """What the catalog remembers of an error that reading a view as of ``epoch`` has raised."""
    return ViewError(view, epoch, problem.kind, problem.message, problem.place, problem.hint)


def views_in_error(rt: Runtime, epoch: int) -> Mapping[str, str]:
    """The views that are in error in the snapshot of ``epoch``, by their names: since which epoch, the expression, its place, and
    an example row, as text. What nobody knows yet is found by reading the view, and recorded.

    Raises:
        NotYet: the epoch has no snapshot.
        InputProblem: it is no longer retained, and not all of its views were read while it was.
    """
    failing = {e.view for e in rt.catalog.results.view_errors() if e.epoch == epoch}
    known = failing | rt.catalog.results.published_in(epoch).keys()
    for view in rt.program.views:
        if view.name not in known:
            try:
                read_view(rt, view.name, as_of=epoch, ordered=False)
            except ViewInError as problem:
                rt.catalog.results.record_view_error(view_error(view.name, epoch, problem))
    return {e.view: str(e) for e in in_error(rt.catalog.results.view_errors(), epoch)}


def quote_error(project: Project, view: View, place: str) -> tuple[str, ...]:
    """The lines of a view's file in which something fails, each followed by its underline: as they were deployed. Nothing if the file says
    something else by now.

    Args:
        project: where the file is.
        view: the view in error.
        place: of the error.
    """
    span = next((span for span in map(project.in_file, places_of(view)) if str(span) == place), None)
    if span is None or not (file := project.folder / span.file).is_file():
        return ()
    source = read_text(file)
    return tuple(quote_source(source, span)) if text_at(source, span) == span.text else ()


def newest_errors(rt: Runtime) -> tuple[InError, ...]:
    """The views that are in error in the newest snapshot, as far as is known: what only reading finds is known when it has been
    published or validated. Empty without a snapshot."""
    newest = rt.catalog.snapshots.newest()
    found = in_error(rt.catalog.results.view_errors(), newest)
    views = rt.program.view_by_name
    return tuple(
        replace(e, quoted=quote_error(rt.as_edited, views[e.view], e.place)) if e.view in views else e for e in found
    )


def describe_error(
    rt: Runtime, view: str, problem: ViewInError, *, as_of: int | None, tentative: bool
) -> tuple[ViewInError, dict[str, object]]:
    """The error of reading a view, with its story: since which epoch; or that it is only tentative, and what the newest snapshot has.

    Args:
        rt: the open project.
        view: the view.
        problem: what :func:`~cumulus_ops.query.read.read_view` has raised.
        as_of, tentative: what it was asked for.

    Returns:
        the error for people, and its parts for programs: ``view``, ``kind``, ``message``, ``place``, ``hint``, ``tentative``,
        ``epoch`` and ``since`` (None if it is tentative).
    """
    details: dict[str, object] = {
        "view": view,
        "kind": problem.kind,
        "message": problem.message,
        "place": problem.place,
    }
    newest = rt.catalog.snapshots.newest()
    epoch: int | None = None
    since: int | None = None
    if tentative:
        message, hint = f"tentative, may still be corrected: {problem.message}", problem.hint
        if newest >= 0:
            hint = f"in the snapshot of epoch {newest} it is not in error: read it without --tentative"
            try:
                read_view(rt, view, as_of=newest, ordered=False)
            except ViewInError as other:
                before = _since(rt, view, newest, other)
                hint = f"it is in error in the snapshot of epoch {newest}, too, since epoch {before}"
    else:
        epoch = newest if as_of is None else as_of
        since = _since(rt, view, epoch, problem)
        message, hint = f"{problem.message} (since epoch {since})", problem.hint
    told = ViewInError(message, kind=problem.kind, place=problem.place, hint=hint)
    return told, details | {"hint": hint, "tentative": tentative, "epoch": epoch, "since": since}


def _since(rt: Runtime, view: str, epoch: int, problem: ViewInError) -> int:
    known = [*rt.catalog.results.view_errors(), view_error(view, epoch, problem)]
    return next(e.since for e in in_error(known, epoch) if e.view == view)
