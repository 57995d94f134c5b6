"""Projects whose plans are stored with the tests (``tests/golden/plans``), as a catalog stores them; and what today's compiler would make otherwise."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.layout.choices import Choices
from cumulus_ops.opening.runtime import Compiled, compile_project
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import KeySettings, Project
from m3.confluence.identity import identities
from m3.datatypes import DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.formatting import format_column, format_derived, format_statement, program_from_json
from m3.program import Column, Program, Relation
from tests.support import tpch_small
from tests.support.golden import GOLDEN
from tests.support.projects import make_project

__all__ = ["NAMES", "compile_today", "project_of", "read_stored", "tell_changes", "write_stored"]

PLANS, EXAMPLES = GOLDEN / "plans", GOLDEN.parents[1] / "examples"
SALE = Relation(
    "sale",
    (
        Column("id", INT),
        Column("buyer", STRING),
        Column("item", INT),
        Column("price", decimal(9, 2)),
        Column("day", DATE),
        Column("moment", TIMESTAMP),
        Column("note", STRING.with_null()),
    ),
    ("id",),
    100_000,
)
BUYER = Relation("buyer", (Column("name", STRING), Column("town", STRING.with_null())), ("name",), 5_000)
ITEM = Relation("item", (Column("no", INT), Column("kind", STRING), Column("weight", DOUBLE.with_null())))
#: project -> its views, one line each; what they have in common is in one project, so that they share maps.
VIEWS: Mapping[str, Mapping[str, str]] = {
    "joins": {
        "towns": "SELECT town, SUM(price) AS money, AVG(price) AS mean, COUNT(*) AS n FROM sale JOIN buyer ON buyer = name GROUP BY town",
        "kinds": "SELECT kind, town, SUM(price * 2) AS money FROM sale, buyer, item WHERE buyer = name AND item = no GROUP BY kind, town",
        "idle": "SELECT name, COUNT(id) AS n FROM buyer LEFT JOIN sale ON buyer = name AND price > 1 GROUP BY name",
        "both": "SELECT day, COUNT(*) AS n FROM (SELECT day FROM sale WHERE note IS NULL UNION ALL SELECT day FROM sale WHERE price > 10) x GROUP BY day",
        "never": "SELECT COUNT(*) AS n FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = no)",
        "rows_of": "SELECT id, note, price FROM sale WHERE day >= DATE '2026-01-01' ORDER BY price DESC LIMIT 5",
    },
    "derived": {
        "extremes": "SELECT buyer, MIN(price) AS least, MAX(price) AS most, COUNT(DISTINCT item) AS items FROM sale GROUP BY buyer",
        "large": "SELECT buyer, SUM(price) AS money FROM sale GROUP BY buyer HAVING SUM(price) > 100 AND COUNT(*) > 2",
        "above": "SELECT COUNT(*) AS n FROM sale WHERE price > (SELECT AVG(price) FROM sale)",
        "distinct_notes": "SELECT DISTINCT note FROM sale WHERE note LIKE 'a%'",
        "latest": "SELECT buyer, MAX_BY(item, moment) AS item FROM sale GROUP BY buyer",
        "spread": "SELECT kind, STDDEV(weight) AS s, MEDIAN(weight) AS m FROM item GROUP BY kind",
    },
    "windows": {
        "places": "SELECT id, ROW_NUMBER() OVER (PARTITION BY buyer ORDER BY price DESC) AS place FROM sale",
        "sums": "SELECT id, SUM(price) OVER (PARTITION BY buyer ORDER BY day, id) AS so_far, LAG(price) OVER (PARTITION BY buyer ORDER BY day, id) AS before FROM sale",
        "best": "SELECT * FROM (SELECT town, buyer, RANK() OVER (PARTITION BY town ORDER BY SUM(price) DESC) AS r FROM sale JOIN buyer ON buyer = name GROUP BY town, buyer) x WHERE r <= 3",
    },
    "lists": {
        "bought": "SELECT buyer, ARRAY_AGG(item ORDER BY moment) AS items, STRING_AGG(note, ', ' ORDER BY note) AS notes FROM sale GROUP BY buyer",
        "kinds": "SELECT kind, ARRAY_AGG(DISTINCT no ORDER BY no DESC) AS numbers FROM item GROUP BY kind",
    },
    "time": {
        "lately": "SELECT buyer, COUNT(*) AS n FROM sale WHERE moment > now() - INTERVAL 1 DAY GROUP BY buyer",
        "months": "SELECT DATE_TRUNC('month', day) AS month, SUM(price) AS money FROM sale GROUP BY 1",
    },
    "failing": {
        "ratios": "SELECT buyer, SUM(100 / (price - 5)) AS ratio FROM sale GROUP BY buyer",
        "numbers": "SELECT CAST(note AS INT) AS number, COUNT(*) AS n FROM sale GROUP BY 1",
    },
}
#: Where in a view's file something is that may fail, and how it is written there: that is for people, and no part of a plan.
PLACE = re.compile(r" AT '(?:[^']|'')*'(?: \d+)+(?: '(?:[^']|'')*')?")
TPCH = ("q11", "q13", "q15", "q17", "q22")
NAMES = ("ads", "holdings", "tpch", "wordcount", "tpch_more", *VIEWS)


@lru_cache
def project_of(name: str) -> Project:
    """A project of the corpus."""
    if (EXAMPLES / name).is_dir():
        return load_project(EXAMPLES / name)
    if name == "tpch_more":
        return make_project(Path(), tpch_small.RELATIONS, views={q: tpch_small.view_text(q) for q in TPCH})
    return replace(make_project(Path(), (SALE, BUYER, ITEM), views=VIEWS[name]), keys={"sale": KeySettings("upsert")})


@lru_cache
def compile_today(name: str) -> Compiled:
    """What a project of the corpus is compiled to."""
    return compile_project(project_of(name))


def write_stored(name: str) -> None:
    """Store a project's plan as it is made today: the program for people, and the rest as a catalog has it, a line each."""
    PLANS.mkdir(exist_ok=True)
    record = compile_today(name).record
    parts = [f'"granularity": "{record.granularity}"', f'"definition": {record.definition}']
    parts += [f'"choices": {record.choices}', f'"compiled": {record.compiled}']
    (PLANS / f"{name}.m3").write_text(record.text, encoding="utf-8")
    (PLANS / f"{name}.json").write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def read_stored(name: str) -> ProgramRecord:
    """The plan of a project of the corpus as it was stored."""
    text, data = (PLANS / f"{name}.m3").read_text(encoding="utf-8"), json.loads((PLANS / f"{name}.json").read_text())
    digest = hashlib.sha256(text.encode()).hexdigest()
    compiled, choices, definition = (json.dumps(data[part]) for part in ("compiled", "choices", "definition"))
    return ProgramRecord(
        name, digest, text, data["granularity"], 1, compiled=compiled, choices=choices, definition=definition
    )


def tell_changes(stored: ProgramRecord, today: Compiled) -> list[str]:
    """What today's compiler and layout make otherwise than what is stored: a line for each map, with the view that needs it, and for each choice."""
    old, new = program_from_json(stored.compiled), today.program
    lines = [f"relations: {old.relations} -> {new.relations}"] if old.relations != new.relations else []
    lines += list(_tell_views(old, new)) + list(_tell_maps(old, new))
    choices = Choices.from_json(stored.choices), today.plan.choices
    for part in fields(Choices):
        before, after = (getattr(made, part.name) for made in choices)
        lines += [] if before == after else [f"chosen {part.name}: {_differing(before, after)}"]
    if stored.definition != json.dumps(json.loads(today.record.definition)):
        lines.append(f"definition: {stored.definition} -> {today.record.definition}")
    if stored.granularity != today.plan.versions.name:
        lines.append(f"version scheme: {stored.granularity} -> {today.plan.versions.name}")
    before, after = (PLACE.sub("", text).splitlines() for text in (stored.text, today.record.text))
    if not lines and before != after:
        diff = difflib.unified_diff(before, after, "stored", "today", n=0)
        lines = ["the program's text: " + "\n".join(diff)]
    return lines


def _tell_views(old: Program, new: Program) -> Iterator[str]:
    for view in new.views:
        before = old.view_by_name.get(view.name)
        for part in fields(view):
            was, is_now = getattr(before, part.name, None), getattr(view, part.name)
            if was != is_now and part.name != "having_place":
                yield f"view {view.name}: {part.name}: {was} -> {is_now}"


def _tell_maps(old: Program, new: Program) -> Iterator[str]:
    """Maps that are not as they were, each with the views that need it and what differs. A map is known by its name, or else by what it means."""
    by_meaning = {identity: name for name, identity in identities(old).items()}
    met = set()
    for declared in new.maps:
        name = declared.name
        was = name if name in old.map_by_name else by_meaning.get(identities(new).get(name, ""), "")
        met.add(was)
        head = f"view {_views_of(new, name)}: map {name}"
        if not was:
            yield f"{head}: is new: {declared.meaning or 'derived'}"
            continue
        if was != name:
            yield f"{head}: was called {was}"
            continue
        before, after = _parts(old, was), _parts(new, name)
        yield from (
            f"{head}: {what}: {_differing(before[what], after[what])}" for what in after if before[what] != after[what]
        )
    yield from (f"view {_views_of(old, m.name)}: map {m.name}: goes" for m in old.maps if m.name not in met)


def _views_of(program: Program, name: str) -> str:
    """The views that need a map, in words."""
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [s.target for t in program.triggers for s in t.statements if t.relation == one]
            waiting += [
                s.target for t in program.triggers for s in t.statements if any(r.map == one for r in s.reads())
            ]
            waiting += [d.map for d in program.derivations if one in d.reads()]
    return ", ".join(view.name for view in program.views if found & set(view.maps())) or "-"


def _parts(program: Program, name: str) -> dict[str, object]:
    """What there is to say of a map."""
    declared, derived = program.map_by_name[name], program.derivation_by_map.get(name)
    return {
        "keys": ", ".join(map(format_column, declared.keys)),
        "type": str(declared.value),
        "meaning": declared.meaning,
        "derivation": format_derived(derived) if derived else "",
        "statements": [
            f"{t.relation} {t.sign:+}: {format_statement(s)}"
            for t in program.triggers
            for s in t.statements
            if s.target == name
        ],
    }


def _differing(before: Any, after: Any) -> str:
    """Both; of mappings and lists their entries that differ."""
    if isinstance(before, list | tuple):
        before, after = [one for one in before if one not in after], [one for one in after if one not in before]
    if isinstance(before, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({name: made.get(name) for name in names} for made in (before, after))
    return f"{before} -> {after}"
