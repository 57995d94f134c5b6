"""Every pair of catalog operations, statement by statement, on two real PostgreSQL connections.

Whatever the interleaving, the database and what both operations return are those of one after the other. So one rule stands for
all: no batch is lost, each is applied once, a snapshot's batches are complete. Statements are given turns by
:mod:`tests.support.interleaving`.

By default schedules with up to two preemptions are played, a few for each second pair, and for each fourth one of what is usual or set aside. For more::

    WHOLE=1 INTERLEAVINGS=1000 PREEMPTIONS=4 pytest tests/e2e/test_transaction_interleavings.py
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from cumulus_ops.catalog.asides import FAILURES
from cumulus_ops.catalog.backups import LastBackup
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import (
    Advance,
    HistoryEntry,
    Intake,
    KeyChange,
    KeyIndex,
    LogFile,
    NewBatch,
    NewFileAside,
    NewKeyRun,
    NewQuarantine,
    Run,
    SharedClock,
    Snapshot,
    Step,
    Taken,
    TakenFile,
    Validation,
    ViewError,
)
from cumulus_ops.catalog.repairs import KnownDamage
from cumulus_ops.catalog.revisions import Changes
from cumulus_ops.catalog.tables import metadata
from cumulus_ops.catalog.values import SealChange, Sealing
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.versions import epoch_end
from tests.support.catalogs import NOBODY, PROGRAM, append, new_run
from tests.support.interleaving import Actor, Operation, Played, Watch, explore, play
from tests.support.sampling import WHOLE, sampled
from tests.support.services import postgresql

pytestmark = pytest.mark.postgres
LIMIT = int(os.environ.get("INTERLEAVINGS", "4"))
PREEMPTIONS = int(os.environ.get("PREEMPTIONS", "2"))
#: Of times nothing is asked; the others are numbers that a rolled back transaction may have skipped.
IGNORED = {
    *("voted_at", "sealed_at", "committed_at", "recorded_at", "validated_at", "expires", "ends_at", "covers"),
    *("first_seen", "registered_at", "made_at", "found_at", "begun_at"),
}
#: By the one clock all epochs are over, by the other they last for long.
PAST = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
FUTURE = Rhythm(datetime.datetime(3020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
NONE = datetime.timedelta(0)


@dataclass
class World:
    """A database in a state from which operations begin, and what they would know of it."""

    url: str
    engine: Engine
    watch: Watch
    actors: tuple[Actor, ...]
    pending: int = 0
    aside: int = 0
    rejected: int = 0
    file: int = 0
    read_at: int = 0
    last: int = 0
    clocks: Sequence[SharedClock] = ()
    entries: Sequence[HistoryEntry] = ()
    mergeable: Sequence[Run] = ()
    refreshed: int = 0
    lease: Any = None
    keys: KeyIndex | None = None

    def run(self, statements: str) -> None:
        with self.engine.begin() as connection:
            connection.exec_driver_sql(statements)

    def save(self) -> None:
        """Remember the state of all tables."""
        tables = [t.name for t in metadata.sorted_tables]
        copies = (f'CREATE TABLE saved."{name}" AS SELECT * FROM public."{name}"' for name in tables)
        self.run("; ".join(["DROP SCHEMA IF EXISTS saved CASCADE; CREATE SCHEMA saved", *copies]))

    def restore(self) -> None:
        """Go back to it."""
        tables = [t.name for t in metadata.sorted_tables]
        back = (f'DELETE FROM "{n}"; INSERT INTO "{n}" SELECT * FROM saved."{n}"' for n in tables)
        self.run("; ".join(back))

    def contents(self) -> dict[str, list[tuple[object, ...]]]:
        """All rows; a batch is called by its drop, whatever its number, and its clock by what it says."""
        tables = [t.name for t in metadata.sorted_tables]
        rows: dict[str, list[dict[str, object]]] = {name: [] for name in tables}
        query = " UNION ALL ".join(f"SELECT '{n}', to_jsonb(x) FROM \"{n}\" x" for n in tables)
        for name, row in self.watch.connection.exec_driver_sql(query):
            rows[name].append(row)
        names = {r["id"]: (r["coordinator"], r["drop"], r["part"]) for r in rows["batch"]}
        clocks = {r["id"]: (r["prefix"], r["exceptions"]) for r in rows["reading_clock"]}
        values = {r["id"]: (r["seal"], r["value"]) for r in rows["seal_value"]}
        for row in rows["seal_producer"]:
            row |= {"value": values[row["value"]], "is_sealed": row["sealed_at"] is not None}
        for row in rows["seal_value"]:  # at which batch, the order of batches says, which need not be that of commits
            row["closed_at"] = row["closed_at"] is not None
        for row in rows["batch"]:
            row["clock"] = clocks.get(row["clock"])
        return {name: sorted((_plain(name, row, names) for row in found), key=repr) for name, found in rows.items()}


def _plain(table: str, row: dict[str, object], names: Mapping[object, object]) -> tuple[object, ...]:
    kept = {c: names.get(v, v) if c == "batch" else v for c, v in row.items() if c not in IGNORED}
    if table == "batch":
        kept["retry_of"] = names.get(row["retry_of"])
    if table == "member":
        kept["awaited_since"] = row["awaited_since"] is not None
    if table in (
        "batch",
        "lease",
        "run",
        "log_file",
        "quarantine",
        "reading_clock",
        "key_run",
        "net_table",
        "delivery",
        "file_aside",
        "seal_value",
        "damage",
    ):
        del kept["id"]
    return tuple(kept.items())


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with postgresql() as server:
        url = server.create_database("interleaved")
        engine = create_engine(url)
        catalog = Catalog(url)
        catalog.database.migrate()
        actors = tuple(Actor(url) for _ in range(3))
        world = World(url, engine, Watch(engine), actors)
        yield world
        for actor in actors:
            actor.close()
        catalog.close()
        world.watch.connection.close()
        engine.dispose()


def _apply(catalog: Catalog, coordinator: int, drop: str, epoch: int) -> None:
    batch = append(catalog, coordinator, drop)
    path = f"runs/{coordinator}-{drop}.pack"
    assert catalog.commits.commit_apply(
        batch, catalog.commits.begin_apply(batch, NOBODY), [new_run("m", epoch, path=path)], 0.0
    )


def _correct(catalog: Catalog) -> None:
    at = catalog.commits.last_commit()
    catalog.commits.commit_correction(catalog.commits.clocks(at), at, (), {})
    catalog.commits.commit_refresh(catalog.commits.refreshed(), at, (), {})


def _snapshot(catalog: Catalog, epoch: int) -> Snapshot:
    return Snapshot(epoch, epoch_end(epoch), catalog.commits.last_commit(), 0, 0.0)


#: A step of a process that did not renew its lease for long, though it may be only slow.
SLOW = Step(1, 0)


def prepare(world: World, sealed: int, *, pending: bool = True) -> None:
    """Epoch 0 is a snapshot, epoch 1 is sealed by ``sealed`` of three coordinators. With ``pending``, a slow process has announced
    a batch of the last one, and, while the epoch is open, another one has to be corrected and refreshed."""
    names = ", ".join(f'"{t.name}"' for t in metadata.sorted_tables)
    world.run(f"TRUNCATE {names} RESTART IDENTITY")
    catalog = Catalog(world.url)
    catalog.program.register(dataclasses.replace(PROGRAM, refreshed=0))
    for c in range(3):
        _apply(catalog, c, "first", 0)
    for c in range(3):
        catalog.votes.vote(c, 0)
    _correct(catalog)
    catalog.snapshots.checkpoint(_snapshot(catalog, 0))
    world.rejected, world.file = _put_aside(catalog)
    for c in range(3):
        _apply(catalog, c, "second", 1)
    _correct(catalog)
    catalog.commits.commit_merge(
        [(catalog.commits.mergeable(catalog.commits.last_commit())[:2], [new_run("m", path="runs/merged.pack")])]
    )
    for c in range(sealed):
        catalog.votes.vote(c, 1)
    for lease in (catalog.leases._take(), catalog.leases._take()):
        world.lease = world.lease if lease.id > SLOW.lease else lease
    world.aside = append(catalog, 2, "bad")
    catalog.asides.set_aside_dead(world.aside, "x", 0.0)
    if pending:
        world.pending = append(catalog, 2, "third")
        world.read_at = catalog.commits.begin_apply(world.pending, SLOW)
        for _ in range(FAILURES - 1):
            catalog.asides.count_failure(world.pending, "x")
    if pending and sealed < 3:
        _apply(catalog, 1, "fourth", 1)
    else:
        _correct(catalog)
    world.last = catalog.commits.last_commit()
    world.clocks, world.entries = catalog.commits.clocks(world.last), catalog.commits.live_history(world.last)
    world.mergeable = catalog.commits.mergeable(world.last)[:2]
    catalog.key_indexes.put("r", "s", catalog.key_indexes.log("r")[0], [_key_run("a"), _key_run("b")], None)
    world.keys = catalog.key_indexes.index("r")
    catalog.net_tables.put(_net_table("first", None), None)
    world.refreshed = catalog.commits.refreshed()
    catalog.close()
    world.run(f"UPDATE lease SET holder = 'slow', expires = 0 WHERE id = {SLOW.lease}")
    world.run(
        f"UPDATE lease SET expires = 1e12 WHERE id <> {SLOW.lease}"
    )  # on a slow machine they would lapse half-way
    world.run("INSERT INTO source_position VALUES ('begun', 'here')")
    world.run("UPDATE member SET awaited_since = 0 WHERE coordinator = 2")
    world.save()


Make = Callable[[World], Operation]


def _append(coordinator: int, drop: str, step: Step = NOBODY) -> Make:
    def make(world: World) -> Operation:
        catalog = Catalog(world.url)
        at = catalog.members.position(coordinator)
        catalog.close()

        def operation(catalog: Catalog) -> object:
            append(catalog, coordinator, drop, at=at, step=step)
            return None

        return operation

    return make


def _deliver(coordinator: int, begin: str | None) -> Make:
    """What a source hands over that is at a position, or begins."""

    def make(world: World) -> Operation:
        catalog = Catalog(world.url)
        epoch, sequence = catalog.members.position(coordinator)
        catalog.close()
        new = NewBatch(coordinator, f"from {begin}", epoch, sequence, sequence + 1, 1, 0, 0, 0, (), ())
        advance = Advance("begun" if begin else "new", begin, f"after {coordinator}")

        def operation(catalog: Catalog) -> None:
            catalog.log.append([new], advance)

        return operation

    return make


def _take(world: World) -> Operation:
    """Without the thread that renews it."""

    def operation(catalog: Catalog) -> object:
        return catalog.leases._take().floor

    return operation


def _renew(world: World) -> Operation:
    """The slow process awakes."""

    def operation(catalog: Catalog) -> None:
        catalog.leases._lease = dataclasses.replace(world.lease, steps={})
        catalog.leases.renew()

    return operation


def _retry(world: World) -> Operation:
    """The events of the batch that is set aside, stamped again."""
    catalog = Catalog(world.url)
    epoch, sequence = catalog.members.position(2)
    catalog.close()
    new = NewBatch(2, "bad", epoch, sequence, sequence + 1, 1, 0, 0, 0, (), (), 1, world.aside)

    def operation(catalog: Catalog) -> None:
        catalog.log.append([new])

    return operation


def _key_run(name: str) -> NewKeyRun:
    return NewKeyRun("r", f"keys/{name}.keys", 0, 100, 1, 0, 0)


def _append_keys(coordinator: int, drop: str) -> Make:
    """What was judged by the key index."""

    def make(world: World) -> Operation:
        catalog = Catalog(world.url)
        epoch, sequence = catalog.members.position(coordinator)
        catalog.close()
        file = LogFile(0, "r", f"log/r/{coordinator}-{drop}.parquet", 1, f"{coordinator}/r", 0, 0)
        new = NewBatch(coordinator, drop, epoch, sequence, sequence + 1, 1, 0, 0, 0, (file,), ())

        def operation(catalog: Catalog) -> None:
            catalog.log.append([new], None, _change(world, drop))

        return operation

    return make


def _net_table(name: str, base: int | None) -> NetTable:
    return NetTable("r", 0, base, "[]", f"net/r/{name}.parquet", 1, "")


def _change(world: World, name: str) -> list[KeyChange]:
    assert world.keys is not None
    return [KeyChange("r", world.keys.version, "s", (_key_run(name),))]


def _merge_keys(world: World) -> Operation:
    assert world.keys is not None
    runs = world.keys.runs
    return lambda catalog: catalog.key_indexes.commit_merge(runs, [_key_run("merged")])


def _build_keys(world: World) -> Operation:
    keys = world.keys
    assert keys is not None
    return lambda catalog: catalog.key_indexes.put("r", "s", keys.covers, [_key_run("built")], keys)


def _put_aside(catalog: Catalog) -> tuple[int, int]:
    """Quarantined rows, and a file that is set aside."""
    catalog.deliveries.see(1, {"seen": 1.0})
    catalog.deliveries.set_files_aside([NewFileAside(1, "seen", None, "x", "unknown-file", "is nobody's", "")])
    epoch, sequence = catalog.members.position(2)
    rows = NewQuarantine("r", "quarantine/r/1.parquet", 1, "2/r", {"null": 1})
    (batch,) = catalog.log.append([NewBatch(2, "rejected", epoch, sequence, sequence, 0, 0, 1, 0, (), (rows,))])
    assert catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [], 0.0)
    return catalog.deliveries.quarantined_rows()[0].id, catalog.deliveries.files_aside()[0].id


def _retry_rows(world: World) -> Operation:
    """What was quarantined and set aside, read again."""
    catalog = Catalog(world.url)
    epoch, sequence = catalog.members.position(1)
    catalog.close()
    new = NewBatch(1, "rejected/R1", epoch, sequence, sequence, 0, 0, 0, 0, (), ())
    taken = Taken(1, "seen", "i", {"x": TakenFile(1, 2, "h")})

    def operation(catalog: Catalog) -> None:
        catalog.log.append([new], intake=Intake(taken, (), (world.rejected,), (world.file,)))

    return operation


def _say(
    coordinator: int,
    drop: str,
    seal: str = "k",
    producers: str = "registered",
    registers: tuple[str, ...] = (),
    seals: tuple[str, ...] = (),
) -> Make:
    """Append what registers for values, and seals them."""

    def make(world: World) -> Operation:
        catalog = Catalog(world.url)
        epoch, sequence = catalog.members.position(coordinator)
        number, _ = catalog.seals.known_open(coordinator)
        catalog.close()
        new = NewBatch(coordinator, drop, epoch, sequence, sequence + 1, 1, 0, 0, 0, (), ())
        sealing = Sealing(number, (SealChange("r", seal, producers, registers, seals),))

        def operation(catalog: Catalog) -> None:
            catalog.log.append([new], sealing=sealing, declared="old")

        return operation

    return make


def _damage(file: str) -> KnownDamage:
    return KnownDamage("log", file, None, "a file", "missing", "it is missing", "a hint")


OPERATIONS: dict[str, Make] = {
    "register for values": _say(1, "v", registers=("shared", "new", "x")),
    "register for values elsewhere": _say(2, "v", registers=("x", "new")),
    "seal a value": _say(1, "v", seals=("shared", "new")),
    "seal a value elsewhere": _say(2, "v", seals=("new", "shared")),
    "seal a value for all": _say(1, "v", "a", "all", seals=("v",)),
    "seal a value for all elsewhere": _say(2, "v", "a", "all", seals=("v",)),
    "register for a value of one": _say(1, "v", "o", "one", registers=("v",)),
    "register for a value of one elsewhere": _say(2, "v", "o", "one", registers=("v",)),
    "declare": lambda w: (
        lambda c: c.seals.declare("new", lambda: [(1, SealChange("r", "k", "registered", ("shared", "new")))])
    ),
    "seal a value by hand": lambda w: (
        lambda c: c.seals.seal_by_hand(2, SealChange("r", "k", "registered", seals=("shared",)), "me")
    ),
    "append with keys": _append_keys(1, "k"),
    "append with keys elsewhere": _append_keys(2, "k"),
    "merge keys": _merge_keys,
    "build keys": _build_keys,
    "drop a batch with keys": lambda w: lambda c: c.asides.drop_batch(w.aside, _change(w, "dropped")),
    "append": _append(1, "a", SLOW),
    "append another": _append(1, "b"),
    "append elsewhere": _append(2, "a"),
    "seal": lambda w: lambda c: c.votes.vote(1, 1, None, FUTURE),
    "seal many": lambda w: lambda c: c.votes.vote(1, 1, None, PAST, 3),
    "repeat snapshots": lambda w: lambda c: list(c.snapshots.repeat()),
    "seal the next": lambda w: lambda c: c.votes.vote(2, 1, None, FUTURE),
    "take the token": lambda w: lambda c: c.votes.take_token(2, PAST, NONE),
    "fence": lambda w: lambda c: c.votes.fence(2, 1, 0, "gone", PAST, NONE),
    "add a coordinator": lambda w: lambda c: c.members.add(3).first,
    "drain": lambda w: lambda c: c.members.drain(2).last,
    "drain another": lambda w: lambda c: c.members.drain(1).last,
    "end an epoch": lambda w: lambda c: [b.coordinator for b in c.members.end_epoch(1, FUTURE)],
    "leave an epoch": lambda w: lambda c: c.members.leave(1, 1, FUTURE).coordinator,
    "begin apply": lambda w: lambda c: c.commits.begin_apply(w.pending, NOBODY),
    "commit apply": lambda w: (
        lambda c: c.commits.commit_apply(w.pending, w.read_at, [new_run("m", 1, path=f"runs/{SLOW.label}x.pack")], 0.0)
    ),
    "commit correction": lambda w: lambda c: c.commits.commit_correction(w.clocks, w.last, [new_run("m", 1)], {1: 1}),
    "commit refresh": lambda w: lambda c: c.commits.commit_refresh(w.refreshed, w.last, [new_run("d", 1)], {}),
    "mergeable": lambda w: lambda c: [r.path for r in c.commits.mergeable(w.last)],
    "commit merge": lambda w: lambda c: c.commits.commit_merge([(w.mergeable, [new_run("m", path="runs/n.pack")])]),
    "commit repair": lambda w: (
        lambda c: c.commits.commit_repair(w.mergeable[:1], [(new_run("m", path="runs/p.pack"), w.mergeable[0].origin)])
    ),
    "commit repair of several": lambda w: (
        lambda c: c.commits.commit_repair(
            w.mergeable, [(new_run("m", path="runs/p.pack"), w.last)], joined=w.mergeable[-1].origin
        )
    ),
    "checkpoint": lambda w: lambda c: c.snapshots.checkpoint(Snapshot(1, epoch_end(1), w.last, 0, 0.0), {"d"}),
    "take a lease": _take,
    "renew": _renew,
    "collect garbage": lambda w: (
        lambda c: sorted(c.leases.garbage([f"runs/{SLOW.label}x.pack", f"log/r/{SLOW.label}1-a.parquet"]))
    ),
    "excuse": lambda w: lambda c: c.asides.excuse(w.pending),
    "count the last failure": lambda w: lambda c: c.asides.count_failure(w.pending, "x"),
    "set aside": lambda w: lambda c: c.asides.set_aside_dead(w.pending, "x", 0.0),
    "give up": lambda w: lambda c: c.asides.give_up(w.aside),
    "retract": lambda w: lambda c: c.asides.retract(w.entries[-1], [new_run("m", 1, path="runs/r.pack")], [], "x"),
    "drop a batch": lambda w: lambda c: c.asides.drop_batch(w.aside),
    "retry a batch": _retry,
    "retry what was put aside": _retry_rows,
    "drop rows": lambda w: lambda c: c.deliveries.drop_quarantined(w.rejected),
    "drop a file": lambda w: lambda c: c.deliveries.drop_file_aside(w.file),
    "deliver": _deliver(1, "here"),
    "deliver elsewhere": _deliver(2, "here"),
    "begin a source": _deliver(1, None),
    "begin a source elsewhere": _deliver(2, None),
    "see a drop": lambda w: lambda c: c.deliveries.see(1, {"seen": 2.0, "new": 2.0}),
    "recognise a drop": lambda w: lambda c: c.deliveries.recognise(Taken(1, "seen", "j", {"y": TakenFile(1, 2, "h")})),
    "release": lambda w: lambda c: c.snapshots.release(1, 1, ["publish"]),
    "record done": lambda w: lambda c: c.snapshots.record_done("publish", 0),
    "publish": lambda w: lambda c: c.results.record_published("v", 0, 1),
    "view error": lambda w: lambda c: c.results.record_view_error(ViewError("v", 0, "overflow", "too large", "", "")),
    "put a net table": lambda w: lambda c: c.net_tables.put(_net_table("new", 0), 0),
    "put it elsewhere": lambda w: lambda c: c.net_tables.put(_net_table(SLOW.label, 0), 0),
    "drop a net table": lambda w: lambda c: c.net_tables.drop(_net_table("first", None), later=False),
    "prove a net table": lambda w: lambda c: c.net_tables.record_proved([_net_table("first", None)]),
    "validate": lambda w: lambda c: c.results.record_validation(Validation(0, "passed", (), "", 0.0)),
    "say what is final": lambda w: lambda c: c.finals.record_finals({"v": {1: 3}, "w": {1: 0}}, [1], w.last, w.last),
    "say it elsewhere": lambda w: lambda c: c.finals.record_finals({"v": {1: 3}}, [], w.last, w.last),
    "publish what is final": lambda w: lambda c: c.finals.record_final_tables("v", {1: 2}),
    "validate what is final": lambda w: lambda c: c.finals.record_final_verdicts({("v", 1): "equal"}, "page"),
    "begin a deployment": lambda w: (
        lambda c: c.revisions.begin(dataclasses.replace(PROGRAM, digest="other"), Changes(), _step(w)).number
    ),
    "fill": lambda w: lambda c: c.revisions.commit_fill(2, 0, 0, [new_run("n", 0, path="runs/fill.pack")]),
    "begin to switch": lambda w: lambda c: c.revisions.begin_switch(2, 0, _step(w)),
    "switch": lambda w: (
        lambda c: c.revisions.commit_switch(2, 0, _step(w), w.last, [new_run("n", 1)], derives=True, finals={"v": 0})
    ),
    "end a switch": lambda w: lambda c: c.revisions.end_switch(2),
    "give a deployment up": lambda w: lambda c: c.revisions.give_up(2, "why", ["n"], [("m", "1")]),
    "let groups go": lambda w: lambda c: c.revisions.retire(["old"]),
    "hold for a first backup": lambda w: lambda c: c.backups.hold(),
    "record a backup": lambda w: lambda c: c.backups.record(LastBackup(w.last, 0, 1.0, 1.0, 1, "here", "{}", True)),
    "record an older one": lambda w: lambda c: c.backups.record(LastBackup(1, 0, 1.0, 1.0, 1, "there", "{}", True)),
    "make no more backups": lambda w: lambda c: c.backups.let_go(),
    "record damages": lambda w: lambda c: c.repairs.record([_damage("a"), _damage("b")]),
    "record others": lambda w: lambda c: c.repairs.record([_damage("b"), _damage("c")], ["a"]),
    "begin a recovery": lambda w: lambda c: c.repairs._begin(_step(w)),
    "begin it elsewhere": lambda w: lambda c: c.repairs._begin(SLOW),
}


def _step(world: World) -> Step:
    return Step(world.lease.id + 1, 0)  # the one that is renewed


def _after_each_other(world: World, operations: Sequence[Operation]) -> list[tuple[tuple[Any, ...], object]]:
    """What may come out: the outcomes and the database of one operation after the other, in any order."""
    found = []
    for order in itertools.permutations(range(len(operations))):
        world.restore()
        played = play(world.watch, world.actors[: len(operations)], operations, order=order)
        found.append((played.outcomes, world.contents()))
    return found


def check(world: World, names: Sequence[str], limit: int = LIMIT) -> set[str]:
    """Play so many interleavings of some operations, or none; each has to end as they would one after the other. Returns those that get
    through in some order: of an operation that never does, nothing would be tested."""
    world.restore()
    operations = [OPERATIONS[name](world) for name in names]
    allowed = _after_each_other(world, operations)

    def play_one(schedule: Sequence[int]) -> Played:
        world.restore()
        return play(world.watch, world.actors[: len(names)], operations, schedule)

    for played in explore(play_one, len(names), preemptions=PREEMPTIONS, limit=limit) if limit else ():
        told = f"{' | '.join(names)}, turns {played.turns}"
        assert not played.deadlock, f"deadlock: {told}"
        assert (played.outcomes, world.contents()) in allowed, f"not as one after the other: {told}: {played.outcomes}"
    return {
        name
        for outcomes, _ in allowed
        for name, outcome in zip(names, outcomes, strict=True)
        if outcome[0] == "returned"
    }


#: What can be done to an epoch that is sealed, and meanwhile.
ONCE_SEALED = (
    "append elsewhere",
    "begin apply",
    "commit apply",
    "mergeable",
    "commit merge",
    "checkpoint",
    "renew",
    "collect garbage",
)


#: What may become of a batch that fails, and meanwhile.
ASIDE = (
    *(
        "excuse",
        "count the last failure",
        "set aside",
        "give up",
        "retract",
        "drop a batch",
        "retry a batch",
        "release",
        "record done",
    ),
    *("append elsewhere", "seal", "begin apply", "commit apply", "commit correction", "commit refresh"),
)
#: What may become of what was put aside, and meanwhile.
PUT_ASIDE = (
    *("retry what was put aside", "drop rows", "drop a file", "see a drop", "recognise a drop"),
    *("append another", "seal"),
)
#: Who takes part, and moves, and meanwhile.
MEMBERS = (
    *("take the token", "fence", "add a coordinator", "drain", "drain another", "end an epoch"),
    *("append elsewhere", "seal", "seal the next", "commit apply", "checkpoint"),
)
#: What is judged by keys, and what becomes of what is known of them.
KEYS = (
    *("append with keys", "append with keys elsewhere", "merge keys", "build keys", "drop a batch with keys"),
    *("append elsewhere", "retry a batch", "seal", "drain", "collect garbage"),
)
#: What is compacted, and meanwhile.
NETS = (
    *("put a net table", "put it elsewhere", "drop a net table", "prove a net table"),
    *("append elsewhere", "release", "collect garbage"),
)
#: What sources hand over; a source may have been given to another coordinator meanwhile.
SOURCES = ("deliver", "deliver elsewhere", "begin a source", "begin a source elsewhere")
#: What is said of values of seals, of each by itself; and who leaves or comes meanwhile.
VALUES = (
    (
        *("register for values", "register for values elsewhere", "seal a value", "seal a value elsewhere"),
        "seal a value by hand",
    ),
    ("seal a value for all", "seal a value for all elsewhere", "fence"),
    ("seal a value for all", "add a coordinator"),
    ("register for a value of one", "register for a value of one elsewhere"),
    ("seal a value by hand", "seal a value elsewhere", "fence"),
    ("declare", "register for values"),
    ("declare", "fence"),
)
#: A value closes, and meanwhile somebody registers for it, or who has not sealed it leaves: what they read of each other is read late.
CLOSING = (("register for values", "seal a value by hand"), ("seal a value for all", "fence"))
#: What is final before its epoch; and what could still change it.
FINALS = (
    *("say what is final", "say it elsewhere", "publish what is final", "validate what is final"),
    *("retract", "commit correction", "append elsewhere", "checkpoint"),
)
#: Runs are made again while others replace them, or are about to read them.
REPAIRS = (
    *("commit repair", "commit repair of several", "commit merge", "mergeable", "begin apply", "commit apply"),
    *("commit correction", "collect garbage"),
)
#: What is held for the newest backup, and who would delete it.
BACKUPS = (
    *("hold for a first backup", "record a backup", "record an older one", "make no more backups"),
    *("collect garbage", "commit merge"),
)
#: What is damaged, and who repairs it.
DAMAGES = (
    *("record damages", "record others", "begin a recovery", "begin it elsewhere"),
    *("commit repair", "collect garbage"),
)
#: How another revision comes about, and what may not happen to what it has read.
DEPLOYING = (
    "begin a deployment",
    "fill",
    "begin to switch",
    "switch",
    "end a switch",
    "give a deployment up",
    "let groups go",
)
MEANWHILE = (
    *("begin apply", "commit apply", "commit correction", "commit refresh", "commit merge", "checkpoint"),
    *("append elsewhere", "seal", "retract", "set aside", "release", "collect garbage", "say what is final"),
)
USUAL = tuple(
    name
    for name in OPERATIONS
    if name
    not in (
        *ASIDE[:9],
        *MEMBERS[:6],
        *KEYS[:5],
        *NETS[:4],
        *PUT_ASIDE[:5],
        *FINALS[:4],
        *REPAIRS[:2],
        *BACKUPS[:4],
        *DAMAGES[:4],
        *SOURCES,
        *DEPLOYING,
        *itertools.chain(*VALUES),
    )
)


@pytest.mark.parametrize(
    ("sealed", "names"),
    [
        (1, USUAL),
        (1, ASIDE),
        (1, PUT_ASIDE),
        (1, MEMBERS),
        (1, KEYS),
        (1, NETS),
        (1, REPAIRS),
        (1, BACKUPS),
        (1, DAMAGES),
        (3, ONCE_SEALED),
    ],
)
def test_every_pair_ends_as_one_after_the_other(world: World, sealed: int, names: Sequence[str]) -> None:
    prepare(world, sealed)
    pairs = sampled(itertools.combinations(names, 2), 4 if len(names) > 14 else 2)
    got_through = set().union(*(check(world, pair) for pair in pairs))
    if WHOLE:  # some get through after one other alone
        assert set(names) - got_through <= ({"seal the next", "checkpoint"} if sealed < 3 else set())


def test_every_pair_that_concerns_values_ends_as_one_after_the_other(world: World) -> None:
    """Coordinator 2 produces into one value, and 0 has sealed another one for which all are awaited; who is fenced leaves."""
    prepare(world, 1, pending=False)
    world.run(
        "INSERT INTO seal_value (relation, seal, columns, value, producers, first_seen) VALUES ('r', 'k', '', 'shared', 'registered', 0)"
    )
    world.run(
        "INSERT INTO seal_value (relation, seal, columns, value, producers, first_seen) VALUES ('r', 'a', '', 'v', 'all', 0)"
    )
    world.run("INSERT INTO seal_producer VALUES (1, 2, 0, NULL, NULL), (2, 0, 0, 1, 'x')")
    world.run("UPDATE member SET last_epoch = 1 WHERE coordinator = 2")
    world.save()
    for names in VALUES:
        got_through = set().union(*(check(world, pair) for pair in itertools.combinations(names, 2)))
        assert set(names) == got_through
    for pair in CLOSING:
        check(world, pair, limit=10 * LIMIT)


def test_every_pair_that_concerns_final_partitions_ends_as_one_after_the_other(world: World) -> None:
    """A batch that others may still take back, as far as these transactions know: either that is refused, or that its rows are final."""
    prepare(world, 1, pending=False)
    world.run("UPDATE program SET refreshed = NULL")
    world.run(
        "INSERT INTO seal_value (relation, seal, value, columns, producers, first_seen, closed_at) VALUES ('r', 'k', 'x', 'k', 'one', 0, 1)"
    )
    world.save()
    got_through = set().union(*(check(world, pair) for pair in sampled(itertools.combinations(FINALS, 2), 2)))
    if WHOLE:
        assert set(FINALS) - got_through <= {"checkpoint", "commit correction"}


@pytest.mark.parametrize("is_switching", [False, True])
def test_every_pair_with_a_deployment_ends_as_one_after_the_other(world: World, is_switching: bool) -> None:
    prepare(world, 1)
    catalog = Catalog(world.url)
    catalog.revisions.begin(dataclasses.replace(PROGRAM, digest="next"), Changes(), _step(world))
    catalog.revisions.commit_fill(2, None, 0, [new_run("n", 0, path="runs/first.pack")])
    world.last = catalog.commits.last_commit()
    if is_switching:
        catalog.revisions.begin_switch(2, 0, _step(world))
    catalog.close()
    world.run("UPDATE program SET refreshed = NULL")
    world.run(
        "INSERT INTO seal_value (relation, seal, value, columns, producers, first_seen, closed_at) VALUES ('r', 'k', 'x', 'k', 'one', 0, 1)"
    )
    world.save()
    pairs = [*itertools.combinations(DEPLOYING, 2)]
    pairs += (
        itertools.product(DEPLOYING[3:5], MEANWHILE) if is_switching else itertools.product(DEPLOYING, MEANWHILE[5:6])
    )
    got_through = set().union(*(check(world, pair) for pair in sampled(pairs, 2)))
    if WHOLE:
        assert set(DEPLOYING) <= got_through
        assert ("say what is final" in got_through) == is_switching


@pytest.mark.parametrize("names", [SOURCES[:2], SOURCES[2:]])
def test_of_two_coordinators_that_read_a_source_one_gets_through(world: World, names: Sequence[str]) -> None:
    prepare(world, 1)
    assert check(world, names, limit=10 * LIMIT) == set(names)


def test_an_append_under_way_is_never_lost_by_a_seal_and_a_checkpoint(world: World) -> None:
    """An append that its seal does not see would be retired by the checkpoint without having been applied."""
    prepare(world, 2, pending=False)
    names = ("append elsewhere", "seal the next", "checkpoint")
    assert check(world, names, limit=12 * LIMIT) == set(names)
