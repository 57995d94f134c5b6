"""Runs for tests of the map store: keys of any types, value columns that not every run has, codes too narrow to tell keys apart."""

from __future__ import annotations

import datetime
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from cumulus_ops.compute.reading import OpenedRuns, opened_runs
from cumulus_ops.maps import encodings as blocks_module
from cumulus_ops.maps import lookup as lookup_module
from cumulus_ops.maps import packs as packs_module
from cumulus_ops.maps import runs as runs_module
from cumulus_ops.maps.columns import hash_columns, to_column
from cumulus_ops.maps.deltas import VERSION, Deltas, delta_columns, value_column
from cumulus_ops.maps.packs import open_run, unmap_files, write_runs
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from m3.datatypes import INT64_MAX, INT64_MIN

__all__ = [
    "CODES",
    "ENORMOUS",
    "HUGE",
    "KEYS",
    "Case",
    "Entry",
    "built",
    "cases",
    "column_of",
    "delta_of",
    "forced",
    "forget_runs",
    "keys_of",
    "names_of",
    "small_blocks",
    "stored",
]

EXTREMES = [INT64_MIN, INT64_MIN + 1, -(2**32), 255, 256, 2**32, INT64_MAX - 1, INT64_MAX]
#: Numbers that 64 bits do not hold.
HUGE = [2**63, -(2**63) - 1, 2**64, 2**64 + 1, -(2**64), 10**25, 10**38 - 1, 1 - 10**38]
#: And those that no column holds alone.
ENORMOUS = [10**38, -(10**40), 10**80]
EPOCH = datetime.datetime(1970, 1, 1)
#: The Arrow type of a key column, and its values, by the name of its kind; a column of numbers beyond 64 bits is wide.
KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[object]]] = {
    "int": (pa.int64(), st.integers(0, 3)),
    "wide int": (pa.int64(), st.integers(0, 2) | st.sampled_from(EXTREMES)),
    "decimal": (pa.int64(), st.integers(0, 2) | st.sampled_from(HUGE)),
    "string": (pa.string(), st.sampled_from(["", "x", "y", "ünï"])),
    "double": (pa.float64(), st.sampled_from([0.0, 1.5, -math.inf, math.inf, math.nan])),
    "date": (pa.date32(), st.integers(-2, 2).map(lambda i: datetime.date(1970, 1, 1) + datetime.timedelta(i))),
    "timestamp": (pa.timestamp("us"), st.integers(-2, 2).map(lambda i: EPOCH + datetime.timedelta(0, 0, i * 10**9))),
    "bool": (pa.bool_(), st.booleans()),
}


@dataclass(frozen=True)
class Entry:
    """A delta as Python has it."""

    key: tuple[object, ...]
    version: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class Case:
    """Key kinds, a path over all or some of the keys, and runs with the names of their value columns."""

    kinds: tuple[str, ...]
    path: AccessPath
    runs: tuple[tuple[tuple[str, ...], tuple[Entry, ...]], ...]

    @property
    def entries(self) -> list[Entry]:
        """The deltas of all runs."""
        return [entry for _, entries in self.runs for entry in entries]


def keys_of(kinds: Sequence[str]) -> st.SearchStrategy[tuple[object, ...]]:
    """Keys of these kinds, NULL among their values."""
    return st.tuples(*(st.none() | KEYS[kind][1] for kind in kinds))


@st.composite
def cases(draw: st.DrawFn, *, pruned: bool = False, max_rows: int = 14) -> Case:
    """Any kinds, path and runs; ``pruned``: the path may keep only some of the keys and values."""
    kinds = tuple(draw(st.lists(st.sampled_from([*KEYS]), max_size=4)))
    order = draw(st.permutations(range(len(kinds))))
    bound = tuple(order[: draw(st.integers(0, len(kinds)))])
    keys = values = None
    if pruned and draw(st.booleans()):
        keys = tuple(sorted({*bound, *draw(st.sets(st.sampled_from(order)) if order else st.just(set()))}))
        values = tuple(draw(st.lists(st.sampled_from("pq"), unique=True)))
    kept = kinds if keys is None else tuple(kinds[i] for i in keys)
    runs = []
    for _ in range(draw(st.integers(0, 3))):
        names = tuple(draw(st.sampled_from([("p", "q"), ("p",), ("q",)])))
        counts = st.integers(-5, 5) | st.sampled_from(draw(st.sampled_from([[1], HUGE, HUGE + ENORMOUS])))
        count = st.fixed_dictionaries(dict.fromkeys(names, counts))
        entry = st.builds(Entry, keys_of(kept), st.integers(0, 6), count)
        runs.append((names, tuple(draw(st.lists(entry, max_size=max_rows)))))
    return Case(kinds, AccessPath("m", bound, -1, keys, values), tuple(runs))


def names_of(kinds: Sequence[str]) -> list[str]:
    """The names of key columns."""
    return [f"k{i}" for i in range(len(kinds))]


def column_of(kind: str, values: Sequence[object]) -> pa.Array:
    """A key column: int64, or wide, as its values need."""
    if kind != "decimal":
        return pa.array(values, KEYS[kind][0])
    null = np.array([value is None for value in values], bool)
    return to_column(np.array([value or 0 for value in values], object), null)


def delta_of(
    kinds: Sequence[str], entries: Sequence[Entry], names: Sequence[str], keys: Sequence[int] | None = None
) -> pa.Table:
    """A delta table; ``keys``: which key columns the entries have, if not all."""
    kept = range(len(kinds)) if keys is None else keys
    columns = {f"k{i}": column_of(kinds[i], [e.key[n] for e in entries]) for n, i in enumerate(kept)}
    columns[VERSION] = pa.array([e.version for e in entries], pa.int64())
    values = {value_column(name): np.array([e.values[name] for e in entries], object) for name in names}
    return Deltas(delta_columns(columns, values)).table()


@contextmanager
def stored(runs: Sequence[RunData]) -> Iterator[list[RunData]]:
    """The same runs, mapped from a file."""
    with tempfile.TemporaryDirectory() as folder:
        written = write_runs(Path(folder), runs)
        yield [open_run(Path(folder) / run.path, run.offset, run.bytes) for run in written]


def built(case: Case) -> list[RunData]:
    """The runs of a case, in memory."""
    return [build_run(delta_of(case.kinds, rows, names, case.path.keys), case.path) for names, rows in case.runs]


def _all_equal(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    return np.zeros(rows, dtype=np.uint64)


def _two_valued(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    texts = zip(*(c.to_pylist() for c in columns), strict=True) if columns else [()] * rows
    return np.array([(len(str(t)) % 2) << 63 for t in texts], dtype=np.uint64)


def _six_bits(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    return hash_columns(columns, rows) >> np.uint64(58)


#: How search codes may be forced to tell keys apart badly: (hash function, bits of a code, bits of a hash).
CODES = {
    "real": (hash_columns, 64, 32),
    "all hashes are equal": (_all_equal, 64, 32),
    "hashes are two": (_two_valued, 64, 32),
    "hashes of one bit": (hash_columns, 64, 1),
    "no hashes": (hash_columns, 64, 0),
    "codes of six bits": (_six_bits, 6, 3),
    "codes of six bits, no hashes": (_six_bits, 6, 0),
}


@contextmanager
def forced(codes: str) -> Iterator[None]:
    """Runs are built and read with search codes of :data:`CODES`, and have many fences."""
    function, code_bits, hash_bits = CODES[codes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "HASH_BITS", hash_bits)
        for module in (runs_module, lookup_module):
            patch.setattr(module, "hash_columns", function)
            patch.setattr(module, "CODE_BITS", code_bits)
            patch.setattr(module, "FENCE_ROWS", 3)
        yield


@contextmanager
def small_blocks(shift: int = 6) -> Iterator[None]:
    """Blocks so small that small runs have many, and fences to go with them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (blocks_module, packs_module):
            patch.setattr(module, "BLOCK_SHIFT", shift)
            patch.setattr(module, "BLOCK_BYTES", 1 << shift)
        patch.setattr(packs_module, "AT_ONCE_BYTES", 0)
        for module in (runs_module, lookup_module):
            patch.setattr(module, "FENCE_ROWS", 8)
        yield


def forget_runs() -> None:
    """As a process that has just begun. Its one memory of runs is emptied, not replaced: modules have it under several names."""
    vars(opened_runs).update(vars(OpenedRuns()))
    unmap_files()
