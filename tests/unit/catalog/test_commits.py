"""The commit protocol: total order, exactly once, compare-and-swap, and what a checkpoint refuses."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Advance, Clock, Snapshot, Validation
from cumulus_ops.project.errors import Conflict, InputProblem, NotYet
from cumulus_ops.project.versions import epoch_end
from tests.support.catalogs import NOBODY, append, apply_many, apply_same, make_catalog, new_run, url_of


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return make_catalog(tmp_path)


def apply(catalog: Catalog, coordinator: int, drop: str, *, runs: int = 1) -> int:
    """Append and apply a batch; its commit."""
    batch = append(catalog, coordinator, drop)
    epoch = catalog.members.position(coordinator)[0]
    written = [new_run(f"m{i}", epoch, path=f"runs/{coordinator}-{drop}.pack") for i in range(runs)]
    number = catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), written, 0.5)
    assert number is not None
    return number


def seal_all(catalog: Catalog, epoch: int) -> None:
    for coordinator in range(3):
        catalog.votes.vote(coordinator, epoch)


def snapshot(catalog: Catalog, epoch: int) -> Snapshot:
    return Snapshot(epoch, epoch_end(epoch), catalog.commits.last_commit(), 0, 0.0)


def correct_all(catalog: Catalog) -> None:
    """Advance all clocks to the newest commit, with nothing to correct."""
    at = catalog.commits.last_commit()
    catalog.commits.commit_correction(catalog.commits.clocks(at), at, (), {})


def test_where_sources_were_is_known_as_long_as_snapshots_are(tmp_path: Path, catalog: Catalog) -> None:
    """A position may be long, and there is one for each epoch in which the source moved."""
    moved = {0: "shop", 1: "bank", 2: "shop", 3: "bank", 5: "shop"}
    at: dict[str, str] = {}
    expected = {}
    for epoch in range(6):
        if source := moved.get(epoch):
            after = f"{source} in {epoch}"
            batch = append(catalog, 0, after, advance=Advance(source, at.get(source), after))
            catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [], 0.5)
            at[source] = after
        expected[epoch] = dict(at)
        seal_all(catalog, epoch)
        correct_all(catalog)
        catalog.snapshots.checkpoint(snapshot(catalog, epoch))
    assert {epoch: catalog.deliveries.source_positions(epoch) for epoch in range(6)} == expected
    assert catalog.snapshots.release(2, 2, ()) == 4
    assert {epoch: catalog.deliveries.source_positions(epoch) for epoch in (4, 5, 6)} == {4: expected[4], 5: at, 6: at}
    with pytest.raises(InputProblem, match="epoch 3 is no longer retained"):
        catalog.deliveries.source_positions(3)
    with create_engine(url_of(tmp_path)).connect() as connection:
        kept = connection.execute(text("SELECT source, epoch FROM source_epoch ORDER BY epoch")).all()
    assert [tuple(row) for row in kept] == [("shop", 2), ("bank", 3), ("shop", 5)]
    assert {s: catalog.deliveries.source_position(s) for s in at} == at


def test_concurrent_writers_get_gapless_ordered_commits(tmp_path: Path, catalog: Catalog) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        done = [d for part in pool.map(apply_many, [(url_of(tmp_path), c, 12) for c in range(3)]) for d in part]
    numbers = sorted(number for _, _, number in done)
    assert numbers == list(range(1, 37))
    assert catalog.commits.last_commit() == 36
    assert all(read_at < number for _, read_at, number in done)
    with create_engine(url_of(tmp_path)).connect() as connection:
        order = connection.execute(text('SELECT number, committed_at FROM "commit" ORDER BY number')).all()
    assert [n for n, _ in order] == numbers
    assert [at for _, at in order] == sorted(at for _, at in order)
    batches = {b.id: b for b in catalog.log.batches()}
    assert sorted(b.ticket for b in batches.values()) == list(range(1, 37))
    assert all(batches[batch].commit == number for batch, _, number in done)
    runs = {r.commit: r.rows for r in catalog.commits.runs(36)}
    assert runs == {number: batch for batch, _, number in done}
    clocks = {e.batch.id: e.clock for e in catalog.commits.live_history(36)}
    assert clocks == {batch: Clock(0, frozenset()).advanced(read_at, number) for batch, read_at, number in done}
    assert all(
        clock.covers(number) and clock.covers(read_at)
        for clock, (_, read_at, number) in zip(clocks.values(), sorted(done), strict=True)
    )


def test_a_batch_that_several_processes_apply_is_committed_once(tmp_path: Path, catalog: Catalog) -> None:
    batch = append(catalog, 0, "d")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        outcomes = pool.map(apply_same, [(url_of(tmp_path), batch)] * 6, chunksize=1)
    assert sorted(outcomes, key=str) == [1, None, None, None, None, None]
    assert len(catalog.commits.runs(catalog.commits.last_commit())) == 1
    assert catalog.log.batches()[0].ticket == 1


def test_applying_twice_commits_once(catalog: Catalog) -> None:
    batch = append(catalog, 0, "d")
    read_at = catalog.commits.begin_apply(batch, NOBODY)
    assert catalog.commits.commit_apply(batch, read_at, [new_run()], 0.0) == 1
    assert catalog.commits.commit_apply(batch, read_at, [new_run()], 0.0) is None
    assert (catalog.commits.last_commit(), len(catalog.commits.runs(1)), len(catalog.commits.live_history(1))) == (
        1,
        1,
        1,
    )


def test_a_drop_is_appended_once_and_at_the_position_that_was_read(catalog: Catalog) -> None:
    append(catalog, 0, "d", rows=3)
    assert catalog.members.position(0) == (0, 3)
    for drop, at in (("d", (0, 3)), ("e", (0, 0)), ("e", (1, 3))):
        with pytest.raises(Conflict):
            append(catalog, 0, drop, at=at)
    assert (len(catalog.log.batches()), catalog.members.position(0), catalog.log.drops(0)) == (1, (0, 3), {"d"})
    append(catalog, 1, "d")
    assert [f.batch for f in catalog.log.files_within("1/r", 0, 9)] == [2]


def test_a_run_is_visible_from_its_commit_until_the_one_that_replaces_it(catalog: Catalog) -> None:
    for i in range(3):
        apply(catalog, 0, f"d{i}")
    correct_all(catalog)
    old = catalog.commits.runs(3)[:2]
    number = catalog.commits.commit_merge([(old, [new_run("m0", path="runs/merged.pack")])])
    assert [r.commit for r in catalog.commits.runs(3)] == [1, 2, 3]
    assert [(r.commit, r.origin) for r in catalog.commits.runs(number)] == [(3, 3), (number, 2)]
    assert catalog.commits.runs(0) == []


def test_a_correction_is_compare_and_swap(catalog: Catalog) -> None:
    apply(catalog, 0, "a")
    apply(catalog, 1, "b")
    clocks = catalog.commits.clocks(2)
    assert [c.clock.prefix for c in clocks] == [1, 2]
    assert catalog.commits.commit_correction(clocks, 2, [new_run()], {0: 4}) == 3
    with pytest.raises(Conflict) as caught:
        catalog.commits.commit_correction(clocks[1:], 2, [new_run()], {0: 9})
    assert caught.value.kind == "correction-conflict"
    assert (catalog.commits.last_commit(), catalog.commits.corrections()) == (3, {0: 4})
    assert [(c.clock, c.batches) for c in catalog.commits.clocks(3)] == [(Clock(3, frozenset()), 2)]
    assert {e.clock_id for e in catalog.commits.live_history(3)} == {catalog.commits.clocks(3)[0].id}


@pytest.mark.parametrize("leaving", ["retired", "taken back"])
def test_a_correction_is_refused_when_a_batch_has_left_its_clock(catalog: Catalog, leaving: str) -> None:
    apply(catalog, 0, "a")
    correct_all(catalog)
    seal_all(catalog, 0)
    apply(catalog, 0, "next")
    correct_all(catalog)
    (shared,) = catalog.commits.clocks(2)
    assert shared.batches == 2
    apply(catalog, 1, "last")
    if leaving == "retired":
        catalog.snapshots.checkpoint(Snapshot(0, epoch_end(0), 2, 0, 0.0))
    else:
        catalog.asides.retract(catalog.commits.live_history(2)[1], [], [], "why")
    with pytest.raises(Conflict) as caught:
        catalog.commits.commit_correction([shared], 3, [new_run()], {1: 1})
    assert caught.value.kind == "correction-conflict"
    assert catalog.commits.corrections() == {}
    assert {c.id: c.batches for c in catalog.commits.clocks(9)}[shared.id] == 1
    correct_all(catalog)
    assert sum(c.batches for c in catalog.commits.clocks(9)) == 2


def test_a_clock_without_batches_holds_nobody_back(catalog: Catalog) -> None:
    apply(catalog, 0, "a")
    apply(catalog, 1, "b")
    catalog.asides.retract(catalog.commits.live_history(2)[0], [], [], "why")
    assert [r.commit for r in catalog.commits.mergeable(3)] == [1, 2]
    assert catalog.commits.unsettled() is not None  # the other one has yet to know
    correct_all(catalog)
    assert catalog.commits.unsettled() is None
    catalog.asides.retract(catalog.commits.live_history(3)[0], [], [], "why")
    assert (catalog.commits.clocks(4), catalog.commits.unsettled()) == ([], None)


def test_tentative_answers_are_settled_once_all_have_incorporated_all(catalog: Catalog) -> None:
    assert (catalog.commits.unsettled(), catalog.commits.behind()) == (None, 0)
    apply(catalog, 0, "a")
    assert (catalog.commits.unsettled(), catalog.commits.behind()) == (None, 0)
    apply(catalog, 1, "b")
    apply(catalog, 1, "c")
    first = catalog.commits.unsettled()
    assert first is not None
    assert (first.stale, catalog.commits.behind()) == (False, 2)
    apply(catalog, 1, "d")
    assert (catalog.commits.unsettled(), catalog.commits.behind()) == (first, 3), (
        "it counts from the first that is not incorporated"
    )
    correct_all(catalog)
    assert (catalog.commits.unsettled(), catalog.commits.behind()) == (None, 0)
    catalog.commits.commit_merge([(catalog.commits.runs(4)[:2], [new_run("m0")])])
    assert catalog.commits.unsettled() is None, "a merge brings nothing new"
    apply(catalog, 2, "e")
    assert catalog.commits.behind() == 4


def test_a_correction_of_nothing_only_moves_clocks_and_keeps_later_exceptions(catalog: Catalog) -> None:
    early = append(catalog, 0, "a")
    read_at = catalog.commits.begin_apply(early, NOBODY)
    apply(catalog, 1, "b")
    apply(catalog, 1, "c")
    catalog.commits.commit_apply(early, read_at, [new_run()], 0.0)
    assert [e.clock for e in catalog.commits.live_history(3)] == [
        Clock(0, frozenset([3])),
        Clock(1, frozenset()),
        Clock(2, frozenset()),
    ]
    (last,) = [c for c in catalog.commits.clocks(3) if c.clock.prefix == 0]
    assert catalog.commits.commit_correction([last], 1, (), {}) == 1
    assert catalog.commits.live_history(3)[0].clock == Clock(1, frozenset([3]))
    assert catalog.commits.last_commit() == 3


def test_runs_that_somebody_has_yet_to_tell_apart_are_not_merged(catalog: Catalog) -> None:
    apply(catalog, 0, "a")
    apply(catalog, 1, "b")
    runs = catalog.commits.runs(2)
    assert [r.commit for r in catalog.commits.mergeable(2)] == [1]
    with pytest.raises(Conflict) as caught:
        catalog.commits.commit_merge([(runs, [new_run("m0")])])
    assert caught.value.kind == "merge-conflict"
    correct_all(catalog)
    waiting = append(catalog, 2, "c")
    with catalog.leases.step() as step:
        assert catalog.commits.begin_apply(waiting, step) == 2
        apply(catalog, 0, "d")
        assert [r.commit for r in catalog.commits.mergeable(3)] == [1, 2]
        catalog.commits.commit_merge([(runs, [new_run("m0")])])
    with pytest.raises(Conflict):
        catalog.commits.commit_merge([(runs, [new_run("m0")])])
    assert len([r for r in catalog.commits.runs(catalog.commits.last_commit()) if r.origin <= 2]) == 1


def test_an_apply_that_read_runs_which_were_merged_since_starts_again(catalog: Catalog) -> None:
    slow = append(catalog, 2, "slow")
    read_at = catalog.commits.begin_apply(slow, NOBODY)
    apply(catalog, 0, "a")
    apply(catalog, 1, "b")
    catalog.commits.begin_apply(slow, NOBODY)  # a second process takes over, and reads later runs
    correct_all(catalog)
    catalog.commits.commit_merge([(catalog.commits.runs(2), [])])
    with pytest.raises(Conflict) as caught:
        catalog.commits.commit_apply(slow, read_at, [new_run()], 0.0)
    assert caught.value.kind == "merge-conflict"
    assert catalog.commits.commit_apply(slow, catalog.commits.begin_apply(slow, NOBODY), [new_run()], 0.0) == 4


def test_only_the_holder_of_the_token_seals_and_passes_it_on(catalog: Catalog) -> None:
    for epoch in range(2):
        for coordinator in range(3):
            assert catalog.votes.token_holder() == coordinator
            for other in {0, 1, 2} - {coordinator}:
                if catalog.members.position(other)[0] == epoch:
                    with pytest.raises(NotYet, match="has the token"):
                        catalog.votes.vote(other, epoch)
            catalog.votes.vote(coordinator, epoch)
            catalog.votes.vote(coordinator, epoch)  # again: nothing happens
            assert catalog.members.position(coordinator) == (epoch + 1, 0)
    assert catalog.votes.by_epoch() == {0: {0, 1, 2}, 1: {0, 1, 2}}
    with pytest.raises(NotYet, match="epoch 2 is still open"):
        catalog.votes.vote(0, 3)


def test_an_epoch_with_a_batch_that_is_not_applied_is_votes_missing(catalog: Catalog) -> None:
    batch = append(catalog, 0, "d")
    with pytest.raises(NotYet) as caught:
        catalog.votes.vote(0, 0)
    assert caught.value.kind == "batch-pending"
    catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [], 0.0)
    catalog.votes.vote(0, 0)


def test_a_checkpoint_needs_all_seals_in_order_and_all_corrections(catalog: Catalog) -> None:
    apply(catalog, 0, "a")
    apply(catalog, 1, "b")
    with pytest.raises(NotYet, match="coordinator 0, 1, 2 has not voted"):
        catalog.snapshots.checkpoint(snapshot(catalog, 0))
    seal_all(catalog, 0)
    seal_all(catalog, 1)
    with pytest.raises(NotYet, match="earlier epoch"):
        catalog.snapshots.checkpoint(snapshot(catalog, 1))
    with pytest.raises(Conflict) as caught:
        catalog.snapshots.checkpoint(snapshot(catalog, 0))
    assert caught.value.kind == "correction-due"
    correct_all(catalog)
    first = snapshot(catalog, 0)
    catalog.snapshots.checkpoint(first)
    catalog.snapshots.checkpoint(Snapshot(0, 0, 0, 99, 9.9))  # again: nothing happens
    catalog.snapshots.checkpoint(snapshot(catalog, 1))
    assert catalog.snapshots.all()[0] == first
    assert catalog.commits.live_history(catalog.commits.last_commit()) == []
    assert {b.state for b in catalog.log.batches()} == {"retired"}


def test_a_checkpoint_refuses_while_a_batch_of_its_epoch_is_not_applied(tmp_path: Path, catalog: Catalog) -> None:
    """Even if it is there against the rules, it is not retired unseen."""
    seal_all(catalog, 0)
    late = append(catalog, 1, "late")
    with create_engine(url_of(tmp_path)).begin() as connection:
        connection.execute(text("UPDATE batch SET epoch = 0"))
    with pytest.raises(NotYet) as caught:
        catalog.snapshots.checkpoint(snapshot(catalog, 0))
    assert (caught.value.kind, catalog.log.batch(late).state) == ("batch-pending", "appended")


def test_later_epochs_do_not_hold_up_a_checkpoint_and_stay_in_history(catalog: Catalog) -> None:
    apply(catalog, 0, "a")
    correct_all(catalog)
    seal_all(catalog, 0)
    apply(catalog, 0, "next")
    catalog.snapshots.checkpoint(snapshot(catalog, 0))
    assert [(b.drop, b.state) for b in catalog.log.batches()] == [("a", "retired"), ("next", "applied")]
    assert [e.batch.drop for e in catalog.commits.live_history(2)] == ["next"]


def test_retired_runs_are_forgotten_when_their_pack_is_free(catalog: Catalog) -> None:
    apply(catalog, 0, "a", runs=2)
    apply(catalog, 0, "b")
    correct_all(catalog)
    runs = catalog.commits.runs(2)
    catalog.commits.commit_merge([([runs[0], runs[2]], [new_run("m0", path="runs/merged.pack")])])
    assert catalog.leases.forget_retired() == ["runs/0-b.pack"]  # the other pack still holds a run of m1
    assert {"runs/0-a.pack", "runs/merged.pack"} <= catalog.leases.known_paths()


@pytest.mark.parametrize("forget", [False, True])
def test_whoever_keeps_up_with_the_runs_sees_what_a_fresh_look_sees(
    tmp_path: Path, catalog: Catalog, forget: bool
) -> None:
    watcher = Catalog(url_of(tmp_path))
    for number in range(6):
        for drop in ("a", "b"):
            apply(catalog, 0, f"{drop}{number}")
        if number % 2 == 0:
            assert {r.id for r in watcher.commits.runs(catalog.commits.last_commit())} == {
                r.id for r in catalog.commits.runs(catalog.commits.last_commit())
            }
        correct_all(catalog)
        runs = catalog.commits.mergeable(catalog.commits.last_commit())
        catalog.commits.commit_merge([(runs, [new_run(path=f"runs/m{number}.pack")])])
        if forget:
            catalog.leases.forget_retired()
        fresh = Catalog(url_of(tmp_path))
        at = catalog.commits.last_commit()
        assert watcher.commits.runs(at) == fresh.commits.runs(at)
        assert watcher.commits.runs(at - 1) == fresh.commits.runs(at - 1)
        fresh.close()
    watcher.close()


def test_results_are_remembered(catalog: Catalog) -> None:
    catalog.results.record_published("v", 0, 7)
    catalog.results.record_published("v", 0, 8)
    assert catalog.results.published() == {("v", 0): 7}
    for outcome in (Validation(0, "failed", ("v: 1 row",), "a", 1.0), Validation(0, "passed", (), "b", 2.0)):
        catalog.results.record_validation(outcome)
    assert catalog.results.validations() == {0: outcome}


def test_a_verdict_stands_until_its_view_is_looked_at_again(catalog: Catalog) -> None:
    wrong, right = ("differs", "view a: 1 row; groups missing: 1"), ("equal", "")
    catalog.results.record_validation(Validation(0, "failed", (), "", 1.0, {"a": wrong, "b": right}, 3))
    catalog.results.record_validation(
        Validation(0, "passed", (), "", 1.0, {"b": ("unproved", "view b: not compared")}, 3)
    )
    found = catalog.results.validations()[0]
    assert (found.outcome, found.findings) == ("failed", (wrong[1], "view b: not compared"))
    catalog.results.record_validation(Validation(0, "passed", (), "", 1.0, {"a": right}, 3))
    found = catalog.results.validations()[0]
    assert (found.outcome, found.summary) == (
        "unproved",
        "1 of 3 views equals its recomputation, 1 unproved, 1 not looked at",
    )
