"""Inference, reconciliation and merge: each rule, and each choice that the paper leaves open (decision 34)."""

from dataclasses import replace

import pytest

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Schema, Stream
from cumulus_ops.coordination.labelling.labels import Attributes, Label, infer, most_severe
from cumulus_ops.project.errors import InputProblem

ID, CAMPAIGN = frozenset({"id"}), frozenset({"campaign"})
SEAL = Label("Seal", key=ID)
LABELS = {
    "Async": Label("Async"),
    "Run": Label("Run"),
    "Inst": Label("Inst"),
    "Diverge": Label("Diverge"),
    "Seal": SEAL,
}


def path(label, gate=ID, source="x", target="o", lineage=None):
    return Annotation(source, target, label, gate if label[0] == "O" else None, lineage)


def through(label, annotation, gate=ID):
    return infer(path(annotation, gate), LABELS[label], Attributes("x"), frozenset())


@pytest.mark.parametrize(
    ("label", "annotation", "becomes", "rule"),
    [
        *((label, "CR", label, "p") for label in ("Async", "Run", "Inst", "Diverge")),
        ("Seal", "CR", "Seal_{id}", "p"),
        ("Seal", "CW", "Seal_{id}", "p"),
        ("Async", "CW", "Async", "p"),
        ("Run", "CW", "Run", "p"),
        ("Inst", "CW", "Taint", "3"),
        ("Diverge", "CW", "Diverge", "p"),
        ("Async", "OR", "NDRead_{id}", "1"),
        ("Run", "OR", "NDRead_{id}", "1"),
        ("Inst", "OR", "Inst", "p"),
        ("Seal", "OR", "NDRead_{id}", "5"),
        ("Async", "OW", "Taint", "2"),
        ("Run", "OW", "Taint", "2"),
        ("Inst", "OW", "Taint", "3"),
        ("Diverge", "OW", "Diverge", "p"),
        ("Seal", "OW", "Seal_{id}", "p"),
    ],
)
def test_inference_along_a_path(label, annotation, becomes, rule):
    found = through(label, annotation)
    assert (str(found.label), found.rule) == (becomes, rule)


@pytest.mark.parametrize("gate", [CAMPAIGN, None, frozenset()])
def test_a_seal_that_does_not_complete_partitions_of_the_gate_taints(gate):
    assert (through("Seal", "OW", gate).label.kind, through("Seal", "OW", gate).rule) == ("Taint", "4")


def component_label(*paths, replicated=False, **inputs):
    """The label of the output ``o``, with the inputs' seals and labels by name; one that is not named is Async."""
    streams = []
    for name in dict.fromkeys(p.source for p in paths):
        what = inputs.get(name, "Async")
        seal = what if isinstance(what, frozenset) else None
        streams.append(Stream(name, None, ("C", name), seal, label="Async" if seal is not None else what))
    out = Stream("out", ("C", "o"), None)
    return str(analyse(Dataflow("d", (Component("C", paths, replicated),), (*streams, out))).labels["out"])


WRITE, READ = path("CW", source="c"), path("OR", source="q")


@pytest.mark.parametrize("replicated", [False, True])
def test_a_read_is_protected_only_if_every_other_label_is_the_same_read_or_a_compatible_seal(replicated):
    raced = "Inst" if replicated else "Run"
    other, same = path("CW", source="d"), path("OR", source="p")
    different = path("OR", CAMPAIGN, source="p")
    assert component_label(WRITE, READ, replicated=replicated) == raced
    assert component_label(WRITE, READ, replicated=replicated, c=ID) == "Async"
    assert component_label(WRITE, READ, replicated=replicated, c=CAMPAIGN) == raced
    assert component_label(WRITE, READ, other, replicated=replicated, c=ID) == raced
    assert component_label(WRITE, READ, other, replicated=replicated, c=ID, d=ID) == "Async"
    assert component_label(WRITE, READ, same, replicated=replicated, c=ID) == "Async"
    assert component_label(WRITE, READ, different, replicated=replicated, c=ID) == raced


@pytest.mark.parametrize(("replicated", "becomes"), [(False, "Run"), (True, "Diverge")])
def test_a_taint_is_what_replication_makes_of_it(replicated, becomes):
    assert component_label(path("OW"), replicated=replicated) == becomes
    assert component_label(path("CW"), replicated=replicated, x="Inst") == becomes


def test_requests_that_differ_between_runs_get_answers_that_differ():
    assert component_label(WRITE, READ, replicated=True, c=ID, q="Run") == "Run"


def test_sealed_requests_race_with_writes_that_are_not():
    assert component_label(WRITE, READ, q=ID) == "Run"
    assert component_label(WRITE, READ, q=ID, c=ID) == "Async"


def test_a_sealed_write_races_with_another_write_that_is_votes_missing():
    counts, other = path("OW"), path("CW", source="d")
    assert component_label(counts, other, x=ID) == "Run"
    assert component_label(counts, other, x=ID, d=ID) == "Async"
    assert component_label(counts, path("CR", source="d"), x=ID) == "Async"


def test_state_that_is_written_on_the_way_to_another_output_counts():
    elsewhere = path("CW", source="c", target="log")
    assert component_label(READ, elsewhere) == "Run"
    assert component_label(READ, elsewhere, c=ID) == "Async"
    assert component_label(READ) == "Async"
    assert component_label(path("CR", source="q"), path("OW", source="c", target="log")) == "Async"


def test_state_that_diverges_shows_in_whatever_reads_it():
    streams = (
        Stream("q", None, ("B", "q")),
        Stream("x", None, ("A", "x"), label="Inst"),
        Stream("c", ("A", "o"), ("B", "c")),
        Stream("out", ("B", "o"), None),
    )
    parts = (Component("A", (path("CW"),), True), Component("B", (READ, path("CW", source="c", target="log")), True))
    labels = analyse(Dataflow("d", parts, streams)).labels
    assert {n: str(labels[n]) for n in ("c", "out")} == {"c": "Diverge", "out": "Diverge"}


def test_without_a_subscript_no_seal_is_compatible():
    assert component_label(WRITE, path("OR", None, source="q"), c=ID) == "Run"
    assert component_label(path("OW", None), x=ID) == "Run"


def test_a_used_seal_becomes_async_and_an_unused_one_stays():
    assert component_label(path("OW"), x=ID) == "Async"
    assert component_label(path("CW"), x=ID) == "Seal_{id}"


@pytest.mark.parametrize(
    ("lineage", "label"),
    [
        (None, "Seal_{campaign,id}"),
        ((("ad", "id"), ("campaign", "campaign")), "Seal_{ad,campaign}"),
        ((("id", "id"),), "Async"),
        ((("id", "campaign"), ("campaign", "campaign")), "Async"),
        ((), "Async"),
    ],
)
def test_a_seal_is_kept_if_all_of_its_attributes_are(lineage, label):
    assert component_label(path("CR", lineage=lineage), x=ID | CAMPAIGN) == label


def test_an_attribute_that_is_new_is_not_the_one_of_that_name():
    """The output's id is the input's campaign: a gate by id is not completed by a seal on what was called id."""
    renamed = Component("A", (path("CR", lineage=(("id", "campaign"), ("ad", "id"))),))
    counts = Component("B", (path("OW"),))
    streams = (Stream("s", None, ("A", "x"), ID), Stream("t", ("A", "o"), ("B", "x")), Stream("u", ("B", "o"), None))
    analysis = analyse(Dataflow("d", (renamed, counts), streams))
    assert {n: str(label) for n, label in analysis.labels.items()} == {"s": "Seal_{id}", "t": "Seal_{ad}", "u": "Run"}


def two_into_one(one, other, gate=ID):
    streams = (Stream("s", None, ("C", "x"), one), Stream("t", None, ("C", "x"), other), Stream("u", ("C", "o"), None))
    return str(analyse(Dataflow("d", (Component("C", (path("OW", gate),)),), streams)).labels["u"])


def test_equal_seals_merge_and_different_ones_do_not():
    assert two_into_one(ID, ID) == "Async"
    assert two_into_one(ID, CAMPAIGN, ID | CAMPAIGN) == "Run"
    assert two_into_one(ID, None) == "Run"


def test_merge_takes_the_most_severe():
    for worse in ("Async", "Run", "Inst", "Diverge"):
        assert most_severe([SEAL, LABELS[worse]]) == LABELS[worse]
    assert most_severe([Label("Inst"), Label("Diverge"), Label("Run")]) == Label("Diverge")
    assert most_severe([SEAL, SEAL]) == SEAL


def cycle(*paths, seal=None, replicated=False):
    streams = (
        Stream("s", None, ("C", "x"), seal),
        Stream("again", ("C", "o"), ("C", "back")),
        Stream("out", ("C", "o"), None),
    )
    return str(analyse(Dataflow("d", (Component("C", paths, replicated),), streams)).labels["out"])


def test_a_cycle_is_one_step_of_the_highest_severity():
    assert cycle(path("CR"), path("CW", source="back")) == "Async"
    assert cycle(path("CR"), path("OW", source="back")) == "Run"
    assert cycle(path("OR"), path("CW", source="back"), replicated=True) == "Diverge"
    assert cycle(path("CR"), path("CR", source="back"), seal=ID) == "Async"
    assert cycle(path("OW"), path("CW", source="back"), seal=ID) == "Run"


def reported(*, report, cache, clicks=None):
    """Clicks and requests to a report, whose answers are kept by a cache."""
    parts = (
        Component("Report", (WRITE, READ), report),
        Component("Cache", (path("CW", source="o", target="kept"),), cache),
    )
    streams = (
        Stream("clicks", None, ("Report", "c"), replicated=clicks),
        Stream("answers", ("Report", "o"), ("Cache", "o")),
        Stream("kept", ("Cache", "kept"), None),
    )
    labels = analyse(Dataflow("d", parts, streams)).labels
    return str(labels["answers"]), str(labels["kept"])


def test_rep_travels_with_what_is_made_of_it():
    assert reported(report=None, cache=None) == ("Run", "Run")
    assert reported(report=True, cache=None) == ("Inst", "Diverge")
    assert reported(report=None, cache=None, clicks=True) == ("Inst", "Diverge")
    assert reported(report=True, cache=False) == ("Inst", "Run")
    assert reported(report=False, cache=True, clicks=True) == ("Run", "Run")


def test_rep_of_one_input_is_rep_of_all_outputs():
    """Its instances see the other inputs in different orders, too."""
    parts = (
        Component("C", (path("CW", source="a", target="o"), path("CR", source="b", target="p"))),
        Component("D", (path("OW", source="o"),)),
    )
    streams = (
        Stream("a", None, ("C", "a")),
        Stream("b", None, ("C", "b"), replicated=True),
        Stream("between", ("C", "o"), ("D", "o")),
        Stream("out", ("D", "o"), None),
    )
    assert str(analyse(Dataflow("d", parts, streams)).labels["out"]) == "Diverge"
    alone = (streams[0], replace(streams[1], replicated=None), *streams[2:])
    assert str(analyse(Dataflow("d", parts, alone)).labels["out"]) == "Run"


def test_a_seal_that_is_said_of_a_stream_inside_is_believed_unless_contents_differ():
    counts = Component("A", (path("OW"),)), Component("B", (path("OW"),))
    streams = (
        Stream("s", None, ("A", "x"), ID),
        Stream("t", ("A", "o"), ("B", "x"), ID),
        Stream("u", ("B", "o"), None),
    )
    assert str(analyse(Dataflow("d", counts, streams)).labels["u"]) == "Async"
    open_ = (replace(streams[0], seal=None), *streams[1:])
    assert str(analyse(Dataflow("d", counts, open_)).labels["t"]) == "Run"


def test_a_seal_ends_where_the_schema_has_no_such_attribute():
    parts = (Component("A", (path("CR"),)), Component("B", (path("OW"),)))
    streams = (Stream("s", None, ("A", "x"), ID), Stream("t", ("A", "o"), ("B", "x")), Stream("u", ("B", "o"), None))
    with_it, without = (Schema("t", columns) for columns in (("id", "n"), ("n",)))
    assert str(analyse(Dataflow("d", parts, streams, (), (with_it,))).labels["u"]) == "Async"
    assert str(analyse(Dataflow("d", parts, streams, (), (without,))).labels["u"]) == "Run"


def test_labels_do_not_depend_on_the_order_in_which_things_are_written():
    a, b = Component("A", (path("CR"),)), Component("B", (path("OW"),))
    streams = (Stream("s", None, ("A", "x"), ID), Stream("t", ("A", "o"), ("B", "x")), Stream("u", ("B", "o"), None))
    one, other = Dataflow("d", (a, b), streams), Dataflow("d", (b, a), streams[::-1])
    assert dict(analyse(one).labels) == dict(analyse(other).labels)


@pytest.mark.parametrize("wrong", [Stream("s", None, ("C", "x")), Stream("t", ("D", "o"), None)])
def test_a_dataflow_that_does_not_fit_together_is_refused(wrong):
    with pytest.raises(InputProblem, match=r"stream (s occurs twice|t has no component D)"):
        analyse(Dataflow("d", (Component("C", (path("CR"),)),), (Stream("s", None, ("C", "x")), wrong)))
