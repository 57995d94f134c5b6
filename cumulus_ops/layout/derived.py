"""How derivations read their inputs, and where in a batch or event their changes come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cumulus_ops.mapstore import AccessPath
from cumulus_ops.versions import RANK_BITS, RANKS_MAX, STATEMENT_BITS, STATEMENTS_MAX
from m3.errors import ProgramError
from m3.program import Derived, Program, Windowing

__all__ = ["DerivedPlan", "InputPlan", "plan_derivations", "version_bits"]


@dataclass(frozen=True)
class InputPlan:
    """One input of a derivation. ``kind``: ``value``, ``min``, ``max`` or ``sum`` (see :class:`m3.program.Input`), or ``rows`` for
    the rows of a window's partition. ``path`` binds the group's keys, which are the map's leading ones."""

    name: str
    kind: str
    path: AccessPath


@dataclass(frozen=True)
class DerivedPlan:
    """A derivation, prepared. ``stage`` is the place of its changes within a batch or event, see
    :func:`cumulus_ops.versions.stage_version`; ``group`` is how the derived map itself is looked up."""

    derived: Derived
    stage: int
    group: AccessPath
    inputs: tuple[InputPlan, ...]

    def paths(self) -> Iterator[AccessPath]:
        """All access paths it needs."""
        yield self.group
        yield from (i.path for i in self.inputs)


def version_bits(granularity: str) -> int:
    """How many bits of a version number the places within one batch, or within one event."""
    return RANK_BITS if granularity == "batch" else STATEMENT_BITS


def plan_derivations(program: Program, granularity: str) -> Mapping[str, DerivedPlan]:
    """The derivations by the map they compute, in their order.

    Raises:
        ProgramError: they are more than a version can number.
    """
    before = max(1, len(program.relations)) if granularity == "batch" else 1
    limit = RANKS_MAX if granularity == "batch" else STATEMENTS_MAX
    if before + len(program.derivations) > limit:
        hint = "spread the views over several projects"
        raise ProgramError(f"more than {limit - before} derivations", kind="too-many-derivations", hint=hint)
    return {d.map: _plan(program, d, before + i) for i, d in enumerate(program.derivations)}


def _plan(program: Program, derived: Derived, stage: int) -> DerivedPlan:
    if isinstance(derived, Windowing):
        group = tuple(range(derived.partition))
        return DerivedPlan(
            derived,
            stage,
            AccessPath(derived.map, group),
            (InputPlan("", "rows", AccessPath(derived.source, group)),),
        )
    group = tuple(range(len(derived.keys)))
    inputs = tuple(
        InputPlan(i.name, i.kind, AccessPath(i.map, group, len(group) if i.kind in ("min", "max") else -1))
        for i in derived.inputs
    )
    return DerivedPlan(derived, stage, AccessPath(derived.map, group), inputs)
