"""Is this machine able to run the demo? Each check that fails is one line with what to do."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from cumulus_ops.errors import SetupProblem

__all__ = ["LOOPBACK", "check_disk", "check_java", "check_port", "free_port", "java_version"]

LOOPBACK = "127.0.0.1"
JAVA_MINIMUM = 17
DISK_BASE_BYTES = 1 << 30
DISK_PER_SCALE_FACTOR_BYTES = 6 << 30


def check_java() -> int:
    """The major version of the Java that Spark will use.

    Raises:
        SetupProblem: there is none, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
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
    """A port on the loopback address that is free now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def check_disk(folder: Path, scale_factor: float) -> None:
    """Refuse when the disk of ``folder`` has too little room for data, log, runs and reports."""
    needed = int(DISK_BASE_BYTES + scale_factor * DISK_PER_SCALE_FACTOR_BYTES)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupProblem(
            f"{free / 2**30:.1f} GiB free in {folder}, {needed / 2**30:.1f} GiB needed",
            kind="disk-full",
            hint="make room, choose a smaller scale factor (make run SF=0.01), or another folder (--home)",
        )
