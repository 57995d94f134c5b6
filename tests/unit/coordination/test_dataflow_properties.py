"""What must be true of every annotated dataflow: better input and better components never make a label more severe, nor does looking inside."""

import os
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.labels import KINDS
from cumulus_ops.coordination.labelling.strategies import coordinate, fold
from tests.support.annotated_dataflows import ATTRIBUTES, dataflows

EXAMPLES = settings(max_examples=int(os.environ.get("EXAMPLES", "25")), deadline=None)
#: A dataflow ends in streams that differ, or that do not: a seal more or less is none of it.
ASYNC = KINDS.index("Async")


def severities(analysis, names=None):
    return {n: max(label.severity, ASYNC) for n, label in analysis.labels.items() if names is None or n in names}


def no_worse(before, after):
    return {n: (before[n], after[n]) for n in after if after[n] > before[n]}


def assume_inst_among_replicas(analysis):
    """The rules keep Inst through a read and make a Taint of it through a write, which is Run in a component that is not replicated."""
    single = {name for (name, _), label in analysis.outputs.items() if not label.replicated}
    assume(not any(label.kind == "Inst" and name in single for (name, _), label in analysis.inputs.items()))


@EXAMPLES
@given(dataflows(), st.data())
def test_a_seal_more_never_makes_a_label_more_severe(dataflow, data):
    open_ = [s for s in dataflow.streams if s.source is None and s.seal is None and s.label == "Async"]
    if not open_:
        return
    sealed = data.draw(st.sampled_from(open_))
    key = data.draw(st.frozensets(st.sampled_from(ATTRIBUTES), min_size=1))
    streams = tuple(replace(s, seal=key) if s is sealed else s for s in dataflow.streams)
    after = analyse(replace(dataflow, streams=streams))
    assert not no_worse(severities(analyse(dataflow)), severities(after))


@EXAMPLES
@given(dataflows(), st.data())
def test_a_confluent_component_never_makes_a_label_more_severe(dataflow, data):
    one = data.draw(st.sampled_from(dataflow.components))
    paths = tuple(replace(p, label="C" + p.label[1], gate=None) for p in one.paths)
    parts = tuple(replace(c, paths=paths) if c is one else c for c in dataflow.components)
    before = analyse(dataflow)
    assume_inst_among_replicas(before)
    assume(not before.cycles)  # a cycle has paths of several components, of which one would be made confluent
    assert not no_worse(severities(before), severities(analyse(replace(dataflow, components=parts))))


@EXAMPLES
@given(dataflows(), st.data())
def test_replication_never_makes_a_label_less_severe(dataflow, data):
    one = data.draw(st.sampled_from(dataflow.components))
    parts = tuple(replace(c, replicated=True) if c is one else c for c in dataflow.components)
    worse = analyse(replace(dataflow, components=parts))
    assert not no_worse(severities(worse), severities(analyse(dataflow)))


@EXAMPLES
@given(dataflows(), st.data())
def test_folding_never_makes_a_label_less_severe(dataflow, data):
    names = [c.name for c in dataflow.components]
    group = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    before, folded = analyse(dataflow), analyse(fold(dataflow, group, "Folded"))
    assume_inst_among_replicas(before)
    assert not no_worse(severities(folded), severities(before, folded.labels))


@EXAMPLES
@given(dataflows())
def test_logged_order_and_seals_leave_nothing_that_was_not_outside(dataflow):
    """What differs then differed when it came."""
    analysis = analyse(dataflow)
    worst = max((ASYNC, *(KINDS.index(s.label) for s in dataflow.streams if s.source is None)))
    logged, arrival = coordinate(dataflow, analysis).analysis, coordinate(dataflow, analysis, "arrival").analysis
    assert max(severities(logged).values()) <= worst
    assert max(severities(arrival).values()) <= max(worst, KINDS.index("Run"))
    assert not no_worse(severities(analysis), severities(logged))


@EXAMPLES
@given(dataflows())
def test_what_is_deterministic_alone_is_not_ordered(dataflow):
    analysis = analyse(dataflow)
    found = coordinate(dataflow, analysis)
    if all(label.severity <= ASYNC for label in analysis.labels.values()):
        assert not found.ordered
    assert all(edge.strategy != "seal" or edge.key for edge in found.edges)
