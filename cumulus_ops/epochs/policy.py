"""What a coordinator does next in its epoch: one policy, which `cumulus run` and the tasks of Airflow carry out.

How long an epoch lasts differs between them: by the clock, by periods, or until nothing is left. That is in the look at each coordinator; what
follows from it is the same (Cumulus paper, section 4.2: an epoch's work, then the vote, in the order of the token).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

__all__ = ["Action", "Standing", "next_action"]


class Action(Enum):
    """What there is to do: take the coordinator's next drop or batch, let it vote to end its epoch, or wait for others, or for the clock."""

    APPLY = "apply"
    VOTE = "vote"
    WAIT = "wait"


@dataclass(frozen=True)
class Standing:
    """Where a coordinator stands at one look. ``has_work``: a batch is to be applied, or something has come that belongs to the epoch that it has
    open; ``is_over``: nothing that comes from now on belongs to that epoch."""

    coordinator: int
    has_work: bool
    is_over: bool

    def without_work(self) -> Standing:
        """The same, after somebody has tried: what waits cannot be taken yet."""
        return replace(self, has_work=False)


def next_action(standings: Sequence[Standing], holder: int) -> tuple[Action, int]:
    """What is next, and for whom: work comes before votes, so that an epoch has all that belongs to it; only the holder of the token votes.

    >>> early, late = Standing(0, has_work=False, is_over=True), Standing(1, has_work=True, is_over=True)
    >>> next_action([early, late], holder=0)
    (<Action.APPLY: 'apply'>, 1)
    >>> next_action([early, late.without_work()], holder=0)
    (<Action.VOTE: 'vote'>, 0)
    >>> next_action([replace(early, is_over=False), late.without_work()], holder=0)
    (<Action.WAIT: 'wait'>, 0)

    Args:
        standings: those that are looked after here, in the order in which their work is done.
        holder: who has the token.
    """
    for standing in standings:
        if standing.has_work:
            return Action.APPLY, standing.coordinator
    may_vote = any(standing.coordinator == holder and standing.is_over for standing in standings)
    return (Action.VOTE if may_vote else Action.WAIT), holder
