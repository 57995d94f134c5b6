"""What is simulated: a program, a layout, a history of events, and settings; and the version that an event gets.

Versions are the papers' (Cumulus paper, section 4.1): (epoch, coordinator, sequence) orders events, the statement's index extends it for
writes. A write of statement i has the version ``(event, i)``. What statement i of an event reads is **everything below a bound**: in
a program with sequential statements ``(event, i)``; with snapshot statements ``(event, 0)``, and above the event's own writes for ``AFTER``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cumulus_ops.simulation.kernel import Costs, Disorder, Message
from cumulus_ops.simulation.layout import Layout
from m3.dataflow import is_cyclic, strata
from m3.errors import ProgramError
from m3.evaluate import Value
from m3.program import Program, Statement, Trigger
from m3.statements import SliceRead, slices_read

__all__ = [
    "BEGINNING",
    "UNDECIDED",
    "Arrival",
    "Case",
    "Event",
    "Read",
    "Stamp",
    "Version",
    "distributable",
    "env_of",
    "read_bound",
    "reads_of",
]

#: Above every statement's index.
STATEMENTS = 1 << 20


class Version(NamedTuple):
    """An event's place in the introduced total order."""

    epoch: int
    coordinator: int
    sequence: int


class Stamp(NamedTuple):
    """A write's place: its event's version, and its statement."""

    version: Version
    statement: int


#: The epoch of an event that has no place in the order yet.
UNDECIDED = -2
#: Before all events: what the program starts with.
BEGINNING = Stamp(Version(-1, 0, 0), 0)


@dataclass(frozen=True)
class Event:
    """A stamped event."""

    version: Version
    sign: int
    relation: str
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Arrival(Message):
    """An insert (sign 1) or a delete (-1) that reaches a coordinator from outside at ``at_s``."""

    at_s: float
    coordinator: int
    sign: int
    relation: str
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One thing to simulate. Coordinators leave epochs every ``epoch_s`` seconds of virtual time, and go on in epoch ``epochs`` for good.
    ``options`` are the protocol's: switchable optimisations (True or False), and sizes."""

    seed: int
    protocol: str
    program: Program
    layout: Layout
    arrivals: tuple[Arrival, ...]
    coordinators: int = 1
    epoch_s: float = 1.0
    epochs: int = 1
    costs: Costs = field(default_factory=Costs)
    disorder: Disorder = field(default_factory=Disorder)
    options: Mapping[str, Any] = field(default_factory=dict)


def distributable(program: Program, *, acyclic: bool) -> None:
    """See that the messages of the papers' protocols can evaluate a program.

    Raises:
        ProgramError: it has derived maps, whose rows are computed anew from whole groups; or it is cyclic, and may not be.
    """
    if program.derivations:
        names = ", ".join(d.map for d in program.derivations)
        message = f"{program.name} has derived maps ({names}), which no statement's deltas maintain"
        raise ProgramError(message, kind="not-distributable", hint="run it on the engine, which refreshes them")
    if acyclic and any(is_cyclic(program, stratum) for stratum in strata(program)):
        message = f"{program.name} has a cycle in its dataflow"
        raise ProgramError(
            message, kind="not-distributable", hint="use a protocol that allows cycles: eventual, or a central one"
        )


@dataclass(frozen=True)
class Read:
    """One map read of one statement: its slice, and below which stamp it sees writes."""

    slice: SliceRead
    statement: int
    number: int


def reads_of(trigger: Trigger, index: int) -> tuple[Read, ...]:
    """The reads of a trigger's statement."""
    statement: Statement = trigger.statements[index]
    return tuple(Read(s, index, number) for number, s in enumerate(slices_read(statement, trigger.params)))


def read_bound(program: Program, version: Version, statement: int, after: bool) -> Stamp:
    """Below which stamp (exclusive) a statement of an event sees writes."""
    if program.semantics == "sequential":
        return Stamp(version, statement)
    return Stamp(version, STATEMENTS if after else 0)


def env_of(trigger: Trigger, row: tuple[Value, ...]) -> dict[str, Value]:
    """The event's variables."""
    return dict(zip(trigger.params, row, strict=True))
