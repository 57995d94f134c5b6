"""Revisions of the program, and how one becomes the next: a deployment (docs/adr/0063).

A deployment's groups are filled while everybody goes on. Their runs are visible at once, and nobody looks at them, for no other revision has groups of these
names. Nor do they concern who corrects, refreshes or merges: their origin is 0. The switch makes the rest visible, and the new revision current.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, tuple_, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.commits import forget_clocks, insert_clock
from cumulus_ops.catalog.database import ClockS, Database, Part, now
from cumulus_ops.catalog.epochs import in_utc
from cumulus_ops.catalog.leases import Leases, is_gone
from cumulus_ops.catalog.program import revision_values
from cumulus_ops.catalog.records import Clock, NewRun, ProgramRecord, Recipe, Step
from cumulus_ops.catalog.repairs import recovery_under_way
from cumulus_ops.project.errors import Conflict, InputProblem, NotYet

__all__ = ["Changes", "Deployment", "Revision", "Revisions", "Stand"]


@dataclass(frozen=True)
class Changes:
    """What a revision changes of the one before: ``views``, each ``added``, ``changed`` or ``removed``; ``relations``, in words. ``is_replanned``: all maps are made anew;
    ``back_to``: the earlier revision that it deploys again."""

    views: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    is_replanned: bool = False
    back_to: int | None = None

    def lines(self) -> tuple[str, ...]:
        """For people.

        >>> Changes({"a": "added"}, {"t": "removed"}, back_to=1).lines()
        ('back to revision 1', 'relation t: removed', 'view a: added')
        """
        back = () if self.back_to is None else (f"back to revision {self.back_to}",)
        found = [
            f"{kind} {name}: {what}"
            for kind in ("relation", "view")
            for name, what in sorted(getattr(self, f"{kind}s").items())
        ]
        return (*back, *found, *(("all maps made anew",) if self.is_replanned else ()))


@dataclass(frozen=True)
class Revision:
    """A revision as it is listed. ``since``: its first epoch, None if it is not deployed; ``problem``: why it was given up; ``source``: of which files."""

    number: int
    since: int | None
    made_at: datetime.datetime
    problem: str | None
    source: str | None
    changes: Changes


@dataclass(frozen=True)
class Deployment:
    """A revision that is being deployed: ``base`` is the epoch up to which its new groups have all there is, None if they have nothing yet."""

    number: int
    digest: str
    base: int | None


@dataclass(frozen=True)
class Stand:
    """What becomes of a deployment just now: whether somebody ``works`` at it, and whether that one has begun to switch. ``pinned``: the epoch whose snapshot it keeps."""

    works: bool
    switches: bool
    pinned: int | None


class Revisions(Part):
    """What is maintained, was, and is to be."""

    def __init__(self, database: Database, leases: Leases) -> None:
        super().__init__(database)
        self._leases = leases

    def all(self) -> list[Revision]:
        """All of them, oldest first."""
        r = t.revision.c
        query = select(r.number, r.since, r.made_at, r.problem, r.source, r.changes).order_by(r.number)
        return [
            Revision(number, since, in_utc(made_at), problem, source, Changes(**json.loads(changes or "{}")))
            for number, since, made_at, problem, source, changes in self._db.read(query)
        ]

    def since(self, number: int) -> int:
        """The first epoch of a revision that was deployed."""
        return next(r.since or 0 for r in self.all() if r.number == number)

    def deployment(self) -> Deployment | None:
        """The one that is being deployed."""
        r = t.revision.c
        rows = self._db.read(select(r.number, r.digest, r.base).where(r.since.is_(None), r.problem.is_(None)))
        return Deployment(*rows[0]) if rows else None

    def stand(self, number: int) -> Stand:
        """What becomes of a deployment."""
        r, k = t.revision.c, t.lease.c
        held = {
            lease: first
            for lease, first, holder in self._db.read(select(k.id, k.first_step, k.holder).where(k.expires >= ClockS()))
            if not is_gone(holder)
        }
        ((pinned, worker, lease, step),) = self._db.read(
            select(r.pinned, r.worker, r.lease, r.step).where(r.number == number)
        )
        switches = lease in held and step >= held[lease]
        return Stand(switches or worker in held, switches, pinned)

    def begin(self, record: ProgramRecord, changes: Changes, step: Step) -> Deployment:
        """Begin to deploy a program, and pin the newest snapshot; or go on, if this one is being deployed already.

        Args:
            record: the program.
            changes: what it changes, for people.
            step: of the process that is at it.

        Raises:
            InputProblem: another one is being deployed.
        """
        r = t.revision.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            other = connection.execute(
                select(r.number, r.digest, r.base).where(r.since.is_(None), r.problem.is_(None))
            ).first()
            if other is not None:
                if other.digest == record.digest:
                    self._update(connection, other.number, worker=step.lease)
                    return Deployment(*other)
                raise InputProblem(
                    f"revision {other.number} is being deployed",
                    kind="deployment-under-way",
                    hint="`cumulus deploy --abort` gives it up; nothing that is maintained is concerned",
                )
            number = int(connection.execute(select(func.max(r.number))).scalar() or 0) + 1
            own = {"number": number, "pinned": _newest(connection), "worker": step.lease}
            values = revision_values(record) | own | {"changes": json.dumps(asdict(changes))}
            connection.execute(insert(t.revision).values(**values, made_at=now()))
            return Deployment(number, record.digest, None)

    def commit_fill(self, number: int, base: int | None, upto: int, runs: Sequence[NewRun]) -> None:
        """Make visible what a deployment's groups have up to the snapshot of an epoch (inclusive).

        Args:
            number: the revision's.
            base: up to where they had everything before.
            upto: up to where they have it with these runs.
            runs: what was written; they count as read by everybody.

        Raises:
            Conflict: somebody else has filled them meanwhile, or the deployment was given up.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            self._require(connection, number, base)
            if runs:
                recipe = Recipe(since=base, upto=upto, revision=number)
                self._db.make_visible(connection, program, "fill", runs, [0] * len(runs), recipe)
            self._update(connection, number, base=upto, pinned=upto)

    def begin_switch(self, number: int, base: int, step: Step) -> None:
        """From now on no batch begins to be applied, until the step is over, or its lease.

        Raises:
            NotYet: there is a newer snapshot than the one that its groups are filled up to; or a recovery is under way.
            Conflict: somebody else is switching, or the deployment was given up.
        """
        with self._db.begin() as connection:
            self._db.lock(connection)
            self._leases.end_lapsed(connection)
            row = self._require(connection, number, base)
            if _is_held(connection, row) and (row.lease, row.step) != (step.lease, step.number):
                raise Conflict("somebody else is switching", kind="switch-conflict", place=f"revision {number}")
            if _newest(connection) != base:
                raise NotYet("an epoch was committed meanwhile", kind="fill-behind", place=f"revision {number}")
            if recovery_under_way(connection) is not None:
                raise NotYet("what is damaged is being repaired", kind="recovery-under-way", place=f"revision {number}")
            self._update(connection, number, lease=step.lease, step=step.number, worker=step.lease)

    def end_switch(self, number: int) -> None:
        """Batches are applied again."""
        with self._db.begin() as connection:
            self._update(connection, number, lease=None, step=None)

    def end_dead_switch(self) -> None:
        """Let batches be applied again, if who was switching is a process of this machine that has ended: nobody has to wait for its lease."""
        r, k = t.revision.c, t.lease.c
        query = select(r.number, k.holder).join(t.lease, k.id == r.lease).where(r.since.is_(None))
        for number, holder in self._db.read(query):
            if is_gone(holder):
                self.end_switch(number)

    def applies_under_way(self) -> int:
        """How many batches are being applied just now, by processes whose leases hold."""
        b, k = t.batch.c, t.lease.c
        query = select(func.count()).select_from(t.batch).join(t.lease, (k.id == b.lease) & (k.first_step <= b.step))
        return int(self._db.read(query.where(b.state == "appended", b.read_at.is_not(None)))[0][0])

    def commit_switch(
        self,
        number: int,
        base: int,
        step: Step,
        at: int,
        runs: Sequence[NewRun],
        *,
        derives: bool,
        appended: int | None = None,
        finals: Mapping[str, int] | None = None,
    ) -> int:
        """Make a revision the current one, from the epoch after ``base`` on.

        Args:
            number: the revision's.
            base: the newest snapshot's epoch, up to which its groups are filled.
            step: which has begun the switch.
            at: the commit up to which live batches are corrected, and maps are refreshed (inclusive); the runs have read the same.
            runs: what the live batches add to its groups.
            derives: whether it has derived maps.
            appended: the last batch (its id) of which it is known that its rows are rows of the changed relations; None if these are as they were.
            finals: how many partitions are final of the views that change, as far as is known.

        Returns:
            the commit's number.

        Raises:
            Conflict: something was committed since ``at``, or an epoch; or somebody else is switching.
        """
        with self._db.begin() as connection:
            # Appends under way are waited for, and who was started before is refused then. They lock their coordinator first, too.
            connection.execute(select(t.coordinator.c.index).order_by(t.coordinator.c.index).with_for_update()).all()
            program = self._db.lock(connection)
            row = self._require(connection, number, base)
            if (row.lease, row.step) != (step.lease, step.number) or not _is_held(connection, row):
                raise Conflict("its lease is over", kind="lease-over", place=f"step {step.label}", hint="run it again")
            if program.last_commit != at or _newest(connection) != base:
                raise Conflict("something was committed meanwhile", kind="switch-conflict", place=f"revision {number}")
            if appended is not None and connection.execute(select(func.max(t.batch.c.id))).scalar() not in (
                None,
                appended,
            ):
                raise Conflict("something was appended meanwhile", kind="switch-conflict", place=f"revision {number}")
            f = t.final_partition.c
            for view, known in (finals or {}).items():
                mine = select(func.count()).select_from(t.final_partition).where(f.view == view)
                if connection.execute(mine).scalar() != known:
                    message = f"rows of view {view} have become final meanwhile"
                    raise Conflict(message, kind="switch-conflict", place=f"revision {number}")
            recipe = Recipe(at, since=base, revision=number)
            commit = self._db.make_visible(connection, program, "switch", runs, [at] * len(runs), recipe)
            # What a program without corrections said of its batches does not hold for this one's groups.
            live = (t.batch.c.state == "applied", t.batch.c.clock.is_not(None))
            if connection.execute(select(t.batch.c.id).where(*live).limit(1)).first():
                clock = insert_clock(connection, Clock(commit, frozenset()))
                connection.execute(update(t.batch).where(*live).values(clock=clock))
                forget_clocks(connection)
            self._update(connection, number, since=base + 1, pinned=None, lease=None, step=None, worker=None)
            values = {"revision": number, "refreshed": commit if derives else None}
            connection.execute(update(t.program).values(**values))
            if self._db.known_revision is not None:  # this process knows what it has done
                self._db.known_revision = number
            return commit

    def give_up(self, number: int, why: str, names: Collection[str], copies: Collection[tuple[str, str]]) -> None:
        """End a deployment that is not switched to; a no-op if it is over.

        Args:
            number: the revision's.
            why: why.
            names: its groups that no other revision has.
            copies: the copies (group, path) of other groups that it alone has.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            row = connection.execute(select(t.revision).where(t.revision.c.number == number)).one()
            if row.since is not None or row.problem is not None:
                return
            self._retire(connection, program, names, copies)
            self._update(connection, number, problem=why, pinned=None, lease=None, step=None, worker=None)

    def retire(self, names: Collection[str], copies: Collection[tuple[str, str]] = ()) -> None:
        """Let go of groups, and copies, that no revision has whose snapshots can be read."""
        with self._db.begin() as connection:
            self._retire(connection, self._db.lock(connection), names, copies)

    def awaits_snapshot(self) -> bool:
        """Whether the current revision was deployed, and has no snapshot yet: its first epoch is to end, whether anything comes or not."""
        r, p = t.revision.c, t.program.c
        current = select(r.since).join(t.program, p.revision == r.number)
        newest = select(func.max(t.snapshot.c.epoch))
        since, last = self._db.read(select(current.scalar_subquery(), newest.scalar_subquery()))[0]
        return since is not None and since > 0 and (last is None or last < since)

    def groups_stored(self) -> set[tuple[str, str]]:
        """The copies (group, path) of which there are runs."""
        r = t.run.c
        return {
            (name, path)
            for name, path in self._db.read(select(r.map, r.access_path).where(r.retired_by.is_(None)).distinct())
        }

    def needed(self) -> list[int]:
        """The revisions whose groups are needed: the current one, the one that is being deployed, and those of snapshots that can be read."""
        r, p = t.revision.c, t.program.c
        since = self._db.read(select(r.number, r.since, r.problem).order_by(r.number))
        oldest = int(self._db.read(select(p.oldest_readable))[0][0])
        current = int(self._db.read(select(p.revision))[0][0])
        deployed = [(number, first) for number, first, _ in since if first is not None]
        found = [number for number, first, problem in since if first is None and problem is None]
        for (number, _), following in zip(deployed, [*deployed[1:], (0, None)], strict=True):
            if number == current or following[1] is None or following[1] > oldest:
                found.append(number)
        return sorted(found)

    def _retire(
        self, connection: Connection, program: Row[Any], names: Collection[str], copies: Collection[tuple[str, str]]
    ) -> None:
        r = t.run.c
        which = r.map.in_(sorted(names)) | tuple_(r.map, r.access_path).in_(sorted(copies))
        if names or copies:
            number = self._db.make_visible(connection, program, "forget", ())
            connection.execute(update(t.run).where(which, r.retired_by.is_(None)).values(retired_by=number))

    def _require(self, connection: Connection, number: int, base: int | None) -> Row[Any]:
        row = connection.execute(select(t.revision).where(t.revision.c.number == number)).one()
        if row.since is not None or row.problem is not None or row.base != base:
            raise Conflict(
                "it was deployed, filled or given up by somebody else",
                kind="deployment-conflict",
                place=f"revision {number}",
            )
        return row

    def _update(self, connection: Connection, number: int, **values: object) -> None:
        connection.execute(update(t.revision).where(t.revision.c.number == number).values(**values))


def _newest(connection: Connection) -> int:
    found = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
    return -1 if found is None else int(found)


def _is_held(connection: Connection, row: Row[Any]) -> bool:
    """Whether the step that switches is under way; that of a process of this machine that has ended is not."""
    if row.lease is None:
        return False
    k = t.lease.c
    held = connection.execute(select(k.first_step, k.holder).where(k.id == row.lease)).first()
    return held is not None and row.step >= held.first_step and not is_gone(held.holder)
