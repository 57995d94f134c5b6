"""Leases: who is at work, so that nobody waits for the dead, and nothing that somebody uses is deleted.

A process takes a **lease** with its first step and renews it in a thread until the catalog is closed. Whatever it does with files,
reading as well as writing, is a **step** of its lease:

>>> with catalog.leases.step() as step:                 # doctest: +SKIP
...     at = catalog.commits.last_commit()                      # runs visible from here on stay until the step is over
...     runs = write(step.label)                        # runs/3f2a9c1b.1.12.3-<unique>.pack: lease 12, step 3
...     catalog.commits.commit_apply(batch, at, runs, 0.0)      # refused if the lease is over, or a file is gone

Steps cost no transaction: a process numbers them by itself. The lease's row says by which step it goes on (``first_step``: those
before are over) and from which commit on it may read (``floor``), both as of its last renewal.

A lease that is not renewed in time **lapses**, by the database's clock. That alone changes nothing: it is **over** when somebody
who wants to pass it by deletes its row, in the transaction that does so. No commit of its steps gets through after that, and none
is disturbed before. So clocks decide how soon the dead are passed by, and never what is right.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select, union, update
from sqlalchemy.exc import SQLAlchemyError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import ClockS, Database, Part, read_identity, retry_busy
from cumulus_ops.catalog.identity import Mark, claimed_by, generation_over, older_catalog, read_mark, write_mark
from cumulus_ops.catalog.key_indexes import forget_key_runs
from cumulus_ops.catalog.net_tables import forget_net_tables
from cumulus_ops.catalog.recipes import forget_recipes
from cumulus_ops.catalog.records import Step, step_of
from cumulus_ops.project.errors import Conflict

__all__ = ["LEASE_S", "Leases", "is_gone"]

#: How long a process may be silent before others may pass it by.
LEASE_S = 60.0
RENEWALS = 3  # within that time


@dataclass
class _Lease:
    """What a process knows of its lease. ``steps``: those under way, and the floor when each began. ``renewed_s``: when it was
    renewed, by the machine's clock that never goes back."""

    id: int
    floor: int
    renewed_s: float
    next_step: int = 0
    steps: dict[int, int] = field(default_factory=dict)


class Leases(Part):
    """This process's lease, and what has become of the others."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lease: _Lease | None = None
        self._guard = threading.Lock()  # a step begins before a renewal, or after it
        self._closed = threading.Event()
        self._renewing: threading.Thread | None = None

    @contextmanager
    def step(self) -> Iterator[Step]:
        """Do something with files: what is visible stays readable meanwhile, and what is written under the step's label stays.

        Raises:
            Conflict: whatever went wrong, it did after the lease was over.
        """
        step = self._begin_step()
        try:
            yield step
        except Exception as error:
            if self._is_over(step) and not isinstance(error, Conflict):
                raise Conflict(
                    "its lease is over, and others went on without it",
                    kind="lease-over",
                    place=f"step {step.label}",
                    hint="run it again; its process stood still for too long",
                ) from error
            raise
        finally:
            with self._guard:
                if self._lease is not None and self._lease.id == step.lease:
                    del self._lease.steps[step.number]

    def _begin_step(self) -> Step:
        with self._guard:
            if self._lease is not None and time.monotonic() - self._lease.renewed_s > LEASE_S:
                self._renew(self._lease)  # this process stood still
            if self._lease is None:
                self._lease = self._take()
                if self._renewing is None:
                    given = (weakref.ref(self), self._closed, LEASE_S / RENEWALS)
                    self._renewing = threading.Thread(target=_keep_renewing, args=given, name="lease", daemon=True)
                    self._renewing.start()
            lease = self._lease
            step = Step(lease.id, lease.next_step, self._writer())
            lease.next_step += 1
            lease.steps[step.number] = lease.floor
            return step

    def _writer(self) -> str:
        identity = self._db.identity()
        return "" if identity is None else identity.writer

    def _is_over(self, step: Step) -> bool:
        """Whether the step's lease is gone; then the next step takes another one."""
        with suppress(SQLAlchemyError):
            if self._db.read(select(t.lease.c.id).where(t.lease.c.id == step.lease)):
                return False
            with self._guard:
                if self._lease is not None and self._lease.id == step.lease:
                    self._lease = None
            return True
        return False

    def _take(self) -> _Lease:
        here = func.coalesce(select(t.program.c.last_commit).scalar_subquery(), 0)
        values = {
            # for people, and for is_gone: `shop-1:4711 <where its number counts>`
            "holder": f"{socket.gethostname()}:{os.getpid()} {_numbered_in()}",
            "expires": ClockS() + LEASE_S,
            "first_step": 0,
        }
        new = insert(t.lease).values(**values, floor=here).returning(t.lease.c.id, t.lease.c.floor)

        seen = read_mark(self._db.root)  # before the catalog is asked: others go on

        def action() -> _Lease:
            with self._db.begin() as connection:
                number, floor = connection.execute(new).one()
                lease = _Lease(int(number), int(floor), time.monotonic())
                self._check_lineage(connection, lease, seen)
                return lease

        lease = retry_busy(action)
        self._mark(lease, lease.floor)
        return lease

    def _check_lineage(self, connection: Connection, lease: _Lease, seen: Mark) -> None:
        """See that the catalog is in the generation that this process has opened, and has seen what it has done.

        Raises:
            SetupProblem: it is not, or has not.
        """
        now = read_identity(connection)
        if self._db.known_identity is None:
            self._db.known_identity = now
        if now != self._db.known_identity:
            raise generation_over()
        is_older = lease.id <= seen.lease or lease.floor < seen.commit
        if now is not None and seen.generation == now.generation and is_older:
            raise older_catalog(self._db.root)

    def _mark(self, lease: _Lease, commit: int) -> None:
        if self._db.known_identity is not None:
            write_mark(self._db.root, Mark(self._db.known_identity.generation, lease.id, commit))

    def renew(self) -> None:
        """Say that this process is alive, which of its steps are over, and which commits it has no need of any more."""
        with self._guard:
            if self._lease is not None:
                self._renew(self._lease)

    def _renew(self, lease: _Lease) -> None:
        begun_s = time.monotonic()
        with self._db.begin() as connection:
            last = int(connection.execute(select(t.program.c.last_commit)).scalar() or 0)
            floor = min(lease.steps.values(), default=last)
            values = {"floor": floor, "first_step": min(lease.steps, default=lease.next_step)}
            mine = update(t.lease).where(t.lease.c.id == lease.id)
            is_held = connection.execute(mine.values(**values, expires=ClockS() + LEASE_S)).rowcount
        lease.floor, lease.renewed_s = floor, begun_s
        self._mark(lease, last)
        if not is_held:
            self._lease = None  # the next step takes another one; those under way will be refused

    def end_others(self, connection: Connection) -> None:
        """End all leases but this process's, whoever is at work, in a transaction that holds the program's row."""
        connection.execute(delete(t.lease).where(t.lease.c.id != self._own_id()))

    def forget(self) -> None:
        """This process's lease went with everything else; the next step takes another one."""
        self._lease = None

    def _own_id(self) -> int:
        return self._lease.id if self._lease is not None else 0

    def end_lapsed(self, connection: Connection) -> None:
        """End the leases that were not renewed in time, in a transaction that holds the program's row."""
        connection.execute(delete(t.lease).where(t.lease.c.expires < ClockS(), t.lease.c.id != self._own_id()))

    def first_steps(self) -> dict[int, int]:
        """lease -> its first step that is not over."""
        return dict(map(tuple, self._db.read(select(t.lease.c.id, t.lease.c.first_step))))

    def orphans(self) -> list[int]:
        """The batches that are appended and that nobody applies: the process that has appended them, or was at them last, has ended its lease or
        let it lapse, or it was one of this machine that is gone. In the order of their ids."""
        b, k = t.batch.c, t.lease.c
        query = select(b.id, k.id, k.holder, k.expires < ClockS()).join(t.lease, k.id == b.lease, isouter=True)
        waiting = query.where(b.state == "appended", b.lease.is_not(None)).order_by(b.id)
        return [i for i, lease, holder, lapsed in self._db.read(waiting) if lease is None or lapsed or is_gone(holder)]

    def end(self) -> None:
        """End this process's lease, if it has one; its steps are over."""
        self._closed.set()
        if self._renewing is not None:
            self._renewing.join()
        if self._lease is not None:
            with suppress(SQLAlchemyError):  # else it lapses
                with self._db.begin() as connection:
                    connection.execute(delete(t.lease).where(t.lease.c.id == self._lease.id))
                    last = int(connection.execute(select(t.program.c.last_commit)).scalar() or 0)
                self._mark(self._lease, last)
            self._lease = None

    def garbage(self, found: Collection[str]) -> set[str]:
        """Forget what nobody needs any more.

        Args:
            found: the files that are there.

        Returns:
            the files to delete: those of retired runs that no step under way can read, and those of ``found`` that no row names
            and no step will commit, because it is over. What no step of this installation and generation has written is not ours
            to delete.
        """
        self.require_claim()
        # in this order: of a step that ends meanwhile, either the lease is seen or what it has committed
        retired = self.forget_retired()
        first, mine = self.first_steps(), self._writer()
        steps = {path: step for path in found if (step := step_of(path)) is not None and step.writer == mine}
        over = {path for path, s in steps.items() if s.lease not in first or s.number < first[s.lease]}
        return over - self.known_paths({path.partition("/")[0] for path in over}) | set(retired)

    def unexplained(self, found: Collection[str]) -> set[str]:
        """Those of the files that are there which no row names, and which no step of this installation has written, in this generation or an earlier one."""
        mine = self._writer().partition(".")[0]
        others = {path for path in found if (step := step_of(path)) is None or step.writer.partition(".")[0] != mine}
        return others - self.known_paths({path.partition("/")[0] for path in others})

    def require_claim(self) -> None:
        """See that the state folder is this catalog's still. Whoever has a file open that was deleted goes on with it: only the folder tells him that
        another catalog was restored in its place.

        Raises:
            SetupProblem: it is not.
        """
        found = None if self._db.root is None else claimed_by(self._db.root)
        mine = self._db.identity()
        if found is None or mine is None:
            return
        if found.installation != mine.installation or found.generation > mine.generation:
            raise generation_over()

    def known_paths(self, folders: Collection[str] | None = None) -> set[str]:
        """Every file that a row names, retired runs included; of some folders of the state alone, if these are given."""
        tables = {"runs": t.run, "log": t.log_file, "quarantine": t.quarantine, "keys": t.key_run, "net": t.net_table}
        asked = [table for folder, table in tables.items() if folders is None or folder in folders]
        paths = union(*(select(table.c.path) for table in asked)) if asked else None
        return set() if paths is None else {row[0] for row in self._db.read(paths)}

    def forget_retired(self) -> list[str]:
        """Drop the rows of retired runs that no step under way can read; the packs that no run needs any more may now go."""
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            self.end_lapsed(connection)
            floor = connection.execute(select(func.min(t.lease.c.floor))).scalar()
            held = connection.execute(select(t.backup.c.commit).where(t.backup.c.holds)).scalar()
            # who restores the newest backup reads as of its commit
            read_by_all = min(program.last_commit if f is None else int(f) for f in (floor, held))
            gone = t.run.c.retired_by <= read_by_all
            retired = connection.execute(select(t.run.c.path, t.run.c.commit).where(gone)).all()
            paths, commits = {row[0] for row in retired}, {row[1] for row in retired}
            newest = connection.execute(select(func.max(t.run.c.retired_by)).where(gone)).scalar()
            if newest is not None:  # whoever keeps up with the runs by what was replaced has to know what it cannot see
                connection.execute(update(t.program).values(forgotten=max(program.forgotten, newest)))
            connection.execute(delete(t.run).where(gone))
            needed = set(connection.execute(select(t.run.c.path).where(t.run.c.path.in_(paths))).scalars())
            if commits:
                forget_recipes(connection, commits)
            others = forget_key_runs(connection, read_by_all) | forget_net_tables(connection, read_by_all)
            return sorted(paths - needed | others)


@cache
def _numbered_in() -> str:
    """Where process numbers mean what they mean here: this start of this machine, and this container. Names of machines do not tell, for
    containers may share one; empty where nothing tells."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{started}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def is_gone(holder: str) -> bool:
    """Whether a holder was a process of this machine that has ended. Of those elsewhere their leases alone tell."""
    process, _, numbered_in = holder.partition(" ")
    if not numbered_in or numbered_in != _numbered_in():
        return False
    try:
        os.kill(int(process.rpartition(":")[2]), 0)  # sends nothing, and looks whether it is there
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _keep_renewing(leases: weakref.ref[Leases], closed: threading.Event, every_s: float) -> None:
    """Until the catalog is closed, or forgotten. A database that does not answer is asked again; who needs it will say so."""
    while not closed.wait(every_s):
        held = leases()
        if held is None:
            return
        with suppress(SQLAlchemyError):
            held.renew()
        del held
