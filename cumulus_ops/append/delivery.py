"""What a source hands over: a delivery is appended as a whole, into one epoch, or not at all. And existing tables as the first one."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.catalog.records import Intake, NewFileAside, Taken
from cumulus_ops.files.columns import EVENT, OP, RawFile
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project
from m3.program import Relation

__all__ = ["PRODUCER", "RETRIES", "SEAL", "TABLES", "Delivery", "Hashing", "Part", "Portion", "SealPart", "land_tables"]


#: What the names of files with values of a seal end in, before their format.
SEAL, PRODUCER = "seal", "producer"
#: The space of names of retries, which end in the label of what is retried. No source is called so.
RETRIES = "/"


@dataclass(frozen=True)
class Portion:
    """Some rows of a part that can be read by themselves: no event has rows in two portions.

    ``read`` yields them, as a part's does; it can be pickled, and called in any process that reaches the file. ``rows``: about how many they are.
    ``is_numbered``: whether their events have numbers, None if nobody has looked; ``lowest`` and ``highest`` (inclusive) of these, None if they are not known.
    """

    read: Callable[[], Iterator[RawFile]]
    rows: int
    is_numbered: bool | None = None
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True)
class Part:
    """The rows of one relation in a delivery: a file of a drop, or a table's changes.

    ``place`` names it for people. ``read`` yields its rows as they came, with the columns ``op`` and ``event`` beside the relation's,
    in pieces that no event crosses; it may be called again, and yields the same. If it raises an
    :class:`~cumulus_ops.project.errors.InputProblem`, all of the part is set aside, and the rest of its delivery goes on, if it can be read later: it
    is a file of a drop. A source with a position stands still. ``read_apart`` yields the same, read by a process of its own: for when others
    have died of it; None if that cannot be. ``portions`` are the same rows in the same order; None if they can only be read as a whole.
    """

    relation: str
    place: str
    read: Callable[[], Iterator[RawFile]]
    read_apart: Callable[[], Iterator[RawFile]] | None = None
    portions: Callable[[], Sequence[Portion]] | None = None


@dataclass(frozen=True)
class SealPart:
    """Values of a seal in a delivery: a file of a drop, such as ``clicks.campaign.seal.csv``.

    Its coordinator seals them, after all rows of the delivery have counted; or, if it ``announces`` them, says that it has events of them.
    ``read`` and ``read_apart`` yield rows with the seal's columns, as those of a :class:`Part` do.
    """

    relation: str
    seal: str
    announces: bool
    place: str
    read: Callable[[], Iterator[RawFile]]
    read_apart: Callable[[], Iterator[RawFile]] | None = None

    @property
    def name(self) -> str:
        """What its rows in the quarantine are called by, in the place of a relation.

        >>> SealPart("clicks", "campaign", False, "", lambda: iter(())).name
        'clicks.campaign.seal'
        """
        return f"{self.relation}.{self.seal}.{PRODUCER if self.announces else SEAL}"


class Hashing(Protocol):
    """Hashes the files of a delivery, here or elsewhere."""

    def hash_here(self) -> None:
        """Begin to, in a thread, unless it has begun."""

    def hash_calls(self) -> Sequence[Callable[[], object]]:
        """What to call to hash each file; they can be pickled, and called in any process that reaches the files."""

    def take_hashes(self, found: Sequence[object]) -> None:
        """Take what these have returned, in their order."""


@dataclass(frozen=True)
class Delivery:
    """What is appended at once.

    ``parts`` opens it: nothing is read before. What it names that has no rows to read is set aside. The seals among them count last. ``source`` names where it comes from: events
    with the same number of the same source and relation are the same event. ``name`` is unique within its space (:meth:`space`). ``arrived`` decides
    which epoch it belongs to.

    Sources that have a position are at ``begin`` before the delivery and at ``position`` after it; the catalog advances it in the
    transaction that appends the delivery, and refuses one that does not begin where the last one ended. Others have None, and the
    catalog remembers the names.

    In a ``transactional`` delivery, rows with the same ``event`` are one transaction, whatever their relations: they are accepted
    or rejected together.

    ``taken`` is called when all is read, and says what that was; it raises :class:`~cumulus_ops.project.errors.NotYet` if it changed meanwhile.
    ``intake`` is recorded with it. ``place`` is where it lies, for people. ``hashing`` hashes its files, None if it has none.

    ``trial`` is called before it is read where processes have died of that: it reads it in one of its own, and raises
    :class:`~cumulus_ops.project.errors.SetupProblem` if that dies, too. ``apart``: one is known to have died, and its parts are read apart at once.
    """

    source: str
    name: str
    arrived: datetime.datetime
    parts: Callable[[], Iterable[Part | SealPart | NewFileAside]]
    begin: str | None = None
    position: str | None = None
    transactional: bool = False
    taken: Callable[[], Taken] | None = None
    intake: Intake = field(default_factory=Intake)
    place: str = ""
    trial: Callable[[], None] | None = None
    apart: bool = False
    hashing: Hashing | None = None

    def space(self, coordinator: int) -> str:
        """Among whose names its name is: those of drops (""), of a source (its name), or of retries. A drop's name is anybody's choice, and
        so may be what a source calls a delivery.

        Args:
            coordinator: whose delivery it is; the source of drops has its number for a name.
        """
        if self.intake.is_retry:
            return RETRIES
        return "" if self.source == str(coordinator) else self.source


# Existing tables as the first drop: the rows that were there before the first change.
#
# Each table's rows become inserts with the events -N .. -1, before all events that its source will ever number. They are
# applied like any drop, in large batches: a batch costs what its rows cost, set at a time, not what its events would.


#: The drop's name: it sorts before others.
TABLES = "0000-tables"
ROWS = 1 << 17


def land_tables(project: Project, folder: Path) -> Path:
    """Land ``<folder>/<relation>.parquet`` as one drop of coordinator 0; a relation without a file begins empty.

    The drop appears by one rename, complete; if it is there already, nothing is done.

    Args:
        project: the project.
        folder: the tables; their columns may come in any order, and more than the declared ones.

    Returns:
        the drop's folder.

    Raises:
        InputProblem: there is no table of any relation, or one lacks a column.
    """
    drop = project.landing / "0" / TABLES
    if drop.exists():
        return drop
    files = {r: folder / f"{r.name}.parquet" for r in project.relations if (folder / f"{r.name}.parquet").is_file()}
    if not files:
        names = ", ".join(f"{r.name}.parquet" for r in project.relations)
        raise InputProblem(
            "holds no table of the project", kind="no-tables", place=str(folder), hint=f"put {names} there"
        )
    temporary = drop.with_name(f".{TABLES}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for relation, file in files.items():
        _copy(relation, file, temporary / file.name)
    (temporary / "_SUCCESS").touch()
    temporary.rename(drop)
    return drop


def _copy(relation: Relation, file: Path, target: Path) -> None:
    """The table with the columns ``op`` and ``event``, batch by batch."""
    with pq.ParquetFile(file) as source:
        names = [c.name for c in relation.columns]
        missing = set(names) - set(source.schema_arrow.names)
        if missing:
            hint = f"its columns: {', '.join(source.schema_arrow.names)}"
            raise InputProblem(f"lacks {', '.join(sorted(missing))}", kind="missing-column", place=str(file), hint=hint)
        schema = pa.schema([*map(source.schema_arrow.field, names), (OP, pa.string()), (EVENT, pa.int64())])
        event = -source.metadata.num_rows
        with pq.ParquetWriter(target, schema, compression="lz4") as writer:
            for batch in source.iter_batches(ROWS, columns=names):
                events = pa.array(np.arange(event, event + len(batch)))
                event += len(batch)
                columns = [*(batch.column(n) for n in names), pa.repeat("I", len(batch)), events]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
