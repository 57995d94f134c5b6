"""Window functions over one partition: the reference in plain Python.

Rows are keys of a map with their multiplicities. The order of a window is completed by the whole row (NULLs smallest), so
that every result is determined; only copies of one row may differ, and it does not matter which is which.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from functools import cmp_to_key
from typing import Any

from m3.collected import COLLECTED, LEAST, STATISTICS, rank, takes_pairs
from m3.dictionary.types import EXACT
from m3.errors import ValueProblem
from m3.evaluate import DEFAULTS, FAILURES, Value, coerce, evaluate
from m3.functions import KERNELS
from m3.program import Frame, WindowFunction

__all__ = ["FUNCTIONS", "NUMBERS", "windowed"]

Key = tuple[Value, ...]
#: Functions of the row's place in the order, functions that look at another row, and aggregates over the frame.
RANKING = ("row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist")
OFFSETS = (
    "lag", "lead", "first_value", "last_value", "nth_value", "lag_known", "lead_known", "first_known", "last_known", "nth_known",
)  # fmt: skip
AGGREGATES = ("count", "count_distinct", "sum", "avg", "min", "max")
#: Aggregates of all values of the frame, as of a group's. After the value, or the pair, come a percentile's fraction, or what a statistic is where
#: there are enough values and it is not defined; and whether the order of the values descends.
OF_VALUES = (
    *STATISTICS,
    "percentile_cont",
    "percentile_disc",
    "mode",
    "product",
    "mad",
    "bit_and",
    "bit_or",
    "bit_xor",
)
#: The function that has several results for a row: it repeats the row.
NUMBERS = "numbers"
FUNCTIONS = (*RANKING, *OFFSETS, *AGGREGATES, *OF_VALUES, NUMBERS)
DEFAULT, WHOLE = Frame("range", None, 0), Frame("rows", None, None)


def windowed(
    functions: Sequence[WindowFunction], names: Sequence[str], rows: Mapping[Key, int], *, flagged: bool = False
) -> dict[Key, int]:
    """The rows of one partition, each with the results of all functions.

    Args:
        functions: what to compute.
        names: the variables that the columns of a row are in the functions' expressions.
        rows: row -> multiplicity; rows of multiplicity 0 or below are not there.
        flagged: say by a further result, 0 or 1, whether one of the results cannot be computed. It is NULL then.

    Returns:
        (row, results) -> multiplicity.

    Raises:
        ValueProblem: a result cannot be computed, and nobody asked for the flag.
    """
    if [f.op for f in functions] == [NUMBERS]:
        return _number(functions[0], names, rows)
    copies = [row for row, count in rows.items() for _ in range(count)]
    flags: list[Value] | None = [0] * len(copies) if flagged else None
    with localcontext(EXACT):  # sums of decimals keep all their digits
        results = [_results(function, names, copies, flags) for function in functions]
    if flags is not None:
        results.append(flags)
    found: dict[Key, int] = {}
    for i, row in enumerate(copies):
        key = (*row, *(column[i] for column in results))
        found[key] = found.get(key, 0) + 1
    return found


def _number(function: WindowFunction, names: Sequence[str], rows: Mapping[Key, int]) -> dict[Key, int]:
    """Each row with every number from 1 up to the function's argument, once, however often the row is there."""
    found: dict[Key, int] = {}
    for row in (row for row, copies in rows.items() if copies > 0):
        count = evaluate(function.args[0], dict(zip(names, row, strict=True)))
        found |= {(*row, number): 1 for number in range(1, 1 + (count if isinstance(count, int) else 0))}
    return found


def _results(function: WindowFunction, names: Sequence[str], rows: list[Key], flags: list[Value] | None) -> list[Value]:
    """One function's result for each row, in the order of ``rows``; ``flags`` is set where there is none."""
    envs = [dict(zip(names, row, strict=True)) for row in rows]
    marks = [tuple(evaluate(s, env) for s, _, _ in function.order) for env in envs]
    places = [(descending, first) for _, descending, first in function.order]

    def compared(a: int, b: int) -> int:
        return _compare(marks[a], marks[b], rows[a], rows[b], places)

    order = sorted(range(len(rows)), key=cmp_to_key(compared))
    peers = _peers([marks[i] for i in order])
    args = [[evaluate(a, envs[i]) for a in function.args] for i in order]
    window = _Window(function, args, peers, [marks[i] for i in order])
    results: list[Value] = [None] * len(rows)
    for place, i in enumerate(order):
        try:
            results[i] = coerce(_FUNCTIONS[function.op](window, place), function.type)
        except FAILURES:
            if flags is None:
                raise
            flags[i] = 1
            results[i] = None if function.type.nullable else coerce(DEFAULTS[function.type.kind], function.type)
    return results


def _compare(a: Key, b: Key, row_a: Key, row_b: Key, places: Sequence[tuple[bool, bool]]) -> int:
    for x, y, (descending, first) in zip(a, b, places, strict=True):
        if x is None or y is None:
            if (x is None) != (y is None):
                return -1 if (x is None) == first else 1
        elif rank(x) != rank(y):
            return -1 if (rank(x) < rank(y)) != descending else 1
    left, right = ([(v is not None, rank(v)) for v in row] for row in (row_a, row_b))
    return 0 if left == right else -1 if _smaller(left, right) else 1


def _smaller(left: Sequence[tuple[bool, Any]], right: Sequence[tuple[bool, Any]]) -> bool:
    for (known_a, a), (known_b, b) in zip(left, right, strict=True):
        if known_a != known_b:
            return known_b
        if known_a and a != b:
            return bool(a < b)
    return False


def _peers(marks: Sequence[Key]) -> list[tuple[int, int]]:
    """For each place the range (first inclusive, last exclusive) of the rows that the order does not tell apart."""
    ranges: list[tuple[int, int]] = []
    start = 0
    for i in range(1, len(marks) + 1):
        if i == len(marks) or marks[i] != marks[start]:
            ranges += [(start, i)] * (i - start)
            start = i
    return ranges


class _Window:
    """One function over one ordered partition."""

    def __init__(
        self,
        function: WindowFunction,
        args: list[list[Value]],
        peers: list[tuple[int, int]],
        marks: list[Key],
    ) -> None:
        self.function, self.args, self.peers, self.marks = function, args, peers, marks
        self.rows = len(args)
        self._computed: dict[tuple[int, int], Value] = {}
        #: What the rows are ordered by, ascending, where that is known; and before how many rows it is not.
        self._sizes = [(0, rank(mark[0])) for mark in marks if mark and mark[0] is not None]
        self._nulls = next((i for i, mark in enumerate(marks) if mark and mark[0] is not None), 0)
        if function.order and function.order[0][1]:
            self._sizes.reverse()
        self.groups = {start: number for number, start in enumerate(dict.fromkeys(s for s, _ in peers))}

    def over_frame(self, place: int, compute: Callable[[], Value]) -> Value:
        """What an aggregate is of the frame of a row, computed once for all rows that have the same frame."""
        if self.function.frame is not None and self.function.frame.exclude:
            return compute()
        bounds = self.bounds(place)
        if bounds not in self._computed:
            self._computed[bounds] = compute()
        return self._computed[bounds]

    def frame_rows(self, place: int) -> list[list[Value]]:
        """The arguments of the rows in the frame of the row at ``place``."""
        return [self.args[i] for i in self._rows_in_frame(place)]

    def values(self, place: int) -> list[Any]:
        """The first argument over the frame of the row at ``place``."""
        return [self.args[i][0] if self.args[i] else 1 for i in self._rows_in_frame(place)]

    def _rows_in_frame(self, place: int) -> Iterable[int]:
        low, high = self.bounds(place)
        exclude = self.function.frame.exclude if self.function.frame else ""
        if not exclude:
            return range(low, high)
        left_out = set(range(*self.peers[place])) if exclude in ("group", "ties") else {place}
        return [i for i in range(low, high) if i not in left_out or (exclude == "ties" and i == place)]

    def bounds(self, place: int) -> tuple[int, int]:
        """The frame of the row at ``place``: first inclusive, last exclusive."""
        frame = self.function.frame or (DEFAULT if self.function.order else WHOLE)
        if frame.unit == "rows":
            low = 0 if frame.start is None else place + int(frame.start)
            high = self.rows if frame.end is None else place + int(frame.end) + 1
        elif frame.unit == "groups":
            starts = [*self.groups, self.rows]
            mine = self.groups[self.peers[place][0]]
            low = 0 if frame.start is None else starts[max(0, min(len(starts) - 1, mine + int(frame.start)))]
            high = self.rows if frame.end is None else starts[max(0, min(len(starts) - 1, mine + int(frame.end) + 1))]
        else:
            low, high = self._range_bounds(frame, place)
        low, high = max(0, low), min(self.rows, high)
        return low, max(low, high)

    def _range_bounds(self, frame: Frame, place: int) -> tuple[int, int]:
        low, high = 0, self.rows
        if frame.start is not None:
            # The current row's peers are found already, and CURRENT ROW needs no values that can be added to.
            low = self.peers[place][0] if frame.start == 0 else self._reach(place, frame.start, True)
        if frame.end is not None:
            high = self.peers[place][1] if frame.end == 0 else self._reach(place, frame.end, False)
        return low, high

    def _reach(self, place: int, offset: int | Decimal, first: bool) -> int:
        """Where the values within ``offset`` of the current one begin or end; NULLs are their own range, and lie outside of all bounds but UNBOUNDED."""
        mine: Any = self.marks[place][0]
        if mine is None:
            return self.peers[place][0 if first else 1]
        descending = self.function.order[0][1]
        limit = self._shift(mine, -offset if descending else offset)
        beyond = first == descending  # how many are below the limit, or not above it
        known = (bisect_right if beyond else bisect_left)(self._sizes, limit)
        return self._nulls + (len(self._sizes) - known if descending else known)

    def _shift(self, mine: Any, offset: int | Decimal) -> tuple[int, Any]:
        """A value that is moved, with -1 or 1 before it where that leads out of its type."""
        unit = self.function.frame.unit if self.function.frame else ""
        if unit == "months":
            try:
                return 0, KERNELS["add_months"]([mine, offset], self.function.order[0][0].type)
            except (ValueProblem, *FAILURES):
                return (1 if offset > 0 else -1), mine
        return 0, rank(mine + (float(offset) if isinstance(mine, float) else offset))


def _ntile(window: _Window, place: int) -> Value:
    buckets = _positive("NTILE", window.args[place][0])
    if buckets is None:
        return None
    size, larger = divmod(window.rows, buckets)
    if place < larger * (size + 1):
        return place // (size + 1) + 1
    return larger + (place - larger * (size + 1)) // max(size, 1) + 1


def _shift_rows(direction: int) -> Callable[[_Window, int], Value]:
    def shifted(window: _Window, place: int) -> Value:
        mine = window.args[place]
        amount = mine[1] if len(mine) > 1 else 1
        if amount is None:
            return None
        assert isinstance(amount, int)
        other = place + direction * amount
        if 0 <= other < window.rows:
            return window.args[other][0]
        return mine[2] if len(mine) > 2 else None

    return shifted


def _shift_known_rows(direction: int) -> Callable[[_Window, int], Value]:
    """LAG and LEAD over the rows whose value is not NULL."""

    def shifted(window: _Window, place: int) -> Value:
        mine = window.args[place]
        amount, left = (mine[1] if len(mine) > 1 else 1), 0
        if not isinstance(amount, int) or amount == 0:
            return mine[0] if amount == 0 else None
        step, i = direction if amount > 0 else -direction, place
        while left < abs(amount):
            i += step
            if not 0 <= i < window.rows:
                return mine[2] if len(mine) > 2 else None
            left += window.args[i][0] is not None
        return window.args[i][0]

    return shifted


def _nth(window: _Window, place: int, number: int, *, known: bool = False) -> Value:
    values = _known(window, place) if known else window.values(place)
    return values[number] if -len(values) <= number < len(values) else None


def _nth_value(known: bool) -> Callable[[_Window, int], Value]:
    def nth_value(window: _Window, place: int) -> Value:
        number = _positive("NTH_VALUE", window.args[place][1])
        return None if number is None else _nth(window, place, number - 1, known=known)

    return nth_value


def _positive(name: str, number: Value) -> int | None:
    """An argument that counts from 1; NULL makes the result NULL."""
    if number is None:
        return None
    assert isinstance(number, int)
    if number < 1:
        raise ValueProblem(f"{name} of {number}", kind="out-of-domain", hint="a number from 1 on")
    return number


def _known(window: _Window, place: int) -> list[Any]:
    return [v for v in window.values(place) if v is not None]


def _sum(window: _Window, place: int) -> Value:
    known = _known(window, place)
    return sum(known[1:], known[0]) if known else None


def _avg(window: _Window, place: int) -> Value:
    known = _known(window, place)
    if not known:
        return None
    if window.function.type.kind == "double":
        return float(sum(known)) / len(known)
    return divided(sum(map(Decimal, known)), len(known), window.function.type.scale)


def divided(total: Decimal | int, count: int, scale: int) -> Decimal:
    """``total / count`` rounded half up (away from zero) to ``scale`` decimals."""
    units = Decimal(total).scaleb(scale + 1)
    if units != units.to_integral_value():
        raise ValueProblem("an average of more decimals than its type has", kind="inexact", hint="CAST the argument")
    quotient, rest = divmod(abs(int(units)), count * 10)
    rounded = quotient + (1 if 2 * rest >= count * 10 else 0)
    return Decimal(rounded if total >= 0 else -rounded).scaleb(-scale)


def _extreme(choose: Callable[..., Any]) -> Callable[[_Window, int], Value]:
    def extreme(window: _Window, place: int) -> Value:
        known = _known(window, place)
        return choose(known, key=rank) if known else None

    return extreme


def _of_values(kind: str) -> Callable[[_Window, int], Value]:
    """An aggregate that :mod:`m3.collected` has of a group's values, of those of the frame."""
    width = 2 if takes_pairs(kind) else 1

    def compute(window: _Window, place: int) -> Value:
        rows = window.frame_rows(place)
        known: list[Any] = [row[:width] for row in rows if None not in row[:width]]
        if not known:
            return None
        parameter, descending = [*rows[0][width:], None, None][:2]
        if kind in STATISTICS:  # in any order
            found = COLLECTED[kind]([(tuple(values) if width > 1 else values[0], 1) for values in known], None)
            return parameter if found is None and len(known) >= LEAST.get(kind, 1) else found
        same = (math.nan if value != value else value for (value,) in known)  # NaN equals itself
        ordered = sorted(same, key=rank, reverse=bool(descending))
        return COLLECTED[kind]([(value, 1) for value in ordered], parameter)  # type: ignore[arg-type]

    return compute


def _once(compute: Callable[[_Window, int], Value]) -> Callable[[_Window, int], Value]:
    return lambda window, place: window.over_frame(place, lambda: compute(window, place))


_FUNCTIONS: Mapping[str, Callable[[_Window, int], Value]] = {
    "row_number": lambda w, i: i + 1,
    "rank": lambda w, i: w.peers[i][0] + 1,
    "dense_rank": lambda w, i: w.groups[w.peers[i][0]] + 1,
    "ntile": _ntile,
    "percent_rank": lambda w, i: w.peers[i][0] / (w.rows - 1) if w.rows > 1 else 0.0,
    "cume_dist": lambda w, i: w.peers[i][1] / w.rows,
    "lag": _shift_rows(-1),
    "lead": _shift_rows(1),
    "first_value": lambda w, i: _nth(w, i, 0),
    "last_value": lambda w, i: _nth(w, i, -1),
    "nth_value": _nth_value(False),
    "lag_known": _shift_known_rows(-1),
    "lead_known": _shift_known_rows(1),
    "first_known": lambda w, i: _nth(w, i, 0, known=True),
    "last_known": lambda w, i: _nth(w, i, -1, known=True),
    "nth_known": _nth_value(True),
    "count_distinct": _once(lambda w, i: len(set(_known(w, i)))),
    "count": _once(lambda w, i: len(_known(w, i))),
    "sum": _once(_sum),
    "avg": _once(_avg),
    "min": _once(_extreme(min)),
    "max": _once(_extreme(max)),
    **{kind: _once(_of_values(kind)) for kind in OF_VALUES},
}
