"""What `cumulus query` and `status` say of a view in error, and of one that is in error only for now."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project
from tests.support.failing_shop import land_order, make_failing_shop

Land = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a view that fails for an order with the id 0."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    make_failing_shop(tmp_path)
    return tmp_path


@pytest.fixture
def land(folder: Path) -> Land:
    """Lands an event of the order with the given id, and applies it; or runs an epoch with it."""

    def lander(op: str, order: int, event: int, *, epoch: bool = False) -> None:
        land_order(folder, op, order, event)
        with open_runtime(load_project(folder)) as rt:
            run_minibatch(rt, 0)
            if epoch:
                run_epochs(rt, 1, validating=False)

    return lander


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def test_query_of_a_view_in_error_says_what_where_and_since_when(folder: Path, land: Land) -> None:
    land("I", 3, 1, epoch=True)
    land("I", 0, 2, epoch=True)
    land("I", 2, 3, epoch=True)
    done = call("query", "odd", "--project", folder)
    assert done.exit_code == 4
    assert done.stdout == ""
    for part in (
        "division-by-zero",
        "o_price / o_id",
        "o_id = 0",
        "since epoch 1",
        "views/odd.sql:2:7",
        "      ^^^^^^^^^^^^^^",
        "hint",
    ):
        assert part in done.stderr
    found = json.loads(call("query", "odd", "--project", folder, "--as-of", 1, "--json").stdout)["in_error"]
    assert (found["view"], found["epoch"], found["since"], found["tentative"]) == ("odd", 1, 1, False)
    assert "o_id = 0" in found["message"]
    assert json.loads(call("query", "odd", "--project", folder, "--as-of", 0, "--json").stdout) != []
    assert call("query", "revenue", "--project", folder).exit_code == 0
    told = json.loads(call("status", "--project", folder, "--json").stdout)
    assert [(e["view"], e["since"]) for e in told["in_error"]] == [("odd", 1)]
    assert told["in_error"][0]["quoted"] == [
        "  SUM(o_price / o_id) AS x FROM orders GROUP BY 1",
        "      ^^^^^^^^^^^^^^",
    ]
    assert "  |       ^^^^^^^^^^^^^^" in call("status", "--project", folder).stdout
    (folder / "views" / "odd.sql").write_text("SELECT 1")  # what is maintained is not what stands there now
    assert "^^^" not in call("query", "odd", "--project", folder).stderr
    assert [[e["view"] for e in epoch["in_error"]] for epoch in told["epochs"]] == [[], ["odd"], ["odd"]]


def test_an_error_only_of_what_is_applied_so_far_is_called_tentative(folder: Path, land: Land) -> None:
    land("I", 3, 1, epoch=True)
    land("I", 0, 2)
    done = call("query", "odd", "--project", folder, "--tentative")
    assert done.exit_code == 4
    assert "tentative, may still be corrected" in done.stderr
    assert "epoch 0 it is not in error" in done.stderr
    found = json.loads(call("query", "odd", "--project", folder, "--tentative", "--json").stdout)["in_error"]
    assert (found["tentative"], found["epoch"], found["since"]) == (True, None, None)
    assert call("query", "odd", "--project", folder).exit_code == 0
    assert json.loads(call("status", "--project", folder, "--json").stdout)["in_error"] == []
    land("D", 0, 3)
    assert call("query", "odd", "--project", folder, "--tentative").exit_code == 0
    land("I", 0, 4, epoch=True)
    land("I", 0, 5)
    assert "too, since epoch 1" in call("query", "odd", "--project", folder, "--tentative").stderr


SEALED = """
name: sold
relations:
  sales:
    columns: {shop: bigint, price: bigint}
    insert_only: true
    seals: {shop: [shop]}
views: {odd: odd.sql}
sources: {landing: {path: landing, settle: 0s}}
epochs: {length: 15m, start: 2026-01-01T00:00:00Z}
validation: {policy: "off"}
executor: {kind: inprocess}
state: state
publish: {path: published}
"""


def test_sealed_partitions_of_a_view_in_error_are_printed_and_that_others_are_missing(tmp_path: Path) -> None:
    (tmp_path / "cumulus.yaml").write_text(SEALED)
    (tmp_path / "odd.sql").write_text("SELECT shop, 6 / (price - 1) AS x FROM sales")
    files = {
        "0000": {"sales.csv": "op,shop,price\nI,7,3\n", "sales.shop.seal.csv": "shop\n7\n"},
        "0001": {"sales.csv": "op,shop,price\nI,6,1\n"},
    }
    for drop, texts in files.items():
        (tmp_path / "landing" / "0" / drop).mkdir(parents=True)
        for name, text in texts.items():
            (tmp_path / "landing" / "0" / drop / name).write_text(text)
    ran = call("run", "--project", tmp_path)
    assert ran.exit_code == 0
    assert "final: view odd, shop 7: 1 row" in ran.output
    done = call("query", "odd", "--project", tmp_path, "--json")
    assert done.exit_code == 4
    assert json.loads(done.stdout) == [{"shop": 7, "x": "3.0000000000000000000", "final_by": "seal shop=7"}]
    assert "all others are missing" in done.stderr
    assert "zero" in done.stderr
