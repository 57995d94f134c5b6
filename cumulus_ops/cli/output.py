"""Printing values: tables for people, JSON for scripts."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cumulus_ops.light import lazy_module
from cumulus_ops.project.errors import InputProblem

if TYPE_CHECKING:
    import pyarrow as pa

    from cumulus_ops.catalog import program
    from cumulus_ops.catalog.epochs import InError, LeftOut
    from cumulus_ops.catalog.values import SealCounts
    from cumulus_ops.epochs.status import CoordinatorStatus, Status
    from cumulus_ops.local import display
    from cumulus_ops.query.overview import RevisionState
else:  # for who shows a status
    program = lazy_module("cumulus_ops.catalog.program")
    display = lazy_module("cumulus_ops.local.display")

__all__ = [
    "age_text",
    "cell_text",
    "console",
    "coordinator_table",
    "plain",
    "print_json",
    "print_left_out",
    "print_rows",
    "print_status",
    "show_value",
    "size_text",
    "visible",
    "write_drawing",
]


WIDTH = 130
#: So many damages of the state folder are listed; `cumulus fsck` lists all.
SHOWN_DAMAGES = 10
#: Control characters, ends of lines, what turns the direction of writing, halves of pairs.
UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def console() -> Console:
    """Standard output; wide and plain when it is not a terminal."""
    made = Console(highlight=False, emoji=False)
    return made if made.is_terminal else Console(highlight=False, emoji=False, width=WIDTH, no_color=True)


def print_json(value: Any) -> None:
    """One JSON document. Decimals and dates are strings: a script must not lose digits to floating point."""
    click.echo(json.dumps(value, default=plain, indent=2, ensure_ascii=False))


def plain(value: object) -> object:
    """What JSON has no literal for, as a value that it has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, Decimal | Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def size_text(size: float) -> str:
    """Bytes with three digits and a unit: ``7 B``, ``1.5 kB``, ``240 MB``."""
    for factor, unit in UNITS:
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"


def age_text(seconds: float) -> str:
    """How long something has been there: ``5 s``, ``12 min``, ``3 h``, ``2 d``.

    >>> [age_text(s) for s in (0.4, 119, 120, 7199, 7200, 172_800)]
    ['0 s', '119 s', '2 min', '119 min', '2 h', '2 d']
    """
    for factor, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * factor:
            return f"{int(seconds // factor)} {unit}"
    return f"{int(seconds)} s"


def visible(text: str) -> str:
    """A text as one line of its own characters only: what would move a terminal's cursor, colour it or turn its direction is spelled out.

    >>> visible("a\\x1b[31mb\\u202e")
    'a\\\\x1b[31mb\\\\u202e'
    """
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def show_value(value: object) -> str:
    """A value of the data, a name or a path for a table, where it may have several lines: nothing in it is markup.

    >>> show_value("[red]")
    '\\\\[red]'
    """
    return escape(_lines(value).plain)


def _lines(value: object) -> Text:
    """The same for where no markup is looked for at all."""
    return Text("\n".join(map(visible, str(value).split("\n"))))


def cell_text(value: object) -> str:
    """A value of a view for people; texts in lists have quotes.

    >>> cell_text([Decimal("1.50"), None]), cell_text(["a, b"]), cell_text(None), cell_text("x")
    ('[1.50, NULL]', '["a, b"]', 'NULL', 'x')
    """
    if isinstance(value, list):
        parts = (json.dumps(v, ensure_ascii=False) if isinstance(v, str) else cell_text(v) for v in value)
        return f"[{', '.join(parts)}]"
    return "NULL" if value is None else str(value)


def print_rows(rows: pa.Table, title: str, limit: int | None) -> None:
    """A table's rows, at most ``limit`` of them."""
    table = Table(title=_lines(title), title_justify="left")
    for field in rows.schema:
        is_number = str(field.type).startswith(("int", "uint", "decimal", "float", "double"))
        table.add_column(_lines(field.name), justify="right" if is_number else "left")
    for row in rows.slice(0, limit).to_pylist():
        table.add_row(*(_lines(cell_text(value)) for value in row.values()))
    out = console()
    out.print(table)
    left = rows.num_rows - (limit if limit is not None else rows.num_rows)
    out.print(
        f"{rows.num_rows} row{'' if rows.num_rows == 1 else 's'}"
        + (f", {left} not shown (--limit)" if left > 0 else "")
    )


def print_status(status: Status) -> None:
    """Coordinators and epochs as two tables; and the views in error, and the batches that are set aside, if there are any."""
    out = console()
    for problem in status.failing:
        since, at = (f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in (problem.since, problem.at))
        verdict = "WAITS for a damaged file" if problem.waits else "FAILS"
        said = (
            f"{verdict}: {problem.name}, since {since}, {problem.times} times, last at {at}: {visible(problem.problem)}"
        )
        out.print(Text(said, style="red"), soft_wrap=True)
        if problem.waits:
            out.print(f"  {problem.hint}", markup=False, soft_wrap=True)
        if problem.log:
            out.print(f"  its log in Airflow: {problem.log}", markup=False, soft_wrap=True)
    if status.has_changed and status.deployment is None:
        changed = program.program_changed(status.program)
        out.print(f"Project: {changed.message}; {changed.hint}", style="red", markup=False, soft_wrap=True)
    if status.deployment is not None:
        begun, style = status.deployment, None if status.deployment.is_at_work else "yellow"
        said = f"Deployment, begun {begun.begun_at:%Y-%m-%d %H:%M:%S} UTC: {visible(str(begun))}"
        out.print(Text(said, style=style or ""), soft_wrap=True)
        out.print(f"  {'; '.join(map(visible, begun.changes))}", markup=False, soft_wrap=True)
        out.print(f"  {begun.hint}", markup=False, soft_wrap=True)
    if status.revision > 1:
        out.print(f"Revision {status.revision}, since epoch {status.since}")
    if len(status.revisions) > 1:
        out.print(_revision_table(status.revisions))
    out.print(coordinator_table(f"Coordinators of {show_value(status.program)}", status.coordinators))
    if len(status.coordinators) != status.initially:
        out.print(f"(cumulus.yaml began with {status.initially}; see `cumulus coordinators`)")
    out.print(display.epoch_table(status.epochs))
    if status.snapshot is not None:
        newest, now = status.snapshot, datetime.datetime.now(datetime.UTC)
        made, data = (
            age_text((now - at).total_seconds()) if at else "" for at in (newest.committed_at, newest.data_at)
        )
        out.print(
            f"Newest snapshot: epoch {newest.epoch}, made {made} ago"
            + (f", with data that came up to {data} ago" if data else "")
            + (f"; now() is {newest.now}" if newest.now else "")
        )
    if status.backup is not None:
        kept = status.backup
        age = age_text((datetime.datetime.now(datetime.UTC) - kept.at).total_seconds())
        out.print(f"Newest backup: {kept.of}, made {age} ago, {size_text(kept.bytes)}")
    for epoch in status.epochs:
        for vote in epoch.fenced:
            out.print(str(vote), style="yellow", markup=False)
    out.print(f"Tentative answers: {_tell_settled(status)}")
    if status.staggering is not None:
        out.print(f"Staggering: {status.staggering}", markup=False, soft_wrap=True)
    if text := _put_aside(status):
        out.print(f"Put aside: {text}; see `cumulus quarantine list`", style="yellow")
    for sealed in status.seals:
        if sealed.oldest is not None:
            value, style = sealed.oldest, "yellow" if sealed.oldest.gone else None
            out.print(
                f"Seals: {_tell_open(sealed)}; for {age_text(value.age_s)} {show_value(value.shown)} waits for {value.who}",
                style=style,
            )
    for late in status.too_late:
        out.print(f"Seals: {late}", style="yellow", markup=False, soft_wrap=True)
    if status.finals.partitions:
        finals = status.finals
        said = f", {finals.unvalidated:,} to be validated" * bool(finals.unvalidated)
        said += f", {finals.unproved:,} unproved" * bool(finals.unproved)
        said += f", {finals.wrong:,} wrong: see the reports" * bool(finals.wrong)
        style = "red" if finals.wrong else "magenta" if finals.unproved else None
        out.print(f"Final partitions: {finals.partitions:,}{said}", style=style)
    for source in status.standing:
        since = f" since {source.since:%Y-%m-%d %H:%M:%S}" if source.since else ""
        out.print(
            f"Source {source.source} stands still{since}: {show_value(source.problem)}", style="yellow", soft_wrap=True
        )
    if status.in_error:
        _print_in_error(status.in_error)
    if status.recovery is not None:
        out.print(visible(f"State folder: {status.recovery}"), markup=False, soft_wrap=True)
    for damage in status.damages[:SHOWN_DAMAGES]:
        out.print(visible(f"State folder: {damage}"), style="red", markup=False, soft_wrap=True)
    if status.damages:
        count = len(status.damages)
        out.print(
            f"{count:,} damage{'s' * (count > 1)}: `cumulus recover`, or `cumulus recover --dry-run` first", style="red"
        )
    for gone in status.interruptions:
        out.print(f"Was interrupted: {visible(str(gone))}", markup=False, soft_wrap=True)
    if status.set_aside:
        print_left_out(status.set_aside)
        out.print(
            "Their events do not count, and rows of theirs that are deleted meanwhile count below zero. "
            "Decide by: cumulus batch retry N, or drop N",
            style="yellow",
        )


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


def write_drawing(file: Path, svg: str) -> None:
    """Write a picture, and say so on stderr.

    Raises:
        InputProblem: the file cannot be written.
    """
    try:
        file.write_text(svg, encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that exists"
        raise InputProblem(f"cannot write it: {error.strerror}", kind="no-file", place=str(file), hint=hint) from error
    click.echo(f"wrote {file}", err=True)


def print_left_out(batches: Sequence[LeftOut]) -> None:
    """Batches that failed, and what became of them, as a table."""
    table = Table(title="Batches that failed", title_justify="left")
    for name in ("batch", "epoch", "coordinator", "drop", "events", "state", "reason"):
        table.add_column(name, justify="right" if name in ("batch", "epoch", "coordinator", "events") else "left")
    for b in batches:
        numbers = (str(b.batch), str(b.epoch), str(b.coordinator))
        table.add_row(*numbers, show_value(b.drop), f"{b.events:,}", b.fate, show_value(b.reason))
    console().print(table)
