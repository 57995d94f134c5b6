"""What keys accept, against a plain model: random drops of several coordinators in several epochs, in one piece or many."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cumulus_ops.append.rejected import drop, restamp
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.keys import columns as key_codes
from cumulus_ops.keys.building import build
from cumulus_ops.project.settings import KeySettings, Project
from m3.datatypes import DOUBLE, INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.catalogs import PROGRAM, set_aside
from tests.support.keyed import (
    Change,
    Model,
    append,
    found_in_index,
    living,
    move_to,
    net,
    proved,
    require_sound,
    state_folder,
    violations,
    with_keys,
)
from tests.support.projects import make_project

RELATIONS = (
    Relation("one", (Column("k", INT), Column("v", INT.with_null())), ("k",)),
    Relation("two", (Column("a", INT), Column("v", STRING.with_null()), Column("b", INT)), ("a", "b")),
    Relation("text", (Column("k", STRING), Column("v", decimal(12, 2).with_null())), ("k",)),
    Relation("bag", (Column("x", INT), Column("y", DOUBLE.with_null()))),
)
#: Shrinking takes minutes: a failing case is small enough.
EXAMPLES = int(os.environ.get("EXAMPLES", "3"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
KEYS = {"one": [0, 1, -(2**63)], "two": [(0, 0), (1, 5), (-1, 2**40)], "text": ["", "a", "x" * 700]}
VALUES = {"one": [None, 1, 2], "two": [None, "", "b"], "text": [None, 1, 2], "bag": [None, 0.5]}


@contextmanager
def _small_sizes(collisions: bool) -> Iterator[None]:
    """Everything is cut, written and merged after some rows; with ``collisions``, hashes are few."""
    sizes = {
        "cumulus_ops.keys.merging.CHUNK_ROWS": 8,
        "cumulus_ops.keys.merging.FAN": 2,
        "cumulus_ops.keys.merging.SMALLEST_ROWS": 1,
        "cumulus_ops.keys.building.RUN_ROWS": 3,
        "cumulus_ops.keys.merging.RUN_ROWS": 3,
        "cumulus_ops.keys.building.SORTED_ROWS": 4,
        "cumulus_ops.keys.stage.HELD_ROWS": 3,
    }
    hash_ = key_codes._hash
    with ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(patch(name, size))
        if collisions:
            few = stack.enter_context(patch.object(key_codes, "_hash"))
            few.side_effect = lambda seed, parts: (hash_(seed, parts) & np.uint64(1)) | (seed & ~np.uint64(1))
        yield


@contextmanager
def _project(modes: dict[str, KeySettings]) -> Iterator[tuple[Project, Catalog]]:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, views={})
        object.__setattr__(project, "keys", modes)
        catalog = Catalog(project.catalog_url, state_folder(project))
        catalog.database.migrate()
        catalog.program.register(PROGRAM)
        yield project, catalog
        catalog.close()


def _row(draw: st.DrawFn, name: str) -> tuple[object, ...]:
    value = draw(st.sampled_from(VALUES[name]))
    if name == "bag":
        return draw(st.integers(0, 1)), value
    key = draw(st.sampled_from(KEYS[name]))
    return (key[0], value, key[1]) if isinstance(key, tuple) else (key, value)


@st.composite
def _changes(draw: st.DrawFn, begin: int) -> list[Change]:
    changes: list[Change] = []
    names = draw(st.lists(st.sampled_from([r.name for r in RELATIONS]), min_size=1, max_size=2, unique=True))
    for event in range(begin, begin + draw(st.integers(1, 6))):
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            name = draw(st.sampled_from(names))
            changes.append((event, name, draw(st.sampled_from("IIDU")), _row(draw, name)))
    return changes


@st.composite
def _drops(draw: st.DrawFn) -> list[tuple[int, int, int, list[Change]]]:
    """(coordinator, its epoch, rows in a piece, changes) of each drop; epochs do not go back."""
    epochs, drops = [0, 0, 0], []
    for number in range(draw(st.integers(1, 6))):
        coordinator = draw(st.integers(0, 2))
        epochs[coordinator] += draw(st.sampled_from([0, 0, 1, 2]))
        changes = draw(_changes(number * 100))
        drops.append((coordinator, epochs[coordinator], draw(st.sampled_from([1, 2, 100])), changes))
    return drops


@st.composite
def _settings(draw: st.DrawFn) -> dict[str, KeySettings]:
    found = {}
    for relation in RELATIONS:
        modes = ["strict", "upsert", None] if relation.key else ["strict", None]
        mode = draw(st.sampled_from(modes))
        if mode is not None:
            found[relation.name] = KeySettings(mode, draw(st.sampled_from(["one", "any"])))
    return found


@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES)
@given(st.data(), st.booleans())
def test_the_log_has_what_the_model_accepts(data: st.DataObject, collisions: bool) -> None:
    modes = data.draw(_settings())
    with _small_sizes(collisions), _project(modes) as (project, catalog):
        model = Model(project)
        for number, (coordinator, epoch, piece, changes) in enumerate(data.draw(_drops())):
            move_to(catalog, coordinator, epoch)
            # relations are judged one after the other
            changes = sorted(changes, key=lambda c: [r.name for r in RELATIONS].index(c[1]))
            expected = model.append(coordinator, epoch, changes)
            assert append(project, catalog, coordinator, f"d{number}", changes, piece) == expected
        trusted = {r.name for r in RELATIONS} - modes.keys()
        for relation in RELATIONS:
            if relation.name not in trusted:
                assert net(project, catalog, relation.name) == living(model, relation.name)
        require_sound(project, catalog) if not trusted else None


@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES)
@given(st.data(), st.booleans())
def test_batches_are_set_aside_retried_and_dropped(data: st.DataObject, collisions: bool) -> None:
    """Once it is decided about all of them, every snapshot from then on is right, and the index says what the log says."""
    modes = data.draw(_settings())
    with _small_sizes(collisions), _project(modes) as (project, catalog):
        drops = data.draw(_drops())
        last = 0
        for number, (coordinator, epoch, piece, changes) in enumerate(drops):
            move_to(catalog, coordinator, last := max(last, epoch))
            append(project, catalog, coordinator, f"d{number}", changes, piece)
            if data.draw(st.integers(0, 2)) == 0:
                set_aside(catalog, catalog.log.batches()[-1].id, "a reason")
        for coordinator in range(3):
            move_to(catalog, coordinator, last + 1)
        aside = data.draw(st.permutations(catalog.log.batches(state="aside")))
        for batch in aside:
            (restamp if data.draw(st.booleans()) else drop)(project, catalog, batch)
        for relation in RELATIONS:
            if relation.name in modes:
                assert found_in_index(project, catalog, relation) == net(project, catalog, relation.name)
                assert proved(project, catalog, relation)
        rebuilt = {
            name: found_in_index(project, catalog, r, rebuild=True) for r in RELATIONS if (name := r.name) in modes
        }
        assert rebuilt == {name: net(project, catalog, name) for name in rebuilt}
        require_sound(project, catalog, since=last + 1)


@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES)
@given(st.data(), st.booleans())
def test_a_trusted_relation_becomes_strict(data: st.DataObject, collisions: bool) -> None:
    """The index is built from the log, what is wrong there is counted, and what comes then is judged."""
    modes = {r.name: KeySettings("strict", "any") for r in RELATIONS}
    with _small_sizes(collisions), _project({}) as (project, catalog):
        for number, (coordinator, epoch, _, changes) in enumerate(data.draw(_drops())):
            move_to(catalog, coordinator, epoch)
            append(project, catalog, coordinator, f"d{number}", [c for c in changes if c[2] != "U"])
        project = with_keys(project, modes)
        for relation in RELATIONS:
            with catalog.leases.step() as step:
                wrong = build(project, catalog, relation, step.label).keys
            assert wrong == violations(project, catalog, relation)
            assert proved(project, catalog, relation)
            if not wrong:
                assert found_in_index(project, catalog, relation) == net(project, catalog, relation.name)


if __name__ == "__main__":
    pytest.main([__file__])
