"""Bytes per row of a copy: as documented, and about what runs of such keys and values take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cumulus_ops.layout.costs import CopySizes
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.runs import AccessPath, build_run
from m3 import check, compile_views, parse
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation

TYPES: dict[str, Type] = {
    "n": INT, "d": DATE, "m": decimal(9, 2), "w": decimal(18, 2), "t": STRING, "f": DOUBLE, "b": BOOL, "s": TIMESTAMP
}  # fmt: skip


def plan(types: str, rows: int | None = None) -> ProgramPlan:
    """One group with a key column per letter, which is the relation's key if there is one, and the members v_count and v_s."""
    columns = [Column(f"k{place}", TYPES[letter]) for place, letter in enumerate(types)]
    keys = tuple(column.name for column in columns)
    relation = Relation("r", (*columns, Column("x", decimal(9, 2))), keys, rows)
    names = ", ".join(keys)
    views = {"v": f"SELECT {names}, SUM(x) AS s FROM r GROUP BY {names}"}
    return plan_program(compile_views("p", (relation,), views), "batch")


def row_bytes(types: str, rows: int | None = None) -> int:
    """The bytes of a row without its values, which are a count and a sum."""
    prepared = plan(types, rows)
    (path,) = prepared.paths["v_count"]
    return CopySizes(prepared).row_bytes(path) - 5


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("b", 1),
        ("d", 2),
        ("n", 4),
        ("m", 4),
        ("s", 8),
        ("w", 8),
        ("bd", 2),
        ("nn", 8),  # one code
        ("nd", 8),
        ("nnd", 8 + 2),  # the date finds no more room
        ("ws", 8 + 8),
        ("t", 4 + 20),  # a hash and the text
        ("f", 4 + 8),
        ("tt", 4 + 40),
        ("nt", 8 + 20),
        ("nnt", 8 + 20),  # no room for a hash
    ],
)
def test_types_decide_where_no_rows_are_declared(types: str, expected: int) -> None:
    assert row_bytes(types) == expected


@pytest.mark.parametrize(("rows", "expected"), [(1, 0), (256, 1), (257, 2), (10**6, 4), (10**12, 4)])
def test_declared_rows_tell_how_many_values_a_key_has(rows: int, expected: int) -> None:
    assert row_bytes("n", rows) == expected


def test_given_rows_count_instead_of_declared_ones() -> None:
    prepared = plan("n", 10**6)
    (path,) = prepared.paths["v_count"]
    assert CopySizes(prepared, {"r": 200.0}).row_bytes(path) == CopySizes(prepared).row_bytes(path) - 3


def test_keys_of_a_smaller_table_take_its_bits() -> None:
    text = """
    RELATION big(id INT, other INT) KEY (id) ROWS 1000000;
    RELATION small(id INT) KEY (id) ROWS 200;
    MAP m[id INT, other INT] : INT;
    MAP n[id INT] : INT;
    MAP t[] : INT;
    ON +big(I, O) DO { m[I, O] += 1; t[] += n[O]; }
    ON +small(I) DO { n[I] += 1; t[] += m[X, I]; }
    """
    prepared = plan_program(check(parse(text)), "event")
    (path,) = prepared.paths["m"]
    assert path.bound == (1,)
    assert CopySizes(prepared).row_bytes(path) == 1 + 4 + 1


def test_what_a_copy_leaves_out_takes_nothing() -> None:
    prepared = plan("ndt", 1000)
    sizes = CopySizes(prepared)
    whole, without = AccessPath("v_count", (0,)), AccessPath("v_count", (0,), -1, (0, 1), ("v_count",))
    assert sizes.row_bytes(whole) == 2 + 2 + 20 + 5
    assert sizes.row_bytes(without) == 2 + 2 + 1
    assert sizes.row_bytes(AccessPath("v_count", (0,), 2)) == 2 + 2 + 20 + 5  # what orders needs no hash


def test_a_sum_of_whole_numbers_is_no_count() -> None:
    relation = Relation("r", (Column("k", INT), Column("x", INT)), ("k",), 200)
    views = {"v": "SELECT k, SUM(x) AS s, COUNT(*) AS n FROM r GROUP BY k"}
    prepared = plan_program(compile_views("p", (relation,), views), "batch")
    assert set(prepared.groups["v_count"].members) == {"v_count", "v_s"}
    (path,) = prepared.paths["v_count"]
    assert CopySizes(prepared).row_bytes(path) == 1 + 1 + 4


@pytest.mark.parametrize("types", ["n", "nn", "nd", "bd", "ndb"])
def test_runs_of_dense_keys_take_about_that(types: str) -> None:
    rows = 5000
    rng = np.random.default_rng(0)
    made = {
        "n": pa.array(rng.permutation(rows)),
        "d": pa.array(rng.integers(8000, 12000, rows).astype(np.int32)).view(pa.date32()),
        "b": pa.array(rng.integers(0, 2, rows).astype(bool)),
    }
    keys = {f"k{place}": made[letter] for place, letter in enumerate(types)}
    values = {"v_count": pa.array(rng.integers(1, 9, rows)), "v_s": pa.array(rng.integers(0, 10**7, rows))}
    columns = {value_column(name): column for name, column in values.items()}
    prepared = plan(types, rows)
    (path,) = prepared.paths["v_count"]
    run = build_run(pa.table({**keys, VERSION: pa.array([7] * rows), **columns}), path)
    assert run.nbytes / rows == CopySizes(prepared).row_bytes(path)
