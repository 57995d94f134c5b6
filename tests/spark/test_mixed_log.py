"""A snapshot is proved over files of the log that have other columns than the relation has now, by SQL and by the interpreter."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.validation.recompute import recompute_m3
from cumulus_ops.validation.run import validate, verify_log_files
from m3 import parse
from tests.support.projects import append_events, interpret, make_project

pytestmark = pytest.mark.spark

BEFORE = parse("RELATION r(id INT, a DECIMAL(9, 2), b DECIMAL(15, 2), c INT, d DECIMAL(20, 1), gone STRING);").relations
AFTER = parse(
    "RELATION r(c DECIMAL(21, 2), new STRING NULL, id INT, amount DECIMAL(12, 2), b DECIMAL(22, 4), d DECIMAL(38, 3), number INT, price DECIMAL(9, 2), "
    "word STRING, day DATE, at TIMESTAMP NULL, ok BOOL, rate DOUBLE);"
).relations
#: Of columns that are added, what rows have that came without them: as texts, and as what these mean.
DEFAULTS = {
    "number": ("-7", -7),
    "price": ("1.5", Decimal("1.50")),
    "word": ("it's", "it's"),
    "day": ("2026-02-28", datetime.date(2026, 2, 28)),
    "at": ("2026-02-28 12:30:00.000001", datetime.datetime(2026, 2, 28, 12, 30, 0, 1)),
    "ok": ("true", True),
    "rate": ("0.1", 0.1),
}
VIEWS = {"old": "SELECT id, SUM(a) AS s FROM r GROUP BY id"}
CHANGED = {
    "v": "SELECT id, new, SUM(amount) AS a, SUM(b) AS b, SUM(c) AS c, MAX(d) AS d, COUNT(*) AS n FROM r GROUP BY id, new",
    "w": "SELECT number, price, word, day, at, ok, MAX(rate) AS rate, COUNT(*) AS n FROM r GROUP BY number, price, word, day, at, ok",
}


def test_a_log_of_mixed_files_is_proved(spark: SparkSession, tmp_path: Path) -> None:
    project = make_project(tmp_path, BEFORE, views=VIEWS, coordinators=1)
    initialise(project)
    first = [
        (i % 3, Decimal(i) / 100, Decimal(10**12 + i) / 100, 7 - i, Decimal(10**18 + i) / 10, "x") for i in range(9)
    ]
    with open_runtime(project, "inprocess") as rt:
        append_events(rt, 0, [("r", 1, row) for row in first], "d1")
        run_minibatch(rt, 0)
        run_waiting(rt, validating=False)
    renamed = {"r": {"amount": ("a",)}}
    after = [dataclasses.replace(AFTER[0], defaults=tuple((name, text) for name, (text, _) in DEFAULTS.items()))]
    project = dataclasses.replace(project, relations=tuple(after), views=CHANGED, renamed=renamed)
    with open_runtime(project, "inprocess") as rt:
        deploy(rt)
    with open_runtime(project, "inprocess") as inner:
        rt = dataclasses.replace(inner, executor=SparkExecutor(ExecutorSettings(), spark))
        early = [value for _, value in DEFAULTS.values()]
        as_now = [(row[3], None, row[0], row[1], row[2], row[4], *early) for row in first]
        late = (1, Decimal("2.25"), "", datetime.date(2026, 3, 1), None, False, 0.5)
        second = [(Decimal("1.25"), "n", 1, Decimal("9.99"), Decimal("0.0001"), Decimal("0.125"), *late)]
        append_events(inner, 0, [("r", -1, as_now[0]), *(("r", 1, row) for row in second)], "d2")
        run_minibatch(inner, 0)
        run_waiting(inner, validating=False)
        epoch = rt.catalog.snapshots.newest()
        report = validate(rt, epoch)
        assert report.success, report.failures
        events = [("r", 1, row) for row in (*as_now[1:], *second)]
        interpreter, recomputed = (
            interpret(rt.program, events),
            recompute_m3(rt.program, verify_log_files(rt, epoch), epoch),
        )
        for view, again in recomputed.items():
            right = interpreter.view_rows(view)
            assert sorted(map(repr, right)) == sorted(repr(tuple(row.values())) for row in again.to_pylist())
        assert validate(rt, 0).success
