"""How a node comes to a consistent snapshot (semester paper, section 3.4).

A node knows how far it has heard every switch; once all have ended an epoch, it lets its maps be **flushed**, sources before targets: a map is flushed up
to a timestamp once everything up to there is processed, and all nodes that send deltas of its sources have flushed these. Then no delta of it
follows up to there, and the nodes downstream are told. When all its maps are flushed, the node is READY, with the least of their timestamps. The least of
all nodes' comes back with the COMMIT.

The graph is the layout's: who *may* send whom a delta (the paper takes the one that the logs show). Timestamps may go beyond the epoch's end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cumulus_ops.simulation.case import Case, Version
from cumulus_ops.simulation.judge import Committed, Maps
from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.protocols.optimistic.dispatch import Dispatch
from cumulus_ops.simulation.protocols.optimistic.messages import (
    EpochCommit,
    EpochEnd,
    EpochEndRequest,
    EpochReady,
    Fetch,
    Flush,
    Put,
    Query,
)
from cumulus_ops.simulation.protocols.optimistic.outbox import Outbox
from cumulus_ops.simulation.run import coordinator, node
from cumulus_ops.simulation.store import Entries

__all__ = ["Flushed", "Grown", "Late", "NodeEpochs", "switch_of"]


@dataclass(frozen=True)
class Late:
    """For those who watch: a message for what has been committed."""

    version: Version
    committed: Version
    kind: str


@dataclass(frozen=True)
class Flushed:
    """For those who watch: no delta of a map will come from a node, up to a timestamp."""

    epoch: int
    map: str
    through: Version


@dataclass(frozen=True)
class Grown:
    """For those who watch: by how much a node's logs have grown since the last commit, in an epoch."""

    epoch: int
    by: int


def switch_of(case: Case, number: int) -> int:
    """The switch to which a node reports, and that tells it of commits."""
    return case.layout.nodes.index(number) % case.coordinators


class NodeEpochs:
    """A node's part. ``unprocessed``: the first update that it is not done with; ``commit``: take the snapshot and truncate
    the logs; ``flush``: send the corrections of a map that are held back."""

    def __init__(
        self,
        here: Here,
        case: Case,
        number: int,
        dispatch: Dispatch,
        outbox: Outbox,
        unprocessed: Callable[[], Version | None],
        commit: Callable[[Version], Maps],
        flush: Callable[[str], None],
    ) -> None:
        self.here, self.case, self.number, self.dispatch = here, case, number, dispatch
        self.outbox, self.unprocessed, self.commit, self.flush = outbox, unprocessed, commit, flush
        #: All of a switch's messages up to here have come.
        self.heard = {s: Version(0, s, 0) for s in range(case.coordinators)}
        self.maps = [m for m in dispatch.order if number in dispatch.owners[m]]
        self.flushed: dict[str, Version] = {}
        self.upstream: dict[int, dict[tuple[str, int], Version]] = {}
        self.open = 0
        self.through = Version(-1, 0, 0)
        self.requested = -1
        self.kept = 0

    def heard_of(self, version: Version, message: Message) -> None:
        """A message about a timestamp: what comes before has come; of its own timestamp there may be more."""
        if isinstance(message, (Fetch, Put, Query)):
            before = Version(version.epoch, version.coordinator, version.sequence - 1)
            self.heard[version.coordinator] = max(self.heard[version.coordinator], before)
        if version <= self.through:
            self.here.report(Late(version, self.through, message.kind))

    def receive(self, message: Message, sender: str) -> None:
        """EPOCH END, a flush from upstream, or EPOCH COMMIT."""
        if isinstance(message, EpochEnd):
            switch = int(sender.removeprefix("coordinator "))
            self.heard[switch] = max(self.heard[switch], Version(message.epoch + 1, switch, 0))
        elif isinstance(message, Flush):
            self._flushed_upstream(message.epoch, int(sender.removeprefix("node ")), message.maps)
        else:
            assert isinstance(message, EpochCommit)
            if message.through > self.through:
                self.through = message.through
                self.here.report(Committed(message.through, self._segments(self.commit(message.through))))

    def _flushed_upstream(self, epoch: int, sender: int, maps: tuple[tuple[str, Version], ...]) -> None:
        for name, through in maps:
            self.upstream.setdefault(epoch, {})[name, sender] = through

    def processed(self) -> Version:
        """The last processed timestamp: everything up to it has come, and is done."""
        through, first = min(self.heard.values()), self.unprocessed()
        if first is not None and first <= through:
            return Version(first.epoch, first.coordinator, first.sequence - 1)
        return through

    def advance(self) -> None:
        """Flush what can be flushed, and report when all is."""
        while self.open < self.case.epochs:
            processed = self.processed()
            if processed < Version(self.open + 1, 0, 0):
                return
            for name in self.maps:
                self._flush(name, processed)
            if len(self.flushed) < len(self.maps):
                return
            ready = EpochReady(self.open, min(self.flushed.values()))
            self.outbox.send(coordinator(switch_of(self.case, self.number)), ready)
            self.upstream.pop(self.open, None)
            self.flushed, self.open = {}, self.open + 1

    def _flush(self, name: str, processed: Version) -> None:
        """Flush a map, if its sources are."""
        if name in self.flushed:
            return
        known = self.upstream.get(self.open, {})
        wanted = self.dispatch.feeders.get((name, self.number), ())
        if any(w not in known for w in wanted):
            return
        self.flush(name)
        through = self.flushed[name] = min([processed, *(known[w] for w in wanted)])
        self.here.report(Flushed(self.open, name, through))
        for reader in self.dispatch.readers.get((name, self.number), ()):
            if reader == self.number:
                self._flushed_upstream(self.open, self.number, ((name, through),))
            else:
                self.outbox.send(node(reader), Flush(self.open, ((name, through),)))

    def watch_size(self, log_size: int) -> None:
        """Request the end of the epoch when the logs have grown by more than the limit since the last commit."""
        limit, epoch = self.case.options["log_limit"], max(heard.epoch for heard in self.heard.values())
        self.here.report(Grown(epoch, log_size - self.kept))
        if limit and log_size - self.kept > limit and self.requested < epoch < self.case.epochs:
            self.requested = epoch
            self.outbox.send(coordinator(switch_of(self.case, self.number)), EpochEndRequest(epoch))

    def _segments(self, maps: Maps) -> dict[Segment, Entries]:
        segments: dict[Segment, Entries] = {s: {} for s in self.case.layout.owned_by(self.number)}
        for name, entries in maps.items():
            for key, units in entries.items():
                segments[self.case.layout.segment_of(name, key)][key] = units
        return segments
