"""Which parts of a remaining join become maps: the paper's rule, and where it would explode, lookups instead.

Where an event meets few rows, every table is read by itself (:mod:`m3.compiler.lookups`). Otherwise the paper's rule
holds: each connected part is materialised as one map. When the part joins two large tables through a small domain, that
map is the join of everything with everything: in TPC-H Q5, for an inserted lineitem, orders and suppliers of the same
nation, keyed by both. If declared keys prove that the event determines the variable in between (an order has one
customer, who has one nation), reading one map per side and meeting in that variable takes constant time, and both maps
are no larger than a base table. Only then a part is split; the program is then M3, but no longer restricted M3.
Declared keys choose the plan and nothing else: the result is right even where the data break them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from m3.algebra import Atom, components
from m3.compiler.lookups import is_looked_up, key_variables
from m3.program import Relation

__all__ = ["Part", "parts_to_read"]

Part = tuple[Atom, ...]


def parts_to_read(
    rest: Sequence[tuple[Atom, bool | None]],
    bound: set[str],
    targets: set[str],
    term: Sequence[Atom],
    relations: Mapping[str, Relation],
    *,
    restricted: bool,
) -> list[tuple[Part, bool]]:
    """The parts of the remaining join that are each read from one map.

    Args:
        rest: the atoms that the event leaves, and whether they must be read after it, before it, or either (None).
        bound: variables that the event binds.
        targets: variables that the statement needs otherwise.
        term: all atoms of the product, the event's included.
        relations: by name, for their keys and rows.
        restricted: never split a connected part, as the paper's restricted M3 demands.

    Returns:
        Connected parts, each with whether it is read after the event; unless they were split, no two share a variable
        outside ``bound``.
    """
    when = {id(atom): after for atom, after in rest}
    whole = [
        part
        for component in components([atom for atom, _ in rest], bound)
        for part in _of_one_time(component, when, bound)
    ]
    if not restricted:
        whole = [
            part
            for component in whole
            for part in (
                [(atom,) for atom in component]
                if is_looked_up(component, bound, term, relations)
                else _split(component, bound, targets, relations)
            )
        ]
    return [(part, any(when[id(atom)] for atom in part)) for part in whole]


def _of_one_time(component: Part, when: Mapping[int, bool | None], bound: set[str]) -> list[Part]:
    """A map is read at one time: atoms before the event are kept apart from those after it."""
    if len({when[id(atom)] for atom in component} - {None}) < 2:
        return [component]
    later = tuple(a for a in component if when[id(a)] is not False)
    earlier = tuple(a for a in component if when[id(a)] is False)
    return [part for atoms in (later, earlier) for part in components(atoms, bound)]


def _split(component: Part, bound: set[str], targets: set[str], relations: Mapping[str, Relation]) -> list[Part]:
    """``component`` itself when its map is linear or splitting it is not provably cheap."""
    if _linear(component, (), bound | targets, relations):
        return [component]
    groups = _grouped(component, bound | targets, relations)
    meeting = {v for a, b in itertools.combinations(groups, 2) for v in _variables(a) & _variables(b)} - bound
    determined = _closure(bound & _variables(component), component, relations)
    return groups if meeting <= determined else [component]


def _grouped(component: Part, wanted: set[str], relations: Mapping[str, Relation]) -> list[Part]:
    """Merges atoms, in order, as long as the merged part's map stays linear."""
    groups: list[Part] = [(atom,) for atom in component]
    merged = True
    while merged:
        merged = False
        for first, second in itertools.combinations(groups, 2):
            others = tuple(a for g in groups if g not in (first, second) for a in g)
            shared = (_variables(first) & _variables(second)) - wanted
            if shared and _linear(first + second, others, wanted, relations):
                groups = [first + second if g is first else g for g in groups if g is not second]
                merged = True
                break
    return groups


def _linear(part: Part, others: Part, wanted: set[str], relations: Mapping[str, Relation]) -> bool:
    """Whether the map of ``part`` has at most one entry per row of one of its tables: that row determines all keys."""
    keys = _variables(part) & (wanted | _variables(others))
    return any(keys <= _closure(atom.variables(), part, relations) for atom in part)


def _variables(part: Part) -> set[str]:
    return {v for atom in part for v in atom.variables()}


def _closure(start: set[str], part: Part, relations: Mapping[str, Relation]) -> set[str]:
    """All variables that ``start`` determines through the declared keys of the part's relations."""
    known, before = set(start), -1
    while len(known) > before:
        before = len(known)
        for atom in part:
            key = key_variables(atom, relations[atom.relation])
            if key is not None and key <= known:
                known |= atom.variables()
    return known
