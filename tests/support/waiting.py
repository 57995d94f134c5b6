"""Random interleavings of the real steps, and what is seen of the answers meanwhile: do a plan's barriers keep anomalies away, each of them?

Every coordinator has a script: what it appends, and where its epochs end. So which events belong to which epoch is settled, and only the order of the
steps is drawn: appends, the reading and the committing of each apply, seals, corrections, checkpoints, publishing and finalising, each by whoever
is first. A step that has to wait says so (NotYet, Conflict) and is tried again later; nothing here knows what waits for what.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cumulus_ops.config import Project
from cumulus_ops.coordination.barriers import SEAL, VALUE_SEAL, VALUE_VOTE, VOTE, in_force, without
from cumulus_ops.coordination.plan import Barrier
from cumulus_ops.engine import Runtime, initialise, open_runtime
from cumulus_ops.errors import Conflict, NotYet
from cumulus_ops.snapshot import commit, correct, current_epoch, publish, refresh, seal
from cumulus_ops.snapshot.delta_tables import first_rows
from cumulus_ops.snapshot.minibatch import Computed, commit_batch, compute_batch
from cumulus_ops.versions import epoch_end
from m3 import Interpreter
from tests.support.projects import Event, Row, append_events, engine_maps, interpret, oracle_maps
from tests.support.views_in_error import Answer, interpreter_answer

__all__ = ["Case", "Run", "anomalies", "barriers_in_force", "play"]

#: What a coordinator does: it appends events, or its epoch ends (None).
Script = tuple[tuple[Event, ...] | None, ...]
#: Enough for any case here to come to its end; more means that something waits for ever.
STEPS = 4000
#: How often somebody corrects without being asked to.
CORRECTIONS = 0.3


@dataclass(frozen=True)
class Case:
    """A program, and what comes: one script for each coordinator, all with the same number of epochs."""

    name: str
    make: Callable[[Path], Project]
    scripts: tuple[Script, ...]

    @property
    def epochs(self) -> int:
        """How many are sealed."""
        return self.scripts[0].count(None)

    def events(self, epoch: int) -> list[Event]:
        """All events up to an epoch (inclusive), in the order of their stamps."""
        found = [(e, c, events) for c, script in enumerate(self.scripts) for e, events in _by_epoch(script)]
        return [event for e, _, events in sorted(found, key=lambda f: f[:2]) if e <= epoch for event in events]


def _by_epoch(script: Script) -> Iterator[tuple[int, tuple[Event, ...]]]:
    epoch = 0
    for item in script:
        if item is None:
            epoch += 1
        else:
            yield epoch, item


@dataclass
class Run:
    """What was seen: of each epoch its maps when its snapshot was made and when all was over, and the published rows of its views."""

    first: dict[int, Mapping[str, Mapping[Row, int]]] = field(default_factory=dict)
    last: dict[int, Mapping[str, Mapping[Row, int]]] = field(default_factory=dict)
    published: dict[tuple[str, int], Answer] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


def barriers_in_force(case: Case, folder: Path) -> tuple[Barrier, ...]:
    """Those of the plan of a case, with as many coordinators as it has."""
    with _opened(case, folder) as rt:
        return in_force(rt.coordination.barriers, len(case.scripts))


def play(case: Case, folder: Path, seed: int, left_out: Collection[str] = ()) -> Run:
    """One run with an order of steps that the seed decides, without some barriers. What the plan has and what is not in force, with so few
    coordinators, is left out as well."""
    with _opened(case, folder) as rt:
        plan = rt.coordination
        needless = {b.name for b in plan.barriers} - {
            _of_several(b.name) for b in in_force(plan.barriers, len(case.scripts))
        }
        plan = without(plan, {*map(_of_several, left_out), *needless})
        player = _Player(case, dataclasses.replace(rt, coordination=plan), random.Random(seed))
        player.run()
        return player.seen


def _of_several(name: str) -> str:
    """What the plan calls a barrier that has another name with one coordinator."""
    return {SEAL: VOTE, VALUE_SEAL: VALUE_VOTE}.get(name, name)


@contextlib.contextmanager
def _opened(case: Case, folder: Path) -> Iterator[Runtime]:
    project = case.make(folder)
    initialise(project)
    with open_runtime(project) as rt:
        yield rt


class _Player:
    """Draws one thing after the other that somebody could do, until nothing is left to do."""

    def __init__(self, case: Case, rt: Runtime, choose: random.Random) -> None:
        self.case, self.rt, self.choose, self.seen = case, rt, choose, Run()
        self.places = [0] * len(case.scripts)
        self.appended: list[list[int]] = [[] for _ in case.scripts]  # not begun yet
        self.begun: dict[int, tuple[int, contextlib.ExitStack, Computed]] = {}  # by coordinator: one at a time
        self.published: set[int] = set()

    def run(self) -> None:
        for _ in range(STEPS):
            doable = self._doable()
            if not any(must for must, _, _ in doable):
                break
            _, name, step = self.choose.choice(doable)
            try:
                step()
            except (NotYet, Conflict):
                continue
            self.seen.steps.append(name)
        else:
            raise AssertionError(f"{self.case.name} does not come to its end: {self.seen.steps[-10:]}")
        for epoch in range(self.case.epochs):
            self.seen.last[epoch] = engine_maps(self.rt, epoch_end(epoch))

    def _doable(self) -> list[tuple[bool, str, Callable[[], None]]]:
        """(whether the run is not over before it is done, what it is, how)."""
        found: list[tuple[bool, str, Callable[[], None]]] = []

        def add(name: str, step: Callable[..., None], *given: Any, must: bool = True) -> None:
            found.append((must, " ".join([name, *map(str, given)]), lambda: step(*given)))

        for c, script in enumerate(self.case.scripts):
            if self.places[c] < len(script):
                add("seal" if script[self.places[c]] is None else "append", self._next, c)
            if c in self.begun:
                add("commit", self._commit, c)
            elif self.appended[c]:
                add("begin", self._begin, c)
        committed = self.rt.catalog.newest_snapshot()
        if committed + 1 < self.case.epochs:
            add("checkpoint", self._checkpoint, committed + 1)
        if len(self.published) < self.case.epochs:
            add("publish", self._publish, len(self.published))
        if self.choose.random() < CORRECTIONS:
            add("correct", self._correct, must=False)
        return found

    def _next(self, c: int) -> None:
        item = self.case.scripts[c][self.places[c]]
        if item is None:
            seal(self.rt, c, current_epoch(self.rt, c))
        else:
            self.appended[c].append(append_events(self.rt, c, item, f"d{self.places[c]}"))
        self.places[c] += 1

    def _begin(self, c: int) -> None:
        batch, stack = self.appended[c][0], contextlib.ExitStack()
        self.begun[c] = batch, stack, compute_batch(self.rt, batch, stack.enter_context(self.rt.catalog.step()))
        self.appended[c].pop(0)

    def _commit(self, c: int) -> None:
        batch, stack, computed = self.begun.pop(c)
        try:
            with stack:
                commit_batch(self.rt, batch, computed)
        except Conflict:  # what it has read was merged
            self.appended[c].insert(0, batch)
            raise

    def _correct(self) -> None:
        correct(self.rt)
        refresh(self.rt)

    def _checkpoint(self, epoch: int) -> None:
        commit(self.rt, epoch)
        self.seen.first[epoch] = engine_maps(self.rt, epoch_end(epoch))

    def _publish(self, epoch: int) -> None:
        versions = publish(self.rt, epoch)
        assert self.rt.project.published is not None
        for view, version in versions.items():
            table = first_rows(self.rt.project.published / view, version, 1 << 30)
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            self.seen.published[view, epoch] = Counter(rows)
        self.published.add(epoch)


def anomalies(case: Case, run: Run, program: Any) -> list[str]:
    """What was seen that the serial interpreter, run over the events of the epochs, does not say."""
    found: list[str] = []
    for epoch in range(case.epochs):
        oracle: Interpreter = interpret(program, case.events(epoch))
        expected = oracle_maps(oracle)
        if run.first.get(epoch, expected) != expected:
            found.append(f"the snapshot of epoch {epoch} is not its recomputation")
        if run.last[epoch] != run.first.get(epoch, run.last[epoch]):
            found.append(f"the snapshot of epoch {epoch} has changed")
        for view in program.views:
            rows = run.published.get((view.name, epoch))
            if rows is not None and rows != interpreter_answer(oracle, view.name):
                found.append(f"what was published of {view.name} in epoch {epoch} is not its snapshot")
    return found
