"""A large batch in stages: what the tasks of each stage of a Spark job do. No Spark here, only Arrow record batches.

The stages and what is sent between them come from :mod:`cumulus_ops.layout`. A task of a stage receives **messages**:
(destination, kind, name, Arrow payload of a whole slice), the papers' coalescing of all messages with one source,
destination and version; what crosses a shuffle are messages, never rows. It runs the stage's statements with the functions
of the in-process executor, writes runs of all deltas that it has computed, and sends what other tasks need of its events and
deltas. Runs are multisets: that several tasks write deltas of the same key is no matter, readers add them up. So deltas that all
tasks need are not sent: they are read from the runs, whose names are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import NewRun
from cumulus_ops.compute.apply import ApplyTask, apply_statement, settle_cycle
from cumulus_ops.compute.extend import ExtendTask
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.reading import SIGN, OwnDeltas, StoredRuns, events_of, read_events, write_deltas
from cumulus_ops.compute.steps import StepResult
from cumulus_ops.compute.vector import select
from cumulus_ops.layout.costs import REPLICATED, Label, Labels, Ref, used_columns
from cumulus_ops.layout.partitioning import choose_layout
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.stages import Schedule, Shipment, Stage, schedule
from cumulus_ops.maps.columns import hash_places, stack
from cumulus_ops.maps.deltas import Deltas, add_deltas
from cumulus_ops.project.processes import reach

__all__ = ["MESSAGE", "RESULT", "Batches", "Step", "finish_spread", "plan_stages", "result_batch", "staged_steps"]


MESSAGE = "destination int, kind string, name string, payload binary"
MESSAGE_ARROW = pa.schema(
    [("destination", pa.int32()), ("kind", pa.string()), ("name", pa.string()), ("payload", pa.binary())]
)
RESULT = "result string"
EVENTS, DELTAS, RUNS, DONE, ALIVE = "events", "map", "runs", "done", ""
PAYLOAD_BYTES = 1 << 26  # a larger slice goes as several messages
Batches = Iterator[pa.RecordBatch]
Step = Callable[[Batches], Batches]


def plan_stages(task: ApplyTask | ExtendTask, tasks: int, fixed: Labels | None = None) -> Schedule:
    """The stages of a batch, from the numbers of its events: rounded up to powers of two, since they decide by their order of
    magnitude, and the layout of a program with many maps takes seconds to find.

    Args:
        task: what to apply.
        tasks: how many tasks each stage has.
        fixed: what the project decides about the layout.
    """
    events: dict[str, int] = {}
    for file in task.batch.files:
        events[file.relation] = events.get(file.relation, 0) + file.rows
    rounded = tuple((name, 1 << (rows - 1).bit_length()) for name, rows in sorted(events.items()) if rows)
    only = task.spread if isinstance(task, ExtendTask) else task.plan.base
    return _stages_of(task.plan, only, rounded, tasks, tuple(sorted((fixed or {}).items())))


@lru_cache(maxsize=64)
def _stages_of(
    plan: ProgramPlan,
    only: frozenset[str],
    events: tuple[tuple[str, int], ...],
    tasks: int,
    fixed: tuple[tuple[tuple[str, str], Label], ...],
) -> Schedule:
    plan = plan if only == plan.base else replace(plan, base=only)  # as if the others were refreshed
    return schedule(choose_layout(plan, dict(events), tasks, dict(fixed)))


def staged_steps(task: ApplyTask | ExtendTask, tasks: int, fixed: Labels | None = None) -> list[Step]:
    """What a task of each stage does, in order. A step takes messages to one task; the first one takes one message of kind
    ``ALIVE`` per task. All but the last yield messages (:data:`MESSAGE`), the last one results (:data:`RESULT`)."""
    stages = plan_stages(task, tasks, fixed).stages
    return [_step(task, tasks, stage, number == len(stages) - 1) for number, stage in enumerate(stages)]


def finish_spread(task: ExtendTask, written: Sequence[NewRun], run: Callable[[ExtendTask], StepResult]) -> StepResult:
    """End an extension whose stages have ``written`` what can be spread: ``run`` what is left as one task, and delete what was computed in passing."""
    rest = task.rest(written)
    left = () if rest is None else run(rest).runs
    for path in {r.path for r in written if r.map not in task.only}:
        (task.root / path).unlink(missing_ok=True)
    return StepResult((*(r for r in written if r.map in task.only), *left), {})


def result_batch(result: StepResult) -> pa.RecordBatch:
    """A step's result as a row."""
    return pa.RecordBatch.from_pydict({"result": [result.to_json()]})


def _step(task: ApplyTask | ExtendTask, tasks: int, stage: Stage, last: bool) -> Step:
    def step(batches: Batches) -> Batches:
        # Each task sends itself a sign of life, by which it learns its number, whatever else it is sent.
        inbox = _Inbox()
        for batch in batches:
            columns = (batch.column(i) for i in range(4))
            for destination, kind, name, payload in zip(*columns, strict=True):
                inbox.here = destination.as_py()
                if kind.as_py() == DONE:
                    inbox.done.append(payload.as_py().decode())
                elif kind.as_py() == RUNS:
                    inbox.runs += StepResult.from_json(payload.as_py().decode()).runs
                elif kind.as_py() != ALIVE:
                    table = pa.ipc.open_stream(payload.as_buffer()).read_all()
                    inbox.tables.setdefault((kind.as_py(), name.as_py()), []).append(table)
        if inbox.here is None:
            return
        worker = _Worker(task, (inbox.here, tasks), stage, inbox)
        done = [*inbox.done, worker.run().to_json()]
        if last:
            yield from (pa.RecordBatch.from_pydict({"result": [text]}) for text in done)
            return
        yield _message(inbox.here, ALIVE)
        yield from (_message(inbox.here, DONE, payload=text.encode()) for text in done)
        yield from worker.outbox()

    return step


@dataclass
class _Inbox:
    """What a task was sent: its number, tables by (kind, name), runs with deltas that all tasks need, and results of its earlier stages."""

    here: int | None = None
    tables: dict[tuple[str, str], list[pa.Table]] = field(default_factory=dict)
    runs: list[NewRun] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


class _Worker:
    """One task in one stage."""

    def __init__(self, task: ApplyTask | ExtendTask, part: tuple[int, int], stage: Stage, inbox: _Inbox) -> None:
        self.task, self.plan, self.stage, self.part = task, task.plan, stage, part
        runs = task.runs if isinstance(task, ApplyTask) else [*task.runs_given, *task.runs_before]
        self.stored, self.own = StoredRuns(task.plan, task.root, runs), OwnDeltas()
        self.received = {name: stack(t) for (kind, name), t in inbox.tables.items() if kind == EVENTS}
        for (kind, name), tables in inbox.tables.items():
            if kind == DELTAS:
                self.own.put(name, add_deltas([Deltas.of(table) for table in tables]))
        self.others = inbox.runs
        self.own.take(task.root, self.others)
        self._computed: dict[str, list[Deltas]] = {}
        self._away: dict[str, list[Deltas]] = {}
        self._summed: dict[str, Deltas] = {}
        self._runs: tuple[NewRun, ...] = ()
        self._slices: dict[str, pa.Table | None] = {}
        self._events: dict[tuple[str, int, bool], Events | None] = {}

    def run(self) -> StepResult:
        """Run the stage's statements, and write what they add."""
        for group in self.stage.steps:
            if group in self.stage.cycles:
                self._settle(group)
            else:
                self._run_group(group)
        self._summed = {name: add_deltas(parts) for name, parts in self._computed.items()}
        deltas = {name: summed for name, summed in self._summed.items() if len(summed)}
        reach("apply.before-files")
        passing = deltas.keys() - (self.task.only if isinstance(self.task, ExtendTask) else deltas.keys())
        # What is computed in passing is in a file of its own, which can be deleted.
        parts = [{n: d for n, d in deltas.items() if (n in passing) == aside} for aside in (False, True)]
        written = (write_deltas(self.plan, self.task.root, part, self.task.label) for part in parts if part)
        self._runs = tuple(run for runs in written for run in runs)
        return StepResult(self._runs, {})

    def _run_group(self, group: Iterable[Ref]) -> None:
        here: dict[str, list[Deltas]] = {}
        for ref in group:
            deltas = self._run_statement(ref)
            if deltas is None:
                continue
            self._computed.setdefault(ref[0], []).append(deltas)
            if ref in self.stage.away:
                self._away.setdefault(ref[0], []).append(deltas)
            if ref in self.stage.local:
                here.setdefault(ref[0], []).append(deltas)
        for name, parts in here.items():
            present = self.own.deltas(name)
            self.own.put(name, add_deltas([*parts, *([] if present is None else [present])]))

    def _settle(self, cycle: tuple[Ref, ...]) -> None:
        """Run statements that need each other until nothing changes: all that they read of each other is in this task."""
        names = list(dict.fromkeys(name for name, _ in cycle))
        before = {name: [] if (deltas := self.own.deltas(name)) is None else [deltas] for name in names}
        added: dict[str, list[Deltas]] = {}

        def compute(name: str, own: OwnDeltas) -> list[Deltas]:
            parts = (self._run_statement(ref) for ref in cycle if ref[0] == name)
            added[name] = [part for part in parts if part is not None]
            return before[name] + added[name]

        settle_cycle(self.plan, names, compute, self._rows(cycle), self.own)
        for name, parts in added.items():
            if parts:
                self._computed.setdefault(name, []).extend(parts)

    def _rows(self, refs: Iterable[Ref]) -> int:
        """How many events the task has for some statements."""
        relations = {self.plan.statements[name][i].relation for name, i in refs}
        tables = (self._table(relation, partitioned=True) for relation in relations)
        return sum(len(table) for table in tables if table is not None)

    def _run_statement(self, ref: Ref) -> Deltas | None:
        statement, target = self.plan.statements[ref[0]][ref[1]], self.plan.groups[ref[0]]
        key = (statement.relation, statement.sign, ref in self.stage.partitioned)
        if key not in self._events:
            table = self._table(statement.relation, ref in self.stage.partitioned)
            events = None if table is None else events_of(self.plan, statement.relation, table, statement.sign)
            self._events[key] = events if events is not None and events.frame.rows else None
        return apply_statement(statement, target, self._events[key], self.stored, self.own)

    def _table(self, relation: str, partitioned: bool) -> pa.Table | None:
        """The task's events of a relation: what it was sent, or its slice of the log."""
        if partitioned:
            return self.received.get(relation)
        if relation not in self._slices:
            # The columns of the task's slice that this stage looks at, or sends.
            refs = (ref for group in self.stage.steps for ref in group if ref not in self.stage.partitioned)
            statements = (self.plan.statements[name][i] for name, i in refs)
            read = {c for s in statements if s.relation == relation for c in used_columns(self.plan, s)}
            sent = [s.columns for s in self.stage.sent if (s.kind, s.name) == (EVENTS, relation)]
            self._slices[relation] = read_events(
                self.plan, self.task.root, (self.task.batch,), relation, self.part, read.union(*sent)
            )
        return self._slices[relation]

    def outbox(self) -> Batches:
        """The messages to the next stage's tasks: what they need of this task's events and deltas."""
        here, tasks = self.part
        for kind, name in self.stage.kept:
            table = self.received.get(name) if kind == EVENTS else self.own.table(name)
            if table is not None:
                yield from _messages(here, kind, name, table)
            if kind == DELTAS:
                yield from _name_runs([here], name, [run for run in self.others if run.map == name])
        for shipment in self.stage.sent:
            if (shipment.kind, shipment.by) == (DELTAS, REPLICATED):
                # The runs may have more of the map than the readers need: of later versions than theirs, or it would be sent, too.
                yield from _name_runs(range(tasks), shipment.name, [r for r in self._runs if r.map == shipment.name])
                continue
            table = self._sent(shipment)
            if table is None or not len(table):
                continue
            for destination, part in _split(table, shipment.by, tasks):
                yield from _messages(destination, shipment.kind, shipment.name, part)

    def _sent(self, shipment: Shipment) -> pa.Table | None:
        name = shipment.name
        if shipment.kind == EVENTS:
            table = self._table(name, partitioned=False)
            return None if table is None else self._wanted(table, shipment)
        if name not in self._away:
            return None
        whole = len(self._away[name]) == len(self._computed[name])
        return (self._summed[name] if whole else add_deltas(self._away[name])).table()

    def _wanted(self, table: pa.Table, shipment: Shipment) -> pa.Table:
        """The events that some reader's conditions let through, with the columns that readers look at."""
        wanted = np.zeros(len(table), dtype=bool)
        for name, index in shipment.readers:
            statement = self.plan.statements[name][index]
            signs = table[SIGN].to_numpy()
            mine = signs == statement.sign if statement.sign else np.ones(len(table), bool)
            frame = events_of(self.plan, shipment.name, table, statement.sign).frame
            rows = select(statement.conditions, frame) if frame.rows else None
            chosen = np.flatnonzero(mine)
            wanted[chosen if rows is None else chosen[rows]] = True
        columns = table.select([*shipment.columns, *table.column_names[-2:]])
        return columns if wanted.all() else columns.filter(pa.array(wanted))


def _split(table: pa.Table, by: Label, tasks: int) -> Iterator[tuple[int, pa.Table]]:
    """A table's rows by the task that they go to: a range of the hashes of ``by`` each."""
    places = hash_places([table[c].combine_chunks() for c in by], len(table), tasks)
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(tasks + 1))
    for destination in range(tasks):
        rows = order[bounds[destination] : bounds[destination + 1]]
        if len(rows):
            yield destination, table.take(pa.array(rows))


def _messages(destination: int, kind: str, name: str, table: pa.Table) -> Batches:
    """A slice for one task, as one message or, if it is large, as several."""
    rows = max(1, len(table) * PAYLOAD_BYTES // max(1, table.nbytes))
    for start in range(0, len(table), rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(start, rows))
        yield _message(destination, kind, name, sink.getvalue().to_pybytes())


def _name_runs(destinations: Iterable[int], name: str, runs: Sequence[NewRun]) -> Batches:
    """The names of runs of a map, for some tasks."""
    payload = StepResult(tuple(runs), {}).to_json().encode()
    yield from (_message(destination, RUNS, name, payload) for destination in destinations if runs)


def _message(destination: int, kind: str, name: str = "", payload: bytes = b"") -> pa.RecordBatch:
    columns = {"destination": [destination], "kind": [kind], "name": [name], "payload": [payload]}
    return pa.RecordBatch.from_pydict(columns, MESSAGE_ARROW)
