"""The runs a step reads: files of the map store, and deltas that the step itself has computed so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import NewRun, Run
from cumulus_ops.engine.budget import DEFAULT_MEMORY
from cumulus_ops.engine.opened import opened_runs
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import VERSION, AccessPath, Pack, RunData, build_run, projected, versions

__all__ = ["EVER", "OwnDeltas", "StoredRuns", "write_deltas"]

EVER = 2**63 - 1  # after all versions

#: From so many deltas of one map on, they are written as soon as they are final.
WRITTEN_ROWS = 100_000


class StoredRuns:
    """Visible runs by access path. Files are opened when first needed and stay mapped in this process."""

    def __init__(self, plan: ProgramPlan, root: Path, runs: Iterable[Run]) -> None:
        self._plan, self._root = plan, str(root)
        self._by_path: dict[tuple[str, str], list[Run]] = {}
        self._found: dict[tuple[AccessPath, int, int], list[RunData]] = {}
        self.maps: set[str] = set()
        for run in runs:
            self.maps.add(run.map)
            self._by_path.setdefault((run.map, run.access_path), []).append(run)

    def get(self, path: AccessPath, before: int = EVER, since: int = -EVER) -> list[RunData]:
        """The runs of ``path`` that may hold a delta with a version from ``since`` (inclusive) to ``before`` (exclusive)."""
        key = (path, before, since)
        if key not in self._found:
            runs = self._by_path.get((path.map, path.label), ())
            wanted = [r for r in runs if r.min_version < before and r.max_version >= since]
            self._found[key] = opened_runs.together(self._root, wanted, self._plan.key_names(path.map))
        return self._found[key]

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether some run of ``path`` has a delta with a version below ``before`` (exclusive)."""
        return any(r.min_version < before for r in self._by_path.get((path.map, path.label), ()))

    def newest(self, path: AccessPath) -> int:
        """The highest version in the runs of ``path`` (inclusive), below all versions if there are none."""
        return max((r.max_version for r in self._by_path.get((path.map, path.label), ())), default=-EVER)


class OwnDeltas:
    """Deltas of this step, by map, and as sorted runs for whatever access path asks.

    With a ``plan`` and a ``pack``, a map's many deltas are written as soon as they are final, and read from there; and so are
    all, the largest first, while they take more than ``limit_bytes``.
    """

    def __init__(
        self, plan: ProgramPlan | None = None, pack: Pack | None = None, limit_bytes: int = DEFAULT_MEMORY
    ) -> None:
        self._plan, self._pack, self._limit_bytes = plan, pack, limit_bytes
        self._final: dict[str, int] = {}
        self._tables: dict[str, pa.Table] = {}
        self._runs: dict[AccessPath, RunData] = {}
        self._first: dict[str, int] = {}
        self._written: dict[str, np.ndarray] = {}

    def put(self, name: str, delta: pa.Table, *, final: bool = False) -> None:
        """Set the summed deltas of a map. ``final``: they will not be set again."""
        self._first[name] = int(pc.min(delta[VERSION]).as_py()) if len(delta) else EVER
        for path in [p for p in self._runs if p.map == name]:
            del self._runs[path]
        self._tables[name] = delta
        if final and self._plan is not None and self._pack is not None:
            self._final[name] = delta.nbytes
            if len(delta) >= WRITTEN_ROWS:
                self._write(name, self._plan, self._pack)
            while sum(self._final.values()) > self._limit_bytes:
                self._write(max(self._final, key=self._final.__getitem__), self._plan, self._pack)

    def _write(self, name: str, plan: ProgramPlan, pack: Pack) -> None:
        del self._final[name]
        for path in plan.paths[name] if len(self._tables[name]) else ():
            if len(self._build(path)):
                self._runs[path] = pack.read(pack.append(self._build(path)))
            self._written.setdefault(path.map, self._runs[path].versions.all_units())
        del self._tables[name]

    def _build(self, path: AccessPath) -> RunData:
        if path not in self._runs:
            self._runs[path] = build_run(projected(self._tables[path.map], path.keys, path.values), path)
        return self._runs[path]

    def get(self, path: AccessPath) -> list[RunData]:
        """The map's deltas as zero or one run."""
        if path not in self._runs and not len(self._tables.get(path.map, ())):
            return []
        run = self._build(path)
        return [run] if len(run) else []

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether the map has a delta with a version below ``before`` (exclusive)."""
        return self._first.get(path.map, EVER) < before

    def touches(self, name: str) -> bool:
        """Whether the map has deltas."""
        return self._first.get(name, EVER) != EVER

    def touched(self) -> list[str]:
        """The maps that have deltas."""
        return [name for name, first in self._first.items() if first != EVER]

    def table(self, name: str) -> pa.Table | None:
        """The map's deltas, None if it was not touched, or they have been written."""
        return self._tables.get(name)

    def tables(self) -> Mapping[str, pa.Table]:
        """All non-empty deltas by map that have not been written."""
        return {name: table for name, table in self._tables.items() if len(table)}

    def versions(self) -> Mapping[str, np.ndarray]:
        """The versions of all deltas, by map."""
        return {name: versions(table) for name, table in self.tables().items()} | self._written

    def finish(self) -> tuple[NewRun, ...]:
        """Write all that has not been written, and make it durable.

        Returns:
            the runs of all maps, for the catalog.
        """
        assert self._plan is not None
        assert self._pack is not None
        for name in self.tables():
            for path in self._plan.paths[name]:
                run = self._build(path)
                if len(run):
                    opened_runs.keep(str(self._pack.root), self._pack.append(run), run)
                del self._runs[path]
        return self._pack.close()


def write_deltas(plan: ProgramPlan, root: Path, deltas: Mapping[str, pa.Table], label: str = "") -> tuple[NewRun, ...]:
    """Write summed deltas, once per access path of each map; nothing becomes visible by it. ``label`` says whose step does."""
    own = OwnDeltas(plan, Pack(root, label))
    for name, table in deltas.items():
        own.put(name, table)
    return own.finish()
