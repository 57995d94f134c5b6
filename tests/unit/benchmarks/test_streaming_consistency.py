"""The bank's transfers: small, with what has to be found when something is wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from benchmarks.experiments.bank import VIEWS, Found, Scenario, Transfers, bank_project, play
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import Project


def played(project: Project, scenario: Scenario) -> Found:
    initialise(project)
    with open_runtime(project) as rt:
        return play(rt, scenario)


def test_the_total_is_0_in_every_state(tmp_path: Path) -> None:
    # Few accounts, so that each has credits and debits in the first batch.
    found = played(bank_project(tmp_path), Scenario(6_000, 5, accounts=5))
    assert found.events == 6_000
    assert len(found.committed) >= 5
    assert not found.wrong
    assert all(r.total == r.windows == r.behind == 0 for r in found.readings)
    assert all(r.apart for r in found.readings), "two queries that look at different states do not show 0"


def test_money_that_is_lost_is_noticed_everywhere(tmp_path: Path) -> None:
    project = bank_project(tmp_path, views=VIEWS)
    lossy = project.views | {"debits": project.views["debits"].replace("GROUP", "WHERE amount > 100 GROUP")}
    found = played(dataclasses.replace(project, views=lossy), Scenario(2_000, 3))
    wrong = found.snapshots
    assert wrong.total == wrong.published == wrong.balances == wrong.epochs
    assert found.summary()["tentative"]["total_not_0"] == len(found.readings)
    assert found.readings[-1].behind > 0


def test_every_transfer_arrives_once_and_late_by_up_to_ten_seconds() -> None:
    scenario = Scenario(3_000, 5, shares=(0.7, 0.2, 0.1))
    transfers = Transfers(scenario)
    drops = [transfers.places(p, c) for p in range(scenario.periods) for c in range(3)]
    assert sorted(np.concatenate(drops)) == list(range(3_000))
    assert sorted(transfers.ids) == list(range(3_000))
    assert 9 < transfers.lateness_s < 10
    assert sum(len(d) for d in drops[::3]) > 1_900
    assert sum(map(transfers.net, drops)).sum() == 0
