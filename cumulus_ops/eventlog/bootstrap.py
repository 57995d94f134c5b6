"""Existing tables as the first drop: the rows that were there before the first change.

Each table's rows become inserts with the events -N .. -1, before all events that its source will ever number. They are
applied like any drop, in large batches: a batch costs what its rows cost, set at a time, not what its events would.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.config import Project
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.types import EVENT, OP
from m3.program import Relation

__all__ = ["TABLES", "land_tables"]

#: The drop's name: it sorts before others.
TABLES = "0000-tables"
ROWS = 1 << 17


def land_tables(project: Project, folder: Path) -> Path:
    """Land ``<folder>/<relation>.parquet`` as one drop of coordinator 0; a relation without a file begins empty.

    The drop appears by one rename, complete; if it is there already, nothing is done.

    Args:
        project: the project.
        folder: the tables; their columns may come in any order, and more than the declared ones.

    Returns:
        the drop's folder.

    Raises:
        InputProblem: there is no table of any relation, or one lacks a column.
    """
    drop = project.landing / "0" / TABLES
    if drop.exists():
        return drop
    files = {r: folder / f"{r.name}.parquet" for r in project.relations if (folder / f"{r.name}.parquet").is_file()}
    if not files:
        names = ", ".join(f"{r.name}.parquet" for r in project.relations)
        raise InputProblem(
            "holds no table of the project", kind="no-tables", place=str(folder), hint=f"put {names} there"
        )
    temporary = drop.with_name(f".{TABLES}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for relation, file in files.items():
        _copy(relation, file, temporary / file.name)
    (temporary / "_SUCCESS").touch()
    temporary.rename(drop)
    return drop


def _copy(relation: Relation, file: Path, target: Path) -> None:
    """The table with the columns ``op`` and ``event``, batch by batch."""
    with pq.ParquetFile(file) as source:
        names = [c.name for c in relation.columns]
        missing = set(names) - set(source.schema_arrow.names)
        if missing:
            hint = f"its columns: {', '.join(source.schema_arrow.names)}"
            raise InputProblem(f"lacks {', '.join(sorted(missing))}", kind="missing-column", place=str(file), hint=hint)
        schema = pa.schema([*map(source.schema_arrow.field, names), (OP, pa.string()), (EVENT, pa.int64())])
        event = -source.metadata.num_rows
        with pq.ParquetWriter(target, schema, compression="lz4") as writer:
            for batch in source.iter_batches(ROWS, columns=names):
                events = pa.array(np.arange(event, event + len(batch)))
                event += len(batch)
                columns = [*(batch.column(n) for n in names), pa.repeat("I", len(batch)), events]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
