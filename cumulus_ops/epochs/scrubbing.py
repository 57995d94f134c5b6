"""Verifying all that is stored, whether anybody reads it or not: what nobody has touched may be damaged for long unseen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog.records import KeyRun, LogFile, QuarantinedRows, Run
from cumulus_ops.files.log_files import check_file
from cumulus_ops.keys.building import Proof, prove_index, signature
from cumulus_ops.keys.runs import hint_for
from cumulus_ops.maps.encodings import Place, say_damaged
from cumulus_ops.maps.packs import scrub_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem

__all__ = ["DamagedFile", "DamagedRun", "ScrubReport", "WrongIndex", "scrub"]


READ_BYTES = 1 << 20
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class DamagedRun:
    """A run of a map that is not what was written: of which group, ``by`` which key columns it is sorted, where it is, what is wrong
    and what to do."""

    group: str
    by: tuple[str, ...]
    file: str
    offset: int
    bytes: int
    problem: str
    hint: str


@dataclass(frozen=True)
class DamagedFile:
    """A file of the log, the quarantine or a key index that is not what was written: what it holds, what is wrong and what to do."""

    holds: str
    file: str
    problem: str
    hint: str


@dataclass(frozen=True)
class WrongIndex:
    """A key index that does not say what the log says, or of which that cannot be found out."""

    relation: str
    problem: str
    shown: tuple[str, ...]
    hint: str


@dataclass(frozen=True)
class ScrubReport:
    """How many ``runs`` of maps and their bytes were looked at, and those that are ``damaged``; how many ``files`` of the log and the
    quarantine and runs of key indexes, with their bytes, and the ``damaged_files``; those ``without_checksums``, which were only decoded;
    and the relations whose key indexes were proved to say what the log says, or not."""

    runs: int
    bytes: int
    seconds: float
    damaged: tuple[DamagedRun, ...]
    files: int = 0
    file_bytes: int = 0
    damaged_files: tuple[DamagedFile, ...] = ()
    without_checksums: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    wrong_indexes: tuple[WrongIndex, ...] = ()


def scrub(rt: Runtime, on_progress: Progress = lambda done, total: None) -> ScrubReport:
    """Verify every block of every run and file that is visible now, and see that key indexes say what the log says. Others may go on working
    meanwhile: a run that is gone because it was merged is none that is missing.

    Args:
        rt: the open project.
        on_progress: called after each run of a map with the bytes so far and those of all such runs.
    """
    with rt.catalog.leases.step() as step:
        started = time.monotonic()
        runs = sorted(rt.catalog.commits.runs(rt.catalog.commits.last_commit()), key=lambda run: (run.path, run.offset))
        broken = _scrub_runs(rt, runs, on_progress)
        # not those of batches that somebody has decided about
        batches = [batch.id for batch in rt.catalog.log.batches() if batch.state not in ("retried", "dropped")]
        log = [file for files in rt.catalog.log.files_of(batches).values() for file in files]
        log += [net.file for net in rt.catalog.net_tables.all()]
        files: list[LogFile | QuarantinedRows] = [*log, *rt.catalog.deliveries.quarantined_rows()]
        damaged_files = [*_scrub_files(rt, files), *_scrub_indexes(rt)]
        key_runs = [run for index in _indexes(rt).values() for run in index]
        proofs, unproved = _prove(rt, step.label)
        wrong = [_wrong(proof) for proof in proofs if proof.differ]
        return ScrubReport(
            len(runs),
            sum(run.bytes for run in runs),
            time.monotonic() - started,
            broken,
            len(files) + len(key_runs),
            sum(_size(rt, file) for file in files) + sum(run.bytes for run in key_runs),
            tuple(damaged_files),
            tuple(file.path for file in files if file.checksums is None),
            tuple(proof.relation for proof in proofs if not proof.differ),
            (*wrong, *unproved),
        )


def _scrub_runs(rt: Runtime, runs: Sequence[Run], on_progress: Progress) -> tuple[DamagedRun, ...]:
    total, done = sum(run.bytes for run in runs), 0
    found: list[tuple[Run, IntegrityProblem]] = []
    for run in runs:
        try:
            _verify(rt.project.state / run.path, run)
        except IntegrityProblem as problem:
            found.append((run, problem))
        done += run.bytes
        on_progress(done, total)
    visible = {run.id for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())} if found else set()
    return tuple(
        DamagedRun(
            run.map,
            _sorted_by(rt, run),
            os.fspath(rt.project.state / run.path),
            run.offset,
            run.bytes,
            _what(problem),
            problem.hint,
        )
        for run, problem in found
        if run.id in visible
    )


def _size(rt: Runtime, file: LogFile | QuarantinedRows) -> int:
    try:
        return (rt.project.state / file.path).stat().st_size
    except OSError:
        return 0


def _scrub_files(rt: Runtime, files: Sequence[LogFile | QuarantinedRows]) -> Iterator[DamagedFile]:
    for file in files:
        try:
            check_file(rt.project.state, file)
        except IntegrityProblem as problem:
            folder = file.path.partition("/")[0]
            holds = f"{folder} of {file.relation}, batch {file.batch}"
            yield DamagedFile(
                holds,
                problem.place,
                problem.message.partition(f"batch {file.batch}, ")[2].removeprefix("is damaged: "),
                problem.hint,
            )


def _indexes(rt: Runtime) -> Mapping[str, Sequence[KeyRun]]:
    """relation -> the runs of its key index, but for those of old, which are built anew before anybody reads them."""
    found = {}
    for relation in rt.project.relations:
        index = rt.catalog.key_indexes.index(relation.name) if relation.name in rt.project.keys else None
        if index is not None and index.signature == signature(relation):
            found[relation.name] = index.runs
    return found


def _scrub_indexes(rt: Runtime) -> Iterator[DamagedFile]:
    for relation, runs in _indexes(rt).items():
        found: list[tuple[KeyRun, IntegrityProblem]] = []
        for run in runs:
            try:
                _verify(rt.project.state / run.path, run)
            except IntegrityProblem as problem:
                found.append((run, problem))
        index = rt.catalog.key_indexes.index(relation) if found else None
        visible = {run.id for run in index.runs} if index is not None else set()
        for run, damage in found:
            if run.id in visible:
                holds, file = f"key index of {relation}", f"{rt.project.state / run.path}, byte {run.offset}"
                yield DamagedFile(holds, file, _what(damage), hint_for(relation))


def _prove(rt: Runtime, label: str) -> tuple[list[Proof], list[WrongIndex]]:
    """What was found of each key index; and those of which nothing can be, for a file is damaged."""
    proofs: list[Proof] = []
    unproved: list[WrongIndex] = []
    for relation in rt.project.relations:
        if relation.name in rt.project.keys:
            try:
                proof = prove_index(rt.project, rt.catalog, relation, label)
            except (Conflict, IntegrityProblem) as problem:
                what = f"cannot be compared with the log: {problem.place}: {problem.message}"
                unproved.append(WrongIndex(relation.name, what, (), problem.hint))
            else:
                proofs += [proof] if proof is not None else []
    return proofs, unproved


def _wrong(proof: Proof) -> WrongIndex:
    what = f"does not say what the log says: {proof.differ:,} row{'s differ' if proof.differ > 1 else ' differs'}"
    hint = (
        f"stop what appends, and run `cumulus keys build {proof.relation}`: it builds the index from the log. Events that were judged by it "
        "before may be in the log, or in the quarantine, wrongly: compare the log with the source"
    )
    return WrongIndex(proof.relation, what, proof.shown, hint)


def _verify(file: Path, run: Run | KeyRun) -> None:
    """Read it, and verify what was read.

    Raises:
        IntegrityProblem: it is not there, or not what was written.
    """
    try:
        _read(file, run)
        scrub_run(file, run.offset, run.bytes)
    except OSError as error:
        what = "its file is missing" if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror}"
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


def _what(problem: IntegrityProblem) -> str:
    return problem.message.partition(": ")[2] or problem.message


def _sorted_by(rt: Runtime, run: Run) -> tuple[str, ...]:
    path = next((path for path in rt.plan.paths.get(run.map, ()) if path.label == run.access_path), None)
    if path is None:  # the plan does not know it: then what the catalog calls it
        return (run.access_path,)
    names = rt.plan.key_names(run.map)
    return tuple(names[position] for position in path.bound)
