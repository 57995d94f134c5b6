"""Random commits to a Delta table, read as they come: what has been taken is the table, at each version."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.append.checks import Checks
from cumulus_ops.files.columns import SIGN
from cumulus_ops.sources.delta import DeltaTables
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.source_contract import parts_of

EXAMPLES = int(os.environ.get("EXAMPLES", "5"))
ITEMS = Relation("items", (Column("id", INT), Column("v", INT), Column("name", STRING.with_null())))
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("name", pa.string())])
FEED = {"delta.enableChangeDataFeed": "true"}
Row = tuple[Any, ...]

rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.none() | st.sampled_from("ab")), min_size=1, max_size=4
)
commits = st.one_of(
    st.tuples(st.just("append"), rows),
    st.tuples(st.just("overwrite"), rows),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("update"), st.integers(0, 5)),
    st.tuples(st.just("merge"), st.lists(st.integers(0, 5), min_size=1, unique=True)),
    st.tuples(st.just("optimize"), st.none()),
    st.tuples(st.just("look"), st.none()),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(first=rows, history=st.lists(commits, max_size=6))
def test_what_is_taken_is_the_table(first: list[Row], history: list[tuple[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        write_deltalake(folder, table_of(first), configuration=FEED)
        reader = Reader(folder)
        for kind, what in history:
            commit(folder, kind, what)
            if kind == "look":
                reader.look()
        reader.look()


def table_of(found: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA)


def commit(folder: str, kind: str, what: Any) -> None:
    table = DeltaTable(folder)
    match kind:
        case "append" | "overwrite":
            write_deltalake(folder, table_of(what), mode=kind)
        case "delete":
            table.delete(f"id = {what}")
        case "update":
            table.update(predicate=f"id >= {what}", updates={"v": "v + 1"})
        case "merge":
            new = table_of([(i, 9, "m") for i in what])
            merge = table.merge(new, "t.id = s.id", source_alias="s", target_alias="t")
            merge.when_matched_update({"v": "s.v"}).when_not_matched_insert_all().execute()
        case "optimize":
            table.optimize.compact()


class Reader:
    """Takes what is new, each time as another process would, and keeps the rows."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.position: str | None = None
        self.rows: Counter[Row] = Counter()

    def look(self) -> None:
        for delivery in DeltaTables("lake", [ITEMS], {"items": str(self.folder)}).poll(self.position):
            assert delivery.begin == self.position
            for part in parts_of(delivery):
                checks = Checks(ITEMS, part.place)
                for raw in part.read():
                    checked = checks.check(raw)
                    assert len(checked.rejected) == 0
                    for row in checked.rows.to_pylist():
                        self.rows[tuple(row[n] for n in SCHEMA.names)] += row[SIGN]
            self.position = delivery.position
            version = int(delivery.name.rpartition(".")[2])
            table = DeltaTable(str(self.folder), version=version).to_pyarrow_table()
            assert +self.rows == Counter(tuple(row[n] for n in SCHEMA.names) for row in table.to_pylist())
            assert min(self.rows.values(), default=0) >= 0
