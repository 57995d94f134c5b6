"""The suites: one for the views, and one each for their groups, for the log and for the vote on an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import great_expectations as gx

from expectations.snapshot import (
    ExpectEpochsToBeComplete,
    ExpectFinalRowsToEqualRecomputation,
    ExpectNetTablesToEqualLog,
    ExpectNoGroupWithoutRows,
    ExpectNoNegativeMultiplicity,
    ExpectSnapshotToEqualRecomputation,
)

__all__ = ["epoch_suite", "finals_suite", "groups_suite", "log_suite", "views_suite"]


def views_suite(views: Sequence[str]) -> gx.ExpectationSuite:
    """What the snapshots of the views must satisfy: an expectation for each."""
    equal = [ExpectSnapshotToEqualRecomputation(view=view) for view in views]
    return gx.ExpectationSuite(name="views", expectations=equal)


def finals_suite(values: Mapping[str, str]) -> gx.ExpectationSuite:
    """What the final rows of views must satisfy: view -> the values that they have, as text."""
    equal = [ExpectFinalRowsToEqualRecomputation(view=view, values=text) for view, text in values.items()]
    return gx.ExpectationSuite(name="final partitions", expectations=equal)


def groups_suite() -> gx.ExpectationSuite:
    """What the maintained groups of all views must satisfy, seen before groups without rows are left out of a view."""
    return gx.ExpectationSuite(name="groups", expectations=[ExpectNoGroupWithoutRows(column="rows")])


def log_suite() -> gx.ExpectationSuite:
    """What the base tables, and what they are read from, must satisfy."""
    return gx.ExpectationSuite(
        name="event log", expectations=[ExpectNoNegativeMultiplicity(), ExpectNetTablesToEqualLog()]
    )


def epoch_suite(epoch: int, members: Sequence[int]) -> gx.ExpectationSuite:
    """What the coordinators must have done for ``epoch`` to be complete."""
    complete = ExpectEpochsToBeComplete(epoch=epoch, members=list(members))
    return gx.ExpectationSuite(name="coordinators", expectations=[complete])
