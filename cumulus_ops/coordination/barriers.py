"""Barriers: what has to be waited for, before which step, and what is seen where somebody does not wait.

A plan names the barriers that its program needs (:func:`barriers_of`). The steps' guards and the tasks of the generated DAGs both follow from
those names and from nothing else: a guard that the plan does not name is not asked, and what it would wait for is not done. How
many coordinators there are, changes while a project runs; so a plan names what a program needs with several of them, and
:func:`in_force` says what is left of that with one. Steps ask the catalog who takes part, and never rely on a DAG.

Not among them: what is refused because somebody else was faster (that is a Conflict, tried again), the order of epochs (one process
commits them one after the other), and the **token**, which says who moves first. It delays moves, and no answer depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cumulus_ops.coordination.plan import SEALED, Barrier, CoordinationPlan, ViewPlan

if TYPE_CHECKING:
    from cumulus_ops.project.settings import SealSettings
    from m3.program import Program

__all__ = [
    "ALL",
    "APPLIED",
    "CHECKPOINT",
    "KINDS",
    "PROGRAM",
    "REFRESH",
    "SETTLE",
    "SINGLE_VOTE",
    "VALUE_SEAL",
    "VALUE_VOTE",
    "VOTE",
    "Kind",
    "barriers_of",
    "in_force",
    "left_out",
    "waits_for",
    "waits_for_any",
    "without",
]

SINGLE_VOTE, VOTE, APPLIED, SETTLE, REFRESH, CHECKPOINT = (
    "single-vote",
    "vote",
    "applied",
    "settle",
    "refresh",
    "checkpoint",
)
VALUE_SEAL, VALUE_VOTE = "value-seal", "value-vote"
#: What most barriers are about; the others are about a seal, ``relation.seal``.
PROGRAM = "the program"


@dataclass(frozen=True)
class Kind:
    """A kind of barrier: ``step`` waits until ``waits_for`` is true; ``anomaly``: what is seen if it does not; ``needless``: of which programs
    that is never seen."""

    step: str
    waits_for: str
    anomaly: str
    needless: str


KINDS: Mapping[str, Kind] = {
    SINGLE_VOTE: Kind(
        "checkpoint",
        "the only coordinator has voted to end the epoch",
        "a snapshot without events that are stamped into its epoch later",
        "there are several coordinators, and all have to agree",
    ),
    VOTE: Kind(
        "checkpoint",
        "every coordinator that takes part in the epoch has voted to end it",
        "a snapshot without events that one who has not voted stamps into its epoch later",
        "there is one coordinator, and its vote is enough",
    ),
    APPLIED: Kind(
        "vote, checkpoint and finalise",
        "all batches that are appended are applied, or set aside",
        "a snapshot, or a final partition, without a batch that is in the log",
        "never",
    ),
    SETTLE: Kind(
        "checkpoint and finalise",
        "every batch has been corrected for what counts before it, and came after it",
        "a snapshot without the pairs of two batches that were applied side by side, or with them twice",
        "no trigger reads a map that events write",
    ),
    REFRESH: Kind(
        "checkpoint and finalise",
        "derived maps are refreshed with all that was committed",
        "a snapshot in which what is derived (MIN, DISTINCT, HAVING, ...) is older than what it is derived from",
        "the program has no derived maps",
    ),
    CHECKPOINT: Kind(
        "publish and validate",
        "the epoch has its checkpoint",
        "a published table of an epoch that differs from the epoch's snapshot",
        "never",
    ),
    VALUE_SEAL: Kind(
        "finalise",
        "the value's only producer has sealed it",
        "a partition that is called final, and then changes",
        "several may produce into a value, and all have to agree",
    ),
    VALUE_VOTE: Kind(
        "finalise",
        "every producer of the value has sealed it",
        "a partition that is called final, and then changes, by events of a producer that had not sealed it",
        "no view is final by a seal",
    ),
}
#: What is waited for in a project of which nothing is known yet.
ALL = tuple(Barrier(name, PROGRAM, KINDS[name].anomaly) for name in (VOTE, APPLIED, SETTLE, REFRESH, CHECKPOINT))


def barriers_of(
    program: Program, seals: Mapping[str, Sequence[SealSettings]], views: Sequence[ViewPlan]
) -> tuple[Barrier, ...]:
    """What a program needs, however many coordinators there are.

    Args:
        program: the checked program.
        seals: relation -> its seals, as declared.
        views: from when on rows of its views are final.
    """
    barriers = [Barrier(name, PROGRAM, KINDS[name].anomaly) for name in (VOTE, APPLIED)]
    pair = next(_find_reads_of_written(program), None)
    if pair is not None:  # another batch may add to what a trigger reads at the same time
        event, name, target = pair
        barriers.append(Barrier(SETTLE, PROGRAM, f"{KINDS[SETTLE].anomaly}: on {event}, {target} reads {name}"))
    if program.derivations:
        names = ", ".join(d.map for d in program.derivations[:3]) + (", ..." if len(program.derivations) > 3 else "")
        barriers.append(Barrier(REFRESH, PROGRAM, f"{KINDS[REFRESH].anomaly}; here {names}"))
    barriers.append(Barrier(CHECKPOINT, PROGRAM, KINDS[CHECKPOINT].anomaly))
    # One for each seal by which rows of some view become final.
    used = {(s.relation, s.seal): v.view for v in reversed(views) if v.final == SEALED for s in v.seals}
    for relation, declared in seals.items():
        for seal in declared:
            if (relation, seal.name) in used:
                name = VALUE_SEAL if seal.producers == "one" else VALUE_VOTE
                reason = f"{KINDS[name].anomaly}; {used[relation, seal.name]} is final by it"
                barriers.append(Barrier(name, f"{relation}.{seal.name}", reason))
    return tuple(barriers)


def _find_reads_of_written(program: Program) -> Iterator[tuple[str, str, str]]:
    """(event, map read, map written) of the statements of events that read a map that the events of some batch write."""
    from m3.dataflow import derivation_ranks

    ranks = derivation_ranks(program)
    triggers = [t for t in program.triggers if t.sign != 0 and t.relation]
    written = {s.target for t in triggers for s in t.statements}
    for trigger in triggers:
        for statement in trigger.statements:
            for read in statement.reads():
                # what is behind derived maps is refresh's, which corrects by itself
                if ranks[statement.target] == 0 and read.map in written:
                    yield trigger.event, read.map, statement.target


def in_force(barriers: Sequence[Barrier], coordinators: int) -> tuple[Barrier, ...]:
    """What is left of a plan's barriers with so many coordinators: one's batches are applied one after the other, and its vote is enough.

    >>> [b.name for b in in_force(ALL, 1)]
    ['single-vote', 'applied', 'refresh', 'checkpoint']
    """
    if coordinators > 1:
        return tuple(barriers)
    alone = {VOTE: SINGLE_VOTE, VALUE_VOTE: VALUE_SEAL}
    renamed = ((b, alone.get(b.name)) for b in barriers if b.name != SETTLE)
    return tuple(b if name is None else Barrier(name, b.about, KINDS[name].anomaly) for b, name in renamed)


def left_out(barriers: Sequence[Barrier], coordinators: int) -> dict[str, str]:
    """name -> why, of what a plan's program does without, with so many coordinators. A vote of all says more than a single one, so that is not missing then.

    >>> left_out(ALL, 1)
    {'vote': 'there is one coordinator, and its vote is enough', \
'settle': 'there is one coordinator, and its batches are applied one after the other', 'value-vote': 'no view is final by a seal'}
    """
    force = {b.name for b in in_force(barriers, coordinators)}
    found = {name: kind.needless for name, kind in KINDS.items() if name not in force | {SINGLE_VOTE, VALUE_SEAL}}
    if waits_for_any(barriers, SETTLE) and SETTLE in found:
        found[SETTLE] = "there is one coordinator, and its batches are applied one after the other"
    if VALUE_SEAL in force and VALUE_VOTE in found:
        found[VALUE_VOTE] = "each value has one producer, and its seal is enough"
    return found


def waits_for(plan: CoordinationPlan, *names: str) -> bool:
    """Whether a plan has a barrier of one of the names: what guards ask."""
    return waits_for_any(plan.barriers, *names)


def waits_for_any(barriers: Sequence[Barrier], *names: str) -> bool:
    """Whether there is a barrier of one of the names."""
    return any(barrier.name in names for barrier in barriers)


def without(plan: CoordinationPlan, names: Collection[str]) -> CoordinationPlan:
    """A plan with some barriers left out. For tests: what they then see is why the barrier is there."""
    return replace(plan, barriers=tuple(b for b in plan.barriers if b.name not in names))
