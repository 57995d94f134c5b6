"""The `cumulus` command as a user types it: results, errors that explain themselves, exit codes."""

import datetime
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.project.project_file import load_project

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "tpch"


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs the command with a state folder of its own."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CUMULUS_PROJECT", raising=False)

    def caller(*arguments):
        return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)

    return caller


@pytest.fixture
def shop(call, tmp_path):
    assert call("init", "--empty", tmp_path / "shop").exit_code == 0
    assert call("init", tmp_path / "shop").exit_code == 0
    return tmp_path / "shop"


def land(folder, drop, rows):
    """Deliver one drop of orders, as a source would: by one rename."""
    landing = folder / "0"
    (landing / ".new").mkdir(parents=True)
    (landing / ".new" / "orders.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (landing / ".new" / "_SUCCESS").touch()
    (landing / ".new").rename(landing / drop)


def test_init_writes_a_project_that_is_ready(call, shop):
    assert (shop / "cumulus.yaml").exists()
    status = json.loads(call("status", "--project", shop, "--json").stdout)
    (coordinator,) = status["coordinators"]
    expected = {"index": 0, "epoch": 0, "holds_token": True, "pending_drops": 0, "state": "works"}
    assert coordinator == expected | {"ends_at": coordinator["ends_at"]}


def test_init_leaves_an_existing_project_alone(call, shop):
    before = (shop / "cumulus.yaml").read_text()
    (shop / "cumulus.yaml").write_text(before + "# mine\n")
    again = call("init", shop)
    assert again.exit_code == 0
    assert "wrote" not in again.stdout
    assert (shop / "cumulus.yaml").read_text().endswith("# mine\n")


@pytest.mark.parametrize(("stage", "expected"), [("algebra", "SUM"), ("m3", "ON +lineitem"), ("dataflow", "lineitem")])
def test_compile_stops_where_told(call, stage, expected):
    done = call("compile", EXAMPLE / "views" / "q6.sql", "--emit", stage, "--project", EXAMPLE)
    assert done.exit_code == 0
    assert expected.lower() in done.stdout.lower()


def test_compile_explains_by_default(call):
    done = call("compile", EXAMPLE / "views" / "q17.sql", "--project", EXAMPLE)
    assert done.exit_code == 0
    for part in ("VIEW q17", "MAPS", "RE-EVALUATED", "COST OF ONE EVENT", "one row per (l_partkey), recomputed"):
        assert part in done.stdout
    assert "STATEMENTS" not in done.stdout
    full = call("compile", EXAMPLE / "views" / "q17.sql", "--project", EXAMPLE, "--full")
    assert "STATEMENTS" in full.stdout


def test_compile_without_a_file_takes_the_project_and_one_of_its_views(call):
    everything = call("compile", "--project", EXAMPLE).stdout
    assert "VIEW q1\n" in everything
    assert "VIEW q10\n" in everything
    one = call("compile", "--project", EXAMPLE, "--view", "q10").stdout
    assert "VIEW q1\n" not in one
    assert "VIEW q10\n" in one
    emitted = call("compile", "--project", EXAMPLE, "--view", "q10", "--emit", "m3").stdout
    assert next(line for line in emitted.splitlines() if line.startswith("VIEW")).startswith("VIEW q10[")


@pytest.mark.parametrize("emit", [(), ("--emit", "algebra")])
def test_compile_of_an_unknown_view_names_the_known_ones(call, emit):
    done = call("compile", "--project", EXAMPLE, "--view", "q99", *emit)
    assert done.exit_code == 2
    assert "known views: " in done.stderr


def test_compile_takes_rows_for_its_estimates(call, tmp_path):
    file = EXAMPLE / "views" / "q17.sql"
    text = (EXAMPLE / "cumulus.yaml").read_text()
    (tmp_path / "cumulus.yaml").write_text("".join(x for x in text.splitlines(True) if not x.startswith("    rows: ")))
    shutil.copytree(EXAMPLE / "views", tmp_path / "views")
    symbolic = call("compile", file, "--project", tmp_path).stdout
    known = call("compile", file, "--project", tmp_path, "--rows", "part=10", "--rows", "lineitem=300").stdout
    assert "s1 = entries of" in symbolic
    assert "s1 = " not in known
    declared = call("compile", file, "--project", EXAMPLE).stdout
    assert "s1 = " not in declared
    assert declared != call("compile", file, "--project", EXAMPLE, "--rows", "lineitem=300").stdout
    for wrong in ("nowhere=1", "part", "part=many", "part=-1"):
        done = call("compile", file, "--project", EXAMPLE, "--rows", wrong)
        assert done.exit_code == 2
        assert "hint" in done.stderr


def test_compile_draws(call, tmp_path):
    done = call("compile", EXAMPLE / "views" / "q3.sql", "--project", EXAMPLE, "--svg", tmp_path / "q3.svg")
    assert done.exit_code == 0
    assert f"wrote {tmp_path / 'q3.svg'}" in done.stderr
    assert (tmp_path / "q3.svg").read_text().startswith("<svg")
    assert call("compile", "--project", EXAMPLE, "--svg", tmp_path / "no" / "q3.svg").exit_code == 2


def test_compile_reads_a_program(call, tmp_path):
    program = tmp_path / "p.m3"
    program.write_text("RELATION r(a INT); MAP m[a INT] : INT;\nON +r(a) { m[a] += 1 }\n")
    assert "m[a] : INT" in call("compile", program, "--project", EXAMPLE).stdout
    assert "m[a] += 1" in call("compile", program, "--project", EXAMPLE, "--emit", "m3").stdout
    assert "on +r#0" in call("compile", program, "--project", EXAMPLE, "--emit", "dataflow").stdout
    assert call("compile", program, "--project", EXAMPLE, "--emit", "algebra").exit_code == 2
    program.write_text("RELATION r(a INT);\nON +r(a) { n[a] += 1 }\n")
    wrong = call("compile", program, "--project", EXAMPLE)
    assert wrong.exit_code == 2
    assert "ON +r(a) { n[a] += 1 }" in wrong.stderr


def test_compile_underlines_in_the_view_that_is_wrong(call, shop):
    file = next((shop / "views").glob("*.sql"))
    file.write_text("SELECT o_customer, SUM(o_foo) AS s\nFROM orders GROUP BY o_customer")
    done = call("compile", "--project", shop)
    assert done.exit_code == 2
    assert "SELECT o_customer, SUM(o_foo) AS s" in done.stderr
    assert "^^^^^" in done.stderr


def test_compile_underlines_the_place_of_an_error(call, tmp_path):
    (tmp_path / "bad.sql").write_text("SELECT SUM(o_totalprice)\nFROM orders WHERE o_foo = 1")
    done = call("compile", tmp_path / "bad.sql", "--project", EXAMPLE)
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    shown = next(i for i, line in enumerate(lines) if "FROM orders WHERE o_foo = 1" in line)
    assert lines[shown + 1].index("^") == lines[shown].index("o_foo")
    assert lines[shown + 1].count("^") == len("o_foo")
    assert "hint" in done.stderr


def test_missing_project_is_a_user_error_with_a_hint(call, tmp_path):
    done = call("status", "--project", tmp_path)
    assert done.exit_code == 2
    assert "cumulus init" in done.stderr
    assert "Traceback" not in done.stderr


def test_tentative_query_sees_no_rows_before_anything_landed(call, shop):
    done = call("query", "revenue", "--project", shop, "--tentative", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == []


def test_query_of_an_unknown_view_names_the_known_ones(call, shop):
    done = call("query", "sales", "--project", shop)
    assert done.exit_code == 2
    assert "known views: revenue, revenue_by_city" in done.stderr


def test_snapshot_and_tentative_exclude_each_other(call, shop):
    assert call("query", "revenue", "--project", shop, "--tentative", "--as-of", "0").exit_code == 2


@pytest.mark.spark
def test_run_and_query_as_of_each_epoch(call, shop):
    home = shop.parent / "home" / "landing"
    land(home, "d1", [{"o_id": 1, "o_customer": "ann", "o_price": "10.50", "o_note": None, "op": "I", "event": 1}])
    assert call("run", "--project", shop, "--executor", "inprocess").exit_code == 0
    land(home, "d2", [{"o_id": 2, "o_customer": "ann", "o_price": "0.25", "o_note": "x", "op": "I", "event": 2}])
    assert call("run", "--project", shop, "--executor", "inprocess").exit_code == 0
    first = json.loads(call("query", "revenue", "--project", shop, "--as-of", "0", "--json").stdout)
    newest = json.loads(call("query", "revenue", "--project", shop, "--json").stdout)
    assert first == [{"o_customer": "ann", "revenue": "10.50", "orders": 1, "final_by": "epoch 0"}]
    assert newest == [{"o_customer": "ann", "revenue": "10.75", "orders": 2, "final_by": "epoch 1"}]
    proof = json.loads(call("validate", "0", "--project", shop, "--json").stdout)
    assert [(v["view"], v["outcome"]) for v in proof["verdicts"]] == [
        ("revenue", "equal"),
        ("revenue_by_city", "equal"),
    ]
    assert Path(proof["docs_index"]).exists()


@pytest.mark.spark
def test_a_new_project_runs_as_it_is(call, tmp_path):
    made = call("init", tmp_path / "first")
    assert "next: " in made.stdout
    done = call("run", "--project", tmp_path / "first")
    assert done.exit_code == 0
    assert "epoch 0: validation passed" in done.stdout
    rows = json.loads(call("query", "revenue_by_city", "--project", tmp_path / "first", "--json").stdout)
    assert {r["c_city"]: (r["revenue"], r["orders"]) for r in rows} == {"Lisbon": ("28.15", 2), "Porto": ("42.10", 2)}
    (waits,) = json.loads(call("status", "--project", tmp_path / "first", "--json").stdout)["epochs"]
    assert (waits["events"], waits["quarantined"], waits["duplicates"]) == (11, 0, 0)
    again = call("run", "--project", tmp_path / "first")
    assert "nothing waits" in again.stdout
    assert len(json.loads(call("status", "--project", tmp_path / "first", "--json").stdout)["epochs"]) == 1


def test_a_new_project_begins_now(call, tmp_path):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    assert call("init", "--empty", tmp_path / "first").exit_code == 0
    start = load_project(tmp_path / "first").epoch.start
    assert before <= start <= datetime.datetime.now(datetime.UTC)


def test_existing_tables_are_loaded_once_in_batches_before_all_drops(call, shop, tmp_path):
    rows = [{"o_id": i, "o_customer": f"c{i % 3}", "o_price": Decimal("1.50"), "o_note": None} for i in range(10)]
    tables = tmp_path / "tables"
    tables.mkdir()
    text = (shop / "cumulus.yaml").read_text()
    (shop / "cumulus.yaml").write_text(text + "\nbatches: {rows: 4}\n")
    nothing = call("load", tables, "--project", shop)
    assert nothing.exit_code != 0
    assert ".parquet" in nothing.output
    pq.write_table(pa.Table.from_pylist(rows), tables / "orders.parquet")
    cities = [{"c_name": f"c{i}", "c_city": "x"} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(cities), tables / "customers.parquet")
    done = call("load", tables, "--project", shop, "--executor", "inprocess")
    assert done.exit_code == 0, done.output
    assert "loaded 13 rows" in done.output
    assert "4 rows applied" in done.output
    assert "before" in call("load", tables, "--project", shop).output
    found = json.loads(call("query", "revenue", "--project", shop, "--tentative", "--json").stdout)
    assert [row["final_by"] for row in found] == ["tentative"] * 3


def test_init_tells_which_view_reads_whole_maps(call, tmp_path):
    folder = tmp_path / "scanning"
    assert call("init", "--empty", folder).exit_code == 0
    (folder / "views" / "revenue.sql").write_text(
        "SELECT COUNT(*) AS n FROM orders JOIN customers ON o_customer < c_name"
    )
    told = call("init", folder).stderr
    assert "view revenue: each event of orders reads all of" in told
    assert "view revenue_by_city" not in told
