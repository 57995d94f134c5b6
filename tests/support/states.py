"""Small states (a catalog, and the files that it names) as an earlier version has left them (``tests/golden/states``): projects under way that today's version
has to take on.

``shop`` has had each thing that is stored happen to it: rows put aside, keys, a sealed day, net tables, a deployment that changed views and a relation. ``holdings``
is an example's program, for which the order of events counts. What they are and what arrives is written here; a catalog is stored as the SQL that makes it, without
where it was made, and the other files as an archive. So who stores them anew can review what has changed.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from unittest import mock

from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs import compacting
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from tests.support.golden import GOLDEN

__all__ = ["STATES", "Answers", "add_epoch", "answers_of", "make_state", "read_answers", "restore", "write_state"]

FOLDER, EXAMPLES = GOLDEN / "states", GOLDEN.parents[1] / "examples"
#: view -> its rows as text, in no order
Answers = dict[str, list[str]]
SHOP = """\
name: shop
relations:
  orders:
    columns: {{o_id: bigint, o_customer: string, o_price: "decimal(15,2)", o_day: date, o_note: string null{column}}}
    key: [o_id]
    writers: any
    seals: {{day: [o_day]}}
    mode: strict
    rows: 1000
  customers: {{columns: {{c_name: string, c_city: string null}}, key: [c_name], mode: upsert, writers: any}}
coordinators: 2
epochs: {{length: 1d, start: 2026-01-01T00:00:00Z, retain: 16}}
sources: {{landing: {{path: landing, settle: 0s}}}}
views: {{cities: cities.sql, places: places.sql, notes: notes.sql, days: days.sql{view}}}
state: var/state
validation: {{policy: off, reports: var/reports}}
executor: {{kind: inprocess}}
"""
VIEWS = {
    "cities": "SELECT c_city, COUNT(*) AS n, SUM(o_price) AS money, MAX(o_price) AS most FROM orders JOIN customers ON o_customer = c_name GROUP BY c_city",
    "places": "SELECT o_id, RANK() OVER (PARTITION BY o_customer ORDER BY o_price DESC) AS place FROM orders",
    "notes": "SELECT o_customer, ARRAY_AGG(o_note ORDER BY o_id) AS notes FROM orders GROUP BY o_customer",
    "days": "SELECT o_day, COUNT(*) AS n, AVG(o_price) AS mean FROM orders GROUP BY o_day",
}
CHANGED = {
    "cities": VIEWS["cities"] + " HAVING COUNT(*) > 1",
    "channels": "SELECT o_channel, COUNT(DISTINCT o_customer) AS n FROM orders GROUP BY o_channel",
}


def _write_shop(folder: Path, *, is_changed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    column, view = (", o_channel: string null", ", channels: channels.sql") if is_changed else ("", "")
    (folder / "cumulus.yaml").write_text(SHOP.format(column=column, view=view))
    for name, text in {**VIEWS, **(CHANGED if is_changed else {})}.items():
        (folder / f"{name}.sql").write_text(text)


def _land_shop(folder: Path, epoch: int) -> None:
    """A drop for each coordinator: new orders, most of the former ones deleted, a customer who moves, a row that is none; the day before is sealed."""
    day, gone, has_channel = f"2026-01-{epoch + 1:02}", f"2026-01-{epoch:02}", epoch >= 2
    for coordinator in range(2):
        first = 100 * epoch + 10 * coordinator
        rows = [f"I,{first + i},{'ann' if i % 2 else 'bob'},{first + i}.50,{day},{'x' * (i % 3)}" for i in range(5)]
        if epoch:
            rows += [
                f"D,{first - 100 + i},{'ann' if i % 2 else 'bob'},{first - 100 + i}.50,{gone},{'x' * (i % 3)}"
                for i in range(4)
            ]
        rows += [f"I,{first + 9},eve,many,{day},"]
        header = "op,o_id,o_customer,o_price,o_day,o_note"
        if has_channel:
            header, rows = header + ",o_channel", [f"{row},{'web' if row.startswith('I') else ''}" for row in rows]
        files = {"orders.csv": [header, *rows]}
        if epoch:
            files["orders.day.seal.csv"] = ["o_day", gone]
        if coordinator == 0:
            files["customers.csv"] = ["op,c_name,c_city", f"I,ann,city {epoch}", "I,bob,Porto"]
        drop = folder / "landing" / str(coordinator) / f"d{epoch}"
        drop.mkdir(parents=True)
        for name, lines in files.items():
            (drop / name).write_text("\n".join(lines) + "\n")
        (drop / "_SUCCESS").touch()


def _make_shop(folder: Path) -> None:
    """Two epochs, a deployment, one more epoch."""
    _write_shop(folder, is_changed=False)
    with mock.patch.object(compacting, "is_due", return_value=True):
        for epoch in range(3):
            _land_shop(folder, epoch)
            if epoch == 2:
                _write_shop(folder, is_changed=True)
                with open_runtime(load_project(folder)) as rt:
                    assert deploy(rt) is not None
            _run(load_project(folder))


def _write_holdings(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cumulus.yaml", "holdings.m3"):
        shutil.copy(EXAMPLES / "holdings" / name, folder / name)


def _land_holdings(folder: Path, epoch: int) -> None:
    for coordinator in range(2):
        drop = folder / "var" / "landing" / str(coordinator) / f"d{epoch}"
        drop.mkdir(parents=True)
        first = 10 * epoch + 5 * coordinator
        trades = [f"I,{first + i},{i % 3},{'ABC' if i % 2 else 'DEF'},{10 * i - 20},{i + 1}.1250" for i in range(5)]
        (drop / "trade.csv").write_text("\n".join(["op,id,account,symbol,quantity,price", *trades]) + "\n")
        if coordinator == epoch % 2:
            (drop / "split.csv").write_text("op,symbol,ratio\nI,ABC,2\n")
            (drop / "dividend.csv").write_text("op,symbol,per_share\nI,DEF,0.1250\n")
        (drop / "_SUCCESS").touch()


def _make_holdings(folder: Path) -> None:
    _write_holdings(folder)
    for epoch in range(2):
        _land_holdings(folder, epoch)
        _run(_load_holdings(folder))


def _load_holdings(folder: Path) -> Project:
    return load_project(folder, {"CUMULUS_EXECUTOR": "inprocess"})


def _run(project: Project) -> None:
    initialise(project)
    with open_runtime(project) as rt:
        assert run_waiting(rt, validating=False) == 1


#: state -> how it is made, how its project is loaded, what lands in an epoch, the first epoch that it does not have
STATES: Mapping[str, tuple[Callable[[Path], None], Callable[[Path], Project], Callable[[Path, int], None], int]] = {
    "shop": (_make_shop, load_project, _land_shop, 3),
    "holdings": (_make_holdings, _load_holdings, _land_holdings, 2),
}


def make_state(name: str, folder: Path) -> Project:
    """A project with its state, as today's version makes it."""
    make, load, _, _ = STATES[name]
    make(folder)
    return load(folder)


def add_epoch(name: str, folder: Path) -> None:
    """Land what its next epoch has."""
    _, _, land, first = STATES[name]
    land(folder, first)


def answers_of(rt: Runtime, epoch: int) -> Answers:
    """All views as of an epoch."""
    of = rt.as_of(epoch).program.views
    found = {view.name: read_view(rt.as_of(epoch), view.name, as_of=epoch, ordered=False) for view in of}
    return {
        name: sorted(json.dumps(list(row.values()), default=str) for row in rows.to_pylist())
        for name, rows in found.items()
    }


def write_state(name: str, folder: Path) -> None:
    """Make a state and store it, with what its snapshots answer."""
    project = make_state(name, folder)
    with open_runtime(project) as rt:
        answers = {epoch: answers_of(rt, epoch) for epoch in range(rt.catalog.snapshots.newest() + 1)}
    target = FOLDER / name
    target.mkdir(parents=True, exist_ok=True)
    (target / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")
    file = project.state / "catalog.db"
    with closing(sqlite3.connect(file)) as catalog, catalog:
        catalog.execute("DELETE FROM lease")
        catalog.execute(
            "UPDATE installation SET home = json_set(home, '$.state', '/srv', '$.inode', 1, '$.catalog', '')"
        )
        (target / "catalog.sql").write_text("\n".join(catalog.iterdump()) + "\n")
    with zipfile.ZipFile(target / "state.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(project.state.rglob("*")):
            if path.is_file() and not path.name.startswith("catalog.db"):
                member = zipfile.ZipInfo(str(path.relative_to(project.state)))  # of no time
                archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)


def restore(name: str, folder: Path) -> Project:
    """A project of today with the state that is stored; what has arrived lies in its landing folder."""
    _, load, land, first = STATES[name]
    _write_holdings(folder) if name == "holdings" else _write_shop(folder, is_changed=True)
    project = load(folder)
    for epoch in range(first):
        land(folder, epoch)
    project.state.mkdir(parents=True)
    with zipfile.ZipFile(FOLDER / name / "state.zip") as archive:
        archive.extractall(project.state)
    with closing(sqlite3.connect(project.state / "catalog.db")) as catalog, catalog:
        catalog.executescript((FOLDER / name / "catalog.sql").read_text())
    return project


def read_answers(name: str) -> dict[int, Answers]:
    """What the snapshots of a stored state answered when it was stored."""
    return {int(epoch): of for epoch, of in json.loads((FOLDER / name / "answers.json").read_text()).items()}
