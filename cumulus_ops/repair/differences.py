"""Lost runs of one stratum of groups: what should be there, less what is, put in their places (docs/adr/0086)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.deltas import VERSION, at_version, negate_deltas, project_deltas, sum_deltas
from cumulus_ops.maps.hashes import PRIME
from cumulus_ops.maps.packs import write_runs
from cumulus_ops.maps.runs import AccessPath, build_run
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.versions import epoch_end, epoch_start
from cumulus_ops.repair.truths import Scope, Slot, State, Truths

__all__ = ["Part", "Repaired"]


@dataclass(frozen=True)
class Repaired:
    """What was made again: ``lost`` are the runs that were replaced, ``made`` those in their places; fewer, where nothing was in one."""

    lost: tuple[Run, ...]
    made: tuple[NewRun, ...]
    seconds: float


@dataclass(frozen=True)
class Part:
    """The repair of the ``lost`` runs of some groups of one stratum."""

    truths: Truths
    lost: tuple[Run, ...]

    @property
    def plan(self) -> ProgramPlan:
        """The plan of the revision."""
        return self.truths.plan

    @property
    def scope(self) -> Scope:
        """The revision."""
        return self.truths.scope

    @property
    def state(self) -> State:
        """The catalog as it is looked at."""
        return self.truths.state

    def repair(self) -> Repaired:
        """Make the runs, prove them, and put them in the place of the lost ones."""
        started = time.monotonic()
        reach("repair.before-files")
        shares = _Shares([(self.scope.copies[run.map, run.access_path], run) for run in self.lost])
        for slot in self.slots():
            self._compare(slot, shares)
        clusters = shares.clusters()
        written = self._write(clusters)
        if self.scope.last is None:
            _prove(written)
        joined = max((c.origin for c, _ in written if c.path.map in self.plan.base and c.is_joined), default=0)
        reach("repair.before-commit")
        made = [(new, cluster.origin) for cluster, new in written if new is not None]
        self.scope.rt.catalog.commits.commit_repair(self.lost, made, joined=joined)
        reach("repair.after-commit")
        return Repaired(self.lost, tuple(run for run, _ in made), time.monotonic() - started)

    # Which versions are looked at.

    def slots(self) -> list[Slot]:
        """In the order of their versions."""
        state, versions = self.state, self.plan.versions
        readable = max(self.scope.since.get(name, 0) - 1 for name in self.truths.names)
        base = max(min(state.oldest, state.newest), min(readable, state.newest))
        found = [Slot(versions.start, epoch_end(base), base, upto=True)]
        last = state.newest if self.scope.last is None else min(self.scope.last, state.newest)
        found += [Slot(epoch_start(epoch), epoch_end(epoch), epoch) for epoch in range(base + 1, last + 1)]
        found += self._live_slots(epoch_end(state.newest) + 1) if self.scope.last is None else []
        return [slot for slot in found if any(map(slot.overlaps, self.lost))]

    def is_in_one_slot(self) -> bool:
        """Whether all of it is lost at versions of which one truth is computed in one go, whatever stratum it belongs to."""
        slots = self.slots()
        if len(slots) != 1 or self.truths.is_cyclic:
            return False
        (slot,) = slots
        if any(r.min_version < slot.first or r.max_version > slot.last for r in self.lost):
            return False
        if slot.epoch is not None:
            return True
        spans = {self.plan.versions.batch_at(version) for version in (slot.first, slot.last)}
        own = (run for run in self.truths.kept if run.map in self.truths.names and slot.overlaps(run))
        return len(spans) == 1 and all(run.min_version >= slot.first for run in own)

    def _live_slots(self, first: int) -> list[Slot]:
        """Whole batches, from a version on (inclusive): as few as there can be, or of a cycle one for each batch that is live, and what lies between."""
        versions = self.plan.versions
        if self.truths.is_cyclic:
            spans = [versions.span(entry.batch) for entry in self.state.history]
            edges = sorted({first, *(s for s, _ in spans), *(e + 1 for _, e in spans), 2**63 - 1})
            return [Slot(a, b - 1) for a, b in pairwise(edges)]
        found: list[Slot] = []
        for run in sorted(self.lost, key=lambda r: r.min_version):
            begin = max(first, versions.whole(run.min_version))
            end = versions.whole(run.max_version) + versions.places - 1
            if end < begin:
                continue
            if found and begin <= found[-1].last + (not self.truths.together):
                found[-1] = replace(found[-1], last=max(end, found[-1].last))
            else:
                found.append(Slot(begin, end))
        return found

    # What should be there, less what is.

    def _compare(self, slot: Slot, shares: _Shares) -> None:
        """Find out what is missing at some versions, of all copies."""
        lost = [run for run in self.lost if slot.overlaps(run)]
        copies = {self.scope.copies[run.map, run.access_path] for run in lost}
        twins = {path: twin for path in copies if (twin := self.truths.find_twin(path, slot)) is not None}
        wanted = frozenset(path.map for path in copies if path not in twins)
        truth = self.truths.compute(slot, wanted) if wanted else {}
        known: dict[int | None, Mapping[str, list[pa.Table]]] = {None: truth}
        for path in sorted(copies):
            mine = [run for run in lost if (run.map, run.access_path) == (path.map, path.label)]
            earlier: list[pa.Table] = []
            for level, runs in self._levels(path, mine, slot):
                if path not in twins and level not in known:
                    known[level] = self.truths.compute(slot, wanted & self.plan.base, level)
                twin = twins.get(path, self.plan.paths[path.map][0])
                right = self.truths.held(twin, slot, level) if path in twins else known[level].get(path.map, ())
                tables = [_narrowed(table, twin, path) for table in right]
                tables += [negate_deltas(table) for table in (*self.truths.held(path, slot, level), *earlier)]
                at = None if slot.epoch is None else min(slot.last, max(run.max_version for run in mine))
                missing = (
                    sum_deltas([table if at is None else at_version(table, at) for table in tables]) if tables else None
                )
                if missing is None or not len(missing):
                    continue
                earlier.append(missing)
                if at is None:
                    shares.add(path, runs, missing)
                else:
                    shares.join(runs).tables.append(missing)
                self._remember(path, runs, missing)

    def _levels(self, path: AccessPath, mine: Sequence[Run], slot: Slot) -> list[tuple[int | None, list[Run]]]:
        """Lost runs of a copy in the order of their origins, where some clock may tell them apart and it cannot be seen from the versions what was in which: each
        time up to which commit the truth is to be computed, None for all."""
        if slot.epoch is not None or path.map not in self.plan.base or not _overlap(mine, self.plan):
            return [(None, list(mine))]
        levels: dict[int, list[Run]] = {}
        for run in mine:
            levels.setdefault(max(run.origin, self.state.lowest(self.plan)), []).append(run)
        ordered = sorted(levels)
        return [(level if level != ordered[-1] else None, levels[level]) for level in ordered]

    def _remember(self, path: AccessPath, mine: Sequence[Run], missing: pa.Table) -> None:
        """In a cycle later versions are computed from this."""
        if self.truths.is_cyclic:
            (new,) = write_runs(self.scope.rt.project.state, [build_run(missing, path)], self.truths.step.label)
            origin = max(run.origin for run in mine)
            self.truths.again.append(Run(**vars(new), id=-1, commit=0, origin=origin))

    def _write(self, clusters: Sequence[_Cluster]) -> list[tuple[_Cluster, NewRun | None]]:
        """Write what lost runs have held; None where it has come to nothing."""
        tables = [(cluster, sum_deltas(cluster.tables)) for cluster in clusters if cluster.tables]
        filled = [(cluster, build_run(table, cluster.path)) for cluster, table in tables if len(table)]
        runs = write_runs(self.scope.rt.project.state, (run for _, run in filled), self.truths.step.label)
        written = {id(cluster): run for (cluster, _), run in zip(filled, runs, strict=True)}
        return [(cluster, written.get(id(cluster))) for cluster in clusters]


@dataclass
class _Cluster:
    """Lost runs of one copy for which one run stands, since it cannot be told which of them has held what."""

    path: AccessPath
    lost: list[Run]
    tables: list[pa.Table]

    @property
    def origin(self) -> int:
        """The latest commit whose deltas they hold."""
        return max(run.origin for run in self.lost)

    @property
    def is_joined(self) -> bool:
        """Whether what some commit has added cannot be told from what another one has."""
        return len({run.origin for run in self.lost}) > 1


class _Shares:
    """What is missing, and which of the lost runs have held it."""

    def __init__(self, lost: Sequence[tuple[AccessPath, Run]]) -> None:
        self._found = [_Cluster(path, [run], []) for path, run in lost]

    def add(self, path: AccessPath, mine: Sequence[Run], missing: pa.Table) -> None:
        """Deltas that some of the runs ``mine`` have held."""
        at = missing[VERSION].to_numpy()
        holders = np.zeros(len(at), np.int64)
        for place, run in enumerate(mine):
            holders |= ((at >= run.min_version) & (at <= run.max_version)).astype(np.int64) << place
        for mask in np.unique(holders).tolist():
            chosen = [run for place, run in enumerate(mine) if mask >> place & 1]
            if not chosen:
                message = f"{path.map}: there is more missing than runs are lost"
                raise IntegrityProblem(
                    message, kind="repair-unexplained", hint="`cumulus fsck` says what else is damaged"
                )
            rows = missing.filter(pa.array(holders == mask))
            self.join(chosen).tables.append(rows)

    def join(self, runs: Sequence[Run]) -> _Cluster:
        """The one of some runs of a copy."""
        ids = {run.id for run in runs}
        first, *others = [c for c in self._found if ids & {run.id for run in c.lost}]
        for other in others:
            first.lost += other.lost
            first.tables += other.tables
            self._found.remove(other)
        return first

    def clusters(self) -> list[_Cluster]:
        """All of them."""
        return self._found


def _overlap(runs: Sequence[Run], plan: ProgramPlan) -> bool:
    """Whether some two may hold deltas of the same batch."""
    ordered = sorted(runs, key=lambda run: run.min_version)
    ends = accumulate((plan.versions.whole(run.max_version) for run in ordered), max)
    return any(plan.versions.whole(b.min_version) <= end for end, b in zip(ends, ordered[1:], strict=False))


def _prove(written: Sequence[tuple[_Cluster, NewRun | None]]) -> None:
    """See that what was made has the hash of what was lost. Versions are left out: those that nobody tells apart may be others now.

    Raises:
        IntegrityProblem: it has another one.
    """
    for cluster, new in written:
        recorded = [run.total for run in cluster.lost]
        made = 0 if new is None else new.total
        if made is None or None in recorded:
            continue  # of runs of old
        if (sum(filter(None, recorded)) - made) % PRIME:
            raise IntegrityProblem(
                f"what was made again of {cluster.path.map} is not what was lost, or what is there beside it is not what was written",
                kind="repair-unproved",
                place=", ".join(sorted({run.path for run in cluster.lost})),
                hint="`cumulus fsck` says what else is damaged; `cumulus anew` makes all maps again from the event log",
            )


def _narrowed(table: pa.Table, of: AccessPath, path: AccessPath) -> pa.Table:
    """The deltas of one copy, with the columns of another one."""
    keys = path.keys
    if keys is not None and of.keys is not None:
        keys = None if keys == of.keys else tuple(of.keys.index(position) for position in keys)
    return project_deltas(table, keys, path.values)
