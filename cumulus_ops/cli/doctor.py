"""`cumulus doctor`: is this machine, and this project, fit to run?"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from cumulus_ops.cli.options import JSON
from cumulus_ops.cli.output import console, print_json
from cumulus_ops.cli.problems import EXIT_USER, explained

__all__ = ["doctor"]

COLOURS = {"ok": "green", "warning": "yellow", "fix": "red"}


@click.command()
@click.argument(
    "folder", type=click.Path(path_type=Path), default=Path("."), envvar="CUMULUS_PROJECT", metavar="[PROJECT]"
)
@click.option(
    "--port",
    type=click.IntRange(1024, 65535),
    default=8080,
    show_default=True,
    envvar="CUMULUS_PORT",
    help="Where the UI is to be.",
)
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
