"""What the tasks and pages of Airflow say of a view in error: the publish task succeeds, and says so."""

import pytest
from airflow.sdk.execution_time.context import OutletEventAccessors

from cumulus_ops.orchestration import steps
from cumulus_ops.orchestration.factory import build_dags
from cumulus_ops.project.project_file import load_project
from tests.support.failing_shop import land_order, make_failing_shop


class Instance:
    """As much of a task instance as an operator asks for."""

    def __init__(self):
        self.pushed = {}

    def xcom_push(self, key, value):
        self.pushed[key] = value


@pytest.fixture
def epoch(tmp_path, monkeypatch):
    """Runs the tasks of one epoch with one event; returns the publish task's event for the snapshot asset, and the pages."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    make_failing_shop(tmp_path)
    folder, numbers = str(tmp_path), iter(range(100))

    def run(op, order):
        number = next(numbers)
        land_order(tmp_path, op, order, number)
        steps.apply_epoch(folder, 0, number)
        steps.vote_epoch(folder, 0, number)
        assert steps.commit_complete(folder) == [number]
        dags = build_dags(load_project(tmp_path))
        task, events = dags["shop_commit"].get_task("publish"), OutletEventAccessors()
        context = {"outlet_events": events, "ti": Instance()}
        assert task.execute(context) == list(range(number + 1))
        assert context["ti"].pushed == {"epoch": number}
        return events[task.asset].extra, [dag.doc_md for dag in build_dags(load_project(tmp_path)).values()]

    return run


def test_publishing_goes_on_and_says_which_views_are_in_error(epoch, caplog):
    extra, pages = epoch("I", 1)
    report = "/plugin/cumulus/cumulus/shop/epochs/0/report"
    assert extra == {"epochs": [0], "in_error": {}, "report": report}
    assert not any("Views in error" in page for page in pages)
    epoch("I", 0)
    extra, pages = epoch("I", 2)
    assert extra["epochs"] == [0, 1, 2]
    assert set(extra["in_error"]) == {"odd"}
    assert "since epoch 1" in extra["in_error"]["odd"]
    assert "o_id = 0" in extra["in_error"]["odd"]
    assert all("`odd` since epoch 1" in page for page in pages)
    assert any(
        "view odd is in error" in record.getMessage() for record in caplog.records if record.levelname == "WARNING"
    )
    extra, pages = epoch("D", 0)
    assert extra["in_error"] == {}
    assert not any("Views in error" in page for page in pages)
