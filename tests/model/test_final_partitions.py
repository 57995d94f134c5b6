"""What is read as final never changes, whatever happens in whatever order; and it is what the interpreter says in the end.

Steps of several coordinators are interleaved with seals of values, batches that are set aside, retried and dropped, and with processes that are
killed while they say that something is final. After each step everything is read, and compared with what was read as final before.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from deltalake import DeltaTable

from cumulus_ops.coordination.plan import AT_ONCE, SEALED
from cumulus_ops.epochs.checkpoint import commit, correct, merge, refresh
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import Computed, commit_batch, compute_batch, run_minibatch
from cumulus_ops.epochs.quarantine import drop_batch, retry_batch
from cumulus_ops.epochs.setting_aside import retract
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem, NotYet
from cumulus_ops.project.processes import FINAL_POINTS
from cumulus_ops.publishing.final_tables import final_table
from cumulus_ops.publishing.publishing import list_awaiting, publish
from cumulus_ops.query.answers import read_answer
from cumulus_ops.query.read import read_view
from tests.support.catalogs import set_aside
from tests.support.projects import Event, as_row, interpret
from tests.support.sealed import append_sealing, sealed_project

#: More with `FINALS=100 pytest tests/model/test_final_partitions.py`.
HISTORIES, STEPS = int(os.environ.get("FINALS", "1")), 40
COORDINATORS = 2
CAMPAIGNS = (1, 2, 3, None)
ACTIONS = (
    "append", "append", "append", "start", "start", "finish", "finish", "finalise", "finalise", "correct", "refresh", "merge", "seal",
    "commit", "fail", "retract", "decide",
)  # fmt: skip
Row = tuple[object, ...]


class Killed(BaseException):
    """A process ends here."""


@dataclass
class World:
    """A project at work, and what its readers were told. ``registered`` and ``sealed``: (relation, campaign) -> coordinators."""

    rt: Runtime
    random: Random
    events: dict[int, list[Event]] = field(default_factory=dict)
    registered: dict[tuple[str, object], set[int]] = field(default_factory=lambda: defaultdict(set))
    sealed: dict[tuple[str, object], set[int]] = field(default_factory=lambda: defaultdict(set))
    flight: list[tuple[int, Computed, contextlib.ExitStack]] = field(default_factory=list)
    told: dict[str, dict[str, Counter[Row]]] = field(default_factory=lambda: defaultdict(dict))
    drops: int = 0

    def is_open(self, relation: str, campaign: object, coordinator: int) -> bool:
        """Whether a coordinator may have events of a value."""
        place = relation, campaign
        is_closed = bool(self.sealed[place]) and self.sealed[place] >= self.registered[place]
        return not is_closed and coordinator not in self.sealed[place]

    def append(self) -> None:
        coordinator = self.random.randrange(COORDINATORS)
        drawn = [self.event() for _ in range(self.random.randint(0, 4))]
        events = [e for e in drawn if self.is_open(e[0], _campaign(e), coordinator)]
        self.rewritten(events)
        seals: dict[str, list[object]] = {}
        for relation in ("clicks", "ads"):
            may = [c for c in CAMPAIGNS if self.is_open(relation, c, coordinator)]
            if may and self.random.random() < 0.5:
                seals[relation] = self.random.sample(may, self.random.randint(1, min(2, len(may))))
        self.append_these(coordinator, events, seals)

    def event(self) -> Event:
        if self.random.random() < 0.3:
            return "ads", 1, (self.random.choice(CAMPAIGNS), self.random.choice("xy"))
        return "clicks", 1, (self.random.randrange(4), self.random.choice(CAMPAIGNS), self.random.randrange(4))

    def rewritten(self, events: list[Event]) -> None:
        """Some of the rows go again, within the batch."""
        if events and self.rt.project.insert_only == () and self.random.random() < 0.25:
            relation, _, row = self.random.choice(events)
            events.append((relation, -1, row))

    def append_these(self, coordinator: int, events: list[Event], seals: dict[str, list[object]]) -> None:
        self.drops += 1
        batch = append_sealing(self.rt, coordinator, events, f"d{self.drops}", seals)  # type: ignore[arg-type]
        self.events[batch] = events
        for relation, _, row in events:
            self.registered[relation, row[0 if relation == "ads" else 1]].add(coordinator)
        for relation, campaigns in seals.items():
            for campaign in campaigns:
                self.registered[relation, campaign].add(coordinator)
                self.sealed[relation, campaign].add(coordinator)

    def start(self, batch: int | None = None) -> None:
        """Let a process read what it needs to apply a batch."""
        busy = {number for number, _, _ in self.flight}
        waiting = [b.id for b in self.rt.catalog.log.batches(state="appended") if b.id not in busy]
        if waiting:
            number = self.random.choice(waiting) if batch is None else batch
            stack = contextlib.ExitStack()
            step = stack.enter_context(self.rt.catalog.leases.step())
            self.flight.append((number, compute_batch(self.rt, number, step), stack))

    def finish(self) -> None:
        if self.flight:
            number, computed, stack = self.flight.pop(self.random.randrange(len(self.flight)))
            with stack, contextlib.suppress(Conflict):
                commit_batch(self.rt, number, computed)

    def fail(self) -> None:
        """A batch that waits is set aside."""
        busy = {number for number, _, _ in self.flight}
        waiting = [b.id for b in self.rt.catalog.log.batches(state="appended") if b.id not in busy]
        if waiting:
            set_aside(self.rt.catalog, self.random.choice(waiting), "it fails")

    def retract(self) -> None:
        """A batch that is applied is taken back: one behind the horizon, for others do not fail since. Of those below, it is refused if
        somebody was told that they are final."""
        live = self.rt.catalog.commits.live_history(self.rt.catalog.commits.last_commit())
        if not live:
            return
        horizon = self.rt.catalog.finals.horizon()
        beyond = [e for e in live if (e.batch.commit or 0) > horizon]
        entry = self.random.choice(beyond or live)
        newest = max((f.commit for f in self.rt.catalog.finals.finals()), default=-1)
        assert newest <= horizon
        if (entry.batch.commit or 0) <= horizon and (entry.batch.commit or 0) > newest:
            return
        with self.rt.catalog.leases.step() as step, contextlib.suppress(Conflict):
            retract(self.rt, step, entry, "others fail")
            assert (entry.batch.commit or 0) > newest

    def decide(self) -> None:
        aside = self.rt.catalog.log.batches(state="aside")
        if aside:
            batch = self.random.choice(aside).id
            if self.random.random() < 0.5:
                self.events[retry_batch(self.rt, batch).id] = self.events[batch]
            else:
                drop_batch(self.rt, batch)

    def finalise(self) -> None:
        """Killed somewhere, or not; others do something meanwhile."""
        fate = self.random.choice([None, None, *FINAL_POINTS])
        meanwhile = self.random.choice([None, None, "append", "finish", "retract", "finalise", "decide"])
        once = [meanwhile]

        def reached(name: str) -> None:
            if name == fate:
                raise Killed
            if name == "finalise.before-commit" and (what := once.pop() if once else None):
                if what == "finalise":
                    with patch("cumulus_ops.epochs.finals.reach"):
                        finalise(self.rt)
                else:
                    getattr(self, what)()

        with patch("cumulus_ops.epochs.finals.reach", reached), contextlib.suppress(Killed):
            finalise(self.rt)

    def act(self, action: str) -> None:
        if action in ("correct", "refresh", "merge"):
            with contextlib.suppress(Conflict):
                {"correct": correct, "refresh": refresh, "merge": merge}[action](self.rt)
        elif action == "seal":
            with contextlib.suppress(NotYet):
                holder = self.rt.catalog.votes.token_holder()
                vote(self.rt, holder, self.rt.catalog.members.position(holder)[0])
        elif action == "commit":
            with contextlib.suppress(NotYet):
                commit(self.rt, self.rt.catalog.snapshots.newest() + 1)
        else:
            getattr(self, action)()

    def read(self, everything: bool = True) -> None:
        """What was final is what it was; and what is final now is remembered."""
        views = self.rt.coordination.views
        for view in views if everything else [self.random.choice(views)]:
            if view.final == SEALED:
                with contextlib.suppress(NotYet):
                    now = _by_label(self.rt, view.view)
                    now = {label: rows for label, rows in now.items() if label.startswith("seal ")}
                    for label, rows in self.told[view.view].items():
                        assert now.get(label, Counter()) == rows, (view.view, label)
                    for final in self.rt.catalog.finals.finals(view.view):
                        label = f"seal campaign={'NULL' if final.value == '[null]' else final.value[2:-2]}"
                        self.told[view.view].setdefault(label, now.get(label, Counter()))
                        assert self.told[view.view][label].total() == final.rows
            elif view.final == AT_ONCE:
                rows = _by_label(self.rt, view.view).get("now", Counter())
                assert self.told[view.view].get("now", Counter()) <= rows, view.view
                self.told[view.view]["now"] = rows

    def end(self) -> None:
        """Everything is applied, decided, and sealed; then there is an answer for everything."""
        while self.flight:
            self.finish()
        for relation in ("clicks", "ads"):
            for campaign in CAMPAIGNS:
                for coordinator in sorted(
                    (self.registered[relation, campaign] or {0}) - self.sealed[relation, campaign]
                ):
                    self.append_these(coordinator, [], {relation: [campaign]})
        for batch in self.rt.catalog.log.batches(state="aside"):
            if self.random.random() < 0.5:
                self.events[retry_batch(self.rt, batch.id).id] = self.events[batch.id]
            else:
                drop_batch(self.rt, batch.id)
        for batch in self.rt.catalog.log.batches(state="appended"):
            self.start(batch.id)
            self.finish()
        finalise(self.rt)
        self.read()
        self.check_against_interpreter()
        self.check_against_snapshot()

    def check_against_interpreter(self) -> None:
        counted = [b for b in self.rt.catalog.log.batches() if b.state in ("applied", "retired")]
        oracle = interpret(self.rt.program, [e for b in counted for e in self.events[b.id]])
        for view in self.rt.coordination.views:
            rows = Counter(oracle.view_rows(view.view, ordered=False))
            if view.final == SEALED:
                assert sum(self.told[view.view].values(), Counter()) == rows, view.view
                path = final_table(self.rt.project, view.view)
                table = DeltaTable(str(path)).to_pyarrow_table() if path is not None and path.exists() else None
                assert (_counted(table.to_pylist()) if table is not None else Counter()) == rows, view.view
            elif view.final == AT_ONCE:
                assert self.told[view.view]["now"] == rows, view.view

    def check_against_snapshot(self) -> None:
        views = [v.view for v in self.rt.coordination.views]
        before = {name: _counted(read_view(self.rt, name, tentative=True).to_pylist()) for name in views}
        newest = max((b.epoch for b in self.rt.catalog.log.batches()), default=-1)
        while self.rt.catalog.snapshots.newest() < newest:
            self.act("seal")
            self.act("commit")
        for epoch in list_awaiting(self.rt, "publish"):
            publish(self.rt, epoch)
        for name, rows in before.items():
            assert newest < 0 or _counted(read_view(self.rt, name).to_pylist()) == rows, name
        self.read()


def _campaign(event: Event) -> object:
    return event[2][0 if event[0] == "ads" else 1]


def _counted(rows: list[dict[str, object]]) -> Counter[Row]:
    return Counter(as_row(row.values()) for row in rows)


def _by_label(rt: Runtime, view: str) -> dict[str, Counter[Row]]:
    answer = read_answer(rt, view)
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for label, row in zip(answer.final_by.to_pylist(), answer.rows.to_pylist(), strict=True):
        found[label][as_row(row.values())] += 1
    return found


GROWING = {
    "priced": "SELECT campaign, price FROM clicks WHERE price > 1",
    "seen": "SELECT DISTINCT campaign FROM clicks",
    "pairs": "SELECT c.id, a.name FROM clicks c JOIN ads a ON c.campaign = a.campaign",
    "often": "SELECT campaign FROM clicks GROUP BY campaign HAVING COUNT(*) > 2",
    "counts": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign",
}


#: They show a form of the value, for which they are final.
FORMS = {
    "texts": "SELECT 'c' || CAST(campaign AS STRING) AS c, COUNT(*) AS n, MAX(price) AS most FROM clicks GROUP BY 1",
    "wide": "SELECT CAST(c.campaign AS DECIMAL(20, 0)) AS c, name FROM clicks c JOIN ads a ON c.campaign = a.campaign",
    "either": "SELECT COALESCE(c.campaign, a.campaign) AS c, name FROM clicks c FULL JOIN ads a ON c.campaign = a.campaign",
}


PROJECTS: dict[str, dict[str, object]] = {
    "sealed": {},
    "forms": {"views": FORMS},
    "growing": {"views": GROWING, "insert_only": ("clicks", "ads")},
}


@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.parametrize("what", PROJECTS)
def test_what_is_read_as_final_never_changes(what: str, seed: int, tmp_path: Path) -> None:
    with sealed_project(tmp_path, COORDINATORS, **PROJECTS[what]) as rt:
        world = World(rt, Random(seed))
        for _ in range(STEPS):
            action = world.random.choice(ACTIONS)
            world.act(action)
            world.read(everything=action in ("finalise", "retract", "commit", "finish"))
        world.end()


def test_views_of_forms_are_sealed(tmp_path: Path) -> None:
    with sealed_project(tmp_path, 1, **PROJECTS["forms"]) as rt:
        assert {v.final for v in rt.coordination.views} == {SEALED}


def test_a_snapshot_that_has_other_rows_than_were_final_is_not_published(tmp_path: Path) -> None:
    """It cannot come to that; here the catalog is told so."""
    with sealed_project(tmp_path, COORDINATORS) as rt:
        append_sealing(rt, 0, [("clicks", 1, (n, 1, n)) for n in range(3)], "a", {"clicks": [1]})
        run_minibatch(rt, 0, [])
        finalise(rt)
        for coordinator in range(COORDINATORS):
            vote(rt, coordinator, 0)
        commit(rt, 0)
        with rt.catalog.database.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE final_partition SET rows = 2 WHERE view = 'bag'")
        with pytest.raises(IntegrityProblem, match=r"campaign 1: 2 rows were said to be final, .* has 1") as problem:
            publish(rt, 0)
        assert problem.value.kind == "final-changed"


def test_what_may_be_taken_back_is_not_shown_as_final(tmp_path: Path) -> None:
    """Two batches that have not seen each other: what fails between them would be the later one's."""
    with sealed_project(tmp_path, COORDINATORS, **PROJECTS["growing"]) as rt:
        world = World(rt, Random(0))
        for coordinator in range(COORDINATORS):
            world.append_these(coordinator, [("clicks", 1, (1, coordinator, 2))], {})
        for batch in list(world.events):
            world.start(batch)
        while world.flight:
            world.finish()
        (late,) = (
            e
            for e in rt.catalog.commits.live_history(rt.catalog.commits.last_commit())
            if (e.batch.commit or 0) > rt.catalog.finals.horizon()
        )
        assert len(read_answer(rt, "priced", tentative=True).rows) == 2
        shown = read_answer(rt, "priced").rows
        assert len(shown) == 1
        with rt.catalog.leases.step() as step:
            retract(rt, step, late, "others fail")
        assert read_answer(rt, "priced").rows.equals(shown)
