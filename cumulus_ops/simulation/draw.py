"""Random cases: one seed decides program, layout, history, disorder and options."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from cumulus_ops.simulation.case import Arrival, Case
from cumulus_ops.simulation.kernel import Costs, Disorder
from cumulus_ops.simulation.layout import random_layout
from cumulus_ops.simulation.programs import PAPERS, QUERIES, compiled, paper, random_program
from cumulus_ops.simulation.run import Spec
from m3.program import Program

__all__ = ["draw_case"]

CYCLIC = ("semester-3.2",)
#: How many epochs a pause lasts; slow messages take up to about thirty.
LULL = 40


def draw_case(seed: int, spec: Spec) -> Case:
    """A case for a protocol. The same seed gives the same case."""
    choose = random.Random(f"{spec.name} {seed}")
    program = _program(choose, spec)
    nodes = choose.choice((2, 3, 4, 5, 6, 8))
    coordinators = choose.choice((1, 2, 2, 3, 3, 4)) if spec.many_coordinators else 1
    epoch_s = choose.choice((0.02, 0.05, 0.2))
    epochs = choose.choice((2, 2, 3, 4))
    arrivals = _arrivals(choose, program, coordinators, epoch_s * epochs * choose.choice((0.8, 1.0, 1.2)))
    if seed % 3 == 0:
        arrivals = _with_lulls(arrivals, epoch_s)
    options = {name: choose.choice(values) for name, values in spec.options.items()}
    layout = random_layout(program, nodes, choose)
    disorder = _disorder(choose, epoch_s)
    return Case(seed, spec.name, program, layout, arrivals, coordinators, epoch_s, epochs, Costs(), disorder, options)


def _program(choose: random.Random, spec: Spec) -> Program:
    kind = choose.choice(("paper", "query", "random", "random"))
    if kind == "paper":
        name = choose.choice([n for n in PAPERS if not spec.acyclic or n not in CYCLIC])
        return paper(name, choose.choice(("SNAPSHOT", "SEQUENTIAL")))
    if kind == "query":
        return compiled(choose.randrange(len(QUERIES)))
    return random_program(choose, acyclic=spec.acyclic or choose.random() < 0.3)


def _arrivals(choose: random.Random, program: Program, coordinators: int, length_s: float) -> tuple[Arrival, ...]:
    """Twenty to eighty events over small domains, so that they concern each other; some come in bursts."""
    count = choose.randint(25, 70)
    domain = choose.choice((1, 2, 3))
    weights = [choose.random() + 0.05 for _ in range(coordinators)]
    times = sorted(choose.uniform(0, length_s) for _ in range(count))
    if choose.random() < 0.4:
        times = sorted(choose.choice(times[: max(1, count // 6)]) + choose.uniform(0, 1e-3) for _ in range(count))
    signs = {
        t.relation: [s for s in (1, 1, 1, -1) if program.trigger(t.relation, s)] for t in program.triggers if t.relation
    }
    return tuple(
        _arrival(choose, program, at_s, choose.choices(range(coordinators), weights)[0], domain, signs)
        for at_s in times
    )


def _with_lulls(arrivals: tuple[Arrival, ...], epoch_s: float) -> tuple[Arrival, ...]:
    """The same events in three parts, with pauses in which whatever is under way arrives."""
    third = len(arrivals) // 3 + 1
    return tuple(replace(a, at_s=a.at_s + LULL * epoch_s * (i // third)) for i, a in enumerate(arrivals))


def _arrival(
    choose: random.Random, program: Program, at_s: float, coordinator: int, domain: int, signs: dict[str, list[int]]
) -> Arrival:
    relation = program.relation_by_name[choose.choice(list(signs))]
    row: tuple[Any, ...] = tuple(choose.randint(1, domain) for _ in relation.columns)
    return Arrival(at_s, coordinator, choose.choice(signs[relation.name]), relation.name, row)


def _disorder(choose: random.Random, epoch_s: float) -> Disorder:
    if choose.random() < 0.1:
        return Disorder()
    outages = choose.choice((0.0, 0.0, 1.0, 3.0)) / epoch_s
    return Disorder(
        delay_s=epoch_s * choose.choice((0.01, 0.1, 0.5)),
        slow=choose.choice((0.0, 0.1, 0.3)),
        pauses=outages * choose.random(),
        restarts=outages * choose.random() / 2,
        outage_s=epoch_s * choose.choice((0.1, 1.0)),
    )
