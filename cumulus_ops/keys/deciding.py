"""What becomes of keys when somebody decides about a batch that was set aside (docs/adr/0018).

While it is aside its events stay in the key index, so that what comes later is judged as if they counted; a retry only moves them to a
later epoch. A drop takes them out again. Where later events of a key rest on them, taking them out would leave a delete without its row, and
that much of the batch is appended again: of each such key, the row that was there before it and the row that it has left.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Batch
from cumulus_ops.keys.columns import equal_rows
from cumulus_ops.keys.runs import Entries, stamp_of
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.keys.verdicts import Judged

__all__ = ["move", "take_out"]


def move(keys: KeyStage, relation: str, rows: pa.Table, batch: Batch, epoch: int) -> None:
    """Rows of a batch that is set aside count in a later epoch: what the index knows of their keys by that batch, it knows from there.

    An index that was built while the batch's log could not be read does not know them, and is built anew."""
    judged = keys.look(relation, rows)
    if len(rows) and (judged.found.run[judged.sign[judged.order.at(_ends(judged))] == 1] < 0).any():
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
    back, count, needed = (_bag if by_bag else _rows)(judged)
    if len(back):
        first = judged.order.at(judged.starts[back])
        stamps = np.maximum(judged.found.stamp[back], stamp_of(batch.epoch, batch.coordinator))
        old = judged.rows.take(pa.array(first))
        keys.put(relation, Entries(judged.order.codes[judged.starts[back]], count, stamps, old))
    return rows.take(pa.array(np.sort(needed)))


def _ends(judged: Judged) -> np.ndarray:
    return np.asarray(np.append(judged.starts[1:], len(judged.rows)) - 1)


def _rows(judged: Judged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys whose row is again what it was before, how often that is there, and the rows that are needed still.

    Without the batch, what is there is what the index says, less the row that the batch has left, more the row that was there before."""
    names, first, end = list(judged.by.names), judged.order.at(judged.starts), judged.order.at(_ends(judged))
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


def _bag(judged: Judged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for rows without a key: how often each would be there without the batch; less than not at all cannot be."""
    nets = np.add.reduceat(judged.ordered_sign.astype(np.int64), judged.starts)
    left = judged.found.count - nets
    back = np.flatnonzero((nets != 0) & (left >= 0))
    needed = np.flatnonzero((left < 0)[judged.key])
    return back, left[back], judged.order.at(needed)
