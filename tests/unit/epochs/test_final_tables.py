"""The table of final rows: each is appended once, whoever was killed, and whoever was faster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.errors import Conflict, IntegrityProblem
from cumulus_ops.publishing import final_tables
from cumulus_ops.publishing.final_tables import FinalTable, append_final


def append(table: FinalTable, numbers: list[int], since: int, wanted: list[int] | None = None) -> dict[int, int]:
    rows = pa.table({"a": [10 * n for n in numbers]})
    done = append_final(table, rows, np.array(numbers, np.int64), wanted or sorted(set(numbers)), since, "p")
    assert done is not None
    return done.versions


ME = Identity("a1" * 8, 1)


def open_final(path: Path, owner: Identity = ME) -> FinalTable:
    return final_tables.open_final(path, owner)


def contents(path: Path) -> list[int]:
    return sorted(DeltaTable(str(path)).to_pyarrow_table()["a"].to_pylist())


def test_what_was_appended_and_not_recorded_is_found(tmp_path: Path) -> None:
    path = tmp_path / "v.final"
    assert append(open_final(path), [1, 1, 2], -1) == {1: 0, 2: 0}
    assert append(open_final(path), [1, 1, 2, 3], -1, [1, 2, 3, 4]) == {1: 0, 2: 0, 3: 1, 4: 1}
    assert append(open_final(path), [3], 0) == {3: 1}
    assert append(open_final(path), [], 1, [5]) == {5: 1}
    assert contents(path) == [10, 10, 20, 30]


def test_a_value_without_rows_says_nothing_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "v.final"
    assert append(open_final(path), [], -1, [7]) == {7: -1}
    assert not path.exists()


@pytest.mark.parametrize("first", [True, False])
def test_of_two_processes_one_is_refused(first: bool, tmp_path: Path) -> None:
    path = tmp_path / "v.final"
    if not first:
        append(open_final(path), [1], -1)
    mine, theirs = open_final(path), open_final(path)
    assert append(theirs, [2], 0) == {2: int(not first)}
    with pytest.raises(Conflict):
        append(mine, [2], 0)
    assert append(open_final(path), [2], -1) == {2: int(not first)}
    assert contents(path) == ([20] if first else [10, 20])


def test_what_others_do_to_the_table_is_no_append(tmp_path: Path) -> None:
    path = tmp_path / "v.final"
    for n in (1, 2):
        append(open_final(path), [n], n - 2)
    DeltaTable(str(path)).optimize.compact()
    assert append(open_final(path), [1, 2], -1) == {1: 0, 2: 1}
    assert append(open_final(path), [3], 1) == {3: 3}
    assert contents(path) == [10, 20, 30]


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "v.final"
    append(open_final(path), [1], -1)
    next((path / "_delta_log").glob("*.json")).write_text("nonsense")
    with pytest.raises(IntegrityProblem, match="unreadable") as problem:
        open_final(path)
    assert str(path) in str(problem.value)
