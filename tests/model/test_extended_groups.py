"""The law of extending: whichever groups of a program are taken away, and whenever they are computed again (as of any snapshot, caught up to
any later ones, and then for the batches that are in none), they are what applying, correcting and refreshing have made of them, version by version."""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import unittest.mock
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.records import Batch, NewRun, Run
from cumulus_ops.compute import extend, kernel, reading
from cumulus_ops.compute.extend import ExtendTask, choose_drivers, groups_computed, groups_read, relations_read
from cumulus_ops.compute.reading import BatchRef
from cumulus_ops.compute.staged import finish_spread, plan_stages
from cumulus_ops.compute.steps import StepResult, run_step
from cumulus_ops.epochs import voting
from cumulus_ops.epochs.checkpoint import commit, correct, merge, refresh
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, IntegrityProblem, NotYet
from cumulus_ops.project.versions import epoch_end
from m3.errors import ValueProblem
from tests.model import test_time_goes_on as timed
from tests.model.test_engine_against_interpreter import EXAMPLES, PROGRAMS, QUICK, World, _act, _bounded
from tests.support import tpch_small as tpch
from tests.support.derived_programs import DERIVED
from tests.support.histories import Local, Player, random_history
from tests.support.projects import make_project
from tests.support.random_derivations import derived_programs
from tests.support.random_programs import RELATIONS, sql_views
from tests.support.staging import Rows, in_stages, summed, visible

FEW = settings(QUICK, max_examples=-(-EXAMPLES // 2))  # each is extended three times
NO_DRIVERS: Mapping[str, str] = {}
ACTIONS = ["append", "start", "finish", "correct", "merge", "refresh", *["epoch"] * 3, *["minibatch"] * 6]


@dataclass
class Extended:
    """Some groups of an open project, taken away and computed again; ``runs`` are what has been written of them so far."""

    rt: Runtime
    kept: frozenset[str]
    runs: tuple[Run, ...] = ()
    tasks: int = 1
    label: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def taken(self) -> frozenset[str]:
        return frozenset(self.rt.plan.groups) - self.kept

    def backfill(self, epoch: int, *, driven: bool = False) -> None:
        """Those groups that have a driver by that, if it is to be so, from what is there."""
        drivers = choose_drivers(self.rt.plan, self.taken, {}) if driven else {}
        only = self.taken - drivers.keys()
        if only:
            self._extend(self._at_once(0, epoch), only=only)
        if drivers:
            given = frozenset(self.rt.plan.groups) - drivers.keys()
            batches = self._at_once(0, epoch, place=epoch + 1)
            self._extend(batches, self._kept_runs(), given, frozenset(drivers), drivers)

    def catch_up(self, epoch: int, to: int) -> None:
        self._extend(self._at_once(epoch + 1, to), self._kept_runs())

    def go_live(self, epoch: int, start: Sequence[BatchRef] = ()) -> None:
        live = [b for b in self._applied() if b.epoch > epoch]
        self._extend([*start, *self.rt.references(live)], self._kept_runs(), self.kept)

    def _extend(
        self,
        batches: Sequence[BatchRef],
        runs: Sequence[Run] = (),
        given: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
        drivers: Mapping[str, str] = NO_DRIVERS,
    ) -> None:
        only = self.taken if only is None else only
        task = ExtendTask(self.rt.plan, self.rt.project.state, tuple(batches), (), only, given, drivers=drivers)
        task = replace(task, runs=(*runs, *self.runs), memory=self.rt.project.memory_bytes, label=self.label)
        written = (run_step(task) if self.tasks == 1 or not task.spread else self._run_spread(task)).runs
        self.runs += visible(written, 1000)
        files = {str(path.relative_to(task.root)) for path in task.root.glob(f"runs/{self.label}*")}
        assert files == {run.path for run in self.runs}, "what was written in passing is gone"

    def _run_spread(self, task: ExtendTask) -> StepResult:
        found = plan_stages(task, self.tasks)
        event(f"{len(found.stages)} stages, {len(task.only - task.spread) > 0} rest")
        alone = found.layout.alone
        return run_step(task) if alone else finish_spread(task, in_stages(task, self.tasks), run_step)

    def _at_once(self, first: int, last: int, place: int | None = None) -> list[BatchRef]:
        """All events of some epochs, as one batch, in the ``place`` of the first one."""
        found = self.rt.references([b for b in self._applied() if first <= b.epoch <= last])
        files = tuple(f for b in found for f in b.files)
        return [BatchRef(0, first if place is None else place, 0, files, 0, 0, sum(b.events for b in found))]

    def _applied(self) -> list[Batch]:
        return [b for b in self.rt.catalog.log.batches() if b.commit is not None and b.counts]

    def _kept_runs(self) -> list[Run]:
        return [r for r in self.rt.catalog.commits.runs(self.rt.catalog.commits.last_commit()) if r.map in self.kept]


def check(extended: Extended, epoch: int) -> None:
    """The groups are what the engine has made of them: those of the snapshot together, those of batches since by their versions."""
    rt = extended.rt
    stored = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    expected = entries(rt, [r for r in stored if r.map in extended.taken], epoch)
    assert entries(rt, extended.runs, epoch) == expected
    assert {r.map for r in extended.runs} <= extended.taken


def entries(rt: Runtime, runs: Sequence[NewRun], epoch: int) -> Rows:
    """What runs add up to, by map; versions up to the end of an epoch are one."""
    found: Rows = {}
    for name, rows in summed(rt.plan, rt.project.state, runs).items():
        folded: dict[tuple[object, ...], int] = {}
        for (*key, version), units in rows.items():
            at = (*key, max(int(str(version)), epoch_end(epoch)))
            folded[at] = folded.get(at, 0) + units
        found[name] = {key: units for key, units in folded.items() if units}
    return found


def keep(plan: ProgramPlan, groups: Collection[str]) -> frozenset[str]:
    """Groups that were there before, with all that they need."""
    return groups_computed(plan, groups)


def act(world: World, data: st.DataObject, action: str) -> None:
    """Do something; an epoch ends with its snapshot."""
    if action != "epoch":
        _act(world, data, action)
        return
    for index in reversed([i for i, f in enumerate(world.flight) if f[0] == "apply"]):
        if world.flight[index][3] is None:
            world.start(index)
        world.finish(index)
    for _ in range(3):
        _act(world, data, "seal")
    with suppress(NotYet):
        commit(world.rt, len(world.rt.catalog.snapshots.all()))


def settle(world: World) -> None:
    """End what is under way, and bring everything to one clock."""
    for index in reversed(range(len(world.flight))):
        if world.flight[index][3] is not None:
            world.finish(index)
    correct(world.rt)
    refresh(world.rt)


def play(world: World, data: st.DataObject) -> None:
    rt = world.rt
    for _ in range(data.draw(st.integers(5, 25))):
        act(world, data, data.draw(st.sampled_from(ACTIONS)))
    settle(world)
    for _ in range(3):  # a history costs more than to extend it
        extend_some(rt, data)


def extend_some(rt: Runtime, data: st.DataObject) -> None:
    """Take some groups away, at least one, and compute them again."""
    groups = sorted(rt.plan.groups)
    one = data.draw(st.sampled_from(groups))
    others = [name for name in groups if one not in keep(rt.plan, {name})]
    kept = keep(rt.plan, data.draw(st.sets(st.sampled_from(others))) if others else ())
    newest = rt.catalog.snapshots.newest()
    stops = sorted(data.draw(st.sets(st.integers(min(newest, 0), newest), max_size=2)) | {newest})
    small = data.draw(st.booleans())
    extended = Extended(replace(rt, project=replace(rt.project, memory=1 if small else None)), kept)
    extended.tasks = data.draw(st.integers(1, 3))
    with unittest.mock.patch.object(reading, "FEWEST_ROWS", 2 if small else reading.FEWEST_ROWS):
        if newest < 0 and data.draw(st.booleans()):  # what is there before the first event comes with the live batches
            extended.go_live(newest, [BatchRef(0, 0, 0, (), 0, 0, 0)])
        else:
            driven = data.draw(st.booleans())
            event(f"driven: {driven}")
            extended.backfill(stops[0], driven=driven)
            for before, after in itertools.pairwise(stops):
                extended.catch_up(before, after)
            extended.go_live(newest)
    event(f"{len(stops)} stops, {newest > -1} snapshot, {bool(kept)} kept")
    check(extended, newest)


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "multiply", _bounded)
    monkeypatch.setattr(voting, "tick_if_due", lambda *_: False)  # ticks come when a test says so


TPCH_ROWS = st.tuples(
    st.sampled_from(["customer", "orders", "orders", "supplier", *["lineitem"] * 4]), st.integers(0, 10**6)
).map(lambda drawn: (drawn[0], tpch.MAKERS[drawn[0]](random.Random(drawn[1]))))
PROJECTS: Mapping[str, tuple[Sequence[object], Mapping[str, object], object]] = {
    **{name: (RELATIONS, PROGRAMS[name], None) for name in ("sql", "self-join", "beyond rings", "failing")},
    "derived": (RELATIONS, {"program": DERIVED}, None),
    "tpch": (tpch.RELATIONS, {"views": {q: tpch.view_text(q) for q in ("q3", "q13", "q15", "q18")}}, TPCH_ROWS),
    **{f"time, {name}": (timed.RELATIONS, {"views": views}, timed.rows) for name, views in timed.VIEWS.items()},
}


@pytest.mark.parametrize("name", PROJECTS)
@settings(FEW)
@given(data=st.data())
def test_groups_are_what_applying_makes_of_them(name: str, data: st.DataObject) -> None:
    relations, program, rows = PROJECTS[name]
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), relations, **program)  # type: ignore[arg-type]
        initialise(project, versions="batch")
        with open_runtime(project) as rt:
            assert rt.plan.versions.name == "batch"
            play(World(rt) if rows is None else World(rt, rows=rows), data)  # type: ignore[arg-type]


@settings(FEW)
@given(views=sql_views(), data=st.data())
def test_random_views(views: dict[str, str], data: st.DataObject) -> None:
    _play_random(data, views=views)


@settings(FEW)
@given(text=derived_programs(), data=st.data())
def test_random_derivations(text: str, data: st.DataObject) -> None:
    try:
        _play_random(data, program=text)
    except (InputProblem, ValueProblem) as problem:
        if problem.kind != "overflow":
            raise
        reject()


def _play_random(data: st.DataObject, **program: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, **program)  # type: ignore[arg-type]
        initialise(project, versions="batch")
        with open_runtime(project) as rt:
            play(World(rt), data)


# One history of a program with derivations behind derivations, and what goes wrong if something is forgotten.


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A project with several snapshots, and applied batches that are in none."""
    project = make_project(tmp_path_factory.mktemp("played"), RELATIONS, program=DERIVED)
    initialise(project, versions="batch")
    with open_runtime(project) as rt:
        player = Player([Local(rt)])
        for step in random_history(3, steps=120):
            player.step(step)
        correct(rt)
        refresh(rt)
        while merge(rt):  # so that one run has what belongs to snapshots, and what came after
            pass
        yield rt


def extend_all(extended: Extended) -> int:
    """In all three ways; the newest snapshot."""
    newest = extended.rt.catalog.snapshots.newest()
    extended.backfill(newest - 2)
    extended.catch_up(newest - 2, newest)
    extended.go_live(newest)
    return newest


def short(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """One commit is missing from the backfill."""
    at_once = extended._at_once

    def without_last(first: int, last: int) -> list[BatchRef]:
        (batch,) = at_once(first, last)
        return [replace(batch, files=batch.files[:-1])] if first == 0 else [batch]

    monkeypatch.setattr(extended, "_at_once", without_last)


def counted_twice(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given is computed, too."""
    computed = groups_computed(extended.rt.plan, extended.taken)
    monkeypatch.setattr(extend, "groups_computed", lambda plan, only, given=(): computed)
    monkeypatch.setattr(extend._Step, "_check_before", lambda _: None)


def seen_later(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the batches is looked at."""
    states = extend.States
    monkeypatch.setattr(extend, "States", lambda old, new, own, since, until: states(old, new, own, since))


def seen_before(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is given is new."""
    changes = extend.changes_of
    monkeypatch.setattr(
        extend, "changes_of", lambda plan, name, runs, memory, since, until: changes(plan, name, runs, memory)
    )


def stage_ignored(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """What derived maps change is no event."""
    monkeypatch.setattr(extend._Step, "_of_changes", lambda *_: [])


def start_forgotten(extended: Extended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is there before the first event."""
    monkeypatch.setattr(ExtendTask, "from_start", False)


BUGS = (short, counted_twice, seen_later, seen_before, stage_ignored, start_forgotten)


def test_a_history(played: Runtime) -> None:
    extended = Extended(played, keep(played.plan, {"d1"}))
    newest = extend_all(extended)
    live = [b for b in extended._applied() if b.epoch > newest]
    assert newest > 2
    assert len(live) > 3
    assert {"q1", "d2", "pairs"} <= extended.taken
    check(extended, newest)


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_noticed(
    bug: Callable[[Extended, pytest.MonkeyPatch], None], played: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended = Extended(played, keep(played.plan, {"d1"}))
    bug(extended, monkeypatch)
    with pytest.raises((AssertionError, IntegrityProblem)):
        check(extended, extend_all(extended))


def dependence_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a driver's statements read may depend on it."""
    monkeypatch.setattr(extend, "_find_origins", lambda _: defaultdict(frozenset))


def terms_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group may have something without its driver."""

    def choose(plan: ProgramPlan, fresh: Collection[str], _: Mapping[str, int]) -> dict[str, str]:
        triggers = {n: sorted({s.relation for s in plan.statements[n]} & plan.ranks.keys()) for n in fresh}
        return {name: relations[0] for name, relations in triggers.items() if relations}

    monkeypatch.setattr(sys.modules[__name__], "choose_drivers", choose)


def fill_by_drivers(played: Runtime) -> int:
    """How many groups have been."""
    extended = Extended(played, keep(played.plan, {"d1"}))
    newest = played.catalog.snapshots.newest()
    extended.backfill(newest, driven=True)
    extended.go_live(newest)
    check(extended, newest)
    return len(choose_drivers(played.plan, extended.taken, {}))


def test_groups_are_filled_by_one_relation_from_what_is_there(played: Runtime) -> None:
    assert fill_by_drivers(played) == 5


@pytest.mark.parametrize("bug", [dependence_ignored, terms_ignored])
def test_a_wrong_driver_is_noticed(
    bug: Callable[[pytest.MonkeyPatch], None], played: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        fill_by_drivers(played)


def test_what_is_stored_of_batches_is_not_computed_from_it(played: Runtime) -> None:
    """A group that has some of what is to be added to it."""
    extended = Extended(played, keep(played.plan, {"d1"}))
    newest = extend_all(extended)
    with pytest.raises(IntegrityProblem, match="already"):
        extended.go_live(newest)
    with pytest.raises(IntegrityProblem, match="already"):
        extended.catch_up(-1, newest)


def test_only_what_is_needed_is_read(played: Runtime) -> None:
    """Files of other relations, and runs of other groups, need not be there."""
    plan = played.plan
    assert relations_read(plan, {"tn"}) == {"t"}
    assert groups_read(plan, {"g"}, {"tn"}) == {"g", "k", "tn"}
    extended = Extended(played, frozenset(plan.groups) - {"tn"})
    lost = [replace(f, path="lost") for f in extended._at_once(0, 9)[0].files if f.relation != "t"]
    kept = [f for f in extended._at_once(0, 9)[0].files if f.relation == "t"]
    task = ExtendTask(plan, played.project.state, (BatchRef(0, 0, 0, (*lost, *kept), 0, 0, 1),), (), frozenset({"tn"}))
    assert {run.map for run in run_step(task).runs} == {"tn"}


def test_versions_by_event_are_refused(tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, program=DERIVED)
    initialise(project, versions="event")
    with open_runtime(project) as rt, pytest.raises(InputProblem, match="versions by batch alone"):
        Extended(rt, frozenset()).backfill(0)
