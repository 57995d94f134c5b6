"""Recomputation by DuckDB over Parquet files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.answers import connect, net_tables
from benchmarks.contest import Contestant, Turn
from benchmarks.workload import relations_of, sql_of, without_order

__all__ = ["duckdb_recompute"]


@dataclass
class _Recompute:
    query: str
    tables: Path
    events: int
    cores: int

    def __post_init__(self) -> None:
        self.connection = connect(self.cores)
        for relation, sql in net_tables(self.tables, relations_of([self.query])).items():
            self.connection.execute(f"CREATE VIEW {relation} AS {sql}")

    def turn(self, number: int) -> Turn:
        begun = time.perf_counter()
        self.connection.execute(without_order(sql_of(self.query))).to_arrow_table()
        return Turn(time.perf_counter() - begun, self.events)

    def finish(self) -> str:
        return "the reference"


@contextmanager
def duckdb_recompute(query: str, tables: Path, events: int, cores: int) -> Iterator[Contestant]:
    """The query's text on DuckDB over Parquet files that have the change already."""
    contestant = _Recompute(query, tables, events, cores)
    try:
        yield contestant
    finally:
        contestant.connection.close()
