"""The Arrow side of the language's types, and the schemas of events.

A relation's events carry its columns in declared order, then :data:`SIGN` (int8, +1 insert, -1 delete) and
:data:`OFFSET` (int64, the event's place in its source; rows with the same offset are one atomic event).
"""

from __future__ import annotations

import pyarrow as pa

from cumulus_ops.errors import InputProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Relation

__all__ = [
    "EVENT",
    "OFFSET",
    "OP",
    "REJECTED_SCHEMA",
    "SIGN",
    "UPDATE",
    "VERSION",
    "arrow_type",
    "event_schema",
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

ARROW: dict[str, pa.DataType] = {
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
}


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column; a DECIMAL is a decimal128 of the same precision and scale."""
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


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_int(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) and type_ != pa.uint64())


_KINDS = (
    (_is_int, INT),
    (pa.types.is_floating, DOUBLE),
    (_is_text, STRING),
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
