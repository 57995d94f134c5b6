"""`cumulus explain`: how maps are kept, how a large batch is spread over the tasks of a Spark job, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from cumulus_ops.cli.groups import GROUPS, GroupInfo, describe_groups, group_lines
from cumulus_ops.cli.ordering import ordering_json, ordering_lines
from cumulus_ops.cli.output import size_text
from cumulus_ops.config import Project
from cumulus_ops.engine import build_program
from cumulus_ops.errors import InputProblem
from cumulus_ops.layout import (
    ANYWHERE,
    REPLICATED,
    Label,
    ProgramPlan,
    Schedule,
    Shipment,
    Stage,
    check_layout,
    choose_layout,
    events_per,
    fixed_labels,
    levels,
    plan_program,
    schedule,
)
from m3.confluence import prove

__all__ = ["explain_layout", "layout_json", "plan_of", "relations_of", "scheduled", "touched_groups"]


def plan_of(project: Project) -> ProgramPlan:
    """The plan of what a project maintains, with its layout checked; nothing has to be initialised.

    Raises:
        M3Error: a view is wrong.
        InputProblem: the layout of the project file does not fit the program.
    """
    program = build_program(project)
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
        return [name for name in known if name in used]
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if name not in known:
            hint = f"known relations: {', '.join(known)}"
            raise InputProblem(
                f"no relation {name!r}", kind="unknown-relation", place=f"--relations {given}", hint=hint
            )
    return [name for name in known if name in wanted]


def scheduled(
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
    blocks = [
        _heading(stages, events),
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


def _heading(stages: Schedule, events: Mapping[str, float]) -> list[str]:
    total = sum(events.values())
    shares = ", ".join(f"{name} {count / total:.0%}" for name, count in events.items()) if total else "none"
    return [f"A BATCH OF {total:,.0f} EVENTS on {stages.layout.problem.tasks} tasks: {shares}"]


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
        yield f"  {number}  {_statements(stages, stage)}; levels {', '.join(map(str, places)) or 'none'}"
        yield from (f"     sends {line}" for line in _sent(stages, stage))
        yield from (f"     {line}" for line in _why(stages, stage, places))


def _statements(stages: Schedule, stage: Stage) -> str:
    counts: dict[str, int] = {}
    for group in stage.steps:
        for ref in group:
            relation = stages.layout.problem.statements[ref].relation
            counts[relation] = counts.get(relation, 0) + 1
    return ", ".join(f"{n} statement{'s' * (n > 1)} of {relation}" for relation, n in counts.items()) or "no statement"


def _sent(stages: Schedule, stage: Stage) -> Iterator[str]:
    for shipment in stage.sent:
        what = f"events of {shipment.name}" if shipment.kind == "events" else f"deltas of {shipment.name}"
        where = "to every task" if shipment.by == REPLICATED else _where(shipment.by)
        yield f"{what} {where}, about {size_text(_shipped(stages, stage, shipment))}"


def _shipped(stages: Schedule, stage: Stage, shipment: Shipment) -> float:
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
