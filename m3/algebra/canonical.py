"""The canonical form of an aggregate: equal for two aggregates exactly when they are the same map.

Aggregates are the same when they differ only in the names of variables (and so of table aliases) and in the order of
atoms, conditions, bindings and factors. Views share maps because of it: one map per meaning.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from m3.algebra.terms import Aggregate, Atom
from m3.scalars import Scalar

__all__ = ["canonical"]

#: Orders of look-alike atoms (self-joins) that are tried; beyond, sharing may be missed but nothing is wrong.
MAX_ORDERS = 5040


def canonical(aggregate: Aggregate, *, ordered: bool) -> tuple[Aggregate, dict[str, str]]:
    """The canonical form.

    Args:
        aggregate: any aggregate whose variables are all keys or shared (see :func:`m3.algebra.terms.restrict`).
        ordered: keep the order of the keys (a view's map); otherwise they are put into canonical order.

    Returns:
        The canonical aggregate and the canonical name of each variable.
    """
    keys = set(aggregate.keys)
    atoms = sorted((_sorted(a) for a in aggregate.atoms), key=lambda a: _signature(a, keys))
    return min(
        (_numbered(aggregate.keys, order, ordered) for order in _orders(atoms, keys)),
        key=lambda candidate: repr(candidate[0]),
    )


def _sorted(atom: Atom) -> Atom:
    return Atom(
        atom.relation,
        tuple(sorted(atom.bindings, key=lambda b: repr(b[1]))),
        _unique(atom.conditions),
        tuple(sorted(atom.factors, key=repr)),
    )


def _unique(scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return tuple(sorted(dict.fromkeys(scalars), key=repr))


def _signature(atom: Atom, keys: set[str]) -> str:
    """What an atom looks like apart from the names of its variables."""
    bindings = [(expr, name in keys) for name, expr in atom.bindings]
    return repr((atom.relation, bindings, atom.conditions, atom.factors))


def _orders(atoms: list[Atom], keys: set[str]) -> Iterator[tuple[Atom, ...]]:
    """The orders of the atoms that keep them sorted by signature."""
    groups = [list(g) for _, g in itertools.groupby(atoms, key=lambda a: _signature(a, keys))]
    if math.prod(math.factorial(len(g)) for g in groups) > MAX_ORDERS:
        yield tuple(atoms)
        return
    for choice in itertools.product(*(itertools.permutations(g) for g in groups)):
        yield tuple(a for group in choice for a in group)


def _numbered(keys: tuple[str, ...], atoms: tuple[Atom, ...], ordered: bool) -> tuple[Aggregate, dict[str, str]]:
    names: dict[str, str] = {}
    for atom in atoms:
        for name, _ in atom.bindings:
            names.setdefault(name, f"v{len(names):03}")
    renamed = tuple(
        Atom(a.relation, tuple((names[n], e) for n, e in a.bindings), a.conditions, a.factors) for a in atoms
    )
    new_keys = [names[k] for k in keys]
    return Aggregate(tuple(new_keys if ordered else sorted(new_keys)), renamed), names
