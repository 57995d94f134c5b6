"""Whether all that is stored is as it was written, read by anybody or not: each file under the state folder against the catalog."""

from __future__ import annotations

import datetime
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cumulus_ops.catalog.database import now
from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import KeyRun, LogFile, QuarantinedRows, Run
from cumulus_ops.catalog.repairs import KnownDamage
from cumulus_ops.files.log_files import check_file
from cumulus_ops.keys.building import prove_index
from cumulus_ops.keys.runs import signature
from cumulus_ops.light import lazy_module
from cumulus_ops.maps.encodings import Place, say_damaged
from cumulus_ops.maps.hashes import hash_run
from cumulus_ops.maps.packs import FOREIGN as OTHER_RUN
from cumulus_ops.maps.packs import open_run, verify_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import LOST, Conflict, CumulusError, IntegrityProblem
from cumulus_ops.project.versions import epoch_of
from cumulus_ops.repair.damage import (
    ANOTHERS,
    DAMAGED,
    FOREIGN,
    KEY_INDEX,
    LOG,
    MISSING,
    NET_TABLE,
    QUARANTINE,
    RECOVER,
    RUN,
    UNKNOWN,
    UNREADABLE,
    WRONG,
    Damage,
    Report,
    StoredRow,
)
from cumulus_ops.repair.state_files import HOLDS as SMALL
from cumulus_ops.repair.state_files import find_damaged_state_files

if TYPE_CHECKING:
    from cumulus_ops.repair import published
else:  # after a snapshot only files under the state folder are looked at
    published = lazy_module("cumulus_ops.repair.published")

__all__ = ["Progress", "Sample", "fsck", "look_after", "record"]

log = logging.getLogger(__name__)


READ_BYTES = 1 << 20
GONE = "it is missing"
OTHER_ROWS = "its rows do not have the hashes that the catalog has"
WRONG_HINT = (
    "`cumulus recover` builds it again from the log. Events that were judged by it before may be in the log, or in the quarantine, wrongly: compare "
    "the log with the source"
)
#: The folders whose files the catalog names.
FOLDERS = ("runs", "log", "quarantine", "keys", "net")


@dataclass(frozen=True)
class Progress:
    """How far it has come: ``files`` of ``all_files`` (runs of one pack count by themselves), ``bytes`` of ``all_bytes``, after ``seconds``."""

    files: int
    all_files: int
    bytes: int
    all_bytes: int
    seconds: float

    @property
    def left_s(self) -> float:
        """How long the rest takes, if it goes on like this.

        >>> Progress(1, 2, 25, 100, 4.0).left_s
        12.0
        """
        return self.seconds * (self.all_bytes - self.bytes) / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class Sample:
    """A part of all files, ``percent`` of them, chosen by their names: with each ``seed`` the next part, so that 100 / percent seeds in a row look
    at every file."""

    percent: float
    seed: int

    @classmethod
    def today(cls, percent: float) -> Sample:
        """The part of this day: of 15 percent a day, a week looks at every file."""
        return cls(percent, datetime.datetime.now(datetime.UTC).date().toordinal())

    def has(self, path: str) -> bool:
        """Whether a file belongs to the part.

        >>> [sum(Sample(20, seed).has(f"runs/{i}.pack") for seed in range(5)) for i in range(3)]
        [1, 1, 1]
        """
        place = int.from_bytes(hashlib.blake2b(path.encode(), digest_size=6).digest()) / (1 << 48) * 100
        return (place - self.seed * self.percent) % 100 < self.percent


def fsck(
    rt: Runtime,
    on_progress: Callable[[Progress], None] = lambda _: None,
    sample: Sample | None = None,
    only: Collection[str] = (),
    *,
    with_rows: bool = False,
) -> Report:
    """Look at all files under the state folder: those that the catalog names, byte by byte; those that it does not name; and whether key indexes say
    what the log says. Others may go on working meanwhile: a file that is gone because it was replaced is none that is missing.

    Args:
        rt: the open project.
        on_progress: called after each file.
        sample: the part to look at; None for all.
        only: the files to look at, relative to the state folder; empty: all. Of some, or of a part, key indexes are not compared with the log.
        with_rows: decode runs of maps as well, and compare their rows with the hashes that the catalog has, which takes about 30 times as long. Of files that
            are named, and of those that were found wrong by it, that is done in any case.

    What is found is recorded, for those who show the project's state; so is what is as it has to be again.
    """
    begun = now()
    damages = list(find_damaged_state_files(rt))  # before this process writes one of them
    with rt.catalog.leases.step() as step:
        started = time.monotonic()
        is_all = sample is None and not only
        rows = _stored(rt)
        chosen = [row for row in rows if (sample is None or sample.has(row.path)) and (not only or row.path in only)]
        damages += [*_verify_all(rt, chosen, on_progress, with_rows=with_rows or bool(only)), *_find_foreign(rt)]
        proved, wrong, unproved = _prove_indexes(rt, step.label, only) if sample is None else ([], [], [])
        damages += [*wrong, *(published.find_damaged_tables(rt, only) if sample is None else ())]
        if only:
            damages = [damage for damage in damages if damage.file in only]
        record(rt, damages, begun, None if is_all else {*only} or {*SMALL, *(row.path for row in chosen)})
        return Report(
            dict(Counter(kind_of(row) for row in chosen)),
            sum(_size(rt, row) for row in chosen),
            time.monotonic() - started,
            tuple(damages),
            100.0 if not rows else 100.0 * len(chosen) / len(rows),
            tuple(row.path for row in chosen if not isinstance(row, Run | KeyRun) and row.checksums is None),
            tuple(proved),
            tuple(unproved),
        )


def record(
    rt: Runtime, damages: Sequence[Damage], begun: datetime.datetime, looked_at: Collection[str] | None = None
) -> None:
    """Let the catalog know what is damaged; of files that were looked at (None: all) and are not, it forgets that they were, and that steps have waited for them before the look had ``begun``."""
    known = [KnownDamage(d.kind, d.file, d.offset, d.holds, d.problem, d.detail, d.hint) for d in damages]
    rt.catalog.repairs.record(known, looked_at)
    rt.catalog.problems.files_are_whole({damage.file for damage in damages}, looked_at, begun)


#: Of the time of a process no more than one part in so many is spent on looking at files, and at no more bytes at a time.
PARTS, LOOK_BYTES = 100, 32_000_000
_last_looks: dict[Path, tuple[float, float]] = {}


def look_after(rt: Runtime, epoch: int) -> None:
    """Look at a few files after the snapshot of an epoch, at others after the next, as the project says (``fsck: sample``). What is found is recorded, and logged. Whatever goes wrong
    holds nobody up."""
    ended, took = _last_looks.get(rt.project.state, (0.0, 0.0))
    begun, at = time.monotonic(), now()
    if not rt.project.fsck_percent or begun - ended < PARTS * took:
        return
    try:
        rows, left_out, left = list[StoredRow](), set[str](), LOOK_BYTES
        for row in _some_stored(rt, round(100 / rt.project.fsck_percent), epoch):
            left -= _size(rt, row)
            if left > 0 or not rows:
                rows.append(row)
            else:
                left_out.add(row.path)
        with rt.catalog.leases.step():
            damages = _verify_all(rt, rows, lambda _: None)
        record(rt, damages, at, {row.path for row in rows} - left_out)  # of some files a part was looked at
        for damage in damages:
            log.error("%s; %s", damage, damage.hint)
    except (CumulusError, OSError) as problem:
        log.warning("it was not seen whether files are as they were written: %s", problem)
    over = time.monotonic()
    _last_looks[rt.project.state] = over, over - begun


def _some_stored(rt: Runtime, parts: int, part: int) -> list[StoredRow]:
    """Of what counts now one part in so many; with as many parts in a row, all."""
    chosen = Sample(100 / parts, part)
    others = (*rt.catalog.commits.runs(rt.catalog.commits.last_commit()), *_rest_of_stored(rt))
    return [*rt.catalog.log.some_files(parts, part % parts), *(row for row in others if chosen.has(row.path))]


# What the catalog names.


def kind_of(row: StoredRow) -> str:
    """The kind of a file that the catalog names."""
    match row:
        case Run():
            return RUN
        case LogFile():
            return LOG
        case QuarantinedRows():
            return QUARANTINE
        case KeyRun():
            return KEY_INDEX
        case NetTable():
            return NET_TABLE


def _stored(rt: Runtime) -> list[StoredRow]:
    """All that counts now, pack by pack."""
    runs = sorted(rt.catalog.commits.runs(rt.catalog.commits.last_commit()), key=lambda run: (run.path, run.offset))
    # not those of batches that somebody has decided about
    batches = [batch.id for batch in rt.catalog.log.batches() if batch.state not in ("retried", "dropped")]
    files = [file for of_batch in rt.catalog.log.files_of(batches).values() for file in of_batch]
    return [*runs, *files, *_rest_of_stored(rt)]


def _rest_of_stored(rt: Runtime) -> list[StoredRow]:
    return [*rt.catalog.net_tables.all(), *rt.catalog.deliveries.quarantined_rows(), *_key_runs(rt)]


def _key_runs(rt: Runtime) -> Iterator[KeyRun]:
    """Of all key indexes, but for those of old, which are built anew before anybody reads them."""
    for relation in rt.project.relations:
        index = rt.catalog.key_indexes.index(relation.name) if relation.name in rt.project.keys else None
        if index is not None and index.signature == signature(relation):
            yield from index.runs


def _size(rt: Runtime, row: StoredRow) -> int:
    """Of a run its own bytes, of other files theirs; 0 for one that is not there."""
    if isinstance(row, Run | KeyRun):
        return row.bytes
    try:
        return (rt.project.state / row.path).stat().st_size
    except OSError:
        return 0


def _verify_all(
    rt: Runtime, rows: Sequence[StoredRow], on_progress: Callable[[Progress], None], *, with_rows: bool = False
) -> tuple[Damage, ...]:
    """Those that are not what was written, and count still; ``with_rows``: and runs whose rows are not what they should be."""
    known = rt.catalog.repairs.damages()
    suspect = {damage.file for damage in known if (damage.kind, damage.problem) == (RUN, WRONG)}
    started, total = time.monotonic(), sum(_size(rt, row) for row in rows)
    found: list[Damage] = []
    done = 0
    for number, row in enumerate(rows, start=1):
        try:
            verify(rt, row)
            if isinstance(row, Run) and (with_rows or row.path in suspect):
                verify_rows(rt, row)
        except IntegrityProblem as problem:
            found.append(describe(rt, row, problem))
        done += _size(rt, row)
        on_progress(Progress(number, len(rows), done, total, time.monotonic() - started))
    still = {_key(row) for row in _stored(rt)} if found else set()
    return tuple(damage for damage in found if damage.row is not None and _key(damage.row) in still)


def _key(row: StoredRow) -> tuple[str, int]:
    return row.path, row.offset if isinstance(row, Run | KeyRun) else 0


def verify(rt: Runtime, row: StoredRow) -> None:
    """Read what the catalog names, and verify it.

    Raises:
        IntegrityProblem: it is not there, or not what was written.
    """
    if isinstance(row, Run | KeyRun):
        _verify_run(rt.project.state / row.path, row)
    else:
        check_file(rt.project.state, row.file if isinstance(row, NetTable) else row)


def verify_rows(rt: Runtime, run: Run) -> None:
    """Decode a run whose bytes are right, and compare its rows with the hashes that the catalog has: a merge of many rows is believed, not compared.

    Raises:
        IntegrityProblem: they are others.
    """
    known = run.content, run.total
    if known == (None, None):  # a run of old
        return
    file = rt.project.state / run.path
    found = hash_run(open_run(file, run.offset, run.bytes, run.root))
    if any(of not in (None, is_now) for of, is_now in zip(known, found, strict=True)):
        raise say_damaged(Place(f"{file}, byte {run.offset}"), OTHER_ROWS)


def _verify_run(file: Path, run: Run | KeyRun) -> None:
    try:
        _read(file, run)
        verify_run(file, run.offset, run.bytes, run.root)
    except OSError as error:
        if error.errno not in LOST:
            hint = "see to the disk and to what may read it, and run it again"
            message = f"it cannot be read: {error.strerror}"
            raise IntegrityProblem(message, kind="unreadable-run", place=str(file), hint=hint) from error
        what = GONE if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror}"
        raise say_damaged(Place(str(file)), what) from error


def _read(file: Path, run: Run | KeyRun) -> None:
    """Read its bytes once by system calls. Where a disk fails or a file is too short they say so, while a mapped file would end
    the process."""
    with file.open("rb", buffering=0) as source:
        source.seek(run.offset)
        left = run.bytes
        while left:
            part = source.read(min(left, READ_BYTES))
            if not part:
                raise say_damaged(Place(str(file)), "the file is too short")
            left -= len(part)


def describe(rt: Runtime, row: StoredRow, problem: IntegrityProblem) -> Damage:
    """What is said of it."""
    detail = problem.message.partition(" is damaged: ")[2] or problem.message
    problem_is, hint = {GONE: MISSING, OTHER_RUN: ANOTHERS, OTHER_ROWS: WRONG}.get(detail, DAMAGED), RECOVER
    if problem.kind.startswith("unreadable-"):
        problem_is, hint = UNREADABLE, problem.hint
    what = (kind_of(row), row.path, say_what_it_holds(rt, row), problem_is, detail, hint)
    offset = row.offset if isinstance(row, Run | KeyRun) else None
    return Damage(*what, offset=offset, row=row, subject="" if isinstance(row, Run) else row.relation)


def say_what_it_holds(rt: Runtime, row: StoredRow) -> str:
    """In plain words."""
    rows = f"{row.rows:,} row{'s' * (row.rows != 1)}"
    match row:
        case Run():
            return f"map {row.map} by [{', '.join(_sorted_by(rt, row))}], {rows} of {_say_epochs(row)}"
        case KeyRun():
            return f"key index of {row.relation}, {rows}"
        case NetTable():
            return f"net table of {row.relation} at the end of epoch {row.epoch}, {rows}"
        case LogFile():
            batch = rt.catalog.log.batch(row.batch)
            return f"log of {row.relation}, batch {row.batch} ({batch.drop}, epoch {batch.epoch}), {rows}"
        case QuarantinedRows():
            return f"quarantine of {row.relation}, batch {row.batch} ({row.delivery}, epoch {row.epoch}), {rows}"


def _say_epochs(run: Run) -> str:
    first, last = max(0, epoch_of(run.min_version)), epoch_of(run.max_version)
    return f"epoch {last}" if first >= last else f"epochs {first} to {last}"


def _sorted_by(rt: Runtime, run: Run) -> tuple[str, ...]:
    path = next((path for path in rt.plan.paths.get(run.map, ()) if path.label == run.access_path), None)
    if path is None:  # the plan does not know it: then what the catalog calls it
        return (run.access_path,)
    names = rt.plan.key_names(run.map)
    return tuple(names[position] for position in path.bound)


# What it does not name.


def _find_foreign(rt: Runtime) -> Iterator[Damage]:
    """Files in its folders that no row names, and that no step of this installation has written: of those that one has, either it is under way, or
    garbage collection deletes them."""
    root = rt.project.state
    there = [path.relative_to(root).as_posix() for folder in FOLDERS for path in _walk(root / folder)]
    for path in sorted(rt.catalog.leases.unexplained(there)):
        if (root / path).exists():
            holds, detail = (
                "nobody knows what",
                "the catalog does not name it, and no step of this project has written it",
            )
            hint = "`cumulus recover` moves it to kept/foreign; nothing reads it where it is"
            yield Damage(FOREIGN, path, holds, UNKNOWN, detail, hint)


def _walk(folder: Path) -> Iterable[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


# Whether key indexes say what the log says.


def _prove_indexes(rt: Runtime, label: str, only: Collection[str]) -> tuple[list[str], list[Damage], list[str]]:
    """The relations for which it is so; those for which it is not; and why that cannot be found out of others, for a file is damaged."""
    proved: list[str] = []
    wrong: list[Damage] = []
    unproved: list[str] = []
    for relation in (r for r in rt.project.relations if r.name in rt.project.keys):
        if only and f"keys of {relation.name}" not in only:
            continue
        try:
            proof = prove_index(rt.project, rt.catalog, relation, label)
        except (Conflict, IntegrityProblem) as problem:
            what = f"{problem.place}: {problem.message}"
            unproved.append(f"the key index of {relation.name} cannot be compared with the log: {what}")
            continue
        if proof is None:
            continue
        if not proof.differ:
            proved.append(relation.name)
            continue
        differs = f"{proof.differ:,} row{'s differ' if proof.differ > 1 else ' differs'}"
        detail = "\n  ".join((f"it does not say what the log says: {differs}", *proof.shown))
        said = (f"keys of {relation.name}", f"key index of {relation.name}", WRONG, detail, WRONG_HINT)
        wrong.append(Damage(KEY_INDEX, *said, subject=relation.name))
    return proved, wrong, unproved
