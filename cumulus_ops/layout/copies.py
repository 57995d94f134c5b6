"""Which sorted copies of a group there are, so that every lookup finds the first columns of one known.

Statements look a group up by different sets of key columns. A copy sorted by (a, b) serves lookups by a and b, by a, and for
everything: so copies are chains of sets, one within the other. Numbers come before texts, which a search code only has as a
hash: a lookup by some of the columns can only be served if they are numbers. Copies but the first one keep the columns that
their lookups look at, and are summed over the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cumulus_ops.layout.groups import Group
from cumulus_ops.mapstore import AccessPath, is_number, physical_type

__all__ = ["Lookup", "choose_copies"]


@dataclass(frozen=True)
class Lookup:
    """How a group is looked up: the known key columns; the one by whose values entries are to be ordered (-1: none); the other
    key columns and the value columns that are looked at."""

    bound: frozenset[int]
    order: int = -1
    free: frozenset[int] = frozenset()
    values: frozenset[str] = frozenset()


@dataclass
class _Chain:
    """A copy in the making: its sets of columns, the largest first, and the column by whose values entries are ordered."""

    sets: list[frozenset[int]]
    order: int = -1
    lookups: list[Lookup] = field(default_factory=list)


def choose_copies(group: Group, lookups: Iterable[Lookup]) -> tuple[tuple[AccessPath, ...], dict[Lookup, AccessPath]]:
    """The copies of a group, and the one that serves each lookup.

    Args:
        group: the group; if nobody looks it up, it is kept once, by its whole key.
        lookups: all that statements and derivations do.

    Returns:
        the copies, the first one with all columns; and the copy of each lookup.
    """
    numbers = frozenset(i for i, key in enumerate(group.keys) if is_number(physical_type(key.type)))
    chains: list[_Chain] = []
    wanted = sorted(set(lookups), key=lambda x: (x.order < 0, -len(x.bound), sorted(x.bound), sorted(x.free)))
    for lookup in wanted or [Lookup(frozenset(range(len(group.keys))))]:
        chain = next((c for c in chains if _joins(c, lookup, numbers)), None)
        if chain is None:
            chain = _new_chain(lookup, numbers)
            chains.append(chain)
        elif lookup.bound not in chain.sets:
            chain.sets.append(lookup.bound)
        chain.lookups.append(lookup)
    paths = [_path(group, chain, numbers, first=place == 0) for place, chain in enumerate(chains)]
    served = {lookup: path for chain, path in zip(chains, paths, strict=True) for lookup in chain.lookups}
    return tuple(paths), served


def _new_chain(lookup: Lookup, numbers: frozenset[int]) -> _Chain:
    if lookup.order < 0:
        return _Chain([lookup.bound])
    if lookup.bound <= numbers and lookup.order in numbers:
        return _Chain([lookup.bound | {lookup.order}, lookup.bound], lookup.order)
    return _Chain([lookup.bound], lookup.order)


def _joins(chain: _Chain, lookup: Lookup, numbers: frozenset[int]) -> bool:
    """Whether a copy serves a lookup, too, or can be made to."""
    if lookup.order >= 0:
        return lookup.bound in chain.sets and lookup.order == chain.order
    return lookup.bound in chain.sets or (lookup.bound <= numbers and lookup.bound < chain.sets[-1])


def _path(group: Group, chain: _Chain, numbers: frozenset[int], *, first: bool) -> AccessPath:
    bound: list[int] = []
    for columns in reversed(chain.sets):
        bound += sorted(columns - set(bound), key=lambda i: (i not in numbers, i))
    kept = set(bound) | {chain.order} - {-1}
    kept = kept.union(*(lookup.free for lookup in chain.lookups))
    values = frozenset[str]().union(*(lookup.values for lookup in chain.lookups))
    all_keys, all_values = len(kept) == len(group.keys), values >= set(group.members)
    return AccessPath(
        group.name,
        tuple(bound),
        chain.order,
        None if first or all_keys else tuple(sorted(kept)),
        None if first or all_values else tuple(name for name in group.members if name in values),
    )
