"""Ad reporting: ad servers send clicks to replicated reporting servers, which answer requests about campaigns (query CAMPAIGN).

A server has batches of clicks, sent at a rate; it goes through its campaigns one after the other. What coordination there is:

- **uncoordinated**: replicas count what comes, and answer at once;
- **sealed**, **independently sealed**: after a campaign's last click a server seals it; a replica counts a campaign once all servers responsible
  for it have, and answers then. Who is responsible it asks a registry, once per campaign. Every server has clicks of all campaigns, or
  campaigns of its own;
- **ordered by entry**, **ordered by batch**: all goes through a sequencer, which sends it on to all replicas in the order in which it came:
  each click by itself, or a batch at a time.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from cumulus_papers.kernel import Costs, Disorder, Here, Message, Simulation

__all__ = [
    "AdRegime",
    "AdRun",
    "AdWorkload",
    "Analyst",
    "Answer",
    "Answered",
    "Ask",
    "Click",
    "Clicks",
    "Counted",
    "Plan",
    "Registry",
    "Replica",
    "Request",
    "Responsible",
    "Seal",
    "Sequencer",
    "Server",
    "Tick",
    "run_ads",
]


# What ad servers and analysts send, and to whom: workloads, ways to coordinate them, and messages.


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


# Who takes part in ad reporting: ad servers, an analyst, a sequencer, a registry, and the reporting replicas.


class Server:
    """An ad server."""

    def __init__(self, here: Here, plan: Plan, server: int) -> None:
        self.here, self.plan, self.server = here, plan, server

    def receive(self, message: Message, sender: str) -> None:
        """Send a batch, and after a campaign's last one its seal."""
        assert isinstance(message, Tick)
        number, plan = message.number, self.plan
        clicks = plan.batch(self.server, number)
        parts = [(c,) for c in clicks] if plan.regime is AdRegime.BY_ENTRY else [clicks]
        for part in parts:
            for receiver in plan.receivers:
                self.here.send(receiver, Clicks(part))
        campaign, last = plan.campaign(self.server, number), number + 1 == plan.batches
        if plan.regime.seals and (last or plan.campaign(self.server, number + 1) != campaign):
            for receiver in plan.replicas:
                self.here.send(receiver, Seal(campaign, self.server))
        if not last:
            gap_s = plan.gap_s(f"server {self.server}", number, plan.workload.gap_s)
            self.here.after(gap_s, Tick(number + 1))


class Analyst:
    """Poses requests to all replicas."""

    def __init__(self, here: Here, plan: Plan) -> None:
        self.here, self.plan = here, plan

    def receive(self, message: Message, sender: str) -> None:
        """Ask about a campaign that is clicked about now."""
        assert isinstance(message, Tick)
        number, workload = message.number, self.plan.workload
        batch = number * self.plan.batches // workload.requests
        request = Request(number, self.plan.campaign(number % workload.servers, batch))
        for receiver in self.plan.receivers:
            self.here.send(receiver, request)
        if number + 1 < workload.requests:
            mean_s = workload.gap_s * self.plan.batches / workload.requests
            self.here.after(self.plan.gap_s("analyst", number, mean_s), Tick(number + 1))


class Sequencer:
    """Sends on what comes, to everybody in the same order: between two actors messages keep theirs."""

    def __init__(self, here: Here, plan: Plan) -> None:
        self.here, self.plan = here, plan

    def receive(self, message: Message, sender: str) -> None:
        """Send it on."""
        for replica in self.plan.replicas:
            self.here.send(replica, message)


class Registry:
    """Knows who is responsible for which campaign."""

    def __init__(self, here: Here, plan: Plan) -> None:
        self.here, self.plan = here, plan

    def receive(self, message: Message, sender: str) -> None:
        """Answer who is responsible."""
        assert isinstance(message, Ask)
        self.here.send(sender, Responsible(message.campaign, self.plan.responsible(message.campaign)))


class Replica:
    """A reporting server."""

    def __init__(self, here: Here, plan: Plan, costs: Costs) -> None:
        self.here, self.plan, self.costs = here, plan, costs
        self.counts: Counter[Click] = Counter()
        self.held: dict[int, list[Click]] = defaultdict(list)
        self.waiting: dict[int, list[Request]] = defaultdict(list)
        self.sealed: dict[int, set[int]] = defaultdict(set)
        self.responsible: dict[int, tuple[int, ...]] = {}
        self.asked: set[int] = set()
        self.closed: set[int] = set()

    def receive(self, message: Message, sender: str) -> None:
        """Hold what is not sealed yet, count and answer."""
        match message:
            case Clicks(clicks) if self.plan.regime.seals:
                self.here.spend(len(clicks) * self.costs.write_s)
                self.held[clicks[0][0]].extend(clicks)
                self._ask(clicks[0][0])
            case Clicks(clicks):
                self._count(clicks)
            case Seal(campaign, server):
                self.sealed[campaign].add(server)
                self._close(campaign)
            case Responsible(campaign, servers):
                self.responsible[campaign] = servers
                self._close(campaign)
            case Request(_, campaign) if self.plan.regime.seals and campaign not in self.closed:
                self.waiting[campaign].append(message)
            case Request():
                self._answer(message)

    def _ask(self, campaign: int) -> None:
        if campaign not in self.asked:
            self.asked.add(campaign)
            self.here.send("registry", Ask(campaign))

    def _close(self, campaign: int) -> None:
        """The unanimous vote."""
        if campaign in self.responsible and self.sealed[campaign] >= set(self.responsible[campaign]):
            self.closed.add(campaign)
            self.here.spend(len(self.held[campaign]) * self.costs.read_s)
            self._count(self.held.pop(campaign))
            for request in self.waiting.pop(campaign, []):
                self._answer(request)

    def _count(self, clicks: Sequence[Click]) -> None:
        self.here.spend(len(clicks) * self.costs.write_s)
        self.counts.update(clicks)
        self.here.report(Counted(len(clicks)))

    def _answer(self, request: Request) -> None:
        ads = range(self.plan.workload.ads)
        self.here.spend(len(ads) * self.costs.read_s)
        counts = [(ad, self.counts[request.campaign, ad]) for ad in ads]
        self.here.report(Answered(request.number, tuple(counts)))


@dataclass
class AdRun:
    """What came of it. ``progress``: (time, clicks counted so far) of the first replica. ``answers``: what each replica answered to each request;
    ``states``: what each counted in the end."""

    clicks: int
    progress: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    answers: dict[str, dict[int, Answer]] = field(default_factory=lambda: defaultdict(dict))
    states: dict[str, Mapping[Click, int]] = field(default_factory=dict)
    messages: int = 0

    @property
    def finished_s(self) -> float:
        """When the last click was counted."""
        return self.progress[-1][0]

    @property
    def clicks_per_s(self) -> float:
        """From the beginning until everything was counted."""
        return self.clicks / self.finished_s

    def peak_per_s(self, window_s: float = 0.05) -> float:
        """The most clicks counted within some window, per second."""
        best, first = 0, 0
        for at_s, counted in self.progress:
            while self.progress[first][0] < at_s - window_s:
                first += 1
            best = max(best, counted - self.progress[max(0, first - 1)][1])
        return best / window_s

    @property
    def agreeing(self) -> bool:
        """Whether all replicas counted the same."""
        return len({tuple(sorted(s.items())) for s in self.states.values()}) == 1

    def differing(self) -> int:
        """Requests that replicas answered differently."""
        by_replica = list(self.answers.values())
        return sum(len({a.get(number) for a in by_replica}) > 1 for number in by_replica[0])

    def differing_from(self, other: AdRun) -> int:
        """Requests that some replica answered otherwise in another run."""
        return sum(
            any(other.answers[name].get(number) != mine[number] for name, mine in self.answers.items())
            for number in next(iter(self.answers.values()))
        )


def run_ads(
    regime: AdRegime,
    workload: AdWorkload,
    *,
    seed: int = 0,
    costs: Costs | None = None,
    disorder: Disorder | None = None,
) -> AdRun:
    """Simulate a workload.

    Args:
        regime: how it is coordinated.
        workload: the same events in every run.
        seed: how long messages take; another one is another run.
        costs: what things take.
        disorder: how much longer messages may take; by default 0.5 ms on average.
    """
    plan, paid = Plan(regime, workload), costs or Costs()
    simulation = Simulation(seed, paid, disorder or Disorder(delay_s=0.5e-3), record=False, handled_max=10_000_000)
    run = AdRun(workload.servers * workload.entries)
    for i in range(workload.servers):
        simulation.add(f"server {i}", partial(Server, plan=plan, server=i))
        simulation.inject(plan.gap_s(f"server {i}", -1, workload.gap_s), f"server {i}", Tick(0))
    simulation.add("analyst", partial(Analyst, plan=plan))
    simulation.inject(workload.gap_s, "analyst", Tick(0))
    simulation.add("sequencer", partial(Sequencer, plan=plan))
    simulation.add("registry", partial(Registry, plan=plan))
    for name in plan.replicas:
        simulation.add(name, partial(Replica, plan=plan, costs=paid))
    simulation.watchers.append(lambda at_s, name, what: _note(run, at_s, name, what))
    simulation.run()
    run.states = {name: dict(simulation.actor(name).counts) for name in plan.replicas}
    run.messages = simulation.messages.total()
    return run


def _note(run: AdRun, at_s: float, name: str, what: object) -> None:
    if isinstance(what, Answered):
        run.answers[name][what.number] = what.answer
    elif isinstance(what, Counted) and name == "replica 0":
        run.progress.append((at_s, run.progress[-1][1] + what.clicks))
