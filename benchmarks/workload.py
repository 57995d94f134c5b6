"""TPC-H: the queries' texts, what they read, the tables in the formats that contestants read, and the stream as drops."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

from benchmarks.progress import say
from benchmarks.settings import REPOSITORY
from cumulus_ops.demo.tpch import TABLES, generate_tables, plain_schema

__all__ = [
    "count_rows",
    "csv_of",
    "drops_of",
    "first_rows",
    "forget",
    "relations_of",
    "scale_name",
    "sql_of",
    "tables_of",
    "without_order",
]

VIEWS = REPOSITORY / "examples" / "tpch" / "views"


def sql_of(query: str) -> str:
    """A query's text, as the demo has it."""
    return (VIEWS / f"{query}.sql").read_text(encoding="utf-8")


def without_order(sql: str) -> str:
    """The query without its outermost ORDER BY and LIMIT: what every contestant maintains or computes."""
    return re.split(r"\norder by", sql)[0]


def relations_of(queries: Sequence[str]) -> tuple[str, ...]:
    """The tables that the queries read, in the order of :data:`TABLES`."""
    named = {table.name for query in queries for table in sqlglot.parse_one(sql_of(query)).find_all(exp.Table)}
    return tuple(table for table in TABLES if table in named)


def scale_name(scale_factor: float) -> str:
    """A scale factor in names of folders."""
    return f"sf{scale_factor:g}"


def tables_of(home: Path, scale_factor: float) -> Path:
    """The folder of the generated tables, made on first use."""
    folder = home / "tables" / scale_name(scale_factor)
    if not folder.exists():
        say(f"generating TPC-H at scale factor {scale_factor:g}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    return generate_tables(folder, scale_factor)


def count_rows(tables: Path, relations: Sequence[str]) -> int:
    """The number of rows of some relations together."""
    return sum(_rows(tables / f"{relation}.parquet") for relation in relations)


def _rows(file: Path) -> int:
    return int(pq.read_metadata(file).num_rows)


def csv_of(tables: Path, relations: Sequence[str], *, header: bool, part: float = 1.0) -> Path:
    """The tables as CSV, for peers that read nothing better: full columns, dates as ISO text.

    Args:
        tables: the folder with the Parquet files.
        relations: which ones.
        header: whether the first line names the columns.
        part: only this part of each relation's rows, from its beginning.
    """
    folder = tables.with_name(f"{tables.name}-csv{'-header' if header else ''}{'' if part == 1 else f'-{part:g}'}")
    folder.mkdir(exist_ok=True)
    for relation in relations:
        file = folder / f"{relation}.csv"
        if file.exists():
            continue
        say(f"writing {file.name} of {folder.name}")
        source = tables / f"{relation}.parquet"
        rows = int(_rows(source) * part)
        temporary = file.with_suffix(".tmp")
        duckdb.execute(f"COPY ({first_rows(source, rows)}) TO '{temporary}' (FORMAT csv, HEADER {header})")
        temporary.rename(file)
    return folder


def first_rows(table: Path, rows: int) -> str:
    """SQL for a table's first rows. (A LIMIT inside a larger query may take any rows.)"""
    source = f"read_parquet('{table}', file_row_number = true)"
    return f"SELECT * EXCLUDE (file_row_number) FROM {source} WHERE file_row_number < {rows}"


def drops_of(home: Path, tables: Path, relations: Sequence[str], batch_events: int) -> Path:
    """The whole stream of some relations, inserts only, all tables interleaved in proportion, as landed drops.

    Returns:
        a landing folder: ``0/<number>/<relation>.parquet`` with the relation's full columns, ``op`` and ``event``.
    """
    landing = home / "drops" / f"{tables.name}-{'-'.join(r[0:2] + r[-1] for r in relations)}-{batch_events}"
    if landing.exists():
        return landing
    say(f"landing {', '.join(relations)} of {tables.name} in batches of {batch_events}")
    temporary = landing.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    count = max(1, -(-count_rows(tables, relations) // batch_events))
    for number in range(count):
        (temporary / "0" / f"p{number:06}").mkdir(parents=True)
    place = 0
    for relation in relations:
        source = tables / f"{relation}.parquet"
        for number, part in _slices(source, count):
            rows = part.append_column("op", pa.repeat(pa.scalar("I"), len(part)))
            rows = rows.append_column("event", pa.array(np.arange(place, place + len(part))))
            place += len(part)
            file = temporary / "0" / f"p{number:06}" / f"{relation}.parquet"
            pq.write_table(rows, file, store_decimal_as_integer=True)  # as Spark and DuckDB write them
    temporary.rename(landing)
    return landing


def _slices(file: Path, count: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a file in ``count`` parts of equal size, without reading it as a whole; empty parts are left out."""
    source = pq.ParquetFile(file)
    schema = plain_schema(source.schema_arrow)
    total, number, done = source.metadata.num_rows, 0, 0
    waiting: list[pa.RecordBatch] = []
    for batch in source.iter_batches(1 << 16):
        while len(batch):
            end = total * (number + 1) // count
            taken = batch.slice(0, end - done)
            waiting.append(taken)
            done, batch = done + len(taken), batch.slice(len(taken))
            if done == end:
                if any(map(len, waiting)):
                    yield number, pa.Table.from_batches(waiting).cast(schema)
                number, waiting = number + 1, []


def forget(folder: Path, keep: bool) -> None:
    """Delete what can be made again, unless it is to be kept."""
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
