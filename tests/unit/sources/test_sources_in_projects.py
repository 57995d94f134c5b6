"""Debezium's messages and Delta tables as ``cumulus.yaml`` names them, from the file to the log."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.append.rejected import read_rejected
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.sources.foreign import make_source
from tests.support.debezium import Connector, text_of
from tests.support.source_contract import log_rows

PROJECT = """
name: shop
epochs: {{length: 15m, start: 2026-01-01T00:00:00Z}}
executor: {{kind: inprocess}}
relations:
  orders:
    columns: {{id: bigint, price: "decimal(15,2)", note: string null, day: date null, at: timestamp null}}
    key: [id]
    mode: {mode}
  lines: {{columns: {{order_id: bigint, no: bigint, qty: bigint}}}}
views: {{revenue: revenue.sql}}
sources:
  shop: {{kind: {kind}}}
"""
ORDER = {"id": 1, "price": Decimal("5.00"), "note": None, "day": None, "at": None}
DEBEZIUM = "debezium, path: stream, tables: {orders: public.orders, lines: public.lines}, settle: 1ms, decimals: base64"


def project_file(folder: Path, kind: str, mode: str = "trusted") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cumulus.yaml").write_text(PROJECT.format(kind=kind, mode=mode))
    (folder / "revenue.sql").write_text("SELECT SUM(price) AS revenue FROM orders")


def run(rt: Runtime) -> tuple[int, int]:
    """(rows that count, rows in the quarantine) of all that waits."""
    events = quarantined = 0
    while report := run_minibatch(rt, 0):
        events, quarantined = events + report.events, quarantined + report.quarantined
    assert not rt.sources.problems
    return events, quarantined


def test_a_rejected_row_takes_the_other_relations_rows_with_it(tmp_path: Path) -> None:
    project_file(tmp_path, DEBEZIUM)
    (tmp_path / "stream").mkdir()
    connector = Connector()
    line = {"order_id": 1, "no": 1, "qty": 1}
    messages = connector.transaction([("c", "orders", None, {**ORDER, "price": None}), ("c", "lines", None, line)])
    messages += connector.transaction([("u", "orders", {"id": 1}, ORDER), ("c", "lines", None, line)])
    messages += connector.transaction([("c", "orders", None, ORDER), ("c", "lines", None, line)])
    (tmp_path / "stream" / "a.json").write_text(text_of(messages))
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        assert run(rt) == (2, 4)
        assert {row[2] for row in log_rows(project, rt.catalog)} == {3}


def test_upserts_of_a_table_with_the_default_replica_identity(tmp_path: Path) -> None:
    project_file(tmp_path, DEBEZIUM, "upsert")
    (tmp_path / "stream").mkdir()
    connector = Connector(schemas=True, metadata=False)
    key = {**dict.fromkeys(ORDER), "id": 1}
    messages = connector.change("r", "orders", None, ORDER)
    messages += connector.transaction(
        [("u", "orders", None, {**ORDER, "price": Decimal(7)}), ("c", "orders", None, {**ORDER, "id": 2})]
    )
    messages += connector.transaction([("d", "orders", key, None)])
    (tmp_path / "stream" / "a.json").write_text(text_of(messages))
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        assert run(rt)[1] == 0
        rows = log_rows(project, rt.catalog)
    left: dict[object, int] = {}
    for _, sign, _, *row in rows.elements():
        left[tuple(row)] = left.get(tuple(row), 0) + int(str(sign))
    assert [row for row, count in left.items() if count] == [(2, Decimal("5.00"), None, None, None)]


def test_delta_tables_of_a_project(tmp_path: Path) -> None:
    project_file(tmp_path, "delta, tables: {lines: lake/lines}")
    folder = str(tmp_path / "lake" / "lines")
    new = pa.table({"order_id": [1, 2], "no": [1, 1], "qty": [3, 4]})
    write_deltalake(folder, new, configuration={"delta.enableChangeDataFeed": "true"})
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        assert run(rt) == (2, 0)
        DeltaTable(folder).delete("order_id = 1")
        assert run(rt) == (1, 0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("debezium, tables: {orders: public.orders}", "path"),
        ("debezium, path: x", "tables"),
        ("debezium, path: x, tables: {order: public.orders}", "not a relation"),
        ("debezium, path: x, tables: {orders: a.orders, lines: a.orders}", "followed by two relations"),
        ("debezium, path: x, tables: {orders: a.orders}, decimals: float", "decimals|float"),
        ("debezium, path: x, tables: {orders: a.orders}, folder: y", "folder"),
        ("delta, path: x", "path"),
        ("delta, tables: {order: x}", "not a relation"),
        ("delta, tables: {orders: x, lines: x}", "followed by two relations"),
    ],
)
def test_options_are_looked_at_before_anything_is_opened(tmp_path: Path, kind: str, words: str) -> None:
    project_file(tmp_path, kind)
    project = load_project(tmp_path)
    with pytest.raises(InputProblem, match=words):
        make_source(project, project.sources[0], None)  # type: ignore[arg-type]


def test_lines_in_the_quarantine_stay_lines_when_they_are_read_again(tmp_path: Path) -> None:
    project_file(tmp_path, DEBEZIUM)
    (tmp_path / "stream").mkdir()
    text = text_of(Connector().transaction([("t", "orders", None, None)]))
    (tmp_path / "stream" / "a.json").write_text(text)
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        assert run(rt) == (0, 1)
        files = rt.catalog.deliveries.quarantined_rows()
    (raw,) = read_rejected(project.state, files, project.relations[0])
    assert [(m.kind, m.event, m.text) for m in raw.malformed] == [("truncate", 1, text.splitlines()[1])]
