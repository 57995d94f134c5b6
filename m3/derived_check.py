"""The rules of derivations: maps known, groups and rows of the right types, expressions over what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from m3.collected import COLLECTED, INPUTS, misfit
from m3.datatypes import INT, Type
from m3.errors import ProgramError
from m3.program import Column, Derivation, Derived, Input, MapDecl, Program, Windowing
from m3.scalars import Call, Scalar, Var

__all__ = ["check_derived", "input_types"]


def check_derived(program: Program, derived: Derived) -> None:
    """Check one derivation against the declared maps.

    Raises:
        ProgramError: the first broken rule.
    """
    for name in (derived.map, *derived.reads()):
        if name not in program.map_by_name:
            _fail(derived, f"no map {name!r}", "unknown-map", f"known maps: {', '.join(program.map_by_name)}")
    target = program.map_by_name[derived.map]
    if target.value != INT:
        _fail(derived, f"values of type {target.value}", "type-mismatch", "a derived map holds multiplicities: INT")
    if isinstance(derived, Windowing):
        _check_windowing(program, derived, target)
    else:
        _check_derivation(program, derived, target)


def input_types(program: Program, derived: Derivation) -> dict[str, Type]:
    """The types of the variables that a derivation's expressions may use: its group's keys and its inputs."""
    target = program.map_by_name[derived.map]
    types = {name: column.type for name, column in zip(derived.keys, target.keys, strict=False)}
    for given in derived.inputs:
        source = program.map_by_name[given.map]
        types[given.name] = given.type_in(source, len(derived.keys))
    return types


def _fail(derived: Derived, message: str, kind: str, hint: str) -> NoReturn:
    raise ProgramError(f"derivation {derived.map}: {message}", kind=kind, hint=hint)


def _check_derivation(program: Program, derived: Derivation, target: MapDecl) -> None:
    width = len(derived.keys)
    if len(target.keys) != width + len(derived.outputs):
        hint = f"its keys: {', '.join(k.name for k in target.keys)}"
        _fail(derived, f"{width} keys and {len(derived.outputs)} outputs", "wrong-arity", hint)
    for place, given in enumerate(derived.inputs):
        _check_input(program, derived, given, target.keys[:width])
        _check_at(program, derived, given, derived.inputs[:place])
    types = input_types(program, derived)
    if len(types) != width + len(derived.inputs):
        _fail(derived, "a key or input is named twice", "duplicate-name", "rename one of them")
    for column, key in zip(derived.outputs, target.keys[width:], strict=True):
        _check_scalar(derived, column.expression, types)
        if not _fits(column.expression.type, key.type):
            _fail(derived, f"{column.name} is {column.expression.type}, not {key.type}", "type-mismatch", "CAST it")
    _check_scalar(derived, derived.count, types)
    if derived.count.type.kind != "int":
        _fail(derived, f"COUNT of type {derived.count.type}", "type-mismatch", "an INT")


def _check_input(program: Program, derived: Derivation, given: Input, group: tuple[Column, ...]) -> None:
    if given.kind not in ("value", *INPUTS):
        _fail(derived, f"input of kind {given.kind!r}", "bad-input", f"value, {', '.join(INPUTS)}")
    keys = program.map_by_name[given.map].keys
    more = len(keys) - len(group)
    enough = more == 0 if given.kind == "value" else more > len(given.at) and more >= len(given.order)
    fitting = enough and all(a.type.same_as(b.type) for a, b in zip(keys, group, strict=False))
    if not fitting:
        hint = f"the group is ({', '.join(f'{k.name} {k.type}' for k in group)})"
        _fail(derived, f"{given.map} has other keys", "type-mismatch", hint)
    if given.kind == "sum" and keys[-1].type.kind != "double":
        hint = "keep the sum of exact numbers in a map"
        _fail(derived, f"sum of {keys[-1].type} in {given.map}", "type-mismatch", hint)

    if given.kind in COLLECTED:
        problem = misfit(given.kind, keys[-1].type, given.parameter)
        if problem:
            _fail(derived, f"{given.kind} of {given.map}: {problem}", "type-mismatch", "change the input")


def _check_at(program: Program, derived: Derivation, given: Input, before: Sequence[Input]) -> None:
    """The inputs that an input is looked up at are minima or maxima of the same map, each at those before it."""
    known = {x.name: x for x in before}
    for place, name in enumerate(given.at):
        other = known.get(name)
        if other is None or (other.map, other.at) != (given.map, given.at[:place]) or given.kind not in ("min", "max"):
            hint = f"a minimum or maximum of {given.map} before it"
            _fail(derived, f"{given.name} is looked up at {name!r}", "bad-input", hint)


def _check_windowing(program: Program, derived: Windowing, target: MapDecl) -> None:
    source = program.map_by_name[derived.source]
    types = [k.type for k in source.keys] + [f.type for f in derived.functions] + [INT] * derived.flagged
    fitting = len(types) == len(target.keys) and all(_fits(t, k.type) for t, k in zip(types, target.keys, strict=False))
    if not fitting or not 0 <= derived.partition <= len(source.keys):
        _fail(derived, "keys that are not the source's and the results", "type-mismatch", "declare them so")
    variables = {k.name: k.type for k in source.keys}
    for function in derived.functions:
        for scalar in (*function.args, *(s for s, _, _ in function.order)):
            _check_scalar(derived, scalar, variables)


def _fits(given: Type, column: Type) -> bool:
    """Whether a column can hold all values of a type."""
    return given.same_as(column) and (column.nullable or not given.nullable)


def _check_scalar(derived: Derived, scalar: Scalar, types: Mapping[str, Type]) -> None:
    for var in _vars(scalar):
        if types.get(var.name) != var.type:
            _fail(derived, f"no {var.type} {var.name!r}", "unbound-variable", f"known: {', '.join(types)}")


def _vars(scalar: Scalar) -> Iterable[Var]:
    if isinstance(scalar, Var):
        yield scalar
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from _vars(arg)
