"""`cumulus analyze PROJECT`: what is final when, with what a project's file says becomes of it; and the one line of other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main

PROJECT = """
name: ads
relations:
  clicks:
    columns: {id: bigint, campaign: bigint}
    insert_only: true
    SEALS
coordinators: 2
epochs: {length: 1h, start: 2026-01-01T00:00:00Z}
views: {thresh: thresh.sql, poor: poor.sql, campaign: campaign.sql}
dataflow: caches.yaml
state: state
executor: {kind: inprocess}
sources: {landing: landing}
"""
VIEWS = {
    "thresh": "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 1000",
    "poor": "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) < 100",
    "campaign": "SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 100",
}
CACHES = """
Cache:
  Rep: true
  annotation:
    - { from: request, to: response, label: CR }
    - { from: response, to: response, label: CW }
streams:
  shown: { from: [thresh.rows, poor.rows, campaign.rows], to: Cache.response }
  answers: { from: Cache.response }
"""
SEALED = "seals: {campaign: [campaign]}"


def write(folder: Path, seals: str, caches: str = CACHES) -> Path:
    (folder / "cumulus.yaml").write_text(PROJECT.replace("SEALS", seals), encoding="utf-8")
    (folder / "caches.yaml").write_text(caches, encoding="utf-8")
    for name, sql in VIEWS.items():
        (folder / f"{name}.sql").write_text(sql, encoding="utf-8")
    return folder


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def labels(folder: Path) -> dict[str, tuple[str, str, str]]:
    plan = json.loads(run("analyze", folder, "--json").stdout)
    return {v["view"]: (v["final"], v["label"], v["coordinated"]) for v in plan["views"]}


def test_the_paper_s_queries_with_replicated_caches(tmp_path: Path) -> None:
    assert labels(write(tmp_path, "")) == {
        "thresh": ("at once", "Async", "Async"),
        "poor": ("committed", "Diverge", "Async"),
        "campaign": ("committed", "Diverge", "Async"),
    }
    assert labels(write(tmp_path, SEALED)) == {
        "thresh": ("at once", "Async", "Async"),
        "poor": ("committed", "Diverge", "Async"),
        "campaign": ("sealed", "Diverge", "Async"),
    }


def test_without_replicas_answers_differ_between_runs_only(tmp_path: Path) -> None:
    assert labels(write(tmp_path, "", CACHES.replace("  Rep: true\n", "")))["poor"][1] == "Run"


def test_what_is_printed(tmp_path: Path) -> None:
    result = run("analyze", write(tmp_path, SEALED), "--explain", "--svg", tmp_path / "ads.svg")
    assert result.exit_code == 0, result.output
    for part in (
        "campaign  when campaign is sealed  Diverge               Async",
        "advice for poor: group by campaign of clicks too, on which it is sealed, and show it",
        "value-vote clicks.campaign",
        "{NDRead_{campaign,id} beside Seal_{campaign}} is Async",
    ):
        assert part in result.stdout
    assert "<svg" in (tmp_path / "ads.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("caches", "part"),
    [
        (CACHES.replace("poor.rows", "rich.rows"), "no component 'rich'"),
        (CACHES.replace("poor.rows", "poor.columns"), "poor has no output 'columns'"),
        (CACHES.replace("Cache", "poor"), "is called like a view"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(tmp_path: Path, caches: str, part: str) -> None:
    result = run("analyze", write(tmp_path, SEALED, caches))
    assert result.exit_code == 2
    assert part in result.output
    assert "caches.yaml:" in result.output.replace("\n", "")


def test_one_line_tells_what_waits(tmp_path: Path) -> None:
    line = "view poor is final with its epochs only; it need not be: group by campaign of clicks too"
    initialised = run("init", write(tmp_path, SEALED))
    assert (initialised.exit_code, line in initialised.stderr) == (0, True), initialised.output
    assert line in run("compile", "--project", tmp_path).stderr
    assert "2 of 3 views are final with their epochs only, and need not be" in run("init", write(tmp_path, "")).stderr


def test_who_promises_nothing_is_not_told_what_waits(tmp_path: Path) -> None:
    first = run("init", tmp_path / "shop")
    assert (first.exit_code, first.stderr) == (0, ""), first.output
    assert run("compile", "--project", tmp_path / "shop").stderr == ""
    assert "advice for revenue: seal orders on o_customer" in run("analyze", tmp_path / "shop").stdout
