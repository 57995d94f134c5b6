"""The canonical form of what a map holds: equal for two polynomials exactly when they are the same map.

Polynomials are the same when they differ only in the names of variables (and so of table aliases) and in the order of
terms, atoms, conditions, bindings and factors. Views share maps because of it: one map per meaning.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator

from m3.algebra.terms import Atom, Monomial, Polynomial
from m3.datatypes import Type
from m3.scalars import Scalar, Var, rename

__all__ = ["Form", "canonical", "canonical_monomial", "form_of"]

#: Orders of look-alike atoms (self-joins) that are tried; beyond, sharing may be missed but nothing is wrong.
MAX_ORDERS = 720
#: What a map is, apart from names.
Form = tuple[tuple[Type, ...], tuple[Monomial, ...]]


def canonical(polynomial: Polynomial) -> Form:
    """The canonical form of a map whose keys keep their order (a view's, or a derivation's input)."""
    terms = [canonical_monomial(t, ordered=True)[0] for t in polynomial.terms]
    return form_of([c.type for c in polynomial.columns], polynomial.value, tuple(sorted(terms, key=repr)))


def form_of(keys: Iterable[Type], value: Type, terms: tuple[Monomial, ...]) -> Form:
    """The form of a map: the types of its keys (NULLs or not) and values, and its canonical terms."""
    return (*(t.with_null(False) for t in keys), value), terms


def canonical_monomial(monomial: Monomial, *, ordered: bool) -> tuple[Monomial, dict[str, str]]:
    """The canonical form of one term.

    Args:
        monomial: any monomial.
        ordered: keep the order of the keys; otherwise they are put into canonical order.

    Returns:
        The canonical monomial and the canonical name of each variable.
    """
    keys = {k.name for k in monomial.keys if isinstance(k, Var)}
    signed = sorted(((_signature(a, keys), a) for a in map(_sorted, monomial.atoms)), key=lambda pair: pair[0])
    candidates = [_numbered(monomial, order, ordered) for order in _orders(signed)]
    return candidates[0] if len(candidates) == 1 else min(candidates, key=lambda candidate: repr(candidate[0]))


def _sorted(atom: Atom) -> Atom:
    return Atom(
        atom.relation,
        tuple(sorted(atom.bindings, key=lambda b: _text(b[1]))),
        _unique(atom.conditions),
        tuple(sorted(atom.factors, key=_text)),
    )


def _unique(scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return tuple(sorted(dict.fromkeys(scalars), key=_text))


#: A scalar as text, to sort by.
_text = functools.lru_cache(maxsize=1 << 16)(repr)


def _signature(atom: Atom, keys: set[str]) -> str:
    """What an atom looks like apart from the names of its variables."""
    bindings = [(_text(expr), name in keys) for name, expr in atom.bindings]
    return repr((atom.relation, bindings, *([_text(s) for s in group] for group in (atom.conditions, atom.factors))))


def _orders(signed: list[tuple[str, Atom]]) -> Iterator[tuple[Atom, ...]]:
    """The orders of the atoms that keep them sorted by signature."""
    groups = [[a for _, a in g] for _, g in itertools.groupby(signed, key=lambda pair: pair[0])]
    if math.prod(math.factorial(len(g)) for g in groups) > MAX_ORDERS:
        yield tuple(a for _, a in signed)
        return
    for choice in itertools.product(*(itertools.permutations(g) for g in groups)):
        yield tuple(a for group in choice for a in group)


def _numbered(monomial: Monomial, atoms: tuple[Atom, ...], ordered: bool) -> tuple[Monomial, dict[str, str]]:
    names: dict[str, str] = {}
    for atom in atoms:
        for name, _ in atom.bindings:
            names.setdefault(name, f"v{len(names):03}")
    renamed = tuple(
        Atom(a.relation, tuple((names[n], e) for n, e in a.bindings), a.conditions, a.factors) for a in atoms
    )
    keys = tuple(rename(k, names) for k in monomial.keys)
    return (
        Monomial(
            keys if ordered else tuple(sorted(keys, key=_text)),
            renamed,
            _unique(tuple(rename(c, names) for c in monomial.conditions)),
            tuple(sorted((rename(f, names) for f in monomial.factors), key=_text)),
            monomial.coefficient,
        ),
        names,
    )
