"""What tasks do about values that all their producers have sealed: make their partitions final, and prove them. No Airflow in
here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cumulus_ops.catalog.finals import FinalPartition
from cumulus_ops.catalog.values import shown_value
from cumulus_ops.light import lazy_module
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.orchestration.running import Patience, SnapshotInvalid, running
from cumulus_ops.project.verdicts import EQUAL, outcome_of

if TYPE_CHECKING:
    from cumulus_ops.epochs import finals
    from cumulus_ops.validation import finals as validating
else:  # what writes Delta tables, and what proves rows: few tasks do either
    finals = lazy_module("cumulus_ops.epochs.finals")
    validating = lazy_module("cumulus_ops.validation.finals")

__all__ = ["WAKE_S", "FinalLooks", "closed_values", "finalise_closed", "validate_final"]

log = logging.getLogger(__name__)
WAKE_S = 20.0  # between two wake-ups for partitions that have become final


class FinalLooks:
    """Finalises what is closed whenever it is asked to look, and tells of it, but not all the time."""

    def __init__(self, runtime: Runtime, on_final: Callable[[FinalPartition], None]) -> None:
        self._runtime, self._tell = runtime, on_final
        self._untold: FinalPartition | None = None
        self._pause = Patience(0.0)

    def look(self) -> None:
        """Finalise now."""
        for partition in finals.finalise(self._runtime).partitions:
            self._untold = partition
        if self._untold is not None and self._pause.is_over:
            self._tell(self._untold)
            self._untold, self._pause = None, Patience(WAKE_S)


@resumes
def closed_values(folder: str, seals: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """The values that all their producers have sealed, and that are left to be made final, or to be validated.

    Args:
        folder: the project.
        seals: the (relation, seal) to look for.

    Returns:
        (relation, seal) -> some of them, as people write them, the oldest first; without those of which nothing is left.
    """
    with running(folder, "inprocess", "finalise") as (project, runtime):
        proved = project.validation.policy != "off"
        found = {(r, s): runtime.catalog.finals.closed_left(r, s, validated=proved) for r, s in seals}
    return {place: [shown_value(text) for text in texts] for place, texts in found.items() if texts}


@resumes
def finalise_closed(folder: str) -> list[str]:
    """Write the final partitions of all closed values that have none yet. What their batches still wait for is done first.

    Returns:
        the partitions that are final now, as text.
    """
    with running(folder, None, "finalise") as (_, runtime):
        report = finals.finalise(runtime)
        for partition in report.partitions:
            log.info("final: %s", partition)
        return [str(partition) for partition in report.partitions]


@resumes
def validate_final(folder: str) -> list[str]:
    """Validate every final partition that has no verdict yet.

    Returns:
        those that passed, as text.

    Raises:
        SnapshotInvalid: one did not pass, and that is a failure by the project's settings.
    """
    with running(folder, None, "validate", frames=True) as (project, runtime):
        verdicts = validating.validate_finals(runtime) if project.validation.policy != "off" else []
    for verdict in verdicts:
        log.log(logging.INFO if verdict.outcome == EQUAL else logging.WARNING, "final partition %s", verdict)
    failed = [str(verdict) for verdict in verdicts if project.validation.is_failure(outcome_of([verdict.outcome]))]
    if failed:
        raise SnapshotInvalid(
            f"{len(failed)} of {len(verdicts)} final partitions differ from recomputation, or could not be compared:\n  "
            + "\n  ".join(failed),
            kind="final-invalid",
            hint="the report of each is in the project's reports folder",
        )
    return [str(verdict) for verdict in verdicts if verdict.outcome == EQUAL]
