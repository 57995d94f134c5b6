"""Pass 2: recursive delta compilation (DBToaster), the heart of the compiler.

The delta of a map to an event is a product of factors of the event's row and of what remains of the join. The remainder
splits into parts that are connected by variables the event does not bind; each part is kept as an auxiliary map, keyed
by the bound variables it touches and by the target's keys it provides, which is in turn maintained by its own deltas.
Each step has fewer atoms, so it ends. Every loop variable is a key of exactly one map read and of the target: the
result is restricted M3 (Cumulus paper, section 2.1), except where :mod:`m3.compiler.split` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from m3.algebra import Aggregate, DeltaTerm, delta, restrict
from m3.compiler.draft import Definition, Draft, Maps
from m3.compiler.split import Part, parts_to_read
from m3.datatypes import Type
from m3.program import MapRef, Relation, Statement
from m3.scalars import Scalar, Var, const

__all__ = ["materialize_deltas", "materialize_restricted"]


def materialize_deltas(draft: Draft, *, restricted: bool = False) -> Draft:
    """Adds the statements that maintain every map, and the auxiliary maps they read.

    ``q[c] := SUM(o.total * l.price) of customer, orders, lineitem`` gives, among others::

        ON +lineitem(okey, price): q[c] += price * m_customer_orders_1[okey, c]

    Args:
        draft: with the views' maps defined.
        restricted: produce restricted M3 even where that makes maps larger than the base tables.
    """
    maps = Maps(draft.definitions)
    relations = {r.name: r for r in draft.relations}
    statements: list[tuple[int, str, Statement]] = []
    done = 0
    while done < len(maps.definitions):
        definition = maps.definitions[done]
        for relation in dict.fromkeys(a.relation for a in definition.aggregate.atoms):
            for sign in (1, -1):
                found = _statements(definition, relations[relation], sign, maps, relations, restricted)
                statements += [(sign, relation, s) for s in found]
        done += 1
    return replace(draft, definitions=tuple(maps.definitions), statements=tuple(statements))


#: The same pass, held to the paper's restricted M3.
materialize_restricted: Callable[[Draft], Draft] = partial(materialize_deltas, restricted=True)


def _statements(
    definition: Definition,
    relation: Relation,
    sign: int,
    maps: Maps,
    relations: Mapping[str, Relation],
    restricted: bool,
) -> Iterator[Statement]:
    for term in delta(definition.aggregate, relation.name, sign):
        targets = set(definition.aggregate.keys)
        parts = parts_to_read(term.rest, {n for n, _ in term.bound}, targets, relations, restricted=restricted)
        yield _statement(
            definition, relation, term, [_auxiliary(i, parts, term, targets, maps) for i in range(len(parts))]
        )


@dataclass(frozen=True)
class _Read:
    """An auxiliary map to read: its name, and for each of its keys the variable and the type."""

    map: str
    keys: tuple[tuple[str, Type], ...]


def _auxiliary(index: int, parts: list[Part], term: DeltaTerm, targets: set[str], maps: Maps) -> _Read:
    """The map for one part, keyed by what the event, the target and the other parts have in common with it."""
    outside = {n for n, _ in term.bound} | targets
    outside |= {v for i, part in enumerate(parts) if i != index for atom in part for v in atom.variables()}
    present = dict.fromkeys(name for atom in parts[index] for name, _ in atom.bindings)
    keys = tuple(v for v in present if v in outside)
    name, order = maps.auxiliary(Aggregate(keys, restrict(parts[index], keys)))
    types = maps.key_types(name)
    return _Read(name, tuple(zip(order, types, strict=True)))


def _statement(definition: Definition, relation: Relation, term: DeltaTerm, reads: list[_Read]) -> Statement:
    values = dict(term.bound)
    names = _loop_names(definition.aggregate.keys, reads, values, relation)
    references = []
    for read in _ordered(reads, set(values)):
        for variable, kind in read.keys:
            values.setdefault(variable, Var(names.get(variable, variable), kind))
        references.append(MapRef(read.map, tuple(values[v] for v, _ in read.keys)))
    coefficient = () if term.coefficient == 1 else (const(term.coefficient),)
    keys = tuple(values[k] for k in definition.aggregate.keys)
    return Statement(definition.name, keys, (*coefficient, *term.factors, *references), term.conditions)


def _ordered(reads: list[_Read], bound: set[str]) -> Iterator[_Read]:
    """The reads, each time the one that leaves the fewest keys open: what it binds narrows the later ones."""
    known, left = set(bound), list(reads)
    while left:
        best = min(left, key=lambda read: sum(v not in known for v, _ in read.keys))
        left.remove(best)
        known |= {v for v, _ in best.keys}
        yield best


def _loop_names(
    targets: tuple[str, ...], reads: list[_Read], bound: Mapping[str, Scalar], relation: Relation
) -> dict[str, str]:
    """A name for every variable that the event leaves open: its own, unless it is a parameter of the trigger."""
    taken = {c.name for c in relation.columns}
    names: dict[str, str] = {}
    for variable in dict.fromkeys([*targets, *(v for read in reads for v, _ in read.keys)]):
        if variable not in bound:
            name, n = variable, 0
            while name in taken:
                n += 1
                name = f"{variable}_{n}"
            taken.add(name)
            names[variable] = name
    return names
