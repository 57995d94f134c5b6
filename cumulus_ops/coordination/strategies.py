"""Which coordination each stream needs: none, a seal, or an order (Blazes, section V-B).

Where a seal that is there already completes what an order-sensitive path works on, the consumer waits for it: for every producer's
punctuation, and, if there are several producers, for a vote that these are all. Where there is none, all that the path depends on is put in
one order: by logged version, which is the same in every run, or by arrival, which is the same at every replica only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cumulus_ops.coordination.analysis import LOGGED, Analysis, Output, analyse, into
from cumulus_ops.coordination.annotations import Dataflow, Stream
from cumulus_ops.coordination.labels import RUN, SEAL, Label
from cumulus_ops.coordination.plan import EdgePlan

__all__ = ["Coordination", "choose_strategies", "coordinate"]


@dataclass(frozen=True)
class Coordination:
    """What is done, and what comes of it: ``edges`` in the order of the dataflow's streams, ``analysis`` with all of them in place, ``ordered`` as
    :func:`~cumulus_ops.coordination.analysis.analyse` takes it."""

    edges: tuple[EdgePlan, ...]
    analysis: Analysis
    ordered: Mapping[Output, str]


def choose_strategies(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> tuple[EdgePlan, ...]:
    """What each stream of an analysed dataflow needs; ``order`` is which one is to be had, ``logged`` or ``arrival``."""
    return coordinate(dataflow, analysis, order).edges


def coordinate(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> Coordination:
    """The same, and the labels that the streams have with it.

    What is nondeterministic is mended where it arises, sources first: what follows from it is gone then.
    """
    ordered: dict[Output, str] = {}
    reasons: dict[Output, str] = {}
    after = analysis
    while helped := [output for output in after.raised if _helps(order, after.outputs[output])]:
        first = helped[0]
        ring = next((cycle for cycle in after.cycles if ("out", *first) in cycle), (("out", *first),))
        for port in ring:
            if port[0] == "out":
                ordered[port[1:]] = order
                reasons[port[1:]] = f"{after.outputs[first].kind} without it: {_why(after, first)}"
        after = analyse(dataflow, ordered)
    edges = tuple(_edge(dataflow, stream, after, ordered, reasons) for stream in dataflow.streams)
    return Coordination(edges, after, ordered)


def _helps(order: str, label: Label) -> bool:
    """Whether an order makes it better: one by arrival is another one in each run."""
    return order == LOGGED or label.kind != RUN


def _why(analysis: Analysis, output: Output) -> str:
    name = ".".join(output)
    return next(
        (s.reason for s in reversed(analysis.steps) if s.rule == "label" and name in s.place.replace(",", " ").split()),
        "",
    )


def _edge(
    dataflow: Dataflow, stream: Stream, after: Analysis, ordered: Mapping[Output, str], reasons: Mapping[Output, str]
) -> EdgePlan:
    label = after.labels[stream.name]
    source = ".".join(stream.source) if stream.source else stream.name
    target = ".".join(stream.target) if stream.target else stream.name
    for output in _fed(dataflow, stream, ordered):
        return EdgePlan(source, target, "order", str(label), reasons[output], order=ordered[output])
    if stream.target is not None and label.kind == SEAL:
        for inputs in after.sealed.values():
            if stream.target in inputs:
                return _sealed(stream, label, source, target)
    return EdgePlan(source, target, "none", str(label), _nothing(stream, label))


def _fed(dataflow: Dataflow, stream: Stream, outputs: Iterable[Output]) -> list[Output]:
    """Which of the outputs depend on what a stream brings."""
    components = {c.name: c for c in dataflow.components}
    return [
        (name, interface)
        for name, interface in outputs
        if any(stream.target == (name, path.source) for path, _ in into(components[name], interface))
    ]


def _sealed(stream: Stream, label: Label, source: str, target: str) -> EdgePlan:
    key = tuple(sorted(label.key or ()))
    vote = stream.producers != 1
    names = ", ".join(key) or "nothing"
    reason = f"a value of {names} is processed when " + (
        "every producer of it has sealed it, and a vote says that these are all"
        if vote
        else "its only producer has sealed it"
    )
    return EdgePlan(source, target, "seal", str(label), reason, key, vote)


def _nothing(stream: Stream, label: Label) -> str:
    if stream.target is None:
        return "it leaves"
    if label.kind == SEAL:
        return "its punctuations are passed on"
    return "any order gives the same contents" if label.deterministic else "no order here would make it the same"
