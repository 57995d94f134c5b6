"""What all tests of a process share, so that none pays again for what another has made: temporary folders in memory, bytecode, an empty
catalog that is copied, statements that SQLAlchemy has compiled, and compiled programs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import sqlalchemy
from sqlalchemy import Engine

from cumulus_ops.catalog import database
from cumulus_ops.opening import runtime
from cumulus_ops.project.settings import Project

__all__ = ["share_bytecode", "share_catalogs", "share_programs", "use_memory"]

#: Where Linux has a file system in memory, and how much room the tests want there: they remove what they made when they pass.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 6 << 30


def use_memory() -> None:
    """Let temporary folders lie in memory. Nothing here survives a crash of the machine, so no test can tell whether bytes have reached a disk;
    on one, half of the suite's time was spent waiting for ``fsync``. Who sets ``TMPDIR`` decides for themselves."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # somebody may have asked already


def share_bytecode() -> None:
    """Let what one process has compiled be there for the next ones. Where that is forbidden, as in images of containers, each of hundreds of processes that tests start
    compiles what it imports: half of the time of importing Airflow or Great Expectations."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@contextmanager
def share_catalogs() -> Iterator[None]:
    """Copy new SQLite catalogs from one that was migrated, and compile each statement for SQLite once and not once per catalog."""
    empty: list[bytes] = []
    migrate, create_engine = database.migrate, database.create_engine
    compiled: MutableMapping[Any, Any] = {}
    model = sqlalchemy.create_engine("sqlite://")
    model.connect().close()  # it asks once what the library can do

    def copy_or_migrate(engine: Engine) -> None:
        file = Path(str(engine.url.database)) if engine.dialect.name == "sqlite" else None
        if file is None or file.exists():
            migrate(engine)
        elif not empty:
            migrate(engine)
            empty.append(_dump(engine))
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            _write_new(file, empty[0])
            if not database.schema_version(engine):
                migrate(engine)

    def create_sharing(*args: Any, **options: Any) -> Engine:
        engine = create_engine(*args, **options)
        if engine.dialect.name == "sqlite":
            engine.dialect = model.dialect  # compiled statements are kept by dialect
            engine.update_execution_options(compiled_cache=compiled)
        return engine

    with (
        mock.patch.object(database, "migrate", copy_or_migrate),
        mock.patch.object(database, "create_engine", create_sharing),
    ):
        yield


#: So many programs are kept: random ones come once.
PROGRAMS = 50


@contextmanager
def share_programs() -> Iterator[None]:
    """Compile what projects maintain once, by what it was compiled from and the version scheme. A sixth of the time of tests that make projects was spent compiling few programs again."""
    compile_project = runtime.compile_project
    programs: dict[tuple[str, str | None], runtime.Compiled] = {}

    def look_up(project: Project, versions: str | None = None) -> runtime.Compiled:
        key = runtime.source_of(project), versions
        if key not in programs:
            if len(programs) == PROGRAMS:
                programs.pop(next(iter(programs)))
            programs[key] = compile_project(project, versions)
        return programs[key]

    with mock.patch.object(runtime, "compile_project", look_up):
        yield


def _dump(engine: Engine) -> bytes:
    """The file of a catalog that nobody else has open, as it is without its log."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "catalog.db"
        with engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")  # the listener began a transaction, in which there is no VACUUM
            connection.exec_driver_sql(f"VACUUM INTO '{copy}'")
            connection.exec_driver_sql("BEGIN")
        return copy.read_bytes()


def _write_new(file: Path, content: bytes) -> None:
    """Write a file as a whole, unless another process has made it meanwhile."""
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".catalog-", delete=True) as new:
        new.write(content)
        new.flush()
        try:
            os.link(new.name, file)
        except FileExistsError:
            return
