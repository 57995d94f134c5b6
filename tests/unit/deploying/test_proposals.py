"""What sources show and the project does not say: the lines to write; when they are written, there is nothing left to say."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from deltalake import write_deltalake

from cumulus_ops.cli.main import main
from cumulus_ops.deploying.proposals import Proposal, propose
from cumulus_ops.project.project_file import load_project
from tests.support.debezium import text_of
from tests.support.sampling import sampled

KINDS = ("csv", "json", "parquet", "delta", "debezium", "debezium without schemas")
#: A column as YAML has it -> its Arrow type, a value as JSON has it.
TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "bigint": (pa.int64(), 7),
    "decimal(9,2)": (pa.decimal128(9, 2), "1.25"),
    "decimal(12,4)": (pa.decimal128(12, 4), "1.2345"),
    "string": (pa.string(), "x"),
    "date": (pa.date32(), "2026-01-31"),
    "boolean": (pa.bool_(), True),
}


def write_project(folder: Path, kind: str, columns: dict[str, str]) -> None:
    sources = {"landing": {"path": "landing", "settle": "0s"}}
    if kind == "delta":
        sources["lake"] = {"kind": "delta", "tables": {"orders": "lake"}}
    elif kind.startswith("debezium"):
        sources["lake"] = {"kind": "debezium", "path": "lake", "tables": {"orders": "p.orders"}}
    (folder / "v.sql").write_text("SELECT COUNT(*) AS n FROM orders")
    text = {
        "name": "shop",
        "relations": {"orders": {"columns": columns}},
        "sources": sources,
        "epochs": {"length": "1s", "start": "2026-01-01T00:00:00Z"},
        "views": {"v": "v.sql"},
        "executor": {"kind": "inprocess"},
    }
    (folder / "cumulus.yaml").write_text(yaml.safe_dump(text, sort_keys=False))


def show(folder: Path, kind: str, columns: dict[str, str]) -> None:
    """What the source has."""
    types = {name: TYPES[of] for name, of in columns.items()}
    drop = folder / "landing" / "0" / "d1"
    if kind in ("csv", "json", "parquet"):
        drop.mkdir(parents=True)
    match kind:
        case "csv":
            row = [f"{str(value).lower() if value is True else value}" for _, value in types.values()]
            (drop / "orders.csv").write_text(f"{','.join([*columns, 'op'])}\n{','.join([*row, 'I'])}\n")
        case "json":
            row = json.dumps({**{n: v for n, (_, v) in types.items()}, "op": "I"})
            (drop / "orders.ndjson").write_text(f"{row}\n{row}\n")
        case "parquet":
            pq.write_table(table_of(types), drop / "orders.parquet")
        case "delta":
            write_deltalake(folder / "lake", table_of(types), configuration={"delta.enableChangeDataFeed": "true"})
        case _:
            (folder / "lake").mkdir()
            row = {name: value for name, (_, value) in types.items()}
            source = {"connector": "postgresql", "name": "s", "db": "d", "schema": "p", "table": "orders"}
            payload = {"before": None, "after": row, "op": "c", "source": source}
            fields = [{"field": n, "optional": True, **connect_type(columns[n])} for n in columns]
            schema = {"type": "struct", "fields": [{"type": "struct", "fields": fields, "field": "after"}]}
            message = payload if "without" in kind else {"schema": schema, "payload": payload}
            (folder / "lake" / "a.json").write_text(text_of([message, message]))


def table_of(types: dict[str, tuple[pa.DataType, Any]]) -> pa.Table:
    return pa.table({name: pa.array([None], type_) for name, (type_, _) in types.items()})


def connect_type(declared: str) -> dict[str, Any]:
    if declared.startswith("decimal"):
        precision, scale = declared[8:-1].split(",")
        parameters = {"scale": scale, "connect.decimal.precision": precision}
        return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters}
    if declared == "date":
        return {"type": "int32", "name": "io.debezium.time.Date"}
    return {"type": {"bigint": "int64"}.get(declared, declared)}


def written(columns: dict[str, str], proposals: list[Proposal]) -> dict[str, Any]:
    """The columns with all that is proposed."""
    found: dict[str, Any] = dict(columns)
    for one in proposals:
        if one.instead:
            assert found.pop(one.instead), one
        if one.line:
            found |= yaml.safe_load(one.line)
    return found


def proposals_of(folder: Path) -> list[Proposal]:
    found = propose(load_project(folder), None)  # type: ignore[arg-type]
    assert not found.problems
    return list(found.columns)


@pytest.mark.parametrize("seed", sampled(range(4), 2))
@pytest.mark.parametrize("kind", KINDS)
def test_when_it_is_written_there_is_nothing_left_to_say(tmp_path: Path, kind: str, seed: int) -> None:
    random = Random(f"{kind}{seed}")
    names = random.sample("abcdefgh", 6)
    shown = {"id": "bigint", **{name: random.choice(list(TYPES)) for name in names[:4]}}
    declared = {"id": "bigint", **{name: shown.get(name, random.choice(list(TYPES))) for name in names[2:]}}
    write_project(tmp_path, kind, declared)
    show(tmp_path, kind, shown)
    before = proposals_of(tmp_path)
    assert {one.kind for one in before} <= {"add", "remove", "rename"}
    assert {one.instead for one in before} - {""} == set(names[4:]), "those that are gone"
    now = written(declared, before)
    assert set(now) == set(shown)
    write_project(tmp_path, kind, now)
    assert proposals_of(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS[2:5])
def test_types_that_are_wider_are_proposed_and_narrower_ones_are_not(tmp_path: Path, kind: str) -> None:
    shown = {"id": "bigint", "a": "decimal(12,4)", "b": "decimal(9,2)", "c": "bigint", "d": "string"}
    declared = {"id": "bigint", "a": "decimal(9,2)", "b": "decimal(12,4)", "c": "decimal(9,2) null", "d": "bigint"}
    write_project(tmp_path, kind, declared)
    show(tmp_path, kind, shown)
    assert {one.line for one in proposals_of(tmp_path)} == {"a: decimal(12,4)", "c: decimal(21,2) null"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_another_name_is_proposed_as_that_or_as_two(tmp_path: Path, kind: str) -> None:
    write_project(tmp_path, kind, {"id": "bigint", "price": "decimal(9,2)", "day": "date"})
    show(tmp_path, kind, {"id": "bigint", "total": "decimal(9,2)", "day": "date", "weird name": "string"})
    found = {one.kind: one for one in proposals_of(tmp_path)}
    assert found["rename"].line == 'total: {type: "decimal(9,2)", was: price}'
    assert "take price out, and add total" in found["rename"].why
    assert found.keys() == {"rename", "leave out"}


def test_plan_says_it_in_words_and_as_json(tmp_path: Path) -> None:
    write_project(tmp_path, "delta", {"id": "bigint"})
    show(tmp_path, "delta", {"id": "bigint", "tag": "string"})
    call = CliRunner()
    assert call.invoke(main, ["init", str(tmp_path)]).exit_code == 0
    plan = ["plan", "--project", str(tmp_path), "--exit-code"]
    said = call.invoke(main, plan)
    assert said.exit_code == 0, "nothing is to be deployed"
    assert "relation orders, column tag: add; it is so in source lake\n      + tag: string null\n" in said.stdout
    found = json.loads(call.invoke(main, [*plan, "--json"]).stdout)["proposals"]["columns"]
    assert [one["line"] for one in found] == ["tag: string null"]
    assert "tag" not in call.invoke(main, [*plan, "--no-sources"]).stdout
    (tmp_path / "lake").rename(tmp_path / "gone")
    assert "source lake cannot be asked" in call.invoke(main, plan).stdout


def test_a_default_of_the_source_is_proposed() -> None:
    from cumulus_ops.deploying import proposals
    from cumulus_ops.sources.shapes import ShownColumn
    from m3.datatypes import STRING
    from m3.program import Relation

    shown = ShownColumn("word", STRING, "text", "it's")
    found = proposals._add(Relation("r", ()), shown, "source shop")
    assert yaml.safe_load(found.line) == {"word": {"type": "string", "default": "it's"}}
    assert dataclasses.replace(found, line="").kind == "add"
