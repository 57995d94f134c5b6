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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cumulus_ops.append.seals import distinct_texts
from cumulus_ops.catalog.values import SealChange, Sealing
from cumulus_ops.compute.steps import Executor, InProcess, MinibatchTask, StepResult, Task
from cumulus_ops.coordination.barriers import SINGLE_VOTE, VALUE_SEAL, VALUE_VOTE, VOTE, in_force, without
from cumulus_ops.coordination.plan import Barrier
from cumulus_ops.epochs.checkpoint import commit, correct, refresh
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import Computed, commit_batch, compute_batch, current_epoch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem, NotYet
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.publishing.delta_tables import first_rows
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.query.answers import find_sealed_views, read_final_rows
from m3 import Interpreter
from m3.program import Relation
from tests.support.projects import Event, Row, append_events, engine_maps, interpret, log_table, oracle_maps
from tests.support.staging import in_stages
from tests.support.views_in_error import Answer, interpreter_answer

__all__ = ["Append", "Case", "InStages", "Run", "anomalies", "barriers_in_force", "play"]


@dataclass(frozen=True)
class Append:
    """A coordinator appends events, and with them seals values: (relation, seal) and a row that has the value."""

    events: tuple[Event, ...]
    seals: tuple[tuple[str, str, Row], ...] = ()


#: What a coordinator does: it appends, or its epoch ends (None).
Script = tuple[Append | None, ...]
#: Enough for any case here to come to its end; more means that something waits for ever.
STEPS = 4000
#: How often somebody corrects without being asked to.
CORRECTIONS = 0.3


@dataclass(frozen=True)
class Case:
    """A program, and what comes: one script for each coordinator, all with the same number of epochs. ``executor``: what runs the steps, None for this
    process."""

    name: str
    make: Callable[[Path], Project]
    scripts: tuple[Script, ...]
    executor: Executor | None = None

    @property
    def epochs(self) -> int:
        """How many are sealed."""
        return self.scripts[0].count(None)

    def events(self, epoch: int) -> list[Event]:
        """All events up to an epoch (inclusive), in the order of their stamps."""
        found = [(e, c, append.events) for c, script in enumerate(self.scripts) for e, append in _by_epoch(script)]
        return [event for e, _, events in sorted(found, key=lambda f: f[:2]) if e <= epoch for event in events]


def _by_epoch(script: Script) -> Iterator[tuple[int, Append]]:
    epoch = 0
    for item in script:
        if item is None:
            epoch += 1
        else:
            yield epoch, item


@dataclass
class Run:
    """What was seen: of each epoch its maps when its snapshot was made and when all was over, and the published rows of its views; and the rows
    of each (view, value of a seal) when they were said to be final, and when all was over; and what the steps themselves have found to be wrong."""

    first: dict[int, Mapping[str, Mapping[Row, int]]] = field(default_factory=dict)
    last: dict[int, Mapping[str, Mapping[Row, int]]] = field(default_factory=dict)
    published: dict[tuple[str, int], Answer] = field(default_factory=dict)
    final: dict[tuple[str, str], Answer] = field(default_factory=dict)
    final_after: dict[tuple[str, str], Answer] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


class InStages(InProcess):
    """Applies each batch as Spark applies a large one: in stages, by several tasks; the refresh follows on its own."""

    def run(self, task: Task) -> StepResult:
        """See :class:`cumulus_ops.compute.steps.Executor`."""
        return StepResult(in_stages(task.apply, 2), {}) if isinstance(task, MinibatchTask) else super().run(task)


def barriers_in_force(case: Case, folder: Path) -> tuple[Barrier, ...]:
    """Those of the plan of a case, with as many coordinators as it has."""
    with _opened(case, folder) as rt:
        return in_force(rt.coordination.barriers, len(case.scripts))


def play(case: Case, folder: Path, seed: int, left_out: Collection[str] = ()) -> Run:
    """One run with an order of steps that the seed decides, without some barriers. What the plan has and what is not in force, with so few
    coordinators, is left out as well."""
    with _opened(case, folder) as rt:
        plan = rt.coordination
        there = {name for b in in_force(plan.barriers, len(case.scripts)) for name in _either(b.name)}
        needless = {b.name for b in plan.barriers} - there
        plan = without(plan, {name for given in left_out for name in _either(given)} | needless)
        player = _Player(case, dataclasses.replace(rt, coordination=plan), random.Random(seed))
        player.run()
        return player.seen


def _either(name: str) -> tuple[str, ...]:
    """A barrier may have another name in the plan, which is for several coordinators."""
    return {SINGLE_VOTE: (SINGLE_VOTE, VOTE), VALUE_SEAL: (VALUE_SEAL, VALUE_VOTE)}.get(name, (name,))


@contextlib.contextmanager
def _opened(case: Case, folder: Path) -> Iterator[Runtime]:
    project = case.make(folder)
    initialise(project)
    with open_runtime(project) as rt:
        yield rt if case.executor is None else dataclasses.replace(rt, executor=case.executor)


class _Player:
    """Draws one thing after the other that somebody could do, until nothing is left to do."""

    def __init__(self, case: Case, rt: Runtime, choose: random.Random) -> None:
        self.case, self.rt, self.choose, self.seen = case, rt, choose, Run()
        self.places = [0] * len(case.scripts)
        self.appended: list[list[int]] = [[] for _ in case.scripts]  # not begun yet
        self.begun: dict[int, tuple[int, contextlib.ExitStack, Computed]] = {}  # by coordinator: one at a time
        self.published: set[int] = set()
        self.views = {view.view.name: view for view in find_sealed_views(rt)}

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
        self._finalise()
        self.seen.final_after = {(v, text): self._rows_of(v, text) for v, text in self.seen.final}

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
        committed = self.rt.catalog.snapshots.newest()
        if committed + 1 < self.case.epochs:
            add("checkpoint", self._checkpoint, committed + 1)
        if len(self.published) < self.case.epochs:
            add("publish", self._publish, len(self.published))
        if self.choose.random() < CORRECTIONS:
            add("correct", self._correct, must=False)
        if self.views:
            add("finalise", self._finalise, must=False)
        return found

    def _next(self, c: int) -> None:
        item = self.case.scripts[c][self.places[c]]
        if item is None:
            vote(self.rt, c, current_epoch(self.rt, c))
        else:
            sealing = self._sealing(c, item)
            self.appended[c].append(append_events(self.rt, c, item.events, f"d{self.places[c]}", sealing))
        self.places[c] += 1

    def _sealing(self, c: int, item: Append) -> Sealing | None:
        """What the events and the seals of an append say of values; as the readers of drops would find it."""
        changes = []
        for relation, seals in self.rt.project.seals.items():
            declared = self.rt.program.relation_by_name[relation]
            rows = [row for name, _, row in item.events if name == relation]
            for seal_ in seals:
                sealed = [row for r, s, row in item.seals if (r, s) == (relation, seal_.name)]
                texts = [_texts(declared, some, seal_.columns) for some in (rows, sealed)]
                changes.append(SealChange(relation, seal_.name, seal_.producers, *texts))
        return Sealing(self.rt.catalog.seals.known_open(c)[0], tuple(changes)) if changes else None

    def _begin(self, c: int) -> None:
        batch, stack = self.appended[c][0], contextlib.ExitStack()
        self.begun[c] = batch, stack, compute_batch(self.rt, batch, stack.enter_context(self.rt.catalog.leases.step()))
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

    def _finalise(self) -> None:
        for partition in finalise(self.rt).partitions:
            key = partition.view, partition.value
            self.seen.final[key] = self._rows_of(*key)

    def _rows_of(self, view: str, text: str) -> Answer:
        rows, _ = read_final_rows(self.rt, self.views[view], [text])
        return Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def _checkpoint(self, epoch: int) -> None:
        commit(self.rt, epoch)
        self.seen.first[epoch] = engine_maps(self.rt, epoch_end(epoch))

    def _publish(self, epoch: int) -> None:
        try:
            versions = publish(self.rt, epoch)
        except IntegrityProblem as problem:
            self.seen.refused.append(str(problem))
            versions = {}
        assert self.rt.project.published is not None
        for view, version in versions.items():
            table = first_rows(self.rt.project.published / view, version, 1 << 30)
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            self.seen.published[view, epoch] = Counter(rows)
        self.published.add(epoch)


def _texts(relation: Relation, rows: Sequence[Row], columns: Sequence[str]) -> tuple[str, ...]:
    table = log_table(relation, 0, 0, [(i, 1, row) for i, row in enumerate(rows)])
    return tuple(distinct_texts(table, columns)) if rows else ()


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
    changed = [key for key, rows in run.final.items() if rows != run.final_after[key]]
    found += [f"rows of {view} with {text} were final, and changed" for view, text in changed]
    return found + run.refused
