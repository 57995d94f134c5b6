"""Pass 2: recursive delta compilation (DBToaster), the heart of the compiler.

The delta of a product to an event is a product of factors of the event's row and of what remains of the join. The
remainder splits into parts that are connected by variables the event does not bind; each part is kept as an auxiliary
map, keyed by the bound variables it touches and by what the target and the conditions need of it, which is in turn
maintained by its own deltas (VLDB Journal 2014, section 4). Each step has fewer atoms, so it ends. Conditions between
sources are decided as early as possible: on the event, inside an auxiliary map, or at last on loop variables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from m3.algebra.normal import DeltaTerm, delta
from m3.algebra.terms import Atom, Monomial, components, free, localise, unused_name
from m3.compiler.maps import Definition, Draft, Maps
from m3.datatypes import Type
from m3.program import START, MapRef, Relation, Statement
from m3.scalars import Const, Scalar, Var, const, substitute, variables

__all__ = [
    "MEETINGS",
    "Part",
    "choose_parts",
    "estimate_meetings",
    "is_looked_up",
    "key_variables",
    "materialize_deltas",
    "materialize_restricted",
]


def materialize_deltas(draft: Draft, *, restricted: bool = False) -> Draft:
    """Adds the statements that maintain every map, and the auxiliary maps they read.

    An event of s is multiplied by what is known of r; the map of r, keyed by what ties both and by what the view groups by, is
    maintained in turn:

    >>> from m3 import emit
    >>> from m3.sql.show import EXAMPLE
    >>> deltas = emit("deltas", "p", EXAMPLE, {"v": "SELECT a, SUM(c) AS t FROM r JOIN s ON b = id GROUP BY a"})
    >>> [line for line in deltas.splitlines() if line.startswith(("+s: v_t", "+r: m_r"))]
    ['+s: v_t[a] += c * m_r_1[a, b]', '+r: m_r_1[a, id] += 1']

    Args:
        draft: with the views' maps defined.
        restricted: produce restricted M3 even where that makes maps larger than the base tables.
    """
    relations = draft.sources()
    maps = Maps.of(draft)
    derived = {d.relation.name for d in draft.derived}
    statements: list[tuple[int, str, Statement]] = []
    done = 0
    while done < len(maps.definitions):  # making statements defines the maps that they read: these come last
        definition = maps.definitions[done]
        for term in definition.polynomial.terms:
            if not term.atoms:
                # no event changes a constant: it is there before the first one
                factors = () if term.coefficient == 1 and term.factors else (const(term.coefficient),)
                there = Statement(definition.name, term.keys, (*factors, *term.factors), term.conditions)
                statements.append((1, START, there))
            for name in dict.fromkeys(a.relation for a in term.atoms):
                maker = _Maker(definition, term, relations[name], maps, relations, restricted)
                if name in derived:  # it changes by rows that carry their own sign: one trigger does for both
                    statements += [(0, name, s) for s in maker.make_statements(0)]
                    continue
                inserts = list(maker.make_statements(1))
                statements += [(1, name, s) for s in inserts]
                # a delete is an insert times -1, except in the papers' form of self-joins
                deletes = maker.make_statements(-1) if restricted else map(_negate, inserts)
                statements += [(-1, name, s) for s in deletes]
        done += 1
    return replace(draft, definitions=tuple(maps.definitions), statements=tuple(statements))


def _negate(statement: Statement) -> Statement:
    """The statement times -1; its coefficient, where it has one, is its first factor."""
    first = statement.factors[0] if statement.factors else None
    if not (isinstance(first, Const) and type(first.value) is int and first.type.kind == "int"):
        return replace(statement, factors=(const(-1), *statement.factors))
    rest = statement.factors[1:]
    return replace(statement, factors=rest if first.value == -1 else (const(-first.value), *rest))


#: The same pass, held to the paper's restricted M3.
materialize_restricted: Callable[[Draft], Draft] = partial(materialize_deltas, restricted=True)


@dataclass(frozen=True)
class _Read:
    """An auxiliary map to read: its name, for each of its keys the variable and the type, and the tables it is made of."""

    map: str
    keys: tuple[tuple[str, Type], ...]
    after: bool
    part: Part


@dataclass(frozen=True)
class _Maker:
    """Makes the statements of one term of a map for one relation."""

    definition: Definition
    term: Monomial
    relation: Relation
    maps: Maps
    relations: Mapping[str, Relation]
    restricted: bool

    def make_statements(self, sign: int) -> Iterator[Statement]:
        """One statement per term of the delta."""
        for change in delta(self.term, self.relation.name, sign, single=self.restricted and sign != 0):
            bound = dict(change.bound)
            targets = free(self.term.keys)
            parts = choose_parts(
                change.rest,
                set(bound),
                targets | free(self._find_open(bound)),
                self.term.atoms,
                self.relations,
                restricted=self.restricted,
            )
            # what neither the event nor a single part decides is left for the statement, on loop variables
            inside = [_list_variables(part) for part, _ in parts]
            late = [s for s in self._find_open(bound) if not any(free([s]) <= names for names in inside)]
            wanted = targets | free(late)
            taken = {v for atom in self.term.atoms for v in atom.variables()}
            reads = [self._keep_auxiliary(i, parts, set(bound), wanted, taken) for i in range(len(parts))]
            yield self._assemble(change, bound, late, reads)

    def _find_open(self, bound: Mapping[str, Scalar]) -> Iterator[Scalar]:
        """Conditions and factors that the event alone does not decide."""
        return (s for s in (*self.term.conditions, *self.term.factors) if not set(variables(s)) <= set(bound))

    def _keep_auxiliary(
        self, index: int, parts: list[tuple[Part, bool]], bound: set[str], wanted: set[str], taken: set[str]
    ) -> _Read:
        """The map for one part, keyed by what the event, the statement and the other parts have in common with it.

        ``taken`` are the variables of the statement; it gets one more for each key that may have any value: if two reads
        shared one, they would be joined by it."""
        part, after = parts[index]
        mine = {v for atom in part for v in atom.variables()}
        outside = bound | wanted
        outside |= {v for i, (other, _) in enumerate(parts) if i != index for atom in other for v in atom.variables()}
        keys = tuple(v for v in dict.fromkeys(n for atom in part for n, _ in atom.bindings) if v in outside)
        earlier = [{v for atom in other for v in atom.variables()} for other, _ in parts[:index]]
        before = [bound, *earlier]  # the part decides what it is the first to have all variables of
        conditions, factors = (
            tuple(s for s in group if (names := free([s])) <= mine and not any(names <= other for other in before))
            for group in (self.term.conditions, self.term.factors)
        )
        types = {name: expr.type for atom in reversed(part) for name, expr in atom.bindings}  # the first atom's
        typed = tuple(Var(k, types[k]) for k in keys)
        name, order = self.maps.keep_auxiliary(localise(Monomial(typed, part, conditions, factors)))
        columns = self.maps.columns(name)
        read = []
        for variable, column in zip(order, columns, strict=True):
            known = variable or unused_name(f"any_{column.name}", taken)
            taken.add(known)
            read.append((known, column.type))
        return _Read(name, tuple(read), after, part)

    def _assemble(
        self, change: DeltaTerm, bound: Mapping[str, Scalar], late: list[Scalar], reads: list[_Read]
    ) -> Statement:
        values = dict(bound)
        names = self._name_loop_variables(reads, values)
        references = []
        for read in self._order_reads(reads, set(values)):
            for variable, kind in read.keys:
                values.setdefault(variable, Var(names.get(variable, variable), kind))
            references.append(MapRef(read.map, tuple(values[v] for v, _ in read.keys), read.after))
        early = [s for s in (*self.term.conditions, *self.term.factors) if set(variables(s)) <= set(bound)]
        placed = {s: substitute(s, values) for s in (*early, *late)}
        conditions = [placed[c] for c in dict.fromkeys(self.term.conditions) if c in placed]
        factors = [placed[f] for f in self.term.factors if f in placed]
        coefficient = () if change.coefficient == 1 else (const(change.coefficient),)
        keys = tuple(substitute(k, values) for k in self.term.keys)
        return Statement(
            self.definition.name,
            keys,
            (*coefficient, *change.factors, *factors, *references),
            tuple(dict.fromkeys((*change.conditions, *conditions))),
        )

    def _order_reads(self, reads: list[_Read], bound: set[str]) -> Iterator[_Read]:
        """The reads, each time one with some key bound, of these the one that leaves the fewest open, and of these the one
        that finds the fewest entries: what it binds narrows the later ones. What a read merely adds to the row comes last,
        so that statements begin alike and share their joins."""
        known, left = set(bound), list(reads)
        while left:
            best = min(left, key=lambda read: self._measure_openness(read, known))
            left.remove(best)
            known |= {v for v, _ in best.keys}
            yield best

    def _measure_openness(self, read: _Read, known: set[str]) -> tuple[bool, int, float]:
        """Whether a read would go through a whole map, how many keys it leaves open, about how many entries it finds."""
        opened = sum(v not in known for v, _ in read.keys)
        entries = estimate_meetings(read.part, known, self.term.atoms, self.relations) if opened else 1.0
        return 0 < opened == len(read.keys), opened, entries

    def _name_loop_variables(self, reads: list[_Read], bound: Mapping[str, Scalar]) -> dict[str, str]:
        """A name for every variable that the event leaves open: its own, unless it is a parameter of the trigger."""
        taken = {c.name for c in self.relation.columns}
        names: dict[str, str] = {}
        for variable in dict.fromkeys(v for read in reads for v, _ in read.keys):
            if variable not in bound:
                name, n = variable, 0
                while name in taken:
                    n += 1
                    name = f"{variable}_{n}"
                taken.add(name)
                names[variable] = name
        return names


# Which parts of a remaining join become maps: the paper's rule, and where it would explode, lookups instead.
#
# Where an event meets few rows, every table is read by itself (:mod:`m3.compiler.materialize`). Otherwise the paper's rule
# holds: each connected part is materialised as one map. When the part joins two large tables through a small domain, that
# map is the join of everything with everything: in TPC-H Q5, for an inserted lineitem, orders and suppliers of the same
# nation, keyed by both. If declared keys prove that the event determines the variable in between (an order has one
# customer, who has one nation), reading one map per side and meeting in that variable takes constant time, and both maps
# are no larger than a base table. Only then a part is split; the program is then M3, but no longer restricted M3.
# Declared keys choose the plan and nothing else: the result is right even where the data break them.


Part = tuple[Atom, ...]


def choose_parts(
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
        for part in _split_by_time(component, when, bound)
    ]
    if not restricted:
        whole = [
            part
            for component in whole
            for part in (
                [(atom,) for atom in component]
                if is_looked_up(component, bound, term, relations)
                else _split_component(component, bound, targets, relations)
            )
        ]
    return [(part, any(when[id(atom)] for atom in part)) for part in whole]


def _split_by_time(component: Part, when: Mapping[int, bool | None], bound: set[str]) -> list[Part]:
    """A map is read at one time: atoms before the event are kept apart from those after it."""
    if len({when[id(atom)] for atom in component} - {None}) < 2:
        return [component]
    later = tuple(a for a in component if when[id(a)] is not False)
    earlier = tuple(a for a in component if when[id(a)] is False)
    return [part for atoms in (later, earlier) for part in components(atoms, bound)]


def _split_component(
    component: Part, bound: set[str], targets: set[str], relations: Mapping[str, Relation]
) -> list[Part]:
    """``component`` itself when its map is linear or splitting it is not provably cheap."""
    if _is_linear(component, (), bound | targets, relations):
        return [component]
    groups = _merge_linear(component, bound | targets, relations)
    meeting = {v for a, b in itertools.combinations(groups, 2) for v in _list_variables(a) & _list_variables(b)} - bound
    determined = _follow_keys(bound & _list_variables(component), component, relations)
    return groups if meeting <= determined else [component]


def _merge_linear(component: Part, wanted: set[str], relations: Mapping[str, Relation]) -> list[Part]:
    """Merges atoms, in order, as long as the merged part's map stays linear."""
    groups: list[Part] = [(atom,) for atom in component]
    merged = True
    while merged:
        merged = False
        for first, second in itertools.combinations(groups, 2):
            others = tuple(a for g in groups if g not in (first, second) for a in g)
            shared = (_list_variables(first) & _list_variables(second)) - wanted
            if shared and _is_linear(first + second, others, wanted, relations):
                groups = [first + second if g is first else g for g in groups if g is not second]
                merged = True
                break
    return groups


def _is_linear(part: Part, others: Part, wanted: set[str], relations: Mapping[str, Relation]) -> bool:
    """Whether the map of ``part`` has at most one entry per row of one of its tables: that row determines all keys."""
    keys = _list_variables(part) & (wanted | _list_variables(others))
    return any(keys <= _follow_keys(atom.variables(), part, relations) for atom in part)


def _list_variables(part: Part) -> set[str]:
    return {v for atom in part for v in atom.variables()}


def _follow_keys(start: set[str], part: Part, relations: Mapping[str, Relation]) -> set[str]:
    """All variables that ``start`` determines through the declared keys of the part's relations."""
    known, before = set(start), -1
    while len(known) > before:
        before = len(known)
        for atom in part:
            key = key_variables(atom, relations[atom.relation])
            if key is not None and key <= known:
                known |= atom.variables()
    return known


# When a remaining join is looked up table by table, instead of being kept as a map of its own.
#
# The paper keeps every connected remainder as a map. For a star of many tables that is a map for every subset of them,
# most as large as the fact table. The alternative is to read each table of the remainder from its own map, one after the
# other: a lookup where the declared keys say that there is one row, a loop where there may be several. Then a query needs
# hardly more maps than it has tables, and an event costs as much as the rows it joins with.
#
# So: a remainder is looked up when the rows an event is expected to meet are few, by declared keys and numbers of rows; a
# map is kept where one event would meet many (a nation's orders), which is where a sum that is ready pays. Estimates choose
# the plan and nothing else: the result is right even where they are wrong.


#: As many rows may one event be expected to meet.
MEETINGS = 1000.0


def is_looked_up(
    component: Sequence[Atom], bound: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]
) -> bool:
    """Whether the rows of a connected remainder are few enough to be met one table at a time; see :func:`estimate_meetings`."""
    return estimate_meetings(component, bound, term, relations) <= MEETINGS


def estimate_meetings(
    atoms: Sequence[Atom], bound: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]
) -> float:
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
        best = min(left, key=lambda atom: estimate_matches(atom, known, term, relations))
        met *= estimate_matches(best, known, term, relations)
        left.remove(best)
        known |= best.variables()
    return met


def estimate_matches(atom: Atom, known: set[str], term: Sequence[Atom], relations: Mapping[str, Relation]) -> float:
    """How many rows of the atom's relation have given values in the ``known`` variables; infinite if nothing tells."""
    relation = relations[atom.relation]
    key = key_variables(atom, relation)
    if key is not None and key <= known:
        return 1.0
    # a variable takes as many values as the table has rows whose key it is
    asked = atom.variables() & known
    keyed = ((key_variables(a, relations[a.relation]), relations[a.relation].rows) for a in term)
    values = max((rows for key, rows in keyed if key and key <= asked and rows), default=0)
    return relation.rows / values if relation.rows is not None and values else math.inf


def key_variables(atom: Atom, relation: Relation) -> set[str] | None:
    """The variables of the relation's key columns; None when it has no key or not all of it is bound."""
    if not relation.key:
        return None
    columns = {expr.name: name for name, expr in atom.bindings if isinstance(expr, Var)}
    if not columns.keys() >= set(relation.key):
        return None
    return {columns[c] for c in relation.key}
