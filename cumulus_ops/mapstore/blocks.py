"""Checksums of a file's blocks, verified when a read first touches them.

A run is stored with a CRC-32 of each :data:`BLOCK_BYTES` of it. A process verifies a block before it uses anything of it, once:
so reading a few keys of a large run verifies little, and what was verified costs nothing any more.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from cumulus_ops.errors import IntegrityProblem

__all__ = ["BLOCK_BYTES", "BLOCK_SHIFT", "Blocks", "Place", "checksums", "damaged"]

BLOCK_SHIFT = 16
BLOCK_BYTES = 1 << BLOCK_SHIFT


def checksums(data: memoryview) -> np.ndarray:
    """The checksum of each block of ``data`` (uint32), the last one of what is left."""
    starts = range(0, len(data), BLOCK_BYTES)
    return np.array([zlib.crc32(data[start : start + BLOCK_BYTES]) for start in starts], dtype=np.uint32)


@dataclass(frozen=True)
class Place:
    """What to call a run in errors, and what to do when it is damaged."""

    name: str
    hint: str = "restore the file from a copy; or `cumulus anew` makes all maps again, from the event log"


class Blocks:
    """The blocks of one mapped run.

    Args:
        data: its bytes.
        expected: their checksums.
        place: what it is called in errors.
    """

    def __init__(self, data: memoryview, expected: np.ndarray, place: Place) -> None:
        self._data, self._expected, self.place = data, expected, place
        self._known = np.zeros(len(expected), dtype=bool)
        self.unchecked = len(expected)

    def check(self, offsets: np.ndarray) -> None:
        """Verify the blocks that hold the bytes at some offsets.

        Raises:
            IntegrityProblem: a block is not what was written.
        """
        touched = offsets >> BLOCK_SHIFT
        fresh = touched[~self._known[touched]]
        for block in np.unique(fresh).tolist() if len(fresh) else ():
            self._verify(block)

    def check_range(self, offset: int, size: int) -> None:
        """Verify the blocks of ``size`` bytes from ``offset`` on."""
        if size:
            self.check(np.arange(offset >> BLOCK_SHIFT, ((offset + size - 1) >> BLOCK_SHIFT) + 1) << BLOCK_SHIFT)

    def check_spans(self, begin: np.ndarray, end: np.ndarray) -> None:
        """Verify the blocks from each ``begin`` to its ``end`` (inclusive)."""
        self.check(begin)
        self.check(end)
        for low, high in zip(begin[end - begin >= BLOCK_BYTES], end[end - begin >= BLOCK_BYTES], strict=True):
            self.check_range(int(low), int(high - low))

    def check_all(self) -> None:
        """Verify every block."""
        self.check_range(0, len(self._data))

    def _verify(self, block: int) -> None:
        part = self._data[block << BLOCK_SHIFT : (block + 1) << BLOCK_SHIFT]
        if zlib.crc32(part) != self._expected[block]:
            raise damaged(self.place, f"block {block} does not have its checksum")
        self._known[block] = True
        self.unchecked -= 1


def damaged(place: Place, what: str) -> IntegrityProblem:
    """The error for a run that is not what was written."""
    return IntegrityProblem(f"a stored run is damaged: {what}", kind="damaged-run", place=place.name, hint=place.hint)
