"""`cumulus coordinators` and `cumulus epoch`: who takes part, and epochs that end early."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.rhythm import read_timeline

Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the command in a new project of one coordinator."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path / "shop"))
    monkeypatch.setenv("COLUMNS", "200")

    def caller(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    for _ in ("written", "prepared"):
        assert caller("init", "--empty", str(tmp_path / "shop")).exit_code == 0
    return caller


def test_coordinators_come_and_go(call: Call, tmp_path: Path) -> None:
    added = json.loads(call("coordinators", "add", "--json").stdout)
    assert (added["coordinator"], added["first_epoch"]) == (1, 1)
    assert Path(added["landing"]).is_dir()
    project = load_project(tmp_path / "shop")
    assert sorted(read_timeline(project.state)) == [0, 1], "Airflow's scheduler knows"
    assert "joins" in call("coordinators").stdout
    assert "cumulus.yaml began with 1" in call("status").stdout
    assert json.loads(call("coordinators", "drain", "0", "--json").stdout) == {"coordinator": 0, "last_epoch": 0}
    assert "drains" in call("coordinators").stdout
    last = call("coordinators", "drain", "1")
    assert (last.exit_code, "nobody would be left" in last.stderr) == (2, True)
    with open_runtime(project, "inprocess") as runtime:
        vote(runtime, 0, 0)
    (left,) = json.loads(call("coordinators", "--json").stdout)
    assert (left["index"], left["epoch"], left["holds_token"], left["state"]) == (1, 1, True, "works")
    assert "has left after epoch 0" in call("coordinators", "drain", "0").stdout


def test_one_that_is_gone_is_removed_at_once_and_the_report_says_so(call: Call, tmp_path: Path) -> None:
    call("coordinators", "add")
    (tmp_path / "home" / "landing" / "0" / "drop").mkdir(parents=True)
    (tmp_path / "home" / "landing" / "0" / "drop" / "_SUCCESS").touch()
    assert call("coordinators", "remove", "0").exit_code == 1, "it asks"
    said = call("coordinators", "remove", "0", "--yes").stdout
    assert "epoch 0 was its last" in said
    assert "1 drops wait" in said
    assert "coordinator 0 was out" in call("coordinators", "remove", "0", "--yes").stdout
    assert "coordinator 0 was fenced in epoch 0 by a person: it was removed" in call("status").stdout
    assert call("coordinators", "remove", "7", "--yes").exit_code == 2


def test_an_epoch_is_ended_on_request(call: Call) -> None:
    (ended,) = json.loads(call("epoch", "end", "3", "--json").stdout)[-1:]
    assert (ended["epoch"], ended["coordinator"]) == (3, 0)
    assert "epoch 0 has ended for all coordinators" in call("epoch", "end").stdout
