"""What the tasks do, without Airflow: idempotent, in token order, by the time at which drops landed."""

import datetime
import json
import re

import pytest

from cumulus_ops.append.append import append_delivery
from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import remove_coordinator
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.orchestration import steps
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.rhythm import Rhythm, read_timeline
from cumulus_ops.query.read import read_view
from tests.support.leases import has_been_awaited
from tests.support.sleeping import instead_of_sleep

HOUR = datetime.timedelta(hours=1)
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project of two coordinators that runs in this process."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    write_project(tmp_path, "shop")
    file = tmp_path / "cumulus.yaml"
    file.write_text(
        file.read_text().replace("coordinators: 1", "coordinators: 2").replace("kind: spark", "kind: inprocess")
    )
    return str(tmp_path)


@pytest.fixture
def land(tmp_path):
    """Lands a drop with one order."""

    def lander(coordinator, drop, order, note=None):
        parent = tmp_path / "home" / "landing" / str(coordinator)
        new = parent / f".{drop}"
        new.mkdir(parents=True)
        row = {"o_id": order, "o_customer": "ann", "o_price": "1.00", "o_note": note, "op": "I", "event": order}
        (new / "orders.ndjson").write_text(json.dumps(row) + "\n")
        (new / "_SUCCESS").touch()
        new.rename(parent / drop)

    return lander


def look(folder):
    """The project's status."""
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        return status(runtime)


def seal(folder, coordinator, moment):
    """What :func:`steps.vote_scheduled` says at once, as lists."""
    voted = steps.vote_scheduled(folder, coordinator, moment, patience_s=0)
    return list(voted.epochs), list(voted.complete)


def newest(folder):
    """The epoch of the newest snapshot."""
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        return runtime.catalog.snapshots.newest()


def folder_path(folder):
    from pathlib import Path

    return Path(folder)


def now():
    return datetime.datetime.now(datetime.UTC)


def begin(folder, moment, length="1h"):
    """Let epoch 0 begin at a moment; epochs take so long."""
    file = folder_path(folder) / "cumulus.yaml"
    text = re.sub(
        r"(?ms)^epochs:.*?\n\n", f"epochs: {{length: {length}, start: '{moment.isoformat()}'}}\n\n", file.read_text()
    )
    file.write_text(text)


def passed(moment, folder):
    """By the clock of files, which goes in steps of some milliseconds: what lands next is later."""
    file = folder / "clock"
    while True:
        file.write_text("")
        if datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC) > moment:
            return


def test_apply_takes_what_landed_before_the_epochs_end_and_nothing_later(folder, land, tmp_path):
    land(0, "d1", 1)
    end = now() + datetime.timedelta(seconds=1e-2)
    begin(folder, end - HOUR)
    passed(end, tmp_path)
    land(0, "d2", 2)
    assert steps.apply_scheduled(folder, 0, end - HOUR)["batches"] == 1
    assert look(folder).coordinators[0].pending_drops == 1
    assert seal(folder, 0, end - HOUR) == ([0], [])
    begin(folder, end - 2 * HOUR)  # the boundary is a row now: the schedule cannot change it any more
    assert steps.apply_scheduled(folder, 0, end - HOUR)["batches"] == 0


def test_an_idle_apply_corrects_and_so_does_one_that_ends(folder, land, monkeypatch):
    """Coordinator 0 is an epoch ahead: what 1 applies then counts before it, and is news to it."""
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text() + "\ncorrections: {after: 0.000001s}\n")
    begin(folder, now())
    assert steps.vote_epoch(folder, 0, 0) == [0]
    seen = []
    monkeypatch.setattr(
        steps,
        "settle",
        lambda runtime: seen.append(("end", runtime.catalog.commits.unsettled() is None)),
    )
    for coordinator, order in ((0, 1), (1, 2)):
        land(coordinator, "d", order)
        with monkeypatch.context() as patch:
            patch.setattr("cumulus_ops.epochs.minibatch.settle_if_due", lambda _: False)
            patch.setattr(steps, "settle_if_due", lambda _: False)
            steps.apply_epoch(folder, coordinator, 1 - coordinator)
    polls = []
    with monkeypatch.context() as patch:
        instead_of_sleep(patch, steps, polls.append)
        patch.setattr(steps, "_now", lambda: now() + 3 * HOUR if polls else now())
        assert steps.apply_scheduled(folder, 1, now())["batches"] == 0
    assert seen == [("end", True), ("end", False), ("end", True)]


def test_apply_tells_of_partitions_that_become_final_while_it_goes_on(folder, land, tmp_path, monkeypatch):
    """They are proved then, and not when the epoch is over; what comes soon after is told together."""
    file = folder_path(folder) / "cumulus.yaml"
    seals = "    seals: {customer: {key: [o_customer], producers: one}}\n"
    file.write_text(file.read_text().replace("    key: [o_id]\n", "    key: [o_id]\n" + seals))
    begin(folder, now())
    for drop, customers in (("d1", "ann"), ("d2", "bob\ncid")):
        land(0, drop, len(customers))
        (tmp_path / "home/landing/0" / drop / "orders.customer.seal.csv").write_text(f"o_customer\n{customers}\n")
    told, polls = [], []
    with monkeypatch.context() as patch:
        instead_of_sleep(patch, steps, polls.append)
        patch.setattr(steps, "_now", lambda: now() + 3 * HOUR if polls else now())
        steps.apply_scheduled(folder, 0, now(), on_final=lambda partition: told.append((partition, len(polls))))
    ((partition, before),) = told
    assert (partition.view, before) == ("revenue", 0)
    assert partition.value in ('["ann"]', '["cid"]'), "the newest, whether the second drop was appended by then or not"


def test_apply_of_an_epoch_that_is_voted_on_does_nothing(folder, land):
    assert steps.vote_epoch(folder, 0, 0) == [0]
    land(0, "d1", 1)
    begin(folder, PAST)
    assert steps.apply_scheduled(folder, 0, PAST)["batches"] == 0
    assert look(folder).coordinators[0].epoch == 1


def test_who_has_sealed_a_last_epoch_keeps_the_dag_that_has_to_say_so(folder, land):
    begin(folder, now())
    steps.apply_epoch(folder, 0, 0)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        runtime.catalog.members.drain(1)
    assert steps.vote_epoch(folder, 0, 0) == [0]
    assert steps.vote_epoch(folder, 1, 0) == [0]
    timeline = read_timeline(load_project(folder_path(folder)).state)
    assert [(c, stay.gone) for c, stay in timeline.items()] == [(0, False), (1, True)]


def test_what_lands_later_is_not_in_an_early_ended_epoch_that_a_failed_run_left_open(folder, land, monkeypatch):
    begin(folder, now() - datetime.timedelta(minutes=90))
    steps.apply_epoch(folder, 0, 0)
    land(0, "d1", 1)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        rhythm = Rhythm.of(runtime.project)
        runtime.catalog.members.end_epoch(0, rhythm, "events")
        begins_at, ends_at = (runtime.catalog.members.boundary(0, e, rhythm).ends_at for e in (0, 1))
    monkeypatch.setattr(steps, "_now", lambda: ends_at)
    assert steps.apply_scheduled(folder, 0, begins_at)["batches"] == 1
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        assert [b.epoch for b in runtime.catalog.log.batches()] == [1]


def test_epochs_that_end_at_once_are_told_apart_by_when_they_begin(folder):
    begin(folder, now() - datetime.timedelta(minutes=10))
    steps.apply_epoch(folder, 0, 0)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        rhythm = Rhythm.of(runtime.project)
        runtime.catalog.members.end_epoch(3, rhythm)
        for coordinator in (0, 1):
            begins = [runtime.catalog.members.boundary(coordinator, e, rhythm).ends_at for e in range(4)]
            assert [runtime.catalog.members.epoch_at(coordinator, at, rhythm) for at in begins] == [1, 2, 3, 4]
        with pytest.raises(InputProblem, match="far ahead"):
            runtime.catalog.members.end_epoch(2026, rhythm)


def test_time_goes_on_in_epochs_to_which_nothing_was_appended(folder, land):
    """Votes, and what commits complete epochs: a tick where rows leave, and no other snapshots of their own."""
    start = now() - 5 * HOUR
    begin(folder, start)
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text().replace("o_note: string null", "o_note: timestamp null"))
    recent = "SELECT o_id FROM orders WHERE o_note > now() - INTERVAL '1 hour'"
    (folder_path(folder) / "views" / "revenue.sql").write_text(recent)
    (folder_path(folder) / "views" / "revenue_by_city.sql").write_text("SELECT COUNT(*) AS n FROM orders")
    for order, hours in enumerate((0.5, 4.4), 1):
        land(0, f"d{order}", order, (start + hours * HOUR).strftime("%Y-%m-%d %H:%M:%S"))
    steps.apply_epoch(folder, 0, 0)
    for coordinator in (0, 1, 0, 1, 0):
        steps.vote_scheduled(folder, coordinator, start, patience_s=0)
    own = steps.commit_complete(folder)
    assert own[0] == 0
    assert len(own) == 2
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        assert runtime.catalog.snapshots.newest() >= 3
        ids = [read_view(runtime, "revenue", as_of=epoch)["o_id"].to_pylist() for epoch in own]
        assert [sorted(found) for found in ids] == [[1, 2], [2]]
    assert steps.commit_complete(folder) == []


def test_who_is_removed_while_ahead_shortens_nobody_elses_epoch(folder):
    begin(folder, now() - datetime.timedelta(minutes=61))
    steps.apply_epoch(folder, 0, 0)
    assert steps.vote_epoch(folder, 0, 0) == [0]
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        rhythm = Rhythm.of(runtime.project)
        remove_coordinator(runtime, 0)
        stays = [runtime.catalog.members.stay(1, epoch, rhythm) for epoch in (0, 1)]
    assert [stay.ends_at - stay.begins_at for stay in stays] == [HOUR, HOUR]


def test_aligned_epochs_begin_together(folder):
    begin(folder, now())
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text().replace("length: ", "transitions: aligned, length: "))
    steps.apply_epoch(folder, 0, 0)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        rhythm = Rhythm.of(runtime.project)
        stays = [runtime.catalog.members.stay(c, e, rhythm) for c in (0, 1) for e in (0, 2)]
    assert [s.begins_at for s in stays] == [rhythm.begin(s.coordinator, s.epoch) for s in stays]
    assert [s.ends_at for s in stays] == [rhythm.end(s.coordinator, s.epoch) for s in stays]
    assert len({s.begins_at for s in stays}) == 2


def test_an_epoch_that_is_ended_early_takes_nothing_more_and_the_next_begins_then(folder, land):
    start = now()
    begin(folder, start)
    land(0, "d1", 1)
    steps.apply_epoch(folder, 0, 0)
    land(0, "d2", 2)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        ended = runtime.catalog.members.end_epoch(0, Rhythm.of(runtime.project))
    assert [b.coordinator for b in ended] == [0, 1]
    assert steps.apply_scheduled(folder, 0, start)["batches"] == 0
    assert seal(folder, 0, start) == ([0], [])
    assert seal(folder, 1, start) == ([0], [0]), "all have sealed it"
    stay = read_timeline(load_project(folder_path(folder)).state)[0]
    assert (stay.epoch, stay.begins_at) == (1, ended[0].ends_at)
    assert stay.ends_at == ended[1].ends_at + HOUR / 2
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        assert runtime.catalog.members.epoch_at(0, stay.begins_at, Rhythm.of(runtime.project)) == 1
        assert runtime.catalog.members.epoch_at(0, stay.ends_at, Rhythm.of(runtime.project)) == 2
        assert runtime.catalog.members.end_epoch(1, Rhythm.of(runtime.project))
    assert steps.apply_scheduled(folder, 0, stay.begins_at)["batches"] == 0, "what has landed goes to the next"


def test_an_epoch_with_more_events_than_it_is_to_hold_ends_by_itself(folder, land):
    start = now()
    begin(folder, start)
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text().replace("{length: 1h,", "{length: 1h, events: 2,"))
    for number in range(5):
        land(0, f"d{number}", number)
    assert steps.apply_scheduled(folder, 0, start)["events"] in (3, 4), "one may be appended ahead"
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        assert [b.reason for b in runtime.catalog.members.boundaries(0)] == ["events", "events"]
    assert steps.apply_scheduled(folder, 1, start)["events"] == 0


def test_whoever_seals_goes_on_without_those_that_are_gone(folder, land):
    start = now() - 2.75 * HOUR
    begin(folder, start)
    land(0, "d1", 1)
    steps.apply_epoch(folder, 0, 0)
    assert steps.vote_scheduled(folder, 1, start, patience_s=0) is None
    has_been_awaited(load_project(folder_path(folder)).catalog_url)
    assert seal(folder, 1, start) == ([0, 1], [0]), "for epoch 1 nobody has waited that long"
    epoch = look(folder).epochs[0]
    assert [(f.coordinator, f.by) for f in epoch.fenced] == [(0, 1)]
    assert (epoch.state, epoch.events, epoch.members) == ("complete", 1, (0, 1))
    assert seal(folder, 0, start) == ([0, 1], [0, 1]), "it awakes: its first epoch is sealed"


def test_the_vote_follows_the_members(folder):
    steps.vote_epoch(folder, 0, 0)
    with open_runtime(load_project(folder_path(folder)), "inprocess") as runtime:
        assert runtime.catalog.members.add().first == 2
        runtime.catalog.members.drain(1)
    assert steps.vote_epoch(folder, 1, 5) == [0], "which was its last"
    assert steps.vote_epoch(folder, 0, 1) == [1]
    assert steps.commit_complete(folder) == [0], "nothing was appended to epoch 1: it is as 0"
    assert newest(folder) == 1
    assert steps.vote_epoch(folder, 0, 2) == [2]
    assert (steps.commit_complete(folder), newest(folder)) == ([], 1)
    assert steps.vote_epoch(folder, 2, 2) == [2]
    assert (steps.commit_complete(folder), newest(folder)) == ([], 2), "committed with its last seal"
    assert [(e.epoch, e.through, e.members) for e in look(folder).epochs] == [
        (0, 0, (0, 1)),
        (1, 1, (0,)),
        (2, 2, (0, 2)),
    ]


def test_seal_waits_for_the_token_and_says_so(folder):
    assert steps.vote_epoch(folder, 1, 0, patience_s=0) is None
    assert steps.vote_epoch(folder, 0, 0) == [0]
    assert steps.vote_epoch(folder, 1, 0) == [0]
    assert steps.vote_epoch(folder, 1, 0) == [0]  # again: the same answer, so that a retry emits its event


def test_apply_without_a_clock_waits_for_its_epoch(folder, land):
    land(0, "d1", 1)
    assert steps.apply_epoch(folder, 0, 1, patience_s=0) is None
    assert look(folder).coordinators[0].pending_drops == 1


def test_plan_spreads_what_has_landed_evenly(folder, land):
    for number in range(5):
        land(0, f"d{number}", number)
    plan = steps.plan_epochs(folder, None, 3)
    assert [entry["epoch"] for entry in plan] == [0, 1, 2]
    assert [entry["leave"]["0"] for entry in plan] == [3, 1, 0]
    assert [entry["leave"]["1"] for entry in plan] == [0, 0, 0]
    applied = []
    for entry in plan:
        totals = steps.apply_epoch(folder, 0, entry["epoch"], leave=entry["leave"]["0"])
        again = steps.apply_epoch(folder, 0, entry["epoch"], leave=entry["leave"]["0"])
        applied.append((totals["batches"], again["batches"]))
        assert steps.vote_epoch(folder, 0, entry["epoch"])
        assert steps.vote_epoch(folder, 1, entry["epoch"])
    assert applied == [(2, 0), (2, 0), (1, 0)]


def test_plan_includes_open_epochs_before_the_first_chosen(folder):
    assert [entry["epoch"] for entry in steps.plan_epochs(folder, 2, 2)] == [0, 1, 2, 3]


def test_commit_takes_every_complete_epoch_once_and_publish_names_what_awaits_validation(folder, land):
    for epoch in (0, 1):
        land(0, f"d{epoch}", epoch)
        steps.apply_epoch(folder, 0, epoch)
        for coordinator in (0, 1):
            steps.vote_epoch(folder, coordinator, epoch)
    assert steps.commit_complete(folder) == [0, 1]
    assert steps.commit_complete(folder) == []
    assert steps.publish_committed(folder) == ([0, 1], {})
    assert steps.publish_committed(folder) == ([0, 1], {})


def test_a_failed_snapshot_is_an_error_that_names_report_and_failures(folder, land, monkeypatch):
    from cumulus_ops.validation.request import ValidationReport

    land(0, "d1", 1)
    steps.apply_epoch(folder, 0, 0)
    for coordinator in (0, 1):
        steps.vote_epoch(folder, coordinator, 0)
    steps.commit_complete(folder)
    report = ValidationReport(0, "failed", {}, ("revenue: 1 group differs",), folder_path("/reports/index.html"), 0.1)
    monkeypatch.setattr("cumulus_ops.validation.run.validate", lambda _runtime, _epoch, _views: report)
    with pytest.raises(steps.SnapshotInvalid) as caught:
        steps.validate_committed(folder)
    assert "revenue: 1 group differs" in str(caught.value)
    assert caught.value.place == "/reports/index.html"
    monkeypatch.setenv("POLICY", "warn")
    file = folder_path(folder) / "cumulus.yaml"
    file.write_text(file.read_text().replace("policy: fail", "policy: ${POLICY}"))
    assert steps.validate_committed(folder) == {0: "failed"}


def look_after_others(folder, monkeypatch, looks=1):
    """Coordinator 1 has nothing to do, looks so often after the others, and ends; returns what it tells of: the epochs, and how often it had paused."""
    told, pauses = [], []
    with monkeypatch.context() as patch:
        instead_of_sleep(patch, steps, pauses.append)
        patch.setattr(steps, "_now", lambda: now() + 3 * HOUR * (len(pauses) >= looks))
        steps.apply_scheduled(folder, 1, now(), on_complete=lambda epochs: told.append((epochs, len(pauses))))
    return told


def test_an_idle_apply_applies_what_a_dead_process_has_appended(folder, land, monkeypatch):
    """It does not wait for its coordinator to be back, nor for its fence."""
    begin(folder, now())
    land(0, "d1", 1)
    project = load_project(folder_path(folder))
    with steps.running(folder, None, "apply", 0) as (_, dying):
        append_delivery(project, dying.catalog, 0, dying.sources.pending(0)[0])
    assert look_after_others(folder, monkeypatch) == []
    with open_runtime(project, "inprocess") as runtime:
        assert [(b.coordinator, b.state) for b in runtime.catalog.log.batches()] == [(0, "applied")]
        assert read_view(runtime, "revenue", tentative=True).num_rows == 1


def test_who_waits_for_the_token_applies_what_its_dead_holder_has_appended(folder, land):
    begin(folder, PAST, length="30d")
    land(0, "d1", 1)
    project = load_project(folder_path(folder))
    with steps.running(folder, None, "apply", 0) as (_, dying):
        append_delivery(project, dying.catalog, 0, dying.sources.pending(0)[0])
    assert steps.vote_epoch(folder, 1, 0, patience_s=0) is None
    with open_runtime(project, "inprocess") as runtime:
        assert [(b.coordinator, b.state) for b in runtime.catalog.log.batches()] == [(0, "applied")]


def test_an_epoch_that_is_completed_by_a_fence_is_told_of_at_once(folder, land, monkeypatch):
    """And not with the vote of who has fenced, which comes when its own epoch ends."""
    file = folder_path(folder) / "cumulus.yaml"
    impatient = "{count: 2, token: 0.000001s, patience: 0.000001s}"
    file.write_text(file.read_text().replace("coordinators: 2", f"coordinators: {impatient}"))
    begin(folder, now() - HOUR * 3 / 2)
    land(0, "d1", 1)
    assert steps.apply_epoch(folder, 0, 0)["batches"] == 1
    with monkeypatch.context() as patch:
        patch.setattr(steps, "fence_the_gone", lambda *_: [])
        assert (steps.vote_epoch(folder, 1, 0, patience_s=0), steps.vote_epoch(folder, 1, 0)) == (None, [0])
    assert look_after_others(folder, monkeypatch) == [(range(1), 0)]
    assert steps.commit_complete(folder) == [0]


def test_an_epoch_for_which_nobody_comes_is_told_of(folder, land, monkeypatch):
    """A person has fenced somebody, or who was to wake the commit has died: it does not wait for the next vote."""
    begin(folder, now())
    land(0, "d1", 1)
    steps.apply_epoch(folder, 0, 0)
    for coordinator in (0, 1):
        assert steps.vote_epoch(folder, coordinator, 0) == [0]
    assert look_after_others(folder, monkeypatch) == [], "its commit has just been woken"
    monkeypatch.setattr(steps, "OTHERS_S", 0.0)
    monkeypatch.setattr(steps, "COMMIT_S", 0.0)
    assert look_after_others(folder, monkeypatch, looks=3) == [(range(1), 1)]
