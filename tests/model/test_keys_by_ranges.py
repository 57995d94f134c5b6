"""Keys that other processes judge, range by range, are judged as one process judges them: row by row, reason by reason, and file by file."""

from __future__ import annotations

import dataclasses
import datetime
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cumulus_ops.append.append import append_delivery
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.columns import event_schema
from cumulus_ops.files.log_files import read_log
from cumulus_ops.keys import columns as key_codes
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.processes import Beside
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.sources.landing import drop_delivery
from m3.datatypes import DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation
from tests.support.keyed import found_in_index, move_to, proved
from tests.support.portions import Others
from tests.support.projects import make_project

WIDE = decimal(30, 2)
BIG = Decimal(10) ** 25
NULL_INT, NULL_TEXT, NULL_DOUBLE, NULL_WIDE = (t.with_null() for t in (INT, STRING, DOUBLE, WIDE))
#: Relations, and for each of their columns the values that it may have: few, so that keys come again.
VALUES: dict[Relation, tuple[list[object], ...]] = {
    Relation("one", (Column("k", INT), Column("v", NULL_DOUBLE)), ("k",)): (
        [0, 1, -1, -(2**63), 2**63 - 1],
        [None, 0.0, -0.0, float("nan"), 1.5],
    ),
    Relation("two", (Column("a", INT), Column("v", NULL_TEXT), Column("b", INT)), ("a", "b")): (
        [0, -1, 2**40],
        [None, "", "b", "x" * 700],
        [0, 5, -7],
    ),
    Relation("text", (Column("k", STRING), Column("v", NULL_WIDE)), ("k",)): (
        ["", "a", "x" * 700, "é"],
        [None, BIG, -BIG, Decimal("0.01")],
    ),
    Relation("amount", (Column("k", WIDE), Column("v", decimal(12, 2)), Column("t", TIMESTAMP.with_null())), ("k",)): (
        [BIG, -BIG, Decimal("0.00"), Decimal("1.00")],
        [Decimal("1.00"), Decimal("-99.99")],
        [None, datetime.datetime(1960, 1, 2, 3, 4, 5, 7)],
    ),
    Relation("bag", (Column("x", INT), Column("y", NULL_DOUBLE), Column("d", NULL_WIDE))): (
        [0, 1],
        [None, 0.5, -0.0, 0.0],
        [None, BIG],
    ),
}
#: Event, op (X is none), values.
Row = tuple[int, str, tuple[object, ...]]


@dataclasses.dataclass(frozen=True)
class File:
    """The rows of a relation, in row groups; with numbers of events, in whose order they are then, or without."""

    rows: list[Row]
    is_numbered: bool
    group_rows: int
    has_dictionaries: bool

    def write(self, folder: Path, relation: Relation) -> None:
        rows = sorted(self.rows, key=lambda row: row[0]) if self.is_numbered else self.rows
        columns = {"event": pa.array([event for event, _, _ in rows], pa.int64())} if self.is_numbered else {}
        columns["op"] = pa.array([op for _, op, _ in rows], pa.string())
        for place, column in enumerate(relation.columns):
            type_ = event_schema(relation).field(column.name).type
            type_ = pa.decimal128(12, 2) if pa.types.is_decimal64(type_) else type_
            values = pa.array([values[place] for _, _, values in rows], type_)
            is_text = self.has_dictionaries and pa.types.is_string(type_)
            columns[column.name] = values.dictionary_encode() if is_text else values
        pq.write_table(pa.table(columns), folder / f"{relation.name}.parquet", row_group_size=self.group_rows)


def files_of(relation: Relation) -> st.SearchStrategy[File]:
    row = st.tuples(st.integers(0, 40), st.sampled_from("IIIIIDUX"), st.tuples(*map(st.sampled_from, VALUES[relation])))
    is_numbered = st.sampled_from([True, True, True, False])
    return st.builds(File, st.lists(row, max_size=14), is_numbered, st.integers(1, 4), st.booleans())


#: Coordinator, whether it goes to its next epoch before, files by relation.
DROPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([False, False, True]),
        st.fixed_dictionaries({}, optional={relation: files_of(relation) for relation in VALUES}).filter(bool),
    ),
    min_size=1,
    max_size=4,
)
MODES = st.fixed_dictionaries(
    {
        relation.name: st.builds(
            KeySettings,
            st.sampled_from(["strict", "upsert"] if relation.key else ["strict"]),
            st.sampled_from(["one", "any"]),
        )
        for relation in VALUES
    }
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    joined = "SELECT COUNT(*) AS n FROM one AS o, two AS t, text AS x, amount AS m, bag AS b WHERE o.k = t.a AND x.k = t.v AND m.k = 1 AND b.x = o.k"
    project = make_project(tmp_path_factory.mktemp("ranges"), tuple(VALUES), views={"n": joined}, coordinators=2)
    initialise(project)
    shutil.copytree(project.state, project.state.with_name("saved"))
    return project


@contextmanager
def small_sizes(sorted_rows: int, has_collisions: bool) -> Iterator[None]:
    """A few rows are several ranges, and are merged; with collisions, hashes are few."""
    hash_ = key_codes._hash
    with ExitStack() as stack:
        stack.enter_context(patch.multiple("cumulus_ops.keys.ranges", SAMPLED=1, RANGE_ROWS=3, SORTED_ROWS=sorted_rows))
        stack.enter_context(
            patch.multiple("cumulus_ops.keys.merging", CHUNK_ROWS=8, FAN=2, SMALLEST_ROWS=1, RUN_ROWS=3)
        )
        if has_collisions:
            few = stack.enter_context(patch.object(key_codes, "_hash"))
            few.side_effect = lambda seed, parts: (hash_(seed, parts) & np.uint64(1)) | (seed & ~np.uint64(1))
        yield


def append_all(project: Project, drops: list[tuple[int, bool, dict[Relation, File]]], beside: Beside | None) -> object:
    """What the catalog and the files say when all drops are appended, but for the names of files."""
    shutil.rmtree(project.state)
    shutil.copytree(project.state.with_name("saved"), project.state)
    catalog, epochs = Catalog(project.catalog_url, project.state), [0, 0]
    try:
        for number, (coordinator, moves, _) in enumerate(drops):
            if moves:
                epochs[coordinator] += 1
                move_to(catalog, coordinator, epochs[coordinator])
            catalog.deliveries.see(coordinator, {f"d{number}": 0.0})
            folder = project.landing / str(coordinator) / f"d{number}"
            append_delivery(project, catalog, coordinator, drop_delivery(project, folder), beside)
        assert all(proved(project, catalog, relation) for relation in VALUES)
        stored = [*catalog.log.files(), *catalog.deliveries.quarantined_rows()]
        return [
            repr(catalog.log.batches()),
            [catalog.members.position(coordinator) for coordinator in (0, 1)],
            # as text: NaN is not equal to NaN, and 0.0 is to -0.0
            [(dataclasses.replace(file, path=""), repr(read_log(project.state, file).to_pylist())) for file in stored],  # type: ignore[type-var]
            [sorted(map(repr, found_in_index(project, catalog, relation).items())) for relation in VALUES],
        ]
    finally:
        catalog.close()


@settings(max_examples=int(os.environ.get("EXAMPLES", "25")), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(DROPS, MODES, st.sampled_from([2, 5, 50]), st.sampled_from([1, 5, 1000]), st.booleans())
def test_ranges_of_keys_are_judged_as_by_one_process(
    template: Project,
    drops: list[tuple[int, bool, dict[Relation, File]]],
    modes: dict[str, KeySettings],
    batch_rows: int,
    sorted_rows: int,
    has_collisions: bool,
) -> None:
    project = dataclasses.replace(template, batch_rows=batch_rows, keys=modes)
    shutil.rmtree(project.landing, ignore_errors=True)
    for number, (coordinator, _, files) in enumerate(drops):
        folder = project.landing / str(coordinator) / f"d{number}"
        folder.mkdir(parents=True)
        for relation, file in files.items():
            file.write(folder, relation)
    with small_sizes(sorted_rows, has_collisions):
        assert append_all(project, drops, Others()) == append_all(project, drops, None)
