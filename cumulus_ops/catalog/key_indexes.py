"""The key indexes' rows: which runs they consist of, and what they know of the log.

An append changes the indexes that it has judged events by in its own transaction, if they are as they were: so of two appends to one
relation the second finds out, and looks whether the first has changed its keys. A merge changes nothing that is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part
from cumulus_ops.catalog.members import read_membership
from cumulus_ops.catalog.records import KeyChange, KeyIndex, KeyRun, LogFile, NewKeyRun
from cumulus_ops.project.errors import Conflict

__all__ = ["WITHOUT", "KeyIndexes", "change_key_indexes", "forget_key_runs", "lock_key_indexes"]

#: States of batches whose events are not in the log any more: of a retried one the retry has them.
WITHOUT = ("retried", "dropped")
NAMES = tuple(KeyRun.__dataclass_fields__)


def _say_moved(relation: str) -> Conflict:
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
            raise _say_moved(change.relation)


def change_key_indexes(connection: Connection, changes: Sequence[KeyChange]) -> None:
    """Add what an append has written, which are locked; its log files are in them from now on."""
    newest = connection.execute(select(func.max(t.log_file.c.id))).scalar() or 0 if changes else 0
    for change in changes:
        versions = _number_runs(change)
        values = {"version": versions[-1] if versions else change.version, "covers": newest}
        connection.execute(update(t.key_index).where(t.key_index.c.relation == change.relation).values(**values))
        _insert(connection, change.runs, versions)


def _number_runs(change: KeyChange) -> list[int]:
    """The version of an index that each of its new runs is of: the same one for those whose codes ascend from run to run, the next one for what may say
    something else of keys that they have."""
    versions, highest = list[int](), None
    for run in change.runs:
        is_beyond = highest is not None and run.lowest > highest
        versions.append(versions[-1] if is_beyond else (versions[-1] if versions else change.version) + 1)
        highest = run.highest
    return versions


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


class KeyIndexes(Part):
    """What is known of keys."""

    def index(self, relation: str) -> KeyIndex | None:
        """The key index of a relation; None if there is none."""
        i, r, f = t.key_index.c, t.key_run.c, t.log_file.c
        beyond = select(f.id).where(f.id > i.covers, f.relation == i.relation).exists()
        fields = (i.version, i.signature, i.covers, beyond, *[r[name] for name in NAMES])
        here = (r.relation == i.relation) & r.retired_by.is_(None)
        query = select(*fields).select_from(t.key_index.outerjoin(t.key_run, here)).where(i.relation == relation)
        rows = self._db.read(query)  # one statement: all of it is as of one moment
        if not rows:
            return None
        version, signature, covers, is_behind = rows[0][:4]
        runs = tuple(KeyRun(**dict(zip(NAMES, row[4:], strict=True))) for row in rows if row[4] is not None)
        return KeyIndex(relation, version, signature, covers, bool(is_behind), runs)

    def runs(self) -> dict[str, list[tuple[int, int]]]:
        """relation -> (the latest version of its index that is in it, rows) of each run of its index."""
        r = t.key_run.c
        found: dict[str, list[tuple[int, int]]] = {}
        for relation, last, rows in self._db.read(select(r.relation, r.last, r.rows).where(r.retired_by.is_(None))):
            found.setdefault(relation, []).append((last, rows))
        return found

    def log(self, relation: str) -> tuple[int, list[tuple[LogFile, int, int, str]]]:
        """(the highest id of the relation's log files, those files with the epochs, coordinators and states of their batches), without those of
        batches that were dropped or retried; those that are set aside belong to it."""
        f, b = t.log_file.c, t.batch.c
        query = select(f.id, b.epoch, b.coordinator, b.state, *[f[name] for name in LogFile.__dataclass_fields__])
        rows = self._db.read(query.join(t.batch, b.id == f.batch).where(f.relation == relation).order_by(f.id))
        files = [(LogFile(*row[4:]), row[1], row[2], row[3]) for row in rows if row[3] not in WITHOUT]
        return max((row[0] for row in rows), default=0), files

    def lowest_open_epoch(self) -> int:
        """Nothing is appended to an earlier one any more."""
        return self._db.look(lambda connection: min((m.epoch for m in read_membership(connection).active()), default=0))

    def put(
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
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            now = connection.execute(select(i.version).where(i.relation == relation).with_for_update()).scalar()
            more = connection.execute(select(f.id).where(f.id > covers, f.relation == relation).limit(1)).first()
            if more is not None or now != (replaced.version if replaced else None):
                raise _say_moved(relation)
            self._db.require_files(connection, {run.path for run in runs})
            version = 1 if now is None else int(now) + 1
            connection.execute(delete(t.key_index).where(i.relation == relation))
            _retire(connection, relation, int(program.last_commit))
            values = {"relation": relation, "version": version, "signature": signature, "covers": covers}
            connection.execute(insert(t.key_index).values(**values))
            _insert(connection, runs, [version] * len(runs))

    def forget(self, relation: str) -> None:
        """Let the index of a relation be built anew with the next append. Its versions go on: who has judged events by it finds out."""
        i = t.key_index.c
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            nothing = {"version": i.version + 1, "signature": "", "covers": -1}
            connection.execute(update(t.key_index).where(i.relation == relation).values(**nothing))
            _retire(connection, relation, int(program.last_commit))

    def commit_merge(self, runs: Sequence[KeyRun], new: Sequence[NewKeyRun]) -> None:
        """Replace runs of one index by others that say the same.

        Raises:
            Conflict: one of them was replaced by somebody else; or files are gone.
        """
        r = t.key_run.c
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            counting = (r.id.in_([run.id for run in runs]), r.retired_by.is_(None))
            gone = update(t.key_run).where(*counting).values(retired_by=int(program.last_commit) + 1)
            if connection.execute(gone).rowcount != len(runs):
                raise _say_moved(runs[0].relation)
            self._db.require_files(connection, {run.path for run in new})
            _insert(connection, new, [max(run.last for run in runs)] * len(new), min(run.first for run in runs))
