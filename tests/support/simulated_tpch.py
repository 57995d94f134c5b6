"""TPC-H's linear queries for the simulator: compiled to restricted M3, on a small stream, over a random layout with few cuts."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from cumulus_papers.case import Arrival, Case
from cumulus_papers.kernel import Disorder
from cumulus_papers.layout import Layout
from cumulus_papers.run import Spec
from m3 import compile_views
from m3.program import Program
from tests.support import tpch_small

__all__ = ["LINEAR", "tpch_case", "tpch_program"]

#: Queries whose programs have no derived maps: no subqueries, minima, or counts of distinct values.
LINEAR = ("q1", "q3", "q5", "q6", "q7", "q8", "q9", "q10", "q12", "q14", "q19")
EPOCHS, EPOCH_S = 2, 0.05
#: Segments of one map.
SEGMENTS_MAX = 4


@cache
def tpch_program(query: str) -> Program:
    """A query's program, held to the papers' restricted M3. Rows are declared: without that, a large join is a derived map, of which the papers know
    nothing."""
    relations = [replace(relation, rows=1000) for relation in tpch_small.RELATIONS]
    return compile_views(query, relations, {query: tpch_small.view_text(query)}, restricted=True)


def tpch_case(query: str, spec: Spec, seed: int, events: int = 60) -> Case:
    """A query under a protocol. Inserts come first, so that joins find something; then some of the rows are deleted."""
    choose, program = random.Random(f"{query} {seed}"), tpch_program(query)
    nodes = choose.choice((3, 5))
    kept = _inserts(program, seed, events, choose)
    deletes = [(-1, name, row) for _, name, row in choose.sample(kept, len(kept) // 6)]
    coordinators = 2 if spec.many_coordinators else 1
    length_s = EPOCHS * EPOCH_S * 1.1
    history = [*kept, *deletes]
    arrivals = tuple(
        Arrival(length_s * i / len(history), choose.randrange(coordinators), sign, name, row)
        for i, (sign, name, row) in enumerate(history)
    )
    layout = few_cuts(program, nodes, choose)
    disorder = Disorder(EPOCH_S / 10, 0.1)
    options = {name: choose.choice(values) for name, values in spec.options.items()}
    return Case(
        seed, spec.name, program, layout, arrivals, coordinators, EPOCH_S, EPOCHS, disorder=disorder, options=options
    )


def _inserts(program: Program, seed: int, events: int, choose: random.Random) -> tpch_small.Batch:
    """Of the relations that the program is about, line items last."""
    used = {t.relation for t in program.triggers}
    inserts = [e for e in tpch_small.Stream(seed).batches(1)[0] if e[1] in used]
    chosen = choose.sample(inserts, min(events, len(inserts)))
    return sorted(chosen, key=lambda e: e[1] == "lineitem")


def few_cuts(program: Program, nodes: int, choose: random.Random) -> Layout:
    """Up to four segments a map, at any nodes; programs of dozens of maps with many keys would have thousands otherwise."""
    cuts = {}
    for decl in program.maps:
        counts = [1] * len(decl.keys)
        if counts:
            counts[choose.randrange(len(counts))] = choose.choice((1, 2, 3, SEGMENTS_MAX))
        cuts[decl.name] = tuple(counts)
    layout = Layout(cuts, {})
    return Layout(cuts, {s: choose.randrange(nodes) for m in program.maps for s in layout.segments(m.name)})
