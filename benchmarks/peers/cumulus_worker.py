"""Applies landed drops to a new project and commits them: ``python -m benchmarks.peers.cumulus_worker SPEC ANSWER``."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.peers.spark import session_of
from benchmarks.states import project_of
from cumulus_ops.epochs.checkpoint import collect_garbage, commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.light import without_pandas
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_view

__all__ = ["apply_all"]


def apply_all(spec: dict[str, Any]) -> dict[str, Any]:
    """Initialise a project, apply drops, seal and commit; several epochs, if one is full before.

    Args:
        spec: ``folder`` of the project, ``queries``, ``landing``, ``batches`` (None for all drops), ``kind`` and
            ``cores`` of the executor, ``mode`` of the keys, ``answers`` (a folder for the views' rows, or None).

    Returns:
        ``seconds`` of everything after the start of processes (Spark's session is warm), ``batches`` (their seconds),
        ``commit_seconds``, ``events``.
    """
    without_pandas()  # as the command does
    cores = spec.get("cores", 1)
    executor = ExecutorSettings(kind=spec["kind"], master=f"local[{cores}]")
    project = project_of(
        Path(spec["folder"]), spec["queries"], executor, Path(spec["landing"]), spec.get("mode", "trusted")
    )
    initialise(project)
    with open_runtime(project, "inprocess") as opened:
        rt = opened
        if spec["kind"] == "spark":
            from cumulus_ops.compute.spark import SparkExecutor

            rt = dataclasses.replace(opened, executor=SparkExecutor(executor, session_of(executor.master)))
        result = _measure(rt, spec["batches"])
        for query in spec["queries"] if spec.get("answers") else ():
            pq.write_table(read_view(rt, query, ordered=False), Path(spec["answers"]) / f"{query}.parquet")
        collect_garbage(rt)
    return result


def _measure(rt: Runtime, batches: int | None) -> dict[str, Any]:
    times: list[float] = []
    events, epoch, committing = 0, 0, 0.0
    landed = [drop.name for drop in rt.sources.pending(0)][:batches]
    started = time.perf_counter()
    while True:
        begun = time.perf_counter()
        is_over = rt.catalog.members.boundary(0, epoch, Rhythm.of(rt.project)).reason is not None
        # An epoch that is full takes nothing more but what was appended to it while the batch before was applied.
        report = run_minibatch(rt, 0, [] if is_over else landed)
        if report is not None:
            times.append(time.perf_counter() - begun)
            events += report.events
            print(
                f"batch {len(times)}: {events} events so far, the last {report.events} in {times[-1]:.2f} s", flush=True
            )
            continue
        vote(rt, 0, epoch)
        commit(rt, epoch)
        committing += time.perf_counter() - begun
        print(f"epoch {epoch}: committed in {time.perf_counter() - begun:.2f} s", flush=True)
        if not is_over:
            break
        epoch += 1
    return {
        "seconds": time.perf_counter() - started,
        "batches": times,
        "commit_seconds": committing,
        "events": events,
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(apply_all(json.loads(Path(sys.argv[1]).read_text()))))
