"""Between SQL and M3: bags of rows as signed joins, their normal form as monomials, canonical forms and deltas."""

from m3.algebra.attempts import Part, summed
from m3.algebra.canonical import Form, canonical, canonical_monomial, form_of
from m3.algebra.delta import DeltaTerm, delta
from m3.algebra.derive import DerivedQuery, InputQuery, Registry, WindowQuery
from m3.algebra.normal import common_type, to_monomial
from m3.algebra.rows import Branch, Rows, Source, add_condition, add_conditions, bind, is_row, outer, owners, product
from m3.algebra.terms import (
    Atom,
    Failure,
    Monomial,
    Polynomial,
    components,
    free,
    localised,
    narrowed,
    polynomial,
    sum_type,
    value_type,
    variable_type,
)
from m3.algebra.view import ViewQuery

__all__ = [
    "Atom",
    "Branch",
    "DeltaTerm",
    "DerivedQuery",
    "Failure",
    "Form",
    "InputQuery",
    "Monomial",
    "Part",
    "Polynomial",
    "Registry",
    "Rows",
    "Source",
    "ViewQuery",
    "WindowQuery",
    "add_condition",
    "add_conditions",
    "bind",
    "canonical",
    "canonical_monomial",
    "common_type",
    "components",
    "delta",
    "form_of",
    "free",
    "is_row",
    "localised",
    "narrowed",
    "outer",
    "owners",
    "polynomial",
    "product",
    "sum_type",
    "summed",
    "to_monomial",
    "value_type",
    "variable_type",
]
