"""Which views are final when: at once, by seals, or with their epoch; and what is advised."""

from __future__ import annotations

from collections.abc import Mapping

from cumulus_ops.coordination.finality.lineage import Lineage
from cumulus_ops.coordination.finality.views import Finality
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, ViewPlan
from cumulus_ops.project.settings import SealSettings
from m3 import compile_views, format_program, parse
from m3.program import Program

RELATIONS = parse(
    "RELATION clicks(id INT, campaign INT, day DATE, price INT NULL); RELATION ads(id INT, owner INT, name STRING) KEY (id);"
).relations
BOTH = ("clicks", "ads")


def plan(
    sql: str, insert_only: tuple[str, ...] = (), *, confluent: bool = True, text: str | None = None, **seals: object
) -> ViewPlan:
    """The plan of a view ``v``; ``seals`` are columns by relation: a text with several between spaces."""
    program = parse(text) if text else compile_views("p", RELATIONS, {"v": sql})
    views = frozenset({"v"} if confluent else ())
    return Finality(program, frozenset(insert_only), declared(seals), views, Lineage(program)).of(program.view("v"))


def declared(seals: Mapping[str, object]) -> dict[str, tuple[SealSettings, ...]]:
    return {
        relation: tuple(SealSettings(f"on_{columns}".replace(" ", "_"), tuple(columns.split())) for columns in listed)
        for relation, given in seals.items()
        for listed in [[given] if isinstance(given, str) else given]  # type: ignore[list-item]
    }


THRESH = "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 1000"
POOR = "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) < 100"
CAMPAIGN = "SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 100"


def test_the_paper_s_queries() -> None:
    assert plan(THRESH, BOTH).final == AT_ONCE
    assert plan(POOR, BOTH, clicks="campaign").final == COMMITTED
    found = plan(CAMPAIGN, BOTH, clicks="campaign")
    assert (found.final, found.seals[0].output) == (SEALED, ("campaign",))


def test_deletes_are_the_reason_where_they_are() -> None:
    found = plan(THRESH)
    assert (found.final, found.reason.partition(";")[0]) == (COMMITTED, "rows of clicks may be deleted")
    assert found.advice is not None
    assert "insert_only" in found.advice
    numbers = plan("SELECT id, COUNT(*) AS n FROM clicks GROUP BY id HAVING COUNT(*) > 9")
    assert numbers.reason.startswith("its column n changes")


def test_what_may_fail_is_not_final_at_once() -> None:
    assert "may fail" in plan("SELECT 10 / price AS x FROM clicks", BOTH).reason
    assert "may fail" in plan("SELECT id FROM clicks WHERE CAST(price AS DECIMAL(2, 0)) > 3", BOTH).reason


def test_a_scalar_subquery_that_only_rises_may_be_compared_with() -> None:
    sql = "SELECT id FROM ads WHERE owner {} (SELECT MAX(campaign) FROM clicks)"
    assert plan(sql.format("<"), BOTH).final == AT_ONCE
    assert plan(sql.format(">"), BOTH).final == COMMITTED


def test_deletes_matter_only_where_they_reach_the_view() -> None:
    assert plan(THRESH, ("clicks",)).final == AT_ONCE
    assert plan(THRESH, ("ads",)).final == COMMITTED


JOIN = "SELECT owner, campaign, COUNT(*) AS n FROM clicks c JOIN ads a ON c.campaign = a.owner GROUP BY owner, campaign"


def test_every_relation_that_is_joined_has_to_be_sealed_on_the_same() -> None:
    both = plan(JOIN, clicks="campaign", ads="owner")
    assert both.final == SEALED
    assert {(s.relation, s.columns) for s in both.seals} == {("clicks", ("campaign",)), ("ads", ("owner",))}
    assert len({frozenset(s.output) for s in both.seals}) == 1
    one = plan(JOIN, clicks="campaign")
    assert (one.final, one.advice) == (
        COMMITTED,
        "seal ads on owner (`seals:` in cumulus.yaml): then rows of one owner are final when it is sealed",
    )
    assert plan(JOIN, clicks="campaign", ads="id").final == COMMITTED


def test_seals_on_several_columns_need_all_of_them() -> None:
    by_day = "SELECT campaign, day, COUNT(*) AS n FROM clicks GROUP BY campaign, day"
    found = plan(by_day, clicks="day campaign")
    assert [(s.columns, s.output) for s in found.seals] == [(("day", "campaign"), ("day", "campaign"))]
    assert plan(CAMPAIGN, clicks="day campaign").final == COMMITTED
    assert plan(by_day, clicks=["id", "day"]).seals[0].columns == ("day",)


def test_seals_on_several_columns_are_matched_whatever_their_order() -> None:
    sql = "SELECT campaign, c.id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM ads a WHERE a.id = c.id AND a.owner = c.campaign)"
    found = plan(sql, clicks="campaign id", ads="id owner")
    assert [(s.relation, s.output) for s in found.seals] == [
        ("clicks", ("campaign", "id")),
        ("ads", ("id", "campaign")),
    ]


def test_what_depends_on_the_order_of_events_is_never_final_at_once() -> None:
    assert plan(THRESH, BOTH, confluent=False).final == COMMITTED
    assert plan(CAMPAIGN, BOTH, confluent=False, clicks="campaign").final == SEALED


def test_a_program_written_by_hand_is_judged_by_its_triggers() -> None:
    text = format_program(compile_views("p", RELATIONS, {"v": THRESH}))
    assert plan("", ("clicks",), text=text).final == AT_ONCE
    assert (
        plan("", ("clicks",), text=text.replace("+= 1;", "+= price;").replace("price INT NULL", "price INT")).final
        == COMMITTED
    )


def test_advice_is_the_cheapest_change() -> None:
    assert plan(POOR, clicks="campaign").advice == "group by campaign of clicks too, on which it is sealed, and show it"
    numbers = plan("SELECT id, COUNT(*) AS n FROM clicks GROUP BY id HAVING COUNT(*) > 9", ("clicks",))
    assert numbers.advice == "leave out n: then no row of it is ever retracted"
    limited = "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign ORDER BY n LIMIT 3"
    assert plan(limited, clicks="campaign").advice == "leave LIMIT and OFFSET to whoever reads it"
    also = plan(limited).advice
    assert also is not None
    assert also.startswith("leave LIMIT and OFFSET to whoever reads it, and seal clicks on campaign")
    joined = "SELECT name, COUNT(*) AS n FROM clicks c JOIN ads a ON c.id = a.id GROUP BY name"
    assert plan(joined).advice is None
    both = plan(joined, clicks="campaign", ads="owner").advice
    assert both == "join by what they are sealed on, too (clicks.campaign = ads.owner), and show it"
    hidden = plan("SELECT COUNT(*) AS n FROM clicks GROUP BY day")
    assert hidden.advice == "show day of clicks, and seal clicks on it"


def _program(sql: str) -> Program:
    return compile_views("p", RELATIONS, {"v": sql})


def test_lineage_is_of_relations_a_view_depends_on() -> None:
    program = _program(JOIN)
    assert Lineage(program).relations(program.view("v")) == ["clicks", "ads"]
