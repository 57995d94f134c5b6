"""The stage between the checks and the stamps: what keys say about events, and what events do to the key indexes, for one append.

>>> with KeyStage(project, catalog, coordinator, epoch, step.label) as keys:    # doctest: +SKIP
...     resolved = keys.resolve(relation, rows)
...     batches.add(relation, source, resolved.rows)
...     keys.commit(lambda changes: catalog.append(new, advance, keys=changes))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import Batch, KeyChange, KeyRun, NewKeyRun
from cumulus_ops.files.columns import NO_REJECTED, OFFSET, REJECTED_SCHEMA, SIGN
from cumulus_ops.keys.building import ensure_index
from cumulus_ops.keys.columns import KeyCodes, equal_rows
from cumulus_ops.keys.judging import PART, Judge, Judged, Reason, Rejections, settle, show
from cumulus_ops.keys.merging import merge_runs, sort_newest_first
from cumulus_ops.keys.runs import Entries, KeyFile, Run, hint_for, open_index, open_run, signature, stamp_of
from cumulus_ops.maps.encodings import Place, say_damaged
from cumulus_ops.project.errors import Conflict, CumulusError
from cumulus_ops.project.settings import Project
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = ["KeyStage", "Resolved", "leave_out", "move", "rejected_rows", "resolve_rows", "take_out"]


T = TypeVar("T")
#: Of a table of rows, the places of those that must stay, and why.
Refuse = Callable[[pa.Table], Mapping[int, tuple[str, str]]]
#: Entries of one append that are held in memory before they are written.
HELD_ROWS = 1 << 20
#: The attempts that an append has before it is done again from its beginning: each begins where the catalog stands then, so it takes as many
#: others that have appended in between.
ATTEMPTS = 20


@dataclass(frozen=True)
class Resolved:
    """``rows``: the accepted rows, +1 and -1 only. ``rejected``: the others, each with the reason. ``lost``: the numbers of the events
    whose rows those are."""

    rows: pa.Table
    rejected: pa.Table
    lost: frozenset[int] = frozenset()


@dataclass
class _Index:
    """A relation's index as this append sees it: ``stored`` runs (``files``) as of ``version``, and on top what the append adds: ``written``
    to the file, or still ``held``, all of them newest last. ``looked_at``: codes of rejected rows, which the verdicts rest on as well."""

    relation: Relation
    judge: Judge
    version: int
    signature: str
    stored: list[Run]
    files: tuple[KeyRun, ...]
    written: list[NewKeyRun] = field(default_factory=list)
    opened: list[Run] = field(default_factory=list)
    held: list[Entries] = field(default_factory=list)
    looked_at: list[np.ndarray] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        """All of them, newest first."""
        return [*self.held[::-1], *self.opened[::-1], *self.stored]

    def touches(self, run: Run) -> bool:
        """Whether the run has a code that this append has something to do with: one that it changes, or one whose row let it reject something."""
        mine = [*(r.all_codes() for r in (*self.held, *self.opened)), *self.looked_at]
        return any(_share_code(codes, run.all_codes()) for codes in mine)


class KeyStage:
    """Judges the events of one append.

    Args:
        project: says which relations have keys that mean something.
        catalog: has their indexes.
        coordinator: who appends.
        epoch: its open epoch, which the append will be refused for if it is not any more.
        label: of the step that appends.
    """

    def __init__(self, project: Project, catalog: Catalog, coordinator: int, epoch: int, label: str) -> None:
        self._project, self._catalog = project, catalog
        self._coordinator, self._epoch, self._label = coordinator, epoch, label
        self._file = KeyFile(project.state, label)
        self._indexes: dict[str, _Index] = {}
        self._adopted: list[str] = []
        self._is_finished = self._may_be_named = False

    def __enter__(self) -> KeyStage:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is not None:
            self.discard()

    def discard(self) -> None:
        """Delete what was written: it will not be appended. What perhaps was stays; if it was not, it is garbage."""
        if not self._may_be_named:
            self._file.discard()
            for path in self._adopted:
                (self._project.state / path).unlink(missing_ok=True)

    def resolve(self, relation: str, rows: pa.Table, refuse: Refuse | None = None) -> Resolved:
        """Judge events of one relation, which come after all that were judged before, and take the accepted ones into its index.

        Args:
            relation: its name. If it is trusted, all its events are accepted.
            rows: the relation's columns, ``_sign`` (+1, -1, 2 for an upsert) and ``_offset``, whose rows of one event are together.
            refuse: of rows that are there already, which must stay, and why: by their places. Events of their keys are rejected.
        """
        if relation not in self._project.keys or len(rows) == 0:
            return Resolved(rows, NO_REJECTED)
        judged, events = self.look(relation, rows), rows[OFFSET].to_numpy()
        index = self._indexes[relation]
        refused = Rejections() if refuse is None else _find_refused(judged, events, refuse)
        # What the refusal rests on was looked at, and has to be the same at the commit; without those events the others are judged as usual.
        if refused.reasons:
            index.looked_at.append(np.unique(judged.order.codes))
            rest = self.resolve(relation, leave_out(rows, refused))
            rejected = pa.concat_tables([rejected_rows(rows, refused), rest.rejected])
            return Resolved(rest.rows, rejected, rest.lost | refused.events)
        accepted, rejections = settle(judged, events, index.runs)
        if rejections.reasons:
            # The verdicts rest on what is there of rejected rows, too: who changes those keys meanwhile is a conflict.
            index.looked_at.append(np.unique(judged.order.codes))
            rows, rejected = leave_out(rows, rejections), rejected_rows(rows, rejections)
        else:
            rejected = NO_REJECTED
        if len(rows):
            self.put(relation, accepted.entries())
        if index.judge.mode == "upsert":
            rows = resolve_rows(rows, *accepted.resolve())
        return Resolved(rows, rejected, frozenset(rejections.events))

    def look(self, name: str, rows: pa.Table) -> Judged:
        """What the index of a relation that is not trusted has to say of some rows."""
        index = self._index(name)
        return index.judge.judge(rows, rows[SIGN].to_numpy(), index.runs)

    def judged_by(self, name: str) -> tuple[Judge, tuple[KeyRun, ...]]:
        """Who judges a relation that is not trusted, and by which runs, newest first, before anything of it was judged."""
        index = self._index(name)
        return index.judge, index.files

    def adopt(self, name: str, runs: Sequence[NewKeyRun], looked_at: np.ndarray) -> None:
        """Let the index of a relation say what others have written, who have judged all of its events by :meth:`judged_by`.

        Args:
            name: the relation's.
            runs: what is new of its keys; none has a key of another one.
            looked_at: codes of rejected rows.
        """
        index = self._index(name)
        self._adopted += [run.path for run in runs]
        index.written += runs
        index.opened += [open_run(self._project.state, index.relation, run) for run in runs]
        index.looked_at.append(np.unique(looked_at))

    def _index(self, name: str) -> _Index:
        if name not in self._indexes:
            self._indexes[name] = self._open(name)
        return self._indexes[name]

    def put(self, name: str, entries: Entries) -> None:
        """Let the index of a relation that was looked at say something else of some keys."""
        index = self._indexes[name]
        index.held.append(entries)
        if sum(run.rows for run in index.held) > HELD_ROWS:
            self._write(index)

    def forget(self, name: str) -> None:
        """Let the index of a relation be built anew with the next append: it does not say what it should."""
        self._indexes.pop(name, None)
        self._catalog.key_indexes.forget(name)

    def _open(self, name: str) -> _Index:
        relation, settings = self._project.relation(name), self._project.keys[name]
        stored = ensure_index(self._project, self._catalog, relation, self._label)
        gone = self._gone if settings.writers == "one" else None
        names = tuple(c.name for c in relation.columns)
        judge = Judge(KeyCodes.of(relation), names, settings.mode, self._epoch, self._coordinator, gone)
        files = tuple(sort_newest_first(stored.runs))
        runs = self._open_runs(relation, files)
        return _Index(relation, judge, stored.version, signature(relation), runs, files)

    @functools.cached_property
    def _gone(self) -> frozenset[int]:
        """The coordinators that have sealed their last epoch: their keys may be taken over."""
        members = self._catalog.members.membership().all
        return frozenset({m.coordinator for m in members} - {m.coordinator for m in members if not m.is_gone})

    def _open_runs(self, relation: Relation, runs: Sequence[KeyRun]) -> list[Run]:
        """All runs of an index, opened.

        Raises:
            Conflict: one was merged meanwhile.
            IntegrityProblem: none was, and a file is gone or damaged.
        """
        try:
            return open_index(self._project.state, relation, runs)
        except Conflict:
            now = self._catalog.key_indexes.index(relation.name)
            if now is None or not {*runs} <= {*now.runs}:
                raise
            missing = (path for run in runs if not (path := self._project.state / run.path).exists())
            place = Place(str(next(missing, self._project.state)), hint_for(relation.name))
            raise say_damaged(place, "its file is missing") from None

    def _write(self, index: _Index) -> None:
        parts = merge_runs(index.judge.key, index.held[::-1], index.judge.names)
        run = self._file.write(index.relation, parts)
        if run is not None:
            index.written.append(run)
            index.opened.append(self._file.read(index.relation, run))
        index.held.clear()

    def finish(self) -> None:
        """Write what is still held; durable from here on, and nothing that others see. A no-op when done before."""
        if not self._is_finished:
            for index in self._indexes.values():
                self._write(index)
            self._file.close()
            self._is_finished = True

    def commit(self, append: Callable[[Sequence[KeyChange]], T]) -> T:
        """Append, and change the indexes in the same transaction.

        If others have changed an index meanwhile, that does not matter as long as they have changed other keys.

        Raises:
            Conflict: they have changed one of these keys; or the append was refused.
        """
        self.finish()
        for attempt in range(ATTEMPTS + 1):
            changes = [KeyChange(n, i.version, i.signature, tuple(i.written)) for n, i in self._indexes.items()]
            try:
                return append(changes)
            except Conflict as conflict:
                if conflict.kind != "keys-moved" or attempt == ATTEMPTS:
                    raise
                self._catch_up(conflict)
            except CumulusError:
                raise
            except BaseException:
                self._may_be_named = True
                raise
        raise AssertionError("the last attempt has returned or raised")

    def _catch_up(self, conflict: Conflict) -> None:
        """Look at what others have added since; the verdicts hold if it has to do with other keys.

        Codes are compared, and not keys: two keys of one code are a conflict that is none, and costs one append more.
        """
        for name, index in self._indexes.items():
            now = self._catalog.key_indexes.index(name)
            if now is None or now.signature != index.signature or now.is_behind:
                raise conflict
            opened = self._open_runs(index.relation, now.runs)
            new = (run for named, run in zip(now.runs, opened, strict=True) if named.last > index.version)
            if any(index.touches(run) for run in new):
                raise conflict
            index.version = now.version


def _find_refused(judged: Judged, events: np.ndarray, refuse: Refuse) -> Rejections:
    """The rows of events that have to do with keys whose row must stay. As it stays, what comes later of the key is refused as well: so one look
    at what was there before the first is enough."""
    there = np.flatnonzero(judged.found.count > 0)
    reasons = refuse(judged.found.rows(there, judged.by.names)) if len(there) else {}
    if not reasons:
        return Rejections()
    key_of = judged.key_of_rows
    of_key = {int(there[place]): reason for place, reason in reasons.items()}
    lost = np.unique(events[np.isin(key_of, list(of_key))])
    where = np.flatnonzero(np.isin(events, lost))
    return Rejections({int(i): Reason(*of_key.get(int(key_of[i]), PART)) for i in where}, {*lost.tolist()})


def leave_out(rows: pa.Table, rejections: Rejections) -> pa.Table:
    """The rows that are not rejected."""
    return rows.filter(pa.array(rejections.accepted(len(rows))))


def rejected_rows(rows: pa.Table, rejections: Rejections) -> pa.Table:
    """The rejected rows as the quarantine has them. Only these are touched one by one. Their places in a file are not known here."""
    where, words = sorted(rejections.reasons), {1: "I", -1: "D", 2: "U"}
    records = []
    for record in rows.take(pa.array(where, pa.int64())).to_pylist():
        op, event = words[record.pop(SIGN)], record.pop(OFFSET)
        records.append(show({**record, "op": op, "event": event}))
    reasons = [rejections.reasons[i] for i in where]
    columns = [[r.kind for r in reasons], [r.text for r in reasons], [None] * len(where), records]
    return pa.table(columns, schema=REJECTED_SCHEMA)


def resolve_rows(rows: pa.Table, places: np.ndarray, old: pa.Table | None, is_new: np.ndarray) -> pa.Table:
    """Upserts and deletes by key as deletes of the old rows and inserts of the new ones, each in the place of its row.

    Args:
        rows: accepted rows of a relation.
        places: of those that take an old row away, ascending.
        old: the rows that these take away; None if there are none.
        is_new: for each row whether it is a new one itself.
    """
    sign = np.ones(len(rows), np.int8)
    if old is None:
        return rows.set_column(rows.column_names.index(SIGN), SIGN, pa.array(sign))
    names = old.column_names
    extra = [c for c in rows.column_names if c not in names and c != SIGN]
    kept = np.flatnonzero(is_new)
    new = rows.take(pa.array(kept)) if len(kept) < len(rows) else rows
    taken = rows.select(extra).take(pa.array(places))
    columns = [_join_columns(old[n], new[n]) for n in names] + [_join_columns(taken[n], new[n]) for n in extra]
    signs = np.concatenate([np.full(len(places), -1, np.int8), sign[kept]])
    # an old row comes before the new one of the same place
    order = np.argsort(np.concatenate([2 * places, 2 * kept + 1]), kind="stable")
    table = pa.table([*columns, pa.array(signs)], names=[*names, *extra, SIGN]).take(pa.array(order))
    return table.select(rows.column_names)


def _join_columns(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Both, one after the other, with the first one's type: plain texts if the other has a dictionary."""
    if pa.types.is_dictionary(second.type):
        second = second.cast(second.type.value_type)
    return pa.chunked_array([*first.chunks, *second.cast(first.type).chunks], first.type)


def _share_code(few: np.ndarray, many: np.ndarray) -> bool:
    """Whether two ascending arrays of codes have one in common."""
    if len(few) == 0 or len(many) == 0 or few[-1] < many[0] or many[-1] < few[0]:
        return False
    if len(few) > len(many):
        few, many = many, few
    at = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return bool((many[at] == few).any())


# What becomes of keys when somebody decides about a batch that was set aside (docs/adr/0018).
#
# While it is aside its events stay in the key index, so that what comes later is judged as if they counted; a retry only moves them to a
# later epoch. A drop takes them out again. Where later events of a key rest on them, taking them out would leave a delete without its row, and
# that much of the batch is appended again: of each such key, the row that was there before it and the row that it has left.


def move(keys: KeyStage, relation: str, rows: pa.Table, batch: Batch, epoch: int) -> None:
    """Rows of a batch that is set aside count in a later epoch: what the index knows of their keys by that batch, it knows from there.

    An index that was built while the batch's log could not be read does not know them, and is built anew."""
    judged = keys.look(relation, rows)
    if len(rows) and (judged.found.run[judged.sign[judged.order.at(_find_ends(judged))] == 1] < 0).any():
        keys.forget(relation)
        return
    mine = np.flatnonzero(judged.found.stamp == stamp_of(batch.epoch, batch.coordinator))
    if len(mine):
        stamps = np.full(len(mine), stamp_of(epoch, batch.coordinator))
        found = judged.found.rows(mine, judged.by.names)
        codes = judged.order.codes[judged.starts[mine]]
        keys.put(relation, Entries(codes, judged.found.count[mine], stamps, found))


def take_out(keys: KeyStage, relation: str, rows: pa.Table, batch: Batch) -> pa.Table:
    """Rows of a batch that is set aside will not count.

    Args:
        keys: where the index is changed.
        relation: whose rows they are.
        rows: all of the batch, as the log has them, in their order.
        batch: the batch.

    Returns:
        those that later events rest on, and that have to be appended again.
    """
    judged = keys.look(relation, rows)
    if len(rows) == 0:
        return rows
    by_bag = judged.by.key.by_coordinator
    back, count, needed = (_weigh_bag if by_bag else _weigh_rows)(judged)
    if len(back):
        first = judged.order.at(judged.starts[back])
        stamps = np.maximum(judged.found.stamp[back], stamp_of(batch.epoch, batch.coordinator))
        old = judged.rows.take(pa.array(first))
        keys.put(relation, Entries(judged.order.codes[judged.starts[back]], count, stamps, old))
    return rows.take(pa.array(np.sort(needed)))


def _find_ends(judged: Judged) -> np.ndarray:
    """The last row of each key, in the order of keys."""
    return np.asarray(np.append(judged.starts[1:], len(judged.rows)) - 1)


def _weigh_rows(judged: Judged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys whose row is again what it was before, how often that is there, and the rows that are needed still.

    Without the batch, what is there is what the index says, less the row that the batch has left, more the row that was there before."""
    names, first, end = list(judged.by.names), judged.order.at(judged.starts), judged.order.at(_find_ends(judged))
    before, after = judged.sign[first] == -1, judged.sign[end] == 1  # whether there was one, and whether there is
    now = judged.found.count > 0
    old, new = judged.rows.take(pa.array(first)), judged.rows.take(pa.array(end))
    changes = (before != after) | (before & ~equal_rows(old, new, names))
    same = now == after
    there = np.flatnonzero(now & after)
    if len(there):
        same[there] = equal_rows(judged.found.rows(there, names), new.take(pa.array(there)), names)
    back, needed = np.flatnonzero(changes & same), changes & ~same
    return back, before[back].astype(np.int64), np.concatenate([first[needed & before], end[needed & after]])


def _weigh_bag(judged: Judged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for rows without a key: how often each would be there without the batch; less than not at all cannot be."""
    nets = np.add.reduceat(judged.ordered_sign.astype(np.int64), judged.starts)
    left = judged.found.count - nets
    back = np.flatnonzero((nets != 0) & (left >= 0))
    needed = np.flatnonzero((left < 0)[judged.key])
    return back, left[back], judged.order.at(needed)
