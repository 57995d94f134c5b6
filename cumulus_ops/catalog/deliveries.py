"""Deliveries that were seen, where their sources are, what of them was put aside, and the key indexes that they have changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import Connection, Table, delete, func, insert, select, tuple_, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, insert_new, now
from cumulus_ops.catalog.epochs import moment_of
from cumulus_ops.catalog.members import read_membership
from cumulus_ops.catalog.records import (
    Advance,
    FileAside,
    Intake,
    KeyChange,
    KeyIndex,
    KeyRun,
    KnownDelivery,
    LogFile,
    NewFileAside,
    NewKeyRun,
    QuarantinedRows,
    Repeats,
    StandingSource,
    Taken,
    TakenFile,
)
from cumulus_ops.project.errors import Conflict, InputProblem

__all__ = [
    "Deliveries",
    "KeyIndexes",
    "SourceProblems",
    "change_key_indexes",
    "forget_key_runs",
    "forget_positions",
    "lock_key_indexes",
    "move",
    "record_intake",
]


#: So many names are asked for one by one, of more all are read.
FEW = 1000


class Deliveries(Database):
    """What came in."""

    def source_position(self, source: str) -> str | None:
        """Where a source is: what comes before is in the log; None if it has not begun, or has no position."""
        p = t.source_position.c
        return next((row[0] for row in self._read(select(p.position).where(p.source == source))), None)

    def source_positions(self, epoch: int) -> dict[str, str]:
        """Where the sources were at the end of an epoch, by name: what comes before, and nothing else, is in it or in earlier ones.

        Raises:
            InputProblem: its snapshot is not retained any more, and neither is this.
        """
        oldest = self._read(select(t.program.c.oldest_readable))[0][0]
        if epoch < oldest:
            hint = f"the oldest is {oldest}; `retain` and `pin` under `epochs:` in cumulus.yaml keep more"
            raise InputProblem(f"epoch {epoch} is no longer retained", kind="not-retained", hint=hint)
        s = t.source_epoch.c
        latest = select(s.source, func.max(s.epoch)).where(s.epoch <= epoch).group_by(s.source)
        return {
            row[0]: row[1]
            for row in self._read(select(s.source, s.position).where(tuple_(s.source, s.epoch).in_(latest)))
        }

    def deliveries(self, coordinator: int, names: Collection[str]) -> dict[str, KnownDelivery]:
        """Those of the named drops that were seen for a coordinator, by name."""
        d = t.delivery.c
        query = select(d.id, d.name, d.arrived_at, d.identity, d.files, d.digest)
        query = query.where(d.coordinator == coordinator, d.space == "")
        if len(names) <= FEW:
            query = query.where(d.name.in_(names))
        rows = (row for row in self._read(query) if row[1] in names)
        return {
            name: KnownDelivery(id_, name, at, i, _files(files), digest) for id_, name, at, i, files, digest in rows
        }

    def see(self, coordinator: int, arrivals: Mapping[str, float], space: str = "") -> None:
        """Record drops that are seen for the first time; of others nothing changes.

        Args:
            coordinator: whose.
            arrivals: name -> when it arrived, in seconds since 1970.
            space: whose names these are, if they are no drops.
        """
        values = [
            {"coordinator": coordinator, "space": space, "name": n, "arrived_at": at, "identity": "", "files": "{}"}
            for n, at in arrivals.items()
        ]
        if values:
            with self._engine.begin() as connection:
                insert_new(connection, t.delivery, values)

    def number_of(self, coordinator: int, space: str, name: str, arrived: float) -> int:
        """The number of a delivery, which is recorded if it is not known."""
        self.see(coordinator, {name: arrived}, space)
        d = t.delivery.c
        mine = (d.coordinator == coordinator, d.space == space, d.name == name)
        return int(self._read(select(d.id).where(*mine))[0][0])

    def delivered(self, coordinator: int, digest: str) -> list[str]:
        """The names of the drops of a coordinator with these contents, in the order in which they were seen."""
        d = t.delivery.c
        same = (d.coordinator == coordinator, d.space == "", d.digest == digest)
        return [row[0] for row in self._read(select(d.name).where(*same).order_by(d.id))]

    def recognise(self, taken: Taken) -> None:
        """Record how a drop looks now that was taken already, and has the same contents."""
        with self._engine.begin() as connection:
            _record_taken(connection, taken)

    def set_files_aside(self, asides: Iterable[NewFileAside]) -> None:
        """Set files aside that belong to deliveries of the past. One that is set aside already stays so, with what is to be said of it now; one
        that was dropped, too, as long as that is the same."""
        f = t.file_aside.c
        for aside in asides:
            here = (f.coordinator == aside.coordinator, f.place == aside.place)
            untaken = f.batch.is_not(None) & (f.bytes == aside.bytes)  # it was there from the beginning, and is no less
            decided = (f.state == "dropped") & ((f.reason == aside.reason) | untaken)
            known = select(f.id).where(*here, (f.state == "aside") | decided).limit(1)
            same = select(f.id).where(*here, f.state.in_(("aside", "dropped")), f.reason == aside.reason).limit(1)
            if self._read(same):
                continue
            with self._engine.begin() as connection:
                again = update(t.file_aside).where(*here, f.state == "aside", f.kind == aside.kind)
                if connection.execute(again.values(reason=aside.reason, bytes=aside.bytes)).rowcount:
                    continue
                if connection.execute(known).first() is None:
                    _set_aside(connection, [aside], None)

    def files_aside(self, *, state: str | None = "aside", batch: int | None = None) -> list[FileAside]:
        """Files that are set aside (``state`` None: or were), of all deliveries or that whose first batch it is, in the order in which that
        was recorded."""
        f = t.file_aside.c
        fields = (f.coordinator, f.delivery, f.relation, f.place, f.kind, f.reason, f.hint, f.bytes, f.id, f.state)
        query = (
            select(*fields, t.batch.c.epoch, f.recorded_at)
            .select_from(t.file_aside.outerjoin(t.batch, t.batch.c.id == f.batch))
            .order_by(f.id)
        )
        if state is not None:
            query = query.where(f.state == state)
        if batch is not None:
            query = query.where(f.batch == batch)
        return [FileAside(**{**row._asdict(), "recorded_at": moment_of(row.recorded_at)}) for row in self._read(query)]

    def quarantined_rows(self, *, state: str | None = "kept") -> list[QuarantinedRows]:
        """Rejected rows that wait for a decision (``state`` None: all), a record per relation and batch, in the order in which they came."""
        q, b = t.quarantine.c, t.batch.c
        fields = (q.id, q.batch, b.coordinator, b["drop"].label("delivery"), b.epoch, q.relation, q.rows)
        query = (
            select(*fields, q.reasons, q.state, q.path, q.source, q.transactional, q.checksums)
            .select_from(t.quarantine.join(t.batch, b.id == q.batch))
            .order_by(q.id)
        )
        if state is not None:
            query = query.where(q.state == state)
        found = [row._asdict() for row in self._read(query)]
        return [QuarantinedRows(**{**row, "reasons": _reasons(row["reasons"], row["rows"])}) for row in found]

    def repeats(self) -> list[Repeats]:
        """Deliveries with rows that had been accepted before."""
        b = t.batch.c
        rows = func.sum(b.duplicates)
        query = select(b.coordinator, b.epoch, b["drop"], rows).where(b.duplicates > 0)
        each = query.group_by(b.coordinator, b.epoch, b.space, b["drop"])
        found = self._read(each.order_by(b.epoch, b.coordinator))
        return [Repeats(c, e, d, int(n)) for c, e, d, n in found]

    def undecided(self) -> tuple[int, int]:
        """How many rows are in the quarantine, and how many files are set aside."""
        q, f = t.quarantine.c, t.file_aside.c
        rows = select(func.coalesce(func.sum(q.rows), 0)).where(q.state == "kept").scalar_subquery()
        files = select(func.count(f.id)).where(f.state == "aside").scalar_subquery()
        found = self._read(select(rows, files))[0]
        return int(found[0]), int(found[1])

    def files_aside_by_epoch(self) -> dict[int, int]:
        """epoch -> how many files of its deliveries were set aside."""
        f, b = t.file_aside.c, t.batch.c
        joined = t.file_aside.join(t.batch, b.id == f.batch)
        rows = self._read(select(b.epoch, func.count()).select_from(joined).group_by(b.epoch))
        return {row[0]: row[1] for row in rows}

    def drop_quarantined(self, *numbers: int) -> None:
        """Decide that quarantined rows will never count, of all these numbers at once; a no-op when done before.

        Raises:
            InputProblem: there are none of such a number, or they were retried.
        """
        with self._engine.begin() as connection:
            for number in sorted(numbers):
                _drop(connection, t.quarantine, number, "kept", f"R{number}")

    def drop_file_aside(self, number: int) -> None:
        """Decide that a file that is set aside will never count; a no-op when done before.

        Raises:
            InputProblem: there is none of that number, or it was retried.
        """
        with self._engine.begin() as connection:
            _drop(connection, t.file_aside, number, "aside", f"F{number}")


def _drop(connection: Connection, table: Table, number: int, undecided: str, label: str) -> None:
    state = connection.execute(select(table.c.state).where(table.c.id == number).with_for_update()).scalar()
    if state not in (undecided, "dropped"):
        hint = "`cumulus quarantine list` shows what can be decided about"
        message = f"{label} is {state}" if state else f"there is no {label}"
        raise InputProblem(message, kind="not-aside", hint=hint)
    connection.execute(update(table).where(table.c.id == number).values(state="dropped"))


def record_intake(connection: Connection, intake: Intake, batch: int) -> None:
    """In the transaction that appends ``batch``, the first of a delivery: what was taken, set aside and retried.

    Raises:
        Conflict: something was retried or dropped meanwhile.
    """
    _retry(connection, t.quarantine, intake.retried_rows, "kept", "R")
    _retry(connection, t.file_aside, intake.retried_files, "aside", "F")
    if intake.taken is not None:
        _record_taken(connection, intake.taken)
    _set_aside(connection, intake.asides, batch)


def move(connection: Connection, advance: Advance, epoch: int) -> None:
    """Move a source on, in an epoch, from where it is said to be. Of two that move it from there one finds it elsewhere, whatever
    coordinators they append for.

    Raises:
        Conflict: it is elsewhere.
    """
    p = t.source_position.c
    if advance.begin is None:
        moved = insert_new(connection, t.source_position, [{"source": advance.source, "position": advance.position}])
    else:
        there = (p.source == advance.source, p.position == advance.begin)
        moved = connection.execute(update(t.source_position).where(*there).values(position=advance.position)).rowcount
    if moved != 1:
        raise Conflict("the source moved on", kind="source-moved", place=f"source {advance.source}")
    s = t.source_epoch.c
    here = (s.source == advance.source, s.epoch == epoch)
    if connection.execute(update(t.source_epoch).where(*here).values(position=advance.position)).rowcount == 0:
        values = {"source": advance.source, "epoch": epoch, "position": advance.position}
        connection.execute(insert(t.source_epoch).values(**values))


def forget_positions(connection: Connection, oldest: int) -> None:
    """Forget where the sources were at the end of the epochs before ``oldest``; of each the last one says it of ``oldest``, too, if nothing came in
    that."""
    s, later = t.source_epoch.c, t.source_epoch.alias().c
    last = select(func.max(later.epoch)).where(later.source == s.source, later.epoch <= oldest).scalar_subquery()
    connection.execute(delete(t.source_epoch).where(s.epoch < last))


def _retry(connection: Connection, table: Table, numbers: Collection[int], undecided: str, letter: str) -> None:
    for number in sorted(numbers):
        one = update(table).where(table.c.id == number, table.c.state == undecided).values(state="retried")
        if connection.execute(one).rowcount != 1:
            raise Conflict("it was retried or dropped already", kind="append-conflict", place=f"{letter}{number}")


def _record_taken(connection: Connection, taken: Taken) -> None:
    """The coordinator's row is locked, or only one process sees the drop; the row is there since the drop was first seen."""
    d = t.delivery.c
    row = (d.coordinator == taken.coordinator, d.space == "", d.name == taken.name)
    before = connection.execute(select(d.files, d.digest).where(*row).with_for_update()).first()
    if before is None:
        return
    files = json.dumps({**json.loads(before[0]), **taken.files})
    values = {"identity": taken.identity, "files": files, "digest": taken.digest or before[1]}
    connection.execute(update(t.delivery).where(*row).values(**values))


def _set_aside(connection: Connection, asides: Sequence[NewFileAside], batch: int | None) -> None:
    rows = [{**vars(a), "batch": batch, "recorded_at": now().timestamp(), "state": "aside"} for a in asides]
    if rows:
        connection.execute(insert(t.file_aside), rows)


def _reasons(text: str, rows: int) -> dict[str, int]:
    """kind of reason -> rows; of rows that were rejected before kinds were recorded nothing is known."""
    return json.loads(text) or {"unknown": rows}


def _files(text: str) -> dict[str, TakenFile]:
    return {name: TakenFile(*fields) for name, fields in json.loads(text).items()}


# Sources that stand still: whoever asks a source says so here, and whoever looks at the project need not ask it.


class SourceProblems(Database):
    """What is the matter with sources, by their names."""

    def standing_sources(self) -> list[StandingSource]:
        """Those that stand still, by name."""
        p = t.source_problem.c
        rows = self._read(select(p.source, p.problem, p.since).order_by(p.source))
        return [StandingSource(source, problem, moment_of(since)) for source, problem, since in rows]

    def source_stands_still(self, source: str, problem: str) -> None:
        """Record that it does; since when, is what it was if it did before."""
        p = t.source_problem.c
        with self._engine.begin() as connection:
            self._lock(connection)
            if (
                connection.execute(update(t.source_problem).where(p.source == source).values(problem=problem)).rowcount
                == 0
            ):
                values = {"source": source, "problem": problem, "since": now().timestamp()}
                connection.execute(insert(t.source_problem).values(**values))

    def source_goes_on(self, source: str) -> None:
        """Record that it does; costs a read if it had not stood still."""
        p = t.source_problem.c
        if self._read(select(p.source).where(p.source == source)):
            with self._engine.begin() as connection:
                connection.execute(delete(t.source_problem).where(p.source == source))

    def last_epochs_of_sources(self) -> dict[str, int]:
        """source -> the last epoch that something of it is in."""
        s = t.source_epoch.c
        return {row[0]: int(row[1]) for row in self._read(select(s.source, func.max(s.epoch)).group_by(s.source))}


# The key indexes' rows: which runs they consist of, and what they know of the log.
#
# An append changes the indexes that it has judged events by in its own transaction, if they are as they were: so of two appends to one
# relation the second finds out, and looks whether the first has changed its keys. A merge changes nothing that is known.


#: States of batches whose events are not in the log any more: of a retried one the retry has them.
WITHOUT = ("retried", "dropped")


def _moved(relation: str) -> Conflict:
    return Conflict("the key index moved on", kind="keys-moved", place=f"relation {relation}", hint="run it again")


def lock_key_indexes(connection: Connection, changes: Sequence[KeyChange]) -> None:
    """Lock the indexes, in the order of their names, and see that they are as they were when events were judged by them.

    Raises:
        Conflict: one is not, or something was appended to its relation without it.
    """
    i, f = t.key_index.c, t.log_file.c
    for change in sorted(changes, key=lambda change: change.relation):
        query = select(i.version, i.signature, i.covers).where(i.relation == change.relation).with_for_update()
        version, signature, covers = connection.execute(query).first() or (None, None, 0)
        beyond = select(f.id).where(f.id > covers, f.relation == change.relation).limit(1)
        if (version, signature) != (change.version, change.signature) or connection.execute(beyond).first():
            raise _moved(change.relation)


def change_key_indexes(connection: Connection, changes: Sequence[KeyChange]) -> None:
    """Add what an append has written, which are locked; its log files are in them from now on."""
    newest = connection.execute(select(func.max(t.log_file.c.id))).scalar() or 0 if changes else 0
    for change in changes:
        values = {"version": change.version + len(change.runs), "covers": newest}
        connection.execute(update(t.key_index).where(t.key_index.c.relation == change.relation).values(**values))
        _insert(connection, change.runs, [change.version + 1 + n for n in range(len(change.runs))])


def _insert(
    connection: Connection, runs: Sequence[NewKeyRun], versions: Sequence[int], first: int | None = None
) -> None:
    rows = [
        {**vars(run), "first": version if first is None else first, "last": version}
        for run, version in zip(runs, versions, strict=True)
    ]
    if rows:
        connection.execute(insert(t.key_run), rows)


def _retire(connection: Connection, relation: str, last_commit: int) -> None:
    counting = (t.key_run.c.relation == relation, t.key_run.c.retired_by.is_(None))
    connection.execute(update(t.key_run).where(*counting).values(retired_by=last_commit + 1))


def forget_key_runs(connection: Connection, floor: int) -> set[str]:
    """Drop the rows of runs that were replaced before a commit that all who read read at, or later; the files that may go."""
    r = t.key_run.c
    gone = r.retired_by <= floor
    paths = set(connection.execute(select(r.path).where(gone)).scalars())
    if not paths:
        return paths
    connection.execute(delete(t.key_run).where(gone))
    return paths - set(connection.execute(select(r.path).where(r.path.in_(paths))).scalars())


class KeyIndexes(Database):
    """What is known of keys."""

    def key_index(self, relation: str) -> KeyIndex | None:
        """The key index of a relation; None if there is none."""
        i, r, f = t.key_index.c, t.key_run.c, t.log_file.c
        beyond = select(f.id).where(f.id > i.covers, f.relation == i.relation).exists()
        fields = (i.version, i.signature, i.covers, beyond, *[r[name] for name in KeyRun.__dataclass_fields__])
        here = (r.relation == i.relation) & r.retired_by.is_(None)
        query = select(*fields).select_from(t.key_index.outerjoin(t.key_run, here)).where(i.relation == relation)
        rows = self._read(query)  # one statement: all of it is as of one moment
        if not rows:
            return None
        version, signature, covers, is_behind = rows[0][:4]
        runs = tuple(KeyRun(*row[4:]) for row in rows if row[4] is not None)
        return KeyIndex(relation, version, signature, covers, bool(is_behind), runs)

    def key_runs(self) -> dict[str, list[tuple[int, int]]]:
        """relation -> (the latest version of its index that is in it, rows) of each run of its index."""
        r = t.key_run.c
        found: dict[str, list[tuple[int, int]]] = {}
        for relation, last, rows in self._read(select(r.relation, r.last, r.rows).where(r.retired_by.is_(None))):
            found.setdefault(relation, []).append((last, rows))
        return found

    def key_log(self, relation: str) -> tuple[int, list[tuple[LogFile, int, int, str]]]:
        """(the highest id of the relation's log files, those files with the epochs, coordinators and states of their batches), without those of
        batches that were dropped or retried; those that are set aside belong to it."""
        f, b = t.log_file.c, t.batch.c
        query = select(f.id, b.epoch, b.coordinator, b.state, *[f[name] for name in LogFile.__dataclass_fields__])
        rows = self._read(query.join(t.batch, b.id == f.batch).where(f.relation == relation).order_by(f.id))
        files = [(LogFile(*row[4:]), row[1], row[2], row[3]) for row in rows if row[3] not in WITHOUT]
        return max((row[0] for row in rows), default=0), files

    def lowest_open_epoch(self) -> int:
        """Nothing is appended to an earlier one any more."""
        return self._reading(lambda connection: min((m.epoch for m in read_membership(connection).active()), default=0))

    def put_key_index(
        self, relation: str, signature: str, covers: int, runs: Sequence[NewKeyRun], replaced: KeyIndex | None
    ) -> None:
        """Name the runs of a relation's index that was built from the log.

        Args:
            relation: its name.
            signature: what it is an index of.
            covers: the highest id of the log files that it was built from.
            runs: its runs, which have no key in common.
            replaced: the index that there was before.

        Raises:
            Conflict: there is another one by now, or more of the log; or files are gone.
        """
        i, f = t.key_index.c, t.log_file.c
        with self._engine.begin() as connection:
            program = self._lock(connection)
            now = connection.execute(select(i.version).where(i.relation == relation).with_for_update()).scalar()
            more = connection.execute(select(f.id).where(f.id > covers, f.relation == relation).limit(1)).first()
            if more is not None or now != (replaced.version if replaced else None):
                raise _moved(relation)
            self._require_files(connection, {run.path for run in runs})
            version = 1 if now is None else int(now) + 1
            connection.execute(delete(t.key_index).where(i.relation == relation))
            _retire(connection, relation, int(program.last_commit))
            values = {"relation": relation, "version": version, "signature": signature, "covers": covers}
            connection.execute(insert(t.key_index).values(**values))
            _insert(connection, runs, [version] * len(runs))

    def forget_key_index(self, relation: str) -> None:
        """Let the index of a relation be built anew with the next append. Its versions go on: who has judged events by it finds out."""
        i = t.key_index.c
        with self._engine.begin() as connection:
            program = self._lock(connection)
            nothing = {"version": i.version + 1, "signature": "", "covers": -1}
            connection.execute(update(t.key_index).where(i.relation == relation).values(**nothing))
            _retire(connection, relation, int(program.last_commit))

    def commit_key_merge(self, runs: Sequence[KeyRun], new: Sequence[NewKeyRun]) -> None:
        """Replace runs of one index by others that say the same.

        Raises:
            Conflict: one of them was replaced by somebody else; or files are gone.
        """
        r = t.key_run.c
        with self._engine.begin() as connection:
            program = self._lock(connection)
            counting = (r.id.in_([run.id for run in runs]), r.retired_by.is_(None))
            gone = update(t.key_run).where(*counting).values(retired_by=int(program.last_commit) + 1)
            if connection.execute(gone).rowcount != len(runs):
                raise _moved(runs[0].relation)
            self._require_files(connection, {run.path for run in new})
            _insert(connection, new, [max(run.last for run in runs)] * len(new), min(run.first for run in runs))
