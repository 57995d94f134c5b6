"""A Spark standalone cluster on the loopback address, and control groups that hold its workers to a share of a core."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.contest import NotMeasured
from cumulus_ops.local.processes import LOOPBACK, Child, free_port, stop_all
from cumulus_ops.local.spark_service import spark_environment, spark_home, wait_for_port

__all__ = ["cpu_seconds", "held_to", "spark_cluster", "wait_for_log"]

#: How long a program that is started may take to answer: only one that hangs takes so long, on a busy machine, too.
WAIT_S = 240.0
#: Where control groups are made: the controller ``cpu`` of the first version, else the second version.
HIERARCHIES = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
PERIOD_US = 100_000
#: So many times what another group, or process, gets where not all get what they want.
WEIGHT = 16
#: Moves itself to a control group and then becomes the program: so is whatever that starts in the group from the beginning.
JOIN = 'echo $$ > "$0" && exec "$@"'


@contextmanager
def spark_cluster(
    home: Path, groups: Sequence[Path | None] = (None,), cores: int = 2, memory: str = "1536m"
) -> Iterator[str]:
    """A standalone master, and a worker for each of ``groups``; gives the master's URL.

    Args:
        home: gets logs and scratch files.
        groups: the control group that a worker runs in, with its executors and their Python processes; None for none.
        cores: so many tasks a worker runs at once.
        memory: for its executors.
    """
    spark_class = str(spark_home() / "bin" / "spark-class")
    port = free_port()
    url = f"spark://{LOOPBACK}:{port}"
    master = ["org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port", str(port), "--webui-port", "0"]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "--cores", str(cores), "--memory", memory]
    children: list[Child] = []
    try:
        children.append(_start("spark-master", [spark_class, *master], home))
        wait_for_port(port, children[0], WAIT_S)
        for number, group in enumerate(groups, 1):
            joining = [] if group is None else ["sh", "-c", JOIN, str(group / "cgroup.procs")]
            command = [*joining, spark_class, *worker, "--webui-port", "0", url]
            children.append(_start(f"spark-worker-{number}", command, home))
        for child in children[1:]:
            wait_for_log(child, "Successfully registered with master")
        yield url
    finally:
        stop_all(children[::-1])


def _start(name: str, command: Sequence[str], home: Path) -> Child:
    """Start one of Spark's programs with everything it writes under ``home``."""
    scratch = home / name
    scratch.mkdir(parents=True, exist_ok=True)
    return Child(name, command, home / "log", {**spark_environment(scratch), "SPARK_WORKER_DIR": str(scratch)})


def wait_for_log(child: Child, text: str, timeout_s: float = WAIT_S) -> None:
    """Wait until ``text`` stands in the child's log."""
    deadline = time.monotonic() + timeout_s
    while text not in child.log.read_text(errors="replace"):
        child.require_running()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{child.name} did not say {text!r}:\n{child.tail()}")
        time.sleep(0.1)


@contextmanager
def held_to(share: float, name: str) -> Iterator[Path]:
    """A control group whose processes get ``share`` of one core together, and get it before others that want the cores.

    Args:
        share: of each tenth of a second; when it is used up, all of them wait for the next one.
        name: tells groups of this process apart.

    Raises:
        NotMeasured: this machine has no control groups for that, or not for this user.
    """
    hierarchy = next((one for one in HIERARCHIES if (one / "cgroup.procs").exists()), None)
    if hierarchy is None:
        raise NotMeasured(f"workers cannot be held to a part of a core: no control groups in {HIERARCHIES[-1]}")
    group = hierarchy / f"cumulus-{os.getpid()}-{name}"
    try:
        group.mkdir()
        _limit(group, round(share * PERIOD_US))
    except OSError as problem:
        with suppress(OSError):
            group.rmdir()
        raise NotMeasured(f"workers cannot be held to a part of a core: {problem}") from problem
    try:
        yield group
    finally:
        _end(group)


def _limit(group: Path, quota_us: int) -> None:
    """Have the kernel give the group so much of each period."""
    first = group / "cpu.cfs_quota_us"
    if first.exists():
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        first.write_text(str(quota_us))
        (group / "cpu.shares").write_text(str(WEIGHT * 1024))
    else:
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        (group / "cpu.weight").write_text(str(WEIGHT * 100))


def cpu_seconds(group: Path) -> float:
    """What the processes that are in a control group have used so far."""
    used = 0.0
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(int(pid)).cpu_times()
            used += times.user + times.system
    return used


def _end(group: Path) -> None:
    """Delete a group. Whoever is still in it was started in it, and is ended."""
    deadline = time.monotonic() + WAIT_S
    while True:
        with suppress(OSError):
            group.rmdir()
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{group} still has processes")
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(psutil.NoSuchProcess):
                psutil.Process(int(pid)).kill()
        time.sleep(0.1)
