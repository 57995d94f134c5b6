"""kill -9 between any two steps, then run again: the same catalog and the same values as without the kill, and with copies merged whole."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.processes import FAULT_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from tests.support.children import finish_epochs, finish_in_ranges, start, wait
from tests.support.derived_programs import SHOP
from tests.support.drops import VIEWS, make_shop
from tests.support.leases import lapse
from tests.support.projects import engine_maps
from tests.support.sampling import sampled

EPOCHS, PERIODS = 2, 5
#: One is in error from the first epoch on, which counting finds, and one in the second, which reading finds.
IN_ERROR = {
    "odd": "SELECT ck, SUM(100 / priority) AS x FROM orders GROUP BY ck",
    "small": "SELECT CAST(SUM(price) / 4 AS DECIMAL(6, 2)) AS x FROM item",
}


def _outcome(project: Project) -> dict[str, object]:
    """Everything that must not depend on how often and where a process died."""
    catalog = Catalog(project.catalog_url)
    with open_runtime(project, "inprocess") as rt:
        maps = [engine_maps(rt, epoch_end(e)) for e in range(EPOCHS)]
    batches = [
        (b.coordinator, b.drop, b.part, b.epoch, b.first_sequence, b.inserts, b.deletes) for b in catalog.log.batches()
    ]
    return {
        "maps": maps,
        "batches": sorted(batches),
        "snapshots": [(s.epoch, s.version) for s in catalog.snapshots.all()],
        "published": catalog.results.published(),
        "in error": catalog.results.view_errors(),
        "tables": {view: _table(project, view) for view in ("total", "odd", "small")},
        "positions": [catalog.members.position(c) for c in range(3)],
        "log rows": sorted((f.relation, f.source, f.rows, f.min_offset) for f in catalog.log.files()),
    }


def _table(project: Project, view: str) -> object:
    """A published table's version, and what its properties say; None without a table."""
    path = f"{project.published}/{view}"
    if not DeltaTable.is_deltatable(path):
        return None
    table = DeltaTable(path)
    return table.version(), table.metadata().configuration


def _views(folder: Path) -> Project:
    """A project of SQL views, of which two come to be in error."""
    project = make_shop(folder, periods=PERIODS, views={**VIEWS, **IN_ERROR})
    initialise(project)
    return project


def _derived(folder: Path) -> Project:
    """A project with derivations, whose drops are several batches each."""
    project = dataclasses.replace(make_shop(folder, periods=PERIODS, program=SHOP), batch_rows=8)
    initialise(project)
    return project


@pytest.fixture(scope="module", params=[_views, _derived])
def undisturbed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Callable[[Path], Project], dict[str, object]]:
    """How to make a project, and its outcome when nothing is killed."""
    project = request.param(tmp_path_factory.mktemp("undisturbed"))
    assert wait(start(finish_epochs, project, EPOCHS)) == 0
    outcome = _outcome(project)
    if request.param is _views:
        assert [(e.view, e.epoch) for e in outcome["in error"]] == [("odd", 0), ("odd", 1), ("small", 1)]  # type: ignore[attr-defined]
    return request.param, outcome


@pytest.mark.parametrize("fault", sampled(FAULT_POINTS, 3))
def test_a_killed_step_run_again_changes_nothing(
    fault: str, undisturbed: tuple[Callable[[Path], Project], dict[str, object]], tmp_path: Path
) -> None:
    make, expected = undisturbed
    if make is _views and fault.startswith("refresh"):
        pytest.skip("nothing to refresh")
    project = make(tmp_path)
    assert wait(start(finish_in_ranges, project, EPOCHS, fault)) == -signal.SIGKILL, "the fault point was not reached"
    assert wait(start(finish_in_ranges, project, EPOCHS)) == 0
    assert _outcome(project) == expected


def test_garbage_of_killed_steps_is_collected(tmp_path: Path) -> None:
    project = make_shop(tmp_path)
    initialise(project)
    assert wait(start(finish_epochs, project, EPOCHS, "apply.before-commit")) == -signal.SIGKILL
    assert wait(start(finish_epochs, project, EPOCHS)) == 0
    before = _outcome(project)
    with open_runtime(project, "inprocess") as rt:
        collect_garbage(rt)
        assert _files(project) > rt.catalog.leases.known_paths(), "the dead one might still be at work"
        lapse(project.catalog_url)
        assert collect_garbage(rt) > 0
        known = rt.catalog.leases.known_paths()
    assert _files(project) == known
    assert _outcome(project) == before


def _files(project: Project) -> set[str]:
    found = (p for f in ("runs", "log") for p in (project.state / f).rglob("*") if p.is_file())
    return {str(p.relative_to(project.state)) for p in found}
