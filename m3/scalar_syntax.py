"""Scalar expressions of M3 text: syntax tree -> typed :mod:`m3.scalars`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from m3.datatypes import Type
from m3.errors import M3Error, ProgramError, Span
from m3.functions import FUNCTIONS, Value
from m3.scalars import OPERATIONS, Call, Const, Scalar, Var, call, const

__all__ = ["Node", "Types", "build_scalar", "build_type", "name_of", "span_of", "text_of"]

#: A lark tree: ``data``, ``children`` and ``meta``.
Node = Any
Types = Mapping[str, Type]

COMPARISONS = {"<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
#: What is written ``NAME(arguments)``, and how many arguments it takes.
CALLED: Mapping[str, tuple[int, int]] = {
    "coalesce": (1, 99),
    "same": (2, 2),
    "attempt": (1, 1),
    "fails": (1, 1),
    **{f.name: f.arity for f in FUNCTIONS.values()},
}
#: Nodes whose children are all scalars and whose name is the operation's.
PLAIN = ("or", "and", "not", "is_null", "like", "concat", "add", "sub", "mul", "div", "neg", "case")


def span_of(node: Node, file: str) -> Span:
    """The place of a node; of several lines, the first."""
    meta = node.meta
    length = meta.end_column - meta.column if meta.end_line == meta.line else 1
    return Span(meta.line, meta.column, max(1, length), file)


def name_of(node: Node) -> str:
    """The name in a ``name`` node, without quotes."""
    token = str(node.children[0])
    return token[1:-1].replace('""', '"') if token.startswith('"') else token


def text_of(token: object) -> str:
    """The text of a string token."""
    return str(token)[1:-1].replace("''", "'")


def build_type(node: Node, file: str) -> Type:
    """The type in a ``type`` node.

    Raises:
        ProgramError: a DECIMAL out of range.
    """
    base, nullable = node.children
    kind, *rest = (str(c) for c in base.children)
    precision, scale = [int(r) for r in rest if r.isdigit()] or (0, 0)
    try:
        return Type(kind.lower(), precision, scale, nullable is not None)
    except ProgramError as error:
        raise ProgramError(error.message, kind=error.kind, span=span_of(node, file), hint=error.hint) from error


def build_scalar(node: Node, types: Types, file: str) -> Scalar:
    """The scalar in an expression node.

    Args:
        node: the tree.
        types: of the variables in scope.
        file: the text's name, for spans.

    Raises:
        ProgramError: an unknown variable or function, or types that do not fit; at the innermost node.
    """
    try:
        return _build(node, types, file)
    except M3Error as error:
        if error.span is not None:
            raise
        raise type(error)(error.message, kind=error.kind, span=span_of(node, file), hint=error.hint) from error
    except ValueError as error:
        hint = "DATE 'YYYY-MM-DD', TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"
        raise ProgramError(str(error), kind="bad-literal", span=span_of(node, file), hint=hint) from error


def _build(node: Node, types: Types, file: str) -> Scalar:
    if node.data in PLAIN:
        return call(node.data, *(build_scalar(c, types, file) for c in node.children))
    if node.data in _LITERALS:
        return _LITERALS[node.data](node)
    match node.data:
        case "paren":
            return build_scalar(node.children[0], types, file)
        case "variable":
            return _variable(name_of(node.children[0]), types)
        case "comparison":
            return _comparison(node, types, file)
        case "function":
            return _function(node, types, file)
        case "cast" | "try_cast":
            return call(node.data, build_scalar(node.children[0], types, file), to=build_type(node.children[1], file))
        case "typed":
            return _typed(node, types, file)
        case "is_not_null" | "not_like":
            positive = "is_null" if node.data == "is_not_null" else "like"
            return call("not", call(positive, *(build_scalar(c, types, file) for c in node.children)))
        case "in" | "not_in":
            first, options = node.children
            inside = call("in", *(build_scalar(c, types, file) for c in (first, *options.children)))
            return inside if node.data == "in" else call("not", inside)
    hint = "parts of a scalar are variables, literals and operations; map reads are factors of their own"
    raise ProgramError(f"{node.data} in a scalar", kind="bad-scalar", hint=hint)


_LITERALS: Mapping[str, Callable[[Node], Scalar]] = {
    "number": lambda node: _number(str(node.children[0])),
    "string": lambda node: const(text_of(node.children[0])),
    "true": lambda _: const(True),
    "false": lambda _: const(False),
    "date": lambda node: const(datetime.date.fromisoformat(text_of(node.children[0]))),
    "timestamp": lambda node: _timestamp(text_of(node.children[0])),
}


def _timestamp(text: str) -> Const:
    value = datetime.datetime.fromisoformat(text)
    if value.tzinfo is not None:
        raise ValueError(f"a timestamp with an offset from UTC: {text}")
    return const(value)


def _number(text: str) -> Const:
    """A DOUBLE has an exponent, a DECIMAL a point."""
    if "e" in text.lower():
        return const(float(text))
    return const(Decimal(text) if "." in text else int(text))


def _variable(name: str, types: Types) -> Var:
    if name not in types:
        hint = f"in scope: {', '.join(types) or 'none'}; a loop variable is a bare key of a map read in the term"
        raise ProgramError(f"variable {name!r} is not bound", kind="unbound-variable", hint=hint)
    return Var(name, types[name])


def _comparison(node: Node, types: Types, file: str) -> Scalar:
    left, *operator, right = node.children
    op = COMPARISONS[str(operator[0])] if operator else "eq"
    return call(op, build_scalar(left, types, file), build_scalar(right, types, file))


def _function(node: Node, types: Types, file: str) -> Scalar:
    name, arguments = str(node.children[0]).lower(), node.children[1].children
    if name not in CALLED:
        raise ProgramError(f"no function {name!r}", kind="unknown-function", hint=f"one of {', '.join(CALLED)}")
    least, most = CALLED[name]
    if not least <= len(arguments) <= most:
        raise ProgramError(f"{name} with {len(arguments)} arguments", kind="wrong-arity", hint=OPERATIONS[name])
    return call(name, *(build_scalar(a, types, file) for a in arguments))


def _typed(node: Node, types: Types, file: str) -> Scalar:
    """``e :: TYPE``: a NULL, a literal or an operation with a type of its own."""
    inner, given = node.children
    t = build_type(given, file)
    if inner.data == "null":
        return Const(None, t.with_null())
    scalar = build_scalar(inner, types, file)
    if isinstance(scalar, Var):
        raise ProgramError(
            f"{scalar.name} :: {t}", kind="type-mismatch", hint="a variable's type is declared; use CAST"
        )
    if isinstance(scalar, Call):
        return Call(scalar.op, scalar.args, t)
    return Const(_as_kind(scalar.value, t), t)


def _as_kind(value: Value, t: Type) -> Value:
    """An integer literal as the DECIMAL or DOUBLE that its type makes it."""
    if t.kind == "double" and isinstance(value, int | Decimal):
        return float(value)
    return Decimal(value) if t.kind == "decimal" and isinstance(value, int) else value
