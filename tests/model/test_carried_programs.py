"""Maps with one identity have the same entries; and a program that carries maps over shows what its views say, with the maps that stay as they were."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from m3 import compile_views
from m3.carry import carry_over, changed_views
from m3.confluence.identity import identities
from m3.confluence.proof import prove
from m3.datatypes import INT, STRING
from m3.interpreter import Interpreter
from m3.program import Column, Program, Relation
from tests.support import tpch_small
from tests.support.random_programs import RELATIONS, sql_views
from tests.support.worlds import DERIVED, events

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """Some views, under names that say nothing of what they are."""
    texts = [*draw(sql_views()).values(), *draw(st.lists(st.sampled_from(DERIVED), max_size=4, unique=True))]
    return {f"v{i}": text for i, text in enumerate(draw(st.permutations(texts)))}


def run(program: Program, stream: list[tuple[int, str, tuple[object, ...]]]) -> Interpreter:
    made = Interpreter(program)
    for sign, relation, row in stream:
        made.apply(sign, relation, row)
    return made


def shown(made: Interpreter) -> dict[str, object]:
    return {view.name: sorted(map(repr, made.view_rows(view.name))) for view in made.program.views if not view.limit}


@QUICK
@given(projects(), projects(), st.integers(0, 10**6))
def test_what_is_carried_over_shows_what_the_views_say(old: dict[str, str], new: dict[str, str], seed: int) -> None:
    before, after = (compile_views("p", RELATIONS, views) for views in (old, new))
    pairs = {m.name: frozenset({m.name, before.maps[0].name}) for m in before.maps[:2]}
    carried = carry_over(before, after, pairs, {"m_r_7"})
    stream = events(seed)
    first, second, third = (run(program, stream) for program in (before, after, carried.program))
    assert prove(carried.program).grain == "batch"
    assert shown(third) == shown(second)
    assert {name: third.maps[name] for name in carried.kept} == {name: first.maps[name] for name in carried.kept}
    assert not set(carried.fresh) & set(before.map_by_name)
    assert {*carried.kept, *carried.dropped} == set(before.map_by_name)
    known, others = identities(before), identities(after)
    same = [(a, b) for a in known for b in others if known[a] == others[b]]
    assert all(first.maps[a] == second.maps[b] for a, b in same)
    wanted = {b for _, b in same}
    assert len(carried.fresh) <= len(after.maps) - len(wanted)


@QUICK
@given(projects(), st.integers(0, 10**6))
def test_other_names_and_another_order_are_no_change(views: dict[str, str], seed: int) -> None:
    random = Random(seed)
    order = random.sample(sorted(views), len(views))
    before = compile_views("p", RELATIONS, views)
    texts = {name: f"-- a comment\n{views[name].replace(' ', '  ')} /* another */" for name in order}
    after = compile_views("q", RELATIONS, texts)
    assert changed_views(before, after) == {}
    carried = carry_over(before, after, {})
    assert (carried.fresh, carried.dropped) == ((), ())
    assert carried.program.maps == before.maps
    assert {(t.sign, t.relation): t for t in carried.program.triggers} == {
        (t.sign, t.relation): t for t in before.triggers
    }
    assert carried.program.derivations == before.derivations


def test_all_of_tpch_in_another_order_with_more_columns() -> None:
    names = [f"q{i}" for i in range(1, 23)]
    texts = {name: tpch_small.view_text(name) for name in names}
    before = compile_views("p", tpch_small.RELATIONS, texts)
    wider = [Relation(r.name, (Column("added", STRING.with_null()), *r.columns), r.key) for r in tpch_small.RELATIONS]
    after = compile_views("p", wider, {name: texts[name] for name in reversed(names)})
    assert changed_views(before, after) == {}
    carried = carry_over(before, after, {})
    assert (carried.fresh, carried.dropped) == ((), ())
    assert prove(carried.program).grain == "batch"
    assert len(identities(before)) == len(before.maps)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, SUM(b) AS n FROM r WHERE b > 2 GROUP BY a",
        "SELECT a, SUM(b) AS n FROM r GROUP BY a",
        "SELECT a, SUM(b + 1) AS n FROM r WHERE b > 1 GROUP BY a",
        "SELECT a + 0 AS a, SUM(b) AS n FROM r WHERE b > 1 GROUP BY a + 0",
        "SELECT a, SUM(b) AS m FROM r WHERE b > 1 GROUP BY a",
        "SELECT a, SUM(b) AS n FROM r WHERE b > 1 GROUP BY a HAVING SUM(b) > 4",
        "SELECT a, SUM(b) AS n FROM r WHERE b > 1 GROUP BY a ORDER BY n LIMIT 3",
        "SELECT a, CAST(SUM(b) AS DECIMAL(12, 2)) AS n FROM r WHERE b > 1 GROUP BY a",
    ],
)
def test_a_change_is_seen(text: str) -> None:
    before = compile_views("p", RELATIONS, {"v": "SELECT a, SUM(b) AS n FROM r WHERE b > 1 GROUP BY a"})
    assert changed_views(before, compile_views("p", RELATIONS, {"v": text})) == {"v": "changed"}


def test_columns_that_go_or_get_another_type_take_their_maps_with_them() -> None:
    r = Relation("r", (Column("a", INT), Column("b", INT), Column("c", INT)))
    views = {"x": "SELECT a, SUM(b) AS s FROM r GROUP BY a", "y": "SELECT a, SUM(c) AS s FROM r GROUP BY a"}
    before = compile_views("p", [r], views)
    for columns in ((r.columns[2], r.columns[0]), (r.columns[0], Column("b", STRING), r.columns[2])):
        after = compile_views("p", [Relation("r", columns)], {"y": views["y"]})
        carried = carry_over(before, after, {})
        assert set(carried.kept) == {"x_count", "y_s"}, "the count is the same for both"
        made = run(carried.program, [(1, "r", tuple({"a": 1, "b": "2", "c": 3}[c.name] for c in columns))])
        assert made.view_rows("y") == [(1, 3)]
