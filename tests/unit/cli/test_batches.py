"""`cumulus batch`, and what `status`, tasks and pages say of a batch that is set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from cumulus_ops.append.append import append_delivery
from cumulus_ops.cli.main import main
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.orchestration import steps, texts
from cumulus_ops.orchestration.texts import waits_of
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.validation.request import ValidationReport
from cumulus_ops.validation.run import add_remarks
from tests.support.logs import forget_checksums

Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path / "shop"))
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def land(project: Project, drop: str, *rows: tuple[int, str, str]) -> None:
    new = project.landing / "0" / f".{drop}"
    new.mkdir(parents=True)
    lines = [{"o_id": i, "o_customer": "ann", "o_price": p, "o_note": None, "op": op, "event": i} for i, op, p in rows]
    (new / "orders.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (new / "_SUCCESS").touch()
    new.rename(project.landing / "0" / drop)


@pytest.fixture
def shop(call: Call, tmp_path: Path) -> Project:
    """A project whose first batch cannot be applied; ``kept.parquet`` is its log as it was."""
    for _ in ("written", "prepared"):
        assert call("init", "--empty", tmp_path / "shop").exit_code == 0
    file = tmp_path / "shop" / "cumulus.yaml"
    text = file.read_text().replace("kind: spark", "kind: inprocess").replace("mode: strict", "mode: trusted")
    file.write_text(text)
    project = load_project(tmp_path / "shop")
    land(project, "d1", (1, "I", "10.00"), (2, "I", "2.50"))
    with open_runtime(project) as rt:
        append_delivery(project, rt.catalog, 0, rt.sources.pending(0)[0])
        log = project.state / rt.catalog.log.files()[0].path
        forget_checksums(rt.catalog)
    table = pq.read_table(log)
    pq.write_table(table, tmp_path / "kept.parquet")
    place = table.column_names.index("o_price")
    pq.write_table(table.set_column(place, "o_price", pa.repeat("no number", len(table))), log)
    return project


def repair(project: Project, kept: Path) -> None:
    with open_runtime(project) as rt:
        kept.replace(project.state / rt.catalog.log.files(batch=1)[0].path)


def end_epoch(project: Project, epoch: int) -> dict[str, int] | None:
    done = steps.apply_epoch(str(project.folder), 0, epoch)
    steps.vote_epoch(str(project.folder), 0, epoch)
    steps.commit_complete(str(project.folder))
    return done


def revenue(call: Call) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(call("query", "revenue", "--json").stdout)
    return [{name: value for name, value in row.items() if name != "final_by"} for row in found]


def test_a_batch_that_is_set_aside_is_told_of_everywhere_and_retried(
    call: Call, shop: Project, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert "no batch" in call("batch", "list").stdout
    assert "without" not in texts.notices(shop)
    land(shop, "d2", (3, "I", "1.00"))
    assert end_epoch(shop, 0) == {
        **dict.fromkeys(("deletes", "quarantined", "duplicates", "files_aside"), 0),
        **{"batches": 2, "events": 1, "inserts": 1, "set_aside": 1},
    }
    assert "the snapshot of epoch 0 is without batch 1" in "\n".join(caplog.messages)
    assert revenue(call) == [{"o_customer": "ann", "revenue": "1.00", "orders": 1}]
    shown = call("status").stdout
    assert "committed, without batch 1" in shown
    assert "cumulus batch retry N" in shown
    status = json.loads(call("status", "--json").stdout)
    (without,) = status["epochs"][0]["without"]
    assert (without["batch"], without["state"], without["events"]) == (1, "aside", 2)
    assert without["reason"].startswith("InputProblem: ")
    assert status["set_aside"] == [without]
    (listed,) = json.loads(call("batch", "list", "--json").stdout)
    assert "Traceback" in listed["trace"]
    for page in (
        texts.commit(shop, waits_of(shop)),
        texts.coordinator(shop, 0, waits_of(shop)),
        texts.validate(shop),
        texts.run_epochs(shop, waits_of(shop)),
    ):
        assert "the snapshot of epoch 0 is **without** `batch 1 (coordinator 0, drop d1, 2 events)`" in page
        assert "too many digits" in page

    repair(shop, tmp_path / "kept.parquet")
    assert "batch 1 is batch 3 now, of epoch 1: 2 events" in call("batch", "retry", 1).stdout
    assert json.loads(call("batch", "retry", 1, "--json").stdout) == [{"batch": 1, "retried_as": 3, "epoch": 1}]
    end_epoch(shop, 1)
    assert revenue(call) == [{"o_customer": "ann", "revenue": "13.50", "orders": 3}]
    status = json.loads(call("status", "--json").stdout)
    assert [[b["state"] for b in e["without"]] for e in status["epochs"]] == [["retried"], []]
    assert status["set_aside"] == []
    assert "retried as batch 3" in call("batch", "list", "--all").stdout
    assert "without" not in texts.notices(shop)


def test_events_of_a_dropped_batch_may_come_again(call: Call, shop: Project) -> None:
    end_epoch(shop, 0)
    land(shop, "d2", (1, "I", "10.00"), (2, "I", "2.50"))
    assert end_epoch(shop, 1)["quarantined"] == 2  # type: ignore[index]  # it may still be retried
    assert call("batch", "drop", 1).exit_code == 1  # nobody has said yes
    assert json.loads(call("batch", "drop", 1, "--yes", "--json").stdout) == [{"batch": 1, "state": "dropped"}]
    assert call("batch", "drop", 1, "--yes").exit_code == 0
    land(shop, "d3", (1, "I", "10.00"), (2, "I", "2.50"))
    assert end_epoch(shop, 2)["duplicates"] == 0  # type: ignore[index]
    assert revenue(call) == [{"o_customer": "ann", "revenue": "12.50", "orders": 2}]
    epochs = json.loads(call("status", "--json").stdout)["epochs"]
    assert [[b["state"] for b in e["without"]] for e in epochs] == [["dropped"], [], []]


def test_what_is_not_set_aside_cannot_be_decided_about(call: Call, shop: Project) -> None:
    for command in (("retry",), ("drop", "--yes")):
        done = call("batch", *command, 1)
        assert done.exit_code == 2
        assert "batch 1 is appended" in done.stderr
        assert "cumulus batch list" in done.stderr
        assert "there is no batch 7" in call("batch", *command, 7).stderr


def test_later_deletes_of_its_rows_count_below_zero_until_it_is_retried(
    call: Call, shop: Project, tmp_path: Path
) -> None:
    end_epoch(shop, 0)
    land(shop, "d2", (3, "I", "1.00"), (4, "I", "1.00"))
    with (shop.landing / "0" / "d2" / "orders.ndjson").open("a") as file:
        row = {"o_id": 2, "o_customer": "ann", "o_price": "2.50", "o_note": None, "op": "D", "event": 5}
        file.write(json.dumps(row) + "\n")
    end_epoch(shop, 1)
    assert revenue(call) == [{"o_customer": "ann", "revenue": "-0.50", "orders": 1}]
    with open_runtime(shop) as rt:
        failed = add_remarks(rt, ValidationReport(1, "failed", {}, ("differs",), tmp_path, 0.1))
    assert failed.failures[0] == "differs"
    assert "count below zero until `cumulus batch retry 1`" in failed.failures[1]
    repair(shop, tmp_path / "kept.parquet")
    call("batch", "retry", 1)
    end_epoch(shop, 2)
    assert revenue(call) == [{"o_customer": "ann", "revenue": "12.00", "orders": 3}]
