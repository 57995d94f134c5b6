"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.numbers import fail_with
from cumulus_ops.validation.meaning.reader import Reader, Rule, cast_to
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, number, refusal, text, when
from m3.datatypes import BOOL, INT, STRING

__all__ = ["TEXTS", "as_text", "place"]


Build = Callable[..., exp.Expr]
BACKSLASH = "\\"
#: LIKE with more pieces between its ``%`` is no regular expression for Spark: Java goes one level deeper with each.
PIECES = 50
LONGEST = 2**31 - 1
#: Dialects in which LEFT and RIGHT of a length below 0 leave so many out, and in which that is an error.
LEAVING_OUT = ("postgres", "redshift", "materialize", "risingwave", "duckdb")
NO_NEGATIVE_LENGTH = ("tsql", "bigquery")


def as_text(reader: Reader, node: exp.Expr) -> Term:
    """A node where text is meant; other kinds are cast, as by ``||``."""
    term = reader.read(node)
    return term if term.kind == "string" else cast_to(reader, term, STRING)


def _clamp(node: exp.Expr) -> exp.Expr:
    """A length or place cut off at the limits of 32 bits: no text is that long."""
    over, under = (form(this=node.copy(), expression=number(x)) for form, x in ((exp.GT, LONGEST), (exp.LT, -LONGEST)))
    return when(over, number(LONGEST), under, number(-LONGEST), node)


def place(node: exp.Expr) -> exp.Expr:
    """A length or place as Spark's 32-bit integer."""
    return exp.Cast(this=_clamp(node), to=exp.DataType.build("INT", dialect="spark"))


def _sum(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=a.copy(), expression=b.copy()))


def _below(node: exp.Expr, limit: int) -> exp.Expr:
    return exp.LT(this=node.copy(), expression=number(limit))


def _replace(reader: Reader, node: exp.Expr) -> Term:
    """Where the new text is longer, the result may be too long: that is looked at before it is made."""
    given = (node.args.get(name) for name in ("this", "expression", "replacement"))
    value, old, new = (as_text(reader, x) if x is not None else Term(text(""), STRING, "") for x in given)
    if isinstance(old.value, str) and isinstance(new.value, str) and len(new.value) <= len(old.value):
        return Term(fn("replace", value.node, old.node, new.node), STRING)
    return Term(reader.exactly("replace", STRING, value.node, old.node, new.node), STRING)


def _substring(reader: Reader, node: exp.Expr) -> Term:
    value = as_text(reader, node.this).node
    start, length = (
        as_type(reader.read(x), INT) if (x := node.args.get(n)) is not None else None for n in ("start", "length")
    )
    start = start if start is not None else number(1)
    build = SUBSTRINGS.get(reader.dialect or "")
    if build is not None:
        return Term(build(value, _clamp(start), _clamp(length) if length is not None else None), STRING)
    return Term(fn("substring", value, place(start), *([place(length)] if length is not None else [])), STRING)


def _substring_standard(value: exp.Expr, start: exp.Expr, length: exp.Expr | None) -> exp.Expr:
    """Positions below 1 are before the text, and use up the length."""
    before = _below(start, 1)
    first = place(when(before, number(1), start))
    if length is None:
        return fn("substring", value, first)
    found = fn("substring", value, first, place(when(before, _sum(_sum(start, length), number(-1)), length)))
    return when(_below(length, 0), cast(fail_with("SUBSTRING with a negative length"), STRING), found)


def _substring_backwards(value: exp.Expr, start: exp.Expr, length: exp.Expr | None) -> exp.Expr:
    """0 is before the text, and a length below 0 goes backwards."""
    from_end = _sum(cast(fn("char_length", value), INT), start)
    first = when(_below(start, 0), from_end, _sum(start, number(-1)))
    if length is None:
        found = fn("substring", value, place(_sum(fn("greatest", first, number(0)), number(1))))
        return when(exp.Is(this=first, expression=exp.Null()), exp.Null(), found)  # GREATEST leaves NULL out
    ends = first, _sum(first, length)
    left, right = (fn("greatest", number(0), fn(which, *ends)) for which in ("least", "greatest"))
    return when(
        exp.Is(this=_sum(start, length), expression=exp.Null()), exp.Null(),
        fn("substring", value, place(_sum(left, number(1))), place(exp.Sub(this=right, expression=left))),
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
    plain = fn("left" if left else "right", value, place(count))
    if reader.dialect in LEAVING_OUT:
        most = _sum(cast(fn("char_length", value), INT), count)
        rest = (
            fn("left", value, place(most))
            if left
            else fn("substring", value, place(exp.Sub(this=number(1), expression=count)))
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


TEXTS: Mapping[type[exp.Expr], Rule] = {
    exp.Left: _ends,
    exp.Right: _ends,
    exp.Replace: _replace,
    exp.Substring: _substring,
    exp.DPipe: _concat,
    exp.Concat: _concat,
    exp.ConcatWs: lambda reader, node: Term(
        fn("concat_ws", *(as_text(reader, e).node for e in node.expressions)), STRING
    ),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
}
