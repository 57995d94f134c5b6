"""Drops: folders of files that appear in the landing folder.

A drop is the folder ``<landing>/<coordinator>/<drop>/`` with files ``<relation>.parquet|csv|ndjson|..``. Names that begin with a dot or an
underscore are still being written. Drops have no position: the catalog knows their names, when each has arrived, and what was
taken of it.
"""

from __future__ import annotations

import datetime
import errno
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cumulus_ops.append.delivery import PRODUCER, Delivery, Part, Portion, SealPart
from cumulus_ops.catalog.records import FileAside, Intake, KnownDelivery, NewFileAside, Taken
from cumulus_ops.files.columns import RawFile
from cumulus_ops.files.landed import piece_rows
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.settings import LandingSettings, Project
from cumulus_ops.sources.drops import (
    COMPLETE,
    DropFolder,
    Entry,
    Hashes,
    Ignored,
    digest_of,
    find_changed,
    name_problem,
    natural,
    printable,
    sort_files,
)
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = ["Landing", "drop_delivery", "ignored_in", "retry_name", "taken_up"]

#: The newest drops that were taken are looked at again and again: a copy may have paused for longer than `settle`.
LATEST = 16
#: Of older ones only the folders, when a process begins; so many are looked into.
NEWEST = 100
SECOND_NS = 1_000_000_000
#: About what a row of a text file takes.
TEXT_ROW_BYTES = 64


class Landing:
    """The landing folder of one coordinator.

    Args:
        project: the project.
        catalog: knows which drops were appended.
        coordinator: whose folder.
    """

    def __init__(self, project: Project, catalog: Catalog, coordinator: int) -> None:
        self.name = str(coordinator)
        self._project, self._catalog, self._coordinator = project, catalog, coordinator
        self._folder = project.landing / self.name
        self._settle = round(project.settle.total_seconds() * SECOND_NS)
        self._arrived: dict[str, float] = {}
        self._reviewed: dict[str, int] = {}
        self._settling: dict[str, int] = {}
        self._compared: dict[str, DropFolder] = {}
        self._done: set[str] = set()  # of the folders that are there; what is in the log stays in it

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """Landed drops that are complete and not in the log yet, in the order of their names. When they arrived is recorded."""
        folders = self._folders()
        done = self._find_done(folders)
        waiting = self._complete([name for name in folders if name not in done])
        # What the catalog knows already, from a process before this one, stays.
        arrivals = {name: at for name, at in waiting.items() if name not in self._arrived}
        if arrivals:
            self._catalog.deliveries.see(self._coordinator, arrivals)
            known = self._catalog.deliveries.known(self._coordinator, arrivals)
            self._arrived |= {name: delivery.arrived for name, delivery in known.items()}
        self._review({name: inode for name, inode in folders.items() if name in done})
        for name in _in_order(waiting):
            at = datetime.datetime.fromtimestamp(self._arrived[name], datetime.UTC)
            forget = partial(self._arrived.pop, name, None)
            yield drop_delivery(self._project, self._folder / name, arrived=at, on_change=forget)

    def waiting(self) -> list[str]:
        """The names of complete drops that are not in the log yet; nothing is recorded."""
        folders = self._folders()
        done = self._find_done(folders)
        return _in_order(self._complete([name for name in folders if name not in done]))

    def _find_done(self, folders: Collection[str]) -> Collection[str]:
        """Which of the drops that are there are in the log. The catalog is asked for those alone that were not when it was asked last."""
        left = [name for name in folders if name not in self._done]
        self._done = {name for name in self._done if name in folders}
        self._done |= self._catalog.log.drops(self._coordinator, among=left).intersection(left) if left else set()
        return self._done

    def settles_in(self) -> float | None:
        """In how many seconds the next of the drops that are not complete yet may be; None if there is none."""
        return max(0.0, (min(self._settling.values()) - time.time_ns()) / SECOND_NS) if self._settling else None

    def close(self) -> None:
        """Nothing is held."""

    def _folders(self) -> dict[str, int]:
        """Name -> inode of what may be a drop."""
        return {e.name: e.inode() for e in _entries(self._folder) if not _folder_problem(e)}

    def _complete(self, names: Iterable[str]) -> dict[str, float]:
        """Name -> when it arrived, of those of the drops that are complete. One that is complete stays so: what changes later
        is found while it is read."""
        self._settling, complete = {}, {}
        for name in names:
            if name in self._arrived:
                complete[name] = self._arrived[name]
                continue
            drop = _look(self._folder / name)
            at = drop.arrived(time.time_ns(), self._settle) if drop and _has_something(drop) else None
            if at is not None:
                complete[name] = at / SECOND_NS
            elif drop and _has_something(drop):
                self._settling[name] = drop.changed + self._settle
        return complete

    def _review(self, folders: dict[str, int]) -> None:
        """See that the drops that were taken are what they were: all of them once, then those whose folder is another one, and the
        latest again and again."""
        new = {name for name, inode in folders.items() if self._reviewed.get(name) != inode}
        latest = [name for name in self._arrived if name in folders][-LATEST:]
        suspects = new.union(latest)
        if suspects:
            known = self._catalog.deliveries.known(self._coordinator, suspects)
            newest = sorted(known.values(), key=lambda delivery: delivery.id)[-NEWEST:]
            for delivery in known.values():
                self._compare(self._folder / delivery.name, delivery, thoroughly=delivery in newest)
        self._reviewed |= folders

    def _compare(self, path: Path, known: KnownDelivery, *, thoroughly: bool) -> None:
        """Set aside what is not what it was."""
        if not known.identity:
            return  # it was appended before this was recorded
        try:
            folder = DropFolder(path, Entry.of(path.name, path.stat(follow_symlinks=False)), ())
            is_same = folder.identity == known.identity
        except OSError:
            is_same = False
        drop = _look(path) if thoroughly or not is_same else None
        if drop is None or self._compared.get(known.name) == drop:
            return
        self._compared[known.name] = drop
        names, memory = _names(self._project), self._project.memory_bytes
        changed, taken = find_changed(self._coordinator, drop, known, names, memory)
        if changed:
            self._catalog.deliveries.set_files_aside(changed)
        elif taken is not None:
            self._catalog.deliveries.recognise(taken)


def drop_delivery(
    project: Project,
    path: Path,
    *,
    arrived: datetime.datetime | None = None,
    name: str | None = None,
    files: Iterable[str] | None = None,
    on_change: Callable[[], object] = lambda: None,
) -> Delivery:
    """A drop's folder as a delivery; it is looked into when it is appended.

    Args:
        project: the project.
        path: the folder, in that of its coordinator.
        arrived: when; None if that is not recorded.
        name: of the delivery; by default the folder's.
        files: names of files that are taken; None for all.
        on_change: called if it turns out not to have been complete.
    """
    at = arrived or datetime.datetime.fromtimestamp(path.stat().st_ctime, datetime.UTC)
    opened = _Opened(project, path, files, on_change)
    whose, what = path.parent.name, name or path.name
    return Delivery(whose, what, at, opened.parts, taken=opened.taken, place=printable(path), hashing=opened)


class _Opened:
    """A drop that is read: as it was when it was opened, so that it can be compared when all is read."""

    def __init__(
        self, project: Project, path: Path, files: Iterable[str] | None, on_change: Callable[[], object]
    ) -> None:
        self._project, self._path, self._on_change = project, path, on_change
        self._only = None if files is None else frozenset(files)
        self._hashes: Hashes | None = None
        self._drop: DropFolder | None = None
        self._portions = dict[Path, list[Portion]]()

    def parts(self) -> list[Part | SealPart | NewFileAside]:
        """Its files, in the order of the project's relations, and what is none.

        Raises:
            NotYet: it is no folder that can be read.
        """
        try:
            self._drop = drop = DropFolder.look(self._path)
        except OSError as error:
            self._on_change()
            message, hint = f"is not a folder that can be read: {error.strerror}", "a drop is a folder of files"
            raise NotYet(message, kind="no-drop", place=printable(self._path), hint=hint) from error
        coordinator, names = int(self._path.parent.name), _names(self._project)
        files, asides = sort_files(coordinator, drop, names, self._project.memory_bytes, self._only)
        self._hashes, self._portions = Hashes(drop, files.values()), {}
        parts: list[Part | SealPart | NewFileAside] = []
        for relation in (r for r in self._project.relations if r.name in files):
            path, settings = self._path / files[relation.name].name, self._project.settings_of(relation.name)
            here, apart = (partial(self._read, relation, settings, path, is_apart) for is_apart in (False, True))
            portions = partial(self._cut_once, relation, settings, path)
            parts.append(Part(relation.name, printable(path), here, apart, portions))
        parts += [self._make_seal_part(what, file) for what, file in files.items() if what not in names]
        return [*parts, *asides]

    def _make_seal_part(self, what: str, file: Entry) -> SealPart:
        """A file with values of a seal: the name says of which (``clicks.campaign.seal``)."""
        path, (relation, name, said) = self._path / file.name, what.split(".")
        seal = self._project.seal(relation, name)
        assert seal is not None  # files are sorted by the seals that there are
        settings = replace(self._project.settings_of(relation), ops="insert")
        columns = self._project.seal_rows(relation, seal)
        here, apart = (partial(self._read, columns, settings, path, is_apart) for is_apart in (False, True))
        return SealPart(relation, name, said == PRODUCER, printable(path), here, apart)

    def _read(self, relation: Relation, settings: LandingSettings, path: Path, is_apart: bool) -> Iterator[RawFile]:
        from cumulus_ops.append.attempts import read_rows_apart  # imported when a file is read
        from cumulus_ops.append.checks import read_rows

        self.hash_here()
        project = self._project
        rows = piece_rows(project.least_batch_rows)
        read = read_rows_apart if is_apart else read_rows
        return _guard(partial(read, relation, path, rows, settings, project.memory_bytes), path)

    def _cut_once(self, relation: Relation, settings: LandingSettings, path: Path) -> list[Portion]:
        """The portions of a file, for whose sake its footer is read once."""
        if path not in self._portions:
            self._portions[path] = self._cut(relation, settings, path)
        return self._portions[path]

    def _cut(self, relation: Relation, settings: LandingSettings, path: Path) -> list[Portion]:
        """The portions of a file: some row groups each, or all of it."""
        from cumulus_ops.append.batches import file_rows
        from cumulus_ops.append.checks import read_rows
        from cumulus_ops.files.parquet import read_groups

        project = self._project
        how = (relation, path, piece_rows(project.least_batch_rows), settings, project.memory_bytes)
        try:
            if not path.name.lower().endswith(".parquet"):
                rows = path.stat().st_size // TEXT_ROW_BYTES
                return [Portion(partial(_guard, partial(read_rows, *how), path), rows)]
            groups, is_numbered = read_groups(path, file_rows(project.least_batch_rows))
        except Exception:  # whoever reads the file will say what is wrong with it
            return [Portion(partial(_guard, partial(read_rows, *how), path), 0)]
        return [
            Portion(partial(_guard, partial(read_rows, *how, g), path), g.rows, is_numbered, g.lowest, g.highest)
            for g in groups
        ]

    def hash_here(self) -> None:
        """See :class:`~cumulus_ops.append.delivery.Hashing`."""
        assert self._hashes is not None
        self._hashes.start()

    def hash_calls(self) -> Sequence[Callable[[], str]]:
        """See :class:`~cumulus_ops.append.delivery.Hashing`."""
        assert self._hashes is not None
        return self._hashes.calls()

    def take_hashes(self, found: Sequence[object]) -> None:
        """See :class:`~cumulus_ops.append.delivery.Hashing`."""
        assert self._hashes is not None
        self._hashes.take(map(str, found))

    def taken(self) -> Taken:
        """What was read.

        Raises:
            NotYet: it has changed meanwhile.
        """
        assert self._hashes is not None
        assert self._drop is not None
        try:
            files = self._hashes.files()
        except NotYet:
            self._on_change()
            raise
        is_known = self._only is None and all(file.digest for file in files.values())
        digest = digest_of(files) if is_known else None
        return Taken(int(self._path.parent.name), self._path.name, self._drop.identity, files, digest)


#: What a delivery's name may have in front of the label of what is retried.
NAME_CHARACTERS = 170


def retry_name(delivery: str, label: str) -> str:
    """What something of a delivery that is read again is called: as no drop can be.

    >>> retry_name("2026-01-31", "F3")
    '2026-01-31/F3'
    """
    return f"{delivery.partition('/')[0][:NAME_CHARACTERS]}/{label}"


def taken_up(project: Project, files: Iterable[FileAside]) -> Iterator[Delivery]:
    """Of files that were set aside, those that have waited for columns that are deployed by now, each as a delivery of its own. The transaction that appends
    one says that it was retried, so it is taken up once, whoever else tries. What still cannot be read is set aside again, with the reason.

    Args:
        project: as it is maintained.
        files: those that are set aside.
    """
    columns = {relation.name: {c.name for c in relation.columns} for relation in project.relations}
    for file in files:
        path = Path(file.place)
        # One that is gone stays set aside: somebody has to put it back, or to decide.
        if file.waits_for and columns.get(file.relation or "", set()).issuperset(file.waits_for) and path.is_file():
            found = drop_delivery(
                project,
                path.parent,
                arrived=file.recorded_at,
                name=retry_name(file.delivery, file.label),
                files=[path.name],
            )
            yield replace(
                found, intake=Intake(retried_files=(file.id,), by_itself=True), parts=partial(_require, found)
            )


def _require(delivery: Delivery) -> list[Part | SealPart | NewFileAside]:
    """Its parts, of which there are some.

    Raises:
        NotYet: its file has gone since it was found.
    """
    parts = list(delivery.parts())
    if not parts:
        raise NotYet("is gone", kind="no-file", place=delivery.place, hint="put it back, or `cumulus quarantine drop`")
    return parts


def _names(project: Project) -> dict[str, list[str]]:
    """relation -> its seals."""
    return {r.name: [s.name for s in project.seals.get(r.name, ())] for r in project.relations}


def _guard(read: Callable[[], Iterator[RawFile]], path: Path) -> Iterator[RawFile]:
    """What a reader yields. A file that makes it fail in a way that nobody has thought of is unreadable, like others."""
    try:
        yield from read()
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError, OSError) as error:
        raise InputProblem(
            f"cannot be read: {type(error).__name__}: {error}",
            kind="unreadable-file",
            place=printable(path),
            hint="write the file again at the source, and deliver it as a new drop",
        ) from error


def _in_order(names: Iterable[str]) -> list[str]:
    """Drops by their names, and not by when they arrived: the drops of a folder that was copied have arrived in any order."""
    return sorted(names, key=lambda name: (natural(name), name))


def _look(path: Path) -> DropFolder | None:
    """The folder, None if it cannot be read, or is gone."""
    try:
        return DropFolder.look(path)
    except OSError:
        return None


def _has_something(drop: DropFolder) -> bool:
    """Whether there is anything to take; an empty folder may be about to be filled."""
    return bool(drop.visible) or any(e.name == COMPLETE for e in drop.entries)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _folder_problem(entry: os.DirEntry[str]) -> tuple[str, str, str] | None:
    """Why something in a coordinator's folder is no drop; hidden names need no reason."""
    if entry.name.startswith((".", "_")):
        return "hidden", "is being written", ""
    if not entry.is_dir(follow_symlinks=False):
        what = "a symbolic link" if entry.is_symlink() else "a file beside the drops"
        hint = "a drop is a folder of files: put it into one, under another name, and rename that folder into place"
        return "no-drop", f"is {what}", hint
    problem = name_problem(entry.name)
    return ("bad-name", problem, "rename it") if problem else None


def ignored_in(
    project: Project, coordinators: Iterable[int], taken: Callable[[int], Collection[str]]
) -> Iterator[Ignored]:
    """What lies in the landing folder and will not be taken as it is.

    Args:
        project: the project.
        coordinators: those that take drops.
        taken: gives a coordinator's drops that are in the log already: nobody looks into any but the newest of them.
    """
    members = set(coordinators)
    for entry in _entries(project.landing):
        if entry.name.startswith((".", "_")):
            continue
        try:
            is_folder = entry.is_dir()
        except OSError:  # a symbolic link to itself
            is_folder = False
        if not is_folder:
            hint = "drops are folders in a coordinator's folder, such as 0/2026-01-31"
            yield Ignored(
                printable(entry.path), "beside-coordinators", "is a file beside the coordinators' folders", hint
            )
        elif not entry.name.isdecimal() or str(int(entry.name)) != entry.name:
            hint = f"the folders here are those of coordinators: {', '.join(map(str, sorted(members)))}"
            yield Ignored(printable(entry.path), "unknown-coordinator", "is no coordinator's folder", hint)
        elif int(entry.name) not in members:
            hint = f"`cumulus coordinators add {entry.name}`, or move its drops to another one's folder"
            yield Ignored(printable(entry.path), "unknown-coordinator", f"there is no coordinator {entry.name}", hint)
        else:
            drops, done = _entries(Path(entry.path)), taken(int(entry.name))
            old = {drop.name for drop in [drop for drop in drops if drop.name in done][:-NEWEST]}
            for drop in (drop for drop in drops if drop.name not in old):
                problem = _folder_problem(drop) or _find_drop_problem(Path(drop.path))
                if problem is not None and problem[0] != "hidden":
                    yield Ignored(printable(drop.path), *problem)


def _find_drop_problem(path: Path) -> tuple[str, str, str] | None:
    """Why nothing of a folder is taken that might be a drop."""
    try:
        drop = DropFolder.look(path)
    except OSError as error:
        if error.errno == errno.E2BIG:
            hint = "a drop has a file for each relation: write larger files, in more drops"
            return "too-many-files", str(error.strerror), hint
        return "no-drop", "cannot be read", "see who may read it"
    hint = "it is taken when there is a file in it; remove it otherwise"
    return None if _has_something(drop) else ("empty-drop", "is empty", hint)
