"""Many random histories of failures, and what became of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from cumulus_papers.kernel import Disorder
from cumulus_papers.recovery.judge import CHOICES, ORDERS
from cumulus_papers.recovery.system import Failure, History, poisson, run_history
from cumulus_papers.recovery.work import KINDS, STATEFUL
from m3.recovery.graph import Flow, flow_of

__all__ = ["WORLDS", "Histories", "check_histories", "draw_flow", "draw_history", "draw_kinds", "draw_mesh"]

#: Histories that a worker takes at once.
BLOCK = 25
LENGTH_S = 0.6


def draw_flow(choose: random.Random) -> Flow:
    """A small dataflow in layers; now and then an edge leaves some out."""
    layers = [[f"s{i}" for i in range(choose.randint(1, 3))]]
    layers += [[f"n{depth}{i}" for i in range(choose.randint(1, 3))] for depth in range(1, choose.randint(2, 4))]
    edges = set()
    for depth, layer in enumerate(layers[1:], start=1):
        before = [name for earlier in layers[:depth] for name in earlier]
        for name in layer:
            edges.add((choose.choice(layers[depth - 1]), name))
            edges |= {(choose.choice(before), name) for _ in range(choose.randint(0, 2))}
    return flow_of(sorted(edges), [name for layer in layers for name in layer])


def draw_kinds(choose: random.Random, flow: Flow, kinds: Sequence[str] = KINDS) -> dict[str, str]:
    """What each node computes; who sends to nobody keeps something."""
    last = [kind for kind in kinds if kind in STATEFUL] or ["sequence"]
    return {
        name: choose.choice(kinds if flow.children[name] else last) if flow.parents[name] else "source"
        for name in flow.order
    }


def draw_history(seed: int) -> History:
    """A history with one to three failures, or more; the same seed gives the same."""
    choose = random.Random(f"recovery {seed}")
    flow = draw_flow(choose)
    kinds = draw_kinds(choose, flow)
    tolerance = choose.choice((1, 1, 2, 3))
    rate = choose.choice((60.0, 150.0, 400.0))
    sources = [name for name in flow.order if not flow.parents[name]]
    inputs = [(at_s, choose.choice(sources)) for at_s in poisson(choose, rate, LENGTH_S)]
    beat_s = choose.choice((0.01, 0.02))
    failures = [
        Failure(choose.uniform(0.05, LENGTH_S), tuple(choose.sample(flow.order, min(len(flow.order), size))))
        for size in choose.choices((1, 1, 2, 3), k=choose.choice((1, 1, 2, 3)))
    ]
    if len(failures) > 1 and choose.random() < 0.5:
        # The next while the last is noticed, asked for or replayed.
        failures[1:] = [Failure(failures[0].at_s + choose.uniform(0, 0.1), f.nodes) for f in failures[1:]]
    disorder = Disorder(
        delay_s=choose.choice((0.0, 0.001, 0.005, 0.02)),
        slow=choose.choice((0.0, 0.2)),
        # Pauses that are longer than the time-out: nodes are taken for dead, and live.
        pauses=choose.choice((0.0, 0.0, 1.0)),
        outage_s=choose.choice((0.02, 0.2)),
    )
    return History(
        seed,
        flow,
        kinds,
        inputs,
        failures,
        tolerance,
        beat_s,
        timeout_s=beat_s * choose.choice((3, 8, 20)),
        tidy_s=choose.choice((0.005, 0.05, 0.2)),
        store_s=choose.choice((0.03, 0.1, 10.0)),
        end_s=LENGTH_S + 0.5,
        disorder=disorder,
    )


def draw_mesh(choose: random.Random) -> Flow:
    """Sources, one or two layers of nodes in the middle, and a last one; each node sends to all of the next layer. So from a source to the last
    layer there are up to nine ways."""
    widths = [("s", 2), *[("n1", 2), ("n2", 2)][: choose.choice((1, 2, 2))], ("k", 2)]
    layers = [[f"{layer}{i}" for i in range(choose.randint(least, 3))] for layer, least in widths]
    return flow_of([(a, b) for above, below in pairwise(layers) for a in above for b in below])


def draw_table_history(seed: int) -> History:
    """A history whose recoveries have to solve tables: what fails is mostly in the middle of a mesh and keeps nothing, and its children have heard
    more or less of it, as some channels are slow."""
    choose = random.Random(f"tables {seed}")
    flow = draw_mesh(choose)
    kinds = draw_kinds(choose, flow, ("router",) * 10 + ("sequence", "sharder"))
    sources = [name for name in flow.order if not flow.parents[name]]
    middle = [name for name in flow.order if flow.parents[name] and flow.children[name]]
    inputs = [(at_s, choose.choice(sources)) for at_s in poisson(choose, choose.choice((1000.0, 2000.0)), 0.25)]
    failures = [
        Failure(choose.uniform(0.1, 0.25), (choose.choice(middle if choose.random() < 0.8 else flow.order),))
        for _ in range(choose.choice((1, 2, 3)))
    ]
    return History(
        seed,
        flow,
        kinds,
        inputs,
        failures,
        beat_s=0.02,
        timeout_s=0.5,
        tidy_s=choose.choice((0.02, 0.05)),
        store_s=choose.choice((0.03, 0.1, 10.0)),
        end_s=1.25,
        share=choose.choice((4, 6)),
        disorder=Disorder(delay_s=choose.choice((0.002, 0.005, 0.01)), slow=choose.choice((0.2, 0.4))),
    )


#: What histories are drawn from: of all that may happen, or of what needs tables.
WORLDS: Mapping[str, Callable[[int], History]] = {"mixed": draw_history, "tables": draw_table_history}


@dataclass
class Histories:
    """What many histories came to. ``counts``: sums; ``within``: how many histories had at least one."""

    runs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Histories) -> None:
        """Count what another has counted."""
        self.runs += other.runs
        self.counts += other.counts
        self.within += other.within
        self.failures = sorted(self.failures + other.failures)

    def describe(self) -> str:
        """As text, the most frequent first."""
        lines = [f"{self.runs} histories of failures"]
        lines += [
            f"  {what}: {count:,}, in {self.within[what] / max(1, self.runs):.0%}"
            for what, count in self.counts.most_common()
        ]
        if recoveries := self.counts["recoveries"]:
            choice, orders = (f"{self.counts[what] / recoveries:.1%}" for what in (CHOICES, ORDERS))
            lines.append(
                f"  of {recoveries:,} recoveries {choice} solved a table that had other solutions, {orders} in another order"
            )
        lines += [f"FAILED: seed {seed}: {error}" for seed, error in self.failures]
        return "\n".join(lines)


def run_block(seeds: Sequence[int], world: str = "mixed") -> Histories:
    """Some histories of a world, one after the other."""
    found = Histories()
    for seed in seeds:
        try:
            counts = run_history(WORLDS[world](seed)).counts
        except Exception as error:  # whatever goes wrong is what is looked for
            found.failures.append((seed, f"{type(error).__name__}: {error}"))
            continue
        found.add(Histories(1, counts, Counter({what: 1 for what, n in counts.items() if n})))
    return found


def check_histories(
    seeds: Sequence[int],
    world: str = "mixed",
    *,
    processes: int = 1,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Histories:
    """Simulate the histories of some seeds, of one of :data:`WORLDS`; ``on_progress`` is called with the number of histories that have been done since."""
    blocks = [seeds[i : i + BLOCK] for i in range(0, len(seeds), BLOCK)]
    total = Histories()
    for found in _results(blocks, world, processes):
        total.add(found)
        on_progress(found.runs + len(found.failures))
    return total


def _results(blocks: Sequence[Sequence[int]], world: str, processes: int) -> Iterator[Histories]:
    if processes == 1:
        yield from map(partial(run_block, world=world), blocks)
        return
    with ProcessPoolExecutor(processes) as pool:
        for finished in as_completed([pool.submit(run_block, block, world) for block in blocks]):
            yield finished.result()
