"""``make run``: data, Spark, Airflow and the feeder started together, watched, reported on, and stopped together.

Each run starts afresh: its folder (``<home>/demo``) is wiped; generated TPC-H data (``<home>/data``) is kept.
"""

from __future__ import annotations

import datetime
import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.demo.events import deliver_period, make_events, periods
from cumulus_ops.demo.tpch import generate_tables
from cumulus_ops.epochs.status import Status, status
from cumulus_ops.local import processes
from cumulus_ops.local.display import Display, epoch_table
from cumulus_ops.local.processes import interruptible, only_one
from cumulus_ops.local.servers import Servers
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project import names
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.interruptions import note
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project

__all__ = ["DemoOptions", "Feeder", "run_demo"]


# Data that arrives over time: a thread that lands the drops of each period when its time has come.


class Feeder(threading.Thread):
    """Lands period p's drops at ``rhythm.period_start(p)``; a period whose time is over lands at once.

    Args:
        staging: the whole stream, made beforehand.
        landing: where the project looks for drops.
        rhythm: the project's rhythm.
        periods: how many periods there are.
    """

    def __init__(self, staging: Path, landing: Path, rhythm: Rhythm, periods: int) -> None:
        super().__init__(name="feeder", daemon=True)
        self.staging, self.landing, self.rhythm, self.periods = staging, landing, rhythm, periods
        self.error: BaseException | None = None
        self._stopped = threading.Event()

    def run(self) -> None:
        """The thread's work; an error is kept in ``error``."""
        try:
            for period in range(self.periods):
                wait = (self.rhythm.period_start(period) - datetime.datetime.now(datetime.UTC)).total_seconds()
                if self._stopped.wait(max(0.0, wait)):
                    return
                deliver_period(self.staging, self.landing, period)
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopped.set()
        self.join()


BOOT_S = 20  # Airflow's way from here to healthy; the first epoch begins then (and later does no harm)
POLL_S = 1.0
DISK_BASE_BYTES = 1 << 30
DISK_PER_SCALE_FACTOR_BYTES = 6 << 30
FINAL = ("validated", "unproved", "failed")
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


@dataclass(frozen=True)
class DemoOptions:
    """What the command line says. ``once``: end when all epochs are validated, instead of at Ctrl-C."""

    scale_factor: float = 0.1
    epochs: int = 4
    epoch_s: float = 30.0
    once: bool = False
    port: int = 8080
    home: Path = Path("var")
    project: Path = Path("examples/tpch")
    dags: Path = Path("dags")
    timeout_s: float = 3600.0
    seed: int = 0


def run_demo(options: DemoOptions, display: Display | None = None) -> int:
    """Run the demo.

    Returns:
        the exit code: 0 when every snapshot was validated, 1 when one was not, 130 when interrupted before.

    Raises:
        SetupProblem: the machine is not able to, or a process it needs died.
    """
    demo = _Demo(options, display or Display())
    processes.check_java()
    processes.check_port(options.port, "the Airflow UI", f"make run PORT={options.port + 1}")
    options.home.mkdir(parents=True, exist_ok=True)
    needed = int(DISK_BASE_BYTES + options.scale_factor * DISK_PER_SCALE_FACTOR_BYTES)
    processes.check_disk(
        options.home, needed, "choose a smaller scale factor (make run SF=0.01), or another folder (--home)"
    )
    with (
        only_one(options.home / "demo.lock", hint="stop it with Ctrl-C, or give another folder (--home)"),
        interruptible() as stopping,
    ):
        try:
            demo.run()
        except KeyboardInterrupt:
            demo.display.say("interrupted")
        finally:
            stopping.set()
            demo.stop()
    return demo.exit_code


class _Demo:
    """What one run has started, to be stopped in the end."""

    def __init__(self, options: DemoOptions, display: Display) -> None:
        self.options, self.display = options, display
        self.home = (options.home / "demo").resolve()
        self.servers: Servers | None = None
        self.feeder: Feeder | None = None
        self.exit_code = INTERRUPTED

    def run(self) -> None:
        """Everything, from the data to the table."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.servers = servers = Servers(self.home, self.options.port, self.options.dags.resolve())
        servers.begin()
        staging = self._make_data()
        with self.display.working("starting Spark and Airflow"):
            project = self._start(servers)
            count = periods(self.options.epochs, project.coordinators)
            self.feeder = Feeder(staging, project.landing, Rhythm.of(project), count)
            self.feeder.start()
            servers.wait_ready(project)
        self.display.say(f"Airflow is up: {servers.api.url}   login: {servers.login.user} / {servers.login.password}")
        self._watch(servers, project)
        self._report(servers, project)
        if not self.options.once:
            self.display.say("Ctrl-C stops everything")
            threading.Event().wait()

    def stop(self) -> None:
        """Stop all that was started."""
        self.display.say("stopping")
        if self.feeder and self.feeder.is_alive():
            self.feeder.stop()
        if self.servers:
            self.servers.stop()

    def _make_data(self) -> Path:
        o = self.options
        tables = o.home.resolve() / "data" / f"tpch-sf{o.scale_factor:g}"
        coordinators = load_project(o.project).coordinators
        staging = o.home.resolve() / "data" / f"events-sf{o.scale_factor:g}-{o.epochs}x{coordinators}-seed{o.seed}"
        with self.display.working(f"making TPC-H data, scale factor {o.scale_factor:g}"):
            generate_tables(tables, o.scale_factor)
            make_events(tables, staging, epochs=o.epochs, coordinators=coordinators, seed=o.seed)
        self.display.say(f"TPC-H data at scale factor {o.scale_factor:g}: {staging}")
        return staging

    def _start(self, servers: Servers) -> Project:
        """Choose the beginning of epoch 0, and start Airflow with a project that knows it."""
        start = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=BOOT_S)
        settings = {
            "CUMULUS_HOME": str(self.home),
            "CUMULUS_START": start.isoformat(),
            "CUMULUS_EPOCH_LENGTH": f"{self.options.epoch_s:g}s",
            "CUMULUS_EPOCHS": str(self.options.epochs),
        }
        project = load_project(self.options.project, {**os.environ, **settings})
        initialise(project, goes_on=True)
        servers.start(self.options.project, settings)
        return project

    def _watch(self, servers: Servers, project: Project) -> None:
        """Show what happens until every epoch is validated."""
        deadline = time.monotonic() + self.options.timeout_s
        with open_runtime(project, "inprocess") as runtime, self.display.working("epochs are running"):
            while not _is_complete(now := status(runtime, latest=None), self.options.epochs):
                self.display.show_changes(now)
                self._require_progress(servers, project, now, deadline)
                time.sleep(POLL_S)
            self.display.show_changes(now)

    def _require_progress(self, servers: Servers, project: Project, now: Status, deadline: float) -> None:
        for death in servers.revive():
            self.display.say(str(death))
            note(project.state, death)
        if self.feeder and self.feeder.error:
            raise SetupProblem(f"the feeder failed: {self.feeder.error}", kind="feeder") from self.feeder.error
        if time.monotonic() > deadline:
            hint = f"logs are in {self.home / 'log'} and {self.home / 'airflow' / 'logs'}"
            raise SetupProblem(f"not done after {self.options.timeout_s:.0f} s", kind="slow", hint=hint)
        dags = [names.coordinator_dag(project.name, i) for i in range(project.coordinators)]
        dags.append(names.commit_dag(project.name))
        if not any(epoch.state == "failed" for epoch in now.epochs):  # else that is why the validation failed
            dags.append(names.validate_dag(project.name))
        for dag in dags:
            try:
                failed = [run["dag_run_id"] for run in servers.api.runs(dag) if run["state"] == "failed"]
            except OSError:  # busy; the next look will tell
                continue
            if failed:
                tasks = ", ".join(servers.api.failed_tasks(dag, failed[0]))
                place = self.home / "airflow" / "logs" / f"dag_id={dag}" / f"run_id={failed[0]}"
                hint = "read the task's log there"
                raise SetupProblem(f"{dag} failed at {tasks}", kind="dag-failed", place=str(place), hint=hint)

    def _report(self, servers: Servers, project: Project) -> None:
        """Print the table and where things are."""
        with open_runtime(project, "inprocess") as runtime:
            now = status(runtime, latest=None)
        epochs = [e for e in now.epochs if e.epoch < self.options.epochs]
        self.display.console.print(epoch_table(epochs))
        reports = [e.report for e in epochs if e.report]
        self.display.say(f"reports:  {reports[-1] if reports else project.reports}")
        self.display.say(f"views:    {project.published} (Delta tables, one version per epoch)")
        self.display.say(f"Airflow:  {servers.api.url}   login: {servers.login.user} / {servers.login.password}")
        self.exit_code = 0 if all(e.state == "validated" for e in epochs) else 1


def _is_complete(status: Status, epochs: int) -> bool:
    done = (e for e in status.epochs if e.state in FINAL)
    return sum(min(e.through, epochs - 1) - e.epoch + 1 for e in done if e.epoch < epochs) == epochs
