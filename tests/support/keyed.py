"""Relations whose keys mean something: a plain model of what ought to be accepted, and a way to append rows to a catalog."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import update

from cumulus_ops.append.batches import LogWriter, Room, cut_batches
from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.columns import event_schema
from cumulus_ops.keys.building import build, ensure_index, prove_index
from cumulus_ops.keys.columns import KeyCodes
from cumulus_ops.keys.merging import merge_runs, sort_newest_first, tidy_keys
from cumulus_ops.keys.runs import open_run
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.settings import Project
from m3.program import Relation
from tests.support.portions import Others

Row = tuple[object, ...]
#: (event, relation, op, row); rows of one event follow each other.
Change = tuple[int, str, str, Row]
SIGNS = {"I": 1, "D": -1, "U": 2}


def table_of(relation: Relation, changes: Sequence[Change]) -> pa.Table:
    """Checked rows, as the readers hand them on."""
    schema = event_schema(relation)
    columns = [
        pa.array([row[i] for _, _, _, row in changes], schema.field(c.name).type)
        for i, c in enumerate(relation.columns)
    ]
    signs = pa.array([SIGNS[op] for _, _, op, _ in changes], pa.int8())
    events = pa.array([event for event, _, _, _ in changes], pa.int64())
    return pa.table([*columns, signs, events], names=schema.names)


def append(
    project: Project, catalog: Catalog, coordinator: int, drop: str, changes: Sequence[Change], piece: int = 100
) -> dict[str, list[int]]:
    """Append changes as a delivery, whose rows come in pieces, relation by relation.

    Returns:
        relation -> the events that were rejected.
    """
    for _ in range(10):
        try:
            return _append(project, catalog, coordinator, drop, changes, piece)
        except Conflict as conflict:
            if conflict.kind not in ("keys-moved", "append-conflict"):
                raise
    raise AssertionError("it never got through")


def _append(
    project: Project, catalog: Catalog, coordinator: int, drop: str, changes: Sequence[Change], piece: int
) -> dict[str, list[int]]:
    lost: dict[str, list[int]] = {}
    with catalog.leases.step() as step:
        epoch, sequence = catalog.members.position(coordinator)
        writer = LogWriter(project.state, 10**6, step.label)
        with KeyStage(project, catalog, coordinator, epoch, step.label) as keys:
            for name, rows in _parts(project, changes, piece):
                resolved = keys.resolve(name, rows)
                lost.setdefault(name, []).extend(sorted(resolved.lost))
                assert len(resolved.rejected) == sum(e in resolved.lost for e in rows["_offset"].to_pylist())
                writer.add(project.relation(name), f"{coordinator}/{name}", resolved.rows)
                writer.leave_out(name, f"{coordinator}/{name}", resolved.rejected)
            new = cut_batches(writer.finish(), coordinator, drop, epoch, sequence, Room(10**6))
            keys.commit(lambda changes: catalog.log.append(new, None, changes))
        tidy_keys(project, catalog, step.label, Others())
    return lost


def _parts(project: Project, changes: Sequence[Change], piece: int) -> list[tuple[str, pa.Table]]:
    of = {r: [c for c in changes if c[1] == r.name] for r in project.relations}
    return [(r.name, table_of(r, part)) for r, found in of.items() if found for part in _pieces(found, piece)]


def _pieces(changes: Sequence[Change], piece: int) -> list[list[Change]]:
    parts: list[list[Change]] = [[]]
    for i, change in enumerate(changes):
        if len(parts[-1]) >= piece and changes[i - 1][0] != change[0]:
            parts.append([])
        parts[-1].append(change)
    return parts


def move_to(catalog: Catalog, coordinator: int, epoch: int) -> None:
    """Let a coordinator be in another epoch, without what is needed to get there."""
    with catalog.database.engine.begin() as connection:
        connection.execute(
            update(t.coordinator).where(t.coordinator.c.index == coordinator).values(epoch=epoch, next_sequence=0)
        )


def bags(project: Project, catalog: Catalog) -> dict[str, list[tuple[int, Row, int]]]:
    """relation -> (epoch, row, sign) of everything in the log that counts."""
    found: dict[str, list[tuple[int, Row, int]]] = {}
    epochs = {b.id: b.epoch for b in catalog.log.batches() if b.counts}
    for file in catalog.log.files():
        if file.batch not in epochs:
            continue
        relation = next(r for r in project.relations if r.name == file.relation)
        table = pq.read_table(project.state / file.path)
        rows = zip(*(table[c.name].to_pylist() for c in relation.columns), strict=True)
        signs = table["_sign"].to_pylist()
        found.setdefault(file.relation, []).extend(
            (epochs[file.batch], row, sign) for row, sign in zip(rows, signs, strict=True)
        )
    return found


def require_sound(project: Project, catalog: Catalog, since: int = 0) -> None:
    """In the snapshot of every epoch from one on each key has one row once, or none; and without a key, no row is there less than not at all."""
    for name, changes in bags(project, catalog).items():
        if name not in project.keys:
            continue
        relation = next(r for r in project.relations if r.name == name)
        places = [i for i, c in enumerate(relation.columns) if c.name in relation.key]
        for epoch in {max(e, since) for e, _, _ in changes}:
            bag: Counter[Row] = Counter()
            for e, row, sign in changes:
                bag[row] += sign if e <= epoch else 0
            assert all(n >= 0 for n in bag.values()), (name, epoch, bag)
            if relation.key:
                keys = Counter({row: n for row, n in bag.items() if n})
                by_key: Counter[Row] = Counter()
                for row, n in keys.items():
                    by_key[tuple(row[i] for i in places)] += n
                assert all(n == 1 for n in by_key.values()), (name, epoch, bag)


@dataclass
class Model:
    """What ought to be accepted, one event after the other. ``state``: (relation, key) -> (row, how often, epoch, coordinator)."""

    project: Project
    state: dict[tuple[str, Row], tuple[Row, int, int, int]] = field(default_factory=dict)

    def append(self, coordinator: int, epoch: int, changes: Sequence[Change]) -> dict[str, list[int]]:
        """Take changes in; the events that are rejected, by relation."""
        lost: dict[str, list[int]] = {name: [] for _, name, _, _ in changes}
        groups: dict[object, list[Change]] = {}
        for change in changes:
            groups.setdefault((change[0], change[1]), []).append(change)
        for group in groups.values():
            saved = dict(self.state)
            if False in [self._one(coordinator, epoch, c) for c in group]:
                self.state = saved
                for name in {c[1] for c in group}:
                    lost[name].append(group[0][0])
        return {name: sorted(found) for name, found in lost.items()}

    def _one(self, coordinator: int, epoch: int, change: Change) -> bool:
        _, name, op, row = change
        relation = next(r for r in self.project.relations if r.name == name)
        settings = self.project.keys.get(name)
        if settings is None:
            return True
        key: Row = tuple(v for v, c in zip(row, relation.columns, strict=True) if c.name in relation.key)
        place = (name, key if relation.key else (*row, coordinator))
        old, count, when, owner = self.state.get(place, (row, 0, -1, coordinator))
        if when > epoch or (relation.key and count and owner != coordinator and settings.writers == "one"):
            return False
        if op == "U" and settings.mode != "upsert":
            return False
        if op == "D" and (count == 0 or (settings.mode == "strict" and old != row)):
            return False
        if op == "I" and relation.key and count and settings.mode == "strict":
            return False
        after = count + SIGNS[op] if not relation.key else int(op != "D")
        self.state[place] = (row, after, epoch, coordinator)
        return True


def living(model: Model, name: str) -> Counter[Row]:
    """The rows that are there at the end, according to the model."""
    return Counter({row: 0 for (n, _), (row, _, _, _) in model.state.items() if n == name}) + _sum(model, name)


def _sum(model: Model, name: str) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for (n, _), (row, count, _, _) in model.state.items():
        if n == name:
            found[row] += count
    return found


def net(project: Project, catalog: Catalog, name: str) -> Counter[Row]:
    """The rows that are there at the end, according to the log."""
    found: Counter[Row] = Counter()
    for _, row, sign in bags(project, catalog).get(name, []):
        found[row] += sign
    return Counter({row: n for row, n in found.items() if n})


def with_keys(project: Project, keys: Mapping[str, object]) -> Project:
    """The project with other key settings."""
    return dataclasses.replace(project, keys=dict(keys))  # type: ignore[arg-type]


def state_folder(project: Project) -> Path:
    """Made, if it is not there."""
    project.state.mkdir(parents=True, exist_ok=True)
    return project.state


def found_in_index(project: Project, catalog: Catalog, relation: Relation, *, rebuild: bool = False) -> Counter[Row]:
    """The rows that are there according to the key index; as it would be if it was built from the log."""
    names = [c.name for c in relation.columns]
    with catalog.leases.step() as step:
        if rebuild:
            build(project, catalog, relation, step.label)
        index = ensure_index(project, catalog, relation, step.label)
        for one, next_ in pairwise(sorted(index.runs, key=lambda run: (run.last, run.lowest))):
            assert one.last < next_.last or one.highest < next_.lowest
        runs = [open_run(project.state, relation, run) for run in sort_newest_first(index.runs)]
        found: Counter[Row] = Counter()
        for part in merge_runs(KeyCodes.of(relation), runs, names):
            rows = part.table
            assert (part.codes[1:] >= part.codes[:-1]).all()
            for row, count in zip(zip(*rows.to_pydict().values(), strict=True), part.counts.tolist(), strict=True):
                found[row] += count
    return Counter({row: n for row, n in found.items() if n})


def proved(project: Project, catalog: Catalog, relation: Relation) -> bool:
    """Whether `cumulus fsck` says that the index is what the log says; if there is none, nothing is wrong."""
    with catalog.leases.step() as step:
        proof = prove_index(project, catalog, relation, step.label)
    return proof is None or (proof.differ, proof.shown) == (0, ())


def violations(project: Project, catalog: Catalog, relation: Relation) -> int:
    """How many keys have not one row once, or none, in the log; without a key, how many rows of a coordinator are there less than that."""
    places = [i for i, c in enumerate(relation.columns) if c.name in relation.key]
    bag: Counter[Row] = Counter()
    for coordinator, row, sign in _by_coordinator(project, catalog, relation):
        bag[row if relation.key else (*row, coordinator)] += sign
    if not relation.key:
        return sum(n < 0 for n in bag.values())
    by_key: dict[Row, list[int]] = {}
    for row, n in bag.items():
        if n:
            by_key.setdefault(tuple(row[i] for i in places), []).append(n)
    return sum(found != [1] for found in by_key.values())


def _by_coordinator(project: Project, catalog: Catalog, relation: Relation) -> list[tuple[int, Row, int]]:
    owners = {b.id: b.coordinator for b in catalog.log.batches()}
    found = []
    for file in catalog.log.files():
        if file.relation == relation.name:
            table = pq.read_table(project.state / file.path)
            rows = zip(*(table[c.name].to_pylist() for c in relation.columns), strict=True)
            found += [
                (owners[file.batch], row, sign) for row, sign in zip(rows, table["_sign"].to_pylist(), strict=True)
            ]
    return found
