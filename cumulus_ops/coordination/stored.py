"""The plan as a file beside the state: for those who plan without asking the catalog, which has it, too (compare :mod:`cumulus_ops.timeline`)."""

from __future__ import annotations

import uuid
from pathlib import Path

from cumulus_ops.coordination.plan import CoordinationPlan

__all__ = ["COORDINATION", "read_plan", "write_plan"]

#: In the state folder.
COORDINATION = "coordination.json"


def read_plan(state: Path) -> CoordinationPlan | None:
    """The plan; None if there is no such file, or none that can be read."""
    try:
        return CoordinationPlan.from_json((state / COORDINATION).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_plan(state: Path, plan: CoordinationPlan) -> None:
    """Write the file anew, by one rename; one that says the same is left alone."""
    if read_plan(state) != plan:
        state.mkdir(parents=True, exist_ok=True)
        fresh = state / f".{COORDINATION}.{uuid.uuid4().hex}"
        fresh.write_text(plan.to_json() + "\n", encoding="utf-8")
        fresh.replace(state / COORDINATION)
