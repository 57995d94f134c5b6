"""From a drop's files to checked events; what cannot be accepted is set aside with a reason, row by row.

A drop is the folder ``<landing>/<coordinator>/<drop>/`` with files ``<relation>.parquet|csv|ndjson|..``; names that begin
with ``.`` or ``_`` are left alone. Each row has the relation's columns, ``op`` (I or D) and ``event``, the int64 offset
of the event in its source, which never decreases within a file. Rows with the same ``event`` form one atomic event,
e.g. an update is a D row and an I row, and are accepted or rejected together. What else a file may look like, ``docs/files.md`` says.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cumulus_ops.config import LEAST_MEMORY, LandingSettings
from cumulus_ops.eventlog.checks import Checks
from cumulus_ops.eventlog.delivery import PRODUCER, SEAL
from cumulus_ops.eventlog.formats import format_of, read_raw
from cumulus_ops.eventlog.raw import RawFile
from m3.program import Relation

__all__ = ["RelationEvents", "check", "read_relation", "read_rows", "relation_of", "seal_of"]

log = logging.getLogger(__name__)
PLAIN = LandingSettings()
SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class RelationEvents:
    """Events of one relation in one drop: of its whole file, or of a piece that no atomic event crosses.

    ``rows``: :func:`~cumulus_ops.eventlog.types.event_schema`, in the order of the file; texts that repeat themselves may
    be a dictionary. ``rejected``: :data:`~cumulus_ops.eventlog.types.REJECTED_SCHEMA`, in the order of the file.
    ``source`` is ``<coordinator>/<relation>``, within which offsets identify events. Events that are not ``numbered``
    have no offsets in their source: ``_offset`` is their row in the file, each row an event by itself.
    """

    relation: str
    source: str
    rows: pa.Table
    rejected: pa.Table
    numbered: bool = True


def relation_of(name: str, relations: Sequence[str]) -> str:
    """The relation that a file of a drop belongs to, "" for none; capitals count only where they tell relations apart.

    >>> relation_of("Orders.csv", ["orders", "items"]), relation_of("readme.txt", ["orders"])
    ('orders', '')
    """
    stem, kind = format_of(name)
    alike = [r for r in relations if r.casefold() == stem.casefold()]
    found = stem if stem in relations else alike[0] if len(alike) == 1 else ""
    return found if kind else ""


def seal_of(name: str, seals: Mapping[str, Sequence[str]]) -> str:
    """The relation, the seal and what is said of it, of a file of a drop with values of a seal; "" for others.

    >>> seals = {"clicks": ["campaign"], "ads": []}
    >>> seal_of("clicks.campaign.seal.csv", seals), seal_of("clicks.campaign.csv", seals), seal_of("ads.day.seal.csv", seals)
    ('clicks.campaign.seal', '', '')
    """
    for relation, names in seals.items():
        for what in (f"{relation}.{seal}.{said}" for seal in names for said in (SEAL, PRODUCER)):
            if name.casefold().startswith(f"{what}.".casefold()) and relation_of(f"x{name[len(what) :]}", ["x"]):
                return what
    return ""


def read_relation(
    relation: Relation,
    path: Path,
    source: str,
    rows: int,
    settings: LandingSettings = PLAIN,
    memory: int = LEAST_MEMORY,
) -> Iterator[RelationEvents]:
    """Reads and checks a file of a relation: :func:`read_rows`, then :func:`check`."""
    return check(relation, read_rows(relation, path, rows, settings, memory), source, str(path))


def read_rows(
    relation: Relation, path: Path, rows: int, settings: LandingSettings = PLAIN, memory: int = LEAST_MEMORY
) -> Iterator[RawFile]:
    """Reads a file of a relation, in pieces that no event crosses, which :func:`check` then checks.

    Args:
        relation: whose file it is.
        path: its suffix is one of :data:`~cumulus_ops.eventlog.formats.FORMATS`.
        rows: the most rows of a piece, where the format allows it.
        settings: how files of the relation are read.
        memory: the bytes that reading may hold: about a quarter of them for a piece.

    Raises:
        InputProblem: it is unreadable, lacks a column, or is too large; possibly after the first pieces.
    """
    return read_raw(path, relation, rows, settings, memory)


def check(
    relation: Relation,
    raws: Iterable[RawFile],
    source: str,
    place: str,
    *,
    upsert: bool = False,
    insert_only: bool = False,
) -> Iterator[RelationEvents]:
    """Checks the rows of a relation, piece by piece.

    Args:
        relation: whose rows they are.
        raws: the rows as they came, in pieces that no event crosses. Without a column ``event``, each row is an event by itself;
            a column of the relation may be missing if it may be NULL.
        source: see :class:`RelationEvents`.
        place: where they came from, for people.
        upsert: whether rows may be updates by key (sign :data:`~cumulus_ops.eventlog.types.UPDATE`), and deletes by key alone.
        insert_only: whether deletes are rejected.

    Raises:
        InputProblem: a column is missing, or has a type that cannot hold its values exactly; possibly after the first pieces.
    """
    checks = Checks(relation, place, upsert, insert_only)
    for raw in raws:
        if raw.ignored:
            _warn_ignored(source, raw.ignored)
        checked = checks.check(raw)
        yield RelationEvents(relation.name, source, checked.rows, checked.rejected, checked.numbered)


@functools.lru_cache(maxsize=1024)
def _warn_ignored(source: str, names: tuple[str, ...]) -> None:
    """Logs once per source and set of names: the cache is the memory."""
    shown = ", ".join(n if n.isprintable() else repr(n)[1:-1] for n in names[:SHOWN_COLUMNS]) + (
        f" and {len(names) - SHOWN_COLUMNS} more" if names[SHOWN_COLUMNS:] else ""
    )
    log.warning("%s: columns %s are not declared and will be ignored", source, shown)
