"""A drop's folder: what is in it, whether it is complete, when it arrived, and whether it is still what it was.

A drop is complete

* when it holds a file ``_SUCCESS``;
* when it was renamed into place: then nothing in it was changed after the folder itself was, and what changed of that was not its
  list of files (a rename sets the folder's change time, and creating a file its modification time as well);
* or when nothing of it has changed for the project's ``settle`` time.

It has arrived when it is complete: with its latest change, or ``settle`` after that.
"""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from cumulus_ops.catalog.records import KnownDelivery, NewFileAside, Taken, TakenFile
from cumulus_ops.files.landed import UNFOLDING
from cumulus_ops.project.errors import NotYet

__all__ = [
    "COMPLETE",
    "DropFolder",
    "Entry",
    "Hashes",
    "Ignored",
    "digest_of",
    "find_changed",
    "hash_file",
    "is_hidden",
    "is_hollow",
    "name_problem",
    "natural",
    "printable",
    "sort_files",
    "subject_of",
]


COMPLETE = "_SUCCESS"
SAID_OF_SEALS = ("seal", "producer")
NAME_CHARACTERS = 180
#: A drop has a file per relation and seal. One with more entries is not looked through: each look would take seconds.
ENTRIES = 10_000
BLOCK_BYTES = 1 << 20
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Ignored:
    """Something in the landing folder that nobody will take: where it is, the kind of reason, the reason, and what to do."""

    place: str
    kind: str
    reason: str
    hint: str


@dataclass(frozen=True)
class Entry:
    """Something in a folder, as it is now; times in nanoseconds. ``changed``: its contents, its name, its owner or mode. ``disk_bytes``: what it takes
    on the disk, which file systems may tell, or change, later than all else."""

    name: str
    mode: int
    inode: int
    bytes: int
    modified: int
    changed: int
    disk_bytes: int = field(default=0, compare=False)

    @classmethod
    def of(cls, name: str, found: os.stat_result) -> Entry:
        """What a stat says."""
        times = (found.st_mtime_ns, found.st_ctime_ns)
        return cls(name, found.st_mode, found.st_ino, found.st_size, *times, found.st_blocks * 512)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, and no link to one."""
        return stat.S_ISREG(self.mode)

    @property
    def what(self) -> str:
        """What it is instead."""
        kinds = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"))
        return next((what for belongs, what in kinds if belongs(self.mode)), "no regular file")


@dataclass(frozen=True)
class DropFolder:
    """A drop's folder as it is now; ``entries`` by name, hidden ones included."""

    path: Path
    folder: Entry
    entries: tuple[Entry, ...]

    @classmethod
    def look(cls, path: Path) -> DropFolder:
        """Look at it once.

        Raises:
            OSError: it cannot be read, is gone, or has too many entries.
        """
        with os.scandir(path) as found:
            entries = sorted(islice(found, ENTRIES + 1), key=lambda entry: entry.name)
        if len(entries) > ENTRIES:
            raise OSError(errno.E2BIG, f"has more than {ENTRIES:,} files", str(path))
        looked = tuple(Entry.of(e.name, e.stat(follow_symlinks=False)) for e in entries)
        return cls(path, Entry.of(path.name, path.stat(follow_symlinks=False)), looked)

    @property
    def identity(self) -> str:
        """What tells the folder from another one, as long as its list of files stays."""
        return f"{self.folder.inode}:{self.folder.changed}"

    @property
    def visible(self) -> tuple[Entry, ...]:
        """What is in it, but for names that begin with a dot or an underscore."""
        return tuple(e for e in self.entries if not is_hidden(e.name))

    @property
    def changed(self) -> int:
        """The latest change of anything of it."""
        return max(self.folder.changed, *(e.changed for e in self.entries), 0)

    def arrived(self, now: int, settle: int) -> int | None:
        """When it was complete; None if it is not.

        Args:
            now: the time, in nanoseconds since 1970.
            settle: for how many nanoseconds nothing may have changed, if nothing else says that it is complete.
        """
        says_so = any(e.name == COMPLETE for e in self.entries)
        written = max(self.folder.modified, *(e.changed for e in self.entries), 0)
        was_renamed = bool(self.entries) and self.folder.changed > written
        if settle == 0 or says_so or was_renamed:
            return min(self.changed, now)
        at = self.changed + settle
        return at if at <= now else None


def is_hidden(name: str) -> bool:
    """Whether a name says: leave me alone, I am being written."""
    return name.startswith((".", "_"))


def printable(path: Path | str) -> str:
    """A path as people, and databases, can read it: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode(errors="backslashreplace")


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a drop."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return f"its name is longer than {NAME_CHARACTERS} characters" if len(name) > NAME_CHARACTERS else None


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """What names are ordered by: numbers in them count as numbers.

    >>> sorted(["shop-10", "shop-9"], key=natural)
    ['shop-9', 'shop-10']
    """
    return tuple((text, int(number or -1)) for text, number in re.findall(r"([^0-9]*)([0-9]*)", name))


def sort_files(
    coordinator: int,
    drop: DropFolder,
    seals: Mapping[str, Sequence[str]],
    memory: int,
    names: Iterable[str] | None = None,
) -> tuple[dict[str, Entry], list[NewFileAside]]:
    """The files of a drop by relation, or by relation, seal and what they say of it (``clicks.campaign.seal``), and what is none.

    Args:
        coordinator: whose drop it is.
        drop: its folder.
        seals: the relations' names, and those of their seals.
        memory: see :func:`is_hollow`.
        names: only these files; None for all.
    """
    wanted = None if names is None else set(names)
    files: dict[str, Entry] = {}
    asides = []
    for entry in (e for e in drop.visible if wanted is None or e.name in wanted):
        what = subject_of(entry.name, seals) or None
        problem = _find_problem(entry, what, files, seals)
        if problem is None and is_hollow(drop.path / entry.name, entry, memory):
            told = f"stands for {entry.bytes:,} bytes, of which {entry.disk_bytes:,} are on the disk"
            hint = (
                "it was made by its size, and not written: write it again at the source, and deliver it as a new drop"
            )
            problem = "too-large", told, hint
        if problem is None and what is not None:
            files[what] = entry
        elif problem is not None:
            place = printable(drop.path / entry.name)
            asides.append(NewFileAside(coordinator, drop.path.name, what, place, *problem, entry.bytes))
    return files, asides


def subject_of(name: str, seals: Mapping[str, Sequence[str]]) -> str:
    """The relation that a file belongs to, or the relation, the seal and what is said of it; "" for none."""
    from cumulus_ops.append.checks import (  # what reads files: who finds no drop needs none of it
        relation_of,
        seal_of,
    )

    return relation_of(name, list(seals)) or seal_of(name, seals)


def is_hollow(path: Path, entry: Entry, memory: int) -> bool:
    """Whether a file stands for more than the memory, and for more than :data:`UNFOLDING` times what there is of it on the disk, as a sparse file
    may. To read it through would take hours, and there is nothing in it.

    That it takes few blocks is not enough: file systems that pack, or write later, say so of other files as well. So a hole has to be there, too.
    """
    if not entry.is_file or entry.bytes <= max(memory, UNFOLDING * entry.disk_bytes):
        return False
    try:
        with open(_descriptor(path), "rb", buffering=0) as file:
            return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < entry.bytes
    except OSError:
        return False  # who reads it will say what is wrong


def _find_problem(
    entry: Entry, what: str | None, files: dict[str, Entry], seals: Mapping[str, Sequence[str]]
) -> tuple[str, str, str] | None:
    """The kind of reason, the reason and what to do, if a file is not taken."""
    if not entry.is_file:
        return "not-a-file", f"is {entry.what}", "only regular files are read: copy it into the drop"
    if what is None:
        return _explain_unknown(entry.name, seals)
    if what in files:
        hint = f"if it has others than {files[what].name}, `cumulus quarantine retry` takes it as well"
        return "doubled-file", f"is a second file of {what}", hint
    return None


def _explain_unknown(name: str, seals: Mapping[str, Sequence[str]]) -> tuple[str, str, str]:
    """What is said of a file whose name says nothing."""
    from cumulus_ops.files.formats import FORMATS

    relation, *rest = name.split(".")
    if relation in seals and len(rest) > 2 and rest[1] in SAID_OF_SEALS:
        known = ", ".join(sorted(seals[relation])) or "none"
        hint = f"files are {relation}.<seal>.{rest[1]}{'|'.join(FORMATS)}; seals of {relation} in cumulus.yaml: {known}"
        return "unknown-seal", f"{relation} has no seal {rest[0]!r}", hint
    near = difflib.get_close_matches(relation, seals, 1)
    guess = f"did you mean {near[0]}? " if near else ""
    hint = f"{guess}files are <relation>{'|'.join(FORMATS)}, relations are {', '.join(sorted(seals))}"
    return "unknown-file", "belongs to no relation", hint


class Hashes:
    """The hashes of files, made by a thread while they are read.

    Args:
        drop: the folder.
        files: those of its files that are taken.
    """

    def __init__(self, drop: DropFolder, files: Iterable[Entry]) -> None:
        self._drop, self._files = drop, tuple(files)
        self._made: Future[dict[str, TakenFile]] | None = None

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._made is None:
            pool = ThreadPoolExecutor(1, "hash")
            self._made = pool.submit(self._hash_all)
            pool.shutdown(wait=False)

    def _hash_all(self) -> dict[str, TakenFile]:
        return self._taken(call() for call in self.calls())

    def calls(self) -> list[Callable[[], str]]:
        """What to call for the hash of each file."""
        return [partial(_hash_if_readable, self._drop.path / file.name, file.bytes) for file in self._files]

    def take(self, digests: Iterable[str]) -> None:
        """Take the hashes that others have made by these."""
        self._made = Future()
        self._made.set_result(self._taken(digests))

    def _taken(self, digests: Iterable[str]) -> dict[str, TakenFile]:
        files = zip(self._files, digests, strict=True)
        return {file.name: TakenFile(file.bytes, file.modified, digest) for file, digest in files}

    def files(self) -> dict[str, TakenFile]:
        """What was taken.

        Raises:
            NotYet: the folder is not what it was.
        """
        self.start()
        assert self._made is not None
        try:
            made = self._made.result()
            now = DropFolder.look(self._drop.path)
        except OSError as error:
            raise _changes(self._drop) from error
        if now.visible != self._drop.visible:
            raise _changes(self._drop)
        return made


def _changes(drop: DropFolder) -> NotYet:
    hint = "a drop is a folder that is complete when it appears: write it under a name that begins with a dot, and rename it"
    return NotYet("changes while it is read", kind="drop-changes", place=printable(drop.path), hint=hint)


def _hash_if_readable(path: Path, size: int) -> str:
    """A file's hash; "" if it cannot be read, which is for its reader to say.

    Raises:
        FileNotFoundError: it is gone.
    """
    try:
        return hash_file(path, size)
    except FileNotFoundError:
        raise
    except OSError:
        return ""


def hash_file(path: Path, size: int) -> str:
    """The hash of a file's contents, as far as it went when it was looked at: somebody may be writing on, without an end.

    Raises:
        OSError: it cannot be read, or is none.
    """
    found = hashlib.sha256()
    with open(_descriptor(path), "rb", buffering=0) as file:
        while size > 0 and (block := os.read(file.fileno(), min(BLOCK_BYTES, size))):
            size -= len(block)
            found.update(block)
    return found.hexdigest()[:32]


def _descriptor(path: Path) -> int:
    """Of a regular file: there may be a link, a pipe or a device by now."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is no regular file", str(path))


def digest_of(files: dict[str, TakenFile]) -> str:
    """The hash of several files' names and contents."""
    lines = "".join(f"{name}\n{files[name].digest}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


# Whether a drop that was taken is still what it was: a copy that went on, a name that was used again, a restored backup.


HINT = "deliver it under a name of its own, or count its events now by `cumulus quarantine retry`"


def find_changed(
    coordinator: int, drop: DropFolder, known: KnownDelivery, names: Mapping[str, Sequence[str]], memory: int
) -> tuple[list[NewFileAside], Taken | None]:
    """The files of a drop that are not what was taken; contents are compared only where sizes are equal and times are not.

    Args:
        coordinator: whose drop it is.
        drop: its folder as it is now.
        known: what was taken.
        names: the relations' names, and those of their seals: what files of others hold is of no interest.
        memory: see :func:`~cumulus_ops.sources.drops.is_hollow`.

    Returns:
        the files, and, if there are none, and it looks differently with the same contents, how it looks now.
    """
    asides, same = [], dict[str, TakenFile]()
    for entry in drop.visible:
        taken = known.files.get(entry.name)
        found = _find_same(drop, entry, taken, is_folder_same=drop.identity == known.identity)
        if found is None:
            is_read = subject_of(entry.name, names) and not is_hollow(drop.path / entry.name, entry, memory)
            asides.append(_report_change(coordinator, drop, entry, taken, _digest(drop, entry) if is_read else ""))
        else:
            same[entry.name] = found
    if asides or (drop.identity == known.identity and all(known.files[name] == file for name, file in same.items())):
        return asides, None
    return [], Taken(coordinator, known.name, drop.identity, same)


def _find_same(drop: DropFolder, entry: Entry, taken: TakenFile | None, *, is_folder_same: bool) -> TakenFile | None:
    """How a file looks now that was taken, if it has the same contents. In another folder a time says nothing: copies keep it."""
    if taken is None or not entry.is_file or entry.bytes != taken.bytes:
        return None
    if is_folder_same and entry.modified == taken.changed:
        return taken
    return replace_time(taken, entry.modified) if _digest(drop, entry) == taken.digest else None


def _digest(drop: DropFolder, entry: Entry) -> str:
    """The hash of a file's contents; "" if it cannot be read, or is none."""
    try:
        return hash_file(drop.path / entry.name, entry.bytes) if entry.is_file else ""
    except OSError:
        return ""


def replace_time(taken: TakenFile, changed: int) -> TakenFile:
    """The same contents, written at another time."""
    return taken._replace(changed=changed)


def _report_change(
    coordinator: int, drop: DropFolder, entry: Entry, taken: TakenFile | None, digest: str
) -> NewFileAside:
    """What is said of a file; the hash, or else the size, tells its contents from others that may come under the name."""
    place = printable(drop.path / entry.name)
    if taken is None:
        kind, reason = "late-file", "appeared in its drop when that was appended already"
    else:
        kind = "changed-file"
        reason = f"its drop was appended already, and then this file had other contents, of {taken.bytes:,} bytes"
    told = f"sha256 {digest[:16]}.." if digest else f"{entry.bytes:,} bytes" if entry.is_file else entry.what
    reason = f"{reason} ({told})"
    return NewFileAside(coordinator, drop.path.name, None, place, kind, reason, HINT, entry.bytes)
