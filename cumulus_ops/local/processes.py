"""Processes that are remembered in a file: known by their id and their start, and ended with all that they started.

The operating system gives a process's id to another one some day. The start tells them apart: nothing is ever sent to a process that
merely has the id of one that was ours.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["KnownProcess", "end_all", "family_of"]

GRACE_S = 15.0
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
