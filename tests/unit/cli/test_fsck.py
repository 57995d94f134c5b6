"""`cumulus fsck`: all files are verified, and each that is not as it was written is named with what to do."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
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
from cumulus_ops.cli.repairing import progress_lines
from cumulus_ops.epochs.checkpoint import correct
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import build_run
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.repair.fsck import Progress, Sample, fsck

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
    result = call("fsck")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{len(runs)} runs of maps, 1 file of the log, 1 run of key indexes: ")
    assert "the log says what the key index of orders says" in result.stdout
    assert result.stderr == ""
    report = json.loads(call("fsck", "--json").stdout)
    assert report["looked_at"] == {"run": len(runs), "log": 1, "key-index": 1}
    assert report["bytes"] > sum(run.bytes for run in runs)
    assert (report["damages"], report["part"]) == ([], 100.0)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_a_damaged_byte_anywhere_in_a_run_names_that_run(call: Call, tmp_path: Path, place: float) -> None:
    state, runs = stored(tmp_path)
    assert len({run.map for run in runs}) == len(runs) == 2
    for run in runs:
        byte = run.offset + int(place * (run.bytes - 1))
        change(state / run.path, byte)
        result = call("fsck")
        assert result.exit_code == EXIT_USER
        (line,) = (line for line in result.stderr.splitlines() if line.startswith("damaged: "))
        by = "o_id" if run.map.startswith("by_id") else "o_customer"
        rows = f"{run.rows} row{'s' * (run.rows > 1)}"
        assert line.startswith(f"damaged: map {run.map} by [{by}], {rows} of epoch 0, {run.path}, byte {run.offset}: ")
        assert "1 file is not as it was written" in result.stderr
        change(state / run.path, byte)
    assert call("fsck").exit_code == 0


def test_a_damaged_log_file_is_named_and_its_key_index_is_not_proved(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    (file,) = (state / "log" / "orders").iterdir()
    change(file, file.stat().st_size // 2)
    result = call("fsck")
    assert result.exit_code == EXIT_USER
    held = "log of orders, batch 1 (0000-tables, epoch 0), 100 rows"
    assert f"damaged: {held}, log/orders/{file.name}: block 0 does not have its checksum" in result.stderr
    assert f"the key index of orders cannot be compared with the log: {file}: " in result.stderr
    report = json.loads(call("fsck", "--json").stdout)
    assert [(d["kind"], d["problem"]) for d in report["damages"]] == [("log", "damaged")]
    assert (report["proved"], len(report["unproved"])) == ([], 1)


def test_a_missing_or_short_file_is_damage_of_all_its_runs(call: Call, tmp_path: Path) -> None:
    state, runs = stored(tmp_path)
    (pack,) = {state / run.path for run in runs}
    whole = pack.read_bytes()
    pack.write_bytes(whole[: runs[-1].offset + 30])
    short = call("fsck")
    assert short.exit_code == EXIT_USER
    assert short.stderr.count("the file is too short") == 1
    pack.unlink()
    missing = call("fsck", "--json")
    assert missing.exit_code == EXIT_USER
    assert missing.stderr.count("it is missing") == len(runs)
    assert "1 file is not as it was written" in missing.stderr
    damages = json.loads(missing.stdout)["damages"]
    assert [(d["row"]["map"], d["file"], d["offset"], d["problem"]) for d in damages] == [
        (run.map, run.path, run.offset, "missing") for run in runs
    ]


def test_a_run_that_was_written_wrong_is_found_by_its_rows(call: Call, tmp_path: Path) -> None:
    """Its checksums are right, and so is its root; it is one row short of the hashes that the catalog has."""
    state, runs = stored(tmp_path)
    run = max(runs, key=lambda run: run.rows)
    with open_runtime(load_project(tmp_path / "shop"), "inprocess") as rt:
        table = open_run(state / run.path, run.offset, run.bytes).table(rt.plan.key_names(run.map))
        (wrong,) = write_runs(state, [build_run(table.slice(1), rt.plan.paths[run.map][0])])
        catalog = rt.project.catalog_url.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(catalog)) as database, database:
        changed = (wrong.path, wrong.offset, wrong.bytes, wrong.root, run.id)
        database.execute("UPDATE run SET path = ?, offset = ?, bytes = ?, root = ? WHERE id = ?", changed)
    assert call("fsck").exit_code == 0
    told = f"wrong: map {run.map}"
    for command in (
        ("fsck", "--rows"),
        ("fsck",),
        ("fsck", "--sample", "100"),
    ):  # who has found it is not contradicted by who looks less closely
        result = call(*command)
        assert (result.exit_code, told in result.stderr) == (EXIT_USER, True), command
    assert "1 of 1 damages repaired" in call("recover").stdout
    assert call("fsck", "--rows").exit_code == 0
    made = next(r for r in stored(tmp_path)[1] if r.map == run.map)
    assert (made.content, made.total, made.rows) == (run.content, run.total, run.rows)


def test_a_file_that_nobody_knows_is_told(call: Call, tmp_path: Path) -> None:
    """What a step of this project has left is garbage, and deleted by itself; what nobody has written here is told."""
    state, runs = stored(tmp_path)
    name = Path(runs[0].path).name
    (state / "runs" / f"{name.split('-')[0]}-{'0' * 32}.pack").write_bytes(b"left by a step that died")
    assert call("fsck").exit_code == 0
    for path in (f"runs/0{name}", "log/orders/notes.txt"):
        (state / path).write_bytes(b"what is this?")
    result = call("fsck")
    assert result.exit_code == EXIT_USER
    assert [line.split(":")[0] for line in result.stderr.splitlines()[:2]] == ["unknown", "unknown"]
    assert f"runs/0{name}: the catalog does not name it" in result.stderr
    assert "log/orders/notes.txt: the catalog does not name it" in result.stderr


def test_a_file_that_went_because_its_runs_were_merged_is_not_missed(call: Call, tmp_path: Path) -> None:
    state, runs = stored(tmp_path)
    with open_runtime(load_project(tmp_path / "shop"), "inprocess") as rt:
        correct(rt)

        def merged_meanwhile(now: Progress) -> None:
            if now.files == 1:
                rt.catalog.commits.commit_merge([([run], []) for run in runs[1:]])
                (state / runs[1].path).unlink()

        report = fsck(rt, merged_meanwhile)
        assert (report.looked_at["run"], report.damages) == (len(runs), ())
        (damage,) = fsck(rt).damages
        assert damage.row.map == runs[0].map  # that one is


def test_a_sample_is_a_part_and_all_parts_are_all(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    with open_runtime(load_project(tmp_path / "shop"), "inprocess") as rt:
        looked_at = [sum(fsck(rt, sample=Sample(50, seed)).looked_at.values()) for seed in (0, 1)]
        assert sum(looked_at) == sum(fsck(rt).looked_at.values())
        (file,) = (state / "log" / "orders").iterdir()
        file.unlink()
        found = [fsck(rt, sample=Sample(50, seed)).damages for seed in (0, 1)]
        assert sorted(map(len, found)) == [0, 1]
    (shown,) = {call("fsck", "--sample", "1e-9").stdout}
    assert shown.startswith("nothing: 0 B verified")


def test_progress_is_shown_now_and_then() -> None:
    lines: list[str] = []
    advance = progress_lines(lines.append, 1000, 60)
    for number, done in enumerate((400, 900, 1100, 1900, 4000, 4200, 5000), start=1):
        advance(Progress(number, 7, done, 5000, number))
    assert lines == [
        "3 of 7 files, 1.1 kB of 5 kB verified, about 11 s left",
        "5 of 7 files, 4 kB of 5 kB verified, about 1 s left",
    ]
    advance(Progress(6, 7, 4300, 5000, 90))
    assert len(lines) == 3
