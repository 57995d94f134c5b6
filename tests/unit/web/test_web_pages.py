"""The pages: right numbers, refusals, addresses that stay inside, headers; quick for a long history, and in nobody's way."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import io
import json
import re
import sqlite3
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from cumulus_ops.catalog.backups import Backups
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.epochs import EpochNumbers, Transition
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status as status_of
from cumulus_ops.epochs.voting import vote
from cumulus_ops.local.processes import free_port
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import BackupSettings, Project, SourceSettings
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.validation.reports import PAGES
from cumulus_ops.web import create_app
from cumulus_ops.web.charts import draw_timeline, sparkline
from cumulus_ops.web.pages import report_file
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import append_events, make_project
from tests.support.shown import SALES, shown_project

ADDRESSES = (
    "",
    "views/by_region",
    "views/ratio",
    "views/by_region/dataflow.svg",
    "epochs",
    "epochs/1",
    "quarantine",
    "coordination",
)


async def anyone(request: Request, project: str) -> None:
    """Lets everybody in."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return shown_project(tmp_path_factory.mktemp("shown"))


@pytest.fixture(scope="module")
def client(project: Project) -> TestClient:
    return TestClient(create_app(lambda: [project], anyone))


def words(client: TestClient, address: str) -> str:
    """What a page says, without its markup."""
    response = client.get(f"/test/{address}")
    assert response.status_code == 200, response.text
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", response.text))


def test_the_start_leads_to_the_only_project(client: TestClient) -> None:
    assert client.get("/", follow_redirects=False).headers["location"] == "/test/"
    assert client.get("/").status_code == 200


def test_the_overview_says_how_things_are(client: TestClient) -> None:
    said = words(client, "")
    assert "by_region not renewed epoch 3" in said
    assert "ratio in error since epoch 3 epoch 2 , data" in said, "the newest snapshot that has rows of it"
    assert "View ratio is in error since epoch 3: ratio:1:12" in said
    assert "1 drop" in said
    assert "4 rows in the log, not applied" in said
    assert "4 rows 1 file, 0 batches" in said
    assert "0 has the token 4 is overdue 0 – 1 4" in said
    svg = client.get("/test/").text
    assert svg.count('<g class="bar voted">') == 8, "four epochs of two coordinators"
    assert svg.count('<g class="bar open">') == 2
    assert svg.count('<g class="mark commit">') == 4
    assert (svg.count('<g class="mark passed">'), svg.count('<g class="mark failed">')) == (2, 1)


def test_the_newest_backup_is_as_old_as_status_says(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_runtime(project) as rt:
        made = rt.catalog.backups.last()
        assert made is not None
        hours_ago = dataclasses.replace(made, made_at=time.time() - 3 * 3600 - 300)
        monkeypatch.setattr(Backups, "last", lambda _: hours_ago)
        print_status(status_of(rt))
    assert "Newest backup: of epoch 3, made 3 h ago" in capsys.readouterr().out
    client = TestClient(create_app(lambda: [project], anyone))
    assert "Newest backup 3 h 5 min old of epoch 3" in words(client, "")
    monkeypatch.setattr(Backups, "last", lambda _: None)
    assert "Newest backup none backup: in cumulus.yaml makes them" in words(client, "")
    with_backups = dataclasses.replace(project, backup=BackupSettings(project.folder / "backups", 3))
    client = TestClient(create_app(lambda: [with_backups], anyone))
    assert "Newest backup none yet one is made after each snapshot" in words(client, "")


def test_the_coordination_report_says_what_is_waited_for_and_why(client: TestClient) -> None:
    said = words(client, "coordination")
    assert (
        "vote checkpoint every coordinator that takes part in the epoch has voted to end it a snapshot without" in said
    )
    assert "settle checkpoint and finalise no trigger reads a map that events write" in said, "sums need no corrections"
    assert "by_region Run Async with its epoch" in said
    assert 'href="/test/coordination"' in client.get("/test/").text
    picture = client.get("/test/coordination.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "by_region" in picture.text


def test_a_view_shows_its_newest_rows_its_sql_and_its_dataflow(client: TestClient) -> None:
    said = words(client, "views/by_region")
    assert "region STRING total INT n INT east 12 8 north 12 8 south 12 8 west 12 8" in said
    assert "SELECT region, SUM(amount) AS total" in said
    picture = client.get("/test/views/by_region/dataflow.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "by_region_total" in picture.text
    assert "ratio" not in picture.text
    assert "In error since epoch 3" in words(client, "views/ratio")
    assert client.get("/test/views/nothing").status_code == 404
    assert client.get("/test/views/nothing/dataflow.svg").status_code == 404


def test_rows_are_read_from_the_maps_where_nothing_is_published(project: Project) -> None:
    unpublished = dataclasses.replace(project, published=None)
    client = TestClient(create_app(lambda: [unpublished], anyone))
    assert "region STRING total INT n INT east 12 8 north 12 8" in words(client, "views/by_region")
    assert "fails for 8 rows" in words(client, "views/ratio")


def test_a_large_view_is_not_read_where_nothing_is_published(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cumulus_ops.web.rows.READ_ENTRIES", 3)
    client = TestClient(create_app(lambda: [dataclasses.replace(project, published=None)], anyone))
    said = words(client, "views/by_region")
    assert "entries would have to be read: `cumulus query by_region` shows them" in said
    assert "east 12 8" not in said


def test_an_epoch_says_what_its_validation_found(client: TestClient) -> None:
    said = words(client, "epochs/1")
    assert "failed : something is not as it should be" in said
    assert "view x: north" in said
    assert "Not validated yet." in words(client, "epochs/3")
    assert "There is no snapshot yet." in words(client, "epochs/4")
    assert client.get("/test/epochs/99").status_code == 404
    assert client.get("/test/epochs/-1").status_code == 404


def test_epochs_are_listed_newest_first_and_page_by_page(client: TestClient) -> None:
    numbers = re.findall(r'epochs/(\d+)">\d+</a></td>', client.get("/test/epochs").text)
    assert numbers == ["4", "3", "2", "1", "0"]
    assert re.findall(r'epochs/(\d+)">\d+</a></td>', client.get("/test/epochs?before=2").text) == ["1", "0"]


def test_what_was_put_aside_is_said_with_reason_and_hint(client: TestClient) -> None:
    said = words(client, "quarantine")
    assert "sales east 1 1" in said
    assert "F1 0 north – south east" in said, "file, relation, reason, what to do"
    assert "R1 0 0/drop-0 sales 4 north 1, south 1, east 1, west 1" in said
    assert "cumulus quarantine show R1" in said
    assert "cumulus quarantine retry R1 or drop R1" in said
    assert "cumulus quarantine retry F1 or drop F1" in said
    assert "Nothing lies there that nobody takes." in said
    assert "No row came twice." in said


def test_what_nobody_takes_and_what_came_twice_is_said(project: Project) -> None:
    lost = project.landing / "1" / "lost.csv"
    lost.touch()
    database = sqlite3.connect(project.state / "catalog.db", isolation_level=None)
    database.execute("""UPDATE batch SET duplicates = 3 WHERE coordinator = 1 AND "drop" = 'drop-2'""")
    try:
        said = words(TestClient(create_app(lambda: [project], anyone)), "quarantine")
        assert "1/lost.csv is a file beside the drops a drop is a folder" in said
        assert "and count once epoch delivery rows 2 1/drop-2 3" in said
    finally:
        lost.unlink()
        database.execute("UPDATE batch SET duplicates = 0")
        database.close()


def test_what_waits_in_sources_is_not_known_and_those_that_stand_still_are(project: Project) -> None:
    sources = [SourceSettings(name, "delta", who, {}) for name, who in (("lake", 1), ("pond", 1), ("moon", 7))]  # type: ignore[arg-type]
    client = TestClient(create_app(lambda: [dataclasses.replace(project, sources=tuple(sources))], anyone))
    assert "what waits in 3 sources is not known" in words(client, "")
    with contextlib.closing(Catalog(project.catalog_url, project.state)) as catalog:
        catalog.problems.source_stands_still("pond", "it is <b>dry</b>")
        catalog.problems.source_stands_still("ocean", "is not named any more")
        said = words(client, "")
        for name in ("pond", "ocean"):
            catalog.problems.source_goes_on(name)
    assert "pond delta 1 stands still , for 0 s – not known" in said
    assert "lake delta 1 not begun – not known" in said
    assert "Source pond stands still, for 0 s : it is &lt;b&gt;dry&lt;/b&gt;" in said
    assert "ocean" not in said
    assert "moon delta 7 stands still – not known" in said
    assert "Source moon stands still: there is no coordinator 7 to ask it" in said
    assert "pond delta 1 not begun" in words(client, "")


def test_a_report_is_found_by_its_epoch(client: TestClient, project: Project) -> None:
    page = project.reports / PAGES / "views" / "test, epoch 1" / "2026" / "x.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>the report")
    answer = client.get("/test/epochs/1/report")
    assert answer.text == "<p>the report"
    assert answer.url.path.startswith("/test/reports/")
    assert "style-src 'unsafe-inline'" in answer.headers["content-security-policy"]
    assert "script" not in answer.headers["content-security-policy"]
    assert client.get("/test/epochs/3/report").url.path == "/test/epochs/3", "there is none yet"


@pytest.mark.parametrize(
    "path",
    ["../state/catalog.db", "..%2f..%2fetc%2fpasswd", "%2fetc%2fhostname", "gx/great_expectations.yml", ".", "",
     "link.html", "index.html%00", "a" * 5000],
)  # fmt: skip
def test_reports_are_pages_of_their_folder_and_nothing_else(client: TestClient, project: Project, path: str) -> None:
    link = project.reports / "link.html"
    if not link.is_symlink():
        (project.folder / "secret.html").write_text("secret")
        link.symlink_to(project.folder / "secret.html")
    assert client.get(f"/test/reports/{path}").status_code == 404


def test_a_report_file_is_itself(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text("")
    assert report_file(tmp_path, "a/b.html") == (tmp_path / "a" / "b.html").resolve()
    assert report_file(tmp_path, "a/../../b.html") is None


def test_every_answer_is_framed_by_its_own_host_only_and_loads_nothing_else(client: TestClient) -> None:
    for address in (*ADDRESSES, "reports/index.html", "nowhere"):
        headers = client.get(f"/test/{address}").headers
        assert "frame-ancestors 'self'" in headers["content-security-policy"], address
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
    for address in ADDRESSES:
        text = client.get(f"/test/{address}").text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "://" not in text
        assert not re.search(r"<script>|\son\w+=|\sstyle=", text), "what the policy would stop"


def test_nothing_is_said_to_who_may_not_read(project: Project) -> None:
    asked = []

    async def nobody(request: Request, name: str) -> None:
        asked.append(name)
        raise HTTPException(401, "Not authenticated")

    client = TestClient(create_app(lambda: [project], nobody))
    for address in ("/", *(f"/test/{a}" for a in (*ADDRESSES, "reports/index.html", "epochs/1/report")), "/other/"):
        answer = client.get(address, follow_redirects=False)
        assert (answer.status_code, answer.text) == (401, '{"detail":"Not authenticated"}'), address
    assert set(asked) == {"test", "other"}
    assert client.get("/static/style.css").status_code == 200


def test_what_is_wrong_with_a_project_is_not_told_to_everybody(project: Project) -> None:
    def broken() -> list[Project]:
        raise InputProblem("unknown key 'secret'", place="/home/me/cumulus.yaml:3", hint="see secret")

    async def nobody(request: Request, name: str) -> None:
        raise HTTPException(401, "Not authenticated")

    for address, status in (("/", 503), ("/test/", 401)):
        answer = TestClient(create_app(broken, nobody)).get(address, follow_redirects=False)
        assert answer.status_code == status
        assert not re.search("secret|cumulus.yaml", answer.text), address
    assert "secret" in TestClient(create_app(broken, anyone)).get("/test/").text


@pytest.mark.parametrize("before", ["99999999999999999999", "-5", "x"])
def test_epochs_before_one_that_cannot_be(client: TestClient, before: str) -> None:
    assert client.get(f"/test/epochs?before={before}").status_code == 422


def test_a_project_that_is_not_there_or_not_ready_is_said_so(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/other/").status_code == 404
    raw = make_project(tmp_path, [SALES], views={"v": "SELECT COUNT(*) AS n FROM sales"})
    answer = TestClient(create_app(lambda: [raw], anyone)).get("/test/")
    assert answer.status_code == 503
    assert "cumulus init" in answer.text
    initialise(raw)
    fresh = TestClient(create_app(lambda: [raw], anyone))
    assert "no snapshot yet" in words(fresh, "")
    assert "there is no snapshot yet" in words(fresh, "views/v")


def one_view(folder: Path) -> Project:
    project = make_project(folder, [SALES], views={"v": "SELECT region, COUNT(*) AS n FROM sales GROUP BY region"})
    initialise(project)
    return project


def test_a_catalog_that_does_not_answer_is_a_page_that_says_what_to_do(project: Project) -> None:
    lost = dataclasses.replace(project, catalog_url=f"postgresql://me:hush@127.0.0.1:{free_port()}/x")
    client = TestClient(create_app(lambda: [lost], anyone))
    for address in ("", "views/by_region", "views/by_region/rows.csv", "epochs", "quarantine", "coordination"):
        answer = client.get(f"/test/{address}")
        assert answer.status_code == 503, address
        assert "the catalog cannot be reached" in answer.text, address
        assert "that the server runs" in answer.text
        assert "hush" not in answer.text
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]


def test_a_catalog_that_is_damaged_or_old_is_said_so(tmp_path: Path) -> None:
    project = one_view(tmp_path)
    client = TestClient(create_app(lambda: [project], anyone))
    file = project.state / "catalog.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE alembic_version SET version_num = '0005'")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    answer = client.get("/test/")
    assert (answer.status_code, "`cumulus init` brings" in answer.text) == (503, True)
    file.write_bytes(b"not a database at all" * 1000)
    answer = client.get("/test/")
    assert (answer.status_code, "restore it from a backup" in answer.text) == (503, True)


def test_a_defect_is_a_page_too_and_its_details_are_for_the_log(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> list[Project]:
        raise ZeroDivisionError("something inside")

    answer = TestClient(create_app(broken, anyone)).get("/test/")
    assert answer.status_code == 500
    assert "cumulus doctor" in answer.text
    assert "something inside" not in answer.text
    assert "something inside" in caplog.text


def test_errors_of_who_guards_the_pages_are_not_told(project: Project) -> None:
    async def failing(request: Request, name: str) -> None:
        raise FileNotFoundError(2, "gone", "/etc/airflow/secret.db")

    answer = TestClient(create_app(lambda: [project], failing)).get("/test/")
    assert (answer.status_code, "secret" in answer.text) == (500, False)


def test_rows_without_an_order_are_sorted_and_can_be_downloaded(tmp_path: Path) -> None:
    project = one_view(tmp_path)
    with open_runtime(project) as rt:
        append_events(rt, 0, [("sales", 1, (region, 1)) for region in ("west", "east", "a,b")], "d")
        run_minibatch(rt, 0, ["d"])
        for epoch in (0, 1):
            for coordinator in range(3):
                vote(rt, coordinator, epoch)
            commit(rt, epoch)
        publish(rt, 0)
    client = TestClient(create_app(lambda: [project], anyone))
    said = words(client, "views/v")
    assert "region STRING n INT a,b 1 east 1 west 1" in said
    assert "All 3 rows, of epoch 0; nothing has come in since" in said, said
    assert str(tmp_path / "published" / "v") in said
    csv = client.get("/test/views/v/rows.csv")
    assert csv.text.replace('"', "") == "region,n\na,b,1\neast,1\nwest,1\n"
    assert "attachment" in csv.headers["content-disposition"]
    parquet = client.get("/test/views/v/rows.parquet").content
    assert pq.read_table(io.BytesIO(parquet)).to_pylist()[0] == {"region": "a,b", "n": 1}
    assert client.get("/test/views/v/rows.exe").status_code == 404
    assert client.get("/test/views/w/rows.csv").status_code == 404
    for file in (tmp_path / "published" / "v").glob("*.parquet"):
        file.write_bytes(b"damaged")
    assert "`cumulus recover` publishes it again" in client.get("/test/views/v/rows.csv").text


def test_a_large_view_is_not_downloaded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cumulus_ops.web.rows.READ_ENTRIES", 3)
    answer = TestClient(create_app(lambda: [project], anyone)).get("/test/views/by_region/rows.csv")
    assert (answer.status_code, "cumulus query by_region --output rows.csv" in answer.text) == (503, True)


def test_corrections_are_shown_where_a_view_had_some(tmp_path: Path) -> None:
    views = {"a": "SELECT SUM(amount) AS s FROM sales", "b": "SELECT COUNT(*) AS n FROM other"}
    other = Relation("other", (Column("x", INT),))
    project = make_project(tmp_path, [SALES, other], views=views, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        append_events(rt, 0, [("sales", 1, ("r", 1))], "d")
        run_minibatch(rt, 0, ["d"])
        group = next(g.name for g in rt.plan.groups.values() if any(m.startswith("a_") for m in g.members))
        vote(rt, 0, 0)
        commit(rt, 0)
        publish(rt, 0)
    with contextlib.closing(sqlite3.connect(project.state / "catalog.db")) as database:
        database.execute("INSERT INTO correction VALUES (9, 0, 5, ?)", (json.dumps([group]),))
        database.commit()
    text = TestClient(create_app(lambda: [project], anyone)).get("/test/").text
    titles = dict(re.findall(r'views/(a|b)">.*?<title>([^<]*)</title>', text, re.DOTALL))
    assert titles == {"a": "1 row in epoch 0; corrected in 1 of these epochs", "b": "1 row in epoch 0"}


def test_pages_are_quick_for_a_long_history_and_wait_for_no_writer(tmp_path: Path) -> None:
    views = {f"v{i}": f"SELECT region, SUM(amount) + {i} AS total FROM sales GROUP BY region" for i in range(50)}
    project = make_project(tmp_path, [SALES], views=views, coordinators=3)
    initialise(project)
    database = sqlite3.connect(project.state / "catalog.db", isolation_level=None)
    long_history(database, views, 1000)
    client = TestClient(create_app(lambda: [project], anyone))
    client.get("/test/")  # compiles templates, reads the program
    database.execute("BEGIN IMMEDIATE")  # somebody writes
    for address in ("", "views/v7", "epochs", "epochs/500", "quarantine"):
        assert min(cpu_of(client, f"/test/{address}") for _ in range(3)) < 0.8, address
    database.execute("COMMIT")
    database.close()
    assert "v49" in client.get("/test/").text


def cpu_of(client: TestClient, address: str) -> float:
    """The CPU seconds of a page, so that other processes do not count; other threads of this one, and its garbage, do."""
    started = time.process_time()
    assert client.get(address).status_code == 200
    return time.process_time() - started


def long_history(database: sqlite3.Connection, views: dict[str, str], epochs: int) -> None:
    """As the catalog is after many epochs, without running them."""
    at = "2026-01-01 00:00:00.000000"
    database.execute("BEGIN")
    for epoch in range(epochs):
        database.execute(SNAPSHOT, (epoch, epoch, epoch + 1, at))
        database.execute("INSERT INTO validation VALUES (?, '[]', '', 1.0, ?, 'passed', NULL, NULL)", (epoch, at))
        database.execute("INSERT INTO correction VALUES (?, ?, 12, NULL)", (epoch + 1, epoch))
        for c in range(3):
            database.execute("INSERT INTO boundary VALUES (?, ?, ?, 'clock')", (epoch, c, 1767225600.0 + epoch * 60))
            database.execute("INSERT INTO vote VALUES (?, ?, ?, NULL, NULL)", (c, epoch, at))
            for part in range(3):
                database.execute(BATCH, (c, f"d{epoch}", epoch, part))
        for view in views:
            database.execute("INSERT INTO published VALUES (?, ?, ?, ?)", (view, epoch, epoch, epoch))
        database.execute("INSERT INTO view_error VALUES ('v3', ?, 'k', 'm', 'p', 'h')", (epoch,))
    database.execute("UPDATE coordinator SET epoch = ?", (epochs,))
    database.execute("COMMIT")


SNAPSHOT = """INSERT INTO snapshot (epoch, version, "commit", entries, seconds, committed_at)
    VALUES (?, ?, ?, 1000, 0.5, ?)"""
BATCH = """INSERT INTO batch (coordinator, "drop", epoch, first_sequence, next_sequence, inserts, deletes, quarantined,
    duplicates, state, seconds, part, failures, unended, space, deaths)
    VALUES (?, ?, ?, 0, 10, 10, 0, 1, 1, 'retired', 0.1, ?, 0, 0, '', 0)"""
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)


def test_a_timeline_is_staggered_as_it_was() -> None:
    rhythm = Rhythm(START, 30 * SECOND, 3)
    ends = [Transition(e, c, rhythm.end(c, e), "clock", rhythm.end(c, e) + SECOND) for e in (0, 1) for c in range(3)]
    ends[4] = dataclasses.replace(ends[4], fenced="gone for 1 h")
    numbers = [EpochNumbers(0, committed_at=START + 52 * SECOND, validated_at=START + 55 * SECOND, outcome="passed")]
    drawn = draw_timeline(ends, numbers, rhythm, START + 90 * SECOND)
    assert drawn is not None
    begins = {(b.title.split(",")[0], b.epoch): b.x for b in drawn.bars}
    period = begins["coordinator 1", 1] - begins["coordinator 0", 1]
    assert period == pytest.approx(begins["coordinator 2", 1] - begins["coordinator 1", 1], abs=0.2)
    assert [b.state for b in drawn.bars].count("open") == 3
    assert [(b.epoch, b.state) for b in drawn.bars if b.state == "fenced"] == [(1, "fenced")]
    assert {m.kind for m in drawn.marks} == {"vote", "fence", "commit", "passed"}
    assert all(b.x + b.width <= drawn.width for b in drawn.bars)


def test_a_timeline_of_who_catches_up_follows_the_votes() -> None:
    rhythm = Rhythm(START, 30 * SECOND, 1)
    late = START + datetime.timedelta(days=300)
    ends = [Transition(e, 0, rhythm.end(0, e), "clock", late + e * SECOND) for e in range(4)]
    drawn = draw_timeline(ends, [], rhythm, late + 5 * SECOND)
    assert drawn is not None
    widths = [b.width for b in drawn.bars if b.epoch in (1, 2, 3)]
    assert min(widths) > 5, "they would be too small to see beside 300 days"
    assert draw_timeline([], [], rhythm, late) is None


def test_a_sparkline_has_gaps_where_there_are_no_rows() -> None:
    drawn = sparkline([3, 4, 5, 6], [(3, 10), (5, 20)], {4, 9})
    assert len(drawn.line.split()) == 2
    assert drawn.bars.count("M") == 1
    assert drawn.title == "20 rows in epoch 5; corrected in 2 of these epochs"
    assert sparkline([], [], set()).line == ""
