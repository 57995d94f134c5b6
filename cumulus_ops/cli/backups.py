"""`cumulus backup` and `cumulus restore`: the catalog, kept and put back."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path

import click

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.cli.options import EXIT_INVALID, JSON, PROJECT, explain_errors
from cumulus_ops.cli.output import print_json, size_text
from cumulus_ops.epochs.backups import Backup, back_up
from cumulus_ops.opening.runtime import look_at_state
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import BackupSettings, Project
from cumulus_ops.repair.restore import Restored, RestorePlan, find_backup, opened_plan, taken_as_it_is
from cumulus_ops.repair.restore import restore as restore_catalog

__all__ = ["backup", "restore"]


@click.command()
@PROJECT
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder in which backups are; else `backup: {to: }`.",
)
@click.option("--keep", type=click.IntRange(min=1), help="As many stay there, the newest; else `backup: {keep: }`.")
@JSON
def backup(folder: Path, to: Path | None, keep: int | None, as_json: bool) -> None:
    """Copy the catalog of PROJECT as of one moment, while epochs go on: a folder with a SQLite file, whatever database the catalog is. The files of the
    state folder are not in it. `cumulus restore` puts it back."""
    with explain_errors():
        project = load_project(folder)
        made = _back_up(project, to, keep)
    if as_json:
        print_json(made)
    else:
        click.echo(
            f"{made.place}: {_described(made)}, {size_text(made.bytes)}, {made.rows:,} rows, in {made.seconds:.2f} s"
        )


def _back_up(project: Project, to: Path | None, keep: int | None) -> Backup:
    known = project.backup
    if known is None and to is None:
        hint = "cumulus backup --to FOLDER; or say `backup: {to: FOLDER}` in cumulus.yaml, and one is made after each snapshot"
        raise InputProblem("nothing says where backups are to be", kind="no-backup-folder", hint=hint)
    settings = known or BackupSettings(Path("."), 3)
    # one that lies elsewhere holds nothing back: who knows how long it is meant to
    holds = known is not None and (to is None or to.resolve() == known.to)
    look_at_state(project)
    with closing(Catalog(project.catalog_url, project.state)) as catalog:
        where = settings.to if to is None else to.resolve()
        keeping = keep if keep is not None else settings.keep if holds else None
        return back_up(catalog, where, keeping, holds=holds, record=holds or known is None)


def _described(made: Backup) -> str:
    epoch = "before the first snapshot" if made.epoch < 0 else f"epoch {made.epoch}"
    return f"{epoch}, commit {made.commit:,}, of {_moment(made.made_at)}"


def _moment(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


@click.command()
@PROJECT
@click.argument("source", metavar="[FROM]", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--as-it-is",
    is_flag=True,
    help="The catalog that is there was restored by other means: declare that it is to go on from there.",
)
@JSON
def restore(folder: Path, source: Path | None, dry_run: bool, yes: bool, as_it_is: bool, as_json: bool) -> None:
    """Put a backup of PROJECT's catalog in its place: FROM is the folder of a backup, or one with several, of which the newest is taken; without it, that of
    `backup: {to: }`. A new generation begins where the backup was made: maps stay, what came later is read again from where it came from, and processes that are at
    work are refused from then on. Nothing is deleted. Ends with exit code 1 if something cannot be had again."""
    with explain_errors():
        project = load_project(folder)
        if as_it_is and source is not None:
            raise InputProblem(
                "either a backup, or the catalog as it is", kind="bad-option", hint="leave out one of them"
            )
        taken = taken_as_it_is(project) if as_it_is else nullcontext(find_backup(project, source))
        with taken as chosen, opened_plan(project, chosen, as_it_is=as_it_is) as plan:
            if not as_json:
                click.echo("\n".join(_plan_lines(plan)))
            done = None if dry_run else _confirmed(project, plan, yes=yes)
        if as_json:
            print_json({"plan": _plan_json(plan), "done": None if done is None else asdict(done)})
        elif done is not None:
            click.echo("\n".join(_done_lines(done)))
    if plan.losses.log or plan.losses.quarantine or (done is not None and done.problems):
        sys.exit(EXIT_INVALID)


def _confirmed(project: Project, plan: RestorePlan, *, yes: bool) -> Restored:
    if not yes and not sys.stdin.isatty():
        raise SetupProblem(
            "nobody is there to be asked",
            kind="not-confirmed",
            hint="--yes does it, --dry-run only says what would be done",
        )
    if not yes:
        click.confirm("Restore it?", abort=True, err=True)
    return restore_catalog(project, plan)


def _plan_lines(plan: RestorePlan) -> Iterator[str]:
    there = plan.found if isinstance(plan.found, str) else f"at commit {plan.found:,}; it is kept in the state folder"
    yield f"backup      {plan.backup.place}: {_described(plan.backup)}"
    yield f"catalog     {there}"
    yield f"becomes     {plan.new}; processes that are at work are refused, and have to be started again"
    if plan.makes_again:
        gone, batches = len(plan.losses.runs), f"{plan.batches:,} batches"
        yield f"maps        {gone:,} files are gone or shorter: what they held is made again from what is there (as by `cumulus recover`)"
        yield f"            if that cannot be had one by one, all maps are, from the {batches} of the event log (`cumulus anew`)"
    else:
        yield "maps        all files are there: nothing is computed again"
    if plan.losses.kept:
        yield f"brought     {len(plan.losses.kept):,} files that an earlier restore had put aside come back"
    for relation in plan.losses.keys:
        yield f"keys        the index of {relation} lacks files, and is built again with the next append"
    later = plan.later
    if later.rows or later.unreadable:
        counts = ", ".join(f"{n:,} of {name}" for name, n in sorted(later.rows.items()))
        when = (
            ""
            if later.written is None
            else f", written from {_moment(later.written[0])} to {_moment(later.written[1])}"
        )
        yield f"read again  what came later is read from where it came from; the log had up to {counts or 'no'} rows of it{when}"
    if later.files:
        yield f"kept        {len(later.files):,} files that the backup does not name, {size_text(later.bytes)}, are moved to <state>/kept"
    for name, position in sorted(plan.backup.positions.items()):
        yield f"source      {name} goes on from {position}"
    for lost in (*plan.losses.log, *plan.losses.quarantine):
        yield f"LOST        {lost}"
    if plan.losses.log:
        yield "LOST        maps still count these rows, as long as none is made again; validation, and new views, cannot read them: see `cumulus fsck`"


def _done_lines(done: Restored) -> Iterator[str]:
    yield f"{done.identity} begins"
    if done.replaced is not None:
        yield f"the catalog that was there is kept in {done.replaced}"
    if done.kept is not None:
        yield f"files that came after the backup are kept in {done.kept}: delete them when the next snapshots are validated"
    if not done.is_whole:
        yield "what was lost of maps could not be made again by itself: all maps are made anew from the event log"
    for name, count in sorted(done.waiting.items()):
        yield f"{name}: {count:,} {'delivery waits' if count == 1 else 'deliveries wait'}"
    for name, problem in sorted(done.problems.items()):
        yield f"{name} CANNOT GO ON from where the backup was: {problem}"
    yield "next: `cumulus run`, or let Airflow go on"


def _plan_json(plan: RestorePlan) -> dict[str, object]:
    found = {"backup": plan.backup, "new": plan.new, "found": plan.found, "losses": plan.losses, "later": plan.later}
    return {**found, "makes_again": plan.makes_again, "batches": plan.batches}
