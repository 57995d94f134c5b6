"""Files of the event log as a relation has its columns now.

A log file is never written again. It keeps the columns that its relation had when it was written, each under one name for good: the first name that it had
(:attr:`m3.program.Relation.stored`). So whoever reads a file projects it: a column that it does not have is NULL, or its default, one that was renamed is found
under its first name, numbers of a narrower type become the same numbers of the wider one, and columns that were removed are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from cumulus_ops.files.casting import cast_exact
from cumulus_ops.files.columns import OFFSET, SIGN, VERSION, stored_type
from m3.datatypes import Type
from m3.program import Relation

__all__ = ["as_declared", "as_stored", "missing_column", "names_in_file"]


def as_stored(relation: Relation, rows: pa.Table) -> pa.Table:
    """Rows with a relation's columns, as a log file has them. What is never NULL is declared so: then nothing is written, or read, of which values are."""
    optional = {c.name for c in relation.columns if c.type.nullable}
    fields = [
        pa.field(relation.in_log(field.name), field.type, nullable=field.name in optional) for field in rows.schema
    ]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(fields))


def names_in_file(relation: Relation, columns: Sequence[str], found: Collection[str]) -> list[str]:
    """Which columns of a file have to be read.

    Args:
        relation: as it is now.
        columns: the wanted ones, of the relation or beside it (``_sign``, ``_offset``, ``_version``).
        found: the names of those that the file has.

    Raises:
        KeyError: it lacks one that every file has.
    """
    optional = {c.name for c in relation.columns if c.type.nullable or relation.default_of(c.name) is not None}
    names = [relation.in_log(name) for name in columns]
    for name, wanted in zip(names, columns, strict=True):
        if name not in found and wanted not in optional:
            raise KeyError(f"it has no column {name}")
    return [name for name in names if name in found] or [SIGN]  # that says how many rows there are


def as_declared(relation: Relation, columns: Sequence[str], table: pa.Table) -> pa.Table:
    """What was read of a file (:func:`names_in_file`), with the wanted columns in their order, by the names and types that they have now.

    Raises:
        ArrowInvalid: a value is none of the type.
    """
    types = {c.name: c.type for c in relation.columns}
    arrays = []
    for name in columns:
        stored = relation.in_log(name)
        if name in (SIGN, OFFSET, VERSION):
            arrays.append(table[name])
        elif stored in table.column_names:
            arrays.append(_widen(table[stored], types[name]))
        else:
            arrays.append(missing_column(relation, name, len(table)))
    return pa.table(arrays, names=list(columns))


def missing_column(relation: Relation, name: str, rows: int) -> pa.ChunkedArray:
    """What a column is in rows that came without it, in its stored type.

    >>> from m3.datatypes import decimal
    >>> from m3.program import Column
    >>> relation = Relation("r", (Column("a", decimal(9, 2)),), defaults=(("a", "1.5"),))
    >>> missing_column(relation, "a", 2).to_pylist()
    [Decimal('1.50'), Decimal('1.50')]
    """
    (type_,) = (c.type for c in relation.columns if c.name == name)
    values, _ = cast_exact(pa.chunked_array([pa.array([relation.default_of(name)], pa.string())]), type_)
    return pa.chunked_array([pa.repeat(values[0], rows)], stored_type(type_))


def _widen(column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
    """Numbers as those of a wider type. How else a file stores a column is its own affair."""
    is_number = pa.types.is_decimal(column.type) or pa.types.is_integer(column.type)
    if type_.kind != "decimal" or not is_number or column.type == stored_type(type_):
        return column
    values, bad = cast_exact(column, type_)
    if bad.any():
        raise pa.ArrowInvalid(f"a value is no {type_}")
    return values
