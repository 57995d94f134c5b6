"""Small files are whole whoever reads them, and the first of several writers wins where that is asked for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import pytest

from cumulus_ops.project.small_files import create_file, replace_file, scratch_folder


def _create(file: Path, text: str) -> None:
    create_file(file, text)


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text, durable in (("a", False), ("ä" * 10_000, True)):
        assert replace_file(file, text, durable=durable) == file
        assert file.read_text(encoding="utf-8") == text
    assert [*tmp_path.iterdir()] == [file]


def test_what_is_private_is_so_as_long_as_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda n: (modes.append(os.fstat(n).st_mode & 0o077), sync(n)))
    create_file(tmp_path / "a", "secret", private=True)
    replace_file(tmp_path / "b", "secret", durable=True, private=True)
    assert modes == [0, 0]
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_what_the_killed_have_left_is_removed_and_what_the_living_have_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as mine:
        (mine / "rows").write_text("mine")
        killed = multiprocessing.get_context("spawn").Process(target=_leave_scratch, args=(tmp_path,))
        killed.start()
        killed.join()
        (left,) = {*tmp_path.iterdir()} - {mine}
        with scratch_folder() as another:
            assert {*tmp_path.iterdir()} == {mine, another}, left
        assert (mine / "rows").read_text() == "mine"
    assert not [*tmp_path.iterdir()]


def _leave_scratch(place: Path) -> None:
    tempfile.tempdir = str(place)
    with scratch_folder():
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_first_of_several_writers_wins(tmp_path: Path) -> None:
    file = tmp_path / "x"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_create, [(file, f"{i}" * 1_000) for i in range(8)], chunksize=1)
    won = file.read_text()
    assert won in {f"{i}" * 1_000 for i in range(8)}
    create_file(file, "later")
    assert file.read_text() == won
    assert [*tmp_path.iterdir()] == [file]
