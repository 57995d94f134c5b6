"""One bit of a file of the log, the quarantine or a key index is another: whoever reads it reads what was written, or says which file is damaged."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from cumulus_ops.append import rejected, repeats
from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.rejected import read_rejected
from cumulus_ops.catalog.records import LogFile, QuarantinedRows
from cumulus_ops.compute.reading import read_events
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import shown_rows
from cumulus_ops.files import log_files, new_files
from cumulus_ops.files.columns import OFFSET, SIGN, event_schema
from cumulus_ops.files.log_files import check_file, read_log, verify_log
from cumulus_ops.files.new_files import NewFile
from cumulus_ops.keys import runs as key_runs
from cumulus_ops.keys.building import build
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.maps import packs
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.settings import KeySettings, Project
from cumulus_ops.repair.damage import KEY_INDEX, WRONG
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.validation.run import verify_log_files
from m3.datatypes import DOUBLE, INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.keyed import found_in_index
from tests.support.logs import forget_checksums, forget_written
from tests.support.projects import make_project
from tests.support.runs import small_blocks

#: How many flipped bits are tried; see tests/README.md.
FLIPS = int(os.environ.get("FLIPS", "60"))
COLUMNS = (Column("shop", STRING.with_null()), Column("price", decimal(12, 2)), Column("rate", DOUBLE.with_null()))
ORDERS = Relation("orders", (Column("id", INT), *COLUMNS), ("id",))
PLACES = Relation("places", (Column("name", STRING), *COLUMNS), ("name",))
VIEWS = {"v": "SELECT shop, SUM(price) AS total, COUNT(*) AS n FROM orders GROUP BY shop"}
KEYS = {"orders": KeySettings("upsert"), "places": KeySettings("strict")}
Read = Callable[[], object]
BLOCK_SHIFT, SEED = 6, 7


def land(project: Project, drop: str, first: int, count: int, *, op: str = "I") -> None:
    """Orders and places of which some do not fit."""
    folder = project.landing / "0" / drop
    folder.mkdir(parents=True)
    for relation, key in ((ORDERS, int), (PLACES, "place {}".format)):
        rows = [
            {"op": op, "event": i, relation.columns[0].name: key(i), "shop": ["a", None, "bc"][i % 3], "price": f"{i}.25", "rate": i / 8}
            for i in range(first, first + count)
        ]  # fmt: skip
        rows += [{**rows[0], "event": first + count, "price": "many"}]
        (folder / f"{relation.name}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = make_project(tmp_path, (ORDERS, PLACES), views=VIEWS, coordinators=1)
    project = dataclasses.replace(project, keys=KEYS)
    initialise(project)
    with open_runtime(project) as runtime:
        yield runtime


def apply(rt: Runtime, drop: str, first: int, count: int, **how: str) -> None:
    land(rt.project, drop, first, count, **how)
    assert run_minibatch(rt, 0) is not None


def flip(file: Path, position: int, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1 << bit
    file.write_bytes(data)


@contextmanager
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks so small that small files have many."""
    for module in (log_files, new_files):
        monkeypatch.setattr(module, "BLOCK_BYTES", 1 << BLOCK_SHIFT)
    monkeypatch.setattr(log_files, "AT_ONCE_BYTES", 0)
    monkeypatch.setattr(key_runs, "FENCE_ROWS", 8)
    with small_blocks(BLOCK_SHIFT):
        yield


def forget() -> None:
    """What this process has read before."""
    packs._map_file.cache_clear()
    key_runs._opened.clear()
    forget_written()


def shown(found: object) -> object:
    return repr(found.to_pylist()) if isinstance(found, pa.Table) else found


def log_reads(rt: Runtime, file: LogFile) -> dict[str, Read]:
    """All ways in which a log file is read."""
    root, relation = rt.project.state, next(r for r in rt.project.relations if r.name == file.relation)
    batch, rows = rt.reference(rt.catalog.log.batch(file.batch)), read_log(root, file, event_schema(relation).names)

    def again() -> object:
        known = repeats.split_known(rt.project, rt.catalog, relation, file.source, rows)
        if len(known.rejected):
            assert set(known.rejected["kind"].to_pylist()) == {"not-comparable"}
            raise IntegrityProblem("nobody knows whether it is a repeat", kind="damaged-log", place=file.path)
        return known.repeated, len(known.fresh)

    def index() -> object:
        with rt.catalog.leases.step() as step:
            build(rt.project, rt.catalog, relation, step.label)
        return found_in_index(rt.project, rt.catalog, relation)

    return {
        "apply": lambda: read_events(rt.plan, root, [batch], file.relation),
        "a slice": lambda: read_events(rt.plan, root, [batch], file.relation, (1, 3)),
        "repeats": again,
        "retry": lambda: rejected._read_log_rows(rt.project, file),
        "restamp": lambda: read_log(root, rejected._copy_later(rt.project, file, 4096, "1.1-")),
        "seals": lambda: read_log(root, file, ["shop"]),
        "index": index,
    }


def quarantine_reads(rt: Runtime, file: QuarantinedRows) -> dict[str, Read]:
    relation = next(r for r in rt.project.relations if r.name == file.relation)
    return {
        "show": lambda: shown_rows(rt, file.label, 9)[1],
        "retry": lambda: [raw.columns.to_pylist() for raw in read_rejected(rt.project.state, [file], relation)],
    }


def test_no_flipped_bit_of_a_log_or_quarantine_file_reads_as_other_rows(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with many_blocks(monkeypatch):
        apply(rt, "d1", 0, 40)
        apply(rt, "d2", 40, 3)
        log, rejected = rt.catalog.log.files(), rt.catalog.deliveries.quarantined_rows()
        assert (len(log), len(rejected)) == (4, 4)
        reads = [(file, log_reads(rt, file)) for file in log] + [
            (file, quarantine_reads(rt, file)) for file in rejected
        ]
        right = {(file.path, name): shown(read()) for file, ways in reads for name, read in ways.items()}
        random_, wrong, found = random.Random(SEED), [], 0
        for _ in range(FLIPS):
            file, ways = random_.choice(reads)
            place, name = rt.project.state / file.path, random_.choice([*ways])
            position, bit = random_.randrange(place.stat().st_size), random_.randrange(8)
            forget()
            flip(place, position, bit)
            with pytest.raises(IntegrityProblem) as caught:
                check_file(rt.project.state, file)
            assert (caught.value.kind, caught.value.place) in ((f"damaged-{file.path.partition('/')[0]}", str(place)),)
            if isinstance(file, LogFile):
                with pytest.raises(IntegrityProblem, match=f"rows of {file.relation}, batch {file.batch}, is damaged"):
                    verify_log_files(rt, 0)
            try:
                if shown(ways[name]()) != right[file.path, name]:
                    wrong.append((file.path, name, position, bit))
            except IntegrityProblem:
                found += 1
            flip(place, position, bit)
    assert wrong == []
    assert found > FLIPS // 2


def test_of_a_large_file_only_what_is_read_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "AT_ONCE_BYTES", 0)
    random_, rows = random.Random(SEED), 40_000
    table = pa.table({name: pa.array([random_.getrandbits(60) for _ in range(rows)]) for name in ("a", "b", "c")})
    new = NewFile(tmp_path, "log/r", table.schema)
    for begin in range(0, rows, 9_000):
        new.write(table.slice(begin, 9_000))
    new.close()
    file = LogFile(1, "r", new.path, rows, "0/r", 0, 0, new.checksums)
    assert read_log(tmp_path, file).equals(table)
    unseen = 0
    for _ in range(20):
        position, bit = random_.randrange((tmp_path / file.path).stat().st_size), random_.randrange(8)
        flip(tmp_path / file.path, position, bit)
        with pytest.raises(IntegrityProblem, match=f"block {position >> 16} does not have its checksum"):
            check_file(tmp_path, file)
        try:
            assert read_log(tmp_path, file, ["b"])["b"].equals(table["b"])
            unseen += 1
        except IntegrityProblem:
            pass
        flip(tmp_path / file.path, position, bit)
    assert 0 < unseen < 20


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data[:0], lambda data: data + bytes(1), lambda data: data * 2]
)
def test_a_file_that_is_cut_or_grows_is_damaged(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    table = pa.table({"a": [1, 2, 3]})
    new = NewFile(tmp_path, "log/r", table.schema)
    new.write(table)
    new.close()
    file = LogFile(1, "r", new.path, 3, "0/r", 0, 0, new.checksums)
    (tmp_path / file.path).write_bytes(change((tmp_path / file.path).read_bytes()))
    for read in (read_log, check_file, verify_log):
        with pytest.raises(IntegrityProblem, match="the log file with 3 rows of r, batch 1, is damaged"):
            read(tmp_path, file)
    (tmp_path / file.path).unlink()
    for read in (read_log, check_file, verify_log):
        with pytest.raises(IntegrityProblem, match="is missing"):
            read(tmp_path, file)


def test_no_flipped_bit_of_a_key_index_judges_otherwise(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    with many_blocks(monkeypatch):
        apply(rt, "d1", 0, 40)
        apply(rt, "d2", 30, 20)
        indexes = {
            r: index for r in rt.project.relations if (index := rt.catalog.key_indexes.index(r.name)) is not None
        }
        assert len(indexes) == 2
        right, hints = {r.name: judged(rt, r) for r in indexes}, set()
        random_, wrong, found = random.Random(SEED), [], 0
        for _ in range(FLIPS):
            relation = random_.choice([*indexes])
            run = random_.choice(indexes[relation].runs)
            place, bit = rt.project.state / run.path, random_.randrange(8)
            position = run.offset + random_.randrange(run.bytes)
            forget()
            flip(place, position, bit)
            try:
                if judged(rt, relation) != right[relation.name]:
                    wrong.append((run.path, position, bit))
            except IntegrityProblem as problem:
                hints.add((relation.name, problem.hint))
                found += 1
            flip(place, position, bit)
    assert wrong == []
    assert found > FLIPS // 2
    assert hints == {(r.name, key_runs.hint_for(r.name)) for r in indexes}


def judged(rt: Runtime, relation: Relation) -> object:
    """What is said of some events, and the rows that are there before them."""
    keys = [i if relation.name == ORDERS.name else f"place {i}" for i in (3, 17, 38, 45, 99)]
    rows = [
        {relation.columns[0].name: key, "shop": "z", "price": 1, "rate": None, SIGN: -1, OFFSET: 10**6 + i}
        for i, key in enumerate(keys)
    ]
    with (
        rt.catalog.leases.step() as step,
        KeyStage(rt.project, rt.catalog, 0, rt.catalog.members.position(0)[0], step.label) as stage,
    ):
        table = pa.Table.from_pylist(rows, schema=event_schema(relation))
        resolved = stage.resolve(relation.name, table)
        return resolved.rows.to_pylist(), resolved.rejected.to_pylist()


def test_a_damaged_log_file_is_nobodys_failure_and_a_restored_one_goes_on(rt: Runtime) -> None:
    land(rt.project, "d1", 0, 5)
    append_delivery(rt.project, rt.catalog, 0, rt.sources.pending(0)[0])
    file = next(f for f in rt.catalog.log.files() if f.relation == "orders")
    flip(rt.project.state / file.path, 100, 3)
    forget()
    for _ in range(4):
        with pytest.raises(
            IntegrityProblem, match="log file with 5 rows of orders, batch 1, is damaged: block 0"
        ) as caught:
            run_minibatch(rt, 0)
        assert "cumulus recover" in caught.value.hint
    batch = rt.catalog.log.batch(1)
    assert (batch.state, batch.failures) == ("appended", 0)
    flip(rt.project.state / file.path, 100, 3)
    run_minibatch(rt, 0)
    assert rt.catalog.log.batch(1).state == "applied"


def test_a_damaged_key_index_judges_nothing_and_is_built_anew(rt: Runtime) -> None:
    apply(rt, "d1", 0, 5)
    (run,) = rt.catalog.key_indexes.index("orders").runs  # type: ignore[union-attr]
    flip(rt.project.state / run.path, run.offset + run.bytes // 2, 3)
    forget()
    land(rt.project, "d2", 3, 4)
    for _ in range(2):
        with pytest.raises(IntegrityProblem, match="cumulus keys build orders"):
            run_minibatch(rt, 0)
    assert len(rt.catalog.log.batches()) == 1
    (damage,) = fsck(rt).damages
    assert damage.holds.startswith("key index of orders, ")
    assert damage.row == run
    (rt.project.state / run.path).unlink()
    forget()
    with pytest.raises(IntegrityProblem, match="its file is missing"):
        run_minibatch(rt, 0)
    with rt.catalog.leases.step() as step:
        assert [build(rt.project, rt.catalog, r, step.label).keys for r in (ORDERS, PLACES)] == [0, 0]
    assert run_minibatch(rt, 0) is not None
    assert fsck(rt).proved == ("orders", "places")


def test_a_key_index_that_says_something_else_than_the_log_is_told(rt: Runtime) -> None:
    """Its bytes are what was written; what was written is wrong."""
    apply(rt, "d1", 0, 5)
    (run,) = rt.catalog.key_indexes.index("orders").runs  # type: ignore[union-attr]
    entries = key_runs.open_run(rt.project.state, ORDERS, run).part(0, 5, [c.name for c in ORDERS.columns])
    with rt.catalog.leases.step() as step:
        file = key_runs.KeyFile(rt.project.state, step.label)
        counts = entries.counts.copy()
        counts[2] = 0
        new = file.write(ORDERS, [dataclasses.replace(entries, counts=counts)])
        file.close()
        assert new is not None
        rt.catalog.key_indexes.commit_merge([run], [new])
    report = fsck(rt)
    assert report.proved == ("places",)
    (index,) = report.damages
    assert (index.kind, index.problem) == (KEY_INDEX, WRONG)
    said = index.detail.splitlines()
    assert said[0] == "it does not say what the log says: 1 row differs"
    assert said[1].startswith('  the log has {"id": 2,')
    assert "cumulus recover" in index.hint


def test_files_of_old_have_no_checksums_and_are_read(rt: Runtime) -> None:
    """`cumulus fsck` names them; a damage that Parquet notices is found."""
    apply(rt, "d1", 0, 5)
    forget_checksums(rt.catalog)
    report = fsck(rt)
    assert len(report.without_checksums) == 4
    assert report.damages == ()
    apply(rt, "d2", 5, 2)
    assert len(fsck(rt).without_checksums) == 4
    file = rt.catalog.log.files()[0]
    place = rt.project.state / file.path
    place.write_bytes(place.read_bytes()[:-9])
    (damage,) = fsck(rt).damages
    assert damage.file == file.path
