"""Access to texts that hold JSON."""

from __future__ import annotations

from m3.datatypes import STRING
from m3.dictionary.entry import Entry

__all__ = ["JSONS"]

JSONS = (
    Entry("json_text", "JSON_TEXT(a, path)", ("string", "string"), STRING, nulls="partial", fails=("bad-json",), spark="exactly_json(a, b)", forms=("s ->> 'a' := ...", "duckdb | JSON_EXTRACT_STRING(s, '$.a') := ...", "spark | GET_JSON_OBJECT(s, '$.a') := ...")),
    Entry("try_json_text", "JSON_TEXT(a, path), NULL if that is no JSON", ("string", "string"), STRING, nulls="partial", spark="exactly_try_json(a, b)"),
)  # fmt: skip
