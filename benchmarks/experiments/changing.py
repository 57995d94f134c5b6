"""The TPC-H project changes while its stream runs: from Q6 alone to all 22 queries, with changed, removed and widened ones, a rollback, and processes that are killed.

``cumulus run`` ends epoch after epoch, as often as it is allowed to; meanwhile ``cumulus deploy`` makes one edit of the project's folder after the other what is maintained, and is killed
at a named place, or at any moment, before it may finish. Every snapshot, of whatever revision, is compared with DuckDB over the event log, view by view, and some of them with Spark
(``cumulus validate``). What differs ends the run.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.answers import arrow_rows, connect, same_rows
from benchmarks.contest import WrongAnswer
from benchmarks.experiments.data import write_csv
from benchmarks.progress import say
from benchmarks.settings import HOME, REPOSITORY
from benchmarks.workload import scale_name, without_order
from cumulus_ops.demo.events import make_events
from cumulus_ops.demo.tpch import generate_tables
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.processes import DEPLOY_POINTS
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.query.read import read_view

__all__ = ["EDITS", "Edit", "Options", "run"]

EXAMPLE = REPOSITORY / "examples" / "tpch"
COORDINATORS = 3
#: Epochs for each edit: one that may end while it is deployed, and the first one of the new revision.
EPOCHS_PER_EDIT = 2
#: No command takes as long.
TIMEOUT_S = 1800
#: What a person waits before a deployment is killed at a moment of its own, at least: it has to start.
LEAST_S = 1.0


@dataclass(frozen=True)
class Edit:
    """One edit of the project's folder: queries that are ``added`` and ``removed``; ``changed``: query -> (text, its replacement); ``columns``: the same in ``cumulus.yaml``.
    ``options``: of ``cumulus deploy``, for what is no edit."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    columns: tuple[str, str] = ("", "")
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [*(f"+{q}" for q in self.added), *(f"-{q}" for q in self.removed), *(f"~{q}" for q in self.changed)]
        return " ".join([*parts, *([self.columns[1]] if self.columns[1] else []), *self.options])


#: From Q6 to all 22: one by one, and in groups.
EDITS = (
    Edit(added=("q3",)),
    Edit(added=("q5",)),
    Edit(added=("q10",)),
    Edit(added=("q1", "q12")),
    Edit(changed={"q6": ("l_quantity < 24", "l_quantity < 30")}),
    Edit(added=("q4", "q14", "q19")),
    Edit(columns=("l_quantity: decimal(15,2)", "l_quantity: decimal(18,2)")),
    Edit(added=("q7", "q8", "q9")),
    Edit(removed=("q19",)),
    Edit(added=("q11", "q16")),
    Edit(options=("--rollback",)),
    Edit(added=("q2", "q13")),
    Edit(
        changed={
            "q3": (
                "    o_orderdate,\n    o_shippriority\nfrom",
                "    o_orderdate,\n    o_shippriority,\n    count(*) as items\nfrom",
            )
        }
    ),
    Edit(added=("q15", "q17", "q18")),
    Edit(added=("q20", "q21"), removed=("q8",)),
    Edit(added=("q22", "q19", "q8")),
    Edit(changed={"q1": ("    avg(l_discount) as avg_disc,\n", ""), "q12": ("'MAIL', 'SHIP'", "'AIR', 'RAIL'")}),
    Edit(options=("--replan",)),
)


@dataclass(frozen=True)
class Options:
    """What one run does: with which tables, ``edits`` at the most, Spark for every ``spark_every``-th epoch (0: for none)."""

    scale_factor: float
    edits: int
    spark_every: int
    seed: int


def run(out: Path, options: Options) -> None:
    """Do all of it; what was measured is in ``out``.

    Raises:
        WrongAnswer: a view of a snapshot has other rows than DuckDB or Spark; or a command failed.
    """
    edits, random_ = EDITS[: options.edits], random.Random(options.seed)
    world = World(HOME / "changing" / scale_name(options.scale_factor), options)
    world.begin(epochs=1 + EPOCHS_PER_EDIT * len(edits))
    with world.running() as epochs:
        epochs.allow(1)
        world.prove(epochs.wait())
        rows = []
        for place, edit in enumerate(edits):
            world.edit(edit)
            began = time.monotonic()
            epochs.allow(1)
            told = world.deploy(edit, Kills(place, random_))
            rows.append({"edit": str(edit), **told, "wall_s": round(time.monotonic() - began, 1)})
            epochs.wait()
            epochs.allow(1)
            world.prove(epochs.wait())
            say(f"edit {place + 1} of {len(edits)}, {edit}: {told}")
    write_csv(out / "data" / "changing.csv", rows)
    write_csv(out / "data" / "changing-epochs.csv", world.proofs(epochs.seconds))
    say(
        f"{len(rows)} deployments, {sum(bool(r['killed_at']) for r in rows)} of them killed; {len(world.proved)} epochs proved, {world.views_proved} answers of views, {len(world.on_spark)} epochs on Spark"
    )


@dataclass
class Kills:
    """How a deployment is killed before it may finish: at each named place in turn, at a moment of its own, or not at all."""

    place: int
    random: random.Random

    def choose(self, last_s: float) -> tuple[str, float]:
        """A named place or "", and after how many seconds or 0."""
        if self.place % 3 == 2:
            return "", 0.0
        if self.place % 3 == 1:
            return "", LEAST_S + self.random.random() * last_s
        return DEPLOY_POINTS[self.place // 3 % len(DEPLOY_POINTS)], 0.0


class Epochs(threading.Thread):
    """Ends epochs by ``cumulus run``, one after the other, as many as are allowed. ``seconds``: epoch -> how long the command took."""

    def __init__(self, command: Callable[..., str]) -> None:
        super().__init__(daemon=True)
        self._command, self._changed = command, threading.Condition()
        self._allowed, self._done, self._problem = 0, 0, ""
        self.seconds: dict[int, float] = {}

    def allow(self, more: int) -> None:
        """So many more."""
        with self._changed:
            self._allowed += more
            self._changed.notify_all()

    def wait(self) -> int:
        """Wait until all that are allowed are done; returns how many are."""
        with self._changed:
            self._changed.wait_for(lambda: self._done == self._allowed or self._problem)
            if self._problem:
                raise WrongAnswer(self._problem)
            return self._done

    def run(self) -> None:
        """What the thread does."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._done < self._allowed)
            began, problem = time.monotonic(), ""
            try:
                self._command("run", "--epochs", "1", "--executor", "inprocess", "--json")
            except WrongAnswer as error:
                problem = str(error)
            with self._changed:
                self.seconds[self._done] = round(time.monotonic() - began, 1)
                self._done, self._problem = self._done + 1, problem
                self._changed.notify_all()


class World:
    """The project, and what was proved of it."""

    def __init__(self, folder: Path, options: Options) -> None:
        self.folder, self.options = folder / "project", options
        self._tables, self._state = folder / "tables", folder / "state"
        self._queries: tuple[str, ...] = ("q6",)
        self._deployed: list[tuple[str, ...]] = []
        self.proved: dict[int, dict[str, object]] = {}
        self.on_spark: list[int] = []
        self.views_proved = 0
        self._last_s = 3.0

    def begin(self, epochs: int) -> None:
        """Make the project, and a stream of so many epochs."""
        generate_tables(self._tables, self.options.scale_factor)
        for folder in (self.folder, self._state):
            shutil.rmtree(folder, ignore_errors=True)
        say(f"a stream of {epochs} epochs")
        make_events(
            self._tables, self._state / "landing", epochs=epochs, coordinators=COORDINATORS, seed=self.options.seed
        )
        shutil.copytree(EXAMPLE / "views", self.folder / "views")
        (self.folder / "cumulus.yaml").write_text(
            (EXAMPLE / "cumulus.yaml").read_text(encoding="utf-8"), encoding="utf-8"
        )
        self._write_views()
        self.command("init", str(self.folder))

    def command(self, *arguments: str, fault: str = "", kill_after_s: float = 0.0) -> str:
        """What ``cumulus`` prints; "" if it was killed, as it was to be.

        Raises:
            WrongAnswer: it failed.
        """
        environment = {
            **os.environ,
            "CUMULUS_HOME": str(self._state),
            "CUMULUS_PROJECT": str(self.folder),
            "CUMULUS_VALIDATION_POLICY": "warn" if arguments[0] == "validate" else "off",
            **({"CUMULUS_FAULT": fault} if fault else {}),
        }
        child = subprocess.Popen(
            [str(Path(sys.executable).with_name("cumulus")), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            printed, said = child.communicate(timeout=kill_after_s or TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            printed, said = child.communicate()
        is_killed = child.returncode == -signal.SIGKILL and bool(fault or kill_after_s)
        if child.returncode and not is_killed:
            raise WrongAnswer(
                f"cumulus {' '.join(arguments)}: exit code {child.returncode}\n{printed[-2000:]}\n{said[-4000:]}"
            )
        return "" if is_killed else printed

    @contextmanager
    def running(self) -> Iterator[Epochs]:
        """Epochs go on, as far as they are allowed."""
        epochs = Epochs(self.command)
        epochs.start()
        yield epochs

    def edit(self, edit: Edit) -> None:
        """Change the project's folder."""
        self._queries = tuple(q for q in (*self._queries, *edit.added) if q not in edit.removed)
        for query, (old, new) in edit.changed.items():
            _replace(self.folder / "views" / f"{query}.sql", old, new)
        if edit.columns[0]:
            _replace(self.folder / "cumulus.yaml", *edit.columns)
        self._write_views()

    def _write_views(self) -> None:
        file = self.folder / "cumulus.yaml"
        views = "".join(f"  {q}: views/{q}.sql\n" for q in self._queries)
        file.write_text(
            re.sub(r"(?m)^views:\n(  .*\n)+", f"views:\n{views}", file.read_text(encoding="utf-8")), encoding="utf-8"
        )

    def deploy(self, edit: Edit, kills: Kills) -> dict[str, object]:
        """Deploy the folder, after a deployment that was killed; what was found."""
        fault, after_s = kills.choose(self._last_s)
        arguments = ("deploy", "--yes", "--json", "--executor", "inprocess", *edit.options)
        before, killed, is_done = self._status(), "", False
        if fault or after_s:
            done = self.command(*arguments, fault=fault, kill_after_s=after_s)
            killed = "" if done else fault or f"{after_s:.1f} s"
        if killed:
            now = self._status()
            left, is_done = now["deployment"], now["revision"] != before["revision"]
            if left is not None and left["state"] != "rests":
                raise WrongAnswer(f"killed at {killed}, and status says: {left}")
            killed += (
                f", filled up to {left['upto']}" if left else ", when it was done" if is_done else ", before it began"
            )
        began = time.monotonic()
        printed = "" if is_done else self.command(*arguments)
        self._last_s = time.monotonic() - began
        found = json.loads(printed or "null") or {}
        if not found and not killed:
            raise WrongAnswer(f"nothing was deployed of {edit}: {printed}")
        told = {name: found.get(name, "") for name in ("revision", "since", "filled", "seconds", "switch_s")}
        return {"killed_at": killed, **{n: round(v, 2) if isinstance(v, float) else v for n, v in told.items()}}

    def _status(self) -> dict[str, Any]:
        return dict(json.loads(self.command("status", "--json")))

    def prove(self, epochs: int) -> None:
        """Compare all snapshots that have not been compared yet."""
        with open_runtime(self._project(), "inprocess") as rt:
            if rt.catalog.snapshots.newest() != epochs - 1:
                raise WrongAnswer(f"{rt.catalog.snapshots.newest() + 1} epochs have ended instead of {epochs}")
            for epoch in range(len(self.proved), epochs):
                self.proved[epoch] = self._prove(rt, epoch)
        every = self.options.spark_every
        for epoch in range(epochs - 1 - (EPOCHS_PER_EDIT - 1 if epochs > 1 else 0), epochs):
            if every and epoch % every == every - 1:
                say(self.command("validate", str(epoch)).strip().splitlines()[-1])
                self.on_spark.append(epoch)

    def _project(self) -> Project:
        return load_project(self.folder, {"CUMULUS_HOME": str(self._state)})

    def _prove(self, rt: Runtime, epoch: int) -> dict[str, object]:
        past = rt.as_of(epoch)
        with connect() as database:
            _make_tables(database, past, epoch)
            for view in past.program.views:
                assert view.sql is not None
                ours = arrow_rows(read_view(past, view.name, as_of=epoch, ordered=False))
                theirs = list(database.execute(without_order(view.sql)).fetchall())
                if problem := same_rows(ours, theirs):
                    raise WrongAnswer(f"epoch {epoch}, revision {past.revision}, {view.name}: {problem}")
                self.views_proved += 1
        names = [view.name for view in past.program.views]
        return {"epoch": epoch, "revision": rt.catalog.program.revision_at(epoch), "views": len(names)}

    def proofs(self, seconds: Mapping[int, float]) -> Sequence[Mapping[str, object]]:
        """What was proved of each epoch, with what, and how long ending it took."""
        return [
            {
                **row,
                "proved_by": "DuckDB and Spark" if epoch in self.on_spark else "DuckDB",
                "run_s": seconds.get(epoch),
            }
            for epoch, row in self.proved.items()
        ]


def _make_tables(database: duckdb.DuckDBPyConnection, rt: Runtime, epoch: int) -> None:
    """What the relations consist of at the end of an epoch, summed up from all of the event log."""
    files: dict[str, list[str]] = {}
    for file in rt.catalog.log.files(epoch=epoch):
        files.setdefault(file.relation, []).append(str(rt.project.state / file.path))
    for relation in rt.program.relations:
        columns = ", ".join(
            f'CAST("{relation.in_log(c.name)}" AS {_sql_type(str(c.type))}) AS {c.name}' for c in relation.columns
        )
        names = ", ".join(c.name for c in relation.columns)
        listed = ", ".join(f"'{file}'" for file in files.get(relation.name, []))
        database.execute(
            f"CREATE TABLE {relation.name} AS SELECT {names} FROM (SELECT {columns}, _sign FROM read_parquet([{listed}], union_by_name=true) "
            f"WHERE _version <= {epoch_end(epoch)}) GROUP BY ALL HAVING SUM(_sign) > 0"
        )


def _sql_type(type_: str) -> str:
    return {"int": "BIGINT", "string": "VARCHAR"}.get(type_.split()[0].lower(), type_.split(" NULL")[0])


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if old not in text:
        raise WrongAnswer(f"{file} has no {old!r}")
    file.write_text(text.replace(old, new), encoding="utf-8")
