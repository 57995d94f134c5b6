"""Reports as they lie in a project's reports folder: pages only, and nothing outside of the folder."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from cumulus_ops.config import Project
from cumulus_ops.validation.index import report_pages

__all__ = ["report_address", "report_file"]

SUITE = "views"


def report_file(folder: Path, path: str) -> Path | None:
    """The page at ``path`` in a folder; None if there is none, or it is somewhere else in truth.

    >>> report_file(Path("/reports"), "../etc/passwd.html") is None
    True
    """
    try:
        root, file = folder.resolve(), (folder / path).resolve()
        found = file.suffix == ".html" and file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError):  # names that are too long, or no names
        return None
    return file if found else None


def report_address(project: Project, epoch: int) -> str | None:
    """The address of the verdicts on the views of an epoch, within the reports folder; None while there is no report."""
    found = report_pages(project.reports, project.name, epoch)
    page = found.get(SUITE) or next(iter(found.values()), None)
    return None if page is None else quote(page)
