"""`cumulus keys`: what keys mean, and indexes that are built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project

PROJECT = """\
name: shop
relations:
  orders: {columns: {id: bigint, note: string}, key: [id], mode: strict}
  log: {columns: {note: string}}
sources: {landing: in}
epochs: {length: 15m, start: 2026-01-01}
executor: {kind: inprocess}
views: {v: v.sql}
"""


def test_indexes_are_shown_and_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "v.sql").write_text("SELECT COUNT(*) AS n FROM orders")
    (tmp_path / "cumulus.yaml").write_text(PROJECT.replace("strict", "trusted"))
    drop = tmp_path / "in" / "0" / "a"
    drop.mkdir(parents=True)
    (drop / "_SUCCESS").touch()
    (drop / "orders.csv").write_text("op,event,id,note\nI,0,1,a\nI,1,1,b\nI,2,2,c\n")

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    assert call("init", str(tmp_path)).exit_code == 0
    with open_runtime(load_project(tmp_path), "inprocess") as runtime:
        assert run_minibatch(runtime, 0) is not None
    (tmp_path / "cumulus.yaml").write_text(PROJECT)
    assert json.loads(call("keys", "--json").stdout)[0]["mode"] == "trusted", "what is edited waits"
    assert call("init", str(tmp_path)).exit_code == 0
    orders, log = json.loads(call("keys", "--json").stdout)
    assert (orders["mode"], orders["index"], log["index"]) == ("strict", "built with the next append", "none")
    built = call("keys", "build")
    assert built.exit_code == 0
    assert "1 keys of the log are wrong" in built.stdout
    assert '1 times {"id": 1, "note": "a"}' in built.stdout
    assert "3 of 3 rows" in built.stderr
    assert json.loads(call("keys", "--json").stdout)[0]["entries"] == 2
    assert "up to date" in call("keys").stdout
    refused = call("keys", "build", "log")
    assert (refused.exit_code, "mode: strict" in refused.stderr) == (2, True)
