"""The file formats of a drop, each read into raw columns without losing a digit.

* Parquet: as typed in the file (:mod:`cumulus_ops.files.parquet`).
* CSV: every column as text (:mod:`cumulus_ops.files.csv_files`).
* JSON, an object per line or an array of them: numbers as the declared types (:mod:`cumulus_ops.files.json_files`).

Lines that are not rows at all come back as :class:`~cumulus_ops.files.columns.Malformed`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from cumulus_ops.files.columns import EVENT, OP, RawFile, relation_schema
from cumulus_ops.files.csv_files import read_csv
from cumulus_ops.files.json_files import read_json
from cumulus_ops.files.landed import check_signature
from cumulus_ops.files.parquet import Groups, read_parquet
from cumulus_ops.project.errors import ColumnsWait, InputProblem
from cumulus_ops.project.settings import LandingSettings
from m3.program import Relation

__all__ = ["FORMATS", "by_newest_names", "format_of", "read_raw"]


#: How the name of a file ends -> its format.
FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".json": "json",
    ".json.gz": "json",
    ".ndjson": "json",
    ".ndjson.gz": "json",
    ".jsonl": "json",
    ".jsonl.gz": "json",
}


def format_of(name: str) -> tuple[str, str]:
    """The relation that a file's name says, and the format; "" for none.

    >>> format_of("orders.csv.gz"), format_of("orders.JSON"), format_of("orders.xlsx")
    (('orders', 'csv'), ('orders', 'json'), ('orders', ''))
    """
    stem, dot, suffix = name.partition(".")
    return stem, FORMATS.get(f"{dot}{suffix}".lower(), "")


def read_raw(
    path: Path, relation: Relation, rows: int, settings: LandingSettings, memory: int, groups: Groups | None = None
) -> Iterator[RawFile]:
    """Reads one file of a drop, in pieces that no atomic event crosses.

    Args:
        path: the file; its suffix is one of :data:`FORMATS`.
        relation: whose columns are wanted.
        rows: Parquet whose events are in order comes in pieces of at most so many rows.
        settings: how the files of the relation are read.
        memory: the bytes that may be held.
        groups: the row groups of a Parquet file that are read; None for all.

    Raises:
        InputProblem: the file cannot be read, or has not the relation's columns.
    """
    schema = relation_schema(relation)
    for name, older in settings.older.items():
        for other in older:
            schema = schema.append(pa.field(other, schema.field(name).type))
    schema = schema.append(pa.field(OP, pa.string())).append(pa.field(EVENT, pa.int64()))
    kind = next((kind for ending, kind in FORMATS.items() if path.name.lower().endswith(ending)), "")
    try:
        check_signature(path, kind, memory)
        match kind:
            case "parquet":
                raws = read_parquet(path, schema.names, rows, memory, groups)
            case "csv":
                raws = read_csv(path, schema.names, settings, memory)
            case _:
                raws = read_json(path, schema, settings, memory)
        for raw in raws:
            _refuse_waiting(path, raw, settings)
            yield replace(by_newest_names(raw, settings.older), ops=settings.ops)
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error, MemoryError, OverflowError) as problem:
        words = str(problem).partition("\n")[0][:300] or type(problem).__name__
        raise InputProblem(
            f"cannot be read as {kind}: {words}",
            kind="unreadable-file",
            place=str(path),
            hint="write the file again at the source, and deliver it as a new drop",
        ) from problem


def by_newest_names(raw: RawFile, older: Mapping[str, Sequence[str]]) -> RawFile:
    """A file whose columns have the names that they have now, where it has some by older ones."""
    if not older:
        return raw
    found = raw.columns.column_names
    names, taken = dict[str, str](), set(found)
    for name, others in older.items():
        old = next((other for other in others if other in taken), None)
        if name not in taken and old is not None:
            names[old] = name
    gone = {other for others in older.values() for other in others} - names.keys()
    columns = raw.columns.select([name for name in found if name not in gone])
    return replace(raw, columns=columns.rename_columns([names.get(n, n) for n in columns.column_names]))


def _refuse_waiting(path: Path, raw: RawFile, settings: LandingSettings) -> None:
    """A file with columns that are declared, and not deployed, is for later: now they would be left out."""
    found = {name.strip().casefold() for name in raw.ignored}
    there = [name for name in settings.waiting if name.casefold() in found]
    if there:
        raise ColumnsWait.of(there, str(path))
