"""From when on the rows of a view are final, as its plan says; and which of them a closed value makes final."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, SealOf
from cumulus_ops.engine import Runtime
from cumulus_ops.mapstore import to_physical
from cumulus_ops.query.entries import Kept
from cumulus_ops.query.partitions import Partitions, typed_values
from m3.program import View
from m3.scalars import Var

__all__ = ["SealedView", "final_from", "sealed_view", "sealed_views"]


@dataclass(frozen=True)
class SealedView:
    """A view whose rows become final by ``seals``, one for each relation that it is over. They are partitioned by the view's key columns at the places
    ``keys``; a partition is called by a value of the first seal."""

    view: View
    seals: tuple[SealOf, ...]
    keys: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The visible columns that have a partition's values, in the order of the first seal's columns."""
        return self.seals[0].output

    @property
    def has_same_texts(self) -> bool:
        """Whether a partition is called by the same value of each seal."""
        return all(seal.output == self.columns for seal in self.seals)

    def partition(self, seal: SealOf, value: str) -> str:
        """The value of the first seal that goes with a value of another one: columns may come in another order there.

        >>> a, b = SealOf("r", "s", ("x", "y"), ("x", "y")), SealOf("q", "s", ("u", "v"), ("y", "x"))
        >>> SealedView(None, (a, b), (0, 1)).partition(b, '["1","2"]')
        '["2","1"]'
        """
        if seal.output == self.columns:
            return value
        texts = dict(zip(seal.output, json.loads(value), strict=True))
        return json.dumps([texts[name] for name in self.columns], ensure_ascii=False, separators=(",", ":"))

    def partitions(self, values: Sequence[str]) -> Partitions:
        """Values of the first seal as the view's columns have them."""
        return typed_values(values, [self.view.keys[k].type for k in self.keys])

    def kept(self, partitions: Partitions) -> Kept:
        """The same as the maps have them."""
        types = [self.view.keys[k].type for k in self.keys]
        physical = [to_physical(column, type_) for column, type_ in zip(partitions.columns, types, strict=True)]
        return Kept(self.keys, Partitions(tuple(physical)))

    def columns_of(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        """The columns of rows that say in which partition they are."""
        return [rows[name] for name in self.columns]


def final_from(rt: Runtime, view: View) -> str:
    """From when on rows of a view are final: ``at once``, ``sealed``, or ``committed``. What comes later may push rows over a LIMIT, whatever a
    plan says."""
    planned = rt.coordination.view(view.name).final
    if view.limit is not None or view.offset or (planned == SEALED and sealed_view(rt, view) is None):
        return COMMITTED
    return planned if planned in (AT_ONCE, SEALED) else COMMITTED


def sealed_views(rt: Runtime) -> list[SealedView]:
    """The views of which closed values make rows final."""
    found = (sealed_view(rt, view) for view in rt.program.views if rt.coordination.view(view.name).final == SEALED)
    return [view for view in found if view is not None]


def sealed_view(rt: Runtime, view: View) -> SealedView | None:
    """How closed values make rows of a view final; None if they do not. All seals must be about the same columns of the view, and these be its keys."""
    planned = rt.coordination.view(view.name)
    if planned.final != SEALED or not planned.seals or view.limit is not None or view.offset:
        return None
    output = planned.seals[0].output
    keys = {c.name: c.expression.name for c in view.visible if isinstance(c.expression, Var)}
    places = {k.name: i for i, k in enumerate(view.keys)}
    if any(set(seal.output) != set(output) for seal in planned.seals):
        return None
    if not all(keys.get(name) in places for name in output):
        return None
    return SealedView(view, planned.seals, tuple(places[keys[name]] for name in output))
