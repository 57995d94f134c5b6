"""The statements that read whole maps."""

from __future__ import annotations

from dataclasses import dataclass

from m3.explain.access import accesses
from m3.explain.sizes import Sizes
from m3.program import Program

__all__ = ["Scan", "scans"]


@dataclass(frozen=True)
class Scan:
    """Statement ``statement`` (from 0) of the trigger ``event``, which writes ``target``, reads all entries of ``map``.

    ``single``: by declared keys there is never more than one, as in a map derived without a group."""

    event: str
    statement: int
    target: str
    map: str
    single: bool = False


def scans(program: Program) -> list[Scan]:
    """The map reads that know no key of the map, and so touch every entry of it. A map without keys has one entry."""
    sizes = Sizes(program)
    return [
        Scan(trigger.event, index, statement.target, access.map, sizes.unique(access.map, ()))
        for trigger in program.triggers
        for index, statement in enumerate(trigger.statements)
        for access in accesses(trigger, statement)
        if access.kind == "scan"
    ]
