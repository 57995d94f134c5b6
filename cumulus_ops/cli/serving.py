"""`cumulus up` and `cumulus down`: Airflow, Spark and the UI for one's own project on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from cumulus_ops.cli.problems import explained

__all__ = ["down", "up"]

FOLDER = click.argument(
    "folder", type=click.Path(path_type=Path), default=Path("."), envvar="CUMULUS_PROJECT", metavar="[PROJECT]"
)


@click.command()
@FOLDER
@click.option(
    "--port",
    type=click.IntRange(1024, 65535),
    default=8080,
    show_default=True,
    envvar="CUMULUS_PORT",
    help="Of the UI.",
)
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
