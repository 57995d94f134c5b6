"""A drop's file as read, before anything of it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.errors import InputProblem

__all__ = ["Malformed", "RawFile", "bad_columns", "check_names"]


@dataclass(frozen=True)
class Malformed:
    """A line that is not a row: its 0-based row number, the reason in words, its text, and the kind of reason. Where its ``event`` is
    known, what else belongs to that is rejected with it, and no other."""

    row: int
    reason: str
    text: str
    kind: str = "malformed-line"
    event: int | None = None


@dataclass(frozen=True)
class RawFile:
    """A file as read, or a piece of it that no atomic event crosses: ``columns`` of the wanted names, ``row`` their 0-based
    row numbers in the file (malformed lines left out), ``ignored`` the names of columns nobody asked for."""

    columns: pa.Table
    row: np.ndarray
    ignored: tuple[str, ...] = ()
    malformed: tuple[Malformed, ...] = ()


def check_names(path: Path, found: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The columns to ignore.

    Raises:
        InputProblem: one of the wanted columns is missing, or there twice.
    """
    doubled = sorted({name for name in found if name in wanted and found.count(name) > 1})
    if doubled:
        raise bad_columns(path, f"has the column {doubled[0]!r} twice", "doubled-column")
    missing = [name for name in wanted if name not in found]
    if missing:
        raise bad_columns(path, f"has no column {', '.join(map(repr, missing))}", "missing-column")
    return tuple(name for name in found if name not in wanted)


def bad_columns(path: Path | str, message: str, kind: str) -> InputProblem:
    """What a file with wrong columns is answered with."""
    hint = "a file has the relation's columns, 'op' (I or D) and 'event' (its offset in the source)"
    return InputProblem(message, kind=kind, place=str(path), hint=hint)
