"""What a view in error says: the expression, its place in the view's SQL, the relation, and an example row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from m3.datatypes import MAX_PRECISION, from_units, to_units
from m3.errors import Span, ValueProblem, shortened
from m3.evaluate import FAILURES, Value, evaluate
from m3.formatting import format_scalar
from m3.program import Check, OutputColumn, Program, View
from m3.scalars import Call, Const, Scalar, variables

__all__ = ["IN_CONDITION", "failed_check", "in_column", "unreadable"]


def failed_check(program: Program, view: View, check: Check, key: Sequence[Value], rows: int) -> ValueProblem:
    """The error of reading a view while one of its checks has entries.

    Args:
        program: the view's program.
        view: the view.
        check: the check.
        key: the least of the entries, NULL being the least value.
        rows: how many rows are concerned.
    """
    if check.expression is None:
        hint = "aggregate it, e.g. with MIN or MAX, or mend the data"
        return ValueProblem(f"view {view.name}: a scalar subquery has several rows", kind="scalar-subquery", hint=hint)
    columns = program.map_by_name[check.map].keys
    example = ", ".join(f"{c.name} = {_show_value(v)}" for c, v in zip(columns, key, strict=True))
    what, reason = _what(check.expression, dict(zip((c.name for c in columns), key, strict=True)))
    where = f" of {', '.join(check.relations)}" if check.relations else ""
    counted = f"for {rows} row{'s' * (rows != 1)}{where}"
    message = f"view {view.name} is in error: {what} fails {counted}" + (f", such as ({example})" if example else "")
    if reason is not None:
        message += f": {reason.message}"
    kind = reason.kind if reason is not None else "overflow"
    hint = "mend or delete these rows, or guard the expression, e.g. with CASE WHEN or NULLIF; the view is right again then"
    return ValueProblem(message, kind=kind, span=check.place, hint=hint)


def unreadable(view: View, what: str, expression: Scalar, row: Mapping[str, Value], rows: int) -> ValueProblem:
    """The error of a view that cannot be computed from its maps.

    Args:
        view: the view.
        what: the column, or the condition on its rows.
        expression: of it, over the view's keys and totals.
        row: the least of the rows for which it fails: keys and totals by name; totals may be beyond their types.
        rows: how many rows that are.
    """
    row = {name: _bound_number(value) for name, value in row.items()}
    names = [*(k.name for k in view.keys), *sorted(set(variables(expression)))]
    example = ", ".join(f"{name} = {_show_value(row[name])}" for name in dict.fromkeys(names))
    text, reason = _what(expression, row)
    message = f"view {view.name} is in error: {what}, {text}, fails for {rows} row{'s' * (rows != 1)}"
    message += (f", such as ({example})" if example else "") + (f": {reason.message}" if reason is not None else "")
    kind = reason.kind if reason is not None else "overflow"
    hint = "mend or delete its rows, CAST to a wider type, or guard the expression, e.g. with CASE WHEN or NULLIF"
    place = (
        expression.span if isinstance(expression, Call) and expression.span is not None else Span(1, 1, 1, view.name)
    )
    return ValueProblem(message, kind=kind, span=place, hint=hint)


def in_column(column: OutputColumn) -> str:
    """How an error names a column."""
    return f"column {column.name}"


#: How an error names HAVING.
IN_CONDITION = "the condition on rows"


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


def _bound_number(value: Value) -> Value:
    """A number of more than 38 digits as the first one of these: the engine knows no more of it."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    scale = -int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0
    most = 10**MAX_PRECISION
    units = to_units(value, scale)
    return value if abs(units) < most else from_units(most if units > 0 else -most, scale)


def _show_value(value: Value) -> str:
    return "NULL" if value is None else repr(shortened(value)) if isinstance(value, str) else str(value)
