"""The picture of a dataflow: well-formed, complete, without overlaps, and the same each time."""

from __future__ import annotations

import functools
import itertools
from xml.etree import ElementTree

import pytest

from m3 import Program, check, compile_views, parse
from m3.picture.drawing import place_labels, to_svg
from m3.picture.layout import Layout, crossings, lay_out, name_lines, ordered_layers, shortened
from tests.support.tpch_small import RELATIONS, view_text
from tests.unit.m3.test_dataflow import CYCLE
from tests.unit.m3.test_explain import EVERYTHING
from tests.unit.m3.tpch import RELATIONS as SIX
from tests.unit.m3.tpch import VIEWS

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("q1", "q3", "q8", "q17", "q21", "everything", "cycle", "nothing")


@functools.cache
def program(name: str) -> Program:
    texts = {"everything": EVERYTHING, "cycle": CYCLE, "nothing": "RELATION r(a INT);"}
    return check(parse(texts[name])) if name in texts else compile_views(name, RELATIONS, {name: view_text(name)})


@functools.cache
def layout(name: str) -> Layout:
    return lay_out(program(name))


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_there_once(name: str) -> None:
    root = ElementTree.fromstring(to_svg(program(name)))
    drawn = sorted(
        (g.get("class", "").split()[1], g.get("data-name")) for g in root.iter(f"{SVG}g") if g.get("data-name")
    )
    derived = program(name).derivation_by_map
    expected = [("relation", r.name) for r in program(name).relations]
    expected += [("derived" if m.name in derived else "map", m.name) for m in program(name).maps]
    expected += [("view", v.name) for v in program(name).views]
    assert drawn == sorted(expected)


@pytest.mark.parametrize("name", NAMES)
def test_boxes_do_not_overlap_and_lie_within_the_picture(name: str) -> None:
    for a, b in itertools.combinations(layout(name).boxes, 2):
        apart = a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y or b.y + b.height < a.y
        assert apart, f"{a.node.key} and {b.node.key}"
    for box in layout(name).boxes:
        assert box.x > 0
        assert box.y > 0
        assert box.x + box.width < layout(name).width
        assert box.y + box.height < layout(name).height


@pytest.mark.parametrize("name", [n for n in NAMES if n != "cycle"])
def test_edges_lead_to_the_right_from_box_to_box(name: str) -> None:
    boxes = {b.node.key: b for b in layout(name).boxes}
    for route in layout(name).routes:
        source, target = boxes[route.edge.source], boxes[route.edge.target]
        (start, _), (_, end) = route.points[0], route.points[-1]
        assert start[0] == source.x + layout(name).columns[source.node.layer][1]
        assert source.y <= start[1] <= source.y + source.height
        assert end[0] == target.x
        assert target.y <= end[1] <= target.y + target.height
        assert all(a[0] < b[0] for a, b in route.points)
        assert all(b[1] == a[1] for (_, b), (a, _) in itertools.pairwise(route.points)), "straight past a layer"


def test_edges_pass_no_box() -> None:
    for name in ("q8", "q21"):
        for route in layout(name).routes:
            for (_, (x, y)), _ in itertools.pairwise(route.points):
                assert not any(b.x == x and b.y <= y <= b.y + b.height for b in layout(name).boxes)


def test_labels_cover_nothing() -> None:
    found = place_labels(layout("q21"))
    assert len(found) > 20
    for (x, y), _ in found.values():
        assert not any(b.x < x < b.x + b.width and b.y < y < b.y + b.height for b in layout("q21").boxes)


def test_linear_edges_are_solid_and_re_evaluated_ones_dashed() -> None:
    dashed = {(e.source[1], e.target[1]): e.dashed for e in (r.edge for r in layout("everything").routes)}
    assert {pair for pair, yes in dashed.items() if yes} == {("n", "d"), ("v", "d"), ("v", "w"), ("sk", "q")}
    assert not dashed["d", "q"]  # inserts into s read it, too


def test_edges_are_labelled_with_events_that_are_not_their_sources_own() -> None:
    labels = {(r.edge.source[1], r.edge.target[1]): r.edge.label for r in layout("everything").routes}
    assert labels["r", "n"] == ""
    assert labels["d", "q"] == "±s, ~d"
    assert labels["sk", "q"] == "~d"


def test_a_cycle_is_drawn() -> None:
    back = [(r.edge.source[1], r.edge.target[1]) for r in layout("cycle").routes if r.back]
    assert sorted(back) == [("a", "b"), ("b", "a"), ("loop", "loop")]


def test_names_are_escaped() -> None:
    text = """RELATION "a<b>&""c"(x INT); MAP "m<&>"[x INT] : INT MEANING 'x < 1 & "y" > 2';
    ON +"a<b>&""c"(x) { "m<&>"[x] += 1 }"""
    root = ElementTree.fromstring(to_svg(check(parse(text)), title="<&>"))
    assert {g.get("data-name") for g in root.iter(f"{SVG}g")} >= {'a<b>&"c', "m<&>"}
    assert any(t.text and 'x < 1 & "y" > 2' in t.text for t in root.iter(f"{SVG}title"))


def test_it_needs_nothing_from_outside() -> None:
    text = to_svg(program("q21"))
    assert "<script" not in text
    assert "href" not in text
    assert "url(" not in text
    assert text.count("http") == 1  # the namespace


def test_sweeps_remove_crossings() -> None:
    layers, links = [["a", "b", "c"], ["x", "y", "z"]], [("a", "z"), ("b", "y"), ("c", "x")]
    right = {a: [b] for a, b in links}
    assert crossings(layers, right) == 3
    assert crossings(ordered_layers(layers, links), right) == 0


def test_long_names_take_two_lines_and_lose_their_middle() -> None:
    assert name_lines("q3_count") == ["q3_count"]
    assert "".join(name_lines("m_lineitem_orders_q21_exists_supplier_1")) == "m_lineitem_orders_q21_exists_supplier_1"
    assert all(len(line) <= 28 for line in name_lines("x" * 90))
    assert shortened("abcdefghij", 7) == "abcd…ij"


def test_the_example_of_the_documentation(golden) -> None:
    golden("../../docs/example.svg", to_svg(compile_views("example", SIX, {"example": VIEWS["example"]})))
