"""Whatever is wrong with the catalog or a folder, every command says it in one line, where it is, and what to do."""

import errno
import os
import shutil
import sqlite3
import traceback
from pathlib import Path

import pytest
from click.testing import CliRunner

from cumulus_ops.catalog import database
from cumulus_ops.cli.main import main
from cumulus_ops.cli.options import explain_errors
from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.project_file import load_project
from tests.support.sleeping import instead_of_sleep

READING = (
    ["status"],
    ["query", "revenue"],
    ["query", "revenue", "--tentative"],
    ["validate", "0"],
    ["fsck"],
    ["batch", "list"],
    ["batch", "retry", "1"],
    ["coordinators"],
    ["coordinators", "add"],
    ["epoch", "end"],
)
WRITING = (["run"], ["init", "."])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project that is initialised."""
    folder = tmp_path_factory.mktemp("made") / "shop"
    write_project(folder, "shop")
    file = folder / "cumulus.yaml"
    file.write_text(file.read_text().replace("kind: spark", "kind: inprocess"))
    initialise(load_project(folder))
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of it, in which the command is called."""
    folder = tmp_path / "shop"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CUMULUS_PROJECT", raising=False)
    return folder


def catalog_of(folder):
    return Path(str(load_project(folder).catalog_url).removeprefix("sqlite:///"))


def says(arguments):
    """What a command says on its way out, in its few lines."""
    result = CliRunner().invoke(main, arguments)
    stack = "".join(traceback.format_exception(result.exception)) if result.exception else ""
    assert isinstance(result.exception, SystemExit), f"{' '.join(arguments)}: {result.output}\n{stack}"
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error ["), result.stderr
    assert len(lines) <= 3, result.stderr
    return result.stderr


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_without_a_catalog_nothing_is_made(folder, arguments):
    shutil.rmtree(folder / "var")
    said = says(arguments)
    assert "[not-initialised]" in said
    assert "catalog.db" in said
    assert "run `cumulus init`" in said
    assert not (folder / "var").exists()


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_an_empty_catalog(folder, arguments):
    catalog_of(folder).unlink()
    catalog_of(folder).touch()
    assert "[not-initialised]" in says(arguments)


@pytest.mark.parametrize("arguments", [*READING, *WRITING], ids=" ".join)
def test_a_catalog_that_is_none(folder, arguments):
    file = catalog_of(folder)
    for other in file.parent.glob("catalog.db-*"):
        other.unlink()
    file.write_bytes(b"not a database" * 1000)
    said = says(arguments)
    assert "[catalog-damaged]" in said
    assert str(file) in said


@pytest.mark.parametrize("arguments", [["status"], ["coordinators", "add"], ["run"]], ids=" ".join)
def test_a_catalog_that_somebody_holds(folder, arguments, monkeypatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 1)
    instead_of_sleep(monkeypatch, database, lambda _: None)
    holder = sqlite3.connect(catalog_of(folder), isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert "[catalog-busy]" in says(arguments)
    finally:
        holder.close()


@pytest.mark.parametrize("arguments", [*READING, *WRITING], ids=" ".join)
def test_a_catalog_where_none_can_be(folder, arguments):
    """A file where its folder should be; as good as one that may not be read, which nothing is for root."""
    file = folder / "cumulus.yaml"
    (folder / "file").touch()
    file.write_text(file.read_text() + f"\ncatalog: sqlite:///{folder}/file/catalog.db\n")
    said = says(arguments)
    assert str(folder / "file") in said


@pytest.mark.parametrize("arguments", [*READING, *WRITING], ids=" ".join)
def test_a_server_that_is_not_there(folder, arguments):
    file = folder / "cumulus.yaml"
    file.write_text(file.read_text() + "\ncatalog: postgresql://cumulus:secret@127.0.0.1:1/cumulus\n")
    said = says(arguments)
    assert "[catalog-unreachable]" in said
    assert "127.0.0.1:1/cumulus" in said
    assert "secret" not in said


@pytest.mark.parametrize("url", ["mysql://a:secret@b/c", "sqlite://", "catalog.db"])
def test_a_url_of_something_else(folder, url):
    file = folder / "cumulus.yaml"
    file.write_text(file.read_text() + f"\ncatalog: {url}\n")
    said = says(["status"])
    assert "sqlite:///FILE" in said
    assert "secret" not in said


@pytest.mark.parametrize("arguments", [*READING, ["run"], ["compile"], ["explain"]], ids=" ".join)
def test_a_folder_without_a_project(tmp_path, arguments, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "cumulus.yaml" in says(arguments)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments", [["compile"], ["compile", "views"], ["run"], ["explain"], ["init", "."]], ids=" ".join
)
def test_a_view_that_is_a_folder(folder, arguments):
    (folder / "views" / "revenue.sql").unlink()
    (folder / "views" / "revenue.sql").mkdir()
    assert "views" in says(arguments)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_in_one_line_whoever_notices_it(capsys, code):
    with pytest.raises(SystemExit) as ended, explain_errors():
        raise OSError(code, os.strerror(code))
    assert ended.value.code == 2
    assert "no room to write" in capsys.readouterr().err
