"""Lists of views: made of the entries of their maps when a view is read, for all rows at once; and their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute.collected import make_lists
from cumulus_ops.compute.vector import Frame
from cumulus_ops.maps.columns import to_numpy
from cumulus_ops.maps.lookup import Slices
from cumulus_ops.query.partitions import Partitions
from m3.program import MapDecl, ViewList

__all__ = ["collect_lists", "rank_lists"]


def collect_lists(made: ViewList, decl: MapDecl, entries: pa.Table, rows: Frame) -> pa.Array:
    """A list for each row of a view: the entries are sorted by groups as a whole, and rows take theirs.

    Args:
        made: which list.
        decl: its map.
        entries: of the map: its keys ``#0``, ``#1``, .., and how often each is there under its name.
        rows: the view's keys.
    """
    width = len(made.at)
    keys = [entries[f"#{i}"].combine_chunks() for i in range(len(decl.keys))]
    if width:
        held = [rows.columns[name] for name in made.at]
        distinct = pa.table(held, list(made.at)).group_by(list(made.at), use_threads=False).aggregate([])
        groups = Partitions(tuple(distinct[name].combine_chunks() for name in made.at))
        request, place, number = groups.place(keys[:width]), groups.place(held), len(groups)
    else:
        request, place, number = np.zeros(len(entries), np.int64), np.zeros(rows.rows, np.int64), 1
    wanted = np.flatnonzero(request >= 0)
    free = tuple(column.take(pa.array(wanted)) for column in keys[width:])
    counts = to_numpy(entries[made.map].combine_chunks())[wanted]
    found = Slices(request[wanted], free, {made.map: counts})
    lists = make_lists(made, decl.keys[-1].type, found, number)
    return lists if np.array_equal(place, np.arange(number)) else lists.take(pa.array(place))


def rank_lists(lists: pa.Array) -> pa.Array:
    """Numbers in the order of lists, the same for equal ones: the first elements that differ decide, NULL is the least, and a list comes
    before those that it is the beginning of. NULL stays NULL.

    >>> rank_lists(pa.array([[2], [1, 5], None, [1], [], [1, None], [1, 5]])).to_pylist()
    [6, 4, None, 2, 0, 3, 4]
    """
    values = lists.flatten()
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    elements = np.where(values.is_null().to_numpy(zero_copy_only=False), 0, ranks)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    rank, tied, at = np.zeros(len(lists), np.int64), np.arange(len(lists)), 0
    while len(tied):
        # rows of one rank are told apart by their next elements; a list that has ended comes first, and is equal to all that end there
        longer = at < lengths[tied]
        element = np.full(len(tied), -1)
        element[longer] = elements[starts[tied][longer] + at]
        order = np.lexsort((element, rank[tied]))
        tied, element = tied[order], element[order]
        place = np.arange(len(tied))
        new = np.concatenate([[True], np.diff(rank[tied]) > 0])
        differs = new | np.concatenate([[True], np.diff(element) != 0])
        first, group = (np.maximum.accumulate(np.where(begins, place, 0)) for begins in (differs, new))
        rank[tied] += first - group
        alone = differs & np.concatenate([differs[1:], [True]])
        tied, at = tied[~alone & (element >= 0)], at + 1
    return pa.array(rank, mask=lists.is_null().to_numpy(zero_copy_only=False))
