"""What was begun, and of which nobody has seen the end.

Before a delivery is read, a mark says so; whoever sees the end of that, however it comes, takes the mark away. A process that is killed, or dies of
what it reads, leaves it: the next one knows that so many have died at the same. A mark is a file with a byte for each attempt, which costs
some microseconds, and no transaction. It is a hint and nothing more: if one is lost, or left by who was killed for other
reasons, something is read in another process than it need be.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["DEATHS", "FOLDER", "attempt"]

#: What so many processes have died at is done in one of its own.
DEATHS = 2
#: Where marks are, in the state folder.
FOLDER = "attempts"
#: A mark that is older is of something that nobody has tried since, such as a drop that was taken away.
KEPT_S = 30 * 86_400.0


@contextmanager
def attempt(state: Path, *what: object) -> Iterator[int]:
    """Do something that may kill the process; how many attempts have begun before, and not ended.

    Args:
        state: the project's state folder.
        what: tells it from all else.
    """
    folder = state / FOLDER
    mark = folder / hashlib.sha256(repr(what).encode(errors="backslashreplace")).hexdigest()[:32]
    try:
        descriptor = os.open(mark, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(mark, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        os.write(descriptor, b".")
    finally:
        os.close(descriptor)
    if before:
        _forget_old(folder)
    try:
        yield before
    finally:
        mark.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    """Marks are left by deaths, and looked through after one."""
    for mark in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - mark.stat().st_mtime > KEPT_S:
                mark.unlink()
