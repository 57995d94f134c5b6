"""Ring expressions between SQL and M3: their normal form, canonical form and deltas."""

from m3.algebra.canonical import canonical
from m3.algebra.delta import DeltaTerm, delta
from m3.algebra.terms import (
    Aggregate,
    Atom,
    ViewQuery,
    components,
    restrict,
    sum_type,
    value_type,
    variable_type,
)

__all__ = [
    "Aggregate",
    "Atom",
    "DeltaTerm",
    "ViewQuery",
    "canonical",
    "components",
    "delta",
    "restrict",
    "sum_type",
    "value_type",
    "variable_type",
]
