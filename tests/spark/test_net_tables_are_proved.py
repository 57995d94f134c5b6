"""A validation reads net tables instead of the log, and proves them: one that is wrong is found, and views are judged by the log."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.files import net_tables
from cumulus_ops.files.log_files import read_log
from cumulus_ops.files.new_files import NewFile
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.validation.run import validate
from m3.datatypes import DOUBLE, INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, make_project

pytestmark = pytest.mark.spark
COLUMNS = (Column("a", INT), Column("p", decimal(9, 2)), Column("t", STRING.with_null()), Column("x", DOUBLE))
R = Relation("r", COLUMNS)
VIEWS = {"v": "SELECT t, SUM(p) AS p, COUNT(*) AS n, MAX(a) AS a FROM r GROUP BY t"}


def _play_epoch(rt: Runtime, epoch: int) -> None:
    def row(i: int, of: int) -> tuple[object, ...]:
        return i, f"{of}.25", None if i % 3 else "ä", -0.0 if of % 2 else 1.5

    new: list[Event] = [("r", 1, row(i, epoch)) for i in range(20)]
    old: list[Event] = [("r", -1, row(i, epoch - 1)) for i in range(20)] if epoch else []
    apply_batch(rt, append_events(rt, 0, _decimal([*new, *old, ("r", 1, row(7, 0))]), f"d{epoch}"))
    vote(rt, 0, epoch)
    commit(rt, epoch)


def _decimal(events: list[Event]) -> list[Event]:
    from decimal import Decimal

    return [(name, sign, (a, Decimal(str(p)), t, x)) for name, sign, (a, p, t, x) in events]


def _plant(rt: Runtime, change: Callable[[pa.Table], pa.Table]) -> None:
    """Another file with the right checksums in place of the newest net table."""
    net = rt.catalog.net_tables.all()[-1]
    file = NewFile(rt.project.state, "net/r", (table := change(read_log(rt.project.state, net.file))).schema)
    file.write(table)
    file.close()
    with contextlib.closing(sqlite3.connect(rt.project.catalog_url.removeprefix("sqlite:///"))) as database, database:
        wrong = (file.path, len(table), file.checksums, net.path)
        database.execute("UPDATE net_table SET path = ?, rows = ?, checksums = ? WHERE path = ?", wrong)


def test_a_wrong_net_table_is_found(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_tables, "LEAST_ROWS", 20)
    monkeypatch.setattr(net_tables, "FILE_ROWS", 1)
    project = dataclasses.replace(make_project(tmp_path, (R,), views=VIEWS, coordinators=1), published=None)
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = dataclasses.replace(inner, executor=SparkExecutor(ExecutorSettings(), spark))
        for epoch in range(5):
            _play_epoch(rt, epoch)
            if epoch == 0:
                assert validate(rt, 0).success  # the first one reads all there is
        report = validate(rt, 4)
        assert report.success, report.failures
        assert report.remarks[0] == "recomputed from net tables of r as of epoch 4, and the log since"
        assert report.statistics["rows"] == 25
        assert [(net.epoch, net.base, net.proved) for net in rt.catalog.net_tables.all()] == [
            (1, None, True),
            (2, 1, True),
            (3, 2, True),
            (4, 3, True),
        ]

        _play_epoch(rt, 5)
        _play_epoch(rt, 6)
        _plant(rt, lambda table: table.slice(1))
        report = validate(rt, 6)
        assert not report.success
        assert [v.outcome for v in report.verdicts] == ["equal"]
        (failure,) = report.failures
        assert failure.startswith("event log: 1 rows of net tables")
        assert "r, net table as of epoch 6" in failure
        assert max(net.epoch for net in rt.catalog.net_tables.all()) == 5

        _play_epoch(rt, 7)
        _plant(rt, lambda table: pa.concat_tables([table, table.slice(3, 1)]))
        report = validate(rt, 7)
        assert len(report.failures) == 1
        assert [v.outcome for v in report.verdicts] == ["equal"]
