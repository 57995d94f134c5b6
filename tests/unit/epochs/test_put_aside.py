"""Rows that come again, and what does not fit: where they are found, what is said of them, and what can be done."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import update

from cumulus_ops.append.append import append_delivery
from cumulus_ops.catalog import tables
from cumulus_ops.catalog.records import FileAside, NewFileAside
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import drop_put_aside, put_aside, retry_batch, retry_put_aside, shown_rows
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.query.read import read_view
from m3.datatypes import DATE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation
from tests.support.catalogs import set_aside
from tests.support.projects import make_project

COLUMNS = (
    Column("id", INT),
    Column("price", decimal(12, 2)),
    Column("note", STRING.with_null()),
    Column("day", DATE.with_null()),
    Column("at", TIMESTAMP.with_null()),
)
SALE = Relation("sale", COLUMNS)
VIEWS = {"v": "SELECT SUM(id) AS s, COUNT(*) AS n FROM sale"}
Row = tuple[int | None, str, object]  # event, op, id


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = make_project(tmp_path, (SALE,), views=VIEWS, coordinators=1)
    initialise(project)
    with open_runtime(project) as runtime:
        yield runtime


def land(project: Project, drop: str, *rows: Row, price: str = "1.10", numbered: bool = True) -> Path:
    folder = project.landing / "0" / drop
    folder.mkdir(parents=True)
    lines = [
        {
            "op": op,
            "event": event,
            "id": i,
            "price": price,
            "note": 'a "b"\\\n\u00e9\x01',
            "day": "2026-01-31",
            "at": None,
        }
        for event, op, i in rows
    ]
    kept = [line if numbered else {k: v for k, v in line.items() if k != "event"} for line in lines]
    (folder / "sale.ndjson").write_text("".join(json.dumps(line) + "\n" for line in kept))
    return folder / "sale.ndjson"


def take(rt: Runtime, drop: str, *rows: Row, numbered: bool = True) -> tuple[int, int, int]:
    """(accepted, had come before, quarantined) of a drop."""
    land(rt.project, drop, *rows, numbered=numbered)
    report = run_minibatch(rt, 0)
    assert report is not None
    assert report.drop == drop
    return report.events, report.duplicates, report.quarantined


def reasons(rt: Runtime) -> dict[str, int]:
    return put_aside(rt).reasons


def answer(rt: Runtime) -> tuple[object, object]:
    while run_minibatch(rt, 0) is not None:
        pass
    (row,) = read_view(rt, "v", tentative=True).to_pylist()
    return row["s"], row["n"]


def log(rt: Runtime) -> list[tuple[int, int, int]]:
    tables = [pq.read_table(rt.project.state / f.path) for f in rt.catalog.log.files()]
    return [(r["_offset"], r["_sign"], r["id"]) for t in tables for r in t.to_pylist()]


def test_the_same_rows_are_repeats_whatever_their_order_in_the_event(rt: Runtime) -> None:
    first: list[Row] = [(1, "I", 10), (2, "D", 10), (2, "I", 11), (2, "I", 11)]
    assert take(rt, "d1", *first) == (4, 0, 0)
    assert take(rt, "d2", (1, "I", 10), (2, "I", 11), (2, "D", 10), (2, "I", 11), (3, "I", 5)) == (1, 4, 0)
    assert take(rt, "d3", (2, "I", 11), (2, "D", 10), (3, "I", 5)) == (0, 1, 2), "a row of event 2 is missing"
    assert reasons(rt) == {"number-used": 2}
    assert [(r.delivery, r.rows) for r in put_aside(rt).repeats] == [("d2", 4), ("d3", 1)]


def test_another_row_under_an_old_number_is_shown_with_the_old_one(rt: Runtime) -> None:
    take(rt, "d1", (1, "I", 10), (2, "I", 20), (3, "I", 30))
    assert take(rt, "d2", (2, "I", 21), (4, "I", 40)) == (1, 0, 1)
    label = put_aside(rt).rows[0].label
    _, (shown,) = shown_rows(rt, label, 5)
    assert shown["kind"] == "number-used"
    for words in ("event 2", "batch 1 (drop d1)", '"id": 20'):
        assert words in str(shown["reason"])
    record = json.loads(str(shown["record"]))
    assert (record["id"], record["op"], record["event"], record["price"]) == (21, "I", 2, "1.10")
    assert record["note"] == 'a "b"\\\n\u00e9\x01'


def test_the_rest_of_an_event_that_was_split_has_its_own_reason(rt: Runtime) -> None:
    take(rt, "d1", (1, "I", 10), (2, "D", 10))
    assert take(rt, "d2", (2, "I", 11), (3, "I", 30)) == (1, 0, 1)
    assert reasons(rt) == {"split-event": 1}


def test_a_source_that_counts_anew_is_told_of_loudly_and_can_be_counted(
    rt: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    take(rt, "d1", *((e, "I", e) for e in range(20)))
    assert take(rt, "d2", *((e, "I", 100 + e) for e in range(20))) == (0, 0, 20)
    assert reasons(rt) == {"numbers-restarted": 20}
    assert "count anew" in "\n".join(caplog.messages)
    assert "--as-new" in "\n".join(caplog.messages)
    assert answer(rt) == (190, 20)
    (retried,) = retry_put_aside(rt, [put_aside(rt).rows[0].label], as_new=True)
    assert (retried.accepted, retried.rejected) == (20, 0)
    assert answer(rt) == (190 + 2190, 40)
    assert not put_aside(rt).rows


def test_a_batch_that_was_retried_is_in_the_log_once(rt: Runtime) -> None:
    rows: list[Row] = [(1, "I", 10), (2, "I", 20)]
    land(rt.project, "d1", *rows)
    (batch,) = append_delivery(rt.project, rt.catalog, 0, rt.sources.pending(0)[0])
    for attempt in range(2):
        set_aside(rt.catalog, batch, "to see what repeats are compared with")
        assert take(rt, f"aside-{attempt}", *rows) == (0, 2, 0)
        batch = retry_batch(rt, batch).id
    assert answer(rt) == (30, 2)
    assert take(rt, "again", *rows) == (0, 2, 0)


def test_events_without_numbers_are_told_apart_by_their_drops(rt: Runtime) -> None:
    assert take(rt, "d1", (None, "I", 1), (None, "I", 1), numbered=False) == (2, 0, 0)
    assert take(rt, "d2", (None, "I", 1), (None, "I", 2), numbered=False) == (2, 0, 0)
    assert take(rt, "d3", (0, "I", 7)) == (1, 0, 0), "numbers have nothing to do with them"
    assert take(rt, "d4", (None, "I", 1), (None, "I", 1), numbered=False) == (0, 0, 0), "a copy of d1"
    offsets = [offset for offset, _, _ in log(rt)]
    assert len(set(offsets)) == 5
    assert all(offset < 0 for offset in offsets[:4])
    (copy,) = put_aside(rt).files
    assert (copy.kind, copy.delivery) == ("repeated-drop", "d4")
    assert "d1" in copy.reason
    retry_put_aside(rt, [copy.label])
    assert answer(rt) == (14, 7)


def test_rows_are_retried_when_the_settings_are_mended(rt: Runtime) -> None:
    land(rt.project, "d1", (1, "I", 1), (2, "I", 2), (2, "D", 1), price="1.105")
    run_minibatch(rt, 0)
    label = put_aside(rt).rows[0].label
    (again,) = retry_put_aside(rt, [label])
    assert (again.accepted, again.rejected) == (0, 3)
    with pytest.raises(InputProblem, match="is retried"):
        retry_put_aside(rt, [label])
    (row,) = put_aside(rt).rows
    columns = (Column("id", INT), Column("price", decimal(12, 3)), *COLUMNS[2:])
    mended = dataclasses.replace(rt.project, relations=(Relation("sale", columns),))
    retry_put_aside(dataclasses.replace(rt, project=mended), [row.label])
    assert sorted(log(rt)) == [(1, 1, 1), (2, -1, 1), (2, 1, 2)]


def test_rows_without_numbers_are_retried_whatever_they_were_rejected_for(tmp_path: Path) -> None:
    """One for a value, one for its key: what is mended is accepted, and takes no other with it."""
    project = make_project(tmp_path, (dataclasses.replace(SALE, key=("id",)),), views=VIEWS, coordinators=1)
    project = dataclasses.replace(project, keys={"sale": KeySettings("strict")})
    initialise(project)
    with open_runtime(project) as rt:
        first: list[Row] = [(None, "I", 1), (None, "D", 2), (None, "I", "x")]
        assert take(rt, "d1", *first, numbered=False) == (1, 0, 2)
        assert "event" not in str(shown_rows(rt, put_aside(rt).rows[0].label, 5)[1])
        assert take(rt, "d2", (None, "I", 2), numbered=False) == (1, 0, 0)
        (done,) = retry_put_aside(rt, [put_aside(rt).rows[0].label])
        assert (done.accepted, done.rejected, reasons(rt)) == (1, 1, {"not-an-int": 1})
        assert answer(rt) == (1, 1)


def test_a_file_without_rows_is_no_copy_of_another(rt: Runtime) -> None:
    for drop in ("d1", "d2"):
        folder = rt.project.landing / "0" / drop
        folder.mkdir(parents=True)
        (folder / "sale.csv").write_text("op,id,price\n")
        assert run_minibatch(rt, 0) is not None
    assert put_aside(rt).files == ()


def test_rows_from_before_reasons_had_kinds_are_decided_like_others(rt: Runtime) -> None:
    land(rt.project, "d1", (1, "?", 1))
    run_minibatch(rt, 0)
    (row,) = put_aside(rt).rows
    file = rt.project.state / row.path
    pq.write_table(pq.read_table(file).select(["reason", "row", "record"]), file)
    with rt.catalog.database.engine.begin() as connection:
        connection.execute(update(tables.quarantine).values(reasons="{}", source="", checksums=None))
    assert [(g.kind, g.rows, g.label) for g in put_aside(rt).groups] == [("unknown", 1, row.label)]
    assert shown_rows(rt, row.label, 1)[1][0]["kind"] == "unknown"
    assert [(r.accepted, r.rejected) for r in retry_put_aside(rt, [row.label])] == [(0, 1)]


def test_what_was_retried_is_told_although_a_later_one_fails(rt: Runtime) -> None:
    for number, drop in enumerate(("d1", "d2")):
        folder = land(rt.project, drop, (number, "I", 1)).parent
        (folder / "sale.csv").write_text(f"nonsense {number}\n")
    while run_minibatch(rt, 0) is not None:
        pass
    first, second = (f for f in put_aside(rt).files if Path(f.place).name == "sale.csv")
    Path(first.place).write_text("op,event,id,price\nI,12,5,1.00\n")
    told: list[list[str]] = []
    with pytest.raises(InputProblem):
        retry_put_aside(rt, [first.label, second.label], on_retried=lambda one: told.append([*one.labels]))
    assert told == [[first.label]]
    assert second.label in {f.label for f in put_aside(rt).files}


def test_a_file_is_retried_when_it_is_mended(rt: Runtime) -> None:
    file = land(rt.project, "d1", (1, "I", 1))
    good = file.read_text()
    (file.parent / "sale.csv").write_text("nonsense\n")
    run_minibatch(rt, 0)
    files = {Path(f.place).name: f for f in put_aside(rt).files}
    assert {name: f.kind for name, f in files.items()} == {"sale.csv": "no-header", "sale.ndjson": "doubled-file"}
    with pytest.raises(InputProblem) as caught:
        retry_put_aside(rt, [files["sale.csv"].label])
    assert caught.value.kind == "no-header"
    (file.parent / "sale.csv").write_text("op,event,id,price\nI,2,5,1.00\n")
    (done,) = retry_put_aside(rt, [files["sale.csv"].label])
    assert (done.accepted, answer(rt)) == (1, (5, 1))
    assert file.read_text() == good
    retry_put_aside(rt, [files["sale.ndjson"].label])
    assert answer(rt) == (6, 2)
    with open_runtime(rt.project) as other:  # it looks whether the drop is what it was
        assert answer(other) == (6, 2)
    assert put_aside(rt).files == ()


@pytest.mark.parametrize("place", ["source s, 0/1 to 0/2", "elsewhere/changes/1.ndjson"])
def test_what_is_no_file_of_a_drop_cannot_be_retried(rt: Runtime, tmp_path: Path, place: str) -> None:
    if "/changes/" in place:
        file = tmp_path / place
        file.parent.mkdir(parents=True)
        file.write_text("{}\n")
        place = str(file)
    rt.catalog.deliveries.set_files_aside([NewFileAside(0, "s-1", "sale", place, "missing-column", "lacks id", "")])
    with pytest.raises(InputProblem) as caught:
        retry_put_aside(rt, [put_aside(rt).files[0].label])
    assert caught.value.kind == "no-drop"


def test_what_is_dropped_never_counts(rt: Runtime) -> None:
    file = land(rt.project, "d1", (1, "?", 1))
    (file.parent / "nothing.txt").write_text("x")
    run_minibatch(rt, 0)
    found = put_aside(rt)
    labels = [found.rows[0].label, found.files[0].label]
    now = status(rt)
    assert (now.quarantined, now.files_aside, now.epochs[0].quarantined, now.epochs[0].files_aside) == (1, 1, 1, 1)
    assert [one.label for one in drop_put_aside(rt, [label.lower() for label in labels])] == labels
    assert drop_put_aside(rt, labels)
    with pytest.raises(InputProblem, match="is dropped"):
        retry_put_aside(rt, labels[:1])
    for wrong in ("R99", "7", "F"):
        with pytest.raises(InputProblem) as caught:
            shown_rows(rt, wrong, 3)
        assert caught.value.kind == "not-aside"
    assert (put_aside(rt).rows, put_aside(rt).files) == ((), ())
    assert {f.state for f in put_aside(rt, everything=True).files if isinstance(f, FileAside)} == {"dropped"}
    assert (status(rt).quarantined, status(rt).files_aside) == (0, 0)
