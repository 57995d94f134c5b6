"""Periodic beside eventual consistency, by epoch length (Cumulus paper, section 6); staggered against aligned epochs (section 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from cumulus_papers.coordinated import (
    AdRegime,
    AdRun,
    AdWorkload,
    WordRegime,
    WordWorkload,
    run_ads,
    run_words,
)
from cumulus_papers.experiments.measures import Experiment, Plot, Row, corrections_by_coordinator, measured
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.run import Load, Outcome

__all__ = ["AD_REPORTING", "EPOCHS", "PROGRESS", "SKEW", "STAGGERING", "SWITCHES", "WORD_COUNT"]


COLLECTION = ("Token", "Commit", "Confirmation", "EpochComplete", "MapCheckpoint", "PartialCheckpoint")


def _epochs(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for epoch_ms in (5, 10, 20, 50, 100, 200):
        runs = measured(spec, Load(epoch_s=epoch_ms / 1e3, rate=2000.0, domain=10, events=600), scale=scale)
        yield {
            "protocol": "eventual",
            "epoch_ms": epoch_ms,
            "collection_messages_per_event": runs.messages(*COLLECTION),
            "update_messages_per_event": runs.messages() - runs.messages(*COLLECTION),
            "snapshot_age_ms": runs.mean(_snapshot_age_ms),
            "settled_ms": runs.settled_ms(),
        }


def _snapshot_age_ms(outcome: Outcome) -> float:
    """From the last event of an epoch until its snapshot is complete everywhere."""
    last: dict[int, float] = {}
    for sent in outcome.trace:
        for version in sent.message.about() if sent.message.kind == "Notify" else ():
            last[version.epoch] = max(last.get(version.epoch, 0.0), sent.sent_s)
    ages = [s - last[through.epoch] for through, s in outcome.committed_s.items() if through.epoch in last]
    return fmean(ages) * 1e3 if ages else 0.0


EPOCHS = Experiment(
    "epochs",
    "What do consistent snapshots cost beside eventual answers, and how old are they, by epoch length?",
    _epochs,
    (
        Plot("epoch_ms", "collection_messages_per_event", "protocol", "Messages of garbage collection per event", "xy"),
        Plot("epoch_ms", "snapshot_age_ms", "protocol", "From an epoch's last event to its snapshot", "x"),
        Plot("epoch_ms", "settled_ms", "protocol", "Until an event has settled (median)", "x"),
    ),
)

SHARES = {"equal": (1.0, 1.0, 1.0), "70 : 20 : 10": (0.7, 0.2, 0.1), "10 : 20 : 70": (0.1, 0.2, 0.7)}


def _staggering(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for shares, weights in SHARES.items():
        for epochs in ("aligned", "staggered"):
            load = Load(shares=weights, rate=4000.0, domain=10, events=900, epoch_s=0.03)
            runs = measured(spec, load, {"epochs": epochs}, scale=scale)
            corrections: Counter[int] = Counter()
            events: Counter[int] = Counter()
            for outcome in runs.outcomes:
                corrections += corrections_by_coordinator(outcome)
                events += Counter(v.coordinator for v in outcome.stamped)
            mean = sum(corrections.values()) / sum(events.values())
            for i in sorted(events):
                yield {
                    "shares": shares,
                    "epochs": epochs,
                    "coordinator": i,
                    "events": events[i],
                    "corrections": corrections[i],
                    "corrections_per_event": corrections[i] / events[i],
                    "relative_to_mean": corrections[i] / events[i] / mean if mean else 0.0,
                }


STAGGERING = Experiment(
    "staggering",
    "Do staggered epochs even corrections out between coordinators? With equal and with skewed load, event versions.",
    _staggering,
    (
        Plot(
            "coordinator",
            "corrections_per_event",
            ("shares", "epochs"),
            "Corrections per event of a coordinator",
            bars=True,
        ),
        Plot("coordinator", "relative_to_mean", ("shares", "epochs"), "The same, relative to the mean", bars=True),
    ),
)


def _skew(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for coordinators in (2, 3, 4, 5):
        for skew_ms in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0):
            load = Load(coordinators=coordinators, rate=4000.0, domain=10, events=600, epoch_s=0.01)
            runs = measured(spec, load, {"epochs": "aligned", "skew_s": skew_ms / 1e3}, scale=scale)
            yield {
                "coordinators": f"{coordinators} coordinators",
                "skew_ms": skew_ms,
                "corrections_per_event": runs.count("corrections"),
                "messages_per_event": runs.messages(),
            }


SKEW = Experiment(
    "skew",
    "What do badly synchronised clocks cost? Corrections by skew between neighbouring coordinators, aligned epochs of 10 ms.",
    _skew,
    (
        Plot("skew_ms", "corrections_per_event", "coordinators", "Corrections per event"),
        Plot("skew_ms", "messages_per_event", "coordinators", "Messages per event"),
    ),
)


# Which switch gets which update, and how many switches there are (semester paper, section 6, "Partitioning").


def _measure_switches(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for assign in ("", "key", "relation"):
        for coordinators in (1, 2, 3, 4, 5):
            load = Load(coordinators=coordinators, assign=assign, rate=4000.0, domain=10, events=500)
            runs = measured(spec, load, scale=scale)
            yield {
                "assignment": {"": "at random", "key": "by key", "relation": "by relation"}[assign],
                "coordinators": coordinators,
                "corrections_per_event": runs.count("corrections"),
                "messages_per_event": runs.messages(),
                "settled_ms": runs.settled_ms(),
            }


SWITCHES = Experiment(
    "switches",
    "Does it matter which coordinator gets which event? Corrections by assignment and number of coordinators.",
    _measure_switches,
    (
        Plot("coordinators", "corrections_per_event", "assignment", "Corrections per event"),
        Plot("coordinators", "messages_per_event", "assignment", "Messages per event"),
    ),
)


# What coordination costs, by how many produce: the two case studies of Blazes, section VIII, beside the paper's curves.


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
            for time_s, clicks in _sample(run_ads(regime, workload, seed=1)):
                row = {"regime": regime.value, "servers": servers, "time_ms": time_s * 1e3}
                counted = {f"clicks_with_{servers}_servers": clicks}
                if servers == 10 and not regime.ordered:
                    counted["clicks_by_seals"] = clicks
                yield row | {c: counted.get(c, "") for c in COUNTED}


COUNTED = ("clicks_with_5_servers", "clicks_with_10_servers", "clicks_by_seals")


def _sample(run: AdRun) -> Iterator[tuple[float, int]]:
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
