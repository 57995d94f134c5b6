"""`cumulus analyze`: which streams need coordination, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cumulus_ops.cli.options import JSON, explain_errors
from cumulus_ops.cli.output import print_json, write_drawing
from cumulus_ops.coordination.labelling import explanation
from cumulus_ops.coordination.labelling.analysis import Analysis, Step, analyse
from cumulus_ops.coordination.labelling.annotations import Dataflow, read_dataflow
from cumulus_ops.coordination.labelling.explanation import explain, to_svg
from cumulus_ops.coordination.labelling.strategies import Coordination, advise, coordinate, fold
from cumulus_ops.coordination.plan import AT_ONCE, SEALED, CoordinationPlan, ViewPlan
from cumulus_ops.light import lazy_module
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project

if TYPE_CHECKING:
    from cumulus_ops.coordination import planning as coordination_planning
    from cumulus_ops.opening import compiling
    from m3.confluence import proof
    from m3.program import Program
else:  # a file with a dataflow has no program, and no catalog
    coordination_planning = lazy_module("cumulus_ops.coordination.planning")
    compiling = lazy_module("cumulus_ops.opening.compiling")
    proof = lazy_module("m3.confluence.proof")

__all__ = [
    "advice_of",
    "advice_on",
    "analyze",
    "explained_plan",
    "ordering_json",
    "ordering_lines",
    "plan_as_json",
    "plan_as_text",
    "plan_project",
]


# Whether the order of a program's events is free, for people and for scripts.


WIDTH = 116
BATCH = "by batch: an epoch's events may come in any order, and all of a relation in a batch are added up by key"
EVENT = "by event: each event reads what was stamped before it, because"


def ordering_lines(found: proof.Confluence) -> Iterator[str]:
    """What versions a program's events get, and why."""
    yield "VERSIONS"
    if found.grain == "batch":
        yield f"  {BATCH}"
        return
    yield f"  {EVENT}"
    for reason in found.reasons:
        yield from textwrap.wrap(reason, WIDTH, initial_indent="    ", subsequent_indent="      ")
    free = [v.relation for v in found.verdicts.values() if v.grain == "batch"]
    if free:
        yield from textwrap.wrap(f"the order of {', '.join(free)} would be free", WIDTH, initial_indent="    ")


def ordering_json(found: proof.Confluence) -> dict[str, object]:
    """The same for scripts: the program's grain and each relation's."""
    relations = {v.relation: {"grain": v.grain, "reason": v.reason} for v in found.verdicts.values()}
    return {"grain": found.grain, "confluent": found.is_confluent, "relations": relations}


# `cumulus analyze PROJECT`: from when on the rows of a project's views are final, why, and what would change that.


def advice_of(project: Project, program: Program) -> str | None:
    """A line about the views of a program that wait for their epochs and need not; see :func:`advice_on`."""
    return advice_on(
        project, coordination_planning.plan_coordination(replace(project, dataflow=None), program, proof.prove(program))
    )


def advice_on(project: Project, plan: CoordinationPlan) -> str | None:
    """The same of a plan. None, too, while the project promises nothing of what comes (no ``seals``, no ``insert_only``): almost any view would
    be final earlier if somebody sealed something, and who has not begun to is not asked to at each `init`; `cumulus analyze` says it."""
    return plan.advice if project.seals or project.insert_only else None


def plan_project(project: Project) -> tuple[coordination_planning.Planning, CoordinationPlan]:
    """The plan that a project's files make, whether it is initialised or not.

    Raises:
        M3Error: a view, or the program, is wrong.
        InputProblem: the file about what becomes of the answers is.
    """
    program = compiling.build_program(project)
    planning = coordination_planning.Planning(project, program, proof.prove(program))
    return planning, planning.plan(planning.confluence.grain)


def plan_as_json(name: str, plan: CoordinationPlan) -> dict[str, Any]:
    """For programs to read."""
    return {"name": name, **asdict(plan)}


def plan_as_text(name: str, plan: CoordinationPlan) -> str:
    """What is final when, and advice for what waits."""
    lines = [*_views(plan.views), "", f"versions by {plan.scheme}"]
    lines += [f"  {reason}" for reason in dict.fromkeys(v.reason for v in plan.verdicts if v.grain == "event")]
    barriers = [b.name if b.about == "the program" else f"{b.name} {b.about}" for b in plan.barriers]
    lines.append(f"barriers: {', '.join(barriers)}")
    lines += [f"advice for {view.view}: {view.advice}" for view in plan.views if view.advice is not None]
    return "\n".join([f"{name}: {len(plan.views)} views", "", *lines]) + "\n"


def explained_plan(planning: coordination_planning.Planning, plan: CoordinationPlan) -> str:
    """The same, with the reason for each view, each order and each barrier, and the derivation of the labels."""
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


#: A dataflow is written in a file that ends so; a project is a folder, or its project file.
SUFFIXES, PROJECT_FILE = (".yaml", ".yml"), "cumulus.yaml"


@click.command()
@click.argument(
    "what", type=click.Path(path_type=Path), default=Path("."), envvar="CUMULUS_PROJECT", metavar="[PROJECT|FILE.yaml]"
)
@click.option("--explain", is_flag=True, help="Every step of the derivation, with its reason.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture of the dataflow there.")
@click.option(
    "--order",
    type=click.Choice(["logged", "arrival"]),
    default="logged",
    show_default=True,
    help="Where order is needed: by the log, the same in every run; or by arrival, the same at every replica only.",
)
@click.option("--fold", "folds", multiple=True, metavar="NAME=A,B", help="Take components as a single one; repeat it.")
@JSON
def analyze(what: Path, explain: bool, svg: Path | None, order: str, folds: tuple[str, ...], as_json: bool) -> None:
    """Say where coordination is needed, and why: of a project, or of an annotated dataflow in FILE.yaml."""
    is_file = what.suffix in SUFFIXES and what.name != PROJECT_FILE
    if folds and not is_file:
        raise click.UsageError("--fold is about the components of FILE.yaml")
    with explain_errors():
        if is_file:
            dataflow = read_dataflow(what)
            for text in folds:
                name, _, group = text.partition("=")
                dataflow = fold(dataflow, [part.strip() for part in group.split(",") if part.strip()], name.strip())
            analysis = analyse(dataflow)
            coordination = coordinate(dataflow, analysis, order)
            if as_json:
                print_json(_as_json(dataflow, analysis, coordination))
            elif explain:
                click.echo(explanation.explain(dataflow, analysis, coordination), nl=False)
            else:
                click.echo("\n".join(explanation.summary(dataflow, analysis, coordination)))
            if svg is not None:
                write_drawing(svg, to_svg(dataflow, analysis, coordination))
        else:
            _analyze_project(what.parent if what.name == PROJECT_FILE else what, explain, svg, as_json)


def _as_json(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> dict[str, Any]:
    after = coordination.analysis
    streams = [
        {
            "name": stream.name,
            "source": edge.source if stream.source else None,
            "target": edge.target if stream.target else None,
            "label": str(analysis.labels[stream.name]),
            "coordinated": str(after.labels[stream.name]),
            "replicated": analysis.labels[stream.name].replicated,
            "strategy": edge.strategy,
            "order": edge.order,
            "key": list(edge.key),
            "vote": edge.vote,
            "reason": edge.reason,
        }
        for stream, edge in zip(dataflow.streams, coordination.edges, strict=True)
    ]
    return {
        "name": dataflow.name,
        "label": str(analysis.label),
        "coordinated": str(after.label),
        "streams": streams,
        "steps": [_step(step) for step in analysis.steps],
        "advice": list(advise(dataflow, analysis, coordination)),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "place": step.place,
        "rule": step.rule,
        "path": step.path or None,
        "inputs": [str(label) for label in step.inputs],
        "output": str(step.output),
        "reason": step.reason,
    }


def _analyze_project(folder: Path, explain: bool, svg: Path | None, as_json: bool) -> None:
    """The plan of a project's program, from its files: it need not be initialised."""
    project = load_project(folder)
    planning, plan = plan_project(project)
    if as_json:
        print_json(plan_as_json(project.name, plan))
    else:
        click.echo(explained_plan(planning, plan) if explain else plan_as_text(project.name, plan), nl=False)
    if svg is not None:
        analysis = analyse(planning.dataflow)
        write_drawing(svg, to_svg(planning.dataflow, analysis, coordinate(planning.dataflow, analysis)))
