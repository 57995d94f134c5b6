"""What is the matter just now: steps that fail, and sources that stand still.

A step says so when it raises, and takes it back when it succeeds: whoever looks at the project need not read the logs of whoever
schedules it. Whoever asks a source says so as well: whoever looks need not ask it.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Collection, Sequence

from sqlalchemy import delete, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, insert_new, now
from cumulus_ops.catalog.epochs import Failure, StepProblem, moment_of
from cumulus_ops.catalog.records import StandingSource

__all__ = ["Problems"]

WHOLE = -1  # in the table: of no coordinator

PROBLEM_CHARACTERS = 500

KIND_CHARACTERS = 100


def _names_any(failure: Failure, files: Collection[str]) -> bool:
    """Whether a failure is about one of the files, and not only about one whose name begins alike."""
    text = failure.file or failure.problem
    return any(re.search(rf"{re.escape(file)}(?![\w./-])", text) for file in files)


def _in_a_line(failure: Failure) -> Failure:
    """As it is kept: the first line, and the name of the file in any case."""
    line = next(iter(failure.problem.strip().splitlines()), "")
    if len(line) > PROBLEM_CHARACTERS:
        line = line[:PROBLEM_CHARACTERS]
        line += f" .. {failure.file}" if failure.file not in line else " .."
    return Failure(failure.kind[:KIND_CHARACTERS], line, failure.file)


def _to_row(failures: Sequence[Failure]) -> dict[str, str]:
    """The columns that say what a step has met."""
    every = json.dumps([[failure.kind, failure.problem, failure.file] for failure in failures])
    return {"kind": failures[0].kind, "problem": failures[0].problem, "failures": every}


class Problems(Part):
    """What is the matter with steps, by their names and coordinators; and with sources, by their names."""

    #: Where the steps of this process are told of at length: an address that people can open.
    log_address = ""
    _failing: set[tuple[str, int]] | None = None

    def step_problems(self) -> list[StepProblem]:
        """The steps that failed when they were tried last, the longest failing first."""
        p = t.step_problem.c
        fields = (p.step, p.coordinator, p.kind, p.problem, p.since, p.at, p.times, p.log, p.failures)
        found = []
        for step, c, kind, problem, since, at, times, log, failures in self._db.read(
            select(*fields).order_by(p.since, p.step)
        ):
            first, *others = (Failure(*failure) for failure in json.loads(failures or "[]") or [(kind, problem)])
            whose, moments = None if c == WHOLE else c, (moment_of(since), moment_of(at))
            found.append(
                StepProblem(step, whose, kind, problem, *moments, times, log, first.file, others=tuple(others))
            )
        return found

    def step_fails(self, step: str, coordinator: int | None, *failures: Failure) -> None:
        """Record that it does; since when, is what it was if it did before.

        Args:
            step: its name.
            coordinator: whose, None for a step of the whole project.
            failures: all that it has met, at least one. Of what each says the first line is kept; first comes what is more than a damaged file.
        """
        p, c, at = t.step_problem.c, WHOLE if coordinator is None else coordinator, now().timestamp()
        ordered = sorted(map(_in_a_line, failures), key=lambda failure: failure.waits)
        values = {**_to_row(ordered), "log": self.log_address, "at": at}
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
        if self.is_failing(step, coordinator):
            with self._db.begin() as connection:
                connection.execute(delete(t.step_problem).where(p.step == step, p.coordinator == c))
            self._known_failing().discard((step, c))

    def is_failing(self, step: str, coordinator: int | None = None) -> bool:
        """Whether a step has failed, when this process tried it last, or somebody else before this process began."""
        return (step, WHOLE if coordinator is None else coordinator) in self._known_failing()

    def _known_failing(self) -> set[tuple[str, int]]:
        if self._failing is None:
            p = t.step_problem.c
            self._failing = {(row[0], row[1]) for row in self._db.read(select(p.step, p.coordinator))}
        return self._failing

    def files_are_whole(
        self, damaged: Collection[str], looked_at: Collection[str] | None, before: datetime.datetime
    ) -> None:
        """Forget that steps wait for damaged files that are as they were written by now, each by itself. Whether a step can go on, it says when it is tried next.

        Args:
            damaged: the files that are damaged still.
            looked_at: the files that were looked at; None: all.
            before: when that began: what a step has met since stays.
        """

        def is_whole(failure: Failure) -> bool:
            is_seen = looked_at is None or _names_any(failure, looked_at)
            return failure.waits and is_seen and not _names_any(failure, damaged)

        for problem in self.step_problems():
            left = [failure for failure in problem.failures if not is_whole(failure)]
            if problem.at < before and len(left) < len(problem.failures):
                self._leave(problem, left)

    def _leave(self, problem: StepProblem, left: Sequence[Failure]) -> None:
        """Keep some of what a step has met, unless it has failed once more."""
        p, whose = t.step_problem.c, WHOLE if problem.coordinator is None else problem.coordinator
        mine = (p.step == problem.step, p.coordinator == whose, p.at <= problem.at.timestamp())
        with self._db.begin() as connection:
            if left:
                connection.execute(update(t.step_problem).where(*mine).values(**_to_row(left)))
            else:
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
