"""The packing of versions: both kinds fill an epoch and no more."""

from __future__ import annotations

import pytest

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.versions import (
    COORDINATORS_MAX,
    EPOCHS_MAX,
    RANKS_MAX,
    SEQUENCES_MAX,
    STATEMENTS_MAX,
    TICKETS_MAX,
    batch_version,
    epoch_end,
    epoch_start,
    event_version,
)


def test_both_grains_fill_an_epoch_and_no_more() -> None:
    last_event = event_version(7, COORDINATORS_MAX - 1, SEQUENCES_MAX - 1, STATEMENTS_MAX - 1)
    last_batch = batch_version(7, TICKETS_MAX - 1, RANKS_MAX - 1)
    assert last_event == last_batch == epoch_end(7) == epoch_start(8) - 1
    assert batch_version(7, 0) == event_version(7, 0, 0) == epoch_start(7)
    assert epoch_end(EPOCHS_MAX - 1) == 2**63 - 1


def test_a_version_that_does_not_fit_is_an_error() -> None:
    for pack in (lambda: batch_version(0, TICKETS_MAX), lambda: batch_version(0, 0, RANKS_MAX)):
        with pytest.raises(InputProblem, match="beyond"):
            pack()
    with pytest.raises(InputProblem, match="statements"):
        event_version(0, 0, 0, STATEMENTS_MAX)
