"""Validating a snapshot of a running project and remembering the outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cumulus_ops.catalog.epochs import FencedVote, LeftOut, in_error, left_out
from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import LogFile, Validation, ViewError, moment_of_now
from cumulus_ops.files.log_files import verify_log
from cumulus_ops.files.net_tables import choose_base_files, names_in_log
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.small_files import scratch_folder
from cumulus_ops.project.verdicts import FAILED
from cumulus_ops.publishing.telling import watch_step
from cumulus_ops.query.errors import views_in_error
from cumulus_ops.query.read import read_groups, read_view
from cumulus_ops.validation.reports import INDEX, write_index
from cumulus_ops.validation.request import (
    Handle,
    NetToProve,
    PublishedVersion,
    ValidationReport,
    ValidationRequest,
    ViewToValidate,
    write_arrow,
)
from m3.program import View
from m3.scalars import Var

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "add_remarks",
    "ask_for_view",
    "choose_bases",
    "find_session",
    "validate",
    "validation_request",
    "verify_log_files",
    "whole_every",
]

GROUPS = {"view": pa.string(), "group": pa.string(), "rows": pa.int64()}
#: As often is the whole log read, whatever net tables there are; seldomer where that is more than a share of what validations read otherwise.
WHOLE_EVERY, WHOLE_SHARE = 16, 5
BELOW_ZERO = "{} is set aside: rows of it that were deleted since count below zero until `cumulus batch retry {}`"


@watch_step("validate")
def validate(
    rt: Runtime,
    epoch: int,
    views: Sequence[str] | None = None,
    on_view: Callable[[int, int, str], None] = lambda _done, _all, _view: None,
) -> ValidationReport:
    """Compare the snapshot of ``epoch`` with full recomputation on Spark, and record the outcome in the catalog. A view that is in
    error in the snapshot has to fail when it is recomputed, too.

    Args:
        rt: the open project.
        epoch: which snapshot.
        views: the names of those to prove; None for all.
        on_view: called with the number of views that are done, of all that are to be, and the name of the last.

    Raises:
        NotYet: the epoch has no snapshot.
    """
    from cumulus_ops.validation.checkpoint import validate_snapshot

    rt = rt.as_of(epoch)
    with rt.catalog.leases.step(), scratch_folder() as folder:
        request = validation_request(rt, epoch, folder, views)
        count = len(request.views)
        report = validate_snapshot(find_session(rt), request, lambda done, view: on_view(done, count, view))
        _judge_nets(rt, request.nets, report.wrong_nets)
    report = add_remarks(rt, report)
    page = rt.project.reports / INDEX
    found = report.view_findings
    others = tuple(line for line in report.failures if line not in {said for _, said in found.values()})
    rt.catalog.results.record_validation(
        Validation(epoch, report.outcome, others, str(page), report.seconds, found, report.views)
    )
    late = [e for e, missed in rt.catalog.snapshots.expired().items() if "validate" in missed]
    outcomes, failed = rt.catalog.results.validations(), rt.catalog.history.failed()
    errors, fenced = rt.catalog.results.view_errors(), rt.catalog.votes.fenced()
    remarks = {e: _list_remarks(failed, errors, fenced, e) for e in outcomes}
    write_index(rt.project.reports, rt.project.name, outcomes.values(), late, remarks)
    return report


def _list_remarks(
    failed: Sequence[LeftOut], errors: Sequence[ViewError], fenced: Sequence[FencedVote], epoch: int
) -> tuple[str, ...]:
    missing = (f"without {batch}" for batch in left_out(failed, epoch))
    broken = (f"view {e.view} is in error {e}" for e in in_error(errors, epoch))
    return (*missing, *broken, *(str(vote) for vote in fenced if vote.epoch == epoch))


def add_remarks(rt: Runtime, report: ValidationReport) -> ValidationReport:
    """The report with what the snapshot is without, which may be why it failed."""
    failed = rt.catalog.history.failed()
    failures = report.failures
    if report.outcome == FAILED:
        missing = [b for b in left_out(failed, report.epoch) if b.state == "aside"]
        failures += tuple(BELOW_ZERO.format(b.name, b.batch) for b in missing)
    said = _list_remarks(failed, rt.catalog.results.view_errors(), rt.catalog.votes.fenced(), report.epoch)
    snapshot = rt.catalog.snapshots.at(report.epoch)
    now = None if snapshot is None else moment_of_now(snapshot.now)
    told = () if now is None else (f"now() is {now}, as the snapshot has recorded",)
    remarks = (*report.remarks, *said, *told)
    return replace(report, failures=failures, remarks=remarks)


def validation_request(rt: Runtime, epoch: int, folder: Path, names: Sequence[str] | None = None) -> ValidationRequest:
    """What to compare: all rows of the views as of ``epoch``, and those of it that were published, against the log up to it; see
    :func:`validate`. The rows are kept in files of a ``folder``, view by view, for all at once may be more than fits in memory.

    Raises:
        InputProblem: there is no such view.
        IntegrityProblem: a log file is not what was written.
    """
    bases = choose_bases(rt, epoch)
    files = bases.files
    chosen = rt.program.views if names is None else tuple(rt.program.view(name) for name in dict.fromkeys(names))
    # SQL views are recomputed by their text, the others by the serial interpreter
    interpreted: Mapping[str, pa.Table] = {}
    if any(view.sql is None for view in chosen):
        from cumulus_ops.validation.recompute import recompute_m3

        interpreted = recompute_m3(rt.program, verify_log_files(rt, epoch), epoch)
    errors, published = views_in_error(rt, epoch), rt.catalog.results.published_in(epoch)
    snapshot = rt.catalog.snapshots.at(epoch)
    now = None if snapshot is None else moment_of_now(snapshot.now)
    found = []
    for place, view in enumerate(chosen):
        if error := errors.get(view.name, ""):
            found.append(replace(ask_for_view(rt, view, None, interpreted.get(view.name), error), now=now))
            continue
        rows = write_arrow(read_view(rt, view.name, as_of=epoch, ordered=False), folder / f"{place}.arrow")
        asked = replace(ask_for_view(rt, view, rows, interpreted.get(view.name)), now=now)
        found.append(replace(asked, **_find_shown(rt, view, epoch, published, folder / f"{place}-shown.arrow")))
    members, votes = rt.catalog.members.membership().of(epoch), rt.catalog.votes.last_epochs()
    voted = {c: votes[c] for c in members}
    return ValidationRequest(
        rt.project.name,
        epoch,
        tuple(found),
        rt.program.relations,
        files,
        rt.project.reports,
        members,
        voted,
        _read_groups(rt, [v for v in found if v.snapshot is not None], epoch),
        {view.name: view.sql for view in rt.program.views if view.sql is not None},
        len(rt.program.views),
        bases.nets,
        lambda relation: _verify(rt, rt.catalog.net_tables.log_files(epoch, {}, relation)),
        bases.rows,
        bases.remark,
    )


@dataclass(frozen=True)
class Bases:
    """What base tables are recomputed from: relation -> its ``files``, with so many ``rows``. ``nets``: what of it is to be proved, too. ``remark``: what it is, if there was a choice."""

    files: Mapping[str, Sequence[Path]]
    rows: int
    nets: tuple[NetToProve, ...] = ()
    remark: str = ""


def choose_bases(rt: Runtime, epoch: int) -> Bases:
    """What the relations consist of as of an epoch: their net tables and the log since; now and then the whole log, whatever there is besides.

    A net table is proved before it is believed, once: against the one that it was made from, or the log, if that is gone. When the whole log is read, it is
    proved against all of it.
    """
    chosen = choose_base_files(rt.project.state, rt.catalog, epoch, rt.program.relations)
    every = WHOLE_EVERY
    if whole := rt.catalog.results.count_validations() % every == 0:
        every = whole_every(sum(f.rows for f in chosen.files), sum(f.rows for f in rt.catalog.log.files(epoch=epoch)))
        whole = rt.catalog.results.count_validations() % every == 0
    known = {(net.relation, net.epoch): net for net in rt.catalog.net_tables.all()}
    nets: list[NetToProve] = []
    for net in chosen.nets.values():
        proved: NetTable | None = net
        while proved is not None and (whole or not proved.proved):
            base = None if whole or proved.base is None else known.get((proved.relation, proved.base))
            wanted = names_in_log(rt.program.relation_by_name[net.relation])
            base = base if base is not None and base.has(wanted) and _is_whole(rt, base) else None
            nets.append(_net_to_prove(rt, proved, base))
            proved = base
    read = rt.catalog.log.files(epoch=epoch) if whole else chosen.files
    files: dict[str, list[Path]] = {}
    for file in read:
        files.setdefault(file.relation, []).extend(_verify(rt, [file]))
    said = ", ".join(f"of {net.relation} as of epoch {net.epoch}" for net in chosen.nets.values())
    remark = f"recomputed from net tables {said}, and the log since" if said else ""
    if said and whole:
        remark = f"recomputed from the whole event log, as every {every}th time"
    return Bases(files, sum(file.rows for file in read), tuple(nets), remark)


def whole_every(chosen: int, log: int) -> int:
    """Every how many-th validation reads the whole log, of so many rows, if the others read ``chosen``: what that costs shall not grow with the log. The
    numbers are multiples of each other, so that each of the rarer ones is one of the others, too.

    >>> [whole_every(1000, log) for log in (1000, 3000, 20_000, 200_000)]
    [16, 16, 128, 1024]
    """
    every = WHOLE_EVERY
    while every * chosen < WHOLE_SHARE * log and every < log:
        every *= 2
    return every


def _is_whole(rt: Runtime, net: NetTable) -> bool:
    """Whether its file is not damaged."""
    try:
        return bool(_verify(rt, [net.file]))
    except IntegrityProblem:
        return False


def _net_to_prove(rt: Runtime, net: NetTable, base: NetTable | None) -> NetToProve:
    after = {} if base is None else {base.relation: base.epoch}
    log = rt.catalog.net_tables.log_files(net.epoch, after, net.relation)
    sources = [*([] if base is None else [base.file]), *log]
    return NetToProve(net.relation, net.epoch, rt.project.state / net.path, _verify(rt, sources))


def _verify(rt: Runtime, files: Sequence[LogFile]) -> list[Path]:
    for file in files:
        verify_log(rt.project.state, file)
    return [rt.project.state / file.path for file in files]


def _judge_nets(rt: Runtime, proved: Sequence[NetToProve], wrong: Sequence[NetToProve]) -> None:
    """Remember what was proved; a net table that is wrong goes, with those that were made from it: the next one is made from the log."""
    known = {rt.project.state / net.path: net for net in rt.catalog.net_tables.all()}
    refuted = {net.relation for net in wrong}
    columns = {relation.name: names_in_log(relation) for relation in rt.program.relations}
    right = [known[net.file] for net in proved if net.file in known and net.relation not in refuted]
    # of one that has more columns than the relation has now, these alone were looked at
    rt.catalog.net_tables.record_proved([net for net in right if json.loads(net.columns) == columns[net.relation]])
    for net in sorted(wrong, key=lambda net: net.epoch):
        if net.file in known:
            rt.catalog.net_tables.drop(known[net.file], later=True)


def verify_log_files(rt: Runtime, epoch: int) -> dict[str, dict[Path, int]]:
    """relation -> the log files up to an epoch (inclusive), with the version of the first row of each. They are verified here, as a whole: Spark does not know
    their checksums.

    Raises:
        IntegrityProblem: one is not what was written.
    """
    files: dict[str, dict[Path, int]] = {}
    for file in rt.catalog.log.files(epoch=epoch):
        files.setdefault(file.relation, {}).update(dict.fromkeys(_verify(rt, [file]), file.first_version))
    return files


def _find_shown(rt: Runtime, view: View, epoch: int, published: Mapping[str, int], file: Path) -> dict[str, Any]:
    """What readers get of a view, and where. The published version is read back; until there is one, what a read gives, as far as it says
    more than all rows do."""
    version, folder = published.get(view.name), rt.project.published
    if version is not None and folder is not None:
        handle: Handle = PublishedVersion(folder / view.name, version)
        return {"shown": handle, "shown_as": f"published as version {version}"}
    missing = (
        "nothing is published" if folder is None else "not published, or not yet, so no published rows were compared"
    )
    if not _is_ordered(view):
        return {"shown_as": missing}
    return {"shown": write_arrow(read_view(rt, view.name, as_of=epoch), file), "shown_as": f"{missing}; as it is read"}


def _is_ordered(view: View) -> bool:
    return bool(view.order) or view.limit is not None or view.offset > 0


def ask_for_view(
    rt: Runtime, view: View, rows: pa.Table | Handle | None, interpreted: pa.Table | None = None, error: str = ""
) -> ViewToValidate:
    """What is asked of a validation: whether a view's ``rows``, in any order, are right; or its ``error``. See :class:`ViewToValidate`."""
    # the columns that identify a group: keys as they are, except DOUBLE, which is not compared exactly
    names = {k.name for k in view.keys if k.type.kind != "double"}
    return ViewToValidate(
        view.name,
        view.sql or "",
        tuple(c.name for c in view.visible if isinstance(c.expression, Var) and c.expression.name in names),
        rows,
        recomputation=interpreted if view.sql is None else None,
        columns=tuple((column.name, column.expression.type) for column in view.visible),
        dialect=rt.project.dialect,
        error=error,
        ordered=_is_ordered(view),
        offset=view.offset,
        limit=view.limit,
    )


def _read_groups(rt: Runtime, views: Sequence[ViewToValidate], epoch: int) -> pa.Table | None:
    """All groups of some views with their row counts; None for a program without views. (Whether there is a table must not
    depend on the epoch: Great Expectations remembers the last checkpoint's.)"""
    if not rt.program.views:
        return None
    none = pa.table([pa.array([], t) for t in GROUPS.values()], list(GROUPS))
    parts = [(view.name, read_groups(rt, view.name, epoch)) for view in views]
    return pa.concat_tables(
        [none, *(table.add_column(0, "view", pa.array([name] * len(table), pa.string())) for name, table in parts)]
    )


def find_session(rt: Runtime) -> SparkSession:
    """The executor's session if it has one, so that a process keeps to one."""
    session = getattr(rt.executor, "session", None)
    if session is None:
        from cumulus_ops.compute.spark import spark_session

        session = spark_session(rt.project.executor, for_steps=False)
    return session
