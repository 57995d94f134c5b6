"""Versions: the total order in which events count, packed into one sortable int64.

Cumulus paper, section 4.1: (epoch, coordinator, sequence), extended by the statement's index. The packing is

    epoch: 20 bits | coordinator priority: 8 | sequence: 28 | statement: 7

In a program whose events may be summed (see :mod:`cumulus_ops.coordination`) a whole batch shares one place in the
order: coordinator and sequence are replaced by the batch's 36-bit **ticket**, statement by the rank of the relation.
All bounds are stated: :func:`epoch_end` is inclusive.
"""

from __future__ import annotations

from cumulus_ops.errors import InputProblem

__all__ = [
    "COORDINATORS_MAX",
    "EPOCHS_MAX",
    "RANKS_MAX",
    "SEQUENCES_MAX",
    "TICKETS_MAX",
    "batch_version",
    "epoch_end",
    "epoch_of",
    "epoch_start",
    "event_version",
]

EPOCH_BITS, COORDINATOR_BITS, SEQUENCE_BITS, RANK_BITS = 20, 8, 28, 7
EPOCHS_MAX = 1 << EPOCH_BITS
COORDINATORS_MAX = 1 << COORDINATOR_BITS
SEQUENCES_MAX = 1 << SEQUENCE_BITS
TICKETS_MAX = 1 << (COORDINATOR_BITS + SEQUENCE_BITS)
RANKS_MAX = 1 << RANK_BITS
EPOCH_SHIFT = COORDINATOR_BITS + SEQUENCE_BITS + RANK_BITS


def event_version(epoch: int, coordinator: int, sequence: int, statement: int = 0) -> int:
    """The version of one event (or of one of its statements)."""
    _require(epoch, EPOCHS_MAX, "epochs")
    _require(coordinator, COORDINATORS_MAX, "coordinators")
    _require(sequence, SEQUENCES_MAX, "events of one coordinator in one epoch")
    _require(statement, RANKS_MAX, "statements in one trigger")
    return (((epoch << COORDINATOR_BITS | coordinator) << SEQUENCE_BITS) | sequence) << RANK_BITS | statement


def batch_version(epoch: int, ticket: int, rank: int = 0) -> int:
    """The version that all events of one relation share in one batch of a summable program."""
    _require(epoch, EPOCHS_MAX, "epochs")
    _require(ticket, TICKETS_MAX, "batches")
    _require(rank, RANKS_MAX, "relations in one program")
    return ((epoch << (COORDINATOR_BITS + SEQUENCE_BITS)) | ticket) << RANK_BITS | rank


def epoch_start(epoch: int) -> int:
    """The lowest version of ``epoch`` (inclusive)."""
    return epoch << EPOCH_SHIFT


def epoch_end(epoch: int) -> int:
    """The highest version of ``epoch`` (inclusive); -1 for epoch -1, before everything."""
    return ((epoch + 1) << EPOCH_SHIFT) - 1


def epoch_of(version: int) -> int:
    """The epoch a version belongs to."""
    return version >> EPOCH_SHIFT


def _require(value: int, limit: int, what: str) -> None:
    if not 0 <= value < limit:
        raise InputProblem(f"{value} is beyond the {limit} {what} a version can hold", kind="version-overflow")
