"""The pages of results are made by our own templates, those of older reports, too."""

from __future__ import annotations

import doctest
from pathlib import Path

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
    checked(tmp_path, 0)
    for page in (tmp_path / SITE_FOLDER).rglob("*.html"):
        page.write_text("<script>")  # as Great Expectations makes them
    (tmp_path / SITE_FOLDER / data_docs.EDITION_FILE).unlink()
    checked(tmp_path, 1)
    pages = list((tmp_path / SITE_FOLDER).rglob("*.html"))
    assert len(pages) == 6
    assert not any(word in page.read_text() for page in pages for word in ("<script", "://", "<b>"))
    assert all("region = &lt;b&gt;" in page.read_text() for page in pages if "/views/" in str(page))
    for page in pages:
        page.write_text("kept")
    checked(tmp_path, 2)
    assert sum(page.read_text() == "kept" for page in pages) == len(pages)


def test_whoever_is_killed_while_he_writes_leaves_the_next_alone(tmp_path: Path) -> None:
    """Also one of before, when what Great Expectations keeps was in files, and written in place."""
    checked(tmp_path, 0)
    written = {file.relative_to(tmp_path) for file in tmp_path.rglob("*") if file.is_file() and "gx" in file.parts}
    is_kept = {file.is_relative_to(data_docs.RESULTS) or file.is_relative_to(SITE_FOLDER) for file in written}
    assert is_kept == {True}
    for name in (
        "great_expectations.yml",
        "expectations/views.json",
        "validation_definitions/views.json",
        "checkpoints/proof.json",
    ):
        (tmp_path / "gx" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "gx" / name).touch()
    for file in written:
        (tmp_path / file).write_text("")
    checked(tmp_path, 0)
    pages = report_pages(tmp_path, "shop", 0).values()
    assert len(pages) == 3
    assert all("shop, epoch 0" in (tmp_path / page).read_text() for page in pages)


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    kept = data_docs.WholeFiles(base_directory=str(tmp_path), filepath_suffix=".json", suppress_store_backend_id=True)
    kept.set(("a", "b"), "1")
    file = tmp_path / "a" / "b.json"
    before = file.stat().st_ino
    kept.set(("a", "b"), "2")
    assert (file.read_text(), file.stat().st_ino == before) == ("2", False)
    assert [path.name for path in file.parent.iterdir()] == ["b.json"]


def test_expectations_without_a_sentence_are_named(tmp_path: Path) -> None:
    class Configuration:
        type, kwargs = "expect_nothing", {"column": "<x>", "batch_id": "b"}

    assert data_docs._sentence(Configuration()) == "expect_nothing(column=<x>)"


def test_the_example_of_templates_is_true() -> None:
    assert doctest.testmod(templates).attempted
    assert doctest.testmod(templates).failed == 0
