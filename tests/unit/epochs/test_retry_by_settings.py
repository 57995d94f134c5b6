"""Rows that were put aside are read again by what cumulus.yaml says now."""

import json

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main

PROJECT = """\
name: shop
relations:
  orders: {columns: {o_id: bigint, o_city: string null, o_price: "decimal(8,2) null"}, key: [o_id], mode: strict}
sources: {landing: {path: landing, ops: insert, settle: 0s%s}}
epochs: {length: 1h, start: 2026-01-01T00:00:00Z}
views: {revenue: revenue.sql}
validation: {policy: off}
executor: {kind: inprocess}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.delenv("CUMULUS_HOME", raising=False)

    def caller(*arguments, exit_code=0):
        done = CliRunner().invoke(main, [*arguments, "--project", str(tmp_path)], catch_exceptions=False)
        assert done.exit_code == exit_code, done.output
        return done.stdout

    return caller


def test_words_for_null_and_files_without_operations(call, tmp_path):
    (tmp_path / "cumulus.yaml").write_text(PROJECT % "")
    (tmp_path / "revenue.sql").write_text(
        "SELECT o_city, COUNT(*) AS n, SUM(o_price) AS total FROM orders GROUP BY o_city"
    )
    drop = tmp_path / "landing" / "0" / "first"
    drop.mkdir(parents=True)
    (drop / "orders.csv").write_text("o_id,o_city,o_price\n1,Porto,1.50\n2,NULL,NULL\n3,Porto,1,5\n")
    call("run")
    (tmp_path / "cumulus.yaml").write_text(PROJECT % ", null_values: [NULL]")
    (before,) = json.loads(call("quarantine", "list", "--json"))["rows"]
    assert before["rows"] == 2
    other_types = (PROJECT % "").replace('o_price: "decimal(8,2) null"', 'o_price: "decimal(9,3) null"')
    (tmp_path / "cumulus.yaml").write_text(other_types)
    call("quarantine", "retry", before["label"], exit_code=2)
    (tmp_path / "cumulus.yaml").write_text(PROJECT % ", null_values: [NULL]")
    (again,) = json.loads(call("quarantine", "retry", before["label"], "--json"))
    assert (again["accepted"], again["rejected"]) == (1, 1)
    call("run")
    rows = json.loads(call("query", "revenue", "--json"))
    assert sorted((r["o_city"] or "", r["n"], r["total"]) for r in rows) == [("", 1, None), ("Porto", 1, "1.50")]
