"""One view's committed rows as a Delta table: one table version per epoch, readable by whatever reads Delta.

The epoch stands in the commit's metadata (:data:`EPOCH`), so the table itself tells what it holds. A process killed
after the table's commit and before the catalog's finds its version there when it runs again, and writes nothing.

While the view is in error there are no rows to write. The table keeps the last right ones, and says so in its **properties**
(:data:`IN_ERROR`, :data:`SINCE`, :data:`UPTO`, :data:`SHOWS`), which one more commit sets for each epoch. They are empty while the
view is right. The rows of the first right epoch come before the properties are cleared: a reader in between may take right rows for
old ones, but never old ones for right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from cumulus_ops.errors import Conflict, IntegrityProblem

__all__ = [
    "EPOCH",
    "IN_ERROR",
    "PROGRAM",
    "SHOWS",
    "SINCE",
    "UPTO",
    "WITHOUT",
    "first_rows",
    "publish_error",
    "publish_view",
    "published_versions",
]

EPOCH = "cumulus.epoch"
PROGRAM = "cumulus.program"
WITHOUT = "cumulus.without"
#: Properties of the table: why the view is in error, from which epoch on and up to which, and the epoch whose rows are shown.
IN_ERROR, SINCE, UPTO, SHOWS = (
    "cumulus.in-error",
    "cumulus.in-error.since",
    "cumulus.in-error.upto",
    "cumulus.shows-epoch",
)
ATTEMPTS = 3
NOTICE = (IN_ERROR, SINCE, UPTO, SHOWS)


def publish_view(table: pa.Table, path: Path, *, epoch: int, program: str, without: str = "") -> int:
    """Makes ``table`` the version of ``epoch``, unless the table has that epoch, or a later one, already; and takes back that the
    view was in error before.

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
    version = _written(table, path, epoch, program, without)
    _clear_notice(path, epoch, program)
    return version


def publish_error(path: Path, *, epoch: int, since: int, reason: str, program: str) -> None:
    """Says in the table's properties that the view is in error in ``epoch``, and that the rows are those of an earlier epoch.
    Nothing is done without a table, or when it has a later epoch, or is told so already.

    Args:
        path: the Delta table's folder.
        epoch: the snapshot's epoch.
        since: the first epoch in which the view is in error (inclusive).
        reason: why.
        program: the program's name, for the commit's metadata.

    Raises:
        Conflict: another process wrote to the table meanwhile.
        IntegrityProblem: the folder holds no readable Delta table.
    """

    def notice(upto: int) -> dict[str, str] | None:
        shown = max(published_versions(path))
        told = {IN_ERROR: reason, SINCE: str(since), UPTO: str(epoch), SHOWS: str(shown)}
        return told if shown < epoch and upto < epoch else None

    if published_versions(path):
        _set_notice(path, notice, {PROGRAM: program, IN_ERROR: str(epoch)})


def _clear_notice(path: Path, epoch: int, program: str) -> None:
    """Take back what was said of earlier epochs."""
    nothing = dict.fromkeys(NOTICE, "")
    _set_notice(path, lambda upto: nothing if 0 <= upto < epoch else None, {PROGRAM: program})


def _upto(table: DeltaTable) -> int:
    """The last epoch of which the table's properties say that the view is in error; -1 if they say nothing."""
    return int(table.metadata().configuration.get(UPTO) or -1)


def _set_notice(path: Path, notice: Callable[[int], dict[str, str] | None], metadata: dict[str, str]) -> None:
    """Set the properties that ``notice`` makes of the last epoch in error, if any: as of what the table is then. If somebody else
    writes to the table meanwhile, look again."""
    properties = CommitProperties(custom_metadata=metadata, max_commit_retries=0)
    for attempt in range(ATTEMPTS):
        table = DeltaTable(str(path))
        values = notice(_upto(table))
        if values is None:
            return
        try:
            table.alter.set_table_properties(values, raise_if_not_exists=False, commit_properties=properties)
            return
        except (CommitFailedError, DeltaError) as problem:
            if attempt == ATTEMPTS - 1:
                raise _conflict(path, problem) from problem


def _written(table: pa.Table, path: Path, epoch: int, program: str, without: str) -> int:
    """The version of the epoch; written if it is not there."""
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


def first_rows(path: Path, version: int, limit: int) -> pa.Table:
    """The first rows of a version, in the order in which they were written; the rest is not read.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    try:
        return DeltaTable(str(path), version=version).to_pyarrow_dataset().head(limit)
    except (DeltaError, OSError) as problem:
        hint = "move the folder away; publishing writes it again from the snapshot"
        raise IntegrityProblem(
            f"unreadable: {problem}", kind="delta-unreadable", place=str(path), hint=hint
        ) from problem


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
        raise _conflict(path, problem) from problem
    return found


def _conflict(path: Path, problem: Exception) -> Conflict:
    return Conflict(f"not published: {problem}", kind="publish-conflict", place=str(path), hint="try again")
