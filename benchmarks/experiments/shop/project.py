"""The project, with everything it writes in another folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project

__all__ = ["shop_project"]


def shop_project(home: Path, coordinators: int) -> Project:
    """The project of this folder, with everything it writes in ``home``.

    Args:
        home: the folder.
        coordinators: how many there are.
    """
    project = load_project(Path(__file__).parent, {"CUMULUS_HOME": str(home)})
    return dataclasses.replace(project, coordinators=coordinators)
