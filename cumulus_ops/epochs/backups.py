"""Backups of the catalog: after each snapshot, or when somebody asks (docs/adr/0083).

A backup is a folder ``<installation>.<generation>.<commit>``, which appears by one rename::

    catalog.db    a copy of all tables, SQLite, whatever database the catalog is
    backup.json   what it is a copy of, and the digest of the copy

State folder and landing folder are not in it: their files are written once, and copied as any others.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog.backups import LastBackup
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.copies import copy_catalog, read_facts
from cumulus_ops.catalog.database import SCHEMA
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import CumulusError, IntegrityProblem, SetupProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.small_files import locked_folder, remove_left, replace_file, sync_folder
from cumulus_ops.publishing.telling import watch_step

__all__ = ["COPY", "Backup", "back_up", "back_up_when_due", "list_backups", "read_backup", "verify_backup"]

log = logging.getLogger(__name__)

COPY, FACTS = "catalog.db", "backup.json"
NAME = re.compile(r"[0-9a-f]{8}\.\d+\.\d+")
#: A backup that takes long is made so much less often: it may cost one part in so many of the time.
SHARE = 20


@dataclass(frozen=True)
class Backup:
    """A backup in the folder ``place``: of an ``installation`` in a ``generation``, as of a ``commit``; ``epoch`` is the newest that has a snapshot in it, -1 without any.
    ``made_at`` is in seconds since 1970; ``digest`` is the copy's SHA-256; ``positions``: of sources."""

    place: Path
    program: str
    installation: str
    generation: int
    commit: int
    epoch: int
    schema: str
    made_at: float
    seconds: float
    rows: int
    bytes: int
    digest: str
    positions: dict[str, str]

    @property
    def copy(self) -> Path:
        """The copy of the catalog."""
        return self.place / COPY

    def last(self, *, holds: bool) -> LastBackup:
        """What a catalog knows of it."""
        positions = json.dumps(self.positions, sort_keys=True)
        made = (self.made_at, self.seconds, self.bytes, str(self.place))
        return LastBackup(self.commit, self.epoch, *made, positions, holds)


def back_up(catalog: Catalog, to: Path, keep: int | None = None, *, holds: bool = False, record: bool = True) -> Backup:
    """Make a backup, while others go on.

    Args:
        catalog: with its state folder, unless that may be another's.
        to: the folder in which backups are.
        keep: as many of this installation stay there, the newest; None for all.
        holds: what it needs is kept until the next one: files that it names, and what sources have handed over since.
        record: whether the catalog is told.

    Raises:
        SetupProblem: there is no catalog, or it was replaced by another one; or the folder cannot be written.
    """
    catalog.leases.require_claim()
    if holds:
        catalog.backups.hold()
    begun, clock = time.time(), time.monotonic()
    with _draft(to) as draft:
        copy_catalog(catalog.database, draft / COPY)
        found = read_facts(draft / COPY)
        name = f"{found.identity.writer}.{found.commit}"
        digest, size = _digest(draft / COPY), (draft / COPY).stat().st_size
        whose = {"installation": found.identity.installation, "generation": found.identity.generation}
        facts = {"program": found.program, **whose, "commit": found.commit, "epoch": found.epoch, "schema": SCHEMA}
        facts |= {"made_at": begun, "seconds": time.monotonic() - clock, "rows": found.rows, "bytes": size}
        text = json.dumps({**facts, "digest": digest, "positions": dict(found.positions)}, indent=1)
        replace_file(draft / FACTS, text, durable=True)
        sync_folder(draft)
        reach("backup.before-rename")
        if (to / name).exists():  # as of the same commit: what was decided since is in the newer one alone
            (to / name).rename(draft.with_name(f"{draft.name}.replaced"))
        draft.rename(to / name)
        sync_folder(to)
    shutil.rmtree(draft.with_name(f"{draft.name}.replaced"), ignore_errors=True)
    made = read_backup(to / name)
    reach("backup.before-record")
    if record:
        catalog.leases.require_claim()  # whoever lost it meanwhile must not let sources forget
        catalog.backups.record(made.last(holds=holds))
    if keep is not None:
        _drop_old(made, to, keep)
    return made


@contextmanager
def _draft(to: Path) -> Iterator[Path]:
    """A folder in ``to`` that nobody takes for a backup; it is locked as long as somebody is at it."""
    draft = to / f".draft.{os.urandom(4).hex()}"
    try:
        draft.mkdir(parents=True)
        with locked_folder(draft):
            yield draft
    except OSError as error:
        message, hint = (
            f"no backup can be written: {error.strerror}",
            "make room, or name another folder: `backup: {to: }`",
        )
        raise SetupProblem(message, kind="backup-unwritable", place=str(to), hint=hint) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _digest(file: Path) -> str:
    """The SHA-256 of a file, which outlives the machine's end from now on."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _drop_old(made: Backup, to: Path, keep: int) -> None:
    """Those of the same installation, and drafts at which nobody is any more."""
    mine = [backup for backup in list_backups(to) if backup.installation == made.installation]
    for old in mine[keep:]:
        shutil.rmtree(old.place, ignore_errors=True)
    remove_left(to, ".draft.*")


def list_backups(folder: Path) -> list[Backup]:
    """The backups in a folder, the newest first."""
    places = [path for path in folder.iterdir() if NAME.fullmatch(path.name)] if folder.is_dir() else []
    found = []
    for place in places:
        try:
            found.append(read_backup(place))
        except SetupProblem:
            continue  # somebody drops it just now
    return sorted(found, key=lambda b: (b.generation, b.commit, b.made_at), reverse=True)


def read_backup(place: Path) -> Backup:
    """What a backup says of itself.

    Raises:
        SetupProblem: it is none.
    """
    try:
        return Backup(place, **json.loads((place / FACTS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        hint = f"name the folder of a backup, or the folder in which backups are; a backup has {COPY} and {FACTS}"
        raise SetupProblem("this is no backup", kind="no-backup", place=str(place), hint=hint) from error


def verify_backup(backup: Backup) -> None:
    """See that a backup is as it was written.

    Raises:
        IntegrityProblem: it is not.
    """
    try:
        is_so = _digest(backup.copy) == backup.digest
    except OSError:
        is_so = False
    if not is_so:
        hint = "take an older one; the folder in which it lies has what is kept"
        raise IntegrityProblem("the backup is damaged", kind="backup-damaged", place=str(backup.copy), hint=hint)


def back_up_when_due(rt: Runtime) -> Backup | None:
    """After a snapshot: a backup, where the project wants them. Whatever goes wrong holds no epoch up; it is told, and what a backup would release stays held."""
    settings, last = rt.project.backup, rt.catalog.backups.last()
    if settings is None:
        if rt.catalog.backups.holds():
            rt.catalog.backups.let_go()
        return None
    if last is not None and last.holds and not is_due(last, rt.catalog.snapshots.newest(), time.time()):
        return None
    try:
        return _back_up(rt)
    except (CumulusError, OSError) as problem:
        log.warning("the catalog is not backed up: %s", problem)
        return None


def is_due(last: LastBackup, epoch: int, now: float) -> bool:
    """Whether there is another snapshot by now, and backups have not taken too much of the time.

    >>> last = LastBackup(5, 3, 1000.0, 0.5, 1, "", "{}", True)
    >>> [is_due(last, epoch, now) for epoch, now in [(3, 2000.0), (4, 1009.0), (4, 1011.0)]]
    [False, False, True]
    """
    return epoch != last.epoch and now - last.made_at > SHARE * last.seconds


@watch_step("backup")
def _back_up(rt: Runtime) -> Backup:
    settings = rt.project.backup
    assert settings is not None
    return back_up(rt.catalog, settings.to, settings.keep, holds=True)
