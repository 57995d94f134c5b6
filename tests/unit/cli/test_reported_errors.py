"""Every command reports all errors of a project at once, in the same words, each in its file."""

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.cli.scaffold import write_project

REVENUE = "SELECT o_customer,\n\tSUM(o_prise) AS revenue, APPROX_TOP_K(o_price) AS k\nFROM orders GROUP BY o_customer\n"
BY_CITY = "SELECT c_city FROM orders JOIN custmers ON o_customer = c_name\n"
COMMANDS = (["init", "."], ["compile"], ["run"], ["explain"], ["analyze"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with errors in two views."""
    folder = tmp_path / "shop"
    write_project(folder, "shop")
    (folder / "views" / "revenue.sql").write_text(REVENUE, newline="")
    (folder / "views" / "revenue_by_city.sql").write_text(BY_CITY, newline="")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CUMULUS_PROJECT", raising=False)
    return folder


def said(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_all_errors_are_reported_at_their_places(folder, arguments):
    assert said(arguments).splitlines() == [
        "error [unknown-column] no column 'o_prise'",
        "  at   views/revenue.sql:2:6",
        "   |     SUM(o_prise) AS revenue, APPROX_TOP_K(o_price) AS k",
        "   |         ^^^^^^^",
        *["  hint did you mean o_price? columns: o_id, o_customer, o_price, o_note", ""],
        "error [unsupported-aggregate] APPROX_TOP_K cannot be maintained",
        "  at   views/revenue.sql:2:27",
        "   |     SUM(o_prise) AS revenue, APPROX_TOP_K(o_price) AS k",
        "   |                              ^^^^^^^^^^^^^^^^^^^^^",
        "  hint docs/functions.md has what is maintained; a column of a table can hold what is computed elsewhere",
        "",
        "error [unknown-relation] no relation 'custmers'",
        "  at   views/revenue_by_city.sql:1:32",
        "   | SELECT c_city FROM orders JOIN custmers ON o_customer = c_name",
        "   |                                ^^^^^^^^",
        *["  hint did you mean customers? known relations: customers, orders, revenue", ""],
        "3 errors in 2 files",
    ]


def test_errors_of_the_projects_file_come_with_those_of_views(folder):
    file = folder / "cumulus.yaml"
    text = file.read_text().replace("coordinators: 1", "coordinators: none\ndialects: postgres")
    text = text.replace("c_city: string", "c_city: sting").replace("retain", "retan")
    file.write_text(text + "memory: little\n")
    report = said(["compile"])
    assert [line for line in report.splitlines() if line.startswith("error")] == [
        "error [bad-type] relations.customers.columns.c_city: unknown type 'sting'",
        "error [bad-value] coordinators: 'none' is out of range",
        "error [unknown-key] dialects: unknown key",
        "error [bad-memory] memory: 'little' is no amount of memory",
        "error [unknown-column] no column 'o_prise'",
        "error [unsupported-aggregate] APPROX_TOP_K cannot be maintained",
        "error [unknown-relation] no relation 'custmers'",  # customers is known, though not its columns
    ]
    assert "  at   cumulus.yaml:" in report
    assert report.splitlines()[-1] == "7 errors in 3 files"


def test_errors_are_named_as_seen_from_where_the_command_runs(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert "  at   shop/views/revenue.sql:2:6\n" in said(["compile", "--project", "shop"])
    monkeypatch.chdir(folder / "views")
    assert "  at   revenue.sql:2:6\n" in said(["compile", "--project", ".."])


def test_a_query_in_the_place_of_a_file(folder):
    file = folder / "cumulus.yaml"
    file.write_text(file.read_text().replace("views/revenue.sql", "select 1 as a from orders"))
    report = said(["init", "."])
    assert "a query in the place of its file's name" in report
    assert "hint write it to views/revenue.sql, and `revenue: views/revenue.sql` here" in report


def test_a_file_outside_of_the_views(folder):
    other = folder / "other.sql"
    other.write_bytes("\ufeffSELECT revenue_by_city.c_city,\r\n  x FROM revenue_by_city\r\n".encode())
    report = said(["compile", "other.sql"])
    assert "  at   views/revenue_by_city.sql:1:32\n" in report
    assert "other.sql:2" not in report  # it may be a column of what has an error
