"""Final partitions: rows of views that a closed value makes final before their epoch is.

A batch may be **taken back** after it was applied (:mod:`.asides`), for something that was committed later fails because of it. So rows that
are on show may go again, until nobody can take back what they come from. The **horizon** says up to which commit that is so:

    every live batch whose commit is at or below the horizon has incorporated all commits up to it, and so have the derived maps.

What fails from then on fails since a commit behind the horizon, and it is the batch of that commit that is taken back. The horizon never
goes back: a batch that is applied later does not count for it, and the clocks of the others only advance.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    case,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.commits import NEWS
from cumulus_ops.catalog.database import Part
from cumulus_ops.catalog.results import record_table
from cumulus_ops.catalog.seals import lock_values, portions
from cumulus_ops.catalog.values import ClosedValue, shown_value
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.verdicts import DIFFERS, UNPROVED

__all__ = ["FinalCounts", "FinalPartition", "Finals", "Seals", "only_waiting", "refuse_below_finals"]


@dataclass(frozen=True)
class FinalPartition:
    """The rows of a ``view`` with the value ``id`` of a seal, and their number. ``commit``: all batches with such rows were applied by then.
    ``delta_version``: the version of its table that has them first; None: none has yet, or nothing is published. ``verdict``: what was found when they were
    compared with their recomputation (:mod:`cumulus_ops.project.verdicts`), None as long as they were not looked at."""

    view: str
    id: int
    relation: str
    seal: str
    value: str
    commit: int
    rows: int
    delta_version: int | None
    verdict: str | None
    report: str | None

    def __str__(self) -> str:
        """
        >>> str(FinalPartition("clicks", 4, "ads", "campaign", '["7",null]', 12, 3, None, None, None))
        'view clicks, campaign 7, NULL: 3 rows'
        """
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"view {self.view}, {self.seal} {shown_value(self.value)}: {rows}"


@dataclass(frozen=True)
class FinalCounts:
    """How many partitions are final, how many of them have to be validated yet, how many are wrong, and how many could not be compared."""

    partitions: int = 0
    unvalidated: int = 0
    wrong: int = 0
    unproved: int = 0


_FINAL = t.final_partition.c
_VALUE = t.seal_value.c
_FIELDS = (
    _FINAL.view,
    _VALUE.id,
    _VALUE.relation,
    _VALUE.seal,
    _VALUE.value,
    _FINAL.commit,
    _FINAL.rows,
    _FINAL.delta_version,
    _FINAL.verdict,
    _FINAL.report,
)


class Finals(Part):
    """What is final although its epoch has no snapshot yet."""

    def horizon(self, *, refreshed: bool = True) -> int:
        """The commit at or below which no batch can be taken back any more, see above (inclusive). ``refreshed``: False does not look at
        the derived maps."""
        return self._db.look(lambda connection: _horizon(connection, refreshed))

    def newest_news(self) -> int:
        """The newest commit whose deltas others have to incorporate."""
        c = t.commit.c
        rows = self._db.read(select(c.number).where(c.kind.in_(NEWS)).order_by(c.number.desc()).limit(1))
        return int(rows[0][0]) if rows else 0

    def oldest_live(self) -> int | None:
        """The first commit of a batch that is applied and in no snapshot yet; None without one."""
        b = t.batch.c
        found = self._db.read(select(func.min(b.commit)).where(b.clock.is_not(None)))[0][0]
        return None if found is None else int(found)

    def newly_closed(self, views: Mapping[str, Seals] | None = None, *, sealed: bool = True) -> list[ClosedValue]:
        """The closed values that are not done with, in the order of their ids. One indexed look.

        Args:
            views: without those that only wait for other seals of these views, see :func:`~cumulus_ops.catalog.finals.only_waiting`.
            sealed: False takes all that is known for closed, whoever has yet to seal it. For tests.
        """
        v = t.seal_value.c
        newest = select(func.coalesce(func.max(t.batch.c.id), 0)).scalar_subquery()
        query = select(v.id, v.relation, v.seal, v.value, func.coalesce(v.closed_at, newest))
        query = query.where(v.finalised.is_(None)).order_by(v.id)
        if sealed:
            query = query.where(v.closed_at.is_not(None), ~only_waiting(views or {}))
        return [ClosedValue(*row) for row in self._db.read(query)]

    def closed_left(self, relation: str, seal: str, limit: int = 20, *, validated: bool = True) -> list[str]:
        """The texts of closed values of which a partition is not final yet, or not validated, the oldest first.

        Args:
            relation, seal: whose values.
            limit: at most so many.
            validated: False leaves out those that only have to be validated.
        """
        v, f = t.seal_value.c, t.final_partition.c
        mine = select(v.id, v.value).where(v.relation == relation, v.seal == seal)
        left = self._db.read(mine.where(v.finalised.is_(None), v.closed_at.is_not(None)).order_by(v.id).limit(limit))
        found = {int(number): text for number, text in left}
        if validated:
            waits = mine.join(t.final_partition, f.value == v.id).where(f.verdict.is_(None))
            found |= {int(number): text for number, text in self._db.read(waits.order_by(v.id).limit(limit))}
        return [found[number] for number in sorted(found)[:limit]]

    def final_of(self, values: Collection[str]) -> set[tuple[str, str]]:
        """(view, value) of the partitions with these values that are final."""
        found = set()
        for some in portions(sorted(values)):
            mine = select(_FINAL.view, _VALUE.value).join(t.seal_value, _VALUE.id == _FINAL.value)
            found |= {(view, value) for view, value in self._db.read(mine.where(_VALUE.value.in_(some)))}
        return found

    def finals(
        self, view: str | None = None, *, since: int = -1, unpublished: bool = False, unvalidated: bool = False
    ) -> list[FinalPartition]:
        """The final partitions in the order of their values: of a view, those said to be final with a commit from ``since`` on (inclusive), those
        that no table has yet, those that have to be validated yet."""
        query = select(*_FIELDS).join(t.seal_value, _VALUE.id == _FINAL.value).order_by(_FINAL.value, _FINAL.view)
        if view is not None:
            query = query.where(_FINAL.view == view)
        if since >= 0:
            query = query.where(_FINAL.commit >= since)
        if unpublished:
            query = query.where(_FINAL.delta_version.is_(None))
        if unvalidated:
            query = query.where(_FINAL.verdict.is_(None))
        return [FinalPartition(*row) for row in self._db.read(query)]

    def final_counts(self) -> FinalCounts:
        """Of all views."""
        waiting, *found = (
            func.sum(case((mine, 1), else_=0))
            for mine in (_FINAL.verdict.is_(None), _FINAL.verdict == DIFFERS, _FINAL.verdict == UNPROVED)
        )
        row = self._db.read(select(func.count(), waiting, *found).select_from(t.final_partition))[0]
        return FinalCounts(*(int(n or 0) for n in row))

    def record_finals(
        self,
        rows: Mapping[str, Mapping[int, int]],
        done: Collection[int],
        since: int,
        upto: int,
        *,
        refreshed: bool = True,
    ) -> int:
        """Say of partitions that they are final; those of which that is said already stay as they are.

        Args:
            rows: view -> value -> how many rows it has.
            done: the values that concern no further view.
            since: a commit from before anybody looked which batches are not applied.
            upto: by this commit all batches with rows of these values were applied, or are not to count (inclusive).
            refreshed: see :meth:`horizon`.

        Returns:
            how many partitions are new.

        Raises:
            Conflict: a batch was taken back meanwhile, or still may be.
        """
        f, v, b = t.final_partition.c, t.seal_value.c, t.batch.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            gone = select(b.id).where(b.commit <= upto, b.retracted_by > since).limit(1)
            if connection.execute(gone).first() or _horizon(connection, refreshed) < upto:
                raise Conflict("what it has read may be taken back", kind="final-conflict")
            new = 0
            for view, values in rows.items():
                known = {
                    value
                    for some in portions(sorted(values))
                    for value in connection.execute(select(f.value).where(f.view == view, f.value.in_(some))).scalars()
                }
                fresh: list[dict[str, Any]] = [
                    {"view": view, "value": value, "commit": upto, "rows": n, "recorded_at": time.time()}
                    for value, n in values.items()
                    if value not in known
                ]
                if fresh:
                    connection.execute(insert(t.final_partition), fresh)
                new += len(fresh)
            lock_values(connection, done)  # appends lock them, too, if rows of theirs come late
            for some in portions(sorted(done)):
                connection.execute(update(t.seal_value).where(v.id.in_(some)).values(finalised=True))
            return new

    def look_again(self) -> None:
        """Say of no value any more that it is done with: other views are sealed now, or by other seals."""
        v = t.seal_value.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            done = connection.execute(select(v.id).where(v.finalised.is_not(None))).scalars().all()
            lock_values(connection, done)
            for some in portions(sorted(done)):
                connection.execute(update(t.seal_value).where(v.id.in_(some)).values(finalised=None))

    def final_version(self, view: str) -> int:
        """The newest version of a view's table of which the catalog knows; -1 if of none."""
        found = self._db.read(select(func.max(_FINAL.delta_version)).where(_FINAL.view == view))[0][0]
        return -1 if found is None else int(found)

    def record_final_tables(
        self,
        view: str,
        versions: Mapping[int, int],
        table: tuple[str, str, int] | None = None,
        *,
        instead: bool = False,
    ) -> None:
        """Remember which version of the table added the rows of which value.

        Args:
            view: whose rows.
            versions: value -> version.
            table: its folder's name, its own id, and the mark of our newest transaction in it.
            instead: of what is remembered, since the table was written anew; else that stays.
        """
        f = t.final_partition.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            if table is not None:
                record_table(connection, *table)
            for version in sorted(set(versions.values())):
                for some in portions([value for value, n in versions.items() if n == version]):
                    mine = [f.view == view, f.value.in_(some)]
                    new = mine if instead else [*mine, f.delta_version.is_(None)]
                    connection.execute(update(t.final_partition).where(*new).values(delta_version=version))

    def record_final_verdicts(self, verdicts: Mapping[tuple[str, int], str], report: str) -> None:
        """Remember the verdicts of a validation on (view, value) partitions, and its page; a later one replaces it."""
        f = t.final_partition.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            for (view, value), found in verdicts.items():
                mine = update(t.final_partition).where(f.view == view, f.value == value)
                connection.execute(mine.values(verdict=found, report=report))


def refuse_below_finals(connection: Connection, batch: int, commit: int) -> None:
    """See that nothing was said to be final that may have rows of a batch. It follows from the horizon that nobody asks: this says so if
    that should ever be wrong.

    Raises:
        Conflict: something was.
    """
    newest = connection.execute(select(func.max(_FINAL.commit))).scalar()
    if newest is not None and commit <= newest:
        message = "rows were said to be final since it was applied"
        raise Conflict(message, kind="retract-conflict", place=f"batch {batch}")


def _horizon(connection: Connection, refreshed: bool = True) -> int:
    """A clock allows a horizon up to its prefix, or before the first of its batches; one that lies between a batch that was taken back and
    what took it back would show the one without the other."""
    program = connection.execute(select(t.program.c.last_commit, t.program.c.refreshed)).one()
    least = connection.execute(_lowest_allowed()).scalar()
    derived = program.refreshed if refreshed else None
    horizon = min(int(n) for n in (program.last_commit, derived, least) if n is not None)
    b = t.batch.c
    taken_back = select(b.commit, b.retracted_by).where(b.commit <= horizon, b.retracted_by.is_not(None))
    for first, last in connection.execute(taken_back.order_by(b.commit.desc())).all():
        # The commit after the one that took the deltas back takes back the corrections, if there were any.
        c = t.commit.c
        also = select(c.number).where(and_(c.number == int(last) + 1, c.kind == "retract"))
        end = int(last) + 1 if connection.execute(also).first() else int(last)
        if first <= horizon < end:
            horizon = int(first) - 1
    return horizon


def _lowest_allowed() -> Select[Any]:
    k, b = t.reading_clock.c, t.batch.c
    first = func.min(b.commit) - 1
    each = select(k.prefix.label("prefix"), first.label("before")).join(t.batch, b.clock == k.id)
    clocks = each.group_by(k.id, k.prefix).subquery()
    allowed = case((clocks.c.prefix > clocks.c.before, clocks.c.prefix), else_=clocks.c.before)
    return select(func.min(allowed)).select_from(clocks)


# Which closed values still wait for a seal of another relation: they are not worth a look until that has closed them, too.
#
# A view over several relations needs one seal of each. A value that is closed in one of them, and for long in no other, stays undone; the
# database passes it over by its index, so that a look costs what there is to do.


#: The seals of a view as (relation, seal), the first one first, where their values are the same texts.
Seals = Sequence[tuple[str, str]]


def only_waiting(views: Mapping[str, Seals]) -> ColumnElement[bool]:
    """The condition that all that a value of ``seal_value`` makes final, and is not final yet, waits for other seals of the same value.

    Args:
        views: the seals of each view that is sealed.
    """
    concerned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for view, seals in views.items():
        for seal in seals:
            concerned[seal].append(view)
    alone = {seal for seal, names in concerned.items() if all(len(views[name]) == 1 for name in names)}
    each = (_waits(seal, {n: views[n] for n in names}) for seal, names in concerned.items() if seal not in alone)
    return or_(false(), *each)


def _waits(seal: tuple[str, str], views: Mapping[str, Seals]) -> ColumnElement[bool]:
    """The same for the values of one seal, which concerns these views."""
    v = t.seal_value.c
    ready = {name: and_(*(_is_closed(other) for other in seals if other != seal)) for name, seals in views.items()}
    final = {name: _final(name, seals[0]) for name, seals in views.items()}
    some = or_(*(~ready[name] & ~final[name] for name, seals in views.items() if len(seals) > 1))
    others = [final[name] if len(seals) == 1 else ~ready[name] | final[name] for name, seals in views.items()]
    return and_(v.relation == seal[0], v.seal == seal[1], some, *others)


def _is_closed(seal: tuple[str, str]) -> ColumnElement[bool]:
    p = t.seal_value.alias()
    return select(p.c.id).where(*_same(p, seal), p.c.closed_at.is_not(None)).correlate(t.seal_value).exists()


def _final(view: str, first: tuple[str, str]) -> ColumnElement[bool]:
    p, f = t.seal_value.alias(), t.final_partition.c
    mine = select(f.value).join(p, p.c.id == f.value).where(f.view == view, *_same(p, first))
    return mine.correlate(t.seal_value).exists()


def _same(p: FromClause, seal: tuple[str, str]) -> list[ColumnElement[bool]]:
    return [p.c.relation == seal[0], p.c.seal == seal[1], p.c.value == t.seal_value.c.value]
