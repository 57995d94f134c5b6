"""The rules of the language: what a program must satisfy beyond its grammar, and what restricted M3 asks on top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from m3.clock import read_passings
from m3.collected import COLLECTED, INPUTS, misfit, takes_pairs
from m3.dataflow import derivation_ranks, strata
from m3.datatypes import BOOL, INT, TIMESTAMP, Type
from m3.errors import Notes, ProgramError, Span
from m3.program import (
    SEMANTICS,
    START,
    Column,
    Derivation,
    Derived,
    Input,
    MapDecl,
    MapRef,
    OutputColumn,
    Program,
    Relation,
    Statement,
    Trigger,
    View,
    ViewList,
    Windowing,
)
from m3.scalars import STRICT, Call, Scalar, Var, variables
from m3.windows import NUMBERS

__all__ = ["Violation", "check", "check_derived", "input_types", "restricted_violations"]


def check(program: Program) -> Program:
    """The program itself, if it keeps all rules of the language.

    Args:
        program: any program.

    Raises:
        ProgramError: the broken rules, of each declaration, statement and view the first: names unique and known, arities and types of keys, loop variables bound by
            a map read, conditions boolean, factors numeric and not NULL, the term's scale within the target's, views
            over maps with their keys. The span is the statement's, map read's or declaration's, where known.
    """
    notes, places = Notes(), program.places
    if program.semantics not in SEMANTICS:
        _fail(f"unknown semantics {program.semantics!r}", "unknown-semantics", None, f"one of {', '.join(SEMANTICS)}")
    _check_declarations(program, notes)
    notes.stop()  # what follows reads the declarations
    for derived in program.derivations:
        with notes.part(places.get(f"derived {derived.map}")):
            check_derived(program, derived)
    notes.stop()
    _check_derivations(program)
    for trigger in program.triggers:
        with notes.part(places.get(trigger.event)):
            _check_trigger(program, trigger, notes)
    for view in program.views:
        with notes.part(places.get(f"view {view.name}")):
            _check_view(program, view)
    notes.stop()
    return program


def _fail(message: str, kind: str, span: Span | None, hint: str) -> NoReturn:
    raise ProgramError(message, kind=kind, span=span, hint=hint)


def _unique(what: str, names: Iterable[str]) -> None:
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        _fail(f"{what} {twice[0]!r} is declared twice", "duplicate-name", None, "rename one of them")


def _check_declarations(program: Program, notes: Notes) -> None:
    named = {
        "relation": [r.name for r in program.relations],
        "map": [m.name for m in program.maps],
        "view": [v.name for v in program.views],
        "trigger": [t.event for t in program.triggers],
    }
    for what, names in named.items():
        for name in dict.fromkeys(names):
            with notes.part(program.places.get(name if what == "trigger" else f"{what} {name}")):
                _unique(what, (n for n in names if n == name))
    for relation in program.relations:
        with notes.part(program.places.get(f"relation {relation.name}")):
            _check_relation(relation)
    for decl in program.maps:
        with notes.part(program.places.get(f"map {decl.name}")):
            _check_map(decl)


def _check_relation(relation: Relation) -> None:
    if relation.rows is not None and relation.rows < 1:
        _fail(f"{relation.name} has {relation.rows} rows", "bad-rows", None, "leave ROWS out where it is not known")
    _unique(f"column of {relation.name}", (c.name for c in relation.columns))
    _unique(f"key column of {relation.name}", relation.key)
    for name in relation.key:
        if name not in {c.name for c in relation.columns}:
            _fail(f"the key of {relation.name} has no column {name!r}", "unknown-column", None, "declare the column")


def _check_map(decl: MapDecl) -> None:
    if any(ord(c) < ord(" ") for c in decl.name):
        _fail(f"the name of map {decl.name!r}", "bad-name", None, "no control characters")
    _unique(f"key of {decl.name}", (k.name for k in decl.keys))
    if not decl.value.is_numeric or decl.value.nullable:
        hint = "map values are INT or DECIMAL, not NULL"
        _fail(f"map {decl.name} has values of type {decl.value}", "type-mismatch", None, hint)


def _check_trigger(program: Program, trigger: Trigger, notes: Notes) -> None:
    span = trigger.statements[0].span if trigger.statements else None
    columns = _event_columns(program, trigger, span)
    if len(trigger.params) != len(columns):
        hint = f"columns: {', '.join(c.name for c in columns)}"
        _fail(f"{trigger.event} has {len(trigger.params)} parameters", "wrong-arity", span, hint)
    _unique(f"parameter of {trigger.event}", trigger.params)
    types = {p: c.type for p, c in zip(trigger.params, columns, strict=True)}
    derived = program.derivation_by_map
    for statement in trigger.statements:
        with notes.part(statement.span):
            if statement.target in derived:
                _fail(f"{statement.target} is derived", "derived-target", statement.span, "write to a map of its own")
            if not trigger.relation and any(statement.reads()):
                _fail("a map read ON START", "start-read", statement.span, "all maps are empty then")
            _StatementCheck(program, statement, dict(types)).run()


def _event_columns(program: Program, trigger: Trigger, span: Span | None) -> tuple[Column, ...]:
    """The columns of a trigger's events: those of its relation, the keys of a derived map, none for ON START."""
    if trigger.sign == 0:
        if trigger.relation not in program.derivation_by_map:
            _fail(f"{trigger.relation!r} is not derived", "unknown-relation", span, "ON CHANGE is for derived maps")
        return program.map_by_name[trigger.relation].keys
    if trigger.sign not in (1, -1):
        _fail(f"trigger sign {trigger.sign}", "bad-sign", span, "1 for inserts, -1 for deletes, 0 for changes")
    if trigger.relation == START:
        return ()
    relation = program.relation_by_name.get(trigger.relation)
    if relation is None:
        hint = f"known relations: {', '.join(program.relation_by_name) or 'none'}"
        _fail(f"no relation {trigger.relation!r}", "unknown-relation", span, hint)
    return relation.columns


def _check_derivations(program: Program) -> None:
    """Derivations come after everything they depend on, and no relation has a derived map's name."""
    if program.derivations and program.semantics != "snapshot":
        _fail("derivations in a sequential program", "semantics", None, "PROGRAM name SEMANTICS SNAPSHOT")
    _unique("derivation of", (d.map for d in program.derivations))
    if any(len(t.statements) and t.sign == 0 and t.relation in program.relation_by_name for t in program.triggers):
        _fail("a relation and a derived map have one name", "duplicate-name", None, "rename one of them")
    ranks = derivation_ranks(program)
    for number, derived in enumerate(program.derivations, start=1):
        for name in derived.reads():
            if ranks.get(name, 0) >= number:
                _fail(f"{derived.map} depends on {name}, which is derived later", "derivation-order", None, "reorder")


@dataclass
class _StatementCheck:
    """Checks one statement; ``types`` are the variables bound so far."""

    program: Program
    statement: Statement
    types: dict[str, Type]

    def run(self) -> None:
        """All rules of one statement, in the order of evaluation."""
        for ref in self.statement.reads():
            self._after(ref)
            # Each key is a value that is known by now, or binds a new loop variable; the read's own keys see none of its own.
            fresh: dict[str, Type] = {}
            for key, column in self._keys_of(ref.map, ref.keys, ref.span):
                if isinstance(key, Var) and key.name not in self.types:
                    fresh.setdefault(key.name, column.type)
                else:
                    self._scalar(key, ref.span)
                if not key.type.same_as(column.type):
                    message = f"key {column.name} of {ref.map} is {column.type}, not {key.type}"
                    self._fail(message, "type-mismatch", "CAST the key", ref.span)
            self.types.update(fresh)
            for key in ref.keys:
                self._scalar(key, ref.span)
        for condition in self.statement.conditions:
            self._scalar(condition)
            if not condition.type.same_as(BOOL):
                self._fail(f"a condition of type {condition.type}", "type-mismatch", "write a comparison")
        self._target()
        scale = sum(self.program.map_by_name[r.map].value.scale for r in self.statement.reads())
        for factor in self.statement.scalars():
            self._scalar(factor)
            if not factor.type.is_numeric:
                self._fail(f"a factor of type {factor.type}", "type-mismatch", "factors are INT or DECIMAL")
            if self._nullable(factor):
                hint = "add the condition that it IS NOT NULL"
                self._fail("a factor that may be NULL", "nullable-factor", hint)
            scale += factor.type.scale
        target = self.program.map_by_name[self.statement.target].value
        if scale > target.scale:
            hint = f"declare {self.statement.target} with scale {scale}, or CAST the factors"
            self._fail(f"a term with {scale} decimals for {target} values", "scale", hint)
        if target.kind == "int" and any(f.type.kind == "decimal" and f.type.scale for f in self.statement.scalars()):
            self._fail("a decimal term for INT values", "scale", "declare the map DECIMAL")

    def _fail(self, message: str, kind: str, hint: str, span: Span | None = None) -> NoReturn:
        _fail(message, kind, span or self.statement.span, hint)

    def _keys_of(self, name: str, keys: tuple[Scalar, ...], span: Span | None) -> Iterator[tuple[Scalar, Column]]:
        decl = self.program.map_by_name.get(name)
        if decl is None:
            known = ", ".join(self.program.map_by_name) or "none"
            self._fail(f"no map {name!r}", "unknown-map", f"known maps: {known}", span)
        if len(keys) != len(decl.keys):
            hint = f"its keys: {', '.join(k.name for k in decl.keys) or 'none'}"
            self._fail(f"map {name} has {len(decl.keys)} keys, not {len(keys)}", "wrong-arity", hint, span)
        return zip(keys, decl.keys, strict=True)

    def _after(self, ref: MapRef) -> None:
        """AFTER has a meaning only where the map read does not depend on the statement's target. In a sequential program
        it says no more than the order of the statements does."""
        if not ref.after or ref.map not in self.program.map_by_name or self.program.semantics != "snapshot":
            return
        if any({ref.map, self.statement.target} <= set(layer) for layer in strata(self.program)):
            self._fail(f"AFTER {ref.map} in a cycle", "after-cycle", "read it as before the event", ref.span)

    def _scalar(self, scalar: Scalar, span: Span | None = None) -> None:
        for var in _vars(scalar):
            known = self.types.get(var.name)
            if known is None:
                hint = "loop variables are bound by a map read that has them as a bare key"
                self._fail(f"variable {var.name!r} is not bound", "unbound-variable", hint, span)
            if known != var.type:
                message = f"variable {var.name} is {_full(known)}, used as {_full(var.type)}"
                self._fail(message, "type-mismatch", "a variable has one type", span)

    def _target(self) -> None:
        statement = self.statement
        for key, column in self._keys_of(statement.target, statement.keys, statement.span):
            self._scalar(key)
            if not key.type.same_as(column.type):
                message = f"key {column.name} of {statement.target} is {column.type}, not {key.type}"
                self._fail(message, "type-mismatch", "CAST the key")
            if not column.type.nullable and self._nullable(key):
                hint = "declare the key NULL, or add the condition IS NOT NULL"
                self._fail(f"NULL may reach key {column.name} of {statement.target}", "nullable-key", hint)

    def _nullable(self, scalar: Scalar) -> bool:
        """Whether the scalar can be NULL where all conditions hold and all reads find something."""
        if (
            not scalar.type.nullable
            or Call("not", (Call("is_null", (scalar,), BOOL),), BOOL) in self.statement.conditions
        ):
            return False
        # A read that looks it up in a key column that is never NULL finds nothing for NULL.
        for ref in self.statement.reads():
            for key, column in zip(ref.keys, self.program.map_by_name[ref.map].keys, strict=True):
                if key == scalar and not column.type.nullable:
                    return False
        if isinstance(scalar, Call) and scalar.op in STRICT:
            return any(self._nullable(a) for a in scalar.args)
        return True


def _full(t: Type) -> str:
    return f"{t} NULL" if t.nullable else str(t)


def _vars(scalar: Scalar) -> Iterator[Var]:
    if isinstance(scalar, Var):
        yield scalar
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from _vars(arg)


def _check_view(program: Program, view: View) -> None:
    names = [k.name for k in view.keys] + [v.name for v in view.values] + [made.name for made in view.lists]
    _unique(f"key or value of view {view.name}", names)
    _unique(f"column of view {view.name}", (c.name for c in view.columns))
    for name in [v.map for v in view.values] + ([view.exists] if view.exists is not None else []):
        decl = program.map_by_name.get(name)
        if decl is None:
            hint = f"known maps: {', '.join(program.map_by_name) or 'none'}"
            _fail(f"view {view.name}: no map {name!r}", "unknown-map", None, hint)
        pairs = zip(decl.keys, view.keys, strict=False)
        if len(decl.keys) != len(view.keys) or not all(a.type.same_as(b.type) for a, b in pairs):
            keys = ", ".join(f"{k.name} {_full(k.type)}" for k in decl.keys)
            _fail(f"view {view.name}: map {name} has other keys", "type-mismatch", None, f"its keys: {keys or 'none'}")
    if not view.values and view.exists is None:
        _fail(f"view {view.name} has no map", "bad-view", None, "add VALUES or EXISTS")
    if not 0 <= view.hidden < len(view.columns) or view.offset < 0 or (view.repeated and view.exists is None):
        _fail(f"view {view.name}: HIDDEN, OFFSET or ROWS out of range", "bad-view", None, "one column must be visible")
    for checked in view.checks:
        if checked.map not in program.map_by_name:
            _fail(f"view {view.name} CHECKS {checked.map!r}", "bad-view", None, "a map")
    if view.exists is not None and program.map_by_name[view.exists].value != INT:
        _fail(f"view {view.name} EXISTS by a map that is not INT", "type-mismatch", None, "count rows")
    types = {k.name: k.type for k in view.keys} | {v.name: program.map_by_name[v.map].value for v in view.values}
    types |= {made.name: _check_list(program, view, made) for made in view.lists}
    for column in (*view.columns, *([OutputColumn("HAVING", view.having)] if view.having is not None else [])):
        _check_output(view, column, types)
    if view.having is not None and not view.having.type.same_as(BOOL):
        _fail(f"view {view.name}: HAVING of type {view.having.type}", "type-mismatch", None, "write a comparison")
    if not all(0 <= i < len(view.columns) for i, _ in view.order) or (view.limit or 0) < 0:
        _fail(f"view {view.name}: ORDER BY or LIMIT out of range", "bad-ordinal", None, "1 is the first column")
    if any(view.columns[i].expression.type.kind == "list" for i, _ in view.order):
        _fail(f"view {view.name} ORDER BY a list", "list-in-expression", None, "order by a scalar")


def _check_list(program: Program, view: View, made: ViewList) -> Type:
    """The type of a list of a view."""
    decl = program.map_by_name.get(made.map)
    if decl is None:
        hint = f"known maps: {', '.join(program.map_by_name) or 'none'}"
        _fail(f"view {view.name}: no map {made.map!r}", "unknown-map", None, hint)
    known = {k.name: k.type for k in view.keys}
    _unique(f"key of list {made.name} of view {view.name}", made.at)
    more = len(decl.keys) - len(made.at)
    fitting = more > 0 and len(made.order) <= more
    pairs = zip(made.at, decl.keys, strict=False)
    if not fitting or not all(name in known and known[name].same_as(key.type) for name, key in pairs):
        keys = ", ".join(f"{k.name} {_full(k.type)}" for k in decl.keys)
        _fail(f"view {view.name}: map {made.map} has other keys", "type-mismatch", None, f"its keys: {keys or 'none'}")
    if made.distinct and more > 1:  # which of its places a value has, nobody could say
        _fail(f"view {view.name}: DISTINCT of {made.map} by an order", "bad-view", None, "a map of the values alone")
    if made.limit is not None and made.limit < 1:
        _fail(f"view {view.name}: a list with LIMIT {made.limit}", "bad-view", None, "at least 1")
    if decl.value != INT:
        _fail(f"view {view.name}: a list of a map that is not INT", "type-mismatch", None, "count rows")
    return made.type_in(decl)


def _check_output(view: View, column: OutputColumn, types: Mapping[str, Type]) -> None:
    lists = [var.name for var in _vars(column.expression) if var.type.kind == "list"]
    if lists and (not isinstance(column.expression, Var) or column not in view.columns):
        hint = "a list is an output column, and in no expression"
        _fail(
            f"view {view.name}, {column.name}: the list {lists[0]} in an expression", "list-in-expression", None, hint
        )
    for var in _vars(column.expression):
        if types.get(var.name) != var.type:
            hint = f"known: {', '.join(types)}"
            _fail(f"view {view.name}, {column.name}: no {var.type} {var.name!r}", "unbound-variable", None, hint)


@dataclass(frozen=True)
class Violation:
    """A statement that is M3 but not restricted M3. ``statement`` is its index in the trigger of ``event``."""

    event: str
    statement: int
    rule: str
    message: str
    span: Span | None = None


def restricted_violations(program: Program) -> list[Violation]:
    """Where a program leaves restricted M3 (Cumulus paper, section 2.1).

    The rules: a loop variable appears in the target (``loop-not-in-target``) and in exactly one map read
    (``loop-in-many-maps``); conditions do not involve loop variables (``loop-condition``). A condition over event
    variables alone only selects events and is allowed, although Figure 1's grammar counts it among the conditions.
    """
    return [
        Violation(trigger.event, index, rule, message, statement.span)
        for trigger in program.triggers
        for index, statement in enumerate(trigger.statements)
        for rule, message in _violations(set(trigger.params), statement)
    ]


def _violations(params: set[str], statement: Statement) -> Iterator[tuple[str, str]]:
    reads = [{v for k in ref.keys for v in variables(k)} for ref in statement.reads()]
    target = {v for k in statement.keys for v in variables(k)}
    for loop in sorted(statement.variables() - params):
        if loop not in target:
            yield "loop-not-in-target", f"loop variable {loop} is summed over: keep a map with one key less"
        if sum(loop in read for read in reads) > 1:
            yield "loop-in-many-maps", f"loop variable {loop} joins maps: keep a map of the join"
        if any(loop in variables(c) for c in statement.conditions):
            yield "loop-condition", f"a condition on loop variable {loop}"


# The rules of derivations: maps known, groups and rows of the right types, expressions over what is there.


def check_derived(program: Program, derived: Derived) -> None:
    """Check one derivation against the declared maps.

    Raises:
        ProgramError: the first broken rule.
    """
    for name in (derived.map, *derived.reads()):
        if name not in program.map_by_name:
            _fail_derivation(
                derived, f"no map {name!r}", "unknown-map", f"known maps: {', '.join(program.map_by_name)}"
            )
    target = program.map_by_name[derived.map]
    if target.value != INT:
        _fail_derivation(
            derived, f"values of type {target.value}", "type-mismatch", "a derived map holds multiplicities: INT"
        )
    if isinstance(derived, Windowing):
        source = program.map_by_name[derived.source]
        types = [k.type for k in source.keys] + [f.type for f in derived.functions] + [INT] * derived.flagged
        fitting = len(types) == len(target.keys) and all(
            _fits(t, k.type) for t, k in zip(types, target.keys, strict=False)
        )
        if not fitting or not 0 <= derived.partition <= len(source.keys):
            _fail_derivation(
                derived, "keys that are not the source's and the results", "type-mismatch", "declare them so"
            )
        variables = {k.name: k.type for k in source.keys}
        if any(f.op == NUMBERS for f in derived.functions):
            _check_numbers(derived, source)
        for function in derived.functions:
            for scalar in (*function.args, *(s for s, _, _ in function.order)):
                _check_scalar(derived, scalar, variables)
    else:
        _check_derivation(program, derived, target)


def _check_numbers(derived: Windowing, source: MapDecl) -> None:
    """The function that repeats rows stands alone, and is about the only key of its source: so the engine has nothing to compute."""
    (key, *others), (function, *more) = source.keys, derived.functions
    if others or more or derived.partition != 1 or derived.flagged or function.args != (Var(key.name, key.type),):
        hint = "FROM a map with one key n, PARTITION 1, SELECT numbers(n)"
        _fail_derivation(derived, f"{NUMBERS} beside other keys or functions", "wrong-arity", hint)


def input_types(program: Program, derived: Derivation) -> dict[str, Type]:
    """The types of the variables that a derivation's expressions may use: its group's keys and its inputs."""
    target = program.map_by_name[derived.map]
    types = {name: column.type for name, column in zip(derived.keys, target.keys, strict=False)}
    for given in derived.inputs:
        source = program.map_by_name[given.map]
        types[given.name] = given.type_in(source, len(derived.keys))
    return types


def _fail_derivation(derived: Derived, message: str, kind: str, hint: str) -> NoReturn:
    raise ProgramError(f"derivation {derived.map}: {message}", kind=kind, hint=hint)


def _check_derivation(program: Program, derived: Derivation, target: MapDecl) -> None:
    width = len(derived.keys)
    if len(target.keys) != width + len(derived.outputs):
        hint = f"its keys: {', '.join(k.name for k in target.keys)}"
        _fail_derivation(derived, f"{width} keys and {len(derived.outputs)} outputs", "wrong-arity", hint)
    for place, given in enumerate(derived.inputs):
        _check_input(program, derived, given, target.keys[:width])
        _check_at(program, derived, given, derived.inputs[:place])
    types = input_types(program, derived)
    if len(types) != width + len(derived.inputs):
        _fail_derivation(derived, "a key or input is named twice", "duplicate-name", "rename one of them")
    for column, key in zip(derived.outputs, target.keys[width:], strict=True):
        _check_scalar(derived, column.expression, types)
        if not _fits(column.expression.type, key.type):
            _fail_derivation(
                derived, f"{column.name} is {column.expression.type}, not {key.type}", "type-mismatch", "CAST it"
            )
    _check_scalar(derived, derived.count, types)
    if derived.count.type.kind != "int":
        _fail_derivation(derived, f"COUNT of type {derived.count.type}", "type-mismatch", "an INT")
    if sum(given.kind == "now" for given in derived.inputs) > 1:
        _fail_derivation(derived, "two inputs that are now", "bad-input", "one of them")
    read_passings(derived)


def _check_input(program: Program, derived: Derivation, given: Input, group: tuple[Column, ...]) -> None:
    if given.kind not in ("value", *INPUTS):
        _fail_derivation(derived, f"input of kind {given.kind!r}", "bad-input", f"value, {', '.join(INPUTS)}")
    keys = program.map_by_name[given.map].keys
    if given.kind == "now":
        if [k.type for k in keys] != [TIMESTAMP] or given.at or given.order:
            _fail_derivation(derived, f"now of {given.map}", "type-mismatch", "a map with one key, a TIMESTAMP")
        return
    more = len(keys) - len(group)
    enough = more == 0 if given.kind == "value" else more > len(given.at) and more >= len(given.order)
    fitting = enough and all(a.type.same_as(b.type) for a, b in zip(keys, group, strict=False))
    if not fitting:
        hint = f"the group is ({', '.join(f'{k.name} {k.type}' for k in group)})"
        _fail_derivation(derived, f"{given.map} has other keys", "type-mismatch", hint)
    if given.kind == "sum" and keys[-1].type.kind != "double":
        hint = "keep the sum of exact numbers in a map"
        _fail_derivation(derived, f"sum of {keys[-1].type} in {given.map}", "type-mismatch", hint)

    if given.kind in COLLECTED:
        problem = misfit(given.kind, keys[-1].type, given.parameter)
        if takes_pairs(given.kind) and (more < 2 or keys[-2].type.kind != "double"):
            problem = "no pairs of DOUBLEs"
        if problem:
            _fail_derivation(derived, f"{given.kind} of {given.map}: {problem}", "type-mismatch", "change the input")


def _check_at(program: Program, derived: Derivation, given: Input, before: Sequence[Input]) -> None:
    """The inputs that an input is looked up at are minima or maxima of the same map, each at those before it."""
    known = {x.name: x for x in before}
    for place, name in enumerate(given.at):
        other = known.get(name)
        if other is None or (other.map, other.at) != (given.map, given.at[:place]) or given.kind not in ("min", "max"):
            hint = f"a minimum or maximum of {given.map} before it"
            _fail_derivation(derived, f"{given.name} is looked up at {name!r}", "bad-input", hint)


def _fits(given: Type, column: Type) -> bool:
    """Whether a column can hold all values of a type."""
    return given.same_as(column) and (column.nullable or not given.nullable)


def _check_scalar(derived: Derived, scalar: Scalar, types: Mapping[str, Type]) -> None:
    for var in _vars(scalar):
        if types.get(var.name) != var.type:
            _fail_derivation(derived, f"no {var.type} {var.name!r}", "unbound-variable", f"known: {', '.join(types)}")
