"""Tables whose columns come and are renamed while they are followed: rows are read by the names of their time, and nothing is read as NULL that had a value."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import LandingSettings
from cumulus_ops.sources import delta
from cumulus_ops.sources.debezium import columns
from cumulus_ops.sources.delta import ChangingTable, DeltaTables, Wanted
from cumulus_ops.sources.foreign import make_source
from cumulus_ops.sources.postgres.source import postgres_settings
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.debezium import text_of
from tests.support.debezium_stream import take
from tests.support.sampling import sampled
from tests.support.source_contract import parts_of, rows_of

ITEMS = Relation(
    "items",
    (Column("id", INT), Column("label", STRING.with_null()), Column("kind", STRING), Column("tag", STRING.with_null())),
    defaults=(("kind", "plain"),),
)
RENAMED = LandingSettings(older={"label": ("title", "name")})


def message(row: dict[str, Any], number: int, *, with_schema: bool) -> dict[str, Any]:
    source = {"connector": "postgresql", "name": "s", "db": "d", "schema": "p", "table": "t", "txId": number}
    payload = {"before": None, "after": row, "op": "c", "source": source}
    types = {name: {"field": name, "type": "int64" if name == "id" else "string", "optional": True} for name in row}
    image = {"type": "struct", "fields": list(types.values()), "field": "after"}
    return {"schema": {"type": "struct", "fields": [image]}, "payload": payload} if with_schema else payload


@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_debezium_rows_are_read_by_the_names_of_their_time(
    folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row has some of the columns, by one of their names; a message has a schema, or none."""
    random = Random(seed)
    monkeypatch.setattr(columns, "PROBED_ROWS", random.choice((1, 4, 1000)))
    with_schema, messages, right = random.random() < 0.5, [], []
    for number in range(30):
        row: dict[str, Any] = {"id": number}
        called = random.choice(("label", "title", "name", None))
        said = {name: random.choice((None, "", f"{name}{number}")) for name in ("label", "tag")}
        if called:
            row[called] = said["label"]
        if random.random() < 0.5:
            row["tag"] = said["tag"]
        if random.random() < 0.5:
            row["kind"] = f"k{number}"
        row = dict(random.sample(list(row.items()), len(row)))
        messages.append(message(row, number, with_schema=with_schema))
        right.append((number, said["label"] if called else None, row.get("kind", "plain"), row.get("tag")))
    (folder / "t.json").write_text(text_of(messages))
    taken = take(folder, relations=(ITEMS,), tables={"p.t": "items"}, reading={"items": RENAMED})
    assert taken.reasons == []
    assert [row for _, _, row, _ in taken.rows] == right


def test_a_key_and_an_old_value_are_read_by_older_names(folder: Path) -> None:
    relation = Relation("items", (Column("number", INT), Column("label", STRING.with_null())), ("number",))
    unset = "__debezium_unavailable_value"
    first = message({"id": 1, "name": "a"}, 1, with_schema=False)
    second = {**message({"id": 1, "name": unset}, 2, with_schema=False), "op": "u", "before": {"id": 1, "name": "a"}}
    third = {**message({}, 3, with_schema=False), "op": "d", "after": None}
    (folder / "t.json").write_text(text_of([first, second, {"key": {"id": 1}, "value": third}]))
    files = LandingSettings(older={"label": ("name",), "number": ("id",)})
    reading = {"relations": (relation,), "tables": {"p.t": "items"}, "reading": {"items": files}}
    taken = take(folder, upserts=frozenset({"items"}), **reading)
    assert taken.reasons == []
    assert [row for _, _, row, _ in taken.rows] == [(1, "a"), (1, "a"), (1, None)]


@pytest.mark.parametrize("with_schema", [True, False])
def test_a_source_waits_for_columns_that_are_not_deployed(
    folder: Path, with_schema: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "PROBED_ROWS", 1)
    rows = [{"id": 1, "kind": "k"}, {"id": 2, "kind": "k", "note": "x"}]
    (folder / "t.json").write_text(text_of(message(r, i, with_schema=with_schema) for i, r in enumerate(rows)))
    waits = {"items": replace(RENAMED, waiting=frozenset({"note"}))}
    with pytest.raises(SetupProblem, match="column note, which cumulus") as stuck:
        take(folder, relations=(ITEMS,), tables={"p.t": "items"}, reading=waits)
    assert stuck.value.kind == "column-not-deployed"


FEED = {"delta.enableChangeDataFeed": "true"}
LINES = Relation("lines", (Column("id", INT), Column("label", STRING.with_null()), Column("tag", STRING.with_null())))


def table_of(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def test_a_delta_table_that_is_overwritten_with_other_columns_is_followed(tmp_path: Path) -> None:
    """Its feed has not the values of the rows that go: these are read from the version before."""
    place = str(tmp_path / "lines")
    write_deltalake(place, table_of({"id": 1, "name": "a"}, {"id": 2, "name": "b"}), configuration=FEED)
    position = list(tables(place).poll(None))[-1].position
    write_deltalake(place, table_of({"id": 3, "name": "c"}), mode="append")
    write_deltalake(place, table_of({"id": 4, "name": "d", "tag": "x"}), mode="append", schema_mode="merge")
    DeltaTable(place).delete("id = 1")
    write_deltalake(place, table_of({"id": 5, "label": "e"}), mode="overwrite", schema_mode="overwrite")
    write_deltalake(place, table_of({"id": 6, "label": "f"}), mode="append")
    DeltaTable(place).delete("id = 5")
    living = Counter({(1, "a", None): 1, (2, "b", None): 1})
    for delivery in tables(place).poll(position):
        found = [row for part in parts_of(delivery) for raw in part.read() for row in raw.columns.to_pylist()]
        for row in found:
            values = row["id"], row["label"], row.get("tag")
            living[values] += 1 if row["op"] == "I" else -1
            assert living[values] >= 0, (delivery.name, values)
    assert +living == Counter({(6, "f", None): 1})


def tables(place: str, **files: Any) -> DeltaTables:
    settings = {"lines": LandingSettings(older={"label": ("name",)}, **files)}
    return DeltaTables("lake", [LINES], {"lines": place}, files=settings)


def test_a_delta_table_waits_for_columns_and_says_what_cannot_be_known(tmp_path: Path) -> None:
    place = str(tmp_path / "lines")
    write_deltalake(place, table_of({"id": 1, "name": "a"}), configuration=FEED)
    position = list(tables(place).poll(None))[-1].position
    write_deltalake(place, table_of({"id": 2, "name": "b", "note": "x"}), mode="append", schema_mode="merge")
    (waiting,) = tables(place, waiting=frozenset({"note"})).poll(position)
    with pytest.raises(SetupProblem, match="column note, which cumulus"):
        rows_of(waiting)
    with pytest.raises(SetupProblem, match="has not the columns any more"):
        delta._old_rows(ChangingTable(place), 2, Wanted(LINES, LandingSettings(older={"label": ("name",)})), 7)


def test_what_a_project_says_of_columns_reaches_its_sources(tmp_path: Path) -> None:
    (tmp_path / "v.sql").write_text("SELECT COUNT(*) AS n FROM lines")
    (tmp_path / "cumulus.yaml").write_text(
        "name: shop\nepochs: {length: 1s, start: 2026-01-01T00:00:00Z}\nviews: {v: v.sql}\nrelations:\n"
        "  lines: {columns: {id: bigint, label: {type: string, was: [title, name]}, kind: {type: string, default: x}}}\n"
        "sources:\n  lake: {kind: delta, tables: {lines: lake}}\n"
        "  shop: {kind: postgres, url: 'postgresql://x', tables: [lines], renamed: {lines: {caption: label}}}\n"
    )
    project = replace(load_project(tmp_path), waiting={"lines": frozenset({"note"})})
    with pytest.raises(InputProblem, match="a Delta table has NULL in rows that are older"):
        make_source(project, project.sources[0], None)  # type: ignore[arg-type]
    (lines,) = postgres_settings(project, project.sources[1]).tables
    found = [lines.name_of("label", names) for names in (("name", "title"), ("caption", "name"), ("label", "title"))]
    assert (found, lines.waiting) == (["title", "caption", "label"], frozenset({"note"}))
