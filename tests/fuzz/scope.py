"""What a place in a query can refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.draw import Draw

APPROXIMATE = "approx"
#: Of output columns of the outermost query only.
LIST = "list"


@dataclass(frozen=True)
class Col:
    """A column as it is written, its kind (of :data:`tests.fuzz.schema.KINDS`, or ``approx`` for what DuckDB computes in
    floating point), and the nesting level of its table."""

    sql: str
    kind: str
    level: int = 0

    @property
    def qualified(self) -> bool:
        """Whether an inner query can refer to it without capturing it."""
        return "." in self.sql


@dataclass(frozen=True)
class Query:
    """A query's text and its output columns (bare names)."""

    sql: str
    columns: tuple[Col, ...]

    @property
    def exact(self) -> bool:
        """Whether its rows can be compared, grouped and ordered without rounding."""
        return all(c.kind not in (APPROXIMATE, LIST) for c in self.columns)


@dataclass
class Context:
    """One query being made: the choices, the base tables used so far, the WITH queries, and the query maker for
    subqueries: ``query(outer columns, level, kinds of the outputs or None)``."""

    draw: Draw
    query: Callable[[Context, Sequence[Col], int, Sequence[str] | None], Query]
    block: Callable[[Context, Sequence[Col], int, Sequence[str] | None], Query]
    total: Callable[[Context, Sequence[Col], int, str], Query]
    tables: set[str] = field(default_factory=set)
    shared: list[tuple[str, tuple[Col, ...]]] = field(default_factory=list)
    used_shared: set[str] = field(default_factory=set)


def of_kind(columns: Iterable[Col], *kinds: str) -> list[Col]:
    """The columns of some kinds."""
    return [c for c in columns if c.kind in kinds]


def exact(columns: Iterable[Col]) -> list[Col]:
    """The columns that can be compared exactly."""
    return [c for c in columns if c.kind != APPROXIMATE]
