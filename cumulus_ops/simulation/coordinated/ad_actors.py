"""Who takes part in ad reporting: ad servers, an analyst, a sequencer, a registry, and the reporting replicas."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from cumulus_ops.simulation.coordinated.ad_workload import (
    AdRegime,
    Answered,
    Ask,
    Click,
    Clicks,
    Counted,
    Plan,
    Request,
    Responsible,
    Seal,
    Tick,
)
from cumulus_ops.simulation.kernel import Costs, Here, Message

__all__ = ["Analyst", "Registry", "Replica", "Sequencer", "Server"]


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
