"""`cumulus load`, `run` and `validate`: applying what has landed, and proving what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
from rich.console import Console

from cumulus_ops.append.delivery import TABLES, land_tables
from cumulus_ops.cli.options import (
    EXECUTOR,
    EXIT_INVALID,
    EXIT_SET_ASIDE,
    EXIT_UNPROVED,
    EXIT_USER,
    JSON,
    PROJECT,
    explain_errors,
)
from cumulus_ops.cli.output import console, print_json, show_value, visible
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import BatchReport, run_minibatch, settle
from cumulus_ops.epochs.status import Status, status
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.project.verdicts import FAILED, UNPROVED
from cumulus_ops.repair.fsck import look_after
from cumulus_ops.validation.run import validate as prove

__all__ = ["load", "run", "validate"]


@click.command()
@click.argument("tables", type=click.Path(path_type=Path, exists=True, file_okay=False))
@PROJECT
@EXECUTOR
@JSON
def load(tables: Path, folder: Path, executor: str | None, as_json: bool) -> None:
    """Begin with existing tables: land the files RELATION.parquet of the folder TABLES as the first drop, and apply it in
    large batches. Run again after an interruption, it goes on; done before, it does nothing."""
    out = console()
    with explain_errors():
        project = load_project(folder)
        initialise(project, goes_on=True)
        land_tables(project, tables)
        report = resumes(_load)(project, executor, lambda rows: _progress(out, rows, silent=as_json))
    if as_json:
        print_json(report)
    elif report is None:
        out.print("these tables were loaded before")
    else:
        out.print(f"loaded {report.events:,} rows in {report.seconds:.1f} s, {report.quarantined:,} quarantined")
    if report is not None and report.set_aside:
        click.echo(f"set aside: {len(report.set_aside)} of its batches; see `cumulus batch list`", err=True)
        sys.exit(EXIT_SET_ASIDE)


def _load(project: Project, executor: str | None, on_batch: Callable[[int], None]) -> BatchReport | None:
    with open_runtime(project, executor) as runtime:
        report = run_minibatch(runtime, 0, [TABLES], on_batch=on_batch)
        settle(runtime)
        return report


def _progress(out: Console, rows: int, *, silent: bool) -> None:
    if not silent:
        out.print(f"{rows:,} rows applied")


@click.command()
@PROJECT
@EXECUTOR
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Complete so many epochs, each with a share of what has landed, or none; by default, as many as all of it takes.",
)
@JSON
def run(folder: Path, executor: str | None, epochs: int | None, as_json: bool) -> None:
    """Apply all that has landed, commit, publish and validate epochs, all in this process, without Airflow. Ends, after having done the
    rest, with exit code 1 if a snapshot or a final partition is wrong (or unproved, with `validation: {unproved: fail}`), with 2 if a source stands still, and with 3 if a batch was set aside."""
    out = console()
    with explain_errors():
        project = load_project(folder)
        initialise(project, goes_on=True)
        looks = _Looks()
        tell: Callable[[str], None] = (
            (lambda _: None) if as_json else lambda line: out.print(show_value(visible(line)), soft_wrap=True)
        )
        resumes(_run)(project, executor, epochs, tell, looks)
        before, done = looks.all[0], looks.all[-1]
    if as_json:
        print_json(done)
    else:
        print_status(done)
    outcomes = set(looks.outcomes)
    outcomes |= {FAILED} if done.finals.wrong > before.finals.wrong else set()
    outcomes |= {UNPROVED} if done.finals.unproved > before.finals.unproved else set()
    if any(map(project.validation.is_failure, outcomes)):
        sys.exit(EXIT_INVALID)
    if {b.batch for b in done.set_aside} - {b.batch for b in before.set_aside}:
        sys.exit(EXIT_SET_ASIDE)
    if done.standing:
        sys.exit(EXIT_USER)


@dataclass
class _Looks:
    """How things are before a run, in between, and afterwards; ``done``: the newest epoch before it; ``known``: the epochs that were validated before it, ``outcomes``: of those that were validated since."""

    all: list[Status] = field(default_factory=list)
    done: int = -1
    known: Collection[int] = ()
    outcomes: Collection[str] = ()


def _run(
    project: Project, executor: str | None, epochs: int | None, tell: Callable[[str], None], looks: _Looks
) -> None:
    """Run what waits, or so many epochs since the first of the looks."""
    with open_runtime(project, executor) as opened:
        runtime = replace(opened, on_snapshot=look_after)
        if not looks.all:
            looks.known, looks.done = runtime.catalog.results.validations().keys(), runtime.catalog.snapshots.newest()
        looks.all.append(status(runtime))
        if epochs is not None:
            run_epochs(runtime, epochs - runtime.catalog.snapshots.newest() + looks.done, tell)
        elif not run_waiting(runtime, tell):
            tell(f"nothing waits in {project.landing}")
        looks.all.append(status(runtime))
        validations = runtime.catalog.results.validations()
        looks.outcomes = [found.outcome for epoch, found in validations.items() if epoch not in looks.known]


@click.command()
@click.argument("epoch", type=click.IntRange(min=0))
@click.option("--view", "views", multiple=True, help="Only this view; repeat it. By default all of them.")
@PROJECT
@JSON
def validate(epoch: int, views: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Prove the snapshot of EPOCH: recompute its views on Spark from the event log, compare, and write the report. Any epoch that
    is retained, at any time, whatever `validation:` in cumulus.yaml says; ends with exit code 1 if a view is wrong, and with 2 if
    nothing that was compared is, but something could not be compared (with `unproved: fail`: 1)."""
    with explain_errors():
        project = load_project(folder)
        with open_runtime(project) as runtime:
            click.echo(f"epoch {epoch}: recomputing on Spark", err=True)
            report = prove(runtime, epoch, views=views or None, on_view=_say_view)
    if as_json:
        print_json(report)
    else:
        console().print(str(report), markup=False, soft_wrap=True)
    if report.outcome == FAILED or project.validation.is_failure(report.outcome):
        sys.exit(EXIT_INVALID)
    if report.outcome == UNPROVED:
        sys.exit(EXIT_UNPROVED)


def _say_view(done: int, count: int, view: str) -> None:
    click.echo(f"view {done:,} of {count:,}: {visible(view)}", err=True)
