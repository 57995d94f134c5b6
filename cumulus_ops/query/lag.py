"""How far each coordinator is behind what has landed for it: read off the landing folder and the catalog."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog import Catalog, Member
from cumulus_ops.config import Project
from cumulus_ops.sources.landing import Landing

__all__ = ["Lag", "lags"]


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
