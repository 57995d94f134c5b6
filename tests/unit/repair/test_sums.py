"""Sums within a limit of rows are those without one."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.maps.deltas import sum_deltas
from cumulus_ops.repair.sums import Sums

VALUES = st.integers(-2, 2) | st.integers(-(10**37), 10**37)
ROWS = st.lists(st.tuples(st.none() | st.integers(0, 5), st.sampled_from("abc"), st.integers(1, 2), VALUES), max_size=8)


def table_of(rows: list[tuple[int | None, str, int, int]]) -> pa.Table:
    """Deltas; a value column is wide if it has to be."""
    keys, texts, at, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    is_wide = any(abs(value) >= 2**63 for value in values)
    units = pa.array(values, pa.decimal128(38, 0) if is_wide else pa.int64())
    columns = {"k": pa.array(keys, pa.int64()), "t": pa.array(texts, pa.string()), "_version": pa.array(at, pa.int64())}
    return pa.table(columns | {"+m": units})


def read_rows(tables: list[pa.Table]) -> list[str]:
    return sorted(
        str([int(v) if name == "+m" else v for name, v in row.items()]) for t in tables for row in t.to_pylist()
    )


@settings(deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=6), st.integers(0, 60), st.integers(1, 20))
def test_any_limit_gives_the_same_sums(
    parts: list[list[tuple[int | None, str, int, int]]], expected: int, limit: int
) -> None:
    tables = [table_of(rows) for rows in parts]
    with TemporaryDirectory() as folder:
        sums = Sums(Path(folder), expected, limit)
        for table in tables:
            sums.add(table)
        found = list(sums.sums())
    assert sums.parts == max(1, -(-expected // limit))
    assert len(found) <= sums.parts
    assert read_rows(found) == read_rows([sum_deltas(tables)])
