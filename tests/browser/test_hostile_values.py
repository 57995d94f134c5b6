"""Values that are markup are text in every page: no script runs, nothing is asked of anybody else, and the page looks as it should."""

import random
import re

import pyarrow as pa
import pytest

from cumulus_ops.catalog import Validation
from cumulus_ops.validation.checkpoint import _checked, _Found
from cumulus_ops.validation.index import report_pages, write_index
from cumulus_ops.validation.request import ValidationRequest, ViewToValidate, ViewVerdict
from tests.support.payloads import payloads

pytestmark = pytest.mark.browser
SEED = random.randrange(10_000)
PAYLOADS = payloads(SEED, 150)
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
    asked = ValidationRequest("shop", 3, views, (), {}, folder, (0, 1), {0: 3, 1: 2}, groups)
    assert not _checked(asked, _Found(verdicts, pa.table(rows))).success
    write_index(folder, "shop", [Validation(3, False, tuple(PAYLOADS), "", 1.0)], (), {3: tuple(PAYLOADS)})
    return folder


def opened(page, address):
    """What the page asked for, and what it did, when it was opened and had the time to."""
    page.context.set_offline(True)
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


def test_a_page_that_lets_markup_through_would_be_noticed(tmp_path, page):
    """The test can fail: each kind of payload does something in a page that does not escape it, or its policy stops it."""
    (tmp_path / "unsafe.html").write_text("<title>shop</title><table><tr><td>" + "".join(payloads(SEED, 60)), "utf-8")
    asked, done = opened(page, (tmp_path / "unsafe.html").as_uri())
    assert len(asked) > 1 or done or page.title() != "shop"
