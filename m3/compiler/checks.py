"""What has to be empty for a view to be right: the maps that count what fails in it, or in what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from m3.algebra import Atom, DerivedQuery, Failure, Monomial, Polynomial, ViewQuery, WindowQuery
from m3.compiler.draft import Maps
from m3.datatypes import INT
from m3.errors import Span
from m3.failures import may_fail
from m3.formatting import format_scalar
from m3.program import Check, Relation
from m3.scalars import Call, Scalar, Var, call, const, substitute

__all__ = ["Checks"]


class Checks:
    """The checks of views.

    Args:
        maps: gets the maps that count failures.
        derived: the derived relations of the program.
    """

    def __init__(self, maps: Maps, derived: Sequence[DerivedQuery | WindowQuery]) -> None:
        self._maps = maps
        self._derived = {query.relation.name: query for query in derived}

    def of(self, query: ViewQuery) -> tuple[Check, ...]:
        """The checks of a view: of its own sums, and of the derived relations that it is made of, directly or not."""
        own = [*(p for _, p in query.values), *query.checks]
        own += [query.exists] if isinstance(query.exists, Polynomial) else []
        first = [query.exists.name] if isinstance(query.exists, Relation) else []
        found = {self._maps.keep(p, f"{query.name}_several"): None for p in query.checks}
        checks = {name: Check(name) for name in found}
        for check in self._all(query.name, own, first):
            checks.setdefault(check.map, check)
        return tuple(checks.values())

    def _all(self, view: str, polynomials: Sequence[Polynomial], first: Sequence[str]) -> Iterator[Check]:
        waiting, seen = [*first, *_relations(polynomials)], set[str]()
        yield from self._failures(view, polynomials)
        while waiting:
            name = waiting.pop(0)
            query = self._derived.get(name)
            if query is None or name in seen:
                continue
            seen.add(name)
            inputs = list(query.polynomials())
            yield from self._failures(view, inputs)
            if query.failing:
                yield self._rows(view, query)
            waiting += _relations(inputs)

    def _failures(self, view: str, polynomials: Sequence[Polynomial]) -> Iterator[Check]:
        for failure in dict.fromkeys(f for p in polynomials for f in p.failures):
            name = self._maps.keep(failure.polynomial, f"{view}_failed")
            relations = tuple(r for r in failure.relations if r not in self._derived)
            yield Check(name, self._over(failure, name), relations, place_of(failure.expression) or Span(1, 1, 1, view))

    def _over(self, failure: Failure, name: str) -> Scalar:
        """The expression over the keys of its map, which may be older and named otherwise."""
        pairs = zip(failure.polynomial.columns, self._maps.columns(name), strict=True)
        return substitute(failure.expression, {old.name: Var(new.name, new.type) for old, new in pairs})

    def _rows(self, view: str, query: DerivedQuery | WindowQuery) -> Check:
        """The check of a derived relation's rows that could not be computed."""
        *columns, flag = query.relation.columns
        keys = columns[: len(query.relation.key)] if isinstance(query, DerivedQuery) else columns[: query.partition]
        variables = tuple(Var(c.name, c.type) for c in keys)
        wanted = call("eq", Var(flag.name, flag.type), const(1))
        atom = Atom(query.relation.name, tuple((v.name, v) for v in variables), (wanted,))
        name = self._maps.keep(Polynomial(tuple(keys), INT, (Monomial(variables, (atom,)),)), f"{view}_failed")
        text = " or ".join(dict.fromkeys(map(_text, query.failing)))
        places = (p for p in map(place_of, query.failing) if p is not None)
        return Check(name, const(text), (), next(places, Span(1, 1, 1, view)))


def _relations(polynomials: Sequence[Polynomial]) -> list[str]:
    every = [p for polynomial in polynomials for p in (polynomial, *(f.polynomial for f in polynomial.failures))]
    return list(dict.fromkeys(a.relation for p in every for t in p.terms for a in t.atoms))


def _text(scalar: Scalar) -> str:
    """An expression of a group for people, without the condition that something was added up."""
    if isinstance(scalar, Call) and scalar.op == "case" and len(scalar.args) == 3:
        scalar = scalar.args[1]
    return scalar.name if isinstance(scalar, Var) else format_scalar(scalar)


def place_of(scalar: Scalar) -> Span | None:
    """Where the innermost expression that may fail is written; of several, the first."""
    if not isinstance(scalar, Call):
        return None
    for arg in scalar.args:
        if may_fail(arg) and (inner := place_of(arg)) is not None:
            return inner
    return scalar.span
