"""Nodes that are the maps of M3 programs: which of them commute is proved, and what is proved holds under failures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cumulus_papers.recovery.judge import Wrong
from cumulus_papers.recovery.programs import find_commuting, make_work
from m3 import check, parse
from m3.confluence.proof import prove
from m3.program import Program
from tests.support.recoveries import World

HEAD = "RELATION R(a INT, b INT); RELATION S(a INT, c INT); "
#: A sum and a count by key read nothing; the join of both reads what has arrived of the other side.
JOIN = """MAP r[a INT] : INT; MAP s[a INT] : INT; MAP j[] : INT;
ON +R(a, b) { j[] += b * s[a]; r[a] += b } ON +S(a, c) { j[] += c * r[a]; s[a] += c }"""
#: A constant that the program starts with is read.
CONSTANT = "MAP k[a INT] : INT; MAP m[] : INT; ON START { k[1] += 3; k[2] += 5 } ON +R(a, b) { m[] += b * k[a] } ON +S(a, c) { m[] += c }"
#: Adds the rows of R up, weighted by how many of S have come before.
ORDERED = "MAP n[] : INT; MAP q[] : INT; MAP t[] : INT; ON +R(a, b) { q[] += b * n[]; t[] += b } ON +S(a, c) { n[] += 1; t[] += c }"


def program(text: str) -> Program:
    return check(parse(HEAD + text))


@pytest.mark.parametrize(
    ("text", "is_confluent", "commuting"),
    [
        (JOIN, True, {"r": True, "s": True, "j": False}),
        (CONSTANT, True, {"k": True, "m": True}),
        (ORDERED, False, {"n": True, "q": False, "t": True}),
    ],
    ids=["join", "constant", "ordered"],
)
def test_maps_that_do_not_commute_are_told(text: str, is_confluent: bool, commuting: dict[str, bool]) -> None:
    assert prove(program(text)).is_confluent == is_confluent
    assert find_commuting(program(text)) == commuting


def play(text: str, seed: int, planted: str = "") -> None:
    """A history of a program's nodes; ``planted``: a map that is said to commute."""
    flow, work = make_work(program(text))
    if planted:
        work[planted] = replace(work[planted], commutes=True)
    kinds = {name: work[name].kind for name in flow.order}
    world = World(flow, kinds, 1 + seed % 2, seed, rate=0.05, work=dict(work))
    world.run(200, failures=8, most=world.tolerance)
    world.judge()
    world.judge_logs()


def play_all(text: str, planted: str = "") -> None:
    """Ten of them."""
    for seed in range(10):
        play(text, seed, planted)


@pytest.mark.parametrize("text", [JOIN, CONSTANT, ORDERED], ids=["join", "constant", "ordered"])
def test_maps_are_replayed_as_if_nothing_had_failed(text: str) -> None:
    play_all(text)


@pytest.mark.parametrize(("text", "planted"), [(JOIN, "j"), (ORDERED, "q")], ids=["join", "ordered"])
def test_a_map_that_is_said_to_commute_and_does_not_is_noticed(text: str, planted: str) -> None:
    with pytest.raises(Wrong, match=f"{planted} has"):
        play_all(text, planted)
