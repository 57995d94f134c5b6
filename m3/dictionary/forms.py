"""Finds the row of what is written: the forms of entries are parsed as SQL of the view's own dialect, and compared with it node by node.

So a row says how a function is said and nothing about the parser: what a dialect calls a function, and which of its arguments comes first, is
known to sqlglot. What is found is written out as :class:`Operation` nodes over the arguments.

>>> import sqlglot
>>> def show(sql, dialect=None): return expand(sqlglot.parse_one(sql, read=dialect), dialect).sql()
>>> show("SHA2(a || b)", "snowflake"), show("NULLIFZERO(a)", "snowflake")
('OPERATION(sha2, a || b, 256)', 'CASE WHEN a = 0 THEN NULL ELSE a END')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp, parser
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from m3.dictionary import BY_HAND, ENTRIES, PLACEHOLDERS, Form
from m3.dictionary.formats import translate
from m3.dictionary.operation import Operation
from m3.dictionary.paths import expand_path
from m3.dictionary.units import unit_of
from m3.errors import ProgramError

__all__ = ["Operation", "expand", "expand_by_name", "fill", "match", "parse_meaning", "spell_unit"]


class _Bare(Dialect):
    """SQL in which no function has a meaning of its own."""

    class Parser(parser.Parser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


Arguments = dict[str, exp.Expr]
#: A form as a tree, and what it means as one.
Pattern = tuple[exp.Expr, exp.Expr]


def expand(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """What a call means, in operations over its arguments; None if no entry has such a form.

    Args:
        node: the call; it is not changed.
        dialect: sqlglot's name of the dialect in which it was written.
    """
    found = expand_by_name(node, dialect)
    return _expand(node, _patterns_by_class(dialect).get(type(node), ()), dialect) if found is None else found


def expand_by_name(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """The same, of places inside of texts, and of forms that begin with the call's name: no other form has to be parsed for that."""
    inside = expand_path(node, dialect)
    if inside is not None:
        return inside
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    return _expand(node, _patterns_of(name.upper(), dialect), dialect) if name else None


def _expand(node: exp.Expr, patterns: Iterable[Pattern], dialect: str | None) -> exp.Expr | None:
    for pattern, meaning in patterns:
        found: Arguments = {}
        if match(node, pattern, found):
            return fill(meaning, found, dialect)
    return None


def match(node: object, pattern: object, found: Arguments) -> bool:
    """Whether a part of a query is a part of a form; what stands for its placeholders is ``found``."""
    placeholder = _placeholder(pattern)
    if placeholder and isinstance(node, exp.Expr):
        known = found.setdefault(placeholder, node)
        return known is node or known == node
    if isinstance(pattern, list):
        given = node if isinstance(node, list) else []
        return len(given) == len(pattern) and all(match(n, p, found) for n, p in zip(given, pattern, strict=True))
    if not isinstance(pattern, exp.Expr):
        return (node or None) == (pattern or None)
    if type(node) is not type(pattern):
        return False
    if isinstance(pattern, exp.Identifier | exp.Literal | exp.Var):
        return str(node.this).lower() == str(pattern.this).lower()
    names = {n for x in (node, pattern) for n, v in x.args.items() if v not in (None, [], False)}
    return all(
        str(node.args.get(n)).lower() == str(pattern.args.get(n)).lower()
        if isinstance(pattern.args.get(n), str)
        else match(node.args.get(n), pattern.args.get(n), found)
        for n in sorted(names)
    )


def _placeholder(pattern: object) -> str:
    """The argument that a part of a form stands for; units and formats may be in quotes, or words."""
    if isinstance(pattern, exp.Column) or (
        isinstance(pattern, exp.Var | exp.Literal) and pattern.name.lower() in SPELLED
    ):
        name = pattern.name.lower()
        return name if name in PLACEHOLDERS else ""
    return ""


def fill(meaning: exp.Expr, found: Arguments, dialect: str | None) -> exp.Expr:
    """A meaning with what stands in the place of its arguments."""

    def put(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in found:
            return node
        spelled = SPELLED.get(node.name)
        return found[node.name].copy() if spelled is None else spelled(found[node.name], dialect)

    return meaning.copy().transform(put, copy=False)


def spell_unit(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """A unit of time as operations have it.

    Raises:
        ProgramError: there is none of that name.
    """
    if isinstance(node, exp.WeekStart | exp.Week) and node.this is not None:
        return exp.Literal.string(unit_of(f"WEEK({node.this.name})", dialect))
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        return exp.Literal.string(unit_of(f"{node.name}({node.expressions[0].name})", dialect))
    return exp.Literal.string(unit_of(node.name, dialect))


def _spell_format(node: exp.Expr, dialect: str | None) -> exp.Expr:
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise ProgramError("a format that is not constant", kind="bad-format", hint="a text that is written out")
    return exp.Literal.string(translate(str(node.this), dialect))


#: Argument -> what a dialect's word for it is in operations.
SPELLED: Mapping[str, Callable[[exp.Expr, str | None], exp.Expr]] = {
    "unit": spell_unit,
    "format": _spell_format,
    "joda": lambda node, _: _spell_format(node, "joda"),
}


def _forms(dialect: str | None) -> Iterator[tuple[str, Form]]:
    """The forms of a dialect with their entries' names: its own before those of all."""
    forms = [(name, form) for name, entry in ENTRIES.items() for form in entry.said if form.meaning != BY_HAND]
    yield from ((n, f) for n, f in forms if f.dialects and f.is_of(dialect))
    yield from ((n, f) for n, f in forms if not f.dialects)


@lru_cache(maxsize=64)
def _names(dialect: str | None) -> dict[str, list[tuple[str, Form]]]:
    """The word before the parenthesis -> forms: most of what is written is found without parsing all others."""
    by_name: dict[str, list[tuple[str, Form]]] = {}
    for entry, form in _forms(dialect):
        by_name.setdefault(form.text.partition("(")[0].upper(), []).append((entry, form))
    return by_name


@lru_cache(maxsize=4096)
def _patterns_of(name: str, dialect: str | None) -> list[Pattern]:
    return [p for entry, form in _names(dialect).get(name, ()) for p in _parse(entry, form, dialect)]


@lru_cache(maxsize=64)
def _patterns_by_class(dialect: str | None) -> dict[type[exp.Expr], list[Pattern]]:
    by_class: dict[type[exp.Expr], list[Pattern]] = {}
    for entry, form in _forms(dialect):
        for pattern in _parse(entry, form, dialect):
            by_class.setdefault(type(pattern[0]), []).append(pattern)
    return by_class


#: Forms that sqlglot reads by the text of an argument -> what else it makes of them.
ALSO: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("tsql", "FORMAT(m, format)"): ("TIME_TO_STR(m, format)",),
    ("mysql", "STR_TO_DATE(s, format)"): ("STR_TO_TIME(s, format)",),
    ("duckdb", "DATE_DIFF('unit', t, u)"): ("DATE_DIFF(unit, t, u)",),
    ("duckdb", "DATEDIFF('unit', t, u)"): ("DATEDIFF(unit, t, u)",),
}


def _parse(entry: str, form: Form, dialect: str | None) -> list[Pattern]:
    """A form and its meaning; nothing where this dialect's parser knows no such form."""
    trees = []
    for text in (form.text, *ALSO.get((dialect or "", form.text), ())):
        try:
            trees += sqlglot.parse_one(f"SELECT {text}", read=dialect).expressions  # alone, REPLACE is a statement
        except SqlglotError:
            continue
    given = (c for c in sorted(PLACEHOLDERS) if f"{c}," in form.text or f"{c})" in form.text)
    written = form.meaning or f"{entry}({', '.join(_in_order(form.text, set(given)))})"
    return [(tree, parse_meaning(written)) for tree in trees]


def _in_order(text: str, names: set[str]) -> list[str]:
    """The placeholders of a form in the order in which they are written."""
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    return [w for w in dict.fromkeys(words) if w in names]


@lru_cache(maxsize=4096)
def parse_meaning(text: str) -> exp.Expr:
    """SQL in which every function is an operation of M3, as a tree."""

    tree = exp.Paren(this=sqlglot.parse_one(text, read=_Bare))
    for node in reversed(list(tree.find_all(exp.Anonymous))):  # the innermost first
        node.replace(Operation(this=exp.var(node.name), expressions=node.expressions))
    parsed: exp.Expr = tree.this.pop()
    return parsed
