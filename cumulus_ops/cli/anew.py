"""`cumulus anew`: a new generation, from the event log or from the sources."""

from __future__ import annotations

from pathlib import Path

import click

from cumulus_ops.cli.options import FOLDER, JSON
from cumulus_ops.cli.output import print_json
from cumulus_ops.cli.problems import explained
from cumulus_ops.config import load_project

__all__ = ["anew"]


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
    from cumulus_ops.snapshot import begin_anew

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
