"""Random choices by named features: what a query uses is recorded, and can be switched off."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Feature -> how likely it is: a probability where it stands alone, a weight among alternatives.
FEATURES: Mapping[str, float] = {
    # the block
    "block.plain": 2, "block.distinct": 1, "block.grouped": 3, "block.total": 1.5, "block.window": 1.3,
    "block.grouping_sets": 1, "block.group_only": 0.4, "select.star": 0.06,
    # where the rows come from
    "from.join": 0.55, "from.third": 0.3, "from.derived": 0.2, "from.with": 0.3, "with.twice": 0.4, "with.nested": 0.3,
    "join.inner": 2, "join.left": 2, "join.right": 1, "join.full": 1, "join.cross": 0.6, "join.comma": 0.15,
    "from.series": 0.08, "series.up": 1, "series.steps": 0.7, "series.to_count": 0.7, "series.list": 1,
    "join.using": 1, "join.using.merged": 0.6, "join.theta": 0.25, "join.on_extra": 0.22, "join.self": 0.2,
    # the rows that are kept
    "where": 0.42, "pred.compare": 4, "pred.null": 1, "pred.between": 0.7, "pred.in": 0.7, "pred.in_null": 0.15,
    "pred.not_in": 0.4, "pred.like": 0.6, "pred.not_like": 0.3, "pred.and": 0.6, "pred.or": 1, "pred.not": 0.8,
    "pred.bool": 0.4, "pred.distinct_from": 0.3, "pred.case": 0.3, "pred.is_true": 0.3,
    # scalars
    "scalar.arith": 2, "scalar.case": 1, "scalar.coalesce": 1, "scalar.nullif": 0.5, "scalar.neg": 0.4,
    "scalar.extract": 0.6, "scalar.concat": 1, "scalar.case_fold": 0.7, "scalar.substring": 0.7,
    "scalar.date_add": 1.5, "scalar.division": 0.06, "scalar.bool_value": 0.3,
    # what may fail, and numbers of many digits
    "fail.mod": 2, "fail.cast": 0.7, "fail.overflow": 0.5, "fail.date": 1, "fail.guarded": 0.5, "fail.division": 0.4,
    "scalar.wide": 0.3,
    # groups and aggregates
    "group.expression": 0.25, "having": 0.25, "agg.sum": 3, "agg.count_star": 2, "agg.count": 2, "agg.avg": 1.3,
    "agg.min": 1.3, "agg.max": 1.3, "agg.stddev": 0.3, "agg.variance": 0.3, "agg.ordered": 0.8, "agg.list": 0.12, "agg.distinct": 0.2, "agg.filter": 0.15,
    "agg.expression": 0.25, "group.rollup": 1, "group.cube": 1, "group.sets": 1, "group.grouping_fn": 0.3,
    # set operations
    "set": 0.2, "set.union": 1, "set.union_all": 1.5, "set.except": 1, "set.intersect": 1, "set.except_all": 0.8,
    "set.intersect_all": 0.7, "set.third": 0.35,
    # subqueries
    "sub.where": 0.45, "sub.select": 0.25, "sub.having": 0.25, "sub.exists": 1.5, "sub.not_exists": 1.5, "sub.in": 1.2,
    "sub.not_in": 1.2, "sub.any": 0.8, "sub.all": 0.6, "sub.scalar": 2, "sub.under_or": 0.25, "sub.count": 0.6,
    "sub.key_lookup": 0.25, "sub.select_exists": 0.3, "correlated": 0.75, "correlated.theta": 0.25,
    "correlated.twice": 0.15, "correlated.deep": 0.6,
    # windows
    "window.row_number": 1, "window.rank": 1, "window.dense_rank": 1, "window.lag": 1, "window.lead": 1,
    "window.aggregate": 2, "window.moment": 0.3, "window.filter": 0.2, "window.range": 0.25, "window.running": 0.5, "window.rows_frame": 0.5, "window.partition": 0.6,
    "window.grouped": 0.08,
    # the order of the result
    "order": 0.15, "order.desc": 0.4, "order.nulls": 0.15, "limit": 0.6, "offset": 0.4, "limit.derived": 0.15,
}  # fmt: skip
#: These need another block.
NESTING = {
    "from.derived", "from.with", "with.nested", "set", "set.third", "sub.where", "sub.select", "sub.having",
}  # fmt: skip
#: A third or so of the features is off for each seed, so that the others meet more often; these never are.
ALWAYS = {"block.plain", "block.grouped", "join.inner", "pred.compare", "agg.sum", "from.join", "where", "correlated"}
OFF = 0.35


class Draw:
    """Seeded choices.

    Args:
        seed: of the random choices.
        without: features that must not be used.
    """

    def __init__(self, seed: int, without: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self.used: set[str] = set()
        #: How many blocks the query may get beyond its first one.
        self.more_blocks = self.random.choice([0, 1, 1, 2, 2, 3, 4])
        self._begun = False
        self.enabled = {f for f in FEATURES if f in ALWAYS or self.random.random() >= OFF}
        self.enabled = {f for f in self.enabled if not any(f == w or f.startswith(f"{w}.") for w in without)}
        if self.random.random() < 0.5:  # else most views would be in error, and nothing compared
            self.enabled = {f for f in self.enabled if not f.startswith("fail.")}
        self._names = 0

    def begin_block(self) -> None:
        """One more SELECT."""
        self.more_blocks -= self._begun
        self._begun = True

    def maybe(self, feature: str) -> bool:
        """Whether an optional feature is used."""
        chosen = self.random.random() < FEATURES[feature] and feature in self.enabled
        chosen = chosen and (self.more_blocks > 0 or feature not in NESTING)
        if chosen:
            self.used.add(feature)
        return chosen

    def pick(self, *features: str) -> str:
        """One of several alternatives; the first when all are off."""
        possible = [f for f in features if f in self.enabled] or list(features[:1])
        chosen = self.random.choices(possible, [FEATURES[f] for f in possible])[0]
        self.used.add(chosen)
        return chosen

    def one(self, options: Sequence[T]) -> T:
        """One of several values."""
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    def name(self, prefix: str) -> str:
        """A new name."""
        self._names += 1
        return f"{prefix}{self._names}"
