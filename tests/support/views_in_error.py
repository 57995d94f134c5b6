"""A stream that puts many views in error and mends them, on an engine and on the interpreter; after each epoch both must say
the same of every view: its rows, or its error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from cumulus_ops.compute.steps import Executor
from cumulus_ops.epochs.checkpoint import commit, refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.query.read import read_view
from m3 import Interpreter
from m3.errors import ValueProblem
from tests.support.projects import append_events, make_project
from tests.support.random_streams import Batch, Row, left_over
from tests.unit.m3.failing import BYSTANDER, INNOCENT, RELATIONS, Case

__all__ = ["Answer", "engine_answer", "follow", "interpreter_answer"]

#: A view's rows, or what its error says.
Answer = Counter[Row] | str
COORDINATORS = 3


def engine_answer(rt: Runtime, view: str, as_of: int | None = None) -> Answer:
    """What the engine says of a view; of what has been applied so far without an epoch."""
    try:
        table = read_view(rt, view, as_of=as_of, tentative=as_of is None, ordered=False)
    except ViewInError as problem:
        return problem.message
    return counted(zip(*(c.to_pylist() for c in table.columns), strict=True))


def counted(rows: Iterable[Row]) -> Counter[Row]:
    """Rows as they are compared: NaN is equal to itself, in lists too."""

    def as_compared(value: object) -> object:
        return tuple(map(as_compared, value)) if isinstance(value, list | tuple) else "NaN" if value != value else value

    return Counter(tuple(map(as_compared, row)) for row in rows)


def interpreter_answer(oracle: Interpreter, view: str) -> Answer:
    """What the interpreter says of a view."""
    try:
        return counted(oracle.view_rows(view, ordered=False))
    except ValueProblem as problem:
        return problem.message


def steps_of(cases: Iterable[Case]) -> list[Batch]:
    """Innocent rows; all failing rows; half of them are deleted, then the others updated; everything is deleted."""
    failing: Batch = []
    deleted: Batch = []
    updated: Batch = []
    for number, case in enumerate(cases):
        failing += _numbered([case.failing], number)
        if number % 2:
            deleted += _numbered([case.deletion], number)
        else:
            updated += _numbered(case.update, number)
    steps = [INNOCENT, failing, deleted, updated]
    return [*steps, left_over(steps)]


def _numbered(events: Batch, number: int) -> Batch:
    """The rows of a case with a key of their own."""
    return [(s, r, (10 + number, *row[1:]) if r == "r" else row) for s, r, row in events]


def follow(folder: Path, cases: Mapping[str, Case], executor: Executor | None = None) -> Counter[str]:
    """All cases of one dialect as one project.

    Returns:
        how many views were in error, and how many not, in all epochs.
    """
    (dialect,) = {case.dialect for case in cases.values()}
    views = {f"v_{name}": case.sql for name, case in cases.items()} | {"beside": BYSTANDER}
    project = replace(make_project(folder, RELATIONS, views=views, coordinators=COORDINATORS), dialect=dialect)
    initialise(project)
    seen: Counter[str] = Counter()
    answers: dict[tuple[str, int], Answer] = {}
    with open_runtime(project) as rt:
        if executor is not None:
            rt = replace(rt, executor=executor)
        oracle = Interpreter(rt.program)
        for epoch, batch in enumerate(steps_of(cases.values())):
            _epoch(rt, epoch, batch)
            for event in batch:
                oracle.apply(*event)
            for view in views:
                answers[view, epoch] = interpreter_answer(oracle, view)
                assert engine_answer(rt, view, epoch) == answers[view, epoch], (view, epoch)
                seen["in error" if isinstance(answers[view, epoch], str) else "right"] += 1
        for (view, epoch), answer in answers.items():
            assert epoch != 1 or engine_answer(rt, view, epoch) == answer, (view, epoch)
    assert oracle.maps == Interpreter(oracle.program).maps
    return seen


def _epoch(rt: Runtime, epoch: int, batch: Batch) -> None:
    """One epoch: the events are spread over the coordinators by what row they are about, and the epoch is committed."""
    for coordinator in range(COORDINATORS):
        mine = [(r, s, row) for s, r, row in batch if row[0] % COORDINATORS == coordinator]
        if mine:
            apply_batch(rt, append_events(rt, coordinator, mine, f"{epoch}-{coordinator}"))
            refresh(rt)
    for coordinator in range(COORDINATORS):
        vote(rt, coordinator, epoch)
    commit(rt, epoch)
