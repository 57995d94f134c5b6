"""What users edit first: with a meaning it is planned and deployed, and without one it costs nothing; an edit never stops an epoch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project
from tests.support.projects import engine_maps
from tests.support.sampling import sampled

YAML = """\
name: shop
relations:
  orders:
    columns: {o_id: bigint, o_customer: string, o_price: "decimal(15,2)", o_note: string null}
    key: [o_id]
    rows: 1000
  customers: {columns: {c_name: string, c_city: string}, key: [c_name]}
coordinators: 1
epochs: {length: 5m, start: 2026-01-01T00:00:00Z}
views: {revenue: views/revenue.sql, cities: views/cities.sql, recent: views/recent.sql}
sources: {landing: landing}
state: var/state
publish: {path: var/published}
validation: {policy: off}
executor: {kind: inprocess}
"""
VIEWS = {
    "revenue": "SELECT o_customer, SUM(o_price) AS revenue\nFROM orders\nWHERE o_price > 1\nGROUP BY o_customer\n",
    "cities": "SELECT c_city, COUNT(*) AS n, MAX(o_price) AS most\nFROM orders JOIN customers ON o_customer = c_name\nGROUP BY c_city\nHAVING COUNT(*) > 0\n",
    "recent": "SELECT o_id, o_price FROM orders ORDER BY o_id DESC LIMIT 3\n",
}
Edit = Callable[[Path], None]


def write_project(folder: Path) -> None:
    (folder / "views").mkdir(parents=True)
    (folder / "cumulus.yaml").write_text(YAML)
    for name, text in VIEWS.items():
        (folder / "views" / f"{name}.sql").write_text(text)
    land(folder, 0)


def land(folder: Path, number: int, header: str = "op,event,o_id,o_customer,o_price,o_note", more: str = "") -> None:
    drop = folder / "landing" / "0" / f"d{number:03d}"
    drop.mkdir(parents=True)
    first = 10 * number
    rows = [f"I,{first + i},{first + i},{'ann' if i % 2 else 'bob'},{first + i}.50,{more}" for i in range(6)]
    rows += [f"D,{first + 6},{first + 1},ann,{first + 1}.50,{more}"]
    (drop / "orders.csv").write_text("\n".join([header, *rows]) + "\n")
    if number == 0:
        (drop / "customers.csv").write_text("op,event,c_name,c_city\nI,0,ann,Porto\nI,1,bob,Lisbon\n")
    (drop / "_SUCCESS").touch()


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def text(file: str, old: str, new: str, count: int = 1) -> Edit:
    """An edit of one file; what it replaces has to be there."""

    def edit(folder: Path) -> None:
        path = folder / file
        assert old in path.read_text(), (file, old)
        path.write_text(path.read_text().replace(old, new, count))

    return edit


def added(name: str, sql: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / "views" / f"{name}.sql").write_text(sql)
        text("cumulus.yaml", "views: {", f"views: {{{name}: views/{name}.sql, ")(folder)

    return edit


def renamed_file(folder: Path) -> None:
    (folder / "views" / "revenue.sql").rename(folder / "views" / "money.sql")
    text("cumulus.yaml", "views/revenue.sql", "views/money.sql")(folder)


def lower(folder: Path) -> None:
    path = folder / "views" / "cities.sql"
    path.write_text(path.read_text().lower())


REVENUE, CITIES, RECENT = (f"views/{name}.sql" for name in VIEWS)
WITHOUT_MEANING: dict[str, Edit] = {
    "a comment at the head": text(REVENUE, "SELECT", "-- what they pay\nSELECT"),
    "a comment at the end": text(REVENUE, "GROUP BY o_customer\n", "GROUP BY o_customer\n-- the end\n"),
    "a comment within": text(REVENUE, "FROM", "/* all of them */ FROM"),
    "a blank line": text(CITIES, "\nFROM", "\n\nFROM"),
    "more spaces": text(CITIES, " ", "   ", 9),
    "lower case": lower,
    "a renamed file": renamed_file,
    "views in another order": text(
        "cumulus.yaml",
        "cities: views/cities.sql, recent: views/recent.sql}",
        "recent: views/recent.sql, cities: views/cities.sql}",
    ),
    "rows changed": text("cumulus.yaml", "rows: 1000", "rows: 70"),
    "rows removed": text("cumulus.yaml", "    rows: 70\n", ""),
    "rows added": text("cumulus.yaml", "customers: {", "customers: {rows: 5, "),
    "a comment in the YAML": text("cumulus.yaml", "coordinators", "# one is enough\ncoordinators"),
    "memory": text("cumulus.yaml", "executor:", "memory: 1GB\nexecutor:"),
    "a dialect in which they mean the same": text("cumulus.yaml", "state:", "dialect: mysql\nstate:"),
    "words of that dialect": text(CITIES, "c_city,", "`c_city`,"),
    "cores of deployments": text("cumulus.yaml", "executor:", "deploy: {cores: 1}\nexecutor:"),
    "an epoch's length": text("cumulus.yaml", "length: 5m", "length: 7m"),
}
WITH_MEANING: dict[str, Edit] = {
    "a view added": added("notes", "SELECT o_note, COUNT(*) AS n FROM orders GROUP BY o_note\n"),
    "a view removed": text("cumulus.yaml", ", recent: views/recent.sql", ""),
    "a view renamed": text("cumulus.yaml", "revenue: views", "turnover: views"),
    "an output column added": text(REVENUE, "AS revenue", "AS revenue, MIN(o_price) AS least"),
    "an output column removed": text(CITIES, ", MAX(o_price) AS most", ""),
    "an output column renamed": text(REVENUE, "AS revenue", "AS turnover"),
    "a WHERE": text(REVENUE, "o_price > 1", "o_price > 20"),
    "a HAVING": text(CITIES, "COUNT(*) > 0", "COUNT(*) > 2"),
    "an ORDER BY": text(RECENT, "o_id DESC", "o_price"),
    "a LIMIT": text(RECENT, "LIMIT 3", "LIMIT 4"),
    "a join": text(CITIES, "orders JOIN", "orders LEFT JOIN"),
    "a window": text(RECENT, "o_price FROM", "ROW_NUMBER() OVER (ORDER BY o_price) AS place FROM"),
    "a type widened": text(REVENUE, "SUM(o_price) AS", "CAST(SUM(o_price) AS DECIMAL(30, 4)) AS"),
    "a relation added": text("cumulus.yaml", "relations:\n", "relations:\n  places: {columns: {p: string}}\n"),
}


def maps_of(folder: Path) -> tuple[int, dict[str, object]]:
    """The revision, and what the maps hold, settled."""
    with open_runtime(load_project(folder)) as rt:
        return rt.revision, dict(engine_maps(rt))


def fresh_answers(folder: Path, other: Path) -> dict[str, str]:
    """What a project that never was another one answers to the same drops."""
    if not other.exists():
        other.mkdir()
        for name in ("cumulus.yaml", "views", "landing"):
            (folder / name).is_dir() and _copy(folder / name, other / name)
        (other / "cumulus.yaml").write_text((folder / "cumulus.yaml").read_text())
    assert call("run", "--project", str(other)).exit_code == 0
    return answers(other)


def _copy(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            goal = target / path.relative_to(source)
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(path.read_bytes())


def answers(folder: Path) -> dict[str, str]:
    found = {}
    for name in load_project(folder).views:
        done = call("query", name, "--format", "csv", "--project", str(folder))
        assert done.exit_code == 0, done.output
        head, *rows = done.stdout.splitlines()
        found[name] = "\n".join([head, *sorted(rows)])
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path / "shop")
    assert call("run", "--project", str(tmp_path / "shop")).exit_code == 0
    return tmp_path / "shop"


def test_edits_without_a_meaning_cost_nothing(folder: Path) -> None:
    before = maps_of(folder)
    said = answers(folder)
    for name, edit in WITHOUT_MEANING.items():
        edit(folder)
        planned = call("plan", "--exit-code", "--project", str(folder))
        assert (planned.exit_code, planned.stdout) == (
            0,
            "nothing to deploy: the folder defines what is maintained\n",
        ), name
    assert call("run", "--project", str(folder)).exit_code == 0
    assert "Project:" not in call("status", "--project", str(folder)).stdout
    assert maps_of(folder) == before
    assert answers(folder) == said
    with open_runtime(load_project(folder)) as rt:
        assert "`c_city`" in str(rt.program.view("cities").sql), (
            "how it is written is known, for it is proved by its text"
        )
        assert rt.project.dialect == "mysql"


@pytest.mark.parametrize("name", sampled(WITH_MEANING, 3))
def test_an_edit_with_a_meaning_is_deployed(folder: Path, name: str) -> None:
    before = answers(folder)
    WITH_MEANING[name](folder)
    land(folder, 1)
    ran = call("run", "--project", str(folder))
    assert ran.exit_code == 0, "an edit stops no epoch"
    assert "cumulus deploy" in call("status", "--project", str(folder)).stdout
    planned = json.loads(call("plan", "--json", "--project", str(folder)).stdout)
    assert planned["views"] or planned["relations"]
    assert call("plan", "--exit-code", "--no-rows", "--project", str(folder)).exit_code == 5
    done = call("deploy", "--yes", "--project", str(folder))
    assert done.exit_code == 0, done.output
    assert re.search(r"revision 2 is current from epoch 2 on", done.stdout)
    land(folder, 2)
    assert call("run", "--project", str(folder)).exit_code == 0
    assert answers(folder) == fresh_answers(folder, folder.parent / "other")
    assert answers(folder) != before
    assert call("plan", "--exit-code", "--project", str(folder)).exit_code == 0


def test_many_edits_at_once_and_back_again(folder: Path) -> None:
    first = {path.name: path.read_text() for path in (folder / "views").iterdir()}
    for name in ("a view added", "an output column added", "a HAVING", "a LIMIT", "a relation added"):
        WITH_MEANING[name](folder)
    assert call("deploy", "--yes", "--project", str(folder)).exit_code == 0
    land(folder, 1)
    assert call("run", "--project", str(folder)).exit_code == 0
    assert answers(folder) == fresh_answers(folder, folder.parent / "other")
    back = call("deploy", "--yes", "--rollback", "--project", str(folder))
    assert back.exit_code == 0, back.output
    for name, sql in first.items():
        (folder / "views" / name).write_text(sql)
    (folder / "cumulus.yaml").write_text(YAML)
    assert call("plan", "--exit-code", "--project", str(folder)).exit_code == 0
    land(folder, 2)
    assert call("run", "--project", str(folder)).exit_code == 0
    assert answers(folder) == fresh_answers(folder, folder.parent / "third")


def test_a_view_that_is_tried_is_answered_and_not_kept(folder: Path) -> None:
    tried = folder / "tried.sql"
    tried.write_text(
        "SELECT c_city, SUM(o_price) AS money FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city"
    )
    before = sorted(p for p in (folder / "var" / "state").rglob("*") if p.is_file() and "runs" in p.parts)
    done = call("try", str(tried), "--project", str(folder))
    assert (done.exit_code, "Porto" in done.stdout, "money" in done.stdout) == (0, True, True)
    assert sorted(p for p in (folder / "var" / "state").rglob("*") if p.is_file() and "runs" in p.parts) == before
    assert call("query", "tried", "--project", str(folder)).exit_code == 2


def test_all_maps_are_made_anew_when_that_is_asked_for(folder: Path) -> None:
    said = answers(folder)
    planned = json.loads(call("plan", "--replan", "--json", "--project", str(folder)).stdout)
    assert (planned["views"], planned["reused"], planned["is_nothing"]) == ({}, {}, False)
    assert call("deploy", "--replan", "--yes", "--project", str(folder)).exit_code == 0
    land(folder, 1)
    assert call("run", "--project", str(folder)).exit_code == 0
    assert answers(folder) == fresh_answers(folder, folder.parent / "other") != said
