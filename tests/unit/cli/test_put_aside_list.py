"""What was put aside, as a list that a person can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.catalog.records import FileAside
from cumulus_ops.cli.output import console
from cumulus_ops.cli.quarantine import _print
from cumulus_ops.epochs.quarantine import PutAside
from cumulus_ops.sources.drops import Ignored


def test_names_are_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(":heart:")
    assert ":heart:" in capsys.readouterr().out


def test_files_that_are_alike_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [aside(n, f"{tmp_path}/0/d/f{n}.csv") for n in range(1, 3001)]
    other = aside(3001, f"{tmp_path}/0/e\x1b/x.csv")
    ignored = [Ignored(f"{tmp_path}/0/f{n}", "stray", "is no drop", "move it") for n in range(500)]
    _print(PutAside((), (*files, other), tuple(ignored), ()), tmp_path)
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 40
    for words in ("F1, F2, ..", "(3,000)", "F3001", "e\\x1b/x.csv", "(500)", "f499"):
        assert words in text


def aside(number: int, place: str) -> FileAside:
    return FileAside(0, "d", None, place, "unknown-file", "belongs to no relation", "rename it", id=number)
