"""The simulated case studies: what is coordinated shows no anomaly but those that its kind of coordination leaves."""

from __future__ import annotations

import pytest

from cumulus_papers.coordinated import (
    AdRegime,
    AdWorkload,
    WordRegime,
    WordWorkload,
    run_ads,
    run_words,
    words,
)
from cumulus_papers.coordinated.ads import Plan

ADS = AdWorkload(servers=8, entries=200, batch=20, gap_s=0.002, requests=30)
WORDS = WordWorkload(nodes=4, batches=30)


@pytest.mark.parametrize(
    ("regime", "between_replicas", "between_runs"),
    [
        (AdRegime.UNCOORDINATED, True, True),
        (AdRegime.SEALED, False, False),
        (AdRegime.INDEPENDENT, False, False),
        (AdRegime.BY_ENTRY, False, True),
        (AdRegime.BY_BATCH, False, True),
    ],
)
def test_what_answers_differ(regime: AdRegime, between_replicas: bool, between_runs: bool) -> None:
    one, other = run_ads(regime, ADS, seed=1), run_ads(regime, ADS, seed=2)
    assert one.progress[-1][1] == one.clicks == sum(one.states["replica 0"].values())
    assert all(len(answers) == ADS.requests for answers in one.answers.values())
    assert one.agreeing
    assert bool(one.differing()) == between_replicas
    assert bool(one.differing_from(other)) == between_runs


@pytest.mark.parametrize("regime", WordRegime)
def test_what_batches_differ(regime: WordRegime) -> None:
    one, other = run_words(regime, WORDS, seed=1), run_words(regime, WORDS, seed=2)
    assert len(one.done) == WORDS.batches + 1
    assert bool(one.differing_from(other)) == (regime is WordRegime.UNCOORDINATED)


def test_all_regimes_store_the_same_words() -> None:
    stored = [run_words(r, WORDS).stored for r in (WordRegime.SEALED, WordRegime.INDEPENDENT, WordRegime.ORDERED)]
    assert stored[0] == stored[1] == stored[2]
    assert stored[0] <= run_words(WordRegime.UNCOORDINATED, WORDS).stored


def test_batches_are_written_in_order() -> None:
    done: list[int] = []

    def note(run: words.WordRun, at_s: float, name: str, what: object) -> None:
        if isinstance(what, words.Stored):
            done.append(what.batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_note", note)
        run_words(WordRegime.ORDERED, WORDS)
    assert done == sorted(done)


def test_a_vote_with_one_seal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Plan.responsible
    monkeypatch.setattr(Plan, "responsible", lambda plan, campaign: right(plan, campaign)[:1])
    one, other = run_ads(AdRegime.SEALED, ADS, seed=1), run_ads(AdRegime.SEALED, ADS, seed=2)
    assert one.differing()
    assert one.differing_from(other)


def test_order_falls_behind_and_seals_do_not() -> None:
    def times_as_long(regime: AdRegime) -> float:
        few, many = (run_ads(regime, AdWorkload(servers=n, entries=200, requests=5)) for n in (5, 15))
        return many.finished_s / few.finished_s

    assert times_as_long(AdRegime.SEALED) < 1.1
    assert times_as_long(AdRegime.BY_ENTRY) > 2.5
