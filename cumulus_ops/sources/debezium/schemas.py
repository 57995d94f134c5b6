"""What the columns of a table are encoded as: from the schema that a message carries, or from what a project says.

A value's JSON is read as one type (``json``) and then means another: ``"AfQ="`` is read as text, and means 5.00 where the schema says
``org.apache.kafka.connect.data.Decimal`` of scale 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from m3.datatypes import Type

__all__ = ["Encoding", "encoding_of", "encodings_in"]

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
        return (
            Encoding(pa.string(), meaning, int(scale))
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
