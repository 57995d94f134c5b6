"""A project as the pages see it: its file, its catalog, its program. Nothing is kept open between requests but what never changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from m3.program import Program
from m3.serial import program_from_json

__all__ = ["Opened", "program_of"]


@dataclass(frozen=True)
class Opened:
    """A project of this folder, as its file is now."""

    project: Project

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """Its catalog, for a few reads.

        Raises:
            SetupProblem: it has not been initialised, or by another version.
        """
        catalog = Catalog(self.project.catalog_url, self.project.state)
        try:
            catalog.check_schema()
            yield catalog
        finally:
            catalog.close()


@lru_cache(8)
def program_of(compiled: str) -> Program:
    """The registered program; remembered, for it stays the same."""
    return program_from_json(compiled)
