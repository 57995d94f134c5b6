"""The verdict on one view: from its rows as they are kept, as they are shown, and as they were recomputed.

Both are compared with the recomputation, and not with each other: all rows of the snapshot as a multiset; and what readers get, which is the
published version of the epoch, read back from its files, after the view's ORDER BY, OFFSET and LIMIT. Great Expectations calls this for each
expectation; nothing else compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.verdicts import DIFFERS, EQUAL, IN_ERROR, UNPROVED
from cumulus_ops.validation.comparison import Comparison, compare, compare_shown, describe_comparison, difference_lines
from cumulus_ops.validation.request import Handle, ViewToValidate, ViewVerdict

__all__ = ["Compared", "Terms", "judge"]

#: The recomputation's columns that only say what it is ordered by begin so.
ORDER_KEY = "#order_"


@dataclass(frozen=True)
class Terms:
    """How a view is to be compared, and what is known before any row is: see :class:`~cumulus_ops.validation.request.ViewToValidate`.

    ``fails``: why the recomputation fails on its data; ``impossible``: why there is none; ``unordered``: why it does not say which rows come
    first. At most one of the first two is not empty, and then there are no recomputed rows."""

    keys: tuple[str, ...] = ()
    tolerances: tuple[tuple[str, float], ...] = ()
    double_tolerance: float = 0.0
    error: str = ""
    shown_as: str = ""
    ordered: bool = False
    offset: int = 0
    limit: int | None = None
    fails: str = ""
    impossible: str = ""
    unordered: str = ""

    @classmethod
    def of(cls, view: ViewToValidate, **found: str) -> Terms:
        """Those of a view that is to be validated, with what was found when it was recomputed."""
        return cls(
            view.key_columns,
            tuple(view.tolerances.items()),
            view.double_tolerance,
            view.error,
            view.shown_as,
            view.ordered,
            view.offset,
            view.limit,
            **found,
        )


@dataclass(frozen=True)
class Compared:
    """A row of the batch that the expectations judge. Hashable, so that Great Expectations need not pickle it."""

    view: str
    snapshot: Handle | None
    shown: Handle | None
    recomputed: Handle | None
    terms: Terms

    def row(self) -> dict[str, Any]:
        """The cells by the batch's columns."""
        return dict(vars(self))


def judge(row: Mapping[str, Any]) -> ViewVerdict:
    """Compare a view's tables.

    Args:
        row: a row of the batch, see :class:`Compared`. The tables behind its handles are read, and let go.
    """
    given = Compared(**{name: row[name] for name in Compared.__dataclass_fields__})
    terms = given.terms
    # the order matters: without a recomputation nothing is known, whether the view is in error or not
    if terms.impossible:
        return ViewVerdict(given.view, UNPROVED, f"not compared, for it could not be recomputed: {terms.impossible}")
    if terms.fails and terms.error:
        return ViewVerdict(given.view, IN_ERROR, f"in error, as its recomputation is: {terms.error}")
    if terms.fails:
        return ViewVerdict(given.view, DIFFERS, f"not in error, but its recomputation fails: {terms.fails}")
    if given.snapshot is None:
        return ViewVerdict(given.view, DIFFERS, f"in error ({terms.error}), but its recomputation is not")
    if given.recomputed is None:
        return ViewVerdict(given.view, UNPROVED, "not compared, for there is no recomputation of it")
    parts = list(_compare_parts(given, given.snapshot, given.recomputed))
    # the worst counts: what differs differs, whatever else could not be compared
    outcomes = {part.outcome for part in parts}
    outcome = DIFFERS if DIFFERS in outcomes else UNPROVED if UNPROVED in outcomes else EQUAL
    said = "; ".join(part.observed for part in parts)
    return ViewVerdict(given.view, outcome, said, tuple(line for part in parts for line in part.differences))


@dataclass(frozen=True)
class _Part:
    """What was found of one of the tables."""

    outcome: str
    observed: str
    differences: tuple[tuple[str, ...], ...] = ()


def _compare_parts(given: Compared, snapshot: Handle, recomputation: Handle) -> Iterator[_Part]:
    terms = given.terms
    recomputed, _ = recomputation.read()
    values = recomputed.select(range(sum(not n.startswith(ORDER_KEY) for n in recomputed.column_names)))
    yield _make_part(compare(snapshot.read()[0], values, terms.keys, dict(terms.tolerances), terms.double_tolerance))
    if given.shown is None:
        if terms.shown_as:
            yield _Part(EQUAL, terms.shown_as)
    elif terms.ordered and terms.unordered:
        yield _Part(
            UNPROVED, f"{terms.shown_as}: not compared, for the order could not be recomputed: {terms.unordered}"
        )
    else:
        yield _judge_shown(given.shown, recomputed, values, terms)


def _judge_shown(shown: Handle, recomputed: pa.Table, values: pa.Table, terms: Terms) -> _Part:
    """What readers get, against what they should get."""
    try:
        rows, keeps_order = shown.read()
    except IntegrityProblem as problem:
        return _Part(DIFFERS, f"{terms.shown_as}: {problem.message}")
    tolerances, tolerance = dict(terms.tolerances), terms.double_tolerance
    if not terms.ordered:
        return _make_part(compare(rows, values, terms.keys, tolerances, tolerance), terms.shown_as)
    keys = recomputed.select(range(values.num_columns, recomputed.num_columns))
    found = compare_shown(rows, values, keys, (terms.offset, terms.limit), tolerances, tolerance, in_order=keeps_order)
    if found.undecided:
        return _Part(UNPROVED, f"{terms.shown_as}: {found.undecided}")
    said = f"{terms.shown_as}, " + ("in this order" if keeps_order else "whatever their order, in several files")
    return _make_part(found.comparison, said)


def _make_part(found: Comparison, said: str = "") -> _Part:
    words = f"{said}: {describe_comparison(found)}" if said else describe_comparison(found)
    lines = tuple(difference_lines(found))
    if said:
        lines = tuple((f"{what} ({said})", *rest) for what, *rest in lines)
    return _Part(EQUAL if found.equal else DIFFERS, words, lines)
