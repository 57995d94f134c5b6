"""Values that producers seal: who has events of them, who has no more, and which are closed.

**An append judges its events before its transaction, and the transaction sees that nothing has changed since.** That takes little:

* A coordinator that is registered for a value, and has not sealed it, has it open: nobody closes it without that seal. Seals of a coordinator are made
  by those who have its row locked, as every append of it has. So a number in that row, which grows with each, tells whether what was known is still
  so: one comparison, however many values there are.
* For a value that it is not registered for yet it locks the value's row, and looks again.

A value closes in the transaction that brings its last seal, or in which the last one leaves whose seal was missing. These have the program's row
locked, so that each sees the seals of the others, and who is a member.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, Part, clock_s, insert_new
from cumulus_ops.catalog.epochs import Membership
from cumulus_ops.catalog.members import lock_coordinator, read_membership, unknown_coordinator
from cumulus_ops.catalog.values import (
    ClosedValue,
    OpenValue,
    SealChange,
    SealCounts,
    Sealing,
    UnsettledBatch,
    ValueState,
)
from cumulus_ops.project.errors import Conflict

__all__ = ["Seals", "close_without", "lock_values", "portions", "record_sealing"]

#: Values named in one query: databases limit how many values a query may have.
AT_ONCE = 10_000
#: So many open values of each coordinator are remembered, to look no value up twice.
REMEMBERED = 1_000_000
V, P = t.seal_value.c, t.seal_producer.c
UNSETTLED = ("appended", "aside")

T = TypeVar("T")


class Seals(Part):
    """Which values are open, for whom, and which are closed."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        #: coordinator -> the number of its sealed values, and those that were open for it then, by relation and seal.
        self._open: dict[int, tuple[int, dict[tuple[str, str], set[str]]]] = {}

    def known_open(self, coordinator: int) -> tuple[int, Mapping[tuple[str, str], Set[str]]]:
        """How many values a coordinator has sealed, and those that are known to be open for it, by relation and seal: it is registered for them."""
        query = select(t.coordinator.c.sealed_values).where(t.coordinator.c.index == coordinator)
        number = int(next(iter(self._db.read(query)), [0])[0])
        known, values = self._open.get(coordinator, (number, {}))
        return number, values if known == number else {}

    def remember_open(self, coordinator: int, sealing: Sealing, sealed: int) -> None:
        """After an append: the values that are open for its coordinator now.

        Args:
            coordinator: whose append.
            sealing: what it said.
            sealed: how many values were sealed by it.
        """
        number, values = self._open.get(coordinator, (sealing.sealed_values, {}))
        if number != sealing.sealed_values or sum(map(len, values.values())) > REMEMBERED:
            values = {}
        for seal, known in sealing.known.items():
            values.setdefault(seal, set()).update(known)
        for change in sealing.changes:
            mine = values.setdefault((change.relation, change.seal), set())
            mine.update(change.registers)
            mine.difference_update(change.seals)
        self._open[coordinator] = sealing.sealed_values + sealed, values

    def value_states(self, coordinator: int, relation: str, seal: str, values: Sequence[str]) -> dict[str, ValueState]:
        """What is known of values of a seal, for one coordinator; those that nobody knows are left out."""
        found: dict[str, ValueState] = {}
        for some in portions(values):
            rows: dict[str, list[Row[Any]]] = defaultdict(list)
            for row in self._db.read(_producers(V.relation == relation, V.seal == seal, V.value.in_(some))):
                rows[row.value].append(row)
            found |= {value: _state(coordinator, of_value) for value, of_value in rows.items()}
        return found

    def declared(self) -> str | None:
        """What :meth:`declare` has recorded last."""
        return next((row[0] for row in self._db.read(select(t.program.c.declared))), None)

    def declare(self, declared: str | None, look: Callable[[], Sequence[tuple[int, SealChange]]] = lambda: ()) -> None:
        """Record what appends have to keep to from now on: those under way are waited for, and who was started before is refused.

        Args:
            declared: identifies the project's seals, and its relations that have only inserts.
            look: called when nothing can be appended any more by who does not know of it: says which coordinators have which values already, or
                raises, and then nothing is declared. It may read the catalog.
        """
        c = t.coordinator.c
        with self._db.begin() as connection:
            connection.execute(select(c.index).order_by(c.index).with_for_update()).all()
            self._db.lock(connection)
            said, at = look(), clock_s(connection)
            for _, change in said:
                _insert_values(connection, change, at)
            for coordinator, change in said:
                _register(connection, coordinator, change, _locked_values(connection, change), at)
            connection.execute(update(t.program).values(declared=declared))

    def closed_seals(self) -> list[tuple[str, str]]:
        """The relations and seals of which values are closed."""
        closed = select(V.relation, V.seal).where(V.closed_at.is_not(None)).group_by(V.relation, V.seal)
        return [(row[0], row[1]) for row in self._db.read(closed.order_by(V.relation, V.seal))]

    def newest_seals(self) -> dict[tuple[str, int], tuple[int | None, float]]:
        """(relation, coordinator) -> the newest batch with seals of it, None if some were made by hand, and when the newest was made, in seconds since 1970."""
        b = t.batch.c
        named = (b["drop"] == P.sealed_by) & b.space.in_(
            ("", "/")
        )  # a drop or a retry, and no delivery of a source of the same name
        delivered = (b.coordinator == P.coordinator) & named & (b.part == 0)
        joined = t.seal_value.join(t.seal_producer, P.value == V.id).outerjoin(t.batch, delivered)
        by_hand = func.count().filter(b.id.is_(None))
        query = select(V.relation, P.coordinator, func.max(b.id), by_hand, func.max(P.sealed_at)).select_from(joined)
        rows = self._db.read(query.where(P.sealed_at.is_not(None)).group_by(V.relation, P.coordinator))
        return {(row[0], row[1]): (None if row[3] else row[2], row[4]) for row in rows}

    def seal_by_hand(self, coordinator: int, change: SealChange, by: str) -> int:
        """Seal values in the name of a coordinator that will not do so itself; what is sealed or closed already stays as it is.

        Args:
            coordinator: in whose name.
            change: the values.
            by: who does so.

        Returns:
            how many values it had not sealed before.

        Raises:
            InputProblem: there never was such a coordinator.
            Conflict: one of the values belongs to another coordinator alone.
        """
        with self._db.begin() as connection:
            if lock_coordinator(connection, coordinator) is None:
                raise unknown_coordinator(coordinator)
            self._db.lock(connection)
            return record_sealing(connection, coordinator, Sealing(0, (change,)), by, clock_s(connection))

    def closed_values(self, relation: str, seal: str, since: int = -1) -> list[ClosedValue]:
        """The values of a seal that were closed when there was a batch newer than ``since``, in that order."""
        query = select(V.id, V.relation, V.seal, V.value, V.closed_at)
        mine = (V.relation == relation, V.seal == seal, V.closed_at > since)
        return [ClosedValue(*row) for row in self._db.read(query.where(*mine).order_by(V.closed_at, V.id))]

    def other_columns(self, relation: str, seal: str, columns: Sequence[str]) -> str | None:
        """What a seal's values are of, if that are not these columns."""
        other = (V.relation == relation, V.seal == seal, V.columns != ",".join(columns))
        return next((row[0] for row in self._db.read(select(V.columns).where(*other).limit(1))), None)

    def unsettled_batches(self) -> list[UnsettledBatch]:
        """The batches that are not applied yet, or set aside, and what may be in them."""
        first, f = t.batch.alias("first").c, t.log_file.c
        b = t.batch.c
        same = (first.coordinator == b.coordinator) & (first.space == b.space) & (first["drop"] == b["drop"])
        of_delivery = same & (first.part == 0)
        joined = t.batch.outerjoin(first.id.table, of_delivery).outerjoin(t.log_file, f.batch == b.id)
        query = select(b.id, func.coalesce(first.id, b.id), b.state, f.relation).select_from(joined)
        found: dict[tuple[int, int, str], set[str]] = defaultdict(set)
        for batch, of, state, relation in self._db.read(query.where(b.state.in_(UNSETTLED)).order_by(b.id)):
            found[batch, of, state].update([relation] if relation is not None else [])
        return [UnsettledBatch(*key, frozenset(relations)) for key, relations in found.items()]

    def seal_counts(self) -> list[SealCounts]:
        """Each seal of which there are values, in numbers, and in the order of their names."""
        counts = select(V.relation, V.seal, func.count(), func.count(V.closed_at)).group_by(V.relation, V.seal)
        missing = self._missing_counts()
        return [
            SealCounts(relation, seal, n - closed, closed, missing(relation, seal), oldest[0] if oldest else None)
            for relation, seal, n, closed in self._db.read(counts.order_by(V.relation, V.seal))
            for oldest in [self.open_values(relation, seal, limit=1) if n > closed else []]
        ]

    def _missing_counts(self) -> Callable[[str, str], dict[int, int]]:
        """What tells, of a relation and a seal, how many open values wait for whom."""
        waits_for_all = V.producers == "all"
        unsealed = func.count().filter(P.sealed_at.is_(None) & ~waits_for_all)
        sealed = func.count().filter(P.sealed_at.is_not(None) & waits_for_all)
        joined = select(V.relation, V.seal, P.coordinator, unsealed, sealed).join(t.seal_producer, P.value == V.id)
        query = joined.where(V.closed_at.is_(None)).group_by(V.relation, V.seal, P.coordinator)
        known = {tuple(row[:3]): (int(row[3]), int(row[4])) for row in self._db.read(query)}
        all_ = select(V.relation, V.seal, func.count()).where(V.closed_at.is_(None), waits_for_all)
        open_ = {tuple(row[:2]): int(row[2]) for row in self._db.read(all_.group_by(V.relation, V.seal))}
        members = [m.coordinator for m in self._db.look(read_membership).active()]

        def missing(relation: str, seal: str) -> dict[int, int]:
            of_all = open_.get((relation, seal), 0)
            others = {c: n for (r, s, c), (n, _) in known.items() if (r, s) == (relation, seal)}
            mine = {c: of_all - known.get((relation, seal, c), (0, 0))[1] for c in members}
            return {c: n for c in sorted({*others, *mine}) if (n := others.get(c, 0) + mine.get(c, 0))}

        return missing

    def open_values(
        self,
        relation: str | None = None,
        seal: str | None = None,
        values: Sequence[str] | None = None,
        *,
        limit: int | None = None,
    ) -> list[OpenValue]:
        """Values that wait for seals, the oldest first, and whose those are.

        Args:
            relation, seal, values: only those of one relation, of one of its seals, with one of these texts.
            limit: at most so many.
        """
        wanted: list[ColumnElement[bool]] = [V.closed_at.is_(None)]
        wanted += [] if relation is None else [V.relation == relation]
        wanted += [] if seal is None else [V.seal == seal]
        wanted += [] if values is None else [V.value.in_(values)]
        oldest = select(V.id).where(*wanted).order_by(V.first_seen, V.id).limit(limit)
        query = _producers(V.id.in_(oldest.subquery().select())).order_by(V.first_seen, V.id, P.coordinator)

        def look(connection: Connection) -> list[OpenValue]:
            membership, at = read_membership(connection), clock_s(connection)
            rows: dict[int, list[Row[Any]]] = defaultdict(list)
            for row in connection.execute(query):
                rows[row.id].append(row)
            return [_open_value(of_value, membership, at) for of_value in rows.values()]

        return self._db.look(look)


def record_sealing(connection: Connection, coordinator: int, sealing: Sealing, by: str, at: float) -> int:
    """In the transaction of an append, whose batches are there: register for values, seal values, and close those that have all their seals.

    The coordinator's row is locked; the program's, too, if there are seals. Values that are new are inserted in the order of their texts, then all are
    locked in the order of their seals and numbers: two who have to do with the same values wait for each other, and never both.

    Args:
        connection: that of the transaction.
        coordinator: whose append.
        sealing: what it says. Values that it seals and that are closed already stay as they are.
        by: what is recorded as the seals' origin.
        at: the time, by the database's clock.

    Returns:
        how many values were sealed that the coordinator had not sealed before.

    Raises:
        Conflict: a value was closed meanwhile, or belongs to another coordinator by now.
    """
    changes = sorted(sealing.changes, key=lambda change: (change.relation, change.seal))
    for change in changes:
        _insert_values(connection, change, at)
    sealed: list[int] = []
    for change in changes:
        found = _locked_values(connection, change)
        late = next((value for value in change.registers if found[value].closed_at is not None), None)
        if late is not None:
            raise _say_moved(change, late, "was closed meanwhile")
        _register(connection, coordinator, change, found, at)
        sealed += [found[value].id for value in change.seals if found[value].closed_at is None]
    count = sum(_seal(connection, coordinator, some, at, by) for some in portions(sealed))
    if count:
        c = t.coordinator.c
        more = {"sealed_values": c.sealed_values + count}
        connection.execute(update(t.coordinator).where(c.index == coordinator).values(**more))
    _close(connection, [i for some in portions(sealed) for i in _complete(connection, some)])
    return count


def _register(
    connection: Connection, coordinator: int, change: SealChange, found: Mapping[str, Row[Any]], at: float
) -> None:
    """Register a coordinator for those of some values that are open."""
    open_ = [row for row in found.values() if row.closed_at is None]
    # Values with a single producer must have no other one.
    ids = [row.id for row in open_ if row.producers == "one"]
    for some in portions(ids):
        others = select(V.value).join(t.seal_producer, P.value == V.id)
        alone = (V.id.in_(some), V.producers == "one", P.coordinator != coordinator)
        value = connection.execute(others.where(*alone).limit(1)).scalar()
        if value is not None:
            raise _say_moved(change, value, "belongs to another coordinator")
    registered = [{"value": row.id, "coordinator": coordinator, "registered_at": at} for row in open_]
    insert_new(connection, t.seal_producer, registered)


def close_without(connection: Connection, coordinator: int) -> None:
    """Close the values that waited only for coordinators that have left: in the transaction in which one does, which has its row locked, and the
    program's. From now on values close without it: what it has known to be open is to be looked up, should it come back."""
    c = t.coordinator.c
    more = {"sealed_values": c.sealed_values + 1}
    connection.execute(update(t.coordinator).where(c.index == coordinator).values(**more))
    members = [m.coordinator for m in read_membership(connection).active()]
    sealed = select(func.count()).where(P.value == V.id, P.sealed_at.is_not(None), P.coordinator.in_(members))
    waits = (V.closed_at.is_(None), V.producers == "all", sealed.scalar_subquery() == len(members))
    found = connection.execute(select(V.relation, V.seal, V.id).where(*waits)).all() if members else []
    for seal in sorted({(relation, seal) for relation, seal, _ in found}):
        complete = [i for relation, name, i in found if (relation, name) == seal]
        lock_values(connection, complete)
        _close(connection, complete)


def _insert_values(connection: Connection, change: SealChange, at: float) -> None:
    same: dict[str, object] = {"relation": change.relation, "seal": change.seal, "columns": ",".join(change.columns)}
    same |= {"producers": change.producers, "first_seen": at}
    insert_new(connection, t.seal_value, [{**same, "value": v} for v in sorted({*change.registers, *change.seals})])


def _locked_values(connection: Connection, change: SealChange) -> dict[str, Row[Any]]:
    """Lock values of a seal, in the order of their numbers, and look at them: by their texts."""
    values, mine = [*{*change.registers, *change.seals}], (V.relation == change.relation, V.seal == change.seal)
    if len(values) > AT_ONCE:  # in portions by texts they would be locked in another order
        ids = (connection.execute(select(V.id).where(*mine, V.value.in_(some))).scalars() for some in portions(values))
        lock_values(connection, [i for of_portion in ids for i in of_portion])
    found: dict[str, Row[Any]] = {}
    query = select(V.id, V.value, V.closed_at, V.producers).order_by(V.id).with_for_update()
    for some in portions(values):
        found |= {row.value: row for row in connection.execute(query.where(*mine, V.value.in_(some)))}
    return found


def lock_values(connection: Connection, ids: Collection[int]) -> None:
    """Lock values in the order of their numbers, as everybody does who locks several."""
    for some in portions(sorted(ids)):
        connection.execute(select(V.id).where(V.id.in_(some)).order_by(V.id).with_for_update()).all()


def _say_moved(change: SealChange, value: str, what: str) -> Conflict:
    place = f"relation {change.relation}, seal {change.seal}"
    return Conflict(f"the value {value} {what}", kind="seals-moved", place=place, hint="run it again")


def _seal(connection: Connection, coordinator: int, ids: Sequence[int], at: float, by: str) -> int:
    mine = (P.value.in_(ids), P.coordinator == coordinator, P.sealed_at.is_(None))
    return int(connection.execute(update(t.seal_producer).where(*mine).values(sealed_at=at, sealed_by=by)).rowcount)


def _complete(connection: Connection, ids: Sequence[int]) -> Iterator[int]:
    """Those of some values that have all their seals."""
    members = {m.coordinator for m in read_membership(connection).active()}
    rows: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(_producers(V.id.in_(ids))):
        rows[row.id].append(row)
    return (i for i, of_value in rows.items() if not _missing(of_value, members))


def _close(connection: Connection, ids: Sequence[int]) -> None:
    newest = connection.execute(select(func.max(t.batch.c.id))).scalar() if ids else None
    for some in portions(ids):
        connection.execute(update(t.seal_value).where(V.id.in_(some)).values(closed_at=newest or 0))


def _producers(*wanted: ColumnElement[bool]) -> Select[Any]:
    """Values, with a row for each producer of theirs."""
    values = (V.id, V.relation, V.seal, V.value, V.producers, V.first_seen, V.closed_at)
    joined = t.seal_value.outerjoin(t.seal_producer, P.value == V.id)
    return select(*values, P.coordinator, P.sealed_at).select_from(joined).where(*wanted)


def _missing(of_value: Sequence[Row[Any]], members: Collection[int]) -> list[int]:
    """Whose seals a value waits for.

    Args:
        of_value: its rows of :func:`_producers`.
        members: who is a coordinator now.
    """
    sealed = {row.coordinator for row in of_value if row.sealed_at is not None}
    if of_value[0].producers == "all":
        return sorted({*members} - sealed)
    return sorted({row.coordinator for row in of_value if row.coordinator is not None} - sealed)


def _state(coordinator: int, of_value: Sequence[Row[Any]]) -> ValueState:
    first = of_value[0]
    mine = next((row for row in of_value if row.coordinator == coordinator), None)
    others = [row.coordinator for row in of_value if row.coordinator not in (None, coordinator)]
    times = [row.sealed_at for row in of_value if row.sealed_at is not None]
    is_closed = first.closed_at is not None
    return ValueState(
        mine is not None,
        None if mine is None else mine.sealed_at,
        others[0] if others and first.producers == "one" else None,
        is_closed,
        max(times, default=None) if is_closed else None,
    )


def _open_value(of_value: Sequence[Row[Any]], membership: Membership, at: float) -> OpenValue:
    first = of_value[0]
    members = {m.coordinator for m in membership.active()}
    missing = _missing(of_value, members)
    return OpenValue(
        first.id,
        first.relation,
        first.seal,
        first.value,
        first.producers,
        first.first_seen,
        max(0.0, at - first.first_seen),
        tuple(row.coordinator for row in of_value if row.coordinator is not None),
        tuple(row.coordinator for row in of_value if row.sealed_at is not None),
        tuple(missing),
        tuple(c for c in missing if c not in members),
    )


def portions(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Items as many at once as a query may name."""
    return (items[i : i + AT_ONCE] for i in range(0, len(items), AT_ONCE))
