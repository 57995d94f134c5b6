"""Kills of both sides at random while many connections write: each epoch is the database at a transaction boundary.

By default a few kills; ``KILLS=300 pytest tests/e2e/test_postgres_source_under_load.py`` makes more.
"""

from __future__ import annotations

import os
import random
from itertools import chain, cycle, islice
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from tests.support.banking import Bank, follow
from tests.support.children import start, wait
from tests.support.services import PostgreSQL

pytestmark = pytest.mark.postgres
#: Reached while the tables are copied, and afterwards; None is a kill at a random moment after some progress.
COPYING = ("source.after-slot", "source.after-copy")
FOLLOWING = (
    "source.after-advance",
    None,
    "append.after-commit",
    None,
    "append.before-commit",
    "source.after-read",
    None,
    "checkpoint.after-commit",
    "append.before-files",
    "apply.after-commit",
)
KILLS = int(os.environ.get("KILLS", "6"))
RATE = 200


@pytest.mark.timeout(120 + 15 * KILLS)
def test_each_epoch_is_the_database_at_a_transaction_boundary(logical_server: PostgreSQL, tmp_path: Path) -> None:
    draw = random.Random(int(os.environ.get("SEED", "1")))
    bank = Bank(logical_server, tmp_path)
    project = load_project(tmp_path)
    initialise(project)
    load = bank.load(1_000_000, rate=RATE)
    for number, fault in enumerate(islice(chain(COPYING, cycle(FOLLOWING)), KILLS)):
        child = start(follow, tmp_path, fault or "")
        if number % 4 == 3:
            progress(project, child, draw.randrange(2))
            bank.database.session.close()
            logical_server.crash()  # pgbench ends with it
            load.wait()
            load = bank.load(1_000_000, rate=RATE)
        if fault is None:
            progress(project, child, draw.randrange(1, 3))
            child.join(draw.uniform(0.0, 0.2))
            child.kill()
        wait(child)
    load.terminate()
    load.wait()
    (tmp_path / "done").touch()
    assert wait(start(follow, tmp_path)) == 0
    counts = bank.check_epochs()
    assert counts[-1] == len(bank.committed()) > 0
    assert len(set(counts)) > KILLS // 2, "epochs in between were looked at, too"


def progress(project: Project, child: BaseProcess, times: int) -> None:
    """Wait until the source's position has moved so many times, or the child has died."""
    catalog = Catalog(project.catalog_url)
    before = catalog.deliveries.source_position("bank")
    while times and child.is_alive():
        child.join(0.02)
        now = catalog.deliveries.source_position("bank")
        times, before = times - (now != before), now
    catalog.close()
