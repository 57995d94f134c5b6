"""Word count: batches of tweets are split into words, counted by word and batch, and committed to a store (a Storm topology).

Every node splits a part of each batch, counts the words that are hashed to it, and writes their counts. Batches are begun by a
coordinator, a few at a time, and done when all nodes have written theirs. What coordination there is:

- **uncoordinated**: whenever words come, their counts so far are written;
- **sealed**: a node writes a batch's counts once it has the words of all nodes;
- **independently sealed**: one node splits all of a batch, and it has one seal;
- **ordered**: as sealed, but batches are written in order, each when the one before it has been by all nodes (a "transactional topology").
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from cumulus_papers.kernel import Costs, Disorder, Here, Message, Simulation

__all__ = ["WordRegime", "WordRun", "WordWorkload", "run_words"]


class WordRegime(Enum):
    """How batches are coordinated."""

    UNCOORDINATED = "uncoordinated"
    SEALED = "sealed"
    INDEPENDENT = "independently sealed"
    ORDERED = "ordered"


@dataclass(frozen=True)
class WordWorkload:
    """``batches`` of ``words`` words each on ``nodes`` nodes, ``pending`` of them under way at most. A word takes ``word_s`` to split and as long to count; a write
    takes the store ``store_s``, and the node nothing while it waits."""

    nodes: int = 5
    batches: int = 120
    words: int = 3000
    pending: int = 10
    word_s: float = 1e-6
    store_s: float = 0.6e-3
    seed: int = 0


@dataclass
class WordRun:
    """What came of it: ``stored`` are (batch, node, words counted), ``done`` (time, batches done so far)."""

    workload: WordWorkload
    stored: set[tuple[int, int, int]] = field(default_factory=set)
    done: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    messages: int = 0

    @property
    def words_per_s(self) -> float:
        """Over the middle half of the batches: neither warming up nor running dry."""
        quarter = len(self.done) // 4
        (from_s, first), (to_s, last) = self.done[quarter], self.done[-quarter]
        return (last - first) * self.workload.words / (to_s - from_s)

    def differing_from(self, other: WordRun) -> int:
        """Batches of which another run has stored something else."""
        return len({batch for batch, _, _ in self.stored ^ other.stored})


@dataclass(frozen=True)
class Begin(Message):
    """A batch begins."""

    batch: int


@dataclass(frozen=True)
class Words(Message):
    """Words of a batch for one node."""

    batch: int
    words: int


@dataclass(frozen=True)
class Ready(Message):
    """A node has counted all of a batch."""

    batch: int


@dataclass(frozen=True)
class Commit(Message):
    """It may write."""

    batch: int


@dataclass(frozen=True)
class Written(Message):
    """The store has it."""

    batch: int


@dataclass(frozen=True)
class Stored(Message):
    """Reported: what was written."""

    batch: int
    words: int


@dataclass(frozen=True)
class Done(Message):
    """Reported: all nodes have written a batch."""

    batch: int


@dataclass(frozen=True)
class _Plan:
    regime: WordRegime
    workload: WordWorkload

    def splitters(self, batch: int) -> range:
        """Which nodes split a batch."""
        n = self.workload.nodes
        return range(batch % n, batch % n + 1) if self.regime is WordRegime.INDEPENDENT else range(n)

    def shares(self, batch: int, node: int) -> list[int]:
        """How many words of a batch that a node has split go to each node; the totals are the same whoever splits it."""
        rows = [self._share(batch, i) for i in range(self.workload.nodes)]
        return (
            [sum(column) for column in zip(*rows, strict=True)] if self.regime is WordRegime.INDEPENDENT else rows[node]
        )

    def _share(self, batch: int, node: int) -> list[int]:
        n, choose = self.workload.nodes, random.Random(f"{self.workload.seed} {batch} {node}")
        weights = [choose.uniform(0.8, 1.2) for _ in range(n)]
        return [round(self.workload.words / n * w / sum(weights)) for w in weights]


class _Node:
    """Splits, counts and writes."""

    def __init__(self, here: Here, plan: _Plan, number: int) -> None:
        self.here, self.plan, self.number = here, plan, number
        self.counted: dict[int, int] = defaultdict(int)
        self.parts: dict[int, int] = defaultdict(int)
        self.writes: dict[int, int] = defaultdict(int)

    def receive(self, message: Message, sender: str) -> None:
        match message:
            case Begin(batch):
                shares = self.plan.shares(batch, self.number)
                self.here.spend(sum(shares) * self.plan.workload.word_s)
                for i, words in enumerate(shares):
                    self.here.send(f"node {i}", Words(batch, words))
            case Words(batch, words):
                self.here.spend(words * self.plan.workload.word_s)
                self.counted[batch] += words
                self.parts[batch] += 1
                complete = self.parts[batch] == len(self.plan.splitters(batch))
                if self.plan.regime is WordRegime.UNCOORDINATED or (
                    complete and self.plan.regime is not WordRegime.ORDERED
                ):
                    self._write(batch)
                elif complete:
                    self.here.send("coordinator", Ready(batch))
            case Commit(batch):
                self._write(batch)
            case Written(batch):
                self.writes[batch] += 1
                wanted = len(self.plan.splitters(batch)) if self.plan.regime is WordRegime.UNCOORDINATED else 1
                if self.writes[batch] == wanted:
                    self.here.send("coordinator", Written(batch))

    def _write(self, batch: int) -> None:
        self.here.report(Stored(batch, self.counted[batch]))
        self.here.after(self.plan.workload.store_s, Written(batch))


class _Coordinator:
    """Begins batches, sees when they are done, and with the ordered regime says which one may be written."""

    def __init__(self, here: Here, plan: _Plan) -> None:
        self.here, self.plan = here, plan
        self.begun, self.committing = 0, 0
        self.ready: dict[int, int] = defaultdict(int)
        self.written: dict[int, int] = defaultdict(int)

    def receive(self, message: Message, sender: str) -> None:
        nodes = self.plan.workload.nodes
        match message:
            case Begin():
                for _ in range(self.plan.workload.pending):
                    self._begin()
            case Ready(batch):
                self.ready[batch] += 1
                if batch == self.committing:
                    self._commit()
            case Written(batch):
                self.written[batch] += 1
                if self.written[batch] == nodes:
                    self.here.report(Done(batch))
                    self._begin()
                    if self.plan.regime is WordRegime.ORDERED:
                        self.committing = batch + 1
                        self._commit()

    def _begin(self) -> None:
        if self.begun < self.plan.workload.batches:
            for node in self.plan.splitters(self.begun):
                self.here.send(f"node {node}", Begin(self.begun))
            self.begun += 1

    def _commit(self) -> None:
        if self.ready[self.committing] == self.plan.workload.nodes:
            for node in range(self.plan.workload.nodes):
                self.here.send(f"node {node}", Commit(self.committing))


def run_words(
    regime: WordRegime,
    workload: WordWorkload,
    *,
    seed: int = 0,
    costs: Costs | None = None,
    disorder: Disorder | None = None,
) -> WordRun:
    """Simulate a workload; the arguments are those of :func:`~cumulus_papers.coordinated.ads.run_ads`."""
    plan = _Plan(regime, workload)
    simulation = Simulation(
        seed, costs or Costs(), disorder or Disorder(delay_s=0.1e-3), record=False, handled_max=10_000_000
    )
    run = WordRun(workload)
    for i in range(workload.nodes):
        simulation.add(f"node {i}", partial(_Node, plan=plan, number=i))
    simulation.add("coordinator", partial(_Coordinator, plan=plan))
    simulation.inject(0.0, "coordinator", Begin(0))
    simulation.watchers.append(lambda at_s, name, what: _note(run, at_s, name, what))
    simulation.run()
    run.messages = simulation.messages.total()
    return run


def _note(run: WordRun, at_s: float, name: str, what: object) -> None:
    if isinstance(what, Stored):
        run.stored.add((what.batch, int(name.split()[1]), what.words))
    elif isinstance(what, Done):
        run.done.append((at_s, run.done[-1][1] + 1))
