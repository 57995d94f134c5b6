"""Whose the catalog is, and a new generation of it: what follows from the event log is forgotten, and made again from it; or all is forgotten.

What was decided stays in the first case: the log and its stamps, epochs, seals, members, where sources are, what was put aside or dropped. So the snapshots
of a new generation are those of the same epochs over the same events. Whatever the old one has computed is retired, and goes when nobody can be reading it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, Part, insert_new, now
from cumulus_ops.catalog.identity import Home, Identity, draw_installation
from cumulus_ops.catalog.leases import Leases
from cumulus_ops.catalog.program import program_values, revision_values
from cumulus_ops.catalog.records import LEFT_OUT, NewRun, ProgramRecord

__all__ = ["Installation"]

#: What a generation has computed, or made of what it has computed.
COMPUTED = (
    t.reading_clock,
    t.correction,
    t.snapshot,
    t.consumption,
    t.published,
    t.view_error,
    t.validation,
    t.final_partition,
    t.damage,  # most is of maps, which are made again; the next look finds the rest
)
#: Of a batch, as it is when it was appended.
UNAPPLIED = {
    "ticket": None,
    "read_at": None,
    "commit": None,
    "clock": None,
    "lease": None,
    "step": None,
    "retracted_by": None,
    "failures": 0,
    "unended": 0,
    "seconds": 0.0,
}


class Installation(Part):
    """Whose the catalog is, where its state folder is, and the beginning of generations."""

    def __init__(self, database: Database, leases: Leases) -> None:
        super().__init__(database)
        self._leases = leases

    def ensure(self) -> Identity:
        """Whose this catalog is, drawn by whoever comes first."""
        with self._db.begin() as connection:
            insert_new(connection, t.installation, [{"id": 1, "name": draw_installation(), "generation": 1}])
        found = self._db.identity()
        assert found is not None
        return found

    def home(self) -> Home | None:
        """Where this installation is; None if it has claimed no state folder yet."""
        found = next((row[0] for row in self._db.read(select(t.installation.c.home))), None)
        return None if found is None else Home.parse(found)

    def record_home(self, home: Home) -> None:
        """Remember where this installation is."""
        with self._db.begin() as connection:
            connection.execute(update(t.installation).values(home=home.text()))

    def begin_generation(self, identity: Identity, record: ProgramRecord, start: Sequence[NewRun]) -> None:
        """Let every batch that counts wait to be applied again, for a program that may be another one. Processes that have opened the generation before commit
        nothing any more.

        Args:
            identity: whose the catalog is from now on.
            record: the program; its version scheme may be another one, too.
            start: the runs with what is there before the first event.
        """
        b, v = t.batch.c, t.seal_value.c
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            self._leases.end_others(connection)
            number = self._db.make_visible(connection, program, "start", start)
            others = (t.run.c.retired_by.is_(None), t.run.c.commit < number)
            connection.execute(update(t.run).where(*others).values(retired_by=number))
            connection.execute(update(t.net_table).where(t.net_table.c.retired_by.is_(None)).values(retired_by=number))
            for table in COMPUTED:
                connection.execute(delete(table))
            connection.execute(update(t.batch).values(**UNAPPLIED))
            connection.execute(update(t.batch).where(b.state.not_in(LEFT_OUT)).values(state="appended", reason=None))
            connection.execute(update(t.seal_value).where(v.finalised.is_not(None)).values(finalised=None))
            values = program_values(record)
            del values["coordinators"]  # who they are, `member` says
            refreshed = None if record.refreshed is None else number - 1
            values |= {"refreshed": refreshed, "oldest_readable": 0}
            connection.execute(delete(t.revision))  # maps of the generation before are none of this one's
            connection.execute(insert(t.revision).values(**revision_values(record), source="", since=0, made_at=now()))
            connection.execute(update(t.program).values(**values, generation=identity.generation))
            self._become(connection, identity)

    def forget_everything(self, identity: Identity) -> None:
        """Be as a new catalog is, of ``identity``: the log, and where sources are, are forgotten, too. Numbers of leases are not given out again."""
        with self._db.begin() as connection:
            if connection.execute(select(t.program.c.id)).first() is not None:
                self._db.lock(connection)
            for table in reversed(t.metadata.sorted_tables):
                if table is not t.installation:
                    connection.execute(delete(table))
            self._become(connection, identity)
            connection.execute(update(t.installation).values(home=None))
            self._leases.forget()

    def _become(self, connection: Connection, identity: Identity) -> None:
        values = {"name": identity.installation, "generation": identity.generation}
        if connection.execute(update(t.installation).values(**values)).rowcount == 0:
            connection.execute(insert(t.installation).values(id=1, **values))
        self._db.known_identity = identity
