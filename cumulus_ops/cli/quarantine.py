"""`cumulus quarantine`: what was put aside on the way in, why, and what is to become of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from cumulus_ops.catalog.records import FileAside, QuarantinedRows, Repeats
from cumulus_ops.cli.options import JSON, PROJECT, explain_errors, open_project
from cumulus_ops.cli.output import console, print_json, show_value, visible
from cumulus_ops.epochs.quarantine import PutAside, Retried, drop_put_aside, put_aside, retry_put_aside, shown_rows
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.project_file import load_project

if TYPE_CHECKING:
    from cumulus_ops.sources.drops import Ignored

__all__ = ["quarantine"]

#: Of what is alike, so many are shown in a line.
SHOWN_ALIKE = 3
LABELS = click.argument("labels", nargs=-1, required=True, metavar="R1|F1...")


@click.group()
def quarantine() -> None:
    """See what was put aside, and decide: rows that do not fit (R1, R2, ..) and files that could not be taken (F1, F2, ..). They do not
    count; everything else goes on."""


@quarantine.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what was retried or dropped.")
@PROJECT
@JSON
def list_(everything: bool, folder: Path, as_json: bool) -> None:
    """List the rows in the quarantine by their reasons, the files that are set aside, what lies in the landing folder and is ignored, and the
    deliveries with rows that had come before."""
    with open_project(folder) as runtime:
        found = put_aside(runtime, everything=everything)
    if as_json:
        decidable = {"rows": _add_labels(found.rows), "files": _add_labels(found.files)}
        print_json({**dataclasses.asdict(found), **decidable, "reasons": found.reasons})
    elif not (found.rows or found.files or found.ignored or found.repeats):
        console().print("nothing was put aside")
    else:
        _print(found, runtime.project.landing)


@quarantine.command()
@click.argument("label", metavar="R1|F1")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Rows to show.")
@PROJECT
@JSON
def show(label: str, limit: int, folder: Path, as_json: bool) -> None:
    """Show the rows of R1, each with its reason, or say why the file F1 was not taken."""
    with open_project(folder) as runtime:
        found, rows = shown_rows(runtime, label, limit)
    if as_json:
        print_json({**dataclasses.asdict(found), "shown": rows})
        return
    out = console()
    for row in rows:
        where = "" if row["row"] is None else f"row {row['row']}, "
        out.print(show_value(visible(f"{where}{row['kind']}: {row['reason']}")), soft_wrap=True)
        out.print(show_value(visible(f"    {row['record']}")), soft_wrap=True)
    out.print(show_value(_about(found, len(rows))), soft_wrap=True)


@quarantine.command()
@LABELS
@click.option(
    "--as-new", is_flag=True, help="Whatever their numbers say: count each row as an event that has not come before."
)
@PROJECT
@JSON
def retry(labels: tuple[str, ...], as_new: bool, folder: Path, as_json: bool) -> None:
    """Read R1 or F1 again, after the file, or what cumulus.yaml says, was mended: as a delivery of its own, into the epoch that is open now.
    It is applied with the coordinator's next mini-batch. Rows that still do not fit are put aside anew."""
    with explain_errors():
        initialise(load_project(folder))  # other types are another program, whose rows this log must not have
    with open_project(folder) as runtime:
        say = (lambda _: None) if as_json else _say_retried
        done = retry_put_aside(runtime, labels, as_new=as_new, on_retried=say)
    if as_json:
        print_json(done)


def _say_retried(one: Retried) -> None:
    console().print(
        f"{', '.join(one.labels)}: batch {one.batch} of epoch {one.epoch}: {one.accepted:,} rows accepted, "
        f"{one.repeated:,} had come before, {one.rejected:,} rejected again"
    )


@quarantine.command()
@LABELS
@click.option("--yes", is_flag=True, help="Do not ask.")
@PROJECT
@JSON
def drop(labels: tuple[str, ...], yes: bool, folder: Path, as_json: bool) -> None:
    """Decide that R1 or F1 will never count. Rows of a source's transactions are dropped together, with those of other labels."""
    if not yes:
        click.confirm(f"Never count {', '.join(labels)}?", abort=True, err=True)
    with open_project(folder) as runtime:
        done = drop_put_aside(runtime, labels)
    if as_json:
        print_json([{"label": one.label, "state": "dropped"} for one in done])
        return
    for one in done:
        console().print(f"{one.label} is dropped")


def _add_labels(found: Sequence[QuarantinedRows | FileAside]) -> list[dict[str, object]]:
    return [{"label": one.label, **dataclasses.asdict(one)} for one in found]


def _about(found: QuarantinedRows | FileAside, count: int) -> str:
    if isinstance(found, FileAside):
        return f"{found.place}: {found.reason} [{found.kind}]\n  hint: {found.hint}"
    left = f", {found.rows - count:,} not shown (--limit)" if found.rows > count else ""
    return f"{found.label}: {found.rows:,} rows of {found.relation} in drop {found.delivery}, epoch {found.epoch}{left}"


def _print(found: PutAside, landing: Path) -> None:
    out = console()
    for printed in (
        _rows(found.rows),
        _files(found.files, landing),
        _ignored_table(found.ignored, landing),
        _repeats(found.repeats),
    ):
        if printed.row_count:
            out.print(printed)
    if found.rows or found.files:
        out.print("Decide by: cumulus quarantine show, retry or drop; list --json names each file", style="yellow")


def _table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def _rows(rows: Sequence[QuarantinedRows]) -> Table:
    numbers = ("coordinator", "epoch", "rows")
    table = _table("Rows", "", "coordinator", "epoch", "drop", "relation", "rows", "reason", "state", right=numbers)
    for r in rows:
        for i, (kind, count) in enumerate(r.reasons.items()):
            place = (
                (r.label, str(r.coordinator), str(r.epoch), show_value(r.delivery), show_value(r.relation))
                if i == 0
                else 5 * ("",)
            )
            table.add_row(*place, f"{count:,}", show_value(kind), r.state if i == 0 else "")
    return table


def _files(files: Sequence[FileAside], landing: Path) -> Table:
    table = _table("Files", "", "file", "reason", "what to do", "state")
    for group in _alike(files):
        first, labels = group[0], [f.label for f in group]
        table.add_row(_first(labels), *_about_alike(group, landing), first.state)
    return table


def _alike(files: Sequence[Any]) -> list[list[Any]]:
    """Those of the same folder that are there for the same kind of reason, together: a wrong drop may have thousands of files."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for f in files:
        groups.setdefault((str(Path(f.place).parent), f.kind, getattr(f, "state", "")), []).append(f)
    return list(groups.values())


def _about_alike(group: Sequence[FileAside | Ignored], landing: Path) -> tuple[str, str, str]:
    """The place, the reason and what to do, of the first ones."""
    first, *others = group
    names = [visible(first.place.removeprefix(f"{landing}/")), *(visible(Path(f.place).name) for f in others)]
    reasons = list(dict.fromkeys(f"{f.reason} [{f.kind}]" for f in group))
    hints = list(dict.fromkeys(f.hint for f in group))
    return show_value(_first(names)), show_value(_first(reasons)), show_value(_first(hints))


def _first(texts: Sequence[str]) -> str:
    """At most so many that one can read them, and the last.

    >>> _first(["F1", "F2"]), _first(["F1", "F2", "F3", "F4", "F5"])
    ('F1, F2', 'F1, F2, .. F5 (5)')
    """
    if len(texts) <= SHOWN_ALIKE:
        return ", ".join(texts)
    return f"{', '.join(texts[: SHOWN_ALIKE - 1])}, .. {texts[-1]} ({len(texts):,})"


def _ignored_table(ignored: Sequence[Ignored], landing: Path) -> Table:
    table = _table(f"Ignored in {show_value(landing)}", "what", "reason", "what to do")
    for group in _alike(ignored):
        table.add_row(*_about_alike(group, landing))
    return table


def _repeats(repeats: Sequence[Repeats]) -> Table:
    table = _table("Rows that had come before, and count once", "coordinator", "epoch", "drop", "rows", right=("rows",))
    for r in repeats:
        table.add_row(str(r.coordinator), str(r.epoch), show_value(r.delivery), f"{r.rows:,}")
    return table
