"""What a view in error says: the expression, its place in the view's SQL, the relation, and an example row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from m3.datatypes import MAX_PRECISION, from_units, to_units
from m3.errors import Span, ValueProblem, shortened
from m3.evaluate import FAILURES, Value, evaluate
from m3.formatting import format_scalar
from m3.program import Check, OutputColumn, Program, View
from m3.scalars import Const, Scalar, Var, variables

__all__ = ["condition_of", "failed_check", "places_of", "unreadable"]


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
        written = f" {_written(check.place)}" if check.place is not None else ""
        message = f"view {view.name} is in error: the scalar subquery{written} has several rows"
        return ValueProblem(message, kind="scalar-subquery", span=check.place, hint=hint)
    columns = program.map_by_name[check.map].keys
    example = ", ".join(f"{c.name} = {_show_value(v)}" for c, v in zip(columns, key, strict=True))
    reason = _reason(check.expression, dict(zip((c.name for c in columns), key, strict=True)))
    what = _written(check.place, check.expression)
    where = f" of {', '.join(check.relations)}" if check.relations else ""
    counted = f"for {rows} row{'s' * (rows != 1)}{where}"
    message = f"view {view.name} is in error: {what} fails {counted}" + (f", such as ({example})" if example else "")
    if reason is not None:
        message += f": {reason.message}"
    kind = reason.kind if reason is not None else "overflow"
    hint = "mend or delete these rows, or guard the expression, e.g. with CASE WHEN or NULLIF; the view is right again then"
    return ValueProblem(message, kind=kind, span=check.place, hint=hint)


def unreadable(view: View, what: OutputColumn, row: Mapping[str, Value], rows: int) -> ValueProblem:
    """The error of a view that cannot be computed from its maps.

    Args:
        view: the view.
        what: the column, or the condition on its rows (:func:`condition_of`), over the view's keys and totals.
        row: the least of the rows for which it fails: keys and totals by name; totals may be beyond their types.
        rows: how many rows that are.
    """
    row = {name: _bound_number(value) for name, value in row.items()}
    expression = what.expression
    # a row of a bag has keys that are nobody's columns: what it is partitioned by, whether it could be computed
    shown = {c.expression.name for c in view.visible if isinstance(c.expression, Var)}
    keys = (k.name for k in view.keys if not view.repeated or k.name in shown)
    names = [*keys, *sorted(set(variables(expression)))]
    example = ", ".join(f"{name} = {_show_value(row[name])}" for name in dict.fromkeys(names))
    reason = _reason(expression, row)
    named = f"column {what.name}" if what.name else "the condition on rows"
    written = _written(what.place, expression)
    message = f"view {view.name} is in error: {named}, {written}, fails for {rows} row{'s' * (rows != 1)}"
    message += (f", such as ({example})" if example else "") + (f": {reason.message}" if reason is not None else "")
    kind = reason.kind if reason is not None else "overflow"
    hint = "mend or delete its rows, CAST to a wider type, or guard the expression, e.g. with CASE WHEN or NULLIF"
    return ValueProblem(message, kind=kind, span=what.place or Span(1, 1, 1, view.name), hint=hint)


def condition_of(view: View) -> OutputColumn:
    """HAVING of a view that has one, as what fails: a column without a name."""
    assert view.having is not None
    return OutputColumn("", view.having, view.having_place)


def places_of(view: View) -> tuple[Span, ...]:
    """Where it is written what may fail in a view."""
    spans = [*(c.place for c in view.columns), *(c.place for c in view.checks), view.having_place]
    return tuple(span for span in spans if span is not None)


def _reason(expression: Scalar, env: dict[str, Value]) -> ValueProblem | None:
    """Why an expression fails."""
    try:
        evaluate(expression, env)
    except ValueProblem as problem:
        return problem
    except FAILURES as error:
        return ValueProblem(str(error), kind="arithmetic")
    return None


def _written(place: Span | None, expression: Scalar | None = None) -> str:
    """An expression as its author has written it, in one line. What was compiled by an older Cumulus is written as M3."""
    if place is not None and place.text:
        return shortened(" ".join(place.text.split()))
    return str(expression.value) if isinstance(expression, Const) else format_scalar(expression) if expression else ""


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
