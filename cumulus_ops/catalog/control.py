"""The program, where its coordinators are, and which steps fail."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, insert_new, not_initialised, now, read_identity
from cumulus_ops.catalog.epochs import StepProblem, moment_of
from cumulus_ops.catalog.identity import Home, Identity, draw_installation
from cumulus_ops.catalog.members import read_membership, unknown_coordinator
from cumulus_ops.catalog.records import NewRun, ProgramRecord
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.names import shown_url

__all__ = [
    "Control",
    "StepProblems",
    "complete_epochs",
    "missing_votes",
    "not_sealed",
    "program_changed",
    "program_values",
]


def program_values(record: ProgramRecord) -> dict[str, object]:
    """A program's columns."""
    return {name: getattr(record, name) for name in ProgramRecord.__dataclass_fields__}


class Control(Database):
    """Who may do what next."""

    def register(self, record: ProgramRecord, start: Sequence[NewRun] = ()) -> None:
        """Register the program and its coordinators; does nothing when the same program is registered already, whatever has become
        of its coordinators since.

        Args:
            record: the program.
            start: the runs with what is there before the first event; they become visible with the program.

        Raises:
            InputProblem: another program is registered.
        """
        try:
            self._register(record, start)
        except IntegrityError:  # somebody else registered first
            self._register(record, start)

    def ensure_installation(self) -> Identity:
        """Whose this catalog is, drawn by whoever comes first."""
        with self._engine.begin() as connection:
            insert_new(connection, t.installation, [{"id": 1, "name": draw_installation(), "generation": 1}])
        found = self.identity()
        assert found is not None
        return found

    def home(self) -> Home | None:
        """Where this installation is; None if it has claimed no state folder yet."""
        found = next((row[0] for row in self._read(select(t.installation.c.home))), None)
        return None if found is None else Home.parse(found)

    def record_home(self, home: Home) -> None:
        """Remember where this installation is."""
        with self._engine.begin() as connection:
            connection.execute(update(t.installation).values(home=home.text()))

    def registered(self) -> bool:
        """Whether a program is registered."""
        return bool(self._read(select(t.program.c.id)))

    def _register(self, record: ProgramRecord, start: Sequence[NewRun]) -> None:
        with self._engine.begin() as connection:
            existing = connection.execute(select(t.program)).first()
            if existing is None:
                self._insert_program(connection, record)
                if start:
                    self._commit(connection, self._lock(connection), "start", start)
            elif existing.digest != record.digest:
                raise program_changed(existing.name)

    def _insert_program(self, connection: Connection, record: ProgramRecord) -> None:
        values = program_values(record)
        zeros = {
            "last_commit": 0,
            "next_ticket": 1,
            "merge_horizon": 0,
            "forgotten": 0,
            "token": 0,
            "oldest_readable": 0,
            "token_number": 0,
        }
        identity = read_identity(connection)
        generation = 1 if identity is None else identity.generation
        connection.execute(insert(t.program).values(id=1, **values, **zeros, generation=generation))
        connection.execute(
            insert(t.coordinator), [{"index": i, "epoch": 0, "next_sequence": 0} for i in range(record.coordinators)]
        )
        members = [{"coordinator": i, "first_epoch": 0} for i in range(record.coordinators)]
        connection.execute(insert(t.member), members)

    def source(self) -> str | None:
        """What :meth:`record_source` has recorded; None if nothing is registered, or that is not known."""
        return next((row[0] for row in self._read(select(t.program.c.source))), None)

    def record_source(self, source: str, coordination: str) -> None:
        """Remember what the registered program was compiled from, and the coordination plan that follows from it, as JSON."""
        with self._engine.begin() as connection:
            connection.execute(update(t.program).values(source=source, coordination=coordination))

    def program(self) -> ProgramRecord:
        """The registered program.

        Raises:
            SetupProblem: nothing is registered yet.
        """
        rows = self._read(select(*[t.program.c[name] for name in ProgramRecord.__dataclass_fields__]))
        if not rows:
            raise not_initialised(shown_url(self._engine.url.render_as_string(hide_password=False)))
        return ProgramRecord(*rows[0])

    def position(self, coordinator: int) -> tuple[int, int]:
        """(open epoch, next sequence) of a coordinator."""
        c = t.coordinator.c
        rows = self._read(select(c.epoch, c.next_sequence).where(c.index == coordinator))
        if not rows:
            raise unknown_coordinator(coordinator)
        return rows[0][0], rows[0][1]

    def seals(self) -> dict[int, set[int]]:
        """epoch -> the coordinators that have sealed it."""
        result: dict[int, set[int]] = {}
        for coordinator, epoch in self._read(select(t.seal.c.coordinator, t.seal.c.epoch)):
            result.setdefault(epoch, set()).add(coordinator)
        return result

    def last_seals(self) -> dict[int, int]:
        """coordinator -> the newest epoch that it has sealed."""
        s = t.seal.c
        return {c: int(e) for c, e in self._read(select(s.coordinator, func.max(s.epoch)).group_by(s.coordinator))}

    def newest_seal(self) -> int:
        """The newest epoch that somebody has sealed, -1 while there is none."""
        newest = self._read(select(func.max(t.seal.c.epoch)))[0][0]
        return -1 if newest is None else int(newest)

    def unsealed(self, epoch: int) -> tuple[int, ...]:
        """The members of an epoch whose vote on it is missing, ascending."""
        return self._reading(lambda connection: missing_votes(connection, epoch))

    def complete(self, first: int) -> range:
        """The epochs from ``first`` on that all their members have sealed, up to the first one that they have not."""
        return self._reading(lambda connection: complete_epochs(connection, first))


def missing_votes(connection: Connection, epoch: int) -> tuple[int, ...]:
    """The members of an epoch that have not sealed it."""
    sealed = set(connection.execute(select(t.seal.c.coordinator).where(t.seal.c.epoch == epoch)).scalars())
    return tuple(c for c in read_membership(connection).of(epoch) if c not in sealed)


def complete_epochs(connection: Connection, first: int) -> range:
    """See :meth:`Control.complete`. A coordinator seals its epochs one after the other, so none is complete that one has open."""
    membership = read_membership(connection)
    newest = connection.execute(select(func.max(t.seal.c.epoch))).scalar()
    stop = min((m.epoch for m in membership.active()), default=first)
    return range(first, max(first, min(stop, (-1 if newest is None else newest) + 1)))


def not_sealed(missing: Sequence[int], epoch: int) -> NotYet:
    """What is said of an epoch on which votes are missing."""
    who = ", ".join(map(str, missing))
    return NotYet(f"not sealed by coordinator {who}", kind="unsealed", place=f"epoch {epoch}")


def program_changed(name: str) -> InputProblem:
    """What is said of a project whose program is not the one that its catalog maintains."""
    return InputProblem(
        f"this catalog maintains another program ({name}): the views have changed, or this version of Cumulus compiles them by other rules",
        kind="program-changed",
        hint="`cumulus anew` keeps the event log and makes this program's maps from it, as a new generation; or begin beside it, with another "
        "`state:`, `catalog:` and `publish:`",
    )


# Steps that fail: recorded when one raises, and taken back when it succeeds, so that whoever looks at the project need not read the logs of
# whoever schedules it.


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
