"""Key runs: immutable sorted tables of what is known of keys, in memory or in a file.

A run has one entry per key: the row that its latest event has inserted or deleted, how often that row is there (``count``: 0 or 1; any number
without a key), and the ``stamp`` of that event, its epoch and its coordinator. In a file a run is one of the map store's
(:mod:`cumulus_ops.maps.packs`, ``docs/formats.md``): the relation's columns are its key columns, the stamps its versions, the counts its
values, the keys' codes its search codes; so it is encoded, and verified before anything of it is used, as those of maps are.

How runs are written, encoded, verified and searched is the map store's alone. Three things differ, because entries are not deltas:

- **What a merge does.** Deltas add up, in whatever order they are merged; of the entries of a key only the newest one counts. So maps merge any
  runs of about one size (:func:`cumulus_ops.maps.runs.pick_tier`), an index only its newest ones, none left out
  (:func:`cumulus_ops.keys.merging.pick`).
- **What a merge holds.** A merge of maps sorts what it has summed, within the step's memory. An index has whole rows, of as many keys as the
  relation has: it is merged one range of codes after the other (:func:`cumulus_ops.keys.merging.slice_runs`).
- **What a code is.** The search code of a map's run has as many bits of each key column as that run needs, and means something in it alone. A key's code
  is the same in all runs, since entries of several runs are compared by it without looking at the key, and ranges of it are merged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import KeyRun, NewKeyRun
from cumulus_ops.keys.columns import KeyCodes, plain
from cumulus_ops.maps.columns import to_logical, to_physical
from cumulus_ops.maps.encodings import (
    NAMES,
    Array,
    Column,
    Frame,
    Packed,
    Place,
    encode_numbers,
    encode_plainly,
    extremes,
    narrow,
    say_damaged,
)
from cumulus_ops.maps.lookup import search_codes
from cumulus_ops.maps.packs import Pack
from cumulus_ops.maps.packs import open_run as open_stored
from cumulus_ops.maps.runs import FENCE_ROWS, AccessPath, Part, RunData, Search
from cumulus_ops.project.errors import Conflict, IntegrityProblem
from cumulus_ops.project.versions import COORDINATOR_BITS
from m3.program import Relation

__all__ = [
    "Entries",
    "Found",
    "KeyFile",
    "Run",
    "hint_for",
    "in_code_order",
    "join_entries",
    "look_up",
    "open_index",
    "open_run",
    "signature",
    "stamp_of",
    "stamped_epoch",
]


FOLDER, SUFFIX = "keys", ".keys"
FORMAT = 2
COUNT = "+count"
#: A decimal of as many digits is 64 bits in the log.
DECIMAL64_DIGITS = 18
#: The place of the key's code among the columns that a search code is made of.
CODE = -1


def signature(relation: Relation) -> str:
    """What an index is an index of; one with another signature is built anew."""
    columns = [f"{c.name} {c.type}" for c in relation.columns]
    return hashlib.sha256(repr((FORMAT, columns, relation.key)).encode()).hexdigest()


def stamp_of(epoch: int, coordinator: int) -> int:
    """Epoch and coordinator in one number, ordered by epoch."""
    return epoch << COORDINATOR_BITS | coordinator


def stamped_epoch(stamp: np.ndarray) -> np.ndarray:
    """The epochs of stamps."""
    return stamp >> COORDINATOR_BITS


class Run(Protocol):
    """Entries in the order of their codes: :class:`Entries` in memory, or a stored run."""

    @property
    def rows(self) -> int:
        """How many entries it has."""
        ...

    @property
    def lowest(self) -> int:
        """The first code."""
        ...

    @property
    def highest(self) -> int:
        """The last code."""
        ...

    def all_codes(self) -> np.ndarray:
        """The codes (int64)."""
        ...

    def find(self, codes: np.ndarray) -> np.ndarray:
        """The place of the first entry whose code is not below each of ``codes``, which are from ``lowest`` to ``highest``."""
        ...

    def codes_at(self, places: np.ndarray) -> np.ndarray:
        """The codes at some places."""
        ...

    def counts_at(self, places: np.ndarray) -> np.ndarray:
        """The counts at some places."""
        ...

    def stamps_at(self, places: np.ndarray) -> np.ndarray:
        """The stamps at some places."""
        ...

    def take(self, places: np.ndarray, names: Sequence[str]) -> pa.Table:
        """The rows at some places, of which only these columns."""
        ...

    def part(self, begin: int, end: int, names: Sequence[str]) -> Entries:
        """The entries from a place to another (exclusive)."""
        ...


@dataclass(frozen=True)
class Entries:
    """A run, or a part of one, in memory; ``table`` has the rows."""

    codes: np.ndarray
    counts: np.ndarray
    stamps: np.ndarray
    table: pa.Table

    @property
    def rows(self) -> int:
        """See :class:`Run`."""
        return len(self.codes)

    @property
    def lowest(self) -> int:
        """See :class:`Run`."""
        return int(self.codes[0])

    @property
    def highest(self) -> int:
        """See :class:`Run`."""
        return int(self.codes[-1])

    def all_codes(self) -> np.ndarray:
        """See :class:`Run`."""
        return self.codes

    def find(self, codes: np.ndarray) -> np.ndarray:
        """See :class:`Run`."""
        return self.codes.searchsorted(codes)

    def codes_at(self, places: np.ndarray) -> np.ndarray:
        """See :class:`Run`."""
        return np.asarray(self.codes[places])

    def counts_at(self, places: np.ndarray) -> np.ndarray:
        """See :class:`Run`."""
        return np.asarray(self.counts[places])

    def stamps_at(self, places: np.ndarray) -> np.ndarray:
        """See :class:`Run`."""
        return np.asarray(self.stamps[places])

    def take(self, places: np.ndarray, names: Sequence[str]) -> pa.Table:
        """See :class:`Run`."""
        chosen = self.table.select(list(names))
        if len(places) and places[-1] - places[0] == len(places) - 1 and (places[1:] > places[:-1]).all():
            return chosen.slice(int(places[0]), len(places))
        return chosen.take(pa.array(places))

    def part(self, begin: int, end: int, names: Sequence[str]) -> Entries:
        """See :class:`Run`."""
        rows = self.table.select(list(names)).slice(begin, end - begin)
        return Entries(self.codes[begin:end], self.counts[begin:end], self.stamps[begin:end], rows)


def join_entries(parts: Sequence[Entries]) -> Entries:
    """All entries of some parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = pa.concat_tables([part.table for part in parts]).combine_chunks()
    codes, counts, stamps = (
        np.concatenate([getattr(part, c) for part in parts]) for c in ("codes", "counts", "stamps")
    )
    return Entries(codes, counts, stamps, rows)


def in_code_order(parts: Sequence[Entries]) -> Entries:
    """All entries of some parts; those of one code in the order in which they come."""
    whole = join_entries(parts)
    if (whole.codes[1:] >= whole.codes[:-1]).all():
        return whole
    places = np.argsort(whole.codes, kind="stable")
    rows = whole.table.take(pa.array(places))
    return Entries(whole.codes[places], whole.counts[places], whole.stamps[places], rows)


class KeyFile:
    """A new file that runs are written to, one after the other; nothing of it exists for others until the catalog names it.

    Args:
        root: the state folder.
        label: of the step that writes it.
    """

    def __init__(self, root: Path, label: str) -> None:
        self._pack = Pack(root, label, FOLDER, SUFFIX)

    def write(self, relation: Relation, parts: Iterable[Entries]) -> NewKeyRun | None:
        """Write a run; its parts come in the order of their codes. None if there is no entry at all."""
        kept = [part for part in parts if part.rows]
        if not kept:
            return None
        whole = join_entries(kept)
        run = self._pack.append(_encode(relation, whole))
        return NewKeyRun(
            relation.name, run.path, run.offset, run.bytes, run.rows, whole.lowest, whole.highest, run.root
        )

    def read(self, relation: Relation, run: NewKeyRun) -> Run:
        """A run that was written before, mapped from the file."""
        return _Stored(relation, self._pack.read(run), run.lowest, run.highest)

    def close(self, *, durable: bool = True) -> None:
        """Make it durable, its name as well; or only let others read it, who will not look for it after this machine has died."""
        self._pack.close(durable=durable)

    def discard(self) -> None:
        """Delete what was written: it will not be named."""
        self._pack.discard()


def _encode(relation: Relation, entries: Entries) -> RunData:
    """Entries as a run of the map store."""
    key = KeyCodes.of(relation)
    frame = Frame(entries.lowest, entries.highest - entries.lowest)
    bits = max(1, frame.largest.bit_length())  # stored even where all are 0: whoever searches needs no case for that
    codes = Array(narrow(frame.codes(entries.codes), (1 << bits) - 1))
    names = [c.name for c in relation.columns]
    columns: dict[int, Column] = {}
    for place, column in enumerate(relation.columns):
        values = to_physical(plain(entries.table[column.name]), column.type)
        is_code = key.shape == "whole" and column.name in key.columns
        packed = Packed(NAMES[values.type], frame, entries.rows, codes, 0, bits) if is_code else None
        columns[place] = packed or encode_plainly(values)
    stamps, counts = encode_numbers(entries.stamps), encode_numbers(entries.counts)
    assert stamps is not None
    assert counts is not None
    unique = bool((entries.codes[1:] != entries.codes[:-1]).all())
    return RunData(
        AccessPath(relation.name, tuple(names.index(name) for name in key.columns)),
        entries.rows,
        Search((Part(CODE, frame, 0, bits),), 0, bits),
        codes,
        columns,
        stamps,
        {COUNT: counts},
        *extremes(entries.stamps),
        unique,
        not unique,
        {COUNT: float(np.abs(entries.counts).sum())},
        codes.data[::FENCE_ROWS].copy(),
    )


@dataclass(frozen=True)
class _Stored:
    """A stored run; whatever is read of it is verified before."""

    relation: Relation
    run: RunData
    lowest: int
    highest: int

    @property
    def rows(self) -> int:
        return self.run.rows

    @property
    def _codes(self) -> Array:
        assert self.run.codes is not None  # key runs have them always
        return self.run.codes

    @property
    def _frame(self) -> Frame:
        """Between the keys' codes and the search codes that are stored."""
        return self.run.search.parts[0].frame

    def all_codes(self) -> np.ndarray:
        return self._frame.numbers(self._codes.all())

    def find(self, codes: np.ndarray) -> np.ndarray:
        own = self._frame.codes(codes).astype(self._codes.data.dtype)
        return search_codes(self.run, self._codes, own, "left")

    def codes_at(self, places: np.ndarray) -> np.ndarray:
        return self._frame.numbers(self._codes.at(places))

    def counts_at(self, places: np.ndarray) -> np.ndarray:
        return self.run.units(COUNT, places)

    def stamps_at(self, places: np.ndarray) -> np.ndarray:
        return self.run.versions.units(places)

    def take(self, places: np.ndarray, names: Sequence[str]) -> pa.Table:
        types = {c.name: (i, c.type) for i, c in enumerate(self.relation.columns)}
        columns = []
        for number, type_ in (types[name] for name in names):
            column = self.run.keys[number].take(places)
            if type_.kind == "decimal" and type_.precision > DECIMAL64_DIGITS:
                column = to_logical(column, type_)
            elif type_.kind == "decimal":  # as the log has it: the same 64 bits under another type
                units = pa.decimal64(type_.precision, type_.scale)
                column = pa.Array.from_buffers(units, len(column), column.buffers(), column.null_count, column.offset)
            columns.append(column)
        return pa.table(columns, names=list(names))

    def part(self, begin: int, end: int, names: Sequence[str]) -> Entries:
        places = np.arange(begin, end)
        rows = self.take(places, names)
        return Entries(self.codes_at(places), self.counts_at(places), self.stamps_at(places), rows)


def hint_for(relation: str) -> str:
    """What to do when a file of a relation's key index is not what was written."""
    return f"it is a part of a key index, which follows from the log: `cumulus recover`, or `cumulus keys build {relation}`, builds it anew"


def open_run(root: Path, relation: Relation, run: NewKeyRun | KeyRun) -> Run:
    """A stored run, mapped into memory. It is not remembered: as long as a file is mapped, the disk keeps its bytes, also if it was deleted.

    Raises:
        Conflict: its file is gone: most likely it was merged meanwhile.
        IntegrityProblem: it is not what was written.
    """
    file = str(root / run.path)
    try:
        data = open_stored(file, run.offset, run.bytes, run.root, hint_for(relation.name), remember=False)
    except IntegrityProblem as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raise Conflict("the key index moved on", kind="keys-moved", place=run.relation, hint="run it again") from error
    if (data.path.map, data.rows) != (relation.name, run.rows):
        raise say_damaged(Place(f"{file}, byte {run.offset}", hint_for(relation.name)), "it is another one")
    return _Stored(relation, data, run.lowest, run.highest)


#: A state folder, and a relation's name -> the runs that its index had when it was last opened, and as what.
_opened: dict[tuple[Path, str], tuple[Relation, Mapping[KeyRun, Run]]] = {}


def open_index(root: Path, relation: Relation, runs: Sequence[KeyRun]) -> list[Run]:
    """All runs of an index. They are remembered until it has others.

    Raises:
        Conflict, IntegrityProblem: see :func:`open_run`.
    """
    was, before = _opened.get((root, relation.name), (relation, {}))
    known = before if was == relation else {}
    now = {run: known[run] if run in known else open_run(root, relation, run) for run in runs}
    _opened[root, relation.name] = relation, now
    return [*now.values()]


# Looking keys up in the runs of an index, set at a time.


@dataclass(frozen=True)
class Found:
    """What an index knows of some keys: ``run`` and ``place`` of the newest entry (-1: there is none), its ``count`` (0 without an entry)
    and its ``stamp`` (-1)."""

    runs: Sequence[Run]
    run: np.ndarray
    place: np.ndarray
    count: np.ndarray
    stamp: np.ndarray

    def rows(self, keys: np.ndarray, names: Sequence[str]) -> pa.Table:
        """The rows of the entries of some keys, which have one, in their order."""
        parts, order = [], []
        for number in np.unique(self.run[keys]).tolist():
            here = np.flatnonzero(self.run[keys] == number)
            parts.append(self.runs[number].take(self.place[keys[here]], names))
            order.append(here)
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        if len(parts) == 1:
            return table
        return table.combine_chunks().take(pa.array(np.argsort(np.concatenate(order))))


def look_up(key: KeyCodes, runs: Sequence[Run], codes: np.ndarray, keys: Callable[[np.ndarray], pa.Table]) -> Found:
    """The newest entry of each key.

    Args:
        key: how keys are coded.
        runs: newest first.
        codes: of different keys, ascending.
        keys: from positions in ``codes`` to the key columns; asked only where equal codes may be of different keys.
    """
    n = len(codes)
    found = Found(
        runs, np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
    )
    missing = np.arange(n)
    for number, run in enumerate(runs):
        if len(missing) == 0:
            break
        begin = np.searchsorted(codes[missing], run.lowest)
        end = np.searchsorted(codes[missing], run.highest, side="right")
        if begin == end:
            continue
        candidates = missing[begin:end]
        place = _find_places(key, run, codes, candidates, keys)
        hit = place >= 0
        at, where = candidates[hit], place[hit]
        found.run[at], found.place[at] = number, where
        found.count[at], found.stamp[at] = run.counts_at(where), run.stamps_at(where)
        if hit.any():
            missing = np.concatenate([missing[:begin], candidates[~hit], missing[end:]])
    return found


def _find_places(
    key: KeyCodes, run: Run, codes: np.ndarray, wanted: np.ndarray, keys: Callable[[np.ndarray], pa.Table]
) -> np.ndarray:
    """Where in the run the wanted keys are; -1 for those that are not there."""
    sought = codes[wanted]
    lowest = run.find(sought)
    has_code = run.codes_at(np.minimum(lowest, run.rows - 1)) == sought
    place = np.where(has_code, lowest, -1)
    doubtful = np.flatnonzero(has_code & ~key.exact(sought))
    names = list(key.columns)
    while len(doubtful):  # of equal codes most often there is one, so this ends with the first round
        same = key.equal(keys(wanted[doubtful]), run.take(place[doubtful], names))
        doubtful = doubtful[~same]
        place[doubtful] += 1
        over = (place[doubtful] == run.rows) | (
            run.codes_at(np.minimum(place[doubtful], run.rows - 1)) != sought[doubtful]
        )
        place[doubtful[over]] = -1
        doubtful = doubtful[~over]
    return place
