"""What the tasks do, without Airflow: idempotent, in token order, by the time at which drops landed."""

import datetime
import json

import pytest

from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.config import load_project
from cumulus_ops.orchestration import steps
from cumulus_ops.snapshot import open_runtime, status

PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project of two coordinators that runs in this process."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    write_project(tmp_path, "shop")
    file = tmp_path / "cumulus.yaml"
    file.write_text(
        file.read_text().replace("coordinators: 1", "coordinators: 2").replace("kind: spark", "kind: inprocess")
    )
    return str(tmp_path)


@pytest.fixture
def land(tmp_path):
    """Lands a drop with one order."""

    def lander(coordinator, drop, order):
        parent = tmp_path / "home" / "landing" / str(coordinator)
        new = parent / f".{drop}"
        new.mkdir(parents=True)
        row = {"o_id": order, "o_customer": "ann", "o_price": "1.00", "o_note": None, "op": "I", "event": order}
        (new / "orders.ndjson").write_text(json.dumps(row) + "\n")
        new.rename(parent / drop)

    return lander


def look(folder):
    """The project's status."""
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        return status(runtime)


def folder_path(folder):
    from pathlib import Path

    return Path(folder)


def now():
    return datetime.datetime.now(datetime.UTC)


def test_apply_takes_what_landed_before_the_epochs_end_and_nothing_later(folder, land):
    land(0, "d1", 1)
    end = now() + datetime.timedelta(seconds=1e-3)
    while now() <= end:
        pass
    land(0, "d2", 2)
    assert steps.apply_epoch(folder, 0, 0, until=end)["batches"] == 1
    assert look(folder).coordinators[0].pending_drops == 1


def test_apply_of_a_sealed_epoch_does_nothing(folder, land):
    assert steps.seal_epoch(folder, 0, 0) == [0]
    land(0, "d1", 1)
    assert steps.apply_epoch(folder, 0, 0, until=PAST)["batches"] == 0
    assert look(folder).coordinators[0].epoch == 1


def test_seal_waits_for_the_token_and_says_so(folder):
    assert steps.seal_epoch(folder, 1, 0, patience_s=0) == []
    assert steps.seal_epoch(folder, 0, 0) == [0]
    assert steps.seal_epoch(folder, 1, 0) == [0]
    assert steps.seal_epoch(folder, 1, 0) == [0]  # again: the same answer, so that a retry emits its event


def test_apply_without_a_clock_waits_for_its_epoch(folder, land):
    land(0, "d1", 1)
    assert steps.apply_epoch(folder, 0, 1, patience_s=0) is None
    assert look(folder).coordinators[0].pending_drops == 1


def test_plan_spreads_what_has_landed_evenly(folder, land):
    for number in range(5):
        land(0, f"d{number}", number)
    plan = steps.plan_epochs(folder, 2, None, 3)
    assert [entry["epoch"] for entry in plan] == [0, 1, 2]
    assert [entry["leave"][0] for entry in plan] == [3, 1, 0]
    assert [entry["leave"][1] for entry in plan] == [0, 0, 0]
    applied = []
    for entry in plan:
        totals = steps.apply_epoch(folder, 0, entry["epoch"], leave=entry["leave"][0])
        again = steps.apply_epoch(folder, 0, entry["epoch"], leave=entry["leave"][0])
        applied.append((totals["batches"], again["batches"]))
        assert steps.seal_epoch(folder, 0, entry["epoch"])
        assert steps.seal_epoch(folder, 1, entry["epoch"])
    assert applied == [(2, 0), (2, 0), (1, 0)]


def test_plan_includes_open_epochs_before_the_first_chosen(folder):
    assert [entry["epoch"] for entry in steps.plan_epochs(folder, 2, 2, 2)] == [0, 1, 2, 3]


def test_commit_takes_every_sealed_epoch_once_and_publish_names_what_awaits_validation(folder, land):
    for epoch in (0, 1):
        land(0, f"d{epoch}", epoch)
        steps.apply_epoch(folder, 0, epoch)
        for coordinator in (0, 1):
            steps.seal_epoch(folder, coordinator, epoch)
    assert steps.commit_sealed(folder) == [0, 1]
    assert steps.commit_sealed(folder) == []
    assert steps.publish_committed(folder) == ([0, 1], {})
    assert steps.publish_committed(folder) == ([0, 1], {})


def test_a_failed_snapshot_is_an_error_that_names_report_and_failures(folder, land, monkeypatch):
    from cumulus_ops import snapshot
    from cumulus_ops.validation import ValidationReport

    land(0, "d1", 1)
    steps.apply_epoch(folder, 0, 0)
    for coordinator in (0, 1):
        steps.seal_epoch(folder, coordinator, 0)
    steps.commit_sealed(folder)
    report = ValidationReport(0, False, {}, ("revenue: 1 group differs",), folder_path("/reports/index.html"), 0.1)
    monkeypatch.setattr(snapshot, "validate", lambda _runtime, _epoch, _views: report)
    with pytest.raises(steps.SnapshotInvalid) as caught:
        steps.validate_committed(folder)
    assert "revenue: 1 group differs" in str(caught.value)
    assert caught.value.place == "/reports/index.html"
    monkeypatch.setenv("POLICY", "warn")
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text().replace("policy: fail", "policy: ${POLICY}"))
    assert steps.validate_committed(folder) == {0: False}
