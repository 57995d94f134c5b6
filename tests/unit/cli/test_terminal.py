"""What stands in a file or is its name is shown on the terminal, and never obeyed."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.catalog import FileAside
from cumulus_ops.cli.output import console, print_rows
from cumulus_ops.cli.problems import show
from cumulus_ops.cli.quarantine import _print
from cumulus_ops.errors import InputProblem
from cumulus_ops.local.terminal import one_line, visible
from cumulus_ops.snapshot import PutAside
from cumulus_ops.sources import Ignored

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \x9b2J\r\x08 \u2066 \u2028 \ud800"


def printed(values: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_rows(pa.table({"[b]name": values}), "[i]title", None)
    return out.getvalue()


@pytest.mark.parametrize("value", ["[b]", "[red]x[/red]", "[/foo]", ":heart:", "[link=http://x]y", "\\[b]"])
def test_values_with_brackets_are_shown_as_they_are(value: str) -> None:
    text = printed([value])
    assert value in text
    assert "[b]name" in text
    assert "[i]title" in text


@given(st.text(st.sampled_from("[]/\\:ab=# \x1b\u202e\x9b"), max_size=12))
def test_any_value_can_be_printed_and_moves_nothing(value: str) -> None:
    text = printed([value])
    assert visible(value).strip() in text
    assert not set(text) & set("\x1b\u202e\x9b")


def test_what_is_not_seen_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(f"{HOSTILE} line", markup=False)
    show(InputProblem("cannot be read", kind="k", place=HOSTILE, hint=HOSTILE))
    both = "".join(capsys.readouterr())
    assert all(c.isprintable() or c == "\n" for c in both)
    for words in ("\\x1b[31mred", "\\u202egnp.exe", "\\x9b2J", "\\x0d\\x08", "\\u2028", "\\ud800"):
        assert both.count(words) >= 2
    assert one_line("a\nb") == "a\\nb"
    assert visible("Grüße, 日本, 👩‍👩‍👧\n\t") == "Grüße, 日本, 👩‍👩‍👧\n\t"


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
