"""`cumulus compile --check`: a line for each error, or JSON, for editors and CI."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.cli.scaffold import write_project

WRONG = "SELECT o_customer,\n  SUM(o_prise) AS revenue\nFROM orders GROUP BY o_customer\n"
HEAVY = ("pyspark", "airflow", "great_expectations", "sqlalchemy", "pyarrow", "numpy", "pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    write_project(folder, "shop")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CUMULUS_PROJECT", raising=False)
    return folder


def check(*arguments, text=None):
    result = CliRunner().invoke(main, ["compile", "--check", *map(str, arguments)], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_nothing_is_said_of_what_is_right(folder):
    assert check() == (0, "", "")
    assert check("views/revenue.sql", "--json") == (0, "[]\n", "")


def test_a_line_for_each_error(folder):
    (folder / "views" / "revenue.sql").write_text(WRONG)
    said = (
        "views/revenue.sql:2:7: error: no column 'o_prise' [unknown-column]\n"
        "views/revenue.sql:2:7: note: did you mean o_price? columns: o_id, o_customer, o_price, o_note\n"
    )
    assert check() == (1, said, "1 error in 1 file\n")
    assert check("views/revenue.sql") == (1, said, "1 error in 1 file\n")
    assert check("views/revenue_by_city.sql") == (0, "", "")
    absolute = folder / "views" / "revenue.sql"
    assert check(absolute)[1].startswith(f"{absolute}:2:7: error: ")


def test_errors_as_json(folder):
    (folder / "views" / "revenue.sql").write_text(WRONG)
    (folder / "other.sql").write_text("SELECT x\nFROM revenue WHERE LOWER(\n  3) = 'a")
    code, out, _ = check("views/revenue.sql", "other.sql", "--json")
    assert code == 1
    first, second = json.loads(out)
    hint = "did you mean o_price? columns: o_id, o_customer, o_price, o_note"
    assert first == {
        **{"file": "views/revenue.sql", "line": 2, "column": 7, "end_line": 2, "end_column": 14},
        **{"kind": "unknown-column", "message": "no column 'o_prise'", "hint": hint, "view": "revenue"},
    }
    assert (second["file"], second["view"], second["line"], second["column"]) == ("other.sql", None, 3, 8)


def test_a_text_that_is_not_saved_yet(folder):
    code, out, _ = check("-", "--stdin-filename", "views/revenue.sql", "--json", text=WRONG)
    assert (code, [(e["file"], e["line"], e["view"]) for e in json.loads(out)]) == (
        1,
        [("views/revenue.sql", 2, "revenue")],
    )
    reader = "SELECT revenue, orders, x FROM revenue"  # of the view as it is in its file
    assert "views/new.sql:1:25: error: no column 'x'" in check("-", "--stdin-filename", "views/new.sql", text=reader)[1]
    assert check("-", text="SELECT 1 AS a FROM orders")[0] == 0


def test_the_project_is_found_above_the_file(folder, monkeypatch):
    (folder / "views" / "revenue.sql").write_text(WRONG)
    monkeypatch.chdir(folder.parent)
    assert check("shop/views/revenue.sql")[1].startswith("shop/views/revenue.sql:2:7: error: ")
    assert check("--project", "shop")[1].startswith("shop/views/revenue.sql:2:7: error: ")
    (folder.parent / "lost.sql").write_text("SELECT 1")
    code, out, err = check("lost.sql")
    assert (code, out) == (2, "")
    assert "[no-project]" in err


def test_the_projects_file_and_programs_are_checked_too(folder):
    file = folder / "cumulus.yaml"
    file.write_text(file.read_text().replace("coordinators: 1", "coordinators: none"))
    (folder / "p.m3").write_text(
        "PROGRAM p SEMANTICS snapshot;\nRELATION r(a INT);\nMAP m[] : INT;\nON +r(a) DO { n[] += 1; }\n"
    )
    code, out, _ = check("cumulus.yaml", "p.m3", "gone.sql")
    assert code == 1
    lines = [line.split(":")[:4] for line in out.splitlines() if ": error:" in line]
    assert [(f, what.strip()) for f, _, _, what in lines] == [
        ("cumulus.yaml", "error"),
        ("gone.sql", "error"),
        ("p.m3", "error"),
    ]


def test_several_files_are_only_checked(folder):
    result = CliRunner().invoke(main, ["compile", "a.sql", "b.sql"])
    assert (result.exit_code, "go with --check" in result.output) == (2, True)


def test_an_editor_waits_for_no_library_that_is_not_needed(folder):
    program = f"import sys; from cumulus_ops.cli.main import main\ntry: main(['compile', '--check'])\nexcept SystemExit as e: print(e.code, [m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout == "0 []\n"
