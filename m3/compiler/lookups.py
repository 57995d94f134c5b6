"""When a remaining join is looked up table by table, instead of being kept as a map of its own.

The paper keeps every connected remainder as a map. For a star of many tables that is a map for every subset of them,
most as large as the fact table. The alternative is to read each table of the remainder from its own map, one after the
other: a lookup where the declared keys say that there is one row, a loop where there may be several. Then a query needs
hardly more maps than it has tables, and an event costs as much as the rows it joins with.

So: a remainder is looked up when the rows an event is expected to meet are few, by declared keys and numbers of rows; a
map is kept where one event would meet many (a nation's orders), which is where a sum that is ready pays. Estimates choose
the plan and nothing else: the result is right even where they are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from m3.algebra import Atom
from m3.program import Relation
from m3.scalars import Var

__all__ = ["MEETINGS", "is_looked_up", "key_variables", "meetings"]

#: As many rows may one event be expected to meet.
MEETINGS = 1000.0


def is_looked_up(
    component: Sequence[Atom], bound: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]
) -> bool:
    """Whether the rows of a connected remainder are few enough to be met one table at a time; see :func:`meetings`."""
    return meetings(component, bound, term, relations) <= MEETINGS


def meetings(atoms: Sequence[Atom], bound: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]) -> float:
    """How many rows are met, one table after the other, the table with the fewest first.

    Args:
        atoms: the tables to join.
        bound: the variables that are known.
        term: all atoms of the product: whose keys a variable is, tells how many values it has.
        relations: by name, for their keys and rows.

    Returns:
        infinity where nothing tells.
    """
    known, left, met = set(bound), list(atoms), 1.0
    while left and met < math.inf:
        best = min(left, key=lambda atom: matches(atom, known, term, relations))
        met *= matches(best, known, term, relations)
        left.remove(best)
        known |= best.variables()
    return met


def matches(atom: Atom, known: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]) -> float:
    """How many rows of the atom's relation have given values in the ``known`` variables; infinite if nothing tells."""
    relation = relations[atom.relation]
    key = key_variables(atom, relation)
    if key is not None and key <= known:
        return 1.0
    values = max(_values(atom.variables() & known, term, relations), default=0)
    return relation.rows / values if relation.rows is not None and values else math.inf


def _values(variables: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]) -> list[int]:
    """The rows of the tables that have some of the variables as their key: as many values they take."""
    keyed = ((key_variables(atom, relations[atom.relation]), relations[atom.relation].rows) for atom in term)
    return [rows for key, rows in keyed if key and key <= variables and rows]


def key_variables(atom: Atom, relation: Relation) -> set[str] | None:
    """The variables of the relation's key columns; None when it has no key or not all of it is bound."""
    columns = {expr.name: name for name, expr in atom.bindings if isinstance(expr, Var)}
    if not relation.key or not set(relation.key) <= set(columns):
        return None
    return {columns[c] for c in relation.key}
