"""While a drop is applied the next one is appended: the same log and the same maps, and errors where they belong."""

from __future__ import annotations

import itertools
import os
import unittest.mock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cumulus_ops.append import checks
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.query.read import read_view
from m3.program import Relation
from tests.support.drops import make_shop


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Runtime, list[Path]]]:
    """A project with three drops for coordinator 0, and these."""
    project = make_shop(folder, periods=3)
    initialise(project)
    with open_runtime(project) as rt:
        yield rt, rt.sources.pending(0)


def states(rt: Runtime) -> list[tuple[str, str]]:
    return [(b.drop, b.state) for b in rt.catalog.log.batches(coordinator=0)]


def answers(rt: Runtime) -> list[object]:
    return [read_view(rt, view.name, tentative=True).to_pylist() for view in rt.program.views]


def test_the_next_drop_is_appended_meanwhile(tmp_path: Path) -> None:
    with opened(tmp_path / "ahead") as (rt, drops), opened(tmp_path / "alone") as (alone, _):
        names = [drop.name for drop in drops]
        for seen in (["applied", "appended"], ["applied", "applied", "appended"], 3 * ["applied"]):
            report = run_minibatch(rt, 0, names)
            assert report is not None
            assert report.drop == names[seen.count("applied") - 1]
            assert states(rt) == list(zip(names, seen, strict=False))
            assert run_minibatch(alone, 0) is not None
        assert run_minibatch(rt, 0, names) is None
        assert answers(rt) == answers(alone)


def test_only_drops_of_the_given_names_are_appended(tmp_path: Path) -> None:
    with opened(tmp_path) as (rt, drops):
        run_minibatch(rt, 0, [drops[0].name])
        assert states(rt) == [(drops[0].name, "applied")]
        assert run_minibatch(rt, 0, []) is None


def test_what_changes_while_it_is_appended_is_appended_in_its_turn(tmp_path: Path) -> None:
    with opened(tmp_path) as (rt, drops):
        names = [drop.name for drop in drops]
        next_one = rt.project.landing / "0" / names[1]
        read = checks.read_rows

        def touched(relation: Relation, path: Path, *options: object) -> Iterator[RawFile]:
            if path.parent == next_one:
                os.utime(path, (1, 1))
            return read(relation, path, *options)  # type: ignore[arg-type]

        with unittest.mock.patch.object(checks, "read_rows", touched):
            assert run_minibatch(rt, 0, names) is not None
            assert states(rt) == [(names[0], "applied")]
            assert run_minibatch(rt, 0, names) is not None
            assert states(rt) == [(names[0], "applied"), (names[2], "applied")]
        for _ in names[1:2]:
            assert run_minibatch(rt, 0, names) is not None
        assert sorted(states(rt)) == [(name, "applied") for name in names]


@pytest.mark.parametrize("run", [run_waiting, lambda rt, **options: run_epochs(rt, 2, **options)])
def test_a_drop_that_keeps_changing_makes_no_epochs(tmp_path: Path, run: Callable[..., object]) -> None:
    """It waits, and cannot be taken: there is nothing in that that would be an epoch, nor a reason to go round and round."""
    with opened(tmp_path) as (rt, drops):
        changing = rt.project.landing / "0" / drops[0].name
        read, times = checks.read_rows, itertools.count(1)

        def touched(relation: Relation, path: Path, *options: object) -> Iterator[RawFile]:
            if path.parent == changing:
                os.utime(path, (1, next(times)))
            return read(relation, path, *options)  # type: ignore[arg-type]

        with unittest.mock.patch.object(checks, "read_rows", touched):
            run(rt, validating=False)
            taken = [name for name, _ in states(rt)]
            assert sorted(taken) == sorted(drop.name for drop in drops[1:])
            before = rt.catalog.snapshots.newest()
            if run is run_waiting:
                assert run(rt, validating=False) == 0
                assert rt.catalog.snapshots.newest() == before
        assert next(times) < 40
