"""The programs of which it is judged whether their plans name the barriers that they need, and no others."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from cumulus_ops.config import Project
from m3.program import Relation
from tests.support import tpch_small
from tests.support.histories import random_events
from tests.support.projects import Event, make_project
from tests.support.random_programs import RELATIONS
from tests.support.waiting import Case, Script

__all__ = ["case", "tpch"]

EPOCHS, BATCHES = 2, 2
Draw = Callable[[random.Random], tuple[Event, ...]]


def case(
    name: str, coordinators: int = 2, relations: tuple[Relation, ...] = RELATIONS, **given: str | Mapping[str, str]
) -> Case:
    """A program over the relations of :mod:`tests.support.random_programs`, and events of them."""
    choose = random.Random(name)
    live: list[list[Event]] = [[] for _ in range(coordinators)]
    scripts = tuple(_script(lambda of=of: tuple(random_events(choose, of, 8))) for of in live)
    return Case(name, lambda folder: _project(folder, relations, coordinators, given), scripts)


def tpch(*queries: str, coordinators: int = 2) -> Case:
    """Queries of TPC-H, and a small stream that makes their predicates hit."""
    views = {query: tpch_small.view_text(query) for query in queries}
    stream = tpch_small.Stream(7)
    batches = iter(stream.batches(1 + coordinators * EPOCHS * BATCHES, 6))
    first = list(next(batches))
    share = [first[c::coordinators] for c in range(coordinators)]

    def draw(c: int) -> tuple[Event, ...]:
        found, share[c] = [*share[c], *next(batches)], []
        return tuple((name, sign, row) for sign, name, row in found)

    scripts = tuple(_script(lambda c=c: draw(c)) for c in range(coordinators))
    given = {"views": views}
    return Case("-".join(queries), lambda folder: _project(folder, tpch_small.RELATIONS, coordinators, given), scripts)


def _script(draw: Callable[[], tuple[Event, ...]]) -> Script:
    items: list[tuple[Event, ...] | None] = []
    for _ in range(EPOCHS):
        items += [*(draw() for _ in range(BATCHES)), None]
    return tuple(items)


def _project(folder: Path, relations: tuple[Relation, ...], coordinators: int, given: Mapping[str, object]) -> Project:
    return make_project(folder, relations, coordinators=coordinators, **given)  # type: ignore[arg-type]
