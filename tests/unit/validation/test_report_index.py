"""The start page of the reports: plain, safe, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from cumulus_ops.catalog.records import Validation
from cumulus_ops.validation.reports import PAGES, write_index


def _page(folder: Path, suite: str, run: str, time: str) -> Path:
    page = folder / PAGES / suite / run / time / "cumulus-x.html"
    page.parent.mkdir(parents=True)
    page.write_text("page")
    return page


def test_lists_epochs_newest_first_with_links_that_exist(tmp_path: Path) -> None:
    _page(tmp_path, "view q1", "shop, epoch 0", "2026")
    old = _page(tmp_path, "view q1", "shop, epoch 1", "2026")
    new = _page(tmp_path, "view q1", "shop, epoch 1", "2027")
    outcomes = [Validation(0, "passed", (), "", 1.0), Validation(1, "failed", ("q1: <wrong>",), "", 2.0)]
    text = write_index(tmp_path, "shop", outcomes).read_text()
    links = [tmp_path / unquote(link) for link in re.findall('href="([^"]+)"', text)]
    assert all(link.exists() for link in links)
    assert new in links
    assert old not in links
    assert text.index("<td>1</td>") < text.index("<td>0</td>")
    assert "q1: &lt;wrong&gt;" in text
    assert 'class="failed"' in text


def test_needs_nothing_from_the_web(tmp_path: Path) -> None:
    text = write_index(tmp_path, "shop", [Validation(0, "passed", (), "", 1.0)]).read_text()
    assert "://" not in text
    assert "<script" not in text


def test_says_what_expired_and_what_a_snapshot_is_without(tmp_path: Path) -> None:
    remarks = {2: ("without batch 7 (coordinator 0, drop d<1>, 3 events), which is set aside: KeyError: 'a'",)}
    text = write_index(tmp_path, "shop", [Validation(2, "passed", (), "", 1.0)], [0, 1], remarks).read_text()
    assert [len(re.findall(rf'<td>{e}</td>\s*<td class="expired">expired', text)) for e in (0, 1, 2)] == [1, 1, 0]
    assert "without batch 7 (coordinator 0, drop d&lt;1&gt;, 3 events)" in text
    assert "KeyError: &#39;a&#39;" in text


def test_a_second_page_replaces_the_first_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_index(tmp_path, "shop", [])
    write_index(tmp_path, "shop", [Validation(3, "passed", (), "", 1.0)])
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"]
    assert "<td>3</td>" in (tmp_path / "index.html").read_text()
