"""A person agrees to what a plan says, and that is deployed: no more, not twice, and nothing else."""

import pytest
from starlette.requests import Request

from cumulus_ops.cli.scaffold import land_sample, write_project
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.deploying.changes import find_change
from cumulus_ops.deploying.deploy import abort, deploy
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.status import status
from cumulus_ops.local.doctor import WARN, examine
from cumulus_ops.local.processes import free_port
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.orchestration.deploy_steps import deploy_agreed, plan_deployment
from cumulus_ops.orchestration.operators import ApproveWork, DoWork, PlanWork
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.web.charts import render
from cumulus_ops.web.pages import overview_page
from cumulus_ops.web.rows import Opened
from m3.errors import M3Error

DEAREST = "SELECT o_customer, MAX(o_price) AS dearest FROM orders GROUP BY o_customer\n"
COUNTED = "SELECT o_customer, COUNT(*) AS orders FROM orders GROUP BY o_customer\n"
CHOSEN = ["rollback", "give_up", "rows", "replan"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with one snapshot."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    write_project(tmp_path, "shop")
    land_sample(tmp_path)
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        run_epochs(rt, 1, validating=False)
    return tmp_path


def edit(folder, sql):
    """Another text of the view `revenue`."""
    (folder / "views" / "revenue.sql").write_text(sql)


def shown(folder):
    """The overview among the pages."""
    return render(
        "overview.html",
        Request({"type": "http", "root_path": ""}),
        logs="",
        **overview_page(Opened(load_project(folder))),
    )


def maintained(folder):
    """The SQL of the view `revenue` that is maintained, and the number of the current revision."""
    with open_runtime(load_project(folder)) as rt:
        return rt.program.view_by_name["revenue"].sql.strip(), rt.revision


def deploy_now(folder, **options):
    """Deploy whatever there is to deploy."""
    return deploy_agreed(str(folder), plan_deployment(str(folder), rows=False, **options))


def begin(folder):
    """A deployment of the folder that was killed as soon as it had begun."""
    with open_runtime(load_project(folder)) as rt:
        change = find_change(rt)
        with rt.catalog.leases.step() as step:
            return rt.catalog.revisions.begin(change.record, change.told(), step).number


def test_what_is_asked_is_what_is_deployed_and_a_task_that_is_tried_again_finds_it_done(folder, caplog):
    caplog.set_level("INFO")
    old = maintained(folder)[0]
    assert plan_deployment(str(folder))["to_do"] == ""
    edit(folder, DEAREST)
    agreed = plan_deployment(str(folder))
    assert (agreed["to_do"], maintained(folder)) == ("deploy", (old, 1))
    for said in ("view `revenue`: changed", "`column dearest is new`", "rows as of epoch 0: 3 before, 3 after"):
        assert said in agreed["markdown"]
        assert said in caplog.text
    assert "rows as of" not in plan_deployment(str(folder), rows=False)["markdown"]
    assert deploy_agreed(str(folder), agreed) == {"revision": 2, "since": 1, "events": 4}
    assert "filled up to epoch 0" in caplog.text
    assert maintained(folder) == (DEAREST.strip(), 2)
    assert deploy_agreed(str(folder), agreed) == {"revision": 2}, "it was killed behind the switch"


def test_pages_and_status_say_what_is_maintained_and_what_waits(folder, capsys):
    assert "Revision 1, since epoch 0" in shown(folder)
    assert "waits to be deployed" not in shown(folder)
    edit(folder, DEAREST)
    agreed = plan_deployment(str(folder), rows=False)
    page = shown(folder)
    assert "waits to be deployed" in page
    assert 'href="/dags/shop_deploy"' in page
    deploy_agreed(str(folder), agreed)
    page = shown(folder)
    assert "Revision 2, since epoch 1" in page
    assert "waits to be deployed" not in page
    with open_runtime(load_project(folder)) as rt:
        print_status(status(rt))
    assert "Revision 2, since epoch 1" in capsys.readouterr().out


def told(folder, capsys):
    """What status and the overview say."""
    with open_runtime(load_project(folder)) as rt:
        print_status(status(rt))
    return capsys.readouterr().out, shown(folder).replace("<code>", "").replace("</code>", "")


def test_a_deployment_is_told_of_in_all_its_states(folder, capsys, monkeypatch):
    edit(folder, DEAREST)
    begin(folder)
    for text in told(folder, capsys):
        assert (
            "revision 2 is not deployed yet, and nobody is at it; nothing is filled yet, 1 epoch with 7 events to go"
            in text
        )
        assert "view revenue: changed" in text
        assert "cumulus deploy goes on with it, cumulus deploy --abort gives it up" in text.replace("`", "")
        assert "the snapshot of epoch 0 is kept meanwhile" in text
        assert "being deployed" in text
    (found,) = [f for f in examine(folder, free_port()) if f.check == "deployment"]
    assert (found.state, "nobody is at it" in found.message) == (WARN, True)

    looks = []

    def look(point):
        if point in ("fill.before-commit", "switch.begun"):
            looks.append(told(folder, capsys))
        if point == "fill.after-commit" and len(looks) == 1:
            raise OSError("no space left")

    monkeypatch.setattr("cumulus_ops.deploying.deploy.reach", look)
    with open_runtime(load_project(folder)) as rt, pytest.raises(OSError, match="no space"):
        deploy(rt)
    for text in looks[0]:
        assert "revision 2 is being deployed; nothing is filled yet" in text
        assert "goes on with it" not in text
    for text in told(folder, capsys):
        assert "revision 2 could not be deployed: OSError: no space left; filled up to epoch 0." in text.replace(
            "\n", "."
        )
        assert "FAILS" not in text
    with open_runtime(load_project(folder)) as rt:
        deploy(rt)
    for text in looks[1]:
        assert "revision 2 is switched to, and no batch begins meanwhile; filled up to epoch 0" in text
    for text in told(folder, capsys):
        assert "Deployment" not in text
        assert "current" in text
        assert "past" in text
    assert not [f for f in examine(folder, free_port()) if f.check == "deployment"]


def test_what_was_given_up_is_listed_with_the_reason_and_a_rollback_as_one(folder, capsys, monkeypatch):
    edit(folder, DEAREST)
    with open_runtime(load_project(folder)) as rt:
        with monkeypatch.context() as patch:
            patch.setattr("cumulus_ops.deploying.deploy.reach", lambda _: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                deploy(rt)
        assert abort(rt) == 2
    deploy_now(folder)
    begun = plan_deployment(str(folder), rollback=True, rows=False)
    deploy_agreed(str(folder), begun)
    for text in told(folder, capsys):
        assert "by request; it had failed: ZeroDivisionError" in text
        assert "back to revision 1" in text
        assert "Deployment" not in text
        assert "1 to" not in text
    with open_runtime(load_project(folder)) as rt:
        found = status(rt).revisions
    assert [(r.number, r.state, r.first, r.last) for r in found] == [
        (4, "current", 1, None),
        (3, "past", 1, 0),
        (2, "given up", None, None),
        (1, "past", 0, 0),
    ]


def test_all_maps_are_made_anew_once_when_somebody_asks_for_it(folder):
    assert plan_deployment(str(folder))["to_do"] == ""
    agreed = plan_deployment(str(folder), replan=True)
    assert agreed["to_do"] == "deploy"
    assert deploy_agreed(str(folder), agreed)["revision"] == 2
    assert deploy_agreed(str(folder), agreed) == {"revision": 2}, "it was killed behind the switch"
    with open_runtime(load_project(folder)) as rt:
        assert status(rt).revisions[0].changes == ("all maps made anew",)


def test_a_deployment_that_was_killed_goes_on(folder):
    edit(folder, DEAREST)
    agreed = plan_deployment(str(folder), rows=False)
    assert begin(folder) == 2
    assert deploy_agreed(str(folder), agreed)["revision"] == 2
    assert maintained(folder) == (DEAREST.strip(), 2)


def test_a_rollback_goes_back_once_however_often_it_is_tried(folder):
    old = maintained(folder)[0]
    edit(folder, DEAREST)
    deploy_now(folder)
    agreed = plan_deployment(str(folder), rollback=True)
    assert "`column revenue is new`" in agreed["markdown"]
    assert deploy_agreed(str(folder), agreed)["revision"] == 3
    assert deploy_agreed(str(folder), agreed) == {"revision": 3}
    assert maintained(folder) == (old, 3)


def edited(folder):
    edit(folder, COUNTED)


def deployed(folder):
    edit(folder, COUNTED)
    deploy_now(folder)
    edit(folder, DEAREST)


def given_up(folder):
    begin(folder)
    assert deploy_now(folder, give_up=True) == {"revision": 1}


@pytest.mark.parametrize("meanwhile", [edited, deployed, given_up])
def test_what_has_changed_since_somebody_agreed_is_not_deployed(folder, meanwhile):
    edit(folder, DEAREST)
    agreed = plan_deployment(str(folder), rows=False)
    meanwhile(folder)
    before = maintained(folder)
    with pytest.raises(InputProblem, match="since this was asked") as caught:
        deploy_agreed(str(folder), agreed)
    assert caught.value.kind == "plan-over"
    assert maintained(folder) == before
    with open_runtime(load_project(folder)) as rt:
        assert rt.catalog.revisions.deployment() is None
        assert not status(rt).failing, "nothing of the project stands still because of it"


def test_what_is_given_up_is_what_was_asked_about(folder):
    assert plan_deployment(str(folder), give_up=True)["to_do"] == ""
    edit(folder, DEAREST)
    begin(folder)
    old, again = (plan_deployment(str(folder), give_up=True) for _ in range(2))
    assert "Give up revision 2" in old["markdown"]
    deploy_agreed(str(folder), old)
    assert begin(folder) == 3
    deploy_agreed(str(folder), again)
    with open_runtime(load_project(folder)) as rt:
        assert rt.catalog.revisions.deployment().number == 3


def test_two_changes_at_once_are_refused_before_anybody_is_asked(folder):
    edit(folder, DEAREST)
    begin(folder)
    assert plan_deployment(str(folder))["to_do"] == "deploy", "that goes on"
    edit(folder, COUNTED)
    with pytest.raises(InputProblem, match="revision 2, which is another one, is being deployed"):
        plan_deployment(str(folder))


def test_a_mistake_in_the_folder_fails_the_task_at_once_and_is_nobody_elses_problem(folder):
    from airflow.sdk.exceptions import AirflowFailException

    edit(folder, "SELECT nothing FROM orders")
    with pytest.raises(M3Error):
        plan_deployment(str(folder))
    task = PlanWork(task_id="plan", folder=str(folder), work="deployment", chosen=CHOSEN)
    with pytest.raises(AirflowFailException, match="nothing"):
        task.execute({"params": {"rollback": False, "give_up": False, "rows": True, "replan": False}})
    with open_runtime(load_project(folder)) as rt:
        assert not status(rt).failing


def test_nobody_is_asked_when_there_is_nothing_to_do(folder):
    from airflow.sdk.exceptions import AirflowSkipException

    agreed = PlanWork(task_id="plan", folder=str(folder), work="deployment", chosen=CHOSEN).execute(
        {"params": {"rollback": False, "give_up": False, "rows": True, "replan": False}}
    )
    with pytest.raises(AirflowSkipException, match="nothing to deploy"):
        ApproveWork(task_id="approve", subject="?", plan=agreed).execute({})
    edit(folder, DEAREST)
    agreed = plan_deployment(str(folder), rows=False)
    assert DoWork(task_id="deploy", folder=str(folder), work="deployment", plan=agreed).execute({})["revision"] == 2
