"""What it costs to make lost files again, beside filling their maps and beside filling all maps; and what that takes in normal operation. CPU seconds of this process.

Programs of different depth and width (Q1, Q3, Q5, all 22 queries in one) are loaded at several scale factors. Batches of 1,000 events follow, some in epochs that are committed, the others live.
Lost are runs of a batch, one or all; the same of an epoch that is committed and can be read; whole maps, from small to large; all that is live. What is made again is proved by its
hashes, and at the end the answers of all queries are DuckDB's. Files of other kinds are lost from a project of their own (Q3 with strict keys, a net table, a published table).
"""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from benchmarks.answers import arrow_rows, check_answer, net_tables
from benchmarks.changes import make_changes
from benchmarks.contest import Contestant, Entry, Turn, WrongAnswer, compete
from benchmarks.peers.cumulus import on_state
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, copied, loaded, project_of, scratch
from benchmarks.workload import count_rows, drops_of, forget, relations_of, tables_of
from cumulus_ops.catalog.records import Recipe, Run
from cumulus_ops.compute import reading, steps
from cumulus_ops.compute.extend import choose_drivers
from cumulus_ops.deploying.deploy import fill_groups
from cumulus_ops.epochs import checkpoint, compacting
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.maps import hashes, packs
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.project.versions import epoch_start
from cumulus_ops.publishing.publishing import publish_all
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.maps import repair_runs
from cumulus_ops.repair.recover import recover

__all__ = ["run"]

#: Events of a batch; so many epochs are committed after the load; then something is lost each time that so many batches are live.
EVENTS, COMMITTED, LIVE = 1_000, 2, (1, 4, 12)
#: So many maps are lost altogether, from small to large, and so many runs one by one. What takes minutes at scale factor 1 is measured once there.
MAPS, ALONE, TURNS = 8, 15, 3
#: What hashes and recipes take in normal operation, of these programs: turns of so many batches, of 1,000 events and of a hundredth of the rows. Every eighth batch
#: or so merges.
HASHED, WARM_UPS, SMALL, LARGE = ("q3", "all"), 1, (4, 8), (3, 2)
#: From its project files of other kinds are lost.
OF_FILES = "q3"
INPROCESS = ExecutorSettings(kind="inprocess")
#: Says which runs are lost.
Choice = Callable[[Run], bool]
Item = TypeVar("Item")


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each program, and files of other kinds (``files``), at each scale factor."""
    for scale_factor in settings.scale_factors or (0.01, 0.1, 1.0):
        tables = tables_of(settings.home, scale_factor)
        for query in settings.queries or ("q1", "q3", "q5", "all", "files"):
            if not settings.has_time():
                return
            label = Label("recovery", query, "", scale_factor, EVENTS, 1)
            if query == "files":
                yield from _lose_files(settings, tables, label)
                continue
            queries = ALL_QUERIES if query == "all" else (query,)
            with loaded(settings.home, tables, queries, keep=settings.keep) as state:
                label = dataclasses.replace(label, state_events=state.events)
                if query in HASHED:
                    yield from _count_hashing(settings, state, tables, label)
                yield from _lose_runs(settings, state, tables, label)


def _lose_runs(settings: Settings, state: State, tables: Path, label: Label) -> Iterator[list[Row]]:
    events = (settings.batch_sizes or (EVENTS,))[0]
    relations = relations_of(state.queries)
    changes = make_changes(settings.home, tables, relations, events, COMMITTED + LIVE[-1], every_table=True)
    few = settings.repetitions or (TURNS if label.scale_factor < 1 else 1)

    def named(what: str, live: int) -> Label:
        return dataclasses.replace(label, variant=f"{what}; {live} live batches", batch_events=events)

    with copied(settings.home, state) as folder, open_runtime(project_of(folder, state.queries, INPROCESS)) as rt:
        drops = iter(changes.batches)
        for number in range(COMMITTED):
            _apply(rt, next(drops))
            # the newest epoch's runs are lost by themselves: of few maps a merge would have taken all of them
            with patch.object(checkpoint, "merge", lambda _: 0) if number == COMMITTED - 1 else nullcontext():
                _commit(rt)
        applied = 0
        for live in LIVE:
            for _ in range(applied, live):
                _apply(rt, next(drops))
            applied = live
            for what, choices in _losses(rt, is_first=live == LIVE[0]):
                turns = len(choices) if what.startswith("one run") else settings.repetitions or TURNS
                yield compete(named(what, live), {"cumulus": _entry(_LosesRuns(rt, choices))}, turns)
            for what, name in _lost_maps(rt, is_first=live == LIVE[0]):
                lost, backfill = _LosesRuns(rt, [partial(_is_of, name)]), _Fills(rt, frozenset([name]))
                yield compete(named(what, live), {"cumulus": _entry(lost), "cumulus-fill": _entry(backfill)}, few)
        everything = _Fills(
            rt, frozenset(rt.plan.groups), partial(_check_answers, rt, changes.after(COMMITTED + applied))
        )
        yield compete(named("all maps", applied), {"cumulus-anew": _entry(everything)}, few)
    forget(changes.folder, settings.keep)


def _losses(rt: Runtime, *, is_first: bool) -> Iterator[tuple[str, list[Choice]]]:
    """What is lost of batches, and the choices of runs, one per turn; all of it at first, later what depends on the number of live batches."""
    committed = rt.catalog.snapshots.newest()
    for what, epoch in (("a live batch", committed + 1), ("a committed epoch", committed)):
        runs = _runs_of_newest_batch(rt, epoch)
        if runs and is_first:
            yield f"one run of {what}", [_same([run]) for run in _spread(runs, ALONE)]
        if runs and (is_first or epoch > committed):
            yield f"all runs of {what}", [_same(runs)]
    yield "all live runs", [partial(_is_since, epoch_start(committed + 1))]


def _lost_maps(rt: Runtime, *, is_first: bool) -> Iterator[tuple[str, str]]:
    """Base maps, from one of few entries to the largest; or that one alone."""
    sizes: dict[str, int] = {}
    for run in _runs(rt, lambda r: r.map in rt.plan.base):
        if run.access_path == rt.plan.paths[run.map][0].label:
            sizes[run.map] = sizes.get(run.map, 0) + run.rows
    names = _spread(sorted(sizes, key=lambda name: (sizes[name], name)), MAPS)
    found = [(f"a map, {place} of {len(names)}", name) for place, name in enumerate(names, 1)]
    yield from found if is_first else found[-1:]


def _entry(contestant: Contestant) -> Entry:
    return lambda: nullcontext(contestant)


def _apply(rt: Runtime, drop: Path) -> None:
    target = rt.project.landing / "0" / drop.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(drop, target)
    assert run_minibatch(rt, 0, [drop.name]) is not None


def _commit(rt: Runtime) -> None:
    epoch = rt.catalog.members.position(0)[0]
    vote(rt, 0, epoch)
    commit(rt, epoch)


def _runs(rt: Runtime, choice: Choice) -> list[Run]:
    return [run for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if choice(run)]


def _runs_of_newest_batch(rt: Runtime, epoch: int) -> list[Run]:
    """Those that are not merged yet."""
    newest = max((b.commit or 0 for b in rt.catalog.log.batches(epoch=epoch) if b.counts), default=None)
    return _runs(rt, lambda r: r.commit == newest)


def _is_of(name: str, run: Run) -> bool:
    return run.map == name


def _is_since(version: int, run: Run) -> bool:
    return run.min_version >= version


def _same(runs: Sequence[Run]) -> Choice:
    """These runs, or what was made in their places."""
    known = {(run.map, run.access_path, run.origin) for run in runs}
    return lambda r: (r.map, r.access_path, r.origin) in known


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """So many of them, evenly, with the first and the last one; or all."""
    count = min(most, len(items))
    return [items[(len(items) - 1) * i // max(1, count - 1)] for i in range(count)]


def _check_answers(rt: Runtime, tables: Mapping[str, str]) -> str:
    for query in rt.project.views:
        rows = arrow_rows(read_view(rt, query, tentative=True, ordered=False))
        check_answer(query, rows, {r: tables[r] for r in relations_of([query])})
    return f"{len(rt.project.views)} answers checked"


@dataclass
class _LosesRuns:
    """In each turn the next choice of runs is lost, and made again from what is left. ``events`` are the rows that they had."""

    rt: Runtime
    choices: Sequence[Choice]
    lost: Sequence[Run] = ()

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        self.lost = _runs(self.rt, self.choices[number % len(self.choices)])
        begun = time.process_time()
        made = repair_runs(self.rt, self.lost)
        seconds = time.process_time() - begun
        if not self.lost or len(made.lost) != len(self.lost):
            raise WrongAnswer(f"{len(made.lost)} of {len(self.lost)} runs were made again")
        return Turn(seconds, sum(run.rows for run in self.lost))

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        names = sorted({run.map for run in self.lost})
        return f"{len(self.lost)} runs of {names[0] if len(names) == 1 else f'{len(names)} maps'}, proved by hashes"


@dataclass
class _Fills:
    """Fills some maps as of the newest snapshot, as a deployment does; then ``check`` is asked."""

    rt: Runtime
    names: frozenset[str]
    check: Callable[[], str] = lambda: ""

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        rt, all_maps = self.rt, len(self.names) == len(self.rt.plan.groups)
        drivers = {} if all_maps else choose_drivers(rt.plan, sorted(self.names), _count_logged(rt))
        stored = _runs(rt, lambda r: r.map not in self.names)
        with rt.catalog.leases.step() as step:
            upto = rt.catalog.snapshots.newest()
            begun = time.process_time()
            _, runs = fill_groups(rt, rt, self.names, drivers, None, upto, stored, step)
            seconds = time.process_time() - begun
        for path in {run.path for run in runs}:
            (rt.project.state / path).unlink()
        return Turn(seconds, sum(run.rows for run in runs))

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        depth = 1 + max(self.rt.plan.level_of.values())
        size = f"{len(self.rt.plan.groups)} groups, {depth} levels deep"
        return "; ".join(filter(None, (size, self.check())))


def _count_logged(rt: Runtime) -> dict[str, int]:
    rows: dict[str, int] = {}
    for file in rt.catalog.log.files():
        rows[file.relation] = rows.get(file.relation, 0) + file.rows
    return rows


def _lose_files(settings: Settings, tables: Path, label: Label) -> Iterator[list[Row]]:
    """A file of the log, of a key index, a net table, a published table: each made again from what there is besides. ``events`` are the rows that are read for it, about."""
    relations = relations_of([OF_FILES])
    rows = count_rows(tables, relations)
    landing = drops_of(settings.home, tables, relations, max(1_000, rows // 8))
    label = dataclasses.replace(label, batch_events=0, state_events=rows)
    turns = settings.repetitions or TURNS
    with scratch(settings.home) as folder:
        project = project_of(folder, (OF_FILES,), INPROCESS, landing, "strict")
        project = dataclasses.replace(project, published=folder / "published")
        initialise(project)
        with open_runtime(project) as rt:
            for drop in sorted((landing / "0").iterdir()):
                assert run_minibatch(rt, 0, [drop.name]) is not None
                _commit(rt)
            with patch.object(compacting, "is_due", lambda *_: True):  # of inserts alone none is due
                compacting.compact(rt)
            for _ in publish_all(rt):
                pass
            for what, table, pattern in FILES:
                ours = _entry(_LosesFile(rt, folder / table if table else None, folder / pattern))
                yield compete(dataclasses.replace(label, variant=what), {"cumulus": ours}, turns)
            checked = partial(_check_files, rt, net_tables(tables, relations))
            anew = _entry(_Fills(rt, frozenset(rt.plan.groups), checked))
            yield compete(dataclasses.replace(label, variant="all maps"), {"cumulus-anew": anew}, turns)
    forget(landing, settings.keep)


#: What is lost, the published table that it belongs to, and where its newest file is.
FILES = (
    ("a file of the log, from its drop", "", "state/log/lineitem/*"),
    ("a key index", "", "state/keys/*"),
    ("a net table", "", "state/net/lineitem/*"),
    ("a published table", f"published/{OF_FILES}", f"published/{OF_FILES}/*.parquet"),
)


@dataclass
class _LosesFile:
    """In each turn the largest file of a kind, or a table's newest, is deleted, and `cumulus recover` makes it again."""

    rt: Runtime
    table: Path | None
    pattern: Path
    note: str = ""

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        found = self.pattern.parent.glob(self.pattern.name)
        stats = {path: path.stat() for path in found if path.is_file()}
        # of a table no version that can be read may have an older file
        file = max(stats, key=lambda path: stats[path].st_mtime_ns if self.table else stats[path].st_size)
        size = file.stat().st_size
        file.unlink()
        begun = time.process_time()
        recovered = recover(self.rt, [str(self.table or file)])
        seconds = time.process_time() - begun
        if recovered.outcome.left or not recovered.outcome.done:
            raise WrongAnswer(f"{file.name} was not made again: {recovered.outcome.left}")
        self.note = f"{size / 1e6:.2f} MB"
        return Turn(seconds, sum(repair.rows for repair in recovered.plan.repairs))

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        return self.note


def _check_files(rt: Runtime, tables: Mapping[str, str]) -> str:
    found = fsck(rt).damages
    if found:
        raise WrongAnswer(f"{len(found)} files are damaged still")
    return f"no file is damaged, {_check_answers(rt, tables)}"


def _count_hashing(settings: Settings, state: State, tables: Path, label: Label) -> Iterator[list[Row]]:
    """Batches in normal operation, and what of them is spent on hashes and recipes: counted around the functions that are called for them. What else they cost, as memory that others
    would use, is not counted; to leave both out on another copy would show it, but two copies that do the same differ by as much."""
    relations = relations_of(state.queries)
    sizes = settings.batch_sizes or tuple(sorted({EVENTS, max(EVENTS, count_rows(tables, relations) // 100)}))
    for events, (most, group) in zip(sizes, (SMALL, LARGE), strict=False):
        turns = settings.repetitions or most
        changes = make_changes(settings.home, tables, relations, events, (turns + WARM_UPS) * group, every_table=True)
        with on_state(settings.home, state, changes, None, group) as project:
            ours = _Hashed(project)
            entries: dict[str, Entry] = {
                "cumulus": _entry(ours),
                "cumulus-hashes": _entry(_OnlyHashes(ours)),
            }
            named = dataclasses.replace(label, variant=f"normal operation, {group} batches", batch_events=events)
            yield compete(named, entries, turns, WARM_UPS)
        forget(changes.folder, settings.keep)


#: What those call that write runs and merge them. What is folded is folded while it is added up.
HASHING = ("rows_of_table", "hash_together", "add_hashes", "hash_run")


@dataclass
class _Hashed:
    """Applies batches, and counts the seconds that are spent on hashes and recipes meanwhile."""

    project: Contestant
    spent: float = 0.0

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        self.spent = 0.0
        counted = {name: self._count(getattr(hashes, name)) for name in HASHING}
        with _replaced(counted), patch.object(Recipe, "to_json", self._count(Recipe.to_json)):
            begun = time.process_time()
            turn = self.project.turn(number)
            return Turn(time.process_time() - begun, turn.events)

    def _count(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                self.spent += time.thread_time() - begun

        return counted

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        return self.project.finish()


@dataclass
class _OnlyHashes:
    """What of the turn before was spent on hashes and recipes."""

    ours: _Hashed

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        return Turn(self.ours.spent, 0)

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        return "spent on hashes and recipes, of the same batches"


@contextmanager
def _replaced(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Other functions of these names where batches are applied and runs merged."""
    with ExitStack() as stack:
        for name, function in functions.items():
            users = [module for module in (steps, reading, packs) if hasattr(module, name)]
            assert users, f"nobody uses {name}"
            for module in users:
                stack.enter_context(patch.object(module, name, function))
        yield
