"""`cumulus scrub`: all runs are verified, and each damaged one is named with what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Run
from cumulus_ops.cli.main import main
from cumulus_ops.cli.serving import progress_lines
from cumulus_ops.epochs.checkpoint import correct
from cumulus_ops.epochs.scrubbing import scrub
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project

EXIT_USER = 2
Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command on a project with two views and a loaded table."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    shop = tmp_path / "shop"

    def caller(*arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments, "--project", str(shop)], catch_exceptions=False)

    assert CliRunner().invoke(main, ["init", str(shop)]).exit_code == 0
    (shop / "views" / "by_id.sql").write_text("SELECT o_id, SUM(o_price) AS price FROM orders GROUP BY o_id")
    text = (shop / "cumulus.yaml").read_text()
    (shop / "cumulus.yaml").write_text(text.replace("views:\n", "views:\n  by_id: views/by_id.sql\n"))
    shutil.rmtree(tmp_path / "home" / "state")
    rows = [{"o_id": i, "o_customer": f"c{i % 7}", "o_price": Decimal(i), "o_note": None} for i in range(100)]
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "tables" / "orders.parquet")
    assert caller("load", str(tmp_path / "tables"), "--executor", "inprocess").exit_code == 0
    return caller


def stored(folder: Path) -> tuple[Path, Sequence[Run]]:
    """The state folder and the runs in it."""
    project = load_project(folder / "shop")
    catalog = Catalog(project.catalog_url)
    try:
        return project.state, catalog.commits.runs(catalog.commits.last_commit())
    finally:
        catalog.close()


def change(file: Path, offset: int) -> None:
    """Change one byte."""
    with file.open("r+b") as damaged:
        damaged.seek(offset)
        byte = damaged.read(1)
        damaged.seek(offset)
        damaged.write(bytes([byte[0] ^ 1]))


def test_all_is_well(call: Call, tmp_path: Path) -> None:
    _, runs = stored(tmp_path)
    result = call("scrub")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{len(runs)} runs, ")
    assert "verified in" in result.stdout
    assert result.stderr == ""
    report = json.loads(call("scrub", "--json").stdout)
    assert (report["runs"], report["bytes"]) == (len(runs), sum(run.bytes for run in runs))
    assert report["damaged"] == []


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_a_damaged_byte_anywhere_in_a_run_names_that_run(call: Call, tmp_path: Path, place: float) -> None:
    state, runs = stored(tmp_path)
    assert len({run.map for run in runs}) == len(runs) == 2
    for run in runs:
        byte = run.offset + int(place * (run.bytes - 1))
        change(state / run.path, byte)
        result = call("scrub")
        assert result.exit_code == EXIT_USER
        (line,) = (line for line in result.stderr.splitlines() if line.startswith("damaged: "))
        by = "o_id" if run.map.startswith("by_id") else "o_customer"
        assert line.startswith(f"damaged: {run.map} by [{by}], {state / run.path}, byte {run.offset}: ")
        assert "1 of 2 runs is damaged" in result.stderr
        assert "hint restore the file from a copy" in result.stderr
        assert result.stdout.startswith("1 run, ")
        change(state / run.path, byte)
    assert call("scrub").exit_code == 0


def test_a_damaged_log_file_is_named_and_its_key_index_is_not_proved(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    (file,) = (state / "log" / "orders").iterdir()
    well = call("scrub")
    assert "2 files of the log, the quarantine and key indexes, " in well.stdout
    assert "the log says what the key index of orders says" in well.stdout
    change(file, file.stat().st_size // 2)
    result = call("scrub")
    assert result.exit_code == EXIT_USER
    assert f"damaged: log of orders, batch 1, {file}: block 0 does not have its checksum" in result.stderr
    assert f"the key index of orders cannot be compared with the log: {file}: " in result.stderr
    assert "1 of 2 files of the log, the quarantine and key indexes is damaged" in result.stderr
    assert "hint restore the file from a copy" in result.stderr
    report = json.loads(call("scrub", "--json").stdout)
    assert (report["damaged"], report["proved"]) == ([], [])
    assert [index["relation"] for index in report["wrong_indexes"]] == ["orders"]


def test_a_missing_or_short_file_is_damage_of_all_its_runs(call: Call, tmp_path: Path) -> None:
    state, runs = stored(tmp_path)
    (pack,) = {state / run.path for run in runs}
    whole = pack.read_bytes()
    pack.write_bytes(whole[: runs[-1].offset + 30])
    short = call("scrub")
    assert short.exit_code == EXIT_USER
    assert short.stderr.count("the file is too short") == 1
    pack.unlink()
    missing = call("scrub", "--json")
    assert missing.exit_code == EXIT_USER
    assert missing.stderr.count("its file is missing") == len(runs)
    assert "2 of 2 runs are damaged" in missing.stderr
    damaged = json.loads(missing.stdout)["damaged"]
    assert [(run["group"], run["file"], run["offset"]) for run in damaged] == [
        (run.map, str(pack), run.offset) for run in runs
    ]
    assert all("restore the file" in run["hint"] for run in damaged)


def test_a_file_that_went_because_its_runs_were_merged_is_not_missed(call: Call, tmp_path: Path) -> None:
    state, runs = stored(tmp_path)
    with open_runtime(load_project(tmp_path / "shop"), "inprocess") as rt:
        correct(rt)

        def merged_meanwhile(done: int, total: int) -> None:
            if done < total:
                rt.catalog.commits.commit_merge([([run], None) for run in runs[1:]])
                (state / runs[1].path).unlink()

        report = scrub(rt, merged_meanwhile)
        assert (report.runs, report.damaged) == (len(runs), ())
        (run,) = scrub(rt).damaged
        assert run.group == runs[0].map  # that one is


def test_progress_is_shown_now_and_then() -> None:
    lines: list[str] = []
    advance = progress_lines(lines.append, 1000)
    for done in (400, 900, 1100, 1900, 4000, 4200, 5000):
        advance(done, 5000)
    assert lines == ["1.1 kB of 5 kB verified", "4 kB of 5 kB verified"]


def test_help_names_it() -> None:
    assert "scrub" in CliRunner().invoke(main, ["--help"]).stdout
