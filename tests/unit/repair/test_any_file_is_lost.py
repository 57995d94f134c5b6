"""Any one file under the state folder is deleted, cut off, has a bit flipped or is another one's, while epochs go on: it is found, and made again by one
command; what is read is what recomputation says, and no other file is touched.

Small files that are made again by themselves, or are not needed, are lost all at once. Not among them: the catalog, which is restored from its backup.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.deliveries import move
from cumulus_ops.catalog.identity import Beginning, claimed_by, note_beginning, read_mark
from cumulus_ops.catalog.records import Advance
from cumulus_ops.compute.extend import relations_read
from cumulus_ops.epochs import compacting
from cumulus_ops.epochs.compacting import compact
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.keys import runs as key_runs
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.processes import REPAIR_POINTS
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.project.small_files import read_summed
from cumulus_ops.publishing.telling import tell_where_coordinators_are
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import open_claim, recover
from cumulus_ops.sources.postgres.tables import Position
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.children import start, wait
from tests.support.logs import forget_written, logged_events
from tests.support.projects import engine_maps, interpret, make_project, oracle_maps
from tests.support.runs import forget_runs
from tests.support.sampling import sampled

COLUMNS = (Column("shop", STRING.with_null()), Column("price", decimal(12, 2)))
RELATIONS = (
    Relation("orders", (Column("id", INT), *COLUMNS), ("id",)),
    Relation("places", (Column("name", STRING), *COLUMNS), ("name",)),
    Relation("visits", (Column("shop", STRING), Column("n", INT))),
)
VIEWS = {
    "totals": "SELECT shop, SUM(price) AS total, COUNT(*) AS n FROM orders GROUP BY shop",
    "cheapest": "SELECT shop, MIN(price) AS price FROM places GROUP BY shop",
    "visited": "SELECT o.shop, SUM(o.price * v.n) AS worth FROM orders o JOIN visits v ON o.shop = v.shop GROUP BY o.shop",
}
KEYS = {"orders": KeySettings("upsert"), "places": KeySettings("strict")}
POSITION = Position("7", 1, "shop", "cumulus_shop_3f2a9c1b_1_0a1b2c", ())
Spoil = Callable[[Path, Path], None]


def land(project: Project, number: int) -> None:
    """A drop with some rows of each relation, of which one does not fit; orders are changed and deleted by key."""
    folder = project.landing / "0" / f"d{number}"
    folder.mkdir(parents=True)
    shops, first = ["a", None, "bc"], 10 * number
    priced = [{"event": i, "shop": shops[i % 3], "price": f"{i}.25"} for i in range(first, first + 8)]
    orders = [{"op": "U", "id": row["event"] % 15, **row} for row in priced]
    orders += [{"op": "D", "id": first % 15, "event": first + 8}, {**orders[0], "event": first + 9, "price": "many"}]
    places = [{"op": "I", "name": f"place {row['event']}", **row} for row in priced]
    visits = [{"op": "I", "event": i, "shop": shops[i % 3] or "d", "n": i} for i in range(first, first + 5)]
    for name, rows in (("orders", orders), ("places", places), ("visits", visits)):
        (folder / f"{name}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with files of all kinds, moved from where it was made: a copy of it is no copy of one that is there."""
    folder = tmp_path_factory.mktemp("made") / "shop"
    project = project_in(folder)
    initialise(project)
    with open_runtime(project) as rt, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compacting, "is_due", lambda *_: True)
        for number in range(4):
            land(project, number)
            run_waiting(rt, validating=False)
            if number == 1:
                compact(rt)
        land(project, 4)
        assert run_minibatch(rt, 0) is not None  # a batch that is in no snapshot yet
        tell_where_coordinators_are(rt)
    return folder.rename(folder.with_name("kept"))


def project_in(folder: Path) -> Project:
    project = make_project(folder, RELATIONS, views=VIEWS, coordinators=1, retain=2)
    return dataclasses.replace(project, keys=KEYS)


def flip(file: Path, _: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


SPOILS: dict[str, Spoil] = {
    "deleted": lambda file, _: file.unlink(),
    "cut": lambda file, _: file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3]),
    "flipped": flip,
    "another's": lambda file, other: file.write_bytes(other.read_bytes()),
}
FILES = {
    "first pack": "state/runs/*.pack",
    "last pack": "state/runs/*.pack",
    "log of orders": "state/log/orders/*",
    "log of places": "state/log/places/*",
    "log of visits": "state/log/visits/*",
    "newest log": "state/log/visits/*",
    "quarantine": "state/quarantine/orders/*",
    "keys": "state/keys/*",
    "net table": "state/net/*/*",
    "plan": "state/coordination.json",
    "claim": "state/installation.json",
    "timeline": "state/timeline.json",
    "first table": "published/totals/*.parquet",
    "last table": "published/totals/*.parquet",
    "first log of a table": "published/totals/_delta_log/*.json",
    "last log of a table": "published/totals/_delta_log/*.json",
}


#: What is made again in another file, or with other bytes.
ANEW = ("first pack", "last pack", "keys", "timeline", "first log of a table", "last log of a table")


def choose(project: Project, what: str) -> tuple[Path, Path]:
    """A file of a kind, and another one of it; of what there is one of, another small file."""
    found = sorted(project.folder.glob(FILES[what]), key=lambda path: path.stat().st_mtime_ns)
    file = found[-1] if what.startswith(("last", "newest")) else found[0]
    return file, next(other for other in [*found, *sorted(project.state.glob("*.json"))] if other != file)


def forget() -> None:
    """What this process has read before: whoever finds a damage has not."""
    forget_runs()
    forget_written()
    key_runs._opened.clear()


def looks(folder: Path) -> dict[str, tuple[int, int]]:
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (seen.st_ino, seen.st_mtime_ns) for path, seen in found.items()}


def add_epoch(rt: Runtime, number: int) -> None:
    """What needs the lost file fails, and says so; all else goes on."""
    land(rt.project, number)
    hint = "cumulus recover"
    try:
        run_waiting(rt, validating=False)
    except CumulusError as problem:
        hint = problem.hint
    assert "cumulus recover" in hint


@pytest.fixture
def case(made: Path, tmp_path: Path) -> Iterator[Project]:
    shutil.copytree(made, tmp_path / "shop")
    yield project_in(tmp_path / "shop")
    shutil.rmtree(tmp_path / "shop")


@pytest.mark.parametrize(("what", "spoil"), sampled(itertools.product(FILES, SPOILS), 5))  # most files in one way
def test_any_one_file(case: Project, what: str, spoil: str) -> None:
    state = case.state
    file, other = choose(case, what)
    table = case.folder / "published" / "totals"
    name = file.relative_to(state).as_posix() if file.is_relative_to(state) else str(table)
    whole, before = file.read_bytes(), looks(case.folder)
    SPOILS[spoil](file, other)
    forget()
    open_claim(case)
    with open_runtime(case, complete=False) as rt:
        add_epoch(rt, 5)
        if name == str(table):  # the other views go on
            assert {"cheapest", "visited"} <= {*rt.catalog.results.published_in(rt.catalog.snapshots.newest())}
        found = fsck(rt).damages
        assert {damage.file for damage in found} <= {name}, found
        assert {damage.file for damage in rt.catalog.repairs.damages()} == {damage.file for damage in found}
        result = recover(rt)
        assert result.outcome.left == (), result.outcome.left
        assert fsck(rt).damages == ()
        assert rt.catalog.repairs.damages() == []
        after = looks(case.folder)
        touched = {path for path in before if path in after and before[path] != after[path]}
        known = {file.relative_to(case.folder).as_posix(), "state/seen.json", "state/notices.md"}
        again = ("state/catalog.", *(["published/totals/"] if "log of a table" in what else []))  # that begins anew
        assert {path for path in touched if not path.startswith(again)} <= known
        if file.exists() and what not in ANEW:
            assert file.read_bytes() == whole
        add_epoch(rt, 6)
        assert rt.catalog.snapshots.newest() >= 4
        right = interpret(rt.program, logged_events(rt, rt.catalog.snapshots.newest()))
        assert engine_maps(rt) == oracle_maps(right)


#: What a step writes again, or a command; one that is killed leaves the note of a generation that begins.
SMALL = ("seen.json", "notices.md", "begins.json", "sources/shop.installation")


@pytest.mark.parametrize("spoil", sampled(SPOILS, 2))
def test_small_files_that_need_no_repair(case: Project, spoil: str) -> None:
    """Deleted, none is missed. Otherwise what a step does not write anew at once is found, and made again as the catalog has it."""
    state = case.state
    identity = claimed_by(state)
    assert identity is not None
    slots = state / SMALL[-1]
    slots.parent.mkdir(exist_ok=True)
    slots.write_text("3f2a9c1b")
    note_beginning(state, Beginning(identity, identity))
    with open_runtime(case) as rt:
        with rt.catalog.database.begin() as connection:
            move(connection, Advance("shop", None, POSITION.text()), 0)
        assert fsck(rt).damages == ()
    for name in SMALL:
        SPOILS[spoil](state / name, state / "coordination.json")
    with open_runtime(case) as rt:
        add_epoch(rt, 5)
        assert rt.catalog.snapshots.newest() == 4, "nobody waits for them"
        found = {damage.file for damage in fsck(rt).damages}
        assert found == (set() if spoil == "deleted" else {"begins.json", SMALL[-1]})
        assert recover(rt).outcome.left == ()
        assert fsck(rt).damages == ()
    again = {name for name in SMALL if (state / name).exists()}
    assert again == {"seen.json", "notices.md", *([] if spoil == "deleted" else [SMALL[-1]])}
    assert read_mark(state).commit > 0
    assert "quarantine" in (read_summed(state / "notices.md") or "")
    assert not slots.exists() or slots.read_text() == "3f2a9c1b"


@pytest.mark.parametrize("wrong", [0, 1])
def test_all_runs_at_once_and_one_that_cannot_be_made_again(case: Project, wrong: int) -> None:
    """Maps of several relations are computed from each other: they are made again in one go; what cannot be is not to keep the others from it."""
    with open_runtime(case) as rt:
        group = next(name for name in rt.plan.groups if relations_read(rt.plan, {name}) == {"places"})
        with rt.catalog.database.begin() as connection:
            of_it = update(t.run).where(t.run.c.map == group)
            connection.execute(of_it.values(total=t.run.c.total + wrong))
    for file in (case.state / "runs").iterdir():
        flip_all(file)
    forget()
    with open_runtime(case, complete=False) as rt:
        found = fsck(rt).damages
        assert len(found) == len(rt.catalog.commits.runs(rt.catalog.commits.last_commit()))
        outcome = recover(rt).outcome
        left = [damage for damage, _ in outcome.left]
        maps = {damage.row.map for damage in left}
        assert group in maps if wrong else not maps
        assert all(relations_read(rt.plan, {name}) == {"places"} for name in maps)
        assert all("is not what was lost" in why for _, why in outcome.left)
        assert len(outcome.done) == len(found) - len(left)
        assert {damage.row.map for damage in fsck(rt).damages} == maps


def flip_all(file: Path) -> None:
    file.write_bytes(bytes(byte ^ 4 for byte in file.read_bytes()))


@pytest.mark.parametrize("digit", [r'("version":429496730)(.)', r'("appId":"cumulus/)(.)', r'("cumulus.epoch":")(.)'])
def test_a_digit_of_a_tables_log_that_leaves_all_rows_as_they_are(case: Project, digit: str) -> None:
    """Else it would be taken for somebody else's table, or for one of a later catalog."""
    with open_runtime(case) as rt:
        add_epoch(rt, 5)
        log = max((case.folder / "published" / "totals" / "_delta_log").glob("*.json"))
        text, count = re.subn(digit, lambda found: found[1] + "89"[found[2] != "9"], log.read_text())
        assert count == 1
        log.write_text(text)
        (damage,) = fsck(rt).damages
        assert damage.detail == "its log says two things of which epoch it has"
        assert recover(rt).outcome.left == ()
        assert fsck(rt).damages == ()
        add_epoch(rt, 6)
        assert {*VIEWS} == {*rt.catalog.results.published_in(rt.catalog.snapshots.newest())}


def recover_and_die(project: Project, fault: str) -> None:
    """What a child does."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(project, complete=False) as rt:
        recover(rt)


@pytest.mark.parametrize("fault", sampled(REPAIR_POINTS, 3, 1))
def test_many_at_once_and_the_recovery_is_killed(case: Project, fault: str) -> None:
    """Each kind has lost one; whoever calls the command again goes on, and at once: the one before is dead, and the one after it dies at the same point."""
    for number, what in enumerate(
        ("first pack", "last pack", "log of orders", "keys", "net table", "plan", "last table")
    ):
        file, other = choose(case, what)
        (SPOILS["deleted"], flip)[number % 2](file, other)
    forget()
    with open_runtime(case, complete=False) as rt:
        nets = rt.catalog.net_tables.all()
        plan = recover(rt, dry_run=True).plan
        assert {repair.kind for repair in plan.repairs} == {
            "run",
            "log",
            "key-index",
            "net-table",
            "published",
            "state-file",
        }
        assert rt.catalog.net_tables.all() == nets
    for _ in range(2):
        assert wait(start(recover_and_die, case, fault)) == -signal.SIGKILL
    with open_runtime(case, complete=False) as rt:
        found = {damage.kind for damage in rt.catalog.repairs.damages()}
        assert {"run", "key-index", "published"} <= found
        result = recover(rt)
        assert result.outcome.left == (), result.outcome.left
        assert fsck(rt).damages == ()
        add_epoch(rt, 5)
        right = interpret(rt.program, logged_events(rt, rt.catalog.snapshots.newest()))
        assert engine_maps(rt) == oracle_maps(right)
