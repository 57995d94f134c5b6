"""Whatever is deployed between whichever batches, votes and snapshots: every snapshot is what its revision's views say of all events up to it, and in the
end the maps are those of the interpreter for the program that is current."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs import compacting
from tests.support.sequential_worlds import SequentialWorld
from tests.support.worlds import World, play

#: `DEPLOYMENTS=200` plays more of them.
SEEDS = int(os.environ.get("DEPLOYMENTS", "2"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_changes_between_random_steps(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second one reads net tables wherever it can."""
    if seed % 2:
        monkeypatch.setattr(compacting, "is_due", lambda *_: True)
    assert play(World(tmp_path, seed)) > 0
    catalog = Catalog(f"sqlite:///{tmp_path}/state/catalog.db")
    assert bool(catalog.net_tables.all()) == (seed % 2 == 1)
    catalog.close()


@pytest.mark.parametrize("seed", range(SEEDS // 2))
def test_sequential_programs_change_between_random_steps(tmp_path: Path, seed: int) -> None:
    """What stays reads what it read, also where statements of other maps come to stand beside it."""
    assert play(SequentialWorld(tmp_path, seed)) > 0
