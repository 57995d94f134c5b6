"""Whose a state folder, a catalog, a published table or a replication slot is: one **installation**'s, in one of its **generations**.

A catalog draws its installation once; the state folder is **claimed** for it by a small file (:data:`CLAIM`). Files of the state are named by both, and each commit to
a published table carries both. So nobody takes another's for his own: a catalog that does not have the folder's claim is refused before it writes or deletes anything.

A **generation** is what follows from one reading of the event log. It ends when somebody says so (``cumulus anew``): the maps are made again, from the log that the catalog
names, or from the sources. Processes of an earlier generation commit nothing any more. That one is being begun is noted in the folder first (:data:`BEGINS`): the catalog
and the claim cannot change in one transaction, and a folder of an earlier generation may as well be one that was put aside, and came back.

What a catalog has seen is noted beside the claim (:data:`MARK`): a catalog that is older than that was restored from a backup, and would hand out the same numbers twice. The note is
written when a process takes its lease, renews it and ends it, so a backup that was made seconds before the end of the last process may pass for the newest.
"""

from __future__ import annotations

import json
import secrets
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.small_files import create_file, replace_file

__all__ = [
    "Beginning",
    "Home",
    "Identity",
    "Mark",
    "claim",
    "claimed_by",
    "draw_installation",
    "end_beginning",
    "generation_over",
    "has_log",
    "home_of",
    "is_beginning",
    "is_intact",
    "is_original_there",
    "note_beginning",
    "older_catalog",
    "read_beginning",
    "read_mark",
    "write_mark",
]

CLAIM = "installation.json"
MARK = "seen.json"
BEGINS = "begins.json"
#: What each of them says.
SAYS = {CLAIM: {"installation", "generation"}, MARK: {"generation", "lease", "commit"}, BEGINS: {"old", "new"}}


@dataclass(frozen=True)
class Identity:
    """An ``installation``, 16 hexadecimal digits, and the number of its ``generation``, from 1 on."""

    installation: str
    generation: int

    @property
    def writer(self) -> str:
        """What the names of its files begin with.

        >>> Identity("3f2a9c1b00d4e5f6", 2).writer
        '3f2a9c1b.2'
        """
        return f"{self.installation[:8]}.{self.generation}"

    def __str__(self) -> str:
        return f"installation {self.installation[:8]}, generation {self.generation}"


@dataclass(frozen=True)
class Mark:
    """What was seen of a catalog in a ``generation``: its newest lease, and its last commit."""

    generation: int = 0
    lease: int = 0
    commit: int = 0


@dataclass(frozen=True)
class Beginning:
    """A generation that is being begun in a state folder: the catalog is ``old`` before the transaction that begins it, and ``new`` from then on."""

    old: Identity
    new: Identity


@dataclass(frozen=True)
class Home:
    """Where an installation is: the ``state`` folder, the number that the file system has for its claim, and the ``catalog``."""

    state: str
    inode: int
    catalog: str

    @classmethod
    def parse(cls, text: str) -> Home:
        """Inverse of :meth:`text`."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """As the catalog keeps it."""
        return json.dumps(asdict(self), sort_keys=True)


def draw_installation() -> str:
    """The name of a new installation."""
    return secrets.token_hex(8)


def claimed_by(root: Path) -> Identity | None:
    """Whose a state folder is; None if nobody has claimed it.

    Raises:
        SetupProblem: its claim cannot be read.
    """
    found = _read(root / CLAIM)
    if found is None:
        return None
    try:
        return Identity(str(found["installation"]), int(found["generation"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(root / CLAIM) from error


def claim(root: Path, identity: Identity, *, instead: bool = False) -> Identity:
    """Claim a state folder.

    Args:
        root: the folder, made when missing.
        identity: who claims it.
        instead: of whoever has claimed it before; else the first one keeps it.

    Returns:
        whose it is now.
    """
    root.mkdir(parents=True, exist_ok=True)
    text = _seal(asdict(identity))
    if instead:
        replace_file(root / CLAIM, text, durable=True)
    else:
        create_file(root / CLAIM, text)
    found = claimed_by(root)
    return identity if found is None else found


def note_beginning(root: Path, beginning: Beginning) -> None:
    """Note that a generation is being begun in this folder, before anything else is done for it. Who is killed leaves the note; it is replaced by
    that of the next."""
    root.mkdir(parents=True, exist_ok=True)
    replace_file(root / BEGINS, _seal(asdict(beginning)), durable=True)


def read_beginning(root: Path) -> Beginning | None:
    """The generation that is being begun in a state folder, or was when somebody was killed; None if that is not known."""
    found = _read(root / BEGINS, strict=False)
    try:
        return None if found is None else Beginning(*(Identity(**found[name]) for name in ("old", "new")))
    except (KeyError, TypeError):
        return None


def end_beginning(root: Path) -> None:
    """The catalog and the claim both say the new generation now."""
    (root / BEGINS).unlink(missing_ok=True)


def is_beginning(root: Path, found: Identity, identity: Identity) -> bool:
    """Whether a folder and a catalog differ because a generation is being begun, of which one of them knows already."""
    beginning = read_beginning(root)
    return beginning is not None and {beginning.old, beginning.new} == {found, identity}


def read_mark(root: Path | None) -> Mark:
    """What was seen of the catalog of this folder; to be read before the catalog is, for others go on."""
    found = None if root is None else _read(root / MARK, strict=False)
    try:
        return Mark() if found is None else Mark(**{k: int(v) for k, v in found.items()})
    except (TypeError, ValueError):
        return Mark()


def write_mark(root: Path | None, mark: Mark) -> None:
    """Note what was seen, where the folder can be written. It is a help and no record: it may be lost."""
    if root is None or not (root / CLAIM).exists():
        return
    with suppress(OSError):
        replace_file(root / MARK, _seal(asdict(mark)))


def has_log(root: Path) -> bool:
    """Whether there is something in a state folder that cannot be made again: accepted events, or rejected rows."""
    return any(path.is_file() for folder in ("log", "quarantine") for path in (root / folder).rglob("*"))


def home_of(root: Path, catalog_url: str) -> Home:
    """Where an installation with this folder and catalog is."""
    place = catalog_url
    if catalog_url.startswith("sqlite:///"):
        place = str(Path(catalog_url.removeprefix("sqlite:///")).resolve())
    return Home(str(root.resolve()), (root / CLAIM).stat().st_ino, place)


def is_original_there(recorded: Home, here: Home, identity: Identity) -> bool:
    """Whether a folder is the copy of another one, which is there still; one that was moved, or is mounted elsewhere, is none."""
    if recorded.state == here.state or recorded.inode == here.inode:
        return False
    with suppress(SetupProblem, OSError):
        found = claimed_by(Path(recorded.state))
        return found is not None and found.installation == identity.installation
    return False


def generation_over() -> SetupProblem:
    """What is said to a process that has opened an earlier generation."""
    message = "a new generation has begun since this process opened the project (`cumulus anew`)"
    return SetupProblem(
        message, kind="generation-over", hint="start it again; nothing of what it has committed is lost"
    )


def older_catalog(root: Path | None) -> SetupProblem:
    """What is said of a catalog that has not seen what it has done."""
    return SetupProblem(
        "the catalog is older than the state folder: it was restored from a backup",
        kind="catalog-older",
        place=str(root or ""),
        hint="put the newer catalog back; or go on from this one as a new generation: `cumulus restore --as-it-is`, or `cumulus anew`, which makes all maps again",
    )


#: Of what else is in such a file, so that a digit that flips is no other lease's.
SUM = "sum"


def _seal(what: dict[str, Any]) -> str:
    return json.dumps({**what, SUM: _sum(what)})


def _sum(what: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(what).encode()):08x}"


def is_intact(file: Path) -> bool:
    """Whether the claim, the note of what was seen, or that of what is being begun is as it was written; one of old has no checksum. True if it is not there."""
    try:
        found = _read(file)
    except SetupProblem:
        return False
    return found is None or (bool(found) and found.keys() <= SAYS[file.name])


def _read(file: Path, *, strict: bool = True) -> dict[str, Any] | None:
    """What is in it; None if it is not there. If it is not what was written, that is nothing, or an error if one is ``strict``."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        told = found.pop(SUM, None)
        if told is not None and told != _sum(found):
            raise ValueError("its checksum is another one")
        return dict(found)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, AttributeError, TypeError) as error:
        if strict:
            raise _unreadable(file) from error
        return None


def _unreadable(file: Path) -> SetupProblem:
    hint = "`cumulus recover` writes it again, if the catalog's newest files are in this folder; nothing else is wrong as far as is known"
    return SetupProblem("whose this state folder is cannot be read", kind="bad-claim", place=str(file), hint=hint)
