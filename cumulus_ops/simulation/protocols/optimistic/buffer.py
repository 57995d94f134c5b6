"""Corrections on their way out (semester paper, section 3.5): at once, or held back for a period in which deltas of one TSx add up.

With intelligent buffering the period grows with the depth of the map in the dataflow: what is further down gets more corrections for one cause. Before a
slice of a map is pushed, what is held back for its reader is sent, since the slice has it already and the correction is only for what went before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Case, Stamp, Version
from cumulus_ops.simulation.kernel import Here
from cumulus_ops.simulation.protocols.optimistic.dispatch import Dispatch
from cumulus_ops.simulation.protocols.optimistic.logs import SendLog
from cumulus_ops.simulation.protocols.optimistic.messages import BufferDue, Corrective, Delta
from cumulus_ops.simulation.protocols.optimistic.outbox import Outbox
from cumulus_ops.simulation.run import node
from cumulus_ops.simulation.store import Entries, add_to

__all__ = ["CorrectionBuffer"]


@dataclass
class _Pending:
    entries: Entries = field(default_factory=dict)
    hops: int = 0


class CorrectionBuffer:
    """What is to be sent, by map, reader and TSx."""

    def __init__(self, here: Here, case: Case, dispatch: Dispatch, send_log: SendLog, outbox: Outbox) -> None:
        self.here, self.case, self.dispatch = here, case, dispatch
        self.send_log, self.outbox = send_log, outbox
        self.pending: dict[str, dict[int, dict[Stamp, _Pending]]] = {}
        self.due: set[str] = set()

    def add(self, name: str, reader: int, at: Stamp, delta: Entries, hops: int) -> None:
        """A correction."""
        pending = self.pending.setdefault(name, {}).setdefault(reader, {}).setdefault(at, _Pending())
        add_to(pending.entries, delta)
        pending.hops = max(hops, pending.hops)

    def settle(self) -> None:
        """After a change: send what there is, or see that it will be sent."""
        if not self.case.options["buffer_s"]:
            self._send(list(self.pending))
            return
        for name in sorted(self.pending.keys() - self.due):
            self.due.add(name)
            self.here.after(self.period_s(name), BufferDue(name))

    def period_s(self, name: str) -> float:
        """How long a map's corrections are held back."""
        period_s: float = self.case.options["buffer_s"]
        return period_s * (1 + self.dispatch.depths[name]) if self.case.options["intelligent"] else period_s

    def period_over(self, name: str) -> None:
        """A map's corrections have been held back for long enough."""
        self.due.discard(name)
        self._send([name])

    def flush(self, name: str, reader: int | None = None) -> None:
        """Send what is held back of a map, for one reader or all."""
        if name in self.pending and (reader is None or reader in self.pending[name]):
            self._send([name], reader)

    def _send(self, names: list[str], only: int | None = None) -> None:
        by_reader: dict[int, list[tuple[Delta, int]]] = {}
        for name in names:
            readers = self.pending.get(name, {})
            for reader in sorted(readers) if only is None else [only]:
                for at, pending in sorted(readers.pop(reader).items()):
                    if pending.entries:
                        by_reader.setdefault(reader, []).append((Delta(name, at, pending.entries), pending.hops))
            if not readers:
                self.pending.pop(name, None)
        for reader, deltas in sorted(by_reader.items()):
            for message in self._messages(deltas):
                self.outbox.send(node(reader), message)
            for delta, _ in deltas:
                self.send_log.corrected(reader, delta.map, delta.at, delta.entries)

    def _messages(self, deltas: list[tuple[Delta, int]]) -> Iterator[Corrective]:
        """One for each TS, or for each delta."""
        if not self.case.options["coalesce"]:
            yield from (Corrective(d.at.version, (d,), (hops,)) for d, hops in deltas)
            return
        by_version: dict[Version, list[tuple[Delta, int]]] = {}
        for delta, hops in deltas:
            by_version.setdefault(delta.at.version, []).append((delta, hops))
        for version, of in sorted(by_version.items()):
            yield Corrective(version, tuple(d for d, _ in of), tuple(hops for _, hops in of))
