"""One view's committed rows as a Delta table: one table version per epoch, readable by whatever reads Delta.

Each of our commits carries an application transaction (:mod:`.ownership`): whose it is, in which generation, of which epoch. So the table itself tells what it
holds, whatever others do to it meanwhile: an OPTIMIZE, a VACUUM, a clean-up of its log. A process killed after the table's commit and before the catalog's finds its
epoch there when it runs again, and writes nothing.

While the view is in error there are no rows to write. The table keeps the last right ones, and says so in its **properties**
(:data:`IN_ERROR`, :data:`SINCE`, :data:`UPTO`, :data:`SHOWS`), which one more commit sets for each epoch. They are empty while the
view is right. The rows of the first right epoch come before the properties are cleared: a reader in between may take right rows for
old ones, but never old ones for right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.snapshot.ownership import (
    Mark,
    conflict,
    find_mark,
    generation_of,
    open_table,
    ours,
    restored,
    unreadable,
)

__all__ = [
    "EPOCH",
    "IN_ERROR",
    "PROGRAM",
    "SHOWS",
    "SINCE",
    "UPTO",
    "WITHOUT",
    "Published",
    "count_rows",
    "first_rows",
    "publish_error",
    "publish_view",
    "published_versions",
    "read_version",
]

EPOCH = "cumulus.epoch"
PROGRAM = "cumulus.program"
WITHOUT = "cumulus.without"
SNAPSHOT = "cumulus.snapshot"
#: Properties of the table: why the view is in error, from which epoch on and up to which, and the epoch whose rows are shown; of which generation.
IN_ERROR, SINCE, UPTO, SHOWS, OF = (
    "cumulus.in-error",
    "cumulus.in-error.since",
    "cumulus.in-error.upto",
    "cumulus.shows-epoch",
    "cumulus.in-error.generation",
)
#: Operations after which a table has the rows that it had.
SAME_ROWS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")
ATTEMPTS = 3
NOTICE = (IN_ERROR, SINCE, UPTO, SHOWS, OF)


@dataclass(frozen=True)
class Published:
    """Where an epoch's rows are: the ``version`` of the table, whose own id is ``table_id``; ``mark`` is that of our newest transaction in it."""

    version: int
    table_id: str
    mark: int


def publish_view(
    table: pa.Table,
    path: Path,
    owner: Identity,
    *,
    epoch: int,
    program: str,
    without: str = "",
    snapshot: str = "",
    adopted: int | None = None,
    known: int = -1,
) -> Published:
    """Makes ``table`` the version of ``epoch``, unless the table has that epoch already; and takes back that the
    view was in error before.

    Args:
        table: the view's rows, in its column order; may be empty.
        path: the Delta table's folder, made when missing.
        owner: whose table it is.
        epoch: the snapshot's epoch; epochs are published in ascending order.
        program: the program's name, for the commit's metadata.
        without: which batches the epoch's snapshot is without, for the commit's metadata.
        snapshot: tells the epoch's snapshot from one that the same epoch had before the catalog was restored.
        adopted: the version that the catalog knows of from before tables had owners.
        known: the mark of our newest transaction that the catalog knows of.

    Returns:
        where the epoch is, or the first later one, if that is known to be in its place.

    Raises:
        Conflict: others wrote to the table meanwhile, several times.
        IntegrityProblem: the folder holds no readable Delta table.
        SetupProblem: the table is another's, or of a later generation, or has what the catalog does not know of.
    """
    written = _written(table, path, owner, epoch, program, without, snapshot, adopted, known)
    _clear_notice(path, epoch, program, owner)
    return written


def publish_error(
    path: Path, owner: Identity, *, epoch: int, since: int, reason: str, program: str, adopted: int | None = None
) -> None:
    """Says in the table's properties that the view is in error in ``epoch``, and that the rows are those of an earlier epoch, or of an earlier generation.
    Nothing is done without a table, or when it has a later epoch, or is told so already.

    Args:
        path: the Delta table's folder.
        owner: whose table it is.
        epoch: the snapshot's epoch.
        since: the first epoch in which the view is in error (inclusive).
        reason: why.
        program: the program's name, for the commit's metadata.
        adopted: as in :func:`publish_view`.

    Raises:
        Conflict: another process wrote to the table meanwhile.
        IntegrityProblem: the folder holds no readable Delta table.
        SetupProblem: the table is another's, or of a later generation.
    """

    def notice(table: DeltaTable, upto: int) -> dict[str, str] | None:
        mark = _owned(table, path, owner, adopted)
        is_before = mark is not None and mark.generation < owner.generation
        shown = mark.number if mark is not None else max(published_versions(path), default=-1)
        shown_text = f"{shown} of generation {mark.generation}" if mark is not None and is_before else str(shown)
        told = {IN_ERROR: reason, SINCE: str(since), UPTO: str(epoch), SHOWS: shown_text, OF: str(owner.generation)}
        return told if (is_before or shown < epoch) and upto < epoch else None

    _set_notice(path, notice, {PROGRAM: program, IN_ERROR: str(epoch)}, owner)


def _clear_notice(path: Path, epoch: int, program: str, owner: Identity) -> None:
    """Take back what was said of earlier epochs, or in an earlier generation."""
    nothing = dict.fromkeys(NOTICE, "")

    def notice(table: DeltaTable, upto: int) -> dict[str, str] | None:
        says = bool(table.metadata().configuration.get(IN_ERROR))
        return nothing if says and upto < epoch else None

    _set_notice(path, notice, {PROGRAM: program}, owner)


def _upto(table: DeltaTable, owner: Identity) -> int:
    """The last epoch of this generation of which the table's properties say that the view is in error; -1 if they say nothing."""
    said = table.metadata().configuration
    return int(said.get(UPTO) or -1) if int(said.get(OF) or 1) == owner.generation else -1


def _set_notice(
    path: Path, notice: Callable[[DeltaTable, int], dict[str, str] | None], metadata: dict[str, str], owner: Identity
) -> None:
    """Set the properties that ``notice`` makes of the table and the last epoch in error, if any: as of what the table is then. If somebody else
    writes to the table meanwhile, look again."""
    for attempt in range(ATTEMPTS):
        table = open_table(path)
        values = None if table is None else notice(table, _upto(table, owner))
        if table is None or values is None:
            return
        try:
            table.alter.set_table_properties(values, raise_if_not_exists=False, commit_properties=ours(metadata, owner))
            return
        except (CommitFailedError, DeltaError) as problem:
            if attempt == ATTEMPTS - 1:
                raise conflict(path, problem) from problem


def _written(
    rows: pa.Table,
    path: Path,
    owner: Identity,
    epoch: int,
    program: str,
    without: str,
    snapshot: str,
    adopted: int | None,
    known: int,
) -> Published:
    """Where the epoch is; written if it is not there. Exactly behind the version that was looked at: if somebody else has written meanwhile, look again."""
    said = {EPOCH: str(epoch), PROGRAM: program, SNAPSHOT: snapshot} | ({WITHOUT: without} if without else {})
    for attempt in range(ATTEMPTS):
        table = open_table(path)
        mark = None if table is None else _owned(table, path, owner, adopted)
        if table is not None and mark is not None and mark.generation == owner.generation and mark.number >= epoch:
            return _found(table, path, owner, epoch, snapshot, mark, known)
        try:
            return _write(rows, table, path, said, owner, epoch)
        except (CommitFailedError, DeltaError) as problem:
            if attempt == ATTEMPTS - 1:
                raise conflict(path, problem) from problem
    raise AssertionError("unreachable")


def _owned(table: DeltaTable, path: Path, owner: Identity, adopted: int | None) -> Mark | None:
    """Our newest transaction in a table; None in one from before there were any."""
    is_known = adopted is not None and adopted in published_versions(path).values()
    return find_mark(table, path, owner, is_adopted=is_known)


def _found(
    table: DeltaTable, path: Path, owner: Identity, epoch: int, snapshot: str, mark: Mark, known: int
) -> Published:
    """The version that holds the epoch, of a table that has it, or a later one."""
    commits = [c for c in _history(path) if generation_of(c) == owner.generation and int(c.get(EPOCH, -1)) >= epoch]
    mine = [c for c in commits if c[EPOCH] == str(epoch)]
    is_unknown = not mine and mark.number > epoch and mark.value > known
    if is_unknown or any(c.get(SNAPSHOT, "") != snapshot for c in mine):
        raise restored(path)
    version = min((int(c["version"]) for c in mine or commits), default=table.version())  # its log was cleaned up
    return Published(version, str(table.metadata().id), max(mark.value, known))


def _write(
    rows: pa.Table, table: DeltaTable | None, path: Path, said: dict[str, str], owner: Identity, epoch: int
) -> Published:
    mark = Mark(owner.generation, epoch)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_deltalake(
        str(path) if table is None else table,
        rows,
        mode="error" if table is None else "overwrite",
        schema_mode=None if table is None else "overwrite",
        name=path.name if table is None else None,
        commit_properties=ours(said, owner, mark),
    )
    written = 0 if table is None else table.version()
    made = DeltaTable(str(path), version=written) if table is None else table
    return Published(written, str(made.metadata().id), mark.value)


def published_versions(path: Path) -> dict[int, int]:
    """Epoch -> Delta version, ascending, of the newest generation; empty without a table. Versions that others wrote are left out.

    Raises:
        IntegrityProblem: the folder holds no readable Delta table.
    """
    if open_table(path) is None:
        return {}
    history = [commit for commit in _history(path) if EPOCH in commit]
    newest_first = [
        (int(c[EPOCH]), int(c["version"])) for c in history if generation_of(c) == generation_of(history[0])
    ]
    return dict(sorted(newest_first, key=lambda item: (item[0], -item[1])))  # an epoch's first version wins


def first_rows(path: Path, version: int, limit: int) -> pa.Table:
    """The first rows of a version, in the order in which they were written; the rest is not read.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    with _reading(path):
        return DeltaTable(str(path), version=version).to_pyarrow_dataset().head(limit)


def count_rows(path: Path, version: int) -> int:
    """How many rows a version has, without reading them.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    with _reading(path):
        return int(DeltaTable(str(path), version=version).to_pyarrow_dataset().count_rows())


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise unreadable(path, problem) from problem


def read_version(path: Path, version: int) -> list[pa.Table]:
    """The rows of a version, file by file, as they are in the files: statistics in the log, which whoever wrote them has made, are not
    looked at.

    Returns:
        a table for each file, in their order; an empty one for a version without files.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    try:
        table = _as_kept(path, DeltaTable(str(path), version=version))
        # by their names, for an address may be written in more than one way; all files of a table without partitions are in its folder
        files = [path / PurePosixPath(uri).name for uri in table.file_uris()]
        found = [pq.ParquetFile(file).read() for file in files]
        return found or [pa.schema(table.schema().to_arrow()).empty_table()]
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise unreadable(path, f"version {version}: {problem}") from problem


def _as_kept(path: Path, table: DeltaTable) -> DeltaTable:
    """A version, or, if somebody's OPTIMIZE has put its files together and a VACUUM has deleted them, the latest one after it with the same rows."""
    if all((path / PurePosixPath(uri).name).exists() for uri in table.file_uris()):
        return table
    same = table.version()
    for commit in reversed(_history(path)):
        if int(commit["version"]) == same + 1 and commit.get("operation") in SAME_ROWS:
            same += 1
    return table if same == table.version() else DeltaTable(str(path), version=same)


def _history(path: Path) -> list[dict[str, Any]]:
    """The commits, newest first. They are numbered backwards from the version that was loaded, so a commit that comes
    in between shifts the numbers: read again until none did."""
    while True:
        table = DeltaTable(str(path))
        history: list[dict[str, Any]] = table.history()
        if DeltaTable(str(path)).version() == table.version():
            return history
