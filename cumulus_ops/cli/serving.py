"""`cumulus up`, `down`, `doctor`, `scrub` and `anew`: a project as a whole, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from cumulus_ops.cli.options import EXIT_USER, FOLDER, JSON, PORT, explained
from cumulus_ops.cli.output import console, print_json, size_text
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.settings import load_project

if TYPE_CHECKING:
    from cumulus_ops.epochs.scrubbing import DamagedFile, DamagedRun, ScrubReport

__all__ = ["anew", "doctor", "down", "progress_lines", "require_intact", "summary", "up"]


@click.command()
@FOLDER
@PORT
@click.option("--detach", is_flag=True, help="Return when all is up; `cumulus down` stops it.")
def up(folder: Path, port: int, detach: bool) -> None:
    """Start Airflow, a Spark and the UI for PROJECT on this machine, with its DAGs switched on, and stay until Ctrl-C. All of it
    listens on the loopback address only; the login is printed. What it keeps, it keeps in the state folder."""
    from cumulus_ops.local.up import UpOptions, run_up, start_detached

    with explained():
        (start_detached if detach else run_up)(UpOptions(folder, port))


@click.command()
@FOLDER
def down(folder: Path) -> None:
    """Stop what `cumulus up` has started for PROJECT, and nothing else; also what one that was killed has left."""
    from cumulus_ops.local.up import run_down

    with explained():
        run_down(folder)


# `cumulus doctor`: is this machine, and this project, fit to run?


COLOURS = {"ok": "green", "warning": "yellow", "fix": "red"}


@click.command()
@FOLDER
@PORT
@JSON
def doctor(folder: Path, port: int, as_json: bool) -> None:
    """Look whether this machine can run Cumulus, and whether PROJECT is in order: Python, Java, packages, memory, disk, ports, folders,
    the catalog, and what a killed `cumulus up` has left. Ends with exit code 2 if something has to be fixed; changes nothing."""
    from cumulus_ops.local.doctor import FIX, examine

    with explained():
        findings = examine(folder, port)
    if as_json:
        print_json(findings)
    else:
        out = console()
        for f in findings:
            colour = COLOURS[f.state]
            out.print(f"[{colour}]{f.state:8}[/{colour}] {f.check:12} {escape(f.message)}", soft_wrap=True)
            if f.hint:
                out.print(f"[dim]{'':21} {escape(f.hint)}[/dim]", soft_wrap=True)
    if any(f.state == FIX for f in findings):
        sys.exit(EXIT_USER)


# `cumulus scrub`: its progress, and what it found.


#: A line is printed whenever so many bytes more are done.
STEP_BYTES = 1_000_000_000


def progress_lines(show: Callable[[str], None], step: int = STEP_BYTES) -> Callable[[int, int], None]:
    """What is called with the bytes done so far and all bytes, and shows a line now and then."""
    last = 0

    def advance(done: int, total: int) -> None:
        nonlocal last
        if done // step > last // step and done < total:
            show(f"{size_text(done)} of {size_text(total)} verified")
        last = done

    return advance


def summary(report: ScrubReport) -> str:
    """How much is as it was written, and how long it took to find out."""
    runs, files = report.runs - len(report.damaged), report.files - len(report.damaged_files)
    size = report.bytes - sum(run.bytes for run in report.damaged)
    lines = [
        f"{runs:,} run{'s' * (runs != 1)}, {size_text(size)}, verified in {report.seconds:.1f} s",
        f"{files:,} file{'s' * (files != 1)} of the log, the quarantine and key indexes, {size_text(report.file_bytes)}, verified",
    ]
    if report.without_checksums:
        count = len(report.without_checksums)
        lines.append(
            f"of these {count:,} {'is' if count == 1 else 'are'} of an older version, without checksums: decoded, which finds less "
            "(--json names them)"
        )
    if report.proved:
        lines.append(
            f"the log says what the key index{'es' * (len(report.proved) > 1)} of {', '.join(report.proved)} say{'s' * (len(report.proved) == 1)}"
        )
    return "\n".join(lines)


def require_intact(report: ScrubReport) -> None:
    """Name on stderr what is damaged, and the key indexes that are not proved.

    Raises:
        IntegrityProblem: there are some.
    """
    for line in (*map(_line, report.damaged), *map(_file_line, report.damaged_files)):
        click.echo(line, err=True)
    for index in report.wrong_indexes:
        click.echo(f"the key index of {index.relation} {index.problem}", err=True)
        for row in index.shown:
            click.echo(f"  {row}", err=True)
    if report.damaged:
        raise _problem("damaged-run", len(report.damaged), f"{report.runs:,} runs", "damaged", report.damaged[0].hint)
    if report.damaged_files:
        files = f"{report.files:,} files of the log, the quarantine and key indexes"
        raise _problem("damaged-file", len(report.damaged_files), files, "damaged", report.damaged_files[0].hint)
    if report.wrong_indexes:
        indexes = f"{len(report.proved) + len(report.wrong_indexes)} key indexes"
        raise _problem(
            "wrong-key-index", len(report.wrong_indexes), indexes, "not proved", report.wrong_indexes[0].hint
        )


def _problem(kind: str, count: int, whole: str, what: str, hint: str) -> IntegrityProblem:
    return IntegrityProblem(f"{count} of {whole} {'is' if count == 1 else 'are'} {what}", kind=kind, hint=hint)


def _file_line(file: DamagedFile) -> str:
    return f"damaged: {file.holds}, {file.file}: {file.problem}"


def _line(run: DamagedRun) -> str:
    return f"damaged: {run.group} by [{', '.join(run.by)}], {run.file}, byte {run.offset}: {run.problem}"


# `cumulus anew`: a new generation, from the event log or from the sources.


@click.command()
@FOLDER
@click.option(
    "--from-sources",
    is_flag=True,
    help="Put the event log aside, and read the landing folder and the sources again: when the catalog or the log is lost, or relations have other columns.",
)
@JSON
def anew(folder: Path, from_sources: bool, as_json: bool) -> None:
    """Begin anew: make all maps and snapshots of PROJECT again, from its event log, which stays as it is. For views that have changed, a catalog that was restored
    from a backup, a damaged map, the state of another version, or a copy of a project. Nothing that cannot be made again is deleted; the next `cumulus run`, or
    Airflow, does the work, and replaces the published tables."""
    from cumulus_ops.epochs.generations import begin_anew

    with explained():
        done = begin_anew(load_project(folder), from_sources=from_sources)
    if as_json:
        kept = None if done.kept is None else str(done.kept)
        what = {"installation": done.identity.installation, "generation": done.identity.generation}
        print_json({**what, "batches": done.batches, "kept": kept})
        return
    click.echo(f"{done.identity} begins")
    if from_sources:
        click.echo("the landing folder and the sources are read again from their beginning")
        if done.kept is not None:
            click.echo(f"what was there is kept in {done.kept}: delete it yourself when nothing in it is needed")
    else:
        batches = "1 batch" if done.batches == 1 else f"{done.batches:,} batches"
        click.echo(f"{batches} of the event log will be applied again")
    click.echo("next: `cumulus run`, or let Airflow go on")
