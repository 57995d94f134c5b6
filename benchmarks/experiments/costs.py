"""What things cost on the engine, as the simulator counts them: a message, an event, an entry written, read, merged or corrected.

The engine's messages are commits: a step's deltas become visible to everybody by one. It works set at a time, so its costs are a fixed
part, and one for each row; the latter are slopes, by least squares over sizes. Times are of the process's CPU (median of several),
but for the commit, whose synchronous write is waited for.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.experiments.attribution import corrected_by_coordinator
from benchmarks.experiments.data import merge_json
from benchmarks.experiments.shop import shop_project
from benchmarks.progress import say
from benchmarks.rows import machine
from benchmarks.settings import HOME
from benchmarks.states import scratch
from cumulus_ops.catalog.records import LogFile, NewBatch
from cumulus_ops.epochs.checkpoint import correct, merge
from cumulus_ops.epochs.minibatch import commit_batch, compute_batch
from cumulus_ops.files.new_files import write_parquet
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import AccessPath, build_run, merge_runs
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.versions import STATEMENT_BITS, event_version
from cumulus_ops.query.read import read_map

__all__ = ["run_costs", "slope"]

SIZES = (2_000, 20_000, 100_000)
REPETITIONS = 5


def run_costs(out: Path) -> None:
    """Measure all, and write ``engine-costs.json``."""
    write_s, entry_bytes, merge_s = _stored_entries()
    small_cpu_s, commit_s, idle_s = _fixed()
    event_s = _per_event()
    correct_s, pass_s = _per_corrected()
    found = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "send_s": commit_s,
        "send_cpu_s": small_cpu_s,
        "byte_s": write_s / entry_bytes,
        "handle_s": event_s,
        "write_s": write_s,
        "merge_s": merge_s,
        "read_s": _per_read(),
        "correct_s": correct_s,
        "correct_pass_s": pass_s,
        "correct_idle_s": idle_s,
        "bytes_per_entry": entry_bytes,
        "meaning": {
            "send_s": "commit_batch of a batch of one event: transaction and synchronous write, elapsed",
            "send_cpu_s": "all of a batch of one event but appending it: reading, computing, committing, CPU",
            "byte_s": "write_s by bytes",
            "handle_s": "per event more in a batch: read from the log, joined with one map, summed, CPU",
            "write_s": "per entry: sorted, encoded, written, CPU",
            "merge_s": "per entry of the merged runs, CPU",
            "read_s": "per entry of a map that is read as a whole, CPU",
            "correct_s": "per corrected entry, versions by event, CPU",
            "correct_pass_s": "a pass of corrections for one event, CPU",
            "correct_idle_s": "a pass that has nothing to correct, after one batch, CPU",
        },
    }
    merge_json(out / "data" / "engine-costs.json", {k: _rounded(v) for k, v in found.items()})
    say(str(found))


def _rounded(value: object) -> object:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Seconds per row, by least squares.

    >>> round(slope([0, 10, 20], [1.0, 2.0, 3.0]), 6)
    0.1
    """
    return float(np.polyfit(sizes, seconds, 1)[0])


def _median(measure: Callable[[], float]) -> float:
    return float(np.median([measure() for _ in range(REPETITIONS)]))


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _stored_entries() -> tuple[float, float, float]:
    """CPU seconds per written entry, its bytes, and CPU seconds per merged entry."""
    path = AccessPath("m", (0,), -1)
    written, merged, size = [], [], 0.0
    with scratch(HOME) as folder:
        for rows in SIZES:
            delta = _delta(rows)
            written.append(_median(lambda d=delta: _cpu(lambda: write_runs(folder, [build_run(d, path)], "1.1-"))))  # type: ignore[misc]
            runs = write_runs(folder, [build_run(_delta(rows // 4, seed), path) for seed in range(4)], "1.1-")
            opened = [open_run(folder / r.path, r.offset, r.bytes) for r in runs]
            merged.append(_median(lambda o=opened: _cpu(lambda: merge_runs(o, ["key"], -1, 0))))  # type: ignore[misc]
            size = sum(r.bytes for r in runs) / sum(r.rows for r in runs)
    return slope(SIZES, written), size, slope(SIZES, merged)


def _delta(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    keys = rng.choice(rows * 10, rows, replace=False)
    versions = event_version(0, 0, 0) + (rng.permutation(rows) << STATEMENT_BITS)
    return pa.table({"key": keys, VERSION: versions, value_column("m"): rng.integers(1, 1000, rows)})


class _Shop:
    """A shop with orders whose items have yet to come."""

    def __init__(self, rt: Runtime) -> None:
        self.rt, self._drops = rt, 0

    def append(self, coordinator: int, relation: str, columns: dict[str, np.ndarray]) -> int:
        """Stamp rows as a batch, without the detour over a drop."""
        epoch, sequence = self.rt.catalog.members.position(coordinator)
        rows = len(next(iter(columns.values())))
        stamps = event_version(epoch, coordinator, sequence) + (np.arange(rows) << STATEMENT_BITS)
        table = pa.table({**columns, "_sign": np.ones(rows, np.int8), "_offset": np.arange(rows), "_version": stamps})
        path = write_parquet(self.rt.project.state, f"log/{relation}", table)
        self._drops += 1
        file = LogFile(0, relation, path, rows, f"{coordinator}/{self._drops}", 0, rows)
        counts = (rows, 0, 0, 0)
        new = NewBatch(coordinator, f"d{self._drops}", epoch, sequence, sequence + rows, *counts, (file,), ())
        return self.rt.catalog.log.append([new])[0]

    def apply(self, batch: int) -> tuple[float, float, float]:
        """CPU seconds of computing and of committing, and seconds elapsed while committing."""
        with self.rt.catalog.leases.step() as step:
            begun = time.process_time()
            computed = compute_batch(self.rt, batch, step)
            middle, clock = time.process_time(), time.perf_counter()
            commit_batch(self.rt, batch, computed)
            return middle - begun, time.process_time() - middle, time.perf_counter() - clock

    def items(self, coordinator: int, first: int, rows: int) -> int:
        """A batch of so many items, one of each order from ``first`` on."""
        numbers = np.arange(first, first + rows)
        return self.append(coordinator, "items", {"item": numbers, "ordered": numbers, "price": numbers % 997})

    def orders(self, coordinator: int, rows: int) -> int:
        """A batch of orders."""
        numbers = np.arange(rows)
        return self.append(coordinator, "orders", {"ordered": numbers, "customer": numbers % 1000})

    def customers(self, coordinator: int) -> int:
        """A batch of the thousand customers."""
        numbers = np.arange(1000)
        return self.append(coordinator, "customers", {"customer": numbers, "nation": numbers % 25})


@contextmanager
def _opened(folder: Path, versions: str) -> Iterator[Runtime]:
    project = shop_project(folder, 2)
    initialise(project, versions=versions)
    with open_runtime(project, "inprocess") as rt:
        yield rt


def _fixed() -> tuple[float, float, float]:
    """CPU seconds of a batch of one event, seconds of its commit, CPU seconds of a pass of corrections with nothing to do."""
    with scratch(HOME) as folder, _opened(folder, "batch") as rt:
        shop = _Shop(rt)
        shop.apply(shop.customers(0))
        shop.apply(shop.orders(0, 10_000))
        computing, committing, idle = [], [], []
        for number in range(30):
            compute_s, commit_cpu_s, commit_s = shop.apply(shop.items(0, number, 1))
            computing.append(compute_s + commit_cpu_s)
            committing.append(commit_s)
            idle.append(_cpu(lambda: correct(rt)))
            merge(rt)
        return float(np.median(computing)), float(np.median(committing)), float(np.median(idle))


def _per_event() -> float:
    with scratch(HOME) as folder, _opened(folder, "batch") as rt:
        shop = _Shop(rt)
        shop.apply(shop.customers(0))
        shop.apply(shop.orders(0, SIZES[-1]))
        seconds = [_median(lambda n=rows: shop.apply(shop.items(0, 0, n))[0]) for rows in SIZES]  # type: ignore[misc]
        return slope(SIZES, seconds)


def _per_read() -> float:
    seconds = []
    for rows in SIZES:
        with scratch(HOME) as folder, _opened(folder, "batch") as rt:
            shop = _Shop(rt)
            shop.apply(shop.items(0, 0, rows))
            name = max((m.name for m in rt.program.maps), key=lambda m: len(read_map(rt, m)))
            assert len(read_map(rt, name)) == rows
            seconds.append(_median(lambda r=rt, n=name: _cpu(lambda: read_map(r, n))))  # type: ignore[misc]
    return slope(SIZES, seconds)


def _per_corrected() -> tuple[float, float]:
    """CPU seconds per corrected entry, and of a pass that corrects a single one. The items come before their orders and customers, at a
    coordinator of lower priority."""
    seconds, entries = [], []
    for rows in (1, *(n // 5 for n in SIZES)):
        with scratch(HOME) as folder, _opened(folder, "event") as rt:
            shop = _Shop(rt)
            shop.apply(shop.items(1, 0, rows))
            shop.apply(shop.customers(0))
            shop.apply(shop.orders(0, rows))
            before = rt.catalog.commits.last_commit()
            seconds.append(_cpu(lambda r=rt: correct(r)))  # type: ignore[misc]
            runs = [r for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if r.commit > before]
            corrected = corrected_by_coordinator(rt, runs)
            assert corrected.keys() == {1}, "only the items had come too early"
            entries.append(corrected.total())
    return slope(entries, seconds), seconds[0]
