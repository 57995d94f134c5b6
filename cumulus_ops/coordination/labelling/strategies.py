"""Which coordination each stream needs: none, a seal, or an order (Blazes, section V-B).

Where a seal that is there already completes what an order-sensitive path works on, the consumer waits for it: for every producer's
punctuation, and, if there are several producers, for a vote that these are all. Where there is none, all that the path depends on is put in
one order: by logged version, which is the same in every run, or by arrival, which is the same at every replica only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.analysis import LOGGED, Analysis, Output, analyse, into
from cumulus_ops.coordination.labelling.annotations import Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import SEAL, Label
from cumulus_ops.coordination.plan import EdgePlan

__all__ = ["Coordination", "choose_strategies", "coordinate"]

#: (component, interface).
Input = tuple[str, str]


@dataclass(frozen=True)
class Coordination:
    """What is done, and what comes of it: ``edges`` in the order of the dataflow's streams, ``analysis`` with all of them in place. ``ordered``: the
    outputs for which all that they depend on is ordered, and why."""

    edges: tuple[EdgePlan, ...]
    analysis: Analysis

    @property
    def ordered(self) -> Mapping[Output, str]:
        """See above."""
        return self.analysis.ordered


def choose_strategies(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> tuple[EdgePlan, ...]:
    """What each stream of an analysed dataflow needs; ``order`` is which one is to be had, ``logged`` or ``arrival``."""
    return coordinate(dataflow, analysis, order).edges


def coordinate(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> Coordination:
    """The same, and the labels that the streams have with it."""
    after = analysis if not analysis.raised else analyse(dataflow, order)
    return Coordination(tuple(_Edges(dataflow, after, order).edges()), after)


class _Edges:
    """What each stream needs for an analysis to hold."""

    def __init__(self, dataflow: Dataflow, after: Analysis, order: str) -> None:
        self.dataflow, self.after, self.order = dataflow, after, order
        self.sealed = frozenset[Input]().union(*after.sealed.values())
        self.streams = Counter(s.target for s in dataflow.streams)
        components = {c.name: c for c in dataflow.components}
        #: input -> why what comes there is ordered
        self.ordered: dict[Input | None, str] = {}
        for (name, interface), reason in after.ordered.items():
            for path, _ in into(components[name], interface):
                self.ordered.setdefault((name, path.source), reason)

    def edges(self) -> Iterator[EdgePlan]:
        for stream in self.dataflow.streams:
            label = self.after.labels[stream.name]
            source = ".".join(stream.source) if stream.source else stream.name
            target = ".".join(stream.target) if stream.target else stream.name
            plan = EdgePlan(source, target, "none", str(label), self._nothing(stream, label))
            if stream.target in self.ordered:
                plan = replace(plan, strategy="order", reason=self.ordered[stream.target], order=self.order)
            elif stream.target in self.sealed and label.kind == SEAL:
                key, vote = tuple(sorted(label.key or ())), stream.producers != 1 or self.streams[stream.target] > 1
                plan = replace(plan, strategy="seal", reason=_waiting(key, vote), key=key, vote=vote)
            yield plan

    def _nothing(self, stream: Stream, label: Label) -> str:
        if stream.target is None:
            return "it leaves"
        if label.kind == SEAL:
            return "its punctuations are passed on"
        return "any order gives the same contents" if label.deterministic else "no order here would make it the same"


def _waiting(key: tuple[str, ...], vote: bool) -> str:
    value = f"a value of {', '.join(key)}" if key else "the stream"
    if vote:
        return f"{value} is processed when every producer of it has sealed it, and a vote says that these are all"
    return f"{value} is processed when its only producer has sealed it"
