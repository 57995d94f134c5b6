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
exact for such jobs. So the first descent of the search below finds a table, wherever there is one; it goes on only to list them all.

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from m3.recovery.graph import RecoveryError

__all__ = [
    "Bound",
    "Input",
    "Table",
    "bounds",
    "count_orders",
    "count_tables",
    "describe",
    "fill_in_order",
    "needs_table",
    "solve",
    "tables",
]

#: An input's name: the parent, and its time.
Origin = tuple[str, int]
#: A completed table: the input of each column that has one.
Columns = Mapping[int, Origin]
#: How many inputs of each row are placed.
Progress = tuple[int, ...]


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

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The columns that are no target's."""
        return tuple(c for c in range(self.first, self.last + 1) if c not in self.targets)


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
        lows, low = [], table.first
        for entry in row:
            target = table.column_of.get(entry.origin)
            low = (
                _next_free(table, max([low, *(table.markers.get(c, low) for c in entry.children)]))
                if target is None
                else target
            )
            lows.append(low)
            low += 1
        high: int | None = None
        for entry, low in zip(reversed(row), reversed(lows), strict=True):
            target = table.column_of.get(entry.origin)
            high = target if target is not None else _last_free(table, high)
            columns = (
                (target,)
                if target is not None
                else tuple(c for c in table.free if low <= c and (high is None or c <= high))
            )
            found[entry.origin] = Bound(entry, low, high, columns)
            high = None if high is None else high - 1
    return [found[entry.origin] for entry in table.inputs]


def _next_free(table: Table, column: int) -> int:
    while column in table.targets:
        column += 1
    return column


def _last_free(table: Table, column: int | None) -> int | None:
    while column is not None and column in table.targets:
        column -= 1
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


def fill_in_order(table: Table) -> Columns:
    """The table of a single parent: its inputs in their order, each target in its column, each other one as far left as it may stand."""
    last_target = max((i for i, entry in enumerate(table.inputs) if entry.origin in table.column_of), default=0)
    placed, column = dict(table.targets), table.first
    for entry in table.inputs[:last_target]:
        if entry.origin in table.column_of:
            column = table.column_of[entry.origin]
        else:
            column = _next_free(table, max([column, *(table.markers.get(c, column) for c in entry.children)]))
        placed[column] = entry.origin
        column += 1
    return placed


def tables(table: Table, *, hold: bool = True) -> Iterator[Columns]:
    """All valid tables. The first is found without going back, if there is one."""
    rows = _Rows.of(table, hold)
    dead: set[tuple[int, Progress]] = set()
    # Each level: a column, how far the rows are before it, what is still to try there, and whether anything came of it.
    levels = [(table.first, rows.start, rows.steps(table.first, rows.start))]
    placed: list[Origin | None] = []
    alive = [False]
    while levels:
        column, done, choices = levels[-1]
        if column > table.last:
            if rows.complete(done):
                alive[-1] = True
                yield {table.first + i: origin for i, origin in enumerate(placed) if origin}
        else:
            step = next(choices, None)
            if step and (column + 1, step[1]) not in dead:
                placed.append(step[0])
                levels.append((column + 1, step[1], rows.steps(column + 1, step[1])))
                alive.append(False)
            if step:
                continue
        levels.pop()
        del placed[max(0, column - table.first - 1) :]
        if not alive.pop():
            dead.add((column, done))
        elif alive:
            alive[-1] = True


def count_tables(table: Table, *, hold: bool = True) -> int:
    """How many valid tables there are, without listing them."""
    rows = _Rows.of(table, hold)
    ways: Counter[Progress] = Counter({rows.start: 1})
    for column in range(table.first, table.last + 1):
        after: Counter[Progress] = Counter()
        for done, number in ways.items():
            for _, further in rows.steps(column, done):
                after[further] += number
        ways = after
    return sum(number for done, number in ways.items() if rows.complete(done))


def count_orders(table: Table, commute: Callable[[Origin, Origin], bool], *, hold: bool = True) -> int:
    """How many of the valid tables somebody could tell apart, where some inputs of different parents commute (decision 74).

    Tables that differ in exchanges of neighbours that commute, or in which columns are empty, end in the same states. One is left where all
    commute: then there is nothing to solve.
    """
    return len({_normal_order([o for _, o in sorted(t.items())], commute) for t in tables(table, hold=hold)})


def _normal_order(order: list[Origin], commute: Callable[[Origin, Origin], bool]) -> tuple[Origin, ...]:
    """The least order that exchanges of commuting neighbours lead to: of what could stand first, always the least."""
    rest, normal = list(order), []
    while rest:
        free = (o for i, o in enumerate(rest) if all(o[0] != p[0] and commute(p, o) for p in rest[:i]))
        normal.append(least := min(free))
        rest.remove(least)
    return tuple(normal)


def describe(table: Table, columns: Columns, node: str = "B") -> str:
    """A completed table as the thesis draws it (Figure 3-11b), and which columns are empty."""
    numbers = range(table.first, table.last + 1)
    wide = max(len(f"{node}:{table.last}"), *(len(str(o[1])) for o in columns.values()), 1)
    side = max(len(parent) for parent in (*table.rows, "empty"))
    lines = [" " * side + "".join(f"  {node + ':' + str(c):>{wide}}" for c in numbers)]
    for parent in sorted(table.rows):
        cells = (str(columns[c][1]) if columns.get(c, ("",))[0] == parent else "" for c in numbers)
        lines.append(f"{parent:<{side}}" + "".join(f"  {cell:>{wide}}" for cell in cells))
    lines.append("empty" + " " * (side - 5) + "".join(f"  {'' if c in columns else 'x':>{wide}}" for c in numbers))
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class _Rows:
    """The inputs to place, by row. How far each row has got says all that the columns to the right depend on."""

    table: Table
    rows: tuple[tuple[Bound, ...], ...]
    must: Progress

    @classmethod
    def of(cls, table: Table, hold: bool) -> _Rows:
        known = {bound.input.origin: bound for bound in bounds(table)}
        rows = tuple(
            tuple(bound for entry in row if (bound := known[entry.origin]).high is not None or not hold)
            for row in table.rows.values()
        )
        return cls(table, rows, tuple(sum(bound.high is not None for bound in row) for row in rows))

    @property
    def start(self) -> Progress:
        return (0,) * len(self.rows)

    def complete(self, done: Progress) -> bool:
        """Whether all inputs that have to be placed are."""
        return all(d >= m for d, m in zip(done, self.must, strict=True))

    def steps(self, column: int, done: Progress) -> Iterator[tuple[Origin | None, Progress]]:
        """What may stand in a column, the earliest deadline first, and how far the rows have got then; last, nothing."""
        heads = [(row[d], number) for number, (row, d) in enumerate(zip(self.rows, done, strict=True)) if d < len(row)]
        if column > self.table.last or any(head.high is not None and head.high < column for head, _ in heads):
            return
        target = self.table.targets.get(column)
        fitting = [
            (self.table.last + 1 if head.high is None else head.high, number, head.input.origin)
            for head, number in heads
            if column in head.columns and target in (None, head.input.origin)
        ]
        for _, number, origin in sorted(fitting):
            yield origin, (*done[:number], done[number] + 1, *done[number + 1 :])
        if target is None:
            yield None, done
