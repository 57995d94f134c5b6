"""Commits: runs becoming visible, corrections, refreshes, merges; and the clocks that say what each batch has read."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import (
    Connection,
    Row,
    ScalarSelect,
    Select,
    bindparam,
    case,
    delete,
    distinct,
    func,
    insert,
    or_,
    select,
    update,
)

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import ClockS, Database, Part
from cumulus_ops.catalog.leases import Leases
from cumulus_ops.catalog.log import BATCH_FIELDS
from cumulus_ops.catalog.records import (
    EVER,
    Batch,
    Clock,
    HistoryEntry,
    NewRun,
    Recipe,
    Refresh,
    Run,
    SharedClock,
    Step,
    Unsettled,
)
from cumulus_ops.project.errors import Conflict, NotYet

__all__ = ["Commits", "forget_clocks", "insert_clock"]


# Reading clocks: what applied batches have incorporated, and whether anything is missing.
#
# A clock belongs to one batch when that is applied, and to all that were corrected together from then on. It never changes: a
# correction moves its batches to a new one, and a batch that is retired or taken back leaves it. So whoever finds as many batches with a
# clock as it has read finds the same ones, and one statement advances them all, however many they are.


#: The kinds of commits whose deltas others have to incorporate: merges and refreshes bring nothing new to base maps.
NEWS = ("start", "apply", "correct", "retract")
NEW_CLOCK = insert(t.reading_clock).returning(t.reading_clock.c.id)


def insert_clock(connection: Connection, clock: Clock) -> int:
    """A new clock, which no batch has yet; its number."""
    values = {"prefix": clock.prefix, "exceptions": json.dumps(sorted(clock.exceptions))}
    return int(connection.execute(NEW_CLOCK, values).scalar_one())


def forget_clocks(connection: Connection) -> None:
    """Delete the clocks that no batch has any more: they would hold merging back."""
    shared = select(t.batch.c.id).where(t.batch.c.clock == t.reading_clock.c.id)
    connection.execute(delete(t.reading_clock).where(~shared.exists()))


def _clock(prefix: int, exceptions: str) -> Clock:
    return Clock(prefix, frozenset(json.loads(exceptions)))


def _select_incorporated() -> ScalarSelect[Any]:
    """The commit up to which every live batch, and the maps that depend on derivations, have incorporated everything."""
    p = t.program.c
    lowest = func.coalesce(select(func.min(t.reading_clock.c.prefix)).scalar_subquery(), p.last_commit)
    refreshed = func.coalesce(p.refreshed, p.last_commit)
    return select(case((lowest < refreshed, lowest), else_=refreshed)).select_from(t.program).scalar_subquery()


NAMES = tuple(Run.__dataclass_fields__)
RUN_FIELDS = [t.run.c[name] for name in NAMES]


# What each batch asks and changes, made once (see :meth:`Database.read`).


LAST, REFRESHED = select(t.program.c.last_commit), select(t.program.c.refreshed)
FORGOTTEN = select(t.program.c.forgotten)
REPLACED = select(t.run.c.id).where(t.run.c.retired_by > bindparam("since"), t.run.c.retired_by <= bindparam("at"))
_THERE = (t.run.c.commit <= bindparam("at"), or_(t.run.c.retired_by.is_(None), t.run.c.retired_by > bindparam("at")))
VISIBLE = select(*RUN_FIELDS).where(t.run.c.commit > bindparam("since"), *_THERE).order_by(t.run.c.id)


def _select_crowded() -> Select[Any]:
    r, c = t.run.c, t.commit.c
    whole = func.count(distinct(case((c.kind == "merge", -r.commit), else_=r.id)))
    copies = select(r.map).select_from(t.run.join(t.commit, r.commit == c.number)).where(*_THERE)
    return copies.group_by(r.map, r.access_path).having(whole > bindparam("limit")).limit(1)


def _select_unsettled() -> Select[Any]:
    c = t.commit.c
    missing = (c.kind.in_(NEWS), c.number > _select_incorporated())
    newest = select(func.max(c.number)).where(*missing).scalar_subquery()
    refreshed = REFRESHED.scalar_subquery()
    return select(c.committed_at, newest, refreshed).where(*missing).order_by(c.number).limit(1)


def _select_live() -> Select[Any]:
    k, b = t.reading_clock.c, t.batch.c
    live = select(*BATCH_FIELDS, k.id, k.prefix, k.exceptions).join(t.reading_clock, k.id == b.clock)
    return live.where(b.commit <= bindparam("at"), b.commit > bindparam("after")).order_by(b.id)


def _select_switching() -> Select[Any]:
    r, k = t.revision.c, t.lease.c
    held = select(r.number).join(t.lease, (k.id == r.lease) & (k.first_step <= r.step))
    return held.where(r.since.is_(None), k.expires >= ClockS())


CROWDED, UNSETTLED, LIVE, SWITCHING = _select_crowded(), _select_unsettled(), _select_live(), _select_switching()
LIVE_FROM = LIVE.where(
    (t.batch.c.epoch > bindparam("epoch"))
    | (t.batch.c.epoch == bindparam("epoch")) & (t.batch.c.ticket >= bindparam("ticket"))
)
_THIS = t.batch.c.id == bindparam("this")
MINE = select(t.batch.c.epoch, t.batch.c.ticket, t.batch.c.unended).where(_THIS)
STATE = select(t.batch.c.state).where(_THIS)
DRAWN = select(func.max(t.batch.c.ticket)).where(t.batch.c.epoch == bindparam("epoch"))
BEGIN = update(t.batch).where(_THIS)
BEGIN = BEGIN.values({name: bindparam(f"its_{name}") for name in ("ticket", "read_at", "lease", "step", "unended")})
APPLIED = update(t.batch).where(_THIS)
APPLIED = APPLIED.values({name: bindparam(f"its_{name}") for name in ("state", "commit", "seconds", "clock")})
REFRESHED_NOW = update(t.program).values(refreshed=bindparam("upto"))


class Commits(Part):
    """The map store's only way to change, and the live history: batches that are applied, and below no snapshot yet."""

    def __init__(self, database: Database, leases: Leases) -> None:
        super().__init__(database)
        self._leases = leases
        #: A commit and the runs visible there: what is asked next is mostly what has changed since.
        self._known_runs: tuple[int, dict[int, Run]] | None = None

    def last_commit(self) -> int:
        """The newest commit number; everything up to it is visible."""
        return cast(int, self._db.read(LAST)[0][0])

    def moment(self) -> tuple[int, int, int, int]:
        """What tells one moment from another, all at once: the newest commit, the epochs of the newest snapshot and of the oldest that can be read, and the commit up
        to which maps that depend on derivations are refreshed."""
        p, newest = t.program.c, select(func.max(t.snapshot.c.epoch)).scalar_subquery()
        ((last, snapshot, oldest, refreshed),) = self._db.read(
            select(p.last_commit, newest, p.oldest_readable, p.refreshed)
        )
        return int(last), -1 if snapshot is None else int(snapshot), int(oldest), int(refreshed or 0)

    def runs(self, at: int) -> list[Run]:
        """The runs visible at commit ``at``, in the order of their ids."""
        known = self._known_runs
        if known is not None and known[0] == at:
            return list(known[1].values())
        found = None if known is None or known[0] > at else self._kept_up(*known, at)
        if found is None:
            found = {run.id: run for run in self._runs_since(-1, at)}
        if known is None or known[0] < at:
            self._known_runs = at, found
        return list(found.values())

    def _kept_up(self, since: int, known: dict[int, Run], at: int) -> dict[int, Run] | None:
        """The runs visible at ``at``, from those at ``since`` and what has changed; None if that cannot be told any more."""
        replaced = {number for (number,) in self._db.read(REPLACED, {"since": since, "at": at})}
        fresh = self._runs_since(since, at)
        # asked last: if nothing replaced after `since` is forgotten now, nothing was when the others were asked
        if self._db.read(FORGOTTEN)[0][0] > since:
            return None
        left = {number: run for number, run in known.items() if number not in replaced} if replaced else known
        return left | {run.id: run for run in fresh}

    def _runs_since(self, since: int, at: int) -> list[Run]:
        """The runs visible at ``at`` that came after commit ``since``."""
        rows = self._db.read(VISIBLE, {"since": since, "at": at})
        return [Run(**dict(zip(NAMES, row, strict=True))) for row in rows]

    def begin_apply(self, batch: int, step: Step) -> int:
        """Announce that a batch is about to be applied: draw its ticket (once), and keep what it will read from merging, until
        the step is over.

        Returns:
            the commit to read at.

        Raises:
            NotYet: another revision is just being switched to (``switching``).
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            self._check_no_switch(connection)
            mine = connection.execute(MINE, {"this": batch}).one()
            ticket = mine.ticket
            if ticket is None:  # what nobody has drawn comes before all
                ticket = (connection.execute(DRAWN, {"epoch": mine.epoch}).scalar() or 0) + 1
            reading = {"its_read_at": program.last_commit, "its_lease": step.lease, "its_step": step.number}
            connection.execute(BEGIN, {"this": batch, "its_ticket": ticket, "its_unended": mine.unended + 1, **reading})
            return int(program.last_commit)

    def _check_no_switch(self, connection: Connection) -> None:
        number = connection.execute(SWITCHING).scalar()
        if number is not None:
            hint = "try again; it takes about as long as a batch"
            raise NotYet(f"revision {number} is just being switched to", kind="switching", hint=hint)

    def commit_apply(
        self,
        batch: int,
        read_at: int,
        runs: Sequence[NewRun],
        seconds: float,
        refresh: Refresh | None = None,
        *,
        settles: bool = True,
    ) -> int | None:
        """Make an applied batch visible.

        Args:
            batch: the batch's id.
            read_at: the commit its reads saw (inclusive).
            runs: the delta runs it wrote.
            seconds: how long it took.
            refresh: a refresh that was made from what was visible at ``read_at`` and this batch. It becomes visible, too,
                unless somebody else has committed meanwhile: then it is due again.
            settles: whether it may have to be corrected; not if the program's triggers read nothing that events write.

        Returns:
            the commit's number, or None when the batch was applied by somebody else before.

        Raises:
            Conflict: runs beyond ``read_at`` have been merged meanwhile, so its clock could not be kept.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            if connection.execute(STATE, {"this": batch}).scalar_one() != "appended":
                return None
            if read_at < program.merge_horizon:
                raise Conflict("the runs it read were merged", kind="merge-conflict", place=f"batch {batch}")
            number = self._db.make_visible(connection, program, "apply", runs, recipe=Recipe(read_at))
            kept = Clock(read_at, frozenset()).advanced(read_at, number) if settles else EVER
            clock = insert_clock(connection, kept)
            values = {"its_state": "applied", "its_commit": number, "its_seconds": seconds, "its_clock": clock}
            connection.execute(APPLIED, {"this": batch, **values})
            if refresh is not None and program.last_commit == read_at and program.refreshed == refresh.expected:
                self._refresh(connection, self._db.lock(connection), number, refresh.runs, refresh.corrected)
            return number

    def commit_correction(
        self, clocks: Sequence[SharedClock], read_at: int, runs: Sequence[NewRun], corrected: Mapping[int, int]
    ) -> int:
        """Make corrections visible and advance the clocks of the corrected history to ``read_at``.

        Args:
            clocks: the clocks of that history, as they were read.
            read_at: the commit up to which they are now corrected (inclusive).
            runs: the corrective delta runs.
            corrected: epoch -> number of corrected map entries.

        Returns:
            the commit's number; when nothing was corrected, no commit is made and ``read_at`` is returned.

        Raises:
            Conflict: one of the clocks was advanced by somebody else, or a batch that has it was retired or taken back.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            number = read_at
            if runs:
                number = self._db.make_visible(connection, program, "correct", runs, recipe=Recipe(read_at))
            self._advance(connection, clocks, read_at, number)
            self._count(connection, number, corrected, runs)
            return number

    def refreshed(self) -> int:
        """The commit up to which the maps that depend on derivations are refreshed (inclusive)."""
        return int(self._db.read(REFRESHED)[0][0] or 0)

    def commit_refresh(self, expected: int, read_at: int, runs: Sequence[NewRun], corrected: Mapping[int, int]) -> int:
        """Make a refresh visible: the maps that depend on derivations have then incorporated all up to ``read_at``.

        Args:
            expected: what :meth:`refreshed` was when the refresh began.
            read_at: the commit it has read (inclusive); also the origin of its runs.
            runs: the delta runs it wrote; with none, no commit is made.
            corrected: epoch -> number of corrected map entries.

        Returns:
            the commit's number, ``read_at`` if there was nothing to write.

        Raises:
            Conflict: somebody else has refreshed meanwhile, or a batch that it has read was taken back.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            if program.refreshed != expected:
                raise Conflict("refreshed by somebody else", kind="refresh-conflict")
            b = t.batch.c
            taken_back = select(b.id).where(b.commit <= read_at, b.retracted_by > read_at).limit(1)
            if connection.execute(taken_back).first():
                raise Conflict("a batch that it has read was taken back", kind="refresh-conflict")
            return self._refresh(connection, program, read_at, runs, corrected)

    def _refresh(
        self,
        connection: Connection,
        program: Row[Any],
        read_at: int,
        runs: Sequence[NewRun],
        corrected: Mapping[int, int],
    ) -> int:
        number = read_at
        if runs:
            recipe = Recipe(read_at, since=program.refreshed)
            number = self._db.make_visible(connection, program, "refresh", runs, [read_at] * len(runs), recipe)
        connection.execute(REFRESHED_NOW, {"upto": read_at})
        self._count(connection, number, corrected, runs)
        return number

    def _count(self, connection: Connection, number: int, corrected: Mapping[int, int], runs: Sequence[NewRun]) -> None:
        maps = json.dumps(sorted({run.map for run in runs}))
        rows = [{"commit": number, "epoch": e, "rows": n, "maps": maps} for e, n in corrected.items() if n]
        if rows:
            connection.execute(insert(t.correction), rows)

    def corrections(self, since: int = 0) -> dict[int, int]:
        """epoch -> corrected map entries so far, of the epochs from ``since`` on."""
        c = t.correction.c
        query = select(c.epoch, func.sum(c.rows)).where(c.epoch >= since).group_by(c.epoch)
        return {epoch: int(rows) for epoch, rows in self._db.read(query)}

    def commit_merge(self, merges: Sequence[tuple[Sequence[Run], Sequence[NewRun]]]) -> int:
        """Replace runs by their merged runs, all in one commit.

        Args:
            merges: for each merge, the replaced runs and what stands in their place: one run, or ranges of one (none: everything cancelled out).

        Returns:
            the commit's number.

        Raises:
            Conflict: one of the runs was replaced by somebody else, or a live history entry has yet to tell them apart.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            origin = max(r.origin for replaced, _ in merges for r in replaced)
            if origin > self._lowest_clock(connection, program):
                raise Conflict("a history entry has yet to read one of the runs", kind="merge-conflict")
            merged = [(run, max(r.origin for r in replaced)) for replaced, new in merges for run in new]
            replaced = [r.commit for runs, _ in merges for r in runs]
            recipe = Recipe(since=min(replaced), upto=max(replaced))
            new = [run for run, _ in merged]
            number = self._db.make_visible(connection, program, "merge", new, [o for _, o in merged], recipe)
            runs = [r.id for replaced, _ in merges for r in replaced]
            done = connection.execute(
                update(t.run).where(t.run.c.id.in_(runs), t.run.c.retired_by.is_(None)).values(retired_by=number)
            )
            if done.rowcount != len(runs):
                raise Conflict("merged by somebody else", kind="merge-conflict")
            connection.execute(update(t.program).values(merge_horizon=max(program.merge_horizon, origin)))
            return number

    def commit_repair(self, lost: Sequence[Run], made: Sequence[tuple[NewRun, int]], *, joined: int = 0) -> int:
        """Put runs in the place of others that are lost.

        Args:
            lost: what is lost.
            made: what holds the same, and of each the origin of the one in whose place it stands.
            joined: the latest origin of those for several of which one run stands; 0 if there are none.

        Returns:
            the commit's number.

        Raises:
            Conflict: one of the runs was replaced by somebody else; or a live history entry tells those apart for which one stands.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            if joined > self._lowest_clock(connection, program):
                raise Conflict("a history entry has yet to read one of the runs", kind="repair-told-apart")
            runs, origins = [run for run, _ in made], [origin for _, origin in made]
            commits = [run.commit for run in lost]
            recipe = Recipe(since=min(commits, default=None), upto=max(commits, default=None))
            number = self._db.make_visible(connection, program, "repair", runs, origins, recipe)
            mine = (t.run.c.id.in_([run.id for run in lost]), t.run.c.retired_by.is_(None))
            if connection.execute(update(t.run).where(*mine).values(retired_by=number)).rowcount != len(lost):
                raise Conflict("replaced by somebody else", kind="repair-conflict")
            if joined:
                connection.execute(update(t.program).values(merge_horizon=max(program.merge_horizon, joined)))
            return number

    def readings(self, after: int) -> dict[int, tuple[str, int | None]]:
        """commit -> its kind and the commit that its step has read, None if that is not known; of those after a commit (exclusive)."""
        c = t.commit.c
        rows = self._db.read(select(c.number, c.kind, c.read_at).where(c.number > after).order_by(c.number))
        return {number: (kind, read_at) for number, kind, read_at in rows}

    def is_crowded(self, at: int, limit: int) -> bool:
        """Whether some access path has more than ``limit`` runs that are visible at commit ``at``; ranges that one merge has made are one."""
        return bool(self._db.read(CROWDED, {"at": at, "limit": limit}))

    def merges(self, commits: Collection[int]) -> set[int]:
        """Those of some commits that are merges: of each copy they have made one run, or ranges of one."""
        c = t.commit.c
        return {number for (number,) in self._db.read(select(c.number).where(c.number.in_(commits), c.kind == "merge"))}

    def mergeable(self, at: int) -> list[Run]:
        """The runs visible at ``at`` that every live history entry, every apply under way, and the maps that depend on
        derivations have incorporated."""
        with self._db.begin() as connection:
            lowest = self._lowest_clock(connection, self._db.lock(connection))
        return [r for r in self.runs(at) if r.origin <= lowest]

    def _lowest_clock(self, connection: Connection, program: Row[Any]) -> int:
        self._leases.end_lapsed(connection)
        b, k = t.batch.c, t.lease.c
        live = connection.execute(select(func.min(t.reading_clock.c.prefix))).scalar()
        announced = select(func.min(b.read_at)).join(t.lease, (k.id == b.lease) & (k.first_step <= b.step))
        reading = connection.execute(announced.where(b.state == "appended")).scalar()
        return int(min(x for x in (live, reading, program.refreshed, program.last_commit) if x is not None))

    def clocks(self, at: int) -> list[SharedClock]:
        """The reading clocks of the batches applied at or before commit ``at``."""
        k, b = t.reading_clock.c, t.batch.c
        query = select(k.id, k.prefix, k.exceptions, func.count()).join(t.batch, b.clock == k.id).where(b.commit <= at)
        rows = self._db.read(query.group_by(k.id, k.prefix, k.exceptions).order_by(k.id))
        return [SharedClock(number, _clock(prefix, later), batches) for number, prefix, later, batches in rows]

    def live_history(self, at: int, *, after: int = 0, place: tuple[int, int] | None = None) -> list[HistoryEntry]:
        """The live history: batches applied at or before commit ``at`` that no snapshot has retired.

        Args:
            at: see above (inclusive).
            after: only those applied after this commit (exclusive).
            place: only those at or after this place in the order, an (epoch, ticket).
        """
        query, values = LIVE, {"at": at, "after": after}
        if place is not None:
            query, values = LIVE_FROM, {**values, "epoch": place[0], "ticket": place[1]}
        width = len(BATCH_FIELDS)
        found: dict[int, Clock] = {}
        entries = []
        for row in self._db.read(query, values):
            number = row[width]
            if number not in found:
                found[number] = _clock(*row[width + 1 :])
            entries.append(HistoryEntry(Batch(*row[:width]), found[number], number))
        return entries

    def unsettled(self) -> Unsettled | None:
        """Since when tentative answers are not final as far as what is applied goes; None if they are. Costs one short query."""
        rows = self._db.read(UNSETTLED)
        if not rows:
            return None
        since, last, upto = rows[0]
        since = since if since.tzinfo else since.replace(tzinfo=datetime.UTC)  # SQLite keeps no zones
        return Unsettled(since, upto is not None and upto < last)

    def behind(self) -> int:
        """How many applied batches have not incorporated something that was committed since."""
        newest = select(func.max(t.commit.c.number)).where(t.commit.c.kind.in_(NEWS)).scalar_subquery()
        late = select(func.count()).select_from(t.batch).join(t.reading_clock, t.reading_clock.c.id == t.batch.c.clock)
        return int(self._db.read(late.where(t.reading_clock.c.prefix < newest))[0][0])

    def _advance(self, connection: Connection, clocks: Sequence[SharedClock], read_at: int, number: int) -> None:
        """Move the batches of each clock to one that has incorporated all up to ``read_at``, and commit ``number``."""
        moved: dict[Clock, list[SharedClock]] = {}
        for shared in clocks:
            moved.setdefault(shared.clock.advanced(read_at, number), []).append(shared)
        for clock, olds in moved.items():
            ids = [shared.id for shared in olds]
            here = update(t.batch).where(t.batch.c.clock.in_(ids)).values(clock=insert_clock(connection, clock))
            if connection.execute(here).rowcount != sum(shared.batches for shared in olds):
                raise Conflict("corrected by somebody else", kind="correction-conflict", place=f"clocks {ids}")
            connection.execute(delete(t.reading_clock).where(t.reading_clock.c.id.in_(ids)))
