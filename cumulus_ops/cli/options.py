"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["EXECUTOR", "JSON", "PROJECT"]

PROJECT = click.option(
    "--project",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("."),
    envvar="CUMULUS_PROJECT",
    show_envvar=True,
    help="The project's folder.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
EXECUTOR = click.option(
    "--executor", type=click.Choice(["inprocess", "spark"]), help="Instead of the project's executor."
)
