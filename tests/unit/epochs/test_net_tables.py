"""Net tables hold what remains of a relation, are made when that pays, and go when no snapshot needs them."""

from __future__ import annotations

import dataclasses
import datetime
import os
import signal
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from cumulus_ops.catalog.records import LogFile, Validation
from cumulus_ops.epochs import checkpoint
from cumulus_ops.epochs.checkpoint import collect_garbage, commit
from cumulus_ops.epochs.compacting import compact
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.files import net_tables
from cumulus_ops.files.log_files import read_log
from cumulus_ops.files.net_tables import choose_base_files, net_rows, write_net_table
from cumulus_ops.files.new_files import NewFile, hash_rows
from cumulus_ops.maps.hashes import PRIME
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.processes import COMPACT_POINTS
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.validation.run import WHOLE_EVERY, _judge_nets, choose_bases, whole_every
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation
from tests.support.children import start, wait
from tests.support.projects import Event, append_events, log_table, make_project
from tests.support.sampling import sampled

EVERY = Relation(
    "every",
    (
        Column("i", INT.with_null()),
        Column("narrow", decimal(9, 2).with_null()),
        Column("wide", decimal(38, 3).with_null()),
        Column("text", STRING.with_null()),
        Column("day", DATE.with_null()),
        Column("moment", TIMESTAMP.with_null()),
        Column("flag", BOOL.with_null()),
        Column("x", DOUBLE.with_null()),
    ),
)
VALUES = (
    (1, None, -(2**62)),
    (Decimal("1.25"), None, Decimal("-7.00")),
    (Decimal(10**34), None, Decimal("0.001")),
    ("", "ä", None),
    (datetime.date(1969, 1, 1), None),
    (datetime.datetime(2026, 1, 1, 1, 1, 1, 7), None),
    (True, False, None),
    (0.0, -1.5, None, float("inf")),
)


def _files(root: Path, random: Random, count: int) -> list[LogFile]:
    """Log files of a random stream: many rows come several times, and some are deleted more often than inserted."""
    found = []
    for number in range(count):
        stamped = [
            (i, random.choice((1, 1, -1)), tuple(random.choice(values) for values in VALUES))
            for i in range(random.randint(0, 300))
        ]
        table = log_table(EVERY, number, 0, stamped)
        file = NewFile(root, "log/every", table.schema)
        file.write(table)
        file.close()
        found.append(LogFile(number, "every", file.path, len(table), "", 0, 0, file.checksums))
    return found


def _by_duckdb(root: Path, files: list[LogFile]) -> list[tuple[object, ...]]:
    names = ", ".join(c.name for c in EVERY.columns)
    log = pa.concat_tables(
        [read_log(root, f, [*(c.name for c in EVERY.columns), "_sign"]).cast(_plain(root, files)) for f in files]
    )
    database = duckdb.connect()
    database.register("log", log)
    query = f"SELECT {names}, SUM(_sign)::BIGINT FROM log GROUP BY {names} HAVING SUM(_sign) <> 0"
    return sorted(database.execute(query).fetchall(), key=repr)


def _plain(root: Path, files: list[LogFile]) -> pa.Schema:
    types = {
        "i": pa.int64(),
        "narrow": pa.decimal128(9, 2),
        "wide": pa.decimal128(38, 3),
        "text": pa.string(),
        "day": pa.date32(),
    }
    types |= {"moment": pa.timestamp("us"), "flag": pa.bool_(), "x": pa.float64(), "_sign": pa.int8()}
    return pa.schema(list(types.items()))


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_net_rows_are_those_of_duckdb(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    files = _files(tmp_path, random, 5)
    expected = _by_duckdb(tmp_path, files)
    assert any(row[-1] < 0 for row in expected)
    for rows in (10**6, 100):  # at once; and by ranges of hashes
        first = write_net_table(tmp_path, EVERY, files[:3], None, 2, rows)
        both = write_net_table(tmp_path, EVERY, [first.file, *files[3:]], 2, 4, rows)
        assert _by_duckdb(tmp_path, [both.file]) == expected
        assert both.total == sum(hash_rows(read_log(tmp_path, f)) for f in files) % PRIME
        assert both.total == hash_rows(read_log(tmp_path, both.file))
        assert both.rows == sum(abs(row[-1]) for row in expected) == len(read_log(tmp_path, both.file))
        assert set(read_log(tmp_path, both.file, ["_version"])["_version"].to_pylist()) == {epoch_end(4)}
        parts = [net_rows(tmp_path, EVERY, files, rows, (i, 7)) for i in range(7)]
        assert sum(map(len, parts)) == len(expected)
        assert max(map(len, parts)) < len(expected)


def test_nothing_remains(tmp_path: Path) -> None:
    row = tuple(values[0] for values in VALUES)
    table = log_table(EVERY, 0, 0, [(0, 1, row), (1, -1, row)])
    file = NewFile(tmp_path, "log/every", table.schema)
    file.write(table)
    file.close()
    net = write_net_table(tmp_path, EVERY, [LogFile(0, "every", file.path, 2, "", 0, 0, file.checksums)], None, 0, 100)
    assert net.rows == len(read_log(tmp_path, net.file)) == 0


R, S = Relation("r", (Column("a", INT), Column("b", INT))), Relation("s", (Column("a", INT),))
VIEWS = {"v": "SELECT r.a, SUM(b) AS b FROM r, s WHERE r.a = s.a GROUP BY r.a"}


@pytest.fixture
def rt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A project in which net tables pay soon."""
    monkeypatch.setattr(net_tables, "LEAST_ROWS", 20)
    monkeypatch.setattr(net_tables, "FILE_ROWS", 1)
    project = make_project(tmp_path, (R, S), views=VIEWS, coordinators=1, retain=2)
    project = dataclasses.replace(project, epoch=dataclasses.replace(project.epoch, pin=2))
    initialise(project)
    with open_runtime(project) as found:
        yield found


def play_epoch(rt: Runtime, epoch: int) -> None:
    """Twenty rows of ``r`` take the place of those of the epoch before; ``s`` gets one."""
    new: list[Event] = [("r", 1, (i, epoch)) for i in range(20)]
    old: list[Event] = [("r", -1, (i, epoch - 1)) for i in range(20)] if epoch else []
    apply_batch(rt, append_events(rt, 0, [*new, *old, ("s", 1, (epoch,))], f"d{epoch}"))
    vote(rt, 0, epoch)
    commit(rt, epoch)


def _rows_read(rt: Runtime, epoch: int) -> int:
    return sum(
        file.rows
        for file in choose_base_files(rt.project.state, rt.catalog, epoch, (R, S)).files
        if file.relation == "r"
    )


def test_reading_stays_in_proportion_to_the_table(rt: Runtime) -> None:
    """For a deployment, and for a validation, but for those rare ones that read it all; and for what it has to prove, if it proves what there is."""
    read, validated, proved = [], [], []
    for epoch in range(40):
        play_epoch(rt, epoch)
        read.append(_rows_read(rt, epoch))
        bases = choose_bases(rt, epoch)
        is_whole = epoch == 0 or "whole" in bases.remark
        assert not is_whole or epoch % WHOLE_EVERY == 0
        if is_whole:
            assert bases.rows == sum(file.rows for file in rt.catalog.log.files())
        else:
            validated.append(bases.rows - epoch)  # `s` only grows
            proved.append(sum(len(net.sources) for net in bases.nets if net.relation == "r"))
        _judge_nets(rt, bases.nets, ())
        rt.catalog.results.record_validation(Validation(epoch, "passed", (), "", 0.0))
    whole = sum(file.rows for file in rt.catalog.log.files())
    every = whole_every(
        sum(file.rows for file in choose_base_files(rt.project.state, rt.catalog, 39, (R, S)).files), whole
    )
    assert every > 2 * WHOLE_EVERY, "that often it would be most of what validations read"
    for number in range(40, every):
        rt.catalog.results.record_validation(Validation(number, "passed", (), "", 0.0))
    last = choose_bases(rt, 39)
    assert (last.rows, last.remark) == (whole, f"recomputed from the whole event log, as every {every}th time")
    assert max(read[10:]) <= max(read[:10]) <= 5 * 20
    assert max(validated[10:]) <= max(validated[:10])
    assert max(proved) <= 3
    assert all(net.proved for net in rt.catalog.net_tables.all() if net.relation == "r")
    assert len([net for net in rt.catalog.net_tables.all() if net.relation == "r"]) <= 3
    files = {str(f.relative_to(rt.project.state)) for f in (rt.project.state / "net").rglob("*.parquet")}
    kept = {net.path for net in rt.catalog.net_tables.all()}
    assert kept <= files
    assert len(files - kept) <= 2  # what was replaced just now goes with the next commit


def test_each_readable_snapshot_has_what_it_consists_of(rt: Runtime) -> None:
    for epoch in range(12):
        play_epoch(rt, epoch)
        for old in range(rt.catalog.snapshots.oldest_readable(), epoch + 1):
            chosen = choose_base_files(rt.project.state, rt.catalog, old, (R, S))
            assert chosen.nets or old < 2
            net = net_rows(rt.project.state, R, [f for f in chosen.files if f.relation == "r"], 10**6)
            assert sorted(map(tuple, (r.values() for r in net.to_pylist()))) == [(i, old, 1) for i in range(20)]


def test_what_is_set_aside_is_not_in_it(rt: Runtime) -> None:
    lost = append_events(rt, 0, [("r", 1, (7, 7))] * 30, "lost")
    rt.catalog.asides.set_aside_dead(lost, "x", 0.0)
    play_epoch(rt, 0)
    play_epoch(rt, 1)
    (net,) = [net for net in rt.catalog.net_tables.all() if net.relation == "r"]
    assert net.rows == 20


def test_one_that_is_damaged_is_not_used(rt: Runtime) -> None:
    for epoch in range(3):
        play_epoch(rt, epoch)
    right = _rows_read(rt, 2)
    for net in rt.catalog.net_tables.all():
        file = rt.project.state / net.path
        file.write_bytes(file.read_bytes()[:-9] + b"X" + file.read_bytes()[-8:])
    assert _rows_read(rt, 2) == 100 > right
    assert not rt.catalog.net_tables.all()
    compact(rt)
    assert _rows_read(rt, 2) == 20


def test_of_two_one_counts(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "compact_when_due", lambda _: None)
    for epoch in range(3):
        play_epoch(rt, epoch)
    files = [f for f in choose_base_files(rt.project.state, rt.catalog, 2, (R, S)).files if f.relation == "r"]
    one, two = (write_net_table(rt.project.state, R, files, None, 2, 10**6) for _ in range(2))
    rt.catalog.net_tables.put(one, None)
    with pytest.raises(Conflict):
        rt.catalog.net_tables.put(two, None)
    assert rt.catalog.net_tables.all() == [one]


def _play(folder: Path, fault: str, epochs: int) -> None:
    """In a child."""
    net_tables.LEAST_ROWS, net_tables.FILE_ROWS = 20, 1
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(make_project(folder, (R, S), views=VIEWS, coordinators=1, retain=2)) as rt:
        for epoch in range(rt.catalog.snapshots.newest() + 1, epochs):
            play_epoch(rt, epoch)
        commit(rt, epochs - 1)


@pytest.mark.parametrize("fault", sampled(COMPACT_POINTS, 2))
def test_whoever_is_killed_leaves_nothing_wrong(tmp_path: Path, fault: str) -> None:
    project = make_project(tmp_path, (R, S), views=VIEWS, coordinators=1, retain=2)
    initialise(project)
    assert wait(start(_play, tmp_path, fault, 3)) == -signal.SIGKILL
    assert wait(start(_play, tmp_path, "", 3)) == 0
    with open_runtime(project) as rt:
        chosen = choose_base_files(project.state, rt.catalog, 2, (R, S))
        assert "r" in chosen.nets
        net = net_rows(project.state, R, [f for f in chosen.files if f.relation == "r"], 10**6)
        assert sorted(map(tuple, (r.values() for r in net.to_pylist()))) == [(i, 2, 1) for i in range(20)]
        collect_garbage(rt)
        rt.catalog.leases.forget_retired()
