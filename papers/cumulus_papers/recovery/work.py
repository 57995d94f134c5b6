"""What the nodes of a simulated dataflow compute: those that keep nothing and send inputs on (routers, sharders), and those that keep state (map segments).

| kind | state | inputs of different parents commute |
|---|---|---|
| ``source`` | how many inputs have come | |
| ``router`` | none | no: children see in which order it passes them on |
| ``sharder`` | none | yes |
| ``sequence`` | depends on the order of all that came, and so does what is sent, and to whom | no |
| ``sum`` | adds inputs up, as a map segment does, and sends each on | yes |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

__all__ = ["KINDS", "STATEFUL", "Work", "mix"]

#: The kinds that nodes with parents may have.
KINDS = ("router", "sharder", "sequence", "sum")
STATEFUL = ("source", "sequence", "sum")


def mix(*values: object) -> int:
    """A number that depends on all values, the same in every process.

    >>> mix("a", 1) == mix("a", 1) != mix("a", 2)
    True
    """
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=6).digest(), "big")


@dataclass(frozen=True)
class Work:
    """An :class:`~m3.recovery.node.Operator`. ``share``: how many of ten outputs a child gets, on average."""

    name: str
    kind: str
    children: tuple[str, ...]
    share: int = 5

    @property
    def stateful(self) -> bool:
        """Whether it keeps anything."""
        return self.kind in STATEFUL

    @property
    def commutes(self) -> bool:
        """Whether the order of inputs of different parents makes no difference to it."""
        return self.kind in ("sharder", "sum")

    def start(self) -> Any:
        """Nothing has come."""
        return [0] if self.stateful else None

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        """Take an input, and send something that depends on it to some children, or to none."""
        seen = payload
        if self.kind == "sequence":
            seen = state[0] = mix(state[0], parent, payload)
        elif self.kind == "sum":
            state[0] += payload
        elif self.kind == "source":
            state[0] += 1
        return {c: mix(self.name, seen) for c in self.children if mix(self.name, seen, c) % 10 < self.share}
