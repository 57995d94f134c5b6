"""What ad servers and analysts send, and to whom: workloads, ways to coordinate them, and messages."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from cumulus_ops.simulation.kernel import Message

__all__ = [
    "AdRegime",
    "AdWorkload",
    "Answer",
    "Answered",
    "Ask",
    "Click",
    "Clicks",
    "Counted",
    "Plan",
    "Request",
    "Responsible",
    "Seal",
    "Tick",
]

Click = tuple[int, int]
Answer = tuple[tuple[int, int], ...]


class AdRegime(Enum):
    """How clicks and requests are coordinated."""

    UNCOORDINATED = "uncoordinated"
    SEALED = "sealed"
    INDEPENDENT = "independently sealed"
    BY_ENTRY = "ordered by entry"
    BY_BATCH = "ordered by batch"

    @property
    def ordered(self) -> bool:
        """Whether there is a sequencer."""
        return self in (AdRegime.BY_ENTRY, AdRegime.BY_BATCH)

    @property
    def seals(self) -> bool:
        """Whether servers seal campaigns."""
        return self in (AdRegime.SEALED, AdRegime.INDEPENDENT)


@dataclass(frozen=True)
class AdWorkload:
    """``servers`` with ``entries`` clicks each, in batches of ``batch`` with ``gap_s`` between two on average, over ``campaigns`` for each server, of ``ads`` each;
    ``requests`` spread over that time. ``seed`` decides what is clicked and when, not how long messages take."""

    servers: int = 5
    entries: int = 1000
    batch: int = 50
    gap_s: float = 0.010
    campaigns: int = 10
    ads: int = 10
    requests: int = 40
    replicas: int = 3
    seed: int = 0


@dataclass(frozen=True)
class Tick(Message):
    """It is time for the next batch, or request."""

    number: int


@dataclass(frozen=True)
class Clicks(Message):
    """A batch, or one entry of it."""

    clicks: tuple[Click, ...]


@dataclass(frozen=True)
class Seal(Message):
    """A server has no more clicks of a campaign."""

    campaign: int
    server: int


@dataclass(frozen=True)
class Request(Message):
    """What are the poor ads of a campaign?"""

    number: int
    campaign: int


@dataclass(frozen=True)
class Ask(Message):
    """Who is responsible for a campaign?"""

    campaign: int


@dataclass(frozen=True)
class Responsible(Message):
    """These servers are."""

    campaign: int
    servers: tuple[int, ...]


@dataclass(frozen=True)
class Counted(Message):
    """Reported: a replica has counted so many more."""

    clicks: int


@dataclass(frozen=True)
class Answered(Message):
    """Reported: a replica has answered a request."""

    number: int
    answer: Answer


@dataclass(frozen=True)
class Plan:
    """Who is where and does what when: the same in every run of a workload and regime."""

    regime: AdRegime
    workload: AdWorkload

    @property
    def replicas(self) -> list[str]:
        """The names of the reporting servers."""
        return [f"replica {i}" for i in range(self.workload.replicas)]

    @property
    def receivers(self) -> list[str]:
        """Who gets clicks and requests from their senders."""
        return ["sequencer"] if self.regime.ordered else self.replicas

    @property
    def batches(self) -> int:
        """How many batches each server has."""
        return self.workload.entries // self.workload.batch

    def campaign(self, server: int, batch: int) -> int:
        """Which campaign a server's batch is about."""
        number = batch * self.workload.campaigns // self.batches
        return number + (server * self.workload.campaigns if self.regime is AdRegime.INDEPENDENT else 0)

    def responsible(self, campaign: int) -> tuple[int, ...]:
        """The servers that have clicks of a campaign."""
        if self.regime is AdRegime.INDEPENDENT:
            return (campaign // self.workload.campaigns,)
        return tuple(range(self.workload.servers))

    def batch(self, server: int, number: int) -> tuple[Click, ...]:
        """A server's batch: the same whenever it is asked for."""
        choose = random.Random(f"{self.workload.seed} {server} {number}")
        campaign = self.campaign(server, number)
        return tuple((campaign, choose.randrange(self.workload.ads)) for _ in range(self.workload.batch))

    def gap_s(self, who: str, number: int, mean_s: float) -> float:
        """How long somebody waits after a batch, or request."""
        return random.Random(f"{self.workload.seed} {who} {number}").uniform(0.5, 1.5) * mean_s
