"""One at a time: a lock file that the operating system frees when its process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cumulus_ops.errors import SetupProblem

__all__ = ["only_one"]


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
