"""Values that are markup are text in every page: no script runs, nothing is asked of anybody else, and the page looks as it should."""

import random
import re
import threading
from unittest.mock import patch
from urllib.parse import quote

import pyarrow as pa
import pytest
import uvicorn

from cumulus_ops.catalog.records import Validation
from cumulus_ops.local.processes import free_port
from cumulus_ops.validation.checkpoint import _check
from cumulus_ops.validation.judge import Compared, Terms
from cumulus_ops.validation.reports import report_pages, write_index
from cumulus_ops.validation.request import ValidationRequest, ViewToValidate, ViewVerdict
from cumulus_ops.web import create_app
from expectations import snapshot
from tests.support.payloads import payloads
from tests.support.shown import shown_project

pytestmark = pytest.mark.browser
SEED = random.randrange(10_000)
PAYLOADS = payloads(SEED, 80)
ODD = '<b onclick=alert(1)>odd & "name"'
VIEW = '"odd <script>name</script>"'


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of an epoch in which everything is wrong, with a payload wherever a value can be."""
    folder = tmp_path_factory.mktemp("reports")
    differences = tuple(("missing", f"region = {p}", p, p, p) for p in PAYLOADS)
    verdicts = [
        ViewVerdict(VIEW, "differs", PAYLOADS[0], differences),
        ViewVerdict(PAYLOADS[1], "unproved", PAYLOADS[2]),
    ]
    rows = {"relation": PAYLOADS[:20], "row": PAYLOADS[20:40], "_multiplicity": [-1] * 20}
    groups = pa.table({"view": PAYLOADS[:20], "group": PAYLOADS[20:40], "rows": pa.array([0] * 20, pa.int64())})
    views = tuple(ViewToValidate(v.view, "", (), None) for v in verdicts)
    compared = [Compared(v.view, None, None, None, Terms()) for v in verdicts]
    asked = ValidationRequest("shop", 3, views, (), {}, folder, (0, 1), {0: 3, 1: 2}, groups)
    with patch.object(snapshot, "judge", lambda row: next(v for v in verdicts if v.view == row["view"])):
        assert not _check(asked, compared, pa.table(rows))[0].success
    half = len(PAYLOADS) // 2
    unproved = {p: ("unproved", p) for p in PAYLOADS[:half]}
    write_index(
        folder, "shop", [Validation(3, "failed", tuple(PAYLOADS[half:]), "", 1.0, unproved)], (), {3: tuple(PAYLOADS)}
    )
    return folder


def opened(page, address, *, offline=True):
    """What the page asked for, and what it did, when it was opened and had the time to."""
    page.context.set_offline(offline)
    asked, done = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (done.append(dialog.message), dialog.dismiss()))
    page.on("popup", lambda popup: done.append(popup.url))
    page.goto(address, wait_until="load")
    for control in page.locator("td, pre").all()[:20]:
        control.hover(force=True)
    return asked, done


def styled(page):
    """Whether the page's own style counts: it has collapsed tables' borders."""
    return page.locator("table").first.evaluate("table => getComputedStyle(table).borderCollapse") == "collapse"


def test_reports_show_payloads_as_text(reports, page):
    found = report_pages(reports, "shop", 3)
    assert set(found) == {"coordinators", "event log", "groups", "views"}
    for path in ["index.html", *found.values()]:
        address = (reports / path).as_uri()
        asked, done = opened(page, address)
        assert (asked, done) == ([address], []), f"seed {SEED}, {path}"
        assert re.match("shop", page.title()), f"seed {SEED}, {path}"
        assert styled(page)
        assert page.locator("script, img, iframe, svg, form, base, object, template, link").count() == 0


def test_reports_show_payloads_exactly(reports, page):
    found = report_pages(reports, "shop", 3)
    page.goto((reports / found["views"]).as_uri())
    shown = page.locator("table.inner tbody tr td:nth-child(4)").all_text_contents()
    assert shown == PAYLOADS, f"seed {SEED}"
    assert VIEW in page.locator("td:nth-child(2)").first.text_content()
    page.goto((reports / "index.html").as_uri())
    assert page.locator("pre:not(.expired)").all_text_contents() == PAYLOADS, f"seed {SEED}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of Cumulus's pages about a project with payloads wherever a value can be."""

    async def anyone(request, project):
        """Lets everybody in."""

    project = shown_project(tmp_path_factory.mktemp("shown"), PAYLOADS, name=ODD)
    server = uvicorn.Server(
        uvicorn.Config(create_app(lambda: [project], anyone), port=free_port(), log_level="critical", lifespan="off")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.config.port}/test/"
    server.should_exit = True
    thread.join()


def test_pages_show_payloads_as_text(site, page):
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(site[:-5]) else route.abort())
    for path in ("", f"views/{quote(ODD, safe='')}", "views/ratio", "epochs", "epochs/1", "quarantine"):
        asked, done = opened(page, site + path, offline=False)
        assert done == [], f"seed {SEED}, {path}"
        assert all(url.startswith(site[:-5]) for url in asked), f"seed {SEED}, {path}: {asked}"
        assert page.title().endswith("· Cumulus"), f"seed {SEED}, {path}"
        assert styled(page)
        assert page.locator("iframe, form, base, object, template, style, math, [onload], [onerror]").count() == 0
        assert page.locator("script").count() == 1, "our own"
    page.goto(site + f"views/{quote(ODD, safe='')}")
    shown = page.locator("table.data tbody tr td:first-child").all_text_contents()
    assert shown == sorted(PAYLOADS)[: len(shown)], f"seed {SEED}"
    assert len(shown) == 50
    assert page.locator("h1").text_content() == ODD
    assert page.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_the_overview_says_how_old_the_newest_backup_is(site, page):
    page.goto(site)
    tile = page.locator(".tile").filter(has=page.get_by_role("heading", name="Newest backup"))
    assert re.fullmatch(r"Newest backup\s+\d+ (s|min.*) old\s+of epoch 3", tile.inner_text().strip())


def test_pages_are_light_or_dark_as_the_system_or_airflow_is(site, browser):
    for system, chosen, dark in (("light", None, 0), ("dark", None, 1), ("light", "dark", 1), ("dark", "light", 0)):
        page = browser.new_page(color_scheme=system)
        page.goto(site)
        if chosen:
            page.evaluate("chosen => localStorage.setItem('theme', chosen)", chosen)
            page.reload()
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert color == ("rgb(16, 21, 28)" if dark else "rgb(255, 255, 255)"), (system, chosen)
        page.close()


def test_a_page_that_lets_markup_through_would_be_noticed(tmp_path, page):
    """The test can fail: each kind of payload does something in a page that does not escape it, or its policy stops it."""
    (tmp_path / "unsafe.html").write_text("<title>shop</title><table><tr><td>" + "".join(payloads(SEED, 60)), "utf-8")
    asked, done = opened(page, (tmp_path / "unsafe.html").as_uri())
    assert len(asked) > 1 or done or page.title() != "shop"
