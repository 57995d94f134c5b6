"""The schema: migrations give what the code expects, whoever runs them and how often."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.tables import metadata
from cumulus_ops.project.errors import InputProblem, SetupProblem
from tests.support.catalogs import PROGRAM, make_catalog, migrate_and_register, url_of

AT = "2026-01-01 00:00:00.000000"


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


def test_the_migrations_give_exactly_the_tables_of_the_code(tmp_path: Path) -> None:
    make_catalog(tmp_path).close()
    with create_engine(url_of(tmp_path)).connect() as connection:
        assert differences(connection) == []
        for table in metadata.sorted_tables:
            found = inspect(connection).get_columns(table.name)
            assert [(c["name"], c["nullable"]) for c in found] == [(c.name, c.nullable) for c in table.columns]
            key = inspect(connection).get_pk_constraint(table.name)["constrained_columns"]
            assert key == [c.name for c in table.primary_key.columns]


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    make_catalog(tmp_path).close()
    with create_engine(url_of(tmp_path)).begin() as connection:
        connection.exec_driver_sql("ALTER TABLE run ADD COLUMN extra INTEGER")
        connection.exec_driver_sql("DROP TABLE vote")
        assert len(differences(connection)) == 2


def test_migrating_again_keeps_everything(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    catalog.database.migrate()
    assert catalog.program.record() == PROGRAM
    catalog.close()


def test_who_reads_has_the_connections_that_closing_releases(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    for _ in range(2):
        assert catalog.database.reader.pool is catalog.database.engine.pool
        catalog.close()


def test_processes_may_migrate_and_register_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(migrate_and_register, [url_of(tmp_path)] * 6, chunksize=1)
    catalog = Catalog(url_of(tmp_path))
    assert catalog.program.record() == PROGRAM
    assert [catalog.members.position(i) for i in range(3)] == [(0, 0)] * 3
    catalog.close()


def test_another_program_is_refused(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    catalog.program.register(PROGRAM)
    with pytest.raises(InputProblem, match="another program"):
        catalog.program.register(dataclasses.replace(PROGRAM, digest="e" * 64))
    catalog.program.register(dataclasses.replace(PROGRAM, coordinators=2))  # who they are, the catalog knows
    assert catalog.program.record() == PROGRAM
    assert catalog.members.membership().of(0) == (0, 1, 2)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    catalog = Catalog(url_of(tmp_path))
    catalog.database.migrate()
    for use in (catalog.program.record, lambda: catalog.votes.vote(0, 0)):
        with pytest.raises(SetupProblem) as caught:
            use()
        assert caught.value.kind == "not-initialised"
    catalog.program.register(PROGRAM)
    with pytest.raises(InputProblem, match="no coordinator 3"):
        catalog.members.position(3)
    with pytest.raises(SetupProblem, match="outlive"):
        Catalog("sqlite://")


def test_a_catalog_of_a_version_that_was_never_released_is_refused_and_not_changed(tmp_path: Path) -> None:
    make_catalog(tmp_path).close()
    with create_engine(url_of(tmp_path)).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0018'")
        connection.exec_driver_sql("DROP TABLE installation")
    with contextlib.closing(Catalog(url_of(tmp_path))) as catalog, pytest.raises(SetupProblem, match="0018") as caught:
        catalog.database.migrate()
    assert caught.value.kind == "catalog-schema"
    assert "cumulus init" in caught.value.hint
    with create_engine(url_of(tmp_path)).connect() as connection:
        assert not inspect(connection).has_table("installation")
