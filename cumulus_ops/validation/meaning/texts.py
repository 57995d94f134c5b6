"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.numbers import failing
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, number, refused, text, when
from cumulus_ops.validation.meaning.values import cast_to
from m3.datatypes import BOOL, INT, STRING, Type

__all__ = ["TEXTS", "as_text", "trimmed"]

Build = Callable[..., exp.Expr]
BACKSLASH = "\\"
#: A sign that no text contains: the escape of a LIKE that has none.
NOTHING = "\u0001"
LONGEST = 2**31 - 1
#: Dialects in which a position below 1 does not count from the end, or 0 not as 1.
BEFORE_TEXT = ("postgres", "tsql", "duckdb")
DELIMITERS = 8  # INITCAP's list is longer where it means everything but letters and digits


def as_text(reader: Reader, node: exp.Expr) -> Term:
    """A node where text is meant; other kinds are cast, as by ``||``."""
    term = reader.read(node)
    return term if term.kind == "string" else cast_to(reader, term, STRING)


def _int(node: exp.Expr) -> exp.Expr:
    """A length or place as Spark's 32-bit integer, cut off at its limits: no text is that long."""
    over, under = (form(this=node.copy(), expression=number(x)) for form, x in ((exp.GT, LONGEST), (exp.LT, -LONGEST)))
    within = when(over, number(LONGEST), under, number(-LONGEST), node)
    return exp.Cast(this=within, to=exp.DataType.build("INT", dialect="spark"))


def _guarded(name: str) -> Build:
    """LEFT and RIGHT: a negative length is an error."""

    def build(value: exp.Expr, count: exp.Expr) -> exp.Expr:
        negative = exp.LT(this=count.copy(), expression=number(0))
        return when(negative, cast(failing(f"{name} with a negative length"), STRING), fn(name, value, _int(count)))

    return build


def _position(value: exp.Expr, part: exp.Expr, start: exp.Expr | None = None) -> exp.Expr:
    if start is None:
        return fn("locate", part, value)
    nowhere = exp.LT(this=start.copy(), expression=number(1))
    empty = exp.EQ(this=part.copy(), expression=text(""))
    return when(nowhere, exp.Literal.number(0), empty, exp.Literal.number(1), fn("locate", part, value, _int(start)))


def _chr(code: exp.Expr) -> exp.Expr:
    """Spark's CHR knows 256 characters."""
    known = exp.Between(this=code.copy(), low=number(1), high=number(0x10FFFF))
    made = fn("decode", fn("unhex", fn("lpad", fn("hex", code), exp.Literal.number(8), text("0"))), text("UTF-32"))
    return when(
        exp.Or(this=known, expression=exp.Is(this=code.copy(), expression=exp.Null())),
        made,
        cast(failing("CHR of no character"), STRING),
    )


def _padded(name: str) -> Build:
    return lambda value, count, fill=None: fn(name, value, _int(count), fill if fill is not None else text(" "))


def _plain(name: str) -> Build:
    return lambda *args: fn(name, *args)


#: Form -> what builds it, its arguments in order (``#`` before integers), and its type.
CALLS: Mapping[type[exp.Expr], tuple[Build, Sequence[str], Type]] = {
    exp.Upper: (_plain("upper"), ("this",), STRING),
    exp.Lower: (_plain("lower"), ("this",), STRING),
    exp.Length: (_plain("char_length"), ("this",), INT),
    exp.Replace: (
        lambda a, b, c=None: fn("replace", a, b, c if c is not None else text("")),
        ("this", "expression", "replacement"),
        STRING,
    ),
    exp.Translate: (_plain("translate"), ("this", "from_", "to"), STRING),
    exp.Left: (_guarded("left"), ("this", "#expression"), STRING),
    exp.Right: (_guarded("right"), ("this", "#expression"), STRING),
    exp.StrPosition: (_position, ("this", "substr", "#position"), INT),
    exp.Reverse: (_plain("reverse"), ("this",), STRING),
    exp.Repeat: (lambda a, n: fn("repeat", a, _int(n)), ("this", "#times"), STRING),
    exp.StartsWith: (_plain("startswith"), ("this", "expression"), BOOL),
    exp.EndsWith: (_plain("endswith"), ("this", "expression"), BOOL),
    exp.Contains: (_plain("contains"), ("this", "expression"), BOOL),
    exp.SplitPart: (lambda a, b, n: fn("split_part", a, b, _int(n)), ("this", "delimiter", "#part_index"), STRING),
    exp.Ascii: (_plain("ascii"), ("this",), INT),
}


def _call(reader: Reader, node: exp.Expr) -> Term:
    build, names, to = CALLS[type(node)]
    args = []
    for name in names:
        given = node.args.get(name.lstrip("#"))
        if given is not None:
            args.append(as_type(reader.read(given), INT) if name.startswith("#") else as_text(reader, given).node)
    made = build(*args)
    return Term(cast(made, INT) if to.kind == "int" else made, to)


def _pad(reader: Reader, node: exp.Expr) -> Term:
    fill = node.args.get("fill_pattern")
    build = _padded("lpad" if node.args.get("is_left") else "rpad")
    given = [as_text(reader, fill).node] if fill is not None else []
    return Term(
        build(as_text(reader, node.this).node, as_type(reader.read(node.args["expression"]), INT), *given), STRING
    )


def trimmed(side: str, value: exp.Expr, characters: exp.Expr | None) -> Term:
    """TRIM of blanks, or of any of some characters; ``side`` is LEADING, TRAILING or nothing for both."""
    trim = exp.Trim(this=value, expression=characters, position=side or "BOTH")
    names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return Term(trim if characters is not None else fn(names.get(side, "trim"), value), STRING)


def _trim(reader: Reader, node: exp.Expr) -> Term:
    characters = node.args.get("expression")
    given = as_text(reader, characters).node if characters is not None else None
    side = str(node.args.get("position") or "").upper()
    return trimmed(side if side in ("LEADING", "TRAILING") else "", as_text(reader, node.this).node, given)


def _initcap(reader: Reader, node: exp.Expr) -> Term:
    delimiters = node.args.get("expression")
    args = [as_text(reader, node.this).node]
    if delimiters is not None and len(str(delimiters.this)) <= DELIMITERS:
        args.append(as_text(reader, delimiters).node)
    return Term(reader.exactly("initcap", STRING, *args), STRING)


def _substring(reader: Reader, node: exp.Expr) -> Term:
    start, length = node.args.get("start"), node.args.get("length")
    if reader.dialect in BEFORE_TEXT and start is not None:
        return _substring_from(reader, node, reader.read(start))
    args = [_int(as_type(reader.read(x), INT)) for x in (start, length) if x is not None]
    if start is None:
        args.insert(0, exp.Literal.number(1))
    return Term(fn("substring", as_text(reader, node.this).node, *args), STRING)


def _substring_from(reader: Reader, node: exp.Expr, start: Term) -> Term:
    """Where positions below 1 (in DuckDB: 0) are before the text, they use up the length."""
    first, length = as_type(start, INT), node.args.get("length")
    form, limit = (exp.EQ, 0) if reader.dialect == "duckdb" else (exp.LT, 1)
    before = form(this=first.copy(), expression=number(limit))
    args = [_int(when(before, number(1), first))]
    if length is not None:
        count = as_type(reader.read(length), INT)
        fewer = exp.Sub(this=exp.Paren(this=exp.Add(this=first.copy(), expression=count)), expression=number(1))
        args.append(_int(when(before.copy(), fewer, count)))
    return Term(fn("substring", as_text(reader, node.this).node, *args), STRING)


def _concat(reader: Reader, node: exp.Expr) -> Term:
    """``||``, and CONCAT, which skips NULLs in some dialects (``coalesce``)."""
    parts = [as_text(reader, p).node for p in node.expressions or (node.args["this"], node.args["expression"])]
    if node.args.get("coalesce"):
        parts = [fn("coalesce", p, text("")) for p in parts]
    return Term(fn("concat", *parts), STRING)


def _concat_ws(reader: Reader, node: exp.Expr) -> Term:
    return Term(fn("concat_ws", *(as_text(reader, e).node for e in node.expressions)), STRING)


def _character(reader: Reader, node: exp.Expr) -> Term:
    if len(node.expressions) != 1:
        raise refused("CHR of several numbers")
    return Term(_chr(as_type(reader.read(node.expressions[0]), INT)), STRING)


def _like(reader: Reader, node: exp.Expr) -> Term:
    return _matched(reader, node, None if reader.dialect == "duckdb" else BACKSLASH)


def _escape(reader: Reader, node: exp.Expr) -> Term:
    """``a LIKE p ESCAPE c``, where the LIKE is the inner node."""
    like, escape = node.this.unnest(), reader.read(node.args["expression"])
    if not isinstance(like, exp.Like | exp.ILike) or not isinstance(escape.value, str):
        raise refused("ESCAPE of something else")
    matched = _matched(reader, like, escape.value or None)
    return Term(exp.Not(this=exp.Paren(this=matched.node)), BOOL) if like.args.get("negate") else matched


def _matched(reader: Reader, node: exp.Expr, escape: str | None) -> Term:
    value, pattern = as_text(reader, node.this), as_text(reader, node.args["expression"])
    left, right = value.node, pattern.node
    if isinstance(node, exp.ILike):
        left, right = fn("lower", left), fn("lower", right)
    if isinstance(pattern.value, str):
        known = pattern.value.lower() if isinstance(node, exp.ILike) else pattern.value
        return Term(fn("regexp_like", left, text(_like_regex(known, escape))), BOOL)
    like = exp.Like(this=left, expression=right)
    return Term(exp.Paren(this=exp.Escape(this=like, expression=text(escape or NOTHING))), BOOL)


def _like_regex(pattern: str, escape: str | None) -> str:
    r"""
    >>> _like_regex("a!%b%", "!")
    '(?s)\\Aa%b.*\\z'
    """
    parts, characters = [], iter(pattern)
    for c in characters:
        c, literal = (next(characters, ""), True) if c == escape else (c, False)
        parts.append({"%": ".*", "_": "."}.get(c, _quoted(c)) if not literal else _quoted(c))
    return "(?s)\\A" + "".join(parts) + "\\z"


def _quoted(c: str) -> str:
    return f"\\x{{{ord(c):x}}}" if c and not c.isalnum() and c != "%" else c


def _regexp(reader: Reader, node: exp.Expr) -> Term:
    pattern = as_text(reader, node.args["expression"])
    if not isinstance(pattern.value, str):
        raise refused("a computed regular expression")
    return Term(fn("regexp_like", as_text(reader, node.this).node, text(_to_the_end(pattern.value))), BOOL)


def _to_the_end(pattern: str) -> str:
    """``$`` is the end of the text, not also what is before its last newline."""
    return re.sub(r"(\\.|\[(?:\\.|[^\]])*\])|\$", lambda m: m[1] or r"\z", pattern)


TEXTS: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(CALLS, _call),
    exp.Trim: _trim, exp.Pad: _pad, exp.Initcap: _initcap, exp.Substring: _substring, exp.DPipe: _concat,
    exp.Concat: _concat, exp.ConcatWs: _concat_ws, exp.Chr: _character, exp.Like: _like, exp.ILike: _like,
    exp.Escape: _escape, exp.RegexpLike: _regexp,
}  # fmt: skip
