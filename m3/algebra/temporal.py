"""Time that goes on: conditions that compare rows with ``now()``, and the derived relations that they become (decision 56).

A condition ``e op f(now)``, of one row on the one side and of now and constants on the other, says from when to when a row is
there. Nothing else about now can be maintained at the cost of what changes: as now goes from one time to the next, the rows change
whose ``e`` lies between the two values of ``f``, and no others. So every relation with such conditions becomes a derived relation
of its rows that are there, whose changes are events as those of any other one::

    SUM(c.x) of c  where c.ok and c.at > now() - 7 days
    SUM(t.x) of t  with t[x, at] = CASE WHEN at > now - 7 days THEN n ELSE 0 END
                   from n = COUNT(*) of c where c.ok, by x, at;  now = NOW(ticks)

While SQL is compiled, now is an operation without arguments; a program has it as an input of derivations (:mod:`m3.clock`).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from m3.datatypes import DATE, TIMESTAMP
from m3.errors import CompileError, Span, ValueProblem
from m3.evaluate import evaluate
from m3.failures import may_fail
from m3.scalars import Call, Const, Scalar, call, const, vars_of

__all__ = ["HINT", "compare_with_now", "make_now", "mentions_now", "place_now", "refuse_now", "require_filters"]

#: What people should write instead.
HINT = "compare a row with it in WHERE: ts > now() - INTERVAL '7 days'"
#: What makes ``b op a`` of ``a op b``.
FLIPPED: Mapping[str, str] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: What is true where the comparison is false.
NEGATED: Mapping[str, str] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
#: Types whose values a sorted copy finds by ranges.
SORTED = ("int", "date", "timestamp")
#: Times that a bound of now has to have a value at: no project is before or after them.
EARLY, LATE = datetime.datetime(1970, 1, 1), datetime.datetime(2400, 1, 1)


def make_now(span: Span | None = None) -> Call:
    """Now, while SQL is compiled."""
    return Call("now", (), TIMESTAMP, span)


def mentions_now(*scalars: Scalar) -> bool:
    """Whether some scalar depends on now."""
    return any(_find_now(s) is not None for s in scalars)


def _find_now(scalar: Scalar) -> Call | None:
    if not isinstance(scalar, Call):
        return None
    if scalar.op == "now":
        return scalar
    return next((found for a in scalar.args if (found := _find_now(a)) is not None), None)


def refuse_now(scalars: Iterable[Scalar], what: str = "now() outside of a comparison in WHERE") -> None:
    """Refuse scalars that depend on now.

    Raises:
        CompileError: one does.
    """
    found = next((now for s in scalars if (now := _find_now(s)) is not None), None)
    if found is not None:
        raise CompileError(what, kind="now", span=found.span, hint=HINT)


def require_filters(conditions: Iterable[Scalar]) -> list[Scalar]:
    """Conditions, those about now as comparisons that rows pass one after the other.

    Raises:
        CompileError: one depends on now in another way.
    """
    return [_require_filter(c) if mentions_now(c) else c for c in conditions]


def _require_filter(condition: Scalar) -> Scalar:
    assert isinstance(condition, Call)
    if condition.op == "not" and isinstance(condition.args[0], Call) and condition.args[0].op in NEGATED:
        inner = condition.args[0]
        condition = Call(NEGATED[inner.op], inner.args, condition.type, condition.span)
    if condition.op not in FLIPPED:
        what = "OR" if condition.op == "or" else "a condition that is no comparison"
        hint = f"{HINT}; alternatives are the branches of a UNION ALL"
        refuse_now([condition], f"now() within {what}")
        raise CompileError(f"now() within {what}", kind="now", hint=hint)
    made = compare_with_now(condition)
    if made is None:
        refuse_now([condition], "a comparison with now() that is not of a row's own value")
    assert isinstance(made, Call)
    return made


def compare_with_now(condition: Scalar) -> Scalar | None:
    """A comparison in the form ``e op f(now)``, where ``f`` cannot fail; None if it has no such form.

    >>> from m3.formatting import format_scalar
    >>> from m3.scalars import Var
    >>> ts, week = Var("ts", TIMESTAMP), const(Decimal("604800.000000"))
    >>> format_scalar(compare_with_now(call("lt", call("seconds_between", make_now(), ts), week)))
    'ts > ATTEMPT(ADD_SECONDS(NOW(), -604800))'
    """
    if not isinstance(condition, Call) or len(condition.args) != 2:
        return None
    left, right = condition.args
    if condition.op == "eq":
        parts = [compare_with_now(call(op, left, right)) for op in ("ge", "le")]
        return None if parts[0] is None or parts[1] is None else call("and", parts[0], parts[1])
    if condition.op not in FLIPPED:
        return None
    op = condition.op
    if mentions_now(left):
        left, right, op = right, left, FLIPPED[op]
    if mentions_now(left) or any(vars_of(right)):
        split = None if mentions_now(left) or any(vars_of(left)) else _solve_difference(left, right, FLIPPED[op])
        if split is None:
            return None
        left, right, op = split
    left, right = _move_shifts(left, right)
    if not any(vars_of(left)) or may_fail(left) or left.type.kind not in SORTED or not _is_defined(right):
        return None
    bound = right if isinstance(right, Call) and right.op == "attempt" else call("attempt", right)
    made = call(op, left, bound)
    return replace(made, span=condition.span) if isinstance(made, Call) else None


def _solve_difference(limit: Scalar, difference: Scalar, op: str) -> tuple[Scalar, Scalar, str] | None:
    """``later - earlier op limit``, solved for the side that is a row's."""
    if not (isinstance(limit, Const) and isinstance(difference, Call)):
        return None
    shift = {"seconds_between": "add_seconds", "days_between": "add_days"}.get(difference.op)
    if shift is None or not isinstance(limit.value, int | Decimal):
        return None
    amount = int(limit.value)
    if amount != limit.value:
        if shift == "add_days":
            return None
        shift, amount = "add_micros", int(limit.value * 1_000_000)
    later, earlier = difference.args
    if difference.op == "days_between":
        later, earlier = (s if s.type.kind == "date" else call("cast", s, to=DATE) for s in (later, earlier))
    if mentions_now(later) and not any(vars_of(later)) and not mentions_now(earlier):
        return earlier, call(shift, later, const(-amount)), FLIPPED[op]
    if mentions_now(earlier) and not any(vars_of(earlier)) and not mentions_now(later):
        return later, call(shift, earlier, const(amount)), op
    return None


def _move_shifts(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """``ts + 7 days > now()`` is ``ts > now() - 7 days``: days and seconds have one length."""
    while isinstance(left, Call):
        inner, wrap = left, left
        if left.op == "cast" and left.type.kind == "timestamp" and left.args[0].type.kind == "date":
            inner, wrap = left.args[0], left  # type: ignore[assignment]
        if not (isinstance(inner, Call) and inner.op in ("add_days", "add_seconds", "add_micros")):
            break
        start, amount = inner.args
        if not (isinstance(amount, Const) and isinstance(amount.value, int)):
            break
        left = start if wrap is inner else call("cast", start, to=TIMESTAMP)
        right = call(inner.op, right, const(-amount.value))
    return left, right


def _is_defined(bound: Scalar) -> bool:
    """Whether a bound has a value at every time that there will be."""
    for moment in (EARLY, LATE):
        try:
            if evaluate(place_now(bound, Const(moment, TIMESTAMP)), {}) is None:
                return False
        except ValueProblem:
            return False
    return True


def place_now(scalar: Scalar, now: Scalar) -> Scalar:
    """A bound with something in the place of now, which may be NULL then where that may be."""
    if not isinstance(scalar, Call) or not mentions_now(scalar):
        return scalar
    if scalar.op == "now":
        return now
    args = tuple(place_now(a, now) for a in scalar.args)
    return Call(scalar.op, args, scalar.type.with_null(scalar.type.nullable or now.type.nullable), scalar.span)
