"""What `cumulus status` prints, section by section."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from cumulus_ops.cli.output import age_text, console, print_left_out, show_value, size_text, visible
from cumulus_ops.light import lazy_module

if TYPE_CHECKING:
    from cumulus_ops.catalog import program
    from cumulus_ops.catalog.epochs import InError
    from cumulus_ops.catalog.values import SealCounts
    from cumulus_ops.epochs.status import CoordinatorStatus, Status
    from cumulus_ops.local import display
    from cumulus_ops.query.overview import RevisionState
else:
    program = lazy_module("cumulus_ops.catalog.program")
    display = lazy_module("cumulus_ops.local.display")

__all__ = ["coordinator_table", "print_status"]

#: So many damages of the state folder are listed; `cumulus fsck` lists all.
SHOWN_DAMAGES = 10


def print_status(status: Status) -> None:
    """What fails first, coordinators and epochs as two tables, and of all else what there is."""
    _print_failing(status)
    _print_changes(status)
    _print_epochs(status)
    _print_kept(status)
    _print_waiting(status)
    _print_finals(status)
    _print_sources(status)
    _print_in_error(status.in_error)
    _print_state_folder(status)
    _print_set_aside(status)


def _print_failing(status: Status) -> None:
    """Steps that fail, or wait for a damaged file."""
    for problem in status.failing:
        since, at = (f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in (problem.since, problem.at))
        verdict = "WAITS for a damaged file" if problem.waits else "FAILS"
        said = f"{verdict}: {problem.name}, since {since}, {problem.times} times, last at {at}: {visible(problem.told)}"
        _print(said, style="red")
        if problem.waits:
            _print(f"  {problem.hint}")
        if problem.log:
            _print(f"  its log in Airflow: {problem.log}")


def _print_changes(status: Status) -> None:
    """What was edited and not deployed, what is being deployed, and the latest revisions."""
    if status.has_changed and status.deployment is None:
        changed = program.program_changed(status.program)
        _print(f"Project: {changed.message}; {changed.hint}", style="red")
    if status.deployment is not None:
        begun, style = status.deployment, "" if status.deployment.is_at_work else "yellow"
        _print(f"Deployment, begun {begun.begun_at:%Y-%m-%d %H:%M:%S} UTC: {visible(str(begun))}", style=style)
        _print(f"  {'; '.join(map(visible, begun.changes))}")
        _print(f"  {begun.hint}")
    if status.revision > 1:
        _print(f"Revision {status.revision}, since epoch {status.since}")
    if len(status.revisions) > 1:
        console().print(_revision_table(status.revisions))


def _print_epochs(status: Status) -> None:
    console().print(coordinator_table(f"Coordinators of {show_value(status.program)}", status.coordinators))
    if len(status.coordinators) != status.initially:
        _print(f"(cumulus.yaml began with {status.initially}; see `cumulus coordinators`)")
    console().print(display.epoch_table(status.epochs))


def _print_kept(status: Status) -> None:
    """The newest snapshot and the newest backup."""
    now = datetime.datetime.now(datetime.UTC)
    if status.snapshot is not None:
        newest = status.snapshot
        made, data = (
            age_text((now - at).total_seconds()) if at else "" for at in (newest.committed_at, newest.data_at)
        )
        _print(
            f"Newest snapshot: epoch {newest.epoch}, made {made} ago"
            + (f", with data that came up to {data} ago" if data else "")
            + (f"; now() is {newest.now}" if newest.now else "")
        )
    if status.backup is not None:
        kept = status.backup
        age = age_text((now - kept.at).total_seconds())
        _print(f"Newest backup: {kept.of}, made {age} ago, {size_text(kept.bytes)}")


def _print_waiting(status: Status) -> None:
    """Which events are in no answer yet, or in none that is final, and who waits for whom."""
    for epoch in status.epochs:
        for vote in epoch.fenced:
            _print(str(vote), style="yellow")
    _print(f"Tentative answers: {_tell_settled(status)}")
    if status.staggering is not None:
        _print(f"Staggering: {status.staggering}")
    if text := _put_aside(status):
        _print(f"Put aside: {text}; see `cumulus quarantine list`", style="yellow")
    for sealed in status.seals:
        if sealed.oldest is not None:
            value, style = sealed.oldest, "yellow" if sealed.oldest.gone else ""
            waits = f"for {age_text(value.age_s)} {show_value(value.shown)} waits for {value.who}"
            _print(f"Seals: {_tell_open(sealed)}; {waits}", style=style)
    for late in status.too_late:
        _print(f"Seals: {late}", style="yellow")


def _print_finals(status: Status) -> None:
    finals = status.finals
    if not finals.partitions:
        return
    said = f", {finals.unvalidated:,} to be validated" * bool(finals.unvalidated)
    said += f", {finals.unproved:,} unproved" * bool(finals.unproved)
    said += f", {finals.wrong:,} wrong: see the reports" * bool(finals.wrong)
    style = "red" if finals.wrong else "magenta" if finals.unproved else ""
    _print(f"Final partitions: {finals.partitions:,}{said}", style=style)


def _print_sources(status: Status) -> None:
    for source in status.standing:
        since = f" since {source.since:%Y-%m-%d %H:%M:%S}" if source.since else ""
        _print(f"Source {source.source} stands still{since}: {show_value(source.problem)}", style="yellow")


def _print_state_folder(status: Status) -> None:
    """A recovery that is under way, what is damaged, and what was interrupted."""
    if status.recovery is not None:
        _print(visible(f"State folder: {status.recovery}"))
    for damage in status.damages[:SHOWN_DAMAGES]:
        _print(visible(f"State folder: {damage}"), style="red")
    if status.damages:
        count = len(status.damages)
        _print(
            f"{count:,} damage{'s' * (count > 1)}: `cumulus recover`, or `cumulus recover --dry-run` first", style="red"
        )
    for gone in status.interruptions:
        _print(f"Was interrupted: {visible(str(gone))}")


def _print_set_aside(status: Status) -> None:
    if status.set_aside:
        print_left_out(status.set_aside)
        _print(
            "Their events do not count, and rows of theirs that are deleted meanwhile count below zero. "
            "Decide by: cumulus batch retry N, or drop N",
            style="yellow",
        )


def _print(line: str, style: str = "") -> None:
    """One line, as it is: what looks like markup is somebody's text."""
    console().print(line, style=style, markup=False, soft_wrap=True)


def coordinator_table(title: str, coordinators: Sequence[CoordinatorStatus]) -> Table:
    """A row for each coordinator that has an epoch to work in."""
    table = Table(title=title, title_justify="left")
    for name in ("coordinator", "epoch", "ends at", "token", "drops waiting", ""):
        table.add_column(name, justify="right")
    for c in coordinators:
        ends_at = f"{c.ends_at:%Y-%m-%d %H:%M:%S}" if c.ends_at else ""
        state = {
            "works": "",
            "fails": "[red]fails[/red]",
            "waits": "[red]waits[/red]",
            "is overdue": "[yellow]is overdue[/yellow]",
        }.get(c.state, c.state)
        table.add_row(str(c.index), str(c.epoch), ends_at, "yes" if c.holds_token else "", str(c.pending_drops), state)
    return table


def _revision_table(revisions: Sequence[RevisionState]) -> Table:
    """A row for each of the latest revisions: its epochs, and what it has changed."""
    table = Table(title="Revisions", title_justify="left")
    for name in ("revision", "epochs", "begun", "", "changes"):
        table.add_column(name, justify="right" if name == "revision" else "left")
    for r in revisions:
        span = (
            ""
            if r.first is None
            else f"{r.first} -"
            if r.last is None
            else f"{r.first} - {r.last}"
            if r.last >= r.first
            else "none"
        )
        changes = "\n".join(map(show_value, [*r.changes, *([f"given up: {r.problem}"] if r.problem else [])]))
        table.add_row(str(r.number), span, f"{r.begun_at:%Y-%m-%d %H:%M:%S}", r.state, changes)
    return table


def _put_aside(status: Status) -> str:
    """What waits for a decision, and what nobody will take."""
    counts = (
        (status.quarantined, "rows in the quarantine"),
        (status.files_aside, "files set aside"),
        (status.ignored, "ignored in the landing folder"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)


def _tell_open(seal: SealCounts) -> str:
    waits = ", ".join(f"{n:,} for coordinator {c}" for c, n in seal.waiting_for.items())
    are = "value of {} is" if seal.open == 1 else "values of {} are"
    return (
        f"{seal.open:,} {are.format(f'{show_value(seal.relation)}.{seal.seal}')} open ({waits}), {seal.closed:,} closed"
    )


def _tell_settled(status: Status) -> str:
    if status.settled:
        return "settled, but for what is set aside" if status.set_aside else "settled"
    behind = [f"{status.behind:,} applied batches behind"] if status.behind else []
    if status.unapplied:
        behind.append(
            f"{status.unapplied:,} appended {'batch is' if status.unapplied == 1 else 'batches are'} in no answer yet"
        )
    return ", ".join(behind) or "derived maps behind"


def _print_in_error(errors: Sequence[InError]) -> None:
    if not errors:
        return
    table = Table(title="Views in error", title_justify="left")
    table.add_column("view")
    table.add_column("since epoch", justify="right")
    table.add_column("reason")
    for e in errors:
        table.add_row(show_value(e.view), str(e.since), show_value(e.reason))
    console().print(table)
    for e in errors:  # below it, where no column breaks a line that is underlined
        for line in e.quoted:
            console().print(f"  | {show_value(line)}", style="cyan", soft_wrap=True)
