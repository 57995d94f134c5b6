"""Version schemes: which program has which, the places within an event or batch, and what a batch reads of itself."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from cumulus_ops.coordination.schemes import BatchVersions, EventVersions, Place, VersionScheme, scheme_named
from cumulus_ops.project.versions import (
    RANKS_MAX,
    STATEMENTS_MAX,
    batch_version,
    epoch_end,
    epoch_of,
    epoch_start,
    event_version,
)

EVENT, BATCH = EventVersions(), BatchVersions()
both = pytest.mark.parametrize("scheme", [EVENT, BATCH], ids=lambda s: s.name)


@dataclass(frozen=True)
class Appended:
    epoch: int = 3
    coordinator: int = 1
    first_sequence: int = 5
    events: int = 4
    ticket: int | None = 9


@both
def test_a_scheme_is_known_by_its_name(scheme: VersionScheme) -> None:
    assert scheme_named(scheme.name) == scheme_named(scheme.name)
    assert scheme_named(scheme.name).summed is scheme.summed


@both
def test_derivations_come_last_in_their_event_or_batch(scheme: VersionScheme) -> None:
    first, _ = scheme.span(Appended())
    inside = np.array([first, first + 1, first + 2])
    assert scheme.stage(inside, 3).tolist() == [first + 3] * 3
    assert scheme.stage(first + 2, 3) == first + 3
    assert scheme.whole(inside).tolist() == [first] * 3
    assert first + 3 < first + scheme.places == scheme.whole(first + scheme.places)  # the next event or batch


@both
def test_the_start_is_below_all_epochs_and_has_stages_of_its_own(scheme: VersionScheme) -> None:
    assert scheme.whole(scheme.start) == scheme.start
    assert scheme.start < scheme.stage(scheme.start, 1) <= epoch_end(-1) == -1 < epoch_start(0)
    assert epoch_of(scheme.stage(scheme.start, 1)) == -1


def test_a_batch_spans_its_events_or_its_ticket() -> None:
    assert EVENT.span(Appended()) == (event_version(3, 1, 5), event_version(3, 1, 8, STATEMENTS_MAX - 1))
    assert BATCH.span(Appended()) == (batch_version(3, 9), batch_version(3, 9, RANKS_MAX - 1))
    assert EVENT.newest(Appended(), rank=2) == EVENT.span(Appended())[1]
    assert BATCH.newest(Appended(), rank=2) == batch_version(3, 9, 2) == BATCH.stamp(Appended(), rank=2)
    assert EVENT.stamp(Appended(), rank=2) is None


@both
def test_neighbours_do_not_overlap(scheme: VersionScheme) -> None:
    batches = [Appended(), Appended(first_sequence=9, ticket=10), Appended(coordinator=2, first_sequence=0, ticket=11)]
    spans = [scheme.span(b) for b in batches]
    assert all(last < first for (_, last), (first, _) in itertools.pairwise(spans))
    edges = np.array(
        [scheme.start, spans[0][0] - 1, spans[0][0], spans[0][1], spans[1][0], spans[2][1], spans[2][1] + 1]
    )
    assert scheme.within(edges, [batches[0], batches[2]]).tolist() == [True, False, True, True, False, True, False]


def test_events_may_read_each_other_and_batches_only_what_comes_earlier() -> None:
    orders, items = Place(0, 0), Place(1, 0)
    assert EVENT.reads_own(orders, False, items)
    assert EVENT.reads_own(orders, False, orders)
    assert BATCH.reads_own(items, False, orders)
    assert not BATCH.reads_own(orders, False, items)
    assert not BATCH.reads_own(orders, False, orders)
    assert BATCH.reads_own(orders, True, orders)  # AFTER
    assert not BATCH.reads_own(orders, True, items)
