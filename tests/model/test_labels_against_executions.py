"""No label that the coordination analysis gives is refuted by an execution: not by an order, a second run, or a second instance.

Random small dataflows with concrete components (``tests/support/dataflow_worlds.py``) are executed in all orders, or many; what the streams show
may never be worse than their labels. How often a label is worse than all that was seen is reported:
``DATAFLOWS=2000 pytest -s tests/model/test_labels_against_executions.py``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.coordination.labelling import analysis, labels
from cumulus_ops.coordination.labelling.analysis import ARRIVAL, LOGGED, analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import ASYNC, RUN, SEAL, Attributes, Label
from cumulus_ops.coordination.labelling.strategies import coordinate
from tests.support.dataflow_judge import Judgement, Refuted, judge
from tests.support.dataflow_worlds import draw_dataflow
from tests.support.sampling import sampled

DATAFLOWS = int(os.environ.get("DATAFLOWS", "0"))
SEED = int(os.environ.get("SEED", "0"))


def labels_of(dataflow: Dataflow) -> Mapping[str, Label]:
    return analyse(dataflow).labels


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_no_execution_refutes_a_label(choose: random.Random) -> None:
    judge(draw_dataflow(choose), labels_of, choose, Judgement())


def judge_coordinated(dataflow: Dataflow, order: str, choose: random.Random) -> None:
    """Execute a dataflow with all strategies in place; what they cannot remove is what the analysis says."""
    done = coordinate(dataflow, analyse(dataflow), order)
    judge(
        dataflow,
        lambda _: done.analysis.labels,
        choose,
        Judgement(),
        ordered={name: order for name, _ in done.ordered},
    )
    for name, label in done.analysis.labels.items():
        assert label.deterministic or (order == ARRIVAL and label.kind == "Run"), (
            f"{name} is {label} with all strategies in place"
        )


@pytest.mark.parametrize("order", [LOGGED, ARRIVAL])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(choose=st.randoms(use_true_random=False))
def test_strategies_remove_what_they_promise(order: str, choose: random.Random) -> None:
    judge_coordinated(draw_dataflow(choose), order, choose)


def test_order_by_arrival_does_not_make_runs_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    right = analysis._Walk._ordered

    def wrong(walk: analysis._Walk, *rest: Any) -> Label:
        with monkeypatch.context() as patch:
            patch.setattr(walk, "order", LOGGED)
            return right(walk, *rest)

    monkeypatch.setattr(analysis._Walk, "_ordered", wrong)
    with pytest.raises(Refuted):
        _judge_by_arrival(range(100))


def _judge_by_arrival(seeds: Iterable[int]) -> None:
    for seed in seeds:
        judge_coordinated(draw_dataflow(random.Random(seed)), ARRIVAL, random.Random(seed))


@pytest.mark.timeout(0)
@pytest.mark.skipif(not DATAFLOWS, reason="DATAFLOWS=2000 asks for it")
def test_over_caution(capsys: pytest.CaptureFixture[str]) -> None:
    judgement = Judgement()
    for seed in range(SEED, SEED + DATAFLOWS):
        choose = random.Random(seed)
        judge(draw_dataflow(choose), labels_of, choose, judgement, worlds=6)
    with capsys.disabled():
        print("\n" + judgement.describe())


def path(source: str, label: str, gate: str | None = None, target: str = "out") -> Annotation:
    return Annotation(source, target, label, None if gate is None else frozenset(gate))


def counting(seal: str | None) -> Dataflow:
    """Word count: ``a`` is the word, ``c`` the batch, ``b`` the place in the text."""
    count = Component("Count", (path("words", "OW", "ac"),))
    commit = Component("Commit", (path("counts", "CW"),))
    words = Stream("words_abc", None, ("Count", "words"), None if seal is None else frozenset(seal))
    return Dataflow(
        "counting",
        (count, commit),
        (words, Stream("counts", ("Count", "out"), ("Commit", "counts")), Stream("db", ("Commit", "out"), None)),
    )


def reporting(query: str, gate: str | None, seal: str | None) -> Dataflow:
    """Ad reporting: ``a`` is the campaign, ``c`` the ad; replicated servers and caches."""
    report = Component("Report", (path("clicks", "CW"), path("requests", query, gate)), replicated=True)
    cache = Component("Cache", (path("responses", "CW"),), replicated=True)
    clicks = Stream("clicks_ac", None, ("Report", "clicks"), None if seal is None else frozenset(seal))
    requests = Stream("requests_ac", None, ("Report", "requests"))
    answers, shown = (
        Stream("answers", ("Report", "out"), ("Cache", "responses")),
        Stream("shown", ("Cache", "out"), None),
    )
    return Dataflow("reporting", (report, cache), (clicks, requests, answers, shown))


@pytest.mark.parametrize(
    ("dataflow", "sink", "worst"),
    [
        (counting(None), "db", "Run"),
        (counting("c"), "db", "Async"),
        (reporting("CR", None, None), "shown", "Async"),
        (reporting("OR", "c", None), "shown", "Diverge"),
        (reporting("OR", "c", "a"), "shown", "Diverge"),
        (reporting("OR", "ac", "a"), "shown", "Async"),
        (reporting("OR", "ac", "c"), "shown", "Async"),
    ],
)
def test_case_studies_show_just_what_is_predicted(dataflow: Dataflow, sink: str, worst: str) -> None:
    judgement = Judgement()
    judge(dataflow, labels_of, random.Random(1), judgement, worlds=12)
    assert judgement.worst[sink] == worst
    assert labels_of(dataflow)[sink].kind == worst


Patch = Callable[[pytest.MonkeyPatch], None]


def _ruled(kind: str, label: str) -> Patch:
    """A rule of inference is left out: what it concerns is preserved."""
    right = labels._ruled

    def wrong(p: Annotation, came: Label, *rest: object) -> tuple[Label, str, str]:
        if (came.kind, p.label) == (kind, label):
            return came.bare, "p", "preserved"
        return right(p, came, *rest)

    return lambda patch: patch.setattr(labels, "_ruled", wrong)


def _seal_through_or(patch: pytest.MonkeyPatch) -> None:
    _ruled("Seal", "OR")(patch)
    used = property(lambda self: self.label.kind == SEAL and self.path.label == "OW")
    patch.setattr(labels.Inference, "used_seal", used)


def _infer_without_run(p: Annotation, *rest: object) -> labels.Inference:
    return replace(_right_infer(p, *rest), beside=None)


def _seal_stays(one: labels.Inference, *rest: object) -> labels.Outcome:
    found = _right_read(one, *rest)
    sealed = [label for label in found.labels if label.kind == SEAL]
    return replace(found, label=sealed[0]) if found.label.kind == ASYNC and sealed else found


def _own_only(one: labels.Inference, *rest: Any) -> Iterator[labels.Outcome]:
    if one.counts or one.label.kind not in ("Run", "Inst", "Diverge"):
        yield from _right_reconciled(one, *rest)


def _severest(labels: list[Label]) -> Label:
    return max((label.bare for label in labels), key=lambda label: label.severity)


def _whole_key(_: Attributes, gate: frozenset[str] | None, key: frozenset[str], rules: object) -> bool:
    return gate is not None and bool(gate & key)


def _by_name(
    _: Attributes, key: frozenset[str], lineage: tuple[tuple[str, str], ...] | None, rules: object
) -> frozenset[str] | None:
    return key if lineage is None or key <= {new for new, _ in lineage} else None


def _compatible_if(which: Callable[[frozenset[str] | None], bool]) -> Patch:
    def wrong(
        self: Attributes, gate: frozenset[str] | None, key: frozenset[str], rules: frozenset[labels.Rule]
    ) -> bool:
        return which(gate) or _right_compatible(self, gate, key, rules)

    return lambda patch: patch.setattr(Attributes, "compatible", wrong)


_right_compatible, _right_reconciled = Attributes.compatible, labels._reconciled
_right_infer, _right_read, _right_collapsed = labels.infer, labels._read, analysis._collapsed

#: Mistakes in the analysis, each of which an execution has to refute.
MUTANTS: dict[str, Patch] = {
    "any seal protects a read": lambda p: p.setattr(labels, "_completes", lambda o, *_: o.label.kind == SEAL),
    "every read is protected": lambda p: p.setattr(labels, "_completes", lambda *_: True),
    "every seal is compatible": lambda p: p.setattr(Attributes, "compatible", lambda *_: True),
    "one attribute of the key is enough": lambda p: p.setattr(Attributes, "compatible", _whole_key),
    "a seal completes what has no gate": _compatible_if(lambda gate: gate is None),
    "a seal completes a single partition": _compatible_if(lambda gate: gate == frozenset()),
    "every dependency is injective": lambda p: p.setattr(
        analysis, "rules_of", lambda ds: labels.rules_of(replace(d, injective=True) for d in ds)
    ),
    "Rep is lost": lambda p: p.setattr(analysis, "_replicated", lambda _: frozenset()),
    "Rep is not inherited": lambda p: p.setattr(
        analysis, "_replicated", lambda dataflow: frozenset(c.name for c in dataflow.components if c.replicated)
    ),
    "a Taint never diverges": lambda p: p.setattr(labels, "_tainted", lambda _: Label(RUN)),
    "Inst through CW is preserved": _ruled("Inst", "CW"),
    "Inst through OW is preserved": _ruled("Inst", "OW"),
    "Run through OR is preserved": _ruled("Run", "OR"),
    "Run through OW is preserved": _ruled("Run", "OW"),
    "Async through OR is preserved": _ruled("Async", "OR"),
    "Async through OW is preserved": _ruled("Async", "OW"),
    "a Seal through OR is preserved": _seal_through_or,
    "a Run is consumed by a read": lambda p: p.setattr(analysis, "infer", _infer_without_run),
    "a protected read keeps the seal": lambda p: p.setattr(labels, "_read", _seal_stays),
    "a sealed write meets nothing": lambda p: p.setattr(
        labels, "_sealed_write", lambda one, *_: labels.Outcome((one.label,), Label(ASYNC), "")
    ),
    "different seals are one": lambda p: p.setattr(analysis, "most_severe", _severest),
    "a seal survives a projection": lambda p: p.setattr(Attributes, "carried", lambda self, key, *_: key),
    "a seal follows names": lambda p: p.setattr(Attributes, "carried", _by_name),
    "outputs share no state": lambda p: p.setattr(
        analysis, "into", lambda c, out: [(q, True) for q in c.paths if q.target == out]
    ),
    "what is written for another output is harmless": lambda p: p.setattr(labels, "_reconciled", _own_only),
    "a cycle reads only": lambda p: p.setattr(
        analysis, "_collapsed", lambda paths: max(paths, key=lambda q: q.severity)
    ),
    "a cycle is sealed": lambda p: p.setattr(
        analysis._Walk,
        "_entered",
        lambda self, q, flow: _right_infer(replace(q, gate=flow.label.key), flow.label, Attributes(""), frozenset()),
    ),
}


#: The dataflow to begin with: one that is refuted quickly. It saves time, and nothing else.
FIRST_SEEDS = {
    "any seal protects a read": 64,
    "every read is protected": 11,
    "every seal is compatible": 28,
    "one attribute of the key is enough": 1066,
    "a seal completes what has no gate": 64,
    "a seal completes a single partition": 81,
    "every dependency is injective": 302,
    "Rep is lost": 13,
    "Rep is not inherited": 13,
    "a Taint never diverges": 17,
    "Inst through CW is preserved": 78,
    "Inst through OW is preserved": 211,
    "Run through OR is preserved": 167,
    "Run through OW is preserved": 34,
    "Async through OR is preserved": 27,
    "a Seal through OR is preserved": 56,
    "a Run is consumed by a read": 95,
    "a protected read keeps the seal": 254,
    "a sealed write meets nothing": 647,
    "a seal survives a projection": 248,
    "a seal follows names": 9217,
    "outputs share no state": 28,
    "what is written for another output is harmless": 3811,
    "a cycle is sealed": 668,
}


@pytest.mark.parametrize("mutant", sampled(MUTANTS, 4))
def test_a_wrong_rule_is_refuted(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    for seed in (FIRST_SEEDS.get(mutant, 0), *range(30_000)):
        choose = random.Random(f"mutant {seed}")
        dataflow = draw_dataflow(choose)
        right = labels_of(dataflow)
        with monkeypatch.context() as patch:
            MUTANTS[mutant](patch)
            wrong = labels_of(dataflow)
        if all(wrong[name].severity >= label.severity for name, label in right.items()):
            continue
        tried += 1
        try:
            judge(dataflow, lambda _, wrong=wrong: wrong, choose, Judgement())
        except Refuted:
            return
    pytest.fail(f"{tried} dataflows that it gets wrong, and nothing refutes it")
