"""Quiescence: when nothing has been applied for the buffer period, tentative answers equal the serial interpreter's, run over what
is applied, in the order of its versions, by all coordinators, in whatever epochs they are."""

from __future__ import annotations

import dataclasses
import datetime
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from cumulus_ops.catalog.records import Batch, NewBatch
from cumulus_ops.epochs.checkpoint import correct, refresh
from cumulus_ops.epochs.minibatch import apply_batch, run_minibatch, settle_if_due
from cumulus_ops.epochs.setting_aside import retract
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import CorrectionSettings
from cumulus_ops.query.read import read_view
from tests.model.test_engine_against_interpreter import BEYOND_RINGS, CYCLIC, ORDERED, QUICK, VIEWS, World, _act, rows
from tests.support.derived_programs import DERIVED
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps
from tests.support.random_programs import RELATIONS, sql_views
from tests.support.views_in_error import engine_answer, interpreter_answer

AT_ONCE, LATER = datetime.timedelta(0), datetime.timedelta(hours=1)
ACTIONS = (
    "append",
    "append",
    "start",
    "start",
    "finish",
    "finish",
    "seal",
    "commit",
    "merge",
    "lapse",
    "settle",
    "settle",
)


@dataclass
class Applied(World):
    """A world that knows the events of each batch."""

    events: dict[int, list[Event]] = field(default_factory=dict)

    def append(self, data: st.DataObject, coordinator: int) -> None:
        before = {key: len(events) for key, events in self.log.items()}
        super().append(data, coordinator)
        ((key, events),) = ((k, e) for k, e in self.log.items() if len(e) != before.get(k, 0))
        self.events[self.flight[-1][1]] = events[before.get(key, 0) :]  # type: ignore[index]

    def finish_some(self, data: st.DataObject) -> None:
        """Let some appended batches be applied; of one coordinator none before an earlier one, whose rows it may delete."""
        started = {f[1] for f in self.flight if f[3] is not None}  # type: ignore[index]
        for coordinator in range(3):
            own = [
                b for b in self.rt.catalog.log.batches(coordinator=coordinator) if b.state in ("appended", "applied")
            ]
            last = max((i for i, b in enumerate(own) if b.state == "applied" or b.id in started), default=-1)
            for batch in own[: data.draw(st.integers(last + 1, len(own)))]:
                self.finish_batch(batch)

    def finish_batch(self, batch: Batch) -> None:
        while self.rt.catalog.log.batch(batch.id).state == "appended":
            index = next(i for i, f in enumerate(self.flight) if f[1] == batch.id)  # type: ignore[index]
            if self.flight[index][3] is None:  # type: ignore[index]
                self.start(index)
                index = next(i for i, f in enumerate(self.flight) if f[1] == batch.id)  # type: ignore[index]
            self.finish(index)

    def check_settled(self) -> None:
        """Nothing is applied any more: whoever looks corrects, once and for all; then tentative answers are right."""
        for _ in range(2):
            settle_if_due(self.rt)
        assert self.rt.catalog.commits.unsettled() is None
        assert self.rt.catalog.commits.behind() == 0
        before = self.rt.catalog.commits.last_commit()
        assert not settle_if_due(self.rt)
        assert correct(self.rt) == refresh(self.rt) == 0
        assert self.rt.catalog.commits.last_commit() == before, "it was settled, and yet there was something to correct"
        done = [b for b in self.rt.catalog.log.batches() if b.state in ("applied", "retired")]
        done.sort(key=lambda b: (b.epoch, b.coordinator, b.first_sequence))
        oracle = interpret(self.rt.program, [e for b in done for e in self.events[b.id]])
        assert engine_maps(self.rt) == oracle_maps(oracle)
        for view in self.rt.program.views:
            assert engine_answer(self.rt, view.name) == interpreter_answer(oracle, view.name), view.sql


def _play(data: st.DataObject, **what: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, **what)  # type: ignore[arg-type]
        initialise(project)
        after = CorrectionSettings(AT_ONCE)
        with open_runtime(dataclasses.replace(project, corrections=after)) as rt:
            world = Applied(rt, rows=rows)
            for _ in range(data.draw(st.integers(1, 2))):
                for _ in range(data.draw(st.integers(4, 16))):
                    action = data.draw(st.sampled_from(ACTIONS))
                    if action == "settle":
                        settle_if_due(rt)
                    else:
                        _act(world, data, action)
                world.finish_some(data)
                world.check_settled()


PROGRAMS = {
    "sql": {"views": VIEWS},
    "derived": {"views": BEYOND_RINGS},
    "derived by hand": {"program": DERIVED},
    "ordered": {"program": ORDERED.format(semantics="SEQUENTIAL")},
    "cyclic": {"program": CYCLIC.format(semantics="SNAPSHOT")},
}


@pytest.mark.parametrize("name", PROGRAMS)
@settings(QUICK, max_examples=4)
@given(data=st.data())
def test_settled_answers_equal_the_interpreter(name: str, data: st.DataObject) -> None:
    _play(data, **PROGRAMS[name])


@settings(QUICK, max_examples=6)
@given(views=sql_views(), data=st.data())
def test_settled_answers_of_random_views_equal_the_interpreter(views: dict[str, str], data: st.DataObject) -> None:
    _play(data, views=views)


PAIRS = {"pairs": VIEWS["join"], "most": "SELECT MAX(a) AS a, COUNT(*) AS n FROM r JOIN s ON r.b = s.b"}


@pytest.mark.parametrize("after", [AT_ONCE, LATER])
def test_a_join_of_staggered_coordinators_is_right_while_their_epochs_are_open(
    tmp_path: Path, after: datetime.timedelta
) -> None:
    """Coordinator 0 is an epoch ahead, so that its row counts after the one it does not find yet."""
    project = make_project(tmp_path, RELATIONS, views={"pairs": PAIRS["pairs"]}, coordinators=2)
    initialise(project)
    with open_runtime(dataclasses.replace(project, corrections=CorrectionSettings(after))) as rt:
        vote(rt, 0, 0)
        for coordinator, inserted in enumerate([("r", 1, (1, 2)), ("s", 1, (2, 0, 3))]):
            append_events(rt, coordinator, [inserted], "d")
            run_minibatch(rt, coordinator, [])
        now = status(rt)
        assert (now.settled, now.behind) == ((True, 0) if after == AT_ONCE else (False, 1))
        found = read_view(rt, "pairs", tentative=True).num_rows
        assert (found, rt.catalog.commits.unsettled() is None) == ((1, True) if after == AT_ONCE else (0, False))


def test_what_was_taken_back_does_not_stay_in_tentative_answers(tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, views={"pairs": PAIRS["pairs"]}, coordinators=3)
    initialise(project)
    with open_runtime(dataclasses.replace(project, corrections=CorrectionSettings(LATER))) as rt:
        vote(rt, 0, 0)
        events = [("r", 1, (1, 2)), ("s", 1, (2, 0, 3)), ("s", 1, (2, 1, 5))]
        batches = [append_events(rt, c, [inserted], "d") for c, inserted in enumerate(events)]
        for batch in batches:
            apply_batch(rt, batch)
        correct(rt)
        assert read_view(rt, "pairs", tentative=True).column("n").to_pylist() == [2]
        assert rt.catalog.commits.unsettled() is None
        with rt.catalog.leases.step() as step:
            entry = rt.catalog.commits.live_history(rt.catalog.commits.last_commit())[1]
            retract(rt, step, entry, "why")
        assert rt.catalog.commits.unsettled() is not None
        at_once = dataclasses.replace(
            rt, project=dataclasses.replace(rt.project, corrections=CorrectionSettings(AT_ONCE))
        )
        assert settle_if_due(at_once)
        assert read_view(rt, "pairs", tentative=True).column("n").to_pylist() == [1]
        assert rt.catalog.commits.unsettled() is None


LIVE = 300


def _many(rt: Runtime, count: int) -> None:
    """So many applied batches of coordinator 0, each with the one event of the first, but for its deltas."""
    first = append_events(rt, 0, [("s", 1, (1, 0, 3))], "d0")
    apply_batch(rt, first)
    files = tuple(rt.catalog.log.files(batch=first))
    for number in range(1, count):
        epoch, sequence = rt.catalog.members.position(0)
        new = NewBatch(0, f"d{number}", epoch, sequence, sequence + 1, 1, 0, 0, 0, files, ())
        batch = rt.catalog.log.append([new])[0]
        with rt.catalog.leases.step() as step:
            rt.catalog.commits.commit_apply(batch, rt.catalog.commits.begin_apply(batch, step), (), 0.0)


def test_a_correction_costs_statements_by_clock_and_not_by_batch(tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, views=PAIRS, coordinators=2)
    initialise(project)
    counts: Counter[str] = Counter()

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        counts[statement.split()[0]] += 1

    with open_runtime(dataclasses.replace(project, corrections=CorrectionSettings(LATER))) as rt:
        vote(rt, 0, 0)
        _many(rt, LIVE)
        correct(rt)
        refresh(rt)
        correct(rt)
        for coordinator, row in ((0, (3, 1)), (1, (4, 1))):
            apply_batch(rt, append_events(rt, coordinator, [("r", 1, row)], "last"))
            assert (
                sum(c.batches for c in rt.catalog.commits.clocks(rt.catalog.commits.last_commit()))
                == LIVE + coordinator + 1
            )
            event.listen(Engine, "before_cursor_execute", count)
            try:
                counts.clear()
                corrected = correct(rt)
                refresh(rt)
            finally:
                event.remove(Engine, "before_cursor_execute", count)
            statements = counts.total() - counts["BEGIN"]
            assert (corrected > 0) == (coordinator == 1), "the batches of coordinator 0 count after the last one"
            assert statements <= 40, counts  # of them eight for the refresh's reads and its transaction
            assert counts["UPDATE"] <= 4, counts
