"""What the doctor finds, on this machine and in projects that are not in order."""

import json
import shutil
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.cli.main import main
from cumulus_ops.epochs.generations import begin_anew
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.local.doctor import FIX, OK, WARN, examine
from cumulus_ops.local.processes import LOOPBACK, KnownProcess, free_port
from cumulus_ops.local.up import Record, servers_folder, write_record
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from tests.support.failing_shop import land_order, make_failing_shop


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.delenv("CUMULUS_HOME", raising=False)
    assert CliRunner().invoke(main, ["init", "--empty", str(tmp_path / "shop")]).exit_code == 0
    assert CliRunner().invoke(main, ["init", str(tmp_path / "shop")]).exit_code == 0
    return tmp_path / "shop"


def found(folder, check, port=None):
    """The one finding of a check."""
    (one,) = [f for f in examine(folder, port or free_port()) if f.check == check]
    return one


def servers(project):
    folder = servers_folder(load_project(project))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_new_project_is_in_order(shop):
    wrong = [f for f in examine(shop, free_port()) if f.state == FIX]
    assert [f for f in wrong if f.check != "java"] == []


def test_it_changes_nothing(shop):
    shutil.rmtree(shop / "var")
    assert found(shop, "catalog").state == FIX
    assert "cumulus init" in found(shop, "catalog").hint
    assert not (shop / "var").exists()


def test_a_machine_without_a_project_is_looked_at(tmp_path):
    checks = {f.check for f in examine(tmp_path, free_port())}
    assert {"python", "java", "memory", "disk", "port", "project"} <= checks
    assert "catalog" not in checks


def test_a_project_that_cannot_be_read_is_named(shop):
    (shop / "cumulus.yaml").write_text("name: shop\ncolour: blue\n")
    project = found(shop, "project")
    assert project.state == FIX
    assert "colour" in project.message


def test_a_catalog_of_another_version_is_named(shop):
    catalog = Catalog(load_project(shop).catalog_url)
    with catalog.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    catalog.close()
    assert "0001" in found(shop, "catalog").message
    assert found(shop, "catalog").state == FIX


def test_an_unreachable_catalog_is_one_line_without_the_password(shop):
    text = (shop / "cumulus.yaml").read_text()
    url = f"postgresql+psycopg2://me:secret@{LOOPBACK}:{free_port()}/x"
    (shop / "cumulus.yaml").write_text(f"{text}\ncatalog: {url}\n")
    catalog = found(shop, "catalog")
    assert catalog.state == FIX
    assert "secret" not in catalog.message
    assert "\n" not in catalog.message


def test_a_taken_port_is_a_warning_with_another_one(shop):
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        held.listen()
        port = found(shop, "port", held.getsockname()[1])
    assert port.state == WARN
    assert "--port" in port.hint


def test_what_a_killed_up_has_left_is_to_be_fixed(shop):
    left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
    try:
        gone = KnownProcess("cumulus up", 1, "another boot 1")
        write_record(servers(shop), Record("http://x", gone, (KnownProcess.of("spark-connect", left.pid),), True))
        assert "spark-connect" in found(shop, "servers").message
        assert found(shop, "servers").state == FIX
        done = CliRunner().invoke(main, ["doctor", str(shop), "--json"])
        assert done.exit_code == 2
        assert {"ok", "fix"} <= {f["state"] for f in json.loads(done.stdout)}
        assert CliRunner().invoke(main, ["down", str(shop)]).exit_code == 0
        assert left.wait() < 0
        assert found(shop, "servers").state == OK
    finally:
        left.kill()
        left.wait()


def test_down_of_what_is_not_up_says_so(shop):
    done = CliRunner().invoke(main, ["down", str(shop)])
    assert done.exit_code == 0
    assert "is not up" in done.stdout


@pytest.mark.parametrize("password", ["secret", "p@secret", "p:secret", "%40secret"])
def test_no_part_of_a_password_is_said(shop, password):
    file = shop / "cumulus.yaml"
    file.write_text(file.read_text() + f'catalog: "postgresql://me:{password}@127.0.0.1:1/db"\n')
    finding = found(shop, "catalog")
    assert finding.state == FIX
    assert "secret" not in finding.message + finding.hint


def test_a_damaged_record_of_servers_does_not_end_it(shop):
    (servers(shop) / "running.json").write_text("{")
    assert found(shop, "servers").state == FIX
    assert found(shop, "port").state == OK


def test_sources_that_stand_still_are_to_be_mended(shop):
    file = shop / "cumulus.yaml"
    tables = "{kind: debezium, path: in, tables: {orders: x.orders}"
    file.write_text(
        file.read_text().replace("\nsources:\n", f"\nsources:\n  a: {tables}}}\n  b: {tables}, coordinator: 7}}\n")
    )
    project = load_project(shop)
    findings = [f for f in examine(shop, free_port()) if f.check == "source"]
    assert [f.state for f in findings] == [OK, FIX]
    assert "coordinators add 7" in findings[1].hint
    catalog = Catalog(project.catalog_url, project.state)
    catalog.problems.source_stands_still("a", "gone [x]\n  hint: put it back")
    catalog.close()
    first = next(f for f in examine(shop, free_port()) if f.check == "source")
    assert (first.state, first.hint) == (FIX, "put it back")
    assert "gone" in first.message


@pytest.fixture
def running(tmp_path, monkeypatch):
    """A project with a drop applied, and another one waiting; its catalog lies beside its state folder."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    make_failing_shop(tmp_path)
    file = tmp_path / "cumulus.yaml"
    text = file.read_text().replace("policy: fail", "policy: off")  # no Spark has to start for what is looked at here
    file.write_text(f"{text}\ncatalog: sqlite:///{tmp_path}/beside.db\n")
    shutil.rmtree(load_project(tmp_path).state)
    initialise(load_project(tmp_path))
    for order in (1, 2):
        land_order(tmp_path, "I", order, order)
    apply(tmp_path)
    return tmp_path


def apply(folder):
    with open_runtime(load_project(folder)) as rt:
        assert run_minibatch(rt, 0) is not None


def refusal(folder):
    """What the doctor and a run say of the state, who both write nothing: the same."""
    state = load_project(folder).state
    before = {p: p.read_bytes() for p in state.rglob("*") if p.is_file()}
    done = CliRunner().invoke(main, ["doctor", str(folder), "--json"])
    assert done.exit_code == 2
    (one,) = [f for f in json.loads(done.stdout) if f["check"] in ("claim", "views")]
    assert one["state"] == FIX
    assert {p: p.read_bytes() for p in state.rglob("*") if p.is_file()} == before
    told = CliRunner().invoke(main, ["run", "--project", str(folder)])
    assert told.exit_code == 2
    for text in (one["message"].partition(": ")[2] or one["message"], one["hint"]):
        assert text in " ".join(told.stderr.split())
    return one


def test_a_state_in_order_is_the_catalogs_and_of_these_views(running):
    assert found(running, "claim").state == OK
    file = running / "cumulus.yaml"
    file.write_text(file.read_text() + "\ncorrections: {after: 7s}\n")
    assert found(running, "claim").state == OK, "what is compiled is the same"
    assert "Views:" not in CliRunner().invoke(main, ["status", "--project", str(running)]).stdout


def test_a_catalog_from_a_backup_is_to_be_mended(running):
    shutil.copy(running / "beside.db", running / "yesterday.db")
    apply(running)
    shutil.copy(running / "yesterday.db", running / "beside.db")
    assert "was restored from a backup" in refusal(running)["message"]


def test_a_state_folder_that_is_gone_or_another_is_to_be_mended(running):
    state = load_project(running).state
    shutil.move(state, running / "moved")
    assert "is not the one that has it" in refusal(running)["message"]
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(running / "moved", state)
    begin_anew(load_project(running))
    shutil.rmtree(state)
    shutil.move(running / "moved", state)
    assert "is of generation 1" in refusal(running)["message"]


def test_a_folder_that_has_changed_waits_to_be_deployed_and_the_project_goes_on(running):
    def tell(*arguments):
        return CliRunner().invoke(main, [*arguments])

    assert "Project:" not in tell("status", "--project", str(running)).stdout
    view = running / "views" / "odd.sql"
    text = view.read_text()
    view.write_text(f"-- a comment\n{text.lower()}\n")
    assert found(running, "claim").state == OK, "it means the same"
    view.write_text(text.replace("SUM", "MAX"))
    one = found(running, "views")
    assert (one.state, "has changed since it was deployed" in one.message) == (WARN, True)
    assert tell("run", "--project", str(running)).exit_code == 0
    told = tell("status", "--project", str(running)).stdout
    assert "Project: this catalog maintains another program" in told
    assert "cumulus deploy" in told
    view.write_text("SELECT nothing FROM nowhere")
    assert found(running, "views").state == WARN
    assert tell("run", "--project", str(running)).exit_code == 0
    assert tell("init", str(running)).exit_code == 2
    view.write_text(text)
    assert tell("run", "--project", str(running)).exit_code == 0
    assert "Project:" not in tell("status", "--project", str(running)).stdout
