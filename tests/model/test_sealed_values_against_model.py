"""Sealed values against a plain model: random deliveries of several coordinators, in several processes that are killed, with rows, updates by key,
announcements and seals; people who seal by hand; coordinators that join and leave."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.delivery import Delivery, Part, SealPart
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.values import SealChange
from cumulus_ops.files.columns import RawFile
from cumulus_ops.project.settings import KeySettings, Project, SealSettings
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.catalogs import PROGRAM, set_aside
from tests.support.projects import make_project

EXAMPLES = int(os.environ.get("EXAMPLES", "3"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
RELATIONS = (
    Relation("clicks", (Column("id", INT), Column("campaign", STRING.with_null()), Column("price", decimal(4, 2)))),
    Relation("orders", (Column("id", INT), Column("shop", STRING.with_null())), ("id",)),
)
SEALS = {
    "clicks": (SealSettings("campaign", ("campaign",), "registered"), SealSettings("both", ("price", "campaign"))),
    "orders": (SealSettings("shop", ("shop",), "registered"), SealSettings("alone", ("shop",), "one")),
}
COLUMNS = {r.name: [c.name for c in r.columns] for r in RELATIONS}
TEXTS = (None, "a", 'b "c"')
#: One number, however it is written.
PRICES = {"1": "1.00", "1.0": "1.00", "01.00": "1.00", "2": "2.00"}
#: op, then the relation's columns as text.
Row = tuple[str | None, ...]
Event = tuple[int, str, Row]  # number, relation, row


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Said:
    """A delivery: its events, by relation and number, and (relation, seal, values) that it announces and seals."""

    coordinator: int
    events: Sequence[Event]
    announces: Sequence[tuple[str, str, Row]]
    seals: Sequence[tuple[str, str, Row]]
    transactional: bool


@dataclass
class Value:
    """What is known of a value: producer -> whether it has sealed it."""

    producers: str
    by: dict[int, bool] = field(default_factory=dict)
    is_closed: bool = False


@dataclass
class Model:
    """The law, for one delivery after the other."""

    members: set[int]
    values: dict[tuple[str, str, Row], Value] = field(default_factory=dict)
    orders: dict[str, Row] = field(default_factory=dict)
    log: Counter[tuple[object, ...]] = field(default_factory=Counter)
    rejected: int = 0

    def may(self, coordinator: int, relation: str, seal: SealSettings, row: Row) -> bool:
        value = self.values.get((relation, seal.name, value_of(relation, seal, row)))
        if value is None:
            return True
        others = value.producers == "one" and {*value.by} - {coordinator}
        return not (value.is_closed or value.by.get(coordinator) or others)

    def is_open(self, coordinator: int, relation: str, row: Row) -> bool:
        return all(self.may(coordinator, relation, seal, row) for seal in SEALS[relation])

    def deliver(self, said: Said) -> None:
        said = exactly(said)
        lost: set[int] = set()
        while True:
            accepted, orders, refused = self.read(said, lost)
            if not said.transactional or refused <= lost:
                break
            lost |= refused
        for relation, sign, row in accepted:
            self.log[relation, sign, *row] += 1
            for seal in SEALS[relation]:
                self.register(said.coordinator, relation, seal, value_of(relation, seal, row))
        self.orders = orders
        for relation, name, row in said.announces:
            seal = seal_of(relation, name)
            if self.may_say(said.coordinator, relation, name, row, sealed=False):
                self.register(said.coordinator, relation, seal, row)
            else:
                self.rejected += 1
        for relation, name, row in said.seals:
            if not self.may_say(said.coordinator, relation, name, row, sealed=True):
                self.rejected += 1
        self.seal(said.coordinator, [s for s in said.seals if self.may_say(said.coordinator, *s, sealed=True)])

    def read(self, said: Said, lost: set[int]) -> tuple[list[tuple[str, int, Row]], dict[str, Row], set[int]]:
        """What is accepted if these events are left out: relation, sign and row; what is there of orders then; and which are refused."""
        accepted: list[tuple[str, int, Row]] = []
        refused, orders = set[int](), dict(self.orders)
        count = sum(n in lost for n, _, _ in said.events)
        for relation in COLUMNS:
            mine = [e for e in said.events if e[1] == relation and e[0] not in lost]
            bad = {n for n, r, row in mine if not self.is_asked(said.coordinator, r, row)}
            if relation == "orders":
                bad |= {n for n, _, row in mine if n not in bad and self.is_stuck(said.coordinator, row)}
            for number in dict.fromkeys(n for n, _, _ in mine if n not in bad):
                of_event = [row for n, _, row in mine if n == number]
                changes = resolve(orders, of_event) if relation == "orders" else plainly(of_event)
                if changes is None:
                    bad.add(number)
                else:
                    accepted += [(relation, sign, row) for sign, row in changes[0]]
                    orders = changes[1] if relation == "orders" else orders
            refused |= bad
            count += sum(n in bad for n, _, _ in mine)
        if not said.transactional or refused <= lost:
            self.rejected += count
        return accepted, orders, refused | lost

    def is_asked(self, coordinator: int, relation: str, row: Row) -> bool:
        return (relation == "orders" and row[0] == "D") or self.is_open(coordinator, relation, row[1:])

    def is_stuck(self, coordinator: int, row: Row) -> bool:
        """Whether the row that is there must stay."""
        old = self.orders.get(str(row[1]))
        return old is not None and not self.is_open(coordinator, "orders", old)

    def may_say(self, coordinator: int, relation: str, name: str, row: Row, *, sealed: bool) -> bool:
        value = self.values.get((relation, name, row))
        if value is None:
            return True
        if value.producers == "one" and {*value.by} - {coordinator} and not value.is_closed:
            return False
        return sealed or not (value.is_closed or value.by.get(coordinator))

    def register(self, coordinator: int, relation: str, seal: SealSettings, value: Row) -> None:
        found = self.values.setdefault((relation, seal.name, value), Value(seal.producers))
        found.by.setdefault(coordinator, False)

    def seal(self, coordinator: int, seals: Sequence[tuple[str, str, Row]]) -> None:
        for relation, name, row in seals:
            known = self.values.get((relation, name, row))
            if known is None or not known.is_closed:
                self.register(coordinator, relation, seal_of(relation, name), row)
                self.values[relation, name, row].by[coordinator] = True
        for relation, name, row in seals:
            self.close(self.values[relation, name, row])

    def close(self, value: Value) -> None:
        awaited = self.members if value.producers == "all" else {*value.by}
        value.is_closed |= all(value.by.get(c, False) for c in awaited)

    def leave(self, coordinator: int) -> None:
        self.members.discard(coordinator)
        for value in self.values.values():
            if value.producers == "all":
                self.close(value)


def seal_of(relation: str, name: str) -> SealSettings:
    return next(s for s in SEALS[relation] if s.name == name)


def value_of(relation: str, seal: SealSettings, row: Row) -> Row:
    return tuple(row[COLUMNS[relation].index(c)] for c in seal.columns)


def plainly(rows: Sequence[Row]) -> tuple[list[tuple[int, Row]], dict[str, Row]]:
    return [(1 if row[0] == "I" else -1, row[1:]) for row in rows], {}


def resolve(orders: Mapping[str, Row], rows: Sequence[Row]) -> tuple[list[tuple[int, Row]], dict[str, Row]] | None:
    """What updates and deletes by key mean; None if a row is deleted that is not there."""
    now, changes = dict(orders), list[tuple[int, Row]]()
    for op, *rest in rows:
        key = str(rest[0])
        if op == "D" and key not in now:
            return None
        if key in now:
            changes.append((-1, now.pop(key)))
        if op != "D":
            now[key] = tuple(rest)
            changes.append((1, now[key]))
    return changes, now


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog's file, migrated once."""
    folder = tmp_path_factory.mktemp("prepared")
    catalog = Catalog(f"sqlite:///{folder}/catalog.db")
    catalog.database.migrate()
    catalog.program.register(PROGRAM)
    catalog.close()
    return folder / "catalog.db"


@st.composite
def said(draw: st.DrawFn) -> Said:
    events = list[Event]()
    for number in range(draw(st.integers(0, 4))):
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            relation = draw(st.sampled_from([*COLUMNS]))
            if relation == "clicks":
                row: Row = (draw(st.sampled_from("IID")), str(number), draw(st.sampled_from(TEXTS)))
                events.append((number, relation, (*row, draw(st.sampled_from([*PRICES])))))
            else:
                row = (draw(st.sampled_from("UUID")), str(draw(st.integers(0, 2))), draw(st.sampled_from(TEXTS)))
                events.append((number, relation, row))
    return Said(draw(st.integers(0, 2)), events, draw(_values(3)), draw(_values(5)), draw(st.booleans()))


def _values(most: int) -> st.SearchStrategy[list[tuple[str, str, Row]]]:
    def value(of: tuple[str, SealSettings]) -> st.SearchStrategy[tuple[str, str, Row]]:
        relation, seal = of
        columns = [st.sampled_from([*PRICES] if c == "price" else TEXTS) for c in seal.columns]
        return st.tuples(st.just(relation), st.just(seal.name), st.tuples(*columns))

    return st.lists(st.sampled_from([(r, s) for r in SEALS for s in SEALS[r]]).flatmap(value), max_size=most)


STEPS = st.lists(
    st.one_of(
        *(4 * [st.tuples(st.just("deliver"), said())]),
        st.tuples(st.just("kill"), st.sampled_from(["append.before-commit", "append.after-commit"]), said()),
        st.tuples(st.just("hand"), st.integers(0, 2), _values(2)),
        st.tuples(st.sampled_from(["leave", "join"]), st.sampled_from([1, 2])),
    ),
    min_size=4,
    max_size=12,
)


@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES, suppress_health_check=[*HealthCheck])
@given(steps=STEPS, which=st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_is_accepted_and_closed_is_what_the_model_says(
    prepared: Path, steps: list[tuple[object, ...]], which: list[bool]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, views={})
        project = replace(project, seals=SEALS, keys={"orders": KeySettings("upsert", "any")})
        project.state.mkdir(parents=True)
        shutil.copy(prepared, project.state / "catalog.db")
        world = World(project)
        for number, (step, process) in enumerate(zip(steps, which, strict=False)):
            world.step(number, step, int(process))
            world.compare()
        world.close()


class World:
    """The project, in two processes, and the model."""

    def __init__(self, project: Project) -> None:
        self.project, self.model = project, Model({0, 1, 2})
        self.processes = [Catalog(project.catalog_url) for _ in range(2)]
        self.delivered = 0

    def close(self) -> None:
        for catalog in self.processes:
            catalog.close()

    def step(self, number: int, step: tuple[object, ...], process: int) -> None:
        what, *rest = step
        match what, rest:
            case "deliver", [Said() as delivered]:
                self.deliver(number, delivered, process, lambda _: None)
            case "kill", [str() as place, Said() as delivered]:
                self.kill(number, delivered, process, place)
            case "hand", [int() as coordinator, list() as seals]:
                self.by_hand(coordinator, seals, process)
            case "leave", [int() as coordinator]:
                self.leave(coordinator, process)
            case "join", [int() as coordinator]:
                self.processes[process].members.add(coordinator)
                self.model.members.add(coordinator)
                self.level(process)

    def deliver(self, number: int, delivered: Said, process: int, reach: Callable[[str], None]) -> None:
        if delivered.coordinator not in self.model.members:
            return
        with patch("cumulus_ops.append.append.reach", reach):
            append_delivery(
                self.project, self.processes[process], delivered.coordinator, delivery_of(number, delivered)
            )
        self.model.deliver(delivered)
        self.delivered += len(delivered.events) + len(delivered.announces) + len(delivered.seals)

    def kill(self, number: int, delivered: Said, process: int, place: str) -> None:
        """A process dies, and another one does what is left to do."""

        def reach(name: str) -> None:
            if name == place:
                raise Killed

        try:
            self.deliver(number, delivered, process, reach)
        except Killed:
            self.processes[process].close()
            self.processes[process] = Catalog(self.project.catalog_url)
            if place == "append.before-commit":
                self.deliver(number, delivered, process, lambda _: None)
            else:
                self.model.deliver(delivered)
                self.delivered += len(delivered.events) + len(delivered.announces) + len(delivered.seals)

    def by_hand(self, coordinator: int, seals: Sequence[tuple[str, str, Row]], process: int) -> None:
        for relation, name, written in seals:
            row = exact(relation, name, written)
            if not self.model.may_say(coordinator, relation, name, row, sealed=True):
                continue
            change = SealChange(relation, name, seal_of(relation, name).producers, seals=(text_of(row),))
            self.processes[process].seals.seal_by_hand(coordinator, change, "somebody")
            self.model.seal(coordinator, [(relation, name, row)])

    def leave(self, coordinator: int, process: int) -> None:
        if coordinator not in self.model.members:
            return
        catalog = self.processes[process]
        catalog.members.drain(coordinator)
        self.seal_next(catalog)
        self.level(process)
        self.model.leave(coordinator)

    def level(self, process: int) -> None:
        """Let all come to the same epoch: whose event counts first is another matter."""
        catalog = self.processes[process]
        while len({m.epoch for m in catalog.members.membership().active()}) > 1:
            self.seal_next(catalog)

    def seal_next(self, catalog: Catalog) -> None:
        for batch in catalog.log.batches(state="appended"):
            set_aside(catalog, batch.id, "x")
        catalog.votes.vote(catalog.votes.token_holder(), catalog.members.position(catalog.votes.token_holder())[0])

    def compare(self) -> None:
        catalog, model = self.processes[0], self.model
        assert sum(r.rows for r in catalog.deliveries.quarantined_rows()) == model.rejected
        closed, log = self.closed(), list(self.log())
        assert {v for v, s in model.values.items() if s.is_closed} == {*closed}
        found = {
            (v.relation, v.seal, tuple(v.texts)): ({*v.registered}, {*v.sealed}) for v in catalog.seals.open_values()
        }
        assert found == {
            v: ({*s.by}, {c for c, done in s.by.items() if done}) for v, s in model.values.items() if not s.is_closed
        }
        rows = Counter((relation, sign, *row) for _, relation, sign, row in log)
        assert rows == model.log
        for batch, relation, _, row in log:  # what is in a later batch came after the closing
            for value, closed_at in closed.items():
                same = value[0] == relation and value[2] == value_of(relation, seal_of(*value[:2]), row)
                assert not (same and batch > closed_at)

    def closed(self) -> dict[tuple[str, str, Row], int]:
        seals = [(relation, seal.name) for relation, of in SEALS.items() for seal in of]
        values = [v for of in seals for v in self.processes[0].seals.closed_values(*of)]
        return {(v.relation, v.seal, tuple(v.texts)): v.closed_at for v in values}

    def log(self) -> Iterator[tuple[int, str, int, Row]]:
        for files in self.processes[0].log.files_of([b.id for b in self.processes[0].log.batches()]).values():
            for file in files:
                for row in pq.read_table(self.project.state / file.path).to_pylist():
                    texts = (None if row[c] is None else str(row[c]) for c in COLUMNS[file.relation])
                    yield file.batch, file.relation, row["_sign"], tuple(texts)


def exact(relation: str, name: str, row: Row) -> Row:
    columns = seal_of(relation, name).columns
    return tuple(PRICES[str(v)] if c == "price" else v for c, v in zip(columns, row, strict=True))


def exactly(delivered: Said) -> Said:
    """With numbers as the log has them, however they are written."""

    def row_of(relation: str, row: Row) -> Row:
        return (*row[:-1], PRICES[str(row[-1])]) if relation == "clicks" else row

    return replace(
        delivered,
        events=[(n, r, row_of(r, row)) for n, r, row in delivered.events],
        announces=[(r, name, exact(r, name, row)) for r, name, row in delivered.announces],
        seals=[(r, name, exact(r, name, row)) for r, name, row in delivered.seals],
    )


def text_of(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def delivery_of(number: int, delivered: Said) -> Delivery:
    return Delivery(
        f"s{number}",
        f"d{number}",
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        lambda: list(parts_of(delivered)),
        None,
        "1",
        transactional=delivered.transactional,
    )


def parts_of(delivered: Said) -> Iterator[Part | SealPart]:
    for relation, columns in COLUMNS.items():
        rows = [(str(n), *row) for n, r, row in delivered.events if r == relation]
        if rows:
            yield Part(relation, relation, reader(["event", "op", *columns], rows))
    for announces, values in ((True, delivered.announces), (False, delivered.seals)):
        for relation, of in SEALS.items():
            for seal in of:
                mine = [row for r, name, row in values if (r, name) == (relation, seal.name)]
                if mine:
                    yield SealPart(relation, seal.name, announces, seal.name, reader([*seal.columns], mine))


def reader(names: Sequence[str], rows: Sequence[Row]) -> Callable[[], Iterator[RawFile]]:
    table = pa.table([pa.array(c, pa.string()) for c in zip(*rows, strict=True)], names=list(names))
    return lambda: iter([RawFile(table, np.arange(len(rows)), ops={} if "op" in names else "insert")])
