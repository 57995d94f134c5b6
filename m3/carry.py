"""A program after a change of its views: what means the same as a map of the program before is that map, under its name and with its triggers.

Maps are told by their identity (:mod:`m3.confluence.identity`). What is kept is kept as it was maintained: with the statements that it had, and with the maps that
these read, also where the new compilation would maintain it in another way. So what is stored stays right, and stays in its tables. Everything else is new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from m3.check import check
from m3.clock import CLOCK
from m3.confluence.identity import identities, identities_like
from m3.dataflow import graph_of, once_per_program, reachable
from m3.program import (
    START,
    Check,
    Derivation,
    Derived,
    MapRef,
    Program,
    Relation,
    Statement,
    Trigger,
    View,
)
from m3.scalars import Const, Scalar, rename
from m3.statements import as_snapshot

__all__ = ["Carried", "carry_over", "changed_views", "is_known"]


@dataclass(frozen=True)
class Carried:
    """The program to maintain after a change.

    ``kept``: maps of the program before that stay, some of them because others of their table, or their triggers, need them; ``fresh``: maps that are new;
    ``dropped``: maps of the program before that go."""

    program: Program
    kept: tuple[str, ...]
    fresh: tuple[str, ...]
    dropped: tuple[str, ...]


def carry_over(
    old: Program,
    new: Program,
    together: Mapping[str, Collection[str]],
    used: Collection[str] = (),
    *,
    as_they_are: Collection[str] = (),
    order: Sequence[str] | None = None,
    keep: bool = True,
) -> Carried:
    """The program that maintains the views of ``new`` with as many maps of ``old`` as it can.

    Args:
        old: what is maintained.
        new: what the changed views have been compiled to.
        together: for maps of ``old`` those that are stored in one table with them, themselves included: they are kept or dropped as a whole.
        used: names that maps had before; new maps are not called so.
        as_they_are: views that say the same; they stay with the maps that they have, and need not be in ``new``.
        order: the names of all views to maintain, in their order; those of ``new`` if None.
        keep: False makes all maps anew.

    Raises:
        Between: maps of both are needed, and one of the programs is sequential and has a statement that reads a map while its trigger
            is writing it. Of no such program is the order of events free.
    """
    views = [old.view(n) if n in as_they_are else new.view(n) for n in order or [v.name for v in new.views]]
    return _Carrying(old, new, together, {*used, *old.map_by_name}, frozenset(as_they_are), views, keep=keep).result()


def is_known(program: Program) -> bool:
    """Whether it is known of all maps that views read what they mean, so that others can be told to mean the same."""
    return identities(program).keys() >= {name for view in program.views for name in _read_by(view)}


def changed_views(old: Program, new: Program, same: Collection[str] = ()) -> dict[str, str]:
    """The views that do not show the same in both programs, and what became of each: ``added``, ``removed`` or ``changed``. Those that are the ``same``
    are not looked at.

    Comments, layout, case, names of maps and the order of views are no change."""
    before = _show(old, identities_like(old, new), same)
    after = _show(new, identities(new), same)
    found = {name: "removed" for name in before if name not in after}
    found |= {name: "added" for name in after if name not in before}
    return found | {name: "changed" for name in after if name in before and before[name] != after[name]}


def _show(program: Program, known: Mapping[str, str], same: Collection[str]) -> dict[str, object]:
    return {view.name: _shown_by(program, view, known) for view in program.views if view.name not in same}


def _shown_by(program: Program, view: View, known: Mapping[str, str]) -> object:
    """What a view shows, whatever the maps are called that it is read off."""
    if not known.keys() >= {*_read_by(view)}:
        return view  # order matters for it: it is itself alone
    names = {value.name: f"v{place}" for place, value in enumerate(view.values)}
    names |= {made.name: f"l{place}" for place, made in enumerate(view.lists)}
    names |= {key.name: f"k{place}" for place, key in enumerate(view.keys)}
    return (
        [str(key.type) for key in view.keys],
        [known[value.map] for value in view.values],
        None if view.exists is None else known[view.exists],
        [(column.name, rename(column.expression, names)) for column in view.columns],
        None if view.having is None else rename(view.having, names),
        (view.order, view.limit, view.offset, view.repeated, view.hidden),
        sorted((known[c.map], repr(_by_place(program, c))) for c in view.checks),
        [replace(m, name="", map=known[m.map], at=tuple(names.get(a, a) for a in m.at)) for m in view.lists],
    )


def _by_place(program: Program, checked: Check) -> Scalar | None:
    """A check's expression, whatever the keys of its map are called."""
    names = {key.name: f"k{place}" for place, key in enumerate(program.map_by_name[checked.map].keys)}
    expression = checked.expression
    return (
        None if expression is None or isinstance(expression, Const) else rename(expression, names)
    )  # a text is for people


class _Carrying:
    """``old``, ``new`` and ``as_they_are`` as in :func:`carry_over`; ``taken``: names that no new map gets; ``views``: all of them in their order, each
    with the maps that it has in its own program."""

    def __init__(
        self,
        old: Program,
        new: Program,
        together: Mapping[str, Collection[str]],
        taken: Collection[str],
        as_they_are: frozenset[str],
        views: Sequence[View],
        *,
        keep: bool,
    ) -> None:
        self._old, self._new, self._together = old, new, together
        #: Those of ``new``, and that of ticks, which are in the log for good.
        self._relations = new.relations
        if CLOCK in old.relation_by_name and CLOCK not in new.relation_by_name:
            self._relations = (*new.relations, old.relation_by_name[CLOCK])
        #: The views, each with whether it is the old one.
        self._views = [(view.name in as_they_are, view) for view in views]
        can_stay = self._find_lasting() if keep else set()
        known = {name: identity for name, identity in identities_like(old, new).items() if name in can_stay}
        by_identity = {identity: name for name, identity in reversed(known.items())}
        #: map of ``new`` -> the map of ``old`` that it is; of several that mean the same the one that is called so, or the first
        self._same = {
            name: name if known.get(name) == identity else by_identity[identity]
            for name, identity in identities(new).items()
            if identity in by_identity
        }
        self._names = dict(self._same)
        for declared in new.maps:
            if declared.name not in self._names:
                self._names[declared.name] = _free_name(declared.name, {*taken, *self._names.values()})

    def result(self) -> Carried:
        """The program."""
        wanted = {(is_old, name) for is_old, view in self._views for name in _read_by(view)}
        # What no view needs is not made, but what is there and would be made again stays: a program that is not changed loses nothing.
        wanted |= {(True, self._same[name]) for name in _find_idle(self._new) if name in self._same}
        fresh: dict[str, None] = {}
        kept: dict[str, None] = {}
        waiting = sorted(wanted)
        while waiting:
            is_old, name = waiting.pop()
            if not is_old and name in self._same:
                is_old, name = True, self._same[name]
            seen = kept if is_old else fresh
            if name in seen:
                continue
            seen[name] = None
            of = self._old if is_old else self._new
            waiting += [(is_old, read) for read in _needs(of)[name]]
            waiting += [(True, other) for other in self._together.get(name, ())] if is_old else []
        program = self._assemble(kept.keys(), fresh.keys())
        names = [m.name for m in program.maps]
        return Carried(
            check(program),
            tuple(name for name in names if name in kept),
            tuple(name for name in names if name not in kept),
            tuple(m.name for m in self._old.maps if m.name not in kept),
        )

    def _find_lasting(self) -> set[str]:
        """The maps of ``old`` that can stay: the columns that their statements use are there still, and so with all that they need."""
        fits = {r.name: self._has_columns(r) for r in self._old.relations}
        gone = {
            s.target
            for t in self._old.triggers
            if t.sign and t.relation != START
            for s in t.statements
            if not fits[t.relation](s, t)
        }
        dependents: dict[str, set[str]] = {m.name: set() for m in self._old.maps}
        for name, needs in _needs(self._old).items():
            for need in (*needs, *self._together.get(name, ())):
                dependents[need].add(name)
        waiting, lost = list(gone), set()
        while waiting:
            name = waiting.pop()
            if name not in lost:
                lost.add(name)
                waiting += [*dependents[name], *self._together.get(name, ())]
        return set(self._old.map_by_name) - lost

    def _has_columns(self, relation: Relation) -> Callable[[Statement, Trigger], bool]:
        """Whether a statement's columns of a relation are there after the change, and are of the same types."""
        declared = next((r for r in self._relations if r.name == relation.name), None)
        there = {} if declared is None else {c.name: c.type for c in declared.columns}

        def fits(statement: Statement, trigger: Trigger) -> bool:
            used = statement.variables()
            pairs = zip(trigger.params, relation.columns, strict=True)
            return declared is not None and all(there.get(c.name) == c.type for param, c in pairs if param in used)

        return fits

    def _assemble(self, kept: Collection[str], fresh: Collection[str]) -> Program:
        """The program of some maps of ``old`` and some of ``new``, the latter under their new names."""
        old, new, names = self._old, self._new, self._names
        semantics = old.semantics if kept else new.semantics
        if kept and fresh:
            # Statements of both come to stand in one trigger: in a sequential one they would read what the others have written by then.
            old, new, semantics = as_snapshot(old), as_snapshot(new), "snapshot"
        maps = [m for m in old.maps if m.name in kept]
        maps += [replace(m, name=names[m.name]) for m in new.maps if m.name in fresh]
        derivations: list[Derived] = [d for d in old.derivations if d.map in kept]
        derivations += [self._rename_derived(d) for d in new.derivations if d.map in fresh]
        columns = {r.name: tuple(c.name for c in r.columns) for r in self._relations} | {START: ()}
        columns |= {m.name: tuple(k.name for k in m.keys) for m in maps if any(d.map == m.name for d in derivations)}
        statements: dict[tuple[str, int], list[Statement]] = {}
        for trigger in old.triggers:
            if trigger.relation in columns:
                given = _by_column(trigger, old, columns[trigger.relation])
                statements.setdefault((trigger.relation, trigger.sign), []).extend(
                    _rename_params(s, given, columns[trigger.relation]) for s in trigger.statements if s.target in kept
                )
        for trigger in new.triggers:
            of = names[trigger.relation] if trigger.sign == 0 else trigger.relation
            if of in columns:
                given = _by_column(trigger, new, columns[of])
                statements.setdefault((of, trigger.sign), []).extend(
                    _rename_params(_rename_maps(s, names), given, columns[of])
                    for s in trigger.statements
                    if s.target in fresh
                )
        order = [(t.relation, t.sign) for t in old.triggers] + [(START, 1)]
        order += [(r.name, sign) for r in self._relations for sign in (1, -1)] + [(d.map, 0) for d in derivations]
        triggers = [
            Trigger(sign, of, columns[of], tuple(statements[of, sign]))
            for of, sign in dict.fromkeys(order)
            if statements.get((of, sign))
        ]
        return Program(
            new.name,
            semantics,
            self._relations,
            tuple(maps),
            tuple(triggers),
            tuple(view if is_old else self._rename_view(view) for is_old, view in self._views),
            tuple(derivations),
        )

    def _key_names(self, name: str) -> dict[str, str]:
        """For the keys of a map of ``new`` what they are called from now on: what is kept keeps the names of its keys, too."""
        if name not in self._same:
            return {}
        pairs = zip(self._new.map_by_name[name].keys, self._old.map_by_name[self._same[name]].keys, strict=True)
        return {key.name: kept.name for key, kept in pairs}

    def _rename_derived(self, derived: Derived) -> Derived:
        names = self._names
        if isinstance(derived, Derivation):
            inputs = tuple(replace(given, map=names[given.map]) for given in derived.inputs)
            return replace(derived, map=names[derived.map], inputs=inputs)
        keys = self._key_names(derived.source)
        functions = tuple(f.with_names(keys) for f in derived.functions)
        return replace(derived, map=names[derived.map], source=names[derived.source], functions=functions)

    def _rename_view(self, view: View) -> View:
        names = self._names
        return replace(
            view,
            values=tuple(replace(v, map=names[v.map]) for v in view.values),
            exists=None if view.exists is None else names[view.exists],
            checks=tuple(self._rename_check(c) for c in view.checks),
            lists=tuple(replace(m, map=names[m.map]) for m in view.lists),
        )

    def _rename_check(self, checked: Check) -> Check:
        expression = checked.expression
        if expression is not None:
            expression = rename(expression, self._key_names(checked.map))
        return replace(checked, map=self._names[checked.map], expression=expression)


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name, or with the next number that is free.

    >>> _free_name("m_line_1", {"m_line_1", "m_line_2"}), _free_name("v_sum", {"v_sum"}), _free_name("n", {"m"})
    ('m_line_3', 'v_sum_2', 'n')
    """
    if name not in taken:
        return name
    stem, _, number = name.rpartition("_")
    if not number.isdecimal():
        stem, number = name, "1"
    count = int(number)
    while f"{stem}_{count}" in taken or count == int(number):
        count += 1
    return f"{stem}_{count}"


@once_per_program
def _needs(program: Program) -> dict[str, set[str]]:
    """For each map those that have to be there for it to be maintained."""
    found: dict[str, set[str]] = {m.name: set() for m in program.maps}
    for trigger in program.triggers:
        for statement in trigger.statements:
            found[statement.target].update(ref.map for ref in statement.reads())
            if trigger.sign == 0:
                found[statement.target].add(trigger.relation)
    for derived in program.derivations:
        found[derived.map].update(derived.reads())
    return found


def _read_by(view: View) -> tuple[str, ...]:
    return (*view.maps(), *(check_.map for check_ in view.checks))


@once_per_program
def _find_idle(program: Program) -> set[str]:
    """The maps that no view needs."""
    needs = _needs(program)
    graph = graph_of(needs, ((name, need) for name, of in needs.items() for need in of))
    return set(needs).difference(*(reachable(graph, name) for view in program.views for name in _read_by(view)))


def _by_column(trigger: Trigger, program: Program, columns: tuple[str, ...]) -> dict[str, str]:
    """For the parameters of a trigger what they are called in one whose parameters are ``columns``: of a relation the column's name, of a derived map the
    name at its place."""
    if trigger.sign == 0 or trigger.relation == START:
        return dict(zip(trigger.params, columns, strict=True))
    own = program.relation_by_name[trigger.relation].columns
    return {param: column.name for param, column in zip(trigger.params, own, strict=True)}


def _rename_params(statement: Statement, given: Mapping[str, str], columns: Collection[str]) -> Statement:
    """A statement in a trigger with other parameters; loop variables that would be one of these get a name of their own."""
    names = {old: new for old, new in given.items() if old != new}
    for loop in sorted(statement.variables() - given.keys()):
        if loop in columns or loop in names.values():
            names[loop] = _free_name(f"{loop}_1", {*columns, *statement.variables(), *names.values()})
    return _rename_all(statement, names, {}) if names else statement


def _rename_maps(statement: Statement, maps: Mapping[str, str]) -> Statement:
    return _rename_all(statement, {}, maps)


def _rename_all(statement: Statement, names: Mapping[str, str], maps: Mapping[str, str]) -> Statement:
    """A statement with other variables, and other maps."""

    def factor(given: object) -> object:
        if isinstance(given, MapRef):
            keys = tuple(rename(k, names) for k in given.keys)
            return replace(given, map=maps.get(given.map, given.map), keys=keys)
        return rename(given, names)  # type: ignore[arg-type]

    return replace(
        statement,
        target=maps.get(statement.target, statement.target),
        keys=tuple(rename(k, names) for k in statement.keys),
        factors=tuple(map(factor, statement.factors)),  # type: ignore[arg-type]
        conditions=tuple(rename(c, names) for c in statement.conditions),
    )
