"""Text files in pieces: a small one at once, a large one in pieces that no event crosses, after a look at their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.casting import cast_exact, plain_text
from cumulus_ops.files.columns import EVENT, Malformed, RawFile
from cumulus_ops.files.landed import too_large
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import INT

__all__ = ["PIECE_ROWS", "Block", "changes", "event_cuts", "in_pieces", "piece_rows"]


# Cutting a sequence of rows into pieces of limited size that no atomic event crosses.


#: Rows that are read, checked and written together: so few that they stay in the processor's caches.
PIECE_ROWS = 1 << 17


def piece_rows(batch_rows: int) -> int:
    """The largest size of pieces of which several fill a batch."""
    return -(-batch_rows // -(-batch_rows // PIECE_ROWS))


def changes(offsets: np.ndarray) -> np.ndarray:
    """The indices at which another event begins than the one before, ascending, without 0."""
    return np.flatnonzero(offsets[1:] != offsets[:-1]) + 1


def event_cuts(begins: Iterable[np.ndarray], total: int, rows: int) -> list[int]:
    """The ends (exclusive) of pieces of at most ``rows`` rows, as large as possible.

    >>> event_cuts([np.array([1, 2]), np.array([7, 8])], 10, 3)
    [2, 7, 10]

    Args:
        begins: where events begin, ascending, in portions of any size.
        total: the number of rows.
        rows: an event with more rows than that is a piece by itself.

    Returns:
        The last one is ``total``, and there is at least one.
    """
    ends: list[int] = []
    start = last = 0  # where the piece begins, and the last place where it may end
    for found in chain(begins, [np.array([total])]):
        while len(found):
            fitting = int(np.searchsorted(found, start + rows, side="right"))
            last = int(found[fitting - 1]) if fitting else last
            if fitting == len(found):
                break
            start = last = last if last > start else int(found[fitting])
            ends.append(start)
            found = found[fitting:]
    return ends if ends and ends[-1] == total else [*ends, total]


#: A piece of text takes so many times its bytes, while it is checked.
SHARE = 16
#: How many times a piece may be larger than it should, because an event does not end.
PATIENCE = 2
#: What a row takes beside its values.
ROW_BYTES = 16


@dataclass(frozen=True)
class Block:
    """Some rows of a file, as in :class:`~cumulus_ops.files.columns.RawFile`; ``size`` is the bytes of their text. ``unseen``: columns that
    are NULL because no row names them."""

    columns: pa.Table
    row: np.ndarray
    malformed: tuple[Malformed, ...]
    size: int
    unseen: frozenset[str] = frozenset()

    @property
    def weight(self) -> int:
        """About how many bytes it takes: short rows take more than their text."""
        return max(self.size, int(self.columns.nbytes) + ROW_BYTES * len(self.columns))


def in_pieces(
    path: Path,
    blocks: Callable[[Sequence[str] | None], Iterator[Block]],
    together: Callable[[Sequence[Block]], pa.Table],
    memory: int,
) -> Iterator[RawFile]:
    """A file's rows, in pieces of about a sixteenth of the memory.

    Args:
        path: the file.
        blocks: reads it from the beginning: its columns of some names, None for all.
        together: puts the tables of some blocks together.
        memory: the bytes that may be held.

    Raises:
        InputProblem: a large file's events are not in order, or one of them is too large.
    """
    limit = memory // SHARE
    begun, size = [], 0
    for block in blocks(None):
        begun.append(block)
        size += block.weight
        if size > limit:
            break
    else:
        yield _piece(begun, together(begun))
        return
    del begun
    if _is_numbered(path, blocks, limit):
        yield from _cut(path, blocks(None), together, limit)
    else:
        for block in blocks(None):
            yield _piece([block], _without_event(together([block])))


def _piece(blocks: Sequence[Block], table: pa.Table) -> RawFile:
    row = np.concatenate([np.arange(0), *(block.row for block in blocks)])
    return RawFile(table, row, (), tuple(m for block in blocks for m in block.malformed))


def _is_numbered(path: Path, blocks: Callable[[Sequence[str] | None], Iterator[Block]], limit: int) -> bool:
    """Whether there are events' numbers at all; they must ascend."""
    last: int | None = None
    numbered = False
    for block in blocks([EVENT]):
        if EVENT not in block.columns.column_names:
            return False
        numbered |= EVENT not in block.unseen
        values, _ = cast_exact(plain_text(block.columns[EVENT]), INT)
        known = pc.drop_null(values).to_numpy()
        if len(known) == 0:
            continue
        if (known[1:] < known[:-1]).any() or (last is not None and known[0] < last):
            raise InputProblem(
                "has events that are not in order",
                kind="unsorted",
                place=str(path),
                hint=f"sort it by event, or write it in files of less than {limit >> 20} MiB of text",
            )
        last = int(known[-1])
    return numbered


def _without_event(table: pa.Table) -> pa.Table:
    return table.drop_columns([EVENT]) if EVENT in table.column_names else table


def _cut(
    path: Path, blocks: Iterator[Block], together: Callable[[Sequence[Block]], pa.Table], limit: int
) -> Iterator[RawFile]:
    waiting: list[Block] = []
    for block in blocks:
        waiting.append(block)
        size = sum(b.weight for b in waiting)
        if size <= limit:
            continue
        piece = _piece(waiting, together(waiting))
        cut = _find_last_cut(piece)
        if cut == 0:
            if size > PATIENCE * limit:
                raise too_large(path, f"has an event of more than {limit >> 20} MiB of text")
            continue
        first_row = piece.row[cut] if cut < len(piece.row) else np.iinfo(np.int64).max
        early = tuple(m for m in piece.malformed if m.row < first_row)
        late = tuple(m for m in piece.malformed if m.row >= first_row)
        yield RawFile(piece.columns.slice(0, cut), piece.row[:cut], (), early)
        waiting = [Block(piece.columns.slice(cut), piece.row[cut:], late, 0)]
    if waiting:
        yield _piece(waiting, together(waiting))


def _find_last_cut(piece: RawFile) -> int:
    """Before which row the piece may be cut: it and the one before are known to be different events, and nothing is between them."""
    if EVENT not in piece.columns.column_names:
        return len(piece.row)
    values, _ = cast_exact(plain_text(piece.columns[EVENT]), INT)
    known = ~np.asarray(pc.is_null(values).to_numpy(), dtype=bool)
    events = pc.fill_null(values, 0).to_numpy()
    apart = known[1:] & known[:-1] & (events[1:] != events[:-1]) & (np.diff(piece.row) == 1)
    places = np.flatnonzero(apart)
    return int(places[-1]) + 1 if len(places) else 0
