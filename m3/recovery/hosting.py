"""What whoever hosts a node brings, its computation, and what he stores for it, its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from m3.recovery.clock import Clock
from m3.recovery.logs import DiffLog, PayloadLog

__all__ = ["Checkpoint", "Operator"]


class Operator(Protocol):
    """What a node computes: a deterministic function of an input and its state.

    ``commutes``: inputs of different parents may be processed in any order; each still makes the same outputs, and the state ends the same.
    """

    @property
    def stateful(self) -> bool:
        """Whether it keeps state."""
        ...

    @property
    def commutes(self) -> bool:
        """See above."""
        ...

    def start(self) -> Any:
        """The state at the beginning; None without state."""
        ...

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        """Take an input into the state, and say what to send to which children; none if it is filtered."""
        ...


@dataclass(frozen=True)
class Checkpoint:
    """A node as of a time, to be stored durably. Nothing of it changes."""

    time: int
    clock: Clock
    seen: Mapping[str, int]
    state: Any
    payloads: PayloadLog
    diffs: DiffLog
