"""The runs a step reads: files of the map store, and deltas that the step itself has computed so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import NewRun, Run
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import VERSION, AccessPath, RunData, build_run, open_run, read_table, write_runs

__all__ = ["EVER", "OwnDeltas", "StoredRuns", "write_deltas"]

EVER = 2**63 - 1  # after all versions

_open = lru_cache(maxsize=16384)(open_run)


class StoredRuns:
    """Visible runs by access path. Files are opened when first needed and stay mapped in this process."""

    def __init__(self, root: Path, runs: Iterable[Run]) -> None:
        self._root = str(root)
        self._by_path: dict[tuple[str, str], list[Run]] = {}
        self._opened: dict[int, RunData] = {}
        for run in runs:
            self._by_path.setdefault((run.map, run.access_path), []).append(run)

    def get(self, path: AccessPath, before: int = EVER, since: int = -EVER) -> list[RunData]:
        """The runs of ``path`` that may hold a delta with a version from ``since`` (inclusive) to ``before`` (exclusive)."""
        runs = self._by_path.get((path.map, path.label), ())
        return [self._data(r) for r in runs if r.min_version < before and r.max_version >= since]

    def _data(self, run: Run) -> RunData:
        if run.id not in self._opened:
            self._opened[run.id] = _open(f"{self._root}/{run.path}", run.offset, run.bytes)
        return self._opened[run.id]

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether some run of ``path`` has a delta with a version below ``before`` (exclusive)."""
        return any(r.min_version < before for r in self._by_path.get((path.map, path.label), ()))

    def newest(self, path: AccessPath) -> int:
        """The highest version in the runs of ``path`` (inclusive), below all versions if there are none."""
        return max((r.max_version for r in self._by_path.get((path.map, path.label), ())), default=-EVER)


class OwnDeltas:
    """Deltas of this step, by map, and as sorted runs for whatever access path asks."""

    def __init__(self) -> None:
        self._tables: dict[str, pa.Table] = {}
        self._runs: dict[AccessPath, RunData] = {}
        self._first: dict[str, int] = {}

    def put(self, name: str, delta: pa.Table) -> None:
        """Set the summed deltas of a map."""
        self._tables[name] = delta
        self._first[name] = int(pc.min(delta[VERSION]).as_py()) if len(delta) else EVER
        self._runs = {path: run for path, run in self._runs.items() if path.map != name}

    def get(self, path: AccessPath) -> list[RunData]:
        """The map's deltas as zero or one run."""
        table = self._tables.get(path.map)
        if table is None or len(table) == 0:
            return []
        if path not in self._runs:
            self._runs[path] = read_table(build_run(table, path).combine_chunks())
        return [self._runs[path]]

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether the map has a delta with a version below ``before`` (exclusive)."""
        return self._first.get(path.map, EVER) < before

    def table(self, name: str) -> pa.Table | None:
        """The map's deltas, None if it was not touched."""
        return self._tables.get(name)

    def tables(self) -> Mapping[str, pa.Table]:
        """All non-empty deltas by map."""
        return {name: table for name, table in self._tables.items() if len(table)}


def write_deltas(plan: ProgramPlan, root: Path, deltas: Mapping[str, pa.Table]) -> tuple[NewRun, ...]:
    """Write the deltas of a step, once per access path of each map; nothing becomes visible by it."""
    built = ((path, build_run(table, path)) for name, table in deltas.items() for path in plan.paths[name])
    return write_runs(root, built)
