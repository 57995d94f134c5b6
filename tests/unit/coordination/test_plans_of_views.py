"""Which views are final when: at once, by seals, or with their epoch; and what is advised."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cumulus_ops.config import SealSettings
from cumulus_ops.coordination.finality import Finality
from cumulus_ops.coordination.lineage import Lineage
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, ViewPlan
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
    return Finality(program, frozenset(insert_only), declared(seals), confluent, Lineage(program)).of(program.view("v"))


def declared(seals: Mapping[str, object]) -> dict[str, tuple[SealSettings, ...]]:
    return {
        relation: tuple(SealSettings(f"on_{columns}".replace(" ", "_"), tuple(columns.split())) for columns in listed)
        for relation, given in seals.items()
        for listed in [[given] if isinstance(given, str) else given]  # type: ignore[list-item]
    }


THRESH = "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 1000"
POOR = "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) < 100"
CAMPAIGN = "SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 100"


@pytest.mark.parametrize(
    "sql",
    [
        THRESH,
        "SELECT DISTINCT id FROM clicks",
        "SELECT id, name FROM ads",
        "SELECT name, day FROM clicks c JOIN ads a ON c.id = a.id WHERE campaign > 3 ORDER BY day",
        "SELECT name FROM ads WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.id = ads.id)",
        "SELECT name FROM ads WHERE id IN (SELECT id FROM clicks GROUP BY id HAVING COUNT(*) >= 3)",
        "SELECT id FROM clicks UNION SELECT id FROM ads",
        "SELECT id FROM clicks UNION ALL SELECT id FROM ads",
        "SELECT id FROM clicks GROUP BY id HAVING MAX(price) > 5 AND MIN(price) < 3",
        "SELECT id FROM clicks GROUP BY id HAVING NOT COUNT(*) <= 5",
        "SELECT id FROM clicks GROUP BY id HAVING COUNT(DISTINCT campaign) > 2",
        "SELECT id FROM clicks GROUP BY id HAVING SUM(CASE WHEN price > 3 THEN 1 ELSE 0 END) > 2 OR COUNT(price) > 5",
        "SELECT DISTINCT campaign FROM (SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING MAX(price) > 5)",
        "SELECT UPPER(name) AS name FROM ads a CROSS JOIN (SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 2) c",
    ],
)
def test_rows_of_monotone_views_are_final_at_once_if_nothing_is_deleted(sql: str) -> None:
    assert plan(sql, BOTH).final == AT_ONCE
    without = plan(sql)
    assert without.final == COMMITTED
    assert "deleted" in without.reason
    assert without.advice is not None
    assert "insert_only" in without.advice


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, COUNT(*) AS n FROM clicks GROUP BY id HAVING COUNT(*) > 1000",
        POOR,
        "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) = 5",
        "SELECT id FROM clicks GROUP BY id HAVING SUM(price) > 5",
        "SELECT id FROM clicks GROUP BY id HAVING MIN(price) > 5",
        "SELECT id FROM clicks GROUP BY id HAVING MAX(price) IS NULL",
        "SELECT id FROM clicks GROUP BY id HAVING NOT MAX(price) < 5 AND COUNT(*) < 9",
        "SELECT id FROM clicks GROUP BY id HAVING AVG(price) > 5",
        "SELECT id, MAX(price) AS most FROM clicks GROUP BY id",
        "SELECT id FROM clicks ORDER BY id LIMIT 3",
        "SELECT id FROM ads WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE c.id = ads.id)",
        "SELECT a.id, day FROM ads a LEFT JOIN clicks c ON c.id = a.id",
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day) AS r FROM clicks",
        "SELECT id FROM ads EXCEPT SELECT id FROM clicks",
        "SELECT 10 / price AS x FROM clicks",
        "SELECT id FROM clicks WHERE CAST(price AS DECIMAL(2, 0)) > 3",
        "SELECT id FROM ads WHERE owner > (SELECT MAX(campaign) FROM clicks)",
        "SELECT COUNT(*) AS n FROM clicks",
        "SELECT DISTINCT n FROM (SELECT id, COUNT(*) AS n FROM clicks GROUP BY id)",
        "SELECT id FROM (SELECT id, COUNT(*) AS n FROM clicks GROUP BY id) WHERE n > 2 AND n < 5",
    ],
)
def test_what_may_be_taken_back_waits(sql: str) -> None:
    assert plan(sql, BOTH).final == COMMITTED


def test_a_scalar_subquery_that_only_rises_may_be_compared_with() -> None:
    sql = "SELECT id FROM ads WHERE owner {} (SELECT MAX(campaign) FROM clicks)"
    assert plan(sql.format("<"), BOTH).final == AT_ONCE
    assert plan(sql.format(">"), BOTH).final == COMMITTED


def test_deletes_matter_only_where_they_reach_the_view() -> None:
    assert plan(THRESH, ("clicks",)).final == AT_ONCE
    assert plan(THRESH, ("ads",)).final == COMMITTED


@pytest.mark.parametrize(
    ("sql", "outputs"),
    [
        (CAMPAIGN, ("campaign",)),
        ("SELECT id, campaign AS c, COUNT(*) AS n FROM clicks GROUP BY campaign, id", ("c",)),
        ("SELECT campaign, MAX(n) AS most FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY 1, 2) GROUP BY 1", ("campaign",)),
        ("SELECT a.campaign, COUNT(*) AS n FROM clicks a JOIN clicks b ON a.campaign = b.campaign AND a.id < b.id GROUP BY 1", ("campaign",)),
        ("SELECT campaign, id, RANK() OVER (PARTITION BY campaign ORDER BY price) AS r FROM clicks", ("campaign",)),
        ("SELECT campaign, id FROM clicks c WHERE price > (SELECT AVG(price) FROM clicks d WHERE d.campaign = c.campaign)", ("campaign",)),
        ("SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.campaign = c.campaign AND d.price > 5)", ("campaign",)),
    ],
)  # fmt: skip
def test_partitions_are_final_by_the_seals_that_come_through_to_them(sql: str, outputs: tuple[str, ...]) -> None:
    found = plan(sql, clicks="campaign")
    assert (found.final, [s.output for s in found.seals]) == (SEALED, [outputs])


@pytest.mark.parametrize(
    "sql",
    [
        POOR,
        "SELECT campaign + 1 AS campaign, COUNT(*) AS n FROM clicks GROUP BY campaign + 1",
        "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY ROLLUP (campaign)",
        "SELECT a.campaign, COUNT(*) AS n FROM clicks a JOIN clicks b ON a.id = b.id GROUP BY a.campaign",
        "SELECT campaign, RANK() OVER (ORDER BY price) AS r FROM clicks",
        "SELECT campaign, id FROM clicks WHERE price > (SELECT AVG(price) FROM clicks)",
        "SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.id = c.id AND d.price > 5)",
        "SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.campaign < c.campaign)",
        "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign ORDER BY n LIMIT 3",
        "SELECT n AS campaign, COUNT(*) AS k FROM (SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign) GROUP BY n",
    ],
)
def test_what_mixes_partitions_waits_for_its_epoch(sql: str) -> None:
    assert plan(sql, clicks="campaign").final == COMMITTED


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
    limited = plan("SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign ORDER BY n LIMIT 3")
    assert limited.advice == "leave LIMIT and OFFSET to whoever reads it"
    hidden = plan("SELECT COUNT(*) AS n FROM clicks GROUP BY day")
    assert hidden.advice == "show day of clicks, and seal clicks on it"


def _program(sql: str) -> Program:
    return compile_views("p", RELATIONS, {"v": sql})


def test_lineage_is_of_relations_a_view_depends_on() -> None:
    program = _program(JOIN)
    assert Lineage(program).relations(program.view("v")) == ["clicks", "ads"]
