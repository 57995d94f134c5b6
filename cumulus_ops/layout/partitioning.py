"""Choosing a layout of least cost: labels for relations and exchanged maps, by minimum cuts.

Columns that statements equate form a **class** (all the order keys, all the customer keys). Starting from "everything is
replicated", an **expansion** towards a class asks for each relation and map whether to keep its label or to be partitioned
by its column of the class. Which of them should is a two-way problem with costs on nodes and on pairs, whose optimum is a
minimum cut between *keep* and *switch* (Boykov, Veksler, Zabih: alpha-expansion). Expansions are repeated until none is
cheaper. Relations' labels are then varied singly and in pairs, each map answering with its best label: with the relations'
labels given, maps do not depend on each other.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulus_ops.layout.costs import (
    ANYWHERE,
    IMPOSSIBLE,
    REPLICATED,
    Estimates,
    Label,
    Labels,
    Need,
    Node,
    Problem,
    pose,
)
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LayoutChoice, LayoutSettings
from m3.dataflow import connected

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Layout", "check_layout", "choose_labels", "choose_layout", "fixed_labels", "impossible", "unmet_needs"]


# The ``layout:`` of a project file, checked against the program and turned into labels.


def fixed_labels(plan: ProgramPlan, settings: LayoutSettings) -> Labels:
    """The labels that a project file decides on. What it says of a map counts for the map's group."""
    labels: dict[Node, Label] = {
        ("map", plan.group_of[name]): _label_map(plan, name, choice) for name, choice in settings.maps.items()
    }
    return labels | {("events", name): c.columns or ANYWHERE for name, c in settings.events.items()}


def _label_map(plan: ProgramPlan, name: str, choice: LayoutChoice) -> Label:
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
    # Maps that are kept together cannot be apart.
    seen: dict[str, tuple[str, Label]] = {}
    for name, choice in settings.maps.items():
        label = _label_map(plan, name, choice)
        other, known = seen.setdefault(plan.group_of[name], (name, label))
        if known != label:
            raise InputProblem(
                f"layout: {other} and {name} are kept in one group, and have different places",
                kind="layout-group",
                place=choice.place,
                hint="leave one of the two out",
            )
    if settings.maps or settings.events:
        names = list(relations)
        problem = pose(plan, names, Estimates(plan, dict.fromkeys(names, 1e9)), 2, fixed_labels(plan, settings))
        labels = choose_labels(problem)
        for need in unmet_needs(problem, labels):
            relation = problem.statements[need.consumer].relation
            chosen = [c for name, c in settings.maps.items() if plan.group_of[name] == need.map]
            choice = chosen[0] if chosen else settings.events[relation]
            raise impossible(problem, labels, need, choice.place)


def _check_names(what: str, known: Mapping[str, Iterable[str]], choices: Mapping[str, LayoutChoice]) -> None:
    for name, choice in choices.items():
        if name not in known:
            raise _report_unknown(f"no {what} {name!r}", f"unknown-{what}", name, known, choice)
        for column in choice.columns:
            if column not in known[name]:
                raise _report_unknown(f"{name} has no column {column!r}", "unknown-column", column, known[name], choice)


def _report_unknown(message: str, kind: str, name: str, known: Iterable[str], choice: LayoutChoice) -> InputProblem:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
    return InputProblem(f"layout: {message}", kind=kind, place=choice.place, hint=hint)


Cut = dict[Node, Label]
KEEP, SWITCH = "keep", "switch"


@dataclass(frozen=True)
class Layout:
    """Where a batch's events and deltas are. ``labels`` are those of the relations and maps that the problem is about;
    ``bytes``: the estimate of what is sent between tasks. ``alone``: why the batch is one task all the same; empty if it is not."""

    problem: Problem
    labels: Labels
    bytes: int
    alone: str = ""

    def label(self, kind: str, name: str) -> Label:
        """The label of ``events`` or of a ``map``; what nobody needs stays where it is."""
        return self.labels.get((kind, name), ANYWHERE)


def choose_layout(
    plan: ProgramPlan,
    events: Mapping[str, float],
    tasks: int,
    fixed: Labels | None = None,
    rows: Mapping[str, float] | None = None,
) -> Layout:
    """The layout for a batch.

    Args:
        plan: the program's plan.
        events: how many events of each relation the batch has.
        tasks: how many tasks there are.
        fixed: labels that somebody has decided on.
        rows: rows by relation, where they are known better than the program knows them.

    Raises:
        InputProblem: ``fixed`` leaves no layout in which all reads find what they need.
    """
    estimates = Estimates(plan, events, rows or {})
    problem = pose(plan, [r for r, n in events.items() if n], estimates, tasks, fixed)
    labels = choose_labels(problem)
    cost = problem.cost(labels)
    if cost < IMPOSSIBLE:
        return Layout(problem, labels, cost)
    if unmet := unmet_needs(problem, labels):
        raise impossible(problem, labels, unmet[0])
    return Layout(problem, labels, 0, _explain_alone(problem, labels))


def _explain_alone(problem: Problem, labels: Labels) -> str:
    """Why no columns keep a cycle in one task."""
    unmet = next(n for n in problem.needs if n.map in problem.cyclic_maps and _is_unmet(problem, labels, n))
    inner = (n.consumer for n in problem.needs if n.map == unmet.map and problem.is_inner(n))
    maps = ", ".join(sorted({ref[0] for ref in problem.cycles[problem.cycle_of[next(inner)]]}))
    consumer, producer = problem.statements[unmet.consumer], problem.statements[unmet.producer]
    how = f"{producer.relation} adds to {unmet.map} what {consumer.relation} reads there for {unmet.consumer[0]}"
    return (
        f"the batch computes {maps} from what it adds to {'them' if ',' in maps else 'it'} (a cycle), in as many rounds as "
        f"its events follow from each other; no columns keep that in one task each: {how}"
    )


def _is_unmet(problem: Problem, labels: Labels, need: Need) -> bool:
    """Whether a need is not met under ``labels``, or its producer does not add where a cycle needs it."""
    events = labels["events", problem.statements[need.producer].relation]
    added = problem.pair_cost(need.producer, events, labels["map", need.map])
    return max(added, problem.pair_cost(need, *_find_pair_labels(problem, need, labels))) >= IMPOSSIBLE


def choose_labels(problem: Problem) -> Labels:
    """Labels of low cost for every node of the problem."""
    labels: Labels = {node: options[0] for node, options in problem.labels.items()}
    cost = problem.cost(labels)
    better = True
    while better:
        better = False
        for proposal in _propose_labels(problem):
            changed = _expand_labels(problem, labels, proposal)
            if problem.cost(changed) < cost:
                labels, cost, better = changed, problem.cost(changed), True
    # Then the labels of one or two relations are varied as long as that is cheaper.
    relations = {n: labels[n] for n in problem.labels if n[0] == "events"}
    answers = _Answers(problem)
    cost = answers.cost(relations)
    better = True
    while better:
        better = False
        for varied in _vary_labels(problem, relations):
            if (found := answers.cost(varied)) < cost:
                relations, cost, better = varied, found, True
    return answers.labels(relations)


def unmet_needs(problem: Problem, labels: Labels) -> list[Need]:
    """The needs that are not met under ``labels``, but for those of what a cycle adds: such a batch may be one task."""
    outer = (n for n in problem.needs if n.map not in problem.cyclic_maps)
    return [n for n in outer if problem.pair_cost(n, *_find_pair_labels(problem, n, labels)) >= IMPOSSIBLE]


def _find_pair_labels(problem: Problem, need: Need, labels: Labels) -> tuple[Label, Label]:
    return labels["events", problem.statements[need.consumer].relation], labels["map", need.map]


def impossible(problem: Problem, labels: Labels, need: Need, place: str = "") -> InputProblem:
    """The error that says why a need cannot be met."""
    consumer = problem.statements[need.consumer]
    keys = problem.plan.program.map_by_name[need.map].keys
    bound = ", ".join(keys[i].name for i in consumer.reads[need.read].places) or "none of its keys"
    events, deltas = _find_pair_labels(problem, need, labels)
    return InputProblem(
        f"layout: {need.map} by {', '.join(deltas)} and {consumer.relation} by {', '.join(events) or 'anywhere'} do not "
        f"meet: {consumer.relation} reads {need.map} by {bound} for {need.consumer[0]}",
        kind="layout-impossible",
        place=place,
        hint=f"write `{need.map}: replicated`, or leave one of the two out",
    )


def _propose_labels(problem: Problem) -> Iterator[Cut]:
    """For each class the label that each node would have in it; and what every node would have on its own."""
    columns = ((node, column) for node, options in problem.labels.items() for label in options for column in label)
    equated: list[tuple[tuple[Node, str], tuple[Node, str]]] = []
    for item, pairs in problem.equal.items():
        ref, name = (item.consumer, item.map) if isinstance(item, Need) else (item, item[0])
        events = "events", problem.statements[ref].relation
        equated += [((("map", name), key), (events, column)) for key, column in pairs.items()]
    for members in connected(columns, equated):
        proposal: Cut = {}
        for node, options in problem.labels.items():
            label = next((o for o in options if o and all((node, c) in members for c in o)), None)
            if label is not None and label != REPLICATED:
                proposal[node] = label
        yield proposal
    yield {n: o[0] for n, o in problem.labels.items()}


def _expand_labels(problem: Problem, labels: Labels, proposal: Labels) -> Cut:
    """The best mixture of ``labels`` and ``proposal``: a minimum cut, exact where the pairs' costs are submodular."""
    import networkx as nx  # most projects never have a batch that is large enough

    graph: nx.DiGraph[object] = nx.DiGraph()
    graph.add_nodes_from([KEEP, SWITCH])
    free = {n for n, label in proposal.items() if labels[n] != label}
    options = {n: (labels[n], proposal[n]) if n in free else (labels[n],) for n in problem.labels}
    weights: dict[Node, list[int]] = {n: [0, 0] for n in free}
    for node in free:
        if node[0] == "events":
            weights[node] = [problem.move_cost(node[1], label) for label in options[node]]
    for (a, b), table in problem.tables.items():
        _add_pair(graph, weights, a, b, [[table[x, y] for y in options[b]] for x in options[a]])
    for node, (keep, switch) in weights.items():
        low = min(keep, switch)
        _add_arc(graph, KEEP, node, switch - low)  # cut when the node is on the side of SWITCH
        _add_arc(graph, node, SWITCH, keep - low)
    _, (kept, _) = nx.minimum_cut(graph, KEEP, SWITCH)
    return {n: label if n not in free or n in kept else proposal[n] for n, label in labels.items()}


def _add_pair(
    graph: nx.DiGraph[object], weights: dict[Node, list[int]], a: Node, b: Node, table: list[list[int]]
) -> None:
    """The costs of a pair as arcs; ``table[i][j]``: ``a`` keeps (0) or switches (1), ``b`` keeps or switches.

    With both free, the costs are those of ``a`` alone, of ``b`` alone, and of their being apart
    (Kolmogorov and Zabih); a cost of being together that is left is dropped, and seen when the whole is added up."""
    if len(table) == 1 and len(table[0]) == 1:
        return
    if len(table) == 1:
        weights[b] = [w + c for w, c in zip(weights[b], table[0], strict=True)]
    elif len(table[0]) == 1:
        weights[a] = [w + c[0] for w, c in zip(weights[a], table, strict=True)]
    else:
        (both_keep, b_alone), (a_alone, both_switch) = table
        weights[a] = [weights[a][0] + both_keep, weights[a][1] + a_alone]
        weights[b] = [weights[b][0], weights[b][1] + both_switch - a_alone]
        # what is left is paid when a keeps and b switches
        _add_arc(graph, a, b, max(0, b_alone + a_alone - both_keep - both_switch))


def _add_arc(graph: nx.DiGraph[object], source: object, target: object, capacity: int) -> None:
    present = graph.get_edge_data(source, target, {"capacity": 0})["capacity"]
    graph.add_edge(source, target, capacity=present + capacity)


def _vary_labels(problem: Problem, labels: Labels) -> Iterator[Cut]:
    for chosen in [*((r,) for r in labels), *itertools.combinations(labels, 2)]:
        for options in itertools.product(*(problem.labels[r] for r in chosen)):
            yield {**labels, **dict(zip(chosen, options, strict=True))}


class _Answers:
    """The best label of each map under given labels of the relations; remembered by those that concern the map."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._near: dict[Node, list[Node]] = {n: [] for n in problem.labels if n[0] == "map"}
        for a, b in problem.tables:
            self._near[b].append(a)
        self._known: dict[tuple[Node, tuple[Label, ...]], tuple[int, Label]] = {}

    def cost(self, relations: Labels) -> int:
        moved = sum(self.problem.move_cost(node[1], label) for node, label in relations.items())
        return moved + sum(self._answer(node, relations)[0] for node in self._near)

    def labels(self, relations: Labels) -> Labels:
        return {**relations, **{node: self._answer(node, relations)[1] for node in self._near}}

    def _answer(self, node: Node, relations: Labels) -> tuple[int, Label]:
        near = self._near[node]
        given = tuple(relations[a] for a in near)
        if (node, given) not in self._known:
            tables = [self.problem.tables[a, node] for a in near]
            costs = [
                sum(table[x, label] for table, x in zip(tables, given, strict=True))
                for label in self.problem.labels[node]
            ]
            best = min(range(len(costs)), key=costs.__getitem__)
            self._known[node, given] = costs[best], self.problem.labels[node][best]
        return self._known[node, given]
