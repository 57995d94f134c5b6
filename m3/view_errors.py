"""What a view in error says: the expression, its place in the view's SQL, the relation, and an example row."""

from __future__ import annotations

from collections.abc import Sequence

from m3.errors import Span, ValueProblem
from m3.evaluate import FAILURES, Value, evaluate
from m3.formatting import format_scalar
from m3.program import Check, OutputColumn, Program, View
from m3.scalars import Const, Scalar

__all__ = ["IN_CONDITION", "failed_check", "in_column", "unreadable"]


def failed_check(program: Program, view: View, check: Check, key: Sequence[Value], rows: int) -> ValueProblem:
    """The error of reading a view while one of its checks has entries.

    Args:
        program: the view's program.
        view: the view.
        check: the check.
        key: one of the entries.
        rows: how many rows are concerned.
    """
    if check.expression is None:
        hint = "aggregate it, e.g. with MIN or MAX, or mend the data"
        return ValueProblem(f"view {view.name}: a scalar subquery has several rows", kind="scalar-subquery", hint=hint)
    columns = program.map_by_name[check.map].keys
    example = ", ".join(f"{c.name} = {_shown(v)}" for c, v in zip(columns, key, strict=True))
    what, reason = _what(check.expression, dict(zip((c.name for c in columns), key, strict=True)))
    where = f" of {', '.join(check.relations)}" if check.relations else ""
    counted = f"for {rows} row{'s' * (rows != 1)}{where}"
    message = f"view {view.name} is in error: {what} fails {counted}" + (f", such as ({example})" if example else "")
    if reason is not None:
        message += f": {reason.message}"
    kind = reason.kind if reason is not None else "overflow"
    hint = "mend or delete these rows, or guard the expression, e.g. with CASE WHEN or NULLIF; the view is right again then"
    return ValueProblem(message, kind=kind, span=check.place, hint=hint)


def unreadable(view: View, what: str, reason: str, kind: str, hint: str = "") -> ValueProblem:
    """The error of a view that cannot be computed from its maps.

    Args:
        view: the view.
        what: the column, or the condition on its rows.
        reason: why not, for some row.
        kind: of the reason.
        hint: what to do about it.
    """
    message = f"view {view.name} is in error: {what} cannot be computed for a row: {reason}"
    hint = hint or "CAST to a wider type, or guard the expression"
    return ValueProblem(message, kind=kind, span=Span(1, 1, 1, view.name), hint=hint)


def in_column(column: OutputColumn) -> str:
    """How an error names a column."""
    return f"its column {column.name}"


#: How an error names HAVING.
IN_CONDITION = "a condition on its rows"


def _what(expression: Scalar, env: dict[str, Value]) -> tuple[str, ValueProblem | None]:
    """The expression as text, and why it fails."""
    if isinstance(expression, Const):
        return str(expression.value), None
    try:
        evaluate(expression, env)
    except ValueProblem as problem:
        return format_scalar(expression), problem
    except FAILURES as error:
        return format_scalar(expression), ValueProblem(str(error), kind="arithmetic")
    return format_scalar(expression), None


def _shown(value: Value) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
