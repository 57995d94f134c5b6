"""Annotation files: what they may say, how streams are found, and errors that name the line."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Dependency, Schema, Stream, read_dataflow
from cumulus_ops.project.errors import InputProblem

FULL = """
name: ads
Cache:
  annotation:
    - { from: request, to: response, label: CR }
    - { from: response, to: response, label: CW }
Report:
  annotation:
    - { from: click, to: response, label: CW, lineage: [id] }
    - { from: request, to: response, label: OR, subscript: [id, campaign], lineage: { ad: id } }
  Rep: 3
streams:
  clicks: { to: Report.click, Seal: [campaign], producers: 1, Rep: true }
  asked: { to: [Cache, Report.request], label: Run }
  r: { from: Report, to: Cache.response }
  answers: { from: Cache.response }
schema:
  clicks: { columns: [id, campaign, company, symbol], keys: [company, [id, symbol]] }
  r: [id]
dependencies:
  - { from: company, to: symbol, injective: true }
  - { from: [company], to: [city, country], stream: clicks }
"""


def read(tmp_path, text):
    file = tmp_path / "dataflow.yaml"
    file.write_text(text, encoding="utf-8")
    return read_dataflow(file)


def test_all_that_a_file_can_say(tmp_path):
    found = read(tmp_path, FULL.replace("to: [Cache, ", "to: [Cache.request, "))
    cache, report = found.components
    id_, campaign, company = frozenset({"id"}), frozenset({"campaign"}), frozenset({"company"})
    assert (found.name, cache.replicated, report.replicated, report.replicas) == ("ads", None, True, 3)
    assert report.paths == (
        Annotation("click", "response", "CW", None, (("id", "id"),)),
        Annotation("request", "response", "OR", id_ | campaign, (("ad", "id"),)),
    )
    assert found.streams == (
        Stream("clicks", None, ("Report", "click"), campaign, True, producers=1),
        Stream("asked to Cache.request", None, ("Cache", "request"), label="Run"),
        Stream("asked to Report.request", None, ("Report", "request"), label="Run"),
        Stream("r", ("Report", "response"), ("Cache", "response")),
        Stream("answers", ("Cache", "response"), None),
    )
    assert found.schemas == (
        Schema("clicks", ("id", "campaign", "company", "symbol"), (company, frozenset({"id", "symbol"}))),
        Schema("r", ("id",)),
    )
    assert found.dependencies == (
        Dependency(company, "symbol", injective=True),
        Dependency(company, "city", stream="clicks"),
        Dependency(company, "country", stream="clicks"),
    )


def test_the_name_of_a_component_is_enough_where_it_leaves_no_doubt(tmp_path):
    with pytest.raises(InputProblem, match=r"dataflow.yaml:14: streams.asked.to: Cache has several") as problem:
        read(tmp_path, FULL)
    assert problem.value.hint == "write one of Cache.request, Cache.response"


def test_interfaces_of_one_name_are_connected_but_none_with_itself(tmp_path):
    found = read(
        tmp_path,
        """
A: { annotation: { from: x, to: y, label: CR } }
B: { annotation: [{ from: y, to: x, label: CR }, { from: y, to: y, label: CW }] }
C: { annotation: { from: y, to: z, label: CR } }
""",
    )
    assert [(s.name, s.source, s.target) for s in found.streams] == [
        ("y from A.y to B.y", ("A", "y"), ("B", "y")),
        ("y from A.y to C.y", ("A", "y"), ("C", "y")),
        ("x", ("B", "x"), ("A", "x")),
        ("y from B.y to C.y", ("B", "y"), ("C", "y")),
        ("z", ("C", "z"), None),
    ]


def test_a_stream_that_is_there_is_described_by_its_name(tmp_path):
    text = """
A: { annotation: { from: x, to: y, label: CR } }
B: { annotation: { from: y, to: z, label: OW, subscript: k } }
streams:
  x: { Seal: k }
  y: { producers: 2 }
"""
    found = read(tmp_path, text)
    assert [(s.name, s.seal, s.producers) for s in found.streams] == [
        ("x", frozenset({"k"}), None),
        ("y", None, 2),
        ("z", None, None),
    ]
    assert str(analyse(found).label) == "Async"


@pytest.mark.parametrize("said", ["subscript: '*'", "Rep: true"])
def test_a_star_is_no_subscript(tmp_path, said):
    found = read(tmp_path, f"A: {{ annotation: {{ from: x, to: y, label: OW, {said} }} }}")
    assert found.components[0].paths[0].gate is None
    assert found.components[0].replicated is (True if "Rep" in said else None)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("label: OR", "label: QR", 10, "'QR' is not known"),
        ("label: OR", "lable: OR", 10, "did you mean `label`"),
        ("label: OR, ", "", 10, "`label` is missing"),
        ("from: click, ", "", 9, "`from` is missing"),
        ("lineage: [id]", "subscript: [id]", 9, "CW has no subscript"),
        ("[id, campaign], lin", "[id, id], lin", 10, "'id' occurs twice"),
        ("Rep: 3", "Rep: maybe", 11, "neither true nor false"),
        ("Rep: 3", "rep: 3", 11, "did you mean `Rep`"),
        ("to: Report.click", "to: Reprot.click", 13, "no component 'Reprot'"),
        ("to: Report.click", "to: Report.clicks", 13, "no input 'clicks'"),
        ("from: Cache.response }", "from: Cache.request }", 16, "no output 'request'"),
        ("answers: { from: Cache.response }", "answer: { Seal: [id] }", 16, "no stream 'answer'"),
        ("r: { from: Report,", "r: { from: Report, label: Run,", 15, "only a stream from outside"),
        ("producers: 1", "producers: none", 13, "out of range"),
        ("keys: [company,", "keys: [firm,", 18, "'firm' is no column"),
        ("to: symbol, inj", "to: [symbol, city], inj", 21, "injective into several"),
        ("stream: clicks", "stream: click", 22, "no stream 'click'"),
        (
            "    - { from: request, to: response, label: CR }\n",
            "    - { Rep: true }\n    - { from: response, to: response, label: CR }\n",
            7,
            "two paths lead from response",
        ),
        ("name: ads", "name: ads\nannotation: []", 3, "stands beside the components"),
        ("name: ads", "name: ads\nSplitter:", 3, "without annotations"),
        ("name: ads", "name: ads\nSplitter: { annotation: [] }", 3, "no path"),
        ("name: ads", 'name: ads\n"a\\e[31m": 1', 3, "cannot be shown"),
        ("name: ads", "name: ads\n? [a]\n: b", 3, "a key is a single text"),
        ("name: ads", "name: [", 2, "not YAML"),
    ],
)
def test_an_error_names_the_line(tmp_path, old, new, line, words):
    text = FULL.replace("to: [Cache, ", "to: [Cache.request, ")
    assert old in text
    with pytest.raises(InputProblem) as problem:
        read(tmp_path, text.replace(old, new))
    said = str(problem.value)
    assert words in said
    assert re.search(rf"dataflow\.yaml:{line}\b", said) or words == "not YAML"
    assert problem.value.hint


def test_an_empty_file_says_what_to_write(tmp_path):
    with pytest.raises(InputProblem, match=r"docs/coordination\.md"):
        read(tmp_path, "")
    with pytest.raises(InputProblem, match="there is no component"):
        read(tmp_path, "name: nothing")


PIECES = [
    "Report:",
    "  annotation:",
    "streams:",
    "schema:",
    "dependencies:",
    "  - ",
    "{ from: a, to: b }",
    "[a, b]",
    "~",
    "label: OW",
]
PIECES += [
    "  c: { to: Report }",
    "    - { from: a, to: b, label: CR }",
    "&x [*x]",
    "<<: *x",
    "? {a: b}",
    "'",
    "\t",
    "!!python/object:os",
    "Rep: 1e9",
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("\n".join))
@example("&x [*x]")
@example("A: &x { annotation: *x }")
@example("[" * 1500)
def test_whatever_is_written_is_read_or_refused(tmp_path, text):
    problem = None
    try:
        analyse(read(tmp_path, text))
    except InputProblem as error:
        problem = error
    assert problem is None or (problem.place.startswith(str(tmp_path)) and problem.hint)
