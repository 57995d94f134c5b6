"""Is this machine able to run the servers? Each check that fails is one line with what to do."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from cumulus_ops.errors import SetupProblem

__all__ = ["LOOPBACK", "check_disk", "check_java", "check_port", "find_java", "free_port", "java_version"]

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
