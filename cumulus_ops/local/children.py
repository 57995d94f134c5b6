"""Child processes: each in a process group of its own, with a log file, stopped with everything they started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cumulus_ops.errors import SetupProblem
from cumulus_ops.local.processes import KnownProcess, end_family, family_of

__all__ = ["Child", "stop_all"]

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
