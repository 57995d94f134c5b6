"""Pathway, by its table API, over CSV files read as one batch; a process of its own per turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.answers import check_answer
from benchmarks.contest import Contestant, Turn
from benchmarks.peers.environments import python_of
from benchmarks.processes import run_script
from benchmarks.workload import csv_of, first_rows, relations_of

__all__ = ["REQUIREMENT", "pathway_stream"]

REQUIREMENT = "pathway==0.33.0"
SCRIPT = Path(__file__).with_name("pathway_script.py")


@dataclass
class _Pathway:
    python: Path
    query: str
    cores: int
    spec: dict[str, Any]
    expected: dict[str, str]
    note: str = ""

    def turn(self, number: int) -> Turn:
        done = run_script([str(self.python), "-P", str(SCRIPT)], self.spec, {"PATHWAY_THREADS": str(self.cores)})
        if not self.note:
            rows = [tuple(row) for row in done.result["rows"]]
            self.note = check_answer(self.query, rows, self.expected, 1e-6)
        return Turn(done.result["seconds"], self.spec["events"], done.peak_rss_mb)

    def finish(self) -> str:
        return f"{self.note}; floating point, dates as text, one batch; {REQUIREMENT}"


@contextmanager
def pathway_stream(home: Path, tables: Path, query: str, cores: int, part: float) -> Iterator[Contestant]:
    """A query over the stream of the relations it reads.

    Args:
        home: where tables and the environment are kept.
        tables: the generated tables.
        query: the query's name.
        cores: the number of its threads.
        part: this part of each table only.
    """
    python = python_of(home, "pathway", REQUIREMENT)
    relations = relations_of([query])
    rows = {r: int(pq.read_metadata(tables / f"{r}.parquet").num_rows * part) for r in relations}
    folder = csv_of(tables, relations, header=True, part=part)
    spec = {"query": query, "tables": str(folder), "events": sum(rows.values())}
    expected = {r: first_rows(tables / f"{r}.parquet", n) for r, n in rows.items()}
    yield _Pathway(python, query, cores, spec, expected)
