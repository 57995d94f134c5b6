"""`cumulus analyze`: which streams need coordination, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cumulus_ops.cli.options import JSON
from cumulus_ops.cli.output import print_json
from cumulus_ops.cli.problems import explained
from cumulus_ops.errors import InputProblem

if TYPE_CHECKING:
    from cumulus_ops.coordination.labelling.analysis import Analysis, Step
    from cumulus_ops.coordination.labelling.annotations import Dataflow
    from cumulus_ops.coordination.labelling.strategies import Coordination

__all__ = ["analyze"]

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
    with explained():
        if is_file:
            _analyze_file(_folded(what, folds), explain, svg, order, as_json)
        else:
            _analyze_project(what.parent if what.name == PROJECT_FILE else what, explain, svg, as_json)


def _folded(file: Path, folds: tuple[str, ...]) -> Dataflow:
    from cumulus_ops.coordination.labelling.annotation_file import read_dataflow
    from cumulus_ops.coordination.labelling.folding import fold

    dataflow = read_dataflow(file)
    for text in folds:
        name, _, group = text.partition("=")
        dataflow = fold(dataflow, [part.strip() for part in group.split(",") if part.strip()], name.strip())
    return dataflow


def _analyze_file(dataflow: Dataflow, explain: bool, svg: Path | None, order: str, as_json: bool) -> None:
    from cumulus_ops.coordination.labelling.analysis import analyse
    from cumulus_ops.coordination.labelling.strategies import coordinate

    analysis = analyse(dataflow)
    coordination = coordinate(dataflow, analysis, order)
    if as_json:
        print_json(_as_json(dataflow, analysis, coordination))
    else:
        click.echo(_as_text(dataflow, analysis, coordination, explain), nl=False)
    if svg is not None:
        _draw(dataflow, analysis, coordination, svg)


def _as_text(dataflow: Dataflow, analysis: Analysis, coordination: Coordination, explain: bool) -> str:
    from cumulus_ops.coordination.labelling import explanation

    if explain:
        return explanation.explain(dataflow, analysis, coordination)
    return "\n".join(explanation.summary(dataflow, analysis, coordination)) + "\n"


def _as_json(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> dict[str, Any]:
    from cumulus_ops.coordination.labelling.advice import advise

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


def _draw(dataflow: Dataflow, analysis: Analysis, coordination: Coordination, file: Path) -> None:
    from cumulus_ops.coordination.labelling.picture import to_svg

    try:
        file.write_text(to_svg(dataflow, analysis, coordination), encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that exists"
        raise InputProblem(f"cannot write it: {error.strerror}", kind="no-file", place=str(file), hint=hint) from error
    click.echo(f"wrote {file}", err=True)


def _analyze_project(folder: Path, explain: bool, svg: Path | None, as_json: bool) -> None:
    """The plan of a project's program, from its files: it need not be initialised."""
    from cumulus_ops.cli.planned import explained_plan, plan_as_json, plan_as_text, planned
    from cumulus_ops.config import load_project
    from cumulus_ops.coordination.labelling.analysis import analyse
    from cumulus_ops.coordination.labelling.strategies import coordinate

    project = load_project(folder)
    planning, plan = planned(project)
    if as_json:
        print_json(plan_as_json(project.name, plan))
    else:
        click.echo(explained_plan(planning, plan) if explain else plan_as_text(project.name, plan), nl=False)
    if svg is not None:
        analysis = analyse(planning.dataflow)
        _draw(planning.dataflow, analysis, coordinate(planning.dataflow, analysis), svg)
