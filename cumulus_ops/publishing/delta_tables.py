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

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError, DeltaProtocolError, TableNotFoundError

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.errors import LOST, Conflict, IntegrityProblem, SetupProblem
from cumulus_ops.project.small_files import sync_folder

__all__ = [
    "EPOCH",
    "GENERATION",
    "IN_ERROR",
    "OF_ONE_TABLE",
    "PROGRAM",
    "REFUSED",
    "SHOWS",
    "SINCE",
    "UNREADABLE",
    "UPTO",
    "WITHOUT",
    "Mark",
    "Published",
    "conflict_problem",
    "contradicts_itself",
    "count_rows",
    "failed_to_write",
    "find_mark",
    "first_rows",
    "generation_of",
    "open_table",
    "publish_error",
    "publish_view",
    "published_generation",
    "published_versions",
    "read_version",
    "restored_problem",
    "sign_commit",
    "telling_damage",
    "unreadable_problem",
]


# Whose a published Delta table is: each of our commits carries an application transaction, Delta's own means of telling who has written how far.
#
# Its application is the installation, its version is ``generation << 32 | number``: the number is the epoch, or, in a table of final rows, that of the append. It lies in the
# table's state, not in its history: an OPTIMIZE, a VACUUM or a checkpoint keeps it. So
#
# - a table with a transaction of ours in an earlier generation is replaced, rows and schema;
# - one with a transaction of a later generation, or with a number that the catalog does not know of, says that the catalog was restored: refused;
# - one without is another's, and refused; or it is from before tables had owners, and the catalog knows its newest version: adopted.


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


def sign_commit(metadata: Mapping[str, str], owner: Identity, mark: Mark | None = None) -> CommitProperties:
    """How a commit of ours says so. It is exactly the next version, or fails: what was looked at before is what it changes."""
    said = {**metadata, INSTALLATION: owner.installation, GENERATION: str(owner.generation)}
    transactions = None if mark is None else [Transaction(_name_application(owner.installation), mark.value)]
    return CommitProperties(custom_metadata=said, max_commit_retries=0, app_transactions=transactions)


def _name_application(installation: str) -> str:
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
    except (DeltaError, OSError) as problem:
        raise unreadable_problem(path, problem) from problem


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
    value = table.transaction_version(_name_application(owner.installation))
    if value is None:
        if is_adopted:
            return None
        with telling_damage(path):
            newest = next((c[INSTALLATION] for c in table.history(LOOKED_AT) if INSTALLATION in c), None)
        whose = (
            "is not one that this project has written" if newest is None else f"is that of installation {newest[:8]}"
        )
        hint = "publish elsewhere (`publish: path:` in cumulus.yaml); or move this folder away, and a new table is made in its place"
        raise SetupProblem(f"the table {whose}", kind="published-by-another", place=str(path), hint=hint)
    mark = Mark.of(value)
    if mark.generation > owner.generation:
        raise restored_problem(path)
    return mark


def published_generation(path: Path, installation: str) -> int | None:
    """The newest generation of an installation that has written a table; None if it has not, or that cannot be told."""
    try:
        table = open_table(path)
        value = None if table is None else table.transaction_version(_name_application(installation))
    except (DeltaError, IntegrityProblem, OSError):
        return None
    return None if value is None else Mark.of(value).generation


def restored_problem(path: Path) -> SetupProblem:
    """What is said of a catalog that does not know what the table has."""
    return SetupProblem(
        "the table has what the catalog does not know of: the catalog was restored from a backup, or a copy of it is at work elsewhere",
        kind="published-later",
        place=str(path),
        hint="put the newer catalog back; or go on from this one, and replace the table: `cumulus restore --as-it-is`, or `cumulus anew`",
    )


def unreadable_problem(path: Path, problem: Exception, what: str = "") -> IntegrityProblem:
    """What is said of a table that cannot be read; ``what`` of it. It is damaged, unless the system refuses it, or others have given it what the library does not know.
    The library's message may go on with its own calls."""
    error_number = _find_error_number(problem)
    said = f"unreadable: {what}{_in_a_line(problem)}"
    if error_number is not None and error_number not in LOST:
        hint = "see to the disk and to what may read it; then it is published by itself"
        return IntegrityProblem(said, kind=REFUSED, place=str(path), hint=hint)
    if _is_unsupported(problem) and not _is_protocol_ours(path):
        hint = "take back what was switched on in it; or move its folder away, and it begins anew"
        return IntegrityProblem(said, kind=REFUSED, place=str(path), hint=hint)
    hint = (
        "`cumulus recover` publishes it again, from the snapshots that can be read, and keeps what was there beside it"
    )
    return IntegrityProblem(said, kind=UNREADABLE, place=str(path), hint=hint)


def _in_a_line(problem: Exception) -> str:
    """The library's messages of the system's errors are a tree, line by line, whose leaf says it; of others the first line does."""
    lines = [re.sub(r"\x1b\[\d+m|↳", "", line).strip() for line in str(problem).splitlines()]
    return ": ".join(filter(None, lines)) if _find_error_number(problem) is not None else "".join(lines[:1])


def _find_error_number(problem: Exception) -> int | None:
    """The system's number of an error, which the library has in its text; None if it is no error of the system."""
    found = re.search(r"\(os error (\d+)\)", str(problem))
    return int(found[1]) if found is not None else getattr(problem, "errno", None)


def _is_unsupported(problem: Exception) -> bool:
    return isinstance(problem, DeltaProtocolError) or "Unsupported: " in str(problem)


def _is_protocol_ours(path: Path) -> bool:
    """Whether it was us who said last what it takes to read a table. We ask for nothing that our library does not have: then it is damaged."""
    for file in sorted((path / "_delta_log").glob("*.json"), reverse=True):
        with suppress(OSError):
            commit = file.read_text(encoding="utf-8", errors="replace")
            if '"protocol"' in commit:
                return INSTALLATION in commit
    return False


def failed_to_write(path: Path, version: int, problem: Exception) -> Conflict | IntegrityProblem:
    """What is said of a table that could not be written behind a version (-1: none): others have written to it meanwhile, or else it cannot be written."""
    try:
        table = open_table(path)
    except IntegrityProblem as unreadable:
        return unreadable
    if (-1 if table is None else table.version()) != version:
        return conflict_problem(path, problem)
    hint = "see to the disk, and to what others have switched on in the table; then it is published by itself"
    return IntegrityProblem(f"not written: {_in_a_line(problem)}", kind=REFUSED, place=str(path), hint=hint)


def conflict_problem(path: Path, problem: Exception | str) -> Conflict:
    """What is said when others keep writing to a table."""
    return Conflict(f"not published: {problem}", kind="publish-conflict", place=str(path), hint="try again")


#: Kinds of problems: a table is damaged; it may be whole, and cannot be read or written.
UNREADABLE, REFUSED = "delta-unreadable", "table-refused"
#: Those that hold up one table, and no other.
OF_ONE_TABLE = frozenset({UNREADABLE, REFUSED})
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
#: So many commits of others may come after one of ours that is looked for.
LOOKED_AT = 20
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
    written = _write_epoch(table, path, owner, epoch, program, without, snapshot, adopted, known)
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
        mark = _find_owned_mark(table, path, owner, adopted)
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


def _set_notice(
    path: Path, notice: Callable[[DeltaTable, int], dict[str, str] | None], metadata: dict[str, str], owner: Identity
) -> None:
    """Set the properties that ``notice`` makes of the table and the last epoch in error, if any: as of what the table is then. If somebody else
    writes to the table meanwhile, look again."""
    for attempt in range(ATTEMPTS):
        table = open_table(path)
        if table is None:
            return
        said = table.metadata().configuration
        # the last epoch of this generation of which the properties say that the view is in error; -1 if they say nothing
        upto = int(said.get(UPTO) or -1) if int(said.get(OF) or 1) == owner.generation else -1
        values, version = notice(table, upto), table.version()
        if values is None:
            return
        try:
            table.alter.set_table_properties(
                values, raise_if_not_exists=False, commit_properties=sign_commit(metadata, owner)
            )
            return
        except (DeltaError, OSError) as problem:
            failed = failed_to_write(path, version, problem)
            if attempt == ATTEMPTS - 1 or not isinstance(failed, Conflict):
                raise failed from problem


def _write_epoch(
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
        mark = None if table is None else _find_owned_mark(table, path, owner, adopted)
        if table is not None and mark is not None and mark.generation == owner.generation and mark.number >= epoch:
            # it was written before: which version holds the epoch, or else the first later one
            commits = [
                c for c in _history(path) if generation_of(c) == owner.generation and int(c.get(EPOCH, -1)) >= epoch
            ]
            mine = [c for c in commits if c[EPOCH] == str(epoch)]
            is_unknown = not mine and mark.number > epoch and mark.value > known
            if is_unknown or any(c.get(SNAPSHOT, "") != snapshot for c in mine):
                raise restored_problem(path)
            # without any, the log was cleaned up
            first = min((int(c["version"]) for c in mine or commits), default=table.version())
            return Published(first, str(table.metadata().id), max(mark.value, known))
        version = -1 if table is None else table.version()
        try:
            return _write(rows, table, path, said, owner, epoch)
        except (DeltaError, OSError) as problem:
            failed = failed_to_write(path, version, problem)
            if attempt == ATTEMPTS - 1 or not isinstance(failed, Conflict):
                raise failed from problem
    raise AssertionError("unreachable")


def _find_owned_mark(table: DeltaTable, path: Path, owner: Identity, adopted: int | None) -> Mark | None:
    """Our newest transaction in a table; None in one from before there were any."""
    is_known = adopted is not None and adopted in published_versions(path).values()
    return find_mark(table, path, owner, is_adopted=is_known)


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
        commit_properties=sign_commit(said, owner, mark),
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
    with telling_damage(path):
        return DeltaTable(str(path), version=version).to_pyarrow_dataset().head(limit)


def count_rows(path: Path, version: int) -> int:
    """How many rows a version has, without reading them.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    with telling_damage(path):
        return int(DeltaTable(str(path), version=version).to_pyarrow_dataset().count_rows())


@contextmanager
def telling_damage(path: Path) -> Iterator[None]:
    """Let what the library says of a table be said as a problem of ours.

    Raises:
        IntegrityProblem: it said something.
    """
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise unreadable_problem(path, problem) from problem


def read_version(path: Path, version: int) -> list[pa.Table]:
    """The rows of a version, file by file, as they are in the files: statistics in the log, which whoever wrote them has made, are not
    looked at.

    Returns:
        a table for each file, in their order; an empty one for a version without files.

    Raises:
        IntegrityProblem: the folder holds no such version that can be read.
    """
    try:
        table = _open_kept(path, DeltaTable(str(path), version=version))
        # by their names, for an address may be written in more than one way; all files of a table without partitions are in its folder
        files = [path / PurePosixPath(uri).name for uri in table.file_uris()]
        found = [pq.ParquetFile(file).read() for file in files]
        return found or [pa.schema(table.schema().to_arrow()).empty_table()]
    except (DeltaError, OSError, pa.ArrowException) as problem:
        raise unreadable_problem(path, problem, f"version {version}: ") from problem


def rewrite_version(path: Path, version: int, rows: pa.Table) -> bool:
    """Write the file of a version again that is damaged or gone, under its name: what the table's log says of it has to hold, so nothing is done unless it has the same size.

    Args:
        path: the table's folder.
        version: which has one file.
        rows: what it has to hold.

    Raises:
        IntegrityProblem: the table's log cannot be read.
    """
    draft = path.with_name(f".{path.name}.again")
    shutil.rmtree(draft, ignore_errors=True)
    with telling_damage(path):
        table = DeltaTable(str(path), version=version)
        files = [PurePosixPath(uri).name for uri in table.file_uris()]
        sizes = pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()
        try:
            write_deltalake(str(draft), rows)
            (made,) = (draft / PurePosixPath(uri).name for uri in DeltaTable(str(draft)).file_uris())
            if len(files) != 1 or made.stat().st_size != sizes[0]:
                return False
            os.replace(made, path / files[0])
            sync_folder(path)
            return True
        except ValueError:  # it has no file, or several
            return False
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _open_kept(path: Path, table: DeltaTable) -> DeltaTable:
    """A version, or, if somebody's OPTIMIZE has put its files together and a VACUUM has deleted them, the latest one after it with the same rows."""
    if all((path / PurePosixPath(uri).name).exists() for uri in table.file_uris()):
        return table
    same = table.version()
    for commit in reversed(_history(path)):
        if int(commit["version"]) == same + 1 and commit.get("operation") in SAME_ROWS:
            same += 1
    return table if same == table.version() else DeltaTable(str(path), version=same)


def contradicts_itself(path: Path, installation: str) -> bool:
    """Whether the newest epoch of an installation's table has another transaction than its commit says, or none: a digit of the log is another one. Not for tables
    from before there were any.

    Raises:
        IntegrityProblem: the log cannot be read.
    """
    while True:  # the history may have a commit that came after the table was opened: read again until none did
        table = open_table(path)
        if table is None:
            return False
        value = table.transaction_version(_name_application(installation))
        with telling_damage(path):
            history = table.history(LOOKED_AT)
            if DeltaTable(str(path)).version() == table.version():
                break
    commit = next((c for c in history if c.get(INSTALLATION) == installation and EPOCH in c), None)
    if commit is None or value is None:
        return commit is not None
    mark = Mark.of(value)
    return (str(mark.generation), str(mark.number)) != (str(generation_of(commit)), commit[EPOCH])


def _history(path: Path) -> list[dict[str, Any]]:
    """The commits, newest first. They are numbered backwards from the version that was loaded, so a commit that comes
    in between shifts the numbers: read again until none did."""
    with telling_damage(path):
        while True:
            table = DeltaTable(str(path))
            history: list[dict[str, Any]] = table.history()
            if DeltaTable(str(path)).version() == table.version():
                return history
