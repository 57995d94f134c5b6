"""A deterministic discrete-event simulator: actors, messages between them, a virtual clock. One seed decides everything.

What is promised to protocols is what the papers assume (semester paper, section 2): between two actors messages arrive in the
order in which they were sent, between different pairs in any; none is lost; there is no multicast, so a message to n actors is n
messages. Sending takes the sender's time, per message and per byte, and an actor handles one message at a time.

An actor may **pause**, and it may **restart**: it loses its memory and gets it back by handling its durable log once more, which is
the list of all messages it has handled; what it sent then is not sent again. So actors must be functions of what they receive,
and the simulator sees to it that they are. An actor may also **fail**: then it has no such log, and what is under way is lost with it.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol

__all__ = [
    "Actor",
    "Context",
    "Costs",
    "Disorder",
    "Handled",
    "Here",
    "Message",
    "NotAFunction",
    "Sent",
    "Simulation",
    "size_bytes",
]

HEADER_BYTES = 24
#: The default of ``handled_max``.
HANDLED_MAX = 2_000_000


@dataclass(frozen=True)
class Message:
    """What actors send each other. Subclasses are frozen dataclasses; the class's name is the message's kind."""

    @property
    def kind(self) -> str:
        """The kind, for counting and drawing."""
        return type(self).__name__

    def carries(self) -> tuple[tuple[str, Any], ...]:
        """What it carries, by name, for drawing."""
        return tuple((f.name, getattr(self, f.name)) for f in fields(self))

    def about(self) -> tuple[Any, ...]:
        """The versions of the events that it is about; none for what concerns epochs."""
        return ()


@dataclass(frozen=True)
class Costs:
    """What things take, in seconds of virtual time: to send (per message, and per byte), to handle a message, to write an entry,
    to read an entry, to correct an entry; and how long a message is under way at least."""

    send_s: float = 20e-6
    byte_s: float = 10e-9
    handle_s: float = 10e-6
    write_s: float = 1e-6
    read_s: float = 1e-6
    correct_s: float = 2e-6
    latency_s: float = 500e-6


@dataclass(frozen=True)
class Disorder:
    """What goes otherwise than expected. Messages take up to ``delay_s`` longer (exponentially distributed), and a share ``slow`` of the pairs
    of actors ten times that; in each second of virtual time an actor pauses, or restarts, with these probabilities, for up to ``outage_s``."""

    delay_s: float = 0.0
    slow: float = 0.0
    pauses: float = 0.0
    restarts: float = 0.0
    outage_s: float = 0.0


@dataclass(frozen=True)
class Sent:
    """One message under way: ``number`` counts them, ``cause`` is the number of the message whose handling sent it (None: from
    outside). ``local``: sender and receiver are one, nothing was transmitted."""

    number: int
    cause: int | None
    sent_s: float
    arrived_s: float
    sender: str
    receiver: str
    message: Message
    size: int

    @property
    def local(self) -> bool:
        """Whether it stayed where it was."""
        return self.sender == self.receiver


class NotAFunction(AssertionError):
    """A restarted actor did not do again what it had done: its state is not a function of what it received."""


class Actor(Protocol):
    """A node, coordinator, switch or client: what it does with a message. ``sender`` is empty for what comes from outside."""

    def receive(self, message: Message, sender: str) -> None:
        """Handle a message."""
        ...


class Here(Protocol):
    """What an actor can do, and knows of the world."""

    name: str
    now: float

    def send(self, receiver: str, message: Message) -> None:
        """Send a message; to itself costs nothing."""

    def after(self, delay_s: float, message: Message, *, background: bool = False) -> None:
        """Receive a message from itself after some time. ``background``: the system counts as quiet while only such are due."""

    def spend(self, seconds: float) -> None:
        """Take time for work."""

    def report(self, what: object) -> None:
        """Tell those who watch."""


@dataclass
class Handled:
    """An entry of an actor's durable log: what it handled, from when to when, and what it did then."""

    at_s: float
    until_s: float
    sent: Sent
    did: list[tuple[str, Message]] = field(default_factory=list)


class Context:
    """An actor's place in the simulation: its inbox, its durable log, and what :class:`Here` promises."""

    def __init__(self, simulation: Simulation, name: str, factory: Callable[[Here], Actor]) -> None:
        self.simulation, self.name, self.factory = simulation, name, factory
        self.costs = simulation.costs
        self.now = 0.0
        self.free_at = 0.0
        self.busy_s = 0.0
        self.inbox: deque[Sent] = deque()
        self.log: list[Handled] = []
        self._replaying = False
        self._did: list[tuple[str, Message]] = []
        self._cause: int | None = None
        self.actor = factory(self)

    def send(self, receiver: str, message: Message) -> None:
        """See :class:`Here`."""
        self._did.append((receiver, message))
        size = 0
        if receiver != self.name:
            size = size_bytes(message)
            self.now += self.costs.send_s + size * self.costs.byte_s
        if not self._replaying:
            self.simulation.transmit(self, receiver, message, size, self._cause)

    def after(self, delay_s: float, message: Message, *, background: bool = False) -> None:
        """See :class:`Here`."""
        self._did.append(("", message))
        if not self._replaying:
            self.simulation.deliver_at(self.now + delay_s, self.name, self.name, message, self._cause, background)

    def spend(self, seconds: float) -> None:
        """See :class:`Here`."""
        self.now += seconds

    def report(self, what: object) -> None:
        """See :class:`Here`."""
        if not self._replaying:
            self.simulation.tell(self.name, what)

    def handle(self, sent: Sent, at_s: float) -> None:
        """Handle a message and remember it."""
        self.now, self._did, self._cause = at_s + self.costs.handle_s, [], sent.number
        self.actor.receive(sent.message, sent.sender)
        self.log.append(Handled(at_s, self.now, sent, self._did))
        self.free_at = self.now
        self.busy_s += self.now - at_s

    def restart(self) -> None:
        """Lose all memory, and get it back from the log.

        Raises:
            NotAFunction: handling the log again did something else.
        """
        free_at, self._replaying = self.free_at, True
        self.actor = self.factory(self)
        for handled in self.log:
            self.now, self._did = handled.at_s + self.costs.handle_s, []
            self.actor.receive(handled.sent.message, handled.sent.sender)
            if self._did != handled.did:
                raise NotAFunction(f"{self.name} did {self._did} on {handled.sent.message}, and {handled.did} before")
        self.free_at, self._replaying = free_at, False

    def lose(self, at_s: float) -> None:
        """Lose all memory, the log and what has not been handled, for good."""
        self.actor = self.factory(self)
        self.log, self.inbox, self.free_at = [], deque(), at_s


@dataclass(frozen=True)
class _Wake(Message):
    """Look into the inbox."""


@dataclass(frozen=True)
class _Outage(Message):
    """Pause, or restart."""

    restart: bool
    length_s: float


class Simulation:
    """Actors and what is under way between them.

    Args:
        seed: decides all delays and outages.
        costs: what things take.
        disorder: what goes otherwise than expected.
        record: keep :attr:`trace`.
        handled_max: messages handled after which a run is taken for one that does not end.
    """

    def __init__(
        self,
        seed: int,
        costs: Costs | None = None,
        disorder: Disorder | None = None,
        *,
        record: bool = True,
        handled_max: int = HANDLED_MAX,
    ) -> None:
        self.random = random.Random(seed)
        self.costs, self.disorder = costs or Costs(), disorder or Disorder()
        self.now = 0.0
        self.contexts: dict[str, Context] = {}
        self.trace: list[Sent] = []
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.local: Counter[str] = Counter()
        #: Pauses and restarts, and messages that arrive before others that were sent to the same actor earlier.
        self.disturbances: Counter[str] = Counter()
        self.handled = 0
        self.watchers: list[Callable[[float, str, object], None]] = []
        #: Called with each message as it is sent: when, sender, receiver, message; those to oneself included.
        self.on_send: list[Callable[[float, str, str, Message], None]] = []
        #: Called whenever nothing is under way but what is in the background.
        self.on_quiet: list[Callable[[], None]] = []
        self._record, self._handled_max = record, handled_max
        self._queue: list[tuple[float, int, str, Sent | _Wake | _Outage, bool]] = []
        self._numbers = itertools.count()
        self._under_way = 0
        self._was_quiet = True
        self._last: dict[tuple[str, str], float] = {}
        self._latest: dict[str, float] = {}
        self._slow: dict[tuple[str, str], bool] = {}

    def add(self, name: str, factory: Callable[[Here], Actor]) -> None:
        """Add an actor; ``factory`` makes it, again when it restarts."""
        self.contexts[name] = Context(self, name, factory)

    def actor(self, name: str) -> Any:
        """The actor as it is now, to be looked at."""
        return self.contexts[name].actor

    def inject(self, at_s: float, receiver: str, message: Message) -> None:
        """A message from outside, such as an event; not under way until it arrives."""
        self.deliver_at(at_s, "", receiver, message, None, background=True)

    def transmit(self, context: Context, receiver: str, message: Message, size: int, cause: int | None) -> None:
        """Put a message on its way."""
        for look in self.on_send:
            look(context.now, context.name, receiver, message)
        if receiver == context.name:
            self.local[message.kind] += 1
            self.deliver_at(context.now, receiver, receiver, message, cause, background=False)
            return
        self.messages[message.kind] += 1
        self.bytes[message.kind] += size
        pair = context.name, receiver
        arrival = max(self._last.get(pair, 0.0), context.now + self._travel_s(pair))
        self._last[pair] = arrival
        self.disturbances["overtaken"] += arrival < self._latest.get(receiver, 0.0)
        self._latest[receiver] = max(arrival, self._latest.get(receiver, 0.0))
        self._push(
            arrival,
            receiver,
            Sent(next(self._numbers), cause, context.now, arrival, context.name, receiver, message, size),
            True,
        )

    def _travel_s(self, pair: tuple[str, str]) -> float:
        base, d = self.costs.latency_s, self.disorder
        if not d.delay_s:
            return base
        if pair not in self._slow:
            self._slow[pair] = self.random.random() < d.slow
        return base + self.random.expovariate(1 / d.delay_s) * (10 if self._slow[pair] else 1)

    def deliver_at(
        self, at_s: float, sender: str, receiver: str, message: Message, cause: int | None, background: bool
    ) -> None:
        """A message that arrives at a certain time."""
        sent = Sent(next(self._numbers), cause, self.now, at_s, sender, receiver, message, 0)
        self._push(at_s, receiver, sent, not background)

    def _push(self, at_s: float, receiver: str, what: Sent | _Wake | _Outage, counts: bool) -> None:
        if receiver not in self.contexts:
            raise KeyError(f"there is no actor {receiver!r}")
        self._under_way += counts
        heapq.heappush(self._queue, (at_s, next(self._numbers), receiver, what, counts))

    def tell(self, name: str, what: object) -> None:
        """Pass a report on to the watchers."""
        for watcher in self.watchers:
            watcher(self.now, name, what)

    def fail(self, name: str) -> None:
        """An actor stops, and is made anew without anything that it knew (fail-stop, nothing durable). What is under way to it is lost, its own timers
        too; of what it has sent, each receiver still gets a part, the first of it."""
        self.contexts[name].lose(self.now)
        self.disturbances["failure"] += 1
        kept: dict[str, int] = {}
        left = []
        for item in sorted(self._queue):
            _, _, receiver, what, counts = item
            lost = receiver == name
            if isinstance(what, Sent) and what.sender == name and not lost:
                if receiver not in kept:
                    kept[receiver] = self.random.randrange(4)
                lost = kept[receiver] == 0
                kept[receiver] = max(0, kept[receiver] - 1)
            if lost:
                self._under_way -= counts
            else:
                left.append(item)
        self._queue = left  # sorted, so it is a heap

    def run(self) -> None:
        """Until nothing is under way and nothing is due.

        Raises:
            AssertionError: it does not end.
        """
        # Outages come while messages come from outside, so that a run ends; they count as nothing under way.
        d = self.disorder
        end_s = max((item[0] for item in self._queue), default=0.0)
        for name in self.contexts if d.outage_s else ():
            for share, restart in ((d.pauses, False), (d.restarts, True)):
                at_s = 0.0
                while share and (at_s := at_s + self.random.expovariate(share)) < end_s:
                    length_s = self.random.uniform(0, d.outage_s)
                    heapq.heappush(self._queue, (at_s, next(self._numbers), name, _Outage(restart, length_s), False))
        while self._queue:
            at_s, _, receiver, what, counts = heapq.heappop(self._queue)
            self.now = max(self.now, at_s)
            self._under_way -= counts
            self._take(self.contexts[receiver], what)
            quiet = not self._under_way
            if quiet and not self._was_quiet:
                for look in self.on_quiet:
                    look()
            self._was_quiet = quiet
        assert not any(c.inbox for c in self.contexts.values())

    def _take(self, context: Context, what: Sent | _Wake | _Outage) -> None:
        if isinstance(what, _Outage):
            if what.restart:
                context.restart()
            self.disturbances["restart" if what.restart else "pause"] += 1
            context.free_at = max(context.free_at, self.now) + what.length_s
            return
        if isinstance(what, Sent):
            if self._record:
                self.trace.append(what)
            context.inbox.append(what)
            if len(context.inbox) > 1:
                return  # it will be woken
        if not context.inbox:
            return
        if context.free_at > self.now:
            self._push(context.free_at, context.name, _Wake(), True)
            return
        self.handled += 1
        assert self.handled <= self._handled_max, f"{self._handled_max} messages handled, and no end"
        context.handle(context.inbox.popleft(), self.now)
        if context.inbox:
            self._push(context.free_at, context.name, _Wake(), True)


def size_bytes(message: Message) -> int:
    """How many bytes a message has: eight for a number, its length for a text, what it holds for anything else.

    >>> @dataclass(frozen=True)
    ... class Hello(Message):
    ...     name: str
    ...     entries: dict[tuple[int, int], int]
    >>> size_bytes(Hello("abc", {(1, 2): 3}))
    51
    """
    return HEADER_BYTES + _size_of_fields(message)


_known_fields: dict[type, tuple[str, ...]] = {}


def _size_of_fields(value: Any) -> int:
    of = type(value)
    names = _known_fields.get(of)
    if names is None:
        names = _known_fields[of] = tuple(f.name for f in fields(value))
    size = 0
    for name in names:
        size += _size(getattr(value, name))
    return size


def _size(value: Any) -> int:
    # The types that nearly all values have first: a run asks for millions.
    of = type(value)
    if of is int:
        return 8
    if of is str:
        return len(value)
    if of is tuple:
        size = 0
        for part in value:
            size += _size(part)
        return size
    if of in _known_fields:
        return _size_of_fields(value)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_size(k) + _size(v) for k, v in value.items())
    if isinstance(value, (tuple, list, frozenset, set)):
        return sum(map(_size, value))
    if is_dataclass(value) and not isinstance(value, type):
        return _size_of_fields(value)
    return 1 if value is None or isinstance(value, bool) else 8
