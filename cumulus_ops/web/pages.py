"""What each page shows: values for its template, from the read-only functions of :mod:`cumulus_ops.query`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cumulus_ops.catalog.epochs import EpochNumbers
from cumulus_ops.coordination.barriers import KINDS, PROGRAM, in_force, left_out
from cumulus_ops.coordination.plan import CoordinationPlan
from cumulus_ops.epochs.quarantine import put_aside
from cumulus_ops.layout.plans import plan_json
from cumulus_ops.opening.runtime import open_runtime, waits_for_deployment
from cumulus_ops.project.interruptions import interruptions
from cumulus_ops.project.names import deploy_dag, recover_dag
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from cumulus_ops.query.errors import quote_error
from cumulus_ops.query.overview import (
    ViewState,
    epoch_story,
    lags,
    overview,
    revisions,
    source_states,
    under_way,
    view_states,
)
from cumulus_ops.validation.reports import report_pages
from cumulus_ops.web.charts import Sparkline, draw_timeline, sparkline
from cumulus_ops.web.rows import READ_ENTRIES, Opened, newest_rows, program_of, rows_as_file
from m3.explain.report import restrict
from m3.picture.drawing import to_svg

__all__ = [
    "coordination_page",
    "coordination_picture",
    "dataflow",
    "download",
    "epoch_page",
    "epochs_page",
    "overview_page",
    "quarantine_page",
    "report_address",
    "report_file",
    "view_page",
]


# Reports as they lie in a project's reports folder: pages only, and nothing outside of the folder.


SUITE = "views"


def report_file(folder: Path, path: str) -> Path | None:
    """The page at ``path`` in a folder; None if there is none, or it is somewhere else in truth.

    >>> report_file(Path("/reports"), "../etc/passwd.html") is None
    True
    """
    try:
        root, file = folder.resolve(), (folder / path).resolve()
        found = file.suffix == ".html" and file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError):  # names that are too long, or no names
        return None
    return file if found else None


def report_address(project: Project, epoch: int) -> str | None:
    """The address of the verdicts on the views of an epoch, within the reports folder; None while there is no report."""
    found = report_pages(project.reports, project.name, epoch)
    page = found.get(SUITE) or next(iter(found.values()), None)
    return None if page is None else quote(page)


# The coordination report of a project: what has to be waited for and why, from when on answers are final, and which sealed values wait for whom.


#: Values of each seal that are listed, the oldest first.
LISTED_VALUES = 100


def coordination_page(found: Opened) -> dict[str, Any]:
    """The report's values."""
    with found.catalog() as catalog:
        text = catalog.program.record().coordination  # None if the program was registered before there were plans
        plan = None if text is None else CoordinationPlan.from_json(text)
        members = sorted({m.coordinator for m in catalog.members.membership().active()})
        counts, waiting = catalog.seals.seal_counts(), catalog.seals.open_values(limit=LISTED_VALUES)
        finals = catalog.finals.final_counts()
    barriers = in_force(plan.barriers, len(members)) if plan else ()
    needless = left_out(plan.barriers, len(members)) if plan else {}
    return {
        "project": found.project.name,
        "plan": plan,
        "members": members,
        "kinds": KINDS,
        "whole": PROGRAM,
        "barriers": barriers,
        "left_out": needless,
        "counts": counts,
        "waiting": waiting,
        "finals": finals,
        "limit": LISTED_VALUES,
    }


def coordination_picture(found: Opened) -> str:
    """The dataflow that was analysed, coloured by the labels that its streams have without coordination."""
    with found.catalog() as catalog:
        compiled = catalog.program.record().compiled
    project = found.project
    file = "" if project.dataflow is None else read_text(project.dataflow)
    return _coordination_picture(_Drawn((compiled, repr((project.seals, project.insert_only)), file), project))


@dataclass(frozen=True)
class _Drawn:
    """What a picture shows; equal if what it is drawn from is, so that it is drawn once."""

    source: tuple[str, str, str]
    project: Project = field(compare=False)


@lru_cache(8)
def _coordination_picture(drawn: _Drawn) -> str:
    from cumulus_ops.coordination.labelling.analysis import analyse
    from cumulus_ops.coordination.labelling.explanation import to_svg
    from cumulus_ops.coordination.labelling.strategies import coordinate
    from cumulus_ops.coordination.planning import Planning
    from m3.confluence.proof import prove

    program = program_of(drawn.source[0])
    dataflow = Planning(drawn.project, program, prove(program)).dataflow
    analysis = analyse(dataflow)
    return to_svg(dataflow, analysis, coordinate(dataflow, analysis))


Values = dict[str, Any]
#: How many epochs the charts show, and how many of them the timeline.
EPOCHS, DRAWN = 60, 8
LATEST = 10
LISTED = 100
ROWS = 50
#: So many of the latest revisions are listed.
REVISIONS = 10


def overview_page(found: Opened) -> Values:
    """The project at a glance."""
    now = datetime.datetime.now(datetime.UTC)
    with found.catalog() as catalog:
        record = catalog.program.record()
        names = [view.name for view in program_of(record.compiled).views]
        state, waiting = overview(catalog, names, EPOCHS, DRAWN), lags(found.project, catalog)
        sources = source_states(found.project, catalog)
        groups = _groups_of(record.compiled, record.granularity, record.choices)
        data_at = catalog.history.data_at(catalog.snapshots.newest())
        begun, latest_revisions = under_way(catalog), revisions(catalog, REVISIONS)
        damages, recovery, backup = catalog.repairs.damages(), catalog.repairs.under_way(), catalog.backups.last()
        since, has_changed = catalog.revisions.since(record.revision), waits_for_deployment(found.project, catalog)
    latest = [epoch for epoch in state.epochs[::-1] if epoch.repeats is None][:LATEST]
    shown = [e for e in state.epochs if not state.transitions or e.epoch >= state.transitions[0].epoch]
    committed = [e for e in state.epochs if e.committed_at is not None]
    return {
        "project": found.project.name,
        "state": state,
        "revision": record.revision,
        "since": since,
        "has_changed": has_changed,
        "begun": begun,
        "revisions": latest_revisions,
        "deploys": f"/dags/{quote(deploy_dag(found.project.name), safe='')}",
        "recovers": f"/dags/{quote(recover_dag(found.project.name), safe='')}",
        "newest": committed[-1] if committed else None,
        "data_at": data_at,
        "validated": next((e for e in reversed(state.epochs) if e.outcome is not None), None),
        "timeline": draw_timeline(state.transitions, shown, Rhythm.of(found.project), now),
        "views": [(view, _chart(view, state.epochs, state.corrected, groups)) for view in state.views],
        "stands": bool(state.failing) or any(lag.overdue for lag in waiting),
        "lags": waiting,
        "sources": sources,
        "latest": latest,
        "interruptions": interruptions(found.project.state),
        "damages": damages,
        "recovery": recovery,
        "backup": backup,
        "backs_up": found.project.backup is not None,
    }


@lru_cache(8)
def _groups_of(compiled: str, scheme: str, choices: str) -> Mapping[str, frozenset[str]]:
    """view -> the groups that its maps are in, those that it is computed from included."""
    groups = plan_json(compiled, scheme, choices).groups.values()
    group_of = {name: group.name for group in groups for name in group.members}
    program = program_of(compiled)
    maps = {view.name: restrict(program, view.name).maps for view in program.views}
    return {view: frozenset(group_of[m.name] for m in needed if m.name in group_of) for view, needed in maps.items()}


def _chart(
    view: ViewState,
    epochs: Sequence[EpochNumbers],
    corrected: Mapping[int, frozenset[str] | None],
    groups: Mapping[str, frozenset[str]],
) -> Sparkline:
    """A view's rows over some epochs, and in which of them maps of it were corrected, as far as that is known."""
    mine = groups[view.name]
    return sparkline(
        [e.epoch for e in epochs], view.rows, {e for e, changed in corrected.items() if changed and changed & mine}
    )


def view_page(found: Opened, name: str) -> Values | None:
    """A view: its state, its newest rows, its SQL; None if there is no such view."""
    with found.catalog() as catalog:
        record = catalog.program.record()
        view = next((view for view in program_of(record.compiled).views if view.name == name), None)
        if view is None:
            return None
        first = catalog.history.newest_epoch() - EPOCHS + 1
        epochs = catalog.history.epoch_numbers(first)
        (state,) = view_states(catalog, [name], first)
        rows = newest_rows(found.project, catalog, view, ROWS)
        corrected, groups = (
            catalog.history.corrected_maps(first),
            _groups_of(record.compiled, record.granularity, record.choices),
        )
    # whether the rows are of an earlier snapshot than the view's newest, and that is not the same as theirs
    behind = state.newest is not None and rows.epoch is not None and rows.epoch < state.newest.epoch
    if behind and state.newest is not None:
        behind = {e.epoch: e.repeats for e in epochs}.get(state.newest.epoch) != rows.epoch
    return {
        "project": found.project.name,
        "view": state,
        "quoted": quote_error(found.project, view, state.error.place) if state.error is not None else (),
        "chart": _chart(state, epochs, corrected, groups),
        "rows": rows,
        "behind": behind,
        "table": found.project.published / name if found.project.published and rows.is_published else None,
        "most": READ_ENTRIES,
        "sql": view.sql,
    }


def download(found: Opened, name: str, form: str) -> bytes | None:
    """All rows of a view's newest snapshot as a file; None if there is no such view.

    Raises:
        CumulusError: they cannot be read, or are too many.
    """
    with found.catalog() as catalog:
        program = program_of(catalog.program.record().compiled)
        view = next((view for view in program.views if view.name == name), None)
        return None if view is None else rows_as_file(found.project, catalog, view, form)


def dataflow(found: Opened, name: str) -> str | None:
    """The picture of how a view is computed; None if there is no such view."""
    with found.catalog() as catalog:
        return _picture(catalog.program.record().compiled, name)


@lru_cache(128)
def _picture(compiled: str, name: str) -> str | None:
    program = program_of(compiled)
    known = any(view.name == name for view in program.views)
    return to_svg(restrict(program, name), name) if known else None


def epochs_page(found: Opened, before: int | None, count: int) -> Values:
    """Epochs, newest first: as many before ``before`` (exclusive; None: the newest)."""
    with found.catalog() as catalog:
        last = catalog.history.newest_epoch() if before is None else before - 1
        epochs = catalog.history.epoch_numbers(last - count + 1, last)
        expired = catalog.snapshots.expired()
    return {
        "project": found.project.name,
        "epochs": epochs[::-1],
        "expired": expired,
        "earlier": epochs[0].epoch if epochs and epochs[0].epoch > 0 else None,
    }


def epoch_page(found: Opened, epoch: int) -> Values | None:
    """All about an epoch; None for one that nobody has begun."""
    with found.catalog() as catalog:
        if not 0 <= epoch <= catalog.history.newest_epoch():
            return None
        story = epoch_story(catalog, epoch)
        quarantined = catalog.history.quarantined(epoch)
        files = [file for file in catalog.deliveries.files_aside(state=None) if file.epoch == epoch]
    address = report_address(found.project, epoch)
    return {
        "project": found.project.name,
        "story": story,
        "report": address,
        "quarantined": quarantined,
        "files": files,
    }


def quarantine_page(found: Opened) -> Values:
    """What was put aside: rows by reason, files, what nobody takes, batches, repeats; the newest of each first."""
    with open_runtime(found.project, "inprocess") as rt:
        aside = put_aside(rt)
        failed = [batch for batch in rt.catalog.history.failed() if batch.state == "aside"]
        quarantined, totals = rt.catalog.history.quarantined(), rt.catalog.history.totals()
    return {
        "project": found.project.name,
        "landing": str(found.project.landing),
        "aside": aside,
        "quarantined": quarantined,
        "rows": aside.rows[::-1][:LISTED],
        "files": aside.files[::-1][:LISTED],
        "ignored": aside.ignored[:LISTED],
        "repeats": aside.repeats[::-1][:LISTED],
        "batches": failed,
        "totals": totals,
    }
