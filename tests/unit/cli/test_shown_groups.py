"""Groups as `cumulus compile` and `cumulus explain` show them: what is kept together, in which order, for whom."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.explaining import CopyInfo, GroupInfo, group_lines
from cumulus_ops.cli.main import main

PROJECT = """
name: shop
relations:
  customer:
    columns: {c_id: bigint, c_name: string}
    key: [c_id]
    rows: 200
  orders:
    columns: {o_id: bigint, o_customer: bigint, o_price: "decimal(15,2)", o_day: date, o_note: string}
    key: [o_id]
    rows: 60000
sources: {landing: landing}
coordinators: 1
epochs: {length: 15m, start: 2026-01-01T00:00:00Z}
views: {named: named.sql, total: total.sql, days: days.sql}
state: state
publish: {path: published}
validation: {policy: fail, reports: reports}
executor: {kind: inprocess}
"""
VIEWS = {
    "named": "SELECT c_name, SUM(o_price) AS s FROM orders, customer WHERE o_customer = c_id GROUP BY c_name",
    "total": "SELECT c_name, COUNT(*) AS n FROM orders, customer WHERE o_customer = c_id GROUP BY c_name",
    "days": "SELECT o_day, COUNT(*) AS n, MIN(o_note) AS first FROM orders GROUP BY o_day",
}
Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Runs a command on a project with three views, two of which have the same keys."""
    (tmp_path / "cumulus.yaml").write_text(PROJECT)
    for name, sql in VIEWS.items():
        (tmp_path / f"{name}.sql").write_text(sql)

    def caller(command: str, *arguments: str) -> Result:
        project = [str(tmp_path)] if command == "explain" else ["--project", str(tmp_path)]
        result = CliRunner().invoke(main, [command, *arguments, *project], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return caller


def section(text: str) -> list[str]:
    """The lines of the section on groups."""
    _, _, rest = text.partition("\nGROUPS (")
    return rest.partition("\n\n")[0].splitlines()[1:]


def test_compile_shows_the_groups_after_the_rest(call: Call) -> None:
    text = call("compile").stdout
    assert text.index("COST OF ONE EVENT") < text.index("GROUPS (")
    lines = section(text)
    (place,) = (i for i, line in enumerate(lines) if line.startswith("  named_count["))
    assert lines[place : place + 3] == [
        "  named_count[c_name]   (serves named, total)",
        "      maps named_count, named_s",
        "      sorted by [c_name]: about 29 bytes a row",  # a hash, a text, a count, a sum
    ]
    assert any(line.endswith("(serves days)") for line in lines)


def test_compile_of_a_view_shows_its_groups_as_they_are_shared(call: Call) -> None:
    text = call("compile", "--view", "total").stdout
    assert "VIEW named" not in text
    lines = section(text)
    assert "  named_count[c_name]   (serves named, total)" in lines
    assert not any("(serves days)" in line for line in lines)


def test_rows_change_the_estimate(call: Call) -> None:
    few, many = (section(call("compile", "--rows", f"customer={n}").stdout) for n in (200, 100_000))
    assert few != many


def test_explain_shows_the_groups_that_a_batch_touches(call: Call) -> None:
    everything, some = section(call("explain").stdout), section(call("explain", "--relations", "customer").stdout)
    assert "  named_count[c_name]   (serves named, total)" in some
    assert set(some) < set(everything)
    assert any(line.startswith("  days") for line in everything)
    assert not any(line.startswith("  days") for line in some)


def test_explain_gives_scripts_all_about_groups(call: Call) -> None:
    groups = {group["name"]: group for group in json.loads(call("explain", "--json").stdout)["groups"]}
    assert groups["named_count"] == {
        "name": "named_count",
        "keys": ["c_name"],
        "maps": ["named_count", "named_s"],
        "views": ["named", "total"],
        "copies": [
            {
                "by": ["c_name"],
                "order": None,
                "keys": ["c_name"],
                "values": ["named_count", "named_s"],
                "bytes_per_row": 29,
            }
        ],
    }
    (ordered,) = (copy for group in groups.values() for copy in group["copies"] if copy["order"])
    assert ordered["order"] in ordered["keys"]


def test_what_a_copy_leaves_out_is_said() -> None:
    whole = CopyInfo(("a", "b"), None, ("a", "b", "c"), ("m", "n"), 9)
    part = CopyInfo(("c",), "b", ("b", "c"), ("n",), 5)
    empty = CopyInfo((), None, ("a", "b", "c"), (), 0)
    group = GroupInfo("m", ("a", "b", "c"), ("m", "n"), tuple("pqrstuv"), (whole, part, empty))
    assert list(group_lines([group])) == [
        "  m[a, b, c]   (serves p, q, r, s, t and 2 more)",
        "      maps m, n",
        "      sorted by [a, b]: about 9 bytes a row",
        "      sorted by [c], then by b, keys [b, c] only, values n only: about 5 bytes a row",
        "      not sorted, no values: about 0 bytes a row",
    ]
    assert list(group_lines([])) == ["  none"]


def test_a_program_shows_its_groups(call: Call, tmp_path: Path) -> None:
    program = tmp_path / "p.m3"
    program.write_text(
        "PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); MAP m[a INT] : INT; MAP n[a INT] : INT;"
        "ON +r(a, b) { m[a] += 1; n[a] += b }"
    )
    assert section(call("compile", str(program)).stdout) == [
        "  m[a]   (serves no view)",
        "      maps m, n",
        "      sorted by [a]: about 9 bytes a row",
    ]
