"""What other processes write of a drop is what one process makes of it: the same files, stamps and rows of the catalog."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.append.append import append_delivery
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.log_files import read_log
from cumulus_ops.files.parquet import read_groups, read_parquet
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.processes import Beside
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.sources.landing import drop_delivery
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.keyed import found_in_index, proved
from tests.support.portions import Others
from tests.support.projects import make_project

RELATIONS = [
    Relation("left", (Column("v", INT), Column("s", STRING.with_null()))),
    Relation("right", (Column("v", INT), Column("s", STRING.with_null())), key=("v",)),
]
#: Event, op, value; NULL and X are no value and no op.
Row = tuple[int | None, str, int | None]
ROWS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 12), st.integers(0, 12), st.none()),
        st.sampled_from("IIIIDDUX"),
        st.sampled_from([1, 2, 3, 4, None]),
    ),
    max_size=12,
)


@dataclasses.dataclass(frozen=True)
class File:
    """The rows of a relation, as they land: in their order, or as they come; with numbers of events or without; in row groups, or as CSV (0)."""

    rows: list[Row]
    is_sorted: bool
    is_numbered: bool
    group_rows: int

    def write(self, folder: Path, relation: str) -> None:
        rows = [r for r in self.rows if r[0] is not None] if self.is_sorted else self.rows
        rows = sorted(rows, key=lambda row: row[0] or 0) if self.is_sorted else rows
        table = pa.table(
            {
                **({"event": pa.array([e for e, _, _ in rows], pa.int64())} if self.is_numbered else {}),
                "op": pa.array([op for _, op, _ in rows], pa.string()),
                "v": pa.array([v for _, _, v in rows], pa.int64()),
                "s": pa.array([f"s{v}" for _, _, v in rows], pa.string()),
            }
        )
        if self.group_rows:
            pq.write_table(table, folder / f"{relation}.parquet", row_group_size=self.group_rows)
        else:
            pyarrow.csv.write_csv(table, folder / f"{relation}.csv")


FILES = st.builds(
    File, ROWS, st.sampled_from([True, True, True, False]), st.sampled_from([True, True, False]), st.integers(0, 4)
)
DROPS = st.lists(st.dictionaries(st.sampled_from(["left", "right"]), FILES, min_size=1), min_size=1, max_size=3)

#: Mostly in order, several portions each, and of few keys: one has rows in several portions, and an event may have rows of several keys.
KEYED = st.lists(
    st.dictionaries(
        st.sampled_from(["left", "right"]),
        st.builds(
            File,
            st.lists(
                st.tuples(st.integers(0, 30), st.sampled_from("IIIIIIDU"), st.integers(1, 8)), min_size=2, max_size=16
            ),
            st.just(True),
            st.sampled_from([True, True, True, False]),
            st.integers(1, 4),
        ),
        min_size=1,
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    views = {"n": "SELECT COUNT(*) AS n FROM left AS l, right AS r WHERE l.v = r.v"}
    project = make_project(tmp_path_factory.mktemp("portions"), RELATIONS, views=views, coordinators=1)
    initialise(project)
    shutil.copytree(project.state, project.state.with_name("saved"))
    return project


@contextmanager
def begun(project: Project) -> Iterator[Catalog]:
    """A catalog in which nothing was appended yet."""
    shutil.rmtree(project.state)
    shutil.copytree(project.state.with_name("saved"), project.state)
    catalog = Catalog(project.catalog_url, project.state)
    yield catalog
    catalog.close()


def land(project: Project, drops: Sequence[dict[str, File]]) -> None:
    shutil.rmtree(project.landing, ignore_errors=True)
    for number, files in enumerate(drops):
        folder = project.landing / "0" / f"d{number}"
        folder.mkdir(parents=True)
        for relation, file in files.items():
            file.write(folder, relation)


def append_all(project: Project, drops: int, beside: Beside | None) -> list[object]:
    """What the catalog and the files say when all drops are appended, but for the names of files."""
    with begun(project) as catalog:
        for number in range(drops):
            catalog.deliveries.see(0, {f"d{number}": 0.0})
            append_delivery(project, catalog, 0, drop_delivery(project, project.landing / "0" / f"d{number}"), beside)
        assert all(proved(project, catalog, relation) for relation in RELATIONS)
        log, rejected = catalog.log.files(), catalog.deliveries.quarantined_rows()
        indexes = [catalog.key_indexes.index(relation.name) for relation in RELATIONS]
        named = {file.path for file in (*log, *rejected, *(run for index in indexes if index for run in index.runs))}
        if isinstance(beside, Others):
            named |= beside.lost
        folders = [project.state / folder for folder in ("log", "quarantine", "keys")]
        there = {str(f.relative_to(project.state)) for folder in folders for f in folder.rglob("*.*")}
        assert named <= there
        assert there == named or not isinstance(beside, Others)  # what a call has written that died is collected later
        return [
            catalog.log.batches(),
            catalog.members.position(0),
            [(dataclasses.replace(file, path=""), read_log(project.state, file).to_pylist()) for file in log],
            [(dataclasses.replace(file, path=""), read_log(project.state, file).to_pylist()) for file in rejected],
            [dataclasses.replace(f, recorded_at=f.recorded_at.min) for f in catalog.deliveries.files_aside(state=None)],
            [catalog.deliveries.known(0, [f"d{number}"]) for number in range(drops)],
            [found_in_index(project, catalog, relation) for relation in RELATIONS if relation.name in project.keys],
        ]


@settings(max_examples=20, deadline=None)
@given(DROPS, st.sampled_from([2, 5, 50]))
def test_several_processes_append_what_one_does(
    template: Project, drops: list[dict[str, File]], batch_rows: int
) -> None:
    project = dataclasses.replace(template, batch_rows=batch_rows)
    land(project, drops)
    assert append_all(project, len(drops), Others()) == append_all(project, len(drops), None)


@settings(max_examples=int(os.environ.get("EXAMPLES", "40")), deadline=None)
@given(KEYED | DROPS, st.sampled_from([2, 5, 50]), st.sampled_from(["strict", "upsert"]), st.sampled_from([1, 5, 1000]))
def test_keys_judge_by_ranges_as_they_do_piece_by_piece(
    template: Project, drops: list[dict[str, File]], batch_rows: int, mode: str, sorted_rows: int
) -> None:
    keys = {"left": KeySettings("strict"), "right": KeySettings(mode)}  # one has no key: its rows are a bag
    project = dataclasses.replace(template, batch_rows=batch_rows, keys=keys)
    land(project, drops)
    small = patch.multiple("cumulus_ops.keys.ranges", SAMPLED=1, RANGE_ROWS=2 * batch_rows)
    with small, patch("cumulus_ops.keys.ranges.SORTED_ROWS", sorted_rows):
        assert append_all(project, len(drops), Others()) == append_all(project, len(drops), None)


def rows_of(first: int, count: int) -> list[Row]:
    return [(first + i, "I", i) for i in range(count)]


def test_each_portion_is_written_by_others(template: Project) -> None:
    project, beside = dataclasses.replace(template, batch_rows=4), Others()
    land(project, [{"left": File(rows_of(0, 11), True, True, 2), "right": File(rows_of(0, 3), True, False, 0)}])
    batches, *_ = append_all(project, 1, beside)
    assert beside.calls == 3 + 1 + 2  # portions of two row groups, a file of text, and the hashes of two files
    assert [batch.events for batch in batches] == [4, 4, 3, 3]  # type: ignore[attr-defined]


def test_an_event_that_is_in_two_row_groups_is_in_one_portion(tmp_path: Path) -> None:
    for events, cuts in (([1, 1, 2, 2, 3], 3), ([1, 2, 2, 3, 4], 1), ([2, 2, 1, 1, 3], 1)):
        pq.write_table(pa.table({"event": events}), tmp_path / "r.parquet", row_group_size=2)
        groups, is_numbered = read_groups(tmp_path / "r.parquet", 1)
        assert is_numbered
        assert len(groups) == cuts
    pq.write_table(pa.table({"v": [1, 2, 3]}), tmp_path / "r.parquet", row_group_size=2)
    assert [(g.rows, g.before) for g in read_groups(tmp_path / "r.parquet", 1)[0]] == [(2, 0), (1, 2)]


def test_what_goes_wrong_elsewhere_is_done_here(template: Project) -> None:
    project = dataclasses.replace(template, batch_rows=4)
    land(project, [{"left": File(rows_of(0, 9), True, True, 2)}])

    def unreachable(calls: Sequence[Callable[[], Any]]) -> list[Any]:
        raise ConnectionError("no worker is left")

    assert append_all(project, 1, lambda rows, calls: unreachable) == append_all(project, 1, None)


def test_a_file_whose_footer_says_other_numbers_than_its_rows_is_not_taken(tmp_path: Path) -> None:
    pq.write_table(pa.table({"event": [1, 2, 3, 4]}), tmp_path / "r.parquet", row_group_size=2)
    groups, _ = read_groups(tmp_path / "r.parquet", 1)
    (piece,) = read_parquet(tmp_path / "r.parquet", ["event"], 10, 1 << 30, groups[1])
    assert (piece.columns["event"].to_pylist(), piece.row.tolist()) == ([3, 4], [2, 3])
    for wrong in ({"lowest": 4}, {"highest": 3}, {"rows": 3}, {"end": 3}):
        with pytest.raises(InputProblem, match="footer"):
            list(read_parquet(tmp_path / "r.parquet", ["event"], 10, 1 << 30, dataclasses.replace(groups[1], **wrong)))
