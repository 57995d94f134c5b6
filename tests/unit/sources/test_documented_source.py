"""The source of one's own in docs/sources.md runs as it is written there, and keeps what sources have to keep."""

from __future__ import annotations

import re
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.foreign import make_source
from tests.support.source_contract import check_source, log_rows

PAGE = Path(__file__).parents[3] / "docs" / "sources.md"
ROWS = [
    (1, 7, "I", 1, "1.50"), (2, 7, "I", 2, "2.50"), (3, 8, "D", 1, "1.50"), (4, 8, "I", 1, "9.99"), (5, 9, "I", 3, "1"),
]  # fmt: skip


def block(language: str, number: int) -> str:
    found: str = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "outbox.py").write_text(block("python", 0).replace("50_000", "2"))
    (tmp_path / "cumulus.yaml").write_text(block("yaml", 1) + "executor: {kind: inprocess}\n")
    (tmp_path / "revenue.sql").write_text("SELECT SUM(price) AS revenue FROM orders")
    monkeypatch.syspath_prepend(tmp_path)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE outbox (seq INTEGER PRIMARY KEY, tx INTEGER, op TEXT, id INTEGER, price TEXT)")
        connection.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", ROWS)
    return load_project(tmp_path)


def test_it_keeps_what_sources_have_to_keep(project: Project) -> None:
    (settings,) = project.sources
    check_source(project, lambda catalog: make_source(project, settings, catalog))


def test_its_rows_are_in_the_log(project: Project) -> None:
    initialise(project)
    with open_runtime(project) as rt:
        names = set()
        while report := run_minibatch(rt, 0):
            names.add(report.drop)
        assert names == {"outbox-0", "outbox-2", "outbox-4"}
        assert sum(
            int(str(row[1])) * Decimal(str(row[-1])) for row in log_rows(project, rt.catalog).elements()
        ) == Decimal("13.49")
