"""A project is a folder with a ``cumulus.yaml``: what to maintain, from which sources, where to keep it.

:func:`~cumulus_ops.project.project_file.load_project` reads and checks it; every error names file, line and what to do. ``${NAME}`` and
``${NAME:-default}`` in values are taken from the environment, so that secrets never stand in the file.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cumulus_ops.project.effective import Effective
from cumulus_ops.project.verdicts import FAILED, UNPROVED
from m3.errors import Span
from m3.program import Relation

if TYPE_CHECKING:
    from cumulus_ops.project.yaml_nodes import Item, Section

__all__ = [
    "LEAST_MEMORY",
    "PIN",
    "SETTLE",
    "BackupSettings",
    "CorrectionSettings",
    "EpochSettings",
    "ExecutorSettings",
    "KeySettings",
    "LandingSettings",
    "LayoutChoice",
    "LayoutSettings",
    "Patience",
    "Project",
    "SealSettings",
    "SourceSettings",
    "ValidationSettings",
]


#: How many committed epochs a snapshot waits for being published and validated, if the project does not say.
PIN = 96


@dataclass(frozen=True)
class EpochSettings:
    """The rhythm of a project's epochs.

    ``length`` is the time T between two transitions of one coordinator; coordinator i moves i*T/N later than
    coordinator 0 (staggered, Cumulus paper section 4.2). ``start`` is when epoch 0 of coordinator 0 begins (UTC);
    ``count`` ends the schedule after that many epochs, None never. ``retain`` is how many committed epochs stay
    readable as of that epoch; one that has yet to be published or validated stays for as many as ``pin``. ``events``: an
    epoch with more of them ends at once; None for no limit but that of versions. Not ``staggered``: epochs are aligned, all coordinators move at the
    same time, which saves programs from SQL corrections (docs/experiments/engine.md).
    """

    length: datetime.timedelta
    start: datetime.datetime
    count: int | None = None
    retain: int = 16
    pin: int = PIN
    events: int | None = None
    staggered: bool = True


@dataclass(frozen=True)
class Patience:
    """How long a coordinator may be late, once its epoch is over and others wait for it: for so long it keeps the ``token`` (where versions are by
    batch no longer than the buffer period, decision 47), and after ``gone`` (None: never) the others go on without it (see :mod:`cumulus_ops.catalog.votes`)."""

    token: datetime.timedelta = datetime.timedelta(minutes=5)
    gone: datetime.timedelta | None = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class CorrectionSettings:
    """When batches that were applied out of their order are corrected: at most ``after`` so long (the papers' buffer period)."""

    after: datetime.timedelta = datetime.timedelta(seconds=2)


@dataclass(frozen=True)
class ExecutorSettings:
    """Where steps run. ``kind``: ``inprocess`` or ``spark``. ``remote`` (a Spark Connect URL) wins over ``master``.
    ``rows_per_task``: a step is split over several tasks if that takes the work of so many events off one task."""

    kind: str = "spark"
    master: str = "local[2]"
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    rows_per_task: int = 350_000


#: What the column ``op`` may say, in any case, and which of I, D and U it means.
OP_WORDS = {
    **dict.fromkeys(("I", "INSERT", "C", "CREATE", "R", "READ", "+I"), "I"),
    **dict.fromkeys(("D", "DELETE", "-D"), "D"),
    **dict.fromkeys(("U", "UPDATE"), "U"),
}


@dataclass(frozen=True)
class LandingSettings:
    """How landed files are read. ``null_values``: unquoted CSV fields that are NULL, beside the empty one. ``ops``: more words of the
    column ``op``, each for ``I``, ``D`` or ``U``; ``insert`` if all rows of files without that column are inserts. ``delimiter``: between
    the fields of CSV files, None to take it from the header. ``older``: column -> the names that it had before, by which it is found where it is not there by its
    own. ``waiting``: columns that are declared, and not deployed yet."""

    null_values: tuple[str, ...] = ()
    ops: Mapping[str, str] | Literal["insert"] = field(default_factory=dict)
    delimiter: str | None = None
    older: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LayoutChoice:
    """Where the events of a relation, or a map's deltas, are in a partitioned apply: ``columns`` to partition by, none to
    replicate a map or to leave events where they are. ``place`` is the file and line that says so."""

    columns: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class LayoutSettings:
    """What a project decides about the layout of large batches, by map and by relation; the rest is estimated."""

    maps: Mapping[str, LayoutChoice] = field(default_factory=dict)
    events: Mapping[str, LayoutChoice] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceSettings:
    """A source beside the landing folder: its ``name``, which of the ``kind``s it is (``postgres``, or ``package.module:Class``), and the
    ``coordinator`` that takes its events. ``item`` is its part of the file, from which the kind reads the rest."""

    name: str
    kind: str
    coordinator: int
    item: Item

    def options(self, *known: str) -> Section:
        """What the file says beside kind and coordinator.

        Args:
            known: the options that the kind has.

        Raises:
            InputProblem: there are others.
        """
        return self.item.section(("kind", "coordinator", *known))

    @property
    def url(self) -> str | None:
        """Where it leads to, if it has a URL; it may hold a password."""
        found = self.item.section().get("url") if self.item.is_mapping else None
        return None if found is None else found.text()


#: How long a landed drop has to be left alone before it is taken, if nothing else says that it is complete.
SETTLE = datetime.timedelta(seconds=5)


@dataclass(frozen=True)
class KeySettings:
    """What a relation's key means (docs/keys.md). ``mode``: ``strict``, events that its rows contradict are quarantined; ``upsert``, they
    say what a key's row is now. ``writers``: a key belongs to ``one`` coordinator, or ``any`` may write it."""

    mode: str
    writers: str = "one"


@dataclass(frozen=True)
class SealSettings:
    """A seal of a relation: by ``name``, a punctuation on ``columns``. A value of theirs is closed when its producers, who are coordinators, have
    sealed it: ``all`` of them, those that have ``registered`` for it (with rows of it, or without), or ``one``, who alone may have rows of it."""

    name: str
    columns: tuple[str, ...]
    producers: str = "all"


@dataclass(frozen=True)
class ValidationSettings:
    """How snapshots are proved. ``policy``: a wrong one is to ``fail`` its task, to ``warn``, or is not looked for (``off``);
    ``unproved``: what one does that is not wrong, but has views that could not be compared, ``warn`` or ``fail``; ``every`` so many epochs, from epoch 0 on; ``views`` that are proved each time, in turn, None for all of them. The snapshots of epochs
    to which nothing is appended are the one before them, and proved with it."""

    policy: str = "fail"
    every: int = 1
    views: int | None = None
    unproved: str = "warn"

    def is_failure(self, outcome: str) -> bool:
        """Whether a validation with this outcome (:mod:`cumulus_ops.project.verdicts`) fails what asked for it.

        >>> from cumulus_ops.project.verdicts import PASSED
        >>> [ValidationSettings(unproved=u).is_failure(o) for u in ("warn", "fail") for o in (PASSED, FAILED, UNPROVED)]
        [False, True, False, False, True, True]
        """
        return {FAILED: self.policy == "fail", UNPROVED: self.policy != "off" and self.unproved == "fail"}.get(
            outcome, False
        )

    def due(self, epoch: int, last: int | None = None) -> bool:
        """Whether the snapshot of an epoch is to be proved, which may be that of all epochs from there to ``last`` (inclusive).

        >>> [e for e in range(7) if ValidationSettings(every=3).due(e)]
        [0, 3, 6]
        >>> ValidationSettings(every=3).due(4, 5), ValidationSettings(every=3).due(4, 6)
        (False, True)
        """
        return self.policy != "off" and any(
            e % self.every == 0 for e in range(epoch, (last or epoch) + 1)[: self.every]
        )

    def chosen(self, names: Sequence[str], turn: int) -> tuple[str, ...]:
        """The views that are proved next, after ``turn`` validations: a sample goes round, so that all have their turn.

        >>> [ValidationSettings(views=2).chosen("abc", turn) for turn in range(3)]
        [('a', 'b'), ('c', 'a'), ('b', 'c')]
        """
        if self.views is None or self.views >= len(names):
            return tuple(names)
        first = turn * self.views
        return tuple(names[(first + i) % len(names)] for i in range(self.views))


@dataclass(frozen=True)
class BackupSettings:
    """After each snapshot the catalog is copied ``to`` a folder, which keeps the newest ``keep`` copies."""

    to: Path
    keep: int = 3


#: A batch may have so many rows even where there is memory for fewer.
BATCH_ROWS = 1_000_000


@dataclass(frozen=True)
class Project:
    """A checked project folder; all paths absolute.

    ``landing`` holds what sources deliver: ``<landing>/<coordinator>/<drop>/<relation>.<parquet|csv|ndjson>``; a drop is
    a folder that appears by one rename, and becomes one mini-batch, or several of at most ``batch_rows`` rows (None: as many as there is memory for). ``state`` holds log and runs, ``published`` the
    Delta tables, ``reports`` the validation reports. ``program_file`` (an M3 file) and ``views`` (name -> SQL text) are
    what to maintain; one of them is set. ``keys``: the relations that are not trusted, by name. ``dialect`` is sqlglot's name of the views' SQL dialect, None for its generic
    one. ``corrections`` says how soon tentative answers are right again. ``validation`` says which snapshots are proved. ``layout`` overrides the estimates' layout of large batches. ``memory`` is
    how many bytes one step may hold, in each process. ``deploy_cores``: on how many cores a deployment fills new maps, half of them if None. ``fsck_percent``: of how many files in a hundred it is seen after each snapshot
    whether they are as they were written. ``coordinators`` is how many there are at first; who they are later, the catalog
    says. ``patience`` is had with those that are late. ``files`` says how landed files are read, ``files_of`` for single relations.
    ``settle`` is how long a landed drop has to be left alone before it is taken, if nothing else says that it is complete; ``sources``
    are those beside the landing folder.
    """

    name: str
    folder: Path
    relations: tuple[Relation, ...]
    coordinators: int
    epoch: EpochSettings
    landing: Path
    state: Path
    catalog_url: str = field(repr=False)  # it may hold a password
    published: Path | None
    reports: Path
    views: dict[str, str]
    program_file: Path | None
    executor: ExecutorSettings
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    dialect: str | None = None
    layout: LayoutSettings = field(default_factory=LayoutSettings)
    batch_rows: int | None = None
    memory: int | None = None
    deploy_cores: int | None = None
    fsck_percent: int = 1
    corrections: CorrectionSettings = field(default_factory=CorrectionSettings)
    patience: Patience = field(default_factory=Patience)
    files: LandingSettings = field(default_factory=LandingSettings)
    files_of: Mapping[str, LandingSettings] = field(default_factory=dict)
    settle: datetime.timedelta = SETTLE
    sources: tuple[SourceSettings, ...] = ()
    #: where backups are made; None: nowhere, unless somebody asks
    backup: BackupSettings | None = None

    def settings_of(self, relation: str) -> LandingSettings:
        """How the landed files of a relation are read: as it says itself, or else as all are."""
        settings, waiting = self.files_of.get(relation, self.files), self.waiting.get(relation, frozenset())
        renamed = self.renamed.get(relation, {})
        older = next((_older_names(r, renamed) for r in self.relations if r.name == relation), {})
        return replace(settings, older=older, waiting=waiting) if older or waiting else settings

    keys: Mapping[str, KeySettings] = field(default_factory=dict)
    #: relation -> its seals; relations that have only inserts; a file that says what becomes of the views' answers
    seals: Mapping[str, tuple[SealSettings, ...]] = field(default_factory=dict)
    insert_only: tuple[str, ...] = ()
    #: relation -> column -> the names that it had before, the newest first (``was:``)
    renamed: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    #: relation -> columns that the folder declares, and the revision that is maintained does not have
    waiting: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: view -> what it says before a value, and since, of those that say something else from there on
    effective: Mapping[str, Effective] = field(default_factory=dict)
    #: view -> its file
    view_files: Mapping[str, Path] = field(default_factory=dict)
    dataflow: Path | None = None

    def in_file(self, span: Span) -> Span:
        """A place in a view's text, or in the program's, as one in the file that has it, below the project's folder."""
        file = self.view_files.get(span.file, self.program_file)
        if file is None:
            return span
        inside = file.is_relative_to(self.folder)
        return replace(span, file=str(file.relative_to(self.folder) if inside else file))

    def seal(self, relation: str, name: str) -> SealSettings | None:
        """A seal of a relation by its name; None if there is no such one."""
        return next((seal for seal in self.seals.get(relation, ()) if seal.name == name), None)

    def relation(self, name: str) -> Relation:
        """A relation by its name."""
        return next(relation for relation in self.relations if relation.name == name)

    def seal_rows(self, relation: str, seal: SealSettings) -> Relation:
        """What a seal's files have: its columns, as a relation."""
        columns = {c.name: c for r in self.relations if r.name == relation for c in r.columns}
        return Relation(relation, tuple(columns[name] for name in seal.columns))

    @property
    def urls(self) -> tuple[str, ...]:
        """All that may hold secrets: those of the catalog, of Spark and of sources."""
        return tuple(filter(None, (self.catalog_url, self.executor.remote, *(source.url for source in self.sources))))

    @property
    def consumers(self) -> tuple[str, ...]:
        """What is to be done with each snapshot, and keeps it until then."""
        return ("publish", "validate") if self.published else ("validate",)

    @property
    def least_batch_rows(self) -> int:
        """As many rows a batch may have in any case. So the pieces in which drops are read, and the files that these become, are always the same."""
        return self.batch_rows or BATCH_ROWS

    @property
    def memory_bytes(self) -> int:
        """What a step may hold: ``memory``, or half of the machine's, divided by the coordinators."""
        return self.memory or max(LEAST_MEMORY, machine_memory() // 2 // self.coordinators)


def _older_names(relation: Relation, renamed: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """column -> names that it had before, and no column has now.

    >>> from m3.datatypes import INT
    >>> from m3.program import Column
    >>> columns = Column("a", INT), Column("b", INT)
    >>> _older_names(Relation("r", columns, stored=(("a", "c"), ("b", "b~2"))), {"a": ("b", "d")})
    {'a': ('d', 'c')}
    """
    names = {c.name for c in relation.columns}
    found = {}
    for name in names:
        known = dict.fromkeys((*renamed.get(name, ()), relation.in_log(name)))
        found[name] = tuple(other for other in known if other not in names and other.isidentifier())
    return {name: older for name, older in found.items() if older}


#: Less is not enough for a batch.
LEAST_MEMORY = 256 << 20


def machine_memory() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
