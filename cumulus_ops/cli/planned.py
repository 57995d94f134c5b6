"""`cumulus analyze PROJECT`: from when on the rows of a project's views are final, why, and what would change that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cumulus_ops.coordination.plan import AT_ONCE, SEALED, CoordinationPlan, ViewPlan

if TYPE_CHECKING:
    from cumulus_ops.config import Project
    from cumulus_ops.coordination.planning import Planning
    from m3 import Program

__all__ = ["explained_plan", "plan_as_json", "plan_as_text", "planned", "warning_of"]


def warning_of(project: Project, program: Program) -> str | None:
    """A line about the views of a program that wait for their epochs; None if none does."""
    from cumulus_ops.coordination.planning import plan_coordination
    from m3.confluence import prove

    return plan_coordination(replace(project, dataflow=None), program, prove(program)).warning


def planned(project: Project) -> tuple[Planning, CoordinationPlan]:
    """The plan that a project's files make, whether it is initialised or not.

    Raises:
        M3Error: a view, or the program, is wrong.
        InputProblem: the file about what becomes of the answers is.
    """
    from cumulus_ops.coordination.planning import Planning
    from cumulus_ops.engine import build_program
    from m3.confluence import prove

    program = build_program(project)
    planning = Planning(project, program, prove(program))
    return planning, planning.plan(planning.confluence.grain)


def plan_as_json(name: str, plan: CoordinationPlan) -> dict[str, Any]:
    """For programs to read."""
    return {"name": name, **asdict(plan)}


def plan_as_text(name: str, plan: CoordinationPlan) -> str:
    """What is final when, and advice for what waits."""
    lines = [*_views(plan.views), "", *_versions(plan), *_barriers(plan), *_advice(plan.views)]
    return "\n".join([f"{name}: {len(plan.views)} views", "", *lines]) + "\n"


def explained_plan(planning: Planning, plan: CoordinationPlan) -> str:
    """The same, with the reason for each view, each order and each barrier, and the derivation of the labels."""
    from cumulus_ops.coordination.labelling.analysis import analyse
    from cumulus_ops.coordination.labelling.explanation import explain
    from cumulus_ops.coordination.labelling.strategies import coordinate

    dataflow = planning.dataflow
    analysis = analyse(dataflow)
    blocks = [
        ["WHY", *(f"  {v.view}, {_when(v)}: {v.reason}" for v in plan.views)],
        ["EVENTS", *(f"  {v.relation}, versions by {v.grain}: {v.reason}" for v in plan.verdicts)],
        ["BARRIERS", *(f"  {b.name}, {b.about}: without it, {b.reason}" for b in plan.barriers)],
    ]
    said = "\n\n".join("\n".join(block) for block in blocks if len(block) > 1)
    return (
        f"{plan_as_text(planning.project.name, plan)}\n{said}\n\n"
        f"{explain(dataflow, analysis, coordinate(dataflow, analysis))}"
    )


def _views(views: Sequence[ViewPlan]) -> Iterator[str]:
    rows = [("view", "final", "without coordination", "with it")]
    rows += [(v.view, _when(v), v.label, v.coordinated) for v in views]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _when(view: ViewPlan) -> str:
    if view.final == AT_ONCE:
        return "at once"
    if view.final == SEALED:
        columns = tuple(dict.fromkeys(c for s in view.seals for c in s.columns))
        return f"when {' and '.join(columns)} {'is' if len(columns) == 1 else 'are'} sealed"
    return "with its epoch"


def _versions(plan: CoordinationPlan) -> Iterator[str]:
    yield f"versions by {plan.scheme}"
    for reason in dict.fromkeys(v.reason for v in plan.verdicts if v.grain == "event"):
        yield f"  {reason}"


def _barriers(plan: CoordinationPlan) -> Iterator[str]:
    names = [b.name if b.about == "the program" else f"{b.name} {b.about}" for b in plan.barriers]
    yield f"barriers: {', '.join(names)}"


def _advice(views: Iterable[ViewPlan]) -> Iterator[str]:
    for view in views:
        if view.advice is not None:
            yield f"advice for {view.view}: {view.advice}"
