"""Nobody waits for the dead, or longer than it pays for the slow: what dead processes have appended is applied by others, and where the order of
coordinators does not count, nobody waits for the token for long."""

from __future__ import annotations

import dataclasses
import datetime
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from cumulus_ops.append.append import append_delivery
from cumulus_ops.epochs import driver
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import current_epoch
from cumulus_ops.epochs.voting import apply_orphans, vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from cumulus_ops.sources.pending import Sources
from tests.model.test_engine_against_interpreter import ORDERED, VIEWS
from tests.support.drops import make_shop
from tests.support.leases import another_process, lapse
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS
from tests.support.sleeping import instead_of_sleep

#: By version scheme; their epochs are long over.
PROGRAMS = {"batch": {"views": {"join": VIEWS["join"]}}, "event": {"program": ORDERED.format(semantics="SEQUENTIAL")}}


def awaited_for(project: Project, seconds: float) -> None:
    """As if others had begun to wait so long ago for those for whose seals they wait."""
    engine = create_engine(project.catalog_url)
    now = "(julianday('now') - 2440587.5) * 86400.0"
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE member SET awaited_since = {now} - {seconds} WHERE awaited_since IS NOT NULL"))
    engine.dispose()


@pytest.mark.parametrize(("scheme", "after_s", "moves"), [("batch", 3, True), ("batch", 1, False), ("event", 3, False)])
def test_only_where_order_counts_is_a_late_holder_waited_for(
    scheme: str, after_s: float, moves: bool, tmp_path: Path
) -> None:
    """For the buffer period, two seconds, and not for five minutes: what lands meanwhile belongs to the next epoch, and has no answer."""
    project = make_project(tmp_path, RELATIONS, **PROGRAMS[scheme])  # type: ignore[arg-type]
    initialise(project)
    with open_runtime(project) as rt:
        assert rt.plan.versions.name == scheme
        with pytest.raises(NotYet):
            vote(rt, 1, 0)  # coordinator 0 is silent
        awaited_for(project, after_s)
        if moves:
            vote(rt, 1, 0)
            vote(rt, 2, 0)  # who has been passed by once is passed by at once
            assert [current_epoch(rt, c) for c in range(3)] == [0, 1, 1]
            assert rt.catalog.votes.missing(0) == (0,), "its epoch is as open as it was"
        else:
            with pytest.raises(NotYet):
                vote(rt, 1, 0)


def test_a_shorter_patience_than_the_buffer_period_is_kept(tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, **PROGRAMS["batch"])  # type: ignore[arg-type]
    initialise(project)
    project = dataclasses.replace(
        project, patience=dataclasses.replace(project.patience, token=datetime.timedelta(seconds=0.5))
    )
    with open_runtime(project) as rt:
        with pytest.raises(NotYet):
            vote(rt, 1, 0)
        awaited_for(project, 1)
        vote(rt, 1, 0)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Runtime]:
    project = make_shop(tmp_path / "shop", periods=2)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        yield rt


def append_only(rt: Runtime, coordinator: int) -> int:
    """Append the coordinator's next drop, and die before it is applied: the number of its batch."""
    (batch,) = append_delivery(rt.project, rt.catalog, coordinator, rt.sources.pending(coordinator)[0])
    return batch


def test_what_a_process_has_appended_is_its_own_as_long_as_it_lives(shop: Runtime) -> None:
    with another_process(shop) as other:
        batch = append_only(other, 0)
        assert shop.catalog.leases.orphans() == []
    assert shop.catalog.leases.orphans() == [batch], "it has ended its lease"
    assert apply_orphans(shop, set()) == 1
    assert shop.catalog.log.batch(batch).state == "applied"
    assert read_view(shop, "total", tentative=True).num_rows == 1
    assert shop.catalog.leases.orphans() == []


def test_a_lease_that_lapses_makes_orphans_and_who_applies_one_has_it(shop: Runtime) -> None:
    with another_process(shop) as other, another_process(shop) as helper:
        batch = append_only(other, 0)
        lapse(shop.project.catalog_url)
        assert shop.catalog.leases.orphans() == [batch]
        with helper.catalog.leases.step() as step:
            helper.catalog.commits.begin_apply(batch, step)
            assert shop.catalog.leases.orphans() == [], "somebody is at it"
        assert apply_orphans(shop, set()) == 0


def test_a_process_of_this_machine_that_has_ended_is_known_to_be_dead_at_once(shop: Runtime) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with another_process(shop) as other:
        batch = append_only(other, 1)
        engine = create_engine(shop.project.catalog_url)
        rename = text("UPDATE lease SET holder = replace(holder, :mine, :its) WHERE id = (SELECT max(id) FROM lease)")
        with engine.begin() as connection:
            connection.execute(rename, {"mine": f":{os.getpid()} ", "its": f":{ended.pid} "})
        assert shop.catalog.leases.orphans() == [batch]
        with engine.begin() as connection:
            connection.execute(text("UPDATE lease SET holder = replace(holder, '/', '/1')"))
        engine.dispose()
        assert shop.catalog.leases.orphans() == [], "the same number elsewhere is another process"


def test_a_batch_in_which_two_processes_have_died_is_tried_apart(
    shop: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who applies it for them is not to be the third."""
    with another_process(shop) as other:
        batch = append_only(other, 0)
    for death in range(2):
        assert shop.catalog.leases.orphans() == [batch], death
        with another_process(shop) as other, other.catalog.leases.step() as step:
            other.catalog.commits.begin_apply(batch, step)
    apart = []
    monkeypatch.setattr("cumulus_ops.epochs.minibatch.apply_apart", lambda _, batch: apart.append(batch))
    assert apply_orphans(shop, set()) == 1
    assert apart == [batch]


def test_who_cannot_apply_anothers_batch_goes_on_and_tries_it_once(
    shop: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another_process(shop) as other:
        batches = [append_only(other, 0), append_only(other, 2)]
    asked = []

    def fail(_: Runtime, batch: int) -> None:
        asked.append(batch)
        raise OSError("the disk is gone")

    monkeypatch.setattr("cumulus_ops.epochs.voting.apply_or_set_aside", fail)
    tried: set[int] = set()
    assert [apply_orphans(shop, tried), apply_orphans(shop, tried)] == [0, 0]
    assert asked == batches == sorted(tried)


def test_a_run_applies_what_is_complete_while_somebody_elses_drop_is_being_copied(
    shop: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is complete has answers at once, but for what comes behind the copy, of the same coordinator."""
    landing = shop.project.landing
    for complete in ("0/p0000", "0/p0001", "1/p0001", "2/p0000", "2/p0001"):
        (landing / complete / "_SUCCESS").touch()
    seen = []

    def sleep(_: float) -> None:
        seen.append(sorted((b.coordinator, b.drop) for b in shop.catalog.log.batches(state="applied")))
        (landing / "1/p0000/_SUCCESS").touch()

    instead_of_sleep(monkeypatch, driver, sleep)
    project = dataclasses.replace(shop.project, settle=datetime.timedelta(seconds=30))
    rt = dataclasses.replace(shop, project=project, sources=Sources(project, shop.catalog))
    assert run_waiting(rt, validating=False) == 1
    assert seen == [[(c, f"p000{i}") for c in (0, 2) for i in range(2)]]
    assert len(shop.catalog.log.batches()) == 6


def test_a_run_takes_what_waits_for_one_who_is_an_empty_epoch_ahead(shop: Runtime) -> None:
    """The others have nothing, and nothing comes to end their epoch."""
    for other in (1, 2):
        shutil.rmtree(shop.project.landing / str(other))
    vote(shop, 0, 0)
    assert run_waiting(shop, validating=False) == 2
    assert [(b.coordinator, b.epoch, b.state) for b in shop.catalog.log.batches()] == [(0, 1, "retired")] * 2
