"""A small project with something of everything that pages show: corrections, errors, batches, rows and files put aside, reports, a backup."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cumulus_ops.catalog.records import NewFileAside, Validation
from cumulus_ops.epochs.backups import back_up
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.validation.reports import write_index
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.projects import append_events, make_project

SALES = Relation("sales", (Column("region", STRING), Column("amount", INT)))
REGIONS = ("north", "south", "east", "west")


def shown_project(folder: Path, texts: Sequence[str] = REGIONS, epochs: int = 4, name: str = "by_region") -> Project:
    """A project of two coordinators after some epochs.

    Args:
        folder: where.
        texts: what stands in the data: group values, reasons, names of files.
        epochs: how many are committed.
        name: of its first view.
    """
    views = {
        name: "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM sales GROUP BY region ORDER BY region",
        "ratio": "SELECT SUM(100 / amount) AS ratio FROM sales",
    }
    project = make_project(folder, [SALES], views=views, coordinators=2)
    initialise(project)
    with open_runtime(project) as rt:
        for epoch in range(epochs):
            _epoch(rt, epoch, texts)
        back_up(rt.catalog, folder / "backups")
        append_events(rt, 0, [("sales", 1, (text, 1)) for text in texts], "open")
        set_aside_things(rt, texts)
        outcomes = [
            Validation(e, "passed" if e != 1 else "failed", (f"view x: {texts[0]}",) * (e == 1), "", 1.5)
            for e in range(epochs - 1)
        ]
        for outcome in outcomes:
            rt.catalog.results.record_validation(outcome)
        write_index(project.reports, project.name, outcomes)
    (project.landing / "1" / "later").mkdir(parents=True)
    (project.landing / "1" / "later" / "_SUCCESS").touch()
    return project


def _epoch(rt: Runtime, epoch: int, texts: Sequence[str]) -> None:
    for coordinator in (0, 1):
        amount = 0 if epoch == 3 else epoch + 1  # in epoch 3, one view comes into error
        append_events(rt, coordinator, [("sales", 1, (text, amount)) for text in texts], f"drop-{epoch}")
        run_minibatch(rt, coordinator)
    for coordinator in (0, 1):
        vote(rt, coordinator, epoch)
    commit(rt, epoch)
    publish(rt, epoch)


def set_aside_things(rt: Runtime, texts: Sequence[str]) -> None:
    """A file and rows, as intake would put them aside."""
    from sqlalchemy import insert

    from cumulus_ops.catalog import tables as t

    rt.catalog.deliveries.set_files_aside([NewFileAside(0, texts[3], None, texts[0], "bad", texts[1], texts[2])])
    with rt.catalog.database.engine.begin() as connection:
        reasons = json_of(dict.fromkeys(texts[:20], 1))
        rows = {"batch": 1, "relation": "sales", "path": "x", "rows": len(texts), "state": "kept", "reasons": reasons}
        rows |= {"source": "0/sales", "transactional": False}
        connection.execute(insert(t.quarantine).values(rows))


def json_of(value: object) -> str:
    import json

    return json.dumps(value)
