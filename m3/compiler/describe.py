"""What a map means, as SQL text for people."""

from __future__ import annotations

from collections.abc import Iterator

from m3.algebra import Monomial, Polynomial
from m3.formatting import format_name, format_scalar
from m3.scalars import Scalar, Var, variables

__all__ = ["describe"]


def describe(polynomial: Polynomial) -> str:
    """The polynomial as SQL; its terms are put together with UNION ALL, and their values are to be added."""
    return " UNION ALL ".join(map(_term, polynomial.terms)) or "nothing"


def _term(term: Monomial) -> str:
    aliases = list(_aliases(term))
    places = _places(term, aliases)
    factors = [_sql(f, alias) for alias, atom in zip(aliases, term.atoms, strict=True) for f in atom.factors]
    factors += [_placed(f, places) for f in term.factors]
    factors = ([str(term.coefficient)] if term.coefficient != 1 else []) + factors
    value = f"SUM({' * '.join(_grouped(f) if len(factors) > 1 else f for f in factors)})" if factors else "COUNT(*)"
    keys = [_placed(k, places) for k in term.keys]
    tables = [
        atom.relation if atom.relation == alias else f"{atom.relation} {alias}"
        for alias, atom in zip(aliases, term.atoms, strict=True)
    ]
    parts = [f"SELECT {', '.join([*keys, value])}", *([f"FROM {', '.join(tables)}"] if tables else [])]
    conditions = [
        *_joins(term, aliases),
        *_filters(term, aliases),
        *(_or_grouped(_placed(c, places)) for c in term.conditions),
    ]
    parts += [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    grouped = [text for text, key in zip(keys, term.keys, strict=True) if any(variables(key))]
    parts += [f"GROUP BY {', '.join(grouped)}"] if grouped else []
    return " ".join(parts)


def _aliases(term: Monomial) -> Iterator[str]:
    names = [a.relation for a in term.atoms]
    for i, name in enumerate(names):
        yield name if names.count(name) == 1 else f"{name}_{names[: i + 1].count(name)}"


def _sql(scalar: Scalar, alias: str) -> str:
    return format_scalar(scalar, lambda column: f"{alias}.{format_name(column)}")


def _places(term: Monomial, aliases: list[str]) -> dict[str, str]:
    """For each variable the first expression that it is."""
    found: dict[str, str] = {}
    for alias, atom in zip(aliases, term.atoms, strict=True):
        for name, expr in atom.bindings:
            text = _sql(expr, alias)
            found.setdefault(name, text if isinstance(expr, Var) else f"({text})")
    return found


def _placed(scalar: Scalar, places: dict[str, str]) -> str:
    text = format_scalar(scalar, lambda variable: places[variable])
    return text.removeprefix("(").removesuffix(")") if isinstance(scalar, Var) and text.startswith("(") else text


def _joins(term: Monomial, aliases: list[str]) -> Iterator[str]:
    for variable in dict.fromkeys(name for atom in term.atoms for name, _ in atom.bindings):
        first, *others = [
            _sql(expr, alias)
            for alias, atom in zip(aliases, term.atoms, strict=True)
            for name, expr in atom.bindings
            if name == variable
        ]
        yield from (f"{first} = {other}" for other in others)


def _filters(term: Monomial, aliases: list[str]) -> Iterator[str]:
    for alias, atom in zip(aliases, term.atoms, strict=True):
        yield from (_or_grouped(_sql(c, alias)) for c in atom.conditions)


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def _or_grouped(text: str) -> str:
    return f"({text})" if " OR " in text else text
