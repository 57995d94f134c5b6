"""Two files of any kinds are lost at once, at random moments of random histories, while all goes on; after one recovery DuckDB, given the views' texts and the
events of the drops that count, is the judge of each snapshot that can be read, of what has been applied, and of what is published.

`TWO_LOST=300 pytest tests/model/test_two_files_lost.py` plays more histories, `SEED=1000` others.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs import compacting, voting
from cumulus_ops.epochs.checkpoint import correct, merge, refresh
from cumulus_ops.epochs.compacting import compact
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.setting_aside import retract
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, CumulusError, NotYet
from cumulus_ops.project.settings import KeySettings, Project, ValidationSettings
from cumulus_ops.publishing.publishing import list_to_validate, publish_lost
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import open_claim, recover
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support import worlds
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS
from tests.unit.repair.test_any_file_is_lost import SPOILS, forget, looks

FIRST, COUNT = int(os.environ.get("SEED", "0")), int(os.environ.get("TWO_LOST", "1"))
ORDERS = Relation("orders", (Column("id", INT), Column("a", INT), Column("price", INT)), ("id",))
KEYED = (
    "SELECT a, SUM(price) AS total, COUNT(*) AS n FROM orders GROUP BY a",
    "SELECT a, MIN(price) AS low, MAX(price) AS high FROM orders GROUP BY a",
    "SELECT o.a, SUM(o.price * r.b) AS worth FROM orders o JOIN r ON o.a = r.a GROUP BY o.a",
)
#: Where files of each kind are; the catalog is restored otherwise, and others are written again by themselves.
KINDS = (
    "state/runs/*",
    "state/runs/*",
    "state/log/*/*",
    "state/quarantine/*/*",
    "state/keys/*",
    "state/net/*/*",
    "state/coordination.json",
    "state/installation.json",
    "published/*/*.parquet",
    "published/*/_delta_log/*.json",
)
Drop = list[tuple[int, str, tuple[object, ...]]]
TEXTS = (*KEYED, *worlds.POOL)


@pytest.fixture(autouse=True)
def _as_the_test_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "is_due", lambda *_: True)
    monkeypatch.setattr(voting, "tick_if_due", lambda *_: False)


class World:
    """A project of two coordinators with an upserted relation, and what has landed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random, self.told = random.Random(seed), list[str]()
        self.streams = [worlds.events(seed + 10_000 * c, 300) for c in range(2)]
        self.orders: list[dict[int, tuple[int, int]]] = [{}, {}]
        self.drops: dict[tuple[int, str], Drop] = {}
        self.alone: set[tuple[int, str]] = set()
        self.dropped: set[tuple[int, str]] = set()
        project = make_project(folder, (*RELATIONS, ORDERS), views=self.some_views(), coordinators=2, retain=3)
        keys, unproved = {"orders": KeySettings("upsert")}, ValidationSettings("off")
        self.project: Project = dataclasses.replace(project, keys=keys, validation=unproved)
        initialise(self.project)
        with open_runtime(self.project) as rt:
            self.land(rt)
            self.run(rt)

    def some_views(self) -> dict[str, str]:
        chosen = [self.random.choice(KEYED), *self.random.sample(worlds.POOL, self.random.randint(1, 3))]
        return {f"v{TEXTS.index(text)}": text for text in chosen}

    # What happens.

    def land(self, _: Runtime) -> None:
        """Events that are inserted and deleted by one coordinator, and orders of keys that are its own; or a drop whose rows stay, which may be set aside."""
        c = self.random.randrange(2)
        name = f"d{sum(key[0] == c for key in self.drops):03d}"
        if self.random.random() < 0.3:
            drop: Drop = [(1, "r", (self.random.randrange(4), self.random.randrange(4))) for _ in range(3)]
            written = drop
            self.alone.add((c, name))
        else:
            drop = [self.streams[c].pop(0) for _ in range(self.random.randint(1, 6)) if self.streams[c]]
            drop, written = [*drop, *(ordered := self.order(c))[0]], [*drop, *ordered[1]]
        self.drops[c, name] = drop
        self.write(self.project.landing / str(c) / name, written, first=1000 * len(self.drops))

    def order(self, c: int) -> tuple[Drop, Drop]:
        """Orders that come, change and go: what that does to the table, and what is landed."""
        done, landed, mine = Drop(), Drop(), self.orders[c]
        for _ in range(self.random.randint(0, 4)):
            key, row = 2 * self.random.randrange(6) + c, (self.random.randrange(4), self.random.randrange(50))
            if key in mine:
                done.append((-1, "orders", (key, *mine[key])))
            if key in mine and self.random.random() < 0.3:
                landed.append((-1, "orders", (key, *mine.pop(key))))
                continue
            mine[key] = row
            done.append((1, "orders", (key, *row)))
            landed.append((1, "orders", (key, *row)))
        return done, landed

    def write(self, folder: Path, drop: Drop, first: int) -> None:
        folder.mkdir(parents=True)
        for relation in (*RELATIONS, ORDERS):
            names = [c.name for c in relation.columns]
            lines = [
                {"op": "I" if sign > 0 else "D", "event": first + i, **dict(zip(names, row, strict=True))}
                for i, (sign, name, row) in enumerate(drop)
                if name == relation.name
            ]
            if relation is ORDERS and self.random.random() < 0.4:
                lines.append(
                    {"op": "I", "event": first + 900, "id": 1, "a": "many", "price": 1}
                )  # goes to the quarantine
            if lines:
                (folder / f"{relation.name}.ndjson").write_text(
                    "".join(f"{json.dumps(row, default=str)}\n" for row in lines)
                )

    def apply(self, rt: Runtime) -> None:
        run_minibatch(rt, self.random.randrange(2))

    def vote(self, rt: Runtime) -> None:
        holder = rt.catalog.votes.token_holder()
        voting.apply_left(rt, holder)
        voting.vote(rt, holder, rt.catalog.members.position(holder)[0])

    def run(self, rt: Runtime) -> None:
        run_waiting(rt, validating=False)

    def let_go(self, rt: Runtime) -> None:
        """Nobody waits for snapshots to be validated: old ones are let go by the next commit."""
        assert not list(list_to_validate(rt))

    def take_back(self, rt: Runtime) -> None:
        """Set a batch aside that is applied, and whose rows nobody deletes."""
        live = rt.catalog.commits.live_history(rt.catalog.commits.last_commit())
        mine = [entry for entry in live if (entry.batch.coordinator, entry.batch.drop) in self.alone]
        if mine:
            entry = self.random.choice(mine)
            with rt.catalog.leases.step() as step:
                retract(rt, step, entry, "a test says so")
            self.dropped.add((entry.batch.coordinator, entry.batch.drop))

    def deploy(self, rt: Runtime) -> None:
        """Other views; or the ones that could not be filled before."""
        if rt.catalog.revisions.deployment() is None:
            self.project = dataclasses.replace(self.project, views=self.some_views())
        with open_runtime(self.project) as mine:
            deploy(mine)

    def act(self, *, is_whole: bool = True) -> None:
        """One step; what needs a lost file fails, and says what to do."""
        acts: dict[Callable[[Runtime], object], int] = {
            self.land: 6,
            self.apply: 6,
            self.vote: 4,
            self.run: 3,
            self.deploy: 1,
            self.take_back: 1,
            self.let_go: 2,
            **dict.fromkeys((correct, refresh, merge, compact), 1),
        }
        (act,) = self.random.choices(list(acts), list(acts.values()))
        self.told.append(act.__name__)
        try:
            with open_runtime(self.project, complete=is_whole) as rt:
                act(rt)
        except (Conflict, NotYet):
            pass
        except CumulusError as problem:
            if is_whole or "cumulus recover" not in problem.hint:
                raise

    # What is lost, and made again.

    def lose_two(self) -> set[str]:
        """Spoil two files; returns which."""
        lost = dict[str, str]()
        while len(lost) < 2:
            found = sorted(self.project.folder.glob(self.random.choice(KINDS)))
            if found:
                file, other = self.random.choice(found), self.random.choice(found)
                how = self.random.choice([how for how in SPOILS if how != "another's" or other.name != file.name])
                if file.exists() and file.relative_to(self.project.folder).as_posix() not in lost:
                    SPOILS[how](file, other)
                    lost[file.relative_to(self.project.folder).as_posix()] = how
        self.told.append(f"lost: {lost}")
        forget()
        return {*lost}

    def recover(self, lost: set[str]) -> None:
        open_claim(self.project)
        before = looks(self.project.folder)
        with open_runtime(self.project, complete=False) as rt:
            result = recover(rt)
            self.told.append(
                f"recovered: {[(str(d), how) for d, how in result.outcome.done]}, left {result.outcome.left}"
            )
            left = [
                d for d, why in result.outcome.left if "its snapshot cannot be read from the maps any more" not in why
            ]
            assert left == [], result.outcome.left
            known = [d for d, _ in result.outcome.left]
            found = fsck(rt, with_rows=True).damages
            assert {(d.file, d.offset) for d in found} <= {(d.file, d.offset) for d in known}, found
        after = looks(self.project.folder)
        touched = {path for path in before if path in after and before[path] != after[path]}
        written = ("state/catalog.", "state/seen.json", "state/notices.md", "state/timeline.json")
        tables = tuple(
            f"{Path(path).parts[0]}/{Path(path).parts[1]}/" for path in lost if path.startswith("published/")
        )
        assert {path for path in touched if not path.startswith((*written, *tables))} <= lost

    # Who judges.

    def database(self, rt: Runtime, epoch: int | None) -> Database:
        """The events of the drops up to an epoch (inclusive) that count; None: of all that are applied."""
        database = Database((*RELATIONS, ORDERS))
        for batch in sorted(rt.catalog.log.batches(), key=lambda b: b.id):
            key = batch.coordinator, batch.drop
            assert (key in self.dropped) == (not batch.counts), batch
            if key not in self.dropped and (batch.epoch <= epoch if epoch is not None else batch.commit is not None):
                database.apply(self.drops[key])
        return database

    def check_snapshots(self, rt: Runtime) -> int:
        snapshots = rt.catalog.snapshots
        for epoch in range(snapshots.oldest_readable(), snapshots.newest() + 1):
            database = self.database(rt, epoch)
            for view in rt.as_of(epoch).program.views:  # those of earlier revisions, too
                rows = read_view(rt, view.name, as_of=epoch, ordered=False)
                self.compare(rows.to_pylist(), database, view.sql, f"epoch {epoch}")
        return snapshots.newest() + 1

    def compare(self, rows: list[dict[str, object]], database: Database, sql: str, what: str) -> None:
        expected = database.rows(sql)
        assert same_rows([tuple(row.values()) for row in rows], expected), (what, sql, rows, expected)

    def check_all(self) -> None:
        """All that has landed is taken, settled and published."""
        with open_runtime(self.project) as rt:
            deploy(rt)
        with open_runtime(self.project) as rt:
            run_waiting(rt, self.told.append, validating=False)
            correct(rt)
            refresh(rt)
            publish_lost(rt)
            self.check_snapshots(rt)
            database = self.database(rt, None)
            assert {key for key in self.drops if key not in self.dropped} == {
                (b.coordinator, b.drop) for b in rt.catalog.log.batches() if b.counts
            }
            for view in rt.program.views:
                rows = read_view(rt, view.name, tentative=True, ordered=False).to_pylist()
                self.compare(rows, database, view.sql, "tentative")
            database = self.database(rt, rt.catalog.snapshots.newest())
            for view in rt.program.views:
                table = DeltaTable(str(self.project.folder / "published" / view.name)).to_pyarrow_table()
                self.compare(table.to_pylist(), database, view.sql, "published")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_two_files_of_any_kinds(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed)
    try:
        for _ in range(2):
            for _ in range(world.random.randint(4, 14)):
                world.act()
            lost = world.lose_two()
            for _ in range(world.random.randint(0, 4)):
                world.act(is_whole=False)
            world.recover(lost)
            with open_runtime(world.project) as rt:
                world.check_snapshots(rt)
        world.check_all()
    except BaseException:
        print("\n".join(world.told))
        raise
