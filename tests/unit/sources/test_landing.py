"""The landing folder: which drops are complete, when they arrived, and what is said of everything else that lies there."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.append.append import append_delivery
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import drop_put_aside, put_aside
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.drops import DropFolder, Entry
from cumulus_ops.sources.pending import Sources
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.projects import make_project

SALE = Relation("sale", (Column("id", INT), Column("shop", STRING.with_null())))
STOCK = Relation("stock", (Column("id", INT),))
SECOND = 1_000_000_000


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = make_project(
        tmp_path,
        (SALE, STOCK),
        views={"n": "SELECT COUNT(*) AS n FROM sale, stock WHERE sale.id = stock.id"},
        coordinators=1,
    )
    initialise(project)
    with open_runtime(project) as runtime:
        yield runtime


def lines(*rows: tuple[int, int], shop: str = "x") -> str:
    """Sales (event, id) as NDJSON."""
    return "".join(json.dumps({"op": "I", "event": e, "id": i, "shop": shop}) + "\n" for e, i in rows)


def land(project: Project, drop: str, **files: str) -> Path:
    folder = project.landing / "0" / drop
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def ids(rt: Runtime) -> list[int]:
    import pyarrow.parquet as pq

    files = [f for f in rt.catalog.log.files() if f.relation == "sale"]
    return [i for f in files for i in pq.read_table(rt.project.state / f.path)["id"].to_pylist()]


def take_all(rt: Runtime) -> None:
    while run_minibatch(rt, 0) is not None:
        pass


def aside(rt: Runtime) -> list[tuple[str, str]]:
    """(kind, file) of what is set aside."""
    return [(f.kind, Path(f.place).name) for f in put_aside(rt).files]


def ignored(rt: Runtime) -> dict[str, str]:
    return {Path(i.place).name: i.kind for i in put_aside(rt).ignored}


def test_drops_that_wait_are_taken_by_their_names_and_the_numbers_in_them(rt: Runtime) -> None:
    for name in ("d10", "d9", "2026-10-01", "d1", "2026-9-30"):
        land(rt.project, name, sale__ndjson=lines((0, 1)))
    expected = ["2026-9-30", "2026-10-01", "d1", "d9", "d10"]
    assert [d.name for d in rt.sources.pending(0)] == rt.sources.landing(0).waiting() == expected
    take_all(rt)
    assert [b.drop for b in rt.catalog.log.batches()] == expected


def folder(
    *, modified: int = 0, changed: int = 0, files: tuple[tuple[str, int], ...] = (("sale.csv", 0),)
) -> DropFolder:
    """A drop's folder that was modified and changed at these seconds, and its files, changed at theirs."""
    entries = tuple(Entry(name, 0o100644, 1, 5, 0, at * SECOND) for name, at in files)
    return DropFolder(Path("d"), Entry("d", 0o040755, 2, 0, modified * SECOND, changed * SECOND), entries)


@pytest.mark.parametrize(
    ("found", "arrived"),
    [
        (folder(modified=10, changed=10, files=(("sale.csv", 16),)), None),  # it is being written
        (folder(modified=10, changed=10, files=(("sale.csv", 3),)), 15),  # left alone for long enough
        (folder(modified=10, changed=18, files=(("sale.csv", 12),)), 18),  # renamed
        (folder(modified=10, changed=18, files=(("sale.csv", 18),)), None),  # or the last file was written then
        (folder(modified=10, changed=18, files=(("sale.csv", 19),)), None),  # renamed, and written on
        (folder(modified=18, changed=18, files=(("sale.csv", 17), ("_SUCCESS", 18))), 18),
        (folder(modified=18, changed=18, files=(("sale.csv", 90), ("_SUCCESS", 18))), 19),  # a clock that is ahead
    ],
)
def test_a_drop_is_complete_when_it_was_renamed_or_says_so_or_was_left_alone(
    found: DropFolder, arrived: int | None
) -> None:
    at = found.arrived(19 * SECOND, 5 * SECOND)
    assert at == (None if arrived is None else arrived * SECOND)
    assert found.arrived(19 * SECOND, 0) == min(19 * SECOND, found.changed)


def test_a_real_rename_is_seen(tmp_path: Path) -> None:
    made = tmp_path / ".made"
    made.mkdir()
    (made / "sale.csv").write_text("x")
    ages_ago = DropFolder.look(made).changed
    while True:  # until the file system's clock has gone on
        (tmp_path / "tick").touch()
        if (tmp_path / "tick").stat().st_ctime_ns > ages_ago:
            break
    assert DropFolder.look(made).arrived(ages_ago, SECOND) is None
    made.rename(tmp_path / "drop")
    drop = DropFolder.look(tmp_path / "drop")
    assert drop.arrived(drop.folder.changed, SECOND) == drop.folder.changed > ages_ago


def test_a_drop_that_is_being_copied_waits(rt: Runtime) -> None:
    careful = dataclasses.replace(rt.project, settle=datetime.timedelta(hours=1))
    land(careful, "d1", sale__ndjson=lines((1, 1)))
    sources = Sources(careful, rt.catalog)
    assert sources.pending(0) == []
    assert 3500 < (sources.settles_in([0]) or 0) <= 3600
    (careful.landing / "0" / "d1" / "_SUCCESS").touch()
    assert [d.name for d in sources.pending(0)] == ["d1"]
    assert sources.settles_in([0]) is None


def test_the_arrival_is_recorded_once_and_survives_a_copy(rt: Runtime) -> None:
    land(rt.project, "d1", sale__ndjson=lines((1, 1)))
    (first,) = rt.sources.pending(0)
    shutil.copytree(rt.project.landing, rt.project.folder / "backup")
    shutil.rmtree(rt.project.landing)
    (rt.project.folder / "backup").rename(rt.project.landing)
    (again,) = Sources(rt.project, rt.catalog).pending(0)
    assert again.arrived == first.arrived


def test_what_is_not_a_drop_is_listed(rt: Runtime) -> None:
    root, mine = rt.project.landing, rt.project.landing / "0"
    mine.mkdir(parents=True)
    for name in ("1", "07", "mine"):
        (root / name / "d1").mkdir(parents=True)
    for file in (root / "outside.csv", mine / "beside.csv", mine / ".hidden", root / "_tmp"):
        file.write_text("x")
    (mine / "empty").mkdir()
    (mine / "link").symlink_to(root / "1" / "d1")
    (mine / ("n" * 201)).mkdir()
    os.mkdir(os.fsencode(mine) + b"/n\xff")
    land(rt.project, "good", sale__ndjson=lines((1, 7)))
    take_all(rt)
    assert ids(rt) == [7]
    assert ignored(rt) == {
        **{"1": "unknown-coordinator", "07": "unknown-coordinator", "mine": "unknown-coordinator"},
        **{
            "outside.csv": "beside-coordinators",
            "beside.csv": "no-drop",
            "empty": "empty-drop",
            "link": "no-drop",
            "n" * 201: "bad-name",
            r"n\xff": "bad-name",
        },
    }
    assert all(i.hint for i in put_aside(rt).ignored)


def test_files_that_are_not_taken_are_set_aside_and_the_rest_goes_on(rt: Runtime) -> None:
    drop = land(
        rt.project, "d1", sale__ndjson=lines((1, 7)), sale__csv="op,event,id,shop\nI,9,9,x\n", sales__csv="x", readme__txt="x",
        stock__csv="nothing of the kind\n",
    )  # fmt: skip
    os.mkfifo(drop / "pipe.csv")
    (drop / "stock.ndjson").symlink_to("/dev/zero")
    (drop / "more").mkdir()
    (drop / os.fsdecode(b"\xff.csv")).write_text("x")
    take_all(rt)
    assert ids(rt) == [9]
    assert sorted(aside(rt)) == [
        ("doubled-file", "sale.ndjson"),
        ("no-header", "stock.csv"),
        ("not-a-file", "more"),
        ("not-a-file", "pipe.csv"),
        ("not-a-file", "stock.ndjson"),
        *[("unknown-file", name) for name in ("\\xff.csv", "readme.txt", "sales.csv")],
    ]
    hints = {Path(f.place).name: f.hint for f in put_aside(rt).files}
    assert "did you mean sale?" in hints["sales.csv"]
    assert all(hints.values())
    take_all(rt)  # they are listed once
    assert len(aside(rt)) == 8


def test_a_restored_copy_is_the_drop_that_it_was(rt: Runtime) -> None:
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    take_all(rt)
    shutil.copytree(drop, drop.with_name(".copy"))
    os.utime(drop.with_name(".copy") / "sale.ndjson", (5, 5))
    shutil.rmtree(drop)
    drop.with_name(".copy").rename(drop)
    take_all(rt)
    with open_runtime(rt.project) as other:
        take_all(other)
    assert (aside(rt), ids(rt)) == ([], [7])


@pytest.mark.parametrize("how", ["another", "longer", "same size", "same size and time", "more files"])
def test_a_name_that_is_used_again_is_seen(rt: Runtime, how: str) -> None:
    """Whether by the process that took the first drop, or by the next one."""
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    take_all(rt)
    if how == "another":
        shutil.rmtree(drop)
        drop = land(rt.project, "d1", sale__ndjson=lines((2, 8)), stock__csv="op,event,id\nI,1,1\n")
    elif how == "longer":
        (drop / "sale.ndjson").write_text(lines((1, 7), (2, 8)))
    elif how == "same size and time":  # as `cp -p` leaves it
        before = (drop / "sale.ndjson").stat()
        drop.rename(drop.with_name(".old"))
        drop = land(rt.project, "d1", sale__ndjson=lines((1, 6)))
        os.utime(drop / "sale.ndjson", ns=(before.st_atime_ns, before.st_mtime_ns))
    elif how == "same size":
        (drop / "sale.ndjson").write_text(lines((1, 6)))
    else:
        (drop / "stock.csv").write_text("op,event,id\nI,1,1\n")
    changed = [("changed-file", "sale.ndjson")] if how != "more files" else []
    late = [("late-file", "stock.csv")] if how in ("another", "more files") else []
    for runtime in (rt, None):
        if runtime is None:
            with open_runtime(rt.project) as other:
                take_all(other)
        else:
            take_all(runtime)
        assert sorted(aside(rt)) == changed + late
    assert ids(rt) == [7]


def test_what_was_dropped_is_set_aside_again_if_it_changes_again(rt: Runtime) -> None:
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    take_all(rt)
    for number, files in ((6, 2), (6, 0), (4, 2)):
        (drop / "sale.ndjson").write_text(lines((1, number)))
        (drop / "stock.csv").write_text(f"op,event,id\nI,1,{number}\n")
        for process in (rt.project, None):
            if process is None:
                take_all(rt)
            else:
                with open_runtime(process) as other:
                    take_all(other)
            assert len(aside(rt)) == files
        drop_put_aside(rt, [f.label for f in put_aside(rt).files])
        assert aside(rt) == []
    said = set()
    for number in (3, 2):  # one that waits is told of as it is
        (drop / "sale.ndjson").write_text(lines((1, number)))
        take_all(rt)
        (waiting,) = put_aside(rt).files
        said.add(waiting.reason)
    assert len(said) == 2
    assert ids(rt) == [7]


def test_what_changes_while_it_is_read_is_not_appended(rt: Runtime) -> None:
    drop = land(rt.project, "d1", sale__ndjson=lines((1, 7)))
    (delivery,) = rt.sources.pending(0)
    delivery.parts()
    with (drop / "sale.ndjson").open("a") as file:
        file.write(lines((2, 8)))
    from cumulus_ops.project.errors import NotYet

    assert delivery.taken is not None
    with pytest.raises(NotYet):
        delivery.taken()
    append_delivery(rt.project, rt.catalog, 0, rt.sources.pending(0)[0])
    assert ids(rt) == [7, 8]
