"""Verifying all stored runs, whether anybody reads them or not: what nobody has touched may be damaged for long unseen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog import Run
from cumulus_ops.engine import Runtime
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.mapstore import scrub_run
from cumulus_ops.mapstore.blocks import damaged

__all__ = ["DamagedRun", "ScrubReport", "scrub"]

READ_BYTES = 1 << 20


@dataclass(frozen=True)
class DamagedRun:
    """A run that is not what was written: of which group, ``by`` which key columns it is sorted, where it is, what is wrong
    and what to do."""

    group: str
    by: tuple[str, ...]
    file: str
    offset: int
    bytes: int
    problem: str
    hint: str


@dataclass(frozen=True)
class ScrubReport:
    """How many runs and bytes were looked at, and the runs that are damaged."""

    runs: int
    bytes: int
    seconds: float
    damaged: tuple[DamagedRun, ...]


def scrub(rt: Runtime, on_progress: Callable[[int, int], None] = lambda done, total: None) -> ScrubReport:
    """Verify every block of every run that is visible now. Others may go on working meanwhile: a run that is gone because it
    was merged is none that is missing.

    Args:
        rt: the open project.
        on_progress: called after each run with the bytes so far and those of all runs.
    """
    with rt.catalog.step():
        return _scrub(rt, on_progress)


def _scrub(rt: Runtime, on_progress: Callable[[int, int], None]) -> ScrubReport:
    started = time.monotonic()
    runs = sorted(rt.catalog.runs(rt.catalog.last_commit()), key=lambda run: (run.path, run.offset))
    total, done = sum(run.bytes for run in runs), 0
    found: list[tuple[Run, IntegrityProblem]] = []
    for run in runs:
        try:
            _verify(rt.project.state / run.path, run)
        except IntegrityProblem as problem:
            found.append((run, problem))
        done += run.bytes
        on_progress(done, total)
    broken = tuple(_described(rt, run, problem) for run, problem in _still_visible(rt, found))
    return ScrubReport(len(runs), done, time.monotonic() - started, broken)


def _still_visible(
    rt: Runtime, found: Sequence[tuple[Run, IntegrityProblem]]
) -> Sequence[tuple[Run, IntegrityProblem]]:
    if not found:
        return found
    visible = {run.id for run in rt.catalog.runs(rt.catalog.last_commit())}
    return [(run, problem) for run, problem in found if run.id in visible]


def _verify(file: Path, run: Run) -> None:
    """Read it, and verify what was read.

    Raises:
        IntegrityProblem: it is not there, or not what was written.
    """
    try:
        _read(file, run)
        scrub_run(file, run.offset, run.bytes)
    except OSError as error:
        what = "its file is missing" if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror}"
        raise damaged(str(file), what) from error


def _read(file: Path, run: Run) -> None:
    """Read its bytes once by system calls. Where a disk fails or a file is too short they say so, while a mapped file would end
    the process."""
    with file.open("rb", buffering=0) as source:
        source.seek(run.offset)
        left = run.bytes
        while left:
            part = source.read(min(left, READ_BYTES))
            if not part:
                raise damaged(str(file), "the file is too short")
            left -= len(part)


def _described(rt: Runtime, run: Run, problem: IntegrityProblem) -> DamagedRun:
    file = os.fspath(rt.project.state / run.path)
    what = problem.message.partition(": ")[2] or problem.message
    return DamagedRun(run.map, _sorted_by(rt, run), file, run.offset, run.bytes, what, problem.hint)


def _sorted_by(rt: Runtime, run: Run) -> tuple[str, ...]:
    path = next((path for path in rt.plan.paths.get(run.map, ()) if path.label == run.access_path), None)
    if path is None:  # the plan does not know it: then what the catalog calls it
        return (run.access_path,)
    names = rt.plan.key_names(run.map)
    return tuple(names[position] for position in path.bound)
