"""The Arrow side of the language's types, and the schemas of events.

A relation's events carry its columns in declared order, then :data:`SIGN` (int8, +1 insert, -1 delete) and
:data:`OFFSET` (int64, the event's place in its source; rows with the same offset are one atomic event).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from cumulus_ops.project.errors import InputProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Relation

__all__ = [
    "EVENT",
    "NO_REJECTED",
    "OFFSET",
    "OP",
    "REJECTED_SCHEMA",
    "SIGN",
    "UPDATE",
    "VERSION",
    "Malformed",
    "RawFile",
    "arrow_type",
    "bad_columns",
    "event_schema",
    "found_columns",
    "ignored_columns",
    "m3_type",
    "relation_schema",
    "stored_type",
]


#: A landed file's columns beside the relation's.
OP, EVENT = "op", "event"
#: A log file's columns beside the relation's.
SIGN, OFFSET, VERSION = "_sign", "_offset", "_version"
#: The sign of a checked row that replaces the one with its key; keys make a delete and an insert of it before it is stamped.
UPDATE = 2

DECIMAL64_DIGITS = 18

#: Rows that were not accepted: the kind of reason, by which they can be grouped, the reason in words, the 0-based row in the file, and
#: the row itself as JSON text.
REJECTED_SCHEMA = pa.schema(
    [("kind", pa.string()), ("reason", pa.string()), ("row", pa.int64()), ("record", pa.string())]
)
#: Of most pieces. Arrow takes 25 us to make a table of no rows.
NO_REJECTED = pa.Table.from_batches([], REJECTED_SCHEMA)  # `empty_table` would import pandas

ARROW: dict[str, pa.DataType] = {
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
}


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column; a DECIMAL is a decimal128 of the same precision and scale. Views may have lists, too."""
    if type_.element is not None:
        return pa.list_(arrow_type(type_.element))
    return pa.decimal128(type_.precision, type_.scale) if type_.kind == "decimal" else ARROW[type_.kind]


def stored_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column in the log: :func:`arrow_type`, but decimal64 for a DECIMAL that fits, which Parquet
    keeps as integers: they take a third of the time to write and to read, and are what the engine computes with."""
    if type_.kind == "decimal" and type_.precision <= DECIMAL64_DIGITS:
        return pa.decimal64(type_.precision, type_.scale)
    return arrow_type(type_)


def m3_type(type_: pa.DataType, *, nullable: bool = False) -> Type:
    """The narrowest column type that holds every value of an Arrow type.

    Raises:
        InputProblem: no column type does, e.g. for lists and binary data.
    """
    if pa.types.is_decimal(type_):
        return decimal(type_.precision, type_.scale).with_null(nullable)
    if pa.types.is_dictionary(type_):
        return m3_type(type_.value_type, nullable=nullable)
    for belongs, found in _KINDS:
        if belongs(type_):
            return found.with_null(nullable)
    raise InputProblem(f"no column type for Arrow's {type_}", kind="unsupported-type", hint="cast it at the source")


def _is_int(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) and type_ != pa.uint64())


_KINDS = (
    (_is_int, INT),
    (pa.types.is_floating, DOUBLE),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_date, DATE),
    (pa.types.is_timestamp, TIMESTAMP),
    (pa.types.is_boolean, BOOL),
)


def relation_schema(relation: Relation) -> pa.Schema:
    """The relation's columns in declared order, as a landed file has them."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in relation.columns])


def event_schema(relation: Relation) -> pa.Schema:
    """The relation's columns as the log has them, then ``_sign`` int8 and ``_offset`` int64."""
    columns = [(column.name, stored_type(column.type)) for column in relation.columns]
    return pa.schema([*columns, (SIGN, pa.int8()), (OFFSET, pa.int64())])


# A drop's file as read, before anything of it is checked.


@dataclass(frozen=True)
class Malformed:
    """A line that is not a row: its 0-based row number, the reason in words, its text, and the kind of reason. Where its ``event`` is
    known, what else belongs to that is rejected with it, and no other."""

    row: int
    reason: str
    text: str
    kind: str = "malformed-line"
    event: int | None = None


@dataclass(frozen=True)
class RawFile:
    """A file as read, or a piece of it that no atomic event crosses: ``columns`` of the wanted names, ``row`` their 0-based
    row numbers in the file (malformed lines left out), ``ignored`` the names of columns nobody asked for. Without a column ``event``, each row is an event by itself. ``ops``: see
    :class:`~cumulus_ops.project.settings.LandingSettings`."""

    columns: pa.Table
    row: np.ndarray
    ignored: tuple[str, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    ops: Mapping[str, str] | Literal["insert"] = field(default_factory=dict)


def bad_columns(path: Path | str, message: str, kind: str) -> InputProblem:
    """What a file with wrong columns is answered with."""
    hint = "a file has the relation's columns, 'op' (I or D) and 'event' (its offset in the source)"
    return InputProblem(message, kind=kind, place=str(path), hint=hint)


# Which column of a file is which of the relation.


def found_columns(place: Path | str, found: Sequence[str], wanted: Sequence[str]) -> Mapping[str, int]:
    """Where the wanted columns are: by their very name, or by one that differs in case and surrounding blanks alone.

    >>> found_columns("orders.csv", ["ID ", "Price", "other"], ["id", "price", "note"])
    {'id': 0, 'price': 1}

    Returns:
        wanted name -> its index among the found ones; what is missing is left out.

    Raises:
        InputProblem: there are several candidates.
    """
    places: dict[str, int] = {}
    plain = [_plain(name) for name in found]
    for name in wanted:
        candidates = [i for i, other in enumerate(found) if other == name]
        if not candidates and [_plain(w) for w in wanted].count(_plain(name)) == 1:
            candidates = [i for i, other in enumerate(plain) if other == _plain(name)]
        if len(candidates) > 1:
            raise bad_columns(place, f"has the column {name!r} twice", "doubled-column")
        if candidates:
            places[name] = candidates[0]
    return places


def ignored_columns(found: Sequence[str], places: Mapping[str, int]) -> tuple[str, ...]:
    """The names of those columns that nobody asked for."""
    used = set(places.values())
    return tuple(name for i, name in enumerate(found) if i not in used)


def _plain(name: str) -> str:
    return name.strip().casefold()
