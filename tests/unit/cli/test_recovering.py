"""`cumulus recover`: what is damaged is made again from what is intact, and nothing else is written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.cli.test_fsck import EXIT_USER, Call, call, change, stored

__all__ = ["call"]


def looks(state: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of change of every file."""
    found = {path.relative_to(state).as_posix(): path.stat() for path in state.rglob("*") if path.is_file()}
    kept = {path: seen for path, seen in found.items() if not path.startswith(("catalog.", "seen."))}
    return {path: (seen.st_ino, seen.st_mtime_ns) for path, seen in kept.items()}


def test_nothing_is_damaged(call: Call) -> None:
    assert call("recover").stdout == "nothing is damaged\n"
    assert call("recover", "--dry-run").stdout == "nothing is damaged: there is nothing to do\n"


def test_a_key_index_is_built_again_and_nothing_else(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    (index,) = (state / "keys").iterdir()
    change(index, index.stat().st_size // 2)
    before = looks(state)
    assert call("fsck").exit_code == EXIT_USER
    planned = call("recover", "--dry-run").stdout
    assert "made again from the log of orders, 100 rows to read, about 0.2 s" in planned
    assert looks(state) == before
    result = call("recover")
    assert result.exit_code == 0, result.stderr
    assert "1 of 1 damages repaired" in result.stdout
    assert "built again from the log, and says what the log says" in result.stdout
    assert call("fsck").exit_code == 0
    after = looks(state)
    assert {path for path in before if before[path] != after.get(path)} <= {f"keys/{index.name}"}


def test_small_files_are_written_again(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    for name in ("installation.json", "coordination.json", "seen.json"):
        for spoil in (lambda file: change(file, file.stat().st_size // 2), lambda file: file.write_bytes(b"")):
            whole = (state / name).read_text()
            spoil(state / name)
            assert call("fsck").exit_code == EXIT_USER, name
            result = call("recover")
            assert result.exit_code == 0, result.output
            if name != "seen.json":
                assert (state / name).read_text() == whole
            assert call("fsck").exit_code == 0
    (state / "installation.json").unlink()
    assert "installation.json" in call("fsck").stderr
    assert call("recover").exit_code == 0
    assert call("fsck").exit_code == 0


def test_a_file_that_nobody_knows_is_kept_elsewhere(call: Call, tmp_path: Path) -> None:
    state, _ = stored(tmp_path)
    (state / "log" / "orders" / "notes.txt").write_text("mine")
    assert call("recover").exit_code == 0
    assert (state / "kept" / "foreign" / "log" / "orders" / "notes.txt").read_text() == "mine"
    assert json.loads(call("fsck", "--json").stdout)["damages"] == []


def test_a_pack_of_runs_is_made_again(call: Call, tmp_path: Path) -> None:
    state, runs = stored(tmp_path)
    answers = [call("query", view, "--json").stdout for view in ("by_id", "revenue")]
    for spoil in (Path.unlink, lambda file: change(file, file.stat().st_size // 2), lambda file: file.write_bytes(b"")):
        _, runs = stored(tmp_path)
        pack = state / runs[0].path
        before = looks(state)
        spoil(pack)
        assert call("fsck").exit_code == EXIT_USER
        result = call("recover")
        assert result.exit_code == 0, result.output
        assert "made again by difference" in result.stdout
        assert [call("query", view, "--json").stdout for view in ("by_id", "revenue")] == answers
        assert call("fsck").exit_code == 0
        after = looks(state)
        assert {path for path in before if before[path] != after.get(path)} <= {pack.relative_to(state).as_posix()}
