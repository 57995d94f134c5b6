"""What the event log must be for a snapshot to mean anything: sealed by everybody, and a possible history."""

from __future__ import annotations

from typing import Any, ClassVar

from expectations.rendering import ReadableExpectation, verdict

__all__ = ["ExpectEpochsToBeComplete", "ExpectNoNegativeMultiplicity"]


class ExpectEpochsToBeComplete(ReadableExpectation):
    """Expect every member of the snapshot's epoch to have sealed it (the unanimous vote).

    The batch has the columns ``coordinator`` and ``sealed_epoch`` (the last one, inclusive).

    Args:
        epoch: the snapshot's epoch.
        members: the numbers of the coordinators that take part in it.
    """

    epoch: int
    members: list[int]

    sentence: ClassVar[str] = "The members of epoch $epoch, coordinators $members, have all sealed it."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.sealed_epochs",)
    success_keys: ClassVar[tuple[str, ...]] = ("epoch", "members")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        sealed: dict[int, int] = metrics["cumulus.sealed_epochs"]
        late = [c for c in self.members if sealed.get(c, -1) < self.epoch]
        rows = [(str(c), str(sealed.get(c, "none"))) for c in late]
        observed = f"not sealed by {', '.join(map(str, late))}" if late else "sealed by all"
        return verdict(not late, observed, ("coordinator", "last sealed epoch"), rows, late=late)


class ExpectNoNegativeMultiplicity(ReadableExpectation):
    """Expect that no row was deleted more often than it was inserted.

    The batch has the columns ``relation``, ``row`` (JSON text) and :attr:`column`, bigint.

    Args:
        column: the column that holds a row's multiplicity.
    """

    column: str = "_multiplicity"
    minimum: int = 0

    sentence: ClassVar[str] = "No row of a base table was deleted more often than it was inserted."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.rows_below",)
    success_keys: ClassVar[tuple[str, ...]] = ("column", "minimum")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        count, header, rows = metrics["cumulus.rows_below"]
        observed = f"{count} rows deleted more often than inserted" if count else "none"
        return verdict(count == 0, observed, header, rows, count=count)
