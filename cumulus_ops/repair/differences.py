"""Lost runs of one stratum of groups: what should be there, less what is, put in their places (docs/adr/0086)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.reading import EVER
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.deltas import at_version, negate_deltas, project_deltas, sum_deltas, versions
from cumulus_ops.maps.hashes import PRIME, Hashes, rows_of_table
from cumulus_ops.maps.packs import Pack, write_runs
from cumulus_ops.maps.runs import AccessPath, build_run
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.versions import epoch_end, epoch_start
from cumulus_ops.repair.sums import Sums
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
        pack = Pack(self.scope.rt.project.state, self.truths.step.label)
        lost = [(self.scope.copies[run.map, run.access_path], run) for run in self.lost]
        shares = _Shares(lost, pack, self.truths.limit_rows)
        for slot in self._united:
            self._compare(slot, shares)
        clusters = shares.finish()
        if self.scope.last is None:
            _prove(clusters)
        joined = max((c.origin for c in clusters if c.path.map in self.plan.base and c.is_joined), default=0)
        reach("repair.before-commit")
        made = [(new, cluster.origin) for cluster in clusters for new in cluster.made]
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

    @property
    def is_at_once(self) -> bool:
        """Whether the truth of several slots is computed at once, and no other one is needed."""
        return len(self._united) == 1 and len(self._united[0].each) > 1

    @cached_property
    def _united(self) -> list[Slot]:
        """The slots, with those together whose truth is computed at once: live ones only if it need not be known as of several commits."""
        slots = self.slots()
        lost = self._lost_in(slots)
        levels = (self._levels(path, lost[path], slot) for slot in slots if slot.epoch is None for path in lost)
        return self.truths.unite(slots, with_live=all(len(found) == 1 for found in levels))

    def _lost_in(self, slots: Sequence[Slot]) -> dict[AccessPath, list[Run]]:
        """The lost runs of each copy that may hold something at the versions of some slots."""
        lost: dict[AccessPath, list[Run]] = {}
        for run in self.lost:
            if any(slot.overlaps(run) for slot in slots):
                lost.setdefault(self.scope.copies[run.map, run.access_path], []).append(run)
        return lost

    # What should be there, less what is.

    def _compare(self, slot: Slot, shares: _Shares) -> None:
        """Find out what is missing at some versions, of all copies."""
        lost = self._lost_in(slot.each)
        levels: dict[int | None, dict[AccessPath, list[Run]]] = {}
        for path in sorted(lost):
            for level, runs in self._levels(path, lost[path], slot):
                levels.setdefault(level, {})[path] = runs
        earlier: dict[AccessPath, list[pa.Table]] = {path: [] for path in lost}
        for level in sorted(levels, key=lambda level: (level is None, level)):
            for path, part, missing in self._find_missing(slot, level, levels[level], earlier):
                if level is not None:
                    earlier[path].append(missing.table)
                mine = [run for run in levels[level][path] if part.overlaps(run)]
                shares.add(mine, missing, by_version=part.epoch is None)
                self._remember(path, levels[level][path], missing.table)

    def _find_missing(
        self,
        slot: Slot,
        level: int | None,
        lost: Mapping[AccessPath, Sequence[Run]],
        earlier: Mapping[AccessPath, Sequence[pa.Table]],
    ) -> Iterator[tuple[AccessPath, Slot, _Deltas]]:
        """What should be there of copies at some versions, and up to a commit, less what is; in parts, each of one slot. ``earlier``: what lost runs of earlier commits have held."""
        forms = self._open_forms(slot, level, lost, earlier)
        wanted: dict[str, list[_Form]] = {}
        for form in forms:
            if form.twin is None:
                wanted.setdefault(form.path.map, []).append(form)
            else:
                for table in self.truths.held(form.twin, slot, level):
                    form.add(_narrowed(table, form.twin, form.path))

        def take(name: str, table: pa.Table) -> None:
            for form in wanted[name]:
                form.add(_narrowed(table, self.plan.paths[name][0], form.path))

        if wanted:
            self.truths.compute(slot, frozenset(wanted), take, level)
        for form in forms:
            for table in chain(self.truths.held(form.path, slot, level), earlier[form.path]):
                form.add(negate_deltas(table))
            for place, sums in form.places.items():
                for table in sums.sums():
                    missing = _Deltas(table, form.path.keys)
                    yield from ((path, place.slot, missing) for path in form.copies)

    def _open_forms(
        self,
        slot: Slot,
        level: int | None,
        lost: Mapping[AccessPath, Sequence[Run]],
        earlier: Mapping[AccessPath, Sequence[pa.Table]],
    ) -> list[_Form]:
        """Copies that miss the same together."""
        found: dict[object, list[AccessPath]] = {}
        about: dict[AccessPath, tuple[AccessPath | None, tuple[_Place, ...]]] = {}
        for path, runs in lost.items():
            about[path] = self.truths.find_twin(path, slot), _find_places(slot, runs)
            alone = path if self.truths.there(path, slot, level) or earlier[path] else None
            found.setdefault((alone, path.map, path.keys, path.values, *about[path]), []).append(path)
        forms = []
        for copies in found.values():
            path = copies[0]
            twin, places = about[path]
            runs = [*lost[path], *self.truths.there(path, slot, level)]
            rows = [sum(run.rows for run in filter(place.slot.overlaps, runs)) for place in places]
            limits = [-(-self.truths.limit_rows * mine // (sum(rows) * len(found))) for mine in rows]
            folder = self.scope.rt.project.state / "runs"
            sums = [Sums(folder, mine, limit) for mine, limit in zip(rows, limits, strict=True)]
            forms.append(_Form(copies, twin, dict(zip(places, sums, strict=True))))
        return forms

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


@dataclass(frozen=True)
class _Deltas:
    """Summed deltas, whose key columns have these positions (None: all), and their hashes."""

    table: pa.Table
    keys: tuple[int, ...] | None

    @cached_property
    def hashes(self) -> Hashes:
        """See :mod:`cumulus_ops.maps.hashes`."""
        return rows_of_table(self.table, self.keys).hashes()


@dataclass(frozen=True)
class _Form:
    """``copies`` of one group that miss the same, since they have the same columns, and nothing is there of them; or one copy. ``twin``: the copy that has the
    truth; ``places``: the versions that are wanted of them, and what is missing there."""

    copies: Sequence[AccessPath]
    twin: AccessPath | None
    places: Mapping[_Place, Sums]

    @property
    def path(self) -> AccessPath:
        """Any of the copies."""
        return self.copies[0]

    def add(self, table: pa.Table) -> None:
        """Deltas with the columns of the copies."""
        for place, sums in self.places.items():
            found = place.take(table)
            if len(found):
                sums.add(found)


@dataclass(frozen=True)
class _Place:
    """The versions of a slot; ``at``: the one at which all their deltas are, None if they are told apart."""

    slot: Slot
    at: int | None

    def take(self, table: pa.Table) -> pa.Table:
        """The deltas that are here. Where several versions become one, keys may be there more than once."""
        at = versions(table)
        first, last = self.slot.first, self.slot.last
        if not len(at) or at.max() < first or at.min() > last:
            return table.slice(0, 0)
        oldest, newest = at.min(), at.max()
        if oldest < first or newest > last:
            table = table.filter(pa.array((at >= first) & (at <= last)))
        if self.at is None:
            return table
        return at_version(table if oldest == newest else table.replace_schema_metadata(None), self.at)


def _find_places(slot: Slot, lost: Sequence[Run]) -> tuple[_Place, ...]:
    """Where deltas are that lost runs of a copy may have held. Of a committed epoch they are where the latest of the runs ends: within it nobody tells versions apart."""
    places = []
    for part in slot.each:
        ends = [min(part.last, run.max_version) for run in lost if part.overlaps(run)]
        if ends:
            places.append(_Place(part, None if part.epoch is None else max(ends)))
    return tuple(places)


@dataclass
class _Cluster:
    """Lost runs of one copy in whose place others stand together, since it cannot be told which of them has held what: ``made``, and what ``waits`` to be written."""

    path: AccessPath
    lost: list[Run]
    waiting: list[_Deltas] = field(default_factory=list)
    made: list[NewRun] = field(default_factory=list)

    @property
    def origin(self) -> int:
        """The latest commit whose deltas they hold."""
        return max(run.origin for run in self.lost)

    @property
    def is_joined(self) -> bool:
        """Whether what some commit has added cannot be told from what another one has."""
        return len({run.origin for run in self.lost}) > 1


class _Shares:
    """What is missing, and which of the ``lost`` runs have held it. From ``limit_rows`` on it is written to a pack, so that several runs may stand in the place of one."""

    def __init__(self, lost: Sequence[tuple[AccessPath, Run]], pack: Pack, limit_rows: int) -> None:
        self._found = [_Cluster(path, [run]) for path, run in lost]
        self._pack, self._limit = pack, limit_rows

    def add(self, mine: Sequence[Run], missing: _Deltas, *, by_version: bool) -> None:
        """Deltas that some of the runs ``mine`` of a copy have held: those that may have had a version, or all."""
        if not by_version:
            self._put(mine, missing)
            return
        at = versions(missing.table)
        edges = np.unique([edge for run in mine for edge in (run.min_version, min(run.max_version, EVER - 1) + 1)])
        places = np.searchsorted(edges, at, side="right")
        found = np.unique(places).tolist()
        for place in found:
            first = int(edges[place - 1]) if place else None
            chosen = [run for run in mine if first is not None and run.min_version <= first <= run.max_version]
            if not chosen:
                message = f"{mine[0].map}: there is more missing than runs are lost"
                raise IntegrityProblem(
                    message, kind="repair-unexplained", hint="`cumulus fsck` says what else is damaged"
                )
            rows = missing if len(found) == 1 else replace(missing, table=missing.table.filter(places == place))
            self._put(chosen, rows)

    def _put(self, runs: Sequence[Run], deltas: _Deltas) -> None:
        cluster = self._join(runs)
        cluster.waiting.append(deltas)
        if sum(len(waiting.table) for waiting in cluster.waiting) >= self._limit:
            self._write(cluster)

    def _join(self, runs: Sequence[Run]) -> _Cluster:
        """The cluster of some runs of a copy."""
        ids = {run.id for run in runs}
        first, *others = [c for c in self._found if ids & {run.id for run in c.lost}]
        for other in others:
            first.lost += other.lost
            first.waiting += other.waiting
            first.made += other.made
            self._found.remove(other)
        return first

    def _write(self, cluster: _Cluster) -> None:
        deltas, cluster.waiting = cluster.waiting, []
        if len(deltas) > 1:
            deltas = [_Deltas(sum_deltas([waiting.table for waiting in deltas]), cluster.path.keys)]
        for found in deltas:
            if len(found.table):
                cluster.made.append(self._pack.append(build_run(found.table, cluster.path), found.hashes))

    def finish(self) -> list[_Cluster]:
        """All clusters, when everything is written and durable."""
        for cluster in self._found:
            self._write(cluster)
        self._pack.close()
        return self._found


def _overlap(runs: Sequence[Run], plan: ProgramPlan) -> bool:
    """Whether some two may hold deltas of the same batch."""
    ordered = sorted(runs, key=lambda run: run.min_version)
    ends = accumulate((plan.versions.whole(run.max_version) for run in ordered), max)
    return any(plan.versions.whole(b.min_version) <= end for end, b in zip(ends, ordered[1:], strict=False))


def _prove(clusters: Sequence[_Cluster]) -> None:
    """See that what was made has the hash of what was lost. Versions are left out: those that nobody tells apart may be others now.

    Raises:
        IntegrityProblem: it has another one.
    """
    for cluster in clusters:
        recorded = [run.total for run in cluster.lost]
        if None in recorded:
            continue  # of runs of old
        made = sum(filter(None, (run.total for run in cluster.made)))
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
