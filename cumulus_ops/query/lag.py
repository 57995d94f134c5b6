"""How far each coordinator is behind what has come for it: read off the landing folder and the catalog. Sources are not asked, for that may
cost their servers something; what waits in them is not known."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog import Catalog, Member, StandingSource
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.sources.landing import Landing

__all__ = ["Lag", "SourceState", "lags", "source_states", "standing_sources"]


@dataclass(frozen=True)
class Lag:
    """A coordinator: the epoch that it has open, and what waits. ``drops`` are not in the log yet; ``batches`` with ``rows`` are, and not
    applied. ``oldest``: since when the oldest of the drops waits."""

    coordinator: int
    epoch: int
    holds_token: bool
    is_late: bool
    drains: bool
    drops: int
    oldest: datetime.datetime | None
    batches: int
    rows: int


def lags(project: Project, catalog: Catalog) -> Sequence[Lag]:
    """The coordinators that have an epoch to work in, in their order."""
    members = sorted(catalog.membership().active(), key=lambda m: m.coordinator)
    token, waiting = catalog.token(), catalog.waiting_rows()
    return [_lag(project, catalog, m, token, waiting.get(m.coordinator, (0, 0))) for m in members]


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
