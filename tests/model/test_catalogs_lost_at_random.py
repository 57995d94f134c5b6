"""The catalog is lost at random moments of random histories, and restored from its newest backup, an older one, or whatever somebody has put in its place: in the end
everything that has landed is in what is published, once. ``LOSSES=200`` plays more histories, ``SEED=1000`` others; ``-m postgres`` those with a PostgreSQL catalog."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.epochs import backups
from tests.support.losses import LOSSES, World
from tests.support.services import PostgreSQL, postgresql

FIRST, COUNT = int(os.environ.get("SEED", "0")), int(os.environ.get("LOSSES", "1"))


@pytest.fixture(autouse=True)
def _after_each_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "SHARE", 0)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with postgresql() as found:
        yield found


def play(world: World, other_url: str | None = None) -> None:
    """Two losses in one history; the second may move it to another kind of database."""
    world.epoch_with_drops()
    for turn in range(2):
        world.play(world.random.randrange(1, 8))
        lose = world.random.choice(LOSSES)
        chosen = world.random.choice(world.backups()[:2])
        world.told.append(f"{lose.__name__}, back to {chosen.place.name}")
        lose(world)
        if turn and other_url is not None:
            world.project = dataclasses.replace(world.project, catalog_url=other_url)
        world.restore(chosen.place)
        world.play(world.random.randrange(4))
    world.check()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_nothing_is_lost_and_nothing_counts_twice(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed=seed)
    try:
        play(world)
    except BaseException:
        print(world.told)
        raise


@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, COUNT // 6)))
def test_neither_on_postgresql_nor_from_one_database_to_the_other(
    seed: int, tmp_path: Path, server: PostgreSQL
) -> None:
    url, sqlite = server.create_database(f"lost_{seed}"), f"sqlite:///{tmp_path}/other.db"
    first, second = (url, sqlite) if seed % 2 else (sqlite, url)
    world = World(tmp_path, first, seed)
    try:
        play(world, second)
    except BaseException:
        print(world.told)
        raise
