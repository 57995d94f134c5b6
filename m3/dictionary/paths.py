"""What is inside of a text at a place that is written out: a value in JSON, and a part between delimiters.

Every dialect has its own nodes and its own rules for what is not there, so these forms are no patterns of rows: they are told apart here, and
written out as operations like all others.

>>> import sqlglot
>>> def show(sql, dialect): return expand_path(sqlglot.parse_one(f"SELECT {sql}", read=dialect).expressions[0], dialect).sql()
>>> show("s ->> '$.a[0]'", "duckdb"), show("SPLIT(s, ',')[SAFE_OFFSET(0)]", "bigquery")
('OPERATION(json_text, s, \\'["a", 0]\\')', "OPERATION(find_part, s, ',', 1)")
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from m3.dictionary.operation import operate
from m3.errors import ProgramError

__all__ = ["expand_path", "plain_delimiter"]

Steps = list[str | int]


def expand_path(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """What a value in JSON is, or a part of a text that is split; None for any other node.

    Raises:
        ProgramError: a place that is not written out, or a value of JSON where only a text can stand.
    """
    read = _FORMS.get(type(node))
    return None if read is None else read(node, dialect)


# Values in JSON.

SPARK = ("spark", "databricks")
JSON_TYPES = ("JSON", "JSONB", "VARIANT")
EXTRACTS = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar)
#: Dialects in which a value that is asked for as a scalar is NULL where it is an object or an array.
SCALAR_ONLY = ("bigquery", "tsql", "trino", "presto", "athena")
PATH_HINT = "constant keys and indexes: a ->> 'b'"
TEXT_HINT: Mapping[str | None, str] = {
    "snowflake": "a:b::string, which is its text", "bigquery": "JSON_VALUE(a, '$.b'), which is its text", "tsql": "JSON_VALUE(a, '$.b'), which is its text",
    **dict.fromkeys(("trino", "presto", "athena"), "JSON_EXTRACT_SCALAR(a, '$.b'), which is its text"),
    **dict.fromkeys(SPARK, "GET_JSON_OBJECT(a, '$.b'), which is its text"),
}  # fmt: skip


def _read_text(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """``->>`` and its like: the text of a value, without quotes."""
    text, paths = _open(node)
    if dialect in SPARK:
        return _at(paths, "try_json_text", text)
    if dialect in SCALAR_ONLY:
        return _at(paths, "json_scalar", text)
    found = _at(paths, "json_text", text)
    if dialect != "mysql" or not isinstance(node, exp.JSONExtractScalar):
        return found
    null = exp.Literal.string("null")  # MySQL takes the quotes away and leaves the word
    is_null = exp.EQ(this=_at(paths, "json_value", text), expression=null)
    return exp.Case(ifs=[exp.If(this=is_null, true=null.copy())], default=found)


def _read_value(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """``->``, JSON_EXTRACT and JSON_QUERY, which are columns and in no expression: dialects compare them in their own ways."""
    if dialect in SPARK:
        return _read_text(node, dialect)
    around = node.parent
    while isinstance(around, exp.Paren | exp.Alias):
        around = around.parent
    if not isinstance(around, exp.Select) or node.find_ancestor(exp.Order, exp.Group, exp.Where, exp.Having, exp.Join):
        hint = TEXT_HINT.get(dialect, "a ->> 'b', which is its text")
        raise ProgramError("a value of JSON in an expression", kind="unsupported-expression", hint=hint)
    return _write_json(node, dialect)


#: Keys and indexes, as paths of the SQL standard have them.
STRICT_PATH = re.compile(r"""\$(\.[A-Za-z_]\w*|\."[^"\\]+"|\[[0-9]+\])+""")


def _read_standard(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """JSON_VALUE of PostgreSQL 17, Trino and MySQL. A path that is lax looks into the elements of arrays, too."""
    if {name for name, value in node.args.items() if value} != {"this", "path"}:
        hint = "CAST(JSON_VALUE(a, ..) AS ..), COALESCE for a value that is not there"
        raise ProgramError("JSON_VALUE with RETURNING, ON EMPTY or ON ERROR", kind="unsupported-expression", hint=hint)
    path = node.args["path"]
    if dialect != "mysql":
        mode, _, rest = path.name.partition(" ") if isinstance(path, exp.Literal) else ("", "", "")
        if mode.lower() != "strict":
            raise ProgramError("a path that is lax", kind="unsupported-expression", hint="'strict $.a'")
        if not STRICT_PATH.fullmatch(rest):
            raise ProgramError("this path in JSON", kind="unsupported-expression", hint="'strict $.a.b[0]'")
        path = Dialect.get_or_raise("trino").to_json_path(exp.Literal.string(rest))
    op = "json_text" if dialect == "mysql" else "json_scalar"
    text = node.this
    if isinstance(text, exp.Cast) and text.to.this.value in JSON_TYPES:
        text = text.this
    return _at(_find_steps(path), op, text)


def _write_json(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """A value as JSON."""
    text, paths = _open(node)
    found = _at(paths, "json_value", text)
    if dialect == "bigquery":
        return exp.Nullif(this=found, expression=exp.Literal.string("null"))
    if node.args.get("json_query"):  # of T-SQL: only objects and arrays
        scalar = exp.Is(this=_at(paths, "json_scalar", text), expression=exp.Null())
        shown = exp.And(this=scalar, expression=exp.NEQ(this=found.copy(), expression=exp.Literal.string("null")))
        return exp.Case(ifs=[exp.If(this=shown, true=found)])
    return found


def _read_cast(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """A cast of a value: Snowflake's is one of its text, and a cast to a text elsewhere is the value as JSON."""
    inner = node.this.unnest()
    if not isinstance(inner, exp.JSONExtract | exp.JSONBExtract) or not isinstance(node, exp.Cast):
        return None
    if dialect in SPARK or node.to.this.value in JSON_TYPES:
        return None
    is_text = node.to.is_type(*exp.DataType.TEXT_TYPES)
    if dialect == "snowflake":
        found = _read_text(inner, dialect)
        return found if is_text and not node.to.expressions else type(node)(this=found, to=node.to.copy())
    if not is_text or node.to.expressions:
        hint = TEXT_HINT.get(dialect, "CAST(a ->> 'b' AS ..), which is one of its text")
        raise ProgramError("a cast of a value of JSON", kind="unsupported-expression", hint=hint)
    return _write_json(inner, dialect)


def _read_named(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """MySQL's JSON_UNQUOTE(JSON_EXTRACT(..))."""
    if str(node.this).lower() != "json_unquote" or len(node.expressions) != 1 or dialect != "mysql":
        return None
    inner = node.expressions[0].unnest()
    if not isinstance(inner, exp.JSONExtract):
        raise ProgramError("JSON_UNQUOTE of something else", kind="unsupported-expression", hint="a ->> '$.b'")
    return _read_text(exp.JSONExtractScalar(**{k: v for k, v in inner.copy().args.items() if v}), dialect)


def _at(paths: list[Steps], op: str, text: exp.Expr) -> exp.Expr:
    """The value at the one of some paths that there is."""
    found = [operate(op, text, exp.Literal.string(json.dumps(steps, ensure_ascii=False))) for steps in paths]
    return found[0] if len(found) == 1 else exp.Coalesce(this=found[0], expressions=found[1:])


def _open(node: exp.Expr) -> tuple[exp.Expr, list[Steps]]:
    """The text that holds JSON, and the path of a value in it; several where a number is a key or an index."""
    paths: list[Steps] = [[]]
    inner = node
    while isinstance(inner, EXTRACTS):
        found = _find_steps(inner.args.get("expression"))
        paths = [[*first, *rest] for first in found for rest in paths]
        inner = inner.this.unnest()
    if len(paths) > 2:
        raise ProgramError("several numbers in a path", kind="unsupported-expression", hint="a -> 'b' -> 0 ->> 1")
    if isinstance(inner, exp.Cast) and inner.to.this.value in JSON_TYPES:
        inner = inner.this
    if isinstance(inner, exp.ParseJSON) and not any(v for k, v in inner.args.items() if k != "this"):
        inner = inner.this
    return inner, paths


#: An element of PostgreSQL's path ``'{b,c,0}'``.
ELEMENT = re.compile(r"[^\s{},\"\\]+(?: +[^\s{},\"\\]+)*")


def _find_steps(path: object) -> list[Steps]:
    if isinstance(path, exp.JSONPath):
        steps: Steps = []
        for part in path.expressions:
            step = part.this if isinstance(part, exp.JSONPathKey | exp.JSONPathSubscript) else None
            if isinstance(step, str | int):
                steps.append(step)
            elif not isinstance(part, exp.JSONPathRoot):
                raise ProgramError("this path in JSON", kind="unsupported-expression", hint=PATH_HINT)
        return [steps]
    written = path.name.strip() if isinstance(path, exp.Literal) and path.is_string else ""
    elements = [e.strip() for e in written[1:-1].split(",")]
    if not (written.startswith("{") and written.endswith("}") and all(map(ELEMENT.fullmatch, elements))):
        raise ProgramError("this path in JSON", kind="unsupported-expression", hint=PATH_HINT)
    either: list[Steps] = [[]]
    for element in elements:
        numbered = re.fullmatch(r"-?[0-9]+", element) is not None
        either = [[*e, step] for e in either for step in ((int(element), element) if numbered else (element,))]
    return either


# Parts of texts.

SPLITS = (exp.Split, exp.RegexpSplit, exp.StringToArray)
#: Dialects in which an element that there is not is an error.
STRICT = (*SPARK, "bigquery", "trino", "presto", "athena")
#: Dialects in which a number below 0 counts from the end, also in brackets.
BACKWARDS = ("duckdb",)
#: Dialects in which an empty text has no parts.
NO_PARTS = ("postgres", "redshift", "materialize", "risingwave")
PART_HINT = "SPLIT_PART(s, ',', i)"


def _read_element(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """``SPLIT(s, ',')[0]``, ELEMENT_AT and GET, where the number and the delimiter are written out."""
    split = node.this.unnest() if isinstance(node.this, exp.Expr) else None
    if not isinstance(split, SPLITS):
        return None
    given = node.expressions if isinstance(node, exp.Bracket) else [node.args.get("expression")]
    at = _number(given[0]) if len(given) == 1 else None
    if at is None:
        raise ProgramError("a part whose number is not written out", kind="unsupported-expression", hint=PART_HINT)
    offset, safe = node.args.get("offset"), node.args.get("safe")
    named = offset == 1 and dialect in (*SPARK, "trino", "presto", "athena")  # ELEMENT_AT
    number = at if offset == 1 else at + 1
    backwards = dialect in BACKWARDS or named
    if number < 0 and not backwards:
        number = 0
    strict = dialect in STRICT and not safe
    if number == 0 and (strict or named):
        raise ProgramError("a part of no number", kind="out-of-domain", hint="parts are counted from the first one on")
    text, delimiter = split.this, exp.Literal.string(_delimiter(split))
    if number == 0:
        return exp.Cast(this=exp.Null(), to=exp.DataType.build("TEXT"))
    found = operate("take_part" if strict else "find_part", text, delimiter, _literal(number))
    if dialect not in NO_PARTS:
        return found
    return exp.Case(ifs=[exp.If(this=exp.NEQ(this=text.copy(), expression=exp.Literal.string("")), true=found)])


def _number(node: object) -> int | None:
    sign = -1 if isinstance(node, exp.Neg) else 1
    inner = node.this if isinstance(node, exp.Neg) else node
    plain = isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit()
    return sign * int(inner.name) if plain and isinstance(inner, exp.Literal) else None


def _literal(number: int) -> exp.Expr:
    digits = exp.Literal.number(abs(number))
    return exp.Neg(this=digits) if number < 0 else digits


def _delimiter(split: exp.Expr) -> str:
    """The text between the parts."""
    node = split.args.get("expression")
    written = node.name if isinstance(node, exp.Literal) and node.is_string else ""
    if isinstance(split, exp.RegexpSplit):
        return plain_delimiter(written)
    if not written:
        hint = "split by a text that is written out and not empty"
        raise ProgramError("a text that is split by no constant", kind="unsupported-expression", hint=hint)
    return written


#: Characters that mean something in a regular expression.
SPECIAL = r"\.[]{}()*+?^$|"


def plain_delimiter(pattern: str) -> str:
    """The text that a regular expression matches, if it is one.

    >>> plain_delimiter("[|]"), plain_delimiter("-")
    ('|', '-')

    Raises:
        ProgramError: it matches several.
    """
    plain = re.sub(r"\\([^A-Za-z0-9])|\[([^\^\]\\])\]", lambda m: "\0" + (m[1] or m[2]), pattern)
    if not pattern or any(c in SPECIAL for c in re.sub(r"\0.", "", plain, flags=re.DOTALL)):
        hint = "split by a text: '[|]' or '\\\\|' for one of the characters that mean something there"
        raise ProgramError("a text that is split by a regular expression", kind="unsupported-expression", hint=hint)
    return re.sub(r"\0(.)", r"\1", plain, flags=re.DOTALL)


def _read_format(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """Trino's JSON_FORMAT(JSON_EXTRACT(..))."""
    inner = node.this.unnest() if isinstance(node.this, exp.Expr) else None
    plain = {k for k, v in node.args.items() if v} <= {"this", "is_json"}
    return _write_json(inner, dialect) if isinstance(inner, exp.JSONExtract) and plain else None


_FORMS: Mapping[type[exp.Expr], Callable[[exp.Expr, str | None], exp.Expr | None]] = {
    **dict.fromkeys((exp.JSONExtractScalar, exp.JSONBExtractScalar), _read_text),
    exp.JSONValue: _read_standard,
    **dict.fromkeys((exp.JSONExtract, exp.JSONBExtract), _read_value),
    **dict.fromkeys((exp.Cast, exp.TryCast), _read_cast),
    **dict.fromkeys((exp.Bracket, exp.GetExtract), _read_element),
    exp.JSONFormat: _read_format, exp.Anonymous: _read_named,
}  # fmt: skip
