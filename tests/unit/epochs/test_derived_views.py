"""Reading a program with derivations: bags, hidden columns, offsets; against the serial interpreter, as its validation does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from cumulus_ops.epochs import minibatch
from cumulus_ops.epochs.checkpoint import commit, refresh, try_refresh
from cumulus_ops.epochs.minibatch import apply_batch, run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.query.read import read_groups, read_view
from cumulus_ops.validation.request import ArrowFile
from cumulus_ops.validation.run import validation_request
from m3 import Interpreter
from tests.support.derived_programs import DERIVED, SHOP
from tests.support.drops import make_shop
from tests.support.projects import Event, append_events, interpret, make_project
from tests.support.random_programs import RELATIONS

EVENTS: list[Event] = [
    ("s", 1, (1, None, "1.50")),
    ("r", 1, (1, 3)),
    ("r", 1, (1, 2)),
    ("s", 1, (1, 2, "-2.00")),
    ("s", 1, (1, 2, "-2.00")),
    ("r", -1, (1, 2)),
    ("r", 1, (2, 2)),
    ("s", 1, (2, 4, "9.99")),
    ("t", 1, (1, None)),
    ("t", 1, (1, "x")),
]


def _exact(event: Event) -> Event:
    from decimal import Decimal

    relation, sign, row = event
    return relation, sign, tuple(Decimal(v) if relation == "s" and isinstance(v, str) else v for v in row)


@pytest.fixture(params=["batch", "event"])
def committed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Runtime, Interpreter]]:
    """A snapshot of EVENTS, and what the interpreter makes of them."""
    project = make_project(tmp_path, RELATIONS, program=DERIVED, coordinators=1)
    initialise(project, versions=request.param)
    events = [_exact(e) for e in EVENTS]
    with open_runtime(project) as rt:
        for i, part in enumerate((events[:4], events[4:])):
            apply_batch(rt, append_events(rt, 0, part, f"d{i}"))
            refresh(rt)
        vote(rt, 0, 0)
        commit(rt, 0)
        yield rt, interpret(rt.program, events)


def rows(rt: Runtime, view: str, **how: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in read_view(rt, view, **how).to_pylist()]  # type: ignore[arg-type]


def test_views_are_what_the_interpreter_reads(committed: tuple[Runtime, Interpreter]) -> None:
    rt, oracle = committed
    for view in rt.program.views:
        assert Counter(rows(rt, view.name, ordered=False)) == Counter(oracle.view_rows(view.name, ordered=False))
        assert Counter(rows(rt, view.name, tentative=True)) == Counter(oracle.view_rows(view.name))
    assert rows(rt, "d3") == oracle.view_rows("d3"), "OFFSET and LIMIT by a column that is not shown"
    assert read_view(rt, "d3").column_names == ["c", "total"]


@pytest.mark.parametrize(("condition", "count"), [("1 > 2", 0), ("1 < 2", 1), ("NULL", 0)])
def test_a_having_without_columns_decides_about_the_only_row(condition: str, count: int, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, views={"v": f"SELECT 1 AS one FROM r HAVING {condition}"})
    initialise(project)
    with open_runtime(project) as rt:
        refresh(rt)
        assert rows(rt, "v", tentative=True) == [(1,)] * count


def test_a_bag_has_its_rows_as_often_as_they_are_there(committed: tuple[Runtime, Interpreter]) -> None:
    rt, _ = committed
    found = Counter(rows(rt, "q1"))
    assert found[(8,)] == 2
    assert sum(found.values()) > len(found)
    audited = {row["group"]: row["rows"] for row in read_groups(rt, "q1", 0).to_pylist()}
    assert audited["8"] == 2


def test_a_validation_compares_all_rows_without_the_hidden_columns(
    committed: tuple[Runtime, Interpreter], tmp_path: Path
) -> None:
    rt, _ = committed
    for view in validation_request(rt, 0, tmp_path).views:
        held = view.snapshot.read()[0] if isinstance(view.snapshot, ArrowFile) else view.snapshot
        assert isinstance(held, pa.Table)
        assert isinstance(view.recomputation, pa.Table)
        assert held.schema.equals(view.recomputation.schema)
        assert set(view.key_columns) <= set(held.column_names)
        both = ([tuple(r.values()) for r in t.to_pylist()] for t in (held, view.recomputation))
        mine, theirs = map(Counter, both)
        assert mine == theirs


def test_bags_are_published(committed: tuple[Runtime, Interpreter]) -> None:
    rt, _ = committed
    assert set(publish(rt, 0)) == {v.name for v in rt.program.views}


def test_a_mini_batch_refreshes_and_others_may_do_it_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_shop(tmp_path, program=SHOP, periods=2)
    initialise(project)
    with open_runtime(project) as rt:
        run_minibatch(rt, 0)
        first = rt.catalog.commits.refreshed()
        assert first > 1
        assert refresh(rt) == 0
        assert rt.catalog.commits.refreshed() == first, "there was nothing to do"

        def beaten(*args: object) -> int:
            raise Conflict("refreshed by somebody else", kind="refresh-conflict")

        monkeypatch.setattr(minibatch, "refresh_task", lambda *_: None)  # so it is not one step with the batch
        monkeypatch.setattr(rt.catalog.commits, "commit_refresh", beaten)
        assert run_minibatch(rt, 0) is not None
        try_refresh(rt)
        with pytest.raises(Conflict):
            refresh(rt)
        assert rt.catalog.commits.refreshed() == first
