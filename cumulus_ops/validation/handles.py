"""Tables that are read where they are compared, and not before.

A validation compares view after view. What it is given are handles: small, hashable, and equal if they name the same table, so that a batch of
Great Expectations, which hashes its cells (and pickles those that it cannot hash), can have two whole tables in a row. The rows of all views at
once would not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from cumulus_ops.snapshot.delta_tables import read_version

__all__ = ["ArrowFile", "Handle", "PublishedVersion", "write_arrow"]


class Handle(Protocol):
    """Something that is hashable, and reads a table."""

    def __hash__(self) -> int: ...

    def read(self) -> tuple[pa.Table, bool]:
        """All rows, and whether they come in the order in which they were written."""


@dataclass(frozen=True)
class ArrowFile:
    """A file in Arrow's format."""

    path: Path

    def read(self) -> tuple[pa.Table, bool]:
        """All rows, in order; mapped, so that they take no memory of their own."""
        with pa.memory_map(str(self.path)) as source:
            return pa.ipc.open_file(source).read_all(), True


@dataclass(frozen=True)
class PublishedVersion:
    """A version of a Delta table: its files are read, and nothing that their writer has said of them."""

    path: Path
    version: int

    def read(self) -> tuple[pa.Table, bool]:
        """All rows of the version; if they are in several files, these have no order among them.

        Raises:
            IntegrityProblem: it cannot be read.
        """
        parts = read_version(self.path, self.version)
        return pa.concat_tables(parts), len(parts) == 1


def write_arrow(table: pa.Table, path: Path) -> ArrowFile:
    """Keep a table in a file, which must not exist."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return ArrowFile(path)
