"""The final rows of a view as a Delta table, to which they are only ever appended: whoever has read a row finds it in every later version.

Each append is a transaction of ours with the next number (:mod:`.ownership`), and says in its commit's metadata which values it has (:data:`FINAL`). A process killed
between the append and the catalog's row finds them there: only the appends that the catalog does not know of have to be looked at.

A table that is gone, was replaced by an older copy of itself, or is of an earlier generation is written anew, with all rows that are final.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.delta_tables import (
    PROGRAM,
    Mark,
    conflict_problem,
    failed_to_write,
    find_mark,
    generation_of,
    open_table,
    read_version,
    sign_commit,
    telling_damage,
    unreadable_problem,
)

__all__ = [
    "FINAL",
    "Appended",
    "FinalTable",
    "append_final",
    "appended_rows",
    "final_table",
    "open_final",
    "rewrite_final",
]


FINAL = "cumulus.final"
APPEND = "cumulus.append"


@dataclass(frozen=True)
class FinalTable:
    """A table as it was when it was opened; ``table`` is None if there was none. ``mark``: our newest transaction in it, None in one from before there were
    any."""

    path: Path
    owner: Identity
    table: DeltaTable | None
    mark: Mark | None = None

    @property
    def version(self) -> int:
        """Its newest version; -1 without a table."""
        return -1 if self.table is None else self.table.version()

    @property
    def table_id(self) -> str:
        """What was drawn when it was made."""
        return "" if self.table is None else str(self.table.metadata().id)

    def lacks(self, known: tuple[str, int] | None) -> bool:
        """Whether it does not have what the catalog knows to be in it (its id and its mark), or has rows of an earlier generation."""
        if self.table is None:
            return known is not None
        if self.mark is None:
            return known is not None  # a copy from before tables had owners
        if self.mark.generation < self.owner.generation:
            return True
        return known is not None and (known[0] != self.table_id or known[1] > self.mark.value)


@dataclass(frozen=True)
class Appended:
    """``versions``: value -> the version that has its rows. The table's own id, and the ``mark`` of our newest transaction in it."""

    versions: dict[int, int]
    table_id: str
    mark: int


def open_final(path: Path, owner: Identity, *, is_adopted: bool = False) -> FinalTable:
    """Look at the table in a folder.

    Args:
        path: the folder.
        owner: whose it has to be.
        is_adopted: whether the catalog knows it from before tables had owners.

    Raises:
        IntegrityProblem: the folder holds no readable Delta table.
        SetupProblem: it is another's, or of a later generation.
    """
    table = open_table(path)
    mark = None if table is None else find_mark(table, path, owner, is_adopted=is_adopted)
    return FinalTable(path, owner, table, mark)


def append_final(
    opened: FinalTable,
    rows: pa.Table,
    numbers: np.ndarray,
    wanted: Sequence[int],
    since: int,
    program: str,
    known: tuple[str, int] | None = None,
) -> Appended | None:
    """Append the rows of values that the table does not have yet.

    Args:
        opened: the table. What is ``wanted`` has to be looked for after it was opened: whoever has appended something and died has said before that
            it is final.
        rows: the rows of all values.
        numbers: which value each row has.
        wanted: all values that the catalog knows of no version for, also those without rows.
        since: in versions up to this one (inclusive) there is none of them.
        program: the program's name, for the commit's metadata.
        known: the table's id and mark as the catalog knows them.

    Returns:
        where they are, ``since`` for those without rows, which are in any version; None if which values the table has cannot be told any more, since its log was
        cleaned up: it has to be written anew.

    Raises:
        Conflict: others have written to it since it was opened.
    """
    before = -1 if known is None else known[1]
    found = _find_appended(opened, since, before)
    if found is None:
        return None
    missing = [n for n in wanted if n not in found]
    new = rows.filter(pa.array(np.isin(numbers, missing)))
    if len(new) == 0:
        mark = before if opened.mark is None else opened.mark.value
        return Appended({n: found.get(n, since) for n in wanted}, opened.table_id, mark)
    version, table_id, mark = _write(opened, new, missing, program, known, overwrite=False)
    return Appended({**{n: found[n] for n in wanted if n in found}, **dict.fromkeys(missing, version)}, table_id, mark)


def appended_rows(path: Path, versions: Sequence[int]) -> pa.Table | None:
    """The rows that some versions have appended, read from their files; all rows of the table where the log does not say any more which these
    are; None without versions.

    Raises:
        IntegrityProblem: they cannot be read.
    """
    if not versions:
        return None
    try:
        commits = [(path / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8") for version in versions]
    except FileNotFoundError:
        return pa.concat_tables(read_version(path, DeltaTable(str(path)).version()))
    actions = (json.loads(line) for commit in commits for line in commit.splitlines())
    files = [path / unquote(action["add"]["path"]) for action in actions if "add" in action]
    if not all(
        file.exists() for file in files
    ):  # somebody's OPTIMIZE has put them together, and a VACUUM has deleted them
        return pa.concat_tables(read_version(path, DeltaTable(str(path)).version()))
    try:
        return pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    except (OSError, pa.ArrowException) as problem:
        raise unreadable_problem(path, problem) from problem


def rewrite_final(
    opened: FinalTable, rows: pa.Table, wanted: Sequence[int], program: str, known: tuple[str, int] | None
) -> Appended:
    """Write the table anew, with all rows that are final.

    Args:
        opened: the table.
        rows: the rows of all values.
        wanted: the values.
        program: the program's name.
        known: as in :func:`append_final`.

    Returns:
        where they are.

    Raises:
        Conflict: others have written to it since it was opened.
    """
    version, table_id, mark = _write(opened, rows, list(wanted), program, known, overwrite=True)
    return Appended(dict.fromkeys(wanted, version), table_id, mark)


def _find_appended(opened: FinalTable, since: int, before: int) -> dict[int, int] | None:
    """value -> the version that has appended its rows, of the appends that the catalog does not know of; None if the log has not all of them."""
    table, mark = opened.table, opened.mark
    if table is None or (mark is not None and mark.value == before):
        return {}
    found: dict[int, int] = {}
    appends, newest = 0, table.version()
    with telling_damage(opened.path):
        commits = table.history()
    if (
        DeltaTable(str(opened.path)).version() != newest
    ):  # commits are numbered backwards: one that comes in between shifts them
        raise conflict_problem(opened.path, "somebody has written to it meanwhile")
    for back, commit in enumerate(commits):
        if FINAL not in commit or generation_of(commit) != opened.owner.generation:
            continue
        number = int(commit.get(APPEND, -1))
        if mark is not None and number <= before:
            break
        if mark is None and newest - back <= since:
            break
        appends += 1
        found.update({int(n): newest - back for n in json.loads(commit[FINAL])})
    if mark is None:
        return found
    known = Mark.of(before) if before >= 0 else Mark(mark.generation, 0)
    expected = mark.number - (known.number if known.generation == mark.generation else 0)
    return None if appends < expected else found


def _write(
    opened: FinalTable,
    rows: pa.Table,
    values: Sequence[int],
    program: str,
    known: tuple[str, int] | None,
    *,
    overwrite: bool,
) -> tuple[int, str, int]:
    """Exactly behind the version that was looked at: the commit fails if there is another one by now."""
    owner = opened.owner
    marks = (opened.mark, None if known is None else Mark.of(known[1]))
    numbers = [m.number for m in marks if m is not None and m.generation == owner.generation]
    mark = Mark(owner.generation, max(numbers, default=0) + 1)
    said = sign_commit({FINAL: json.dumps(values), APPEND: str(mark.value), PROGRAM: program}, owner, mark)
    version = opened.version
    try:
        if opened.table is None:
            opened.path.parent.mkdir(parents=True, exist_ok=True)
            write_deltalake(str(opened.path), rows, mode="error", name=opened.path.name, commit_properties=said)
            return 0, str(DeltaTable(str(opened.path), version=0).metadata().id), mark.value
        how = {"mode": "overwrite", "schema_mode": "overwrite"} if overwrite else {"mode": "append"}
        write_deltalake(opened.table, rows, **how, commit_properties=said)
        return opened.version, opened.table_id, mark.value  # a table that is written to moves on
    except (DeltaError, OSError) as problem:
        raise failed_to_write(opened.path, version, problem) from problem


def final_table(project: Project, view: str) -> Path | None:
    """The Delta table with the final rows of a view, beside that of its snapshots; None if the project publishes nothing. It is not within the other's folder,
    where a VACUUM would take it for garbage; and no view can be called so."""
    return None if project.published is None else project.published / f"{view}.final"
