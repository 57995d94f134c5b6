"""Files with upserts, deletes by key, repetitions and other people's keys, from landing to snapshots: what counts is what a plain model
accepts, whatever is killed on the way."""

from __future__ import annotations

import dataclasses
import random
import signal
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.processes import KEY_POINTS
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.query.read import read_view
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.children import finish_epochs, start, wait
from tests.support.keyed import Change, Model, living, net, require_sound
from tests.support.logs import logged_maps
from tests.support.projects import engine_maps, make_project
from tests.support.sampling import sampled

EPOCHS, PERIODS = 2, 8
ACCOUNT = Relation("account", (Column("id", INT), Column("owner", STRING), Column("cents", INT)), ("id",))
MOVE = Relation("move", (Column("account", INT), Column("number", INT), Column("cents", INT)), ("account", "number"))
NOTE = Relation("note", (Column("account", INT), Column("text", STRING.with_null())))
VIEWS = {
    "owners": "SELECT owner, SUM(cents) AS cents, COUNT(*) AS n FROM account GROUP BY owner",
    "moves": "SELECT owner, SUM(m.cents) AS cents, COUNT(*) AS n FROM account a JOIN move m ON a.id = m.account GROUP BY owner",
    "notes": "SELECT text, COUNT(*) AS n FROM note GROUP BY text",
}
MODES = {"account": KeySettings("upsert"), "move": KeySettings("strict"), "note": KeySettings("strict")}


def _make(folder: Path) -> Project:
    project = make_project(folder, (ACCOUNT, MOVE, NOTE), views=VIEWS)
    project = dataclasses.replace(project, keys=MODES)
    rng = random.Random(5)
    for period in range(PERIODS):
        for coordinator in range(3):
            _land(project.landing / str(coordinator) / f"p{period:04}", _changes(rng, period, coordinator))
    initialise(project)
    return project


def _changes(rng: random.Random, period: int, coordinator: int) -> list[Change]:
    """Mostly of keys of its own, so that most of it is right."""
    found: list[Change] = []
    for i in range(30):
        event = period * 100 + i
        account = rng.randrange(20) * 3 + (coordinator if rng.random() < 0.95 else 0)
        kind = rng.random()
        if kind < 0.5:
            row = (account, rng.choice("ABC"), rng.randrange(1000))
            found.append((event, "account", rng.choice("UUID"), row))
        elif kind < 0.9:
            move = (account, rng.randrange(2), rng.randrange(2))
            found += [(event, "move", op, move) for op in rng.choice(["I", "I", "D", "DI"])]
        else:
            found.append((event, "note", rng.choice("IID"), (account % 4, rng.choice([None, "a"]))))
    return found


def _land(drop: Path, changes: list[Change]) -> None:
    drop.mkdir(parents=True)
    for relation in (ACCOUNT, MOVE, NOTE):
        rows = [c for c in changes if c[1] == relation.name]
        names = [c.name for c in relation.columns]
        columns = {n: [row[i] for _, _, _, row in rows] for i, n in enumerate(names)}
        if relation is ACCOUNT:  # deletes by key alone
            for n in names[1:]:
                columns[n] = [v if op != "D" else None for v, (_, _, op, _) in zip(columns[n], rows, strict=True)]
        table = pa.table({"op": [op for _, _, op, _ in rows], "event": [e for e, *_ in rows], **columns})
        pq.write_table(table, drop / f"{relation.name}.parquet")


def _outcome(project: Project) -> dict[str, object]:
    catalog = Catalog(project.catalog_url)
    with open_runtime(project, "inprocess") as rt:
        maps = [engine_maps(rt, epoch_end(e)) for e in range(EPOCHS)]
        assert maps == [logged_maps(rt, e) for e in range(EPOCHS)], "the snapshots are those of the log"
        rows = {v: sorted(read_view(rt, v).to_pylist(), key=repr) for v in VIEWS}
    require_sound(project, catalog)
    batches = sorted(
        (b.coordinator, b.drop, b.epoch, b.inserts, b.deletes, b.quarantined) for b in catalog.log.batches()
    )
    catalog.close()
    return {"maps": maps, "rows": rows, "batches": batches}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    project = _make(tmp_path_factory.mktemp("undisturbed"))
    assert wait(start(finish_epochs, project, EPOCHS)) == 0
    catalog = Catalog(project.catalog_url)
    model, rng = Model(project), random.Random(5)
    drops = {(c, f"p{p:04}"): _changes(rng, p, c) for p in range(PERIODS) for c in range(3)}
    for batch in catalog.log.batches():
        for name in ("account", "move", "note"):
            changes = [c for c in drops[batch.coordinator, batch.drop] if c[1] == name]
            model.append(batch.coordinator, batch.epoch, changes)
    for name in ("account", "move", "note"):
        assert net(project, catalog, name) == +living(model, name)
    outcome = _outcome(project)
    kinds = sum((Counter(rows.reasons) for rows in catalog.deliveries.quarantined_rows()), Counter())
    assert kinds.keys() >= {"absent", "doubled-key", "other-writer", "other-values"}
    catalog.close()
    return outcome


@pytest.mark.parametrize(
    "fault", sampled(["append.before-commit", "append.after-commit", "apply.before-commit", *KEY_POINTS], 2)
)
def test_what_is_killed_and_run_again_judges_alike(fault: str, undisturbed: dict[str, object], tmp_path: Path) -> None:
    project = _make(tmp_path)
    assert wait(start(finish_epochs, project, EPOCHS, fault)) == -signal.SIGKILL, "the fault point was not reached"
    assert wait(start(finish_epochs, project, EPOCHS)) == 0
    assert _outcome(project) == undisturbed
