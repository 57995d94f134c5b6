"""A project under ``cumulus up`` while its parts are killed: coordinators, what watches their tasks, what waits for tasks, scheduler, DAG processor, API server, Spark Connect, its workers, the catalog's
connections and its server.

A feeder lands drops all the time and remembers what is in them. Every few seconds a part, which one a seed says, gets SIGKILL (a connection is ended by the server; the server
is killed, or shut down at once, and away for up to half a minute). In the end, what was fed has to be in the log once, every snapshot of every epoch has to equal DuckDB over what was fed, and nothing may
be set aside, in error, left over or failing. Whatever else is found ends the run with an error.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import create_engine, text

from benchmarks.answers import arrow_rows, connect, same_rows
from benchmarks.contest import WrongAnswer
from benchmarks.experiments.data import write_csv
from benchmarks.progress import say
from benchmarks.settings import HOME
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.database import is_lost
from cumulus_ops.epochs.status import Status, status
from cumulus_ops.local.airflow import AirflowApi, Login
from cumulus_ops.local.processes import free_port
from cumulus_ops.local.up import Record, read_record, servers_folder
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project import names
from cumulus_ops.project.interruptions import interruptions
from cumulus_ops.project.project_file import load_project
from cumulus_ops.query.read import read_view

__all__ = ["KINDS", "Options", "run"]

COORDINATORS = 2
PROJECT = """\
name: dying
relations:
  orders: {{columns: {{ok: bigint, ck: bigint, priority: string}}, key: [ok]}}
  item: {{columns: {{id: bigint, ok: bigint, price: "decimal(12,2)"}}, key: [id]}}
sources:
  landing: {{path: landing, settle: 0s}}
coordinators: {coordinators}
epochs: {{length: {epoch}s, start: "{start}", retain: 10000}}
views:
  revenue: revenue.sql
  dearest: dearest.sql
  total: total.sql
state: state
catalog: "{catalog}"
publish: {{path: published}}
validation: {{policy: fail, every: {validate} epochs, reports: reports}}
executor: {{kind: spark, master: "local[2]"}}
"""
VIEWS = {
    "revenue": "SELECT priority, SUM(price) AS revenue, COUNT(*) AS n FROM orders o JOIN item i ON o.ok = i.ok GROUP BY priority",
    "dearest": "SELECT ck, MAX(price) AS most FROM orders o JOIN item i ON o.ok = i.ok GROUP BY ck",
    "total": "SELECT SUM(price) AS total, COUNT(*) AS n FROM item",
}
SCHEMAS = {
    "orders": pa.schema([("ok", pa.int64()), ("ck", pa.int64()), ("priority", pa.string()), ("op", pa.string())]),
    "item": pa.schema([("id", pa.int64()), ("ok", pa.int64()), ("price", pa.decimal128(12, 2)), ("op", pa.string())]),
}
FEED_S, ROWS, WAITING = 3.0, 150, 8
#: Nothing is killed in the first seconds, and all has to have come to its end so long after the last.
QUIET_S, DRAIN_S, UP_S, POLL_S = 10.0, 300.0, 300.0, 0.3
AWAY_S = (0.0, 0.0, 3.0, 10.0, 30.0)

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Options:
    """For how many minutes, a kill each how many seconds in the mean, which ``kinds``; the catalog's database; the length of an epoch, and each how many are validated."""

    minutes: float
    every_s: float
    seed: int
    catalog: str
    kinds: tuple[str, ...] = ()
    epoch_s: int = 30
    validate: int = 4


@dataclass
class Kill:
    """What was killed, how, and when; ``before``: how many drops each coordinator had applied by then; ``resumed_s``: after how long each had applied two more, of which the second
    was begun later; None as long as one has not."""

    kind: str
    what: str
    at: float
    before: dict[int, int]
    resumed_s: float | None = None


class Feeder(threading.Thread):
    """Lands a drop for each coordinator every few seconds. ``fed``: (coordinator, drop) -> when it landed, and its rows: relation, sign, values."""

    def __init__(self, landing: Path, seed: int) -> None:
        super().__init__(name="feeder", daemon=True)
        self._landing, self._random, self._stopped = landing, random.Random(seed), threading.Event()
        self._live: list[Rows] = [[] for _ in range(COORDINATORS)]
        self._orders: list[Rows] = [[] for _ in range(COORDINATORS)]
        self._numbers = iter(range(1_000_000_000))
        self.waiting = 0
        self.fed: dict[tuple[int, str], tuple[float, list[tuple[str, int, tuple[object, ...]]]]] = {}

    def run(self) -> None:
        """What the thread does."""
        for drop in range(1_000_000):
            while self.waiting > WAITING and not self._stopped.wait(POLL_S):
                pass  # who cannot keep up has enough to do
            for coordinator in range(COORDINATORS):
                rows = list(self._draw(coordinator))
                self._land(coordinator, f"d{drop:05d}", rows)
            if self._stopped.wait(FEED_S):
                return

    def stop(self) -> None:
        """End it, and wait for it."""
        self._stopped.set()
        self.join()

    def _draw(self, coordinator: int) -> Iterator[tuple[str, int, tuple[object, ...]]]:
        """Orders, their items, and items of earlier drops that go: a coordinator deletes only what has come to it."""
        for _ in range(ROWS // 5):
            order = (next(self._numbers), self._random.randrange(50), self._random.choice("ABC"))
            self._orders[coordinator].append(order)
            yield "orders", 1, order
        gone = self._random.sample(self._live[coordinator], min(len(self._live[coordinator]), ROWS // 5))
        self._live[coordinator] = [row for row in self._live[coordinator] if row not in set(gone)][-1000:]
        yield from (("item", -1, row) for row in gone)
        for _ in range(ROWS):
            price = Decimal(self._random.randrange(100, 99_999)).scaleb(-2)
            item = (next(self._numbers), self._random.choice(self._orders[coordinator])[0], price)
            self._live[coordinator].append(item)
            yield "item", 1, item

    def _land(self, coordinator: int, drop: str, rows: Sequence[tuple[str, int, tuple[object, ...]]]) -> None:
        staging = self._landing.parent / "staging"
        for relation, schema in SCHEMAS.items():
            mine = [(*row, "I" if sign > 0 else "D") for name, sign, row in rows if name == relation]
            columns = [pa.array(values, f.type) for values, f in zip(zip(*mine, strict=True), schema, strict=True)]
            staging.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns, schema=schema), staging / f"{relation}.parquet")
        place = self._landing / str(coordinator)
        place.mkdir(parents=True, exist_ok=True)
        self.fed[coordinator, drop] = time.time(), list(rows)
        staging.rename(place / drop)


class World:
    """The project that is up, and what can be killed of it."""

    def __init__(self, folder: Path, options: Options, url: str, server: Any) -> None:
        self.folder, self.options, self._server = folder, options, server
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
        text_ = PROJECT.format(
            coordinators=COORDINATORS, epoch=options.epoch_s, start=start, catalog=url, validate=options.validate
        )
        (folder / "cumulus.yaml").write_text(text_, encoding="utf-8")
        for view, sql in VIEWS.items():
            (folder / f"{view}.sql").write_text(sql, encoding="utf-8")
        self.project = load_project(folder)
        self.home = servers_folder(self.project)
        self.port = free_port()
        self._catalog = Catalog(url, self.project.state)
        self._up: subprocess.Popen[bytes] | None = None

    @contextmanager
    def up(self) -> Iterator[None]:
        """``cumulus up``, as a person would start it."""
        command = Path(sys.executable).with_name("cumulus")
        with (self.folder / "up.log").open("wb") as log:
            self._up = subprocess.Popen(
                [str(command), "up", str(self.folder), "--port", str(self.port)], stdout=log, stderr=log
            )
            try:
                _wait(lambda: self.record().ready, UP_S, "`cumulus up` is not ready")
                yield
            finally:
                subprocess.run([str(command), "down", str(self.folder)], check=False, capture_output=True)
                self._up.wait(60)

    def record(self) -> Record:
        """What runs."""
        if self._up is not None and self._up.poll() is not None:
            raise WrongAnswer(f"`cumulus up` has ended:\n{(self.folder / 'up.log').read_text()[-3000:]}")
        return read_record(self.home) or Record("", self._nobody)

    @property
    def _nobody(self) -> Any:
        from cumulus_ops.local.processes import KnownProcess

        return KnownProcess("", 0, "")

    def server_pid(self, name: str) -> int | None:
        """The process of a server."""
        return next((s.pid for s in self.record().servers if s.name == name and s.find()), None)

    def tasks(self, depth: int) -> list[psutil.Process]:
        """The processes of tasks (2), or those that watch them (1): children of the scheduler's workers, or these."""
        scheduler = self.server_pid("airflow-scheduler")
        found: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            for worker in psutil.Process(scheduler).children() if scheduler else []:
                tasks = worker.children()
                found += [worker] if tasks and depth == 1 else tasks
        return found

    def end_idle_workers(self, _random: random.Random) -> str:
        """All workers of Airflow that wait for a task: one of them has the lock of their queue."""
        scheduler, ended = self.server_pid("airflow-scheduler"), list[int]()
        with suppress(psutil.NoSuchProcess):
            for worker in psutil.Process(scheduler).children() if scheduler else []:
                if "<idle>" in " ".join(worker.cmdline()):
                    worker.kill()
                    ended.append(worker.pid)
        return " ".join(map(str, ended))

    def spark_workers(self) -> list[psutil.Process]:
        """The Python processes of Spark, the one that forks them included."""
        server = self.server_pid("spark-connect")
        with suppress(psutil.NoSuchProcess):
            found = psutil.Process(server).children(recursive=True) if server else []
            return [p for p in found if "python" in p.name().lower()]
        return []

    def end_connection(self, random_: random.Random) -> str:
        """End one of the catalog's connections, in the middle of whatever it does; "" if there is none."""
        engine = create_engine(self.project.catalog_url)
        try:
            with engine.connect() as connection:
                query = "SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                found = list(connection.execute(text(query)))
                if not found:
                    return ""
                # those that are in a transaction first: that is when it matters
                chosen = random_.choice(found)
                connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": chosen[0]})
                return " ".join(str(chosen[1]).split())[:60]
        finally:
            engine.dispose()

    def end_server(self, random_: random.Random) -> str:
        """Kill the catalog's server, or shut it down at once; it comes back by itself."""
        how, away_s = random_.choice([signal.SIGKILL, signal.SIGQUIT]), random_.choice(AWAY_S)
        self._server.out(how, away_s)
        return f"{how.name}, away for {away_s:g} s"

    def applied(self) -> dict[int, set[str]]:
        """coordinator -> its drops that are applied; raises as long as the catalog is gone."""
        found: dict[int, set[str]] = {c: set() for c in range(COORDINATORS)}
        for batch in self._catalog.log.batches():
            if batch.commit is not None and batch.counts:
                found[batch.coordinator].add(batch.drop)
        return found

    def epochs_of(self) -> dict[tuple[int, str], int]:
        """(coordinator, drop) -> the epoch that it belongs to."""
        return {(b.coordinator, b.drop): b.epoch for b in self._catalog.log.batches() if b.counts}


def _kill(process: psutil.Process) -> str:
    what = " ".join(process.cmdline())[-60:]
    process.kill()
    return f"{process.pid} {what}"


def _kill_server(name: str) -> Callable[[World, random.Random], str]:
    def kill(world: World, _random: random.Random) -> str:
        pid = world.server_pid(name)
        if pid is None:
            return ""
        os.kill(pid, signal.SIGKILL)
        return str(pid)

    return kill


def _kill_one(find: Callable[[World], list[psutil.Process]]) -> Callable[[World, random.Random], str]:
    def kill(world: World, random_: random.Random) -> str:
        found = find(world)
        with suppress(psutil.NoSuchProcess):
            return _kill(random_.choice(found)) if found else ""
        return ""

    return kill


#: What is killed, and how; it says what it was, or "" if there was nothing.
KINDS: Mapping[str, Callable[[World, random.Random], str]] = {
    "coordinator": _kill_one(lambda world: world.tasks(2)),
    "task watcher": _kill_one(lambda world: world.tasks(1)),
    "idle workers": World.end_idle_workers,
    "scheduler": _kill_server("airflow-scheduler"),
    "dag processor": _kill_server("airflow-dag-processor"),
    "api server": _kill_server("airflow-api-server"),
    "spark connect": _kill_server("spark-connect"),
    "spark worker": _kill_one(World.spark_workers),
    "connection": World.end_connection,
    "database": World.end_server,
}
OF_POSTGRESQL = ("connection", "database")


def run(out: Path, options: Options) -> None:
    """Do all of it; what was killed, and how long it took, is in ``out``.

    Raises:
        WrongAnswer: something was lost, doubled, wrong, left over or failing in the end.
    """
    folder = HOME / "dying" / options.catalog
    with ExitStack() as stack:
        server, url = None, f"sqlite:///{folder}/state/catalog.db"
        if options.catalog == "postgresql":
            from tests.support.services import postgresql

            server = stack.enter_context(postgresql("fsync=on"))
            url = server.create_database("dying")
        world = World(folder, options, url, server)
        with world.up():
            feeder = Feeder(world.project.landing, options.seed)
            feeder.start()
            kills = _Killing(world, feeder).run()
            feeder.stop()
            say(f"{len(kills)} killed; {len(feeder.fed)} drops were fed")
            _write(out, options, kills)
            _drain(world, feeder)
            _look(world, kills, feeder)
            runs = _dag_runs(world)
        proved = _prove(world, feeder)
        for gone in interruptions(world.project.state, 400):
            say(f"  {gone}")
        events = sum(len(rows) for _, rows in feeder.fed.values())
        say(f"{events:,} events, each there once; {proved} answers of views are DuckDB's; runs of DAGs: {runs}")


def _write(out: Path, options: Options, kills: Sequence[Kill]) -> None:
    """How long it took: before it is known whether all is right."""
    rows = _table(kills)
    write_csv(out / "data" / f"dying-{options.catalog}.csv", rows)
    write_csv(
        out / "data" / f"dying-{options.catalog}-kills.csv",
        [{"second": round(k.at - kills[0].at), "kind": k.kind, "resumed_s": k.resumed_s} for k in kills],
    )
    for row in rows:
        say(", ".join(f"{name} {value}" for name, value in row.items()))


class _Killing:
    """Kills parts, and looks when all goes on."""

    def __init__(self, world: World, feeder: Feeder) -> None:
        self._world, self._feeder, self._random = world, feeder, random.Random(world.options.seed)
        self._kills: list[Kill] = []
        self._applied = dict.fromkeys(range(COORDINATORS), 0)
        self._ended = threading.Event()

    def run(self) -> list[Kill]:
        """As long as the options say."""
        options = self._world.options
        kinds = [k for k in options.kinds or KINDS if options.catalog == "postgresql" or k not in OF_POSTGRESQL]
        looking = threading.Thread(target=self._look, daemon=True)
        looking.start()
        time.sleep(QUIET_S)
        end, order = time.monotonic() + 60 * options.minutes, list[str]()
        while time.monotonic() < end:
            if not order:  # each kind as often as any other
                order = self._random.sample(kinds, len(kinds))
            kind, at = order.pop(), time.time()
            if what := KINDS[kind](self._world, self._random):
                say(f"killed: {kind}, {what}")
                self._kills.append(Kill(kind, what, at, dict(self._applied)))
            self._world.record()
            time.sleep(min(60.0, self._random.expovariate(1 / options.every_s)))
        deadline = time.monotonic() + DRAIN_S
        while any(k.resumed_s is None for k in self._kills):
            if time.monotonic() > deadline:
                left = [k for k in self._kills if k.resumed_s is None]
                raise WrongAnswer(f"nothing goes on after {left}")
            time.sleep(POLL_S)
        self._ended.set()
        looking.join()
        return self._kills

    def _look(self) -> None:
        while not self._ended.wait(POLL_S):
            try:
                applied = self._world.applied()
            except Exception as error:
                if not is_lost(error):
                    raise
                continue
            now, self._applied = time.time(), {c: len(drops) for c, drops in applied.items()}
            self._feeder.waiting = len(self._feeder.fed) - sum(self._applied.values())
            for kill in self._kills:
                if kill.resumed_s is None and all(n >= kill.before[c] + 2 for c, n in self._applied.items()):
                    kill.resumed_s = round(now - kill.at, 1)


def _drain(world: World, feeder: Feeder) -> None:
    """Wait until all that was fed is in snapshots, and these are published and validated."""

    def is_done() -> bool:
        epochs = world.epochs_of()
        if epochs.keys() < feeder.fed.keys():
            return False
        with open_runtime(world.project, "inprocess") as rt:
            newest = rt.catalog.snapshots.newest()
            return newest >= max(epochs.values()) and not any(
                rt.catalog.log.batches(state=state) for state in ("appended", "aside")
            )

    _wait(is_done, DRAIN_S, "what was fed is not in snapshots")


def _look(world: World, kills: Sequence[Kill], feeder: Feeder) -> None:
    """See what a person sees."""
    world.record()
    with open_runtime(world.project, "inprocess") as rt:
        deadline = time.monotonic() + DRAIN_S
        while (found := status(rt)).failing and time.monotonic() < deadline:
            time.sleep(POLL_S)
    wrong = _unexpected(found)
    if wrong:
        raise WrongAnswer(f"after {len(kills)} kills: {wrong}")
    with Catalog(world.project.catalog_url, world.project.state).database.engine.connect():
        pass
    batches = [b for b in world._catalog.log.batches() if b.counts]
    counted: dict[tuple[int, str], int] = {}
    for batch in batches:
        counted[batch.coordinator, batch.drop] = (
            counted.get((batch.coordinator, batch.drop), 0) + batch.inserts + batch.deletes
        )
        if batch.duplicates or batch.quarantined:
            raise WrongAnswer(f"{batch} has rows that came twice, or were put aside")
    expected = {key: len(rows) for key, (_, rows) in feeder.fed.items()}
    if counted != expected:
        wrong_ = {
            k: (counted.get(k), expected.get(k)) for k in {*counted, *expected} if counted.get(k) != expected.get(k)
        }
        raise WrongAnswer(f"drops with other events than were fed (there, fed): {wrong_}")


def _unexpected(found: Status) -> list[str]:
    said = {
        "set aside": found.set_aside,
        "in error": found.in_error,
        "rows put aside": found.quarantined,
        "files put aside": found.files_aside,
        "sources stand still": found.standing,
        "fails": found.failing,
        "validations": [e.epoch for e in found.epochs if e.validation in ("failed", "unproved")],
        "ignored in the landing folder": found.ignored,
    }
    return [f"{what}: {value}" for what, value in said.items() if value]


def _dag_runs(world: World) -> dict[str, int]:
    """state -> how many runs of the project's DAGs."""
    api, counts = AirflowApi(world.port), dict[str, int]()
    login = Login.kept_in(world.home / "airflow" / "passwords.json")
    api.log_in(login.user, login.password)
    dags = [names.coordinator_dag("dying", c) for c in range(COORDINATORS)]
    for dag in (*dags, names.commit_dag("dying"), names.validate_dag("dying")):
        for one in api.runs(dag):
            counts[one["state"]] = counts.get(one["state"], 0) + 1
            if one["state"] == "failed":
                say(f"failed: {dag} {one['dag_run_id']}, at {api.failed_tasks(dag, one['dag_run_id'])}")
    return counts


def _prove(world: World, feeder: Feeder) -> int:
    """Compare every view of every snapshot with DuckDB over what was fed; how many were."""
    proved, epochs = 0, world.epochs_of()
    with open_runtime(world.project, "inprocess") as rt, connect() as database:
        _fill(database, feeder, epochs)
        for snapshot in rt.catalog.snapshots.own():
            for relation, schema in SCHEMAS.items():
                columns = ", ".join(schema.names[:-1])
                database.execute(
                    f"CREATE OR REPLACE VIEW {relation} AS SELECT {columns} FROM {relation}_log WHERE epoch <= {snapshot.epoch} "
                    "GROUP BY ALL HAVING SUM(sign) > 0"
                )
            for view, sql in VIEWS.items():
                ours = arrow_rows(read_view(rt, view, as_of=snapshot.epoch, ordered=False))
                if problem := same_rows(ours, database.execute(sql).fetchall()):
                    raise WrongAnswer(f"epoch {snapshot.epoch}, {view}: {problem}")
                proved += 1
    return proved


def _fill(database: duckdb.DuckDBPyConnection, feeder: Feeder, epochs: Mapping[tuple[int, str], int]) -> None:
    for relation, schema in SCHEMAS.items():
        rows = [
            (*row, sign, epochs[key])
            for key, (_, fed) in feeder.fed.items()
            for name, sign, row in fed
            if name == relation
        ]
        fields = [*list(schema)[:-1], pa.field("sign", pa.int64()), pa.field("epoch", pa.int64())]
        columns = [pa.array(values, f.type) for values, f in zip(zip(*rows, strict=True), fields, strict=True)]
        found = pa.table(columns, schema=pa.schema(fields))
        database.register("found", found)
        database.execute(f"CREATE TABLE {relation}_log AS SELECT * FROM found")
        database.unregister("found")


def _table(kills: Sequence[Kill]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        seconds = [k.resumed_s for k in kills if k.kind == kind and k.resumed_s is not None]
        if seconds:
            rows.append(
                {"part": kind, "killed": len(seconds), "median_s": statistics.median(seconds), "most_s": max(seconds)}
            )
    return rows


def _wait(condition: Callable[[], bool], seconds: float, message: str) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except Exception as error:
            if not is_lost(error):
                raise
        if time.monotonic() > deadline:
            raise WrongAnswer(f"{message} after {seconds:.0f} s")
        time.sleep(POLL_S)
