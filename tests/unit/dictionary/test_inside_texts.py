"""Parts of texts that are split, and values in JSON: as DuckDB has them, and in every dialect as its manual says."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from sqlglot import exp

from m3 import CompileError
from m3.datatypes import STRING
from m3.errors import ValueProblem
from m3.evaluate import evaluate
from m3.scalars import Scalar, Var
from m3.sql.functions import make_reader
from m3.sql.places import Source

TEXTS = (None, "", "a", ",", "a,b", "a,,b", ",,a", "a, b,c,", "aaaa", "é,日本,x")
DOCUMENTS = (
    None, "null", "1", '"x"', "[1, 2.5, [3]]", "{}", '{"a": null}', '{"a": "x"}', '{"a": ""}', '{"a": {"b": "c", "d": [true, "\\u00e9"]}}',
    '{"a": [1, {"b": null}, "null"]}', '{"a": "null"}', '{"a": true}', '{"b": 1, "a": 12345678901234567890}',
)  # fmt: skip


def read(text: str, dialect: str | None) -> Scalar:
    source = Source(f"SELECT {text}", "e")
    source.dialect = dialect
    (node,) = source.parse(dialect).expressions
    return make_reader(source, column).read(node)


def column(node: exp.Expr) -> Scalar | None:
    return Var("s", STRING.with_null()) if isinstance(node, exp.Column) else None


def asked(text: str) -> list[object]:
    with duckdb.connect() as database:
        return [database.execute(f"SELECT {text} FROM (SELECT $1::VARCHAR AS s)", [s]).fetchone()[0] for s in TEXTS]


@pytest.mark.parametrize("delimiter", [",", ",,", "aa", "é,"])
def test_parts_are_those_of_duckdb(delimiter: str) -> None:
    for number in range(-4, 5):
        text = f"string_split(s, '{delimiter}')[{number}]"
        scalar = read(text, "duckdb")
        assert [evaluate(scalar, {"s": s}) for s in TEXTS] == asked(text), text


@pytest.mark.parametrize("path", ["$.a", "$.a.b", "$.a[0]", "$.a[1].b", "$[1]", "$.a.d", "$", "$.a[2]"])
def test_values_in_json_are_those_of_duckdb(path: str) -> None:
    shown = (
        f"s ->> '{path}'",
        f"s -> '{path}'",
        f"json_extract_string(s, '{path}')",
        f"CAST(s -> '{path}' AS VARCHAR)",
    )
    with duckdb.connect() as database:
        for text, document in itertools.product(shown, DOCUMENTS):
            ((expected,),) = database.execute(f"SELECT {text} FROM (SELECT $1::VARCHAR AS s)", [document]).fetchall()
            assert evaluate(read(text, "duckdb"), {"s": document}) == expected, (text, document)


#: Dialect, expression -> what it is for a text.
ANSWERS = {
    ("spark", "split(s, ',')[0]", "a,b"): "a",
    ("spark", "split(s, '[|]')[1]", "a|b"): "b",
    ("spark", "element_at(split(s, ','), -1)", "a,b"): "b",
    ("spark", "try_element_at(split(s, ','), 3)", "a,b"): None,
    ("spark", "split_part(s, ',', 3)", "a,b"): "",
    ("spark", "split(s, ',')[0]", ""): "",
    ("postgres", "(string_to_array(s, ','))[2]", "a,b"): "b",
    ("postgres", "(string_to_array(s, ','))[3]", "a,b"): None,
    ("postgres", "(string_to_array(s, ','))[0]", "a,b"): None,
    ("postgres", "(string_to_array(s, ','))[-1]", "a,b"): None,
    ("postgres", "(string_to_array(s, ','))[1]", ""): None,
    ("snowflake", "split(s, ',')[0]", "a,b"): "a",
    ("snowflake", "split(s, ',')[2]", "a,b"): None,
    ("snowflake", "split(s, ',')[-1]", "a,b"): None,
    ("snowflake", "get(split(s, ','), 1)", "a,b"): "b",
    ("snowflake", "split_part(s, ',', 0)", "a,b"): "a",
    ("snowflake", "split_part(s, ',', -1)", "a,b"): "b",
    ("bigquery", "split(s, ',')[offset(0)]", "a,b"): "a",
    ("bigquery", "split(s, ',')[ordinal(2)]", "a,b"): "b",
    ("bigquery", "split(s)[safe_offset(2)]", "a,b"): None,
    ("bigquery", "split(s)[safe_ordinal(1)]", "a,b"): "a",
    ("trino", "split(s, ',')[2]", "a,b"): "b",
    ("trino", "element_at(split(s, ','), 3)", "a,b"): None,
    ("trino", "element_at(split(s, ','), -2)", "a,b"): "a",
    ("mysql", "substring_index(s, ',', 2)", "a,b,c"): "a,b",
    ("mysql", "substring_index(s, ',', -2)", "a,b,c"): "b,c",
    ("mysql", "substring_index(s, 'aa', -1)", "aaa"): "",
    ("spark", "substring_index(s, ',', 5)", "a,b"): "a,b",
    ("spark", "substring_index(s, ',', 0)", "a,b"): "",
    ("spark", "get_json_object(s, '$.a')", '{"a": {"b": 1}}'): '{"b":1}',
    ("spark", "get_json_object(s, '$.a')", "{"): None,
    ("databricks", "s:a.b", '{"a": {"b": "x"}}'): "x",
    ("databricks", "s:a.b::int", '{"a": {"b": "7"}}'): 7,
    ("postgres", "s::json #>> '{a,1}'", '{"a": ["x", "y"]}'): "y",
    ("postgres", "s::json #>> '{a,1}'", '{"a": {"1": "z"}}'): "z",
    ("postgres", "s::jsonb #> '{a,b c}'", '{"a": {"b c": "z"}}'): '"z"',
    ("postgres", "s::json -> 'a'", '{"a": null}'): "null",
    ("postgres", "(s::json -> 'a')::text", '{"a": "x"}'): '"x"',
    ("postgres", "json_extract_path_text(s::json, 'a', 'b')", '{"a": {"b": null}}'): None,
    ("mysql", "s ->> '$.a'", '{"a": null}'): "null",
    ("mysql", "json_unquote(json_extract(s, '$.a'))", '{"a": "x"}'): "x",
    ("mysql", "s -> '$.a'", '{"a": "x"}'): '"x"',
    ("mysql", "s ->> '$.a'", "{}"): None,
    ("snowflake", "s:a.b::string", '{"a": {"b": "x"}}'): "x",
    ("snowflake", "s:a.b::int + 1", '{"a": {"b": 7}}'): 8,
    ("snowflake", "parse_json(s):a[0].b::varchar", '{"a": [{"b": null}]}'): None,
    ("snowflake", "parse_json(s):a", '{"a": [{"b": "c"}]}'): '[{"b":"c"}]',
    ("bigquery", "json_value(s, '$.a')", '{"a": "x"}'): "x",
    ("bigquery", "json_value(s, '$.a')", '{"a": [1]}'): None,
    ("bigquery", "json_query(s, '$.a')", '{"a": "x"}'): '"x"',
    ("bigquery", "json_query(s, '$.a')", '{"a": null}'): None,
    ("bigquery", "json_extract_scalar(s, '$.a')", '{"a": {}}'): None,
    ("tsql", "json_value(s, '$.a')", '{"a": {"b": 1}}'): None,
    ("tsql", "json_value(s, '$.a.b')", '{"a": {"b": 1}}'): "1",
    ("tsql", "json_query(s, '$.a')", '{"a": {"b": 1}}'): '{"b":1}',
    ("tsql", "json_query(s, '$.a')", '{"a": 1}'): None,
    ("tsql", "json_query(s, '$.a')", '{"a": null}'): None,
    ("trino", "json_extract_scalar(s, '$.a')", '{"a": [1]}'): None,
    ("trino", "json_format(json_extract(s, '$.a'))", '{"a": "x"}'): '"x"',
}  # fmt: skip


@pytest.mark.parametrize("given", ANSWERS, ids=lambda given: " ".join(given))
def test_answers(given: tuple[str, str, str]) -> None:
    dialect, text, value = given
    scalar = read(text, dialect)
    assert evaluate(scalar, {"s": value}) == ANSWERS[given]
    assert evaluate(scalar, {"s": None}) is None
    if ANSWERS[given] is None:
        assert scalar.type.nullable


@pytest.mark.parametrize(
    ("dialect", "text"),
    [("spark", "split(s, ',')[2]"), ("spark", "element_at(split(s, ','), 3)"), ("bigquery", "split(s)[offset(2)]"), ("trino", "split(s, ',')[3]")],
)  # fmt: skip
def test_a_part_that_is_not_there_is_an_error_where_the_dialect_has_one(dialect: str, text: str) -> None:
    with pytest.raises(ValueProblem, match="no part 3 in 'a,b'"):
        evaluate(read(text, dialect), {"s": "a,b"})


@pytest.mark.parametrize(
    ("dialect", "text", "hint"),
    [
        ("spark", "split(s, '[a-z]')[0]", "split by a text"),
        ("spark", "split(s, s)[0]", "split by a text"),
        ("duckdb", "string_split(s, ',')[length(s)]", "SPLIT_PART"),
        ("spark", "element_at(split(s, ','), 0)", "counted from the first"),
        ("postgres", "s::json -> 'a' = '1'", "a ->> 'b'"),
        ("postgres", "upper(s::json -> 'a')", "a ->> 'b'"),
        ("postgres", "(s::json -> 'a')::int", "CAST(a ->> 'b'"),
        ("bigquery", "json_query(s, '$.a') || 'x'", "JSON_VALUE(a"),
        ("snowflake", "s:a = 1", "a:b::string"),
        ("postgres", "s::json #>> s", "a ->> 'b'"),
        ("postgres", "s::json #>> '{a,1,2}'", "-> 0 ->> 1"),
        ("duckdb", "s ->> '$.a[*]'", "a ->> 'b'"),
        ("duckdb", "s ->> 'a.b'", "'$.a.b'"),
        ("duckdb", "json_extract_string(s, 'a[0]')", "'$.a[0]'"),
    ],
)
def test_what_has_no_one_meaning_is_refused(dialect: str, text: str, hint: str) -> None:
    with pytest.raises(CompileError) as refused:
        read(text, dialect)
    assert hint in (refused.value.hint or "")
