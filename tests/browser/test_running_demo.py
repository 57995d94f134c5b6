"""The demo as a person meets it: the terminal, the Airflow UI with its form, the report; and a clean end at Ctrl-C."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.client import SparkConnectClient

from cumulus_ops.local.airflow import AirflowApi
from cumulus_ops.local.processes import free_port

ROOT = Path(__file__).resolve().parents[2]
#: The demo's views, each with a verdict of its own.
VIEWS = ("q1", "q3", "q5", "q6", "q10", "example21")
BINDING = re.compile(r"spark\.connect\.grpc\.binding\.port=(\d+)")
LOCAL = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(900)]


@dataclass
class Running:
    """A demo in a process of its own, and what it has printed."""

    process: subprocess.Popen[str]
    port: int
    home: Path
    lines: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        """Collect the output until it ends."""
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()
        self.process.wait()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, text: str, timeout_s: float) -> str:
        """The first line that contains ``text``."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while not (found := [line for line in self.lines if text in line]):
                ended = self.process.poll() is not None
                assert not ended, "the demo ended early:\n" + "\n".join(self.lines)
                assert self.changed.wait(max(0.0, deadline - time.monotonic())), "\n".join(self.lines)
        return found[0]

    def family(self) -> list[psutil.Process]:
        """The process and all it has started."""
        leader = psutil.Process(self.process.pid)
        return [leader, *leader.children(recursive=True)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """`cumulus demo` on a little data, up until its table is printed; stopped by Ctrl-C, leaving nothing behind."""
    home, port = tmp_path_factory.mktemp("home"), free_port()
    command = [str(Path(sys.executable).with_name("cumulus")), "demo", "--scale-factor", "0.01", "--epochs", "2"]
    # After these two no coordinator's DAG runs any more. What lands in an epoch belongs to it however late Airflow is, so nothing is gained by longer ones.
    options = ["--epoch-seconds", "12", "--port", str(port), "--home", str(home)]
    process = subprocess.Popen(
        [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    )
    running = Running(process, port, home)
    reader = threading.Thread(target=running.read)
    reader.start()
    try:
        running.wait_for("Ctrl-C stops everything", 600)
        yield running
        family = running.family()
        process.send_signal(signal.SIGINT)
        assert process.wait(240) == 0, "\n".join(running.lines)
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive, f"left behind: {alive}"
    finally:
        if process.poll() is None:  # it has failed: nothing of it is to stand in the other tests' way
            for member in running.family():
                with suppress(psutil.NoSuchProcess):
                    member.kill()
        reader.join(10)


def test_the_table_has_a_validated_line_per_epoch_and_corrections(demo):
    rows = [re.split(r"\s*[│┃|]\s*", line.strip("│ ")) for line in demo.lines if re.search(r"passed[^│]*│", line)]
    assert [row[0] for row in rows] == ["0", "1"]
    names = next(re.split(r"\s*┃\s*", line.strip("┃ ")) for line in demo.lines if "corrections" in line and "┃" in line)
    places = [names.index(name) for name in ("events", "corrections")]
    events, corrections = ([int(row[i].replace(",", "")) for row in rows] for i in places)
    assert all(count > 0 for count in events)
    assert sum(corrections) > 0


def test_it_listens_on_the_loopback_address_only(demo):
    listening = [c for p in demo.family() for c in connections(p) if c.status == psutil.CONN_LISTEN]
    assert demo.port in {c.laddr.port for c in listening}
    assert {c.laddr.ip for c in listening} <= LOCAL


def connections(process):
    """A process's connections; none of one that has ended meanwhile, as tasks do."""
    try:
        return process.net_connections("inet")
    except psutil.NoSuchProcess:
        return []


def test_a_second_demo_in_the_same_folder_is_refused(demo):
    command = [str(Path(sys.executable).with_name("cumulus")), "demo", "--home", str(demo.home), "--port"]
    second = subprocess.run([*command, str(free_port())], cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "another run" in second.stderr
    taken = subprocess.run([*command, str(demo.port)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert taken.returncode == 2
    assert f"port {demo.port}" in taken.stderr
    assert "PORT=" in taken.stderr


@pytest.mark.browser
@pytest.mark.parametrize("epoch", [0, 1])
def test_each_epochs_report_shows_success(demo, page, epoch):
    index = Path(demo.wait_for("reports:", 60).split("reports:")[1].strip())
    page.goto(index.as_uri())
    row = page.locator("tr").filter(has=page.locator(f"td:first-child:text-is('{epoch}')"))
    assert "passed" in row.inner_text()
    results = [link.get_attribute("href") for link in row.get_by_role("link").all()]
    assert len(results) == 4  # the views, the log, the vote, the groups
    for result in results:
        address = f"{index.parent.as_uri()}/{result}"
        page.goto(address, wait_until="domcontentloaded")  # its style comes from elsewhere: do not wait
        page.get_by_text("Status: Succeeded").first.wait_for(timeout=180_000)
    verdicts = next(result for result in results if "/views/" in result)
    page.goto(f"{index.parent.as_uri()}/{verdicts}", wait_until="domcontentloaded")
    for view in VIEWS:
        assert page.get_by_text(view, exact=False).count() > 0, view


@pytest.mark.browser
def test_chosen_epochs_are_run_from_the_form(demo, page):
    api = logged_in(demo, page)
    page.goto(f"http://127.0.0.1:{demo.port}/dags/tpch_run_epochs")
    page.get_by_role("button", name=re.compile("Trigger")).first.click()
    page.get_by_text("How many epochs to run.").wait_for(timeout=180_000)
    page.get_by_text("Where steps run", exact=False).wait_for(timeout=180_000)
    page.get_by_role("button", name=re.compile("Trigger")).last.click()
    assert wait_for_run(api, "tpch_run_epochs") == "success"


def logged_in(demo, page):
    """Logs in as a person would; gives the API to who is logged in, too."""
    user, password = login(demo)
    api = AirflowApi(demo.port)
    api.log_in(user, password)
    page.goto(f"http://127.0.0.1:{demo.port}/")
    page.get_by_role("textbox", name="Username").fill(user)
    page.get_by_role("textbox", name="Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Cumulus").first.wait_for(timeout=180_000)
    return api


@pytest.mark.browser
def test_its_own_pages_are_in_the_ui(demo, page):
    logged_in(demo, page)
    page.get_by_role("link", name="Cumulus").first.click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Views").wait_for(timeout=180_000)
    assert [frame.get_by_role("link", name=view, exact=True).count() for view in VIEWS] == [1] * len(VIEWS)
    assert frame.locator("svg.timeline .bar.voted").count() >= 6, (
        "two epochs of three coordinators, and empty ones since"
    )
    assert frame.locator("svg.timeline .mark.vote").count() >= 6
    light = frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    page.evaluate("localStorage.setItem('theme', 'dark')")  # as Airflow's own switch does
    page.reload()
    frame.get_by_role("heading", name="Views").wait_for(timeout=180_000)
    assert frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") != light
    frame.get_by_role("link", name="q3", exact=True).click()
    frame.get_by_role("columnheader", name="l_orderkey").wait_for(timeout=180_000)
    assert frame.locator("table.data tbody tr").count() == 10
    assert frame.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert page.url.endswith("/plugin/cumulus/cumulus/tpch/views/q3"), "the address can be kept, and opened again"
    frame.get_by_role("link", name="Epochs").click()
    for epoch in (0, 1):
        frame.locator(f"a.good[href$='/epochs/{epoch}/report']").wait_for(timeout=180_000)


@pytest.mark.browser
def test_the_report_is_one_click_from_its_validation(demo, page):
    api = logged_in(demo, page)
    run = validated_run(api)
    task = f"http://127.0.0.1:{demo.port}/dags/tpch_validate/runs/{run}/tasks/validate"
    page.goto(task)
    with page.expect_popup(timeout=180_000) as opened:
        page.get_by_role("link", name=re.compile(r"epochs.\d+.report")).first.click()
    shown = opened.value.frame_locator("iframe")
    shown.get_by_text("Status: Succeeded").wait_for(timeout=180_000)
    page.goto(f"{task}/details")
    page.get_by_role("link", name="Report").click()
    page.frame_locator("iframe").get_by_text("Status: Succeeded").wait_for(timeout=180_000)


def asset_events(api, timeout_s=300):
    """All events; while a run that one has woken is queued, Airflow cannot tell of them."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return api.call("GET", "/api/v2/assets/events?limit=100&order_by=timestamp")["asset_events"]
        except urllib.error.HTTPError as error:
            if error.code != 500 or time.monotonic() > deadline:
                raise
            time.sleep(1)


def validated_run(api, timeout_s=300):
    """A run that has validated something and ended; others had nothing left to validate."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for run in (quote(run["dag_run_id"], safe="") for run in api.runs("tpch_validate")):
            address = f"/api/v2/dags/tpch_validate/dagRuns/{run}/taskInstances/validate/links"
            if (api.call("GET", address)["extra_links"]["Report"] or "").endswith("/report"):
                return run
        time.sleep(1)
    raise TimeoutError("no validation has ended")


@pytest.mark.browser
def test_the_snapshot_asset_leads_to_the_report(demo, page):
    api = logged_in(demo, page)
    validated_run(api)
    events = asset_events(api)
    snapshots = [event for event in events if event["uri"] == "cumulus://tpch/snapshot"]
    for event in snapshots[:1]:
        page.goto(event["extra"]["report"])
        page.frame_locator("iframe").get_by_text("Status: Succeeded").wait_for(timeout=180_000)
    page.goto(f"http://127.0.0.1:{demo.port}/assets/{snapshots[0]['asset_id']}")
    page.locator(".codicon-folding-collapsed").first.click(timeout=180_000)
    page.locator(".detected-link", has_text="/report").first.wait_for(timeout=180_000)


@pytest.mark.parametrize(
    "path", ["/cumulus/", "/cumulus/tpch/", "/cumulus/tpch/views/q3", "/cumulus/tpch/reports/index.html"]
)
def test_its_own_pages_want_the_login(demo, path):
    for headers in ({}, {"Authorization": "Bearer x.y.z"}, {"Cookie": "_token=x.y.z"}):
        connection = http.client.HTTPConnection("127.0.0.1", demo.port, timeout=180)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.status in (401, 403), headers
        assert b"snapshot" not in answer.read()


def test_tasks_log_no_errors(demo):
    logs = list((demo.home / "demo" / "airflow" / "logs").glob("dag_id=*/**/*.log"))
    assert len(logs) > 10
    wrong = [line for log in logs for line in log.read_text().splitlines() if json.loads(line)["level"] == "error"]
    assert not wrong, "\n".join(wrong)


def login(demo):
    """The user and the password that were printed."""
    user, password = demo.wait_for("login:", 60).split("login:")[1].split(" / ")
    return user.strip(), password.strip()


def test_it_asks_for_the_login(demo):
    user, password = login(demo)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        AirflowApi(demo.port).dags()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        AirflowApi(demo.port).log_in(user, password + "x")


def test_it_answers_to_its_own_names_only(demo):
    assert [status_for(demo.port, host) for host in ("127.0.0.1", "localhost", "evil.example")] == [200, 200, 400]


def test_its_spark_wants_a_token(demo):
    (port,) = {match[1] for part in command_lines(demo) if (match := BINDING.fullmatch(part))}
    client = SparkConnectClient(f"sc://localhost:{port}")
    with pytest.raises(SparkConnectGrpcException, match=r"(?i)authorization|unauthenticated"):
        client.get_configs("spark.version")
    client.close()


def command_lines(demo):
    """The arguments of all processes; those of tasks that have ended meanwhile are left out."""
    for process in demo.family():
        with suppress(psutil.NoSuchProcess):
            yield from process.cmdline()


def status_for(port, host):
    """The status of the health page when it is asked for by that name."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
    connection.request("GET", "/api/v2/monitor/health", headers={"Host": f"{host}:{port}"})
    return connection.getresponse().status


def wait_for_run(api, dag, timeout_s=300):
    """The final state of the DAG's only run."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        states = [run["state"] for run in api.runs(dag)]
        if states and states[-1] in ("success", "failed"):
            return states[-1]
        time.sleep(1)
    raise TimeoutError(f"{dag}: {states}")
