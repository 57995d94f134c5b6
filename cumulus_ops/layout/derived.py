"""How derivations read their inputs, and where in a batch or event their changes come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cumulus_ops.coordination import VersionScheme
from cumulus_ops.layout.copies import Lookup
from cumulus_ops.mapstore import AccessPath
from m3.errors import ProgramError
from m3.program import Derived, Input, Program, Windowing

__all__ = ["DerivedPlan", "GroupLookup", "InputPlan", "derivation_lookups", "plan_derivations"]


@dataclass(frozen=True)
class GroupLookup:
    """How a map is looked up by its first ``width`` key columns: in the copy ``path``, whose first columns these are in some
    order, with the values of ``column``."""

    path: AccessPath
    width: int
    column: str

    def bound(self, keys: Sequence[pa.Array]) -> list[pa.Array]:
        """The key columns, given in their order, in the order of the path."""
        return [keys[position] for position in self.path.bound[: self.width]]


@dataclass(frozen=True)
class InputPlan:
    """One input of a derivation: ``given``, or the ``rows`` of a window's partition. ``lookup`` binds the group's keys, which are
    the map's leading ones, and the inputs that it is ``at``."""

    given: Input
    lookup: GroupLookup

    @property
    def name(self) -> str:
        """The variable that it is."""
        return self.given.name

    @property
    def kind(self) -> str:
        """``value``, ``min``, ... (see :class:`m3.program.Input`), or ``rows``."""
        return self.given.kind


@dataclass(frozen=True)
class DerivedPlan:
    """A derivation, prepared. ``stage`` is the place of its changes within a batch or event, see
    :meth:`cumulus_ops.coordination.VersionScheme.stage`; ``group`` is how the derived map itself is looked up."""

    derived: Derived
    stage: int
    group: GroupLookup
    inputs: tuple[InputPlan, ...]


def derivation_lookups(program: Program, derived: Derived) -> list[tuple[str, Lookup]]:
    """How a derivation looks up its own map, and each of its inputs, as (map, lookup)."""

    def lookup(name: str) -> tuple[str, Lookup]:
        others = frozenset(range(width, len(program.map_by_name[name].keys)))
        return name, Lookup(frozenset(range(width)), -1, others, frozenset({name}))

    def lookup_input(given: Input) -> tuple[str, Lookup]:
        known, name = width + len(given.at), given.map
        if given.kind in ("min", "max"):
            return name, Lookup(frozenset(range(known)), known, frozenset({known}), frozenset({name}))
        return lookup(name)

    if isinstance(derived, Windowing):
        width = derived.partition
        return [lookup(derived.map), lookup(derived.source)]
    width = len(derived.keys)
    return [lookup(derived.map), *map(lookup_input, derived.inputs)]


def plan_derivations(
    program: Program, scheme: VersionScheme, serve: Callable[[str, Lookup], AccessPath]
) -> Mapping[str, DerivedPlan]:
    """The derivations by the map they compute, in their order.

    Args:
        program: the program.
        scheme: what its versions are.
        serve: the copy that serves a lookup of a map.

    Raises:
        ProgramError: they are more than a version can number.
    """
    before, limit = scheme.first_stage(len(program.relations)), scheme.places
    if before + len(program.derivations) > limit:
        hint = "spread the views over several projects"
        raise ProgramError(f"more than {limit - before} derivations", kind="too-many-derivations", hint=hint)
    plans = {}
    for stage, derived in enumerate(program.derivations, before):
        found = [
            GroupLookup(serve(name, lookup), len(lookup.bound), name)
            for name, lookup in derivation_lookups(program, derived)
        ]
        given = [Input("", derived.source, "rows")] if isinstance(derived, Windowing) else derived.inputs
        inputs = tuple(InputPlan(i, lookup) for i, lookup in zip(given, found[1:], strict=True))
        plans[derived.map] = DerivedPlan(derived, stage, found[0], inputs)
    return plans
