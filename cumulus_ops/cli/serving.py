"""`cumulus up` and `cumulus down`: Airflow, Spark and the UI for one's own project on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from cumulus_ops.cli.options import FOLDER, PORT
from cumulus_ops.cli.problems import explained

__all__ = ["down", "up"]


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
