"""The coordination report of a project: what has to be waited for and why, from when on answers are final, and which sealed values wait for whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.coordination.barriers import KINDS, PROGRAM, in_force, left_out
from cumulus_ops.coordination.plan import CoordinationPlan
from cumulus_ops.web.opened import Opened, program_of
from cumulus_ops.yaml_nodes import read_text

__all__ = ["coordination_page", "coordination_picture"]

#: Values of each seal that are listed, the oldest first.
LISTED = 100


def coordination_page(found: Opened) -> dict[str, Any]:
    """The report's values."""
    with found.catalog() as catalog:
        plan = _plan_of(catalog)
        members = sorted({m.coordinator for m in catalog.membership().active()})
        counts, waiting = catalog.seal_counts(), catalog.open_values(limit=LISTED)
        finals = catalog.final_counts()
    barriers = in_force(plan.barriers, len(members)) if plan else ()
    needless = left_out(plan.barriers, len(members)) if plan else {}
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
        "finals": finals,
        "limit": LISTED,
    }


def coordination_picture(found: Opened) -> str:
    """The dataflow that was analysed, coloured by the labels that its streams have without coordination."""
    with found.catalog() as catalog:
        compiled = catalog.program().compiled
    project = found.project
    file = "" if project.dataflow is None else read_text(project.dataflow)
    return _picture(_Drawn((compiled, repr((project.seals, project.insert_only)), file), project))


@dataclass(frozen=True)
class _Drawn:
    """What a picture shows; equal if what it is drawn from is, so that it is drawn once."""

    source: tuple[str, str, str]
    project: Project = field(compare=False)


@lru_cache(8)
def _picture(drawn: _Drawn) -> str:
    from cumulus_ops.coordination.labelling.analysis import analyse
    from cumulus_ops.coordination.labelling.picture import to_svg
    from cumulus_ops.coordination.labelling.strategies import coordinate
    from cumulus_ops.coordination.planning import Planning
    from m3.confluence import prove

    program = program_of(drawn.source[0])
    dataflow = Planning(drawn.project, program, prove(program)).dataflow
    analysis = analyse(dataflow)
    return to_svg(dataflow, analysis, coordinate(dataflow, analysis))


def _plan_of(catalog: Catalog) -> CoordinationPlan | None:
    """The plan as the project's steps follow it; None if the program was registered before there were plans."""
    text = catalog.program().coordination
    return None if text is None else CoordinationPlan.from_json(text)
