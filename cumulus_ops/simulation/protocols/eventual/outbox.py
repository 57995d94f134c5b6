"""What a node has to send, for a short while: the buffer period (Cumulus paper, section 4.1), in which deltas of one write become one (4.2).

Without a buffer period all that a node makes of one message goes out when it is done with that message.
"""

from __future__ import annotations

from collections.abc import Callable

from cumulus_ops.simulation.case import Case, Version
from cumulus_ops.simulation.kernel import Here
from cumulus_ops.simulation.protocols.eventual.messages import Delta, Flush, Push
from cumulus_ops.simulation.run import node
from cumulus_ops.simulation.store import add_to
from m3.dataflow import depth, is_cyclic, strata

__all__ = ["Outbox", "periods"]

#: (Receiver, period in seconds).
Buffer = tuple[int, float]


def periods(case: Case) -> dict[str, float]:
    """Map -> for how long its deltas are buffered, in seconds. With intelligent buffering (section 6) longer further down the dataflow: in
    proportion to one more than the map's depth, and on average over the maps as long as without. Maps of cycles have a least period of their own
    (``cycle_buffer_s``): without any, each of n events that are ahead of a cascade is corrected along every path through the events
    before it, by 2 to the n messages; what is buffered and aggregated for a while is one delta per event and period (section 4.2)."""
    program, buffer_s, levels = case.program, case.options["buffer_s"], depth(case.program)
    mean = sum(level + 1 for level in levels.values()) / len(levels)
    scale = {name: (level + 1) / mean if case.options["intelligent"] else 1.0 for name, level in levels.items()}
    cyclic = {name for group in strata(program) if is_cyclic(program, group) for name in group}
    least = case.options["cycle_buffer_s"]
    return {name: max(buffer_s * scale[name], least if name in cyclic else 0.0) for name in levels}


class Outbox:
    """The buffers of a node. ``sending`` is told of each delta as it goes out."""

    def __init__(self, here: Here, case: Case, sending: Callable[[int, Delta], None]) -> None:
        self.here, self.coalesce, self.sending = here, case.options["coalesce"], sending
        self.periods = periods(case)
        self.buffers: dict[Buffer, list[Delta]] = {}

    def add(self, receiver: int, delta: Delta) -> None:
        """Send a delta, when its time has come."""
        buffer = receiver, self.periods[delta.segment.map]
        if buffer not in self.buffers:
            self.buffers[buffer] = []
            if buffer[1]:
                self.here.after(buffer[1], Flush(*buffer))
        waiting = self.buffers[buffer]
        for i, other in enumerate(waiting):
            if (other.stamp, other.segment) == (delta.stamp, delta.segment):
                waiting[i] = merge(other, delta)
                return
        waiting.append(delta)

    def flush(self, buffer: Buffer) -> None:
        """Send what is in a buffer."""
        deltas = [d for d in self.buffers.pop(buffer, ()) if d.entries]
        for delta in deltas:
            self.sending(buffer[0], delta)
        for message in self._messages(deltas):
            self.here.send(node(buffer[0]), message)

    def _messages(self, deltas: list[Delta]) -> list[Push]:
        """One for all, one for each event's, or one for each delta."""
        if self.coalesce == "off":
            return [Push((d,)) for d in deltas]
        groups: dict[Version | None, list[Delta]] = {}
        for delta in deltas:
            groups.setdefault(delta.stamp.version if self.coalesce == "event" else None, []).append(delta)
        return [Push(tuple(group)) for group in groups.values()]

    def flush_map(self, name: str) -> None:
        """Send all that may have deltas of a map: a checkpoint follows."""
        for buffer in [b for b in self.buffers if b[1] == self.periods[name]]:
            self.flush(buffer)

    def end_of_turn(self) -> None:
        """Send what is not to be buffered."""
        for buffer in [b for b in self.buffers if not b[1]]:
            self.flush(buffer)


def merge(one: Delta, other: Delta) -> Delta:
    """Two deltas of one write as one."""
    entries = dict(one.entries)
    add_to(entries, other.entries)
    return Delta(one.stamp, one.segment, entries, max(one.cascade, other.cascade))
