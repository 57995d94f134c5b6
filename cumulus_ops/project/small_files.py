"""Small files that anybody may read, and somebody may write, at any time: a reader finds one whole, as it was or as it is."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

__all__ = [
    "create_file",
    "locked_folder",
    "read_summed",
    "remove_left",
    "replace_file",
    "scratch_folder",
    "sync_folder",
    "with_sum",
]


SCRATCH = "cumulus-scratch-"
#: The checksum at the end of a Markdown file.
SUMMED = re.compile(r"(.*)<!-- ([0-9a-f]{8}) -->\n", re.DOTALL)


def replace_file(file: Path, text: str, *, durable: bool = False, private: bool = False) -> Path:
    """Write a file anew, by one rename; its folder is there already.

    Args:
        file: the file.
        text: its content.
        durable: whether the content outlives the machine's end; not needed for what is written again.
        private: nobody else can read it, at no time.
    """
    return _draft(file, text, durable=durable, private=private).replace(file)


def create_file(file: Path, text: str, *, private: bool = False) -> None:
    """Write a durable file, unless it is there: of several who do so at once, one is the first, and nobody replaces what it wrote."""
    draft = _draft(file, text, durable=True, private=private)
    with suppress(FileExistsError):
        os.link(draft, file)  # a rename would replace it
    draft.unlink()


def with_sum(text: str) -> str:
    """A Markdown text with its checksum at its end, which nobody is shown."""
    return f"{text}<!-- {zlib.crc32(text.encode()):08x} -->\n"


def read_summed(file: Path) -> str | None:
    """The text of such a file, "" if there is none; None if it is not what was written. One of old has no checksum."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError):
        return None
    found = SUMMED.fullmatch(text)
    return text if found is None else found[1] if with_sum(found[1]) == text else None


def sync_folder(folder: Path) -> None:
    """Make a new directory entry durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Be alone with a folder, among those who ask; the lock goes with the process.

    Raises:
        BlockingIOError: somebody else is.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def remove_left(folder: Path, pattern: str) -> None:
    """Remove folders that whoever has made them has left: they are locked as long as he is there."""
    for left in folder.glob(pattern):
        with suppress(OSError), locked_folder(left):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what is not needed any more in the end. What others have left, who were killed, is removed: it may be as large as all views."""
    place = Path(tempfile.gettempdir())
    remove_left(place, f"{SCRATCH}*")
    with ExitStack() as stack:
        folder = _locked_scratch(place, stack)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _locked_scratch(place: Path, stack: ExitStack) -> Path:
    """A new one; before it was locked, somebody who clears up may have taken it for one that was left."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=place))
        with suppress(FileNotFoundError, BlockingIOError), ExitStack() as locked:
            locked.enter_context(locked_folder(folder))
            if folder.exists():
                stack.enter_context(locked.pop_all())
                return folder


def _draft(file: Path, text: str, *, durable: bool, private: bool) -> Path:
    draft = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with open(os.open(draft, flags, 0o600 if private else 0o666), "w", encoding="utf-8") as written:
        written.write(text)
        if durable:
            written.flush()
            os.fsync(written.fileno())
    return draft
