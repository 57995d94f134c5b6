"""What the catalog hands out: immutable records of its rows."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cumulus_ops.project.verdicts import summary

__all__ = [
    "EVER",
    "LEFT_OUT",
    "SETTLED",
    "Advance",
    "Batch",
    "Clock",
    "FileAside",
    "HistoryEntry",
    "Intake",
    "KeyChange",
    "KeyIndex",
    "KeyRun",
    "KnownDelivery",
    "LogFile",
    "NewBatch",
    "NewFileAside",
    "NewKeyRun",
    "NewQuarantine",
    "NewRun",
    "ProgramRecord",
    "QuarantinedRows",
    "Recipe",
    "Refresh",
    "Repeats",
    "Run",
    "SharedClock",
    "Snapshot",
    "StandingSource",
    "Step",
    "Taken",
    "TakenFile",
    "Unsettled",
    "Validation",
    "ViewError",
    "moment_of_now",
    "step_of",
]


# Records of what comes in: deliveries, and what of them was put aside.
#
# Rows that are not accepted are in the **quarantine**, whole, with a reason each; files that are not taken are **set aside**. Both stay
# until somebody decides:
#
# kept, aside ──► retried     read again, as a delivery of its own
#             └─► dropped     it will never count


class TakenFile(NamedTuple):
    """A file that was taken: its size, when it was changed (nanoseconds since 1970), and the hash of its contents."""

    bytes: int
    changed: int
    digest: str


@dataclass(frozen=True)
class KnownDelivery:
    """A drop that was seen: its number, when it ``arrived`` (seconds since 1970), and, once it was appended, what was taken: ``identity``
    of its folder, its ``files`` by name, ``digest`` of their contents."""

    id: int
    name: str
    arrived: float
    identity: str = ""
    files: Mapping[str, TakenFile] = field(default_factory=dict)
    digest: str | None = None


@dataclass(frozen=True)
class Taken:
    """What was taken of a drop, for :class:`KnownDelivery`; ``files`` are added to those that were taken before."""

    coordinator: int
    name: str
    identity: str
    files: Mapping[str, TakenFile]
    digest: str | None = None


@dataclass(frozen=True)
class NewQuarantine:
    """A file with rejected rows of a relation, relative to the state folder. ``source`` is that of their events, ``reasons`` kind of reason ->
    rows; ``transactional``: their events are whole transactions, with rows of other relations."""

    relation: str
    path: str
    rows: int
    source: str = ""
    reasons: Mapping[str, int] = field(default_factory=dict)
    transactional: bool = False
    checksums: str | None = None


@dataclass(frozen=True)
class NewFileAside:
    """A file that was not taken, in words: where it is, the kind of reason, the reason, and what to do. ``relation`` is None if it belongs to
    none, or is a whole delivery; of a file with values of a seal it is ``clicks.campaign.seal``. ``waits_for``: columns of it
    that are declared, and not deployed yet."""

    coordinator: int
    delivery: str
    relation: str | None
    place: str
    kind: str
    reason: str
    hint: str
    bytes: int | None = None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileAside(NewFileAside):
    """A file that is set aside, or was (``state``: aside, retried, dropped). ``epoch`` is that of the delivery's batch, None if it has none;
    ``recorded_at`` is when that was found."""

    id: int = 0
    state: str = "aside"
    epoch: int | None = None
    recorded_at: datetime.datetime = datetime.datetime.min

    @property
    def label(self) -> str:
        """What ``cumulus quarantine`` calls it.

        >>> FileAside(0, "d1", None, "x.txt", "unknown-file", "belongs to no relation", "", id=3).label
        'F3'
        """
        return f"F{self.id}"


@dataclass(frozen=True)
class QuarantinedRows:
    """Rejected rows of one relation of a batch (``state``: kept, retried, dropped)."""

    id: int
    batch: int
    coordinator: int
    delivery: str
    epoch: int
    relation: str
    rows: int
    reasons: Mapping[str, int]
    state: str
    path: str
    source: str
    transactional: bool
    checksums: str | None = None

    @property
    def label(self) -> str:
        """What ``cumulus quarantine`` calls them: ``R7``."""
        return f"R{self.id}"


@dataclass(frozen=True)
class Repeats:
    """Rows of a delivery that had been accepted before, in the same words: they count once."""

    coordinator: int
    epoch: int
    delivery: str
    rows: int


@dataclass(frozen=True)
class StandingSource:
    """A source that could not be asked, or whose delivery could not be read: why, in the words of the last attempt, and since when,
    None if that is not known."""

    source: str
    problem: str
    since: datetime.datetime | None


@dataclass(frozen=True)
class Intake:
    """What an append records beside its batches. ``retried_rows`` and ``retried_files`` are the quarantined rows and the files set aside that it
    has read again: each is retried once. ``by_itself``: nobody has asked for that, so what cannot be read is set aside again."""

    taken: Taken | None = None
    asides: tuple[NewFileAside, ...] = ()
    retried_rows: tuple[int, ...] = ()
    retried_files: tuple[int, ...] = ()
    by_itself: bool = False

    @property
    def is_retry(self) -> bool:
        """Whether it has come before, and was put aside."""
        return bool(self.retried_rows or self.retried_files)


OWNED = re.compile(r"(?:.*/)?(?:([0-9a-f]+\.\d+)\.)?(\d+)\.(\d+)-[^/]*")


@dataclass(frozen=True)
class Step:
    """A step of a process: its ``lease``, and its ``number`` among that lease's steps. ``writer``: the installation and generation whose lease
    it is (:mod:`cumulus_ops.catalog.identity`); empty in files from before there were any."""

    lease: int
    number: int
    writer: str = ""

    @property
    def label(self) -> str:
        """What the names of its files begin with.

        >>> Step(12, 3, "3f2a9c1b.1").label
        '3f2a9c1b.1.12.3-'
        """
        writer = f"{self.writer}." if self.writer else ""
        return f"{writer}{self.lease}.{self.number}-"


def step_of(path: str) -> Step | None:
    """The step that wrote a file, None for a file that none did.

    >>> step_of("runs/3f2a9c1b.1.12.3-5e8f.pack")
    Step(lease=12, number=3, writer='3f2a9c1b.1')
    """
    found = OWNED.fullmatch(path)
    return None if found is None else Step(int(found[2]), int(found[3]), found[1] or "")


#: States of batches that no snapshot will ever have: their events do not count. A retried one's count as another batch's.
LEFT_OUT = ("aside", "retried", "dropped")
#: The states of a batch that the end of its epoch does not wait for.
SETTLED = ("applied", "retired", *LEFT_OUT)


@dataclass(frozen=True)
class ProgramRecord:
    """A revision of the registered program: its M3 ``text`` and the name of its version scheme (``granularity``: ``batch`` or ``event``).

    ``refreshed``: the commit whose runs and batches, and all before it, are incorporated in the maps that depend on
    derivations (0 at first); None for a program without derivations. ``format`` is that of the runs; ``compiled`` is the
    program as JSON (:mod:`m3.formatting`), ``choices`` how its maps are kept (:mod:`cumulus_ops.layout.choices`), ``definition`` the rest of its project's
    (:mod:`cumulus_ops.project.definition`). ``coordination`` is its coordination plan as JSON, None if it was registered before there were plans.
    ``revision`` is its number."""

    name: str
    digest: str
    text: str
    granularity: str
    coordinators: int
    refreshed: int | None = None
    format: int = 0
    compiled: str = ""
    choices: str = ""
    definition: str = "{}"
    coordination: str | None = None
    revision: int = 1


@dataclass(frozen=True)
class LogFile:
    """Events of one relation in one batch; ``path`` is relative to the state folder, offsets are inclusive. ``checksums``: of its blocks, see
    :mod:`cumulus_ops.files.log_files`; None of a file of old. ``first_version``: the stamp of its first row; in the file, stamps count from there. Files
    of old have them whole, and 0 here."""

    batch: int
    relation: str
    path: str
    rows: int
    source: str
    min_offset: int
    max_offset: int
    checksums: str | None = None
    first_version: int = 0


@dataclass(frozen=True)
class NewBatch:
    """What an append puts into the catalog: ``part`` (0, 1, ...) of a drop, whose name is unique in its ``space``. Sequences: first
    inclusive, next exclusive. ``tick``: see :class:`Batch`."""

    coordinator: int
    drop: str
    epoch: int
    first_sequence: int
    next_sequence: int
    inserts: int
    deletes: int
    quarantined: int
    duplicates: int
    log_files: tuple[LogFile, ...]
    quarantine_files: tuple[NewQuarantine, ...]
    part: int = 0
    retry_of: int | None = None
    space: str = ""
    deaths: int = 0
    tick: int | None = None


@dataclass(frozen=True)
class Advance:
    """A source moves on, from ``begin`` (None: it has not begun) to ``position``."""

    source: str
    begin: str | None
    position: str


@dataclass(frozen=True)
class Batch:
    """A stamped batch. ``state``: appended (durable, not yet in the maps), applied, retired (below a snapshot); or else aside
    (it failed; somebody has to decide), retried (its events are another batch's now, whose ``retry_of`` it is), dropped.

    ``failures``: attempts to apply it that failed for a defect; ``unended``: those, the latest in a row, of which nobody has
    seen the end; ``space``: see :class:`NewBatch`; ``deaths``: how often its events were set aside because
    a process died that did nothing else, ``tick``: what now() is from it on, in microseconds since 1970, if it is not a drop's (decision
    56), ``retry_at``: when they are tried again by themselves, in seconds since 1970; ``reason``: why it failed, in its first line; ``retracted_by``: the commit that took back what ``commit`` had
    made visible."""

    id: int
    coordinator: int
    drop: str
    epoch: int
    first_sequence: int
    inserts: int
    deletes: int
    quarantined: int
    duplicates: int
    ticket: int | None
    state: str
    commit: int | None
    seconds: float
    part: int
    failures: int = 0
    unended: int = 0
    reason: str | None = None
    retry_of: int | None = None
    retracted_by: int | None = None
    space: str = ""
    deaths: int = 0
    retry_at: float | None = None
    tick: int | None = None

    @property
    def events(self) -> int:
        """Number of rows inserted or deleted; a tick is one."""
        return self.inserts + self.deletes + (self.tick is not None)

    @property
    def counts(self) -> bool:
        """Whether its events are a part of the log that snapshots equal."""
        return self.state not in LEFT_OUT


@dataclass(frozen=True)
class NewRun:
    """A written run, not yet visible. Versions are inclusive. It occupies ``bytes`` bytes from ``offset`` on in the pack
    ``path`` (relative to the state folder), the file with all runs of one step.

    ``root``: digest of its blocks' checksums (:func:`cumulus_ops.maps.packs.root_of`). ``content`` and ``total``: linear hashes of its rows, with their
    versions and without (:mod:`cumulus_ops.maps.hashes`). None of runs of old; of ``content`` also where that is not known."""

    map: str
    access_path: str
    path: str
    offset: int
    min_version: int
    max_version: int
    rows: int
    bytes: int
    root: str | None = None
    content: int | None = None
    total: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run(NewRun):
    """A visible run. ``origin`` is the latest commit whose deltas it holds."""

    id: int
    commit: int
    origin: int


@dataclass(frozen=True)
class Clock:
    """A reading clock: the commits whose runs a history entry has incorporated (``prefix`` inclusive)."""

    prefix: int
    exceptions: frozenset[int]

    def covers(self, commit: int) -> bool:
        """Whether the deltas of ``commit`` are already accounted for."""
        return commit <= self.prefix or commit in self.exceptions

    def advanced(self, to: int, own: int) -> Clock:
        """The clock that has incorporated all up to ``to`` (inclusive) besides, and the corrections of commit ``own``. It says so
        in the one way there is for it, so that clocks that have incorporated the same are equal.

        >>> Clock(3, frozenset({5, 9})).advanced(6, 7)
        Clock(prefix=7, exceptions=frozenset({9}))
        """
        prefix, later = max(self.prefix, to), self.exceptions | {own}
        while prefix + 1 in later:
            prefix += 1
        return Clock(prefix, frozenset(c for c in later if c > prefix))


#: That of a batch that reads nothing that others write: it has incorporated all that will ever come.
EVER = Clock(1 << 62, frozenset())


@dataclass(frozen=True)
class SharedClock:
    """A reading clock, its number, and how many ``batches`` of the live history have it. Those may become fewer, never more."""

    id: int
    clock: Clock
    batches: int


@dataclass(frozen=True)
class HistoryEntry:
    """An applied batch that may still need corrections, with its clock and that one's number, which changes with the clock."""

    batch: Batch
    clock: Clock
    clock_id: int


@dataclass(frozen=True)
class Unsettled:
    """Tentative answers may still change by what is applied already: since a commit of ``since`` (UTC) there is something that not
    all applied batches, or not the maps that depend on derivations, have incorporated. ``stale``: of the latter this is so."""

    since: datetime.datetime
    stale: bool


@dataclass(frozen=True)
class Refresh:
    """What a refresh wrote. ``expected``: the commit up to which the maps were refreshed when it began. ``corrected``:
    epoch -> corrected map entries."""

    expected: int
    runs: tuple[NewRun, ...]
    corrected: Mapping[int, int]


@dataclass(frozen=True)
class Recipe:
    """How the runs of a commit came to be (:mod:`cumulus_ops.catalog.recipes`). ``since`` and ``upto`` are commits or epochs; ``revision``: None for the current one."""

    read_at: int | None = None
    batch: int | None = None
    since: int | None = None
    upto: int | None = None
    revision: int | None = None

    def to_json(self) -> str | None:
        """What of it has no column of its own; None if that is nothing."""
        found = {"batch": self.batch, "since": self.since, "upto": self.upto}
        found = {name: what for name, what in found.items() if what is not None}
        return json.dumps(found, separators=(",", ":")) if found else None


@dataclass(frozen=True)
class Snapshot:
    """A committed snapshot of all maps at ``version`` (inclusive). ``entries``: stored map entries, one copy per map. ``repeats``: the
    epoch whose snapshot it is the same as, because nothing was appended to an epoch since; None if it is one of its own. ``now``: what
    now() is in it, in microseconds since 1970; None if no tick has come yet."""

    epoch: int
    version: int
    commit: int
    entries: int
    seconds: float
    repeats: int | None = None
    now: int | None = None


def moment_of_now(now: int | None) -> datetime.datetime | None:
    """What now() is in a snapshot, as a time without a zone, as views have it; it is UTC."""
    return None if now is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=now)


@dataclass(frozen=True)
class Validation:
    """The ``outcome`` of validating the snapshot of ``epoch`` (passed, failed, unproved; see :mod:`cumulus_ops.project.verdicts`). ``verdicts``: view ->
    what was found of it, and a sentence where it does not just equal its recomputation; ``failures``: a sentence for everything else that
    is wrong; ``views``: how many the program has."""

    epoch: int
    outcome: str
    failures: tuple[str, ...]
    report: str
    seconds: float
    verdicts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    views: int = 0

    @property
    def findings(self) -> tuple[str, ...]:
        """All that there is to say."""
        return (*(said for _, said in self.verdicts.values() if said), *self.failures)

    @property
    def summary(self) -> str:
        """How many views are what; empty for a validation of an older version, which has not kept it."""
        return summary([found for found, _ in self.verdicts.values()], self.views) if self.verdicts else ""


@dataclass(frozen=True)
class ViewError:
    """That the view has no rows in the snapshot of ``epoch``; ``kind``, ``message``, ``place`` and ``hint`` are those of the
    error that reading it raises."""

    view: str
    epoch: int
    kind: str
    message: str
    place: str
    hint: str


@dataclass(frozen=True)
class NewKeyRun:
    """A written run of a relation's key index. It occupies ``bytes`` bytes from ``offset`` on in the file ``path`` (relative to the state
    folder); its codes are from ``lowest`` to ``highest``, inclusive. ``root``: as that of :class:`NewRun`."""

    relation: str
    path: str
    offset: int
    bytes: int
    rows: int
    lowest: int
    highest: int
    root: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeyRun(NewKeyRun):
    """A run that counts; it holds what the versions ``first`` to ``last`` of the index have added, inclusive."""

    id: int
    first: int
    last: int


@dataclass(frozen=True)
class KeyIndex:
    """The key index of a relation as of a ``version``. It has what is in the relation's log files up to the id ``covers``; it ``is_behind``
    if there are later ones, which were appended while the relation was trusted."""

    relation: str
    version: int
    signature: str
    covers: int
    is_behind: bool
    runs: tuple[KeyRun, ...]


@dataclass(frozen=True)
class KeyChange:
    """What an append adds to the key index of a relation, which it has judged by ``version``; nothing, if all was rejected."""

    relation: str
    version: int
    signature: str
    runs: tuple[NewKeyRun, ...]
