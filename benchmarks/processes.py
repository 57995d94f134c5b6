"""Contestants in processes of their own: started, watched (memory), and their result read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.contest import Unsupported
from benchmarks.progress import say
from benchmarks.settings import REPOSITORY

__all__ = ["Done", "Memory", "run_script", "run_worker", "watch_memory"]

INTERVAL_S = 0.25
TIMEOUT_S = 7200.0
#: Of a process that works for longer it is said how far it is.
SAY_EVERY_S = 60.0


@dataclass
class Memory:
    """The largest sums seen over a process and its descendants: resident, and the part of it that no file backs (the
    page cache of memory-mapped files can be dropped at any time)."""

    resident_mb: float = 0.0
    anonymous_mb: float = 0.0


@dataclass(frozen=True)
class Done:
    """A worker's result, and its peak memory."""

    result: dict[str, Any]
    peak_rss_mb: float
    peak_anonymous_mb: float


def run_worker(module: str, spec: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Done:
    """Run ``benchmarks.peers.<module>`` in this environment's Python; see :func:`run_script`."""
    return run_script([sys.executable, "-m", f"benchmarks.peers.{module}"], spec, environment)


def run_script(command: Sequence[str], spec: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Done:
    """Run a program that takes the path of a JSON file, and answers with one.

    Args:
        command: the program; two arguments are appended: the specification's path and the answer's.
        spec: what it is told.
        environment: added to this process's.

    Raises:
        Unsupported: the answer has ``unsupported``, or does not come within two hours.
        RuntimeError: it failed; the message is the end of what it printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        told, answer, log = (Path(folder) / name for name in ("spec.json", "answer.json", "log"))
        told.write_text(json.dumps(spec))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, str(told), str(answer)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
                env={**os.environ, **(environment or {})},
            )
            with watch_memory(lambda: [process.pid]) as memory:
                code = _wait(process, log, memory)
        if code != 0 or not answer.exists():
            raise RuntimeError(f"exit code {code}: {log.read_text(errors='replace').strip()[-400:]}")
        result = json.loads(answer.read_text())
    if "unsupported" in result:
        raise Unsupported(result["unsupported"])
    return Done(result, memory.resident_mb, memory.anonymous_mb)


def _wait(process: subprocess.Popen[bytes], log: Path, memory: Memory) -> int:
    until = time.monotonic() + TIMEOUT_S
    try:
        while True:
            try:
                return process.wait(SAY_EVERY_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > until:
                    raise
                last = log.read_text(errors="replace").strip().rpartition("\n")[2][-120:]
                say(f"        {last}; at most {memory.anonymous_mb:.0f} MB beside mapped files")
    except BaseException as error:
        for member in _family(process.pid):
            with suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Unsupported(f"did not end in {TIMEOUT_S:.0f} s") from error
        raise


@contextmanager
def watch_memory(roots: Callable[[], Sequence[int]]) -> Iterator[Memory]:
    """Sample the memory of some processes and their descendants while the block runs.

    Args:
        roots: gives the process ids.
    """
    memory, ended = Memory(), threading.Event()

    def sample() -> None:
        while not ended.wait(INTERVAL_S):
            members = [member for root in roots() for member in _family(root)]
            memory.resident_mb = max(memory.resident_mb, sum(map(_resident_mb, members)))
            memory.anonymous_mb = max(memory.anonymous_mb, sum(map(_anonymous_mb, members)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        ended.set()
        thread.join()


def _family(root: int) -> list[psutil.Process]:
    try:
        leader = psutil.Process(root)
        return [leader, *leader.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident_mb(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return float(process.memory_info().rss) / 1e6
    return 0.0


def _anonymous_mb(process: psutil.Process) -> float:
    # Not from smaps, for which the system walks through all pages while the process may map nothing: at scale factor 10 that took a quarter of a core.
    with suppress(psutil.Error, OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
