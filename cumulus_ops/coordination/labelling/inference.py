"""How labels come through a component: inference along each path, and reconciliation of what an output is made of.

The rules are those of Blazes (technical report, section on label propagation), and two more, without which an "Async" could be refuted
(decision 0034):

====  ===============================================  ============
rule  a stream that comes through                      becomes
====  ===============================================  ============
1     {Async, Run} through OR_gate                     NDRead_gate
2     {Async, Run} through OW_gate                     Taint
3     Inst through CW or OW_gate                       Taint
4     Seal_key through OW_gate, not compatible         Taint
5     Seal_key through OR_gate                         NDRead_gate
p     anything else                                    what it was
====  ===============================================  ============

A rule that fires consumes the path's own label; Run alone stays beside an NDRead, for the requests themselves differ between runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.annotations import Annotation
from cumulus_ops.coordination.labelling.dependencies import Attributes, Rule
from cumulus_ops.coordination.labelling.labels import ASYNC, DIVERGE, INST, NDREAD, RUN, SEAL, TAINT, Label

__all__ = ["Inference", "Outcome", "infer", "reconcile"]


@dataclass(frozen=True)
class Inference:
    """What came through a path. ``came`` is the label at the input, ``label`` what it became by ``rule``, and ``reason`` why. ``beside``: a Run that stays.
    ``attributes`` are those at the input; ``carried`` is what the output is sealed on if it is. ``counts``: the path leads to this output; if not, it
    writes state that an order-sensitive path to it meets."""

    path: Annotation
    came: Label
    label: Label
    rule: str
    reason: str
    attributes: Attributes
    beside: Label | None = None
    carried: frozenset[str] | None = None
    counts: bool = True

    @property
    def used_seal(self) -> bool:
        """Whether a compatible seal makes an order-sensitive write deterministic."""
        return self.label.kind == SEAL and self.path.order_sensitive


@dataclass(frozen=True)
class Outcome:
    """What a label of an output was reconciled to, and why."""

    labels: tuple[Label, ...]
    label: Label
    reason: str
    seals: tuple[Inference, ...] = ()


def infer(path: Annotation, came: Label, attributes: Attributes, rules: frozenset[Rule]) -> Inference:
    """What a label becomes along a path.

    >>> count = Annotation("words", "counts", "OW", frozenset({"word", "batch"}))
    >>> for label in (Label("Async"), Label("Seal", frozenset({"batch"})), Label("Seal", frozenset({"user"}))):
    ...     found = infer(count, label, Attributes("words"), frozenset())
    ...     print(label, "through", count.text, "becomes", found.label, "by rule", found.rule)
    Async through OW_{batch,word} becomes Taint by rule 2
    Seal_{batch} through OW_{batch,word} becomes Seal_{batch} by rule p
    Seal_{user} through OW_{batch,word} becomes Taint by rule 4
    """
    label, rule, reason = _ruled(path, came, attributes, rules)
    beside = Label(RUN) if rule == "1" and came.kind == RUN else None
    carried = None
    if label.kind == SEAL and label.key is not None and not path.order_sensitive:
        carried = attributes.carried(label.key, path.lineage, rules)
    return Inference(path, came, label, rule, reason, attributes, beside, carried)


def _ruled(path: Annotation, came: Label, attributes: Attributes, rules: frozenset[Rule]) -> tuple[Label, str, str]:
    kind, read = came.kind, Label(NDREAD, gate=path.gate)
    if path.label == "OR" and kind in (ASYNC, RUN):
        return read, "1", "what it reads depends on when it comes"
    if path.label == "OR" and kind == SEAL:
        return read, "5", "a seal of the requests does not say that the state they read is complete"
    if path.label == "OW" and kind in (ASYNC, RUN):
        return Label(TAINT), "2", "the state depends on the order in which the records come"
    if path.writes and kind == INST:
        return Label(TAINT), "3", "what differs between replicas is written into the state"
    if path.label == "OW" and kind == SEAL:
        key = ", ".join(sorted(came.key or ()))
        if not attributes.compatible(path.gate, came.key or frozenset(), rules):
            return Label(TAINT), "4", _incompatible(path, key)
        gate = ", ".join(sorted(path.gate or ()))
        return came.bare, "p", f"a partition by {gate} is processed once it is complete: {key} is sealed"
    return came.bare, "p", "confluent" if not path.order_sensitive else "it differs already"


def _incompatible(path: Annotation, key: str) -> str:
    if path.gate is None:
        return "every record is a partition of its own, which no seal completes"
    gate = ", ".join(sorted(path.gate)) or "nothing, a single partition"
    return f"a seal on {key} does not complete a partition by {gate}"


def reconcile(found: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> list[Outcome]:
    """What the labels of an output's paths come to; the output's label is the most severe one of them (:func:`most_severe`).

    A Taint is Diverge if the component is replicated, and else Run. An NDRead is harmless (Async) only if every other label is the same
    NDRead or a compatible seal, and else Inst if replicated, Run if not. A compatible seal of an order-sensitive write is used up (Async) if
    whatever else is written is sealed compatibly, too, and else a Taint.
    """
    outcomes: list[Outcome] = []
    for number, one in enumerate(found):
        others = [other for i, other in enumerate(found) if i != number]
        outcomes.extend(_reconciled(one, others, replicated, rules))
    return outcomes


def _reconciled(
    one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]
) -> Iterator[Outcome]:
    labels = (one.label, *(o.label for o in others))
    if one.label.kind == TAINT:
        yield Outcome(labels, _tainted(replicated), _words(one.reason, replicated, "diverge"))
    elif one.label.kind == NDREAD:
        yield _read(one, others, replicated, rules)
    elif one.used_seal:
        yield _sealed_write(one, others, replicated, rules)
    elif (
        one.counts or not one.label.deterministic
    ):  # what differs differs in the state, whatever output it was written for
        yield _plain(one, labels)
    if one.beside is not None and one.counts:
        yield Outcome(labels, one.beside, "the requests differ between runs")


def _tainted(replicated: bool) -> Label:
    return Label(DIVERGE if replicated else RUN)


def _words(reason: str, replicated: bool, anomaly: str) -> str:
    return f"{reason}; replicas {anomaly}" if replicated else f"{reason}; not replicated, so runs differ"


def _read(one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> Outcome:
    """An NDRead, protected or not."""
    labels = (one.label, *(o.label for o in others))
    racing = [o for o in others if o.label != one.label and not _completes(o, one.path.gate, rules)]
    if racing:
        first = racing[0]
        reason = f"{one.path.source} races with {first.path.source}, which is {first.label}"
        return Outcome(labels, Label(INST if replicated else RUN), _words(reason, replicated, "answer differently"))
    seals = tuple(o for o in others if o.label.kind == SEAL)
    names = " and ".join(
        dict.fromkeys(f"{o.path.source} is sealed on {', '.join(sorted(o.label.key or ()))}" for o in seals)
    )
    return Outcome(
        labels, Label(ASYNC), f"protected: {names}" if seals else "nothing that it reads is ever written", seals
    )


def _sealed_write(one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> Outcome:
    """A compatible seal through an order-sensitive write, which other writes may disturb."""
    labels = (one.label, *(o.label for o in others))
    racing = [o for o in others if o.path.writes and not _completes(o, one.path.gate, rules)]
    if racing:
        reason = (
            f"{one.path.source} is sealed, but meets what {racing[0].path.source} writes, which is {racing[0].label}"
        )
        return Outcome(labels, _tainted(replicated), _words(reason, replicated, "diverge"))
    return Outcome(labels, Label(ASYNC), "the seal has been used: the contents are deterministic", (one,))


def _completes(other: Inference, gate: frozenset[str] | None, rules: frozenset[Rule]) -> bool:
    """Whether what comes through another path is sealed, compatibly with a gate."""
    key = other.label.key
    return other.label.kind == SEAL and key is not None and other.attributes.compatible(gate, key, rules)


def _plain(one: Inference, labels: tuple[Label, ...]) -> Outcome:
    if one.label.kind != SEAL:
        return Outcome(labels, one.label, "as it came")
    if one.carried is None:
        return Outcome(labels, Label(ASYNC), "the attributes of its seal are left out on the way")
    return Outcome(labels, replace(one.label, key=one.carried), "as it came")
