"""Values that were sealed while rows that may be of them were put aside: nothing takes a seal back, so somebody is told."""

from __future__ import annotations

from dataclasses import dataclass

from cumulus_ops.catalog import QuarantinedRows
from cumulus_ops.engine import Runtime

__all__ = ["TooLate", "too_late"]

#: Reasons of rows that came too late, or were never to come: their values are not open for them.
NOT_OPEN = ("sealed-value", "other-producer", "part")


@dataclass(frozen=True)
class TooLate:
    """What a coordinator had put aside of a relation when it sealed values of that: what of it is of such a value will never count. ``rows`` in the
    quarantine, and ``files``."""

    relation: str
    coordinator: int
    rows: int = 0
    files: int = 0

    def __str__(self) -> str:
        """For people.

        >>> print(TooLate("clicks", 0, 3, 1))
        coordinator 0 has sealed values of clicks with 3 rows in the quarantine, 1 file set aside: of sealed values they cannot count any more
        """
        counts = ((self.rows, "row", "in the quarantine"), (self.files, "file", "set aside"))
        told = ", ".join(f"{n:,} {what}{'s' * (n > 1)} {where}" for n, what, where in counts if n)
        return f"coordinator {self.coordinator} has sealed values of {self.relation} with {told}: of sealed values they cannot count any more"


def too_late(rt: Runtime) -> tuple[TooLate, ...]:
    """What was put aside before values of its relation were sealed, and waits for a decision; what was refused for its sealed value is left out."""
    rows, files = rt.catalog.quarantined_rows(), rt.catalog.files_aside()
    sealed = rt.catalog.newest_seals() if rt.project.seals and (rows or files) else {}
    found: list[TooLate] = []
    for (relation, coordinator), (batch, at) in sorted(sealed.items()):
        mine = [r for r in rows if (r.relation, r.coordinator) == (relation, coordinator)]
        before = sum(_for_other_reasons(r) for r in mine if batch is None or r.batch <= batch)
        left = sum(
            f.relation == relation and f.coordinator == coordinator and f.recorded_at.timestamp() <= at for f in files
        )
        if before or left:
            found.append(TooLate(relation, coordinator, before, left))
    return tuple(found)


def _for_other_reasons(rows: QuarantinedRows) -> int:
    return sum(n for kind, n in rows.reasons.items() if kind not in NOT_OPEN)
