"""`cumulus explain`: a batch's layout as a person and as a script reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "tpch"
Q3 = (EXAMPLE / "views" / "q3.sql").read_text()
SIZES = ("--rows", "customer=150000", "--rows", "orders=1500000", "--rows", "lineitem=6000000")
Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Explains a project with the tables of the example that maintains Q3."""
    text = (EXAMPLE / "cumulus.yaml").read_text()
    head, _, rest = text.partition("\nviews:\n")
    rest = rest[rest.index("\nstate:") :]
    (tmp_path / "q3.sql").write_text(Q3)

    def caller(*arguments: str, layout: str = "") -> Result:
        (tmp_path / "cumulus.yaml").write_text(f"{head}\nviews: {{q3: q3.sql}}\n{layout}{rest}")
        environment = {"CUMULUS_HOME": str(tmp_path)}
        return CliRunner().invoke(main, ["explain", str(tmp_path), *arguments], env=environment, catch_exceptions=False)

    return caller


def test_it_says_what_is_read_sent_and_why(call: Call) -> None:
    result = call(*SIZES)
    assert result.exit_code == 0
    for line in (
        "A BATCH OF 1,000,000 EVENTS on 4 tasks: customer 2%, orders 20%, lineitem 78%",
        "m_orders_1",
        "by l_orderkey",
        "map    m_customer_1: replicated (small)",
        "sends deltas of m_customer_1 to every task",
        "sent between tasks per 1 M events",
    ):
        assert line in result.stdout


def test_a_batch_of_one_relation_sends_nothing(call: Call) -> None:
    result = call("--relations", "lineitem", *SIZES)
    assert "ESTIMATE: nothing is sent between tasks" in result.stdout
    assert "lineitem 100%" in result.stdout


def test_overrides_are_followed_and_said(call: Call) -> None:
    result = call(*SIZES, layout="layout:\n  events: {lineitem: [l_orderkey]}\n")
    assert "events lineitem: by l_orderkey (decided in cumulus.yaml:" in result.stdout


def test_json_for_scripts(call: Call) -> None:
    found = json.loads(call("--json", "--events", "2000000", *SIZES).stdout)
    assert sum(found["events"].values()) == pytest.approx(2_000_000)
    assert found["labels"]["map:m_customer_1"] == ["*"]
    assert found["shuffled_bytes"] > 0


def test_an_unknown_relation_is_answered_with_the_known_ones(call: Call) -> None:
    result = call("--relations", "lineitems")
    assert result.exit_code == 2
    assert "no relation 'lineitems'" in result.stderr
    assert "customer" in result.stderr


HOLDINGS = EXAMPLE.parent / "holdings"


def test_a_cycle_is_shown_where_it_is_settled() -> None:
    shown = CliRunner().invoke(main, ["explain", str(HOLDINGS)], catch_exceptions=False).stdout
    assert "cycle: shares, in each task in rounds until nothing changes" in shown


def test_a_cycle_that_makes_a_batch_one_task_is_answered_with_why(tmp_path: Path) -> None:
    text = (HOLDINGS / "holdings.m3").read_text()
    text = text.replace("shares[S, a] += (RATIO - 1) * shares[S, a]", "shares['ABC', a] += (RATIO - 1) * shares[S, a]")
    (tmp_path / "holdings.m3").write_text(text)
    (tmp_path / "cumulus.yaml").write_text((HOLDINGS / "cumulus.yaml").read_text())
    arguments = ["explain", str(tmp_path)]
    shown = CliRunner().invoke(main, arguments, catch_exceptions=False).stdout
    assert "ONE TASK: the batch computes shares from what it adds to it (a cycle)" in shown
    assert "STAGES" not in shown
    found = json.loads(CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert "(a cycle)" in found["one_task"]
