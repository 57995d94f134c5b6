"""A drop's file as read, before anything of it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from cumulus_ops.errors import InputProblem

__all__ = ["Malformed", "RawFile", "bad_columns"]


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
    row numbers in the file (malformed lines left out), ``ignored`` the names of columns nobody asked for. Without a column ``event``, each row is an event by itself. ``ops``: see
    :class:`~cumulus_ops.config.LandingSettings`."""

    columns: pa.Table
    row: np.ndarray
    ignored: tuple[str, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    ops: Mapping[str, str] | Literal["insert"] = field(default_factory=dict)


def bad_columns(path: Path | str, message: str, kind: str) -> InputProblem:
    """What a file with wrong columns is answered with."""
    hint = "a file has the relation's columns, 'op' (I or D) and 'event' (its offset in the source)"
    return InputProblem(message, kind=kind, place=str(path), hint=hint)
