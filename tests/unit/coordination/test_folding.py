"""Groups of components as one annotated component."""

import pytest

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream, read_dataflow
from cumulus_ops.coordination.labelling.strategies import fold
from cumulus_ops.project.errors import InputProblem
from tests.support.golden import GOLDEN


def read(name):
    return read_dataflow(GOLDEN / "coordination" / f"{name}.yaml")


def folded(dataflow, *group):
    made = fold(dataflow, group, "Folded")
    (component,) = (c for c in made.components if c.name == "Folded")
    return made, component


def test_the_ad_service_with_a_confluent_query_is_one_confluent_component():
    """Section VI-B2: "we could encapsulate the service as a single component with annotation CW"."""
    made, service = folded(read("ads_thresh"), "Cache", "Report")
    assert {(p.source, p.target, p.text) for p in service.paths} == {
        ("click", "response", "CW"),
        ("request", "response", "CW"),
    }
    assert service.replicated
    assert [s.name for s in made.streams] == ["c", "q", "answers"]
    assert str(analyse(made).label) == "Async"


def test_one_component_alone_is_what_it_was():
    dataflow = read("ads_campaign_sealed")
    made, report = folded(dataflow, "Report")
    (before,) = (c for c in dataflow.components if c.name == "Report")
    assert (set(report.paths), report.replicated) == (set(before.paths), before.replicated)
    assert dict(analyse(made).labels) == dict(analyse(dataflow).labels)


def test_a_read_whose_answers_are_kept_is_an_order_sensitive_write():
    made, service = folded(read("ads_poor"), "Cache", "Report")
    assert {(p.source, p.text) for p in service.paths} == {("click", "CW"), ("request", "OW_*")}
    assert str(analyse(made).label) == "Diverge"


def test_a_component_before_a_gate_is_not_looked_through():
    """What comes to the gate may have lost its seal on the way."""
    parts = (
        Component("A", (Annotation("x", "o", "CR"),)),
        Component("B", (Annotation("o", "p", "OW", frozenset({"k"})),)),
    )
    streams = (
        Stream("s", None, ("A", "x"), frozenset({"k"})),
        Stream("t", ("A", "o"), ("B", "o")),
        Stream("u", ("B", "p"), None),
    )
    dataflow = Dataflow("d", parts, streams)
    made, one = folded(dataflow, "A", "B")
    assert [p.text for p in one.paths] == ["OW_*"]
    assert (str(analyse(dataflow).label), str(analyse(made).label)) == ("Async", "Run")


def test_interfaces_of_one_name_get_their_component_in_front():
    _, one = folded(read("company"), "Quotes", "Offices")
    assert {(p.source, p.target) for p in one.paths} == {("quotes", "prices"), ("offices", "sizes")}
    parts = tuple(Component(name, (Annotation("x", "o", "CR"),)) for name in "AB")
    streams = tuple(Stream(f"s{name}", None, (name, "x")) for name in "AB")
    made, two = folded(Dataflow("d", parts, streams), "A", "B")
    assert {(p.source, p.target) for p in two.paths} == {("A.x", "A.o"), ("B.x", "B.o")}
    assert [s.target for s in made.streams] == [("Folded", "A.x"), ("Folded", "B.x")]


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [(["Cash"], "S", "no component 'Cash'"), (["Cache"], "Report", "cannot be"), ([], "S", "cannot be")],
)
def test_a_group_that_cannot_be_folded_is_refused(group, name, words):
    with pytest.raises(InputProblem, match=words):
        fold(read("ads_poor"), group, name)
