"""Steps that fail: recorded when one raises, and taken back when it succeeds, so that whoever looks at the project need not read the logs of
whoever schedules it."""

from __future__ import annotations

from sqlalchemy import delete, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, insert_new, now
from cumulus_ops.catalog.epochs import StepProblem
from cumulus_ops.catalog.membership import moment_of

__all__ = ["StepProblems"]

WHOLE = -1  # in the table: of no coordinator
PROBLEM_CHARACTERS = 500
KIND_CHARACTERS = 100


class StepProblems(Database):
    """What is the matter with steps, by their names and coordinators."""

    #: Where the steps of this process are told of at length: an address that people can open.
    log_address = ""
    _failing: set[tuple[str, int]] | None = None

    def step_problems(self) -> list[StepProblem]:
        """The steps that failed when they were tried last, the longest failing first."""
        p = t.step_problem.c
        fields = (p.step, p.coordinator, p.kind, p.problem, p.since, p.at, p.times, p.log)
        return [
            StepProblem(step, None if c == WHOLE else c, kind, problem, moment_of(since), moment_of(at), times, log)
            for step, c, kind, problem, since, at, times, log in self._read(select(*fields).order_by(p.since, p.step))
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
        with self._engine.begin() as connection:
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
            self._failing = {(row[0], row[1]) for row in self._read(select(p.step, p.coordinator))}
        if (step, c) in self._failing:
            with self._engine.begin() as connection:
                connection.execute(delete(t.step_problem).where(p.step == step, p.coordinator == c))
            self._failing.discard((step, c))
