"""A person agrees to a plan of what is made again, and that is done; what is left fails the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from cumulus_ops.cli.scaffold import land_sample, write_project
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.orchestration.operators import DoWork, PlanWork
from cumulus_ops.orchestration.repair_steps import plan_recovery, recover_agreed
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.project_file import load_project
from tests.unit.repair.test_any_file_is_lost import forget


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one snapshot."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    write_project(tmp_path, "shop")
    land_sample(tmp_path)
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        run_epochs(rt, 1, validating=False)
    return tmp_path


def test_what_is_damaged_is_made_again_once_somebody_agrees(folder: Path) -> None:
    state = load_project(folder).state
    chosen: dict[str, Any] = {"params": {"files": None, "dry_run": False}}
    plan = PlanWork(task_id="plan", folder=str(folder), work="recovery", chosen=["files", "dry_run"])
    assert plan.execute(chosen)["to_do"] == ""  # type: ignore[arg-type]
    (file,) = (state / "log" / "orders").iterdir()
    name, whole = file.relative_to(state).as_posix(), file.read_bytes()
    file.unlink()
    forget()
    dry = plan_recovery(str(folder), dry_run=True)
    assert dry["to_do"] == ""
    assert "\\" not in dry["markdown"], "it is what a log says"
    assert f"log/orders/{file.name}" in dry["markdown"]
    asked = plan.execute({"params": {"files": f" {name}\n", "dry_run": False}})  # type: ignore[arg-type]
    assert (asked["to_do"], asked["files"]) == ("recover", [name])
    listed, said, *others, last = filter(None, asked["markdown"].splitlines())
    assert listed.startswith("- `missing: log of orders, batch 1 (sample-")
    assert said.startswith("    - made again from the drop that landed")
    assert all(line.startswith("    - if that does not help") for line in others)
    assert last.startswith("about 0\\.2 s in all")
    assert DoWork(task_id="recover", folder=str(folder), work="recovery", plan=asked).execute(chosen) == {"repaired": 1}  # type: ignore[arg-type]
    assert file.read_bytes() == whole
    assert recover_agreed(str(folder), asked) == {"repaired": 0}


def test_what_cannot_be_made_again_fails_the_task_and_a_wrong_name_at_once(folder: Path) -> None:
    project = load_project(folder)
    (file,) = (project.state / "log" / "orders").iterdir()
    file.unlink()
    forget()
    for drop in (project.landing / "0").iterdir():
        drop.rename(folder / f"away-{drop.name}")
    with pytest.raises(IntegrityProblem, match="cannot be made again: there is no second source"):
        recover_agreed(str(folder), plan_recovery(str(folder)))
    with pytest.raises(AirflowFailException, match="there is no file runs/none"):
        PlanWork(task_id="plan", folder=str(folder), work="recovery", chosen=["files", "dry_run"]).execute(
            {"params": {"files": "runs/none", "dry_run": False}}
        )  # type: ignore[arg-type]
