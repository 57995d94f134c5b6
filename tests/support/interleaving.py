"""Interleavings of database transactions, chosen statement by statement, on real PostgreSQL connections.

An :class:`Actor` runs an operation in a thread, on a connection of its own. Before each statement, and before its commit, it
stops and waits for its turn. :func:`play` gives turns in the order that a schedule names. Between turns everybody stands
still: at a statement, at the end, or in the database, waiting for a lock that one of the others holds. That last is asked
of the database (``pg_blocking_pids``) and never guessed from how long something takes, so a schedule always plays the same.

:func:`explore` plays the schedules of some operations one after the other: first the one without a preemption, then what
differs from those played in one turn. A preemption takes the turn from an actor that could go on; most races need one or two,
and bounding their number is what makes the schedules few (iterative context bounding).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, create_engine, event, text

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.project.errors import CumulusError

__all__ = ["Actor", "Played", "Watch", "explore", "play"]

#: How long the scheduler leaves the processor to an actor before it asks the database again; nothing depends on it.
NAP_S = 0.0005

Operation = Callable[[Catalog], object]


class Actor:
    """One connection, and the operation that it runs. ``blocked`` says the scheduler, what else there is the actor itself."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, isolation_level="READ COMMITTED", pool_size=1, max_overflow=0)
        for name in ("before_cursor_execute", "commit", "rollback"):
            event.listen(self._engine, name, self._stop)
        self._thread: threading.Thread | None = None
        self._turn, self._arrived = threading.Semaphore(0), threading.Event()
        self._url, self._free = url, True
        self.blocked = self.done = False
        self.outcome: object = None
        with self._engine.connect() as connection:
            self.pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()

    def start(self, operation: Operation) -> None:
        """Begin to run the operation, up to its first statement."""
        self._arrived.clear()
        self.blocked = self.done = self._free = False
        self._thread = threading.Thread(target=self._run, args=(operation,), daemon=True)
        self._thread.start()

    def _run(self, operation: Operation) -> None:
        self.outcome = outcome_of(operation, catalog_on(self._url, self._engine))
        self.done = True
        self._arrived.set()

    def _stop(self, *_: object) -> None:
        if not self._free:
            self._arrived.set()
            self._turn.acquire()

    def go_on(self) -> None:
        """Run the next statement."""
        self._arrived.clear()
        self._turn.release()

    def stands(self) -> bool:
        """Whether it stands before a statement, or is done; leaves it the processor for a moment."""
        return self._arrived.wait(NAP_S)

    def let_go(self) -> None:
        """Run to the end without stopping any more."""
        self._free = True
        self._turn.release()

    def join(self) -> None:
        """Until the operation is over."""
        if self._thread is not None:
            self._thread.join()
        self._turn, self._free = threading.Semaphore(0), True

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()


def catalog_on(url: str, engine: Engine) -> Catalog:
    """A catalog that knows nothing yet, on a connection that exists."""
    catalog = Catalog(url)
    catalog.database.engine.dispose()
    catalog.database.engine = catalog.database.reader = engine
    return catalog


def outcome_of(operation: Operation, catalog: Catalog) -> object:
    """What it returned, or the kind of the error that it raised."""
    try:
        return "returned", operation(catalog)
    except CumulusError as error:
        return "raised", type(error).__name__, error.kind
    except Exception as error:
        return "failed", repr(error)


@dataclass
class Watch:
    """A connection that looks at the others and takes no lock."""

    engine: Engine
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def blockers(self, pid: int) -> set[int]:
        """The connections whose locks a connection waits for."""
        return set(self.connection.execute(text("SELECT pg_blocking_pids(:pid)"), {"pid": pid}).scalar_one())

    def cancel(self, pid: int) -> None:
        """End what a connection waits for."""
        self.connection.execute(text("SELECT pg_cancel_backend(:pid)"), {"pid": pid})


@dataclass(frozen=True)
class Played:
    """A schedule as it was played: for each turn, who had it and who could have had it; and each operation's outcome."""

    turns: tuple[int, ...]
    able: tuple[tuple[int, ...], ...]
    outcomes: tuple[object, ...]
    deadlock: bool

    def preemptions(self, upto: int) -> int:
        """How often, in the first ``upto`` turns, somebody lost the turn who could have gone on."""
        pairs = zip(self.turns[:upto], self.turns[1:upto], self.able[1:upto], strict=False)
        return sum(before != after and before in able for before, after, able in pairs)


def play(
    watch: Watch,
    actors: Sequence[Actor],
    operations: Sequence[Operation],
    schedule: Sequence[int] = (),
    order: Sequence[int] = (),
) -> Played:
    """Run the operations, giving turns as ``schedule`` says; after its end, whoever has the turn keeps it as long as possible,
    then the next in ``order`` has it."""
    order = order or range(len(operations))
    for actor, operation in zip(actors, operations, strict=True):
        actor.start(operation)
    turns: list[int] = []
    able: list[tuple[int, ...]] = []
    deadlock = False
    while True:
        _settle(watch, actors if not turns else [actors[turns[-1]], *actors])
        can = tuple(i for i in order if not actors[i].blocked and not actors[i].done)
        if not can:
            deadlock = any(actor.blocked for actor in actors)
            break
        wanted = schedule[len(turns)] if len(turns) < len(schedule) else turns[-1] if turns else order[0]
        turn = wanted if wanted in can else can[0]
        turns.append(turn)
        able.append(can)
        actors[turn].go_on()
    if deadlock:
        for actor in actors:
            actor.let_go()
            watch.cancel(actor.pid)
    for actor in actors:
        actor.join()
    return Played(tuple(turns), tuple(able), tuple(actor.outcome for actor in actors), deadlock)


def _settle(watch: Watch, actors: Sequence[Actor]) -> None:
    """Until nobody moves. Whoever had the turn comes first in ``actors``: it alone may release locks, by a commit or a rollback,
    and everybody stops before those. So who is blocked after it stands still stays blocked until the next turn."""
    ours = {actor.pid for actor in actors}
    for actor in actors:
        actor.blocked = False
        while not actor.stands():
            blockers = watch.blockers(actor.pid)
            if blockers and blockers <= ours and not actor.stands():
                actor.blocked = True
                break


def explore(
    play_one: Callable[[Sequence[int]], Played], actors: int, *, preemptions: int, limit: int
) -> Iterator[Played]:
    """Schedules with at most so many preemptions, the fewest first, at most ``limit`` of them."""
    seen: set[tuple[int, ...]] = set()
    waves: Mapping[int, list[tuple[int, ...]]] = {n: [] for n in range(preemptions + 1)}
    waves[0].extend((first,) for first in range(actors))
    count = 0
    for wave in waves.values():
        for prefix in wave:  # grows while it is gone through
            if prefix in seen:
                continue
            seen.add(prefix)
            played = play_one(prefix)
            yield played
            count += 1
            if count == limit:
                return
            for place in range(len(prefix), len(played.turns)):
                for other in played.able[place]:
                    if other != played.turns[place]:
                        changed = (*played.turns[:place], other)
                        cost = played.preemptions(place) + (played.turns[place - 1] in played.able[place])
                        if cost <= preemptions:
                            waves[cost].append(changed)
