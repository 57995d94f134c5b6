"""Compatibility of seals and gates: injective functional dependencies, chased through projections and renamings."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.coordination.labelling.annotations import Dependency, Schema
from cumulus_ops.coordination.labelling.labels import Attributes, compatible, rules_of


def names(text):
    return frozenset(text.split())


YAHOO = (Dependency(names("company"), "symbol", injective=True), Dependency(names("company"), "city"))


@pytest.mark.parametrize(
    ("gate", "key", "known", "answer"),
    [
        ("symbol", "company", YAHOO, True),
        ("company", "symbol", YAHOO, True),
        ("city", "company", YAHOO, False),
        ("city symbol", "company", YAHOO, True),
        ("id campaign", "campaign", (), True),
        ("id campaign", "id", (), True),
        ("id campaign", "id campaign", (), True),
        ("id", "id campaign", (), False),
        ("id", "campaign", (), False),
        ("campaign", "id", (Dependency(names("id"), "campaign"),), False),
        ("id", "campaign", (Dependency(names("id"), "campaign"),), False),
        ("day", "year month", (Dependency(names("year month"), "day", injective=True),), True),
        ("day", "year", (Dependency(names("year month"), "day", injective=True),), False),
        ("", "id", (), False),
        ("id", "", (), True),  # the stream has ended
    ],
)
def test_some_set_within_the_gate_is_injectively_determined(gate, key, known, answer):
    assert compatible(names(gate), names(key), known) is answer


def test_dependencies_are_chased_over_several():
    chain = (Dependency(names("a"), "b", injective=True), Dependency(names("b"), "c", injective=True))
    assert compatible(names("c"), names("a"), chain)
    assert not compatible(names("c"), names("a"), (chain[0], Dependency(names("b"), "c")))


def test_no_seal_is_compatible_without_a_gate():
    assert not compatible(None, names("id"))


def test_two_keys_of_a_schema_determine_each_other():
    schema = Schema("s", ("company", "symbol", "city"), (names("company"), names("symbol")))
    attributes = Attributes("s").described(schema, ())
    assert attributes.compatible(names("symbol"), names("company"), ())
    assert not attributes.compatible(names("city"), names("company"), ())


def test_projections_keep_the_identity():
    """Section VII-B2: S = π_a π_ab π_abc R."""
    attributes, key = Attributes("r"), names("a")
    for kept in ("abc", "ab", "a"):
        lineage = tuple((name, name) for name in kept)
        key = attributes.carried(key, lineage, ())
        attributes = attributes.through(lineage, kept)
    assert key == names("a")
    assert attributes.compatible(names("a"), key, ())


def test_a_renaming_is_followed():
    attributes = Attributes("r").through((("day", "batch"),), "s")
    assert Attributes("r").carried(names("batch"), (("day", "batch"),), ()) == names("day")
    assert attributes.compatible(names("day"), names("day"), ())
    known = rules_of([Dependency(names("batch"), "week", injective=True)])
    assert not attributes.compatible(names("week"), names("day"), known)  # this week is a new attribute
    both = Attributes("r").through((("day", "batch"), ("w", "week")), "s")
    assert both.compatible(names("w"), names("day"), known)


def test_what_a_seal_determines_carries_it_on():
    rules = rules_of(YAHOO)
    assert Attributes("r").carried(names("company"), (("ticker", "symbol"), ("city", "city")), rules) == names("ticker")
    assert Attributes("r").carried(names("company"), (("city", "city"),), rules) is None


def test_what_holds_of_two_streams_each_may_not_hold_of_both():
    local = (Dependency(names("a"), "b", injective=True),)
    one, other = (Attributes(place).described(None, local) for place in "st")
    assert one.compatible(names("b"), names("a"), ())
    assert not one.merged(Attributes("t")).compatible(names("b"), names("a"), ())
    assert one.merged(other).compatible(names("b"), names("a"), ())  # the same thing is known of each


VALUES = (0, 1)
ROWS = list(itertools.product(VALUES, repeat=3))
COLUMNS = ("a", "b", "c")


@settings(deadline=None)
@given(
    st.sets(st.sampled_from(ROWS), min_size=1),
    st.sets(st.sampled_from(COLUMNS)),
    st.sets(st.sampled_from(COLUMNS), min_size=1),
)
def test_a_partition_of_a_compatible_gate_has_one_value_of_the_key(rows, gate, key):
    """Over all tables with all dependencies that are true of them."""

    def of(row, columns):
        return tuple(row[COLUMNS.index(c)] for c in sorted(columns))

    known = []
    for one, other in itertools.permutations(COLUMNS, 2):
        pairs = {(of(r, {one}), of(r, {other})) for r in rows}
        if len({a for a, _ in pairs}) == len(pairs):
            known.append(Dependency(frozenset({one}), other, injective=len({b for _, b in pairs}) == len(pairs)))
    if compatible(frozenset(gate), frozenset(key), known):
        partitions = {}
        for row in rows:
            partitions.setdefault(of(row, gate), set()).add(of(row, key))
        assert all(len(values) == 1 for values in partitions.values())
