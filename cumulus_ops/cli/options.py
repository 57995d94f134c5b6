"""Options that several commands have, and the project that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.problems import explained
from cumulus_ops.config import load_project

if TYPE_CHECKING:
    from cumulus_ops.engine import Runtime

__all__ = ["EXECUTOR", "FOLDER", "JSON", "PORT", "PROJECT", "opened"]

PROJECT = click.option(
    "--project",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("."),
    envvar="CUMULUS_PROJECT",
    show_envvar=True,
    help="The project's folder.",
)
#: The same as an argument, of commands that are about a project as a whole.
FOLDER = click.argument(
    "folder", type=click.Path(path_type=Path), default=Path("."), envvar="CUMULUS_PROJECT", metavar="[PROJECT]"
)
PORT = click.option(
    "--port",
    type=click.IntRange(1024, 65535),
    default=8080,
    show_default=True,
    envvar="CUMULUS_PORT",
    help="Of the UI.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
EXECUTOR = click.option(
    "--executor", type=click.Choice(["inprocess", "spark"]), help="Instead of the project's executor."
)


@contextmanager
def opened(folder: Path) -> Iterator[Runtime]:
    """The project, opened in this process; errors are explained."""
    from cumulus_ops.snapshot import open_runtime

    with explained(), open_runtime(load_project(folder), "inprocess") as runtime:
        yield runtime
