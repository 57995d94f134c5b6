"""Access to texts that hold JSON."""

from __future__ import annotations

from m3.datatypes import STRING
from m3.dictionary.entry import Entry

__all__ = ["JSONS"]

JSONS = (
    Entry("json_text", "the text of the value at a path: numbers as they are written, objects and arrays as compact JSON; NULL for null, in MySQL the word", ("string", "string"), STRING, nulls="partial", fails=("bad-json",), blame=(0,), forms=("postgres duckdb snowflake generic | s ->> 'a' := ...", "mysql | s ->> '$.a' := ...", "mysql | JSON_VALUE(s, '$.a') := ...", "postgres | s::json -> 'a' ->> 0 := ...", "postgres | s::jsonb #>> '{a,b}' := ...", "postgres duckdb snowflake | JSON_EXTRACT_PATH_TEXT(s, 'a') := ...", "duckdb | JSON_EXTRACT_STRING(s, '$.a') := ...", "mysql | JSON_UNQUOTE(JSON_EXTRACT(s, '$.a')) := ...", "snowflake | s:a.b::string := ...", "snowflake | PARSE_JSON(s):a[0]::string := ..."), spark="exactly_json(a, b)", differs={"duckdb": "numbers", "mysql": "objects and arrays have blanks"}, examples={"'{\"a\": {\"b\": [1.50]}}' ->> 'a'": '{"b":[1.50]}'}),
    Entry("try_json_text", "the text of the value at a path, NULL if that is no JSON", ("string", "string"), STRING, nulls="partial", spark="exactly_try_json(a, b)", forms=("spark | GET_JSON_OBJECT(s, '$.a') := ...",), examples={"GET_JSON_OBJECT('{', '$.a')": None}),
    Entry("json_scalar", "the text of the value at a path, NULL for objects, arrays and null", ("string", "string"), STRING, nulls="partial", fails=("bad-json",), blame=(0,), spark="exactly_json_scalar(a, b)", forms=("tsql bigquery | JSON_VALUE(s, '$.a') := ...", "postgres trino | JSON_VALUE(s, 'strict $.a') := ...", "bigquery trino | JSON_EXTRACT_SCALAR(s, '$.a') := ..."), examples={"JSON_VALUE('{\"a\": [1]}', '$.a')": None}),
    Entry("json_value", "the value at a path as compact JSON, as a column and in no expression", ("string", "string"), STRING, nulls="partial", fails=("bad-json",), blame=(0,), spark="exactly_json_value(a, b)", forms=("postgres duckdb generic | s -> 'a' := ...", "mysql | s -> '$.a' := ...", "postgres | s::json #> '{a,b}' := ...", "mysql duckdb bigquery trino | JSON_EXTRACT(s, '$.a') := ...", "tsql bigquery | JSON_QUERY(s, '$.a') := ...", "snowflake | s:a := ...", "trino | JSON_FORMAT(JSON_EXTRACT(s, '$.a')) := ..."), differs={"postgres": "blanks", "mysql": "blanks", "duckdb": "numbers"}, examples={"'{\"a\": \"b\"}' -> 'a'": '"b"'}),
)  # fmt: skip
