"""Rows inside the messages of the stream, read column by column and not row by row.

A row is the number of its columns (int16) and for each a letter: ``n`` NULL, ``u`` an unchanged large value that is not sent, ``t`` a text,
which follows as its length (int32) and its bytes. Where a column begins in a row, its columns before tell; so for many rows at once
one step per column finds all of its values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.errors import IntegrityProblem

__all__ = ["PADDING", "Fields", "big_endian", "parse_rows"]

NULL, UNCHANGED, TEXT = ord("n"), ord("u"), ord("t")
#: Bytes behind the last message, so that reading a little too far does no harm.
PADDING = b"\0" * 16


def big_endian(data: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """Unsigned numbers of ``size`` bytes at the places ``at``, as int64."""
    number: np.ndarray = data[at].astype(np.int64)
    for i in range(1, size):
        number = number << 8 | data[at + i]
    return number


@dataclass(frozen=True)
class Fields:
    """Where one column's values are, of many rows: the letter of each, and where its text begins and how long it is."""

    kind: np.ndarray
    begin: np.ndarray
    length: np.ndarray

    def take(self, where: np.ndarray) -> Fields:
        """Those of some rows, in another order."""
        return Fields(self.kind[where], self.begin[where], self.length[where])

    def filled_from(self, old: Fields) -> Fields:
        """With the values of old rows where this one is unchanged and not sent."""
        missing = self.kind == UNCHANGED
        if not missing.any():
            return self
        return Fields(*(np.where(missing, theirs, mine) for mine, theirs in zip(self.arrays, old.arrays, strict=True)))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kind, begin and length."""
        return self.kind, self.begin, self.length

    @property
    def is_unchanged(self) -> np.ndarray:
        """Which values are not there."""
        return np.asarray(self.kind == UNCHANGED)

    @classmethod
    def concat(cls, parts: list[Fields]) -> Fields:
        """One after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts), strict=True)))

    def texts(self, data: np.ndarray) -> pa.Array:
        """The values as strings, copied out of the messages at once."""
        valid = self.kind == TEXT
        offsets = np.zeros(len(valid) + 1, np.int64)
        np.cumsum(self.length, out=offsets[1:])
        where = np.repeat(self.begin - offsets[:-1], self.length) + np.arange(offsets[-1])
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
        buffers = [bitmap, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[where])]
        return pa.StringArray.from_buffers(len(valid), buffers[1], buffers[2], buffers[0], int((~valid).sum()))


def parse_rows(data: np.ndarray, at: np.ndarray, columns: int) -> tuple[list[Fields], np.ndarray]:
    """The values of rows that begin at ``at``, each of so many columns, and where each row ends.

    Raises:
        IntegrityProblem: a row has another number of columns than its table.
    """
    if len(at) and (big_endian(data, at, 2) != columns).any():
        raise IntegrityProblem(
            "a row does not fit its table", kind="bad-message", hint="this is a bug; please report it"
        )
    at, found = at + 2, []
    for _ in range(columns):
        kind = data[at]
        is_text = kind == TEXT
        length = np.where(is_text, big_endian(data, np.where(is_text, at + 1, 0), 4), 0)
        found.append(Fields(kind, at + 5, length))
        at = at + 1 + np.where(is_text, 4 + length, 0)
    return found, at
