"""Histories: who appends what when, when each apply reads and when it commits, when corrections run and epochs move; and players
that replay them on an engine in this process, or in several processes on one catalog.

A history says everything that the law must not depend on. Its generator knows nothing of the engine; what a step needs to be possible
(a batch is begun before it is committed) is seen to here, so that any list of steps can be played.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from cumulus_ops.catalog.records import Run
from cumulus_ops.epochs.checkpoint import commit, correct, merge, refresh
from cumulus_ops.epochs.minibatch import Computed, commit_batch, compute_batch, current_epoch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.maps.deltas import VERSION, delta_values, value_column
from cumulus_ops.maps.packs import open_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, NotYet
from cumulus_ops.project.versions import epoch_end
from tests.support.projects import Event, Row, append_events, engine_maps

__all__ = [
    "Append",
    "Begin",
    "Checkpoint",
    "Commit",
    "Correct",
    "Corrections",
    "History",
    "Local",
    "Played",
    "Player",
    "Seal",
    "Step",
    "Tidy",
    "Worker",
    "play",
    "random_events",
    "random_history",
]

Maps = Mapping[str, Mapping[Row, int]]
#: (version of the corrected entry, map, key) -> by how much.
Corrections = Counter[tuple[int, str, Row]]


@dataclass(frozen=True)
class Append:
    """A coordinator stamps events; they are the batch of the next number."""

    coordinator: int
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Begin:
    """The apply of a batch reads the maps."""

    batch: int


@dataclass(frozen=True)
class Commit:
    """The apply of a batch commits what it computed from what it has read."""

    batch: int


@dataclass(frozen=True)
class Correct:
    """A pass of corrections, then a refresh, in the process of a coordinator."""

    coordinator: int


@dataclass(frozen=True)
class Tidy:
    """Runs are merged, in the process of a coordinator."""

    coordinator: int


@dataclass(frozen=True)
class Seal:
    """Whoever has the token finishes its batches and ends its epoch."""


@dataclass(frozen=True)
class Checkpoint:
    """The next epoch is committed, if all have sealed it, in the process of a coordinator."""

    coordinator: int


Step = Append | Begin | Commit | Correct | Tidy | Seal | Checkpoint
History = tuple[Step, ...]


def random_history(seed: int, *, coordinators: int = 3, steps: int = 40, rows: int = 5) -> History:
    """Events of the relations of :mod:`tests.support.random_programs`, appended, applied and corrected in any interleaving.

    Args:
        seed: decides everything.
        coordinators: how many; some get most of the events.
        steps: how many, before what is left under way is finished.
        rows: at most so many events to a batch.
    """
    choose = random.Random(seed)
    weights = [choose.random() + 0.1 for _ in range(coordinators)]
    live: list[list[Event]] = [[] for _ in range(coordinators)]
    history: list[Step] = []
    appended: list[int] = []
    begun: list[int] = []
    batches = 0
    for _ in range(steps):
        anybody = choose.randrange(coordinators)
        kind = choose.choice(
            ("append", "append", "begin", "begin", "commit", "commit", "correct", "tidy", "seal", "checkpoint")
        )
        if kind == "append":
            coordinator = choose.choices(range(coordinators), weights)[0]
            history.append(Append(coordinator, tuple(random_events(choose, live[coordinator], rows))))
            appended.append(batches)
            batches += 1
        elif kind == "begin" and appended:
            begun.append(appended.pop(choose.randrange(len(appended))))
            history.append(Begin(begun[-1]))
        elif kind == "commit" and begun:
            history.append(Commit(begun.pop(choose.randrange(len(begun)))))
        elif kind == "correct":
            history.append(Correct(anybody))
        elif kind == "tidy":
            history.append(Tidy(anybody))
        elif kind == "seal":
            history.append(Seal())
        elif kind == "checkpoint":
            history.append(Checkpoint(anybody))
    choose.shuffle(appended)
    history += [Begin(batch) for batch in appended]
    unfinished = [*begun, *appended]
    choose.shuffle(unfinished)
    return (*history, *map(Commit, unfinished))


def random_events(choose: random.Random, live: list[Event], rows: int) -> Iterator[Event]:
    """Inserts of any rows, and deletes of rows that came to the same coordinator."""
    for _ in range(choose.randint(1, rows)):
        if live and choose.random() < 0.25:
            relation, _, row = live.pop(choose.randrange(len(live)))
            yield relation, -1, row
        else:
            live.append(_insert(choose))
            yield live[-1]


def _insert(choose: random.Random) -> Event:
    a, b = choose.randrange(3), choose.randrange(3)
    relation = choose.choice("rst")
    if relation == "r":
        return "r", 1, (a, b)
    if relation == "s":
        return "s", 1, (a, choose.choice((None, b)), Decimal(choose.randint(-300, 300)).scaleb(-2))
    return "t", 1, (a, choose.choice((None, "", "x", "yy")))


class Worker(Protocol):
    """A process that works on the catalog; see the steps."""

    def append(self, coordinator: int, events: Sequence[Event], drop: str) -> tuple[int, int, int]:
        """Returns (batch, epoch, first sequence)."""
        ...

    def begin(self, batch: int) -> None:
        """Compute, from what is visible now."""
        ...

    def commit(self, batch: int) -> None:
        """Commit what was computed; if that cannot be, compute it anew."""
        ...

    def correct(self) -> Corrections:
        """Correct, refresh; returns what was corrected."""
        ...

    def tidy(self) -> None:
        """Merge runs."""
        ...

    def seal(self) -> int | None:
        """End the epoch of whoever has the token; returns the coordinator, None if it cannot yet."""
        ...

    def holder(self) -> int:
        """Who has the token."""
        ...

    def checkpoint(self) -> tuple[int, Maps] | None:
        """Commit the next epoch; returns it and its maps, None if not all have sealed it."""
        ...


class Local:
    """Works in this process."""

    def __init__(self, rt: Runtime) -> None:
        self.rt = rt
        self._computed: dict[int, tuple[contextlib.ExitStack, Computed]] = {}

    def append(self, coordinator: int, events: Sequence[Event], drop: str) -> tuple[int, int, int]:
        """See :class:`Worker`."""
        batch = self.rt.catalog.log.batch(append_events(self.rt, coordinator, events, drop))
        return batch.id, batch.epoch, batch.first_sequence

    def begin(self, batch: int) -> None:
        """See :class:`Worker`."""
        stack = contextlib.ExitStack()
        self._computed[batch] = stack, compute_batch(self.rt, batch, stack.enter_context(self.rt.catalog.leases.step()))

    def commit(self, batch: int) -> None:
        """See :class:`Worker`."""
        stack, computed = self._computed.pop(batch)
        try:
            with stack:
                assert commit_batch(self.rt, batch, computed) is not None
        except Conflict:  # what it read was merged; no step of a history takes that long for real
            self.begin(batch)
            self.commit(batch)

    def correct(self) -> Corrections:
        """See :class:`Worker`."""
        before = self.rt.catalog.commits.last_commit()
        correct(self.rt)
        after = self.rt.catalog.commits.last_commit()
        found = corrections_of(self.rt, [r for r in self.rt.catalog.commits.runs(after) if before < r.commit <= after])
        refresh(self.rt)
        return found

    def tidy(self) -> None:
        """See :class:`Worker`."""
        merge(self.rt)

    def holder(self) -> int:
        """See :class:`Worker`."""
        return self.rt.catalog.votes.token_holder()

    def seal(self) -> int | None:
        """See :class:`Worker`."""
        holder = self.holder()
        try:
            vote(self.rt, holder, current_epoch(self.rt, holder))
        except NotYet:
            return None
        return holder

    def checkpoint(self) -> tuple[int, Maps] | None:
        """See :class:`Worker`."""
        epoch = len(self.rt.catalog.snapshots.all())
        try:
            commit(self.rt, epoch)
        except NotYet:
            return None
        return epoch, engine_maps(self.rt, epoch_end(epoch))


def corrections_of(rt: Runtime, runs: Sequence[Run]) -> Corrections:
    """What some runs add, by version, map and key; one copy of each group."""
    found: Corrections = Counter()
    for run in runs:
        group = rt.plan.groups[run.map]
        if run.access_path != rt.plan.paths[run.map][0].label:
            continue
        keys = [f"k{i}" for i in range(len(group.keys))]
        table = open_run(rt.project.state / run.path, run.offset, run.bytes).table(keys, list(group.members))
        rows = list(zip(*(table[k].to_pylist() for k in keys), strict=True)) if keys else [()] * len(table)
        for name in group.members:
            values = delta_values(table, value_column(name)).tolist()
            for version, row, units in zip(table[VERSION].to_pylist(), rows, values, strict=True):
                found[version, name, tuple(row[i] for i in group.places(name))] += int(units)
    return Counter({entry: units for entry, units in found.items() if units})


@dataclass
class Played:
    """What a history has led to: ``log``: (epoch, coordinator) -> events in the order of their stamps; ``maps``: of each epoch that
    was committed; ``corrections``: of each pass."""

    log: dict[tuple[int, int], list[Event]] = field(default_factory=dict)
    maps: dict[int, Maps] = field(default_factory=dict)
    corrections: list[Corrections] = field(default_factory=list)

    def events(self, epoch: int) -> list[Event]:
        """All events up to an epoch, in the order of their versions."""
        return [event for key in sorted(self.log) if key[0] <= epoch for event in self.log[key]]


class Listener(Protocol):
    """Who follows a history as it is played, such as a model."""

    def begin(self, batch: int, stamp: tuple[int, int, int], events: Sequence[Event]) -> None:
        """A batch has read; its first event has the stamp (epoch, coordinator, sequence)."""
        ...

    def commit(self, batch: int) -> None:
        """What it computed is visible."""
        ...

    def correct(self, corrections: Corrections) -> None:
        """What was visible is corrected."""
        ...


class Player:
    """Plays a history on workers; coordinator c works in the worker c, modulo their number."""

    def __init__(self, workers: Sequence[Worker], listener: Listener | None = None) -> None:
        self.workers, self.listener, self.played = workers, listener, Played()
        self._batches: list[tuple[int, Append, tuple[int, int, int]]] = []  # id, what, stamp
        self._begun: set[int] = set()
        self._done: set[int] = set()

    def worker(self, coordinator: int) -> Worker:
        """Where a coordinator works."""
        return self.workers[coordinator % len(self.workers)]

    def step(self, step: Step) -> None:
        """Play a step; one that is not possible yet makes what it waits for happen first, or is left out."""
        match step:
            case Append(coordinator, events):
                number = len(self._batches)
                batch, epoch, sequence = self.worker(coordinator).append(coordinator, events, f"d{number}")
                self.played.log.setdefault((epoch, coordinator), []).extend(events)
                self._batches.append((batch, step, (epoch, coordinator, sequence)))
            case Begin(batch):
                self._begin(batch)
            case Commit(batch):
                self._commit(batch)
            case Correct(coordinator):
                self._correct(coordinator)
            case Tidy(coordinator):
                self.worker(coordinator).tidy()
            case Seal():
                holder = self.workers[0].holder()
                for number, (_, append, _) in enumerate(self._batches):
                    if append.coordinator == holder:
                        self._commit(number)
                assert self.worker(holder).seal() == holder
            case Checkpoint(coordinator):
                self._correct(coordinator)  # so that all corrections are listened to
                committed = self.worker(coordinator).checkpoint()
                if committed is not None:
                    self.played.maps[committed[0]] = committed[1]

    def _begin(self, number: int) -> None:
        if number not in self._begun:
            batch, append, stamp = self._batches[number]
            self.worker(append.coordinator).begin(batch)
            self._begun.add(number)
            if self.listener:
                self.listener.begin(number, stamp, append.events)

    def _commit(self, number: int) -> None:
        if number not in self._done:
            self._begin(number)
            batch, append, _ = self._batches[number]
            self.worker(append.coordinator).commit(batch)
            self._done.add(number)
            if self.listener:
                self.listener.commit(number)

    def _correct(self, coordinator: int) -> None:
        corrections = self.worker(coordinator).correct()
        self.played.corrections.append(corrections)
        if self.listener:
            self.listener.correct(corrections)


def play(history: History, workers: Sequence[Worker], listener: Listener | None = None) -> Played:
    """Play a history to its end, and then until every epoch with an event is committed."""
    player = Player(workers, listener)
    for step in history:
        player.step(step)
    last = max((epoch for epoch, _ in player.played.log), default=0)
    coordinators = 1 + max((c for _, c in player.played.log), default=0)
    for _ in range(4 * max(coordinators, len(workers), 3) * (last + 1)):
        player.step(Seal())
        player.step(Checkpoint(0))
        if last in player.played.maps:
            return player.played
    raise AssertionError(f"epoch {last} did not complete")
