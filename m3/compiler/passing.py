"""The derived relations of the rows that now() has not passed, or has reached (:mod:`m3.algebra.temporal`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from m3.algebra.derive import DerivedQuery, InputQuery, Registry, WindowQuery
from m3.algebra.rows import ViewQuery
from m3.algebra.temporal import mentions_now, place_now, refuse_now
from m3.algebra.terms import Atom, Monomial, Polynomial, free, unused_name
from m3.clock import CLOCK, CLOCK_RELATION, NOW_INPUT
from m3.datatypes import INT, TIMESTAMP
from m3.errors import CompileError
from m3.program import Column, Relation
from m3.scalars import Call, Const, Scalar, Var, call, const, vars_of
from m3.simplify import simplify

__all__ = ["expand_time"]


def expand_time(
    queries: Sequence[ViewQuery], registry: Registry, relations: Mapping[str, Relation]
) -> tuple[list[ViewQuery], bool]:
    """Views whose relations with conditions about now are derived relations.

    Args:
        queries: the views.
        registry: their derived relations; it gets further ones, each before those that read it.
        relations: the base tables.

    Returns:
        the views; and whether any of them depends on now.

    Raises:
        CompileError: now is somewhere else.
    """
    expansion = _Expansion(registry, relations)
    before, registry.queries = registry.queries, []
    for query in before:
        registry.queries.append(expansion.change_derived(query))
    views = [expansion.change_view(query) for query in queries]
    if expansion.is_used and CLOCK in relations:
        raise CompileError(f"a relation is called {CLOCK}", kind="now", hint="give it another name")
    return views, expansion.is_used


class _Expansion:
    def __init__(self, registry: Registry, relations: Mapping[str, Relation]) -> None:
        self._registry, self._relations = registry, dict(relations)
        self.is_used = False

    def change_derived(self, query: DerivedQuery | WindowQuery) -> DerivedQuery | WindowQuery:
        self._relations[query.relation.name] = query.relation
        if isinstance(query, WindowQuery):
            refuse_now(s for f in query.functions for s in (*f.args, *(o for o, _, _ in f.order)))
            return replace(query, source=self._change(query.source))
        refuse_now([query.count, *(o.expression for o in query.outputs)])
        return replace(
            query, inputs=tuple(replace(given, polynomial=self._change(given.polynomial)) for given in query.inputs)
        )

    def change_view(self, query: ViewQuery) -> ViewQuery:
        refuse_now([*(c.expression for c in query.columns), *([query.having] if query.having is not None else [])])
        exists = query.exists if isinstance(query.exists, Relation) else self._change(query.exists)
        values = tuple((name, self._change(p)) for name, p in query.values)
        lists = tuple(replace(made, polynomial=self._change(made.polynomial)) for made in query.lists)
        checks = tuple((self._change(p), at) for p, at in query.checks)
        return replace(query, values=values, exists=exists, checks=checks, lists=lists)

    def _change(self, polynomial: Polynomial) -> Polynomial:
        terms = tuple(map(self._change_term, polynomial.terms))
        failures = tuple(replace(f, polynomial=self._change(f.polynomial)) for f in polynomial.failures)
        return replace(polynomial, terms=terms, failures=failures)

    def _change_term(self, term: Monomial) -> Monomial:
        refuse_now(term.scalars(), "a comparison of now() with several tables at once")
        for atom in term.atoms:
            refuse_now((*atom.factors, *(e for _, e in atom.bindings)))
        return replace(term, atoms=tuple(map(self._change_atom, term.atoms)))

    def _change_atom(self, atom: Atom) -> Atom:
        timed = [c for c in atom.conditions if mentions_now(c)]
        if not timed:
            return atom
        self.is_used = True
        others = [c for c in atom.conditions if c not in timed]
        relation = self._derive_present(atom, timed, others)
        # what is never NULL there is known to be so by these conditions alone: types of factors and keys rest on them
        held = {c.name for c in relation.columns}
        known = tuple(c for c in others if _is_guard(c) and free([c]) <= held)
        return replace(atom, relation=relation.name, conditions=known)

    def _derive_present(self, atom: Atom, timed: Sequence[Scalar], others: Sequence[Scalar]) -> Relation:
        """The rows of an atom's relation that meet its conditions, by the columns that the atom looks at."""
        wanted = vars_of(*(e for _, e in atom.bindings), *atom.factors)
        keys = {v.name: v for v in wanted.values()}
        names = {name.lower() for name in keys}
        known, conditions, measured = list(others), [], dict[Scalar, Var]()
        for condition in timed:
            assert isinstance(condition, Call)
            left, bound = condition.args
            if left not in measured:
                name = left.name if isinstance(left, Var) else unused_name("moment", names, fold=True)
                names.add(name.lower())
                measured[left] = Var(name, left.type)
                guard = _guard(left)
                known += [guard] if guard not in known and not isinstance(guard, Const) else []
            conditions.append((condition.op, measured[left], bound))
        held: dict[str, Scalar] = {name: Var(name, v.type) for name, v in keys.items()}
        held |= {v.name: expression for expression, v in measured.items()}
        count = Var(unused_name("n", names, fold=True), INT)
        now = Var(unused_name(NOW_INPUT, {*names, count.name}, fold=True), TIMESTAMP.with_null())
        columns = tuple(Column(name, s.type) for name, s in held.items())
        rows = Atom(atom.relation, tuple(held.items()), tuple(known))
        variables_ = tuple(Var(c.name, c.type) for c in columns)
        inputs = (
            InputQuery(count.name, "value", Polynomial(columns, INT, (Monomial(variables_, (rows,)),))),
            InputQuery(now.name, "now", _ticks()),
        )
        alive = [call(op, value, place_now(bound, now)) for op, value, bound in conditions]
        there = alive[0] if len(alive) == 1 else call("and", *alive)
        label = f"{atom.relation}_now"
        return self._registry.derive(label, columns, inputs, (), call("case", there, count, const(0)))


def _guard(scalar: Scalar) -> Scalar:
    return simplify(call("not", call("is_null", scalar)))


def _is_guard(condition: Scalar) -> bool:
    if not (isinstance(condition, Call) and condition.op == "not"):
        return False
    (inner,) = condition.args
    return isinstance(inner, Call) and inner.op == "is_null"


def _ticks() -> Polynomial:
    (at,) = CLOCK_RELATION.columns
    moment = Var(at.name, at.type)
    return Polynomial((at,), INT, (Monomial((moment,), (Atom(CLOCK, ((at.name, moment),)),)),))
