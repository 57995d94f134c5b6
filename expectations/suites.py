"""The suites: one per view, and one each for the log and for the vote on an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import great_expectations as gx

from expectations.log import ExpectEpochsToBeComplete, ExpectNoNegativeMultiplicity
from expectations.snapshot import ExpectNoGroupWithoutRows, ExpectSnapshotToEqualRecomputation

__all__ = ["epoch_suite", "groups_suite", "log_suite", "view_suite"]


def view_suite(
    view: str,
    recomputation: str,
    key_columns: Sequence[str],
    tolerances: Mapping[str, float],
    double_tolerance: float,
) -> gx.ExpectationSuite:
    """What the snapshot of ``view`` must satisfy; the arguments are those of
    :class:`~expectations.snapshot.ExpectSnapshotToEqualRecomputation`."""
    equal = ExpectSnapshotToEqualRecomputation(
        recomputation=recomputation,
        key_columns=list(key_columns),
        tolerances=dict(tolerances),
        double_tolerance=double_tolerance,
    )
    return gx.ExpectationSuite(name=f"view {view}", expectations=[equal])


def groups_suite() -> gx.ExpectationSuite:
    """What the maintained groups of all views must satisfy, seen before groups without rows are left out of a view."""
    return gx.ExpectationSuite(name="groups", expectations=[ExpectNoGroupWithoutRows(column="rows")])


def log_suite() -> gx.ExpectationSuite:
    """What the base tables must satisfy."""
    return gx.ExpectationSuite(name="event log", expectations=[ExpectNoNegativeMultiplicity()])


def epoch_suite(epoch: int, coordinators: int) -> gx.ExpectationSuite:
    """What the coordinators must have done for ``epoch`` to be complete."""
    complete = ExpectEpochsToBeComplete(epoch=epoch, coordinators=coordinators)
    return gx.ExpectationSuite(name="coordinators", expectations=[complete])
