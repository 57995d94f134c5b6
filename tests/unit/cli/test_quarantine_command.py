"""`cumulus quarantine`, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main

Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A project with a drop of which a row and a file are put aside."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path / "shop"))

    def caller(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)

    assert caller("init", "--empty", tmp_path / "shop").exit_code == 0
    assert caller("init", tmp_path / "shop").exit_code == 0
    drop = tmp_path / "home" / "landing" / "0" / "d1"
    drop.mkdir(parents=True)
    lines = ["op,event,o_id,o_customer,o_price,o_note", "I,1,1,ann,1.00,", "I,2,2,bob,[red],"]
    (drop / "orders.csv").write_text("\n".join([*lines, ""]))
    (drop / "oders.csv").write_text("x\n")
    (drop / "_SUCCESS").touch()
    (drop.parent / "lost.csv").write_text("x\n")
    return caller


def test_what_was_put_aside_is_listed_shown_and_decided_about(call: Call, tmp_path: Path) -> None:
    from cumulus_ops.epochs.minibatch import run_minibatch
    from cumulus_ops.opening.runtime import open_runtime
    from cumulus_ops.project.project_file import load_project

    listed = call("quarantine", "list")
    assert "lost.csv" in listed.stdout, listed.stderr
    with open_runtime(load_project(tmp_path / "shop"), "inprocess") as rt:
        run_minibatch(rt, 0)
    said = json.loads(call("quarantine", "list", "--json").stdout)
    assert ([r["label"] for r in said["rows"]], [f["label"] for f in said["files"]]) == (["R1"], ["F1"])
    assert said["reasons"] == {"not-a-decimal": 1}
    text = call("quarantine", "list").stdout
    for words in ("R1", "F1", "oders.csv", "did you mean", "lost.csv", "not-a-decimal"):
        assert words in text
    status = call("status").stdout
    assert "1 rows in the quarantine, 1 files set aside, 1 ignored" in status
    shown = call("quarantine", "show", "R1").stdout
    assert "[red]" in shown
    assert "row 1" in shown
    assert json.loads(call("quarantine", "show", "R1", "--limit", "0", "--json").stdout)["shown"] == []
    assert "belongs to no relation" in call("quarantine", "show", "F1").stdout
    assert call("quarantine", "retry", "F1").exit_code == 2
    (again,) = json.loads(call("quarantine", "retry", "R1", "--json").stdout)
    assert (again["accepted"], again["rejected"]) == (0, 1)
    assert call("quarantine", "drop", "F1").exit_code == 1, "it asks"
    assert "R2 is dropped" in call("quarantine", "drop", "R2", "F1", "--yes").stdout
    assert call("quarantine", "retry", "R2").exit_code == 2
    left = json.loads(call("quarantine", "list", "--json").stdout)
    assert (left["rows"], left["files"]) == ([], [])


def test_names_of_drops_and_files_move_no_cursor_and_are_no_markup(call: Call, tmp_path: Path) -> None:
    name = "d[red]\x1b[31m\nline\u202egnp"
    drop = tmp_path / "home" / "landing" / "0" / name
    drop.mkdir(parents=True)
    (drop / "x.exe\x1b").write_text("")
    (drop / "orders.csv").write_text("op,event,o_id,o_customer,o_price,o_note\nI,3,3,bob,x\x1b[31m,[b]\n")
    (drop / "_SUCCESS").touch()
    file = tmp_path / "shop" / "cumulus.yaml"
    file.write_text(file.read_text().replace("policy: fail", 'policy: "off"'))
    done = call("run")
    assert done.exit_code == 0, done.output
    shown = [call("quarantine", "list"), *(call("quarantine", "show", label) for label in ("R1", "R2", "F1", "F2"))]
    for said in (done, *shown):
        assert said.exit_code == 0, said.output
        assert not {"\x1b", "\u202e"} & set(said.stdout)
    assert r"d[red]\x1b[31m\nline\u202egnp" in done.stdout
    assert r"x.exe\x1b" in "".join(one.stdout for one in shown)
