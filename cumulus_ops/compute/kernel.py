"""Evaluating one statement for many events at once (function ``compute`` of Cumulus paper, Figure 5, set-at-a-time).

A statement is filtered, **grouped**, **joined** and finished. Events that agree in all that the statement carries into its
joins count as one: their products are summed before anything is looked up, so an often repeated key costs what a single
one does. What a chain of reads finds does not depend on the statement's factors or target: it is remembered with the
events, and the statements that read the same maps by the same keys, as the sums and counts of one view do, share it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain as concatenate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute.grouping import FEWEST, Groups, add_up, group_rows, number_rows, sum_groups
from cumulus_ops.compute.vector import Frame, evaluate, select
from cumulus_ops.layout.groups import Group, reorder_reads
from cumulus_ops.layout.statements import Product, ReadPlan, StatementPlan
from cumulus_ops.maps.columns import (
    Taken,
    are_all,
    canonical,
    from_numbers,
    greatest,
    take_rows,
    to_numpy,
)
from cumulus_ops.maps.deltas import (
    VERSION,
    Deltas,
    add_deltas,
    delta_columns,
    multiply,
    value_column,
)
from cumulus_ops.maps.lookup import Slices, find_parts, probe, read_part, sum_points
from cumulus_ops.maps.runs import RunData
from m3.scalars import Scalar

__all__ = ["Events", "Groups", "Sources", "group_rows", "run_statement", "sum_groups"]


#: For the i-th read of a statement: the runs to look in.
Sources = Callable[[int], Sequence[RunData]]

#: How many rows a join has at the most, where nobody says what there is memory for.
LIMIT_ROWS = 2_000_000
#: So many times as many rows of joins are remembered for the events of a relation: some 50 bytes each (loop variables, values), where a join that is made takes 200.
#: Of 1.3 million orders with their lineitems 6 million, which 12 statements of Q9 share.
REMEMBERED = 3
#: Of fewer rows that a read has found nobody asks whether they cancel.
CANCELLED_ROWS = 1 << 16
#: So many requests are asked at the most.
SAMPLED = 1 << 10
#: After all versions.
EVER = np.iinfo(np.int64).max
#: The largest power of ten that an int64 holds has so many zeros.
INT64_DIGITS = 18


@dataclass
class Events:
    """Events of one relation: one column per parameter, the version and the weight of each event.

    The weight is 1 where a statement is for one sign only, and the event's sign where it is for both. What statements
    have in common is remembered: the events that pass their filters, their products, groups and joins. Where a join would have
    more than ``limit_rows`` rows, it is made in parts.

    ``by_version``: reads find later deltas, too, and what an event adds with one has the version of the later of both. So events that no
    read depends on say at once what there is at each version (decision 86)."""

    frame: Frame
    versions: np.ndarray
    weights: np.ndarray
    filtered: dict[tuple[Scalar, ...], tuple[Events, ...]] = field(default_factory=dict)  # none of them: all pass
    products: dict[tuple[Scalar, ...], _Units] = field(default_factory=dict)
    groups: dict[tuple[Scalar, ...], Groups | None] = field(default_factory=dict)
    sums: dict[tuple[int, tuple[Scalar, ...]], np.ndarray] = field(default_factory=dict)
    cancelled: dict[tuple[str, ...], bool] = field(default_factory=dict)
    memory: _Memory = field(default_factory=lambda: _Memory())
    limit_rows: int = LIMIT_ROWS
    by_version: bool = False

    @cached_property
    def newest(self) -> int:
        """The highest of the versions (inclusive)."""
        return greatest(self.versions)

    def cancel(self, names: tuple[str, ...]) -> bool:
        """Whether the weights of events that agree in some columns, and in their versions, always sum to 0. Then they are nothing to whoever looks
        at no other column: an update, which is a delete and an insert, concerns only those that look at what it changes."""
        found = self.cancelled.get(names)
        if found is None:
            columns = [self.frame.columns[name] for name in names] if self._is_balanced else []
            found = self._is_balanced and all(map(self._balances, columns)) and self._cancel_alike(columns)
            self.cancelled[names] = found
        return found

    @cached_property
    def _is_balanced(self) -> bool:
        return not self.weights.sum()

    def _balances(self, column: pa.Array) -> bool:
        """False if a column by itself shows that not all events cancel: most do, and to look at one is a tenth of comparing all. What wraps
        around is still 0 if they cancel."""
        return not (pa.types.is_int64(column.type) and not column.null_count and to_numpy(column) @ self.weights)

    def _cancel_alike(self, columns: Sequence[pa.Array]) -> bool:
        if self.frame.rows == 0:
            return True
        alike = [from_numbers(self.versions), *columns]
        numbers, count = number_rows(np.zeros(self.frame.rows, np.int64), 1, alike)
        return not add_up(count, numbers, self.weights).any()

    def where(self, conditions: tuple[Scalar, ...]) -> Events:
        """The events that satisfy all conditions."""
        if not conditions:
            return self
        found = self.filtered.get(conditions)
        if found is None:
            rows = select(conditions, self.frame)
            assert rows is not None
            # Itself would be a cycle, which the garbage collector alone ends: until then all that was found for the events stayed in memory.
            found = self.filtered[conditions] = () if len(rows) == self.frame.rows else (self.at(rows),)
        return found[0] if found else self

    def at(self, rows: np.ndarray) -> Events:
        """The events at the given positions."""
        return Events(
            self.frame.take(rows),
            self.versions[rows],
            self.weights[rows],
            memory=self.memory,
            limit_rows=self.limit_rows,
            by_version=self.by_version,
        )


@dataclass(eq=False)  # not frozen: made for each product, and three times as fast
class _Units:
    """The weights times some factors; ``counts`` says for which events, None for all: a NULL factor adds nothing."""

    units: np.ndarray
    counts: np.ndarray | None


@dataclass(eq=False)  # not frozen: made for each look-up, and three times as fast
class _Joined:
    """Events joined with what a chain of reads has found. Row i belongs to event ``origin[i]`` (None: to event i), has
    the loop variables ``loops``, and in ``found`` the products of the values that were read, by the value columns that they
    are of (the empty product is left out: it is 1). ``versions`` are the latest of the event's and of all that was found, None if they are the event's.
    ``is_kept``: it is remembered. ``columns`` are carried columns that were needed so far."""

    origin: np.ndarray | None
    rows: int
    loops: Mapping[str, pa.Array]
    found: Mapping[tuple[str, ...], np.ndarray]
    versions: np.ndarray | None = None
    is_kept: bool = True
    columns: dict[str, pa.Array] = field(default_factory=dict)

    def take(self, rows: np.ndarray) -> _Joined:
        return _Joined(
            rows if self.origin is None else self.origin[rows],
            len(rows),
            Taken(self.loops, rows) if self.loops else self.loops,
            {names: units[rows] for names, units in self.found.items()},
            None if self.versions is None else self.versions[rows],
            self.is_kept,
        )

    def versions_in(self, events: Events) -> np.ndarray:
        """The version of each row."""
        if self.versions is not None:
            return self.versions
        return events.versions if self.origin is None else events.versions[self.origin]


class _Memory:
    """What chains of reads have found for some events, as long as there is room. A read of a chain is known by what was found before it and by its runs,
    by their identities; they are kept alive with it: nothing else can have the identity of what is not gone."""

    def __init__(self) -> None:
        self._joins: dict[object, tuple[Sequence[_Joined], object]] = {}
        self._rows = 0
        self._begun = _Joined(None, 0, {}, {})

    def begin(self, joined: _Joined) -> None:
        """Note where the next chain begins. Columns of many events or groups for which nothing is found yet are not kept beyond their statement, for they are not counted."""
        if joined is not self._begun:
            if self._begun.rows > FEWEST:
                self._begun.columns.clear()
            self._begun = joined

    def get(self, key: object) -> Sequence[_Joined]:
        found = self._joins.get(key)
        return () if found is None else found[0]

    def keep(self, key: object, found: Sequence[_Joined], alive: object, most: int) -> None:
        # All at once, not the oldest: a statement's chain extends its own beginning, and those who share one come one after the other. The beginning itself
        # is of the events or their groups, which are there anyway: of 2 million events it alone would leave no room for what is found by them. It stays, for
        # what extends it is known by it.
        own = sum([joined.rows for joined in found if joined.found])
        if self._rows + own > most:
            self._joins = {k: kept for k, kept in self._joins.items() if not kept[0][0].found}
            self._rows = 0
        self._joins[key] = found, alive
        self._rows += own


def run_statement(
    plan: StatementPlan, group: Group, events: Events, sources: Sources, first: int | None = None
) -> Deltas | None:
    """The deltas of ``plan``'s target for all ``events``, not yet summed.

    Args:
        plan: the statement.
        group: its target.
        events: events of its relation and sign.
        sources: the runs for each read.
        first: a read to do before the others, because few keys match it (only where reads may be reordered).

    Returns:
        deltas of the target, or None when there is nothing to add.
    """
    if events.cancel(plan.parameters):
        return None
    chosen = events.where(plan.conditions)
    if chosen.frame.rows == 0:
        return None
    chain = _plan_chain(plan, sources, first)
    if chain is None:
        return None
    # Where all products are 0 or NULL for all events, nothing is added: that is known before any look-up.
    if chain.steps and all(
        p.factors and not _clear_uncounted(_multiply_factors(chosen, p.factors)).any() for p in plan.products
    ):
        return None
    return _run_events(plan, group, chosen, chain)


def _run_events(plan: StatementPlan, group: Group, chosen: Events, chain: _Chain) -> Deltas | None:
    # Grouped by versions too, since events read the state before their own version. All that the statement carries into its joins has
    # to agree, and nothing else: products are summed within a group before anything is looked up. None: each is its own group.
    groups = None
    if chosen.frame.rows >= FEWEST:
        carried = plan.carried_scalars
        if carried not in chosen.groups:
            columns = [evaluate(scalar, chosen.frame) for scalar in carried]
            chosen.groups[carried] = group_rows(columns, chosen.versions)
        groups = chosen.groups[carried]
    return _run_reads(plan, group, chosen, groups, chain, _begin_chain(plan, chosen, groups, chain))


def _run_reads(
    plan: StatementPlan,
    group: Group,
    events: Events,
    groups: Groups | None,
    chain: _Chain,
    joined: _Joined,
    done: int = 0,
) -> Deltas | None:
    """The deltas for what the first ``done`` reads of the chain have found."""
    if not joined.rows:
        return None
    if done == len(chain.steps):
        return _finish_deltas(plan, group, events, groups, joined, chain)
    found, rows, most = list[Deltas](), 0, events.limit_rows
    for part in _find_next(plan, *chain.steps[done], events, joined):
        deltas = _run_reads(plan, group, events, groups, chain, part, done + 1)
        if deltas is None:
            continue
        found.append(deltas)
        rows += len(deltas)
        if rows > most and len(found) > 1:
            found = [add_deltas(found)]
            rows = len(found[0])
            most = max(most, 2 * rows)
    return add_deltas(found) if len(found) > 1 else found[0] if found else None


@dataclass(frozen=True)
class _Chain:
    """Reads in the order in which they are done, with their runs; and for each product the value columns that it takes."""

    steps: tuple[tuple[ReadPlan, tuple[RunData, ...]], ...]
    taken: tuple[tuple[str, ...], ...]


def _plan_chain(plan: StatementPlan, sources: Sources, first: int | None) -> _Chain | None:
    """None where a read has nothing to find."""
    order = list(range(len(plan.reads)))
    reads, taken = plan.reads, tuple(product.reads for product in plan.products)
    if first is not None and plan.reorderable:
        order.remove(first)
        order.insert(0, first)
        # A correction starts from the few keys that have changed, whatever place they have in the statement: with the reads in their own
        # order it would first find everything that the events match, most of which has not changed.
        reads, taken = reorder_reads(plan, order)
    steps = []
    for i, read in zip(order, reads, strict=True):
        runs = tuple(sources(i))
        if not runs:  # a factor that is 0 everywhere: so is the product
            return None
        steps.append((read, runs))
    return _Chain(tuple(steps), taken)


def _begin_chain(plan: StatementPlan, events: Events, groups: Groups | None, chain: _Chain) -> _Joined:
    # What is found depends on the events, the order of reads, and the runs, by their identities: a batch's own deltas are other runs
    # in each round of a cycle. Each beginning of a chain is remembered by itself, so statements share as far as they agree.
    key = (id(events), id(groups), plan.offset)
    known = events.memory.get(key)
    if not known:
        first = None if groups is None else groups.first
        known = (_Joined(first, events.frame.rows if first is None else len(first), {}, {}),)
        if chain.steps:
            events.memory.keep(key, known, None, REMEMBERED * events.limit_rows)
    (joined,) = known
    events.memory.begin(joined)
    return joined


def _find_next(
    plan: StatementPlan, read: ReadPlan, runs: tuple[RunData, ...], events: Events, joined: _Joined
) -> Iterable[_Joined]:
    """What the next read of a chain finds, in parts. If these are few they are remembered, else each is made when it is asked for, and nothing that follows from it is
    remembered either: it would not be found by what will be made the next time."""
    key = (id(joined), read, tuple(map(id, runs)))
    known = events.memory.get(key)
    if known:
        return known
    parts = _join(plan, read, events, joined, runs)
    first = next(parts)
    if not first.is_kept:
        return concatenate([first], parts)
    found = [first, *parts]
    events.memory.keep(key, found, (joined, runs), REMEMBERED * events.limit_rows)
    return found


def _join(
    plan: StatementPlan, read: ReadPlan, events: Events, joined: _Joined, runs: tuple[RunData, ...]
) -> Iterator[_Joined]:
    frame = _build_frame(plan, events, joined, read.needed)
    versions = joined.versions_in(events)
    before = np.full(joined.rows, EVER) if events.by_version else versions + (plan.offset + read.after)
    request = probe([evaluate(b, frame) for b in read.bound], before)
    if not read.free and not events.by_version:
        # All key columns are known: one entry for each row, whose deltas are summed in the look-up. A row stays if any value is not 0:
        # one of them may be the count of a view whose sum is 0.
        totals = sum_points(runs, read.columns, request)
        hit = reduce(np.logical_or, [total != 0 for total in totals.values()]).nonzero()[0]
        yield _extend(read, joined, hit, {name: total[hit] for name, total in totals.items()}, {}, None, joined.is_kept)
        return
    parts = find_parts(runs, request, events.limit_rows)
    is_kept = joined.is_kept and len(parts) <= REMEMBERED
    for part in parts:
        slices, at = read_part(part, read.columns, read.places_free, request, with_versions=events.by_version)
        if at is None and len(slices.request) > joined.rows and (plan.is_long or _cancels(slices, joined.rows)):
            slices = _sum_entries(slices, joined.rows)
        hit = slices.request
        loops, kept = _bind(read, joined.loops, slices.free, hit)
        latest = None if at is None else np.maximum(at, versions[hit])
        result = _extend(read, joined, hit, slices.values, loops, latest, is_kept)
        yield result if kept is None else result.take(kept)


def _extend(
    read: ReadPlan,
    joined: _Joined,
    hit: np.ndarray,
    found: Mapping[str, np.ndarray],
    loops: Mapping[str, pa.Array],
    latest: np.ndarray | None,
    is_kept: bool,
) -> _Joined:
    """What was joined, with what a read has found for its rows ``hit``: values, loop variables and, unless they are the events', the versions."""
    next_ = joined.take(hit)
    products = {
        taken: found[taken[-1]] if len(taken) == 1 else multiply(next_.found[taken[:-1]], found[taken[-1]])
        for taken in read.taken
    }
    bound = ChainMap(loops, next_.loops) if loops and next_.loops else loops or next_.loops  # type: ignore[arg-type]
    return _Joined(next_.origin, len(hit), bound, products, latest, is_kept)


def _cancels(slices: Slices, requests: int) -> bool:
    """Whether a third of what was found or more cancels, by the entries of :data:`SAMPLED` requests at the most: an order that goes with its lineitems
    finds each of these twice, with one sign and with the other, for nothing."""
    if len(slices.request) < CANCELLED_ROWS:
        return False
    asked = np.zeros(requests, bool)
    asked[slices.request[:: -(-len(slices.request) // SAMPLED)]] = True
    rows = asked[slices.request].nonzero()[0]
    free = tuple(take_rows(column, rows) for column in slices.free)
    sample = Slices(slices.request[rows], free, {name: units[rows] for name, units in slices.values.items()})
    return 3 * len(_sum_entries(sample, requests).request) < 2 * len(rows)


def _sum_entries(slices: Slices, requests: int) -> Slices:
    """One row for each entry of a request whose deltas do not cancel.

    Products are linear in deltas, so unsummed ones would be right, too. But an entry that is replaced often, as the one of a scalar
    subquery is, has k of them, and a chain of n such reads has k to the n rows, nearly all of which cancel."""
    numbers, count = number_rows(slices.request, requests, slices.free)
    first = np.full(count, -1)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    groups = Groups(numbers, first)
    sums = {name: sum_groups(groups, units, None) for name, units in slices.values.items()}
    left = np.flatnonzero(np.logical_or.reduce([units != 0 for units in sums.values()]))
    rows = first[left]
    free = tuple(take_rows(column, rows) for column in slices.free)
    return Slices(slices.request[rows], free, {name: units[left] for name, units in sums.items()})


def _bind(
    read: ReadPlan, loops: Mapping[str, pa.Array], values: Sequence[pa.Array], hit: np.ndarray
) -> tuple[dict[str, pa.Array], np.ndarray | None]:
    """Bind loop variables; one that is bound already, or occurs twice in the read, must have equal values there."""
    kept: pa.Array | None = None
    fresh: dict[str, pa.Array] = {}
    for (_, name), value in zip(read.free, values, strict=True):
        known = fresh.get(name)
        if known is None and name in loops:
            known = take_rows(loops[name], hit)
        if known is None:
            fresh[name] = value
            continue
        both_null = pc.and_(pc.is_null(known), pc.is_null(value))
        same = pc.or_(pc.fill_null(pc.equal(known, value), False), both_null)
        kept = same if kept is None else pc.and_(kept, same)
    return fresh, None if kept is None else np.flatnonzero(kept.to_numpy(zero_copy_only=False))


def _build_frame(plan: StatementPlan, events: Events, joined: _Joined, names: Sequence[str]) -> Frame:
    """The columns that some expressions need: loop variables, and what the events carry."""
    # Carried columns come late, when an expression needs them, and for the rows that are left by then; most are never needed.
    columns = {}
    for name in names:
        if name in joined.loops:
            columns[name] = joined.loops[name]
            continue
        if name not in joined.columns:
            column = evaluate(plan.scalars[name], events.frame)
            joined.columns[name] = column if joined.origin is None else take_rows(column, joined.origin)
        columns[name] = joined.columns[name]
    return Frame(columns, joined.rows)


def _finish_deltas(
    plan: StatementPlan, group: Group, events: Events, groups: Groups | None, joined: _Joined, chain: _Chain
) -> Deltas | None:
    columns = [
        _multiply_early(plan, product, events, groups, joined, taken)
        for product, taken in zip(plan.products, chain.taken, strict=True)
    ]
    frame = _build_frame(plan, events, joined, plan.needed_late)
    rows = select(plan.late_conditions, frame)
    if rows is not None:
        columns, joined, frame = [units[rows] for units in columns], joined.take(rows), frame.take(rows)
    for factor, users in plan.late_factors.items():
        _multiply_late(plan, factor, frame, columns, users)
    return _build_deltas(plan, group, events, groups, joined, frame, columns)


def _multiply_late(
    plan: StatementPlan, factor: Scalar, frame: Frame, columns: list[np.ndarray], users: Sequence[int]
) -> None:
    """Multiply some products by a factor, which is looked at only where one of them is not 0: SQL's meaning does not evaluate it for rows
    that do not count, and it may fail for them (a division by 0)."""
    rows = reduce(np.logical_or, [columns[i] != 0 for i in users]).nonzero()[0]
    whole = len(rows) == frame.rows
    value = evaluate(factor, frame if whole else frame.take(rows))
    for i in users:
        for _ in range(plan.products[i].late_factors.count(factor)):  # x * x has it twice
            units = _clear_uncounted(_multiply_units(columns[i] if whole else columns[i][rows], value))
            columns[i] = units if whole else np.zeros(frame.rows, units.dtype)
            if not whole:
                columns[i][rows] = units


def _build_deltas(
    plan: StatementPlan,
    group: Group,
    events: Events,
    groups: Groups | None,
    joined: _Joined,
    frame: Frame,
    columns: Sequence[np.ndarray],
) -> Deltas | None:
    """The deltas of the rows that add something."""
    some = columns[0] != 0
    for units in columns[1:]:
        if are_all(some):
            break
        some |= units != 0
    if not are_all(some):
        rows = some.nonzero()[0]
        columns, joined, frame = [units[rows] for units in columns], joined.take(rows), frame.take(rows)
    if frame.rows == 0:
        return None
    keys = {key.name: canonical(evaluate(k, frame)) for key, k in zip(group.keys, plan.keys, strict=True)}
    versions = joined.versions_in(events) + plan.offset
    values = {product.map: units for product, units in zip(plan.products, columns, strict=True)}
    summands = {value_column(name): values[name] for name in group.members}
    # Whoever sums the deltas need not group them if no two rows can have one key: there is one row for each group of events, and all that
    # tells groups apart is among the keys. Not so of doubles: 0.0 and -0.0 are two groups, and one key.
    is_distinct = (
        groups is not None and plan.tells_apart and not any(pa.types.is_floating(k.type) for k in keys.values())
    )
    return Deltas(delta_columns({**keys, VERSION: from_numbers(versions)}, summands), is_distinct)


def _multiply_early(
    plan: StatementPlan,
    product: Product,
    events: Events,
    groups: Groups | None,
    joined: _Joined,
    taken: tuple[str, ...],
) -> np.ndarray:
    """For each row the product of weights, early factors and what was read."""
    if groups is None:
        units, place = _clear_uncounted(_multiply_factors(events, product.factors)), joined.origin
    else:
        key = (id(groups), product.factors)
        known = events.sums.get(key)
        if known is None:
            single = _multiply_factors(events, product.factors)
            known = events.sums[key] = sum_groups(groups, single.units, single.counts)
        units = known
        place = groups.number[joined.origin] if joined.origin is not None else groups.number
    units = units if place is None else units[place]
    if product.shift:  # decimal places that the factors lack
        units = multiply(units, np.array([10**product.shift], np.int64 if product.shift <= INT64_DIGITS else object))
    return multiply(units, joined.found[taken]) if taken else units


def _multiply_factors(events: Events, factors: tuple[Scalar, ...]) -> _Units:
    """The events' weights times their early factors."""
    known = events.products.get(factors)
    if known is None:
        product = _Units(events.weights, None)
        for factor in factors:
            step = _multiply_units(product.units, evaluate(factor, events.frame))
            counts = step.counts
            # Events that have a NULL factor keep some number, and are left out in the end: a zero in their place would be told from
            # no value by nobody, but would have to be written at each factor.
            if counts is not None and product.counts is not None:
                counts = np.intersect1d(counts, product.counts, assume_unique=True)
            product = _Units(step.units, product.counts if counts is None else counts)
        known = events.products[factors] = product
    return known


def _multiply_units(units: np.ndarray, factor: pa.Array) -> _Units:
    """Units times a factor; a NULL factor contributes nothing, like a row that SUM skips."""
    counts = np.flatnonzero(factor.is_valid().to_numpy(zero_copy_only=False)) if factor.null_count else None
    return _Units(multiply(units, to_numpy(factor)), counts)


def _clear_uncounted(product: _Units) -> np.ndarray:
    """The units, 0 where they do not count."""
    if product.counts is None:
        return product.units
    units = np.zeros_like(product.units)
    units[product.counts] = product.units[product.counts]
    return units
