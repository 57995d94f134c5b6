"""What a project's DAGs have to wait for: the barriers of its plan, as far as they are in force with the coordinators there are.

Both are read from small files in the state folder, which the project's steps write; nothing is computed. Before they have, all is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulus_ops.config import Project
from cumulus_ops.coordination.barriers import (
    ALL,
    REFRESH,
    SETTLE,
    VALUE_SEAL,
    VALUE_VOTE,
    VOTE,
    in_force,
    left_out,
    waits_for_any,
)
from cumulus_ops.coordination.plan import Barrier
from cumulus_ops.coordination.stored import read_plan
from cumulus_ops.timeline import read_timeline

__all__ = ["Waits", "coordinators_of", "waits_of"]


@dataclass(frozen=True)
class Waits:
    """The ``planned`` barriers, who works, and how many coordinators may have something to wait for: those that are gone, too."""

    planned: tuple[Barrier, ...]
    coordinators: tuple[int, ...]
    ever: int

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Those that are in force."""
        return in_force(self.planned, self.ever)

    @property
    def left_out(self) -> dict[str, str]:
        """name -> why, of what is not waited for."""
        return left_out(self.planned, self.ever)

    def has(self, *names: str) -> bool:
        """Whether there is a barrier of one of the names."""
        return waits_for_any(self.barriers, *names)

    @property
    def votes(self) -> bool:
        """Whether several have to agree on the end of an epoch."""
        return self.has(VOTE)

    @property
    def commit_task(self) -> str:
        """The task that makes a snapshot, by all that it does.

        >>> Waits(ALL, (0, 1), 2).commit_task, Waits(ALL, (0,), 1).commit_task, Waits((), (0, 1), 2).commit_task
        ('correct_refresh_and_checkpoint', 'refresh_and_checkpoint', 'checkpoint')
        """
        before = [word for name, word in ((SETTLE, "correct"), (REFRESH, "refresh")) if self.has(name)]
        return "_".join([*before, "and", "checkpoint"] if before else ["checkpoint"])

    @property
    def seals(self) -> tuple[tuple[str, str], ...]:
        """The (relation, seal) by which rows of some view become final before their epoch ends."""
        found = (b.about.partition(".") for b in self.barriers if b.name in (VALUE_SEAL, VALUE_VOTE))
        return tuple((relation, seal) for relation, _, seal in found)


def waits_of(project: Project) -> Waits:
    """What the project's steps have written last. Who is gone still counts: its last vote may be awaited."""
    plan, timeline = read_plan(project.state), read_timeline(project.state)
    barriers = ALL if plan is None else plan.barriers
    return Waits(barriers, coordinators_of(project), len(timeline) or project.coordinators)


def coordinators_of(project: Project) -> tuple[int, ...]:
    """Who has an epoch to work in, as the project's steps have written it last; before they have, as many as its file says."""
    timeline = read_timeline(project.state)
    return tuple(sorted(c for c, stay in timeline.items() if not stay.gone)) or tuple(range(project.coordinators))
