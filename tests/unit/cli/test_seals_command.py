"""`cumulus seals`: what waits for whom, and values that are sealed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main

PROJECT = """\
name: ads
relations:
  clicks:
    columns: {id: bigint, campaign: string null, day: date}
    insert_only: true
    seals: {campaign: {key: [campaign], producers: registered}, both: [day, campaign]}
  plain: {columns: {note: string}}
sources: {landing: {path: in, settle: 0s}}
coordinators: 2
epochs: {length: 15m, start: 2026-01-01}
executor: {kind: inprocess}
validation: {policy: off}
views: {v: v.sql}
"""
CLICKS = "op,event,id,campaign,day\nI,{0},{0},7,2026-01-31\nI,1{0},1{0},8,2026-01-31\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "v.sql").write_text("SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign")
    (tmp_path / "cumulus.yaml").write_text(PROJECT)
    for coordinator in (0, 1):
        drop = tmp_path / "in" / str(coordinator) / "a"
        drop.mkdir(parents=True)
        (drop / "clicks.csv").write_text(CLICKS.format(coordinator + 1))
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_what_waits_is_shown_and_sealed_by_hand(folder: Path) -> None:
    assert call("run").exit_code == 0
    (folder / "in" / "0" / "b").mkdir()
    (folder / "in" / "0" / "b" / "clicks.campaign.seal.csv").write_text("campaign\n7\n")
    assert call("run").exit_code == 0
    shown = call("seals")
    assert shown.exit_code == 0
    assert [line for line in shown.stdout.splitlines() if "coordinators 0, 1" in line and "campaign" in line]
    found = json.loads(call("seals", "--json").stdout)
    assert {s["seal"]: (s["open"], s["closed"], s["waiting_for"]) for s in found["seals"]} == {
        "campaign": (2, 0, {"0": 1, "1": 2}),
        "both": (2, 0, {"0": 2, "1": 2}),
    }
    (seven,) = [v for v in found["open"] if v["value"] == ["7"]]
    assert (seven["registered"], seven["sealed"], seven["missing"]) == ([0, 1], [0], [1])
    status = call("status")
    assert "2 values of clicks.campaign are open (1 for coordinator 0, 2 for coordinator 1), 0 closed" in status.stdout

    added = call("seals", "add", "clicks", "campaign", "7", "--yes")
    assert "1 of 1 values sealed in the name of coordinator 1" in added.stdout
    assert json.loads(call("seals", "--json").stdout)["seals"][1]["closed"] == 1
    assert call("seals", "add", "clicks", "both", "2026-01-31,8", "--coordinator", "0", "--yes").exit_code == 0
    assert json.loads(
        call("seals", "add", "clicks", "campaign", "8", "", "--coordinator", "0", "--yes", "--json").stdout
    ) == {
        "relation": "clicks",
        "seal": "campaign",
        "coordinator": 0,
        "sealed": 2,
    }


def test_what_was_put_aside_when_its_value_was_sealed_is_told(folder: Path) -> None:
    land = folder / "in" / "0"
    (land / "a" / "clicks.csv").write_text(CLICKS.format(1) + "I,x,5,7,2026-01-31\nI,6,6,7,never\n")
    assert call("run").exit_code == 0
    assert "cannot count" not in call("status").output  # nobody has sealed anything
    for drop, file, text in (
        ("b", "clicks.csv", "<html>"),
        ("c", "clicks.campaign.seal.csv", "campaign\n7\n"),
        (
            "d",
            "clicks.csv",
            "op,event,id,campaign,day\nI,7,7,7,2026-01-31\nI,8,8,8,never\n",
        ),  # later; and of another value
    ):
        (land / drop).mkdir()
        (land / drop / file).write_text(text)
        assert call("run").exit_code == 0
    told = "coordinator 0 has sealed values of clicks with 3 rows in the quarantine, 1 file set aside: of sealed values they cannot count any more"
    for command in ("status", "seals"):
        assert told in call(command).stdout
    assert json.loads(call("seals", "--json").stdout)["too_late"] == [
        {"relation": "clicks", "coordinator": 0, "rows": 3, "files": 1}
    ]
    assert call("seals", "add", "clicks", "campaign", "8", "--coordinator", "0", "--yes").exit_code == 0
    assert told.replace("3 rows", "4 rows") in call("status").stdout
    labels = [
        found["label"]
        for key in ("rows", "files")
        for found in json.loads(call("quarantine", "list", "--json").stdout)[key]
    ]
    assert call("quarantine", "drop", *labels, "--yes").exit_code == 0
    assert "cannot count" not in call("seals").stdout


def test_who_takes_back_what_was_final_is_told(folder: Path) -> None:
    (folder / "v.sql").write_text("SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 1")
    assert "was final" not in call("init", str(folder)).output
    (folder / "cumulus.yaml").write_text(PROJECT.replace("    insert_only: true\n", ""))
    assert "view v was final at once: rows that were read as final may change now" in call("init", str(folder)).output
    assert "was final" not in call("init", str(folder)).output


def test_what_cannot_be_sealed_is_answered_with_a_remedy(folder: Path) -> None:
    assert call("run").exit_code == 0
    refused = {
        ("click", "campaign", "7"): "did you mean clicks campaign?",
        ("clicks", "both", "7"): "write day,campaign",
        ("clicks", "both", "yesterday,7"): "as in a CSV file",
        ("clicks", "campaign", "8"): "--coordinator N",
        ("clicks", "campaign", "99"): "--coordinator N seals others",
        ("clicks", "campaign", "x" * 500, "--coordinator", "0"): "400 characters",
        ("clicks", "campaign", "7", "--coordinator", "9"): "cumulus coordinators",
    }
    for arguments, hint in refused.items():
        answer = call("seals", "add", *arguments, "--yes")
        assert (answer.exit_code, hint in " ".join(answer.output.split())) == (2, True), answer.output
    agreed = CliRunner().invoke(main, ["seals", "add", "clicks", "campaign", "8"], input="n\n")
    assert agreed.exit_code == 1
    assert json.loads(call("seals", "--json").stdout)["seals"][1]["closed"] == 0
