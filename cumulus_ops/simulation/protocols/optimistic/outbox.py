"""What an actor sends, in batches if wanted: all messages to one receiver within a period travel as one, whatever their timestamps."""

from __future__ import annotations

from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.protocols.optimistic.messages import Batch, BatchDue

__all__ = ["Outbox"]


class Outbox:
    """Keeps the order in which messages to one receiver are sent."""

    def __init__(self, here: Here, period_s: float) -> None:
        self.here, self.period_s = here, period_s
        self.waiting: dict[str, list[Message]] = {}

    def send(self, receiver: str, message: Message) -> None:
        """Send a message, at the end of the period at the latest."""
        if not self.period_s:
            self.here.send(receiver, message)
            return
        if receiver not in self.waiting:
            self.waiting[receiver] = []
            self.here.after(self.period_s, BatchDue(receiver))
        self.waiting[receiver].append(message)

    def due(self, receiver: str) -> None:
        """The period is over."""
        messages = self.waiting.pop(receiver)
        self.here.send(receiver, messages[0] if len(messages) == 1 else Batch(tuple(messages)))
