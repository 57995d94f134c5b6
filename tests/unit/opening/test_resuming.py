"""A step that loses what it needs waits for it, begins again and says so; one that fails for another reason, or again and again, fails."""

from __future__ import annotations

import dataclasses
import math
import socket
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy.exc import InterfaceError, OperationalError

from cumulus_ops.opening import resuming
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.project.errors import Conflict, SetupProblem
from cumulus_ops.project.interruptions import Interruption, interruptions, note
from cumulus_ops.project.settings import ExecutorSettings, Project
from cumulus_ops.publishing.telling import describe_failure
from tests.support.drops import make_shop

DROPPED = OperationalError("COMMIT", {}, psycopg2.OperationalError("server closed the connection unexpectedly"))
CLOSED = InterfaceError(
    "SELECT 1", {}, psycopg2.InterfaceError("connection already closed"), connection_invalidated=True
)


class SparkConnectGrpcException(Exception):
    """As Spark's client names it."""


class SparkException(Exception):
    """The same."""


for made in (SparkConnectGrpcException, SparkException):
    made.__module__ = "pyspark.errors.exceptions.connect"
THERE = SparkException(
    "An exception was thrown from the Python worker. Please see the stack trace below.\nValueError: wrong"
)
CHANGED = SparkConnectGrpcException("[INVALID_HANDLE.SESSION_CHANGED] The handle is invalid")
CRASHED = SparkException("Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)")
ENDED = SparkException("EOFException occurred while reading the port number from worker_daemon's stdout and terminated")
UNAVAILABLE = SparkConnectGrpcException(
    '<_MultiThreadedRendezvous of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "failed to \\"connect\\""\n\tdebug_error_string = "x"\n>'
)
STOPPED = SparkException("(java.lang.IllegalStateException) Cannot call methods on a stopped SparkContext.")
WRONG = SparkException("[DIVIDE_BY_ZERO] Division by zero")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose catalog is a server's, which answers."""
    monkeypatch.setattr(resuming, "answers", lambda _: True)
    project = make_shop(tmp_path, periods=0, catalog_url="postgresql://me@127.0.0.1/shop")
    project.state.mkdir(parents=True, exist_ok=True)
    return project


def failing(*errors: Exception) -> tuple[Callable[[Project], str], list[Exception]]:
    """A step that raises them in turn before it is done, and those that it has not raised yet."""
    left = list(errors)

    @resumes
    def apply_all(_project: Project) -> str:
        if left:
            raise left.pop(0)
        return "done"

    return apply_all, left


@pytest.mark.parametrize("error", [DROPPED, CLOSED, CHANGED, CRASHED, ENDED, STOPPED], ids=lambda e: str(e)[:20])
def test_what_is_lost_is_waited_for_and_the_step_begins_again(error: Exception, shop: Project) -> None:
    step, left = failing(error, error)
    assert step(shop) == "done"
    assert not left
    (one,) = {(i.part, i.then) for i in interruptions(shop.state, 9)}
    assert one == ("the catalog's database" if error in (DROPPED, CLOSED) else "Spark", "`apply` was done again")


@pytest.mark.parametrize(
    "error",
    [
        WRONG,
        THERE,
        ValueError("wrong"),
        Conflict("merged", kind="merge-conflict"),
        SetupProblem("no", kind="catalog-refused"),
    ],
    ids=repr,
)
def test_another_failure_is_one(error: Exception, shop: Project) -> None:
    step, left = failing(error, DROPPED)
    with pytest.raises(type(error)):
        step(shop)
    assert left == [DROPPED]
    assert not interruptions(shop.state, 9)


def test_what_was_gone_is_said_in_plain_words(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "is_spark_lost", lambda error: error is UNAVAILABLE)
    step, _ = failing(UNAVAILABLE)
    assert step(shop) == "done"
    (one,) = interruptions(shop.state, 9)
    assert one.why == r"failed to \"connect\""
    assert describe_failure(shop, UNAVAILABLE) == f"SparkConnectGrpcException: {one.why}"


def test_a_file_is_no_server(shop: Project) -> None:
    file = dataclasses.replace(shop, catalog_url="sqlite:///x")
    step, _ = failing(OperationalError("BEGIN", {}, sqlite3.OperationalError("disk I/O error")))
    with pytest.raises(OperationalError):
        step(file)


def test_what_is_lost_at_once_again_and_again_is_no_accident(shop: Project) -> None:
    step, left = failing(*[DROPPED] * 99)
    with pytest.raises(OperationalError):
        step(shop)
    assert len(left) == 99 - resuming.LOSSES - 1


def test_what_does_not_come_back_fails_with_what_was_said_first(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "answers", lambda _: False)
    monkeypatch.setattr(resuming, "WAIT_S", 0.0)
    step, left = failing(DROPPED, CLOSED)
    with pytest.raises(OperationalError, match="closed the connection"):
        step(shop)
    assert left == [CLOSED]


def test_a_server_of_spark_is_waited_for(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "MOST_S", 0.05)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        remote = ExecutorSettings(kind="spark", remote=f"sc://localhost:{server.getsockname()[1]}/;token=hidden")
        step, left = failing(CHANGED)
        threading.Timer(0.2, server.listen).start()
        assert step(dataclasses.replace(shop, executor=remote)) == "done"
    (found,) = interruptions(shop.state, 9)
    assert found.until - found.since > 0.1
    assert not left


def test_what_several_have_seen_is_one_and_half_a_line_is_none(tmp_path: Path) -> None:
    note(tmp_path, Interruption("Spark", 100.0, 160.0, "killed", "it was started again"))
    note(tmp_path, Interruption("the catalog's database", 110.0, 120.0, "closed", "`apply` was done again"))
    note(tmp_path, Interruption("Spark", 104.0, 161.0, "refused", "`apply` was done again"))
    note(tmp_path, Interruption("Spark", 105.0, 160.0, "refused", "`apply` was done again"))
    note(tmp_path, Interruption("Spark", 300.0, 300.2, "", "`vote` was done again"))
    with (tmp_path / "interruptions.jsonl").open("a") as file:
        file.write('{"part": "Sp')
    assert [str(i) for i in interruptions(tmp_path, 9, math.inf)] == [
        "1970-01-01 00:05:00 UTC: Spark; `vote` was done again",
        "1970-01-01 00:01:50 to 00:02:00 UTC: the catalog's database (closed); `apply` was done again",
        "1970-01-01 00:01:40 to 00:02:41 UTC: Spark (killed); it was started again, `apply` was done again",
    ]
    assert len(interruptions(tmp_path, 1, math.inf)) == 1
    assert not interruptions(tmp_path)
