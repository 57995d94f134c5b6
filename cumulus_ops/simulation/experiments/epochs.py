"""Periodic beside eventual consistency, by epoch length (Cumulus paper, section 6); staggered against aligned epochs (section 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from cumulus_ops.simulation.experiments.measures import corrections_by_coordinator, measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.protocols import PROTOCOLS
from cumulus_ops.simulation.run import Outcome

__all__ = ["EPOCHS", "SKEW", "STAGGERING"]

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
            corrections, events = _totals(runs.outcomes)
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


def _totals(outcomes: Sequence[Outcome]) -> tuple[Counter[int], Counter[int]]:
    corrections: Counter[int] = Counter()
    events: Counter[int] = Counter()
    for outcome in outcomes:
        corrections += corrections_by_coordinator(outcome)
        events += Counter(v.coordinator for v in outcome.stamped)
    return corrections, events


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
