r"""Regular expressions in SQL: whether one occurs in a text, what it matches there, how often, and what takes its place.

What a dialect says differently is here: which matches REGEXP_REPLACE replaces, how a replacement names groups, which group is meant, and whether
a text without a match is NULL or empty. Of several matches the operations take Perl's (:mod:`m3.functions.regexes`); a pattern of which
PostgreSQL takes the longest instead is refused there, where it matters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from m3.functions import (
    capture,
    check_replacement,
    count_groups,
    is_lazy,
    may_lack,
    nonempty_regex,
    safe_regex,
    takes_longest,
)
from m3.scalars import Const, Scalar, const
from m3.sql.expressions import ExpressionReader, Handler

__all__ = ["REGEXES", "read_first_group"]

KIND = "regular-expression"
#: A character of a regular expression; what is escaped keeps its case.
ESCAPED = re.compile(r"(\\.)|.", re.DOTALL)
CASELESS = "(?i)"
GENERIC = "generic"

#: Function -> the dialects whose own it is.
HAVE: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.RegexpReplace: ("postgres", "spark", "duckdb", "mysql", "snowflake", "bigquery", "trino", GENERIC),
    exp.RegexpExtract: ("spark", "duckdb", "snowflake", "bigquery", "trino"),
    exp.RegexpSubstr: ("postgres", "spark", "mysql", GENERIC),
    exp.RegexpCount: ("postgres", "spark", "snowflake", "trino", GENERIC),
    exp.RegexpInstr: ("postgres", "spark", "mysql", "snowflake", "bigquery", GENERIC),
}
#: Dialects in which REGEXP_REPLACE replaces the first match only, without the flag ``g``.
REPLACE_FIRST = ("postgres", "duckdb")
#: Dialects in which groups of a replacement are ``$1``; in the others they are ``\1``.
DOLLARS = ("spark", "mysql", "trino")
#: Dialects in which REGEXP_EXTRACT is empty without a match, and not NULL.
EMPTY_WITHOUT_MATCH = ("spark", "duckdb")
#: Dialects that take the longest match, and not the first alternative.
TAKE_LONGEST = ("postgres",)


def _dialect(reader: ExpressionReader) -> str:
    return {"databricks": "spark", None: GENERIC}.get(reader.dialect, reader.dialect or "")


def _start(reader: ExpressionReader, node: exp.Expr) -> None:
    """Fail where a dialect has no such function, or where a search begins elsewhere than at the first character, or for another match than the first."""
    if _dialect(reader) not in HAVE[type(node)]:
        message = f"{reader.source.name(node)} in the dialect {_dialect(reader)}"
        reader.source.fail(node, message, "unsupported-expression", "a regular expression in the words of the dialect")
    all_of_them = isinstance(node, exp.RegexpReplace)
    for name, allowed in (("position", (1,)), ("occurrence", (0, 1) if all_of_them else (1,)), ("option", (0,))):
        given = node.args.get(name)
        if given is not None and reader.read_constant(given) not in allowed:
            hint = "from the first character, and the first match"
            reader.source.fail(given, f"{reader.source.name(node)} with another {name}", "unsupported-expression", hint)


def _read_flags(reader: ExpressionReader, given: exp.Expr | None, allowed: str) -> str:
    flags = reader.read_constant(given) if given is not None else ""
    if not isinstance(flags, str) or set(flags) - set(allowed) or {"i", "c"} <= set(flags):
        assert given is not None
        hint = " and ".join(f"'{a}'" for a in allowed if a != "c") + ", or none"
        reader.source.fail(given, f"the flags {reader.source.text(given)}", KIND, hint)
    return flags


def _read_pattern(reader: ExpressionReader, node: exp.Expr, flags: str, *, which: bool = True) -> str | None:
    """A constant pattern, None for NULL.

    Args:
        reader: reads it.
        node: the call.
        flags: its flags; ``i`` is put in front of the pattern.
        which: whether it counts which match is taken.
    """
    given = node.args["start" if isinstance(node, exp.Substring) else "expression"]
    pattern = reader.read_text(given)
    if not isinstance(pattern, Const):
        reader.source.fail(node, "a computed regular expression", KIND, "a constant regular expression, or LIKE")
    if not isinstance(pattern.value, str):
        return None
    found = CASELESS * ("i" in flags and not pattern.value.startswith(CASELESS)) + pattern.value
    with reader.source.guard(given):
        safe_regex(found)
        if _dialect(reader) == "snowflake" and is_lazy(found):
            message = "a repetition as few times as it can, which Snowflake does not know"
            reader.source.fail(given, message, KIND, "a class of what is between: [^>]* for .*?")
        if which and _dialect(reader) in TAKE_LONGEST and not takes_longest(found):
            message = "a match of alternatives, of a repeated group or of *?, which PostgreSQL takes by the length of the whole"
            reader.source.fail(given, message, KIND, "classes as [ab] for a|b, a call for each alternative")
    return found


def _call(reader: ExpressionReader, node: exp.Expr, op: str, pattern: str | None, *others: Scalar) -> Scalar:
    known = const(pattern) if pattern is not None else reader.read_text(exp.Null())
    return reader.call(node, op, reader.read_text(node.this), known, *others)


#: A part of a pattern of SIMILAR TO in PostgreSQL: escaped, a class, or a character.
SIMILAR = re.compile(r"\\(.)|(\[\^?(?:\\.|[^\]\\])+\])|(.)", re.DOTALL)


def _read_similar(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """SIMILAR TO, of the whole text: in DuckDB a regular expression, in PostgreSQL one whose wildcards are those of LIKE."""
    dialect, given = _dialect(reader), node.args["expression"]
    pattern = reader.read_text(given)
    if dialect not in ("postgres", "duckdb"):
        hint = "LIKE, or a regular expression with RLIKE or ~"
        reader.source.fail(node, "SIMILAR TO is not supported", "unsupported-expression", hint)
    if not isinstance(pattern, Const):
        reader.source.fail(node, "a computed regular expression", KIND, "a constant regular expression, or LIKE")
    if not isinstance(pattern.value, str):
        return _call(reader, node, "regexp_like", None)
    found = pattern.value if dialect == "duckdb" else SIMILAR.sub(_translate_similar, pattern.value)
    start = CASELESS if found.startswith(CASELESS) and dialect == "duckdb" else ""
    whole = f"{start}^({found.removeprefix(start)})$"
    with reader.source.guard(given):
        safe_regex(found)  # by itself: parentheses around it may close others
        safe_regex(whole)
    return _call(reader, node, "regexp_like", whole)


def _translate_similar(part: re.Match[str]) -> str:
    escaped, group, plain = part.groups()
    if group is not None:
        return group
    if escaped is not None:
        return escaped if escaped in "%_" else f"\\{escaped}"
    return {"%": ".*", "_": ".", ".": r"\.", "^": r"\^", "$": r"\$"}.get(plain, plain)


def _read_like(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """RLIKE, ``~``, REGEXP_LIKE and their like; Snowflake's, and REGEXP_FULL_MATCH, are of the whole text."""
    if reader.dialect == "duckdb" and isinstance(node, exp.RegexpLike) and not node.meta:
        # An operator: only calls have places of their own. The parser reads it as REGEXP_MATCHES, which it is not in DuckDB.
        hint = "REGEXP_FULL_MATCH(a, pattern), or REGEXP_MATCHES(a, pattern) for a part of it"
        reader.source.fail(node, "~, which matches whole texts in DuckDB", "regular-expression", hint)
    flags = _read_flags(reader, node.args.get("flag") or node.args.get("options"), "ic")
    known = _read_pattern(reader, node, "", which=False)
    if known is not None and (node.args.get("full_match") or isinstance(node, exp.RegexpFullMatch)):
        start = CASELESS if known.startswith(CASELESS) else ""
        known = f"{start}^({known.removeprefix(start)})$"
    if known is None or not ("i" in flags or isinstance(node, exp.RegexpILike)):
        return _call(reader, node, "regexp_like", known)
    lowered = ESCAPED.sub(lambda c: c[1] or c[0].lower(), known)
    with reader.source.guard(node):
        safe_regex(lowered)
    return reader.call(node, "regexp_like", reader.call(node, "lower", reader.read_text(node.this)), const(lowered))


def _read_replace(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    _start(reader, node)
    dialect = _dialect(reader)
    flags = _read_flags(reader, node.args.get("modifiers"), "gic" if dialect in REPLACE_FIRST else "ic")
    occurrence = reader.read_constant(node.args.get("occurrence"))
    if dialect in REPLACE_FIRST and (node.args.get("position") or node.args.get("occurrence")):
        hint = "REGEXP_REPLACE(s, pattern, replacement, 'g')"
        reader.source.fail(node, f"{reader.source.name(node)} with a position", "unsupported-expression", hint)
    first = "g" not in flags if dialect in REPLACE_FIRST else occurrence == 1
    pattern, given = _read_pattern(reader, node, flags), node.args.get("replacement")
    if given is None:
        hint = "REGEXP_REPLACE(s, pattern, '')"
        reader.source.fail(node, f"{reader.source.name(node)} without a replacement", "wrong-arity", hint)
    new = reader.read_text(given)
    if not isinstance(new, Const):
        reader.source.fail(given, "a computed replacement", KIND, "a constant one; or REPLACE")
    if pattern is not None and isinstance(new.value, str):
        with reader.source.guard(given):
            new = const(_translate_replacement(reader, given, new.value))
            check_replacement(pattern, str(new.value))
        if not first:
            with reader.source.guard(node.args["expression"]):
                nonempty_regex(pattern)
    return _call(reader, node, "regexp_replace_first" if first else "regexp_replace", pattern, new)


def _translate_replacement(reader: ExpressionReader, node: exp.Expr, text: str) -> str:
    r"""A replacement in RE2's words: ``\1`` is a group, ``\0`` the match, and two backslashes are one."""
    dollars = _dialect(reader) in DOLLARS
    written: list[str] = []
    pieces = r"\$([0-9])(?![0-9])|\\([\\$])|([^\\$])" if dollars else r"\\([0-9&])|\\(\\)|([^\\])"
    place = 0
    while place < len(text):
        piece = re.compile(pieces, re.DOTALL).match(text, place)
        if piece is None or (piece[1] in ("0", "&") and not dollars and not _names_match(reader, piece[1])):
            known = "$1 for a group, \\$ and \\\\" if dollars else "\\1 for a group, \\\\ for a backslash"
            reader.source.fail(node, f"the replacement {reader.source.text(node)}", KIND, known)
        group, escaped, plain = piece.groups()
        literal = plain if escaped is None else escaped
        written.append(f"\\{0 if group == '&' else group}" if group else "\\\\" if literal == "\\" else literal)
        place = piece.end()
    return "".join(written)


def _names_match(reader: ExpressionReader, word: str) -> bool:
    r"""Whether the whole match is ``\0`` or ``\&`` in a dialect."""
    return (word == "&") == (_dialect(reader) == "postgres")


def _read_extract(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """REGEXP_EXTRACT, and what else is called REGEXP_SUBSTR: what the first match is, or a group of it."""
    _start(reader, node)
    dialect, given = _dialect(reader), node.args.get("group")
    flags = _read_flags(reader, node.args.get("parameters"), "ice" if dialect == "snowflake" else "ic")
    pattern = _read_pattern(reader, node, flags)
    group = reader.read_constant(given) if given is not None else 0
    if dialect == "bigquery" and pattern is not None:
        group = count_groups(pattern)
    elif dialect == "snowflake":
        group = (group or 1) if "e" in flags else 0
    if not isinstance(group, int) or (dialect == "bigquery" and group > 1):
        hint = "a constant number" if dialect != "bigquery" else "one group at most"
        reader.source.fail(node, f"{reader.source.name(node)} of this group", KIND, hint)
    op = "regexp_extract" if dialect in EMPTY_WITHOUT_MATCH and isinstance(node, exp.RegexpExtract) else "regexp_substr"
    return _extract(reader, node, op, pattern, group)


def _extract(reader: ExpressionReader, node: exp.Expr, op: str, pattern: str | None, group: int) -> Scalar:
    if pattern is not None:
        with reader.source.guard(node):
            capture(pattern, group)
        if op == "regexp_substr" and may_lack(pattern, group):
            hint = "a group that is in each match: ((a|b)?) for (a|b)?"
            reader.source.fail(node, f"the group {group}, which a match may be without", KIND, hint)
    return _call(reader, node, op, pattern, const(group))


def read_first_group(reader: ExpressionReader, node: exp.Substring) -> Scalar:
    """``SUBSTRING(s FROM pattern)``: the first group, or the whole match of a pattern without groups."""
    pattern = _read_pattern(reader, node, "")
    return _extract(reader, node, "regexp_substr", pattern, min(1, count_groups(pattern)) if pattern else 0)


def _read_number(op: str, flags: str) -> Handler:
    def read(reader: ExpressionReader, node: exp.Expr) -> Scalar:
        _start(reader, node)
        given = _read_flags(reader, node.args.get("parameters"), flags)
        group = node.args.get("group")
        if group is not None and reader.read_constant(group) != 0:
            reader.source.fail(group, "the place of a group", "unsupported-expression", "the place of the whole match")
        pattern = _read_pattern(reader, node, given)
        if op == "regexp_count" and pattern is not None:
            with reader.source.guard(node.args["expression"]):
                nonempty_regex(pattern)
        return _call(reader, node, op, pattern)

    return read


REGEXES: Mapping[type[exp.Expr], Handler] = {
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.RegexpFullMatch), _read_like),
    exp.SimilarTo: _read_similar,
    exp.RegexpReplace: _read_replace,
    **dict.fromkeys((exp.RegexpExtract, exp.RegexpSubstr), _read_extract),
    exp.RegexpCount: _read_number("regexp_count", "ic"),
    exp.RegexpInstr: _read_number("regexp_instr", "ic"),
    exp.RawString: lambda reader, node: const(str(node.this)),
}
