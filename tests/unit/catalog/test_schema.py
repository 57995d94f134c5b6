"""The schema: migrations give what the code expects, whoever runs them and how often."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect, text

from cumulus_ops.catalog import Catalog, Clock
from cumulus_ops.catalog.tables import metadata
from cumulus_ops.errors import Conflict, InputProblem, SetupProblem
from tests.support.catalogs import PROGRAM, append, make_catalog, migrate_and_register, older_catalog, url_of

AT = "2026-01-01 00:00:00.000000"


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


def test_the_migrations_give_exactly_the_tables_of_the_code(tmp_path: Path) -> None:
    older_catalog(tmp_path, "head").dispose()
    with create_engine(url_of(tmp_path)).connect() as connection:
        assert differences(connection) == []
        for table in metadata.sorted_tables:
            found = inspect(connection).get_columns(table.name)
            assert [(c["name"], c["nullable"]) for c in found] == [(c.name, c.nullable) for c in table.columns]
            key = inspect(connection).get_pk_constraint(table.name)["constrained_columns"]
            assert key == [c.name for c in table.primary_key.columns]


def test_a_new_catalog_is_as_after_all_migrations(tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    (tmp_path / "new").mkdir()
    older_catalog(tmp_path / "older", "head").dispose()
    with contextlib.closing(Catalog(url_of(tmp_path / "new"))) as catalog:
        catalog.migrate()
        assert catalog.is_current()
    older, new = (_content(tmp_path / name) for name in ("older", "new"))
    assert older == new
    assert new["alembic_version"]


def _content(folder: Path) -> Mapping[str, object]:
    """Of each table its rows; and all indexes."""
    with create_engine(url_of(folder)).connect() as connection:
        found = inspect(connection)
        names = found.get_table_names()
        rows = {name: connection.exec_driver_sql(f'SELECT * FROM "{name}"').fetchall() for name in names}
        return {**rows, "indexes": {name: found.get_indexes(name) for name in names}}


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    make_catalog(tmp_path).close()
    with create_engine(url_of(tmp_path)).begin() as connection:
        connection.exec_driver_sql("ALTER TABLE run ADD COLUMN extra INTEGER")
        connection.exec_driver_sql("DROP TABLE seal")
        assert len(differences(connection)) == 2


def test_migrating_again_keeps_everything(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    catalog.migrate()
    assert catalog.program() == PROGRAM
    catalog.close()


def test_batches_from_before_drops_had_parts_are_kept(tmp_path: Path) -> None:
    engine = older_catalog(tmp_path, "0002")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            'INSERT INTO batch (coordinator, "drop", epoch, first_sequence, next_sequence, inserts, deletes, quarantined, '
            "duplicates, state, seconds) VALUES (0, 'old', 0, 0, 1, 1, 0, 0, 0, 'appended', 0.0)"
        )
    engine.dispose()
    catalog = make_catalog(tmp_path)
    assert [(b.id, b.drop, b.part, b.inserts) for b in catalog.batches()] == [(1, "old", 0, 1)]
    with pytest.raises(Conflict):
        append(catalog, 0, "old")
    assert append(catalog, 0, "new") == 2
    catalog.close()


def test_clocks_of_batches_become_shared_ones(tmp_path: Path) -> None:
    engine = older_catalog(tmp_path, "0007")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            'INSERT INTO batch (coordinator, "drop", epoch, first_sequence, next_sequence, inserts, deletes, quarantined, '
            'duplicates, part, failures, unended, state, "commit", seconds) VALUES '
            + ", ".join(f"(0, 'd{i}', 0, {i}, {i + 1}, 1, 0, 0, 0, 0, 0, 0, 'applied', {i + 1}, 0.0)" for i in range(3))
        )
        connection.exec_driver_sql(
            "INSERT INTO reading_clock VALUES (1, 2, '[4]', 1), (2, 2, '[4]', 3), (3, 2, '[3]', 0)"
        )
    engine.dispose()
    catalog = make_catalog(tmp_path)
    assert {(c.clock, c.batches) for c in catalog.clocks(3)} == {
        (Clock(2, frozenset([4])), 2),
        (Clock(2, frozenset([3])), 1),
    }
    assert [(e.batch.id, *e.clock.exceptions) for e in catalog.history(3)] == [(1, 4), (2, 4), (3, 3)]
    catalog.commit_correction(catalog.clocks(3), 3, (), {})
    assert sorted(c.clock.prefix for c in catalog.clocks(3)) == [3, 4]
    catalog.close()


def test_processes_may_migrate_and_register_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(migrate_and_register, [url_of(tmp_path)] * 6, chunksize=1)
    catalog = Catalog(url_of(tmp_path))
    assert catalog.program() == PROGRAM
    assert [catalog.position(i) for i in range(3)] == [(0, 0)] * 3
    catalog.close()


def test_another_program_is_refused(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    catalog.register(PROGRAM)
    with pytest.raises(InputProblem, match="another program"):
        catalog.register(dataclasses.replace(PROGRAM, digest="e" * 64))
    catalog.register(dataclasses.replace(PROGRAM, coordinators=2))  # who they are, the catalog knows
    assert catalog.program() == PROGRAM
    assert catalog.membership().of(0) == (0, 1, 2)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    catalog = Catalog(url_of(tmp_path))
    catalog.migrate()
    for use in (catalog.program, lambda: catalog.seal(0, 0)):
        with pytest.raises(SetupProblem) as caught:
            use()
        assert caught.value.kind == "not-initialised"
    catalog.register(PROGRAM)
    with pytest.raises(InputProblem, match="no coordinator 3"):
        catalog.position(3)
    with pytest.raises(SetupProblem, match="outlive"):
        Catalog("sqlite://")


def test_a_project_from_before_runs_had_formats_has_the_first_one(tmp_path: Path) -> None:
    engine = older_catalog(tmp_path, "0003")
    with engine.begin() as connection:
        known = {c["name"]: c["type"] for c in inspect(connection).get_columns("program") if not c["nullable"]}
        assert "format" not in known
        values = {name: "''" if "CHAR" in str(type_) or "TEXT" in str(type_) else "0" for name, type_ in known.items()}
        connection.exec_driver_sql(f"INSERT INTO program ({', '.join(values)}) VALUES ({', '.join(values.values())})")
    engine.dispose()
    with patch.object(Catalog, "register", lambda *_: None):
        catalog = make_catalog(tmp_path)
    assert catalog.program().format == 1
    catalog.close()


def test_of_a_project_from_before_snapshots_were_pinned_the_newest_can_be_read(tmp_path: Path) -> None:
    engine = older_catalog(tmp_path, "0004")
    snapshots = [{"epoch": e, "version": e, "commit": e, "entries": 0, "seconds": 0.0, "at": AT} for e in range(3)]
    with engine.begin() as connection:
        names = [c["name"] for c in inspect(connection).get_columns("program")]
        values = ", ".join(f":{name}" for name in names)
        zeros = dict.fromkeys(names, 0)
        connection.execute(text(f"INSERT INTO program ({', '.join(names)}) VALUES ({values})"), zeros)
        connection.execute(
            text("INSERT INTO snapshot VALUES (:epoch, :version, :commit, :entries, :seconds, :at)"), snapshots
        )
        connection.execute(text("INSERT INTO validation VALUES (0, 1, '[]', '', 0.0, :at)"), {"at": AT})
    engine.dispose()
    catalog = Catalog(url_of(tmp_path))
    catalog.migrate()
    assert catalog.oldest_readable() == 2
    assert catalog.expired() == {1: ("validate",)}
    assert (catalog.awaiting("validate"), catalog.awaiting("publish")) == ([2], [2])
    catalog.close()
