"""Catalogs for tests, and workers that change one from other processes."""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Advance, LogFile, NewBatch, NewRun, ProgramRecord, Step
from cumulus_ops.project.versions import epoch_start

#: A step of no lease: what it announces holds nobody back.
NOBODY = Step(0, 0)
PROGRAM = ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", 3)


def url_of(folder: Path) -> str:
    """A database in ``folder``."""
    return f"sqlite:///{folder}/catalog.db"


def make_catalog(folder: Path) -> Catalog:
    """A migrated catalog with a program of three coordinators."""
    catalog = Catalog(url_of(folder))
    if not catalog.database.is_current():  # the test has made an older one, or none
        catalog.database.migrate()
    catalog.program.register(PROGRAM)
    return catalog


def append(
    catalog: Catalog,
    coordinator: int,
    drop: str,
    rows: int = 1,
    *,
    at: tuple[int, int] | None = None,
    step: Step = NOBODY,
    advance: Advance | None = None,
) -> int:
    """Append a batch at (epoch, sequence), by default the coordinator's position; ``step`` has written its files."""
    epoch, sequence = at or catalog.members.position(coordinator)
    label = "" if step is NOBODY else step.label
    file = LogFile(0, "r", f"log/r/{label}{coordinator}-{drop}.parquet", rows, f"{coordinator}/r", 0, rows - 1)
    new = NewBatch(coordinator, drop, epoch, sequence, sequence + rows, rows, 0, 0, 0, (file,), ())
    return catalog.log.append([new], advance)[0]


def new_run(name: str = "m", epoch: int = 0, rows: int = 1, path: str = "runs/p.pack") -> NewRun:
    """A run of a map with versions of one epoch."""
    return NewRun(name, "0", path, 0, epoch_start(epoch), epoch_start(epoch) + 5, rows, 100)


def migrate_and_register(url: str) -> None:
    """What each of several processes does first."""
    catalog = Catalog(url)
    catalog.database.migrate()
    catalog.program.register(PROGRAM)
    catalog.close()


def apply_many(work: tuple[str, int, int]) -> list[tuple[int, int, int]]:
    """In another process: append and apply batches of one coordinator.

    Args:
        work: database, coordinator, number of batches.

    Returns:
        for each: the batch, the commit it read at, its own commit.
    """
    url, coordinator, count = work
    catalog = Catalog(url)
    done = []
    for i in range(count):
        batch = append(catalog, coordinator, f"d{i}")
        read_at = catalog.commits.begin_apply(batch, NOBODY)
        number = catalog.commits.commit_apply(batch, read_at, [new_run(rows=batch)], 0.0)
        assert number is not None
        done.append((batch, read_at, number))
    catalog.close()
    return done


def apply_same(work: tuple[str, int]) -> int | None:
    """In another process: commit a batch that others commit, too."""
    url, batch = work
    catalog = Catalog(url)
    try:
        return catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [new_run()], 0.0)
    finally:
        catalog.close()


def set_aside(catalog: Catalog, batch: int, reason: str = "x") -> None:
    """Set a batch aside that waits, so that somebody has to decide: it is not tried again by itself."""
    catalog.asides.set_aside_dead(batch, reason, 0.0)
    catalog.asides.give_up(batch)
