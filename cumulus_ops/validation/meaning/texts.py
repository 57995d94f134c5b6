"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.numbers import fail_with
from cumulus_ops.validation.meaning.reader import Reader, Rule, cast_to
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, number, refusal, text, when
from m3.datatypes import BOOL, INT, LONGEST_TEXT, STRING, Type

__all__ = ["JSONS", "TEXTS", "as_text", "trim_text"]


Build = Callable[..., exp.Expr]
BACKSLASH = "\\"
#: LIKE with more pieces between its ``%`` is no regular expression for Spark: Java goes one level deeper with each.
PIECES = 50
LONGEST = 2**31 - 1
#: Dialects in which LEFT and RIGHT of a length below 0 leave so many out, and in which that is an error.
LEAVING_OUT = ("postgres", "redshift", "materialize", "risingwave", "duckdb")
NO_NEGATIVE_LENGTH = ("tsql", "bigquery")
DELIMITERS = 8  # INITCAP's list is longer where it means everything but letters and digits


def as_text(reader: Reader, node: exp.Expr) -> Term:
    """A node where text is meant; other kinds are cast, as by ``||``."""
    term = reader.read(node)
    return term if term.kind == "string" else cast_to(reader, term, STRING)


def _clamp(node: exp.Expr) -> exp.Expr:
    """A length or place cut off at the limits of 32 bits: no text is that long."""
    over, under = (form(this=node.copy(), expression=number(x)) for form, x in ((exp.GT, LONGEST), (exp.LT, -LONGEST)))
    return when(over, number(LONGEST), under, number(-LONGEST), node)


def _int(node: exp.Expr) -> exp.Expr:
    """A length or place as Spark's 32-bit integer."""
    return exp.Cast(this=_clamp(node), to=exp.DataType.build("INT", dialect="spark"))


def _sum(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=a.copy(), expression=b.copy()))


def _below(node: exp.Expr, limit: int) -> exp.Expr:
    return exp.LT(this=node.copy(), expression=number(limit))


def _position(value: exp.Expr, part: exp.Expr, start: exp.Expr | None = None) -> exp.Expr:
    if start is None:
        return fn("locate", part, value)
    nowhere = exp.LT(this=start.copy(), expression=number(1))
    empty = exp.EQ(this=part.copy(), expression=text(""))
    return when(nowhere, exp.Literal.number(0), empty, exp.Literal.number(1), fn("locate", part, value, _int(start)))


def _call_plainly(name: str) -> Build:
    return lambda *args: fn(name, *args)


#: Form -> what builds it, its arguments in order (``#`` before integers), and its type.
CALLS: Mapping[type[exp.Expr], tuple[Build, Sequence[str], Type]] = {
    exp.Upper: (_call_plainly("upper"), ("this",), STRING),
    exp.Lower: (_call_plainly("lower"), ("this",), STRING),
    exp.Length: (_call_plainly("char_length"), ("this",), INT),
    exp.Translate: (_call_plainly("translate"), ("this", "from_", "to"), STRING),
    exp.StrPosition: (_position, ("this", "substr", "#position"), INT),
    exp.Reverse: (_call_plainly("reverse"), ("this",), STRING),
    exp.StartsWith: (_call_plainly("startswith"), ("this", "expression"), BOOL),
    exp.EndsWith: (_call_plainly("endswith"), ("this", "expression"), BOOL),
    exp.Contains: (_call_plainly("contains"), ("this", "expression"), BOOL),
    exp.SplitPart: (lambda a, b, n: fn("split_part", a, b, _int(n)), ("this", "delimiter", "#part_index"), STRING),
    exp.Ascii: (_call_plainly("ascii"), ("this",), INT),
}


def _read_call(reader: Reader, node: exp.Expr) -> Term:
    build, names, to = CALLS[type(node)]
    args = []
    for name in names:
        given = node.args.get(name.lstrip("#"))
        if given is not None:
            args.append(as_type(reader.read(given), INT) if name.startswith("#") else as_text(reader, given).node)
    made = build(*args)
    return Term(cast(made, INT) if to.kind == "int" else made, to)


def _replace(reader: Reader, node: exp.Expr) -> Term:
    """Where the new text is longer, the result may be too long: that is looked at before it is made."""
    given = (node.args.get(name) for name in ("this", "expression", "replacement"))
    value, old, new = (as_text(reader, x) if x is not None else Term(text(""), STRING, "") for x in given)
    if isinstance(old.value, str) and isinstance(new.value, str) and len(new.value) <= len(old.value):
        return Term(fn("replace", value.node, old.node, new.node), STRING)
    return Term(reader.exactly("replace", STRING, value.node, old.node, new.node), STRING)


def _pad(reader: Reader, node: exp.Expr) -> Term:
    """LPAD and RPAD; a text longer than the longest is an error."""
    given, name = node.args.get("fill_pattern"), "lpad" if node.args.get("is_left") else "rpad"
    fill = as_text(reader, given).node if given is not None else text(" ")
    value, count = as_text(reader, node.this).node, as_type(reader.read(node.args["expression"]), INT)
    long = exp.GT(this=count.copy(), expression=number(LONGEST_TEXT))
    wrong = cast(fail_with(f"{name} beyond {LONGEST_TEXT} characters"), STRING)
    return Term(when(long, wrong, fn(name, value, _int(count), fill)), STRING)


def trim_text(side: str, value: exp.Expr, characters: exp.Expr | None) -> Term:
    """TRIM of blanks, or of any of some characters; ``side`` is LEADING, TRAILING or nothing for both."""
    trim = exp.Trim(this=value, expression=characters, position=side or "BOTH")
    names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return Term(trim if characters is not None else fn(names.get(side, "trim"), value), STRING)


def _trim(reader: Reader, node: exp.Expr) -> Term:
    characters = node.args.get("expression")
    given = as_text(reader, characters).node if characters is not None else None
    side = str(node.args.get("position") or "").upper()
    return trim_text(side if side in ("LEADING", "TRAILING") else "", as_text(reader, node.this).node, given)


def _initcap(reader: Reader, node: exp.Expr) -> Term:
    delimiters = node.args.get("expression")
    args = [as_text(reader, node.this).node]
    if delimiters is not None and len(str(delimiters.this)) <= DELIMITERS:
        args.append(as_text(reader, delimiters).node)
    return Term(reader.exactly("initcap", STRING, *args), STRING)


def _substring(reader: Reader, node: exp.Expr) -> Term:
    value = as_text(reader, node.this).node
    start, length = (
        as_type(reader.read(x), INT) if (x := node.args.get(n)) is not None else None for n in ("start", "length")
    )
    start = start if start is not None else number(1)
    build = SUBSTRINGS.get(reader.dialect or "")
    if build is not None:
        return Term(build(value, _clamp(start), _clamp(length) if length is not None else None), STRING)
    return Term(fn("substring", value, _int(start), *([_int(length)] if length is not None else [])), STRING)


def _substring_standard(value: exp.Expr, start: exp.Expr, length: exp.Expr | None) -> exp.Expr:
    """Positions below 1 are before the text, and use up the length."""
    before = _below(start, 1)
    first = _int(when(before, number(1), start))
    if length is None:
        return fn("substring", value, first)
    found = fn("substring", value, first, _int(when(before, _sum(_sum(start, length), number(-1)), length)))
    return when(_below(length, 0), cast(fail_with("SUBSTRING with a negative length"), STRING), found)


def _substring_backwards(value: exp.Expr, start: exp.Expr, length: exp.Expr | None) -> exp.Expr:
    """0 is before the text, and a length below 0 goes backwards."""
    from_end = _sum(cast(fn("char_length", value), INT), start)
    first = when(_below(start, 0), from_end, _sum(start, number(-1)))
    if length is None:
        return fn("substring", value, _int(_sum(fn("greatest", first, number(0)), number(1))))
    ends = first, _sum(first, length)
    left, right = (fn("greatest", number(0), fn(which, *ends)) for which in ("least", "greatest"))
    return when(
        exp.Is(this=_sum(start, length), expression=exp.Null()), exp.Null(),
        fn("substring", value, _int(_sum(left, number(1))), _int(exp.Sub(this=right, expression=left))),
    )  # fmt: skip


#: Dialect -> its SUBSTRING, where that is not Spark's.
SUBSTRINGS: Mapping[str, Callable[[exp.Expr, exp.Expr, exp.Expr | None], exp.Expr]] = {
    **dict.fromkeys(("postgres", "redshift", "materialize", "risingwave", "tsql"), _substring_standard),
    **dict.fromkeys(("duckdb", "sqlite"), _substring_backwards),
}


def _ends(reader: Reader, node: exp.Expr) -> Term:
    """LEFT and RIGHT. A length below 0 leaves so many characters out, is an error, or is nothing, as in Spark."""
    left = isinstance(node, exp.Left)
    value, count = as_text(reader, node.this).node, _clamp(as_type(reader.read(node.args["expression"]), INT))
    plain = fn("left" if left else "right", value, _int(count))
    if reader.dialect in LEAVING_OUT:
        most = _sum(cast(fn("char_length", value), INT), count)
        rest = (
            fn("left", value, _int(most))
            if left
            else fn("substring", value, _int(exp.Sub(this=number(1), expression=count)))
        )
        return Term(when(_below(count, 0), rest, plain), STRING)
    if reader.dialect in NO_NEGATIVE_LENGTH:
        return Term(when(_below(count, 0), cast(fail_with("a negative length"), STRING), plain), STRING)
    return Term(plain, STRING)


def _concat(reader: Reader, node: exp.Expr) -> Term:
    """``||``, and CONCAT, which skips NULLs in some dialects (``coalesce``)."""
    parts = [as_text(reader, p).node for p in node.expressions or (node.args["this"], node.args["expression"])]
    if node.args.get("coalesce"):
        parts = [fn("coalesce", p, text("")) for p in parts]
    return Term(fn("concat", *parts), STRING)


def _character(reader: Reader, node: exp.Expr) -> Term:
    if len(node.expressions) != 1:
        raise refusal("CHR of several numbers")
    code = as_type(reader.read(node.expressions[0]), INT)
    # Spark's own CHR knows 256 characters
    made = fn("decode", fn("unhex", fn("lpad", fn("hex", code), exp.Literal.number(8), text("0"))), text("UTF-32"))
    is_one = exp.Between(this=code.copy(), low=number(1), high=number(0x10FFFF))
    known = exp.Or(this=is_one, expression=exp.Is(this=code.copy(), expression=exp.Null()))
    return Term(when(known, made, cast(fail_with("CHR of no character"), STRING)), STRING)


def _like(reader: Reader, node: exp.Expr) -> Term:
    return _match(reader, node, None if reader.dialect == "duckdb" else BACKSLASH)


def _escape(reader: Reader, node: exp.Expr) -> Term:
    """``a LIKE p ESCAPE c``, where the LIKE is the inner node."""
    like, escape = node.this.unnest(), reader.read(node.args["expression"])
    if not isinstance(like, exp.Like | exp.ILike) or not isinstance(escape.value, str):
        raise refusal("ESCAPE of something else")
    matched = _match(reader, like, escape.value or None)
    return Term(exp.Not(this=exp.Paren(this=matched.node)), BOOL) if like.args.get("negate") else matched


def _match(reader: Reader, node: exp.Expr, escape: str | None) -> Term:
    value, pattern = as_text(reader, node.this), as_text(reader, node.args["expression"])
    left, right = value.node, pattern.node
    if isinstance(node, exp.ILike):
        left, right = fn("lower", left), fn("lower", right)
    if isinstance(pattern.value, str) and pattern.value.count("%") <= PIECES:
        known = pattern.value.lower() if isinstance(node, exp.ILike) else pattern.value
        return Term(fn("regexp_like", left, text(_like_regex(known, escape))), BOOL)
    return Term(reader.exactly("like", BOOL, left, right, text(escape or "")), BOOL)


def _like_regex(pattern: str, escape: str | None) -> str:
    r"""As a regular expression of Java's that never backtracks over what it has found (``(?>``): the first place of each piece
    between two ``%`` leaves the most room to those behind it.

    >>> _like_regex("a!%b%", "!"), _like_regex("%ab%c", None)
    ('(?s)\\Aa%b.*\\z', '(?s)\\A(?>.*?ab).*c\\z')
    """
    first, *others = _pieces(pattern, escape)
    inner = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    return "(?s)\\A" + first + inner + (f".*{others[-1]}" if others else "") + "\\z"


def _pieces(pattern: str, escape: str | None) -> Iterator[str]:
    """What stands between the ``%`` of a LIKE pattern, as regular expressions."""
    piece, characters = "", iter(pattern)
    for c in characters:
        if escape and c == escape:
            piece += _quote_character(next(characters, ""))
        elif c == "%":
            yield piece
            piece = ""
        else:
            piece += "." if c == "_" else _quote_character(c)
    yield piece


def _quote_character(c: str) -> str:
    return f"\\x{{{ord(c):x}}}" if c and not c.isalnum() and c != "%" else c


def _regexp(reader: Reader, node: exp.Expr) -> Term:
    """By RE2, as in the product: Spark's own regular expressions are Java's, which backtrack. Upper case is lower where case is
    not told apart."""
    pattern, value = as_text(reader, node.args["expression"]), as_text(reader, node.this).node
    flag = node.args.get("flag")
    if not isinstance(pattern.value, str) or (flag is not None and flag.name != "i"):
        raise refusal("a computed regular expression, or one with flags")
    # `$` is the end of the text, and not a place before a line's end as well
    known = re.sub(r"(\\.|\[(?:\\.|[^\]])*\])|\$", lambda m: m[1] or r"\z", pattern.value)
    if flag is not None or isinstance(node, exp.RegexpILike):
        value = fn("lower", value)
        known = re.sub(r"(\\.)|.", lambda m: m[1] or m[0].lower(), known, flags=re.DOTALL)
    return Term(reader.exactly("regex", BOOL, value, text(known)), BOOL)


TEXTS: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(CALLS, _read_call),
    exp.Left: _ends,
    exp.Right: _ends,
    exp.Replace: _replace,
    exp.Repeat: lambda reader, node: Term(
        reader.exactly(
            "repeat", STRING, as_text(reader, node.this).node, as_type(reader.read(node.args["times"]), INT)
        ),
        STRING,
    ),
    exp.Trim: _trim,
    exp.Pad: _pad,
    exp.Initcap: _initcap,
    exp.Substring: _substring,
    exp.DPipe: _concat,
    exp.Concat: _concat,
    exp.ConcatWs: lambda reader, node: Term(
        fn("concat_ws", *(as_text(reader, e).node for e in node.expressions)), STRING
    ),
    exp.Chr: _character,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _regexp,
    exp.RegexpILike: _regexp,
}


# Texts that hold JSON: a value at a constant path is the text that ``->>`` gives.


TYPES = ("JSON", "JSONB", "VARIANT")


def _value(reader: Reader, node: exp.Expr) -> Term:
    """``a -> 'b' ->> 0``, JSON_EXTRACT_STRING, GET_JSON_OBJECT. What is no JSON is an error, in Spark NULL."""
    inner, steps = node, list[str | int]()
    while isinstance(inner, exp.JSONExtract | exp.JSONExtractScalar):
        path = inner.args["expression"]
        if not isinstance(path, exp.JSONPath):
            raise refusal("a path in JSON that is not constant")
        found = [part.this for part in path.expressions if not isinstance(part, exp.JSONPathRoot)]
        if not all(isinstance(step, str | int) for step in found):
            raise refusal("a path in JSON with more than keys and places")
        inner, steps = inner.this.unnest(), [*found, *steps]
    if isinstance(inner, exp.Cast) and inner.to.this.value in TYPES:
        inner = inner.this
    function = "try_json" if reader.dialect in ("spark", "databricks") else "json"
    return Term(reader.exactly(function, STRING, as_text(reader, inner).node, text(json.dumps(steps))), STRING)


JSONS: Mapping[type[exp.Expr], Rule] = {exp.JSONExtractScalar: _value}
