"""The rows of many envelopes, read at once: JSON texts as columns."""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson
from msgspec import Raw
from msgspec.json import decode

from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.settings import LandingSettings
from cumulus_ops.sources.shapes import ShownColumn, guess_column
from cumulus_ops.sources.source import make_readable, match_columns
from m3.datatypes import BOOL, DATE, DOUBLE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal
from m3.program import Relation

__all__ = [
    "Encoding",
    "ImageReader",
    "decimal_text",
    "decode_column",
    "describe_images",
    "encoding_of",
    "encodings_in",
    "nulls_at",
]


# What the columns of a table are encoded as: from the schema that a message carries, or from what a project says.
#
# A value's JSON is read as one type (``json``) and then means another: ``"AfQ="`` is read as text, and means 5.00 where the schema says
# ``org.apache.kafka.connect.data.Decimal`` of scale 2.


INTEGER = re.compile(r"-?[0-9]{1,4}")
CONNECT, TIME, DATA = "org.apache.kafka.connect.data", "io.debezium.time", "io.debezium.data"
INTEGERS = ("int8", "int16", "int32", "int64")
#: The name of a schema -> what its values mean.
MEANINGS: Mapping[str, str] = {
    f"{CONNECT}.Decimal": "decimal",
    f"{DATA}.VariableScaleDecimal": "variable decimal",
    f"{TIME}.Date": "days",
    f"{CONNECT}.Date": "days",
    f"{TIME}.Timestamp": "ms",
    f"{CONNECT}.Timestamp": "ms",
    f"{TIME}.MicroTimestamp": "us",
    f"{TIME}.NanoTimestamp": "ns",
    f"{TIME}.ZonedTimestamp": "zoned",
    f"{TIME}.IsoTimestamp": "zoned",
    f"{TIME}.IsoDate": "zoned date",
}
JSON_TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys(INTEGERS, pa.int64()),
    "float": pa.float64(), "float32": pa.float64(), "double": pa.float64(), "float64": pa.float64(), "boolean": pa.bool_(),
    "string": pa.string(),
}  # fmt: skip
VARIABLE = pa.struct([("scale", pa.int32()), ("value", pa.string())])


@dataclass(frozen=True)
class Encoding:
    """How a column is written.

    ``json`` is the Arrow type that its JSON is read as; None if it cannot be. ``meaning`` is one of ``plain``, ``decimal`` (base64 of ``scale``), ``variable
    decimal``, ``days``, ``ms``, ``us``, ``ns``, ``zoned``, ``zoned date``, ``unsure`` (may be one or the other), or words for people.
    """

    json: pa.DataType | None
    meaning: str = "plain"
    scale: int = 0
    precision: int = 0


@lru_cache(maxsize=1024)
def encodings_in(schema: bytes) -> Mapping[str, Encoding] | None:
    """column -> encoding, from the schema of an envelope; None if it has none.

    >>> schema = b'{"fields": [{"field": "after", "fields": [{"field": "day", "type": "int32", "name": "io.debezium.time.Date"}]}]}'
    >>> encodings_in(schema)["day"].meaning
    'days'
    """
    if schema in (b"", b"null"):
        return None
    found: dict[str, Encoding] = {}
    for image in _fields(json.loads(schema)):
        if image.get("field") in ("before", "after"):
            found.update({str(f.get("field")): _encoding(f) for f in _fields(image)})
    return found or None


def _fields(schema: Any) -> list[dict[str, Any]]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return [f for f in fields if isinstance(f, dict)] if isinstance(fields, list) else []


def _encoding(field: dict[str, Any]) -> Encoding:
    name, type_ = str(field.get("name") or ""), str(field.get("type"))
    meaning = MEANINGS.get(name, "plain")
    if meaning == "decimal":
        parameters = field.get("parameters")
        scale = str(parameters.get("scale", 0)) if isinstance(parameters, dict) else "0"
        precision = str(parameters.get("connect.decimal.precision", "")) if isinstance(parameters, dict) else ""
        return (
            Encoding(pa.string(), meaning, int(scale), int(precision) if INTEGER.fullmatch(precision) else 0)
            if INTEGER.fullmatch(scale)
            else Encoding(None, f"a decimal of scale {scale}")
        )
    if meaning == "variable decimal":
        return Encoding(VARIABLE, meaning)
    if type_ in JSON_TYPES:
        return Encoding(JSON_TYPES[type_], meaning)
    return Encoding(None, f"{type_} ({name})" if name else type_)


def encoding_of(type_: Type, found: type | None, decimals: str | None, timestamps: str | None) -> Encoding:
    """The encoding of a column without a schema.

    Args:
        type_: as declared.
        found: the Python type of its first value; None if all are NULL.
        decimals: what the project says of texts in DECIMAL columns: ``string`` or ``base64``.
        timestamps: what it says of integers in TIMESTAMP columns: ``ms``, ``us`` or ``ns``.
    """
    if found is None or found is bool:
        return Encoding(pa.bool_() if found else pa.string())
    if found is str:
        if type_.kind == "decimal" and decimals != "string":
            return Encoding(pa.string(), "decimal" if decimals == "base64" else "unsure", type_.scale)
        return Encoding(pa.string(), {"timestamp": "zoned", "date": "zoned date"}.get(type_.kind, "plain"))
    if found is int and type_.kind == "date":
        return Encoding(pa.int64(), "days")
    if found is int and type_.kind == "timestamp":
        return Encoding(pa.int64(), timestamps or "unsure")
    if found in (int, float):
        return Encoding(pa.float64() if type_.kind in ("decimal", "double") else pa.int64())
    if found is dict and type_.kind == "decimal":
        return Encoding(VARIABLE, "variable decimal")
    return Encoding(None, "a structure")


# Values as they are encoded in envelopes, as the checks read them: nothing is lost, and what has no meaning stays what it is, to be rejected.


#: Bytes of an unscaled value that fits an int64.
NARROW = 8
#: A text with a point is a number: base64 has none.
WITH_POINT = r"^-?[0-9]+\.[0-9]+$"
#: As many digits as fit an int64 for certain.
WHOLE = r"^-?[0-9]{1,18}$"
UNITS = {"ms": pa.timestamp("ms"), "us": pa.timestamp("us")}
ALL_DIGITS = Context(prec=100_000)


def decode_column(column: pa.Array, encoding: Encoding) -> pa.Array:
    """A column that was read as ``encoding.json``, as it is meant.

    >>> decode_column(pa.array(["AfQ=", None]), Encoding(pa.string(), "decimal", 2)).to_pylist()
    [Decimal('5.00'), None]
    >>> decode_column(pa.array(["2018-06-20T13:37:03Z"]), Encoding(pa.string(), "zoned")).to_pylist()
    ['2018-06-20 13:37:03']
    """
    if pa.types.is_string(column.type) and encoding.meaning in ("days", "ms", "us", "ns"):
        # A column in which some value is no number, as text: the others mean what they mean.
        whole = pc.match_substring_regex(column, WHOLE)
        numbers = pc.cast(pc.if_else(whole, column, pa.scalar(None, pa.string())), pa.int64())
        return pc.if_else(whole, pc.cast(decode_column(numbers, encoding), pa.string()), column)
    match encoding.meaning:
        case "decimal":
            return _decimals(column, encoding.scale)
        case "variable decimal":
            return pa.array([_variable(value) for value in column.to_pylist()], pa.string())
        case "days":
            return _days(column)
        case "ms" | "us":
            return pc.cast(column, UNITS[encoding.meaning])
        case "ns":
            return _nanoseconds(column)
        case "zoned":
            return pc.replace_substring_regex(column, r"^(\S+)T(\S+?)(Z|\+00:00)?$", r"\1 \2")
        case "zoned date":
            return pc.replace_substring_regex(column, r"Z$", "")
        case "unsure":
            return _show_unsure(column)
    return column


def decimal_text(value: str | None, scale: int | None) -> str | None:
    """An unscaled big-endian number in two's complement, in base64, as text.

    >>> decimal_text("AfQ=", 2), decimal_text("/w==", 1)
    ('5.00', '-0.1')
    """
    if value is None:
        return None
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return f"{value!r}, which is not base64"
    if not raw or scale is None or abs(scale) > 1000 or len(raw) > 256:
        return f"{value[:100]!r} of scale {scale}"
    return f"{Decimal(int.from_bytes(raw, 'big', signed=True)).scaleb(-scale, ALL_DIGITS):f}"


def _variable(value: dict[str, Any] | str | None) -> str | None:
    """A number with its own scale; as a text, if another of its column is something else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return None if found is None else decimal_text(str(found["value"]), int(found["scale"]))
    except (ValueError, TypeError, KeyError):
        return f"{value!r}, which is not a scale and a value"


def _decimals(column: pa.Array, scale: int) -> pa.Array:
    """Unscaled numbers, decoded once for each that occurs, in the narrowest way that they allow."""
    if not 0 <= scale <= 38:
        return pa.array([decimal_text(v, scale) for v in column.to_pylist()], pa.string())
    words = pc.dictionary_encode(column)
    numbers = [_unscaled(value) for value in words.dictionary.to_pylist()]
    if all(n is not None and -(10**18) < n < 10**18 for n in numbers):
        unscaled = pa.array(numbers, pa.int64()).take(words.indices)
        return _widen(unscaled, scale)
    texts = pa.array([decimal_text(value, scale) for value in words.dictionary.to_pylist()], pa.string())
    return texts.take(words.indices)


def _unscaled(value: str) -> int | None:
    try:
        raw = binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    return int.from_bytes(raw, "big", signed=True) if 0 < len(raw) <= NARROW else None


def _widen(unscaled: pa.Array, scale: int) -> pa.Array:
    """int64 as decimal128 of 18 digits, by their bytes: no number is computed."""
    low = np.asarray(unscaled.fill_null(0), dtype=np.int64)
    both = np.empty((len(low), 2), dtype=np.int64)
    both[:, 0], both[:, 1] = low, low >> 63
    valid = None if unscaled.null_count == 0 else unscaled.is_valid().buffers()[1]
    type_ = pa.decimal128(max(18, scale), scale)
    return pa.Array.from_buffers(type_, len(low), [valid, pa.py_buffer(both)], null_count=unscaled.null_count)


def _days(column: pa.Array) -> pa.Array:
    try:
        return pc.cast(pc.cast(column, pa.int32()), pa.date32())
    except pa.ArrowInvalid:
        return pc.binary_join_element_wise(pc.cast(column, pa.string()), "days since 1970", " ")


def _nanoseconds(column: pa.Array) -> pa.Array:
    """As microseconds, unless there is something behind them."""
    micros = pc.divide(column, 1000)
    if pc.all(pc.equal(pc.multiply(micros, 1000), column)).as_py() is not False:
        return pc.cast(micros, pa.timestamp("us"))
    return pc.binary_join_element_wise(pc.cast(column, pa.string()), "nanoseconds since 1970", " ")


def _show_unsure(column: pa.Array) -> pa.Array:
    """Without a schema: what can only be one thing is it; the rest says what it may be, and is rejected."""
    if pa.types.is_integer(column.type):
        text = "ms, us or ns since 1970? Say `timestamps: us` for the source, or send schemas"
        return pc.binary_join_element_wise(pc.cast(column, pa.string()), text, " ")
    text = "a number, or base64 of one? Say `decimals: base64` or `decimals: string` for the source, or send schemas"
    certain: Any = pc.match_substring_regex(column, WITH_POINT)
    return pc.if_else(certain, column, pc.binary_join_element_wise(column, text, " "))


def describe_images(images: Sequence[Raw], schema: bytes) -> list[ShownColumn]:
    """The columns of rows, by the schema of the last of them, or else by their values."""
    known = encodings_in(schema)
    if known is None:
        rows = [json.loads(bytes(image), parse_float=Decimal) for image in images]
        names = dict.fromkeys(name for row in rows[-1:] for name in row)
        return [guess_column(name, (row.get(name) for row in rows)) for name in names]
    return [_describe(name, encoding) for name, encoding in known.items()]


def _describe(name: str, encoding: Encoding) -> ShownColumn:
    meanings = {"days": DATE, "zoned date": DATE, **dict.fromkeys(("ms", "us", "ns", "zoned"), TIMESTAMP)}
    plain = {pa.int64(): INT, pa.string(): STRING, pa.bool_(): BOOL, pa.float64(): DOUBLE}
    found = meanings.get(encoding.meaning)
    if encoding.meaning == "plain" and encoding.json is not None:
        found = plain.get(encoding.json)
    if encoding.meaning == "decimal" and 0 <= encoding.scale <= encoding.precision <= MAX_PRECISION:
        found = decimal(encoding.precision, encoding.scale)
    what = f"a decimal of scale {encoding.scale}" if encoding.meaning == "decimal" else encoding.meaning
    return ShownColumn(name, found and found.with_null(), what)


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
        files: the older names of its columns, and those that are not deployed yet.
    """

    relation: Relation
    place: str
    decimals: str | None = None
    timestamps: str | None = None
    files: LandingSettings = field(default_factory=LandingSettings)

    def names_of(self, column: str) -> tuple[str, ...]:
        """What a column may be called in messages: its own name first."""
        return (column, *self.files.older.get(column, ()))

    def read(self, images: Sequence[Raw], schemas: Sequence[Raw]) -> pa.Table:
        """The relation's columns, a row per image, each as the schema beside it says.

        Raises:
            SetupProblem: a column is missing, or of a type that no column has.
        """
        parts, begin = [], 0
        for (schema, _), group in groupby(map(self._shape, images, schemas)):
            end = begin + sum(1 for _ in group)
            parts.append(self._read_alike(images[begin:end], schema))
            begin = end
        return _stack(parts)

    def _shape(self, image: Raw, schema: Raw) -> tuple[bytes, frozenset[str]]:
        """Images with the same are read together: the schema; or, without one, which of the columns are there that may be called otherwise, or be missing."""
        written = bytes(schema)
        doubtful = {name for column in self.files.older for name in self.names_of(column)} | dict(
            self.relation.defaults
        ).keys()
        if not doubtful or encodings_in(written) is not None:
            return written, frozenset()
        return written, frozenset(doubtful & decode(bytes(image), type=dict[str, Raw]).keys())

    def _read_alike(self, images: Sequence[Raw], schema: bytes) -> pa.Table:
        known = encodings_in(schema)
        encodings = self._probe(images) if known is None else known
        names = match_columns(self.relation, self.files, encodings.keys(), self.place)
        wanted = {column: encodings[name] for column, name in names.items()}
        for name, encoding in wanted.items():
            if encoding.json is None:
                raise SetupProblem(
                    f"column {name} is {encoding.meaning}, which no column type holds",
                    kind="wrong-type",
                    place=self.place,
                    hint="take it out of the relation, or convert it in the connector (a transform, or a converter for its type)",
                )
        table = _parse(images, {name: wanted[column] for column, name in names.items()})
        columns = {
            c.name: decode_column(table.column(names[c.name]).combine_chunks(), wanted[c.name])
            if c.name in wanted
            else self._missing(c.name, len(images))
            for c in self.relation.columns
        }
        return make_readable(pa.table(columns), self.relation, self.place)

    def _missing(self, name: str, rows: int) -> pa.Array:
        """A column that is not there."""
        default = self.relation.default_of(name)
        return pa.nulls(rows) if default is None else pa.repeat(default, rows)

    def _probe(self, images: Sequence[Raw]) -> dict[str, Encoding]:
        """Without a schema: by the first value of each column, and what the column is declared as."""
        types = {name: c.type for c in self.relation.columns for name in self.names_of(c.name)}
        first: dict[str, type | None] = {}

        def look(image: Raw) -> None:
            for name, value in json.loads(bytes(image)).items():
                if first.get(name) is None:
                    first[name] = None if value is None else type(value)

        for image in images[:PROBED_ROWS]:
            look(image)
            if all(first.get(name) is not None for name in types):
                break
        for name in [*types, *self.files.waiting]:  # one that comes later, and has a value, is not missed either
            if first.get(name) is None:
                has_value = re.compile(rb"%s\s*:\s*(?!null)" % re.escape(json.dumps(name)).encode())
                for later in islice((i for i in images[PROBED_ROWS:] if has_value.search(bytes(i))), 1):
                    look(later)
        return {
            name: encoding_of(types[name], found, self.decimals, self.timestamps) if name in types else Encoding(None)
            for name, found in first.items()
        }


def _parse(images: Sequence[Raw], wanted: Mapping[str, Encoding]) -> pa.Table:
    """As JSON; if not all of it can be read so, one row after the other."""
    block = b"\n".join(images)
    schema = pa.schema([(name, encoding.json) for name, encoding in wanted.items()])
    try:
        if any(pa.types.is_floating(t) for t in schema.types) and EXPONENT.search(block):
            return _parse_one_by_one(images, schema)
        options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        read = pajson.ReadOptions(use_threads=False, block_size=max(1 << 20, len(block) + 1))
        return (
            pajson.read_json(io.BytesIO(block), read_options=read, parse_options=options)
            .select(schema.names)
            .combine_chunks()
        )
    except pa.ArrowInvalid:
        return _parse_one_by_one(images, schema)


def _parse_one_by_one(images: Sequence[Raw], schema: pa.Schema) -> pa.Table:
    """The careful way: what has not the type of its column becomes text, and the column with it."""
    rows = [json.loads(bytes(image), parse_float=_Number, parse_constant=str) for image in images]
    return pa.table({f.name: _make_column([row.get(f.name) for row in rows], f.type) for f in schema})


class _Number(str):
    """A number that is not an integer, by its digits."""


def _make_column(values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        if pa.types.is_floating(type_):
            return pa.array([None if v is None else float(_read_number(v)) for v in values], type_)
        if pa.types.is_boolean(type_) and any(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise pa.ArrowInvalid("numbers")
        return pa.array(values, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
        texts = (v if v is None or isinstance(v, str) else json.dumps(v) for v in values)
        return pa.array(list(texts), pa.string())


def _read_number(value: object) -> str | int:
    if isinstance(value, (_Number, int)) and not isinstance(value, bool) and abs(float(value)) != float("inf"):
        return value
    raise ValueError(value)


def _stack(parts: Sequence[pa.Table]) -> pa.Table:
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
