"""kill -9 while something is said to be final, and published: nothing is lost, nothing is there twice, nothing that was final changes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.processes import FINAL_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.final_tables import final_table
from cumulus_ops.query.answers import read_answer
from cumulus_ops.query.read import read_view
from tests.support.children import finish_epochs, start, wait
from tests.support.projects import as_row
from tests.support.sampling import sampled
from tests.support.sealed import SEALED, append_sealing, sealed_settings

CLICKS = [("clicks", 1, (n, n % 4, n % 3)) for n in range(24)]
ADS = [("ads", 1, (n, name)) for n in range(4) for name in "ab"]


def make(folder: Path) -> Project:
    """Two coordinators; both have rows of all campaigns, and have sealed 1 and 2."""
    project = sealed_settings(folder)
    initialise(project)
    with open_runtime(project) as rt:
        append_sealing(rt, 0, CLICKS[:12], "a")  # type: ignore[arg-type]
        append_sealing(rt, 1, [*CLICKS[12:], *ADS], "a", {"clicks": [1, 2], "ads": [1, 2]})  # type: ignore[arg-type]
        append_sealing(rt, 0, [], "b", {"clicks": [1, 2]})
    return project


def promised(project: Project) -> dict[str, Counter[tuple[object, ...]]]:
    """What readers are told to be final by seals."""
    with open_runtime(project) as rt:
        found = {}
        for view in SEALED if rt.catalog.finals.finals() else ():
            answer = read_answer(rt, view)
            rows = zip(answer.final_by.to_pylist(), answer.rows.to_pylist(), strict=True)
            found[view] = Counter(as_row(row.values()) for by, row in rows if by.startswith("seal"))
        return found


@pytest.mark.parametrize("fault", sampled(FINAL_POINTS, 3))
def test_what_was_final_when_its_process_died_stays(fault: str, tmp_path: Path) -> None:
    project = make(tmp_path)
    assert wait(start(finish_epochs, project, 1, fault)) == -signal.SIGKILL, "the fault point was not reached"
    os.environ.pop("CUMULUS_FAULT", None)
    before = promised(project)
    assert bool(before) == (fault != "finalise.before-commit")
    assert wait(start(finish_epochs, project, 1)) == 0
    after = promised(project)
    assert all(after[view] == rows for view, rows in before.items())
    with open_runtime(project) as rt:
        assert {(f.view, f.value) for f in rt.catalog.finals.finals()} == {
            (v, n) for v in SEALED for n in ('["1"]', '["2"]')
        }
        for view in SEALED:
            rows = [row for row in read_view(rt, view).to_pylist() if row["campaign"] in (1, 2)]
            path = final_table(rt.project, view)
            published = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
            expected = Counter(as_row(row.values()) for row in rows)
            assert expected == after[view] == Counter(as_row(row.values()) for row in published), view
            assert expected
