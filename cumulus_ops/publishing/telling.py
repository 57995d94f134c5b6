"""Telling of what goes wrong: steps that fail, in the catalog, where whoever looks at the project sees it; and notices for who plans without the catalog."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.epochs import Failure, LeftOut, left_out
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, CumulusError, NotYet, RevisionOver
from cumulus_ops.project.names import NOTICES, code, escape, hide, plain_words
from cumulus_ops.project.rhythm import Rhythm, Stay, write_timeline
from cumulus_ops.project.settings import Project
from cumulus_ops.project.small_files import read_summed, replace_file, with_sum
from cumulus_ops.query.errors import newest_errors

__all__ = [
    "tell_where_coordinators_are",
    "watch_step",
    "watch_task",
    "watched",
    "write_notices",
]


log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
#: The attribute of an exception of which the catalog knows.
TOLD = "cumulus_told"


def watch_step(step: str) -> Callable[[Callable[Concatenate[Runtime, P], R]], Callable[Concatenate[Runtime, P], R]]:
    """A step whose failure the catalog shall know, until it succeeds: a function of a runtime. If a coordinator does it, that is the next argument.

    What makes somebody come again, a conflict or a condition that does not hold yet, is no failure. Neither is a step's failure that of the step around it.
    """

    def decorate(function: Callable[Concatenate[Runtime, P], R]) -> Callable[Concatenate[Runtime, P], R]:
        @wraps(function)
        def watching(rt: Runtime, /, *args: P.args, **kwargs: P.kwargs) -> R:
            first = args[0] if args else kwargs.get("coordinator")
            coordinator = first if step in OF_COORDINATORS and isinstance(first, int) else None
            with watched(rt, step, coordinator):
                return function(rt, *args, **kwargs)

        return watching

    return decorate


@contextmanager
def watched(rt: Runtime, step: str, coordinator: int | None = None) -> Iterator[None]:
    """The same for what is not all of a function; ``coordinator``: whose step it is, None for one of the whole project."""
    try:
        yield
    except (Conflict, NotYet, RevisionOver):
        raise
    except Exception as error:
        _tell(rt.catalog, rt.project, step, coordinator, error)
        raise
    rt.catalog.problems.step_succeeds(step, coordinator)


#: The steps that each coordinator does for itself.
OF_COORDINATORS = ("apply", "vote")


@contextmanager
def watch_task(project: Project, step: str, coordinator: int | None, log_address: str) -> Iterator[None]:
    """A task around steps, and around opening the project: when it fails for anything else than one of them, the catalog is told in the step's name.

    Args:
        project: the project.
        step: which the task is there for.
        coordinator: whose, None for a step of the whole project.
        log_address: where people find the task's log.
    """
    try:
        yield
    except RevisionOver:  # it is opened again
        raise
    except Exception as error:
        if not hasattr(error, TOLD):
            try:
                catalog = Catalog(project.catalog_url)
                catalog.problems.log_address = log_address
            except CumulusError:
                raise error from None
            _tell(catalog, project, step, coordinator, error)
            catalog.close()
        raise


def _tell(catalog: Catalog, project: Project, step: str, coordinator: int | None, error: Exception) -> None:
    """Record it. If the catalog is what fails, there is nobody to tell, and those who look find it out."""
    if hasattr(error, TOLD):
        return
    try:
        every = error.all if isinstance(error, CumulusError) else (error,)
        catalog.problems.step_fails(step, coordinator, *(_failure(project, one) for one in every))
        error.cumulus_told = True  # type: ignore[attr-defined]
    except Exception:
        log.warning("the catalog could not be told that %s fails", step)


def _failure(project: Project, error: Exception) -> Failure:
    """An error as the catalog has it."""
    file = getattr(error, "place", None) or getattr(error, "filename", None) or ""
    kind = getattr(error, "kind", type(error).__name__)
    return Failure(kind, describe_failure(project, error), hide(str(file), project.urls))


def describe_failure(project: Project, error: Exception) -> str:
    """What an error says, without secrets of the project's."""
    text = str(error) if isinstance(error, CumulusError) else f"{type(error).__name__}: {plain_words(str(error))}"
    return hide(text, project.urls)


# What Airflow has to know of a running project without asking its catalog, in files beside the state: what people who look at the
# pages are told, and where the coordinators are.


def tell_where_coordinators_are(rt: Runtime) -> None:
    """Write the file that Airflow plans by (:mod:`cumulus_ops.project.rhythm`) as the catalog has it now. Coordinators that are gone stay in
    it: the run that has voted to end a last epoch still has to say so, and what a DAG has done can be looked up as long as there is the DAG."""
    rhythm, membership = Rhythm.of(rt.project), rt.catalog.members.membership()
    stays = {m.coordinator: rt.catalog.members.stay(m.coordinator, m.epoch, rhythm) for m in membership.active()}
    for coordinator in {m.coordinator for m in membership.all} - stays.keys():
        last = membership.find(coordinator)
        if last is not None and last.last is not None:
            left_at = rt.catalog.members.boundary(coordinator, last.last, rhythm).ends_at
            stays[coordinator] = Stay(coordinator, last.last, left_at, left_at, left_at, gone=True)
    write_timeline(rt.project.state, [stays[c] for c in sorted(stays)])


def write_notices(rt: Runtime) -> None:
    """Write the file as the catalog has it now, by one rename; delete it when there is nothing to say."""
    file, text = rt.project.state / NOTICES, _say_notices(rt)
    if not text:
        file.unlink(missing_ok=True)
    elif read_summed(file) != text:
        replace_file(file, with_sum(text))


def _say_notices(rt: Runtime) -> str:
    """What there is to say, in Markdown."""
    failed = rt.catalog.history.failed()
    newest = rt.catalog.snapshots.newest()
    aside = [
        f"- **set aside**: {_cell(b)}; {'or ' if b.retry_at else ''}decide by `cumulus batch retry {b.batch}` or `drop {b.batch}`"
        for b in failed
        if b.state == "aside"
    ]
    missing = [f"- the snapshot of epoch {newest} is **without** {_cell(b)}" for b in left_out(failed, newest)]
    rows, files = rt.catalog.deliveries.count_undecided()
    counts = [f"**{n:,}** {what}" for n, what in ((rows, "rows in the quarantine"), (files, "files set aside")) if n]
    intake = [f"- {' and '.join(counts)} wait for a decision: `cumulus quarantine list`"] if counts else []
    sections = {
        "### Batches that failed": [*aside, *missing],
        "### Views in error": [f"- {code(e.view)} since epoch {e.since}: {code(e.reason)}" for e in newest_errors(rt)],
        "### What was put aside on the way in": intake,
        "### Coordinators that others have voted for": [
            f"- {escape(vote)}" for vote in rt.catalog.votes.fenced() if vote.epoch >= newest
        ],
    }
    return "".join("\n".join([title, *lines, ""]) for title, lines in sections.items() if lines)


def _cell(batch: LeftOut) -> str:
    """In Markdown nothing of a name or a reason is markup."""
    return f"{code(batch.name)}, {batch.fate}: {code(batch.reason)}"
