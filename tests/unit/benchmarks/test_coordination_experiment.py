"""The experiment on coordination, small: its load is what it says, and every regime ends with the right view."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.experiments.clickstream import REGIMES, Load, run_load
from benchmarks.experiments.clickstream.project import SEALING
from benchmarks.experiments.clickstream.sequencer import Sequencer

LOADS = [Load(3, independent, drops=12, size=40, campaigns=2) for independent in (False, True)]


@pytest.mark.parametrize("load", LOADS, ids=["all", "independent"])
def test_nobody_clicks_on_what_it_has_sealed(load: Load) -> None:
    seals: Counter[int] = Counter()
    for producer in range(load.producers):
        gone: set[int] = set()
        for drop in range(load.drops):
            assert not gone & set(load.clicks(producer, drop)[0].tolist())
            gone |= (new := set(load.sealed_with(producer, drop)))
            seals.update(new)
    assert seals == dict.fromkeys(load.spans, 1 if load.independent else load.producers)
    assert sum(load.clicks_of.values()) == load.events


def test_the_sequencer_gives_each_place_once(tmp_path: Path) -> None:
    taken: list[int] = []

    def take() -> None:
        sequencer = Sequencer(tmp_path / "order.db")
        taken.extend(sequencer.take() for _ in range(20))

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(60))


@pytest.mark.parametrize("regime", REGIMES)
def test_each_regime_ends_with_the_right_view(regime: str, tmp_path: Path) -> None:
    load = Load(2, regime == "independent", drops=4, size=300, campaigns=2, round=2)
    run = run_load(tmp_path, load, regime, cores=2)
    assert sum(clicks for _, clicks in run.progress) == load.events
    assert len(run.after_s) == (len(load.spans) if regime in SEALING else 0)
    assert min([0.0, *run.after_s]) >= 0, "a campaign is final before its last click"
    assert run.seconds >= load.due_s(1, 3), "all is done before the last drop has come"
    assert run.cpu_s < 2 * run.seconds
