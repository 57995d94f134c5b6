"""What all steps begin with: the project of a folder, initialised and opened. Heavy imports are inside the functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cumulus_ops.config import Project, load_project
from cumulus_ops.errors import CumulusError

if TYPE_CHECKING:
    from cumulus_ops.snapshot import Runtime

__all__ = ["Patience", "SnapshotInvalid", "running"]


class SnapshotInvalid(CumulusError):
    """A snapshot differs from full recomputation, and the project's policy is to fail. ``epochs``: which ones do, ascending."""

    epochs: tuple[int, ...] = ()


@contextmanager
def running(folder: str, executor: str | None, *, frames: bool = False) -> Iterator[tuple[Project, Runtime]]:
    """A project's runtime; ``frames``: where data frames are made, by what proves snapshots."""
    project = load_project(Path(folder))
    if (executor or project.executor.kind) == "inprocess" and not frames:
        from cumulus_ops.light import without_pandas

        without_pandas()
    from cumulus_ops.snapshot import initialise, open_runtime

    initialise(project)
    with open_runtime(project, executor or None) as runtime:
        yield project, runtime


class Patience:
    """So many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether they have passed."""
        return time.monotonic() >= self._deadline
