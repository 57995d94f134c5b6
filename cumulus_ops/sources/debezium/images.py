"""The rows of many envelopes, read at once: JSON texts as columns."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson
from msgspec import Raw

from cumulus_ops.errors import SetupProblem
from cumulus_ops.sources.columns import readable
from cumulus_ops.sources.debezium.schemas import Encoding, encoding_of, encodings_in
from cumulus_ops.sources.debezium.values import decoded
from m3.program import Relation

__all__ = ["ImageReader", "nulls_at"]

#: Rows that are looked at for the types of columns without a schema.
PROBED_ROWS = 1000
#: A number with an exponent, whose size Arrow does not check.
EXPONENT = re.compile(rb"[:\s]-?[0-9.]+[eE]")


@dataclass(frozen=True)
class ImageReader:
    """Reads the rows of a relation.

    Args:
        relation: whose rows.
        place: for people.
        decimals: what texts of DECIMAL columns are, if there is no schema: ``string`` or ``base64``.
        timestamps: what integers of TIMESTAMP columns are, if there is no schema: ``ms``, ``us`` or ``ns``.
    """

    relation: Relation
    place: str
    decimals: str | None = None
    timestamps: str | None = None

    def read(self, images: Sequence[Raw], schemas: Sequence[Raw]) -> pa.Table:
        """The relation's columns, a row per image, each as the schema beside it says.

        Raises:
            SetupProblem: a column is missing, or of a type that no column has.
        """
        parts, begin = [], 0
        for schema, group in groupby(map(bytes, schemas)):
            end = begin + sum(1 for _ in group)
            parts.append(self._read_alike(images[begin:end], schema))
            begin = end
        return _stacked(parts)

    def _read_alike(self, images: Sequence[Raw], schema: bytes) -> pa.Table:
        known = encodings_in(schema)
        encodings = self._probed(images) if known is None else known
        wanted = {c.name: self._checked(c.name, encodings) for c in self.relation.columns if c.name in encodings}
        missing = [c.name for c in self.relation.columns if c.name not in wanted and not c.type.nullable]
        if missing:
            raise SetupProblem(
                f"has no column {', '.join(map(repr, missing))}",
                kind="missing-column",
                place=self.place,
                hint=f"the table has {', '.join(sorted(encodings))}; the relation's columns have the same names",
            )
        table = _parsed(images, wanted)
        columns = {
            c.name: decoded(table.column(c.name).combine_chunks(), wanted[c.name])
            if c.name in wanted
            else pa.nulls(len(images))
            for c in self.relation.columns
        }
        return readable(pa.table(columns), self.relation, self.place)

    def _checked(self, name: str, encodings: Mapping[str, Encoding]) -> Encoding:
        found = encodings[name]
        if found.json is None:
            raise SetupProblem(
                f"column {name} is {found.meaning}, which no column type holds",
                kind="wrong-type",
                place=self.place,
                hint="take it out of the relation, or convert it in the connector (a transform, or a converter for its type)",
            )
        return found

    def _probed(self, images: Iterable[Raw]) -> dict[str, Encoding]:
        """Without a schema: by the first value of each column, and what the column is declared as."""
        types = {c.name: c.type for c in self.relation.columns}
        first: dict[str, type | None] = {}
        for image, _ in zip(images, range(PROBED_ROWS), strict=False):
            for name, value in json.loads(bytes(image)).items():
                if first.get(name) is None:
                    first[name] = None if value is None else type(value)
            if all(first.get(name) is not None for name in types):
                break
        return {
            name: encoding_of(types[name], found, self.decimals, self.timestamps) if name in types else Encoding(None)
            for name, found in first.items()
        }


def _parsed(images: Sequence[Raw], wanted: Mapping[str, Encoding]) -> pa.Table:
    """As JSON; if not all of it can be read so, one row after the other."""
    block = b"\n".join(images)
    schema = pa.schema([(name, encoding.json) for name, encoding in wanted.items()])
    try:
        if any(pa.types.is_floating(t) for t in schema.types) and EXPONENT.search(block):
            return _one_by_one(images, schema)
        options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        read = pajson.ReadOptions(use_threads=False, block_size=max(1 << 20, len(block) + 1))
        return (
            pajson.read_json(io.BytesIO(block), read_options=read, parse_options=options)
            .select(schema.names)
            .combine_chunks()
        )
    except pa.ArrowInvalid:
        return _one_by_one(images, schema)


def _one_by_one(images: Sequence[Raw], schema: pa.Schema) -> pa.Table:
    """The careful way: what has not the type of its column becomes text, and the column with it."""
    rows = [json.loads(bytes(image), parse_float=_Number, parse_constant=str) for image in images]
    return pa.table({f.name: _column([row.get(f.name) for row in rows], f.type) for f in schema})


class _Number(str):
    """A number that is not an integer, by its digits."""


def _column(values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        if pa.types.is_floating(type_):
            return pa.array([None if v is None else float(_number(v)) for v in values], type_)
        if pa.types.is_boolean(type_) and any(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise pa.ArrowInvalid("numbers")
        return pa.array(values, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
        return pa.array([_text(v) for v in values], pa.string())


def _number(value: object) -> str | int:
    if isinstance(value, (_Number, int)) and not isinstance(value, bool) and abs(float(value)) != float("inf"):
        return value
    raise ValueError(value)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _stacked(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several schemas; columns that differ in type as text."""
    if len(parts) == 1:
        return parts[0]
    columns = {}
    for name in parts[0].column_names:
        found = [part.column(name) for part in parts]
        types = {column.type for column in found if not pa.types.is_null(column.type)}
        target = types.pop() if len(types) == 1 else pa.string()
        columns[name] = pa.chunked_array(
            [pc.cast(chunk, target) for column in found for chunk in column.chunks], target
        )
    return pa.table(columns)


def nulls_at(column: pa.ChunkedArray, where: np.ndarray) -> pa.ChunkedArray:
    """A column with NULL at some places."""
    return pc.if_else(pa.array(where), pa.scalar(None, column.type), column)
