"""Projects under way, for tests that deploy changes between random steps: what happens is drawn, and all of it is remembered."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path
from random import Random

from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.checkpoint import commit, correct, drop_unused, merge, refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import is_complete, vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, NotYet
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from m3.program import Program
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps
from tests.support.random_programs import RELATIONS

__all__ = ["COORDINATORS", "DERIVED", "POOL", "World", "events", "play"]

#: Views with derived maps, and pairs of views that differ in one place.
DERIVED = (
    "SELECT a, MIN(b) AS low, MAX(b) AS high FROM r GROUP BY a",
    "SELECT a, MIN(b) AS low FROM r GROUP BY a",
    "SELECT s.c, MIN(s.x) AS low FROM r JOIN s ON r.b = s.b GROUP BY s.c",
    "SELECT a, COUNT(DISTINCT b) AS n FROM r GROUP BY a",
    "SELECT DISTINCT s.c FROM r JOIN s ON r.b = s.b",
    "SELECT a, SUM(b) AS n FROM r GROUP BY a HAVING SUM(b) > 2",
    "SELECT a, SUM(b) AS n FROM r GROUP BY a HAVING SUM(b) > 3",
    "SELECT r.a, COUNT(*) AS n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b) GROUP BY r.a",
    "SELECT r.a, COUNT(*) AS n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.x > 0) GROUP BY r.a",
    "SELECT r.a, s.c, t.n FROM r LEFT JOIN s ON r.b = s.b LEFT JOIN t ON s.c = t.c",
    "SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS place FROM r",
    "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b DESC) AS place FROM r",
    "SELECT COUNT(*) AS n FROM (SELECT a, SUM(b) AS s FROM r GROUP BY a) q WHERE q.s > (SELECT AVG(b) FROM r)",
    "SELECT t.n, SUM(s.x) AS total FROM s JOIN t ON s.c = t.c GROUP BY t.n",
    "SELECT t.n, SUM(s.x) AS total FROM s JOIN t ON s.c = t.c GROUP BY t.n ORDER BY total DESC LIMIT 2",
)
LINEAR = (
    "SELECT a, SUM(b) AS s FROM r GROUP BY a",
    "SELECT r.a, SUM(s.x) AS total, COUNT(*) AS n FROM r JOIN s ON r.b = s.b GROUP BY r.a",
    "SELECT s.c, COUNT(*) AS n FROM r, s, t WHERE r.b = s.b AND s.c = t.c AND t.n LIKE 'y%' GROUP BY s.c",
    "SELECT x.a, COUNT(*) AS n FROM r x JOIN r y ON x.b = y.a GROUP BY x.a",
    "SELECT t.n, s.b, SUM(s.x * (1 - s.x)) AS v FROM s JOIN t ON s.c = t.c GROUP BY t.n, s.b",
)
POOL = (*LINEAR, *(text for text in DERIVED if "LIMIT" not in text))
COORDINATORS = 3


def events(seed: int, count: int = 60) -> list[tuple[int, str, tuple[object, ...]]]:
    """A stream; deletes are of rows that are there."""
    random, rows = Random(seed), list[tuple[str, tuple[object, ...]]]()
    found = []
    for _ in range(count):
        if rows and random.random() < 0.3:
            found.append((-1, *rows.pop(random.randrange(len(rows)))))
            continue
        name, key, other = random.choice("rst"), random.randrange(4), random.randrange(4)
        row = {
            "r": (key, other),
            "s": (key, other or None, Decimal(random.randrange(-200, 300)) / 100),
            "t": (key, ("", "x", "y", "yes")[other]),
        }[name]
        rows.append((name, row))
        found.append((1, name, row))
    return found


class World:
    """A project under way, and all that has happened to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.stream = [(relation, sign, row) for sign, relation, row in events(seed, 400)]
        self.happened: dict[int, list[Event]] = {}
        self.begin(folder)

    def begin(self, folder: Path) -> None:
        self.count = 0
        self.project = make_project(folder, RELATIONS, views=self.some_views(), coordinators=COORDINATORS)
        initialise(self.project)

    def change(self) -> Project:
        """What the project is changed to."""
        return dataclasses.replace(self.project, views=self.some_views())

    def check_deployed(self, rt: Runtime) -> None:
        assert {v.name: v.sql for v in rt.program.views} == self.project.views

    def some_views(self) -> dict[str, str]:
        chosen = self.random.sample(POOL, self.random.randint(1, 4))
        return {f"v{POOL.index(text) % 7}_{self.random.choice('ab')}": text for text in chosen}

    def append(self, rt: Runtime, coordinator: int) -> int:
        size = min(len(self.stream), self.random.randint(1, 6))
        taken = [self.stream.pop(0) for _ in range(size)]
        self.count += 1
        batch = append_events(rt, coordinator, taken, f"d{self.count}")
        self.happened[batch] = taken
        return batch

    def act(self, rt: Runtime) -> None:
        what = self.random.choice(("apply", "apply", "apply", "append", "vote", "vote", "correct", "refresh", "merge"))
        coordinator = self.random.randrange(COORDINATORS)
        try:
            if what == "append" and self.stream:
                self.append(rt, coordinator)
            elif what == "apply" and self.stream:
                for waiting in rt.catalog.log.waiting_batches(coordinator):
                    apply_batch(rt, waiting.id)
                apply_batch(rt, self.append(rt, coordinator))
            elif what == "vote":
                self.vote(rt)
            elif what in ("correct", "refresh", "merge"):
                {"correct": correct, "refresh": refresh, "merge": merge}[what](rt)
        except (Conflict, NotYet):
            pass

    def vote(self, rt: Runtime) -> None:
        holder = rt.catalog.votes.token_holder()
        for waiting in rt.catalog.log.waiting_batches(holder):
            apply_batch(rt, waiting.id)
        vote(rt, holder, rt.catalog.members.position(holder)[0])
        newest = rt.catalog.snapshots.newest()
        if is_complete(rt, newest + 1):
            commit(rt, newest + 1)
            self.check_snapshot(rt, rt.catalog.snapshots.newest())

    def upto(self, rt: Runtime, epoch: int) -> list[Event]:
        batches = [rt.catalog.log.batch(number) for number in self.happened]
        batches.sort(key=lambda b: (b.epoch, b.coordinator, b.first_sequence))
        return [event for b in batches if b.epoch <= epoch for event in self.happened[b.id]]

    def events_of(self, program: Program, rt: Runtime, epoch: int) -> list[Event]:
        """The events up to an epoch (inclusive), as a program's relations have them."""
        return self.projected(program, self.upto(rt, epoch))

    def projected(self, program: Program, events: list[Event]) -> list[Event]:
        del program
        return events

    def check_snapshot(self, rt: Runtime, epoch: int) -> None:
        program = rt.as_of(epoch).program
        right = interpret(program, self.events_of(program, rt, epoch))
        for view in program.views:
            rows = (
                read_view(rt, view.name, as_of=epoch, ordered=False) if view.name in rt.program.view_by_name else None
            )
            if rows is not None:
                wanted = sorted(map(repr, right.view_rows(view.name)))
                assert sorted(repr(tuple(row.values())) for row in rows.to_pylist()) == wanted, (epoch, view.sql)

    def finish(self, rt: Runtime) -> None:
        """Apply all that is left, and settle: the maps are the interpreter's, entry by entry."""
        for coordinator in range(COORDINATORS):
            for waiting in rt.catalog.log.waiting_batches(coordinator):
                apply_batch(rt, waiting.id)
        correct(rt)
        refresh(rt)
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, self.events_of(rt.program, rt, 10**6)))
        merge(rt)
        drop_unused(rt)
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, self.events_of(rt.program, rt, 10**6)))


def play(world: World, changes: int = 4) -> int:
    """A project's life; returns how many deployments there were."""
    done = 0
    for _ in range(changes):
        with open_runtime(world.project) as rt:
            for _ in range(world.random.randint(2, 14)):
                world.act(rt)
        changed = world.change()
        with open_runtime(changed) as rt:
            done += deploy(rt) is not None
        world.project = changed
        with open_runtime(world.project) as rt:
            world.check_deployed(rt)
            for _ in range(world.random.randint(0, 6)):
                world.act(rt)
            world.finish(rt)
            epoch = rt.catalog.snapshots.newest()
            if epoch >= 0:
                world.check_snapshot(rt, epoch)
    return done
