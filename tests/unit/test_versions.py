"""The packing of versions: places within a batch or an event, and what lies below epoch 0."""

from __future__ import annotations

import numpy as np
import pytest

from cumulus_ops.errors import InputProblem
from cumulus_ops.versions import (
    COORDINATORS_MAX,
    EPOCHS_MAX,
    RANK_BITS,
    RANKS_MAX,
    SEQUENCES_MAX,
    STATEMENT_BITS,
    STATEMENTS_MAX,
    TICKETS_MAX,
    batch_version,
    epoch_end,
    epoch_of,
    epoch_start,
    event_version,
    stage_version,
    start_version,
    whole_version,
)


def test_both_grains_fill_an_epoch_and_no_more() -> None:
    last_event = event_version(7, COORDINATORS_MAX - 1, SEQUENCES_MAX - 1, STATEMENTS_MAX - 1)
    last_batch = batch_version(7, TICKETS_MAX - 1, RANKS_MAX - 1)
    assert last_event == last_batch == epoch_end(7) == epoch_start(8) - 1
    assert batch_version(7, 0) == event_version(7, 0, 0) == epoch_start(7)
    assert epoch_end(EPOCHS_MAX - 1) == 2**63 - 1


@pytest.mark.parametrize("bits", [RANK_BITS, STATEMENT_BITS])
def test_derivations_come_last_in_their_batch_or_event(bits: int) -> None:
    first = batch_version(3, 5) if bits == RANK_BITS else event_version(3, 1, 5)
    inside = np.array([first, first + 1, first + 2])
    assert stage_version(inside, bits, 3).tolist() == [first + 3] * 3
    assert stage_version(first + 2, bits, 3) == first + 3
    assert whole_version(inside, bits).tolist() == [first] * 3
    assert first + 3 < first + (1 << bits) == whole_version(first + (1 << bits), bits)  # the next batch or event


@pytest.mark.parametrize("bits", [RANK_BITS, STATEMENT_BITS])
def test_the_start_is_below_all_epochs_and_has_stages_of_its_own(bits: int) -> None:
    start = start_version(bits)
    assert whole_version(start, bits) == start
    assert start < stage_version(start, bits, 1) <= epoch_end(-1) == -1 < epoch_start(0)
    assert epoch_of(stage_version(start, bits, 1)) == -1


def test_a_version_that_does_not_fit_is_an_error() -> None:
    for pack in (lambda: batch_version(0, TICKETS_MAX), lambda: batch_version(0, 0, RANKS_MAX)):
        with pytest.raises(InputProblem, match="beyond"):
            pack()
    with pytest.raises(InputProblem, match="statements"):
        event_version(0, 0, 0, STATEMENTS_MAX)
