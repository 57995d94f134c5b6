"""`cumulus up`, `down`, `doctor`, `anew` and `demo`: a project as a whole, on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from cumulus_ops.cli.options import EXIT_USER, FOLDER, JSON, PORT, explain_errors
from cumulus_ops.cli.output import console, print_json
from cumulus_ops.demo.runner import DemoOptions, run_demo
from cumulus_ops.epochs.generations import begin_anew
from cumulus_ops.local.doctor import FIX, examine
from cumulus_ops.local.up import UpOptions, run_down, run_up, start_detached
from cumulus_ops.project.project_file import load_project

__all__ = ["anew", "demo", "doctor", "down", "up"]


@click.command()
@FOLDER
@PORT
@click.option("--detach", is_flag=True, help="Return when all is up; `cumulus down` stops it.")
def up(folder: Path, port: int, detach: bool) -> None:
    """Start Airflow, a Spark and the UI for PROJECT on this machine, with its DAGs switched on, and stay until Ctrl-C. All of it
    listens on the loopback address only; the login is printed. What it keeps, it keeps in the state folder."""
    with explain_errors():
        (start_detached if detach else run_up)(UpOptions(folder, port))


@click.command()
@FOLDER
def down(folder: Path) -> None:
    """Stop what `cumulus up` has started for PROJECT, and nothing else; also what one that was killed has left."""
    with explain_errors():
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
    with explain_errors():
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
    with explain_errors():
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


@click.command()
@click.option(
    "--scale-factor",
    type=click.FloatRange(min=0.001),
    default=0.1,
    show_default=True,
    help="Of TPC-H; 1 is 6 M lineitems.",
)
@click.option("--epochs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option(
    "--epoch-seconds", type=click.FloatRange(min=3), default=30.0, show_default=True, help="Length of an epoch."
)
@click.option("--once", is_flag=True, help="End when all epochs are validated, instead of at Ctrl-C.")
@click.option("--port", type=click.IntRange(1024, 65535), default=8080, show_default=True, help="Of the Airflow UI.")
@click.option(
    "--home", type=click.Path(path_type=Path), default=Path("var"), show_default=True, help="Data, state, logs."
)
@click.option("--project", "folder", type=click.Path(path_type=Path), default=Path("examples/tpch"), show_default=True)
@click.option(
    "--dags", type=click.Path(path_type=Path), default=Path("dags"), show_default=True, help="Airflow's DAG folder."
)
def demo(
    scale_factor: float, epochs: int, epoch_seconds: float, once: bool, port: int, home: Path, folder: Path, dags: Path
) -> None:
    """Run TPC-H under Airflow on a local Spark, starting afresh (what `make run` does)."""
    options = DemoOptions(scale_factor, epochs, epoch_seconds, once, port, home, folder, dags)
    with explain_errors():
        sys.exit(run_demo(options))
