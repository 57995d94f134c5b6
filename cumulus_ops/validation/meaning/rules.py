"""Every form of SQL that has a meaning written out: the tables of all modules as one."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import AGGREGATES, aggregate, is_aggregate
from cumulus_ops.validation.meaning.jsons import JSONS
from cumulus_ops.validation.meaning.logic import LOGIC
from cumulus_ops.validation.meaning.moments import MOMENTS
from cumulus_ops.validation.meaning.named import NAMED
from cumulus_ops.validation.meaning.numbers import NUMBERS
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, refused
from cumulus_ops.validation.meaning.texts import TEXTS
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


RULES: Mapping[type[exp.Expr], Rule] = {
    **VALUES, **LOGIC, **NUMBERS, **TEXTS, **JSONS, **MOMENTS, **AGGREGATES, **WINDOWS, exp.Anonymous: _anonymous,
}  # fmt: skip
