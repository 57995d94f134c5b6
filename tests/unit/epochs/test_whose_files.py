"""Nobody deletes or mixes what is another's: a state folder belongs to one catalog, in one generation."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import CLAIM, claimed_by
from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.settings import Project
from tests.support.drops import make_shop


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One drop is applied; the catalog lies beside the state folder."""
    shop = dataclasses.replace(make_shop(tmp_path, periods=3), catalog_url=f"sqlite:///{tmp_path}/catalog.db")
    initialise(shop)
    with open_runtime(shop) as rt:
        run_minibatch(rt, 0)
    return shop


def files(project: Project) -> set[str]:
    root = project.state
    return {str(p.relative_to(root)) for f in ("runs", "log", "quarantine") for p in (root / f).rglob("*.*")}


def refused(project: Project) -> str:
    """The kind of the refusal of both who initialises the project and who opens it; nothing is lost by it."""
    before, kinds = files(project), set()
    for use in (initialise, lambda p: open_runtime(p).__enter__()):
        with pytest.raises(SetupProblem) as caught:
            use(project)
        assert caught.value.hint
        assert "\n" not in caught.value.message
        kinds.add(caught.value.kind)
    assert files(project) == before
    (kind,) = kinds - {"not-initialised"}
    return kind


def test_a_second_catalog_is_refused_before_it_collects_the_first_ones_files(project: Project, tmp_path: Path) -> None:
    second = dataclasses.replace(project, catalog_url=f"sqlite:///{tmp_path}/second.db")
    assert refused(second) == "state-of-another"
    with open_runtime(project) as rt:
        collect_garbage(rt)
        assert all((project.state / path).exists() for path in rt.catalog.leases.known_paths())
        run_minibatch(rt, 0)


def test_labels_of_two_catalogs_do_not_collide(project: Project, tmp_path: Path) -> None:
    """Even one that looks at the other's files, whatever let it, deletes none of them."""
    stranger = dataclasses.replace(
        make_shop(tmp_path / "stranger", periods=1), catalog_url=f"sqlite:///{tmp_path}/s.db"
    )
    initialise(stranger)
    with open_runtime(stranger) as rt:
        before = files(project)
        assert collect_garbage(dataclasses.replace(rt, project=project)) == 0
    assert files(project) == before


def test_an_empty_catalog_file_does_not_begin_anew(project: Project, tmp_path: Path) -> None:
    (tmp_path / "catalog.db").rename(tmp_path / "saved.db")
    (tmp_path / "catalog.db").touch()
    assert refused(project) == "state-of-another"
    (tmp_path / "saved.db").replace(tmp_path / "catalog.db")
    initialise(project)


def test_a_lost_state_folder_is_no_new_one(project: Project, tmp_path: Path) -> None:
    project.state.rename(tmp_path / "saved")
    assert refused(project) == "state-lost"
    shutil.rmtree(project.state, ignore_errors=True)
    (tmp_path / "saved").rename(project.state)
    initialise(project)


def test_a_catalog_from_a_backup_is_noticed(project: Project, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "catalog.db", tmp_path / "yesterday.db")
    with open_runtime(project) as rt:
        run_minibatch(rt, 0)
    shutil.copy(tmp_path / "catalog.db", tmp_path / "today.db")
    shutil.copy(tmp_path / "yesterday.db", tmp_path / "catalog.db")
    for use in (initialise, lambda p: open_runtime(p).__enter__()):
        with pytest.raises(SetupProblem, match="older than the state folder"):
            use(project)
    shutil.copy(tmp_path / "today.db", tmp_path / "catalog.db")
    with open_runtime(project) as rt:
        assert run_minibatch(rt, 0) is not None


def test_a_copy_is_refused_while_its_original_is_there_and_a_moved_one_goes_on(
    project: Project, tmp_path: Path
) -> None:
    copy = dataclasses.replace(
        project, state=tmp_path / "copy" / "state", catalog_url=f"sqlite:///{tmp_path}/copy/catalog.db"
    )
    shutil.copytree(project.state, copy.state)
    shutil.copy(tmp_path / "catalog.db", tmp_path / "copy" / "catalog.db")
    assert refused(copy) == "state-copied"
    shared = dataclasses.replace(copy, catalog_url=project.catalog_url)
    assert refused(shared) == "state-copied"
    project.state.rename(tmp_path / "gone")
    with open_runtime(copy) as rt:
        home = rt.catalog.installation.home()
    assert home is not None
    assert home.state == str(copy.state)


def test_a_state_from_before_there_were_claims_is_claimed_once(tmp_path: Path) -> None:
    project = dataclasses.replace(make_shop(tmp_path, periods=2), catalog_url=f"sqlite:///{tmp_path}/catalog.db")
    initialise(project)
    with open_runtime(project) as rt:
        run_minibatch(rt, 0)
    _as_before(project)
    elsewhere = dataclasses.replace(project, catalog_url=f"sqlite:///{tmp_path}/second.db")
    assert refused(elsewhere) == "catalog-lost"
    orphan = project.state / "runs" / "9.9-left.pack"
    orphan.write_bytes(b"of nobody")
    initialise(project)
    with open_runtime(project) as rt:
        assert claimed_by(project.state) == rt.catalog.database.identity()
        collect_garbage(rt)
        assert orphan.exists()  # who has written it is not known
        run_minibatch(rt, 0)
    assert refused(elsewhere) == "state-of-another"


def _as_before(project: Project) -> None:
    """What the version before this one has left."""
    (project.state / CLAIM).unlink()
    catalog = Catalog(project.catalog_url)
    with catalog.database.engine.begin() as connection:
        connection.execute(delete(t.installation))
    with catalog.database.engine.begin() as connection:
        connection.execute(update(t.revision).values(source=""))
    catalog.close()
