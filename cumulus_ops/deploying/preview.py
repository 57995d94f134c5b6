"""What a change would cost and show, before it is deployed: nothing of it is stored."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from cumulus_ops.catalog.commits import Commits
from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.deploying.changes import Change
from cumulus_ops.deploying.deploy import fill
from cumulus_ops.deploying.proposals import Proposals
from cumulus_ops.files.net_tables import choose_base_files
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.query.read import read_view
from cumulus_ops.validation.comparison import compare
from m3.program import View

__all__ = ["DataDiff", "Preview", "describe_change", "previewed"]

#: As many of the latest epochs tell how long events take.
EPOCHS = 100
#: Of as many groups the rows are shown.
SAMPLE = 5


@dataclass(frozen=True)
class DataDiff:
    """The rows of a view before and after, as of one snapshot: ``added``, ``gone`` and ``changed`` are counts of rows, by the columns that identify
    one; ``compared``: the columns that both have. ``sample``: some of them. ``problem``: why there is nothing to compare."""

    before: int | None
    after: int | None
    added: int = 0
    gone: int = 0
    changed: int = 0
    compared: tuple[str, ...] = ()
    sample: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True)
class Preview:
    """What deploying would do. ``views``: name -> what becomes of it; ``why``: of changed ones, the reasons, line by line. ``reused``, ``new`` and ``dropped``: the
    tables that maps are kept in, with their rows and bytes, as far as they are there. ``events``: how many a backfill reads, of ``reads``; ``seconds``: about how long
    it takes, as long as applying has taken by event, None if nothing was applied yet. ``published``: tables that readers see otherwise from then on. ``rows``: view -> its rows
    before and after, as of ``epoch``. ``is_nothing``: there is nothing to deploy. ``proposals``: what sources show otherwise than the folder says, if they were asked."""

    views: Mapping[str, str]
    relations: Mapping[str, str]
    why: Mapping[str, Sequence[str]]
    reused: Mapping[str, tuple[int, int]]
    new: Sequence[str]
    dropped: Mapping[str, tuple[int, int]]
    copies: int
    reads: Sequence[str]
    events: int
    seconds: float | None
    published: Sequence[str]
    epoch: int | None
    rows: Mapping[str, DataDiff]
    is_nothing: bool
    proposals: Proposals | None = None


def describe_change(rt: Runtime, change: Change, *, rows: bool = True) -> Preview:
    """What a change would do.

    Args:
        rt: the open project.
        change: what :func:`~cumulus_ops.deploying.changes.find_change` has found.
        rows: whether the rows of changed views are computed, which costs as much as the backfill.
    """
    stored = _sizes(rt)
    of_group = {name: stored.get(name, (0, 0)) for name in (*change.kept, *change.dropped)}
    newest = rt.catalog.snapshots.newest()
    relations = rt.program.relations
    files = (
        choose_base_files(rt.project.state, rt.catalog, newest, relations).files
        if newest >= 0
        else rt.catalog.log.files()
    )
    events = sum(f.rows for f in files if f.relation in change.reads)
    shown = {name for name, what in change.views.items() if what != "added"}
    published = sorted(rt.catalog.results.newest_published().keys() & shown)
    views = (rt.program.view_by_name, change.plan.program.view_by_name)
    why = {
        name: explain_view(views[0][name], views[1][name]) for name, what in change.views.items() if what == "changed"
    }
    return Preview(
        dict(change.views),
        dict(change.relations),
        why,
        {name: of_group[name] for name in sorted(change.kept)},
        sorted(change.fresh),
        {name: of_group[name] for name in sorted(change.dropped)},
        len(change.copies),
        sorted(change.reads),
        events,
        _estimate(rt, events),
        published,
        newest if newest >= 0 else None,
        _diff_rows(rt, change, newest) if rows and newest >= 0 and change.views else {},
        change.is_nothing,
    )


def _sizes(rt: Runtime) -> dict[str, tuple[int, int]]:
    """Rows of the first copy, and bytes of all copies, by group."""
    found: dict[str, tuple[int, int]] = {}
    for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit()):
        if run.map in rt.plan.paths:
            rows, size = found.get(run.map, (0, 0))
            is_first = run.access_path == rt.plan.paths[run.map][0].label
            found[run.map] = rows + run.rows * is_first, size + run.bytes
    return found


def _estimate(rt: Runtime, events: int) -> float | None:
    done = [b for b in rt.catalog.log.batches(since=rt.catalog.snapshots.newest() - EPOCHS) if b.seconds and b.events]
    applied = sum(b.events for b in done)
    return events * sum(b.seconds for b in done) / applied if applied else None


def explain_view(old: View, new: View) -> list[str]:
    """Why a view does not show the same: its columns, its order, and how its text differs."""
    types = [{c.name: str(c.expression.type) for c in view.visible} for view in (old, new)]
    said = [f"column {name} is new" for name in types[1] if name not in types[0]]
    said += [f"column {name} is gone" for name in types[0] if name not in types[1]]
    said += [f"column {n}: {types[0][n]} becomes {t}" for n, t in types[1].items() if types[0].get(n, t) != t]
    if not said and list(types[0]) != list(types[1]):
        said.append("its columns are in another order")
    if (old.order, old.limit, old.offset) != (new.order, new.limit, new.offset):
        said.append("ORDER BY or LIMIT differ")
    before, after = ((view.sql or "").splitlines() for view in (old, new))
    return said + [
        line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:3] not in ("---", "+++", "@@ ")
    ]


class _WithRuns(Commits):
    """The commits, with runs that are not committed."""

    def __init__(self, commits: Commits, more: Sequence[NewRun]) -> None:
        self.__dict__.update(vars(commits))
        self._more = [Run(**vars(run), id=-1 - i, commit=0, origin=0) for i, run in enumerate(more)]

    def runs(self, at: int) -> list[Run]:
        """See :meth:`Commits.runs`."""
        return [*super().runs(at), *self._more]


@contextmanager
def previewed(rt: Runtime, change: Change) -> Iterator[Runtime]:
    """The project as if the change had been deployed before the newest snapshot, to read that. What is computed for it is deleted afterwards."""
    upto = rt.catalog.snapshots.newest()
    new = replace(rt, plan=change.plan, coordination=change.coordination, revision=rt.catalog.program.revision_at(upto))
    with rt.catalog.leases.step() as step:
        _, runs = fill(rt, new, change, None, upto, step)
        try:
            catalog = copy.copy(rt.catalog)
            catalog.commits = _WithRuns(rt.catalog.commits, runs)
            yield replace(new, catalog=catalog)
        finally:
            for path in {run.path for run in runs}:
                with suppress(FileNotFoundError):
                    (rt.project.state / path).unlink()


def _diff_rows(rt: Runtime, change: Change, epoch: int) -> dict[str, DataDiff]:
    found = {}
    then = rt.as_of(epoch)
    with previewed(rt, change) as new:
        for name, what in sorted(change.views.items()):
            before, problem = _read(then, name, epoch) if what != "added" else (None, "")
            after, other = _read(new, name, epoch) if what != "removed" else (None, "")
            view = new.program.view_by_name.get(name)
            found[name] = _diff(before, after, [] if view is None else _keys(view), problem or other)
    return found


def _read(rt: Runtime, view: str, epoch: int) -> tuple[pa.Table | None, str]:
    if view not in rt.program.view_by_name:
        return None, ""
    try:
        return read_view(rt, view, as_of=epoch, ordered=False), ""
    except ViewInError as problem:
        return None, str(problem)


def _keys(view: View) -> list[str]:
    """The columns that identify a row, if there are such."""
    names = {key.name for key in view.keys if key.type.kind != "double"}
    return [c.name for c in view.visible if c.name in names or getattr(c.expression, "name", None) in names]


def _diff(before: pa.Table | None, after: pa.Table | None, keys: Sequence[str], problem: str) -> DataDiff:
    counts = None if before is None else len(before), None if after is None else len(after)
    if before is None or after is None:
        return DataDiff(*counts, added=counts[1] or 0, gone=counts[0] or 0, problem=problem)
    common = [n for n in after.column_names if n in before.column_names]
    both = [table.select([n for n in common if before[n].type == after[n].type]) for table in (after, before)]
    names = tuple(both[0].column_names)
    if not names:
        return DataDiff(*counts, problem="they have no column in common")
    found = compare(both[0], both[1], [key for key in keys if key in names] or list(names))
    sample = [
        {"kind": s["kind"], "key": s["key"], "before": s["recomputed"], "after": s["snapshot"]}
        for s in found.sample[:SAMPLE]
    ]
    return DataDiff(*counts, found.unexpected, found.missing, found.differing, names, sample, found.problem)
