"""Cases made by hand: chosen programs, any layout, events so close together that they meet."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from cumulus_papers.case import Arrival, Case
from cumulus_papers.kernel import Disorder
from cumulus_papers.layout import Layout, random_layout
from cumulus_papers.run import Spec
from m3 import parse
from m3.check import check
from m3.program import Program

__all__ = ["AFTER", "after_program", "burst", "one_after_the_other"]

#: Statements that read, with AFTER and without, what statements before and behind them write.
AFTER = """PROGRAM after SEMANTICS SNAPSHOT;
    RELATION r(a INT, b INT); RELATION s(b INT);
    MAP m1[a INT] : INT; MAP m2[b INT] : INT; MAP m3[b INT] : INT;
    ON +r(a, b) { m1[a] += AFTER m2[b] * m2[b]; m1[b] += m3[b] * AFTER m3[a]; m2[b] += AFTER m3[b]; m3[b] += 1 }
    ON +s(b) { m3[b] += 1 }"""


def after_program() -> Program:
    """A program with AFTER, in all constellations."""
    return check(parse(AFTER))


def one_after_the_other(
    spec: Spec, program: Program, layout: Layout, events: Sequence[tuple[str, tuple[int, ...]]]
) -> Case:
    """Inserts far apart, without delays."""
    arrivals = tuple(Arrival(0.1 * (i + 1), 0, 1, name, row) for i, (name, row) in enumerate(events))
    chosen = {name: values[0] for name, values in spec.options.items()}
    return Case(0, spec.name, program, layout, arrivals, epoch_s=0.05 * len(events), options=chosen)


def burst(spec: Spec, program: Program, seed: int) -> Case:
    """Inserts into all relations, close together, on any layout."""
    choose = random.Random(seed)
    widths = {r.name: len(r.columns) for r in program.relations}
    names = [choose.choice(list(widths)) for _ in range(20)]
    events = [(name, tuple(choose.randint(1, 2) for _ in range(widths[name]))) for name in names]
    case = one_after_the_other(spec, program, random_layout(program, 4, choose), events)
    close = tuple(replace(a, at_s=a.at_s * 1e-2) for a in case.arrivals)
    return replace(case, seed=seed, arrivals=close, epoch_s=0.01, disorder=Disorder(delay_s=0.002))
