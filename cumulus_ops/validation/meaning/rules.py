"""Every form of SQL that has a meaning written out: the tables of all modules as one."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import AGGREGATES, aggregate, is_aggregate
from cumulus_ops.validation.meaning.logic import LOGIC, NAMED
from cumulus_ops.validation.meaning.moments import MOMENTS
from cumulus_ops.validation.meaning.numbers import NUMBERS
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, refused
from cumulus_ops.validation.meaning.texts import JSONS, TEXTS
from cumulus_ops.validation.meaning.values import VALUES
from cumulus_ops.validation.meaning.windows import WINDOWS

__all__ = ["RULES"]


def _anonymous(reader: Reader, node: exp.Expr) -> Term:
    """A function that sqlglot does not know by name."""
    key = (str(node.this).lower(), len(node.expressions))
    if is_aggregate(node):
        return aggregate(reader, node, lambda x: x)
    if key not in NAMED:
        raise refused(f"{key[0].upper()} with {key[1]} arguments")
    return NAMED[key](reader, node.expressions)


def _unsigned(rule: Rule) -> Rule:
    """A rule for numbers, whose DOUBLEs have no negative zero."""

    def read(reader: Reader, node: exp.Expr) -> Term:
        found = rule(reader, node)
        if found.kind != "double":
            return found
        zero = exp.Literal(this="0.0D", is_string=False)
        return Term(exp.Paren(this=exp.Add(this=exp.Paren(this=found.node), expression=zero)), found.type, found.value)

    return read


_CASTS: Mapping[type[exp.Expr], Rule] = {form: VALUES[form] for form in (exp.Cast, exp.TryCast)}

RULES: Mapping[type[exp.Expr], Rule] = {
    **VALUES, **LOGIC, **{form: _unsigned(rule) for form, rule in {**NUMBERS, **_CASTS}.items()}, **TEXTS, **JSONS, **MOMENTS, **AGGREGATES, **WINDOWS, exp.Anonymous: _anonymous,
}  # fmt: skip
