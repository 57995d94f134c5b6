"""Flink SQL in streaming mode, with mini-batches, CSV in and results discarded; a process of its own per turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.answers import check_answer, net_tables
from benchmarks.contest import Contestant, Turn
from benchmarks.peers.environments import python_of
from benchmarks.processes import run_script
from benchmarks.workload import csv_of, relations_of, sql_of, tables_of, without_order
from cumulus_ops.demo.tpch import plain_schema

__all__ = ["REQUIREMENT", "flink_stream"]

REQUIREMENT = "apache-flink==2.3.0"
SCRIPT = Path(__file__).with_name("flink_script.py")
#: Checked and warmed up with; too small to say anything about speed.
SMALL = 0.01
TYPES = {pa.int64(): "BIGINT", pa.string(): "STRING", pa.date32(): "DATE", pa.decimal128(15, 2): "DECIMAL(15, 2)"}


@dataclass
class _Flink:
    python: Path
    query: str
    small: Path
    spec: dict[str, Any]
    note: str = ""

    def turn(self, number: int) -> Turn:
        done = run_script([str(self.python), "-P", str(SCRIPT)], self.spec)
        if not self.note:
            self.note = check_answer(
                self.query, _decoded(done.result["rows"]), net_tables(self.small, relations_of([self.query])), 1e-6
            )
        return Turn(done.result["seconds"], self.spec["events"], done.peak_rss_mb)

    def finish(self) -> str:
        return f"at sf {SMALL:g}: {self.note}; {REQUIREMENT}"


def _decoded(rows: list[list[Any]]) -> list[tuple[object, ...]]:
    return [tuple(Decimal(v["decimal"]) if isinstance(v, dict) else v for v in row) for row in rows]


@contextmanager
def flink_stream(home: Path, tables: Path, query: str, cores: int, part: float) -> Iterator[Contestant]:
    """A query over the stream of the relations it reads.

    Args:
        home: where tables and the environment are kept.
        tables: the generated tables.
        query: the query's name.
        cores: Flink's parallelism.
        part: this part of each table only.
    """
    python = python_of(home, "flink", REQUIREMENT)
    relations = relations_of([query])
    small = tables_of(home, SMALL)
    rows = {r: int(pq.read_metadata(tables / f"{r}.parquet").num_rows * part) for r in relations}
    spec = {
        "sql": re.sub(r"\bas value\b", "as `value`", without_order(sql_of(query))),  # a reserved word there
        "relations": {r: _columns(tables / f"{r}.parquet") for r in relations},
        "small": str(csv_of(small, relations, header=False)),
        "tables": str(csv_of(tables, relations, header=False, part=part)),
        "cores": cores,
        "events": sum(rows.values()),
    }
    yield _Flink(python, query, small, spec)


def _columns(file: Path) -> list[tuple[str, str]]:
    return [(field.name, TYPES[field.type]) for field in plain_schema(pq.read_schema(file))]
