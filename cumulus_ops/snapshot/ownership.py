"""Whose a published Delta table is: each of our commits carries an application transaction, Delta's own means of telling who has written how far.

Its application is the installation, its version is ``generation << 32 | number``: the number is the epoch, or, in a table of final rows, that of the append. It lies in the
table's state, not in its history: an OPTIMIZE, a VACUUM or a checkpoint keeps it. So

- a table with a transaction of ours in an earlier generation is replaced, rows and schema;
- one with a transaction of a later generation, or with a number that the catalog does not know of, says that the catalog was restored: refused;
- one without is another's, and refused; or it is from before tables had owners, and the catalog knows its newest version: adopted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.errors import Conflict, IntegrityProblem, SetupProblem

__all__ = [
    "GENERATION",
    "Mark",
    "conflict",
    "find_mark",
    "generation_of",
    "open_table",
    "ours",
    "published_generation",
    "restored",
    "unreadable",
]

INSTALLATION = "cumulus.installation"
GENERATION = "cumulus.generation"
BITS = 32


@dataclass(frozen=True, order=True)
class Mark:
    """A transaction of ours: the ``number`` of what was written in a ``generation``.

    >>> Mark.of(Mark(2, 7).value)
    Mark(generation=2, number=7)
    """

    generation: int
    number: int

    @classmethod
    def of(cls, value: int) -> Mark:
        """Inverse of :attr:`value`."""
        return cls(value >> BITS, value & ((1 << BITS) - 1))

    @property
    def value(self) -> int:
        """The transaction's version."""
        return self.generation << BITS | self.number


def ours(metadata: Mapping[str, str], owner: Identity, mark: Mark | None = None) -> CommitProperties:
    """How a commit of ours says so. It is exactly the next version, or fails: what was looked at before is what it changes."""
    said = {**metadata, INSTALLATION: owner.installation, GENERATION: str(owner.generation)}
    transactions = None if mark is None else [Transaction(_application(owner.installation), mark.value)]
    return CommitProperties(custom_metadata=said, max_commit_retries=0, app_transactions=transactions)


def _application(installation: str) -> str:
    return f"cumulus/{installation}"


def generation_of(commit: Mapping[str, Any]) -> int:
    """Of a commit's metadata. Before they said so there was the first one."""
    return int(commit.get(GENERATION) or 1)


def open_table(path: Path) -> DeltaTable | None:
    """The table in a folder; None without one.

    Raises:
        IntegrityProblem: the folder holds no readable Delta table.
    """
    try:
        return DeltaTable(str(path)) if path.is_dir() else None
    except TableNotFoundError:
        return None
    except DeltaError as problem:
        raise unreadable(path, problem) from problem


def find_mark(table: DeltaTable, path: Path, owner: Identity, *, is_adopted: bool) -> Mark | None:
    """Our newest transaction in a table; None if it is ours, and from before there were any.

    Args:
        table: as it was opened.
        path: its folder.
        owner: whose it has to be.
        is_adopted: whether the catalog knows it from before.

    Raises:
        SetupProblem: it is another's, or of a later generation.
    """
    value = table.transaction_version(_application(owner.installation))
    if value is None:
        if is_adopted:
            return None
        raise _of_another(table, path)
    mark = Mark.of(value)
    if mark.generation > owner.generation:
        raise restored(path)
    return mark


def published_generation(path: Path, installation: str) -> int | None:
    """The newest generation of an installation that has written a table; None if it has not, or that cannot be told."""
    try:
        table = open_table(path)
        value = None if table is None else table.transaction_version(_application(installation))
    except (DeltaError, IntegrityProblem, OSError):
        return None
    return None if value is None else Mark.of(value).generation


def restored(path: Path) -> SetupProblem:
    """What is said of a catalog that does not know what the table has."""
    return SetupProblem(
        "the table has what the catalog does not know of: the catalog was restored from a backup, or a copy of it is at work elsewhere",
        kind="published-later",
        place=str(path),
        hint="put the newer catalog back; or `cumulus anew` goes on from this one, and replaces the table",
    )


def _of_another(table: DeltaTable, path: Path) -> SetupProblem:
    newest = next((c[INSTALLATION] for c in table.history(20) if INSTALLATION in c), None)
    whose = "is not one that this project has written" if newest is None else f"is that of installation {newest[:8]}"
    hint = "publish elsewhere (`publish: path:` in cumulus.yaml); or move this folder away, and a new table is made in its place"
    return SetupProblem(f"the table {whose}", kind="published-by-another", place=str(path), hint=hint)


def unreadable(path: Path, problem: Exception | str) -> IntegrityProblem:
    """What is said of a folder that is no table, or a damaged one."""
    hint = "move the folder away; what was published is written again from the newest snapshot"
    return IntegrityProblem(f"unreadable: {problem}", kind="delta-unreadable", place=str(path), hint=hint)


def conflict(path: Path, problem: Exception | str) -> Conflict:
    """What is said when others keep writing to a table."""
    return Conflict(f"not published: {problem}", kind="publish-conflict", place=str(path), hint="try again")
