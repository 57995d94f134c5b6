"""Processes on this machine: whether it can run them, how they are started and watched, known by their id and their start, and ended with all that they started.

The operating system gives a process's id to another one some day. The start tells them apart: nothing is ever sent to a process that
merely has the id of one that was ours.
"""

from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from cumulus_ops.project.errors import SetupProblem

__all__ = [
    "LOOPBACK",
    "Child",
    "KnownProcess",
    "check_disk",
    "check_java",
    "check_port",
    "end_all",
    "family_of",
    "find_java",
    "free_port",
    "interruptible",
    "java_version",
    "only_one",
    "stop_all",
]


# Child processes: each in a process group of its own, with a log file, stopped with everything they started.


GRACE_S = 15.0
LOG_LINES = 15


class Child:
    """A running child process.

    Args:
        name: for messages, and the log file's name.
        command: program and arguments; no shell is involved.
        log_folder: gets ``<name>.log``.
        environment: added to this process's own.
        stop_signal: what asks it to end.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_folder: Path,
        environment: Mapping[str, str] | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        log_folder.mkdir(parents=True, exist_ok=True)
        self.name, self.stop_signal, self.log = name, stop_signal, log_folder / f"{name}.log"
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def known(self) -> KnownProcess:
        """What another process needs to end it."""
        return KnownProcess.of(self.name, self.process.pid, self.stop_signal)

    @property
    def is_running(self) -> bool:
        """True while the process itself has not ended."""
        return self.process.poll() is None

    def require_running(self) -> None:
        """Raise when it has ended, with the end of its log."""
        if not self.is_running:
            raise SetupProblem(
                f"{self.name} ended with exit code {self.process.returncode}",
                kind="child-died",
                place=str(self.log),
                hint=f"its last lines:\n{self.tail()}",
            )

    def tail(self, lines: int = LOG_LINES) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait(self, timeout_s: float) -> None:
        """Wait for it to end by itself with exit code 0."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            hint = f"its last lines:\n{self.tail()}"
            raise SetupProblem(
                f"{self.name} did not end in {timeout_s:.0f} s", kind="slow", place=str(self.log), hint=hint
            ) from error
        if self.process.returncode != 0:
            self.require_running()


def stop_all(children: Sequence[Child], grace_s: float = GRACE_S) -> None:
    """Ask all children to end, then end by force whatever is left of them and their descendants."""
    family = [process for child in children for process in family_of(child.process.pid)]
    for child in children:
        if child.is_running:
            child.process.send_signal(child.stop_signal)
    end_family(family, grace_s)
    for child in children:
        child.process.wait(GRACE_S)


GENTLE_S = 3.0
POLL_S = 0.05
BOOT = Path("/proc/sys/kernel/random/boot_id")
START_FIELD = 19  # of /proc/PID/stat, counted from the state, which follows the name in parentheses


@dataclass(frozen=True)
class KnownProcess:
    """A process: ``name`` is for messages, ``start`` tells when it began (:func:`start_of`), ``stop_signal`` asks it to end."""

    name: str
    pid: int
    start: str
    stop_signal: int = signal.SIGTERM

    @classmethod
    def of(cls, name: str, pid: int, stop_signal: int = signal.SIGTERM) -> KnownProcess:
        """A process that is running now, and cannot end unseen (a child, or the own process)."""
        return cls(name, pid, start_of(pid) or "", int(stop_signal))

    def find(self) -> psutil.Process | None:
        """The process, None if it has ended, whoever has its id now."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if start_of(self.pid) == self.start and _is_alive(process):
                return process
        return None

    def family(self) -> list[psutil.Process]:
        """It and what it started, as far as that is running; nothing if its id belongs to another process now."""
        if start_of(self.pid) not in (None, self.start):
            return []
        return family_of(self.pid)


def start_of(pid: int) -> str | None:
    """When a process began, as a text that no other process with its id has; None if there is no such process.

    That is the boot and the clock ticks since then where the system tells (a clock that is set does not move them), else the time.
    """
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return f"{BOOT.read_text().strip()} {ticks[START_FIELD]}"
    except (FileNotFoundError, ProcessLookupError):
        pass
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def family_of(leader: int) -> list[psutil.Process]:
    """A process that leads a session, its descendants, and what else is in its session: that stays behind when the leader is killed."""
    found: dict[int, psutil.Process] = {}
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(leader)
        found = {p.pid: p for p in (process, *process.children(recursive=True))}
    for pid in psutil.pids():
        with suppress(OSError, psutil.NoSuchProcess):
            if pid not in found and os.getsid(pid) == leader:
                found[pid] = psutil.Process(pid)
    return [process for process in found.values() if _is_alive(process)]


def end_all(known: Sequence[KnownProcess], grace_s: float = GRACE_S) -> list[str]:
    """Ask processes to end, then end by force whatever is left of them and what they started.

    Returns:
        the names of those of which something was running.
    """
    families = {process: process.family() for process in known}
    for process in known:
        if running := process.find():
            with suppress(psutil.NoSuchProcess):
                running.send_signal(process.stop_signal)
    everybody = [member for family in families.values() for member in family]
    end_family(everybody, grace_s)
    return [process.name for process, family in families.items() if family]


def end_family(family: Sequence[psutil.Process], grace_s: float) -> None:
    """Wait until processes whose leaders were asked to end have done so. What is at work meanwhile is asked, too, after a while: a leader
    may wait for it, and it may be killed at any time. What is left in the end is ended by force."""
    asked = time.monotonic()
    for process in _wait(family, asked + min(GENTLE_S, grace_s)):
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in _wait(family, asked + grace_s):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait(family, time.monotonic() + GRACE_S)


def _wait(family: Sequence[psutil.Process], deadline: float) -> list[psutil.Process]:
    """Those that are still running at the deadline. One that nobody has taken note of (a zombie) is not: that is its parent's affair, and
    in a container perhaps nobody's."""
    while (alive := [process for process in family if _is_alive(process)]) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return alive


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# Ctrl-C and its like, so that what was started is stopped in peace.


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C, SIGTERM and a closed terminal raise KeyboardInterrupt, once: what is being stopped then is stopped in peace. Who stops
    things for another reason sets the event that is given.

    Installing a handler also gives children the default action for SIGINT, which a shell's background job ignores.
    """
    seen = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if not seen.is_set():
            seen.set()
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# One at a time: a lock file that the operating system frees when its process ends, however it ends.


@contextmanager
def only_one(file: Path, message: str = "", hint: str = "stop it with Ctrl-C") -> Iterator[None]:
    """Hold ``file``'s lock.

    Args:
        file: it has the process's id in it.
        message: what is wrong if another process holds it; by default, that it uses the folder.
        hint: what to do then.

    Raises:
        SetupProblem: another process holds it.
    """
    with file.open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held.seek(0)
            what = message or f"another run is using {file.parent}"
            raise SetupProblem(
                f"{what} (process {held.read().strip() or 'unknown'})", kind="locked", hint=hint
            ) from error
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield


# Is this machine able to run the servers? Each check that fails is one line with what to do.


LOOPBACK = "127.0.0.1"
#: Where free ports are looked for: below those that Linux and others give to outgoing connections.
SERVED = (20_000, 32_000)
JAVA_MINIMUM = 17


def check_java() -> int:
    """The major version of the Java that Spark will use.

    Raises:
        SetupProblem: there is none, or it is older than 17.
    """
    home, java = os.environ.get("JAVA_HOME"), find_java()
    hint = "install a JRE, e.g. apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
    if not java or not Path(java).exists():
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no java on the PATH"
        raise SetupProblem(f"Spark needs Java {JAVA_MINIMUM} or newer: {where}", kind="no-java", hint=hint)
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = java_version(shown.stderr + shown.stdout)
    if version < JAVA_MINIMUM:
        raise SetupProblem(
            f"Spark needs Java {JAVA_MINIMUM} or newer: {java} is version {version or 'unknown'}",
            kind="old-java",
            hint=hint,
        )
    return version


def find_java() -> str | None:
    """The program that Spark will use, which need not be there: JAVA_HOME's, or the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def java_version(output: str) -> int:
    """The major version in the output of ``java -version``: 8 for ``1.8.0_392``, 0 when there is none."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0


def check_port(port: int, what: str, option: str) -> None:
    """Refuse when ``port`` on the loopback address is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise SetupProblem(
                f"port {port} ({what}) cannot be used: {error.strerror}",
                kind="port-taken",
                hint=f"stop what listens there, or choose another one: {option}",
            ) from error


def free_port() -> int:
    """A port on the loopback address that is free now, and most likely still is when a server comes to it: none of those that the
    system gives to whoever connects somewhere meanwhile."""
    for _ in range(100):
        port = random.SystemRandom().randrange(*SERVED)  # whatever seeds a process has been given
        with socket.socket() as probe, suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
    raise SetupProblem("no port is free", kind="no-port", place=f"{LOOPBACK}:{SERVED[0]} to {SERVED[1]}")


def check_disk(folder: Path, needed: int, otherwise: str = "") -> None:
    """Refuse when the disk of ``folder`` has less than ``needed`` bytes free; ``otherwise``: what to do but make room."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupProblem(
            f"{free / 2**30:.1f} GiB free in {folder}, {needed / 2**30:.1f} GiB needed",
            kind="disk-full",
            hint="make room" + (f", {otherwise}" if otherwise else ""),
        )
