"""The ``layout:`` of a project file, checked against the program and turned into labels."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from cumulus_ops.config import LayoutChoice, LayoutSettings
from cumulus_ops.errors import InputProblem
from cumulus_ops.layout.costs import ANYWHERE, REPLICATED, Label, Labels, Node, pose
from cumulus_ops.layout.estimates import Estimates
from cumulus_ops.layout.partitioning import choose_labels, impossible, unmet_needs
from cumulus_ops.layout.plans import ProgramPlan

__all__ = ["check_layout", "fixed_labels"]


def fixed_labels(plan: ProgramPlan, settings: LayoutSettings) -> Labels:
    """The labels that a project file decides on. What it says of a map counts for the map's group."""
    labels: dict[Node, Label] = {
        ("map", plan.group_of[name]): _map_label(plan, name, choice) for name, choice in settings.maps.items()
    }
    return labels | {("events", name): c.columns or ANYWHERE for name, c in settings.events.items()}


def _map_label(plan: ProgramPlan, name: str, choice: LayoutChoice) -> Label:
    """The columns of a choice, as the group calls them."""
    own = [key.name for key in plan.program.map_by_name[name].keys]
    group = plan.groups[plan.group_of[name]]
    places = group.places(name)
    return tuple(group.keys[places[own.index(column)]].name for column in choice.columns) or REPLICATED


def check_layout(plan: ProgramPlan, settings: LayoutSettings) -> None:
    """Check a project's layout against its program.

    Raises:
        InputProblem: there is no such map, relation or column, or batches with all relations have no layout left.
    """
    maps = {m.name: [k.name for k in m.keys] for m in plan.program.maps if plan.group_of[m.name] in plan.base}
    relations = {r.name: [c.name for c in r.columns] for r in plan.program.relations}
    _check_names("map", maps, settings.maps)
    _check_names("relation", relations, settings.events)
    _check_groups(plan, settings)
    if settings.maps or settings.events:
        _check_reads(plan, settings)


def _check_groups(plan: ProgramPlan, settings: LayoutSettings) -> None:
    """Maps that are kept together cannot be apart."""
    seen: dict[str, tuple[str, Label]] = {}
    for name, choice in settings.maps.items():
        label = _map_label(plan, name, choice)
        other, known = seen.setdefault(plan.group_of[name], (name, label))
        if known != label:
            raise InputProblem(
                f"layout: {other} and {name} are kept in one group, and have different places",
                kind="layout-group",
                place=choice.place,
                hint="leave one of the two out",
            )


def _check_reads(plan: ProgramPlan, settings: LayoutSettings) -> None:
    relations = [r.name for r in plan.program.relations]
    problem = pose(plan, relations, Estimates(plan, dict.fromkeys(relations, 1e9)), 2, fixed_labels(plan, settings))
    labels = choose_labels(problem)
    for need in unmet_needs(problem, labels):
        relation = problem.statements[need.consumer].relation
        chosen = [c for name, c in settings.maps.items() if plan.group_of[name] == need.map]
        choice = chosen[0] if chosen else settings.events[relation]
        raise impossible(problem, labels, need, choice.place)


def _check_names(what: str, known: Mapping[str, Iterable[str]], choices: Mapping[str, LayoutChoice]) -> None:
    for name, choice in choices.items():
        if name not in known:
            raise _unknown(f"no {what} {name!r}", f"unknown-{what}", name, known, choice)
        for column in choice.columns:
            if column not in known[name]:
                raise _unknown(f"{name} has no column {column!r}", "unknown-column", column, known[name], choice)


def _unknown(message: str, kind: str, name: str, known: Iterable[str], choice: LayoutChoice) -> InputProblem:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
    return InputProblem(f"layout: {message}", kind=kind, place=choice.place, hint=hint)
