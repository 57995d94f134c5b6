"""What has happened, epoch by epoch, in numbers and moments: for people who look. Reads only, each of a few statements, and
none longer for a long history than for the epochs that are asked for."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, case, func, select

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import ClockS, Part
from cumulus_ops.catalog.epochs import (
    AppliedBatch,
    EpochNumbers,
    LeftOut,
    Newest,
    Quarantined,
    Transition,
    failed_batches,
    in_utc,
    moment_of,
)
from cumulus_ops.catalog.log import BATCH_FIELDS
from cumulus_ops.catalog.records import LEFT_OUT, Batch

__all__ = ["History"]

NO_EPOCH = 2**31 - 1  # beyond all


class History(Part):
    """Past epochs."""

    def newest_epoch(self) -> int:
        """The newest epoch that anybody has begun; -1 before the first event."""
        newest = select(func.max(t.coordinator.c.epoch)).scalar_subquery()
        found = self._db.read(select(newest))[0][0]
        return -1 if found is None else int(found)

    def epoch_numbers(self, first: int, last: int | None = None) -> list[EpochNumbers]:
        """The epochs from ``first`` to ``last`` (inclusive; None: to the newest) of which there is anything to say, ascending."""

        end = NO_EPOCH if last is None else last

        def look(connection: Connection) -> list[EpochNumbers]:
            found: dict[int, dict[str, Any]] = {}
            b, c, s, v, e = t.batch.c, t.correction.c, t.snapshot.c, t.validation.c, t.view_error.c
            for query in (
                select(b.epoch, *_select_sums())
                .where(b.epoch.between(first, end), b.state.not_in(LEFT_OUT))
                .group_by(b.epoch),
                select(c.epoch, func.sum(c.rows).label("corrections"))
                .where(c.epoch.between(first, end))
                .group_by(c.epoch),
                select(s.epoch, s.entries, s.committed_at, s.repeats, s.seconds.label("commit_seconds")).where(
                    s.epoch.between(first, end)
                ),
                select(v.epoch, v.outcome, v.validated_at).where(v.epoch.between(first, end)),
                select(e.epoch, func.count().label("errors")).where(e.epoch.between(first, end)).group_by(e.epoch),
            ):
                for row in connection.execute(query).mappings():
                    found.setdefault(row["epoch"], {}).update(row)
            return [_numbers(found[epoch]) for epoch in sorted(found)]

        return self._db.look(look)

    def transitions(self, first: int, last: int | None = None) -> list[Transition]:
        """Boundaries of and votes on the epochs from ``first`` to ``last`` (inclusive), by epoch and coordinator."""
        end = NO_EPOCH if last is None else last

        def look(connection: Connection) -> list[Transition]:
            b, s = t.boundary.c, t.vote.c
            found: dict[tuple[int, int], Transition] = {}
            for e, c, ends_at, reason in connection.execute(
                select(b.epoch, b.coordinator, b.ends_at, b.reason).where(b.epoch.between(first, end))
            ):
                found[e, c] = Transition(e, c, moment_of(ends_at), reason)
            for e, c, voted_at, fenced in connection.execute(
                select(s.epoch, s.coordinator, s.voted_at, s.reason).where(s.epoch.between(first, end))
            ):
                at = in_utc(voted_at)
                found[e, c] = replace(found.get((e, c), Transition(e, c)), voted_at=at, fenced=fenced)
            return [found[place] for place in sorted(found)]

        return self._db.look(look)

    def applied_batches(self, first: int, last: int) -> list[AppliedBatch]:
        """The batches of the epochs from ``first`` to ``last`` (inclusive) that are applied, and count."""
        b, k, c = t.batch.c, t.boundary.c, t.commit.c
        left = t.batch.join(t.commit, c.number == b.commit)
        joined = left.outerjoin(t.boundary, (k.epoch == b.epoch) & (k.coordinator == b.coordinator))
        query = select(b.epoch, b.ticket, b.read_at, b.commit, c.committed_at, k.ends_at).select_from(joined)
        rows = self._db.read(query.where(b.epoch.between(first, last), b.state.not_in(LEFT_OUT)))
        return [
            AppliedBatch(epoch, ticket, read_at, commit, ends_at is None or in_utc(at) <= moment_of(ends_at))
            for epoch, ticket, read_at, commit, at, ends_at in rows
        ]

    def published_rows(self, first: int) -> Mapping[str, Sequence[tuple[int, int]]]:
        """view -> (epoch, rows) of what was published of the epochs from ``first`` on, ascending."""
        p = t.published.c
        query = select(p.view, p.epoch, p.rows).where(p.epoch >= first, p.rows.is_not(None)).order_by(p.epoch)
        found: dict[str, list[tuple[int, int]]] = {}
        for view, epoch, rows in self._db.read(query):
            found.setdefault(view, []).append((epoch, rows))
        return found

    def newest_published(self, view: str) -> tuple[int, int] | None:
        """The newest epoch of which a view was published, and the version of its table."""
        p = t.published.c
        query = select(p.epoch, p.delta_version).where(p.view == view).order_by(p.epoch.desc()).limit(1)
        return next(((int(e), int(v)) for e, v in self._db.read(query)), None)

    def newest_right(self, views: Sequence[str]) -> Mapping[str, Newest]:
        """view -> the newest snapshot in which it is not in error; without those that have none."""

        def look(connection: Connection) -> dict[str, Newest]:
            s, e = t.snapshot.c, t.view_error.c
            newest = connection.execute(select(s.epoch, s.committed_at).order_by(s.epoch.desc()).limit(1)).first()
            if newest is None:
                return {}
            at = _data_at(connection, newest.epoch)
            found = dict.fromkeys(views, Newest(newest.epoch, in_utc(newest.committed_at), at))
            for view in connection.execute(select(e.view).where(e.epoch == newest.epoch)).scalars().all():
                found.pop(view, None)
                wrong = select(e.epoch).where(e.view == view)
                right = select(s.epoch, s.committed_at).where(s.epoch.not_in(wrong)).order_by(s.epoch.desc()).limit(1)
                before = connection.execute(right).first()
                if before is not None and view in views:
                    found[view] = Newest(before.epoch, in_utc(before.committed_at), _data_at(connection, before.epoch))
            return found

        return self._db.look(look)

    def data_at(self, epoch: int) -> datetime.datetime | None:
        """When the newest data came that the snapshot of an epoch has; None if it has none."""
        return self._db.look(lambda connection: _data_at(connection, epoch))

    def corrected_maps(self, first: int) -> Mapping[int, frozenset[str] | None]:
        """epoch -> the groups of maps in whose commits corrections were made to it, from epoch ``first`` on; None where that is not known."""
        c = t.correction.c
        found: dict[int, frozenset[str] | None] = {}
        for epoch, maps in self._db.read(select(c.epoch, c.maps).where(c.epoch >= first)):
            before = found.get(epoch, frozenset())
            found[epoch] = None if maps is None or before is None else before | frozenset(json.loads(maps))
        return found

    def waiting_rows(self) -> Mapping[int, tuple[int, int]]:
        """coordinator -> (batches, rows) that are in the log, and not applied yet."""
        b = t.batch.c
        query = select(b.coordinator, func.count(), func.sum(b.inserts + b.deletes)).where(b.state == "appended")
        return {c: (int(n), int(rows)) for c, n, rows in self._db.read(query.group_by(b.coordinator))}

    def has_uncommitted(self) -> bool:
        """Whether there are batches that count and are in no snapshot yet, or that are to be tried again by now."""
        b = t.batch.c
        newest = select(func.coalesce(func.max(t.snapshot.c.epoch), -1)).scalar_subquery()
        counts = b.state.not_in(LEFT_OUT) & (b.epoch > newest)
        is_due = (b.state == "aside") & (b.retry_at <= ClockS())
        return bool(self._db.read(select(b.id).where(counts | is_due).limit(1)))

    def failed(self) -> list[LeftOut]:
        """All batches that failed, whatever was decided about them since."""
        b = t.batch.c
        query = select(*BATCH_FIELDS).where(b.state.in_(LEFT_OUT) | b.retry_of.is_not(None)).order_by(b.id)
        return failed_batches([Batch(*row) for row in self._db.read(query)])

    def quarantined(self, epoch: int | None = None) -> list[Quarantined]:
        """Rows that wait in quarantine, of one epoch or of all, grouped by relation and kind of reason; most first."""
        q = t.quarantine.c
        query = select(q.relation, q.rows, q.reasons).where(q.state == "kept")
        if epoch is not None:
            query = query.join(t.batch, t.batch.c.id == q.batch).where(t.batch.c.epoch == epoch)
        rows: dict[tuple[str, str], list[int]] = {}
        for relation, count, reasons in self._db.read(query):
            for kind, number in (json.loads(reasons) or {"no reason is known": count}).items():
                rows.setdefault((relation, kind), []).append(number)
        found = [Quarantined(relation, kind, sum(n), len(n)) for (relation, kind), n in rows.items()]
        return sorted(found, key=lambda one: (-one.rows, one.relation, one.reason))

    def totals(self) -> EpochNumbers:
        """The sums over all epochs, as one that has the number of the newest."""
        b = t.batch.c
        query = select(func.max(b.epoch).label("epoch"), *_select_sums())
        row = self._db.look(lambda connection: connection.execute(query).mappings().one())
        return _numbers({**row, "epoch": -1 if row["epoch"] is None else row["epoch"]})


def _select_sums() -> list[Any]:
    b = t.batch.c
    names = ("inserts", "deletes", "quarantined", "duplicates", "seconds")
    return [func.coalesce(func.sum(b[name]), 0).label(name) for name in names]


def _data_at(connection: Connection, epoch: int) -> datetime.datetime | None:
    """When the newest data came that a snapshot has: a drop when it landed, what a source gave when it was applied."""
    b, d, c = t.batch.c, t.delivery.c, t.commit.c
    counted = (b.epoch <= epoch, b.state.not_in(LEFT_OUT), b.inserts + b.deletes > 0, b.retry_of.is_(None))
    last = connection.execute(select(func.max(b.epoch)).where(*counted)).scalar()
    if last is None:
        return None
    same = (d.coordinator == b.coordinator) & (d.space == b.space) & (d.name == b["drop"])
    joined = t.batch.outerjoin(t.delivery, same)
    landed = func.max(d.arrived_at)
    applied = func.max(case((d.arrived_at.is_(None), c.committed_at)))
    query = select(landed, applied).select_from(joined.outerjoin(t.commit, c.number == b.commit))
    found = connection.execute(query.where(*counted, b.epoch == last)).one()
    moments = [None if found[0] is None else moment_of(found[0]), _moment(found[1])]
    return max((at for at in moments if at is not None), default=None)


def _numbers(found: Mapping[str, Any]) -> EpochNumbers:
    whole = {name: int(found.get(name) or 0) for name in ("inserts", "deletes", "quarantined", "duplicates")}
    return EpochNumbers(
        found["epoch"],
        **whole,
        seconds=float(found.get("seconds") or 0.0) + float(found.get("commit_seconds") or 0.0),
        corrections=int(found.get("corrections") or 0),
        entries=int(found.get("entries") or 0),
        committed_at=_moment(found.get("committed_at")),
        validated_at=_moment(found.get("validated_at")),
        outcome=found.get("outcome"),
        repeats=found.get("repeats"),
        errors=int(found.get("errors") or 0),
    )


def _moment(at: datetime.datetime | None) -> datetime.datetime | None:
    return None if at is None else in_utc(at)
