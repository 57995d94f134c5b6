"""`cumulus status` and `query`: where a project is, and the rows of its views."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cumulus_ops.cli.options import EXIT_IN_ERROR, JSON, PROJECT, explain_errors, show
from cumulus_ops.cli.output import print_json, print_rows
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.cli.writing import write_rows
from cumulus_ops.epochs.status import status as read_status
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.project.project_file import load_project
from cumulus_ops.query.answers import Answer, read_answer
from cumulus_ops.query.errors import describe_error, quote_error

__all__ = ["query", "status"]

#: The rows of a table that are shown, if nobody says how many.
SHOWN = 50


@click.command()
@PROJECT
@JSON
def status(folder: Path, as_json: bool) -> None:
    """Show where coordinators and epochs are."""
    with explain_errors():
        project = load_project(folder)
        with open_runtime(project, "inprocess") as runtime:
            now = read_status(runtime)
    if as_json:
        print_json(now)
    else:
        print_status(now)


@click.command()
@click.argument("view")
@PROJECT
@click.option("--as-of", type=click.IntRange(min=0), help="The snapshot of this epoch instead of the newest.")
@click.option("--tentative", is_flag=True, help="What is applied so far: fresher, and may still be corrected.")
@click.option(
    "--provenance", is_flag=True, help="One more column, final_by: by what each row is final. JSON has it always."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"At most so many rows; by default {SHOWN} of a table, and all in other formats.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet", "arrow"]),
    help="How; by default a table, or what the name of --output ends in.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, which is replaced as a whole. Without it, CSV and JSON go to standard output.",
)
@JSON
def query(
    view: str,
    folder: Path,
    as_of: int | None,
    tentative: bool,
    provenance: bool,
    limit: int | None,
    form: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the rows of VIEW that are final, and by what: as applied so far where none is ever retracted, else the partitions that are sealed, and the newest
    snapshot of the rest; or the snapshot of an epoch, or what is applied so far. If the view is in error, say which
    expression fails, where it is written, and for which row, and end with exit code 4; partitions that were final before are printed all the same.

    Values stay exact: decimals, dates and times are texts in JSON, integers are numbers with all their digits; NULL is nothing in CSV."""
    if tentative and as_of is not None:
        raise click.UsageError("--as-of names a snapshot, --tentative is newer than all: give one of them")
    form = _format_of(form, output, as_json=as_json)
    with explain_errors():
        project = load_project(folder)
        with open_runtime(project, "inprocess") as runtime:
            try:
                answer = read_answer(runtime, view, as_of=as_of, tentative=tentative)
            except ViewInError as problem:
                problem, details = describe_error(runtime, view, problem, as_of=as_of, tentative=tentative)
                if form == "json":
                    print_json({"in_error": details})
                show(problem, quote_error(project, runtime.program.view(view), problem.place))
                sys.exit(EXIT_IN_ERROR)
        rows = answer.with_provenance() if provenance or form == "json" else answer.labelled()
        if form == "table":
            print_rows(rows, _title(answer, as_of), SHOWN if limit is None else limit)
            click.echo(answer.label)
        else:
            write_rows(rows.slice(0, limit), form, output)
            wrote = "" if output is None else f"wrote {len(rows.slice(0, limit)):,} rows to {output}: "
            click.echo(f"{wrote}{answer.label}", err=True)
    if answer.error is not None:
        sys.exit(EXIT_IN_ERROR)


def _format_of(form: str | None, output: Path | None, *, as_json: bool) -> str:
    """The format that is asked for, in one of its ways."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form}: give one of them")
    named = output.suffix.removeprefix(".") if output is not None else ""
    chosen = "json" if as_json else form or (named if named in ("csv", "json", "parquet", "arrow") else None)
    if output is not None and chosen in (None, "table"):
        raise click.UsageError(f"--output {output}: say --format csv, json, parquet or arrow")
    return chosen or "table"


def _title(answer: Answer, as_of: int | None) -> str:
    if as_of is not None:
        return f"{answer.view}, snapshot of epoch {as_of}"
    if answer.partitions:
        has_snapshot = answer.epoch is not None and answer.error is None
        return f"{answer.view}, sealed partitions{' and newest snapshot' if has_snapshot else ''}"
    if answer.epoch is not None:
        return f"{answer.view}, newest snapshot"
    return f"{answer.view}, {'tentative' if answer.is_tentative else 'now'}"
