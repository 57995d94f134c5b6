"""`cumulus query` in the formats of others: nothing is lost, and files appear as a whole."""

import csv
import io
import json
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from cumulus_ops.cli import writing
from cumulus_ops.cli.main import main
from cumulus_ops.cli.output import print_rows
from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project

ORDERS = [(1, 'a, "b"', "9999999999999.99"), (2, "", "0.10"), (3, "ann", "0.20")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with one snapshot."""
    folder = tmp_path_factory.mktemp("formats")
    write_project(folder, "shop")
    (folder / "views" / "notes.sql").write_text(
        "SELECT o_id, o_note, SUM(o_price) AS price FROM orders GROUP BY o_id, o_note\n"
    )
    (folder / "views" / "lists.sql").write_text(
        "SELECT COUNT(*) AS n, ARRAY_AGG(o_price ORDER BY o_id) AS prices, ARRAY_AGG(o_note ORDER BY o_id) AS notes, "
        "ARRAY_AGG(o_customer ORDER BY o_id) AS customers FROM orders\n"
    )
    file = folder / "cumulus.yaml"
    text = file.read_text().replace("kind: spark", "kind: inprocess")
    file.write_text(
        text.replace(
            "  revenue: views/revenue.sql\n",
            "  revenue: views/revenue.sql\n  notes: views/notes.sql\n  lists: views/lists.sql\n",
        )
    )
    project = load_project(folder)
    initialise(project)
    drop = project.landing / "0" / "d1"
    drop.mkdir(parents=True)
    rows = [{"op": "I", "event": n, "o_id": n, "o_customer": name, "o_price": price} for n, name, price in ORDERS]
    (drop / "orders.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_runtime(project, "inprocess") as runtime:
        run_epochs(runtime, 1, validating=False)
    return folder


@pytest.fixture
def query(folder, tmp_path, monkeypatch):
    """Queries, in an empty folder."""
    monkeypatch.setenv("CUMULUS_PROJECT", str(folder))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["query", *arguments])


def rows_of(text):
    return sorted(csv.DictReader(io.StringIO(text)), key=lambda row: row["o_id"])


def test_csv_tells_null_from_an_empty_text(query):
    said = query("notes", "--format", "csv").stdout
    assert [(r["o_id"], r["price"]) for r in rows_of(said)] == [("1", "9999999999999.99"), ("2", "0.10"), ("3", "0.20")]
    assert "1,,9999999999999.99" in said, "NULL"
    (empty,) = [r for r in csv.reader(io.StringIO(query("revenue", "--format", "csv").stdout)) if r[1] == "0.10"]
    assert empty[0] == ""
    assert '"",0.10,1' in query("revenue", "--format", "csv").stdout


def test_json_keeps_every_digit_and_obeys_the_limit(query):
    rows = json.loads(query("notes", "--json").stdout)
    assert {r["o_id"]: r["price"] for r in rows} == {1: "9999999999999.99", 2: "0.10", 3: "0.20"}
    assert json.loads(query("notes", "--format", "json").stdout) == rows
    assert json.loads(query("notes", "--json", "--limit", "2").stdout) == rows[:2]
    assert json.loads(query("notes", "--json", "--limit", "0").stdout) == []


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
def test_a_file_has_the_same_rows(query, tmp_path, form):
    file = tmp_path / f"rows.{form}"
    file.write_text("old")
    done = query("notes", "--output", str(file))
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"wrote 3 rows to {file}" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [file.name], "nothing is left beside it"
    if form == "csv":
        prices = {int(r["o_id"]): Decimal(r["price"]) for r in rows_of(file.read_text())}
    elif form == "json":
        prices = {r["o_id"]: Decimal(r["price"]) for r in json.loads(file.read_text())}
    else:
        table = pq.read_table(file) if form == "parquet" else pa.ipc.open_file(file).read_all()
        assert pa.types.is_decimal(table.schema.field("price").type)
        prices = dict(zip(table["o_id"].to_pylist(), table["price"].to_pylist(), strict=True))
    assert prices == {1: Decimal("9999999999999.99"), 2: Decimal("0.10"), 3: Decimal("0.20")}


def test_every_answer_says_by_what_it_is_final(query, tmp_path):
    assert "final by epoch 0" in query("notes").stdout
    assert "tentative" in query("notes", "--tentative").stdout
    assert {r["final_by"] for r in json.loads(query("notes", "--json").stdout)} == {"epoch 0"}
    plain = query("notes", "--format", "csv")
    assert "final by epoch 0" in plain.stderr
    assert "final_by" not in plain.stdout
    assert {r["final_by"] for r in rows_of(query("notes", "--format", "csv", "--provenance").stdout)} == {"epoch 0"}
    assert "final_by" in query("notes", "--provenance").stdout
    for form in ("parquet", "arrow"):
        file = tmp_path / f"rows.{form}"
        query("notes", "-o", str(file))
        table = pq.read_table(file) if form == "parquet" else pa.ipc.open_file(file).read_all()
        assert table.schema.metadata[b"cumulus.final-by"] == b"final by epoch 0"
        assert "final_by" not in table.column_names
        query("notes", "-o", str(file), "--provenance")
        table = pq.read_table(file) if form == "parquet" else pa.ipc.open_file(file).read_all()
        assert set(table["final_by"].to_pylist()) == {"epoch 0"}


def test_what_fails_leaves_the_old_file(query, tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    file.write_text("old")

    def half(_rows, sink):
        sink.write(b"half a")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(writing.FORMATS, "csv", half)
    done = query("notes", "-o", str(file))
    assert (done.exit_code, file.read_text()) == (2, "old")
    assert "No space left on device" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "parquet"], "name a file: --output rows.parquet"),
        (["--format", "csv", "--json"], "give one of them"),
        (["--output", "rows.xlsx"], "say --format csv, json, parquet or arrow"),
        (["--output", "rows.csv", "--format", "table"], "say --format"),
        (["--output", "nowhere/rows.csv"], "a folder that exists"),
    ],
)
def test_what_is_not_possible_is_said(query, arguments, said):
    done = query("notes", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_values_that_json_and_csv_have_no_words_for():
    rows = pa.table(
        {"x": [float("nan"), float("inf"), 0.1], "l": [[Decimal("1.10")], None, []], "b": [True, None, False]}
    )
    out = io.BytesIO()
    writing.FORMATS["json"](rows, out)
    assert json.loads(out.getvalue()) == [
        {"x": "nan", "l": ["1.10"], "b": True},
        {"x": "inf", "l": None, "b": None},
        {"x": 0.1, "l": [], "b": False},
    ]
    out = io.BytesIO()
    writing.FORMATS["csv"](rows, out)
    assert out.getvalue().decode().splitlines()[1:] == ['nan,"[""1.10""]",true', "inf,,", '0.1,"[]",false']


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[b]", "[b]"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("[/foo]", "[/foo]"),
        ("a\x1b[31mb\u202e", "a\\x1b[31mb\\u202e"),
        ("\\", "\\"),
    ],
)
def test_values_names_and_titles_are_no_markup(capsys, value, said):
    print_rows(pa.table({value: [value, "", None]}), value, None)
    shown = capsys.readouterr().out
    assert shown.count(said) == 3, shown
    assert "\x1b" not in shown


def test_only_regular_files_are_replaced_and_links_followed(query, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused = query("notes", "--format", "csv", "--output", "pipe")
    assert (refused.exit_code, (tmp_path / "pipe").is_fifo()) == (2, True)
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert query("notes", "--format", "csv", "--output", "link.csv").exit_code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert len(rows_of((tmp_path / "real.csv").read_text())) == 3


def test_lists_are_lists_in_every_format(query, tmp_path):
    prices, customers = ["9999999999999.99", "0.10", "0.20"], [name for _, name, _ in ORDERS]
    (row,) = json.loads(query("lists", "--json").stdout)
    assert (row["prices"], row["notes"], row["customers"]) == (prices, [None] * 3, customers)
    (row,) = csv.DictReader(io.StringIO(query("lists", "--format", "csv").stdout))
    assert (json.loads(row["prices"]), json.loads(row["customers"])) == (prices, customers)
    query("lists", "-o", "l.parquet")
    held = pq.read_table(tmp_path / "l.parquet")
    assert held["prices"].to_pylist() == [list(map(Decimal, prices))]
    said = query("lists").stdout
    assert "[9999999999999.99, 0.10, 0.20]" in said
    assert "[NULL, NULL, NULL]" in said
