"""A project whose catalog is backed up after each snapshot, and lost: two coordinators, an upserted relation, a sealed one, a join, final partitions.

What it has to show in the end follows from the drops alone, which stay where they have landed."""

from __future__ import annotations

import dataclasses
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
from deltalake import DeltaTable
from sqlalchemy import create_engine, text

from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.backups import Backup, list_backups
from cumulus_ops.epochs.checkpoint import merge
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import BackupSettings, KeySettings, Project, SealSettings
from cumulus_ops.repair.restore import Restored, find_backup, opened_plan, restore, taken_as_it_is
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

__all__ = ["COORDINATORS", "LOSSES", "World"]

ORDERS = Relation("orders", (Column("id", INT), Column("customer", INT), Column("price", INT)), ("id",))
CLICKS = Relation("clicks", (Column("campaign", INT), Column("customer", INT), Column("n", INT)))
VIEWS = {
    "spent": "SELECT customer, SUM(price) AS total, COUNT(*) AS n FROM orders GROUP BY customer",
    "clicked": "SELECT campaign, SUM(n) AS total FROM clicks GROUP BY campaign",
    "both": "SELECT o.customer, SUM(o.price * c.n) AS total FROM orders o, clicks c WHERE o.customer = c.customer GROUP BY o.customer",
}
LATER = {"most": "SELECT customer, MAX(price) AS highest FROM orders GROUP BY customer"}
COORDINATORS = 2


class World:
    """The project in a folder."""

    def __init__(self, folder: Path, catalog_url: str | None = None, seed: int = 0) -> None:
        self.random = random.Random(seed)
        made = make_project(folder, (ORDERS, CLICKS), views=VIEWS, coordinators=COORDINATORS, catalog_url=catalog_url)
        self.project: Project = dataclasses.replace(
            made,
            keys={"orders": KeySettings("upsert")},
            seals={"clicks": (SealSettings("campaign", ("campaign",), "registered"),)},
            backup=BackupSettings(folder / "backups"),
        )
        self.orders: dict[int, tuple[int, int]] = {}
        self.clicks: list[tuple[int, int, int]] = []
        self.drops = [0] * COORDINATORS
        self.told: list[str] = []
        initialise(self.project)

    def land(self) -> None:
        """A drop of a coordinator: orders that are new, changed or gone, among its own; clicks of a campaign that ends with them."""
        c = self.random.randrange(COORDINATORS)
        number, draw = self.drops[c], self.random.randrange
        drop = self.project.landing / str(c) / f"d{number:03d}"
        drop.mkdir(parents=True)
        lines = ["op,event,id,customer,price"]
        for i in range(draw(1, 6)):
            key = draw(12) * COORDINATORS + c
            if key in self.orders and draw(3) == 0:
                lines.append(f"D,{number * 10 + i},{key},{self.orders[key][0]},{self.orders.pop(key)[1]}")
            else:
                self.orders[key] = draw(5), draw(100)
                lines.append(f"I,{number * 10 + i},{key},{self.orders[key][0]},{self.orders[key][1]}")
        (drop / "orders.csv").write_text("\n".join(lines) + "\n")
        campaign = number * COORDINATORS + c
        clicks = [(campaign, draw(5), draw(1, 9)) for _ in range(draw(1, 4))]
        self.clicks += clicks
        rows = [f"I,{number * 10 + i},{','.join(map(str, row))}" for i, row in enumerate(clicks)]
        (drop / "clicks.csv").write_text("\n".join(["op,event,campaign,customer,n", *rows]) + "\n")
        (drop / "clicks.campaign.seal.csv").write_text(f"campaign\n{campaign}\n")
        self.drops[c] += 1

    def apply(self) -> None:
        """A coordinator's next drop, if there is one."""
        with open_runtime(self.project) as rt:
            run_minibatch(rt, self.random.randrange(COORDINATORS))

    def epoch(self) -> None:
        with open_runtime(self.project) as rt:
            run_epochs(rt, 1, validating=False)
            merge(rt)

    def epoch_with_drops(self) -> None:
        """The first snapshot, and so the first backup."""
        while not self.backups():
            self.land()
            self.epoch()

    def run(self) -> None:
        with open_runtime(self.project) as rt:
            run_waiting(rt, validating=False)

    def deploy(self) -> None:
        """Another view, or without it again; if the catalog has lost that, the folder waits to be deployed once more."""
        views = VIEWS if "most" in self.project.views else VIEWS | LATER
        self.project = dataclasses.replace(self.project, views=views)
        self.deploy_folder()

    def deploy_folder(self) -> None:
        with open_runtime(self.project) as rt:
            deploy(rt)

    def play(self, steps: int) -> None:
        acts: dict[Callable[[], None], int] = {
            self.land: 4,
            self.apply: 3,
            self.epoch: 3,
            self.run: 1,
            self.deploy: 1,
        }
        for act in self.random.choices(list(acts), list(acts.values()), k=steps):
            self.told.append(act.__name__)
            act()

    def backups(self) -> list[Backup]:
        assert self.project.backup is not None
        return list_backups(self.project.backup.to)

    def restore(self, place: Path | None = None) -> Restored:
        """What `cumulus restore` does."""
        with opened_plan(self.project, find_backup(self.project, place)) as plan:
            done = restore(self.project, plan)
        assert not plan.losses.log
        assert not done.problems
        return done

    def restore_as_it_is(self) -> Restored:
        with (
            taken_as_it_is(self.project) as taken,
            opened_plan(self.project, taken, as_it_is=True) as plan,
        ):
            return restore(self.project, plan)

    def check(self) -> None:
        """Take all that has landed: what is published is what DuckDB computes from the drops, in all tables."""
        self.deploy_folder()
        self.run()
        for name, query in self.project.views.items():
            assert self.published(name) == self.expect(query), name
        assert self.published("clicked.final") == self.expect(VIEWS["clicked"])
        with open_runtime(self.project) as rt:
            gone = [p for p in rt.catalog.leases.known_paths() if not (self.project.state / p).exists()]
            assert not gone

    def expect(self, query: str) -> list[tuple[int, ...]]:
        with closing(duckdb.connect()) as db:
            db.execute("CREATE TABLE orders (id BIGINT, customer BIGINT, price BIGINT)")
            db.execute("CREATE TABLE clicks (campaign BIGINT, customer BIGINT, n BIGINT)")
            for table, rows in (("orders", [(k, *v) for k, v in self.orders.items()]), ("clicks", self.clicks)):
                if rows:
                    db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
            return sorted(tuple(map(int, row)) for row in db.execute(query).fetchall())

    def published(self, name: str) -> list[tuple[int, ...]]:
        rows = DeltaTable(str(self.project.folder / "published" / name)).to_pyarrow_table().to_pylist()
        return sorted(tuple(map(int, row.values())) for row in rows)

    # How a catalog is lost.

    def _file(self) -> Path | None:
        url = self.project.catalog_url
        return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None

    def delete_it(self) -> None:
        file = self._file()
        if file is None:
            with create_engine(self.project.catalog_url).begin() as connection:
                connection.execute(text("DROP SCHEMA public CASCADE"))
                connection.execute(text("CREATE SCHEMA public"))
        else:
            for part in file.parent.glob(f"{file.name}*"):
                part.unlink()

    def damage_it(self) -> None:
        file = self._file()
        if file is None:
            with create_engine(self.project.catalog_url).begin() as connection:
                for table in ("program", "batch", "revision"):
                    connection.execute(text(f'DELETE FROM "{table}"'))
        else:
            self.delete_it()
            file.write_bytes(b"what is left of it" * 1000)

    def leave_it(self) -> None:
        """It is there, and newer than the backup that is wanted."""

    def put_older_one(self) -> None:
        """By other means than ours: a copy of the file, a server's own backup."""
        file = self._file()
        assert file is not None
        self.delete_it()
        with closing(sqlite3.connect(self.backups()[0].copy)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)


LOSSES = (World.delete_it, World.damage_it, World.leave_it)
