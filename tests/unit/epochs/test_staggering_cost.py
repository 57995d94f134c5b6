"""`cumulus status` says what staggering costs where nobody gets anything for it, and by the project's own epochs."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.experiments.rounds import Rounds, staggered
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.epochs.checkpoint import commit, correct
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import staggering_cost, status
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from tests.support.drops import VIEWS, make_shop

Play = Callable[..., Runtime]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Plays two epochs of three coordinators, a drop each per period; they leave their epochs so many periods late."""
    with ExitStack() as opened:

        def player(
            delays: tuple[int, ...], views: dict[str, str] = VIEWS, versions: str | None = None, ago: int = 0
        ) -> Runtime:
            project = make_shop(tmp_path / "shop", periods=8, rows=10, views=views)
            start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=ago)
            epoch = dataclasses.replace(project.epoch, start=start, length=datetime.timedelta(hours=1))
            project = dataclasses.replace(project, epoch=epoch)
            initialise(project, versions=versions)
            rt = opened.enter_context(open_runtime(project, "inprocess"))
            rounds = Rounds(rt, 3, delays)
            for _ in range(8):
                for coordinator in range(3):
                    run_minibatch(rt, coordinator)
                for epoch_number in rounds.end_period():
                    correct(rt)
                    commit(rt, epoch_number)
            return rt

        yield player


def test_status_says_what_staggering_costs_and_what_would_spare_it(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    rt = play(staggered(3, 3))
    cost = staggering_cost(rt)
    assert cost is not None
    assert (cost.first, cost.last, cost.batches) == (0, 1, 21)
    assert (cost.ahead, cost.beside) == (3, 0), "coordinator 0 is ahead of two others, then of one, and 1 of 2"
    assert cost.corrections == rt.catalog.commits.corrections()[1] > 0, "epoch 2 is still open"
    print_status(status(rt))
    said = " ".join(capsys.readouterr().out.split())
    assert "Staggering: in epochs 0 to 1 3 of 21 batches" in said
    assert f"{cost.corrections:,} corrected entries" in said
    assert "epochs: {transitions: aligned}" in said


def test_aligned_epochs_have_no_such_cost(play: Play) -> None:
    rt = play((0, 0, 0))
    assert rt.catalog.snapshots.newest() == 1
    assert staggering_cost(rt) is None


def test_where_order_counts_staggering_has_its_reason(play: Play) -> None:
    rt = play(staggered(3, 3), versions="event")
    assert sum(rt.catalog.commits.corrections().values()) > 0
    assert staggering_cost(rt) is None


def test_what_needs_no_corrections_costs_nothing(play: Play) -> None:
    assert staggering_cost(play(staggered(3, 3), {"total": VIEWS["total"]})) is None


def test_who_is_later_than_its_epoch_would_be_so_in_aligned_epochs_too(play: Play) -> None:
    """All is applied long after the epochs were over."""
    rt = play(staggered(3, 3), ago=1)
    assert sum(rt.catalog.commits.corrections().values()) > 0
    assert staggering_cost(rt) is None
