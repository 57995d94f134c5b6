"""One demo at a time: a lock file that the operating system frees when its process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cumulus_ops.errors import SetupProblem

__all__ = ["only_one"]


@contextmanager
def only_one(file: Path) -> Iterator[None]:
    """Hold ``file``'s lock.

    Raises:
        SetupProblem: another process holds it.
    """
    with file.open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held.seek(0)
            raise SetupProblem(
                f"another run is using {file.parent} (process {held.read().strip() or 'unknown'})",
                kind="locked",
                hint="stop it with Ctrl-C, or give another folder (--home)",
            ) from error
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield
