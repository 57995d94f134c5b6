"""Deliveries that were seen, where their sources are, what of them was put aside, and the key indexes that they have changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, delete, func, insert, select, tuple_, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, insert_new, now
from cumulus_ops.catalog.epochs import moment_of
from cumulus_ops.catalog.records import (
    Advance,
    FileAside,
    Intake,
    KnownDelivery,
    NewFileAside,
    QuarantinedRows,
    Repeats,
    Taken,
    TakenFile,
)
from cumulus_ops.project.errors import Conflict, InputProblem

__all__ = ["Deliveries", "forget_positions", "move", "record_intake"]


#: So many names are asked for one by one, of more all are read.
FEW = 1000
# Each append asks these: they are made once.
WHICH = (
    t.delivery.c.coordinator == bindparam("whose"),
    t.delivery.c.space == "",
    t.delivery.c.name == bindparam("called"),
)
LANDED = select(t.delivery.c.files, t.delivery.c.digest).where(*WHICH).with_for_update()
_KNOWN = select(*(t.delivery.c[name] for name in ("id", "name", "arrived_at", "identity", "files", "digest")))
KNOWN = _KNOWN.where(t.delivery.c.coordinator == bindparam("whose"), t.delivery.c.space == "")
NAMED = KNOWN.where(t.delivery.c.name.in_(bindparam("names", expanding=True)))
TAKE = (
    update(t.delivery)
    .where(*WHICH)
    .values(identity=bindparam("now_identity"), files=bindparam("now_files"), digest=bindparam("now_digest"))
)


def _select_aside() -> Select[Any]:
    f = t.file_aside.c
    fields = (f.coordinator, f.delivery, f.relation, f.place, f.kind, f.reason, f.hint, f.bytes, f.waits_for, f.id)
    return (
        select(*fields, f.state, t.batch.c.epoch, f.recorded_at)
        .select_from(t.file_aside.outerjoin(t.batch, t.batch.c.id == f.batch))
        .order_by(f.id)
    )


ASIDE = _select_aside()
WAITING = ASIDE.where(
    t.file_aside.c.state == "aside",
    t.file_aside.c.coordinator == bindparam("whose"),
    t.file_aside.c.waits_for != "[]",
)
COUNT_ASIDE = select(func.count()).where(t.file_aside.c.batch == bindparam("batch"))


class Deliveries(Part):
    """What came in."""

    def source_position(self, source: str) -> str | None:
        """Where a source is: what comes before is in the log; None if it has not begun, or has no position."""
        p = t.source_position.c
        return next((row[0] for row in self._db.read(select(p.position).where(p.source == source))), None)

    def source_positions(self, epoch: int) -> dict[str, str]:
        """Where the sources were at the end of an epoch, by name: what comes before, and nothing else, is in it or in earlier ones.

        Raises:
            InputProblem: its snapshot is not retained any more, and neither is this.
        """
        oldest = self._db.read(select(t.program.c.oldest_readable))[0][0]
        if epoch < oldest:
            hint = f"the oldest is {oldest}; `retain` and `pin` under `epochs:` in cumulus.yaml keep more"
            raise InputProblem(f"epoch {epoch} is no longer retained", kind="not-retained", hint=hint)
        s = t.source_epoch.c
        latest = select(s.source, func.max(s.epoch)).where(s.epoch <= epoch).group_by(s.source)
        return {
            row[0]: row[1]
            for row in self._db.read(select(s.source, s.position).where(tuple_(s.source, s.epoch).in_(latest)))
        }

    def known(self, coordinator: int, names: Collection[str]) -> dict[str, KnownDelivery]:
        """Those of the named drops that were seen for a coordinator, by name."""
        some = len(names) <= FEW
        values = {"whose": coordinator, **({"names": [*names]} if some else {})}
        rows = (row for row in self._db.read(NAMED if some else KNOWN, values) if row[1] in names)
        return {
            name: KnownDelivery(
                id_, name, at, i, {file: TakenFile(*fields) for file, fields in json.loads(files).items()}, digest
            )
            for id_, name, at, i, files, digest in rows
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
            with self._db.begin() as connection:
                insert_new(connection, t.delivery, values)

    def number_of(self, coordinator: int, space: str, name: str, arrived: float) -> int:
        """The number of a delivery, which is recorded if it is not known."""
        self.see(coordinator, {name: arrived}, space)
        d = t.delivery.c
        mine = (d.coordinator == coordinator, d.space == space, d.name == name)
        return int(self._db.read(select(d.id).where(*mine))[0][0])

    def with_contents(self, coordinator: int, digest: str) -> list[str]:
        """The names of the drops of a coordinator with these contents, in the order in which they were seen."""
        d = t.delivery.c
        same = (d.coordinator == coordinator, d.space == "", d.digest == digest)
        return [row[0] for row in self._db.read(select(d.name).where(*same).order_by(d.id))]

    def recognise(self, taken: Taken) -> None:
        """Record how a drop looks now that was taken already, and has the same contents."""
        with self._db.begin() as connection:
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
            if self._db.read(same):
                continue
            with self._db.begin() as connection:
                again = update(t.file_aside).where(*here, f.state == "aside", f.kind == aside.kind)
                if connection.execute(again.values(reason=aside.reason, bytes=aside.bytes)).rowcount:
                    continue
                if connection.execute(known).first() is None:
                    _set_aside(connection, [aside], None)

    def waiting_files(self, coordinator: int) -> list[FileAside]:
        """Files of a coordinator that are set aside for columns that were not deployed, in the order in which that was recorded."""
        return self._files_aside(WAITING, {"whose": coordinator})

    def files_aside(self, *, state: str | None = "aside") -> list[FileAside]:
        """Files that are set aside (``state`` None: or were), in the order in which that was recorded."""
        return self._files_aside(ASIDE if state is None else ASIDE.where(t.file_aside.c.state == state))

    def count_files_aside(self, batch: int) -> int:
        """How many files of the delivery whose first batch it is are set aside, or were."""
        return int(self._db.read(COUNT_ASIDE, {"batch": batch})[0][0])

    def _files_aside(self, query: Select[Any], values: Mapping[str, object] | None = None) -> list[FileAside]:
        return [
            FileAside(
                **{
                    **row._asdict(),
                    "waits_for": tuple(json.loads(row.waits_for)),
                    "recorded_at": moment_of(row.recorded_at),
                }
            )
            for row in self._db.read(query, values)
        ]

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
        found = [row._asdict() for row in self._db.read(query)]
        # of rows that were rejected before kinds were recorded no reason is known
        return [
            QuarantinedRows(**{**row, "reasons": json.loads(row["reasons"]) or {"unknown": row["rows"]}})
            for row in found
        ]

    def repeats(self) -> list[Repeats]:
        """Deliveries with rows that had been accepted before."""
        b = t.batch.c
        rows = func.sum(b.duplicates)
        query = select(b.coordinator, b.epoch, b["drop"], rows).where(b.duplicates > 0)
        each = query.group_by(b.coordinator, b.epoch, b.space, b["drop"])
        found = self._db.read(each.order_by(b.epoch, b.coordinator))
        return [Repeats(c, e, d, int(n)) for c, e, d, n in found]

    def count_undecided(self) -> tuple[int, int]:
        """How many rows are in the quarantine, and how many files are set aside."""
        q, f = t.quarantine.c, t.file_aside.c
        rows = select(func.coalesce(func.sum(q.rows), 0)).where(q.state == "kept").scalar_subquery()
        files = select(func.count(f.id)).where(f.state == "aside").scalar_subquery()
        found = self._db.read(select(rows, files))[0]
        return int(found[0]), int(found[1])

    def files_aside_by_epoch(self) -> dict[int, int]:
        """epoch -> how many files of its deliveries were set aside."""
        f, b = t.file_aside.c, t.batch.c
        joined = t.file_aside.join(t.batch, b.id == f.batch)
        rows = self._db.read(select(b.epoch, func.count()).select_from(joined).group_by(b.epoch))
        return {row[0]: row[1] for row in rows}

    def drop_quarantined(self, *numbers: int) -> None:
        """Decide that quarantined rows will never count, of all these numbers at once; a no-op when done before.

        Raises:
            InputProblem: there are none of such a number, or they were retried.
        """
        with self._db.begin() as connection:
            for number in sorted(numbers):
                _drop(connection, t.quarantine, number, "kept", f"R{number}")

    def drop_file_aside(self, number: int) -> None:
        """Decide that a file that is set aside will never count; a no-op when done before.

        Raises:
            InputProblem: there is none of that number, or it was retried.
        """
        with self._db.begin() as connection:
            _drop(connection, t.file_aside, number, "aside", f"F{number}")

    def last_epochs(self) -> dict[str, int]:
        """source -> the last epoch that something of it is in."""
        s = t.source_epoch.c
        return {row[0]: int(row[1]) for row in self._db.read(select(s.source, func.max(s.epoch)).group_by(s.source))}


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
    which = {"whose": taken.coordinator, "called": taken.name}
    before = connection.execute(LANDED, which).first()
    if before is None:
        return
    files = json.dumps({**json.loads(before[0]), **taken.files})
    values = {"now_identity": taken.identity, "now_files": files, "now_digest": taken.digest or before[1]}
    connection.execute(TAKE, {**which, **values})


def _set_aside(connection: Connection, asides: Sequence[NewFileAside], batch: int | None) -> None:
    rows = [
        {
            **vars(a),
            "waits_for": json.dumps(a.waits_for),
            "batch": batch,
            "recorded_at": now().timestamp(),
            "state": "aside",
        }
        for a in asides
    ]
    if rows:
        connection.execute(insert(t.file_aside), rows)


# Sources that stand still: whoever asks a source says so here, and whoever looks at the project need not ask it.


# The key indexes' rows: which runs they consist of, and what they know of the log.
#
# An append changes the indexes that it has judged events by in its own transaction, if they are as they were: so of two appends to one
# relation the second finds out, and looks whether the first has changed its keys. A merge changes nothing that is known.
