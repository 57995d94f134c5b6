"""The step functions that every executor runs: a task in, written run files out; whose fault it is when one fails; and the executor of this process.

A step reads files, writes files and touches no catalog: it may run anywhere, twice, or die half-way.
"""

from __future__ import annotations

import builtins
import errno
import gc
import json
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.apply import ApplyTask, Compute, apply_events
from cumulus_ops.compute.correct import CorrectTask, correct_history
from cumulus_ops.compute.extend import ExtendTask, extend_groups
from cumulus_ops.compute.portions import PortionTask, compute_portion, computing, maps_of, rows_concerned, run_levels
from cumulus_ops.compute.reading import DEFAULT_MEMORY, WHOLE, OwnDeltas, Part, opened_runs, rows_of, rows_within
from cumulus_ops.compute.refresh import RefreshTask, is_correction, refresh_maps
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.hashes import Hashes, add_hashes, hash_folded, hash_together, rows_of_table
from cumulus_ops.maps.packs import Pack, verify_run
from cumulus_ops.maps.ranges import Ranges
from cumulus_ops.maps.runs import AccessPath, build_run, merge_runs
from cumulus_ops.project import errors
from cumulus_ops.project.processes import MakeCalls, reach
from cumulus_ops.project.versions import EPOCH_SHIFT

__all__ = [
    "Executor",
    "InProcess",
    "MergeTask",
    "MinibatchTask",
    "StepResult",
    "Task",
    "Tier",
    "Unread",
    "explain",
    "is_spark_lost",
    "run_step",
    "verdict",
]

#: The kind of problem of a merge that was not taken.
UNPROVED = "merge-unproved"


# Whose fault a failure is: the batch's (or rather that of the program or the engine with it), or the circumstances'.
#
# | verdict | of what | what follows |
# |---|---|---|
# | defect | an exception of the computation itself | counted; the batch is tried again, and set aside with the last |
# | died | memory was short, a Spark worker or executor was lost | nobody knows; like a process that is killed, see :mod:`cumulus_ops.epochs.setting_aside` |
# | excused | files, disk or network; state that is damaged; a conflict; a signal | never counted |


#: A batch is not to be blamed for damaged state either: every batch that touches it fails.
EXCUSED = (errors.Conflict, errors.NotYet, errors.SetupProblem, errors.IntegrityProblem, OSError, EOFError)
LOST = ("Py4JNetworkError", "SparkConnectGrpcException", "RetriesExceeded")  # the connection to Spark
#: What Spark says of a session that a server which was started anew does not know, or one that is just being stopped; and of a process of its own that is gone.
SESSION_GONE = re.compile(
    r"INVALID_HANDLE\.SESSION|NO_ACTIVE_SESSION|SESSION_(?:CHANGED|CLOSED|NOT_FOUND)|stopped SparkContext|SparkContext was shut down"
)
PROCESS_GONE = re.compile(r"Python worker (?:exited|failed to connect)|EOFException|ExecutorLost|executor .*lost")
LENGTH = 8_000
LINE = 500
#: The last line of a traceback that a Spark worker sends as text.
RAISED = re.compile(r"^(?:  )?((?:\w+\.)*\w+)(?:: (.*))?$", re.MULTILINE)
FRAMES = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+", re.MULTILINE)


def verdict(error: BaseException) -> str:
    """``defect``, ``died`` or ``excused``.

    >>> verdict(KeyError("amount")), verdict(MemoryError()), verdict(ConnectionResetError())
    ('defect', 'died', 'excused')
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    if "PythonException" in names:  # of a Spark worker, by way of text
        return _verdict_of(_raised_there(str(error))[0])
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j", "grpc"):
        is_excused = names & {*LOST} or type(error).__module__.startswith("grpc") or SESSION_GONE.search(str(error))
        return "excused" if is_excused else "died"  # a session is lost with its server, whatever the batch
    return _verdict_of(type(error))


def is_spark_lost(error: BaseException) -> bool:
    """Whether Spark was lost, or a process of it: what ran there may run again, in a new session."""
    if type(error).__module__.split(".")[0] not in ("pyspark", "py4j", "grpc"):
        return False
    is_gone = SESSION_GONE.search(str(error)) or PROCESS_GONE.search(str(error))
    return type(error).__name__ in LOST or type(error).__module__.startswith("grpc") or bool(is_gone)


def _verdict_of(cls: type[BaseException]) -> str:
    if issubclass(cls, MemoryError):
        return "died"
    return "excused" if issubclass(cls, EXCUSED) or not issubclass(cls, Exception) else "defect"


def _raised_there(text: str) -> tuple[type[BaseException], str, str]:
    """The class of the exception that ended the last traceback in ``text``, as near as it is known here, its line as Python's own would be said,
    and the traceback.

    >>> _raised_there("Job aborted\\nTraceback (most recent call last):\\n  File \\"a.py\\", line 1\\nFileNotFoundError: x\\n")[:2]
    (<class 'FileNotFoundError'>, 'FileNotFoundError: x')
    """
    frames = [*FRAMES.finditer(text)]
    found = RAISED.search(text, frames[-1].end()) if frames else None
    if found is None:
        return Exception, text.strip().splitlines()[0] if text.strip() else "failed", text
    name, trace = found[1].rpartition(".")[2], text[frames[-1].start() : found.end()]
    line = f"{name}: {found[2]}" if found[2] else name
    if name.endswith("MemoryError"):
        return MemoryError, line, trace
    known = getattr(errors, name, None) or getattr(builtins, name, None)
    is_class = isinstance(known, type) and issubclass(known, BaseException)
    return known if is_class else Exception, line, trace  # type: ignore[return-value]


def explain(error: BaseException) -> str:
    """What failed, in the first line, and where, below."""
    if "PythonException" in {cls.__name__ for cls in type(error).__mro__}:
        _, line, trace = _raised_there(str(error))
    else:
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        trace = "".join(traceback.format_exception(error))
    return f"{line[:LINE]}\n{trace[-LENGTH:]}"


#: A merge of so many rows is compared with the hashes of what was merged. Of more rows these are believed: to compare them, too, took as long as hashing all
#: that batches write (3 ms of 300 in each batch of 1,006 events of 22 queries), and what merging does wrong it does to few rows as well.
CHECKED_ROWS = 1 << 12
#: Merged rows wait for others up to so many, to be hashed together.
WAITING_ROWS = 1 << 16


#: Fewer rows are no range of their own, however many tasks there are: a look-up of keys from everywhere meets each range.
FEWEST_RANGE_ROWS = 1 << 19


@dataclass(frozen=True)
class Tier:
    """Runs of one copy that are merged; with ``part`` (i, n) the i-th of n ranges of it alone."""

    path: AccessPath
    runs: tuple[Run, ...]
    part: Part = WHOLE

    @property
    def rows(self) -> int:
        """About how many rows are merged."""
        return sum(run.rows for run in self.runs) // self.part[1]

    def cut(self, number: int) -> list[Tier]:
        """The same in so many ranges."""
        return [replace(self, part=(i, number)) for i in range(number)]


@dataclass(frozen=True)
class MergeTask:
    """Merge the runs of each access path in ``tiers``; see :func:`cumulus_ops.maps.runs.merge_runs` for the epochs. ``range_rows``: of a copy with more
    rows one range after the other is merged, and each is a run. ``label``: of the step that does."""

    plan: ProgramPlan
    root: Path
    tiers: tuple[Tier, ...]
    committed: int
    oldest_retained: int
    range_rows: int
    memory: int = DEFAULT_MEMORY
    label: str = ""

    @property
    def rows(self) -> int:
        """How many rows are merged."""
        return sum(tier.rows for tier in self.tiers)

    def cut(self, tasks: int) -> list[MergeTask]:
        """The same as at most so many tasks, with about as many rows each: copies are merged independently of each other, and ranges of a large one."""
        share = -(-self.rows // tasks)
        parts: list[Tier] = []
        for tier in self.tiers:
            number = min(-(-tier.rows // max(1, share)), tier.rows // FEWEST_RANGE_ROWS)
            parts += tier.cut(max(1, number, self.count_ranges(tier)))
        shares: list[list[Tier]] = [[] for _ in range(min(tasks, len(parts)))]
        rows = [0] * len(shares)
        for tier in sorted(parts, key=lambda tier: -tier.rows):
            least = rows.index(min(rows))
            shares[least].append(tier)
            rows[least] += tier.rows
        return [replace(self, tiers=tuple(share)) for share in shares]

    def count_ranges(self, tier: Tier) -> int:
        """How many ranges of a tier there are at least, so that each fits into memory."""
        return max(1, -(-tier.rows // self.range_rows))


@dataclass(frozen=True)
class MinibatchTask:
    """Apply a batch and refresh, in one step: ``refresh`` sees the runs that ``apply`` sees, and among its fresh batches
    the one that is applied."""

    apply: ApplyTask
    refresh: RefreshTask

    @property
    def plan(self) -> ProgramPlan:
        """The program's plan."""
        return self.apply.plan


Task = ApplyTask | MinibatchTask | CorrectTask | RefreshTask | PortionTask | ExtendTask | MergeTask


class Unread(NamedTuple):
    """Why a copy (``group``, ``path``) was left as it is: the ``kind`` of the problem, what it says, and the ``file`` that it is about, "" if none."""

    group: str
    path: str
    kind: str
    problem: str
    file: str = ""

    @staticmethod
    def unproved(path: AccessPath, runs: int) -> Unread:
        """Of a merge of so many runs."""
        message = f"map {path.map}: {runs} runs were merged, and the result does not hold what they do"
        return Unread(path.map, path.label, UNPROVED, message)


@dataclass(frozen=True)
class StepResult:
    """What a step wrote. ``corrected``: epoch -> corrected map entries (corrections and refreshes only). ``refreshed``:
    whether the refresh of a mini-batch was done with it. ``unread``: of a merge, copies with runs that are damaged or gone, each
    run by itself, or whose runs do not add up: they were left as they are."""

    runs: tuple[NewRun, ...]
    corrected: Mapping[int, int]
    refreshed: bool = False
    unread: tuple[Unread, ...] = ()

    def to_json(self) -> str:
        """For the way back from a Spark task."""
        runs = [astuple(r) for r in self.runs]
        more = {"refreshed": self.refreshed, "unread": self.unread}
        return json.dumps({"runs": runs, "corrected": dict(self.corrected), **more})

    @staticmethod
    def together(results: Iterable[StepResult]) -> StepResult:
        """What several tasks did, as one."""
        runs, unread, corrected = list[NewRun](), list[Unread](), Counter[int]()
        for result in results:
            runs += result.runs
            corrected.update(result.corrected)
            unread += result.unread
        return StepResult(tuple(runs), dict(corrected), unread=tuple(unread))

    @staticmethod
    def from_json(text: str) -> StepResult:
        """Inverse of :meth:`to_json`."""
        data = json.loads(text)
        corrected = {int(e): n for e, n in data["corrected"].items()}
        unread = tuple(Unread(*found) for found in data["unread"])
        return StepResult(tuple(NewRun(*r) for r in data["runs"]), corrected, data["refreshed"], unread)


def run_step(task: Task) -> StepResult:
    """Run a whole task in this process."""
    if not isinstance(task, MergeTask):
        opened_runs.limit(_given(task).memory // 4)
    return _do_step(task)


def _given(task: Task) -> ApplyTask | CorrectTask | RefreshTask | ExtendTask | MergeTask:
    """What says where a task's files are, and how much it may hold."""
    return task.apply if isinstance(task, MinibatchTask) else task.step if isinstance(task, PortionTask) else task


def _do_step(task: Task, compute: Compute | None = None) -> StepResult:
    """The same beside others in this process. ``compute``: see :func:`~cumulus_ops.compute.portions.compute_portion`."""
    if isinstance(task, MergeTask):
        reach("merge.before-files")
        return _merge(task)
    given = _given(task)
    passing = given.passing if isinstance(given, ExtendTask) else None
    own = OwnDeltas(task.plan, Pack(given.root, given.label), given.memory // 4, passing)
    corrected: Mapping[int, int] = {}
    match task:
        case ApplyTask():
            reach("apply.before-files")
            apply_events(task, own)
        case MinibatchTask():
            reach("apply.before-files")
            loaded = apply_events(task.apply, own)
            reach("refresh.before-files")
            refresh_maps(task.refresh, own, loaded)
            corrected = _count_refreshed(task.refresh, own)
        case RefreshTask():
            reach("refresh.before-files")
            refresh_maps(task, own)
            corrected = _count_refreshed(task, own)
        case CorrectTask():
            reach("correct.before-files")
            correct_history(task, own)
            corrected = count_by_epoch(own.versions())
        case PortionTask():
            compute_portion(task, own, compute)
            if isinstance(task.step, RefreshTask):
                corrected = _count_refreshed(task.step, own)
            elif isinstance(task.step, CorrectTask):
                corrected = count_by_epoch(own.versions())
        case ExtendTask():
            extend_groups(task, own)
    return StepResult(own.finish(), corrected, isinstance(task, MinibatchTask))


def extend_here(task: ExtendTask, take: Callable[[str, pa.Table], None]) -> None:
    """Compute what batches add to groups in this process, and write nothing of it.

    Args:
        task: what to compute.
        take: gets the deltas of each group in ``only``, with all columns, in parts that are not summed.
    """
    opened_runs.limit(task.memory // 4)
    pack = Pack(task.root, task.label)
    own = OwnDeltas(task.plan, pack, task.memory // 4, task.passing)
    try:
        extend_groups(task, own, take)
        for name in [name for name in task.only if own.touches(name)]:
            table = own.table(name)
            written = own.get(task.plan.paths[name][0]) if table is None else []
            names, rows = task.plan.key_names(name), rows_within(task.memory)
            for part in (part for run in written for part in run.tables(names, rows)):
                take(name, part)
            if table is not None:
                take(name, table)
    finally:
        own.discard()


def _count_refreshed(task: RefreshTask, own: OwnDeltas) -> dict[int, int]:
    """epoch -> deltas of refreshed maps that make up for something computed before."""
    found = own.versions(without=task.plan.base)
    return count_by_epoch({name: v[is_correction(task, v)] for name, v in found.items()})


def count_by_epoch(deltas: Mapping[str, np.ndarray]) -> dict[int, int]:
    """epoch -> number of deltas with a version in it, from the versions by map."""
    counts: Counter[int] = Counter()
    for found in (found for found in deltas.values() if len(found)):
        epochs, rows = np.unique(found >> EPOCH_SHIFT, return_counts=True)
        counts.update(dict(zip(epochs.tolist(), rows.tolist(), strict=True)))
    return dict(counts)


def _merge(task: MergeTask) -> StepResult:
    """Copy by copy. One with a run that cannot be read is left as it is, and costs the others nothing."""
    pack, unread, waiting = Pack(task.root, task.label), list[Unread](), list[_Merged]()
    for tier in task.tiers:
        path = tier.path
        try:
            ranges = _open_tier(task, tier)
            for part in range(ranges.number) if tier.part == WHOLE else tier.part[:1]:
                waiting.append(_merge_part(task, tier, ranges, part))
                if sum(len(merged.rows) for merged in waiting) > WAITING_ROWS:
                    unread += _write_merged(pack, waiting)
                    waiting = []
        except errors.IntegrityProblem as problem:
            found = _damages(task, tier.runs) or [problem]
            unread += [Unread(path.map, path.label, one.kind, str(one), one.place) for one in found]
        except OSError as problem:
            said = f"{type(problem).__name__}: {problem}"
            unread.append(Unread(path.map, path.label, type(problem).__name__, said, str(problem.filename or "")))
    unread += _write_merged(pack, waiting)
    return StepResult(pack.close(), {}, unread=tuple(unread))


@dataclass(frozen=True)
class _Merged:
    """The ``rows`` of ``runs`` of one copy, summed, or of a range of it, and the hashes that they should have, as far as that is known."""

    path: AccessPath
    runs: int
    rows: pa.Table
    known: Hashes


def _damages(task: MergeTask, runs: Sequence[Run]) -> list[errors.IntegrityProblem]:
    """What is wrong with each of some runs."""
    found = []
    for run in runs:
        try:
            verify_run(task.root / run.path, run.offset, run.bytes, run.root)
        except errors.IntegrityProblem as problem:
            found.append(problem)
    return found


def _open_tier(task: MergeTask, tier: Tier) -> Ranges:
    number = tier.part[1] if tier.part != WHOLE else task.count_ranges(tier)
    return Ranges(opened_runs.written(str(task.root), tier.runs), number, task.committed, task.oldest_retained)


def _merge_part(task: MergeTask, tier: Tier, ranges: Ranges, part: int) -> _Merged:
    names = task.plan.key_names(tier.path.map)
    if ranges.number > 1:
        rows = ranges.merge(part, names, task.range_rows)
        # Of a range nothing is known but by its rows. Whether all ranges have what was merged, whoever has all of them sees.
        return _Merged(tier.path, len(tier.runs), rows, rows_of_table(rows, tier.path.keys).hashes())
    rows = merge_runs(ranges.runs, names, task.committed, task.oldest_retained)
    folded = (
        hash_folded(Hashes(r.content, r.total), r.min_version, r.max_version, task.committed, task.oldest_retained)
        for r in tier.runs
    )
    return _Merged(tier.path, len(tier.runs), rows, add_hashes(folded))


def _write_merged(pack: Pack, waiting: Sequence[_Merged]) -> list[Unread]:
    """Write what holds what it should; returns what does not, and stands in no run's place. What versions are worth follows from the runs, or is not known: it is not
    computed again."""
    hashed = [i for i, m in enumerate(waiting) if m.known.total is None or len(m.rows) <= CHECKED_ROWS]
    asked = [(rows_of_table(waiting[i].rows, waiting[i].path.keys), [(None, None)]) for i in hashed]
    totals = {i: total for i, ((_, total),) in zip(hashed, hash_together(asked, with_versions=False), strict=True)}
    wrong = []
    for i, merged in enumerate(waiting):
        total = totals.get(i, merged.known.total)
        if merged.known.total not in (None, total):
            wrong.append(Unread.unproved(merged.path, merged.runs))
        elif len(merged.rows):
            run = build_run(merged.rows, merged.path)
            written = pack.append(run, Hashes(merged.known.content, total))
            opened_runs.keep(str(pack.root), written, run)
    return wrong


# Where steps run: in this process, or on Spark. Both run the same step functions.


class Executor(Protocol):
    """Runs steps."""

    def prepare(self, plan: ProgramPlan) -> None:
        """Begin, without waiting, with what the first task of a program would have to wait for."""
        ...

    def run(self, task: Task) -> StepResult:
        """Run one task to its end and return what it wrote."""
        ...

    def beside(self, rows: int, calls: int) -> MakeCalls | None:
        """See :class:`~cumulus_ops.project.processes.Beside`."""
        ...

    def close(self) -> None:
        """Release what the executor holds."""
        ...


#: As many objects more than before are looked at: about as many as ten batches of 22 queries leave. What they leave in cycles is small: nothing of events or maps.
YOUNG = 50_000


@lru_cache(maxsize=1)
def _keep_objects() -> None:
    """Once in a process, let the garbage collector pass over what there is by then: modules and plans, a quarter of a million objects for 22
    queries. It looked at them all in every tenth batch, which took 0.12 s; and otherwise 15 times in a batch, for nothing. What is garbage of old
    by then stays: to find it takes as long as one of those looks."""
    gc.collect(1)
    gc.freeze()
    gc.set_threshold(YOUNG)


#: Steps that go through fewer rows are for one thread. numpy and Arrow let go of the interpreter's lock while they compute a column: with two threads 2.6 million events of
#: TPC-H's queries took 0.6 to 0.9 of the time (of Q6, the cheapest, 1.2), and 87,000 took 1.2 to 2.3 times as long.
THREADED_ROWS = 1 << 20


class InProcess:
    """Runs each step in the calling process, large ones in portions.

    Args:
        threads: how many portions at a time, at the most; None for as many as Arrow has threads.
        rows: steps that go through fewer rows are one portion, and each portion goes through half as many.
    """

    def __init__(self, threads: int | None = None, rows: int = THREADED_ROWS) -> None:
        self._threads, self._rows = threads, rows

    def prepare(self, plan: ProgramPlan) -> None:
        """See :class:`Executor`."""
        _keep_objects()

    def run(self, task: Task) -> StepResult:
        """See :class:`Executor`."""
        step = task.apply if isinstance(task, MinibatchTask) else task  # the refresh of a large one follows on its own
        if isinstance(step, ExtendTask | PortionTask) or (rows := _count_rows(step)) < self._rows:
            return run_step(task)
        threads = min(self._threads or pa.cpu_count(), 2 * rows // self._rows)
        if threads == 1:
            return run_step(task)
        opened_runs.limit(step.memory // 4)  # all portions remember the same ones
        share = replace(step, memory=step.memory // threads)
        with ThreadPoolExecutor(threads, "portion") as pool:
            if isinstance(share, MergeTask):
                shares = replace(share, range_rows=share.range_rows // threads).cut(threads)
                return StepResult.together(_run_beside(pool, [partial(_do_step, each) for each in shares]))
            return self._run_levels(share, threads, pool)

    def _run_levels(
        self, step: ApplyTask | RefreshTask | CorrectTask, threads: int, pool: ThreadPoolExecutor
    ) -> StepResult:
        results: list[StepResult] = []
        shared: dict[Part, Compute] = {}  # what maps of several levels have in common is found once, as in a whole step

        def run(portions: list[PortionTask]) -> Iterable[NewRun]:
            if any(portion.part == WHOLE for portion in portions):
                shared.clear()  # it loads all of the events
            else:
                new = [portion.part for portion in portions if portion.part not in shared]
                shared.update({part: computing(step, maps_of(step), part) for part in new})
            calls = [partial(_do_step, portion, shared.get(portion.part)) for portion in portions]
            results.extend(done := _run_beside(pool, calls))
            return (written for result in done for written in result.runs)

        run_levels(step, threads, self._rows, run)
        return StepResult.together(results)

    def beside(self, rows: int, calls: int) -> None:
        """See :class:`Executor`: there is no other process."""

    def close(self) -> None:
        """Nothing to release."""


def _run_beside(pool: ThreadPoolExecutor, calls: Sequence[Callable[[], StepResult]]) -> list[StepResult]:
    try:
        running = [pool.submit(call) for call in calls]
    except RuntimeError as error:  # no thread can be started, which is no batch's fault
        raise OSError(errno.EAGAIN, str(error)) from error
    return [each.result() for each in running]


def _count_rows(step: ApplyTask | RefreshTask | CorrectTask | MergeTask) -> int:
    """About how many rows a step goes through."""
    match step:
        case ApplyTask():
            return rows_of([step.batch])
        case RefreshTask() | CorrectTask():
            return rows_concerned(step)
        case MergeTask():
            return step.rows
