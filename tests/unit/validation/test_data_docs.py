"""The pages of results are made by our own templates, those of older reports, too."""

from __future__ import annotations

import doctest
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from cumulus_ops import templates
from cumulus_ops.validation import data_docs
from cumulus_ops.validation.checkpoint import IMPOSSIBLE, _check
from cumulus_ops.validation.judge import Compared, Terms
from cumulus_ops.validation.reports import SITE_FOLDER, report_pages
from cumulus_ops.validation.request import ValidationRequest, ViewToValidate, write_arrow


def checked(folder: Path, epoch: int) -> None:
    request = ValidationRequest(
        "shop", epoch, (ViewToValidate("q", "", (), None),), (), {}, folder, (0,), {0: epoch}, None
    )
    rows = pa.table({"region": ["<b>"], "total": [1]})
    held = write_arrow(rows, folder / f"held-{epoch}.arrow")
    due = write_arrow(rows.set_column(1, "total", pa.array([2])), folder / f"due-{epoch}.arrow")
    compared = Compared("q", held, None, due, Terms(keys=("region",)))
    _check(request, [compared], IMPOSSIBLE.empty_table())


def test_older_pages_are_made_anew_and_newer_ones_are_left_alone(tmp_path: Path) -> None:
    with patch.object(data_docs, "use_plain_site"):
        checked(tmp_path, 0)  # as Great Expectations makes them
    old = (tmp_path / report_pages(tmp_path, "shop", 0)["views"]).read_text()
    assert "<script" in old
    checked(tmp_path, 1)
    pages = list((tmp_path / SITE_FOLDER).rglob("*.html"))
    assert len(pages) == 6
    assert not any(word in page.read_text() for page in pages for word in ("<script", "://", "<b>"))
    assert all("region = &lt;b&gt;" in page.read_text() for page in pages if "/views/" in str(page))
    for page in pages:
        page.write_text("kept")
    checked(tmp_path, 2)
    assert sum(page.read_text() == "kept" for page in pages) == len(pages)


def test_expectations_without_a_sentence_are_named(tmp_path: Path) -> None:
    class Configuration:
        type, kwargs = "expect_nothing", {"column": "<x>", "batch_id": "b"}

    assert data_docs._sentence(Configuration()) == "expect_nothing(column=<x>)"


def test_the_example_of_templates_is_true() -> None:
    assert doctest.testmod(templates).attempted
    assert doctest.testmod(templates).failed == 0
