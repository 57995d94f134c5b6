"""Which of PostgreSQL's types a column may have, and how their texts become those that the checks read.

Values travel as the texts that PostgreSQL prints, so no digit is lost; the checks cast them to the declared types, and reject what has no
meaning there, such as the numeric NaN or the date infinity.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from m3.datatypes import Type

__all__ = ["BUILT_IN", "may_hold", "readable", "suitable"]

#: The numbers by which the stream names PostgreSQL's own types.
BUILT_IN: Mapping[int, str] = {
    16: "bool", 18: "char", 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text", 114: "json", 700: "float4", 701: "float8",
    1042: "bpchar", 1043: "varchar", 1082: "date", 1114: "timestamp", 1184: "timestamptz", 1700: "numeric", 2950: "uuid", 3802: "jsonb",
}  # fmt: skip
INTEGERS = ("int2", "int4", "int8")
TEXTS = ("text", "varchar", "bpchar", "name", "uuid", "json", "jsonb", "enum", "citext")
SUITABLE: Mapping[str, tuple[str, ...]] = {
    "int": (*INTEGERS, "numeric"),
    "decimal": (*INTEGERS, "numeric"),
    "double": ("float8", *INTEGERS),
    "string": (*TEXTS, *INTEGERS, "numeric"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamptz"),
    "bool": ("bool",),
}


def may_hold(type_: Type, postgres: str) -> bool:
    """Whether a column of a relation may follow a column of a PostgreSQL type."""
    return postgres in SUITABLE[type_.kind]


def suitable(type_: Type) -> str:
    """The types that it may follow, for people."""
    return ", ".join(SUITABLE[type_.kind])


def readable(values: pa.Array | pa.ChunkedArray, postgres: str) -> pa.Array | pa.ChunkedArray:
    """Texts as PostgreSQL prints them, as the checks read them.

    >>> readable(pa.array(["t", None]), "bool").to_pylist()
    ['true', None]
    >>> readable(pa.array(["2026-01-02 03:04:05.5+00"]), "timestamptz").to_pylist()
    ['2026-01-02 03:04:05.5']
    """
    if postgres == "bool":
        return pc.if_else(pc.equal(values, "t"), "true", "false")
    if postgres == "bpchar":  # its trailing blanks mean nothing; PostgreSQL's own cast to text removes them, too
        return pc.utf8_rtrim(values, " ")
    if postgres == "timestamptz":  # the session's time zone is UTC
        return pc.if_else(pc.ends_with(values, "+00"), pc.utf8_slice_codeunits(values, 0, -3), values)
    return values
