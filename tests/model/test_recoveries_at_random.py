"""Nodes fail at any moment, several at once and during recoveries; what is done in the end is an execution without failures.

``RECOVERIES=3000 pytest tests/model/test_recoveries_at_random.py`` plays more of them; ``SEED=10000`` takes other ones.
"""

import os
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from cumulus_papers.recovery.work import KINDS, Work
from m3.recovery.graph import RecoveryError, flow_of
from m3.recovery.messages import Data
from m3.recovery.node import Node
from tests.support.recoveries import World, draw_diamond, draw_world

COUNT = int(os.environ.get("RECOVERIES", "10"))
SEED = int(os.environ.get("SEED", "0"))


@pytest.mark.parametrize("kinds", [KINDS, ("router",), ("sharder", "sum"), ("sequence",)], ids="-".join)
@pytest.mark.parametrize("tolerance", [1, 2, 3])
def test_what_is_left_is_an_execution_without_failures(tolerance: int, kinds: tuple[str, ...]) -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEED, SEED + COUNT):
        world = draw_world(seed, tolerance, kinds)
        world.run(250, failures=4, most=tolerance)
        try:
            world.judge()
            world.judge_logs()
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}") from wrong
        counts += world.counts
    assert counts["failures"] > COUNT
    assert counts["failures during a recovery"] > COUNT / 10
    if kinds == ("router",) and tolerance == 1:
        assert counts["tables"]


@pytest.mark.parametrize("end", ["sequence", "sum"])
@pytest.mark.parametrize("middle", KINDS)
def test_nodes_may_fail_again_and_again(middle: str, end: str) -> None:
    """An input that is processed in a third life had a time in each of the former, and its receivers had it at different ones."""
    for seed in (847, 855, *range(SEED, SEED + COUNT // 5)):
        world = draw_diamond(seed, middle, end)
        world.run(300, failures=30)
        world.judge()
        world.judge_logs()


def test_nobody_but_the_failed_node_is_rolled_back() -> None:
    world = draw_world(5, 1)
    world.run(200, failures=0)
    before = dict(world.nodes)
    victim = next(n for n in world.flow.order if world.flow.parents[n] and world.flow.children[n])
    world.dead.append(victim)
    del world.nodes[victim]
    world.settle()
    world.judge()
    assert {name for name, node in world.nodes.items() if node is not before[name]} == {victim}


def test_a_node_that_keeps_nothing_and_sends_nowhere_is_refused() -> None:
    flow = flow_of([("s", "a")])
    with pytest.raises(RecoveryError, match="a keeps nothing and sends to nobody"):
        Node("a", flow, Work("a", "router", ()))


@pytest.mark.parametrize("depth", [2, 6])
def test_what_a_message_carries_does_not_grow_with_the_graph(depth: int) -> None:
    """Layers of two routers, each fed by both before; a message has two levels of diff, a clock three, at any depth."""
    layers = [["s0", "s1"], *([f"n{i}a", f"n{i}b"] for i in range(depth)), ["sink"]]
    flow = flow_of([(a, b) for above, below in pairwise(layers) for a in above for b in below])
    kinds = {
        n: "source" if n[0] == "s" and n != "sink" else "sequence" if n == "sink" else "router" for n in flow.order
    }
    world = World(flow, kinds, 1, 3)
    carried: list[int] = []
    send = world.send

    def watch(source: str, messages: list[Any]) -> None:
        carried.extend(m.entries for m in messages if isinstance(m, Data) and kinds[source] == "router")
        send(source, messages)

    world.send = watch  # type: ignore[method-assign]
    world.run(400, failures=0)
    world.judge()
    assert set(carried) == {2}
    assert max(node.clock.size for node in world.nodes.values()) == 7
