"""The coordination report of a project: what has to be waited for and why, from when on answers are final, and which sealed values wait for whom."""

from __future__ import annotations

from typing import Any

from cumulus_ops.catalog import Catalog
from cumulus_ops.coordination.barriers import KINDS, PROGRAM, in_force, left_out
from cumulus_ops.coordination.plan import CoordinationPlan
from cumulus_ops.web.opened import Opened

__all__ = ["coordination_page", "plan_of"]

#: Values of each seal that are listed, the oldest first.
LISTED = 100


def coordination_page(found: Opened) -> dict[str, Any]:
    """The report's values."""
    with found.catalog() as catalog:
        plan = plan_of(catalog)
        members = sorted({m.coordinator for m in catalog.membership().active()})
        counts, waiting = catalog.seal_counts(), catalog.open_values(limit=LISTED)
    barriers = in_force(plan.barriers, len(members)) if plan else ()
    needless = left_out(barriers) if plan else {}
    return {
        "project": found.project.name,
        "plan": plan,
        "members": members,
        "kinds": KINDS,
        "whole": PROGRAM,
        "barriers": barriers,
        "left_out": needless,
        "counts": counts,
        "waiting": waiting,
        "limit": LISTED,
    }


def plan_of(catalog: Catalog) -> CoordinationPlan | None:
    """The plan as the project's steps follow it; None if the program was registered before there were plans."""
    text = catalog.program().coordination
    return None if text is None else CoordinationPlan.from_json(text)
