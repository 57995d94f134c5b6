"""Scalar expressions over the rows of a join, as plain tuples that are quick to compare, to sort and to rewrite.

Grammar::

    Term := (1, 0, type, value)                -- a constant
          | (1, 1, atom, column)               -- a column of one of the joined rows
          | (size, operation, type, Term*)     -- an operation; size = 1 + the sizes of its arguments, at least 2

Operations are not interpreted: two are equal where they are applied to equal arguments. Only the order of arguments that does
not matter is made one (``a = b`` and ``b = a``), and ``a > b`` is ``b < a``. Whether a value may be NULL is no part of its type
here, except where it decides the value (ATTEMPT).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from m3.evaluate import FAILURES, coerce
from m3.scalars import STRICT, Call, Const, Scalar, Var

__all__ = [
    "NULL_TESTED",
    "Term",
    "column",
    "is_column",
    "is_constant",
    "mapped",
    "nonnull_parts",
    "shifted",
    "term",
    "variables",
]

Term = tuple[Any, ...]
COMMUTATIVE = frozenset({"eq", "ne", "same", "and", "or", "add", "mul"})
TURNED = {"gt": "lt", "ge": "le"}
#: The operation that stands for NOT (x IS NULL).
NULL_TESTED = "is_not_null"


def column(atom: int, place: int) -> Term:
    """A column of a joined row."""
    return (1, 1, atom, place)


def is_column(given: Term) -> bool:
    """Whether a term is a column."""
    return bool(given[0] == 1 and given[1] == 1)


def is_constant(given: Term) -> bool:
    """Whether a term is a literal."""
    return bool(given[0] == 1 and given[1] == 0)


def term(scalar: Scalar, values: Mapping[str, Term]) -> Term:
    """A scalar as a term.

    >>> from m3.datatypes import INT
    >>> from m3.scalars import call
    >>> a, b = Var("a", INT), Var("b", INT)
    >>> places = {"a": column(0, 0), "b": column(1, 0)}
    >>> term(call("gt", a, b), places) == term(call("lt", b, a), places)
    True

    Args:
        scalar: any scalar.
        values: what its variables are.
    """
    if isinstance(scalar, Var):
        return values[scalar.name]
    if isinstance(scalar, Const):
        return _literal(scalar)
    args = [term(a, values) for a in scalar.args]
    if scalar.op == "not":
        (inner,) = args
        if inner[1] == "is_null":
            return _made(NULL_TESTED, "BOOL", inner[3:])
    if scalar.op in TURNED:
        return _made(TURNED[scalar.op], "BOOL", args[::-1])
    return _made(scalar.op, _type_text(scalar), args)


def _literal(scalar: Const) -> Term:
    """Equal values of one type are one term, however they are written."""
    try:
        value = coerce(scalar.value, scalar.type)
    except FAILURES:
        return (
            2,
            "literal",
            f"{_type_name(scalar.type)} {scalar.value!r}",
        )  # not a value that could differ from another one
    return (1, 0, _type_name(scalar.type), repr(value + 0.0 if isinstance(value, float) else value))


def _type_text(scalar: Call) -> str:
    text = _type_name(scalar.type)
    return f"{text} NULL" if scalar.op == "attempt" and scalar.type.nullable else text


_type_name = functools.lru_cache(maxsize=1 << 10)(str)


def _made(op: str, type_: str, args: list[Term] | Term) -> Term:
    if op in COMMUTATIVE:
        args = sorted(args)
    return (1 + max(1, sum(a[0] for a in args)), op, type_, *args)


def mapped(given: Term, change: Callable[[Term], Term]) -> Term:
    """The term with its columns changed."""
    if given[0] == 1:
        return change(given) if given[1] == 1 else given
    return _made(given[1], given[2], [mapped(a, change) for a in given[3:]])


def rebuilt(given: Term, args: list[Term]) -> Term:
    """An operation with other arguments."""
    return _made(given[1], given[2], args)


def shifted(given: Term, by: int) -> Term:
    """The term with its rows numbered from ``by`` on."""
    return mapped(given, lambda c: (1, 1, c[2] + by, c[3])) if by else given


def variables(given: Term) -> Iterator[Term]:
    """The columns in a term, each as often as it occurs."""
    if given[0] == 1:
        if given[1] == 1:
            yield given
    else:
        for arg in given[3:]:
            yield from variables(arg)


def nonnull_parts(given: Term) -> Iterator[Term]:
    """What is not NULL where the term is not: an operation that is NULL exactly when an argument is hands the question on."""
    if given[0] > 1 and given[1] in STRICT:
        for arg in given[3:]:
            yield from nonnull_parts(arg)
    elif not is_constant(given) or given[3] == repr(None):
        yield given
