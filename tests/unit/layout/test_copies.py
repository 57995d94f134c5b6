"""Copies: every lookup finds the first columns of one known, with as few copies as chains of sets allow."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cumulus_ops.layout.groups import Group, Lookup, choose_copies
from cumulus_ops.maps.runs import AccessPath
from m3.datatypes import DATE, DOUBLE, INT, STRING, Type, decimal
from m3.program import Column

TYPES = {"n": INT, "d": DATE, "m": decimal(9, 2), "t": STRING, "f": DOUBLE}
NUMBERS = "ndm"


def group(types: str) -> Group:
    """A group with one key column per letter, and the maps p and q."""
    keys = tuple(Column(f"k{i}", _type(letter)) for i, letter in enumerate(types))
    return Group("g", keys, ("p", "q"))


def _type(letter: str) -> Type:
    return TYPES[letter]


def by(*bound: int, order: int = -1, free: tuple[int, ...] = (), values: str = "p") -> Lookup:
    return Lookup(frozenset(bound), order, frozenset(free), frozenset(values))


def bounds(types: str, *lookups: Lookup) -> list[tuple[tuple[int, ...], int]]:
    return [(path.bound, path.order) for path in choose_copies(group(types), lookups)[0]]


def test_a_group_that_nobody_looks_up_is_kept_by_its_whole_key_numbers_first() -> None:
    assert bounds("nn") == [((0, 1), -1)]
    assert bounds("tnfd") == [((1, 3, 0, 2), -1)]
    assert bounds("") == [((), -1)]


def test_sets_one_within_the_other_are_one_copy() -> None:
    assert bounds("nnn", by(1), by(1, 2)) == [((1, 2), -1)]
    assert bounds("nnn", by(1), by(1, 2), by(2)) == [((1, 2), -1), ((2,), -1)]
    assert bounds("nnn", by(0, 1, 2), by(2), by()) == [((2, 0, 1), -1)]
    assert bounds("nnn", by(0, 1), by(1, 2), by(0), by(2)) == [((0, 1), -1), ((2, 1), -1)]
    assert bounds("nnn", by(0), by(0, free=(1,)), by(0, values="q")) == [((0,), -1)]


def test_texts_are_looked_up_as_a_whole_only() -> None:
    assert bounds("tn", by(0, 1), by(1)) == [((1, 0), -1)]  # the number of it
    assert bounds("tn", by(0, 1), by(0)) == [((1, 0), -1), ((0,), -1)]  # the text of it has no place of its own
    assert bounds("tt", by(0, 1), by(0), by(1)) == [((0, 1), -1), ((0,), -1), ((1,), -1)]
    assert bounds("tt", by(0, 1), by()) == [((0, 1), -1)]
    assert bounds("fn", by(0, 1), by(0)) == [((1, 0), -1), ((0,), -1)]


def test_values_in_order_share_the_copy_if_they_are_numbers() -> None:
    paths, served = choose_copies(group("nn"), [by(0, order=1, free=(1,)), by(0, 1), by(0), by()])
    assert len(paths) == 1
    assert set(served.values()) == set(paths)
    assert paths[0].bound == (0, 1)


@pytest.mark.parametrize(("types", "own"), [("nt", ((0,), 1)), ("tn", ((0,), 1)), ("nf", ((0,), 1)), ("tt", ((0,), 1))])
def test_texts_in_order_have_a_copy_of_their_own(types: str, own: tuple[tuple[int, ...], int]) -> None:
    lookups = [by(0, order=1, free=(1,)), by(0, 1)]
    assert bounds(types, *lookups)[0] == own
    assert len(bounds(types, *lookups)) == 2
    assert bounds(types, lookups[0], by(0)) == [own]  # but who asks for no order is served there, too


def test_the_first_copy_keeps_all_and_the_others_what_is_looked_at() -> None:
    lookups = [by(0, 1, free=(2,)), by(2, free=(1,), values="q"), by(1, 3, free=(0, 2), values="pq")]
    paths, served = choose_copies(group("nnnn"), lookups)
    assert (paths[0].keys, paths[0].values) == (None, None)
    assert served[lookups[1]] == AccessPath("g", (2,), -1, (1, 2), ("q",))
    assert served[lookups[0]] == paths[0] == AccessPath("g", (0, 1))
    assert served[lookups[2]] == AccessPath("g", (1, 3))  # all is looked at


def test_values_are_kept_in_the_order_of_the_group() -> None:
    lookups = [by(0), by(1, values="q"), by(1, free=(0,), values="p")]
    paths, _ = choose_copies(group("nn"), lookups)
    assert [(path.bound, path.keys, path.values) for path in paths] == [((0,), None, None), ((1,), None, None)]


@st.composite
def looked_up(draw: st.DrawFn) -> tuple[str, list[Lookup]]:
    types = draw(st.text("nntdf", max_size=5))
    places = range(len(types))
    found = []
    for _ in range(draw(st.integers(0, 7))):
        bound = draw(st.sets(st.sampled_from(places))) if types else set()
        others = [i for i in places if i not in bound]
        order = draw(st.sampled_from([-1, -1, *others]))
        free = {*draw(st.sets(st.sampled_from(others)) if others else st.just(set())), order} - {-1}
        values = draw(st.sets(st.sampled_from("pq")))
        found.append(Lookup(frozenset(bound), order, frozenset(free), frozenset(values)))
    return types, found


@settings(deadline=None)
@given(looked_up())
@example(("nnn", [by(0), by(0, 1), by(1), by(0, 1, order=2), by(0, order=1), by(1, order=0), by()]))
def test_every_lookup_is_served_by_a_copy_that_begins_with_it(what: tuple[str, list[Lookup]]) -> None:
    types, lookups = what
    numbers = {i for i, letter in enumerate(types) if letter in NUMBERS}
    paths, served = choose_copies(group(types), lookups)
    assert len({path.label for path in paths}) == len(paths)
    assert (paths[0].keys, paths[0].values) == (None, None)
    assert set(served) >= set(lookups)
    assert set(served.values()) == set(paths)  # none is for nobody
    for lookup in lookups:
        path = served[lookup]
        width = len(lookup.bound)
        assert set(path.bound[:width]) == lookup.bound
        kept = range(len(types)) if path.keys is None else path.keys
        assert {*lookup.bound, *lookup.free, *path.bound} <= set(kept)
        assert path.values is None or lookup.values <= set(path.values)
        number = [types[i] in NUMBERS for i in path.bound]
        if width < len(path.bound):  # the code has no hash of some of what is hashed
            assert all(number[:width])
        if lookup.order >= 0:
            assert path.order == lookup.order
            within = lookup.bound <= numbers and lookup.order in numbers
            assert path.bound[width:] == ((lookup.order,) if within else ())
    for path in paths:
        texts = [types[i] not in NUMBERS for i in path.bound]
        assert texts == sorted(texts)  # numbers first
        mine = [lookup for lookup, other in served.items() if other == path]
        if path.keys is not None:
            looked_at = {*path.bound, path.order, *(i for lookup in mine for i in lookup.free)} - {-1}
            assert path.keys == tuple(sorted(looked_at))
            assert path != paths[0]
        if path.values is not None:
            assert set(path.values) == {name for lookup in mine for name in lookup.values}
            assert path != paths[0]


@settings(deadline=None)
@given(looked_up(), st.randoms())
def test_copies_do_not_depend_on_the_order_of_the_lookups(what: tuple[str, list[Lookup]], random: object) -> None:
    types, lookups = what
    shuffled = [*lookups, *lookups]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (choose_copies(group(types), chosen)[0] for chosen in (lookups, shuffled))
    assert {(path.bound, path.order) for path in first} == {(path.bound, path.order) for path in second}
