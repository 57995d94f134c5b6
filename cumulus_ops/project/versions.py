"""Versions: the total order in which events count, packed into one sortable int64.

Cumulus paper, section 4.1: (epoch, coordinator, sequence), extended by the statement's index. The packing is

    epoch: 23 bits | coordinator priority: 8 | sequence: 25 | statement: 7

or, where a whole batch shares one place in the order, with a place for each relation in it,

    epoch: 23 bits | ticket: 28 | place: 12

Epochs of a minute last for 16 years. A place is the rank of a relation, or, from :data:`FIRST_STAGE` on, the stage of a derivation: two ranges, so that a
relation that is added later moves no derivation.

Which of them a program has, and what a read counts, is its version scheme (:mod:`cumulus_ops.coordination.schemes`). All bounds are
stated: :func:`epoch_end` is inclusive.
"""

from __future__ import annotations

from cumulus_ops.project.errors import InputProblem

__all__ = [
    "COORDINATORS_MAX",
    "EPOCHS_MAX",
    "FIRST_STAGE",
    "RANKS_MAX",
    "RANK_BITS",
    "SEQUENCES_MAX",
    "STATEMENTS_MAX",
    "STATEMENT_BITS",
    "TICKETS_MAX",
    "batch_version",
    "epoch_end",
    "epoch_of",
    "epoch_start",
    "event_version",
]


EPOCH_BITS, COORDINATOR_BITS, SEQUENCE_BITS, STATEMENT_BITS = 23, 8, 25, 7
TICKET_BITS, RANK_BITS = 28, 12
EPOCHS_MAX = 1 << EPOCH_BITS
COORDINATORS_MAX = 1 << COORDINATOR_BITS
SEQUENCES_MAX = 1 << SEQUENCE_BITS
STATEMENTS_MAX = 1 << STATEMENT_BITS
TICKETS_MAX = 1 << TICKET_BITS
RANKS_MAX = 1 << RANK_BITS
#: The place of the first derivation in a batch; relations have the places before it.
FIRST_STAGE = 1 << 10
EPOCH_SHIFT = COORDINATOR_BITS + SEQUENCE_BITS + STATEMENT_BITS  # = TICKET_BITS + RANK_BITS


def event_version(epoch: int, coordinator: int, sequence: int, statement: int = 0) -> int:
    """The version of one event (or of one of its statements)."""
    _require(epoch, EPOCHS_MAX, "epochs")
    _require(coordinator, COORDINATORS_MAX, "coordinators")
    _require(
        sequence,
        SEQUENCES_MAX,
        "events of one coordinator in one epoch",
        "land fewer rows in a drop: between drops, an epoch that becomes full ends by itself",
    )
    _require(statement, STATEMENTS_MAX, "statements in one trigger")
    return (((epoch << COORDINATOR_BITS | coordinator) << SEQUENCE_BITS) | sequence) << STATEMENT_BITS | statement


def batch_version(epoch: int, ticket: int, rank: int = 0) -> int:
    """The version that all events of one relation share in one batch of a summable program."""
    _require(epoch, EPOCHS_MAX, "epochs")
    _require(ticket, TICKETS_MAX, "batches in one epoch")
    _require(rank, RANKS_MAX, "relations and derivations in one program")
    return ((epoch << TICKET_BITS) | ticket) << RANK_BITS | rank


def epoch_start(epoch: int) -> int:
    """The lowest version of ``epoch`` (inclusive)."""
    return epoch << EPOCH_SHIFT


def epoch_end(epoch: int) -> int:
    """The highest version of ``epoch`` (inclusive); -1 for epoch -1, before everything."""
    return ((epoch + 1) << EPOCH_SHIFT) - 1


def epoch_of(version: int) -> int:
    """The epoch a version belongs to."""
    return version >> EPOCH_SHIFT


def _require(value: int, limit: int, what: str, hint: str = "") -> None:
    if not 0 <= value < limit:
        message = f"{value} is beyond the {limit} {what} a version can hold"
        raise InputProblem(message, kind="version-overflow", hint=hint)
