"""Constant folding: a scalar of the same type with the same value for every row, and fewer operations.

Example:
    >>> from m3.datatypes import BOOL
    >>> from m3.scalars import Var, call, const
    >>> simplify(call("and", const(True), Var("b", BOOL), call("lt", const(1), const(2)))) == Var("b", BOOL)
    True

An operation that cannot be computed (a division by zero, an overflow) is left as it is, and so are floats. The result
may have fewer errors than the scalar, never more; and it is NULL no more often than its type says.
"""

from __future__ import annotations

from collections.abc import Iterable

from m3.datatypes import BOOL
from m3.errors import ValueProblem
from m3.evaluate import evaluate
from m3.scalars import STRICT, Call, Const, Scalar, call, const

__all__ = ["LONGEST_KEPT", "as_filter", "simplify"]

#: Characters of a text that is computed once and for all: REPEAT('x', 1000000) is shorter as it is.
LONGEST_KEPT = 1_000
TRUE, FALSE, UNKNOWN = const(True), const(False), Const(None, BOOL.with_null())


def simplify(scalar: Scalar) -> Scalar:
    """``scalar`` with everything computed that is known without a row.

    Args:
        scalar: any scalar.

    Returns:
        A scalar of the same type; it may be less nullable.
    """
    if not isinstance(scalar, Call):
        return scalar
    node = Call(scalar.op, tuple(simplify(a) for a in scalar.args), scalar.type, scalar.span)
    match node.op:
        case "and" | "or":
            return _logic(node)
        case "not":
            (arg,) = node.args
            if isinstance(arg, Call) and arg.op == "not":
                return arg.args[0]
            if isinstance(arg, Const):
                return UNKNOWN if arg.value is None else const(not arg.value)
            return node
        case "is_null":
            return _is_null(node)
        case "same":
            return _same(node)
        case "coalesce":
            return _coalesce(node)
        case "case":
            return _case(node)
        case "in" if _is_null_constant(node.args[0]):
            return UNKNOWN
    if node.op in STRICT and any(map(_is_null_constant, node.args)):
        return Const(None, node.type.with_null())
    return _compute_constant(node)


def as_filter(scalar: Scalar) -> Scalar:
    """A condition simplified for WHERE, where NULL counts as FALSE.

    Args:
        scalar: a condition.

    Returns:
        A condition that is true for the same rows.
    """
    return _simplify_filter(simplify(scalar))


def _simplify_filter(scalar: Scalar) -> Scalar:
    """AND and OR pass the freedom to take NULL for FALSE on to their operands; so does ``x IS TRUE``."""
    if _is_null_constant(scalar):
        return FALSE
    if not isinstance(scalar, Call):
        return scalar
    if scalar.op in ("and", "or"):
        return _logic(Call(scalar.op, tuple(_simplify_filter(a) for a in scalar.args), scalar.type, scalar.span))
    if scalar.op == "coalesce" and len(scalar.args) == 2 and scalar.args[1] == FALSE:
        return _simplify_filter(scalar.args[0])
    return scalar


def _is_null_constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value is None


def _as_type_of(node: Call, scalar: Scalar) -> Scalar:
    """One of the alternatives in the place of all: numbers may need the common type."""
    if scalar.type.same_as(node.type):
        return scalar
    if _is_null_constant(scalar):
        return Const(None, node.type.with_null())
    return _compute_constant(call("cast", scalar, to=node.type.with_null(False)))


def _compute_constant(node: Scalar) -> Scalar:
    """The value of an operation on literals; a text that is long is made where it is wanted, not kept in the program."""
    if not isinstance(node, Call) or not all(isinstance(a, Const) for a in node.args) or node.type.kind == "double":
        return node
    if not node.args:  # now
        return node
    try:
        value = evaluate(node, {})
    except ValueProblem:
        return node
    return Const(value, node.type.with_null(value is None)) if len(str(value)) <= LONGEST_KEPT else node


def _flat(op: str, args: Iterable[Scalar]) -> Iterable[Scalar]:
    for arg in args:
        if isinstance(arg, Call) and arg.op == op:
            yield from _flat(op, arg.args)
        else:
            yield arg


def _logic(node: Call) -> Scalar:
    """The absorbing constant decides, the neutral one goes, and so does a repeated operand."""
    neutral, absorbing = (TRUE, FALSE) if node.op == "and" else (FALSE, TRUE)
    args = [a for a in dict.fromkeys(_flat(node.op, node.args)) if a != neutral]
    if absorbing in args:
        return absorbing
    if len(args) < 2:
        return args[0] if args else neutral
    return UNKNOWN if all(map(_is_null_constant, args)) else call(node.op, *args)


def _is_null(node: Call) -> Scalar:
    (arg,) = node.args
    if isinstance(arg, Const):
        return const(arg.value is None)
    return node if arg.type.nullable else FALSE


def _same(node: Call) -> Scalar:
    """``IS NOT DISTINCT FROM`` as ``IS NULL`` or as ``=`` where it is one of these."""
    a, b = node.args
    if _is_null_constant(a):
        return _is_null(Call("is_null", (b,), BOOL))
    if _is_null_constant(b):
        return _is_null(Call("is_null", (a,), BOOL))
    if not a.type.nullable and not b.type.nullable:
        return _compute_constant(call("eq", a, b))
    return node


def _coalesce(node: Call) -> Scalar:
    args: list[Scalar] = []
    for arg in _flat_alternatives(node):
        if _is_null_constant(arg):
            continue
        args.append(arg)
        if not arg.type.nullable:
            break
    if not args:
        return Const(None, node.type.with_null())
    return _as_type_of(node, args[0]) if len(args) == 1 else Call("coalesce", tuple(args), node.type, node.span)


def _flat_alternatives(node: Call) -> Iterable[Scalar]:
    """Operands, those of a nested COALESCE of the same type included."""
    for arg in node.args:
        if isinstance(arg, Call) and arg.op == "coalesce" and arg.type.same_as(node.type):
            yield from _flat_alternatives(arg)
        else:
            yield arg


def _case(node: Call) -> Scalar:
    """Branches that are never taken go; one that always is ends the list."""
    branches: list[Scalar] = []
    otherwise = node.args[-1]
    for condition, value in zip(node.args[:-1:2], node.args[1:-1:2], strict=True):
        condition = _simplify_filter(condition)
        if condition == TRUE:
            otherwise = value
            break
        if condition != FALSE:
            branches += [condition, value]
    if not branches or all(value == otherwise for value in branches[1::2]):
        return _as_type_of(node, otherwise)
    return Call("case", (*branches, otherwise), node.type, node.span)
