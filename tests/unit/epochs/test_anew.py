"""A new generation: the same snapshots from the same log, and nothing that cannot be made again is gone."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog.identity import BEGINS, Mark, write_mark
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.generations import begin_anew
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict, InputProblem, SetupProblem
from cumulus_ops.project.processes import ANEW_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from m3.datatypes import STRING
from m3.program import Column
from tests.support.children import start, wait
from tests.support.drops import make_shop
from tests.support.sampling import sampled


def run(project: Project) -> dict[str, pa.Table]:
    """Do all that waits; the views' rows, which are those of the published tables."""
    initialise(project)
    with open_runtime(project) as rt:
        run_waiting(rt, validating=False)
        rows = {view.name: in_order(read_view(rt, view.name)) for view in rt.program.views}
    for name, table in rows.items():
        assert in_order(DeltaTable(str(Path(str(project.published)) / name)).to_pyarrow_table()).equals(table), name
    return rows


def in_order(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    shop = make_shop(tmp_path, periods=1, rows=8)
    return dataclasses.replace(shop, catalog_url=f"sqlite:///{tmp_path}/catalog.db")


def test_the_log_is_read_again_and_the_landing_folder_is_not_needed(project: Project) -> None:
    before = run(project)
    shutil.rmtree(project.landing)
    project.landing.mkdir()
    done = begin_anew(project)
    assert (done.identity.generation, done.batches, done.kept) == (2, 3, None)
    assert run(project) == before
    fewer = dataclasses.replace(project, views={"n": "SELECT COUNT(*) AS n FROM item", "total": project.views["total"]})
    with pytest.raises(InputProblem, match="another program"):
        initialise(fewer)
    begin_anew(fewer)
    after = run(fewer)
    assert after["total"] == before["total"]
    assert after["n"].to_pylist() == [{"n": before["total"]["n"][0].as_py()}]


def test_an_event_log_with_other_columns_is_kept_and_the_sources_are_read(project: Project) -> None:
    before = run(project)
    item = next(r for r in project.relations if r.name == "item")

    def with_column(column: Column) -> Project:
        wider = dataclasses.replace(item, columns=(*item.columns, column))
        return dataclasses.replace(
            project, relations=tuple(wider if r.name == "item" else r for r in project.relations)
        )

    with pytest.raises(InputProblem) as caught:
        begin_anew(with_column(Column("extra", STRING)))
    assert caught.value.kind == "column-without-values"
    other = with_column(Column("extra", STRING.with_null()))
    logs = {p.name for p in (project.state / "log").rglob("*.parquet")}
    kept = begin_anew(other, from_sources=True).kept
    assert kept is not None
    assert {p.name for p in (kept / "log").rglob("*.parquet")} == logs
    assert run(other) == before


def test_processes_of_the_generation_before_commit_nothing_any_more(project: Project) -> None:
    initialise(project)
    with open_runtime(project) as rt:
        assert run_minibatch(rt, 0) is not None
        begin_anew(project)
        for attempt in (
            lambda: run_minibatch(rt, 0),
            lambda: rt.catalog.votes.vote(0, 0, rt.catalog.votes.token().number),
        ):
            with pytest.raises((SetupProblem, Conflict)) as caught:
                attempt()
            assert caught.value.kind in ("generation-over", "lease-over")
    run(project)


def test_a_restored_catalog_goes_on_as_a_new_generation(project: Project, tmp_path: Path) -> None:
    initialise(project)
    with open_runtime(project) as rt:
        run_minibatch(rt, 0)
    shutil.copy(tmp_path / "catalog.db", tmp_path / "yesterday.db")
    before = run(project)
    logs = set((project.state / "log").rglob("*.parquet"))
    shutil.copy(tmp_path / "yesterday.db", tmp_path / "catalog.db")
    with pytest.raises(SetupProblem, match="older"):
        run(project)
    begin_anew(project)
    assert run(project) == before
    assert all(path.exists() for path in logs)


def test_a_full_restore_is_noticed_by_the_published_tables(project: Project, tmp_path: Path) -> None:
    initialise(project)
    shutil.copytree(project.state, tmp_path / "state-of-yesterday")
    shutil.copy(tmp_path / "catalog.db", tmp_path / "yesterday.db")
    before = run(project)
    shutil.rmtree(project.state)
    (tmp_path / "state-of-yesterday").rename(project.state)
    shutil.copy(tmp_path / "yesterday.db", tmp_path / "catalog.db")
    with pytest.raises(SetupProblem, match="does not know of") as caught:
        run(project)
    assert "cumulus anew" in caught.value.hint
    assert begin_anew(project).identity.generation == 2
    assert run(project) == before


def test_a_copy_becomes_an_installation_of_its_own(project: Project, tmp_path: Path) -> None:
    before = run(project)
    copy = dataclasses.replace(
        project, state=tmp_path / "copy" / "state", catalog_url=f"sqlite:///{tmp_path}/copy/catalog.db"
    )
    shutil.copytree(project.state, copy.state)
    shutil.copy(tmp_path / "catalog.db", tmp_path / "copy" / "catalog.db")
    done = begin_anew(copy)
    with open_runtime(project) as rt:
        assert rt.catalog.database.identity() != done.identity
    with pytest.raises(SetupProblem, match="is that of installation"):
        run(copy)  # the tables are the original's
    assert run(dataclasses.replace(copy, published=tmp_path / "copy" / "published")) == before
    assert run(project) == before
    with pytest.raises(SetupProblem, match="works with"):
        begin_anew(dataclasses.replace(copy, state=_copied(copy.state, tmp_path / "second")))


def _copied(state: Path, to: Path) -> Path:
    shutil.copytree(state, to)
    return to


def test_published_tables_that_are_gone_or_older_are_written_again(project: Project, tmp_path: Path) -> None:
    folder = Path(str(project.published))
    (project.landing / "2").rename(tmp_path / "later")
    run(project)
    (tmp_path / "later").rename(project.landing / "2")
    shutil.copytree(folder, tmp_path / "older")
    before = run(project)
    shutil.rmtree(folder / "total")
    shutil.rmtree(folder / "revenue")
    shutil.copytree(tmp_path / "older" / "revenue", folder / "revenue")
    assert run(project) == before
    shutil.rmtree(folder)
    assert run(project) == before


@pytest.mark.parametrize("from_sources", [False, True])
@pytest.mark.parametrize("fault", sampled(ANEW_POINTS, 2))
def test_killed_at_each_place_it_can_be_begun_again(project: Project, fault: str, from_sources: bool) -> None:
    before = run(project)
    logs = len(list(project.state.rglob("*.parquet")))
    assert wait(start(_begin, project, from_sources, fault)) == -signal.SIGKILL
    os.environ.pop("CUMULUS_FAULT", None)
    with contextlib.suppress(SetupProblem):
        initialise(project)
    (project.state / BEGINS).unlink(missing_ok=True)  # whoever calls it again does not need the note
    begin_anew(project, from_sources=from_sources)
    assert run(project) == before
    assert len(list(project.state.rglob("*.parquet"))) >= logs


def _begin(project: Project, from_sources: bool, fault: str) -> None:
    os.environ["CUMULUS_FAULT"] = fault
    begin_anew(project, from_sources=from_sources)


@pytest.mark.parametrize("from_sources", [False, True])
@pytest.mark.parametrize("is_applied", [False, True])
def test_a_folder_of_the_generation_before_that_comes_back_is_refused(
    project: Project, tmp_path: Path, from_sources: bool, is_applied: bool
) -> None:
    before = run(project)
    (shutil.copytree if not from_sources else shutil.move)(project.state, tmp_path / "first")
    assert begin_anew(project, from_sources=from_sources).identity.generation == 2
    if is_applied:
        assert run(project) == before
    _swap(project.state, tmp_path / "second", tmp_path / "first")
    files = _files(project.state)
    for use in (initialise, lambda p: open_runtime(p).__enter__(), run):
        with pytest.raises(SetupProblem, match="is of generation 1") as caught:
            use(project)
        assert caught.value.kind == "state-lost"
        assert "cumulus anew" in caught.value.hint
    assert _files(project.state) == files
    _swap(project.state, tmp_path / "first", tmp_path / "second")
    assert run(project) == before


def test_a_folder_that_was_put_aside_is_refused_although_a_beginning_in_it_was_killed(
    project: Project, tmp_path: Path
) -> None:
    before = run(project)
    assert wait(start(_begin, project, False, "anew.before-commit")) == -signal.SIGKILL
    assert run(project) == before, "nothing has begun"
    shutil.copytree(project.state, tmp_path / "first")
    assert begin_anew(project).identity.generation == 3, "the number that was noted is not given out again"
    _swap(project.state, tmp_path / "second", tmp_path / "first")
    with pytest.raises(SetupProblem, match="is of generation 1"):
        run(project)


def test_a_folder_of_this_generation_that_lacks_what_came_since_is_refused(project: Project, tmp_path: Path) -> None:
    """What was seen is of the generation before, which had more commits: they are not compared."""
    (project.landing / "2").rename(tmp_path / "later")
    run(project)
    begin_anew(project, from_sources=True)
    shutil.copytree(project.state, tmp_path / "backup")
    write_mark(tmp_path / "backup", Mark(1, 1, 10**6))
    run(project)
    shutil.move(project.state, tmp_path / "newest")
    shutil.move(tmp_path / "backup", project.state)
    with pytest.raises(SetupProblem) as caught:
        run(project)
    assert caught.value.kind == "state-lost"


def _swap(state: Path, to: Path, instead: Path) -> None:
    shutil.move(state, to)
    shutil.move(instead, state)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("from_sources", [False, True])
def test_killed_while_it_begins_from_its_log_it_goes_on_and_from_the_sources_it_says_so(
    project: Project, from_sources: bool
) -> None:
    before = run(project)
    assert wait(start(_begin, project, from_sources, "anew.before-claim")) == -signal.SIGKILL
    if not from_sources:
        assert run(project) == before
        return
    with pytest.raises(SetupProblem) as caught:
        run(project)
    assert caught.value.kind == "anew-unfinished"
    assert "--from-sources" in caught.value.hint
    begin_anew(project, from_sources=True)
    assert run(project) == before


@pytest.mark.parametrize("from_sources", [False, True])
@pytest.mark.parametrize("fault", sampled(ANEW_POINTS, 2, 1))
def test_a_copy_can_be_begun_again_where_it_was_killed(
    project: Project, tmp_path: Path, fault: str, from_sources: bool
) -> None:
    before = run(project)
    folder, url = tmp_path / "copy", f"sqlite:///{tmp_path}/copy/catalog.db"
    copy = dataclasses.replace(project, state=folder / "state", catalog_url=url, published=folder / "published")
    shutil.copytree(project.state, copy.state)
    shutil.copy(tmp_path / "catalog.db", folder / "catalog.db")
    assert wait(start(_begin, copy, from_sources, fault)) == -signal.SIGKILL
    with pytest.raises(SetupProblem) as caught:
        initialise(copy)
    assert caught.value.kind == (
        "state-copied" if (fault, from_sources) == (ANEW_POINTS[0], False) else "anew-unfinished"
    )
    done = begin_anew(copy, from_sources=from_sources)
    assert run(copy) == before
    assert run(project) == before
    with open_runtime(project) as rt:
        mine = rt.catalog.database.identity()
        assert mine is not None
        assert mine.installation != done.identity.installation
