"""The execution-replay table: in which order a restarted node processes its parents' messages again (thesis, 3.3).

Columns are the node's times, from one after its clock's to the last that a child has seen. An entry is the input that makes that column's output.
**Targets** are columns whose input a child has seen. All other inputs are placed so that the table is

- **monotone**: each parent's inputs stand in the order in which they were sent;
- **regular**: a column has at most one input, a target's its own;
- **eventual**: an input stands behind the markers of all children that it is sent to, or they would not get it. Targets are exempt, though the
  text does not say so: its own solution has one before a marker.

An input that no target follows has no upper bound. It is **held**, and processed behind the table; the thesis does so, and then its example has
6 valid tables. If such inputs may be placed as well (``hold=False``), it has 12. Inputs that no child is to get are not in a table.

**Why no search is needed.** Free columns are unit slots, inputs unit jobs with a release (what monotony and markers allow) and a deadline (the next target
of their row), rows are chains. Once bounds are pushed through the rows, taking the earliest deadline among what may stand in a column is
exact for such jobs: whatever a table begins with, this completes it, or nothing does. So a table is found without going back, wherever there is one,
and all are listed without looking twice at a beginning that has none.

>>> table = Table(2, 6, {5: ("A1", 3), 6: ("A2", 2)}, {"C1": 2, "C2": 2, "C3": 7}, (
...     Input("A3", 1, ("C1",)), Input("A1", 2, ("C2",)), Input("A2", 1, ("C1",)),
...     Input("A1", 3, ("C3",)), Input("A3", 2, ("C2",)), Input("A2", 2, ("C1", "C3"))))
>>> [str(bound) for bound in bounds(table)]
['A3:1 in 2..', 'A1:2 in 2 3 4', 'A2:1 in 2 3 4', 'A1:3 in 5', 'A3:2 in 3..', 'A2:2 in 6']
>>> count_tables(table), count_tables(table, hold=False)
(6, 12)
>>> print(describe(table, solve(table)))
       B:2  B:3  B:4  B:5  B:6
A1       2              3
A2            1              2
A3
empty              x
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from m3.recovery.graph import RecoveryError

__all__ = [
    "Bound",
    "Input",
    "Table",
    "bounds",
    "count_orders",
    "count_tables",
    "describe",
    "needs_table",
    "solve",
    "tables",
]

#: An input's name: the parent, and its time.
Origin = tuple[str, int]
#: A completed table: the input of each column that has one.
Columns = Mapping[int, Origin]
#: How many inputs of each row are placed. That says all that the columns to the right depend on.
Progress = tuple[int, ...]
#: What stands in a column, an input or nothing, and how far the rows have got with it.
Step = tuple[Origin | None, Progress]


@dataclass(frozen=True)
class Input:
    """A message that the restarted node has received, and the children that its output is for."""

    parent: str
    time: int
    children: tuple[str, ...]

    @property
    def origin(self) -> Origin:
        """Its name."""
        return self.parent, self.time

    def __str__(self) -> str:
        return f"{self.parent}:{self.time}"


@dataclass(frozen=True)
class Table:
    """An empty table (3.3.1, Figure 3-10).

    ``first``, ``last``: its columns, both inclusive; ``targets``: the inputs that must stand in a column; ``markers``: for each child the first
    column whose output it will get; ``inputs``: what was received, each parent's in its order.
    """

    first: int
    last: int
    targets: Mapping[int, Origin]
    markers: Mapping[str, int]
    inputs: tuple[Input, ...]

    @property
    def columns(self) -> range:
        """Its columns."""
        return range(self.first, self.last + 1)

    @cached_property
    def rows(self) -> Mapping[str, tuple[Input, ...]]:
        """Each parent's inputs."""
        rows: dict[str, list[Input]] = {}
        for entry in self.inputs:
            rows.setdefault(entry.parent, []).append(entry)
        return {parent: tuple(row) for parent, row in rows.items()}

    @cached_property
    def column_of(self) -> Mapping[Origin, int]:
        """The column of each target."""
        return {origin: column for column, origin in self.targets.items()}


@dataclass(frozen=True)
class Bound:
    """Where an input may stand (3.3.2, step 2; Figure 3-11a): from ``low`` to ``high``, inclusive. Without ``high`` it is held."""

    input: Input
    low: int
    high: int | None
    columns: tuple[int, ...]

    def __str__(self) -> str:
        where = f"{self.low}.." if self.high is None else " ".join(map(str, self.columns))
        return f"{self.input} in {where}"


def needs_table(parents: int, children: int) -> bool:
    """Whether an order can have been observed that is not the only possible one (3.2.2): of several parents, by several children."""
    return parents > 1 and children > 1


def bounds(table: Table) -> list[Bound]:
    """What the three constraints say of each input, as they were received; bounds are pushed through the rows."""
    found: dict[Origin, Bound] = {}
    for row in table.rows.values():
        for entry, low, high in zip(row, _lows(table, row), _highs(table, row), strict=True):
            until = table.last if high is None else high
            columns = (c for c in range(low, until + 1) if table.targets.get(c, entry.origin) == entry.origin)
            found[entry.origin] = Bound(entry, low, high, tuple(columns))
    return [found[entry.origin] for entry in table.inputs]


def _lows(table: Table, row: Sequence[Input]) -> list[int]:
    """Of each input of a row the first column: behind those before it, and, of others than targets, behind the markers."""
    lows, low = [], table.first
    for entry in row:
        target = table.column_of.get(entry.origin)
        if target is None:
            low = _free_from(table, max([low, *(table.markers.get(child, low) for child in entry.children)]), 1)
        else:
            low = target
        lows.append(low)
        low += 1
    return lows


def _highs(table: Table, row: Sequence[Input]) -> list[int | None]:
    """Of each input of a row the last column: before those behind it; None where no target follows."""
    highs: list[int | None] = []
    high: int | None = None
    for entry in reversed(row):
        target = table.column_of.get(entry.origin)
        if target is not None:
            high = target
        elif high is not None:
            high = _free_from(table, high, -1)
        highs.insert(0, high)
        high = None if high is None else high - 1
    return highs


def _free_from(table: Table, column: int, step: int) -> int:
    """The next column that is no target's, from one on, to the right (1) or to the left (-1)."""
    while column in table.targets:
        column += step
    return column


def solve(table: Table) -> Columns:
    """A valid table.

    Raises:
        RecoveryError: there is none. What was executed before the failure is one, so that some input is not what it was then.
    """
    found = next(tables(table), None)
    if found is None:
        raise RecoveryError(
            f"no order of {', '.join(map(str, table.inputs))} is consistent with {dict(table.targets)}", kind="no-table"
        )
    return found


def tables(table: Table, *, hold: bool = True) -> Iterator[Columns]:
    """All valid tables. Each is some beginning, and then in each column the earliest deadline; up to some column others begin as it does, and go on
    otherwise there. Those that differ last come first."""
    rows = _rows_to_place(table, hold)
    beginnings: list[list[Step]] = [[]]
    while beginnings:
        steps, others = beginnings.pop(), list[tuple[int, Step]]()
        for column in table.columns[len(steps) :]:
            found = _steps(table, rows, column, steps[-1][1] if steps else (0,) * len(rows))
            if not found:
                break  # so no table begins as this one does
            others += [(len(steps), other) for other in reversed(found[1:])]
            steps.append(found[0])
        else:
            yield {column: origin for column, (origin, _) in enumerate(steps, start=table.first) if origin}
            beginnings += [[*steps[:number], other] for number, other in others]


def _rows_to_place(table: Table, hold: bool) -> tuple[tuple[Bound, ...], ...]:
    """The inputs of each row, but for those that are held."""
    found = [bound for bound in bounds(table) if bound.high is not None or not hold]
    return tuple(tuple(bound for bound in found if bound.input.parent == parent) for parent in table.rows)


def _steps(table: Table, rows: Sequence[Sequence[Bound]], column: int, done: Progress) -> list[Step]:
    """What may stand in a column, the earliest deadline first, and last nothing; none, if it is a target's whose turn it is not.

    An input without a deadline yields to all others, whose deadlines are before a target, and so before the last column. That one has missed its
    deadline is noticed at the next target of its row: others of the row are before it.
    """
    heads = [(row[d], number) for number, (row, d) in enumerate(zip(rows, done, strict=True)) if d < len(row)]
    fitting = [
        (table.last if head.high is None else head.high, number, head.input.origin)
        for head, number in heads
        if column in head.columns
    ]
    steps: list[Step] = [
        (origin, (*done[:number], done[number] + 1, *done[number + 1 :])) for _, number, origin in sorted(fitting)
    ]
    return steps if column in table.targets else [*steps, (None, done)]


def count_tables(table: Table, *, hold: bool = True) -> int:
    """How many valid tables there are, without listing them."""
    rows = _rows_to_place(table, hold)
    ways: Counter[Progress] = Counter({(0,) * len(rows): 1})
    for column in table.columns:
        after: Counter[Progress] = Counter()
        for done, number in ways.items():
            for _, further in _steps(table, rows, column, done):
                after[further] += number
        ways = after
    return ways.total()


def count_orders(table: Table, commute: Callable[[Origin, Origin], bool]) -> int:
    """How many of the valid tables somebody could tell apart, where some inputs of different parents commute (decision 74).

    Tables that differ in exchanges of neighbours that commute, or in which columns are empty, end in the same states: those in which each two
    inputs that do not commute stand in the same order. One is left where all commute: then there is nothing to solve.
    """
    orders = ([origin for _, origin in sorted(columns.items())] for columns in tables(table))
    return len({frozenset(pair for pair in combinations(order, 2) if not commute(*pair)) for order in orders})


def describe(table: Table, columns: Columns, node: str = "B") -> str:
    """A completed table as the thesis draws it (Figure 3-11b), and which columns are empty."""
    at = {(parent, c): str(time) for c, (parent, time) in columns.items()}
    lines = [
        ("", [f"{node}:{c}" for c in table.columns]),
        *((parent, [at.get((parent, c), "") for c in table.columns]) for parent in sorted(table.rows)),
        ("empty", ["" if c in columns else "x" for c in table.columns]),
    ]
    side = max(len(name) for name, _ in lines)
    wide = max(len(cell) for _, cells in lines for cell in ("", *cells))
    return "\n".join(
        (f"{name:<{side}}" + "".join(f"  {cell:>{wide}}" for cell in cells)).rstrip() for name, cells in lines
    )
