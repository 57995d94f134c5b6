"""`cumulus doctor`: is this machine, and this project, fit to run?"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from cumulus_ops.cli.options import FOLDER, JSON, PORT
from cumulus_ops.cli.output import console, print_json
from cumulus_ops.cli.problems import EXIT_USER, explained

__all__ = ["doctor"]

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
