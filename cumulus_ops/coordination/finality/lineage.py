"""Which columns of relations come through to which columns of a view, so that its rows are **partitioned** by them (Blazes, section VII-B: lineage).

A map is partitioned at a position of its key, given one column of each relation, if an entry depends on nothing but the events that have in
that column what the entry's key has there. Then a partition is final as soon as no more events of it can come. It holds if

- what an event adds goes to keys that have the event's value at that position, and
- is computed from the event and from entries that are partitioned and have the same value: whatever a statement reads has to be of the
  event's own partition, or one partition would be computed from another; and
- a derivation, or a window, has the position within its group, as all that it is computed from has.

The key may also have a **form** of the column: ``campaign + 1``, a day as its midnight. What is partitioned by a form depends on nothing but the
events whose columns give the same by that form. Only forms by which different values are different are looked for (:func:`one_to_one`): with them a
value that is closed closes one partition. A form that may fail gives something else then (``ATTEMPT``), which is a value's, too: that partition is
closed by no value (:class:`Carrier`).

So the partitions of joins have to be those of every relation that is joined, nested aggregates and self-joins included. All of it is an
induction over events, hence the greatest sets of positions that no statement contradicts are right. Each column of a seal is looked at by itself:
what depends only on the events of its own campaign, and only on those of its own hour, depends only on those of both.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from m3.clock import find_clock
from m3.dataflow import reachable
from m3.datatypes import Type
from m3.dictionary import FUNCTIONS
from m3.program import Derivation, Derived, MapRef, Program, Statement, Trigger, View, Windowing
from m3.scalars import Call, Const, Scalar, Var, conjuncts, substitute, vars_of

__all__ = ["VALUE", "Carrier", "Lineage", "one_to_one", "relations_of"]

#: More choices of columns are not looked at.
CHOICES = 64
#: A key position of a map.
Position = int
#: The same, and whether the key has a column's value by the form that is looked at, and not the value itself.
Place = tuple[Position, bool]
Found = Mapping[str, frozenset[Place]]
#: The variable of a form: a value of a column.
VALUE = "value"
#: A column of a relation, and the form by which it may come through; None for its value itself.
Origin = tuple[str, str, Scalar | None]


@dataclass(frozen=True)
class Carrier:
    """A key ``position`` of a view by which its rows are partitioned, each with the events of its relations that have the same in ``columns``
    (relation -> column); ``output``: the visible column that shows it, None if none does. ``form``: what it shows of the column's :data:`VALUE`, None
    for itself. A value for which the form fails, or is what it is where it fails, closes no partition."""

    position: Position
    columns: Mapping[str, str]
    output: str | None
    form: Scalar | None = None


@dataclass(frozen=True)
class _Program:
    """What analyses look up of a program."""

    program: Program

    @cached_property
    def writers(self) -> Mapping[str, list[tuple[Trigger, Statement]]]:
        """map -> the statements that add to it."""
        found: dict[str, list[tuple[Trigger, Statement]]] = {m: [] for m in self.program.map_by_name}
        for trigger in self.program.triggers:
            for statement in trigger.statements:
                found[statement.target].append((trigger, statement))
        return found

    @cached_property
    def sources(self) -> dict[str, dict[str, None]]:
        """map -> the maps that it is computed from directly, and the relations, written ``"R name"``."""
        found: dict[str, dict[str, None]] = {m: {} for m in self.program.map_by_name}
        for name, writers in self.writers.items():
            for trigger, statement in writers:
                found[name].update(dict.fromkeys(ref.map for ref in statement.reads()))
                if trigger.relation:
                    found[name][trigger.relation if trigger.sign == 0 else f"R {trigger.relation}"] = None
        for derived in self.program.derivations:
            found[derived.map].update(dict.fromkeys(derived.reads()))
        found.update({f"R {r.name}": {} for r in self.program.relations})
        return found

    def relations(self, maps: Iterable[str]) -> list[str]:
        """The relations that maps are computed from, in order of declaration."""
        upstream = {name for m in maps for name in reachable(self.sources, m)}
        return [r.name for r in self.program.relations if f"R {r.name}" in upstream]


def _places_in(view: View, position: Position) -> Iterator[tuple[str, Position]]:
    """Where the maps of a view have what its keys have at a position: (map, position); -1 where a list's map has it not."""
    keyed = [*([view.exists] if view.exists is not None else []), *(v.map for v in view.values)]
    yield from dict.fromkeys((name, position) for name in keyed)
    for made in view.lists:
        name = view.keys[position].name
        yield made.map, made.at.index(name) if name in made.at else -1


def relations_of(program: Program, view: View) -> list[str]:
    """The relations that a view depends on, its checks included."""
    return _Program(program).relations([*view.maps(), *(c.map for c in view.checks)])


class Lineage:
    """The lineage of a program's views."""

    def __init__(self, program: Program) -> None:
        self.program, self._known = program, _Program(program)
        self._partitions: dict[tuple[tuple[tuple[str, str], ...], Scalar | None], Found] = {}
        self._origins = _origins(self._known)

    def relations(self, view: View) -> list[str]:
        """The relations that a view depends on, its checks included."""
        return self._known.relations([*view.maps(), *(c.map for c in view.checks)])

    def carriers(self, view: View) -> list[Carrier]:
        """All ways in which single key positions partition a view.

        >>> from m3 import compile_views, parse
        >>> relations = parse("RELATION c(id INT, day INT); RELATION a(ad INT, name STRING);").relations
        >>> sql = "SELECT c.id, name, COUNT(*) AS n FROM c JOIN a ON c.id = a.ad GROUP BY c.id, name"
        >>> program = compile_views("p", relations, {"v": sql})
        >>> [(k.output, dict(k.columns)) for k in Lineage(program).carriers(program.view("v"))]
        [('id', {'c': 'id', 'a': 'ad'})]
        """
        return [c for position in range(len(view.keys)) for c in self._at(view, position)]

    def _at(self, view: View, position: Position) -> Iterator[Carrier]:
        relations = self.relations(view)
        name = view.keys[position].name
        output = next((c.name for c in view.visible if _is_variable(c.expression, name)), None)
        origins = {o for m, p in _places_in(view, position) if p >= 0 for o in self._origins[m][p]}
        for form in sorted({f for _, _, f in origins}, key=lambda f: (f is not None, repr(f))):
            choices = [sorted(c for r, c, f in origins if r == relation and f == form) for relation in relations]
            for chosen in itertools.islice(itertools.product(*choices), CHOICES):
                columns = dict(zip(relations, chosen, strict=True))
                if columns and self._partitioned(view, position, columns, form):
                    yield Carrier(position, columns, output, form)

    def _partitioned(self, view: View, position: Position, columns: Mapping[str, str], form: Scalar | None) -> bool:
        key = (tuple(sorted(columns.items())), form)
        if key not in self._partitions:
            self._partitions[key] = _Partitions(self._known, columns, form).places()
        found = self._partitions[key]
        if not all((p, form is not None) in found[m] for m, p in _places_in(view, position)):
            return False
        return all(self._stays_within(check.map, columns, form, found) for check in view.checks)

    def _stays_within(self, name: str, columns: Mapping[str, str], form: Scalar | None, found: Found) -> bool:
        """Whether what a check counts is computed within partitions, although its key may not name them."""
        rules = _Partitions(self._known, columns, form)
        if name in self.program.derivation_by_map:
            return bool(found[name])
        return all(rules.own(t, s, found) is not None for t, s in self._known.writers[name])


@dataclass(frozen=True)
class _Own:
    """The variables of a statement that have the value of its event's partition: itself, or by the form. ``exact``: all that the statement reads is of
    the events with the value itself, and not only with the same by the form."""

    values: frozenset[str]
    computed: frozenset[str]
    exact: bool


class _Partitions:
    """The places by which maps are partitioned, given a column of each relation, and a form in which it may come through."""

    def __init__(self, known: _Program, columns: Mapping[str, str], form: Scalar | None = None) -> None:
        self.known, self.program, self.columns, self.form = known, known.program, columns, form
        self.constant = {m for m in self.program.map_by_name if not known.relations([m])}

    def places(self) -> Found:
        """The greatest solution: places are taken away until nothing contradicts the rest."""
        kinds = (False,) if self.form is None else (False, True)
        found = {m.name: frozenset(itertools.product(range(len(m.keys)), kinds)) for m in self.program.maps}
        while True:
            kept = {name: frozenset(p for p in at if self._holds(name, p, found)) for name, at in found.items()}
            if kept == found:
                return found
            found = kept

    def _holds(self, name: str, place: Place, found: Found) -> bool:
        derived = self.program.derivation_by_map.get(name)
        if derived is not None:
            return self._derived(derived, place, found)
        return all(self._written(t, s, place, found) for t, s in self.known.writers[name])

    def _written(self, trigger: Trigger, statement: Statement, place: Place, found: Found) -> bool:
        if not trigger.relation:
            return True  # what is there before all events depends on none
        (position, computed), own = place, self.own(trigger, statement, found)
        return (
            own is not None
            and (own.exact or computed)
            and self._has(statement.keys[position], own, _equal(statement), computed=computed)
        )

    def _has(self, scalar: Scalar, own: _Own, equal: Mapping[str, str], *, computed: bool) -> bool:
        """Whether an expression has the value of the event's partition."""
        name = _name(scalar, equal)
        if not computed:
            return name in own.values
        return name in own.computed or (name is None and self._form_of(scalar, equal) in own.values)

    def _form_of(self, scalar: Scalar, equal: Mapping[str, str]) -> str | None:
        """The variable of which an expression is the form."""
        found = _as_form(scalar)
        return None if found is None or found[1] != self.form else _name(found[0], equal)

    def own(self, trigger: Trigger, statement: Statement, found: Found) -> _Own | None:
        """What of a statement has the value of its event's partition; None if it reads something of another one."""
        if not trigger.relation:
            return _Own(frozenset(), frozenset(), exact=True)
        equal = _equal(statement)
        values, computed = (
            frozenset(equal.get(name, name) for name in self._of_event(trigger, found, computed=kind))
            for kind in (False, True)
        )
        computed |= {name for ref in statement.reads() for name in self._bound(ref, values, equal)}
        own = _Own(values, computed, exact=bool(values))
        if not values and not computed:
            return None
        for ref in statement.reads():
            if ref.map in self.constant:
                continue
            kinds = {k for p, k in found[ref.map] if self._has(ref.keys[p], own, equal, computed=k)}
            if not kinds:
                return None
            own = _Own(values, computed, exact=own.exact and False in kinds)
        return own

    def _bound(self, ref: MapRef, values: frozenset[str], equal: Mapping[str, str]) -> Iterator[str]:
        """The variables that a read binds to the form of what its event has: in all entries one key is the form of another."""
        if self.form is None or ref.map in self.program.derivation_by_map:
            return
        names = [_name(key, equal) for key in ref.keys]
        for (a, bound), (b, given) in itertools.permutations(enumerate(names), 2):
            writers = self.known.writers[ref.map]
            if bound is not None and given in values and all(self._is_formed(s, a, b) for _, s in writers):
                yield bound

    def _is_formed(self, statement: Statement, a: Position, b: Position) -> bool:
        equal = _equal(statement)
        name = _name(statement.keys[b], equal)
        return name is not None and self._form_of(statement.keys[a], equal) == name

    def _of_event(self, trigger: Trigger, found: Found, *, computed: bool) -> list[str]:
        """The parameters that have the value of the event's partition."""
        if trigger.sign == 0:
            return [trigger.params[p] for p, kind in found[trigger.relation] if kind is computed]
        column = None if computed else self.columns.get(trigger.relation)
        names = [c.name for c in self.program.relation_by_name[trigger.relation].columns]
        return [] if column is None else [trigger.params[names.index(column)]]

    def _derived(self, derived: Derived, place: Place, found: Found) -> bool:
        position, computed = place
        if isinstance(derived, Derivation):
            width = len(derived.keys)
            if position >= width:  # a copy of what is in the group
                expression = derived.outputs[position - width].expression
                return any(
                    _is_variable(expression, k) and self._derived(derived, (p, computed), found)
                    for p, k in enumerate(derived.keys)
                )
            if find_clock(derived) is not None:
                return False  # a tick concerns all partitions
            return all(m in self.constant or place in found[m] for m in derived.reads())
        if not isinstance(derived, Windowing):
            return False  # type: ignore[unreachable]  # nothing is known of a kind that comes later
        at = found[derived.source]
        if position < derived.partition:
            return derived.source in self.constant or place in at
        twins = (
            p for p in range(derived.partition) if (p, computed) in at and self._alike(derived.source, p, position)
        )
        return place in at and next(twins, None) is not None

    def _alike(self, name: str, a: Position, b: Position) -> bool:
        """Whether all entries of a map have the same at two positions."""
        if name in self.program.derivation_by_map:
            return False
        return all(_same(s.keys[a], s.keys[b], _equal(s)) for _, s in self.known.writers[name])


def _origins(known: _Program) -> Mapping[str, list[set[Origin]]]:
    """For each key position of each map the columns that may come through to it: candidates, no more."""
    found: dict[str, list[set[Origin]]] = {m.name: [set() for _ in m.keys] for m in known.program.maps}
    grown = True
    while grown:
        grown = False
        for name, position in [(n, p) for n, at in found.items() for p in range(len(at))]:
            more = _step(known, name, position, found) - found[name][position]
            found[name][position] |= more
            grown = grown or bool(more)
    return found


def _step(known: _Program, name: str, position: Position, found: Mapping[str, Sequence[set[Origin]]]) -> set[Origin]:
    derived = known.program.derivation_by_map.get(name)
    if isinstance(derived, Derivation):
        if position < len(derived.keys):
            return set().union(*(found[m][position] for m in derived.reads_by_group()))
        expression = derived.outputs[position - len(derived.keys)].expression
        return set().union(*(found[name][p] for p, k in enumerate(derived.keys) if _is_variable(expression, k)))
    if derived is not None:
        at = found[derived.source] if isinstance(derived, Windowing) else []
        return set(at[position]) if position < len(at) else set()
    result: set[Origin] = set()
    for trigger, statement in known.writers[name]:
        equal, key = _equal(statement), statement.keys[position]
        wanted = _name(key, equal)
        if wanted is not None:
            result |= _origins_of(known, trigger, statement, wanted, found)
        elif (computed := _as_form(key)) is not None:
            inner = _origins_of(known, trigger, statement, _name(computed[0], equal), found)
            result |= {(r, c, computed[1]) for r, c, form in inner if form is None}
    return result


def _origins_of(
    known: _Program,
    trigger: Trigger,
    statement: Statement,
    wanted: str | None,
    found: Mapping[str, Sequence[set[Origin]]],
) -> set[Origin]:
    """What may come through to a variable of a statement."""
    equal, result = _equal(statement), set[Origin]()
    for parameter, origins in zip(trigger.params, _parameters(known, trigger, found), strict=True):
        if equal.get(parameter, parameter) == wanted:
            result |= origins
    for ref in statement.reads():
        for p, key in enumerate(ref.keys):
            if _name(key, equal) == wanted:
                result |= found[ref.map][p]
    return result


def _parameters(known: _Program, trigger: Trigger, found: Mapping[str, Sequence[set[Origin]]]) -> Sequence[set[Origin]]:
    """What may come through to each parameter of a trigger."""
    if trigger.sign == 0:
        return found[trigger.relation]
    if not trigger.relation:
        return []
    return [{(trigger.relation, c.name, None)} for c in known.program.relation_by_name[trigger.relation].columns]


# Forms: expressions over one variable by which different values are different.


def _as_form(scalar: Scalar) -> tuple[Var, Scalar] | None:
    """The variable of an expression that is :func:`one_to_one`, maybe attempted as a whole, and the expression over :data:`VALUE`."""
    inner = scalar.args[0] if isinstance(scalar, Call) and scalar.op == "attempt" else scalar
    if isinstance(inner, Var) or not one_to_one(inner):
        return None
    (variable,) = vars_of(inner).values()
    return variable, substitute(scalar, {variable.key: Var(VALUE, variable.type)})


def one_to_one(scalar: Scalar) -> bool:
    """Whether an expression is over one variable, and different for different values of it, where it does not fail.

    >>> from m3.datatypes import DATE, DOUBLE, INT, STRING, TIMESTAMP
    >>> from m3.scalars import call, const
    >>> a, day, at, name = Var("a", INT), Var("d", DATE), Var("t", TIMESTAMP), Var("s", STRING)
    >>> [one_to_one(s) for s in (call("add", a, const(1)), call("cast", a, to=STRING), call("concat", const("c-"), name))]
    [True, True, True]
    >>> [one_to_one(s) for s in (call("sub", a, a), call("cast", a, to=DOUBLE), call("upper", name), call("mul", a, const(0)))]
    [False, False, False, False]
    >>> [one_to_one(call("date_trunc", const("hour"), x)) for x in (day, at)]
    [True, False]
    """
    if isinstance(scalar, Var):
        return True
    if isinstance(scalar, Const):
        return False
    varying = [(place, a) for place, a in enumerate(scalar.args) if not isinstance(a, Const)]
    if len(varying) != 1 or not one_to_one(varying[0][1]):
        return False
    (place, arg), entry = varying[0], FUNCTIONS.get(scalar.op)
    if scalar.op in ("add", "sub", "mul", "neg"):
        return _is_exact(scalar) and (scalar.op != "mul" or _is_not_zero(scalar.args[1 - place]))
    if scalar.op == "cast":
        return _keeps_apart(arg.type, scalar.type)
    if scalar.op in ("date_trunc", "time_bucket"):
        return _is_midnight(arg) and _is_within_days(scalar)
    return scalar.op == "concat" or (entry is not None and entry.distinct and entry.nulls == "strict" and place == 0)


def _is_exact(node: Call) -> bool:
    """Whether a sum, a difference or a product of exact numbers has room for all of its decimals."""
    scales = [a.type.scale for a in node.args]
    return node.type.is_numeric and node.type.scale >= (sum(scales) if node.op == "mul" else max(scales))


def _is_not_zero(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value not in (None, 0)


def _keeps_apart(source: Type, to: Type) -> bool:
    """Whether a cast makes no two values equal. Of a DOUBLE and of a text nothing is said: many texts are one number."""
    if source.is_numeric and to.is_numeric:
        return to.scale >= source.scale
    exact = source.is_numeric or source.kind in ("date", "timestamp", "bool")
    return (exact and to.kind == "string") or (source.kind, to.kind) == ("date", "timestamp") or source.same_as(to)


def _is_midnight(scalar: Scalar) -> bool:
    """Whether all values of an expression are days, or their midnights."""
    days = scalar.args[0].type if isinstance(scalar, Call) and scalar.op == "cast" else scalar.type
    return days.kind == "date"


#: Units of which every midnight is a beginning, and what a day has of microseconds.
WITHIN_DAYS = ("day", "hour", "minute", "second", "millisecond", "microsecond")
DAY_US = 86_400_000_000


def _is_within_days(node: Call) -> bool:
    """Whether midnights begin the spans that DATE_TRUNC and TIME_BUCKET look for: each stays what it is."""
    if node.op == "date_trunc":
        unit = node.args[0]
        return isinstance(unit, Const) and str(unit.value).lower() in WITHIN_DAYS
    width, origin = (a.value if isinstance(a, Const) else None for a in node.args[1:])
    is_midnight = isinstance(origin, datetime.datetime) and origin.time() == datetime.time()
    return is_midnight and isinstance(width, int) and width > 0 and DAY_US % width == 0


def _equal(statement: Statement) -> Mapping[str, str]:
    """variable -> what stands for all variables that the statement's conditions say are equal, and of the same type."""
    equal: dict[str, str] = {}

    def root(name: str) -> str:
        while name in equal:
            name = equal[name]
        return name

    for condition in statement.conditions:
        for part in conjuncts(condition):
            pair = _equated(part)
            if pair is not None and root(pair[0]) != root(pair[1]):
                equal[root(pair[0])] = root(pair[1])
    return {name: root(name) for name in equal}


def _equated(condition: Scalar) -> tuple[str, str] | None:
    match condition:
        case Call("eq" | "same", (Var() as a, Var() as b)) if a.type.same_as(b.type) and a.type.kind != "double":
            return a.name, b.name
    return None


def _name(scalar: Scalar, equal: Mapping[str, str]) -> str | None:
    """What stands for a variable, or for the variables that COALESCE chooses from if these are equal (the key of a FULL JOIN)."""
    if isinstance(scalar, Call) and scalar.op == "coalesce":
        names = {_name(a, equal) for a in scalar.args if a.type.same_as(scalar.type)}
        return names.pop() if len(names) == 1 and all(a.type.same_as(scalar.type) for a in scalar.args) else None
    return equal.get(scalar.name, scalar.name) if isinstance(scalar, Var) else None


def _same(a: Scalar, b: Scalar, equal: Mapping[str, str]) -> bool:
    return a == b or (_name(a, equal) is not None and _name(a, equal) == _name(b, equal))


def _is_variable(scalar: Scalar, name: str) -> bool:
    return isinstance(scalar, Var) and scalar.name == name
