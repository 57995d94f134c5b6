"""What is the matter just now: steps that fail, and sources that stand still.

A step says so when it raises, and takes it back when it succeeds: whoever looks at the project need not read the logs of whoever
schedules it. Whoever asks a source says so as well: whoever looks need not ask it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from functools import partial

from sqlalchemy import delete, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, insert_new, now
from cumulus_ops.catalog.epochs import StepProblem, moment_of
from cumulus_ops.catalog.records import StandingSource

__all__ = ["Problems"]

WHOLE = -1  # in the table: of no coordinator

PROBLEM_CHARACTERS = 500

KIND_CHARACTERS = 100


def _names_any(text: str, files: Collection[str]) -> bool:
    """Whether a text names one of the files, and not only one whose name begins alike."""
    return any(re.search(rf"{re.escape(file)}(?![\w./-])", text) for file in files)


class Problems(Part):
    """What is the matter with steps, by their names and coordinators; and with sources, by their names."""

    #: Where the steps of this process are told of at length: an address that people can open.
    log_address = ""
    _failing: set[tuple[str, int]] | None = None

    def step_problems(self) -> list[StepProblem]:
        """The steps that failed when they were tried last, the longest failing first."""
        p = t.step_problem.c
        fields = (p.step, p.coordinator, p.kind, p.problem, p.since, p.at, p.times, p.log)
        return [
            StepProblem(step, None if c == WHOLE else c, kind, problem, moment_of(since), moment_of(at), times, log)
            for step, c, kind, problem, since, at, times, log in self._db.read(
                select(*fields).order_by(p.since, p.step)
            )
        ]

    def step_fails(self, step: str, coordinator: int | None, kind: str, problem: str) -> None:
        """Record that it does; since when, is what it was if it did before.

        Args:
            step: its name.
            coordinator: whose, None for a step of the whole project.
            kind: of the error.
            problem: what it says, of which the first line is kept.
        """
        p, c, at = t.step_problem.c, WHOLE if coordinator is None else coordinator, now().timestamp()
        line = next(iter(problem.strip().splitlines()), "")[:PROBLEM_CHARACTERS]
        values = {"kind": kind[:KIND_CHARACTERS], "problem": line, "log": self.log_address, "at": at}
        with self._db.begin() as connection:
            first = {"step": step, "coordinator": c, **values, "since": at, "times": 1}
            if not insert_new(connection, t.step_problem, [first]):
                again = update(t.step_problem).where(p.step == step, p.coordinator == c)
                connection.execute(again.values(**values, times=p.times + 1))
        if self._failing is not None:
            self._failing.add((step, c))

    def step_succeeds(self, step: str, coordinator: int | None) -> None:
        """Record that it does. What failed before this process began is read once, so that a step costs no statement if none did."""
        p, c = t.step_problem.c, WHOLE if coordinator is None else coordinator
        if self._failing is None:
            self._failing = {(row[0], row[1]) for row in self._db.read(select(p.step, p.coordinator))}
        if (step, c) in self._failing:
            with self._db.begin() as connection:
                connection.execute(delete(t.step_problem).where(p.step == step, p.coordinator == c))
            self._failing.discard((step, c))

    def files_are_whole(
        self, damaged: Collection[str], looked_at: Collection[str] | None, before: datetime.datetime
    ) -> None:
        """Forget that steps wait for damaged files that are as they were written by now. Whether a step can go on, it says when it is tried next.

        Args:
            damaged: the files that are damaged still.
            looked_at: the files that were looked at; None: all.
            before: when that began: what a step has met since stays.
        """
        for problem in self.step_problems():
            names_any = partial(_names_any, problem.problem)
            is_over = problem.waits and problem.at < before and not names_any(damaged)
            if is_over and (looked_at is None or names_any(looked_at)):
                self._forget(problem.step, WHOLE if problem.coordinator is None else problem.coordinator, problem.at)

    def _forget(self, step: str, c: int, at: datetime.datetime) -> None:
        """Unless it has failed once more."""
        p = t.step_problem.c
        with self._db.begin() as connection:
            mine = (p.step == step, p.coordinator == c, p.at <= at.timestamp())
            connection.execute(delete(t.step_problem).where(*mine))

    def standing_sources(self) -> list[StandingSource]:
        """Those that stand still, by name."""
        p = t.source_problem.c
        rows = self._db.read(select(p.source, p.problem, p.since).order_by(p.source))
        return [StandingSource(source, problem, moment_of(since)) for source, problem, since in rows]

    def source_stands_still(self, source: str, problem: str) -> None:
        """Record that it does; since when, is what it was if it did before."""
        p = t.source_problem.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            if (
                connection.execute(update(t.source_problem).where(p.source == source).values(problem=problem)).rowcount
                == 0
            ):
                values = {"source": source, "problem": problem, "since": now().timestamp()}
                connection.execute(insert(t.source_problem).values(**values))

    def source_goes_on(self, source: str) -> None:
        """Record that it does; costs a read if it had not stood still."""
        p = t.source_problem.c
        if self._db.read(select(p.source).where(p.source == source)):
            with self._db.begin() as connection:
                connection.execute(delete(t.source_problem).where(p.source == source))
