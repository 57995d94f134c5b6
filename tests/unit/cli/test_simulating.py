"""`cumulus simulate`: pictures and tables that are there, and say what was simulated."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_papers.protocols import PROTOCOLS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_life_of_an_event_is_listed_and_drawn(protocol: str, tmp_path: Path) -> None:
    svg = tmp_path / "event.svg"
    done = CliRunner().invoke(main, ["simulate", "trace", "--protocol", protocol, "--event", "9", "--svg", str(svg)])
    assert done.exit_code == 0, done.output
    *_, summary = [line for line in done.output.splitlines() if "messages" in line]
    count = int(summary.split()[0])
    drawn = ElementTree.parse(svg).getroot().findall(".//{*}g[@class='message']")
    transmitted = [g for g in drawn if g.find("{*}path[@class='arrow']") is not None]
    assert len(transmitted) == count > 0
    assert all(g.find("{*}title").text for g in drawn)


def test_an_event_that_is_not_there_and_a_protocol_that_is_not_are_named() -> None:
    done = CliRunner().invoke(main, ["simulate", "trace", "--protocol", "target", "--event", "31"])
    assert done.exit_code != 0
    assert "there are 30 events" in done.output
    done = CliRunner().invoke(main, ["simulate", "trace", "--protocol", "gossip", "--event", "1"])
    assert done.exit_code == 2
    assert "known protocols: target" in done.output


def test_an_experiment_writes_a_table_and_its_curves(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["simulate", "switches", "--out", str(tmp_path), "--scale", "0.02"])
    assert done.exit_code == 0, done.output
    with (tmp_path / "switches.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["assignment"] for row in rows} == {"at random", "by key", "by relation"}
    for plot in ("corrections-per-event", "messages-per-event"):
        picture = ElementTree.parse(tmp_path / f"switches-{plot}-by-coordinators.svg").getroot()
        assert "by relation" in "".join(picture.itertext())
