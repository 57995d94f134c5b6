"""The program, where its coordinators are, and which steps fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, not_initialised, now, read_identity
from cumulus_ops.catalog.records import NewRun, ProgramRecord
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.names import shown_url

__all__ = ["RegisteredProgram", "program_changed", "program_values", "revision_values"]

#: Of a :class:`ProgramRecord`, what all revisions of a program have in common; the rest is each one's own.
SHARED = ("name", "granularity", "coordinators", "refreshed", "format", "revision")
RECORD = [(t.program if name in SHARED else t.revision).c[name] for name in ProgramRecord.__dataclass_fields__]


def program_values(record: ProgramRecord) -> dict[str, object]:
    """The columns of a program's row."""
    return {name: getattr(record, name) for name in SHARED}


def revision_values(record: ProgramRecord) -> dict[str, object]:
    """The columns of a revision's row."""
    own = [name for name in ProgramRecord.__dataclass_fields__ if name not in SHARED]
    return {"number": record.revision, **{name: getattr(record, name) for name in own}}


def _current(revision: int | None = None) -> Select[Any]:
    """The record of a revision; of the current one if None."""
    number = t.program.c.revision if revision is None else revision
    return select(*RECORD).join(t.revision, t.revision.c.number == number)


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
            existing = connection.execute(_current()).first()
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
            "merge_horizon": 0,
            "forgotten": 0,
            "token": 0,
            "oldest_readable": 0,
            "token_number": 0,
        }
        identity = read_identity(connection)
        generation = 1 if identity is None else identity.generation
        connection.execute(insert(t.program).values(id=1, **values, **zeros, generation=generation))
        connection.execute(insert(t.revision).values(**revision_values(record), since=0, made_at=now()))
        connection.execute(
            insert(t.coordinator), [{"index": i, "epoch": 0, "next_sequence": 0} for i in range(record.coordinators)]
        )
        members = [{"coordinator": i, "first_epoch": 0} for i in range(record.coordinators)]
        connection.execute(insert(t.member), members)

    def source(self) -> str | None:
        """What :meth:`record_source` has recorded; None if nothing is registered, or that is not known."""
        query = select(t.revision.c.source).join(t.program, t.program.c.revision == t.revision.c.number)
        return next((row[0] for row in self._db.read(query)), None)

    def record_source(self, source: str, coordination: str, written: ProgramRecord | None = None) -> None:
        """Remember what the current revision was compiled from, and the coordination plan that follows from it, as JSON; and how its views, and the rest of
        its project's definition, are written now, if that has changed and means the same."""
        values = {"source": source, "coordination": coordination, "other": None}
        if written is not None:
            values |= {n: getattr(written, n) for n in ("definition", "text", "digest", "compiled")}
        self._update(values)

    def other(self) -> str | None:
        """What :meth:`record_other` has recorded."""
        query = select(t.revision.c.other).join(t.program, t.program.c.revision == t.revision.c.number)
        return next((row[0] for row in self._db.read(query)), None)

    def record_other(self, source: str) -> None:
        """Remember that files with this digest define something else than the current revision: nobody has to compile them again to see that."""
        self._update({"other": source})

    def _update(self, values: Mapping[str, object]) -> None:
        current = select(t.program.c.revision).scalar_subquery()
        with self._db.begin() as connection:
            connection.execute(update(t.revision).where(t.revision.c.number == current).values(**values))

    def record(self, revision: int | None = None) -> ProgramRecord:
        """A revision of the registered program; the current one if None.

        Raises:
            SetupProblem: nothing is registered yet.
        """
        rows = self._db.read(_current(revision))
        if not rows:
            raise not_initialised(shown_url(self._db.engine.url.render_as_string(hide_password=False)))
        found = ProgramRecord(*rows[0])
        return found if revision is None else replace(found, revision=revision)

    def revision_at(self, epoch: int) -> int:
        """The number of the revision that an epoch's snapshot is of."""
        r = t.revision.c
        rows = self._db.read(select(func.max(r.number)).where(r.since <= epoch))
        return int(rows[0][0] or 1)


def program_changed(name: str) -> InputProblem:
    """What is said of a project whose program is not the one that its catalog maintains."""
    return InputProblem(
        f"this catalog maintains another program ({name}): the project has changed since it was deployed",
        kind="program-changed",
        hint="`cumulus plan` says what the change would do, and `cumulus deploy` does it while epochs go on; until then the project goes on as it was",
    )


# Steps that fail: recorded when one raises, and taken back when it succeeds, so that whoever looks at the project need not read the logs of
# whoever schedules it.
