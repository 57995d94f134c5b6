"""The law while coordinators die at any point, wake up late, are passed by and fenced, helped, added, drained and removed, and epochs end early:
each committed epoch equals the interpreter over its events, nothing is lost or counted twice, and every epoch completes.

A coordinator's process is played step by step: it takes stamps and appends later, takes the token and seals later. What it knows may be
out of date by then; dying is forgetting it."""

from __future__ import annotations

import datetime
import os
import tempfile
import unittest.mock
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.epochs import Token
from cumulus_ops.epochs.checkpoint import commit, merge
from cumulus_ops.epochs.minibatch import commit_batch
from cumulus_ops.epochs.voting import apply_orphans, remove_coordinator
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict, CumulusError, InputProblem, NotYet
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.versions import epoch_end
from tests.model.test_engine_against_interpreter import ORDERED, QUICK, VIEWS, World, _exact
from tests.support.leases import another_process, lapse
from tests.support.logs import logged_events
from tests.support.projects import Event, append_events, engine_maps, make_project
from tests.support.random_programs import RELATIONS

#: By this clock all epochs are over, and nobody has patience: whoever is asked for is late.
PAST = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
NONE = datetime.timedelta(0)
MOST = 5  # coordinators
EXAMPLES = int(os.environ.get("COMINGS", "2"))  # for each program
PROGRAMS = {
    "sql": {"views": {name: VIEWS[name] for name in ("join", "chain")}},
    "ordered": {"program": ORDERED.format(semantics="SEQUENTIAL")},
}


@dataclass
class Process:
    """What a coordinator's process knows: stamps that it has taken with the events for them, and the token, for an epoch."""

    stamps: tuple[int, int] | None = None
    events: list[Event] = field(default_factory=list)
    token: tuple[int, Token] | None = None


@dataclass
class Comings(World):
    """Coordinators that come and go."""

    processes: dict[int, Process] = field(default_factory=dict)
    landed: int = 0  # events

    def active(self) -> list[int]:
        return sorted(m.coordinator for m in self.rt.catalog.members.membership().active())

    def process(self, coordinator: int) -> Process:
        return self.processes.setdefault(coordinator, Process())

    def take_stamps(self, data: st.DataObject, coordinator: int) -> None:
        process = self.process(coordinator)
        process.stamps = self.rt.catalog.members.position(coordinator)
        if not process.events:  # else a drop that it could not append
            process.events = self._land(data, coordinator)

    def _land(self, data: st.DataObject, coordinator: int) -> list[Event]:
        live, events = self.live.setdefault(coordinator, []), []
        for _ in range(data.draw(st.integers(1, 4))):
            if live and data.draw(st.integers(0, 3)) == 0:
                relation, _, row = live.pop(data.draw(st.integers(0, len(live) - 1)))
                events.append((relation, -1, row))
            else:
                relation, row = data.draw(self.rows)
                live.append((relation, 1, tuple(map(_exact, row))))
                events.append(live[-1])
        self.landed += len(events)
        return events

    def append_stamped(self, coordinator: int) -> None:
        """With the stamps as they were taken; refused, if the coordinator has moved, or was moved, since."""
        process = self.process(coordinator)
        if process.stamps is None:
            return
        stamps, process.stamps = process.stamps, None
        self.drops += 1
        try:
            with unittest.mock.patch.object(self.rt.catalog.members, "position", return_value=stamps):
                batch = append_events(self.rt, coordinator, process.events, f"d{self.drops}")
        except (Conflict, InputProblem) as refused:
            _require(refused, "append-conflict", "not-a-member")
            return
        assert coordinator in self.rt.catalog.members.membership().of(stamps[0]), "nobody would wait for its seal"
        self.log.setdefault((stamps[0], coordinator), []).extend(process.events)
        process.events = []
        self.flight.append(("apply", batch, None, None))

    def take_token(self, coordinator: int) -> None:
        token = self.rt.catalog.votes.take_token(coordinator, PAST, NONE)
        if token is not None:
            self.process(coordinator).token = self.rt.catalog.members.position(coordinator)[0], token

    def seal(self, coordinator: int, more: int = 0) -> None:
        """With the token that it knows; and ``more`` epochs behind, all of which are long over."""
        known = self.process(coordinator).token
        if known is None:
            return
        epoch, token = known
        before = self.rt.catalog.members.position(coordinator)[0]
        held = self.rt.catalog.votes.token()
        try:
            self.rt.catalog.votes.vote(coordinator, epoch, token, PAST, epoch + more)
        except NotYet as refused:
            _require(refused, "batch-pending", *(["no-token", "old-token"] if held != token else []))
            return
        assert held == token or before > epoch, "voted with a token that it did not have"

    def oversleep(self, data: st.DataObject, coordinator: int) -> None:
        """It takes the token and stands still; another one passes it by and seals; it awakes and seals with what it has."""
        self.take_token(coordinator)
        other = data.draw(st.sampled_from(self.active()))
        for _ in range(2):  # to wait, and to take it
            self.take_token(other)
        self.seal(other)
        self.seal(coordinator)

    def die(self, coordinator: int) -> None:
        """All that was not committed is forgotten; its drop lies where it has landed."""
        process = self.process(coordinator)
        process.stamps = process.token = None

    def fence(self, data: st.DataObject) -> None:
        late = self.rt.catalog.votes.overdue(PAST, NONE)
        if late:
            epoch, coordinator = data.draw(st.sampled_from(late))
            self.apply_all(coordinator)
            by = data.draw(st.sampled_from(self.active()))
            assert self.rt.catalog.votes.fence(coordinator, epoch, by, "late", PAST, NONE)

    def apply_all(self, coordinator: int | None = None) -> None:
        for batch in self.rt.catalog.log.batches(state="appended", coordinator=coordinator):
            while (index := self._in_flight(batch.id)) is not None:
                if self.flight[index][3] is None:
                    self.start(index)
                self.finish(index)

    def _in_flight(self, batch: int) -> int | None:
        return next((i for i, f in enumerate(self.flight) if f[0] == "apply" and f[1] == batch), None)

    def help(self) -> None:
        """All processes stand still in the midst of what they apply, or before they begin again, and another one applies it for them. They awake, and are
        too late."""
        lapse(self.rt.project.catalog_url)
        with another_process(self.rt) as other:
            orphans = other.catalog.leases.orphans()
            assert apply_orphans(other, set()) == len(orphans)
        for batch in orphans:
            _, _, _, computed = self.flight.pop(self._in_flight(batch))
            if computed is not None:
                with self.steps.pop(id(computed)):
                    assert commit_batch(self.rt, batch, computed) is None

    def remove(self, coordinator: int) -> None:
        self.apply_all(coordinator)
        remove_coordinator(self.rt, coordinator)

    def add(self, coordinator: int) -> None:
        known = self.rt.catalog.members.membership()
        begun = max(self.rt.catalog.votes.by_epoch(), default=-1) + 1
        member = self.rt.catalog.members.add(coordinator)
        assert member.first > begun or member in known.all
        assert all(known.of(e) == self.rt.catalog.members.membership().of(e) for e in range(begun + 1))

    def commit_next(self) -> None:
        epoch = len(self.rt.catalog.snapshots.all())
        commit(self.rt, epoch)
        assert self.rt.catalog.votes.by_epoch()[epoch] == set(self.rt.catalog.members.membership().of(epoch))
        assert engine_maps(self.rt, epoch_end(epoch)) == self.expected(epoch)


def _require(refused: CumulusError, *kinds: str) -> None:
    """That something was refused for one of these reasons."""
    if refused.kind not in kinds:
        raise refused


def _act(world: Comings, data: st.DataObject, action: str) -> None:
    coordinator = data.draw(st.sampled_from(world.active()))
    waiting = [i for i, f in enumerate(world.flight) if f[3] is None]
    ready = [i for i, f in enumerate(world.flight) if f[3] is not None]
    catalog = world.rt.catalog
    simple: dict[str, Callable[[], object]] = {
        "stamp": lambda: world.take_stamps(data, data.draw(st.sampled_from(sorted({coordinator, *world.processes})))),
        "append": lambda: world.append_stamped(data.draw(st.sampled_from(sorted(world.processes or {coordinator: 0})))),
        "take": lambda: world.take_token(coordinator),
        "seal": lambda: world.seal(
            data.draw(st.sampled_from(sorted(world.processes or {coordinator: 0}))),
            data.draw(st.sampled_from([0, 0, 0, 2])),
        ),
        "repeat": catalog.snapshots.repeat,
        "oversleep": lambda: world.oversleep(data, coordinator),
        "die": lambda: world.die(coordinator),
        "fence": lambda: world.fence(data),
        "add": lambda: world.add(data.draw(st.integers(0, MOST - 1))),
        "drain": lambda: catalog.members.drain(coordinator),
        "remove": lambda: world.remove(coordinator),
        "end": lambda: catalog.members.end_epoch(
            data.draw(st.integers(0, catalog.members.position(coordinator)[0])), PAST
        ),
        "merge": lambda: merge(world.rt),
        "lapse": world.lapse,
        "help": world.help,
        "commit": world.commit_next,
    }
    if action == "apply" and waiting:
        world.start(data.draw(st.sampled_from(waiting)))
    elif action == "finish" and ready:
        world.finish(data.draw(st.sampled_from(ready)))
    elif action == "correct" and not any(f[0] == "correct" for f in world.flight):
        world.start_correction()
    elif action in simple:
        try:
            simple[action]()
        except NotYet as refused:
            _require(refused, *(["votes-missing"] if action == "commit" else []))
        except InputProblem as refused:
            _require(refused, "last-coordinator", "coordinator-drains", "not-a-member")


ACTIONS = (
    *(["stamp", "append"] * 5),
    *(["apply", "finish"] * 3),
    *(["take", "take", "seal"] * 5),
    *(
        "oversleep",
        "oversleep",
        "fence",
        "fence",
        "die",
        "add",
        "add",
        "drain",
        "remove",
        "end",
        "correct",
        "merge",
        "lapse",
        "help",
        "help",
        "commit",
    ),
)


def _finish(world: Comings) -> None:
    """Everybody alive brings its work to an end: all epochs that have begun complete, by all their members."""
    for coordinator in world.active():
        process = world.process(coordinator)
        if process.events:
            process.stamps = world.rt.catalog.members.position(coordinator)
            world.append_stamped(coordinator)
            assert not process.events
    world.apply_all()
    # who is gone may have been ahead of all who are left
    last = max(
        *(world.rt.catalog.members.position(c)[0] for c in world.active()), *world.rt.catalog.votes.by_epoch(), 0
    )
    while min(world.rt.catalog.members.position(c)[0] for c in world.active()) <= last:
        holder = world.rt.catalog.votes.token_holder()
        world.take_token(holder)
        world.seal(holder)
    while len(world.rt.catalog.snapshots.all()) <= last:
        world.commit_next()
    left = sum(
        len(p.events) for p in world.processes.values()
    )  # of those who are gone, it waits until they are added again
    assert world.landed == left + sum(map(len, world.log.values()))
    assert Counter(logged_events(world.rt, last)) == Counter(e for events in world.log.values() for e in events)
    for epoch in range(last + 1):
        assert engine_maps(world.rt, epoch_end(epoch)) == world.expected(epoch)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(QUICK, max_examples=EXAMPLES)
@given(data=st.data())
def test_each_epoch_completes_and_equals_the_interpreter(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, retain=1000, **PROGRAMS[name])
        initialise(project)
        with open_runtime(project) as rt:
            world = Comings(rt)
            for _ in range(data.draw(st.integers(20, 60))):
                _act(world, data, data.draw(st.sampled_from(ACTIONS)))
            _finish(world)
