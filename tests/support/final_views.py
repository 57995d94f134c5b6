"""Views of which it is known when their rows are final, and what their rows are while events come and values are sealed."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from cumulus_ops.coordination.finality.lineage import VALUE, Lineage
from cumulus_ops.coordination.finality.views import Finality
from cumulus_ops.coordination.plan import AT_ONCE, SEALED, SealOf, ViewPlan
from cumulus_ops.project.settings import SealSettings
from cumulus_ops.query.answers import _is_own, _read_form
from m3 import Interpreter, compile_views, parse
from m3.confluence.proof import prove
from m3.errors import ValueProblem
from m3.evaluate import evaluate
from m3.program import Column, Program
from tests.support.doubles import DOUBLES

#: All columns have few values, so that rows meet.
DECLARED = "RELATION clicks(id INT, campaign INT, day INT, price INT NULL, x DOUBLE NULL); RELATION ads(id INT, owner INT, name INT); "
RELATIONS = parse(DECLARED).relations
NAMES = tuple(r.name for r in RELATIONS)

#: No row is ever retracted, if nothing is deleted.
MONOTONE = (
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 2",
    "SELECT DISTINCT id FROM clicks",
    "SELECT id, name FROM ads",
    "SELECT name, day FROM clicks c JOIN ads a ON c.id = a.id WHERE campaign > 0 ORDER BY day",
    "SELECT name FROM ads WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.id = ads.id)",
    "SELECT name FROM ads WHERE id IN (SELECT id FROM clicks GROUP BY id HAVING COUNT(*) >= 3)",
    "SELECT id FROM clicks UNION SELECT id FROM ads",
    "SELECT id FROM clicks UNION ALL SELECT id FROM ads",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(price) > 1 AND MIN(price) < 1",
    "SELECT id FROM clicks GROUP BY id HAVING NOT COUNT(*) <= 3",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(DISTINCT campaign) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING SUM(CASE WHEN price > 0 THEN 1 ELSE 0 END) > 2 OR COUNT(price) > 3",
    "SELECT DISTINCT campaign FROM (SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING MAX(price) > 1)",
    "SELECT name + 1 AS name FROM (SELECT DISTINCT CAST(name AS DECIMAL(30, 0)) AS name FROM ads) a CROSS JOIN (SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 2) c",
    "SELECT id FROM ads WHERE owner < (SELECT MAX(campaign) FROM clicks)",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(x) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING MIN(x) <= 0",
    "SELECT id FROM clicks GROUP BY id HAVING 1 < CASE WHEN MAX(x) > 0 THEN MAX(x) END",
    "SELECT id FROM clicks GROUP BY id HAVING CAST(COUNT(*) AS DOUBLE) > 1.5",
    "SELECT DISTINCT x FROM clicks",
    "SELECT id, -x AS y FROM clicks",
    # a rising number, and one that it is never below
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) <> 1",
    "SELECT id FROM clicks GROUP BY id HAVING NOT COUNT(*) = 1 AND COUNT(price) <> 0",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) NOT IN (0, 1)",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) / 2 > 1.2 OR 1.2 / COUNT(*) < 0.5",
    # extremes, of extremes too
    "SELECT id FROM clicks GROUP BY id HAVING GREATEST(MAX(price), COUNT(*)) > 2",
    "SELECT id FROM clicks GROUP BY id HAVING LEAST(MIN(price), 1) < 1 OR LEAST(COUNT(price), COUNT(*)) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING GREATEST(MAX(x), 0) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING ROUND(MAX(x)) > 1 OR SIGN(MAX(price)) > 0 OR LEFT(MAX(CAST(price AS STRING)), 1) > '1'",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(CAST(day AS DECIMAL(20, 0))) * 2 > 2",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(CAST(price AS DECIMAL(20, 0))) - MIN(CAST(price AS DECIMAL(20, 0))) > 1",
    # truth values
    "SELECT id FROM clicks GROUP BY id HAVING NOT BOOL_AND(price > 0)",
    "SELECT id FROM clicks GROUP BY id HAVING BOOL_AND(price > 0) = FALSE OR BOOL_OR(price > 0)",
    "SELECT id FROM clicks GROUP BY id HAVING COALESCE(NOT BOOL_AND(price > 0), FALSE) AND BOOL_AND(price > 0) IS NOT NULL",
    # rows that move within their groups
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING SUM(n) > 3",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MAX(n) > 2",
    "SELECT campaign FROM (SELECT campaign, id, MAX(x) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MAX(n) > 0",
    "SELECT campaign FROM (SELECT campaign, id, MIN(x) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MIN(n) < 0",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) WHERE n > 1 GROUP BY campaign HAVING SUM(CASE WHEN n > 2 THEN 2 ELSE 1 END) > 2",
    # a subquery that counts, and what is below its count
    "SELECT id FROM ads WHERE owner < (SELECT COUNT(*) FROM clicks)",
    "SELECT id FROM ads WHERE owner <= (SELECT COUNT(*) FROM clicks c WHERE c.id = ads.id)",
    "SELECT id FROM clicks WHERE NOT price >= (SELECT COUNT(*) FROM ads)",
    # columns that have come to rest where HAVING is true
    "SELECT id, LEAST(COUNT(*), 3) AS n, COUNT(*) > 1 AS many FROM clicks GROUP BY id HAVING COUNT(*) >= 3",
)
#: A row may go, although nothing is deleted.
RETRACTING = (
    "SELECT id, COUNT(*) AS n FROM clicks GROUP BY id HAVING COUNT(*) > 2",
    "SELECT id, ARRAY_AGG(price) AS prices FROM clicks GROUP BY id",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) < 3",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) = 2",
    "SELECT id FROM clicks GROUP BY id HAVING NOT COUNT(*) > 2",
    "SELECT id FROM clicks GROUP BY id HAVING NOT MAX(price) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING SUM(price) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING MIN(price) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(price) IS NULL",
    "SELECT id FROM clicks GROUP BY id HAVING NOT MAX(price) < 1 AND COUNT(*) < 4",
    "SELECT id FROM clicks GROUP BY id HAVING AVG(price) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING (COUNT(*) > 2 AND MAX(price) > 1) IS NOT NULL",
    "SELECT id FROM clicks GROUP BY id HAVING (COUNT(*) > 2 AND MAX(price) > 1) >= FALSE",
    "SELECT id, MAX(price) AS most FROM clicks GROUP BY id",
    "SELECT id FROM clicks ORDER BY id LIMIT 3",
    "SELECT id FROM ads WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE c.id = ads.id)",
    "SELECT a.id, day FROM ads a LEFT JOIN clicks c ON c.id = a.id",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day) AS r FROM clicks",
    "SELECT id FROM ads EXCEPT SELECT id FROM clicks",
    "SELECT 10 / price AS x FROM clicks",
    "SELECT id FROM ads WHERE owner > (SELECT MAX(campaign) FROM clicks)",
    "SELECT COUNT(*) AS n FROM clicks",
    "SELECT DISTINCT n FROM (SELECT id, COUNT(*) AS n FROM clicks GROUP BY id)",
    "SELECT id FROM (SELECT id, COUNT(*) AS n FROM clicks GROUP BY id) WHERE n > 1 AND n < 4",
    "SELECT id FROM clicks GROUP BY id HAVING -MAX(x) < 0",
    "SELECT id FROM clicks GROUP BY id HAVING 1 - MAX(x) < 1",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(x) * -1 < 0",
    "SELECT id FROM clicks GROUP BY id HAVING NOT -MAX(x) >= 0",
    "SELECT id FROM clicks GROUP BY id HAVING -MIN(x) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(x) - MIN(x) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING MAX(x) + CAST('Infinity' AS DOUBLE) > CAST('Infinity' AS DOUBLE)",
    "SELECT id FROM clicks GROUP BY id HAVING CAST(COUNT(*) AS DOUBLE) * MAX(x) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING CASE WHEN COUNT(*) > 2 THEN -MAX(x) ELSE 0.0 END < 0",
    "SELECT id FROM clicks GROUP BY id HAVING SUM(x) > 0",
    "SELECT id, ARRAY_AGG(price ORDER BY price) AS prices FROM clicks GROUP BY id",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) <> 2",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(price) <> 1",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) NOT IN (0, 2)",
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) / -2 > -1",
    "SELECT id FROM clicks GROUP BY id HAVING 1.2 / COUNT(*) > 0.5",
    "SELECT id FROM clicks GROUP BY id HAVING LEAST(MAX(price), COUNT(*)) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING GREATEST(MIN(price), 0) < 1",
    "SELECT id FROM clicks GROUP BY id HAVING ABS(MAX(x)) > 0",
    "SELECT id FROM clicks GROUP BY id HAVING LENGTH(MAX(CAST(price AS STRING))) > 1",
    "SELECT id FROM clicks GROUP BY id HAVING NOT BOOL_OR(price > 0)",
    "SELECT id FROM clicks GROUP BY id HAVING BOOL_OR(price > 0) IS NULL",
    "SELECT id FROM clicks GROUP BY id HAVING COALESCE(BOOL_AND(price > 0), TRUE)",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MIN(n) > 1",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MIN(n) < 2",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 3) GROUP BY campaign HAVING MAX(n) > 1",
    "SELECT campaign FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING MAX(CASE WHEN n > 1 THEN 0 ELSE 1 END) > 0",
    "SELECT campaign FROM (SELECT campaign, id, MAX(price) AS n FROM clicks GROUP BY campaign, id) GROUP BY campaign HAVING SUM(CASE WHEN n > 0 THEN 1 ELSE -1 END) > 0",
    "SELECT n FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY campaign, id) GROUP BY n HAVING MAX(id) > 1",
    "SELECT id, LEAST(COUNT(*), 4) AS n FROM clicks GROUP BY id HAVING COUNT(*) > 2",
    "SELECT id FROM ads WHERE owner > (SELECT COUNT(*) FROM clicks)",
    "SELECT id FROM clicks WHERE price >= (SELECT COUNT(*) FROM ads WHERE ads.id = clicks.id)",
    "SELECT id FROM ads WHERE owner = (SELECT COUNT(*) FROM clicks c WHERE c.id = ads.id)",
    # written by hand: a group all of whose inputs are 0 has no row, whatever its count is
    "MAP total[id INT] : INT; MAP rows[id INT] : INT; DERIVE rows[id] FROM total = total COUNT 1; VIEW v[id INT] ROWS rows COLUMNS id = id; "
    "ON +clicks(id, campaign, day, price, x) DO { total[id] += campaign; total[id] += -1 }",
    # the groups in which the greatest is looked for change, and the rows of groups do not
    "MAP n[campaign INT, id INT] : INT; MAP moved[n INT, id INT] : INT; MAP seen[id INT] : INT; MAP counted[campaign INT, id INT, n INT] : INT; "
    "MAP best[id INT, most INT NULL] : INT; DERIVE counted[campaign, id] FROM n = n SELECT n = n COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END; "
    "DERIVE best[id] FROM seen = seen, most = MAX(moved) SELECT most = most COUNT CASE WHEN seen > 0 THEN 1 ELSE 0 END; "
    "VIEW v[id INT, most INT NULL] ROWS best COLUMNS id = id HAVING most > 0; "
    "ON +clicks(id, campaign, day, price, x) DO { n[campaign, id] += 1; seen[id] += 1 } ON CHANGE counted(campaign, id, n) DO { moved[n, id] += 1 }",
)
#: Rows of a campaign depend on the events of that campaign alone.
PARTITIONED = (
    "SELECT campaign, ARRAY_AGG(id ORDER BY day) AS ids, COUNT(*) AS n FROM clicks GROUP BY campaign",
    "SELECT campaign, id, ARRAY_AGG(price) AS prices, MAX(day) AS last FROM clicks GROUP BY campaign, id",
    "SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 3",
    "SELECT id, campaign, COUNT(*) AS n FROM clicks GROUP BY campaign, id",
    "SELECT campaign, MAX(n) AS most FROM (SELECT campaign, id, COUNT(*) AS n FROM clicks GROUP BY 1, 2) GROUP BY 1",
    "SELECT a.campaign, COUNT(*) AS n FROM clicks a JOIN clicks b ON a.campaign = b.campaign AND a.id < b.id GROUP BY 1",
    "SELECT campaign, id, RANK() OVER (PARTITION BY campaign ORDER BY price) AS r FROM clicks",
    "SELECT campaign, id FROM clicks c WHERE price > (SELECT AVG(price) FROM clicks d WHERE d.campaign = c.campaign)",
    "SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.campaign = c.campaign AND d.price > 1)",
    "SELECT owner AS campaign, COUNT(*) AS n FROM clicks c JOIN ads a ON c.campaign = a.owner GROUP BY owner",
    "SELECT owner AS campaign, name FROM ads WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE c.campaign = owner)",
    "SELECT c.campaign, name FROM clicks c LEFT JOIN ads a ON c.campaign = a.owner",
    "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign UNION ALL SELECT owner, SUM(name) FROM ads GROUP BY owner",
    "SELECT campaign, 6 / (price - 1) AS x FROM clicks",
    "SELECT campaign, ARRAY_AGG(price ORDER BY price) AS prices, COUNT(*) AS n FROM clicks GROUP BY campaign",
    # by a form of it
    "SELECT campaign + 1 AS campaign, COUNT(*) AS n FROM clicks GROUP BY campaign + 1",
    "SELECT -campaign AS m, day, COUNT(*) AS n FROM clicks GROUP BY 1, 2",
    "SELECT 'c' || CAST(campaign AS STRING) AS m, MAX(price) AS most FROM clicks GROUP BY 1",
    "SELECT campaign + 1 AS m, name FROM clicks c LEFT JOIN ads a ON c.campaign = a.owner",
    "SELECT campaign + 1 AS m, name FROM clicks c JOIN ads a ON c.campaign + 1 = a.owner + 1",
    "SELECT m, MAX(n) AS k FROM (SELECT campaign * 2 AS m, id, COUNT(*) AS n FROM clicks GROUP BY 1, 2) GROUP BY m",
    # the key of an outer join
    "SELECT COALESCE(c.campaign, a.owner) AS campaign, name FROM clicks c FULL JOIN ads a ON c.campaign = a.owner",
    "SELECT campaign, COUNT(*) AS n FROM clicks FULL JOIN (SELECT owner AS campaign FROM ads) a USING (campaign) GROUP BY campaign",
    "SELECT owner AS campaign, name FROM ads WHERE owner NOT IN (SELECT campaign FROM clicks)",
)
#: They depend on those of other campaigns.
MIXING = (
    "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) < 3",
    "SELECT campaign * 0 AS campaign, COUNT(*) AS n FROM clicks GROUP BY campaign * 0",
    "SELECT campaign - id AS m, COUNT(*) AS n FROM clicks GROUP BY campaign - id",
    "SELECT campaign / 2 AS m, COUNT(*) AS n FROM clicks GROUP BY campaign / 2",
    "SELECT ABS(campaign - 1) AS m, COUNT(*) AS n FROM clicks GROUP BY 1",
    "SELECT campaign + 1 AS m, name FROM clicks c JOIN ads a ON c.campaign + 1 = a.owner",
    "SELECT campaign + 1 AS m, name FROM clicks c JOIN ads a ON c.id = a.owner",
    "SELECT id + 1 AS m, COUNT(*) AS n FROM clicks GROUP BY 1",
    "SELECT c.id + 1 AS m, name FROM clicks c JOIN ads a ON c.campaign = a.owner",
    "SELECT m, COUNT(*) AS n FROM (SELECT campaign + 1 AS m FROM clicks UNION ALL SELECT campaign FROM clicks) x GROUP BY m",
    "SELECT m, COUNT(*) AS n FROM (SELECT campaign + 1 AS m FROM clicks UNION ALL SELECT campaign + 2 FROM clicks) x GROUP BY m",
    "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY ROLLUP (campaign)",
    "SELECT a.campaign, COUNT(*) AS n FROM clicks a JOIN clicks b ON a.id = b.id GROUP BY a.campaign",
    "SELECT campaign, RANK() OVER (ORDER BY price) AS r FROM clicks",
    "SELECT campaign, id FROM clicks WHERE price > (SELECT AVG(price) FROM clicks)",
    "SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.id = c.id AND d.price > 1)",
    "SELECT campaign, id FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM clicks d WHERE d.campaign < c.campaign)",
    "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign ORDER BY n LIMIT 2",
    "SELECT n AS campaign, COUNT(*) AS k FROM (SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign) GROUP BY n",
    "SELECT campaign, id, RANK() OVER (PARTITION BY id ORDER BY price) AS r FROM clicks",
    "SELECT c.campaign, name FROM clicks c JOIN ads a ON c.id = a.owner",
    "SELECT id AS campaign, COUNT(*) AS n FROM clicks GROUP BY id",
    "SELECT campaign, (SELECT COUNT(*) FROM ads WHERE owner = c.id) AS n FROM clicks c",
    "SELECT campaign, COUNT(*) AS n FROM clicks c JOIN ads a ON a.id = c.campaign GROUP BY campaign",
    "SELECT campaign, COUNT(*) AS n FROM (SELECT campaign FROM clicks UNION ALL SELECT id FROM clicks) x GROUP BY campaign",
    "SELECT campaign, id, RANK() OVER (PARTITION BY part ORDER BY id) AS r FROM (SELECT campaign AS part, campaign, id FROM clicks "
    "UNION ALL SELECT * FROM (VALUES (0, 1, 5)) AS t(a, b, c)) x",
    # written by hand: what has been counted so far, of all campaigns
    "MAP so_far[] : INT; MAP n[campaign INT] : INT; VIEW v[campaign INT] VALUES n = n COLUMNS campaign = campaign, n = n; "
    "ON +clicks(id, campaign, day, price, x) DO { n[campaign] += so_far[]; so_far[] += 1 }",
    "MAP n[campaign INT] : INT; VIEW v[campaign INT] VALUES n = n COLUMNS campaign = campaign, n = n; "
    "ON +clicks(id, campaign, day, price, x) DO { n[COALESCE(id, campaign)] += 1; n[campaign] += 1 }",
    "MAP n[m INT] : INT; MAP pairs[m INT, campaign INT] : INT; VIEW v[m INT] VALUES n = n COLUMNS m = m, n = n; "
    "ON +clicks(id, campaign, day, price, x) DO { n[campaign + 1] += 1; pairs[id + 1, campaign] += 1 } "
    "ON +ads(id, owner, name) DO { n[owner + 1] += 1; n[m] += pairs[m, owner] }",
)
ALL = (*MONOTONE, *RETRACTING, *PARTITIONED, *MIXING)

Seals = Mapping[str, Sequence[SealSettings]]
#: What each campaign is sealed by; an ad's campaign is its owner.
SEALS: Seals = {"clicks": (SealSettings("c", ("campaign",)),), "ads": (SealSettings("o", ("owner",)),)}
Row = tuple[object, ...]
#: (sign, relation, row)
Event = tuple[int, str, Row]


@cache
def program_of(sql: str) -> Program:
    """The program that maintains ``sql`` as the view ``v``; it may be written in M3, too."""
    by_hand = f"PROGRAM p SEMANTICS SNAPSHOT; {DECLARED}{sql}"
    return parse(by_hand) if sql.startswith("MAP ") else compile_views("p", RELATIONS, {"v": sql})


def plan_of(sql: str, insert_only: Sequence[str], seals: Seals) -> ViewPlan:
    """When rows of ``sql`` are final."""
    program = program_of(sql)
    confluent = frozenset({"v"} if not sql.startswith("MAP ") or prove(program).is_confluent else ())
    return Finality(program, frozenset(insert_only), seals, confluent, Lineage(program)).of(program.view("v"))


@dataclass(frozen=True)
class Moment:
    """An event that counts, the rows of a view after it (None: it is in error), and the values that are closed by then, as (relation,
    seal, value)."""

    event: Event
    rows: Counter[Row] | None
    closed: frozenset[tuple[str, str, Row]]


@cache
def history(sql: str, seed: int, insert_only: tuple[str, ...], *, sealed: bool, events: int = 40) -> tuple[Moment, ...]:
    """A random stream that keeps what is declared: no deletes of relations that have only inserts, no events of values that are closed."""
    program, random_ = program_of(sql), random.Random(seed)
    interpreter, closed = Interpreter(program), set[tuple[str, str, Row]]()
    live: dict[str, list[Row]] = {name: [] for name in NAMES}
    moments = []
    for _ in range(events):
        if sealed and random_.random() < 0.15:
            relation = random_.choice(NAMES)
            closed.add((relation, SEALS[relation][0].name, (random_.randrange(3),)))
        sign, relation, row = _event(random_, live, insert_only)
        if not any(_value(relation, s, row) == v for r, s, v in closed if r == relation):
            interpreter.apply(sign, relation, row)
            (live[relation].append if sign > 0 else live[relation].remove)(row)
            moments.append(Moment((sign, relation, row), _rows(interpreter), frozenset(closed)))
    return tuple(moments)


def _event(random_: random.Random, live: Mapping[str, list[Row]], insert_only: Sequence[str]) -> Event:
    relation = random_.choice(RELATIONS)
    if live[relation.name] and relation.name not in insert_only and random_.random() < 0.4:
        return -1, relation.name, random_.choice(live[relation.name])
    return 1, relation.name, tuple(_drawn(random_, c) for c in relation.columns)


def _drawn(random_: random.Random, column: Column) -> object:
    if column.type.nullable and random_.random() < 0.2:
        return None
    if column.type.kind == "double":
        return random_.choice(DOUBLES)
    return random_.randrange(-1 if column.type.nullable else 0, 3)


def _value(relation: str, seal: str, row: Row) -> Row:
    columns = next(s.columns for s in SEALS[relation] if s.name == seal)
    names = [c.name for r in RELATIONS if r.name == relation for c in r.columns]
    return tuple(row[names.index(c)] for c in columns)


def _rows(interpreter: Interpreter) -> Counter[Row] | None:
    try:
        return Counter(interpreter.view_rows("v"))
    except ValueProblem:
        return None


def refutations(sql: str, plan: ViewPlan, moments: Sequence[Moment]) -> Iterator[str]:
    """What is final by a plan, and changes nevertheless: nothing, if the plan is right."""
    if plan.final == AT_ONCE:
        for before, after in itertools.pairwise(moments):
            if before.rows is None or after.rows is None or before.rows - after.rows:
                yield f"retracted from {sql}: {before.rows} became {after.rows}"
    elif plan.final == SEALED:
        columns = [c.name for c in program_of(sql).view("v").visible]
        for before, after in itertools.pairwise(moments):
            if before.rows is not None and after.rows is not None:
                old, new = (_final(m.rows, plan.seals, before.closed, columns) for m in (before, after))
                if old != new:
                    yield f"a closed partition of {sql} changed: {old} became {new}"
        yield from _mixed(sql, plan.seals, moments, columns)


def _mixed(sql: str, seals: Sequence[SealOf], moments: Sequence[Moment], columns: Sequence[str]) -> Iterator[str]:
    """The partitions that are not what their own events alone make."""
    position = [columns.index(o) for o in seals[0].output]
    for value in itertools.product(range(3), repeat=len(position)):
        alone = Interpreter(program_of(sql))
        for sign, relation, row in (m.event for m in moments):
            seal = next((s for s in seals if s.relation == relation), None)
            if seal is not None and _value(relation, seal.seal, row) == value:
                alone.apply(sign, relation, row)
        shown = shown_as(seals[0], value)
        found = [
            None if rows is None else Counter({r: n for r, n in rows.items() if tuple(r[p] for p in position) == shown})
            for rows in (moments[-1].rows, _rows(alone))
        ]
        if shown is not None and None not in found and found[0] != found[1]:
            yield f"{value} of {sql} is {found[0]}, and by its own events {found[1]}"


def _final(
    rows: Counter[Row] | None, seals: Sequence[SealOf], closed: frozenset[tuple[str, str, Row]], columns: Sequence[str]
) -> dict[Row, int]:
    """The rows whose value is closed in all relations."""
    at = {s.relation: [columns.index(o) for o in s.output] for s in seals}
    shown = {s.relation: {shown_as(s, v) for r, seal, v in closed if (r, seal) == (s.relation, s.seal)} for s in seals}
    return {
        row: n
        for row, n in (rows or Counter()).items()
        if all(tuple(row[i] for i in at[s.relation]) in shown[s.relation] for s in seals)
    }


def shown_as(seal: SealOf, value: Row) -> Row | None:
    """What a view shows of a seal's value; None if it closes no partition there."""
    types = {c.name: c.type for r in RELATIONS if r.name == seal.relation for c in r.columns}
    forms = [_read_form(text, types[c]) for text, c in zip(seal.forms or ("",) * len(value), seal.columns, strict=True)]
    pairs = list(zip(forms, value, strict=True))
    if not all(form is None or _is_own(form, v) for form, v in pairs):  # type: ignore[arg-type]
        return None
    return tuple(v if form is None else evaluate(form, {VALUE: v}) for form, v in pairs)  # type: ignore[dict-item]
