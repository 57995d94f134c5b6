"""The part of a program that one view needs."""

from __future__ import annotations

from dataclasses import replace

from m3.program import Program, Trigger, View

__all__ = ["restrict", "view_maps"]


def view_maps(view: View) -> list[str]:
    """The maps that a view is read from, the one that decides on its rows first."""
    maps = [*([view.exists] if view.exists else []), *(v.map for v in view.values), *(c.map for c in view.checks)]
    return list(dict.fromkeys(maps))


def restrict(program: Program, view: str) -> Program:
    """The program that maintains one view only, with all relations still declared.

    Raises:
        ProgramError: there is no such view.
    """
    kept = _ancestors(program, view_maps(program.view(view)))
    triggers = (replace(t, statements=tuple(s for s in t.statements if s.target in kept)) for t in program.triggers)
    return replace(
        program,
        maps=tuple(m for m in program.maps if m.name in kept),
        triggers=tuple(t for t in triggers if t.statements),
        views=(program.view(view),),
        derivations=tuple(d for d in program.derivations if d.map in kept),
    )


def _ancestors(program: Program, wanted: list[str]) -> set[str]:
    kept: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept.add(name)
            waiting += _sources(program, name)
    return kept


def _sources(program: Program, name: str) -> list[str]:
    """The maps that a map is computed from."""
    derived = program.derivation_by_map.get(name)
    found = list(derived.reads()) if derived else []
    for trigger in program.triggers:
        for statement in trigger.statements:
            if statement.target == name:
                found += [ref.map for ref in statement.reads()] + _changing(trigger)
    return found


def _changing(trigger: Trigger) -> list[str]:
    return [trigger.relation] if trigger.sign == 0 else []
