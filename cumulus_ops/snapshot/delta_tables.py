"""One view's committed rows as a Delta table: one table version per epoch, readable by whatever reads Delta.

The epoch stands in the commit's metadata (:data:`EPOCH`), so the table itself tells what it holds. A process killed
after the table's commit and before the catalog's finds its version there when it runs again, and writes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from cumulus_ops.errors import Conflict, IntegrityProblem

__all__ = ["EPOCH", "PROGRAM", "WITHOUT", "publish_view", "published_versions"]

EPOCH = "cumulus.epoch"
PROGRAM = "cumulus.program"
WITHOUT = "cumulus.without"


def publish_view(table: pa.Table, path: Path, *, epoch: int, program: str, without: str = "") -> int:
    """Makes ``table`` the version of ``epoch``, unless the table has that epoch, or a later one, already.

    Args:
        table: the view's rows, in its column order; may be empty.
        path: the Delta table's folder, made when missing.
        epoch: the snapshot's epoch; epochs are published in ascending order.
        program: the program's name, for the commit's metadata.
        without: which batches the epoch's snapshot is without, for the commit's metadata.

    Returns:
        The Delta version that holds ``epoch``, or the first one that holds a later epoch.

    Raises:
        Conflict: another process wrote to the table meanwhile, something other than this epoch.
        IntegrityProblem: the folder holds no readable Delta table.
    """
    found = _version_from(path, epoch)
    if found is not None:
        return found
    try:
        _write(table, path, {EPOCH: str(epoch), PROGRAM: program} | ({WITHOUT: without} if without else {}))
    except (CommitFailedError, DeltaError) as problem:
        return _after_failure(path, epoch, problem)
    written = _version_from(path, epoch)
    if written is None:
        raise IntegrityProblem("lost the version just written", kind="publish-lost", place=str(path))
    return written


def published_versions(path: Path) -> dict[int, int]:
    """Epoch -> Delta version, ascending; empty without a table. Versions that others wrote are left out.

    Raises:
        IntegrityProblem: the folder holds no readable Delta table.
    """
    try:
        history = _history(path) if path.is_dir() else []
    except TableNotFoundError:
        return {}
    except DeltaError as problem:
        hint = "move the folder away; publishing writes it again from the snapshot"
        raise IntegrityProblem(
            f"unreadable: {problem}", kind="delta-unreadable", place=str(path), hint=hint
        ) from problem
    newest_first = [(int(commit[EPOCH]), int(commit["version"])) for commit in history if EPOCH in commit]
    return dict(sorted(newest_first, key=lambda item: (item[0], -item[1])))  # an epoch's first version wins


def _history(path: Path) -> list[dict[str, Any]]:
    """The commits, newest first. They are numbered backwards from the version that was loaded, so a commit that comes
    in between shifts the numbers: read again until none did."""
    while True:
        table = DeltaTable(str(path))
        history: list[dict[str, Any]] = table.history()
        if DeltaTable(str(path)).version() == table.version():
            return history


def _version_from(path: Path, epoch: int) -> int | None:
    """The version of the first published epoch >= ``epoch``."""
    return next((version for found, version in published_versions(path).items() if found >= epoch), None)


def _write(table: pa.Table, path: Path, metadata: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_deltalake(
        str(path),
        table,
        mode="overwrite",
        schema_mode="overwrite",
        name=path.name,
        commit_properties=CommitProperties(custom_metadata=metadata, max_commit_retries=0),
    )


def _after_failure(path: Path, epoch: int, problem: Exception) -> int:
    """Somebody else's commit came first: fine if it was this epoch's."""
    found = _version_from(path, epoch)
    if found is None:
        raise Conflict(
            f"not published: {problem}", kind="publish-conflict", place=str(path), hint="try again"
        ) from problem
    return found
