"""Functions of text in SQL, in the spellings of PostgreSQL, Spark and DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from m3.functions import like_regex
from m3.scalars import Call, Const, Scalar, const
from m3.simplify import simplify
from m3.sql.expressions import ExpressionReader, Handler
from m3.sql.regexes import REGEXES, read_first_group

__all__ = ["TEXTS"]

#: Dialect -> its SUBSTRING, where that is not Spark's.
SUBSTRINGS = {
    **dict.fromkeys(("postgres", "redshift", "materialize", "risingwave", "tsql"), "substring_standard"),
    **dict.fromkeys(("duckdb", "sqlite"), "substring_signed"),
}
#: Dialects in which LEFT and RIGHT of a length below 0 leave so many out, and in which that is an error; else it is nothing.
LEAVING_OUT = ("postgres", "redshift", "materialize", "risingwave", "duckdb")
NO_NEGATIVE_LENGTH = ("tsql", "bigquery")
BACKSLASH = "\\"


def _read_substring(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """SUBSTRING, which means the same everywhere from the position 1 on."""
    start, length = node.args.get("start"), node.args.get("length")
    if (
        reader.dialect == "postgres"
        and isinstance(node, exp.Substring)
        and isinstance(start, exp.Literal)
        and start.is_string
    ):
        if length is not None:
            reader.source.fail(node, "SUBSTRING by SIMILAR TO", "unsupported-expression", "SUBSTRING(s FROM 'pattern')")
        return read_first_group(reader, node)
    args = [reader.read_text(node.this), reader.read(start) if start is not None else const(1)]
    args += [reader.read(length)] if length is not None else []
    numbers = [a.value if isinstance(a, Const) else None for a in map(simplify, args[1:])]
    plain = all(isinstance(n, int) and n >= least for n, least in zip(numbers, (1, 0), strict=False))
    op = "substring" if plain else SUBSTRINGS.get(reader.dialect or "", "substring")
    return reader.call(node, op, *args, *([const(2**31)] if op == "substring" and length is None else []))


def _read_end(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """LEFT and RIGHT."""
    text, count = reader.read_text(node.this), simplify(reader.read(node.args["expression"]))
    op = "left" if isinstance(node, exp.Left) else "right"
    given = isinstance(count, Const) and isinstance(count.value, int) and count.value >= 0
    if given or reader.dialect in NO_NEGATIVE_LENGTH:
        return reader.call(node, op, text, count)
    if reader.dialect not in LEAVING_OUT:
        below = reader.call(node, "lt", count, const(0))
        count = simplify(reader.call(node, "case", below, const(0), count))
    return reader.call(node, f"{op}_signed", text, count)


def _read_concat(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """``||`` and CONCAT; where CONCAT skips NULLs (``coalesce``), they count as empty."""
    parts = node.expressions or [node.args["this"], node.args["expression"]]
    args: list[Scalar] = []
    for part in parts:
        scalar = reader.read_text(part)
        if node.args.get("coalesce") and scalar.type.nullable:
            scalar = reader.call(node, "coalesce", scalar, const(""))
        flat = isinstance(scalar, Call) and scalar.op == "concat"
        args.extend(scalar.args if flat and isinstance(scalar, Call) else (scalar,))
    return reader.call(node, "concat", *args)


def _read_escape(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """``a LIKE p ESCAPE c``, where the LIKE is the inner node."""
    like = node.this.unnest()
    if not isinstance(like, exp.Like | exp.ILike):
        reader.source.fail(node, "ESCAPE of something else", "unsupported-expression", "a LIKE b ESCAPE c")
    matched = _match_pattern(reader, like, reader.read(node.args["expression"]))
    return reader.call(node, "not", matched) if like.args.get("negate") else matched


def _match_pattern(reader: ExpressionReader, node: exp.Expr, escape: Scalar | None) -> Scalar:
    """LIKE; without an ESCAPE the backslash is one, except in DuckDB. ILIKE compares lower case."""
    text, pattern = reader.read_text(node.this), reader.read_text(node.args["expression"])
    if isinstance(node, exp.ILike):
        text, pattern = (reader.call(node, "lower", x) for x in (text, pattern))
    known = pattern.value if isinstance(pattern, Const) else None
    if escape is None and reader.dialect != "duckdb" and (known is None or BACKSLASH in str(known)):
        escape = const(BACKSLASH)
    if isinstance(escape, Const) and not escape.value:
        escape = None
    if isinstance(known, str) and (escape is None or isinstance(escape, Const)):
        with reader.source.guard(node):
            like_regex(known, str(escape.value) if isinstance(escape, Const) else "")
    if isinstance(pattern, Const) and pattern.value is None:
        escape = None
    return reader.call(node, "like", text, pattern, *([escape] if escape is not None else []))


TEXTS: Mapping[type[exp.Expr], Handler] = {
    exp.Substring: _read_substring,
    exp.Left: _read_end,
    exp.Right: _read_end,
    exp.DPipe: _read_concat,
    exp.Concat: _read_concat,
    exp.ConcatWs: lambda reader, node: reader.call(node, "concat_ws", *map(reader.read_text, node.expressions)),
    **dict.fromkeys((exp.Like, exp.ILike), lambda reader, node: _match_pattern(reader, node, None)),
    exp.Escape: _read_escape,
    **REGEXES,
}
