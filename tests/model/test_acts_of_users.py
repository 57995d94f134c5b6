"""Random acts of users: folders, catalogs and tables are moved, copied, emptied, restored and put in order by others, between runs of projects that land more.

Whatever was done, a run that succeeds has published exactly what has landed, once; no catalog that is alive names a file that is gone; and whoever is refused is told in one line what to
do, which, when it is done, ends in a run that succeeds. ``ACTS=500`` plays more sequences, ``SEED=1000`` other ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.generations import begin_anew
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.settings import Project, SealSettings
from tests.support.projects import make_project
from tests.support.sealed import CLICKS

FIRST, COUNT = int(os.environ.get("SEED", "0")), int(os.environ.get("ACTS", "1"))
VIEWS = {
    "counts": "SELECT campaign, COUNT(*) AS n, SUM(price) AS total FROM clicks GROUP BY campaign",
    "total": "SELECT SUM(price) AS total FROM clicks",
}
TABLES = ("counts", "total", "counts.final")


class World:
    """A project folder: its drops lie in ``landing`` and stay there."""

    def __init__(self, folder: Path, landed: int = 0) -> None:
        self.folder, self.landed, self.away = folder, landed, 0

    @property
    def project(self) -> Project:
        made = make_project(
            self.folder, (CLICKS,), views=VIEWS, coordinators=1, catalog_url=f"sqlite:///{self.folder}/catalog.db"
        )
        return dataclasses.replace(made, seals={"clicks": (SealSettings("campaign", ("campaign",), "registered"),)})

    def land(self) -> None:
        """Three clicks of a campaign, which is sealed with them."""
        n = self.landed
        drop = self.folder / "landing" / "0" / f"d{n:03d}"
        drop.mkdir(parents=True)
        lines = [f"I,{n * 3 + i},{n * 3 + i},{n},{n + i}" for i in range(3)]
        (drop / "clicks.csv").write_text("\n".join(["op,event,id,campaign,price", *lines]) + "\n")
        (drop / "clicks.campaign.seal.csv").write_text(f"campaign\n{n}\n")
        self.landed += 1

    def run(self) -> CumulusError | None:
        """Do all that waits, and compare what is published with what has landed; or be refused."""
        try:
            initialise(self.project)
            with open_runtime(self.project) as rt:
                run_waiting(rt, validating=False)
                collect_garbage(rt)
        except CumulusError as problem:
            return one_line(problem)
        if self.landed:
            counts = sorted((n, 3, 3 * n + 3) for n in range(self.landed))
            assert self.published("counts") == self.published("counts.final") == counts
            assert self.published("total") == [(sum(total for _, _, total in counts),)]
        return None

    def published(self, name: str) -> list[tuple[int, ...]]:
        rows = DeltaTable(str(self.folder / "published" / name)).to_pyarrow_table().to_pylist()
        return sorted(tuple(int(v) for v in row.values()) for row in rows)

    def check_living(self) -> None:
        """If the catalog is alive, what it names is there."""
        with contextlib.suppress(CumulusError), open_runtime(self.project) as rt:
            gone = [path for path in rt.catalog.leases.known_paths() if not (rt.project.state / path).exists()]
            assert not gone

    def move_away(self, *names: str) -> Path:
        """Out of the way; it stays somewhere."""
        self.away += 1
        to = self.folder / f"away{self.away}"
        to.mkdir()
        for name in names:
            for path in [self.folder / name, *self.folder.glob(f"{name}-*")]:
                if path.exists():
                    (to / name).parent.mkdir(parents=True, exist_ok=True)
                    path.rename(to / name if path.name == Path(name).name else to / path.name)
        return to

    def follow(self, problem: CumulusError) -> None:
        """Do what a refusal says."""
        if problem.kind == "published-by-another":
            assert "move this folder away" in problem.hint
            self.move_away(f"published/{Path(problem.place).name}")
        elif problem.kind == "state-of-another" and "other ones of both" in problem.hint:
            self.move_away("state", "catalog.db")
        else:
            assert "cumulus anew" in problem.hint, problem
            begin_anew(self.project, from_sources="anew --from-sources" in problem.hint)


def one_line(problem: CumulusError) -> CumulusError:
    """What is wrong, and what to do."""
    assert problem.hint, problem
    assert "\n" not in problem.message + problem.hint, problem
    return problem


class Play:
    """A sequence of acts in a folder of its own."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.folder = random.Random(seed), folder
        self.worlds = [World(folder / "w0")]
        self.saved: list[tuple[World, Path, tuple[str, ...]]] = []
        self.told: list[str] = []
        self.world = self.worlds[0]

    def acts(self) -> dict[Callable[[], object], int]:
        """What may be done, and how often."""
        return {
            self.land_and_run: 6,
            self.move: 4,
            self.save: 4,
            self.restore: 4,
            self.keep_in_order: 3,
            self.empty_catalog: 1,
            self.copy_project: 1,
            self.use_another_catalog: 1,
            self.begin_anew: 1,
        }

    def play(self, acts: int) -> None:
        self.land_and_run()
        for _ in range(acts):
            self.world = self.random.choice(self.worlds)
            choice = self.random.choices(list(self.acts()), list(self.acts().values()))[0]
            self.told.append(f"{choice.__name__} in {self.world.folder.name}")
            choice()
            for world in self.worlds:
                world.check_living()
        for world in self.worlds:
            self.world = world
            self.end_well()

    def end_well(self) -> None:
        """Hints lead to a run that succeeds."""
        for _ in range(6):
            problem = self.world.run()
            if problem is None:
                return
            self.told.append(f"refused, {problem.kind}")
            self.world.follow(problem)
        raise AssertionError("the hints lead nowhere")

    def land_and_run(self) -> None:
        self.world.land()
        problem = self.world.run()
        self.told.append("done" if problem is None else f"refused, {problem.kind}")

    def move(self) -> None:
        self.world.move_away(
            *self.random.choice(
                [("state",), ("catalog.db",), ("state", "catalog.db"), ("published",), (f"published/{self.table()}",)]
            )
        )

    def table(self) -> str:
        return self.random.choice(TABLES)

    def save(self) -> None:
        names = self.random.choice(
            [("catalog.db",), ("state", "catalog.db"), ("published",), ("state", "catalog.db", "published")]
        )
        to = self.folder / f"saved{len(self.saved)}"
        to.mkdir()
        for name in names:
            _copy(self.world.folder / name, to / name)
        self.saved.append((self.world, to, names))

    def restore(self) -> None:
        if self.saved:
            world, saved, names = self.random.choice(self.saved)
            world.move_away(*names)
            for name in names:
                _copy(saved / name, world.folder / name)

    def keep_in_order(self) -> None:
        with contextlib.suppress(TableNotFoundError):
            table = DeltaTable(str(self.world.folder / "published" / self.table()))
            table.optimize.compact()
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
            if self.random.random() < 0.5:
                table.create_checkpoint()

    def empty_catalog(self) -> None:
        self.world.move_away("catalog.db")
        (self.world.folder / "catalog.db").touch()

    def copy_project(self) -> None:
        if len(self.worlds) < 3:
            copy = World(self.folder / f"w{len(self.worlds)}", self.world.landed)
            shutil.copytree(self.world.folder, copy.folder, ignore=shutil.ignore_patterns("away*"))
            self.worlds.append(copy)

    def use_another_catalog(self) -> None:
        """By a mistake in the project's file: it is refused wherever there is something to lose."""
        had = any((self.world.folder / "state" / "log").rglob("*.parquet"))
        other = dataclasses.replace(self.world.project, catalog_url=f"sqlite:///{self.folder}/another.db")
        if had:
            with pytest.raises(CumulusError):
                initialise(other)

    def begin_anew(self) -> None:
        with contextlib.suppress(CumulusError):
            begin_anew(self.world.project, from_sources=self.random.random() < 0.3)


def _copy(path: Path, to: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, to)
    elif path.exists():
        shutil.copy2(path, to)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_whatever_users_do_what_is_published_is_what_has_landed(seed: int, tmp_path: Path) -> None:
    play = Play(seed, tmp_path)
    try:
        play.play(12)
    except BaseException:
        print("\n".join(play.told))
        raise
