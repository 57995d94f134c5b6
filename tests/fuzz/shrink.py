"""Failures made small: parts of the query and of the stream are dropped as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tests.fuzz.checker import Verdict, check
from tests.fuzz.database import Database
from tests.fuzz.queries import Made
from tests.fuzz.schema import BY_NAME, Batch, Row

TRUTH = (exp.Predicate, exp.Connector, exp.Not)
CLAUSES = ("where", "having", "order", "limit", "offset", "distinct", "group", "with_")


@dataclass(frozen=True)
class Failure:
    """A query and a stream that fail together."""

    made: Made
    batches: tuple[Batch, ...]
    verdict: Verdict


@dataclass
class Shrinker:
    """Greedy and bounded in time.

    Args:
        database: to run the candidates against.
        limit_s: stop after that long, with the smallest failure so far.
    """

    database: Database
    limit_s: float = 20.0

    def shrink(self, failure: Failure) -> Failure:
        """The smallest failure found."""
        self._deadline = time.monotonic() + self.limit_s
        steps: Sequence[Callable[[Failure], Iterator[Failure]]] = (_fewer_batches, _smaller_queries, _fewer_events)
        changed = True
        while changed:
            changed = False
            for step in steps:
                failure, smaller = self._exhaust(failure, step)
                changed = changed or smaller
        return failure

    def _exhaust(self, failure: Failure, step: Callable[[Failure], Iterator[Failure]]) -> tuple[Failure, bool]:
        changed = False
        while (smaller := self._first(failure, step(failure))) is not None:
            failure, changed = smaller, True
        return failure, changed

    def _first(self, failure: Failure, candidates: Iterator[Failure]) -> Failure | None:
        for candidate in candidates:
            if time.monotonic() > self._deadline:
                return None
            try:
                verdict = check(candidate.made, candidate.batches, self.database)
            except ValueError:  # an event deletes what is not there
                continue
            if (verdict.outcome, verdict.kind) == (failure.verdict.outcome, failure.verdict.kind):
                return replace(candidate, verdict=verdict)
        return None


def _fewer_batches(failure: Failure) -> Iterator[Failure]:
    batches = failure.batches
    if 0 <= failure.verdict.batch < len(batches):
        yield replace(failure, batches=batches[: failure.verdict.batch])
    if len(batches) > 1:
        yield replace(failure, batches=([event for batch in batches for event in batch],))
    for i in range(len(batches)):
        yield from _valid(failure, (*batches[:i], *batches[i + 1 :]))


def _fewer_events(failure: Failure) -> Iterator[Failure]:
    for i, batch in enumerate(failure.batches):
        for j, event in enumerate(batch):
            rest = [e for k, e in enumerate(batch) if k != j]
            yield from _valid(failure, (*failure.batches[:i], rest, *failure.batches[i + 1 :]))
            opposite = (-event[0], *event[1:])
            if event[0] > 0 and opposite in rest:
                rest.remove(opposite)
                yield from _valid(failure, (*failure.batches[:i], rest, *failure.batches[i + 1 :]))


def _valid(failure: Failure, batches: tuple[Batch, ...]) -> Iterator[Failure]:
    """The failure with other batches, if these delete only what is there and respect the keys."""
    live: list[tuple[str, Row]] = []
    for sign, relation, row in (event for batch in batches for event in batch):
        if sign > 0 and BY_NAME[relation].key and any(r == relation and o[0] == row[0] for r, o in live):
            return
        if sign > 0:
            live.append((relation, row))
        elif (relation, row) in live:
            live.remove((relation, row))
        else:
            return
    yield replace(failure, batches=batches)


def _smaller_queries(failure: Failure) -> Iterator[Failure]:
    try:
        tree = parse_one(failure.made.sql, dialect="duckdb")
    except SqlglotError:
        return
    seen = {failure.made.sql}
    for candidate in _candidates(tree):
        sql = candidate.sql(dialect="duckdb")
        if sql not in seen and len(sql) < len(failure.made.sql) and _is_definite(candidate):
            seen.add(sql)
            yield replace(failure, made=replace(failure.made, sql=sql, ordered=is_ordered(candidate)))


def is_ordered(tree: exp.Expr) -> bool:
    """Whether a query orders by as many expressions as it has columns: the fuzzer's queries do so, or not at all."""
    order = tree.args.get("order")
    return order is not None and len(order.expressions) >= len(tree.selects)  # type: ignore[attr-defined]


def _is_definite(tree: exp.Expr) -> bool:
    """No LIMIT without a total order."""
    return all(is_ordered(limit.parent) for limit in tree.find_all(exp.Limit, exp.Offset) if limit.parent)


def _candidates(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Smaller trees: a subquery alone, a clause, join or column less, an expression replaced by a part of it."""
    yield from (query.copy() for query in tree.find_all(exp.Select, exp.SetOperation) if query is not tree)
    for place, node in enumerate(tree.walk()):
        if isinstance(node, exp.Select | exp.SetOperation):
            yield from _without_clauses(tree, place, node)
        elif node.find_ancestor(exp.Window) is None and isinstance(node, exp.Condition | exp.Subquery):
            yield from _without_operators(tree, place, node)


def _at(tree: exp.Expr, place: int) -> tuple[exp.Expr, exp.Expr]:
    """A copy, and its node at a place of the walk."""
    copy = tree.copy()
    return copy, next(node for i, node in enumerate(copy.walk()) if i == place)


def _without_clauses(tree: exp.Expr, place: int, node: exp.Expr) -> Iterator[exp.Expr]:
    for clause in CLAUSES:
        if node.args.get(clause):
            copy, target = _at(tree, place)
            target.set(clause, None)
            yield copy
    for part in ("joins", "expressions"):
        for i in range(len(node.args.get(part) or ())):
            if part == "joins" or len(node.args[part]) > 1:
                copy, target = _at(tree, place)
                target.args[part].pop(i)
                yield copy


def _without_operators(tree: exp.Expr, place: int, node: exp.Expr) -> Iterator[exp.Expr]:
    for i in range(len(_parts(node))):
        copy, target = _at(tree, place)
        part = _parts(target)[i]
        target.replace(part.args["true"] if isinstance(part, exp.If) else part)
        yield copy
    if isinstance(node, TRUTH):
        copy, target = _at(tree, place)
        target.replace(exp.true())
        yield copy


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """What may stand in its place; DuckDB takes numbers for conditions, so conditions are kept apart here."""
    truths = isinstance(node, TRUTH) or (isinstance(node, exp.Paren) and isinstance(node.this, TRUTH))
    wanted = (*TRUTH, exp.Paren, exp.Boolean) if truths else (exp.Condition, exp.If)
    return [part for part in node.iter_expressions() if isinstance(part, wanted)]
