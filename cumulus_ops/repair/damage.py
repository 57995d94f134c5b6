"""What is not as it was written: which file, what it holds, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import KeyRun, LogFile, QuarantinedRows, Run

__all__ = [
    "ANOTHERS",
    "DAMAGED",
    "FOREIGN",
    "KEY_INDEX",
    "LOG",
    "MISSING",
    "NET_TABLE",
    "PUBLISHED",
    "QUARANTINE",
    "RECOVER",
    "RUN",
    "STATE_FILE",
    "UNKNOWN",
    "UNREADABLE",
    "WRONG",
    "Damage",
    "Outcome",
    "Report",
    "StoredRow",
]


#: Kinds of files.
RUN, LOG, QUARANTINE, KEY_INDEX, NET_TABLE = "run", "log", "quarantine", "key-index", "net-table"
PUBLISHED, STATE_FILE, FOREIGN = "published", "state-file", "foreign"
#: What is wrong with one: it is not there; it is not what was written; it is whole, and what was written elsewhere; nobody knows it; it
#: is what was written, and says something else than what it was made from.
MISSING, DAMAGED, ANOTHERS, UNKNOWN, WRONG = "missing", "damaged", "another's", "unknown", "wrong"
#: It may be whole: the system refuses to read it, or the library does not know what others have made of it. Nothing is made again.
UNREADABLE = "unreadable"
#: What to do.
RECOVER = "`cumulus recover` makes it again; `cumulus recover --dry-run` says from what, and how long it takes"

#: What the catalog says of a part of a file.
StoredRow = Run | LogFile | QuarantinedRows | KeyRun | NetTable


@dataclass(frozen=True)
class Damage:
    """One part of a file, or one file, that is not as it has to be.

    Attributes:
        kind: of the file (``run``, ``log``, ``quarantine``, ``key-index``, ``net-table``, ``published``, ``state-file``, ``foreign``).
        file: where it is; relative to the state folder if it is in there.
        holds: what it holds, in plain words.
        problem: ``missing``, ``damaged``, ``another's``, ``unknown``, ``wrong``, ``unreadable``.
        detail: what was found, in words.
        hint: what to do.
        offset: the byte at which a run begins; the version of a published table.
        row: what the catalog says of it; None if it has no row for it.
        subject: the relation or the view that it is of, if it is of one.
    """

    kind: str
    file: str
    holds: str
    problem: str
    detail: str
    hint: str = RECOVER
    offset: int | None = None
    row: StoredRow | None = None
    subject: str = ""

    @property
    def place(self) -> str:
        """Where it is.

        >>> Damage("run", "runs/a.pack", "map m", "missing", "its file is missing", offset=64).place
        'runs/a.pack, byte 64'
        """
        is_run = self.offset is not None and self.kind != PUBLISHED
        return f"{self.file}, byte {self.offset}" if is_run else self.file

    def __str__(self) -> str:
        return f"{self.problem}: {self.holds}, {self.place}: {self.detail}"


@dataclass(frozen=True)
class Report:
    """What was looked at, and what was found.

    Attributes:
        looked_at: kind -> how many files, or runs.
        bytes: of these.
        seconds: how long it took.
        damages: what is not as it has to be.
        part: how much of the files that the catalog names was looked at, in percent.
        without_checksums: files of old, which were only decoded.
        proved: the relations whose key indexes say what the log says.
        unproved: why others could not be compared with the log, a sentence each.
    """

    looked_at: Mapping[str, int]
    bytes: int
    seconds: float
    damages: tuple[Damage, ...] = ()
    part: float = 100.0
    without_checksums: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    unproved: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Outcome:
    """What became of some damages: those that are ``done``, each with how it was made again and proved; and those that are ``left``, each with why."""

    done: tuple[tuple[Damage, str], ...] = ()
    left: tuple[tuple[Damage, str], ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.done + other.done, self.left + other.left)
