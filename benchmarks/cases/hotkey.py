"""A stream in which all events share one key, beside the usual one."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import whole_stream
from benchmarks.progress import say
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.workload import drops_of, forget, relations_of, tables_of

__all__ = ["VARIANTS", "run"]

EVENTS, REPETITIONS = 100_000, 3
#: An order that Q3 counts; the first customer is one whose orders it counts.
ORDER = (
    "(SELECT min(o_orderkey) FROM read_parquet('{tables}/orders.parquet') "
    "JOIN read_parquet('{tables}/customer.parquet') ON c_custkey = o_custkey "
    "WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15')"
)
#: variant -> what becomes of the columns of a table.
VARIANTS: dict[str, dict[str, str]] = {
    "uniform": {},
    "one customer": {"orders": "* REPLACE (1::BIGINT AS o_custkey)"},
    "one order": {"lineitem": f"* REPLACE ({ORDER} AS l_orderkey)"},
}


def run(settings: Settings) -> Iterator[list[Row]]:
    """All variants in one contest, so that their turns are interleaved; one row each."""
    for scale_factor in settings.scale_factors or (0.1,):
        for query in settings.queries or ("q3",):
            if not settings.has_time():
                return
            yield _contest(settings, scale_factor, query)


def _contest(settings: Settings, scale_factor: float, query: str) -> list[Row]:
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    entries: dict[str, Entry] = {}
    landings = []
    for variant in VARIANTS:
        tables = skewed_tables(settings.home, scale_factor, variant)
        landing = drops_of(settings.home, tables, relations_of([query]), events)
        landings.append(landing)
        for name, cores in {"cumulus": None, "cumulus-spark": settings.cores}.items():
            if settings.wants(name):
                entries[f"{name}: {variant}"] = _entry(settings.home, tables, landing, query, cores)
    label = Label("hotkey", query, "", scale_factor, events, settings.cores)
    rows = compete(label, entries, settings.repetitions or REPETITIONS)
    for landing in landings:
        forget(landing, settings.keep)
    parts = [row.contestant.split(": ") for row in rows]
    return [dataclasses.replace(r, contestant=p[0], variant=p[1]) for r, p in zip(rows, parts, strict=True)]


def _entry(home: Path, tables: Path, landing: Path, query: str, cores: int | None) -> Entry:
    return lambda: whole_stream(home, tables, landing, [query], cores)


def skewed_tables(home: Path, scale_factor: float, variant: str) -> Path:
    """The generated tables with the variant's columns replaced; unchanged tables are links."""
    tables = tables_of(home, scale_factor)
    if not VARIANTS[variant]:
        return tables
    folder = tables.with_name(f"{tables.name}-{variant.replace(' ', '-')}")
    if folder.exists():
        return folder
    say(f"making {folder.name}")
    temporary = folder.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for file in tables.glob("*.parquet"):
        columns = VARIANTS[variant].get(file.stem)
        if columns is None:
            os.link(file, temporary / file.name)
        else:
            sql = f"SELECT {columns.format(tables=tables)} FROM read_parquet('{file}')"
            duckdb.execute(f"COPY ({sql}) TO '{temporary / file.name}' (FORMAT parquet)")
    (temporary / "tables.json").write_text(json.dumps({"scale_factor": scale_factor, "variant": variant}))
    temporary.rename(folder)
    return folder
