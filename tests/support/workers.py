"""Workers of a history in processes of their own: each has its catalog connection, its lease and its memory of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.settings import Project
from tests.support.children import context, start, wait
from tests.support.histories import Corrections, Local, Maps
from tests.support.projects import Event

__all__ = ["Remote", "workers"]


class Remote:
    """Works in another process, one step at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _ask(self, name: str, *args: object) -> Any:
        self._connection.send((name, args))
        outcome, answer = self._connection.recv()
        assert outcome == "done", answer
        return answer

    def append(self, coordinator: int, events: Sequence[Event], drop: str) -> tuple[int, int, int]:
        return self._ask("append", coordinator, events, drop)

    def begin(self, batch: int) -> None:
        self._ask("begin", batch)

    def commit(self, batch: int) -> None:
        self._ask("commit", batch)

    def correct(self) -> Corrections:
        return self._ask("correct")

    def tidy(self) -> None:
        self._ask("tidy")

    def seal(self) -> int | None:
        return self._ask("seal")

    def holder(self) -> int:
        return self._ask("holder")

    def checkpoint(self) -> tuple[int, Maps] | None:
        return self._ask("checkpoint")


def _work(project: Project, connection: Connection) -> None:
    """Do what is asked for until the other end is closed."""
    with open_runtime(project, "inprocess") as rt:
        local = Local(rt)
        while True:
            try:
                name, args = connection.recv()
            except EOFError:
                return
            try:
                answer = "done", getattr(local, name)(*args)
            except Exception as error:
                answer = "failed", repr(error)
            connection.send(answer)


@contextmanager
def workers(project: Project, count: int) -> Iterator[list[Remote]]:
    """So many processes on an initialised project."""
    pipes = [context().Pipe() for _ in range(count)]
    children = [start(_work, project, theirs) for _, theirs in pipes]
    for _, theirs in pipes:
        theirs.close()
    try:
        yield [Remote(ours) for ours, _ in pipes]
    finally:
        for ours, _ in pipes:
            ours.close()
    assert [wait(child) for child in children] == [0] * count
