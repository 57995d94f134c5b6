"""The programs of which it is judged whether their plans name the barriers that they need, and no others."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project, SealSettings
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support import tpch_small
from tests.support.histories import random_events
from tests.support.projects import Event, Row, make_project
from tests.support.random_programs import RELATIONS
from tests.support.waiting import Append, Case, Script

__all__ = ["case", "example", "sealed", "tpch"]

EPOCHS, BATCHES = 2, 2
EXAMPLES = Path(__file__).parents[2] / "examples"
CAMPAIGNS = (
    Relation("clicks", (Column("campaign", INT), Column("ad", INT))),
    Relation("shown", (Column("campaign", INT), Column("ad", INT))),
)
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


def example(name: str, make: Callable[[random.Random, int], Row], *seals: str, coordinators: int = 2) -> Case:
    """One of the case studies, with random rows of its only relation; ``make`` gives one with a value of the seals.

    Args:
        name: of the folder under ``examples``.
        make: a row, for a value (0, 1, ...) that all its seals share.
        seals: the seals of its relation, which are closed value by value.
        coordinators: how many producers.
    """

    def project(folder: Path) -> Project:
        there = load_project(EXAMPLES / name, {})
        paths = {"landing": folder / "landing", "state": folder / "state", "published": folder / "published"}
        catalog = f"sqlite:///{folder}/state/catalog.db"
        return dataclasses.replace(
            there, **paths, reports=folder / "reports", catalog_url=catalog, coordinators=coordinators
        )

    relation = load_project(EXAMPLES / name, {}).relations[0].name
    return Case(name, project, sealed_scripts(name, {relation: make}, seals, coordinators))


def sealed(name: str, views: Mapping[str, str], *, producers: str = "all", coordinators: int = 2) -> Case:
    """Views over clicks and the ads that are shown, both sealed on their campaign."""
    makers = {"clicks": lambda choose, v: (v, choose.randrange(3)), "shown": lambda choose, v: (v, choose.randrange(3))}
    seals = {r: (SealSettings("campaign", ("campaign",), producers),) for r in makers}

    def project(folder: Path) -> Project:
        made = _project(folder, CAMPAIGNS, coordinators, {"views": views})
        return dataclasses.replace(made, seals=seals)

    alone = producers == "one"
    return Case(name, project, sealed_scripts(name, makers, ("campaign",), coordinators, alone=alone))


def sealed_scripts(
    name: str,
    makers: Mapping[str, Callable[[random.Random, int], Row]],
    seals: Sequence[str],
    coordinators: int,
    *,
    alone: bool = False,
) -> tuple[Script, ...]:
    """Each coordinator has rows of one value after the other, and seals a value with its last ones; ``alone``: no two have the same values."""
    choose = random.Random(name)
    scripts = []
    for c in range(coordinators):
        items: list[Append | None] = []
        for number in range(EPOCHS * BATCHES):
            mine, later = (c * 10 + number, c * 10 + number + 1) if alone else (number, number + 1)
            values = [mine] * 4 + [later] * 2
            events = tuple((r, 1, make(choose, v)) for v in values for r, make in makers.items())
            closed = tuple((r, s, make(choose, mine)) for r, make in makers.items() for s in seals)
            items.append(Append(events, closed))
            if (number + 1) % BATCHES == 0:
                items.append(None)
        scripts.append(tuple(items))
    return tuple(scripts)


def _script(draw: Callable[[], tuple[Event, ...]]) -> Script:
    items: list[Append | None] = []
    for _ in range(EPOCHS):
        items += [*(Append(draw()) for _ in range(BATCHES)), None]
    return tuple(items)


def _project(folder: Path, relations: tuple[Relation, ...], coordinators: int, given: Mapping[str, object]) -> Project:
    return make_project(folder, relations, coordinators=coordinators, **given)  # type: ignore[arg-type]
