"""What was put aside on the way in: read by people, and by the pages that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from cumulus_ops.catalog import FileAside, QuarantinedRows, Repeats
from cumulus_ops.engine import Runtime
from cumulus_ops.sources import Ignored

__all__ = ["PutAside", "RejectedGroup", "put_aside"]


@dataclass(frozen=True)
class RejectedGroup:
    """Quarantined rows of a kind of reason in a relation of a delivery."""

    coordinator: int
    epoch: int
    delivery: str
    relation: str
    kind: str
    rows: int
    label: str


@dataclass(frozen=True)
class PutAside:
    """What does not count: ``rows`` in the quarantine and ``files`` set aside, about which somebody has to decide; ``ignored`` is what lies in the
    landing folder and is nobody's; ``repeats`` are rows that had come before."""

    rows: tuple[QuarantinedRows, ...]
    files: tuple[FileAside, ...]
    ignored: tuple[Ignored, ...]
    repeats: tuple[Repeats, ...]

    @property
    def row_count(self) -> int:
        """How many rows are in the quarantine."""
        return sum(r.rows for r in self.rows)

    @property
    def repeat_count(self) -> int:
        """How many rows had come before."""
        return sum(r.rows for r in self.repeats)

    @property
    def groups(self) -> tuple[RejectedGroup, ...]:
        """The rows by kind of reason, in the order in which they came."""
        return tuple(
            RejectedGroup(r.coordinator, r.epoch, r.delivery, r.relation, kind, rows, r.label)
            for r in self.rows
            for kind, rows in r.reasons.items()
        )

    @property
    def reasons(self) -> dict[str, int]:
        """kind of reason -> rows, the most frequent first."""
        return by_reason(self.rows)


def put_aside(rt: Runtime, *, everything: bool = False) -> PutAside:
    """Read what was put aside from the catalog and the landing folder; with ``everything`` also what was retried or dropped."""
    return PutAside(
        tuple(rt.catalog.quarantined_rows(state=None if everything else "kept")),
        tuple(rt.catalog.files_aside(state=None if everything else "aside")),
        rt.sources.ignored(),
        tuple(rt.catalog.repeats()),
    )


def by_reason(rows: Iterable[QuarantinedRows]) -> dict[str, int]:
    """kind of reason -> rows, the most frequent first."""
    found: Counter[str] = Counter()
    for r in rows:
        found.update(r.reasons)
    return dict(found.most_common())
