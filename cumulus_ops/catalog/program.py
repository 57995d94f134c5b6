"""The program, where its coordinators are, and which steps fail."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, not_initialised, read_identity
from cumulus_ops.catalog.records import NewRun, ProgramRecord
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.names import shown_url

__all__ = ["RegisteredProgram", "program_changed", "program_values"]


def program_values(record: ProgramRecord) -> dict[str, object]:
    """A program's columns."""
    return {name: getattr(record, name) for name in ProgramRecord.__dataclass_fields__}


class RegisteredProgram(Part):
    """The program that this catalog maintains."""

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

    def is_registered(self) -> bool:
        """Whether a program is registered."""
        return bool(self._db.read(select(t.program.c.id)))

    def _register(self, record: ProgramRecord, start: Sequence[NewRun]) -> None:
        with self._db.begin() as connection:
            existing = connection.execute(select(t.program)).first()
            if existing is None:
                self._insert_program(connection, record)
                if start:
                    self._db.make_visible(connection, self._db.lock(connection), "start", start)
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
        return next((row[0] for row in self._db.read(select(t.program.c.source))), None)

    def record_source(self, source: str, coordination: str) -> None:
        """Remember what the registered program was compiled from, and the coordination plan that follows from it, as JSON."""
        with self._db.begin() as connection:
            connection.execute(update(t.program).values(source=source, coordination=coordination))

    def record(self) -> ProgramRecord:
        """The registered program.

        Raises:
            SetupProblem: nothing is registered yet.
        """
        rows = self._db.read(select(*[t.program.c[name] for name in ProgramRecord.__dataclass_fields__]))
        if not rows:
            raise not_initialised(shown_url(self._db.engine.url.render_as_string(hide_password=False)))
        return ProgramRecord(*rows[0])


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
