"""The project: with versions by batch, as all programs from SQL have them, or by event, as those written by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cumulus_ops.config import Project, load_project
from cumulus_ops.engine import build_program
from m3 import format_program

__all__ = ["shop_project"]


def shop_project(home: Path, coordinators: int, versions: str = "batch") -> Project:
    """The project of this folder, with everything it writes in ``home``.

    Args:
        home: the folder.
        coordinators: how many there are.
        versions: ``batch``, or ``event``: the compiled program as if it had been written by hand.
    """
    project = load_project(Path(__file__).parent, {"CUMULUS_HOME": str(home)})
    project = dataclasses.replace(project, coordinators=coordinators)
    if versions == "batch":
        return project
    home.mkdir(parents=True, exist_ok=True)
    program = home / "revenue.m3"
    program.write_text(format_program(build_program(project)), encoding="utf-8")
    return dataclasses.replace(project, views={}, program_file=program)
