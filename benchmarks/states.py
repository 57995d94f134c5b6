"""Cumulus projects for the benchmarks, and states: projects with tables loaded, kept and copied for measurements."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import run_worker
from benchmarks.progress import say
from benchmarks.settings import REPOSITORY
from benchmarks.workload import count_rows, drops_of, forget, relations_of, sql_of
from cumulus_ops.opening.compiling import build_program
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings, KeySettings, Project
from m3 import format_program

__all__ = ["State", "copied", "load_state", "loaded", "project_of", "scratch"]

LOAD_EVENTS = 1_000_000
#: What a step may hold, on every machine: half of its memory, which is the default, would be other merges on another one.
MEMORY = 4 << 30
#: What decides how a state looks on disk; engine and compiler show in the program's text.
FORMAT_SOURCES = ("append", "catalog", "coordination", "files", "keys", "layout", "maps", "project/versions.py")


@dataclass(frozen=True)
class State:
    """A committed snapshot of loaded tables; ``seconds`` and the peaks of memory, with and without mapped files, are of the load,
    ``disk_mb`` are all its files. ``drops`` says that the first so many parts of so many were loaded."""

    folder: Path
    queries: tuple[str, ...]
    events: int
    seconds: float
    peak_rss_mb: float
    drops: tuple[int, int] = (1, 1)
    peak_anonymous_mb: float = 0.0
    disk_mb: float = 0.0


def project_of(
    folder: Path,
    queries: Sequence[str],
    executor: ExecutorSettings,
    landing: Path | None = None,
    mode: str = "trusted",
) -> Project:
    """The TPC-H example with these queries as views, one coordinator, and everything it writes in ``folder``; all keys in a ``mode``."""
    example = load_project(REPOSITORY / "examples" / "tpch")
    return dataclasses.replace(
        example,
        keys={} if mode == "trusted" else {r.name: KeySettings(mode) for r in example.relations},
        views={query: sql_of(query) for query in queries},
        landing=landing or folder / "landing",
        state=folder / "state",
        catalog_url=f"sqlite:///{folder}/state/catalog.db",
        published=None,
        reports=folder / "reports",
        coordinators=1,
        memory=MEMORY,
        executor=executor,
    )


@contextmanager
def loaded(home: Path, tables: Path, queries: Sequence[str], *, keep: bool, part: float = 1.0) -> Iterator[State]:
    """A state for the block, deleted afterwards unless ``keep``; see :func:`load_state`."""
    state = load_state(home, tables, queries, keep=keep, part=part)
    try:
        yield state
    finally:
        forget(state.folder, keep)


def load_state(home: Path, tables: Path, queries: Sequence[str], *, keep: bool, part: float = 1.0) -> State:
    """Load tables and commit, in a process of its own, unless it was done before by the same code.

    Args:
        home: where states are kept.
        tables: the generated tables.
        queries: the views.
        keep: keep the landed drops as well.
        part: only the first part of the stream, 0 to 1.
    """
    relations = relations_of(queries)
    folder = home / "states" / f"{tables.name}-{_digest(home, queries)}{'' if part == 1 else f'-{part:g}'}"
    if not (folder / "load.json").exists():
        landing = drops_of(home, tables, relations, min(LOAD_EVENTS, max(1000, count_rows(tables, relations) // 8)))
        drops = len(list((landing / "0").iterdir()))
        say(f"loading {', '.join(queries) if len(queries) < 5 else f'{len(queries)} queries'} on {tables.name}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        spec = {
            "folder": str(folder),
            "queries": list(queries),
            "landing": str(landing),
            "batches": (taken := max(1, round(drops * part))),
            "kind": "inprocess",
        }
        done = run_worker("cumulus_worker", spec)
        loaded = {
            "events": done.result["events"],
            "seconds": done.result["seconds"],
            "peak_rss_mb": done.peak_rss_mb,
            "peak_anonymous_mb": done.peak_anonymous_mb,
            "disk_mb": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6,
            "drops": (taken, drops),
        }
        forget(landing, keep)
        (folder / "load.json").write_text(json.dumps(loaded))
    facts = json.loads((folder / "load.json").read_text())
    return State(folder, tuple(queries), **{**facts, "drops": tuple(facts["drops"])})


def _digest(home: Path, queries: Sequence[str]) -> str:
    project = project_of(home, queries, ExecutorSettings(kind="inprocess"))
    digest = hashlib.sha256(format_program(build_program(project)).encode())
    digest.update(Path(__file__).read_bytes())
    for name in FORMAT_SOURCES:
        source = REPOSITORY / "cumulus_ops" / name
        for file in [source] if source.is_file() else sorted(source.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def copied(home: Path, state: State) -> Iterator[Path]:
    """A copy of a state to change: hard links, since its files are immutable, but for the catalog."""
    with scratch(home) as folder:
        shutil.copytree(state.folder / "state", folder / "state", copy_function=_link)
        yield folder


def _link(source: str, target: str) -> str:
    if Path(source).name.startswith("catalog.db"):
        return str(shutil.copy2(source, target))
    os.link(source, target)
    return target


@contextmanager
def scratch(home: Path) -> Iterator[Path]:
    """A new folder, deleted afterwards."""
    number = 0
    while True:
        folder = home / "work" / f"{os.getpid()}-{number}"
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
