"""``cumulus up`` and ``down``: the servers of one's own project, started together, watched, and stopped together.

The process that runs :func:`run_up` is their parent; it holds a lock as long as it lives, and writes down what it has started
(:mod:`cumulus_ops.local.up`). If it is killed, the servers live on, and the next ``up`` or ``down`` ends them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil
from rich.markup import escape

from cumulus_ops.catalog.database import is_lost
from cumulus_ops.epochs.status import status
from cumulus_ops.local import processes
from cumulus_ops.local.airflow import Login
from cumulus_ops.local.display import Display
from cumulus_ops.local.processes import Child, KnownProcess, end_all, interruptible, only_one
from cumulus_ops.local.servers import Servers
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.interruptions import note
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.project.small_files import replace_file

__all__ = [
    "Record",
    "UpOptions",
    "read_record",
    "remove_record",
    "run_down",
    "run_up",
    "servers_folder",
    "start_detached",
    "write_record",
]


# What ``cumulus up`` has started, in a file beside it: for ``down``, for a second ``up``, and for whoever looks for leftovers.


FILE = "running.json"


@dataclass(frozen=True)
class Record:
    """``supervisor`` is the ``cumulus up`` itself; ``servers``: what it has started. ``ready``: Airflow answers and knows the DAGs.
    ``ended``: why it came to an end that nobody asked for."""

    url: str
    supervisor: KnownProcess
    servers: tuple[KnownProcess, ...] = ()
    ready: bool = False
    ended: str = ""

    def running(self) -> list[str]:
        """The names of the servers of which something runs."""
        return [server.name for server in self.servers if server.family()]


def read_record(home: Path) -> Record | None:
    """The record, None if there is none.

    Raises:
        SetupProblem: it cannot be read.
    """
    file = home / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        servers = tuple(KnownProcess(**server) for server in found["servers"])
        return Record(found["url"], KnownProcess(**found["supervisor"]), servers, found["ready"], found["ended"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "look for processes of this project yourself, end them, and remove the file"
        raise SetupProblem("cannot be read", kind="bad-record", place=str(file), hint=hint) from error


def write_record(home: Path, record: Record) -> None:
    """Write it anew, by one rename; nobody else can read it."""
    replace_file(home / FILE, json.dumps(asdict(record), indent=1), private=True)


def remove_record(home: Path) -> None:
    """Nothing runs any more."""
    (home / FILE).unlink(missing_ok=True)


DISK_BYTES = 1 << 30
WATCH_S = 1.0
SHOW_EVERY = 5  # looks
STOP_S = 60.0
START_S = 600.0
POLL_S = 0.3


@dataclass(frozen=True)
class UpOptions:
    """The project's folder, and the port of the UI."""

    folder: Path
    port: int = 8080


def servers_folder(project: Project) -> Path:
    """What the servers of a project write, below its state: kept from run to run."""
    return project.state / "servers"


def run_up(options: UpOptions, display: Display | None = None) -> None:
    """Start everything and stay until Ctrl-C, or until :func:`run_down` asks for the end; then stop everything. A server that dies meanwhile is started again.

    Raises:
        SetupProblem: the machine is not able to, the project is up already, or a server has died again and again.
    """
    display = display or Display()
    project, home = _prepare(options)
    with _only_up(project, home), interruptible() as stopping:
        supervisor = _Supervisor(project, home, options, display)
        try:
            supervisor.run()
        except KeyboardInterrupt:
            display.say("stopping")
        except SetupProblem as problem:
            supervisor.ended = problem.message
            display.say(f"[red]{escape(problem.message)}[/red]: stopping the others", markup=True)
            raise
        finally:
            stopping.set()
            supervisor.stop()
    display.say(f"{project.name} is down; its state is kept in {project.state}")


def start_detached(options: UpOptions, display: Display | None = None) -> None:
    """Have another process do :func:`run_up`, and return when everything is up.

    Raises:
        SetupProblem: it has ended before that.
    """
    display = display or Display()
    project, home = _prepare(options)
    with _only_up(project, home):
        _end_leftovers(home, display)
        processes.check_port(options.port, "the Airflow UI", f"--port {options.port + 1}")
    code = "from cumulus_ops.cli.main import main; main()"
    command = [sys.executable, "-c", code, "up", str(options.folder.resolve()), "--port", str(options.port)]
    (home / "log" / "up.log").unlink(missing_ok=True)
    child = Child("up", command, home / "log")
    with display.working("starting Spark and Airflow"):
        record = _wait_ready(home, child)
    _welcome(project, home, record, display)
    display.say(f"it goes on by itself, with the log {child.log}; `cumulus down` stops it")


def run_down(folder: Path, display: Display | None = None) -> bool:
    """Stop the servers of a project, whoever started them: exactly the processes that its record names, and what these started.

    Returns:
        whether anything was running.
    """
    display = display or Display()
    project = load_project(folder)
    home = servers_folder(project)
    record = read_record(home)
    if record is None:
        display.say(f"{project.name} is not up")
        return False
    stopped = _stop_supervisor(record)
    stopped |= bool(end_all(record.servers))
    remove_record(home)
    left = f"{project.name} was not running any more" + (f": {record.ended}" if record.ended else "")
    display.say(f"{project.name} is down" if stopped else left)
    return stopped


class _Supervisor:
    """What one ``up`` has started, to be stopped in the end."""

    def __init__(self, project: Project, home: Path, options: UpOptions, display: Display) -> None:
        self.project, self.home, self.options, self.display = project, home, options, display
        self.record = Record(f"http://{processes.LOOPBACK}:{options.port}", KnownProcess.of("cumulus up", os.getpid()))
        self.servers: Servers | None = None
        self.ended = ""

    def run(self) -> None:
        """Everything, until it is interrupted or a server cannot be kept alive."""
        _end_leftovers(self.home, self.display)
        processes.check_port(self.options.port, "the Airflow UI", f"--port {self.options.port + 1}")
        initialise(self.project, goes_on=True)
        write_record(self.home, self.record)
        spec = importlib.util.find_spec("cumulus_ops")
        assert spec is not None
        assert spec.origin is not None
        dags = Path(spec.origin).parent / "orchestration" / "dag_folder"
        self.servers = servers = Servers(self.home, self.options.port, dags, self._write_down)
        with self.display.working("starting Spark and Airflow"):
            servers.begin(_spark_master(self.project))
            servers.start(self.project.folder)
            servers.wait_ready(self.project)
        self.record = replace(self.record, ready=True)
        write_record(self.home, self.record)
        _welcome(self.project, self.home, self.record, self.display)
        self.display.say("Ctrl-C stops everything")
        self._watch(servers)

    def _write_down(self, servers: Servers) -> None:
        self.record = replace(self.record, servers=servers.known)
        write_record(self.home, self.record)

    def _watch(self, servers: Servers) -> None:
        """Show what happens, and start again what dies."""
        with open_runtime(self.project, "inprocess") as runtime:
            self.display.remember(status(runtime))
            looks = 0
            while True:
                time.sleep(WATCH_S)
                for death in servers.revive():
                    self.display.say(f"[yellow]{escape(str(death))}[/yellow]", markup=True)
                    note(self.project.state, death)
                looks += 1
                if looks % SHOW_EVERY == 0:
                    self._show(runtime)

    def _show(self, runtime: Runtime) -> None:
        """Show what has changed; a catalog that is gone for a while is waited for, by those who need it."""
        try:
            self.display.show_changes(status(runtime))
        except Exception as error:
            if not is_lost(error):
                raise
            self.display.say("the catalog does not answer: the next look asks again")

    def stop(self) -> None:
        """Stop all that was started; if there was a reason, it is written down for whoever asks."""
        if self.servers is None:
            return
        self.servers.stop()
        if self.ended:
            write_record(self.home, replace(self.record, servers=(), ended=self.ended))
        else:
            remove_record(self.home)


def _prepare(options: UpOptions) -> tuple[Project, Path]:
    """The project, and the servers' folder; what the machine lacks is said."""
    project = load_project(options.folder)
    if _spark_master(project):
        processes.check_java()
    home = servers_folder(project)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    processes.check_disk(home, DISK_BYTES)
    return project, home


def _spark_master(project: Project) -> str | None:
    """On which master a Spark is needed: for the executor or the validation, and if the project does not name one that runs."""
    needed = project.executor.kind == "spark" or project.validation.policy != "off"
    return project.executor.master if needed and project.executor.remote is None else None


def _only_up(project: Project, home: Path):  # type: ignore[no-untyped-def]
    record = read_record(home)
    where = f": {record.url}" if record else ""
    message = f"{project.name} is up already{where}"
    return only_one(home / "lock", message, f"`cumulus down {project.folder}` stops it")


def _end_leftovers(home: Path, display: Display) -> None:
    """End what an ``up`` has left that was killed; only while holding the lock."""
    record = read_record(home)
    if record is None:
        return
    if names := record.running():
        display.say(f"the last `cumulus up` was killed: stopping what it left ({', '.join(names)})")
        end_all(record.servers)
    remove_record(home)


def _stop_supervisor(record: Record) -> bool:
    """Ask the ``up`` itself to end, which stops its servers first."""
    process = record.supervisor.find()
    if process is None:
        return False
    process.terminate()
    _, alive = psutil.wait_procs([process], timeout=STOP_S)
    for left in alive:
        left.kill()
    return True


def _wait_ready(home: Path, child: Child) -> Record:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        record = read_record(home)
        if record and record.ready and record.supervisor.pid == child.process.pid:
            return record
        child.require_running()
        time.sleep(POLL_S)
    raise SetupProblem(f"not up after {START_S:.0f} s", kind="slow", place=str(child.log), hint=child.tail())


def _welcome(project: Project, home: Path, record: Record, display: Display) -> None:
    login = Login.kept_in(home / "airflow" / "passwords.json")
    length = project.epoch.length.total_seconds()
    display.say(f"{project.name} is up: {record.url}")
    display.say(f"login:    {login.user} / {login.password}")
    display.say(f"data:     land drops in {project.landing}/<coordinator>/")
    display.say(f"epochs:   a snapshot every {length:g} s, or now: cumulus epoch end --project {project.folder}")
    display.say(f"reports:  {project.reports / 'index.html'}")
