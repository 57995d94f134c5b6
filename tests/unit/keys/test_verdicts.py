"""What is said of events that keys do not allow, and what upserts become."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import update

from cumulus_ops.catalog import tables
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import KeyChange
from cumulus_ops.keys import merging
from cumulus_ops.keys.building import ensure_index
from cumulus_ops.keys.merging import ALL, tidy_keys
from cumulus_ops.keys.ranges import JudgeRange, Sorter
from cumulus_ops.keys.runs import signature
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.settings import KeySettings, Project
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.catalogs import PROGRAM
from tests.support.keyed import Change, append, bags, found_in_index, move_to, net, proved, table_of, with_keys
from tests.support.projects import make_project

PLACE = Relation("place", (Column("id", INT), Column("name", STRING.with_null())), ("id",))
BAG = Relation("bag", (Column("id", INT), Column("name", STRING.with_null())))
Open = Callable[..., tuple[Project, Catalog]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    catalogs = []

    def open_(mode: str, writers: str = "one") -> tuple[Project, Catalog]:
        project = make_project(tmp_path, (PLACE, BAG))
        project = with_keys(project, {"place": KeySettings(mode, writers), "bag": KeySettings("strict")})
        project.state.mkdir()
        catalogs.append(Catalog(project.catalog_url, project.state))
        catalogs[-1].database.migrate()
        catalogs[-1].program.register(PROGRAM)
        return project, catalogs[-1]

    yield open_
    for catalog in catalogs:
        catalog.close()


def _reasons(project: Project, catalog: Catalog) -> list[tuple[str, str, dict[str, object]]]:
    """(kind, reason, record) of all that was rejected."""
    tables = [pq.read_table(project.state / path) for path in (r.path for r in catalog.deliveries.quarantined_rows())]
    return [(r["kind"], r["reason"], json.loads(r["record"])) for table in tables for r in table.to_pylist()]


def _place(*changes: tuple[int, str, int, str | None]) -> list[Change]:
    return [(event, "place", op, (key, name)) for event, op, key, name in changes]


def test_a_strict_relation_shows_both_rows(opened: Open) -> None:
    project, catalog = opened("strict")
    append(project, catalog, 0, "a", _place((0, "I", 1, "Ulm"), (1, "I", 2, "Bonn")))
    append(
        project,
        catalog,
        0,
        "b",
        _place((2, "I", 1, "Rom"), (3, "D", 2, "Köln"), (4, "D", 3, None), (5, "D", 1, "Ulm"), (5, "I", 1, "Rom")),
    )
    (first, second, third) = _reasons(project, catalog)
    assert first == (
        "doubled-key",
        'key: inserts a row whose key is there already: {"id": 1, "name": "Ulm"}',
        {"id": 1, "name": "Rom", "op": "I", "event": 2},
    )
    assert second[:2] == (
        "other-values",
        'key: deletes a row with other values than the one that is there: {"id": 2, "name": "Bonn"}',
    )
    assert third[:2] == ("absent", "key: deletes a row that is not there")
    assert net(project, catalog, "place") == {(1, "Rom"): 1, (2, "Bonn"): 1}


def test_an_event_is_rejected_as_a_whole_and_what_rests_on_it_too(opened: Open) -> None:
    project, catalog = opened("strict")
    changes = _place((0, "I", 1, "a"), (1, "I", 2, "b"), (1, "I", 1, "b"), (2, "D", 2, "b"), (3, "I", 2, "c"))
    assert append(project, catalog, 0, "a", changes) == {"place": [1, 2]}
    assert [kind for kind, *_ in _reasons(project, catalog)] == ["part", "doubled-key", "absent"]
    assert net(project, catalog, "place") == {(1, "a"): 1, (2, "c"): 1}


def test_upserts_and_deletes_by_key_find_the_old_row(opened: Open) -> None:
    project, catalog = opened("upsert")
    append(
        project,
        catalog,
        0,
        "a",
        _place((0, "U", 1, "a"), (1, "I", 2, "b"), (2, "U", 2, "c"), (2, "D", 1, None), (3, "D", 1, None)),
    )
    append(project, catalog, 0, "b", _place((4, "I", 2, "d"), (5, "D", 2, "whatever"), (6, "U", 2, None)))
    assert [(row, sign) for _, row, sign in bags(project, catalog)["place"]] == [
        *[((1, "a"), 1), ((2, "b"), 1), ((2, "b"), -1), ((2, "c"), 1), ((1, "a"), -1)],
        *[((2, "c"), -1), ((2, "d"), 1), ((2, "d"), -1), ((2, None), 1)],
    ]
    assert [kind for kind, *_ in _reasons(project, catalog)] == ["absent"]
    assert net(project, catalog, "place") == {(2, None): 1} == found_in_index(project, catalog, PLACE)


def test_without_a_key_a_row_can_be_deleted_as_often_as_it_was_inserted_by_the_same_coordinator(opened: Open) -> None:
    project, catalog = opened("strict")
    row = (1, "a")
    append(project, catalog, 0, "a", [(e, "bag", op, row) for e, op in enumerate("IIDDDI")])
    append(project, catalog, 1, "b", [(0, "bag", "D", row), (1, "bag", "I", row)])
    assert [kind for kind, *_ in _reasons(project, catalog)] == ["absent", "absent"]
    assert net(project, catalog, "bag") == {row: 2}


def test_a_key_belongs_to_one_coordinator_until_its_row_is_gone(opened: Open) -> None:
    project, catalog = opened("upsert")
    append(project, catalog, 1, "a", _place((0, "I", 1, "a")))
    assert append(project, catalog, 0, "b", _place((0, "U", 1, "b"), (1, "D", 1, None))) == {"place": [0, 1]}
    assert _reasons(project, catalog)[0][:2] == (
        "other-writer",
        'key: belongs to coordinator 1, which has inserted {"id": 1, "name": "a"}',
    )
    append(project, catalog, 1, "c", _place((1, "D", 1, None)))
    assert append(project, catalog, 0, "d", _place((2, "U", 1, "b"))) == {"place": []}
    assert net(project, catalog, "place") == {(1, "b"): 1}


def test_what_counts_before_something_accepted_is_refused(opened: Open) -> None:
    """Coordinator 1 is ahead; were the other's delete accepted, the earlier snapshot would be right and the later one not."""
    project, catalog = opened("strict", "any")
    append(project, catalog, 0, "a", _place((0, "I", 1, "a")))
    move_to(catalog, 1, 1)
    append(project, catalog, 1, "b", _place((0, "D", 1, "a"), (1, "I", 2, "b")))
    assert append(project, catalog, 0, "c", _place((1, "D", 1, "a"), (2, "I", 2, "c"))) == {"place": [1, 2]}
    assert [kind for kind, *_ in _reasons(project, catalog)] == ["later-epoch"] * 2
    assert "coordinator 1 has changed it in epoch 1 already" in _reasons(project, catalog)[0][1]
    move_to(catalog, 0, 1)
    assert append(project, catalog, 0, "d", _place((1, "I", 1, "c"))) == {"place": []}


def _judge_here(project: Project, keys: KeyStage, label: str, rows: pa.Table) -> None:
    keys.resolve("place", rows)


def _judge_by_range(project: Project, keys: KeyStage, label: str, rows: pa.Table) -> None:
    judge, index = keys.judged_by("place")
    sorter = Sorter(project.state, label, PLACE, judge, 0)
    sorter.add(rows)
    verdict = JudgeRange(project.state, label, PLACE, judge, index, sorter.finish().runs, ALL, False)()
    assert verdict is not None
    keys.adopt("place", [] if verdict.run is None else [verdict.run], verdict.looked_at)


@pytest.mark.parametrize("judge", [_judge_here, _judge_by_range])
@pytest.mark.parametrize("op", ["I", "D"])  # which is accepted, and which is rejected
@pytest.mark.parametrize(("other", "is_refused"), [(2, False), (1, True)])
def test_who_comes_second_starts_again_only_if_the_first_had_its_keys(
    opened: Open, other: int, is_refused: bool, op: str, judge: Callable[..., None]
) -> None:
    project, catalog = opened("strict", "any")
    append(project, catalog, 0, "a", _place((0, "I", 0, "a")))
    seen: list[int] = []

    def refused_once(changes: Sequence[KeyChange]) -> None:
        seen.append(changes[0].version)
        if len(seen) == 1:
            append(project, catalog, 0, "b", _place((1, "I", other, "a")))
            raise Conflict("the key index moved on", kind="keys-moved")

    with catalog.leases.step() as step, KeyStage(project, catalog, 1, 0, step.label) as keys:
        judge(project, keys, step.label, table_of(PLACE, _place((0, op, 1, "b"))))
        if is_refused:
            with pytest.raises(Conflict):
                keys.commit(refused_once)
        else:
            keys.commit(refused_once)
    assert len(seen) == (1 if is_refused else 2)
    assert is_refused or seen[1] == seen[0] + 1


def test_what_was_appended_while_it_was_trusted_is_looked_at(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    project, catalog = opened("strict")
    trusted = with_keys(project, {})
    append(project, catalog, 0, "a", _place((0, "I", 1, "a")))
    append(
        trusted,
        catalog,
        0,
        "b",
        _place((1, "I", 1, "b"), (2, "D", 1, "a"), (3, "D", 2, "x"), (4, "I", 3, "c"), (5, "I", 3, "d")),
    )
    assert append(project, catalog, 0, "c", _place((6, "I", 1, "c"), (7, "D", 1, "b"))) == {"place": [6]}
    said = "\n".join(caplog.messages)  # not as text: who runs after Spark in one process may find its JSON there
    assert "2 keys of what is in the log already have not one row once, or none" in said
    assert '-1 times {"id": 2, "name": "x"}' in said
    assert '1 times {"id": 3, "name": "c"}' in said
    assert '1 times {"id": 3, "name": "d"}' in said


def test_runs_become_few_and_what_is_gone_is_forgotten(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "SMALLEST_ROWS", 1)
    monkeypatch.setattr(merging, "FAN", 4)
    project, catalog = opened("upsert")
    for i in range(40):
        append(project, catalog, 0, f"d{i}", _place((2 * i, "U", i, "a"), (2 * i + 1, "D", i - 1, None)))
        index = catalog.key_indexes.index("place")
        assert index is not None
        assert len(index.runs) <= 12
    assert found_in_index(project, catalog, PLACE) == {(39, "a"): 1}
    monkeypatch.setattr(merging, "pick", lambda runs: {last for last, _ in runs})
    with catalog.leases.step() as step:
        assert tidy_keys(project, catalog, step.label) > 0
    index = catalog.key_indexes.index("place")
    assert index is not None
    assert sum(run.rows for run in index.runs) == 1
    files = {str(p.relative_to(project.state)) for p in (project.state / "keys").iterdir()}
    catalog.leases.renew()
    gone = catalog.leases.garbage(sorted(files))
    assert {run.path for run in index.runs} <= files - gone


def test_an_index_that_is_built_anew_is_another_version_than_any_before(opened: Open) -> None:
    """Who has judged events by the old one must not take it for that."""
    project, catalog = opened("strict")
    seen = []
    for i in range(3):
        append(project, catalog, 0, f"d{i}", _place((i, "I", i, "a")))
        index = catalog.key_indexes.index("place")
        assert index is not None
        seen.append(index.version)
        catalog.key_indexes.forget("place")
        forgotten = catalog.key_indexes.index("place")
        assert forgotten is None or (forgotten.is_behind and not forgotten.runs)
    assert sorted(set(seen)) == seen
    assert found_in_index(project, catalog, PLACE) == {(0, "a"): 1, (1, "a"): 1, (2, "a"): 1}


def test_another_key_makes_another_index(opened: Open) -> None:
    project, catalog = opened("strict")
    append(project, catalog, 0, "a", _place((0, "I", 1, "a"), (1, "I", 2, "a")))
    other = Relation("place", PLACE.columns, ("name",))
    with catalog.leases.step() as step:
        index = ensure_index(project, catalog, other, step.label)
    assert index.signature == signature(other) != signature(PLACE)
    assert sum(run.rows for run in index.runs) == 1


def test_an_index_of_an_older_format_is_built_anew_by_the_next_append(opened: Open) -> None:
    project, catalog = opened("strict")
    append(project, catalog, 0, "a", _place((0, "I", 1, "Ulm")))
    (run,) = catalog.key_indexes.index("place").runs  # type: ignore[union-attr]
    (project.state / run.path).write_bytes(b"ARROW1: a file of old")
    with catalog.database.engine.begin() as connection:
        connection.execute(update(tables.key_index).values(signature="of old"))
    assert proved(project, catalog, PLACE)  # there is none to prove
    append(project, catalog, 0, "b", _place((1, "I", 1, "Bonn"), (2, "I", 2, "Bonn")))
    assert [kind for kind, *_ in _reasons(project, catalog)] == ["doubled-key"]
    assert found_in_index(project, catalog, PLACE) == net(project, catalog, "place")
    assert proved(project, catalog, PLACE)


def test_the_files_of_runs_that_were_merged_are_let_go_of(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as a process maps a file, the disk keeps its bytes, also if it was deleted."""
    monkeypatch.setattr(merging, "SMALLEST_ROWS", 1)
    monkeypatch.setattr(merging, "FAN", 4)
    project, catalog = opened("strict")
    for i in range(30):
        append(project, catalog, 0, f"d{i}", _place((i, "I", i, "a")))
    index = catalog.key_indexes.index("place")
    assert index is not None
    mapped = {
        line.split("keys/")[-1].split()[0]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if f"{project.state}/keys/" in line
    }
    named = {run.path.removeprefix("keys/") for run in index.runs}
    assert mapped
    assert len(mapped - named) <= 8  # those that were merged by the last append, after it had opened them
