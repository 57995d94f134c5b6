"""How many entries a map has, and how many of them a read finds: estimates from rows per relation and declared keys.

- **Domains.** Columns and map keys that statements equate (one variable stands in both) are one domain. If a relation's
  whole key is a column of the domain, the domain has as many values as that relation has rows.
- **Size.** A map has at most one entry per row of a relation that writes it, times the entries that each row writes
  (statements that write equally many are taken to write the same ones); and at most the product of its keys' domains. The smallest bound that is known counts. Filters are not estimated, they
  only make maps smaller.
- **Slice.** A read that binds keys which determine the others (by declared keys) finds at most one entry. Any other read
  finds the map's size divided by the domains of the bound keys, at least one; where that is unknown, a symbol.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from m3.explain.access import Access, accesses
from m3.explain.amount import ONE, ZERO, Amount, number, symbol
from m3.graphs import connected
from m3.program import MapRef, Program, Statement, Trigger, Windowing
from m3.scalars import Scalar, Var, variables

__all__ = ["Sizes"]

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
            yield min((s for m in derived.reads() if (s := self.size(m)) is not None), default=None)
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
            self._unique[name, bound] = self._determined(name, bound)
        return self._unique[name, bound]

    def _determined(self, name: str, bound: tuple[int, ...]) -> bool:
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
                if self.unique(access.map, _known_places(ref, known)):
                    known |= {variable for _, variable in access.free}
        return all(v in known for key in statement.keys for v in variables(key))


def _known_places(ref: MapRef, known: set[str]) -> tuple[int, ...]:
    return tuple(i for i, key in enumerate(ref.keys) if set(variables(key)) <= known)


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
    for domain in connected((), _equated(program)):
        counts = [rows[r.name] for r in program.relations if r.name in rows and _is_key_of(r.name, r.key, domain)]
        if counts:
            found |= dict.fromkeys(domain, max(1.0, min(counts)))
    return found


def _is_key_of(name: str, key: tuple[str, ...], domain: Collection[Node]) -> bool:
    return len(key) == 1 and ("relation", name, key[0]) in domain


def _equated(program: Program) -> Iterator[tuple[Node, Node]]:
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
        for source in derived.reads():
            for a, b in zip(program.map_by_name[source].keys, program.map_by_name[derived.map].keys, strict=False):
                if isinstance(derived, Windowing) or b.name in derived.keys:
                    yield ("map", source, a.name), ("map", derived.map, b.name)


def _stands_for(program: Program, scope: Node, name: str, keys: tuple[Scalar, ...]) -> Iterator[tuple[Node, Node]]:
    for key, column in zip(keys, program.map_by_name[name].keys, strict=True):
        if isinstance(key, Var):
            yield (*scope, key.name), ("map", name, column.name)
