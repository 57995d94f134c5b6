"""Files that are huge on paper, or have no end: what is said of them needs no look into them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.epochs.quarantine import drop_put_aside, put_aside, retry_put_aside
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.sources import drops
from cumulus_ops.sources.drops import Entry, hash_file, is_hollow
from tests.support.projects import make_project
from tests.unit.sources.test_landing import SALE, STOCK, aside, ids, ignored, land, lines, take_all

TERABYTE = 1 << 40


@pytest.fixture
def rt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """A project whose process may read no more than a few megabytes of files."""
    views = {"n": "SELECT COUNT(*) AS n FROM sale, stock WHERE sale.id = stock.id"}
    project = make_project(tmp_path, (SALE, STOCK), views=views, coordinators=1)
    initialise(project)
    left, read = [8 << 20], os.read

    def counted(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        left[0] -= len(data)
        assert left[0] > 0, "a file without end is being read"
        return data

    monkeypatch.setattr(os, "read", counted)
    with open_runtime(project) as runtime:
        yield runtime


def hollow(path: Path) -> Path:
    """A file of a terabyte that takes nothing on the disk."""
    path.touch()
    os.truncate(path, TERABYTE)
    return path


NAMES = ["stock.csv", "stock.parquet", "stock.json", "stock.ndjson", "stock.csv.gz", "stock.jsonl.gz"]


@pytest.mark.parametrize("name", NAMES)
def test_a_hollow_file_is_set_aside_and_the_rest_goes_on(rt: Runtime, name: str) -> None:
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    for file in (name, "x.bin", "_SUCCESS", ".hidden"):
        hollow(drop / file)
    land(rt.project, "d2", sale__ndjson=lines((2, 8)))
    take_all(rt)
    assert ids(rt) == [7, 8]
    assert sorted(aside(rt)) == [("too-large", name), ("unknown-file", "x.bin")]
    assert all(f.bytes == TERABYTE and f.hint for f in put_aside(rt).files)
    with open_runtime(rt.project) as other:  # nor when what was taken is looked at again
        take_all(other)
    with pytest.raises(Exception, match="on the disk"):
        retry_put_aside(rt, [f.label for f in put_aside(rt).files if f.kind == "too-large"])
    (drop / name).write_text("op,event,id\nI,1,1\n" if "csv" in name else "")
    assert len(aside(rt)) == 2


def test_what_comes_late_is_not_read_if_it_is_hollow_or_nobodys(rt: Runtime) -> None:
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    take_all(rt)
    for name in ("stock.csv", "x.bin"):
        hollow(drop / name)
    hollow(drop / "sale.ndjson")
    (drop / "stock.parquet").symlink_to("/dev/zero")
    os.mkfifo(drop / "pipe.csv")
    take_all(rt)
    late = [("late-file", name) for name in ("pipe.csv", "stock.csv", "stock.parquet", "x.bin")]
    assert sorted(aside(rt)) == [("changed-file", "sale.ndjson"), *late]
    drop_put_aside(rt, [f.label for f in put_aside(rt).files])
    with open_runtime(rt.project) as other:
        take_all(other)
        assert aside(other) == [], "it was decided about, and is what it was"


def test_what_was_dropped_of_a_drop_is_not_found_again(rt: Runtime) -> None:
    land(rt.project, "d1", sale__ndjson=lines((1, 7)), readme__txt="x", stock__csv="nothing of the kind\n")
    take_all(rt)
    drop_put_aside(rt, [f.label for f in put_aside(rt).files])
    with open_runtime(rt.project) as other:
        take_all(other)
        assert aside(other) == []


def test_a_file_that_grows_without_end_is_hashed_as_far_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "sale.csv"
    path.write_text("abc")
    before = hash_file(path, 3)
    with path.open("a") as file:
        file.write("d")
    assert hash_file(path, 3) == before != hash_file(path, 4)
    for other in ("link", "pipe"):
        (path.with_name("link")).symlink_to("/dev/zero") if other == "link" else os.mkfifo(path.with_name("pipe"))
        with pytest.raises(OSError, match=r"link|regular|symbolic"):
            hash_file(path.with_name(other), 1 << 20)


def test_only_a_file_with_holes_is_hollow(tmp_path: Path) -> None:
    """File systems that pack, or write later, tell of few blocks for files that are all there."""
    path = tmp_path / "sale.csv"
    path.write_bytes(b"x" * 100_000)
    said = Entry.of(path.name, path.stat())
    assert not is_hollow(
        path, Entry(*[getattr(said, n) for n in ("name", "mode", "inode", "bytes", "modified", "changed")]), 1000
    )
    os.truncate(path, 200 << 20)
    assert is_hollow(path, Entry.of(path.name, path.stat()), 1 << 20)
    assert not is_hollow(path, Entry.of(path.name, path.stat()), 1 << 30), "it fits into the memory"


def test_a_folder_with_very_many_files_is_ignored_and_the_rest_goes_on(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drops, "ENTRIES", 50)
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    for number in range(60):
        (drop / f"part-{number}.csv").touch()
    taken = land(rt.project, "d2", sale__ndjson=lines((2, 8)))
    (rt.project.landing / "loop").symlink_to("loop")
    take_all(rt)
    for number in range(60):
        (taken / f"part-{number}.csv").touch()
    take_all(rt)
    assert (ids(rt), aside(rt)) == ([8], [])
    assert ignored(rt) == {"d1": "too-many-files", "d2": "too-many-files", "loop": "beside-coordinators"}


def test_a_file_that_may_not_be_read_is_set_aside_and_the_rest_of_its_drop_goes_on(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it is refused by hand: who runs tests may often read everything."""
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)), stock__csv="op,event,id\nI,1,1\n")
    opened = os.open

    def refused(path: str | Path, *args: int, **options: int) -> int:
        if Path(os.fsdecode(path)).name == "stock.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", refused)
    take_all(rt)
    assert (ids(rt), aside(rt)) == ([7], [("unreadable-file", "stock.csv")])
    monkeypatch.setattr(os, "open", opened)
    (file,) = put_aside(rt).files
    assert [done.accepted for done in retry_put_aside(rt, [file.label])] == [1]
    assert (drop / "stock.csv").exists()
