"""**Collation** (system section, "Get Collation", with the figure of the DW node's collation algorithm).

A FETCH holds references to maps, with the event's values for keys; a loop variable is a **wildcard**, which matches any value of the region that the
reading partition needs. A PUSH holds keys and values of maps. The node of the PUT makes a table for each reference of the update's
expression, puts what it was pushed into every table whose reference matches the keys, and joins the tables on the loop variables: each row
of the join is one addition to the target. Two references to one map may so get the same value from one message.

>>> from cumulus_ops.simulation.layout import PLACES
>>> ref = Reference("m", (7, Wildcard(0, PLACES)), after=False)
>>> check_match(ref, (7, 1)), check_match(ref, (8, 1))
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cumulus_ops.simulation.layout import Layout, Segment, place
from cumulus_ops.simulation.protocols.blocking.dispatch import WHOLE, Box, value_of
from cumulus_ops.simulation.store import Entries
from m3.evaluate import Value
from m3.program import MapRef, Program, Trigger
from m3.scalars import variables
from m3.statements import Env, Key, contribution

__all__ = ["Pushed", "Reference", "Wildcard", "check_match", "collate", "refer"]


@dataclass(frozen=True)
class Wildcard:
    """A loop variable: any value at these places, from ``low`` (inclusive) to ``high`` (exclusive)."""

    low: int
    high: int


@dataclass(frozen=True)
class Reference:
    """A map reference, filled in with an event's values."""

    map: str
    keys: tuple[Value | Wildcard, ...]
    after: bool


@dataclass(frozen=True)
class Pushed:
    """Keys and values of a map; ``after``: as they are with the event's own writes."""

    map: str
    after: bool
    entries: Entries


def refer(program: Program, ref: MapRef, env: Env, region: Box | None = None) -> Reference:
    """A reference filled in; wildcards match a region of the map, or all of it."""
    known, places = set(env), region or (WHOLE,) * len(ref.keys)
    keys = (
        value_of(key, env) if set(variables(key)) <= known else Wildcard(*places[i]) for i, key in enumerate(ref.keys)
    )
    return Reference(ref.map, tuple(keys), ref.after and program.semantics == "snapshot")


def check_match(ref: Reference, key: Key) -> bool:
    """Whether a key is one that a reference means."""
    return all(_matches(wanted, value) for wanted, value in zip(ref.keys, key, strict=True))


def _matches(wanted: Value | Wildcard, value: Value) -> bool:
    if not isinstance(wanted, Wildcard):
        return wanted == value
    return (wanted.low, wanted.high) == WHOLE or wanted.low <= place(value) < wanted.high


def collate(
    program: Program, layout: Layout, trigger: Trigger, env: Env, statement: int, target: Segment, got: Iterable[Pushed]
) -> Entries:
    """What an update adds to a partition of its target, given all that was pushed."""
    update = trigger.statements[statement]
    inputs: list[tuple[Reference, Entries]] = [(refer(program, ref, env), {}) for ref in update.reads()]
    for pushed in got:
        for ref, table in inputs:
            if (pushed.map, pushed.after) == (ref.map, ref.after):
                table.update((k, units) for k, units in pushed.entries.items() if check_match(ref, k))
    joined: Mapping[Key, int] = contribution(program, update, env, [table for _, table in inputs])
    return {k: units for k, units in joined.items() if layout.segment_of(update.target, k) == target}
