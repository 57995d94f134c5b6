"""Bank transfers: a stream in which every consistent state has a total of 0, and the project that maintains it."""

from benchmarks.experiments.bank.playing import Found, Reading, Snapshots, apart, balances, play
from benchmarks.experiments.bank.project import VIEWS, bank_project
from benchmarks.experiments.bank.racing import Race, Raced, race
from benchmarks.experiments.bank.transfers import Scenario, Transfers, land

__all__ = [
    "VIEWS",
    "Found",
    "Race",
    "Raced",
    "Reading",
    "Scenario",
    "Snapshots",
    "Transfers",
    "apart",
    "balances",
    "bank_project",
    "land",
    "play",
    "race",
]
