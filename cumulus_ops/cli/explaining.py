"""`cumulus explain`: how maps are kept, how a large batch is spread over the tasks of a Spark job, and why."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.analysing import ordering_json, ordering_lines
from cumulus_ops.cli.options import FOLDER, JSON, explain_errors
from cumulus_ops.cli.output import size_text
from cumulus_ops.layout.costs import ANYWHERE, REPLICATED, CopySizes, Label, events_per
from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.partitioning import check_layout, choose_layout, fixed_labels
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.layout.stages import Schedule, Shipment, Stage, levels, schedule
from cumulus_ops.light import lazy_module
from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from m3 import Program
from m3.clock import CLOCK
from m3.confluence.proof import prove
from m3.explain.report import view_maps

if TYPE_CHECKING:
    from cumulus_ops.opening import compiling
else:  # the catalog's library: others here explain without one
    compiling = lazy_module("cumulus_ops.opening.compiling")

__all__ = [
    "GROUPS",
    "CopyInfo",
    "GroupInfo",
    "describe_groups",
    "explain",
    "explain_layout",
    "group_lines",
    "layout_json",
    "plan_of",
    "relations_of",
    "rows_by_relation",
    "schedule_batch",
    "stored_groups",
    "touched_groups",
]


# How maps are kept: the groups of a plan, their copies, and the views that they serve.


GROUPS = (
    "GROUPS (maps whose entries come and go together are one table; each of its copies is sorted for other lookups)"
)
WIDTH = 116
#: So many views of a group are named.
VIEWS = 5


@dataclass(frozen=True)
class CopyInfo:
    """A copy: the key columns it is sorted ``by``; the one by whose values the entries of one lookup are ordered, if it is a
    text or a double; the key and value columns it keeps."""

    by: tuple[str, ...]
    order: str | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    bytes_per_row: int


@dataclass(frozen=True)
class GroupInfo:
    """A group: its key columns, the maps whose values it keeps, the views that are read from it or need it to be kept up, and
    its copies, the one with all columns first."""

    name: str
    keys: tuple[str, ...]
    maps: tuple[str, ...]
    views: tuple[str, ...]
    copies: tuple[CopyInfo, ...]


def stored_groups(
    program: Program, scheme: str, *, rows: Mapping[str, float], view: str | None = None
) -> list[GroupInfo]:
    """The groups in which a program's maps are kept; of one view, those that serve it."""
    groups = describe_groups(plan_program(program, scheme), rows)
    return [group for group in groups if view is None or view in group.views]


def describe_groups(
    plan: ProgramPlan, rows: Mapping[str, float], names: Iterable[str] | None = None
) -> list[GroupInfo]:
    """The groups of a plan, or those with the given names, in the plan's order.

    Args:
        plan: the plan.
        rows: rows by relation, where they are known better than the program knows them.
        names: the groups' names.
    """
    sizes, served = (
        CopySizes(plan, rows),
        {view.name: _find_needed(plan, view_maps(view)) for view in plan.program.views},
    )
    chosen = set(plan.groups if names is None else names)
    return [
        GroupInfo(
            name,
            plan.key_names(name),
            group.members,
            tuple(view for view, needed in served.items() if name in needed),
            tuple(_copy(group, path, sizes.row_bytes(path)) for path in plan.paths[name]),
        )
        for name, group in plan.groups.items()
        if name in chosen
    ]


def _find_needed(plan: ProgramPlan, maps: Iterable[str]) -> frozenset[str]:
    """The groups of maps, and all that are looked up to keep these up."""
    needed = frozenset(plan.group_of[name] for name in maps)
    while more := plan.looked_up(needed) - needed:
        needed |= more
    return needed


def _copy(group: Group, path: AccessPath, size: int) -> CopyInfo:
    names = tuple(key.name for key in group.keys)
    return CopyInfo(
        tuple(names[place] for place in path.bound),
        names[path.order] if path.order >= 0 and path.order not in path.bound else None,
        names if path.keys is None else tuple(names[place] for place in path.keys),
        group.members if path.values is None else path.values,
        size,
    )


def group_lines(groups: Sequence[GroupInfo]) -> Iterator[str]:
    """The groups for a person to read."""
    for group in groups:
        left = len(group.views) - VIEWS
        views = (
            ", ".join(group.views[:VIEWS]) + f" and {left} more" if left > 1 else ", ".join(group.views) or "no view"
        )
        yield from _wrap(f"{group.name}{_list(group.keys)}   (serves {views})", "  ", "    ")
        if len(group.maps) > 1:
            yield from _wrap(f"maps {', '.join(group.maps)}", "      ", "  ")
        for copy in group.copies:
            parts = [f"sorted by {_list(copy.by)}" if copy.by else "not sorted"]
            if copy.order is not None:
                parts.append(f"then by {copy.order}")
            if copy.keys != group.keys:
                parts.append(f"keys {_list(copy.keys)} only")
            if copy.values != group.maps:
                parts.append(f"values {', '.join(copy.values)} only" if copy.values else "no values")
            yield from _wrap(f"{', '.join(parts)}: about {copy.bytes_per_row} bytes a row", "      ", "  ")
    if not groups:
        yield "  none"


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _wrap(text: str, indent: str, hanging: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def plan_of(project: Project) -> ProgramPlan:
    """The plan of what a project maintains, with its layout checked; nothing has to be initialised.

    Raises:
        M3Error: a view is wrong.
        InputProblem: the layout of the project file does not fit the program.
    """
    program = compiling.build_program(project)
    plan = plan_program(program, prove(program).grain)
    check_layout(plan, project.layout)
    return plan


def relations_of(plan: ProgramPlan, given: str | None) -> list[str]:
    """``"orders,lineitem"`` as a list; without it, all relations whose events some statement takes.

    Raises:
        InputProblem: there is no such relation.
    """
    known = [r.name for r in plan.program.relations]
    used = {s.relation for name in plan.base for s in plan.statements[name]}
    if not given:
        return [name for name in known if name in used and name != CLOCK]  # a tick comes alone
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if name not in known:
            hint = f"known relations: {', '.join(known)}"
            raise InputProblem(
                f"no relation {name!r}", kind="unknown-relation", place=f"--relations {given}", hint=hint
            )
    return [name for name in known if name in wanted]


def schedule_batch(
    plan: ProgramPlan, project: Project, relations: Sequence[str], rows: Mapping[str, float], events: int, tasks: int
) -> tuple[Schedule, dict[str, float]]:
    """The stages of a batch of ``events`` events, in proportion to the tables, and how many are of each relation."""
    counts = events_per(plan, events, relations, rows)
    return schedule(choose_layout(plan, counts, tasks, fixed_labels(plan, project.layout), rows)), counts


def touched_groups(plan: ProgramPlan, relations: Iterable[str], rows: Mapping[str, float]) -> list[GroupInfo]:
    """The groups that events of ``relations`` may add to, and those that are looked up on the way."""
    added = plan.concerned(relations)
    return describe_groups(plan, rows, added | plan.looked_up(added))


def explain_layout(
    plan: ProgramPlan, project: Project, stages: Schedule, events: Mapping[str, float], groups: Sequence[GroupInfo]
) -> str:
    """The whole explanation as text: groups, needs, layout, stages, estimate."""
    total = sum(events.values())
    shares = ", ".join(f"{name} {count / total:.0%}" for name, count in events.items()) if total else "none"
    blocks = [
        [f"A BATCH OF {total:,.0f} EVENTS on {stages.layout.problem.tasks} tasks: {shares}"],
        [*ordering_lines(prove(plan.program))],
        [GROUPS, *group_lines(groups)],
        ["READ IN THE SAME BATCH (everything else comes from stored runs, which any task reads)", *_needs(stages)],
        *([[f"ONE TASK: {stages.layout.alone}"]] if stages.layout.alone else _spread(plan, project, stages, events)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _spread(
    plan: ProgramPlan, project: Project, stages: Schedule, events: Mapping[str, float]
) -> Iterator[Sequence[str]]:
    """How a batch is spread over tasks."""
    yield ["LAYOUT", *_labels(project, stages)]
    count, levels_ = len(stages.stages), len(_levels(plan, stages))
    yield [f"STAGES ({count} for {levels_} levels of the dataflow)", *_stages(plan, stages)]
    yield [_estimate(stages, events)]


def layout_json(stages: Schedule, events: Mapping[str, float], groups: Sequence[GroupInfo]) -> str:
    """The groups and the layout for scripts."""
    labels = {f"{kind}:{name}": list(label) for (kind, name), label in stages.layout.labels.items()}
    sent = [[{"kind": s.kind, "name": s.name, "by": list(s.by)} for s in stage.sent] for stage in stages.stages]
    found = {
        "events": dict(events),
        "versions": ordering_json(prove(stages.layout.problem.plan.program)),
        "groups": [asdict(group) for group in groups],
        "labels": labels,
        "sent": sent,
        "shuffled_bytes": stages.layout.bytes,
        "one_task": stages.layout.alone or None,
    }
    return json.dumps(found, indent=2)


def _needs(stages: Schedule) -> Iterator[str]:
    problem = stages.layout.problem
    found: dict[tuple[str, str, str], list[str]] = {}
    for need in problem.needs:
        consumer = problem.statements[need.consumer]
        keys = problem.plan.program.map_by_name[need.map].keys
        bound = ", ".join(keys[i].name for i in consumer.reads[need.read].places) or "nothing: all of it"
        sources = found.setdefault((consumer.relation, need.map, bound), [])
        if (source := problem.statements[need.producer].relation) not in sources:
            sources.append(source)
    for (relation, name, bound), sources in found.items():
        yield f"  {relation} reads {name} by {bound}; added by {', '.join(sources)}"
    if not found:
        yield "  nothing"


def _labels(project: Project, stages: Schedule) -> Iterator[str]:
    problem = stages.layout.problem
    settings = {"events": project.layout.events, "map": project.layout.maps}
    for (kind, name), label in sorted(stages.layout.labels.items()):
        why = ""
        if name in settings[kind]:
            why = f" (decided in {settings[kind][name].place.rpartition('/')[2]})"
        elif problem.labels[kind, name] == (REPLICATED,):
            why = " (small)"
        yield f"  {kind:6} {name}: {_where(label)}{why}"
    if not stages.layout.labels:
        yield "  events and deltas stay where they are"


def _where(label: Label) -> str:
    if label == REPLICATED:
        return "replicated"
    return "in the task that reads them" if label == ANYWHERE else f"by {', '.join(label)}"


def _levels(plan: ProgramPlan, stages: Schedule) -> list[tuple[str, ...]]:
    """The levels of the maps that the batch touches."""
    touched = {ref[0] for ref in stages.layout.problem.statements}
    return [level for level in levels(plan) if touched & set(level)]


def _stages(plan: ProgramPlan, stages: Schedule) -> Iterator[str]:
    depth = {name: i for i, level in enumerate(_levels(plan, stages), 1) for name in level}
    for number, stage in enumerate(stages.stages, 1):
        refs = [ref for group in stage.steps for ref in group]
        places = sorted({depth[ref[0]] for ref in refs})
        counts = Counter(stages.layout.problem.statements[ref].relation for ref in refs)
        statements = ", ".join(f"{n} statement{'s' * (n > 1)} of {relation}" for relation, n in counts.items())
        yield f"  {number}  {statements or 'no statement'}; levels {', '.join(map(str, places)) or 'none'}"
        yield from (f"     sends {line}" for line in _sent(stages, stage))
        yield from (f"     {line}" for line in _why(stages, stage, places))


def _sent(stages: Schedule, stage: Stage) -> Iterator[str]:
    for shipment in stage.sent:
        what = f"events of {shipment.name}" if shipment.kind == "events" else f"deltas of {shipment.name}"
        where = "to every task" if shipment.by == REPLICATED else _where(shipment.by)
        yield f"{what} {where}, about {size_text(_count_shipped(stages, stage, shipment))}"


def _count_shipped(stages: Schedule, stage: Stage, shipment: Shipment) -> float:
    problem = stages.layout.problem
    if shipment.kind == "events":
        return problem.move_cost(shipment.name, shipment.by)
    refs = [ref for ref in stage.away if ref[0] == shipment.name]
    events = [stages.layout.label("events", problem.statements[ref].relation) for ref in refs]
    return sum(problem.pair_cost(ref, label, shipment.by) for ref, label in zip(refs, events, strict=True))


def _why(stages: Schedule, stage: Stage, places: Sequence[int]) -> Iterator[str]:
    """Why levels are one stage, and what is settled in rounds."""
    for cycle in sorted(stage.cycles):
        names = ", ".join(dict.fromkeys(name for name, _ in cycle))
        yield f"cycle: {names}, in each task in rounds until nothing changes"
    for name in sorted({ref[0] for ref in stage.local}):
        events = sorted({stages.layout.problem.statements[ref].relation for ref in stage.local if ref[0] == name})
        labels = ", ".join(f"{e} {_where(stages.layout.label('events', e))}" for e in events)
        yield f"fused over {name}: it is wanted {_where(stages.layout.label('map', name))}, and comes from {labels}: the same task"
    if len(places) > 1 and not stage.local:
        yield "fused: none of these statements reads what another one here adds"


def _estimate(stages: Schedule, events: Mapping[str, float]) -> str:
    total = sum(events.values())
    each = stages.layout.bytes * 1e6 / total if total else 0.0
    if len(stages.stages) == 1:
        return "ESTIMATE: nothing is sent between tasks"
    return f"ESTIMATE: {size_text(each)} sent between tasks per 1 M events"


def rows_by_relation(project: Project, given: tuple[str, ...]) -> dict[str, float]:
    """``("orders=1500000",)`` as a mapping.

    Raises:
        InputProblem: it is not ``relation=number``, or there is no such relation.
    """
    return dict(_rows({r.name for r in project.relations}, text) for text in given)


def _rows(known: set[str], text: str) -> tuple[str, float]:
    name, _, count = text.partition("=")
    hint = "write --rows orders=1500000"
    if name not in known:
        hint = f"known relations: {', '.join(sorted(known))}"
        raise InputProblem(f"no relation {name!r}", kind="unknown-relation", place=f"--rows {text}", hint=hint)
    try:
        rows = float(count)
    except ValueError:
        rows = -1.0
    if not 0 <= rows < float("inf"):
        raise InputProblem(f"{count!r} is not a number of rows", kind="bad-rows", place=f"--rows {text}", hint=hint)
    return name, rows


@click.command()
@FOLDER
@click.option("--relations", metavar="A,B", help="A batch with events of these relations only.")
@click.option("--rows", multiple=True, metavar="RELATION=N", help="Rows of a relation, for the estimates; repeat it.")
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Events of the batch.")
@click.option("--tasks", type=click.IntRange(min=2), default=4, show_default=True, help="Tasks of the Spark job.")
@JSON
def explain(folder: Path, relations: str | None, rows: tuple[str, ...], events: int, tasks: int, as_json: bool) -> None:
    """Show how the maps of PROJECT are kept, and how a large batch is spread over the tasks of a Spark job: which maps are
    partitioned by what or replicated, what is sent in which stage, and how many bytes. `layout:` in cumulus.yaml overrides
    it."""
    with explain_errors():
        project = load_project(folder)
        plan, sizes = plan_of(project), rows_by_relation(project, rows)
        chosen = relations_of(plan, relations)
        stages, counts = schedule_batch(plan, project, chosen, sizes, events, tasks)
        groups = touched_groups(plan, chosen, sizes)
    if as_json:
        click.echo(layout_json(stages, counts, groups))
    else:
        click.echo(explain_layout(plan, project, stages, counts, groups), nl=False)
