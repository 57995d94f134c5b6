"""The node that stands for an operation of M3 in what a form means."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["Operation", "operate"]


class Operation(exp.Expression, exp.Func):
    """A call of an operation of M3: its name, then its arguments."""

    arg_types = {"this": True, "expressions": False}  # noqa: RUF012  # sqlglot's own way to declare arguments
    is_var_len_args = True


def operate(name: str, *args: exp.Expr) -> Operation:
    """A call of an operation."""
    return Operation(this=exp.var(name), expressions=[a.copy() for a in args])
