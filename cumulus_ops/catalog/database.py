r"""What all parts of the catalog share: the connection, the locks, the clock on the wall; and how transactions get along.

Every method of the catalog that changes something is one transaction. PostgreSQL runs them under READ COMMITTED: each statement
sees what was committed when it began, so **a transaction first takes its locks and then looks**. A check that was made before a
lock was waited for may be out of date. On SQLite a writing transaction has the whole database from its first statement on.

Rows that are locked, always in this order:

1. the **coordinator**'s row: who stamps into its epoch, or ends it (append, vote, fence), or changes where it takes part (add, drain);
2. the **program**'s row: who makes something visible or gone; it gives out commit numbers, tickets and the token;
3. the row of a **batch** that is set aside: who decides about it;
4. the rows of **key indexes**, in the order of their names: who has judged events by them, or builds one;
5. the row of a **lease** (:mod:`cumulus_ops.catalog.leases`): shared, by who commits files of its steps; alone, by who ends it;
6. the rows of **values** of seals, in the order of the seals' names and their numbers: who registers for them, or seals them. Values that are new are inserted before, in
   the order of their texts.

======================  ===========  =======  ==================================================================
transaction             coordinator  program  checks, once it has its locks
======================  ===========  =======  ==================================================================
append, retry           locks                 the coordinator is in the epoch and at the sequence of the stamps, and a member; files *;
                                              what is retried, whose row it locks too, is set aside; the key indexes, whose
                                              rows it locks too, are those that events were judged by; the coordinator has sealed no
                                              value since; those that it registers for, whose rows it locks, are open
append with seals of values   locks  locks    the same, and who is a member
seal values by hand           locks  locks    whose they are, and who is a member
declare                       all    locks
vote                    locks        locks    the epoch is the open one, the token is here and has the number that was given, all
                                              batches are settled
fence                   locks        locks    the epoch is the open one and late, all batches are settled
take the token                       locks    its holder is late, unless it is the one who asks
add, drain              locks        locks    who is a member; who would be left
end an epoch                         locks    for whom it has no boundary yet
leave an epoch          locks        locks    it has no boundary yet
begin apply                          locks    nobody is switching to another revision
commit apply                         locks    the batch is appended still; what it read was not merged; files *
commit correction                    locks    each clock has as many batches as were read; files *
commit refresh                       locks    the refresh clock is where it was read; no batch it read was taken back; files *
mergeable, merge **                  locks    every clock and announced read is beyond the runs; they are visible; files *
repair **                            locks    the runs are visible; if one stands for several, every clock and announced read is beyond them; files *
checkpoint                           locks    all have voted, all batches are settled, corrected and refreshed
repeat snapshots                     locks    all have voted, and nothing was appended to the epochs behind the newest snapshot
publish, validate, view error        locks    it is not recorded yet
say what is final                    locks    no batch that it has read was taken back, or can be any more (:mod:`.finals`)
publish, validate what is final      locks    it is not recorded yet
forget retired **                    locks    every lease's steps read at a later commit
register                             locks    no other program is registered; files *
begin a deployment                   locks    none is under way
fill                                 locks    the deployment is under way, and filled up to where it was read; files *
begin to switch                      locks    the same; nobody else is switching; there is no newer snapshot
switch                               locks    the same; its step is the one that began; nothing was committed since what it has read; no further rows of views that change are final; files *
end a switch, give up, let go        locks    the deployment is under way
begin a generation                   locks    files *; every other lease ends
count failure, excuse                locks    the batch waits to be applied
give a batch up                      locks
set aside, retract                   locks    the batch waits; or is applied and has the clock that was read, and nothing is
                                              final since; files *
drop a batch                         locks    the batch, whose row it locks too, is set aside; key indexes as in an append; files *
build a key index                    locks    it is the one that is replaced, and its row, which it locks too, covers the log; files *
merge key runs                       locks    all of them count still; files *
put a net table                      locks    its epoch is committed, and there is no newer one; files *
drop, prove net tables               locks
release, record done                 locks    the snapshots' consumers
record a backup                      locks    there is no later one; the state folder's claim is this catalog's
drop what was put aside                       the row, which it locks, waits for a decision (a retry locks it, too)
see, recognise drops                          each is recorded once, or its row is locked
set a file aside
record that a step fails                      each is recorded once, or its row is locked
record damages                       locks    what is recorded already
begin a recovery **                  locks    nobody else repairs, and nobody switches to another revision
take, renew, end a lease
======================  ===========  =======  ==================================================================

\* The lease of the step that wrote the files is there, and is kept there; so are the files. \*\* Leases that have lapsed are ended
first: whatever they would have protected is not looked at any more.

Whose they are, by the parts of :class:`~cumulus_ops.catalog.catalog.Catalog`:

==================  ================================================================================================
part                transactions
==================  ================================================================================================
``log``             append, retry
``seals``           declare, seal values by hand
``deliveries``      see, recognise drops; set a file aside; drop what was put aside
``key_indexes``     build, merge, forget
``net_tables``      put, drop, prove
``members``         add, drain, end an epoch, leave it
``votes``           vote, fence, take the token
``commits``         begin apply; commit apply, correction, refresh; mergeable, merge, repair
``asides``          count failure, excuse, give up, set aside, retract, drop a batch
``finals``          say what is final; publish, validate it
``snapshots``       checkpoint, repeat snapshots, release, record done
``results``         publish, validate, view error
``leases``          take, renew, end; forget retired
``program``         register
``revisions``       begin a deployment, fill, begin to switch, switch, end a switch, give up, let go
``installation``    begin a generation, forget everything
``repairs``         record damages; begin, end a recovery
``backups``         record a backup, let go
``problems``        record that a step fails, or a source stands still
==================  ================================================================================================

An append and a vote of one coordinator exclude each other, so that a batch is in its epoch before the vote looks, or finds the
epoch over. Appends of several coordinators, and an append and a commit, do not wait for each other. Since nobody who has the
program's row waits for a coordinator's, there is no deadlock.

Who has the program's row sees as well whether a new generation has begun, or another revision was switched to, since this process opened the catalog, and then does nothing; an append's lease is
over then.

A new kind of transaction takes its place in the table, and in ``tests/e2e/test_transaction_interleavings.py``, which plays
every pair against each other, statement by statement: it must end as if one had come after the other.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Executable,
    Float,
    Row,
    Table,
    bindparam,
    create_engine,
    event,
    insert,
    inspect,
    literal_column,
    select,
    table,
    text,
    update,
)
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.identity import Identity, generation_over
from cumulus_ops.catalog.records import NewRun, Recipe, step_of
from cumulus_ops.project.errors import Conflict, RevisionOver, SetupProblem
from cumulus_ops.project.names import hide, require_clear, shown_url

__all__ = [
    "SCHEMA",
    "ClockS",
    "Database",
    "Part",
    "answers",
    "clock_s",
    "connect",
    "database_problem",
    "insert_new",
    "is_lost",
    "is_missing",
    "migrate",
    "not_initialised",
    "now",
    "read_identity",
    "retry_busy",
    "say_where",
    "schema_version",
]


# What a database's errors mean for a person: which catalog, what is wrong with it, what to do.


#: The state folder is the catalog's, so one that is new in its place deletes nothing, and is refused until it is declared.
RESTORE = (
    "restore it from a backup: `cumulus restore`; without a backup, rename it, and `cumulus anew --from-sources` keeps the event log aside and reads "
    "the landing folder and the sources again"
)
#: What SQLite and PostgreSQL say, and what that means: words of theirs, kind, message, hint.
MEANINGS = (
    ("not a database", "catalog-damaged", "the catalog is no database", RESTORE),
    ("malformed", "catalog-damaged", "the catalog is damaged", RESTORE),
    ("locked", "catalog-busy", "another process has held the catalog for too long", "see who does, and try again"),
    ("readonly", "catalog-read-only", "the catalog cannot be written", "see who may write the file and its folder"),
    (
        "unable to open",
        "catalog-unreachable",
        "the catalog cannot be opened",
        "see who may read the file and its folder",
    ),
    ("disk is full", "disk-full", "there is no room left for the catalog", "make room, and run it again"),
    ("password authentication", "catalog-refused", "the server refuses the password", "check the catalog's URL"),
    (
        "does not exist",
        "catalog-refused",
        "the server does not know it",
        "check the catalog's URL, or create the database",
    ),
)
UNREACHABLE = (
    "catalog-unreachable",
    "the catalog cannot be reached",
    "check the catalog's URL in cumulus.yaml, and that the server runs",
)


def say_where(engine: Engine) -> Engine:
    """Let the errors of an engine say of which database they are."""
    url = engine.url.render_as_string(hide_password=False)
    where = shown_url(url)

    def remember(context: ExceptionContext) -> None:
        if context.sqlalchemy_exception is not None:
            context.sqlalchemy_exception.catalog_url = where  # type: ignore[attr-defined]
            said = str(context.sqlalchemy_exception.orig)
            context.sqlalchemy_exception.said = hide(said, [url])  # type: ignore[attr-defined]

    event.listen(engine, "handle_error", remember)
    return engine


def database_problem(error: BaseException) -> SetupProblem | None:
    """A database's error in plain words; None if it is none, or not the surroundings' fault.

    What is a defect of ours, such as a statement that the database does not understand, is left as it is.
    """
    if not isinstance(error, DatabaseError) or type(error) not in (DatabaseError, OperationalError):
        return None
    said = str(getattr(error, "said", error.orig))
    found = next((meaning for meaning in MEANINGS if meaning[0] in said), None)
    if found is None and type(error) is DatabaseError:
        return None
    kind, message, hint = UNREACHABLE if found is None else found[1:]
    line = next(iter(said.splitlines()), "").strip()
    return SetupProblem(f"{message}: {line}", kind=kind, place=getattr(error, "catalog_url", ""), hint=hint)


def is_lost(error: BaseException) -> bool:
    """Whether a server, or the connection to it, was lost: then nobody knows whether the transaction was committed. SQLite's file is no server."""
    if isinstance(error, SetupProblem):
        return error.kind == UNREACHABLE[0]
    if not isinstance(error, DBAPIError):
        return False
    problem = database_problem(error)
    return error.connection_invalidated or (problem is not None and problem.kind == UNREACHABLE[0])


def answers(url: str) -> bool:
    """Whether a catalog's server takes connections, and answers."""
    engine = connect(url)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        return True
    except DBAPIError:
        return False
    finally:
        engine.dispose()


# The database's clock: the one that all processes share.


class ClockS(FunctionElement[float]):
    """The database's clock, in seconds since 1970, at this moment (not when the transaction began)."""

    type = Float()
    inherit_cache = True


@compiles(ClockS, "sqlite")
def _sqlite_clock(_element: Any, _compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(ClockS, "postgresql")
def _postgresql_clock(_element: Any, _compiler: Any, **_: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def clock_s(connection: Connection) -> float:
    """What it shows now."""
    return float(connection.execute(select(ClockS())).scalar_one())


# Opening the catalog's database: SQLite embedded, PostgreSQL served; and bringing its schema up to date.


#: The newest migration.
SCHEMA = "0035"

Result = TypeVar("Result")
BUSY_TIMEOUT_MS = 60_000
#: A process that stands still in the midst of a transaction has its locks so long, which others may wait for: as long as its lease.
IDLE_MS = 60_000
#: A server that went without a word, with its machine or the network, is missed within half a minute. What the URL says comes first.
SILENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x43554D55  # one number for PostgreSQL's advisory lock


def connect(url: str) -> Engine:
    """An engine for ``url``. SQLite files get WAL and a busy timeout; writing transactions take the write lock
    at their beginning, so that a reader never has to become a writer half-way."""
    parsed = read_url(url)
    if parsed.get_backend_name() != "sqlite":
        served = create_engine(
            parsed, pool_pre_ping=True, isolation_level="READ COMMITTED", connect_args=SILENCE | dict(parsed.query)
        )
        event.listen(served, "connect", _configure_postgresql)
        return say_where(served)
    if parsed.database in (None, "", ":memory:"):
        raise SetupProblem(
            "the catalog must outlive a process", kind="catalog-memory", hint="use sqlite:///FILE or PostgreSQL"
        )
    engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return say_where(engine)


def read_url(url: str) -> URL:
    """The URL of a catalog. The driver need not be named; PostgreSQL's scheme may have either of its usual names.

    >>> read_url("postgres://me@db/cumulus").drivername
    'postgresql+psycopg2'

    Raises:
        SetupProblem: it is none, or of another database.
    """
    if not url.startswith("sqlite"):
        require_clear(url, "catalog", "catalog-url")
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql", "postgres"):
        hint = "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        raise SetupProblem("this is no catalog's URL", kind="catalog-url", place=shown_url(url), hint=hint) from None
    return parsed.set(drivername="postgresql+psycopg2") if parsed.drivername in ("postgresql", "postgres") else parsed


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _reader_of(engine: Engine) -> Engine:
    """An engine that only reads, with the same connections. On SQLite nothing listens to it, which would take half of the time of a small query; and a query by
    itself needs no transaction there."""
    return Engine(engine.pool, engine.dialect, engine.url) if engine.dialect.name == "sqlite" else engine


def _configure_postgresql(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
    cursor.close()
    connection.commit()  # type: ignore[attr-defined]  # else the first rollback takes it back


def _configure_sqlite(connection: object, _record: object) -> None:
    connection.isolation_level = None  # type: ignore[attr-defined]  # transactions are begun by the listener
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def migrate(engine: Engine) -> None:
    """Bring the schema to the current version; safe to run from several processes at once.

    Raises:
        SetupProblem: the database cannot be reached, or another version has made its tables, from which no migration leads here.
    """
    from alembic import command  # most often nothing is to be migrated
    from alembic.config import Config
    from alembic.util import CommandError

    if engine.dialect.name == "sqlite":
        Path(str(engine.url.database)).parent.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))  # a migration may compute
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError as error:
        raise SetupProblem(
            f"this version of Cumulus cannot go on with the catalog: {error}",
            kind="catalog-schema",
            place=shown_url(engine.url.render_as_string(hide_password=False)),
            hint="use the version that made it; or move catalog and state folder away, and let `cumulus init` begin with what has landed",
        ) from error
    except OperationalError as error:
        raise database_problem(error) or error from error


def is_missing(engine: Engine) -> bool:
    """Whether the catalog is a file that is not there."""
    return engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists()


def schema_version(engine: Engine) -> str | None:
    """The version of the catalog's schema; None for a database without one. Nothing is made by looking."""
    if is_missing(engine):
        return None
    with engine.begin() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def retry_busy(action: Callable[[], Result], attempts: int = 5) -> Result:
    """Run a whole transaction again when the database says it is busy (SQLite under many writers)."""
    for attempt in range(attempts):
        try:
            return action()
        except OperationalError as error:
            if "locked" not in str(error.orig) or attempt == attempts - 1:
                raise
            time.sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")


T = TypeVar("T")

#: The first step of a lease that is not over; locked, for an append holds no other lock that keeps somebody from ending the lease.
HELD = select(t.lease.c.first_step).where(t.lease.c.id == bindparam("lease")).with_for_update(read=True, key_share=True)
#: Whose leases these are: a catalog that was restored gives out numbers again.
WHOSE = select(t.installation.c.name, t.installation.c.generation)
# Each commit executes these: they are made once (see :meth:`Database.read`).
LOCKED = select(t.program).with_for_update()
NUMBERED = update(t.program).values(last_commit=bindparam("number"))
NEW_COMMIT, NEW_RUNS = insert(t.commit), insert(t.run)


def now() -> datetime.datetime:
    """The time that rows are marked with."""
    return datetime.datetime.now(datetime.UTC)


def insert_new(connection: Connection, into: Table, values: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows that are not there yet; returns how many, if it is one or none."""
    if not values:
        return 0
    return int(connection.execute(_make_insert(connection.dialect.name, into), values).rowcount)


@lru_cache(maxsize=64)
def _make_insert(dialect: str, into: Table) -> Executable:
    return cast(Executable, import_module(f"sqlalchemy.dialects.{dialect}").insert(into).on_conflict_do_nothing())


def not_initialised(place: str = "") -> SetupProblem:
    """What is said of a catalog in which there is nothing."""
    message = "no program is registered in this catalog"
    return SetupProblem(message, kind="not-initialised", place=place, hint="run `cumulus init`")


def read_identity(connection: Connection) -> Identity | None:
    """Whose a catalog is; None if it was never initialised."""
    i = t.installation.c
    row = connection.execute(select(i.name, i.generation)).first()
    return None if row is None else Identity(row.name, int(row.generation))


class Database:
    """The database at one URL, and the state folder, if what is committed has to be there."""

    def __init__(self, url: str, root: Path | None = None) -> None:
        self.engine = connect(url)
        self.root = root
        self.known_identity: Identity | None = None  # as this process has opened it
        self.known_revision: int | None = None  # the same
        self.reader = _reader_of(self.engine)

    def identity(self) -> Identity | None:
        """Whose this catalog is, as this process has opened it; None if it was never initialised."""
        if self.known_identity is None:
            self.known_identity = self.look(read_identity)
        return self.known_identity

    def migrate(self) -> None:
        """Bring the schema up to date (see :func:`~cumulus_ops.catalog.database.migrate`)."""
        migrate(self.engine)

    def state_format(self) -> int | None:
        """The format of the runs that are registered, whatever the schema's version; None where there are none."""
        if is_missing(self.reader) or not inspect(self.reader).has_table("program"):
            return None
        columns = {c["name"] for c in inspect(self.reader).get_columns("program")}
        if "format" not in columns:
            return 1 if self._rows("id") else None
        return next(iter(self._rows("format")), None)

    def _rows(self, column: str) -> list[int]:
        with self.reader.connect() as connection:
            return list(connection.execute(select(literal_column(column)).select_from(table("program"))).scalars())

    def is_current(self) -> bool:
        """Whether there is a schema, this version's."""
        return retry_busy(lambda: schema_version(self.reader)) == SCHEMA

    def check_schema(self) -> None:
        """See that the schema is this version's.

        Raises:
            SetupProblem: the catalog was made by another version, or not at all.
        """
        found = retry_busy(lambda: schema_version(self.reader))
        if found is None:
            raise not_initialised(shown_url(self.engine.url.render_as_string(hide_password=False)))
        if found != SCHEMA:
            raise SetupProblem(
                f"the catalog has schema {found}, and this version of Cumulus works with {SCHEMA}",
                kind="catalog-schema",
                hint="`cumulus init` brings an older one up to date, or says what to do",
            )

    def close(self) -> None:
        """Release all connections."""
        self.engine.dispose()
        self.reader = _reader_of(self.engine)  # which has another pool now

    def begin(self) -> AbstractContextManager[Connection]:
        """A transaction that writes: see the head of this module."""
        return self.engine.begin()

    def read(self, query: Executable, values: Mapping[str, object] | None = None) -> list[Any]:
        """The rows of a query that only reads. One that each batch asks is made once, with parameters that have ``values``: to make a query and to find
        what it was compiled to takes as long as all else of it."""

        def action() -> list[Any]:
            with self.reader.connect() as connection:
                return list(connection.execute(query, values))

        return retry_busy(action)

    def look(self, look: Callable[[Connection], T]) -> T:
        """What a function of a connection that only reads finds, all as of one moment on SQLite."""

        def action() -> T:
            with self.reader.connect() as connection:
                if connection.dialect.name == "sqlite":
                    connection.connection.cursor().execute("BEGIN").close()
                return look(connection)

        return retry_busy(action)

    def lock(self, connection: Connection) -> Row[Any]:
        """The program row, locked for this transaction (on SQLite the transaction holds the write lock already)."""
        row = connection.execute(LOCKED).first()
        if row is None:
            raise not_initialised()
        if self.known_identity is not None and row.generation != self.known_identity.generation:
            raise generation_over()
        self.require_revision(row.revision)
        return row

    def require_revision(self, current: int) -> None:
        """See that the revision that this process has opened is the ``current`` one.

        Raises:
            RevisionOver: it is not.
        """
        if self.known_revision is not None and current != self.known_revision:
            raise RevisionOver.of(self.known_revision, current)

    def make_visible(
        self,
        connection: Connection,
        program: Row[Any],
        kind: str,
        runs: Sequence[NewRun],
        origins: Sequence[int] | None = None,
        recipe: Recipe | None = None,
    ) -> int:
        """Make runs visible under the next commit number; ``origins`` are theirs, that number if None. ``recipe``: how they came to be, None where
        there is nothing to say."""
        self.require_files(connection, {r.path for r in runs})
        number = int(program.last_commit) + 1
        rows = sum(r.rows for r in runs)
        connection.execute(NUMBERED, {"number": number})
        values = {"number": number, "kind": kind, "committed_at": now(), "rows": rows, "revision": program.revision}
        if recipe is not None:
            revision = program.revision if recipe.revision is None else recipe.revision
            values |= {"revision": revision, "read_at": recipe.read_at, "recipe": recipe.to_json()}
        connection.execute(NEW_COMMIT, values)
        if runs:
            marks = origins or [number] * len(runs)
            rows_of = [{**vars(r), "commit": number, "origin": o} for r, o in zip(runs, marks, strict=True)]
            connection.execute(NEW_RUNS, rows_of)
        return number

    def require_files(self, connection: Connection, paths: Collection[str]) -> None:
        """See that files are there, and will be: that nobody can have taken them for garbage.

        Raises:
            Conflict: the lease of the step that wrote one is over, or a file is gone.
        """
        steps = {step for step in map(step_of, paths) if step is not None}
        whose = connection.execute(WHOSE).first() if steps else None
        mine = "" if whose is None else Identity(*whose).writer
        for step in steps:
            first = connection.execute(HELD, {"lease": step.lease}).scalar()
            if first is None or step.number < first or (mine and step.writer not in ("", mine)):
                raise Conflict("its lease is over", kind="lease-over", place=f"step {step.label}", hint="run it again")
        lost = [] if self.root is None else sorted(path for path in paths if not (self.root / path).exists())
        if lost:
            hint = "run it again; if that does not help, see who else deletes files there"
            raise Conflict(f"{len(lost)} files are gone", kind="files-lost", place=lost[0], hint=hint)


class Part:
    """A part of the catalog: what it reads, and the transactions that are its own."""

    def __init__(self, database: Database) -> None:
        self._db = database
