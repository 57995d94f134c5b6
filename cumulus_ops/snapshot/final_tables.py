"""The final rows of a view as a Delta table, to which they are only ever appended: whoever has read a row finds it in every later version.

Each append says in its commit's metadata which values it has (:data:`FINAL`). A process killed between the append and the catalog's row finds them there:
only the versions that the catalog does not know of have to be looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from cumulus_ops.errors import Conflict, IntegrityProblem
from cumulus_ops.snapshot.delta_tables import PROGRAM

__all__ = ["FINAL", "FinalTable", "append_final", "open_final"]

FINAL = "cumulus.final"


@dataclass(frozen=True)
class FinalTable:
    """A table as it was when it was opened; ``table`` is None if there was none."""

    path: Path
    table: DeltaTable | None

    @property
    def version(self) -> int:
        """Its newest version; -1 without a table."""
        return -1 if self.table is None else self.table.version()


def open_final(path: Path) -> FinalTable:
    """Look at the table in a folder.

    Raises:
        IntegrityProblem: the folder holds no readable Delta table.
    """
    try:
        return FinalTable(path, DeltaTable(str(path)) if path.is_dir() else None)
    except TableNotFoundError:
        return FinalTable(path, None)
    except DeltaError as problem:
        hint = "move the folder away, and the tables beside it; final rows are in the views' snapshots, too"
        message = f"unreadable: {problem}"
        raise IntegrityProblem(message, kind="delta-unreadable", place=str(path), hint=hint) from problem


def append_final(
    opened: FinalTable, rows: pa.Table, numbers: np.ndarray, wanted: Sequence[int], since: int, program: str
) -> dict[int, int]:
    """Append the rows of values that the table does not have yet.

    Args:
        opened: the table. What is ``wanted`` has to be looked for after it was opened: whoever has appended something and died has said before that
            it is final.
        rows: the rows of all values.
        numbers: which value each row has.
        wanted: all values that the catalog knows of no version for, also those without rows.
        since: in versions up to this one (inclusive) there is none of them.
        program: the program's name, for the commit's metadata.

    Returns:
        value -> the version that has its rows; ``since`` for those without rows, which are in any.

    Raises:
        Conflict: others have written to it since it was opened.
    """
    found = {} if opened.table is None else _appended(opened.table, since)
    missing = [n for n in wanted if n not in found]
    new = rows.filter(pa.array(np.isin(numbers, missing)))
    if len(new) == 0:
        return {n: found.get(n, since) for n in wanted}
    version = opened.version + 1  # a table that is written to moves on
    _append(new, opened, {FINAL: json.dumps(missing), PROGRAM: program})
    return {**{n: found[n] for n in wanted if n in found}, **dict.fromkeys(missing, version)}


def _appended(table: DeltaTable, since: int) -> dict[int, int]:
    """value -> the version that has appended its rows, of the versions after ``since``."""
    newest = table.version()
    commits = table.history(newest - since) if newest > since else []
    return {
        int(number): newest - back
        for back, commit in enumerate(commits)
        if FINAL in commit
        for number in json.loads(commit[FINAL])
    }


def _append(rows: pa.Table, opened: FinalTable, metadata: dict[str, str]) -> None:
    """Exactly behind the version that was looked at: the commit fails if there is another one by now."""
    properties = CommitProperties(custom_metadata=metadata, max_commit_retries=0)
    try:
        if opened.table is None:
            opened.path.parent.mkdir(parents=True, exist_ok=True)
            write_deltalake(str(opened.path), rows, mode="error", name=opened.path.name, commit_properties=properties)
        else:
            write_deltalake(opened.table, rows, mode="append", commit_properties=properties)
    except (CommitFailedError, DeltaError) as problem:
        place = str(opened.path)
        raise Conflict(f"not published: {problem}", kind="publish-conflict", place=place, hint="try again") from problem
