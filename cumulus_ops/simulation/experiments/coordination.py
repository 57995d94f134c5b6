"""What coordination costs, by how many produce: the two case studies of Blazes, section VIII, beside the paper's curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cumulus_ops.simulation.coordinated import (
    AdRegime,
    AdRun,
    AdWorkload,
    WordRegime,
    WordWorkload,
    run_ads,
    run_words,
)
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row

__all__ = ["AD_REPORTING", "PROGRESS", "WORD_COUNT"]

#: What the paper's text says of figure 8, and of figures 9 and 10.
PAPER_SLOWER = {5: 1.8, 20: 3.0}
PAPER_LONGER = {5: 1.0, 10: 3.0}


def _word_count(scale: float) -> Iterator[Row]:
    for nodes in (5, 10, 15, 20):
        workload = WordWorkload(nodes, batches=max(40, round(120 * scale)))
        runs = {r: (run_words(r, workload, seed=1), run_words(r, workload, seed=2)) for r in WordRegime}
        sealed_per_s = runs[WordRegime.SEALED][0].words_per_s
        for regime, (one, other) in runs.items():
            yield {
                "regime": regime.value,
                "nodes": nodes,
                "words_per_s": one.words_per_s,
                "times_slower_than_sealed": sealed_per_s / one.words_per_s,
                "messages_per_batch": one.messages / workload.batches,
                "batches_that_differ_between_runs": one.differing_from(other) / workload.batches,
            }
        if nodes in PAPER_SLOWER:
            yield {
                "regime": "ordered, in the paper",
                "nodes": nodes,
                "times_slower_than_sealed": PAPER_SLOWER[nodes],
            }


WORD_COUNT = Experiment(
    "coordination-words",
    "Word count, uncoordinated, sealed and ordered: words a second, by nodes, and what differs between two runs.",
    _word_count,
    (
        Plot("nodes", "words_per_s", "regime", "Words counted and stored a second"),
        Plot("nodes", "times_slower_than_sealed", "regime", "How many times slower than sealed"),
    ),
)


def _ad_reporting(scale: float) -> Iterator[Row]:
    first_s: dict[AdRegime, float] = {}
    for servers in (5, 10, 20, 40):
        workload = _ads(servers, scale)
        uncoordinated_s = 0.0
        for regime in AdRegime:
            one, other = run_ads(regime, workload, seed=1), run_ads(regime, workload, seed=2)
            uncoordinated_s = uncoordinated_s or one.finished_s
            yield {
                "regime": regime.value,
                "servers": servers,
                "clicks_per_s": one.clicks_per_s,
                "peak_clicks_per_s": one.peak_per_s(),
                "finished_ms": one.finished_s * 1e3,
                "times_as_long_as_uncoordinated": one.finished_s / uncoordinated_s,
                "times_as_long_as_with_5_servers": one.finished_s / first_s.setdefault(regime, one.finished_s),
                "answers_that_differ_between_replicas": one.differing() / workload.requests,
                "answers_that_differ_between_runs": one.differing_from(other) / workload.requests,
                "replicas_end_alike": int(one.agreeing),
            }
        if servers in PAPER_LONGER:
            yield {
                "regime": "ordered, in the paper",
                "servers": servers,
                "times_as_long_as_with_5_servers": PAPER_LONGER[servers],
            }


def _ads(servers: int, scale: float) -> AdWorkload:
    """At least a batch for every campaign."""
    return replace(AdWorkload(servers), entries=max(500, round(1000 * scale / 50) * 50))


AD_REPORTING = Experiment(
    "coordination-ads",
    "Ad reporting on three replicas, uncoordinated, sealed and ordered: clicks a second, by ad servers, and what replicas and runs answer differently.",
    _ad_reporting,
    (
        Plot("servers", "clicks_per_s", "regime", "Clicks counted a second"),
        Plot("servers", "times_as_long_as_with_5_servers", "regime", "Time for all clicks, relative to 5 servers"),
        Plot("servers", "answers_that_differ_between_replicas", "regime", "Answers that differ between replicas"),
        Plot("servers", "answers_that_differ_between_runs", "regime", "Answers that differ between two runs"),
    ),
)

POINTS = 60


def _progress(scale: float) -> Iterator[Row]:
    for servers in (5, 10):
        workload = _ads(servers, scale)
        for regime in AdRegime:
            for time_s, clicks in _sampled(run_ads(regime, workload, seed=1)):
                row = {"regime": regime.value, "servers": servers, "time_ms": time_s * 1e3}
                counted = {f"clicks_with_{servers}_servers": clicks}
                if servers == 10 and not regime.ordered:
                    counted["clicks_by_seals"] = clicks
                yield row | {c: counted.get(c, "") for c in COUNTED}


COUNTED = ("clicks_with_5_servers", "clicks_with_10_servers", "clicks_by_seals")


def _sampled(run: AdRun) -> Iterator[tuple[float, int]]:
    """Progress at equal distances in time."""
    at, last = 0, run.finished_s
    for point in range(POINTS + 1):
        time_s = last * point / POINTS
        while at + 1 < len(run.progress) and run.progress[at + 1][0] <= time_s:
            at += 1
        yield time_s, run.progress[at][1]


PROGRESS = Experiment(
    "coordination-progress",
    "Ad reporting over time: clicks counted by a replica with 5 and with 10 ad servers, and with seals only.",
    _progress,
    (
        Plot("time_ms", "clicks_with_5_servers", "regime", "Clicks counted, 5 ad servers"),
        Plot("time_ms", "clicks_with_10_servers", "regime", "Clicks counted, 10 ad servers"),
        Plot("time_ms", "clicks_by_seals", "regime", "Clicks counted, 10 ad servers, without the ordered ones"),
    ),
)
