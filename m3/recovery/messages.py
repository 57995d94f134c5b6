"""What nodes send each other, and what the controller and nodes say to each other during a recovery (thesis, 3.1.4 and 3.2.2).

A node that is restarted has a new **life**. Messages name the lives of both ends, so that what is still under way from a node that only seemed dead, or to
it, is not taken. Channels are assumed to be in order between two nodes, and to lose nothing but what is under way to or from a node that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from m3.recovery.clock import Clock

__all__ = ["Ask", "Data", "Hold", "Mark", "NodeMessage", "Recovered", "Report", "Resume", "Stable", "Start", "Started"]


@dataclass(frozen=True)
class Data:
    """A message of the data plane. ``diff``: of the message itself, its root the sender at the message's time. ``since``: diffs that the
    receiver has to know, too, of what the sender, or nodes before it, did since its last message to this receiver. ``horizons``: times that
    nodes will never be replayed from before."""

    source: str
    target: str
    lives: tuple[int, int]
    diff: Clock
    payload: Any
    since: tuple[Clock, ...] = ()
    horizons: tuple[tuple[str, int], ...] = ()

    @property
    def origin(self) -> tuple[str, int]:
        """Its name: the sender, and its time there."""
        return self.diff.node, self.diff.time

    @property
    def entries(self) -> int:
        """The entries of clocks that travel with it."""
        return self.diff.size + sum(diff.size for diff in self.since)


@dataclass(frozen=True)
class Mark:
    """Nothing more with a time up to ``time`` will come: for a child that nothing was for, and first of all after a restart. Then ``clock`` says
    which inputs are passed by with that, and ``resumed`` that the sender is no longer being replayed, so that it knows all that it will."""

    source: str
    target: str
    lives: tuple[int, int]
    time: int
    since: tuple[Clock, ...] = ()
    horizons: tuple[tuple[str, int], ...] = ()
    clock: Clock | None = None
    resumed: bool = False


@dataclass(frozen=True)
class Stable:
    """From a child: whatever fails, it will not ask again for messages with a time up to ``time``."""

    source: str
    target: str
    lives: tuple[int, int]
    time: int


@dataclass(frozen=True)
class Hold:
    """To a parent: send nothing to a child that failed, until it is resumed (3.2.1)."""

    node: str
    child: str
    life: int


@dataclass(frozen=True)
class Ask:
    """To a child: what has been received of a failed node, and what is known of it and of those before it (3.2.2, step 1). From here on the
    child takes messages of the node's next life alone."""

    node: str
    about: str
    life: int


@dataclass(frozen=True)
class Report:
    """From a child, in its life ``own_life``. ``has``: its clock of the failed node, as of all that it has received; ``observed``: the last message
    of the failed node whose place among the child's inputs is known; ``stable``: see :class:`Stable`; ``folded``: clocks that truncated diffs make; ``known``: diffs."""

    node: str
    about: str
    life: int
    has: Clock
    observed: int = 0
    stable: int = 0
    folded: tuple[Clock, ...] = ()
    known: tuple[Clock, ...] = ()
    own_life: int = 1


@dataclass(frozen=True)
class Start:
    """To a restarted node: what its children know (3.2.2, step 2), and the lives of its neighbours."""

    node: str
    lives: Mapping[str, int]
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True)
class Started:
    """From a restarted node: its clock is set to ``clock``, T* (the acknowledgement of 3.2.2, step 2)."""

    node: str
    life: int
    clock: Clock


@dataclass(frozen=True)
class Resume:
    """To a parent: send to a restarted child what comes after a time (3.2.2, step 3)."""

    node: str
    child: str
    life: int
    after: int


@dataclass(frozen=True)
class Recovered:
    """From a restarted node: it has replayed what had been seen, and works as any other (3.3.3). ``counts``: what it took."""

    node: str
    life: int
    counts: Mapping[str, int] = field(default_factory=dict)


#: What a node gives to whoever hosts it, to be sent.
NodeMessage = Data | Mark | Stable | Report | Started | Recovered
