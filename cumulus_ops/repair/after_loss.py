"""What a restored catalog finds in its state folder: files that it names and that are not there, and files that came after it.

What came after it is not lost: it is read again from where it came from, since the catalog does not know of it. Its files are moved to ``kept/`` and never read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import Identity
from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import LEFT_OUT, Batch, KeyRun, LogFile, QuarantinedRows, step_of

__all__ = ["Later", "Losses", "LostRows", "bring_back", "find_later", "find_losses", "forget_derived", "keep_later"]

FOLDERS = ("log", "quarantine", "runs", "keys", "net")


@dataclass(frozen=True)
class LostRows:
    """A file of the log, or of the quarantine, that is not there: what it had, in plain words."""

    path: str
    relation: str
    epoch: int
    coordinator: int
    drop: str
    rows: int

    def __str__(self) -> str:
        return f"{self.path}: {self.rows:,} rows of {self.relation}, epoch {self.epoch}, {self.drop} of coordinator {self.coordinator}"


@dataclass(frozen=True)
class Losses:
    """What the catalog names and is not there, or is shorter. ``runs`` of maps can be made again from the log, ``keys`` (relations) and ``nets`` too; ``log`` and
    ``quarantine`` cannot. ``kept``: what is not where it was, and lies in ``kept/``, where an earlier restore has put it: path -> where."""

    kept: Mapping[str, Path] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    nets: tuple[NetTable, ...] = ()
    log: tuple[LostRows, ...] = ()
    quarantine: tuple[LostRows, ...] = ()


@dataclass(frozen=True)
class Later:
    """Files that the catalog does not name. Of the log, the ``rows`` of each relation that were written since the backup was made, and from when to when that was, in
    seconds since 1970; among them may be what killed steps have left. ``unreadable`` ones are not counted. Of which epochs they were, no file says."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    written: tuple[float, float] | None = None
    unreadable: int = 0


def find_losses(catalog: Catalog, root: Path) -> Losses:
    """Compare all files that count with those that are there, by their sizes where the catalog knows them (`cumulus fsck` reads them)."""
    runs = catalog.commits.runs(catalog.commits.last_commit())
    keys = list(_key_runs(catalog))
    kept = _find_kept(root, catalog.leases.known_paths())
    paths = {run.path for run in runs} | {run.path for _, run in keys}
    sizes = {path: _size(kept.get(path, root / path)) for path in paths}
    batches = {b.id: b for b in catalog.log.batches()}
    counting = [file for file in catalog.log.files() if batches[file.batch].state not in LEFT_OUT]
    return Losses(
        kept,
        tuple(sorted({run.path for run in runs if sizes[run.path] < run.offset + run.bytes})),
        tuple(sorted({name for name, run in keys if sizes[run.path] < run.offset + run.bytes})),
        tuple(net for net in catalog.net_tables.all() if _size(kept.get(net.path, root / net.path)) <= 0),
        tuple(_lost_rows(root, kept, counting, batches)),
        tuple(_lost_rows(root, kept, catalog.deliveries.quarantined_rows(), batches)),
    )


def _key_runs(catalog: Catalog) -> Iterator[tuple[str, KeyRun]]:
    for relation in catalog.key_indexes.runs():
        index = catalog.key_indexes.index(relation)
        yield from ((relation, run) for run in (() if index is None else index.runs))


def _find_kept(root: Path, paths: Collection[str]) -> dict[str, Path]:
    """Of files that are not where they were, those that somebody has put aside."""
    missing = {path for path in paths if not (root / path).exists()}
    return {
        path: place / path
        for place in sorted((root / "kept").glob("*"))
        for path in missing
        if (place / path).is_file()
    }


def bring_back(root: Path, kept: Mapping[str, Path]) -> None:
    """Move files from ``kept/`` to where they were."""
    for path, place in kept.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(place, root / path)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


def _lost_rows(
    root: Path, kept: Mapping[str, Path], files: Iterable[LogFile | QuarantinedRows], batches: Mapping[int, Batch]
) -> Iterator[LostRows]:
    for file in files:
        if _size(kept.get(file.path, root / file.path)) <= 0:
            batch = batches[file.batch]
            yield LostRows(file.path, file.relation, batch.epoch, batch.coordinator, batch.drop, file.rows)


def forget_derived(catalog: Catalog, losses: Losses) -> None:
    """Key indexes of which a file is lost are built again by the next append; a net table that is lost is not missed, for the log says the same."""
    for relation in losses.keys:
        catalog.key_indexes.forget(relation)
    for net in losses.nets:
        catalog.net_tables.drop(net, later=False)


def find_later(catalog: Catalog, root: Path, before: Identity, made_at: float) -> Later:
    """The files of this installation that the catalog does not name.

    Args:
        catalog: the restored one.
        root: the state folder.
        before: whose they are; no later generation's.
        made_at: when the backup was made, in seconds since 1970.
    """
    known = catalog.leases.known_paths()
    unnamed = [path for path in _files(root) if path not in known and _is_ours(path, before)]
    rows: dict[str, int] = {}
    times: list[float] = []
    unreadable = 0
    for path in unnamed:
        if path.startswith("log/") and (at := (root / path).stat().st_mtime) >= made_at:
            try:
                count = pq.read_metadata(root / path).num_rows
            except (OSError, pa.ArrowException):
                unreadable += 1
                continue
            relation = path.split("/")[1]
            rows[relation] = rows.get(relation, 0) + count
            times.append(at)
    size = sum(_size(root / path) for path in unnamed)
    return Later(tuple(unnamed), size, rows, (min(times), max(times)) if times else None, unreadable)


def _files(root: Path) -> Iterator[str]:
    for folder in FOLDERS:
        yield from sorted(str(p.relative_to(root)) for p in (root / folder).rglob("*") if p.is_file())


def _is_ours(path: str, before: Identity) -> bool:
    """Whether a step of this installation wrote it, in a generation up to this one."""
    step = step_of(path)
    whose, _, generation = ("", "", "") if step is None else step.writer.partition(".")
    return whose == before.installation[:8] and int(generation) <= before.generation


def keep_later(root: Path, files: Sequence[str], kept: Path) -> None:
    """Move files away. Who is killed, and begins again, moves the others."""
    for path in files:
        (kept / path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(root / path, kept / path)
