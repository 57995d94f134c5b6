"""What ``cumulus doctor`` looks at: this processes, and a project and how it goes if there is one. Each finding is a line, with what to do."""

from __future__ import annotations

import datetime
import importlib.metadata
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from packaging.requirements import Requirement

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.database import read_url
from cumulus_ops.catalog.epochs import in_error
from cumulus_ops.local import processes
from cumulus_ops.local.up import read_record, servers_folder
from cumulus_ops.opening.runtime import look_at_state
from cumulus_ops.project.errors import CumulusError, SetupProblem
from cumulus_ops.project.interruptions import interruptions
from cumulus_ops.project.names import hide, shown_url
from cumulus_ops.project.project_file import FILE_NAME, load_project
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project
from cumulus_ops.query.overview import failing_steps, overdue_members, source_states, under_way
from m3.errors import M3Error

__all__ = ["FIX", "OK", "WARN", "Finding", "examine"]

OK, WARN, FIX = "ok", "warning", "fix"
PACKAGE = "cumulus"
CLAIM, VIEWS = "claim", "views"
PYTHON_MINIMUM = (3, 11)
GIB = 1 << 30
DISK_MINIMUM_BYTES, DISK_GOOD_BYTES = 1 * GIB, 5 * GIB
#: Airflow's three processes with their workers, and a Spark with its: what they were seen to take, rounded up.
MEMORY_BYTES = 3 * GIB


#: What helps where an epoch is overdue. What waits in sources is not known here, and an epoch to which nothing comes is not ended by `cumulus run`.
VOTE = "see that its DAG runs and is not paused; without Airflow, `cumulus run` goes on"
VOTE_FROM_SOURCES = (
    "see that its DAG runs and is not paused; without Airflow, `cumulus run` reads the sources, and if nothing waits in them the epoch stays open until "
    "something does: then nothing is missing"
)


@dataclass(frozen=True)
class Finding:
    """``state``: ok, warning, or fix (something does not work until it is mended); ``hint``: what to do."""

    check: str
    state: str
    message: str
    hint: str = ""


def examine(folder: Path, port: int) -> list[Finding]:
    """Everything that can be looked at without changing it.

    Args:
        folder: the project's; there need not be one.
        port: where the UI is to be.
    """
    found = [_python(), *_java(), *_packages(), _memory(), _localhost()]
    if not (folder / FILE_NAME if folder.is_dir() else folder).exists():
        hint = "`cumulus init FOLDER` makes one, `cumulus doctor FOLDER` looks at another"
        return [*found, _disk(folder), _port(port, None), Finding("project", OK, f"none in {folder.resolve()}", hint)]
    try:
        project = load_project(folder)
    except CumulusError as error:
        return [*found, _problem("project", error)]
    found += [Finding("project", OK, f"{project.name}: {len(project.relations)} relations"), _disk(project.state)]
    found += [*_folders(project), catalog := _catalog(project)]
    if catalog.state == OK:
        found += [state := _state(project)]
        # a catalog that does not belong to the folder says nothing of it
        found += [*_sources(project), *_running(project)] if state.check == VIEWS or state.state == OK else []
    return [*found, *_servers(project), _port(port, project)]


def _problem(check: str, error: CumulusError, state: str = FIX) -> Finding:
    place = f"{error.place}: " if error.place else ""
    return Finding(check, state, f"{place}{error.message}", error.hint)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MINIMUM:
        return Finding("python", FIX, f"{version}: too old", "install Python 3.11 or newer, and Cumulus in it")
    return Finding("python", OK, f"{version}, {sys.executable}")


def _java() -> Iterator[Finding]:
    try:
        version = processes.check_java()
    except CumulusError as error:
        yield _problem("java", error)
    else:
        yield Finding("java", OK, f"{version}, {processes.find_java()}")


def _packages() -> Iterator[Finding]:
    """What is installed, against what Cumulus requires and, in a checkout, against the versions that were tested together."""
    try:
        required = [Requirement(text) for text in importlib.metadata.requires(PACKAGE) or ()]
    except importlib.metadata.PackageNotFoundError:
        yield Finding("packages", FIX, f"{PACKAGE} itself is not installed", "make install, or pip install cumulus")
        return
    required = [r for r in required if r.marker is None or r.marker.evaluate({"extra": ""})]
    installed = {r.name: _version(r.name) for r in required}
    reinstall = "install Cumulus anew in an environment of its own: make install"
    for r in required:
        version = installed[r.name]
        if version is None:
            yield Finding("packages", FIX, f"{r.name} is not installed", reinstall)
        elif not r.specifier.contains(version, prereleases=True):
            yield Finding("packages", FIX, f"{r.name} is {version}, {r.specifier} is required", reinstall)
    if _version("pyspark-client"):
        hint = "pip uninstall pyspark-client, then pip install --force-reinstall --no-deps pyspark"
        yield Finding("packages", FIX, "pyspark-client is installed: its files overwrite those of pyspark", hint)
    tested = _read_constraints()
    other = [f"{name} {v} (tested: {tested[name]})" for name, v in installed.items() if v and tested.get(name, v) != v]
    if other:
        yield Finding("packages", WARN, "other versions than tested: " + ", ".join(other), reinstall)
    else:
        known = ", ".join(
            f"{name} {installed.get(name)}" for name in ("apache-airflow", "pyspark", "great-expectations")
        )
        yield Finding("packages", OK, known)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _read_constraints() -> dict[str, str]:
    """The versions of a checkout's constraints; none where Cumulus was installed as a package."""
    file = Path(__file__).resolve().parents[2] / "constraints.txt"
    if not file.is_file():
        return {}
    lines = (re.match(r"([\w.-]+)==([^\s;]+)", line) for line in file.read_text(encoding="utf-8").splitlines())
    return {match[1]: match[2] for match in lines if match}


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    text = f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}"
    if memory.available < MEMORY_BYTES:
        hint = f"end other programs; or go without `cumulus up`: `cumulus run` needs less than its {MEMORY_BYTES / GIB:g} GiB"
        return Finding("memory", WARN, text, hint)
    return Finding("memory", OK, text)


def _localhost() -> Finding:
    """Clients of Spark Connect call their server so."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)}
    except OSError as error:
        addresses, reason = set(), str(error)
    else:
        reason = ", ".join(map(str, sorted(map(str, addresses))))
    if processes.LOOPBACK in addresses:
        return Finding("localhost", OK, reason)
    hint = f"add the line `{processes.LOOPBACK} localhost` to /etc/hosts"
    return Finding("localhost", FIX, f"does not lead to {processes.LOOPBACK}: {reason}", hint)


def _disk(folder: Path) -> Finding:
    there = _existing(folder)
    free = psutil.disk_usage(str(there)).free
    text = f"{free / GIB:.1f} GiB free in {there}"
    if free < DISK_MINIMUM_BYTES:
        return Finding("disk", FIX, text, "make room, or move the state: CUMULUS_HOME, or `state:` in cumulus.yaml")
    return Finding(
        "disk", OK if free >= DISK_GOOD_BYTES else WARN, text, "" if free >= DISK_GOOD_BYTES else "make room soon"
    )


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(p for p in (folder.resolve(), *folder.resolve().parents) if p.is_dir())


def _folders(project: Project) -> Iterator[Finding]:
    """Whether what is to be written can be, and whether a rename between landing and state is one."""
    folders = {"landing": project.landing, "state": project.state, "reports": project.reports}
    if project.published:
        folders["publish"] = project.published
    for name, folder in folders.items():
        reason = _why_not_writable(folder)
        if reason:
            yield Finding(
                name, FIX, f"{folder}: {reason}", "give this user the right to write there, or name another folder"
            )
        else:
            yield Finding(name, OK, str(folder))
    if len({_existing(folder).stat().st_dev for folder in (project.landing, project.state)}) > 1:
        hint = "drops have to be made on the landing folder's filesystem, so that they appear in it by one rename"
        yield Finding("filesystems", WARN, "landing and state are on different ones", hint)


def _why_not_writable(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _catalog(project: Project) -> Finding:
    try:
        read_url(project.catalog_url)
    except CumulusError as error:
        return _problem("catalog", error)
    where = shown_url(project.catalog_url)
    hint = f"cumulus init {project.folder}"
    file = project.catalog_url.removeprefix("sqlite:///")
    if file != project.catalog_url and not Path(file).is_file():
        return Finding("catalog", FIX, f"{where}: not made yet", hint)
    try:
        catalog = Catalog(project.catalog_url, project.state)
        try:
            catalog.database.check_schema()
        finally:
            catalog.close()
    except CumulusError as error:
        return _problem("catalog", error)
    except Exception as error:  # of the database's driver, of which only the catalog knows
        reason = hide(str(getattr(error, "orig", error)), [project.catalog_url]).strip().splitlines()
        hint = "check `catalog:` in cumulus.yaml, and that the server runs and knows the user"
        return Finding("catalog", FIX, f"{where}: {reason[0] if reason else type(error).__name__}", hint)
    return Finding("catalog", OK, where)


def _state(project: Project) -> Finding:
    """Whether the state is this catalog's, which opening the project would refuse; and whether its folder waits to be deployed, or is wrong, and
    the project goes on as it was."""
    try:
        look_at_state(project)
    except SetupProblem as error:
        return _problem(CLAIM, error)
    except CumulusError as error:
        return _problem(VIEWS, error, WARN)
    except M3Error as error:
        place = f"{error.span}: " if error.span else ""
        hint = f"{error.hint}; {len(error.others)} more: cumulus compile --check" if error.others else error.hint
        return Finding(VIEWS, WARN, f"{place}{error.message}", f"{hint}; until then the project goes on as it was")
    return Finding(CLAIM, OK, "state and catalog belong together, and maintain what the folder says")


def _sources(project: Project) -> Iterator[Finding]:
    """Whether sources stand still, as who asked them last has found; they are not asked."""
    if not project.sources:
        return
    catalog = Catalog(project.catalog_url, project.state)
    try:
        states = source_states(project, catalog)
    finally:
        catalog.close()
    for source in states:
        if source.standing is None:
            yield Finding("source", OK, f"{source.name}: {'not begun' if source.epoch is None else 'read'}")
        else:
            problem, _, hint = source.standing.problem.partition("\n  hint: ")
            yield Finding("source", FIX, f"{source.name} stands still: {problem}", hint)


def _running(project: Project) -> Iterator[Finding]:
    """What its steps, its epochs and its views have said last; nothing is tried."""
    catalog, rhythm = Catalog(project.catalog_url, project.state), Rhythm.of(project)
    try:
        failing = failing_steps(catalog)
        for problem in failing:
            state = "waits for a damaged file" if problem.waits else "fails"
            text = f"{problem.name} {state} since {moment(problem.since)}, {problem.times} times, last at {moment(problem.at)}: {problem.told}"
            log = f"; its log: {problem.log} in Airflow" if problem.log else ""
            yield Finding("step", FIX, text, f"{problem.hint}{log}")
        members = sorted(catalog.members.membership().active(), key=lambda m: m.coordinator)
        overdue = overdue_members(project, catalog, members, rhythm)
        for member in members:
            if (ended := overdue.get(member.coordinator)) is not None:
                text = f"epoch {member.epoch} of coordinator {member.coordinator} was to end at {moment(ended)}, and it has not voted to end it"
                yield Finding("epoch", WARN, text, VOTE_FROM_SOURCES if project.sources else VOTE)
        if (begun := under_way(catalog)) is not None:
            yield Finding("deployment", OK if begun.is_at_work else WARN, str(begun), begun.hint)
        newest = catalog.snapshots.newest()
        for error in in_error(catalog.results.view_errors(), newest):
            yield Finding("view", WARN, f"{error.view} is in error {error}", error.hint)
        for damage in catalog.repairs.damages():
            yield Finding("state folder", FIX, str(damage), damage.hint)
        yield _backup(project, catalog)
        for gone in interruptions(project.state):
            yield Finding("interrupted", OK, f"{gone}; it is over")
        if not failing:
            data = catalog.history.data_at(newest)
            said = "none yet" if newest < 0 else f"of epoch {newest}" + (f", data of {moment(data)}" if data else "")
            yield Finding("snapshot", OK, said)
    finally:
        catalog.close()


def _backup(project: Project, catalog: Catalog) -> Finding:
    """How old the newest backup is; that one cannot be made, a step says that fails."""
    last = catalog.backups.last()
    if last is not None:
        return Finding("backup", OK, f"{last.of}, made at {moment(last.at)}, in {last.seconds:.2f} s: {last.place}")
    if project.backup is not None:
        return Finding("backup", OK, f"none yet; one is made after each snapshot, in {project.backup.to}")
    hint = "`backup: {to: FOLDER}` in cumulus.yaml makes one after each snapshot (docs/backups.md)"
    return Finding("backup", WARN, "none: if the catalog is lost, all has to be read again from the sources", hint)


def moment(at: datetime.datetime) -> str:
    """To the second, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _servers(project: Project) -> Iterator[Finding]:
    """Whether it is up; and what is left of an ``up`` that was killed."""
    try:
        record = read_record(servers_folder(project))
    except CumulusError as error:
        yield _problem("servers", error)
        return
    if record is None:
        yield Finding("servers", OK, "not up", "`cumulus up` starts them")
    elif record.supervisor.find():
        yield Finding("servers", OK, f"up: {record.url}")
    elif names := record.running():
        hint = f"cumulus down {project.folder}"
        yield Finding("servers", FIX, f"`cumulus up` was killed, and these are left: {', '.join(names)}", hint)
    elif record.ended:
        log = servers_folder(project) / "log"
        yield Finding(
            "servers", WARN, f"not up: {record.ended}", f"look into {log}, then start them again: `cumulus up`"
        )
    else:
        yield Finding("servers", OK, "not up; the last `cumulus up` was killed, and nothing is left of it")


def _port(port: int, project: Project | None) -> Finding:
    try:
        record = read_record(servers_folder(project)) if project else None
    except CumulusError:
        record = None  # the servers' check says so
    if record and record.url.endswith(f":{port}") and record.supervisor.find():
        return Finding("port", OK, f"{port}: the UI of this project")
    try:
        processes.check_port(port, "the UI", f"cumulus up --port {port + 1}")
    except CumulusError as error:
        return _problem("port", error, WARN)
    return Finding("port", OK, f"{port} is free")
