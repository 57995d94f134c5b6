"""The derivations of the Blazes paper, each step of them: section VI, figure 6, footnotes 3 and 4."""

import pytest

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import read_dataflow
from cumulus_ops.coordination.labelling.explanation import explain
from cumulus_ops.coordination.labelling.strategies import coordinate
from tests.support.golden import GOLDEN, compare_golden

FILES = GOLDEN / "coordination"
#: (file, label of the whole, label with logged order, label with order by arrival)
CASES = [
    ("wordcount", "Run", "Async", "Run"),
    ("wordcount_sealed", "Async", "Async", "Async"),
    ("ads_thresh", "Async", "Async", "Async"),
    ("ads_poor", "Diverge", "Async", "Run"),
    ("ads_poor_sealed", "Diverge", "Async", "Run"),
    ("ads_campaign", "Diverge", "Async", "Run"),
    ("ads_campaign_sealed", "Async", "Async", "Async"),
    ("ads_window", "Diverge", "Async", "Run"),
    ("ads_window_sealed", "Async", "Async", "Async"),
    ("ads_window_sealed_on_id", "Async", "Async", "Async"),
    ("antijoin", "Async", "Async", "Async"),
    ("company", "Run", "Async", "Run"),
    ("projections", "Async", "Async", "Async"),
]


def read(name):
    return read_dataflow(FILES / f"{name}.yaml")


@pytest.mark.parametrize(("name", "label", "logged", "arrival"), CASES, ids=[c[0] for c in CASES])
def test_the_label_of_the_paper_and_what_coordination_makes_of_it(name, label, logged, arrival):
    dataflow = read(name)
    analysis = analyse(dataflow)
    assert str(analysis.label) == label
    assert str(coordinate(dataflow, analysis).analysis.label) == logged
    assert str(coordinate(dataflow, analysis, "arrival").analysis.label) == arrival


@pytest.mark.parametrize("name", [c[0] for c in CASES])
def test_every_step_of_the_derivation(name):
    dataflow = read(name)
    analysis = analyse(dataflow)
    compare_golden(f"coordination/{name}.txt", explain(dataflow, analysis, coordinate(dataflow, analysis)))


def test_a_company_seals_its_symbol_and_not_its_city():
    labels = analyse(read("company")).labels
    assert {name: str(labels[name]) for name in ("prices", "sizes")} == {"prices": "Async", "sizes": "Run"}


def test_every_dataflow_has_its_derivation():
    assert {p.stem for p in FILES.glob("*.yaml")} == {c[0] for c in CASES} == {p.stem for p in FILES.glob("*.txt")}


def test_the_cache_is_a_cycle_and_cache_and_report_are_none():
    """Footnote 3: no path of the cache leads from its responses to its requests."""
    (cycle,) = analyse(read("ads_poor")).cycles
    assert set(cycle) == {("in", "Cache", "response"), ("out", "Cache", "response")}


def test_a_cache_that_asks_again_after_an_answer_closes_the_cycle(tmp_path):
    text = (FILES / "ads_poor.yaml").read_text()
    again = "    - { from: request, to: request, label: CR }\n    - { from: response, to: request, label: CR }\n"
    changed = tmp_path / "again.yaml"
    changed.write_text(text.replace("    - { from: request, to: request, label: CR }\n", again))
    (cycle,) = analyse(read_dataflow(changed)).cycles
    assert {p[1] for p in cycle} == {"Cache", "Report"}


def test_an_anti_join_waits_for_the_columns_of_its_condition(tmp_path):
    """Footnote 4: R where x is not in (S where y = 'Yahoo!') waits for y to be sealed, or for x."""
    text = """
Anti:
  annotation:
    - { from: s, to: kept, label: CW }
    - { from: r, to: kept, label: OR, subscript: [x, y] }
streams:
  s: { Seal: [SEALED] }
"""
    found = {}
    for sealed in ("x", "y", "z"):
        file = tmp_path / f"{sealed}.yaml"
        file.write_text(text.replace("SEALED", sealed))
        found[sealed] = str(analyse(read_dataflow(file)).label)
    assert found == {"x": "Async", "y": "Async", "z": "Run"}


def test_the_excerpts_of_the_paper_are_read_without_a_topology(tmp_path):
    """Section VI-A1 as it stands, its indentation mended: interfaces of one name are connected."""
    file = tmp_path / "wordcount.yaml"
    file.write_text(
        """
Splitter:
    annotation:
    - { from: tweets, to: words, label: CR }
Count:
    annotation:
    - { from: words, to: counts, label: OW,
        subscript: [word, batch] }
Commit:
    annotation: { from: counts, to: db, label: CW }
"""
    )
    dataflow = read_dataflow(file)
    assert [s.name for s in dataflow.streams] == ["tweets", "words", "counts", "db"]
    assert str(analyse(dataflow).label) == "Run"


def test_the_cache_of_the_paper_and_a_report_are_connected_by_name(tmp_path):
    file = tmp_path / "ads.yaml"
    file.write_text(
        """
Cache:
  annotation:
    - { from: request, to: response, label: CR }
    - { from: response, to: response, label: CW }
    - { from: request, to: request, label: CR }
Report:
  annotation:
    Rep: true
"""
    )
    with pytest.raises(Exception, match="no path"):
        read_dataflow(file)
    file.write_text(
        file.read_text().replace(
            "    Rep: true\n",
            "    - { from: click, to: response, label: CW, Rep: true }\n"
            "    - { from: request, to: response, label: OR, subscript: id }\n",
        )
    )
    analysis = analyse(read_dataflow(file))
    assert str(analysis.labels["response from Report.response to Cache.response"]) == "Inst"
    assert str(analysis.label) == "Diverge"  # Rep travels to the cache with what it gets
