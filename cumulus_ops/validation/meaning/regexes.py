r"""Regular expressions for Spark: its own, which are Java's, of patterns in which it has nowhere to go back to; of others the product's (decision 0045).

Java backtracks: where something follows what repeats, the time may be the square of the text's length, and more. Both take the first
alternative and the most of what repeats. Java's ``$`` is also before a last newline, so the end is written ``\z``, and only ``\n`` ends a line (``(?d)``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, cast, fn, refusal, text, when
from cumulus_ops.validation.meaning.texts import TEXTS, as_text
from m3.datatypes import BOOL, INT, STRING

__all__ = ["REGEXES"]

CASELESS = "(?i)"
#: What is one character of a text in a pattern: escaped, a class, or itself.
SINGLE = r"\\.|\[(?:\\.|[^\]])*\]"
MOST_CHOICES = 8
BLANKS = r"\t\n\f\r "
FIRST_ONLY = ("postgres", "duckdb")
DOLLARS = ("spark", "databricks", "mysql", "trino")


def _split(pattern: str) -> list[str]:
    return re.findall(rf"{SINGLE}|\(\?:|\{{[0-9,]+\}}|.", pattern, re.DOTALL)


def _end_at_text(pattern: str) -> str:
    """``$`` is the end of the text, and not a place before a line's end as well."""
    return "".join(r"\z" if t == "$" else t for t in _split(pattern))


def _is_tame(pattern: str) -> bool:
    """Whether Java takes no more than the text's length times a constant, whatever the text: there is little to choose from, and what
    repeats without a fixed number is the last part, behind which nothing can fail.

    >>> _is_tame("[^a-z]+"), _is_tame("@(.+)"), _is_tame("a+$"), _is_tame("(a+)+")
    (True, True, False, False)
    """
    tokens = _split(pattern)
    choices = sum(t in ("?", "|") for t in tokens)
    repeated = any(a == ")" and b[0] in "*+?{" for a, b in itertools.pairwise(tokens))
    while tokens and tokens[-1] == ")":
        tokens.pop()
    early = any(t in ("*", "+") or (t[0] == "{" and "," in t) for t in tokens[:-1])
    return not repeated and not early and choices <= MOST_CHOICES and not pattern.startswith(CASELESS)


def _java(pattern: str) -> exp.Expr:
    return text("(?d)" + "".join(_blanks(t) for t in _split(_end_at_text(pattern))))


def _blanks(token: str) -> str:
    """A vertical tab is a blank in Java alone."""
    if token.startswith("["):
        return token.replace(r"\s", BLANKS)
    return {r"\s": f"[{BLANKS}]", r"\S": f"[^{BLANKS}]"}.get(token, token)


def _pattern_of(reader: Reader, node: exp.Expr, given: exp.Expr, flags: str) -> str:
    pattern = as_text(reader, given).value
    if not isinstance(pattern, str):
        raise refusal("a regular expression that is no constant")
    return CASELESS * ("i" in flags and not pattern.startswith(CASELESS)) + pattern


def _flags_of(node: exp.Expr) -> str:
    given = next((node.args[n] for n in ("modifiers", "parameters", "flag", "options") if node.args.get(n)), None)
    if given is not None and not isinstance(given, exp.Literal):
        raise refusal("flags that are no constant")
    return "" if given is None else str(given.name)


def _place(node: exp.Expr, name: str) -> int | None:
    given = node.args.get(name)
    return None if given is None else int(given.name)


def _like(reader: Reader, node: exp.Expr) -> Term:
    """By RE2. Upper case is lower where case is not told apart."""
    value, caseless = as_text(reader, node.this).node, "i" in _flags_of(node) or isinstance(node, exp.RegexpILike)
    known = _pattern_of(reader, node, node.args["expression"], "")
    if node.args.get("full_match") or isinstance(node, exp.RegexpFullMatch):
        start = CASELESS if known.startswith(CASELESS) else ""
        known = f"{start}^({known.removeprefix(start)})$"
    known = _end_at_text(known)
    if caseless:
        value = fn("lower", value)
        known = re.sub(r"(\\.)|.", lambda m: m[1] or m[0].lower(), known, flags=re.DOTALL)
    return Term(reader.exactly("regex", BOOL, value, text(known)), BOOL)


def _similar(reader: Reader, node: exp.Expr) -> Term:
    """By RE2, of the whole text. PostgreSQL's wildcards are those of LIKE, and what else regular expressions have is a character."""
    pattern = _pattern_of(reader, node, node.args["expression"], "")
    if reader.dialect == "postgres":
        words = {"%": ".*", "_": ".", r"\%": "%", r"\_": "_", ".": r"\.", "^": r"\^", "$": r"\$"}
        pattern = "".join(words.get(token, token) for token in _split(pattern))
    start = CASELESS if pattern.startswith(CASELESS) else ""
    known = _end_at_text(f"{start}^({pattern.removeprefix(start)})$")
    return Term(reader.exactly("regex", BOOL, as_text(reader, node.this).node, text(known)), BOOL)


def _replace(reader: Reader, node: exp.Expr) -> Term:
    flags = _flags_of(node)
    first = "g" not in flags if reader.dialect in FIRST_ONLY else _place(node, "occurrence") == 1
    value, pattern = as_text(reader, node.this).node, _pattern_of(reader, node, node.args["expression"], flags)
    new = as_text(reader, node.args["replacement"]).value
    if not isinstance(new, str):
        raise refusal("a replacement that is no constant")
    signs = r"\$[0-9]|\\.|." if reader.dialect in DOLLARS else r"\\.|."
    parts = [_part(p) for p in re.findall(signs, new, re.DOTALL)]
    if not first and len(parts) <= 1 and _is_tame(pattern):  # it cannot become longer
        java = "".join(f"${p}" if isinstance(p, int) else re.sub(r"([\\$])", r"\\\1", p) for p in parts)
        return Term(fn("regexp_replace", value, _java(pattern), text(java)), STRING)
    written = "".join(f"\\{p}" if isinstance(p, int) else p.replace("\\", r"\\") for p in parts)
    function = "regex_replace_first" if first else "regex_replace"
    return Term(reader.exactly(function, STRING, value, text(_end_at_text(pattern)), text(written)), STRING)


def _part(written: str) -> int | str:
    """A part of a replacement: a group's number, or characters."""
    if len(written) == 1:
        return written
    return 0 if written[1] == "&" else int(written[1]) if written[1].isdigit() else written[1]


def _count_groups(pattern: str) -> int:
    return _split(pattern.removeprefix(CASELESS)).count("(")


def _extract(reader: Reader, node: exp.Expr) -> Term:
    flags = _flags_of(node)
    pattern = _pattern_of(reader, node, node.args["expression"], flags)
    group = _place(node, "group") or 0
    if reader.dialect == "bigquery":
        group = _count_groups(pattern)
    elif reader.dialect == "snowflake":
        group = (group or 1) if "e" in flags else 0
    never_null = reader.dialect in ("spark", "databricks", "duckdb") and isinstance(node, exp.RegexpExtract)
    return _group(reader, node, pattern, group, never_null=never_null)


def _group(reader: Reader, node: exp.Expr, pattern: str, group: int, *, never_null: bool) -> Term:
    value = as_text(reader, node.this).node
    if _is_tame(pattern):
        found = fn("regexp_extract", value, _java(pattern), exp.Literal.number(group))  # empty without a match
        return Term(found if never_null else when(fn("regexp_like", value, _java(pattern)), found), STRING)
    found = reader.exactly("regex_group", STRING, value, text(_name_group(pattern, group)))
    if never_null:
        found = when(exp.Is(this=value.copy(), expression=exp.Null()), exp.Null(), fn("coalesce", found, text("")))
    return Term(found, STRING)


def _name_group(pattern: str, group: int) -> str:
    """The pattern with one group for RE2, which is called ``found``."""
    start, number = CASELESS if pattern.startswith(CASELESS) else "", 0
    written = ""
    for token in _split(pattern.removeprefix(start)):
        number += token == "("
        written += ("(?P<found>" if number == group else "(?:") if token == "(" else r"\z" if token == "$" else token
    return f"{start}{written}" if group else f"{start}(?P<found>{written})"


def _substring(reader: Reader, node: exp.Expr) -> Term:
    """``SUBSTRING(s FROM pattern)``: the first group, or the whole match of a pattern without groups."""
    start = node.args.get("start")
    if reader.dialect != "postgres" or not isinstance(start, exp.Literal) or not start.is_string:
        return TEXTS[exp.Substring](reader, node)
    pattern = _pattern_of(reader, node, start, "")
    return _group(reader, node, pattern, min(1, _count_groups(pattern)), never_null=False)


def _count(reader: Reader, node: exp.Expr) -> Term:
    value = as_text(reader, node.this).node
    pattern = _pattern_of(reader, node, node.args["expression"], _flags_of(node))
    if _is_tame(pattern):
        return Term(cast(fn("regexp_count", value, _java(pattern)), INT), INT)
    return Term(reader.exactly("regex_count", INT, value, text(_end_at_text(pattern))), INT)


def _instr(reader: Reader, node: exp.Expr) -> Term:
    """Java counts in halves of some characters, so it is the length of what is before the match."""
    value = as_text(reader, node.this).node
    pattern = _name_group(_pattern_of(reader, node, node.args["expression"], _flags_of(node)), 0)
    start = CASELESS if pattern.startswith(CASELESS) else ""
    inner = pattern.removeprefix(start).replace("(?P<found>", "(?:", 1)
    before = reader.exactly("regex_group", STRING, value, text(f"{start}^(?P<found>(?s:.*?)){inner}"))
    place = fn(
        "coalesce", exp.Add(this=fn("char_length", before), expression=exp.Literal.number(1)), exp.Literal.number(0)
    )
    return Term(when(exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())), cast(place, INT)), INT)


REGEXES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.RegexpFullMatch), _like),
    exp.SimilarTo: _similar,
    exp.RegexpReplace: _replace,
    **dict.fromkeys((exp.RegexpExtract, exp.RegexpSubstr), _extract),
    exp.RegexpCount: _count,
    exp.RegexpInstr: _instr,
    exp.Substring: _substring,
    exp.RawString: lambda reader, node: Term(text(str(node.this)), STRING, str(node.this)),
}
