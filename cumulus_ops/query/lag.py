"""How far each coordinator is behind what has come for it, and what keeps it: read off the landing folder and the catalog. Sources are not asked, for that may
cost their servers something; what waits in them is not known."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cumulus_ops.catalog import Catalog, Member, StandingSource, StepProblem
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.rhythm import Rhythm
from cumulus_ops.sources.landing import Landing

__all__ = ["Lag", "SourceState", "failing_steps", "lags", "overdue_members", "source_states", "standing_sources"]

#: An epoch that is over is to be sealed in as long a time as it took; short ones in this.
LEAST_PATIENCE = datetime.timedelta(minutes=1)


@dataclass(frozen=True)
class Lag:
    """A coordinator: the epoch that it has open, and what waits. ``drops`` are not in the log yet; ``batches`` with ``rows`` are, and not
    applied. ``oldest``: since when the oldest of the drops waits. ``overdue``: since when its epoch is over, if for so long that somebody should
    look why nobody seals it (:func:`overdue_members`); ``failing``: its steps that failed when they were tried last."""

    coordinator: int
    epoch: int
    holds_token: bool
    is_late: bool
    drains: bool
    drops: int
    oldest: datetime.datetime | None
    batches: int
    rows: int
    overdue: datetime.datetime | None = None
    failing: tuple[StepProblem, ...] = ()


def lags(project: Project, catalog: Catalog) -> Sequence[Lag]:
    """The coordinators that have an epoch to work in, in their order."""
    members = sorted(catalog.membership().active(), key=lambda m: m.coordinator)
    token, waiting, failing = catalog.token(), catalog.waiting_rows(), catalog.step_problems()
    overdue = overdue_members(project, catalog, members, Rhythm.of(project))
    return [
        replace(
            _lag(project, catalog, m, token, waiting.get(m.coordinator, (0, 0))),
            overdue=overdue.get(m.coordinator),
            failing=tuple(f for f in failing if f.coordinator == m.coordinator),
        )
        for m in members
    ]


def failing_steps(catalog: Catalog) -> tuple[StepProblem, ...]:
    """The steps that failed when they were tried last, the longest failing first; without those of coordinators that are gone."""
    failing = catalog.step_problems()
    members = {None, *(m.coordinator for m in catalog.membership().active())} if failing else set()
    return tuple(problem for problem in failing if problem.coordinator in members)


def overdue_members(
    project: Project, catalog: Catalog, members: Sequence[Member], rhythm: Rhythm
) -> Mapping[int, datetime.datetime]:
    """coordinator -> when its open epoch was to end, if that was so long ago that somebody should look why nobody seals it.

    Nobody is overdue while nothing has come for anybody since the newest snapshot: without Airflow an epoch is sealed when there is something in it. What
    waits in sources is not known, so it is taken to be something.
    """
    ends = {m.coordinator: (catalog.boundary(m.coordinator, m.epoch, rhythm).ends_at, m.epoch) for m in members}
    found = {who: at for who, (ends_at, epoch) in ends.items() if (at := _over_since(ends_at, epoch, rhythm))}
    return found if found and _something_waits(project, catalog, members) else {}


def _something_waits(project: Project, catalog: Catalog, members: Sequence[Member]) -> bool:
    if project.sources or catalog.has_uncommitted():
        return True
    return any(Landing(project, catalog, m.coordinator).waiting() for m in members)


def _over_since(ends_at: datetime.datetime, epoch: int, rhythm: Rhythm) -> datetime.datetime | None:
    if rhythm.is_over(epoch):
        return None
    waited = datetime.datetime.now(datetime.UTC) - ends_at
    return ends_at if waited > max(rhythm.length, LEAST_PATIENCE) else None


def _changed(drop: Path) -> datetime.datetime | None:
    """When a drop's folder got its name, as far as that can be seen now; None if it is gone."""
    try:
        return datetime.datetime.fromtimestamp(drop.stat().st_ctime, datetime.UTC)
    except OSError:
        return None


def _lag(project: Project, catalog: Catalog, member: Member, token: int, waiting: tuple[int, int]) -> Lag:
    who = member.coordinator
    landing = project.landing / str(who)
    arrived = [at for name in Landing(project, catalog, who).waiting() if (at := _changed(landing / name)) is not None]
    late, drains = member.awaited_since is not None, member.last is not None
    return Lag(who, member.epoch, who == token, late, drains, len(arrived), min(arrived, default=None), *waiting)


@dataclass(frozen=True)
class SourceState:
    """A source beside the landing folder. ``epoch``: the last that something of it is in, None if it has not begun; ``standing``: why it
    stands still, if it does."""

    name: str
    kind: str
    coordinator: int
    epoch: int | None
    standing: StandingSource | None


def source_states(project: Project, catalog: Catalog) -> list[SourceState]:
    """The sources that the project names, in its order."""
    standing, epochs = {s.source: s for s in standing_sources(project, catalog)}, catalog.last_epochs_of_sources()
    return [
        SourceState(s.name, s.kind, s.coordinator, epochs.get(s.name), standing.get(s.name)) for s in project.sources
    ]


def standing_sources(project: Project, catalog: Catalog) -> list[StandingSource]:
    """Those that stand still, in the project's order: who asked them last said so, or nobody asks them."""
    known = {s.source: s for s in catalog.standing_sources()} if project.sources else {}
    members = {m.coordinator for m in catalog.membership().active()}
    found = (_without_coordinator(s) if s.coordinator not in members else known.get(s.name) for s in project.sources)
    return [standing for standing in found if standing is not None]


def _without_coordinator(source: SourceSettings) -> StandingSource:
    who = source.coordinator
    hint = f"`cumulus coordinators add {who}`, or name another `coordinator:`"
    return StandingSource(source.name, f"there is no coordinator {who} to ask it\n  hint: {hint}", None)
