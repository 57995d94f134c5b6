"""The project: credits and debits by account, the balance that joins them, its total; and the same by window of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path

from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project

__all__ = ["VIEWS", "bank_project"]

#: The views without those by window; ``total`` reads ``balance``, which reads ``credits`` and ``debits``.
VIEWS = ("credits", "debits", "balance", "total")


def bank_project(home: Path, coordinators: int = 3, views: Collection[str] | None = None) -> Project:
    """The project of this folder, with everything it writes in ``home``.

    Args:
        home: the folder.
        coordinators: how many there are.
        views: the names of those to maintain; None for all.
    """
    project = load_project(Path(__file__).parent, {"CUMULUS_HOME": str(home)})
    chosen = {name: sql for name, sql in project.views.items() if views is None or name in views}
    return dataclasses.replace(project, coordinators=coordinators, views=chosen)
