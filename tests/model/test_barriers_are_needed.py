"""A plan's barriers are those that its program needs: with all of them, no interleaving of the real steps shows an anomaly; without any one of
them, some does. What a plan does not name is left out in all of these runs.

The seeds of the interleavings that show what is seen without a barrier were searched for, and are kept here, so that this is quick;
``BARRIERS=50 pytest tests/model/test_barriers_are_needed.py`` plays more with all barriers in place, and more random programs.
"""

from __future__ import annotations

import datetime
import os
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.opening.compiling import build_program
from m3 import check, format_program
from m3.program import Program
from tests.model.test_engine_against_interpreter import BEYOND_RINGS, VIEWS
from tests.support.projects import Row
from tests.support.random_derivations import derived_programs
from tests.support.random_programs import m3_programs, sql_views
from tests.support.sampling import sampled
from tests.support.waiting import Case, InStages, anomalies, barriers_in_force, play
from tests.support.waiting_cases import case, example, sealed, tpch

SEEDS = range(int(os.environ.get("BARRIERS", "1")))
HOUR = datetime.datetime(2026, 1, 1)
COUNTS = {"counts": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign"}
RATES = {
    "rates": "SELECT clicks.campaign, COUNT(*) AS n FROM clicks JOIN shown ON clicks.campaign = shown.campaign "
    "AND clicks.ad = shown.ad GROUP BY clicks.campaign"
}
FIRST = {"first": "SELECT campaign, MIN(ad) AS ad, COUNT(DISTINCT ad) AS n FROM clicks GROUP BY campaign"}


def by_views(views: Mapping[str, str]) -> Mapping[str, Any]:
    """A program from SQL."""
    return {"views": views}


def by_text(program: Program) -> Mapping[str, Any]:
    """A program by its text."""
    return {"program": format_program(check(program))}


def click(choose: random.Random, value: int) -> Row:
    """A row of the ad servers' log."""
    return choose.randrange(4), value, HOUR + datetime.timedelta(hours=value), 0


def word(choose: random.Random, value: int) -> Row:
    """A row of the splitters' output."""
    return choose.choice(["a", "b"]), value


ALWAYS = {"vote": 0, "applied": 0, "checkpoint": 0}
CASES: Mapping[str, tuple[Callable[[], Case], Mapping[str, int]]] = {
    "sums need no corrections": (
        lambda: case("counts", views={"v": "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM r GROUP BY a"}),
        {"vote": 0, "applied": 0, "checkpoint": 0},
    ),
    "joins need corrections": (
        lambda: case("join", views={"v": VIEWS["join"]}),
        {"vote": 0, "applied": 0, "settle": 0, "checkpoint": 0},
    ),
    "but not with one coordinator, whose seal is enough": (
        lambda: case("join", 1, views={"v": VIEWS["join"]}),
        {"single-vote": 0, "applied": 0, "checkpoint": 0},
    ),
    "derived maps are refreshed": (
        lambda: case("extremes", views={"v": BEYOND_RINGS["extremes"]}),
        {"vote": 0, "applied": 0, "settle": 0, "refresh": 3, "checkpoint": 0},
    ),
    "those of one coordinator, too, when batches are large": (
        lambda: replace(
            case("distinct", 1, views={"v": "SELECT a, MIN(b) AS lo FROM r GROUP BY a"}), executor=InStages()
        ),
        {"single-vote": 0, "applied": 0, "refresh": 0, "checkpoint": 0},
    ),
    "TPC-H Q1": (lambda: tpch("q1"), {"vote": 0, "applied": 0, "checkpoint": 0}),
    "TPC-H Q3": (lambda: tpch("q3"), {"vote": 0, "applied": 0, "settle": 2, "checkpoint": 0}),
    "TPC-H Q4 and Q15, of which a refresh corrects all": (
        lambda: tpch("q4", "q15"),
        {"vote": 0, "applied": 0, "refresh": 3, "checkpoint": 0},
    ),
    "word count": (lambda: example("wordcount", word, "batch"), {**ALWAYS, "value-vote": 0}),
    "ad reporting": (lambda: example("ads", click, "campaign", "window"), {**ALWAYS, "value-vote": 0}),
    "sealed joins": (lambda: sealed("rates", RATES), {**ALWAYS, "settle": 0, "value-vote": 0}),
    "values of one producer each": (lambda: sealed("counts", COUNTS, producers="one"), {**ALWAYS, "value-seal": 0}),
    "sealed, and derived": (lambda: sealed("first", FIRST), {**ALWAYS, "refresh": 0, "value-vote": 0}),
}

#: Of the others the plan is looked at.
PLAYED = sampled(CASES, 3)


@pytest.mark.parametrize("name", CASES)
def test_exactly_the_barriers_of_the_plan_are_needed(name: str, tmp_path: Path) -> None:
    make, seeds = CASES[name]
    judged = make()
    (tmp_path / "plan").mkdir()
    program = build_program(judged.make(tmp_path / "plan"))
    assert {b.name for b in barriers_in_force(judged, tmp_path / "plan")} == set(seeds)
    if name not in PLAYED:
        return
    for seed in SEEDS:
        assert not seen(judged, program, tmp_path / f"all-{seed}", seed)
    for barrier, seed in seeds.items():
        assert seen(judged, program, tmp_path / barrier, seed, barrier), f"nobody misses {barrier}"


@given(
    st.one_of(
        sql_views().map(by_views), derived_programs().map(lambda text: {"program": text}), m3_programs().map(by_text)
    ),
    st.integers(0, 9),
)
@settings(max_examples=3 * len(SEEDS), deadline=None, derandomize=True)
def test_the_barriers_of_random_programs_are_enough(program: Mapping[str, Any], seed: int) -> None:
    judged = case("random", 1 + seed % 3, **program)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan").mkdir()
        built = build_program(judged.make(Path(folder) / "plan"))
        barriers_in_force(judged, Path(folder) / "plan")
        assert not seen(judged, built, Path(folder) / "run", seed)


def seen(judged: Case, program: Program, folder: Path, seed: int, *left_out: str) -> list[str]:
    """The anomalies of a run, which is an installation of its own."""
    folder.mkdir()
    return anomalies(judged, play(judged, folder, seed, left_out), program)
