"""The final rows of a view as a Delta table, to which they are only ever appended: whoever has read a row finds it in every later version.

Each append says in its commit's metadata which values it has (:data:`FINAL`). A process killed between the append and the catalog's row finds them there:
only the versions that the catalog does not know of have to be looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from cumulus_ops.errors import Conflict, IntegrityProblem
from cumulus_ops.snapshot.delta_tables import PROGRAM

__all__ = ["FINAL", "append_final"]

FINAL = "cumulus.final"
ATTEMPTS = 5


def append_final(
    rows: pa.Table, numbers: np.ndarray, wanted: Sequence[int], path: Path, since: int, program: str
) -> dict[int, int]:
    """Append the rows of values that the table does not have yet.

    Args:
        rows: the rows of all values.
        numbers: which value each row has.
        wanted: all values, also those without rows.
        path: the Delta table's folder, made when there is something to write.
        since: in versions up to this one (inclusive) there is none of them; -1 if nothing is known.
        program: the program's name, for the commit's metadata.

    Returns:
        value -> the version that has its rows.

    Raises:
        Conflict: others write to the table all the time.
        IntegrityProblem: the folder holds no readable Delta table.
    """
    for _ in range(ATTEMPTS):
        table = _table(path)
        found = {} if table is None else _appended(table, since)
        missing = [n for n in wanted if n not in found]
        new = rows.filter(pa.array(np.isin(numbers, missing)))
        version = -1 if table is None else table.version()
        if len(new) == 0:  # what has no rows is in any version
            return {n: found.get(n, max(version, 0)) for n in wanted}
        try:
            _append(new, table or path, path.name, {FINAL: json.dumps(missing), PROGRAM: program})
        except (CommitFailedError, DeltaError):  # somebody else's commit came first: look what it was
            continue
        return {**found, **dict.fromkeys(missing, version + 1)}
    raise Conflict("others write to it all the time", kind="publish-conflict", place=str(path), hint="try again")


def _table(path: Path) -> DeltaTable | None:
    try:
        return DeltaTable(str(path)) if path.is_dir() else None
    except TableNotFoundError:
        return None
    except DeltaError as problem:
        hint = "move the folder away, and the tables beside it; final rows are in the views' snapshots, too"
        message = f"unreadable: {problem}"
        raise IntegrityProblem(message, kind="delta-unreadable", place=str(path), hint=hint) from problem


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


def _append(rows: pa.Table, table: DeltaTable | Path, name: str, metadata: dict[str, str]) -> None:
    """Exactly behind the version that was looked at: the commit fails if there is another one by now."""
    if isinstance(table, Path):
        table.parent.mkdir(parents=True, exist_ok=True)
    properties = CommitProperties(custom_metadata=metadata, max_commit_retries=0)
    target = str(table) if isinstance(table, Path) else table
    mode = "error" if isinstance(table, Path) else "append"
    write_deltalake(target, rows, mode=mode, name=name, commit_properties=properties)
