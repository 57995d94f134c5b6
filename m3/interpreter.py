"""The serial reference semantics of M3 on dictionaries: the oracle that every engine is tested against.

One event at a time, one statement at a time, exact. Made to be obviously right; the only concession to speed is an
index per access path (the set of key positions that a map read binds).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from m3.check import check
from m3.clock import CLOCK, find_clock
from m3.collected import COLLECTED, collected, listed, rank, rounded_sum
from m3.dataflow import strata
from m3.datatypes import from_units
from m3.errors import ProgramError, ValueProblem
from m3.evaluate import FAILURES, Value, coerce, evaluate
from m3.program import (
    START,
    Derivation,
    Derived,
    Input,
    MapRef,
    OutputColumn,
    Program,
    Statement,
    Trigger,
    View,
    ViewList,
)
from m3.scalars import Var, call
from m3.statements import Env, Key, contributions
from m3.view_errors import condition_of, failed_check, unreadable
from m3.windows import windowed

__all__ = ["Interpreter"]

#: What the event at hand has changed so far, by map.
Changes = dict[str, dict[Key, int]]


@dataclass
class _Table:
    """A map's entries (units without bound, never 0) and, per access path, the keys that share the bound part."""

    entries: dict[Key, int] = field(default_factory=dict)
    indexes: dict[tuple[int, ...], dict[Key, dict[Key, None]]] = field(default_factory=dict)

    def add(self, key: Key, units: int) -> None:
        total = self.entries.get(key, 0) + units
        if total:
            known = key in self.entries
            self.entries[key] = total
            if not known:
                for path, index in self.indexes.items():
                    index.setdefault(tuple(key[i] for i in path), {})[key] = None
        elif key in self.entries:
            del self.entries[key]
            for path, index in self.indexes.items():
                del index[tuple(key[i] for i in path)][key]

    def slice(self, path: tuple[int, ...], bound: Key) -> list[tuple[Key, int]]:
        """The entries whose keys have ``bound`` at the positions ``path``."""
        if path not in self.indexes:
            index = self.indexes[path] = {}
            for key in self.entries:
                index.setdefault(tuple(key[i] for i in path), {})[key] = None
        return [(key, self.entries[key]) for key in self.indexes[path].get(bound, ())]


class Interpreter:
    """Runs a program event by event.

    Args:
        program: the program; it is checked first.

    Raises:
        ProgramError: the program breaks a rule of the language.
    """

    def __init__(self, program: Program) -> None:
        self.program = check(program)
        self._tables = {m.name: _Table() for m in program.maps}
        self._triggers = {(t.relation, t.sign): t for t in program.triggers}
        self._order = {name: i for i, name in enumerate(n for layer in strata(program) for n in layer)}
        self._dirty: dict[str, dict[Key, None]] = {m.name: {} for m in program.maps}
        self._watched = {name for d in program.derivations for name in d.reads()}
        start = self._triggers.get((START, 1))
        if start is not None:
            self._run(start, {}, [])
            self._derive([])

    @property
    def maps(self) -> dict[str, dict[tuple[Value, ...], int]]:
        """For each map its entries in units of its value type; there are no zero entries."""
        return {name: table.entries for name, table in self._tables.items()}

    def apply(self, sign: int, relation: str, row: tuple[Any, ...]) -> None:
        """One event. An atomic update is ``apply(-1, r, old)`` and then ``apply(1, r, new)``.

        Args:
            sign: 1 to insert, -1 to delete.
            relation: its name.
            row: a value per column, in order.

        Raises:
            ProgramError: no such relation.
            ValueProblem: the row does not fit the columns, or an expression fails that nothing attempts; the maps are as
                before the event. (Maps hold integers without bound: only what reads a total can find it too large.)
        """
        values = self._row(relation, row)
        trigger = self._triggers.get((relation, sign))
        if trigger is None:
            return
        undo: list[tuple[str, Key, int]] = []
        try:
            self._run(trigger, dict(zip(trigger.params, values, strict=True)), undo)
            self._derive(undo)
        except ValueProblem:
            for target, key, units in undo:
                self._tables[target].add(key, -units)
            for keys in self._dirty.values():
                keys.clear()
            raise

    def _run(self, trigger: Trigger, env: Env, undo: list[tuple[str, Key, int]]) -> None:
        for target, key, units in self._deltas(trigger, env):
            self._add(target, key, units)
            undo.append((target, key, units))

    def _derive(self, undo: list[tuple[str, Key, int]]) -> None:
        """Bring the derivations up to date, in order; the rows of each that changed are events of its trigger."""
        for derived in self.program.derivations:
            target = self._tables[derived.map]
            width = len(derived.keys) if isinstance(derived, Derivation) else derived.partition
            path = tuple(range(width))
            for group in self._changed_groups(derived, width):
                changes = {key: -units for key, units in target.slice(path, group)}
                for key, units in self._derived_rows(derived, group).items():
                    changes[key] = changes.get(key, 0) + units
                for key, units in changes.items():
                    if units:
                        self._change(derived.map, key, units, undo)
        for keys in self._dirty.values():
            keys.clear()

    def _changed_groups(self, derived: Derived, width: int) -> Iterable[Key]:
        """The groups whose inputs have changed; when now has, all of them are looked at."""
        clock = find_clock(derived)
        passed = clock is not None and bool(self._dirty[clock.map])
        names = derived.reads_by_group()
        keys = (key for name in names for key in (self._tables[name].entries if passed else self._dirty[name]))
        return dict.fromkeys(key[:width] for key in [*keys, *(k for n in names for k in self._dirty[n])])

    def _change(self, name: str, key: Key, units: int, undo: list[tuple[str, Key, int]]) -> None:
        """A changed row of a derived map, and what its trigger makes of it."""
        trigger = self._triggers.get((name, 0))
        deltas = [(name, key, units)]
        if trigger is not None:
            env = dict(zip(trigger.params, key, strict=True))
            deltas += self._snapshot_deltas(trigger, env, units, {name: {key: units}})
        for target, changed, amount in deltas:
            self._add(target, changed, amount)
            undo.append((target, changed, amount))

    def _derived_rows(self, derived: Derived, group: Key) -> dict[Key, int]:
        if not isinstance(derived, Derivation):
            names = [k.name for k in self.program.map_by_name[derived.source].keys]
            rows = self._tables[derived.source].slice(tuple(range(derived.partition)), group)
            return windowed(derived.functions, names, dict(rows), flagged=derived.flagged)
        env: Env = dict(zip(derived.keys, group, strict=True))
        for given in derived.inputs:
            env[given.name] = self._input(given, group, env)
        if all(env[given.name] in (None, 0) for given in derived.inputs):
            return {}
        count = evaluate(derived.count, env)
        if not count:
            return {}
        assert isinstance(count, int)
        return {(*group, *(evaluate(c.expression, env) for c in derived.outputs)): count}

    def _input(self, given: Input, group: Key, env: Env) -> Value:
        if given.kind == "value":
            units = self._tables[given.map].entries.get(group, 0)
            return from_units(units, self.program.map_by_name[given.map].value.scale)
        prefix = () if given.kind == "now" else (*group, *(env[name] for name in given.at))
        found = self._tables[given.map].slice(tuple(range(len(prefix))), prefix)
        if given.kind == "sum":
            return rounded_sum([(key[-1], units) for key, units in found if key[-1] is not None])  # type: ignore[misc]
        if given.kind in COLLECTED:
            return collected(given, [(key[len(group) :], units) for key, units in found if units > 0])
        counts: dict[Any, int] = {}
        for key, units in found:
            counts[key[len(prefix)]] = counts.get(key[len(prefix)], 0) + units
        values = [value for value, count in counts.items() if count > 0 and value is not None]
        return (min if given.kind == "min" else max)(values, key=rank) if values else None

    def advance(self, now: datetime.datetime) -> None:
        """Let now() go on to a time; a no-op for a program without a clock, and where it is later already."""
        if CLOCK in self.program.relation_by_name:
            self.apply(1, CLOCK, (now,))

    def _row(self, relation: str, row: tuple[Any, ...]) -> list[Value]:
        declared = self.program.relation_by_name.get(relation)
        if declared is None:
            hint = f"known: {', '.join(self.program.relation_by_name) or 'none'}"
            raise ProgramError(f"no relation {relation!r}", kind="unknown-relation", hint=hint)
        if len(row) != len(declared.columns):
            message = f"{relation} has {len(declared.columns)} columns, the row {len(row)}"
            raise ValueProblem(message, kind="bad-row", hint="give a value for every column, in order")
        for value, column in zip(row, declared.columns, strict=True):
            if value is None and not column.type.nullable:
                hint = "declare the column NULL, or reject the row"
                raise ValueProblem(f"NULL in {relation}.{column.name}", kind="null-value", hint=hint)
        return [coerce(v, c.type) for v, c in zip(row, declared.columns, strict=True)]

    def _deltas(self, trigger: Trigger, env: Env) -> Iterator[tuple[str, Key, int]]:
        """What the event adds where; under snapshot semantics all of it is computed before the first is given out."""
        if self.program.semantics == "snapshot":
            yield from self._snapshot_deltas(trigger, env, 1, {})
        else:
            for statement in trigger.statements:
                yield from list(self._statement(statement, env, 1, {}))

    def _snapshot_deltas(self, trigger: Trigger, env: Env, weight: int, changes: Changes) -> list[tuple[str, Key, int]]:
        """All deltas of one event, shallow maps first, so that AFTER reads find the event's own ``changes``."""
        deltas = []
        for statement in sorted(trigger.statements, key=lambda s: self._order[s.target]):
            for target, key, units in list(self._statement(statement, env, weight, changes)):
                own = changes.setdefault(target, {})
                own[key] = own.get(key, 0) + units
                deltas.append((target, key, units))
        return deltas

    def _statement(
        self, statement: Statement, env: Env, weight: int, changes: Changes
    ) -> Iterator[tuple[str, Key, int]]:
        def lookup(_: int, ref: MapRef, path: tuple[int, ...], bound: Key) -> list[tuple[Key, int]]:
            entries = self._tables[ref.map].slice(path, bound)
            if ref.after:
                own = changes.get(ref.map, {})
                entries += [(key, units) for key, units in own.items() if tuple(key[i] for i in path) == bound]
            return entries

        for key, units in contributions(self.program, statement, env, weight, lookup):
            yield statement.target, key, units

    def _add(self, target: str, key: Key, units: int) -> None:
        self._tables[target].add(key, units)
        if target in self._watched:
            self._dirty[target][key] = None

    def view_rows(self, name: str, *, ordered: bool = True) -> list[tuple[Value, ...]]:
        """The rows of a view, read off the maps.

        Args:
            name: the view.
            ordered: apply ORDER BY (ties broken by the whole row, NULLs smallest) and LIMIT; without, neither.

        Raises:
            ValueProblem: the view is in error, see :func:`m3.view_errors.failed_check`; or its columns fail.
        """
        view = self.program.view(name)
        for checked in view.checks:
            entries = self._tables[checked.map].entries
            if entries:
                example = min(entries, key=lambda key: _sort_key(key))
                raise failed_check(self.program, view, checked, example, sum(entries.values()))
        environments = [self._view_env(view, key) for key in self._view_keys(view)]
        if view.having is not None:
            kept = _read(view, condition_of(view), environments)
            environments = [env for env, keep in zip(environments, kept, strict=True) if keep is True]
        lists = view.list_by_name
        columns: list[Sequence[Any]] = [
            self._read_lists(view, lists[c.expression.name], environments)
            if isinstance(c.expression, Var) and c.expression.name in lists
            else _read(view, c, environments)
            for c in view.columns
        ]
        rows = list(zip(*columns, strict=True))
        visible = len(view.visible)
        return [row[:visible] for row in (_order_rows(rows, view) if ordered else rows)]

    def _read_lists(self, view: View, made: ViewList, environments: Sequence[Env]) -> list[Any]:
        """A list for each row."""
        table, width = self._tables[made.map], len(made.at)
        groups = [tuple(env[name] for name in made.at) for env in environments]
        found = (table.slice(tuple(range(width)), group) for group in groups)
        return [listed(made, [(key[width:], count) for key, count in entries if count > 0]) for entries in found]

    def _view_keys(self, view: View) -> list[Key]:
        if view.exists is None:
            return list(dict.fromkeys(key for v in view.values for key in self._tables[v.map].entries))
        if view.repeated:
            entries = self._tables[view.exists].entries.items()
            return [key for key, count in entries for _ in range(count)]
        if not view.keys:
            return [()]
        return [key for key, count in self._tables[view.exists].entries.items() if count > 0]

    def _view_env(self, view: View, key: Key) -> Env:
        env: Env = dict(zip((k.name for k in view.keys), key, strict=True))
        for value in view.values:
            scale = self.program.map_by_name[value.map].value.scale
            env[value.name] = from_units(self._tables[value.map].entries.get(key, 0), scale)
        return env


def _order_rows(rows: list[tuple[Value, ...]], view: View) -> list[tuple[Value, ...]]:
    rows = sorted(rows, key=_sort_key)
    for position, descending in reversed(view.order):
        rows.sort(key=lambda row: _smallest_null(row[position]), reverse=descending)
    return rows[view.offset :] if view.limit is None else rows[view.offset : view.offset + view.limit]


def _read(view: View, column: OutputColumn, environments: Sequence[Env]) -> list[Value]:
    """One expression for all rows of a view."""
    scalar = column.expression
    try:
        return [evaluate(scalar, env) for env in environments]
    except FAILURES:
        failing = [env for env in environments if evaluate(call("fails", scalar), env)]
        least = min(failing, key=lambda env: _sort_key(tuple(env[k.name] for k in view.keys)))
        raise unreadable(view, column, least, len(failing)) from None


def _smallest_null(value: Any) -> tuple[bool, Any]:
    if isinstance(value, tuple):  # a list is as large as its first values that tell it from another
        return (True, [_smallest_null(v) for v in value])
    return (False, 0) if value is None else (True, rank(value))


def _sort_key(row: Key) -> list[tuple[bool, Any]]:
    return [_smallest_null(v) for v in row]
