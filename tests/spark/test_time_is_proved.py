"""Snapshots of views that depend on now() are proved with the time that they have recorded; with another one they are not."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.validation.run import validate
from m3 import parse
from tests.support.projects import append_events, make_project

pytestmark = pytest.mark.spark

RELATIONS = parse("RELATION click(id INT, url INT, at TIMESTAMP);").relations
VIEWS = {"recent": "SELECT url, COUNT(*) AS n FROM click WHERE at > now() - INTERVAL '1 hour' GROUP BY url"}


def test_what_now_is_decides_whether_a_snapshot_is_right(spark: SparkSession, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, views=VIEWS, coordinators=1)
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=6)
    epoch = dataclasses.replace(project.epoch, start=start, length=datetime.timedelta(minutes=30))
    project = dataclasses.replace(project, epoch=epoch)
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = dataclasses.replace(inner, executor=SparkExecutor(ExecutorSettings(), spark))
        begun = start.replace(tzinfo=None)
        rows = [("click", 1, (i, i % 2, begun + i * datetime.timedelta(minutes=20))) for i in range(20)]
        append_events(inner, 0, rows, "d")
        run_minibatch(inner, 0)
        run_waiting(inner, validating=False)
        first, last = (snapshot.epoch for snapshot in rt.catalog.snapshots.own())
        for number in (first, last):
            report = validate(rt, number)
            assert report.success, report.failures
            assert any("now() is" in remark for remark in report.remarks)
        with contextlib.closing(sqlite3.connect(project.catalog_url.removeprefix("sqlite:///"))) as database, database:
            database.execute("UPDATE snapshot SET now = now - 3600000000 WHERE epoch = ?", (last,))
        wrong = validate(rt, last)
        assert not wrong.success
        assert "view recent" in wrong.failures[0]
