"""What is known to be damaged, and who repairs it.

Whoever looks at files records what he has found, and takes back what is as it has to be by now: so whoever shows the project's state need not look at files.
One process at a time repairs; another revision is not switched to meanwhile.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import ClockS, Database, Part, now
from cumulus_ops.catalog.epochs import moment_of
from cumulus_ops.catalog.leases import Leases, is_gone
from cumulus_ops.catalog.records import Step
from cumulus_ops.project.errors import NotYet

__all__ = ["KnownDamage", "Recovery", "Repairs", "recovery_under_way"]

ONE = 1


@dataclass(frozen=True)
class KnownDamage:
    """What was found damaged at ``found_at``; the other fields are those of :class:`cumulus_ops.repair.damage.Damage`."""

    kind: str
    file: str
    offset: int | None
    holds: str
    problem: str
    detail: str
    hint: str
    found_at: datetime.datetime | None = None

    def __str__(self) -> str:
        place = (
            f"{self.file}, byte {self.offset}" if self.offset is not None and self.kind != "published" else self.file
        )
        return f"{self.problem}: {self.holds}, {place}: {self.detail.splitlines()[0]}"


@dataclass(frozen=True)
class Recovery:
    """A recovery that is under way: since when, and what it is ``doing``."""

    begun_at: datetime.datetime
    doing: str

    def __str__(self) -> str:
        return f"a recovery is under way since {self.begun_at:%Y-%m-%d %H:%M:%S} UTC: {self.doing}"


FIELDS = ("kind", "file", "offset", "holds", "problem", "detail", "hint")


class Repairs(Part):
    """What is damaged, and who is at it."""

    def __init__(self, database: Database, leases: Leases) -> None:
        super().__init__(database)
        self._leases = leases

    def damages(self) -> list[KnownDamage]:
        """What is known to be damaged, in the order of the files."""
        d = t.damage.c
        query = select(*[d[name] for name in FIELDS], d.found_at).order_by(d.file, d.offset, d.id)
        return [
            KnownDamage(**dict(zip(FIELDS, row, strict=False)), found_at=moment_of(row.found_at))
            for row in self._db.read(query)
        ]

    def record(self, found: Collection[KnownDamage], looked_at: Collection[str] | None = None) -> None:
        """Record what was found; what was damaged and was not found damaged again is as it has to be by now.

        Args:
            found: what is damaged.
            looked_at: the files that were looked at; None: all.
        """
        gone, fresh = _compare(self.damages(), found, looked_at)
        if not gone and not fresh:  # as it is most often
            return
        d, at = t.damage.c, now().timestamp()
        with self._db.begin() as connection:
            self._db.lock(connection)
            known = [KnownDamage(**row._asdict()) for row in connection.execute(select(*[d[name] for name in FIELDS]))]
            gone, fresh = _compare(known, found, looked_at)  # somebody else may have recorded it meanwhile
            for kind, file, offset in gone:
                mine = (d.kind == kind, d.file == file, d.offset.is_not_distinct_from(offset))
                connection.execute(delete(t.damage).where(*mine))
            rows = [{**{name: getattr(damage, name) for name in FIELDS}, "found_at": at} for damage in fresh]
            if rows:
                connection.execute(insert(t.damage), rows)

    def under_way(self) -> Recovery | None:
        """The recovery that is under way; one whose process has ended is none."""
        return self._db.look(recovery_under_way)

    @contextmanager
    def recovering(self, step: Step) -> Iterator[None]:
        """Be the one who repairs.

        Raises:
            NotYet: somebody else repairs, or another revision is being switched to.
        """
        self._begin(step)
        try:
            yield
        finally:
            with self._db.begin() as connection:
                connection.execute(
                    delete(t.recovery).where(t.recovery.c.lease == step.lease, t.recovery.c.step == step.number)
                )

    def _begin(self, step: Step) -> None:
        r, k = t.revision.c, t.lease.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            self._leases.end_lapsed(connection)
            other = _read(connection)
            if other is not None and _is_held(other) and (other.lease, other.step) != (step.lease, step.number):
                since = f"since {moment_of(other.begun_at):%Y-%m-%d %H:%M:%S} UTC: {other.doing}"
                hint = "wait until it is done; if its process has ended, it may be run again within a minute"
                raise NotYet(f"somebody else repairs {since}", kind="recovery-under-way", hint=hint)
            held = select(r.number, k.holder).join(t.lease, (k.id == r.lease) & (k.first_step <= r.step))
            found = connection.execute(held.where(r.since.is_(None), k.expires >= ClockS()))
            for switching in (number for number, holder in found if not is_gone(holder)):
                hint = "try again; it takes about as long as a batch"
                raise NotYet(f"revision {switching} is just being switched to", kind="switching", hint=hint)
            values = {
                "lease": step.lease,
                "step": step.number,
                "begun_at": now().timestamp(),
                "doing": "looks at files",
            }
            connection.execute(delete(t.recovery))
            connection.execute(insert(t.recovery).values(id=ONE, **values))

    def doing(self, what: str) -> None:
        """Say what the recovery of this process does now."""
        with self._db.begin() as connection:
            connection.execute(update(t.recovery).values(doing=what))


def recovery_under_way(connection: Connection) -> Recovery | None:
    """The one whose process is there still."""
    row = _read(connection)
    return None if row is None or not _is_held(row) else Recovery(moment_of(row.begun_at), row.doing)


def _compare(
    known: Collection[KnownDamage], found: Collection[KnownDamage], looked_at: Collection[str] | None
) -> tuple[list[tuple[str, str, int | None]], list[KnownDamage]]:
    """What is known and is not so any more, and what is new."""
    old, new = {_key(damage) for damage in known}, {_key(damage): damage for damage in found}
    gone = [key for key in old if key not in new and (looked_at is None or key[1] in looked_at)]
    return gone, [damage for key, damage in new.items() if key not in old]


def _key(damage: KnownDamage) -> tuple[str, str, int | None]:
    return damage.kind, damage.file, damage.offset


def _read(connection: Connection) -> Row[*tuple[Any, ...]] | None:
    """Who repairs, with his lease, if that is there still."""
    r, k = t.recovery.c, t.lease.c
    query = select(r.lease, r.step, r.begun_at, r.doing, k.holder, k.first_step)
    return connection.execute(query.join(t.lease, k.id == r.lease)).first()


def _is_held(row: Row[*tuple[Any, ...]]) -> bool:
    return bool(row.step >= row.first_step) and not is_gone(row.holder)
