"""Today's version takes on projects under way, as an earlier one has left them. ``UPDATE_STATES=1 pytest tests/golden/test_golden_states.py`` stores them anew, as today's
version leaves them: only when a format has changed on purpose, or what they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from cumulus_ops.catalog.tables import metadata
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.status import status
from cumulus_ops.maps.hashes import hash_run
from cumulus_ops.maps.packs import open_run
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.repair.fsck import fsck
from tests.support.logs import logged_events
from tests.support.projects import engine_maps, interpret, oracle_maps
from tests.support.states import STATES, add_epoch, answers_of, read_answers, restore, write_state


@pytest.mark.parametrize("name", STATES)
def test_a_stored_state_goes_on(name: str, tmp_path: Path) -> None:
    if os.environ.get("UPDATE_STATES"):
        write_state(name, tmp_path / "made")
    project, answers = restore(name, tmp_path / name), read_answers(name)
    initialise(project)  # of an unchanged project
    with open_runtime(project) as rt:
        assert {epoch: answers_of(rt, epoch) for epoch in answers} == answers
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, logged_events(rt, max(answers))))
        add_epoch(name, project.folder)
        assert run_waiting(rt, validating=False) == 1
        newest, program = max(answers) + 1, rt.program
        assert rt.catalog.snapshots.newest() == newest
        right = interpret(program, logged_events(rt, newest))
        assert engine_maps(rt) == oracle_maps(right)
        now = answers_of(rt, newest)
        assert now != answers[newest - 1]
        for view in program.views:
            assert len(now[view.name]) == len(right.view_rows(view.name)) > 0
        assert {epoch: answers_of(rt, epoch) for epoch in answers} == answers, "earlier snapshots stay"
        check_hashes(rt)
        assert not fsck(rt).damages


def check_hashes(rt: Runtime) -> None:
    """New runs have the hashes of their rows, old ones none."""
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    new = [run for run in runs if run.root]
    assert new
    opened = [open_run(rt.project.state / run.path, run.offset, run.bytes, run.root) for run in new]
    assert [hash_run(run).total for run in opened] == [run.total for run in new]


def test_migrations_lead_from_a_stored_catalog_to_the_tables_of_the_code(tmp_path: Path) -> None:
    project = restore("shop", tmp_path)
    initialise(project)
    with open_runtime(project) as rt, rt.catalog.database.engine.connect() as connection:
        differences = list(
            compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)
        )
        assert not differences, f"add a migration (catalog/migrations/versions): {differences}"
        assert status(rt).epochs


def test_a_stored_state_has_one_of_each(tmp_path: Path) -> None:
    """What is not in it would not be noticed to be unreadable."""
    project = restore("shop", tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        relations = {net.relation for net in rt.catalog.net_tables.all()}
        assert relations == {"orders", "customers"}
        assert [revision.since for revision in rt.catalog.revisions.all()] == [0, 2]
        kinds = {type(d).__name__ for d in rt.program.derivations}
        assert kinds == {"Derivation", "Windowing"}
        assert any(view.lists for view in rt.program.views)
        tables = ("quarantine", "key_run", "final_partition", "seal_value", "net_table", "log_file", "run", "delivery")
        with rt.catalog.database.engine.connect() as connection:
            counts = {n: connection.exec_driver_sql(f"SELECT COUNT(*) FROM {n}").scalar_one() for n in tables}
        assert min(counts.values()) > 0, counts
