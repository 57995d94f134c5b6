"""Experiments on recovery with tree clocks: what clocks cost each message, and what a recovery costs beside the alternatives.

The thesis's abstract names time per message, time to recover, and their ratio; its set-up is not in the text that we have, so this one is ours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from cumulus_papers.experiments.measures import Experiment, Plot, Row
from cumulus_papers.kernel import Costs, Disorder
from cumulus_papers.recovery.system import Failure, History, Recovery, poisson, run_history
from m3.recovery.graph import Flow, flow_of
from m3.recovery.messages import Data
from m3.recovery.table import Input, Origin, Table, count_orders, count_tables

__all__ = ["CLOCKS", "RECOVERY", "TABLES"]

#: Inputs a second, over all sources.
RATE = 400.0


@dataclass(frozen=True)
class Grid:
    """A dataflow in ``depth`` layers of ``width`` nodes below as many sources; all of a layer send to all of the next, each input to one on average."""

    depth: int
    width: int
    kind: str = "sequence"

    @property
    def flow(self) -> Flow:
        """The graph."""
        pairs = ((d, a, b) for d in range(self.depth) for a in range(self.width) for b in range(self.width))
        return flow_of((f"n{d}.{a}", f"n{d + 1}.{b}") for d, a, b in pairs)

    def history(self, inputs: list[tuple[float, str]], **options: object) -> History:
        """What comes to its sources, with no delays but the messages' own."""
        flow = self.flow
        kinds = {n: self.kind if flow.parents[n] else "source" for n in flow.order}
        return History(0, flow, kinds, inputs, share=max(1, 10 // self.width), **options)  # type: ignore[arg-type]

    def inputs(self, seconds: float) -> list[tuple[float, str]]:
        """Inputs at a steady rate."""
        choose = random.Random(1)
        return [(at_s, f"n0.{choose.randrange(self.width)}") for at_s in poisson(choose, RATE, seconds)]


# What a clock costs a message.

#: Kinds of nodes, as the tables name them.
NODES = {"router": "stateless", "sharder": "stateless, commuting", "sequence": "with state"}


def _measure_clocks(scale: float) -> Iterator[Row]:
    for kind in NODES:
        for tolerance in (
            (1, 2, 3) if kind != "sharder" else (1,)
        ):  # with more, what has no state tells all, commuting or not
            for depth, width in ((2, 2), (3, 2), (4, 2), (6, 2), (8, 2), (4, 1), (4, 3), (4, 5)):
                yield _clocks(Grid(depth, width, kind), tolerance, scale)


def _clocks(grid: Grid, tolerance: int, scale: float) -> Row:
    history = grid.history(grid.inputs(scale), tolerance=tolerance, end_s=scale)
    if grid.kind != "sequence":  # the last layer keeps what it gets
        kinds = {n: k if history.flow.children[n] else "sequence" for n, k in history.kinds.items()}
        history = History(**{**vars(history), "kinds": kinds})
    outcome = run_history(history)
    messages = outcome.messages["Data"]
    entry_bytes = outcome.entries * (len("n0.0") + 8)
    size = outcome.bytes["Data"] / messages
    costs = history.costs
    return {
        "nodes": NODES[grid.kind],
        "tolerance": tolerance,
        "depth": grid.depth,
        "width": grid.width,
        "entries": outcome.entries / messages,
        "clock_bytes": entry_bytes / messages,
        "message_bytes": size,
        "send_us": 1e6 * (costs.send_s + size * costs.byte_s),
        "send_us_without_clock": 1e6 * (costs.send_s + (size - entry_bytes / messages) * costs.byte_s),
    }


CLOCKS = Experiment(
    "tree-clocks",
    "How large are the clocks that messages carry, by depth and width of the dataflow?",
    _measure_clocks,
    (
        Plot("depth", "entries", ("nodes", "tolerance"), "Entries of clocks per message, by depth"),
        Plot("width", "entries", ("nodes", "tolerance"), "Entries of clocks per message, by width"),
    ),
)


# What a recovery costs, beside rolling all back, and beside recomputing what is downstream.

#: Longer than the longest replay: a node says that it lives between two messages, and is behind with that while it replays.
TIMEOUT_S, BEAT_S = 1.0, 0.01
#: What a node takes for a message: it has state, and looks something up.
HANDLE_S = 1e-4


def _measure_recovery(scale: float) -> Iterator[Row]:
    seconds = 8.0 * scale
    for depth in (2, 3, 4, 6, 8):
        yield from _recoveries(Grid(depth, 2), seconds, seconds / 4)
    for parts in (16, 8, 2, 1):
        yield from _recoveries(Grid(4, 2), seconds, seconds / parts)


def _recoveries(grid: Grid, seconds: float, store_s: float) -> Iterator[Row]:
    """A node of the middle layer dies just before the next checkpoint. Counted from when that is noticed, which takes as long in any case."""
    name = f"n{(grid.depth + 1) // 2}.0"
    inputs = grid.inputs(seconds)
    costs = Costs(handle_s=HANDLE_S)
    options = {
        "beat_s": BEAT_S,
        "timeout_s": TIMEOUT_S,
        "store_s": store_s,
        "end_s": seconds + 2 * TIMEOUT_S,
        "costs": costs,
    }
    history = grid.history(inputs, failures=[Failure(seconds - 0.002, (name,))], **options)
    outcome = run_history(history)
    assert not outcome.counts["taken for dead, and alive"], (
        "a replay that is begun again says nothing of how long one takes"
    )
    lost = [(at_s, source) for at_s, source in inputs if at_s >= seconds - store_s]
    died_s = outcome.failed_s[0][0]
    same: Row = {"depth": grid.depth, "nodes": len(history.flow.order), "since_checkpoint": len(lost)}
    ways = {
        "tree clocks": (outcome.recovery_s[0][2], outcome.counts["replayed"], 1),
        "global rollback": _rollback(grid, lost),
        "recompute downstream": _recompute(grid, name, inputs, died_s),
    }
    size = outcome.bytes["Data"] / outcome.messages["Data"]
    message_s = costs.send_s + size * costs.byte_s + costs.handle_s
    for way, (seconds_to, replayed, rolled_back) in ways.items():
        counted: Row = {"way": way, "processed": replayed, "rolled_back": rolled_back}
        yield {**same, **counted, "recover_s": seconds_to, "in_messages": seconds_to / message_s}


def _rollback(grid: Grid, lost: list[tuple[float, str]]) -> tuple[float, int, int]:
    """All nodes go back to the last checkpoint, which is taken to be one for all, and do everything since again."""
    flow, costs = grid.flow, Costs(handle_s=HANDLE_S)
    told_s = 2 * costs.latency_s + len(flow.order) * 2 * costs.send_s  # one round of the controller with everybody
    seconds, processed = _again(grid.history([(0.0, source) for _, source in lost], end_s=0.0, costs=costs))
    return told_s + seconds, processed, len(flow.order)


def _recompute(grid: Grid, name: str, inputs: list[tuple[float, str]], until_s: float) -> tuple[float, int, int]:
    """The node and all that descend from it are emptied, and fed with all that their parents have ever sent."""
    layer = int(name[1 : name.index(".")])
    below = Grid(grid.depth - layer + 1, grid.width, grid.kind)
    share = [(0.0, source) for at_s, source in inputs if at_s < until_s]
    seconds, processed = _again(below.history(share, end_s=0.0, costs=Costs(handle_s=HANDLE_S)))
    return seconds, processed, 1 + grid.width * (grid.depth - layer)


def _again(history: History) -> tuple[float, int]:
    """How long a dataflow takes for inputs that are all there, and how many messages it processes."""
    world = Recovery(History(**{**vars(history), "disorder": Disorder()}))
    world.simulation.run()
    return world.simulation.now, world.simulation.messages[Data.__name__]


RECOVERY = Experiment(
    "recovery",
    "How long does it take to recover one node, by size of the dataflow and by length of the log, and beside the alternatives?",
    _measure_recovery,
    (
        Plot("nodes", "recover_s", "way", "Seconds to recover, by size of the dataflow", log="y"),
        Plot("since_checkpoint", "recover_s", "way", "Seconds to recover, by inputs since the checkpoint", log="xy"),
    ),
)


# How much an order is worth: which orders of what was lost somebody could tell apart.

PARENTS = ("A1", "A2", "A3")
DRAWN = 40


def _measure_tables(scale: float) -> Iterator[Row]:
    choose = random.Random(1)
    for inputs in range(1, 7):
        drawn = [_draw_table(choose, inputs) for _ in range(max(1, round(DRAWN * scale)))]
        for commuting in range(len(PARENTS) + 1):
            free = set(PARENTS[:commuting])

            def commute(one: Origin, other: Origin, free: set[str] = free) -> bool:
                return one[0] in free or other[0] in free

            yield {
                "inputs": inputs,
                "commuting": f"{commuting} of {len(PARENTS)} parents",
                "tables": sum(map(count_tables, drawn)) / len(drawn),
                "orders": sum(count_orders(table, commute) for table in drawn) / len(drawn),
            }


def _draw_table(choose: random.Random, inputs: int) -> Table:
    """Inputs that nobody has seen, of three parents, and behind them one of each parent that somebody has."""
    senders = [*(choose.choice(PARENTS) for _ in range(inputs)), *PARENTS]
    counted = dict.fromkeys(PARENTS, 0)
    rows: list[Input] = []
    for parent in senders:
        counted[parent] += 1
        rows.append(Input(parent, counted[parent], ("C1",)))
    targets = {column: entry.origin for column, entry in enumerate(rows, start=1) if column > inputs}
    return Table(1, len(rows), targets, {}, tuple(rows))


TABLES = Experiment(
    "replay-tables",
    "How many orders of what was lost could somebody tell apart, by how much of it commutes?",
    _measure_tables,
    (
        Plot(
            "inputs",
            "orders",
            "commuting",
            "Orders that somebody could tell apart, by inputs that nobody has seen",
            log="y",
        ),
    ),
)
