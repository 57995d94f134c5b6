"""Where the coordinators are and when they move: a small file beside the state, for those who plan without asking the catalog.

Airflow's scheduler and its DAG files read it; what a task does, the catalog says. It is written whenever a coordinator has moved, epochs
were ended or members have changed. Without it, or where the state folder cannot be seen, the project's file is what there is to plan by.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["TIMELINE", "Stay", "read_timeline", "write_timeline"]

#: In the state folder.
TIMELINE = "timeline.json"


@dataclass(frozen=True)
class Stay:
    """A coordinator's time in the epoch that it has open: from ``begins_at`` (inclusive) to ``ends_at`` (exclusive); ``next_ends_at``: when the
    epoch after it is to end. ``gone``: it has sealed its last epoch; then all three are when that ended."""

    coordinator: int
    epoch: int
    begins_at: datetime.datetime
    ends_at: datetime.datetime
    next_ends_at: datetime.datetime
    gone: bool = False


def read_timeline(state: Path) -> dict[int, Stay]:
    """coordinator -> its stay; empty if there is no such file, or none that can be read."""
    try:
        entries = json.loads((state / TIMELINE).read_text(encoding="utf-8"))
        stays = [
            Stay(e["coordinator"], e["epoch"], **{n: _moment(e[n]) for n in MOMENTS}, gone=e.get("gone", False))
            for e in entries
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {stay.coordinator: stay for stay in stays}


MOMENTS = ("begins_at", "ends_at", "next_ends_at")


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)


def write_timeline(state: Path, stays: Sequence[Stay]) -> None:
    """Write the file anew, by one rename."""
    text = json.dumps([asdict(stay) for stay in stays], default=datetime.datetime.isoformat, indent=1)
    fresh = state / f".{TIMELINE}.{uuid.uuid4().hex}"
    fresh.write_text(text + "\n", encoding="utf-8")
    fresh.replace(state / TIMELINE)
