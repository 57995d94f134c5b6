"""Whether what nodes did, with failures, is an execution in which nothing failed: states, outputs, and what was sent later.

No second run is needed. What each node did in the end, in order, is such an execution if every node's outputs are those that its work makes of its
inputs, in that order, from the start; if its state is what they end in; and if every channel delivered what was put in, once, in that order.
Where inputs commute, the order is anybody's. Nobody is asked what he did: outputs are noted as they are logged, also of those who lose their log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from cumulus_papers.recovery.work import Work, mix
from m3.recovery.controller import Controller
from m3.recovery.graph import Flow
from m3.recovery.hosting import Checkpoint
from m3.recovery.logs import Output, PayloadLog
from m3.recovery.messages import Data, NodeMessage, Start, Started
from m3.recovery.node import Node
from m3.recovery.replaying import Replay
from m3.recovery.table import Table, tables

__all__ = ["CHOICES", "ORDERS", "Witness", "Wrong"]

#: What is counted of tables that were solved: those with more than one solution, and those of which two place inputs in another order.
CHOICES, ORDERS = "tables with a choice", "tables with a choice of orders"
#: Solutions that are looked at for that.
LOOKED_AT = 100


class Wrong(AssertionError):
    """What was done is no execution without failures."""


class RecordingLog(PayloadLog):
    """A payload log that tells what is put into it."""

    record: Callable[[Output], None]

    def append(self, output: Output) -> None:
        """Keep it, and tell."""
        self.record(output)
        super().append(output)

    def __deepcopy__(self, _: object) -> RecordingLog:
        log = RecordingLog(list(self.outputs))
        log.record = self.record
        return log


class Witness:
    """Makes nodes that are watched, and judges them. ``did``: what each node made, by its time; ``came``: what it received, by (parent, time);
    ``solved``: the tables of nodes, by their lives."""

    def __init__(self, flow: Flow, work: Mapping[str, Work]) -> None:
        self.flow, self.work = flow, work
        self.did: dict[str, dict[int, Output]] = {name: {} for name in flow.order}
        self.came: dict[str, dict[tuple[str, int], Any]] = {name: {} for name in flow.order}
        self.solved: dict[tuple[str, int], Table] = {}
        self.nodes: dict[str, Node] = {}

    def node(self, name: str, *, tolerance: int) -> Node:
        """A node at the beginning."""
        self.nodes[name] = self._watched(name)(name, self.flow, self.work[name], tolerance=tolerance)
        return self.nodes[name]

    def restart(
        self, name: str, start: Start, checkpoint: Checkpoint | None, *, tolerance: int
    ) -> tuple[Node, list[NodeMessage]]:
        """A node's next life. What it did, and nobody knows of, was never done."""
        watched = self._watched(name)
        node, sent = watched.restart(name, self.flow, self.work[name], start, checkpoint, tolerance=tolerance)
        self.nodes[name] = node
        if not self.work[name].commutes:
            base = next(message.clock.time for message in sent if isinstance(message, Started))
            known = {o.time for o in node.payloads.outputs} | {diff.time for diff in node.diffs.rooted(name)}
            self.did[name] = {t: o for t, o in self.did[name].items() if t <= base or t in known}
        return node, sent

    def _watched(self, name: str) -> type[Node]:
        did, came, solved = self.did, self.came, self.solved

        def record(output: Output) -> None:
            if output.diff.origin or output.payloads or output.time not in did[name]:
                did[name][output.time] = output  # a dummy instead of what is stable changes nothing

        class Watched(Node):
            """Tells what it makes and receives."""

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                self.payloads = RecordingLog()
                self.payloads.record = record

            def receive(self, message: Any) -> list[NodeMessage]:
                if isinstance(message, Data) and message.lives == (self.lives[message.source], self.life):
                    came[name][message.origin] = message.payload
                return super().receive(message)

            def _replay(self, replay: Replay) -> list[NodeMessage]:
                sent = super()._replay(replay)
                if replay.table:
                    solved[name, self.life] = replay.table
                return sent

        return Watched

    def choices(self, name: str, life: int) -> Mapping[str, bool]:
        """Whether a node's table had other solutions, and such in which inputs stand in another order."""
        if (name, life) not in self.solved:
            return {}
        found = list(islice(tables(self.solved[name, life]), LOOKED_AT))
        orders = {tuple(origin for _, origin in sorted(columns.items())) for columns in found}
        return {CHOICES: len(found) > 1, ORDERS: len(orders) > 1}

    def judge(self, controller: Controller, inputs: Mapping[str, int]) -> None:
        """See that it was an execution without failures. ``inputs``: how many came to each source.

        Raises:
            Wrong: it was not, with the node.
        """
        if controller.lost or controller.replaying:
            raise Wrong(f"not recovered: {', '.join(sorted({*controller.lost, *controller.replaying}))}")
        truth: dict[tuple[str, str], list[Any]] = {}
        for name in self.flow.order:
            work = self.work[name]
            state = work.start()
            if work.commutes:
                made = [work.process(state, p, payload) for p in self.flow.parents[name] for payload in truth[p, name]]
                sent = made
            else:
                did = [output for _, output in sorted(self.did[name].items())]
                if work.kind == "source":
                    made = [work.process(state, "", mix(name, number)) for number in range(inputs[name])]
                    if made != [dict(output.payloads) for output in did]:
                        raise Wrong(f"{name} did not inject its {inputs[name]} inputs as they came")
                else:
                    self._compare_inputs(name, did, truth)
                    self._compare_outputs(name, did, state)
                sent = [dict(output.payloads) for output in did]
            if work.stateful and self.nodes[name].state != state:
                raise Wrong(f"{name} has {self.nodes[name].state}, and not {state}")
            for child in work.children:
                truth[name, child] = [outputs[child] for outputs in sent if child in outputs]

    def _compare_outputs(self, name: str, did: list[Output], state: Any) -> None:
        """A node that keeps state made of its inputs what its work makes of them from the start."""
        work = self.work[name]
        for output in did if work.stateful else ():
            if output.diff.origin is None:
                raise Wrong(f"{name} has nothing at {output.time}, and had lost nothing that nobody knew")
            wanted = work.process(state, output.diff.origin[0], self.came[name][output.diff.origin])
            if dict(output.payloads) != wanted:
                raise Wrong(f"{name}:{output.time} made {dict(output.payloads)}, and not {wanted}")

    def _compare_inputs(self, name: str, did: list[Output], truth: Mapping[tuple[str, str], list[Any]]) -> None:
        """Each parent's messages were taken once, in the order in which they were sent; of those without state, what is for somebody."""
        work, came = self.work[name], self.came[name]
        for parent in self.flow.parents[name]:
            took = [(o.diff.origin, dict(o.payloads)) for o in did if o.diff.origin and o.diff.origin[0] == parent]
            if work.stateful:
                got: list[Any] = [came[origin] for origin, _ in took]
                wanted: list[Any] = truth[parent, name]
            else:
                got = [(came[origin], outputs) for origin, outputs in took if outputs]
                made = ((payload, dict(work.process(None, parent, payload))) for payload in truth[parent, name])
                wanted = [(payload, outputs) for payload, outputs in made if outputs]
            if self.work[parent].commutes:
                got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
            if got != wanted:
                raise Wrong(f"{name} took {len(got)} of {parent}, which sent {len(wanted)}, or in another order")
