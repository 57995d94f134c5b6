"""What staggering costs a project, by its own epochs.

Under versions by event staggering is fair: each coordinator's events count first for as long as any other's (Cumulus paper, section 4.2). Under versions by
batch nobody gets anything for it: within an epoch batches count as they are applied, and a coordinator that is in the next epoch already is corrected for
all that the others still apply. How much that is depends on the data, so it is counted, and not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from cumulus_ops.catalog import AppliedBatch
from cumulus_ops.coordination.barriers import SETTLE, waits_for
from cumulus_ops.engine import Runtime

__all__ = ["StaggeringCost", "staggering_cost"]

#: So many of the latest epochs are looked at.
EPOCHS = 8
#: Fewer corrected entries per event are not worth a word.
WORTH_SAYING = 0.01


@dataclass(frozen=True)
class StaggeringCost:
    """Of the epochs ``first`` to ``last``: of so many ``batches``, ``ahead`` had not read others that count before them because these were in the epoch
    before, in time; ``beside``: had not read others of their own epoch. ``corrections`` are corrected map entries, of all causes."""

    first: int
    last: int
    batches: int
    ahead: int
    beside: int
    events: int
    corrections: int

    def __str__(self) -> str:
        return (
            f"in epochs {self.first} to {self.last} {self.ahead:,} of {self.batches:,} batches were applied an epoch ahead of others that count before them "
            f"({self.beside:,} beside others of their epoch): {self.corrections:,} corrected entries for {self.events:,} events. Versions are by batch, so "
            "nobody gets anything for it: `epochs: {transitions: aligned}` in cumulus.yaml spares it"
        )


def staggering_cost(rt: Runtime) -> StaggeringCost | None:
    """What staggering has cost in the latest epochs that have snapshots; None where it does not matter, has a reason, or costs next to nothing."""
    is_free = rt.plan.versions.takes_turns or not waits_for(rt.coordination, SETTLE)
    last = rt.catalog.newest_snapshot()
    if is_free or not rt.project.epoch.staggered or last < 0 or len(rt.catalog.membership().of(last)) < 2:
        return None
    first = max(0, last - EPOCHS + 1)
    applied = rt.catalog.applied_batches(max(0, first - 1), last)
    batches = [b for b in applied if b.epoch >= first]
    ahead, beside = _ahead(applied, first), _beside(batches)
    numbers = rt.catalog.epoch_numbers(first, last)
    events, corrections = (sum(x) for x in ([n.inserts + n.deletes for n in numbers], [n.corrections for n in numbers]))
    if ahead <= beside or corrections < WORTH_SAYING * events:
        return None
    return StaggeringCost(first, last, len(batches), ahead, beside, events, corrections)


def _ahead(applied: Sequence[AppliedBatch], first: int) -> int:
    """How many batches, of the epochs from ``first`` on, have not read one of an earlier epoch, committed while that epoch was its coordinator's. Who
    is later than that would be late in aligned epochs, too."""
    newest = -1  # commit of earlier epochs
    found = 0
    for epoch, group in _grouped(applied):
        batches = list(group)
        found += sum(b.read_at < newest for b in batches if epoch >= first)
        newest = max([newest, *(b.commit for b in batches if b.in_time)])
    return found


def _beside(batches: Sequence[AppliedBatch]) -> int:
    """How many have not read one of their own epoch that counts before them."""
    found = 0
    for _, group in _grouped(batches):
        by_ticket = sorted(group, key=lambda b: b.ticket)
        before = accumulate((b.commit for b in by_ticket), max, initial=-1)
        found += sum(b.read_at < newest for b, newest in zip(by_ticket, before, strict=False))
    return found


def _grouped(batches: Sequence[AppliedBatch]) -> Iterable[tuple[int, Iterable[AppliedBatch]]]:
    return groupby(sorted(batches, key=lambda b: b.epoch), key=lambda b: b.epoch)
