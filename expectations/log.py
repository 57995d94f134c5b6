"""What the event log must be for a snapshot to mean anything: sealed by everybody, and a possible history."""

from __future__ import annotations

from typing import Any, ClassVar

from expectations.rendering import ReadableExpectation, verdict

__all__ = ["ExpectEpochsToBeComplete", "ExpectNoNegativeMultiplicity"]


class ExpectEpochsToBeComplete(ReadableExpectation):
    """Expect every coordinator to have sealed the snapshot's epoch (the unanimous vote).

    The batch has the columns ``coordinator`` and ``sealed_epoch`` (the last one, inclusive).

    Args:
        epoch: the snapshot's epoch.
        coordinators: how many there are, numbered from 0.
    """

    epoch: int
    coordinators: int

    sentence: ClassVar[str] = "All $coordinators coordinators have sealed epoch $epoch."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.sealed_epochs",)
    success_keys: ClassVar[tuple[str, ...]] = ("epoch", "coordinators")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        sealed: dict[int, int] = metrics["cumulus.sealed_epochs"]
        late = [c for c in range(self.coordinators) if sealed.get(c, -1) < self.epoch]
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
