"""What one event costs: entries of maps that are read or written, by its own trigger and by what it causes downstream.

The model, per event:

- A statement reads from left to right: each read costs the entries it finds (:class:`m3.explain.cost.Sizes`) for every
  valuation that the reads before it found; then it writes one entry per key of its target that comes out. An entry costs 1,
  whether it is found by a point lookup (O(log n)) or as the next one of a slice. Conditions are taken to hold.
- A derivation is recomputed for each group for which one of its inputs was written: one entry per input (the least and
  the greatest are the first of an ordered index), its old row, and its new row. A window reads and writes its partition.
- Each changed row (two per group: the old and the new one) runs the ON CHANGE trigger, whose writes in turn can
  cause derivations further down.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from m3.dataflow import connected
from m3.program import Derived, Program, Statement, Trigger, Windowing
from m3.scalars import Scalar, Var, variables

__all__ = [
    "ONE",
    "ZERO",
    "Access",
    "Amount",
    "Caused",
    "Sizes",
    "TriggerCost",
    "accesses",
    "costs",
    "number",
    "short_number",
    "symbol",
]


# Amounts that are numbers as far as they are known, and symbols where they are not: ``3 + 2·s1 + s1·s2``.


@dataclass(frozen=True)
class Amount:
    """A polynomial with non-negative coefficients: ``terms`` are (sorted symbols, coefficient), sorted, none zero."""

    terms: tuple[tuple[tuple[str, ...], float], ...] = ()

    def __add__(self, other: Amount) -> Amount:
        return _collect_terms([*self.terms, *other.terms])

    def __mul__(self, other: Amount) -> Amount:
        return _collect_terms([(tuple(sorted(a + b)), x * y) for a, x in self.terms for b, y in other.terms])

    @property
    def known(self) -> float | None:
        """The number, or None when it has symbols."""
        if not self.terms:
            return 0.0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def symbols(self) -> list[str]:
        """Its symbols, in order of appearance."""
        return list(dict.fromkeys(s for symbols, _ in self.terms for s in symbols))

    def text(self, name: Callable[[str], str] = str, limit: int = 6) -> str:
        """The sum, simple terms first, with at most ``limit`` terms written out; ``name`` prints a symbol."""
        shown = [_term(symbols, factor, name) for symbols, factor in self.terms[:limit]]
        left = len(self.terms) - limit
        shown += [f"{left} more term{'s' if left > 1 else ''}"] if left > 0 else []
        return " + ".join(shown) or "0"


def number(value: float) -> Amount:
    """A known amount."""
    return _collect_terms([((), float(value))])


def symbol(name: str) -> Amount:
    """An amount that only a name is known of."""
    return Amount((((name,), 1.0),))


def _collect_terms(terms: list[tuple[tuple[str, ...], float]]) -> Amount:
    totals: dict[tuple[str, ...], float] = {}
    for symbols, factor in terms:
        totals[symbols] = totals.get(symbols, 0.0) + factor
    return Amount(tuple(sorted(((s, f) for s, f in totals.items() if f), key=lambda t: (len(t[0]), t[0]))))


def _term(symbols: tuple[str, ...], factor: float, name: Callable[[str], str]) -> str:
    parts = [] if factor == 1 and symbols else [short_number(factor)]
    for each in dict.fromkeys(symbols):
        power = symbols.count(each)
        parts.append(name(each) + (f"^{power}" if power > 1 else ""))
    return "·".join(parts)


def short_number(value: float) -> str:
    """Three digits and a unit: ``7``, ``1.5``, ``240 k``, ``6 M``."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value:.3g}"
    return f"{value:.3g}"


ZERO, ONE = Amount(), number(1)


# How many entries a map has, and how many of them a read finds: estimates from rows per relation and declared keys.
#
# - **Domains.** Columns and map keys that statements equate (one variable stands in both) are one domain. If a relation's
#   whole key is a column of the domain, the domain has as many values as that relation has rows.
# - **Size.** A map has at most one entry per row of a relation that writes it, times the entries that each row writes
#   (statements that write equally many are taken to write the same ones); and at most the product of its keys' domains. The smallest bound that is known counts. Filters are not estimated, they
#   only make maps smaller.
# - **Slice.** A read that binds keys which determine the others (by declared keys) finds at most one entry. Any other read
#   finds the map's size divided by the domains of the bound keys, at least one; where that is unknown, a symbol.


Node = tuple[str, ...]


class Sizes:
    """Estimates for one program.

    Args:
        program: a checked program.
        statistics: rows by relation; relations may be missing, for which the declared numbers count, if there are any.
    """

    def __init__(self, program: Program, statistics: Mapping[str, float] | None = None) -> None:
        declared = {r.name: float(r.rows) for r in program.relations if r.rows is not None}
        self.program, self.rows = program, declared | dict(statistics or {})
        self._values = _domain_values(program, self.rows)
        self._writers: dict[str, dict[str, list[tuple[Trigger, Statement]]]] = {}
        for trigger in program.triggers:
            for statement in trigger.statements if trigger.sign >= 0 and trigger.relation else ():
                self._writers.setdefault(statement.target, {}).setdefault(trigger.relation, []).append(
                    (trigger, statement)
                )
        self._sizes: dict[str, float | None] = {}
        self._unique: dict[tuple[str, tuple[int, ...]], bool] = {}

    def size(self, name: str) -> float | None:
        """The entries of a map; None when unknown."""
        if name not in self._sizes:
            self._sizes[name] = None  # a map in a cycle is unknown while it is being estimated
            self._sizes[name] = min((b for b in self._bounds(name) if b is not None), default=None)
        return self._sizes[name]

    def _bounds(self, name: str) -> Iterator[float | None]:
        yield _product(self._values.get(("map", name, k.name)) for k in self.program.map_by_name[name].keys)
        derived = self.program.derivation_by_map.get(name)
        if derived is not None:
            yield min((s for m in derived.reads_by_group() if (s := self.size(m)) is not None), default=None)
        for relation, writers in self._writers.get(name, {}).items():
            events = self.rows.get(relation) if relation in self.program.relation_by_name else self.size(relation)
            written = sum({self.written(t, s) for t, s in writers}, start=ZERO).known
            yield None if events is None or written is None else events * written

    def matches(self, access: Access) -> Amount:
        """How many entries a read finds."""
        if access.kind == "lookup" or self.unique(access.map, access.bound):
            return ONE
        size = self.size(access.map)
        if access.kind == "scan":
            return symbol(f"all entries of {access.map}") if size is None else number(max(1.0, size))
        keys = access.keys(self.program)
        values = [v for k in keys if (v := self._values.get(("map", access.map, k)))]
        if size is None or not values:
            return symbol(f"entries of {access.map} for one ({', '.join(keys)})")
        return number(max(1.0, size / math.prod(values)))

    def written(self, trigger: Trigger, statement: Statement) -> Amount:
        """How many entries of its target one event of a statement writes."""
        needed = {v for key in statement.keys for v in variables(key)}
        total = ONE
        for access, ref in reversed(list(zip(accesses(trigger, statement), statement.reads(), strict=True))):
            if needed & {variable for _, variable in access.free}:
                total = total * self.matches(access)
                needed |= {v for key in ref.keys for v in variables(key)}
        return total

    def unique(self, name: str, bound: tuple[int, ...]) -> bool:
        """Whether declared keys say that at most one entry has given values at the places ``bound``."""
        if len(bound) == len(self.program.map_by_name[name].keys):
            return True
        if (name, bound) not in self._unique:
            self._unique[name, bound] = False  # a map in a cycle is not while it is being looked at
            self._unique[name, bound] = self._is_determined(name, bound)
        return self._unique[name, bound]

    def _is_determined(self, name: str, bound: tuple[int, ...]) -> bool:
        derived = self.program.derivation_by_map.get(name)
        if isinstance(derived, Windowing):
            inner = tuple(i for i in bound if i < len(self.program.map_by_name[derived.source].keys))
            return self.unique(derived.source, inner)
        if derived is not None:
            return set(range(len(derived.keys))) <= set(bound)
        writers = self._writers.get(name, {}).values()
        return any(all(self._row_decides(t, s, bound) for t, s in group) for group in writers)

    def _row_decides(self, trigger: Trigger, statement: Statement, bound: tuple[int, ...]) -> bool:
        """Whether the values at ``bound`` determine the event's row and with it all keys of the target."""
        known = {k.name for i in bound if isinstance(k := statement.keys[i], Var)}
        pairs = list(zip(accesses(trigger, statement), statement.reads(), strict=True))
        before = -1
        while len(known) > before:
            before = len(known)
            if set(_row_key(self.program, trigger)) <= known:
                known |= set(trigger.params)
            for access, ref in pairs:
                places = tuple(i for i, key in enumerate(ref.keys) if set(variables(key)) <= known)
                if self.unique(access.map, places):
                    known |= {variable for _, variable in access.free}
        return all(v in known for key in statement.keys for v in variables(key))


def _row_key(program: Program, trigger: Trigger) -> tuple[str, ...]:
    """The parameters that determine all others of an event; all of them when no key is declared."""
    if trigger.sign == 0:
        derived = program.derivation_by_map[trigger.relation]
        return trigger.params if isinstance(derived, Windowing) else trigger.params[: len(derived.keys)]
    relation = program.relation_by_name[trigger.relation]
    names = [c.name for c in relation.columns]
    return tuple(trigger.params[names.index(k)] for k in relation.key) or trigger.params


def _product(values: Iterator[float | None]) -> float | None:
    total = 1.0
    for value in values:
        if value is None:
            return None
        total *= value
    return total


def _domain_values(program: Program, rows: Mapping[str, float]) -> dict[Node, float]:
    """For each map key whose domain is some relation's key, how many values it has."""
    found: dict[Node, float] = {}
    for domain in connected((), _find_equal_values(program)):
        counts = [
            rows[r.name]
            for r in program.relations
            if r.name in rows and len(r.key) == 1 and ("relation", r.name, r.key[0]) in domain
        ]
        if counts:
            found |= dict.fromkeys(domain, max(1.0, min(counts)))
    return found


def _find_equal_values(program: Program) -> Iterator[tuple[Node, Node]]:
    """Pairs of columns, map keys and variables that stand for the same value."""
    for trigger in program.triggers:
        kind = "relation" if trigger.sign else "map"
        columns = program.relation_by_name[trigger.relation].columns if trigger.sign and trigger.relation else ()
        columns = columns or (program.map_by_name[trigger.relation].keys if trigger.sign == 0 else ())
        for index, statement in enumerate(trigger.statements):
            scope = ("variable", trigger.event, str(index))
            for param, column in zip(trigger.params, columns, strict=True):
                yield (*scope, param), (kind, trigger.relation, column.name)
            yield from _stands_for(program, scope, statement.target, statement.keys)
            for ref in statement.reads():
                yield from _stands_for(program, scope, ref.map, ref.keys)
    for derived in program.derivations:
        for source in derived.reads_by_group():
            for a, b in zip(program.map_by_name[source].keys, program.map_by_name[derived.map].keys, strict=False):
                if isinstance(derived, Windowing) or b.name in derived.keys:
                    yield ("map", source, a.name), ("map", derived.map, b.name)


def _stands_for(program: Program, scope: Node, name: str, keys: tuple[Scalar, ...]) -> Iterator[tuple[Node, Node]]:
    for key, column in zip(keys, program.map_by_name[name].keys, strict=True):
        if isinstance(key, Var):
            yield (*scope, key.name), ("map", name, column.name)


# How statements read maps: by all keys, by some, or by none.
#
# A statement's factors are evaluated from left to right, so what a read finds bound are the event's parameters and the
# loop variables of the reads before it.


@dataclass(frozen=True)
class Access:
    """One map read. ``bound`` are the places of the map's keys that are known; ``free`` pairs the other places with the
    loop variables they bind."""

    map: str
    bound: tuple[int, ...]
    free: tuple[tuple[int, str], ...]

    @property
    def kind(self) -> str:
        """``lookup`` of one entry, ``slice`` of the entries that match, or ``scan`` of all entries."""
        if not self.free:
            return "lookup"
        return "slice" if self.bound else "scan"

    def keys(self, program: Program) -> tuple[str, ...]:
        """The names of the bound keys."""
        names = [k.name for k in program.map_by_name[self.map].keys]
        return tuple(names[i] for i in self.bound)


def accesses(trigger: Trigger, statement: Statement) -> tuple[Access, ...]:
    """The statement's map reads, in evaluation order."""
    known, found = set(trigger.params), []
    for ref in statement.reads():
        free = tuple((i, k.name) for i, k in enumerate(ref.keys) if isinstance(k, Var) and k.name not in known)
        places = {i for i, _ in free}
        found.append(Access(ref.map, tuple(i for i in range(len(ref.keys)) if i not in places), free))
        known |= {variable for _, variable in free}
    return tuple(found)


@dataclass(frozen=True)
class Caused:
    """The re-evaluation of a derived map that one event can cause: ``groups`` (or partitions) are recomputed, ``rows``
    change. ``touched`` are the entries of both the recomputation and the ON CHANGE trigger's statements."""

    map: str
    groups: Amount
    rows: Amount
    touched: Amount


@dataclass(frozen=True)
class TriggerCost:
    """One event's cost. ``lookups``, ``slices`` and ``scans`` count the map reads of the trigger's statements;
    ``touched`` are the entries that these read and write; ``caused`` is in the order of the program's derivations."""

    event: str
    statements: int
    lookups: int
    slices: int
    scans: int
    touched: Amount
    caused: tuple[Caused, ...] = ()

    @property
    def total(self) -> Amount:
        """All entries touched, downstream included."""
        return sum((c.touched for c in self.caused), start=self.touched)


def costs(program: Program, statistics: Mapping[str, float] | None = None) -> list[TriggerCost]:
    """The cost of one event of each trigger, in the program's order.

    Args:
        program: a checked program.
        statistics: rows by relation; without them, sizes that declared keys do not tell stay symbols.
    """
    sizes = Sizes(program, statistics)
    return [_event(sizes, trigger) for trigger in program.triggers]


def _event(sizes: Sizes, trigger: Trigger) -> TriggerCost:
    kinds = Counter(
        # To read all of a map that never has more than one entry is a lookup.
        "lookup" if a.kind == "scan" and sizes.unique(a.map, ()) else a.kind
        for s in trigger.statements
        for a in accesses(trigger, s)
    )
    touched, written = _trigger(sizes, trigger)
    caused = _estimate_caused(sizes, written) if trigger.sign else ()
    reads = (kinds["lookup"], kinds["slice"], kinds["scan"])
    return TriggerCost(trigger.event, len(trigger.statements), *reads, touched, caused)


def _trigger(sizes: Sizes, trigger: Trigger) -> tuple[Amount, dict[str, Amount]]:
    """The entries touched, and the entries written by map; statements that write as many to one map share them."""
    touched = sum((_statement(sizes, trigger, s) for s in trigger.statements), start=ZERO)
    each: dict[str, set[Amount]] = {}
    for statement in trigger.statements:
        each.setdefault(statement.target, set()).add(sizes.written(trigger, statement))
    return touched, {name: sum(amounts, start=ZERO) for name, amounts in each.items()}


def _statement(sizes: Sizes, trigger: Trigger, statement: Statement) -> Amount:
    valuations, touched = ONE, sizes.written(trigger, statement)
    for access in accesses(trigger, statement):
        valuations = valuations * sizes.matches(access)
        touched = touched + valuations
    return touched


def _estimate_caused(sizes: Sizes, written: Mapping[str, Amount]) -> tuple[Caused, ...]:
    """What follows from the entries written, through the derivations in their order."""
    program, pending, found = sizes.program, dict(written), []
    for derived in program.derivations:
        # A set: inputs that are written equally often are taken to be written for the same groups.
        groups = sum({pending[name] for name in derived.reads_by_group() if name in pending}, start=ZERO)
        if groups == ZERO:
            continue
        rows, touched = _estimate_recomputed(sizes, derived, groups)
        trigger = program.trigger(derived.map, 0)
        pending[derived.map] = rows
        if trigger is not None:
            once, more = _trigger(sizes, trigger)
            touched = touched + rows * once
            for name, amount in more.items():
                pending[name] = pending.get(name, ZERO) + rows * amount
        found.append(Caused(derived.map, groups, rows, touched))
    return tuple(found)


def _estimate_recomputed(sizes: Sizes, derived: Derived, groups: Amount) -> tuple[Amount, Amount]:
    """The rows that change, and the entries touched to find that out and to write them."""
    if isinstance(derived, Windowing):
        width, places = len(sizes.program.map_by_name[derived.source].keys), tuple(range(derived.partition))
        loop = tuple((i, str(i)) for i in range(derived.partition, width))
        rows = groups * number(2) * sizes.matches(Access(derived.source, places, loop))
        return rows, rows + rows
    rows = groups * number(2)
    return rows, groups * number(len(derived.inputs) + 1) + rows
