"""Steady loads: events at a rate, on as many nodes as one likes. What experiments and pictures are made with; random cases are drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isqrt
from typing import Any

from cumulus_papers.case import Arrival, Case, paper
from cumulus_papers.kernel import Costs, Disorder
from cumulus_papers.layout import Layout, uniform_layout
from cumulus_papers.run import Spec
from m3.program import Program

__all__ = ["Load", "load_case", "spread_layout"]


@dataclass(frozen=True)
class Load:
    """``rate`` events a second on average (Poisson), ``events`` in all, of ``relations`` (all, if empty) in equal parts, with keys from 1 to ``domain``. They
    reach the coordinators in proportion to ``shares`` (equally, if empty), or, with ``assign``, all with the same ``key`` (their first column's value), or of the
    same ``relation``, reach the same one. ``nodes``: how many nodes the maps are spread over. ``epochs``: so many,
    or as many as the events last."""

    program: Program = field(default_factory=lambda: paper("cumulus-2.1"))
    nodes: int = 10
    coordinators: int = 3
    events: int = 300
    rate: float = 1000.0
    domain: int = 50
    deletes: float = 0.1
    shares: Sequence[float] = ()
    assign: str = ""
    relations: Sequence[str] = ()
    epoch_s: float = 0.1
    epochs: int | None = None
    seed: int = 0


def spread_layout(program: Program, nodes: int) -> Layout:
    """Every map in as many segments as there are nodes, about: in equal parts along each key column."""

    def cuts(width: int) -> tuple[int, ...]:
        if width == 0:
            return ()
        side = nodes if width == 1 else isqrt(nodes)
        return (side,) * min(width, 2) + (1,) * (width - 2)

    return uniform_layout(program, {m.name: cuts(len(m.keys)) for m in program.maps}, nodes)


def load_case(
    spec: Spec,
    load: Load,
    options: Mapping[str, Any] | None = None,
    disorder: Disorder | None = None,
    costs: Costs | None = None,
) -> Case:
    """A case of a protocol under a load; options that are not given have their defaults, disorder is moderate."""
    choose = random.Random(f"load {load.seed}")
    arrivals = tuple(_arrivals(choose, load, load.coordinators if spec.many_coordinators else 1))
    chosen = {name: values[0] for name, values in spec.options.items()} | dict(options or {})
    return Case(
        load.seed,
        spec.name,
        load.program,
        spread_layout(load.program, load.nodes),
        arrivals,
        coordinators=load.coordinators if spec.many_coordinators else 1,
        epoch_s=load.epoch_s,
        epochs=max(1, ceil(arrivals[-1].at_s / load.epoch_s)) if load.epochs is None else load.epochs,
        costs=costs or Costs(),
        disorder=disorder if disorder is not None else Disorder(delay_s=0.5e-3),
        options=chosen,
    )


def _arrivals(choose: random.Random, load: Load, coordinators: int) -> list[Arrival]:
    names = list(load.relations) or list(dict.fromkeys(t.relation for t in load.program.triggers if t.sign))
    weights = list(load.shares[:coordinators]) or [1.0] * coordinators
    at_s, arrivals = 0.0, []
    for _ in range(load.events):
        at_s += choose.expovariate(load.rate)
        relation = load.program.relation_by_name[choose.choice(names)]
        deletable = load.program.trigger(relation.name, -1) is not None
        sign = -1 if deletable and choose.random() < load.deletes else 1
        row = tuple(choose.randint(1, load.domain) for _ in relation.columns)
        chosen = choose.choices(range(coordinators), weights)[0]
        if load.assign:
            chosen = (row[0] if load.assign == "key" else names.index(relation.name)) % coordinators
        arrivals.append(Arrival(at_s, chosen, sign, relation.name, row))
    return arrivals
