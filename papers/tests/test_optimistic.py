"""The optimistic switches (semester paper): its examples with messages in the order that they ask for, and random cases."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cumulus_papers.case import Arrival, Case, Stamp, Version, paper
from cumulus_papers.kernel import Costs, Disorder, Message
from cumulus_papers.layout import uniform_layout
from cumulus_papers.protocols.optimistic.corrections import Dispatch
from cumulus_papers.protocols.optimistic.logs import Versions
from cumulus_papers.protocols.optimistic.messages import (
    Answer,
    Corrective,
    Delta,
    Fetch,
    Push,
    Put,
    Query,
    Slice,
    Wanted,
)
from cumulus_papers.protocols.optimistic.node import Node
from cumulus_papers.protocols.optimistic.switch import Switch
from cumulus_papers.protocols.optimistic.system import OPTIMISTIC
from cumulus_papers.run import run_case
from cumulus_papers.sweep import draw_case
from m3 import parse
from m3.check import check
from m3.program import Program
from mutants import edited
from tests.support.sampling import sampled

#: Random cases in which a planted bug must be noticed.
SEEDS = 40
BOTH = pytest.mark.parametrize("semantics", ["SNAPSHOT", "SEQUENTIAL"])


@dataclass
class Desk:
    """What an actor knows of the world, without one: what it sends lies here."""

    name: str
    now: float = 0.0
    sent: list[tuple[str, Message]] = field(default_factory=list)

    def send(self, receiver: str, message: Message) -> None:
        self.sent.append((receiver, message))

    def after(self, delay_s: float, message: Message, *, background: bool = False) -> None:
        raise AssertionError("no timers here")

    def spend(self, seconds: float) -> None:
        """Time stands still."""

    def report(self, what: object) -> None:
        """Nobody watches."""


class Play:
    """Nodes, map i of the program on node i, and messages that arrive in a chosen order."""

    def __init__(self, program: Program, nodes: int = 0, **options: Any) -> None:
        defaults = {name: values[0] for name, values in OPTIMISTIC.options.items()}
        layout = uniform_layout(program, {}, nodes or len(program.maps))
        self.program = program
        self.case = Case(0, "optimistic", program, layout, (), 1, 1.0, 0, Costs(), Disorder(), {**defaults, **options})
        self.dispatch = Dispatch(program, layout)
        self.switch = Switch(Desk("coordinator 0"), self.case, 0, self.dispatch)
        self.desks = {f"node {n}": Desk(f"node {n}") for n in layout.nodes}
        self.nodes = {name: Node(desk, self.case, int(name[5:]), self.dispatch) for name, desk in self.desks.items()}
        self.post: deque[tuple[str, str, Message]] = deque()
        self.trace: list[tuple[str, str, Message]] = []
        self.events: dict[int, list[tuple[str, Message]]] = {}

    def stamp(self, ts: int, relation: str, *row: int) -> None:
        """Let the switch make an update's messages."""
        trigger = self.dispatch.numbers[relation, 1]
        arguments = dict(zip(self.program.triggers[trigger].params, row, strict=True))
        made = self.switch.messages(Version(0, 0, ts), trigger, arguments)
        self.events[ts] = [(f"node {n}", message) for n, message in made]

    def arrive(self, kind: type[Message], ts: int, at: str = "") -> None:
        """Let the switch's messages of a kind arrive (at one node, or wherever they go); what nodes send then is in the post."""
        chosen = [(n, m) for n, m in self.events[ts] if isinstance(m, kind) and at in ("", n)]
        assert chosen
        for receiver, message in chosen:
            self.events[ts].remove((receiver, message))
            self.deliver("coordinator 0", receiver, message)

    def deliver(self, sender: str, receiver: str, message: Message) -> None:
        """One message."""
        self.trace.append((sender, receiver, message))
        self.nodes[receiver].receive(message, sender)
        self.post.extend((receiver, to, sent) for to, sent in self.desks[receiver].sent)
        self.desks[receiver].sent.clear()

    def settle(self) -> None:
        """Deliver the post, and what it brings."""
        while self.post:
            self.deliver(*self.post.popleft())

    def settle_nodes(self) -> None:
        """The same, for what goes to nodes."""
        kept = [entry for entry in self.post if entry[1] not in self.nodes]
        while self.post:
            entry = self.post.popleft()
            if entry[1] in self.nodes:
                self.deliver(*entry)
                kept += [e for e in self.post if e[1] not in self.nodes and e not in kept]
        self.post.extend(kept)

    def everything(self, *timestamps: int) -> None:
        """Let updates go through one after the other."""
        for ts in timestamps:
            for receiver, message in self.events.pop(ts):
                self.deliver("coordinator 0", receiver, message)
            self.settle()

    def value(self, name: str, *key: int, below: int | None = None) -> int:
        """An entry as it is, or as of a timestamp."""
        bound = None if below is None else Stamp(Version(0, 0, below), 0)
        return sum(node.maps(bound).get(name, {}).get(key, 0) for node in self.nodes.values())

    def corrections(self) -> list[tuple[str, str, int, dict[Any, int]]]:
        """All corrections so far: sender, receiver, TSx and delta."""
        return [
            (sender, receiver, delta.at.version.sequence, delta.entries)
            for sender, receiver, message in self.trace
            if isinstance(message, Corrective)
            for delta in message.deltas
        ]

    def pushed(self) -> Iterator[tuple[int, dict[Any, int] | None]]:
        """All pushes so far: TSy and entries."""
        for _, _, message in self.trace:
            if isinstance(message, Push):
                yield from ((message.version.sequence, part.entries) for part in message.slices)


@BOTH
def test_figure_1_one_correction_of_two(semantics: str) -> None:
    play = Play(paper("cumulus-4.1", semantics))
    for ts, row in ((1, 4), (2, 4), (3, 5)):
        play.stamp(ts, "s", row)
    play.everything(1, 2, 3)
    assert (play.value("m3", 4), play.value("m3", 5)) == (2, 1)
    play.stamp(4, "r", 1, 4)
    play.stamp(5, "r", 1, 5)
    play.arrive(Fetch, 5, "node 1")  # m2[1] is read for the second update before the first has written it
    play.everything(4, 5)
    assert (play.value("m1"), play.value("m2", 1)) == (2, 3)
    assert play.corrections() == [("node 1", "node 0", 4, {(1,): 2})]


@BOTH
def test_in_order_there_is_no_correction(semantics: str) -> None:
    play = Play(paper("cumulus-4.1", semantics))
    for ts, event in enumerate((("s", 4), ("s", 4), ("s", 5), ("r", 1, 4), ("r", 1, 5)), start=1):
        play.stamp(ts, event[0], *event[1:])
    play.everything(1, 2, 3, 4, 5)
    assert (play.value("m1"), play.value("m2", 1), play.corrections()) == (2, 3, [])


FIGURE_5 = check(
    parse("""PROGRAM figure5 SEMANTICS SNAPSHOT; RELATION w(a INT); RELATION r(a INT);
    MAP mw[a INT] : INT; MAP mr[a INT] : INT; ON +w(a) { mw[a] += mr[a] } ON +r(a) { mr[a] += 1 }""")
)


def test_figure_5_versions_are_sent_and_one_message_corrects_all_three() -> None:
    play = Play(FIGURE_5)
    for ts in (2, 10, 6):
        play.stamp(ts, "r", 1)
    for ts in (7, 9, 11):
        play.stamp(ts, "w", 1)
    play.arrive(Put, 2)
    play.arrive(Put, 10)
    for ts in (7, 9, 11):
        play.arrive(Fetch, ts)
        play.arrive(Put, ts)
    play.settle()
    assert list(play.pushed()) == [(7, {(1,): 1}), (9, {(1,): 1}), (11, {(1,): 2})]
    assert [play.value("mw", 1, below=b) for b in (8, 10, 12)] == [1, 2, 4]
    play.arrive(Put, 6)
    play.settle()
    assert play.corrections() == [("node 1", "node 0", 6, {(1,): 1})]
    assert [play.value("mw", 1, below=b) for b in (8, 10, 12)] == [2, 4, 7]


SQUARES = check(
    parse("""PROGRAM squares SEMANTICS SNAPSHOT; RELATION w(a INT); RELATION r(a INT);
    MAP mw[a INT] : INT; MAP mr[a INT] : INT; ON +w(a) { mw[a] += mr[a] * mr[a] } ON +r(a) { mr[a] += 1 }""")
)


def test_a_map_that_is_read_twice_is_corrected_by_the_whole_difference() -> None:
    play = Play(SQUARES)
    for ts in (1, 2, 4):
        play.stamp(ts, "r", 1)
    play.stamp(5, "w", 1)
    play.everything(1, 5)
    assert play.value("mw", 1) == 1
    play.everything(4)
    assert play.value("mw", 1) == 4
    play.everything(2)
    assert play.value("mw", 1) == 9
    assert [at for _, _, at, _ in play.corrections()] == [4, 2]


def test_a_query_is_answered_as_of_its_timestamp_and_in_its_turn() -> None:
    play = Play(FIGURE_5)
    for ts in (2, 10):
        play.stamp(ts, "r", 1)
        play.arrive(Put, ts)
    play.deliver("coordinator 0", "node 1", Query(Version(0, 0, 8), 0, "mr"))
    assert [(to, m.entries) for _, to, m in play.post if isinstance(m, Answer)] == [("coordinator 0", {(1,): 1})]
    play.post.clear()
    play.stamp(11, "w", 1)
    play.arrive(Put, 11)  # waits for its push, so what comes later waits as well
    play.deliver("coordinator 0", "node 0", Query(Version(0, 0, 12), 0, "mw"))
    assert not play.post
    play.arrive(Fetch, 11)
    play.settle_nodes()
    assert [(to, m.entries) for _, to, m in play.post if isinstance(m, Answer)] == [("coordinator 0", {(1,): 2})]


@pytest.mark.parametrize(("bypass", "found"), [(False, []), (True, ["node 0"])])
def test_bypass_only_where_the_map_is_not_the_one_being_written(bypass: bool, found: list[str]) -> None:
    play = Play(paper("cumulus-4.1"), nodes=2, bypass=bypass)  # m1 and m3 on node 0, m2 on node 1
    play.stamp(5, "r", 1, 4)
    play.stamp(6, "r", 1, 5)
    play.arrive(Put, 5)  # m1 waits for m2, and m2 for m3
    play.arrive(Fetch, 6)  # m2 is being written, m3 is not
    assert [sender for sender, _, m in play.post if isinstance(m, Push)] == found
    play.everything(5, 6)
    assert play.corrections() == []


def test_of_a_timestamp_whose_messages_still_come_only_what_is_before_has_come() -> None:
    """Or a node would be READY through an update whose PUT is still under way."""
    play = Play(paper("cumulus-4.1"), nodes=2)
    play.stamp(5, "r", 1, 4)
    play.arrive(Fetch, 5, "node 1")
    assert play.nodes["node 1"].epochs.processed() == Version(0, 0, 4)


def test_messages_have_what_their_receivers_need_and_no_more() -> None:
    program = paper("cumulus-4.1")

    def made(**options: Any) -> dict[str, list[Any]]:
        play = Play(program, **options)
        play.stamp(1, "r", 1, 4)
        return {n: [m for to, m in play.events[1] if to == n] for n in play.nodes}

    plain = made()
    assert [(m.arguments, m.wanted) for m in plain["node 1"] if isinstance(m, Fetch)] == [
        ({"a": 1}, (Wanted(0, 0, (0,)),))
    ]
    assert [(m.arguments, m.fetches) for m in plain["node 0"]] == [({"a": 1}, ((0, (1,)),))]
    static = made(write_nodes=False)
    assert [(m.arguments, m.wanted) for m in static["node 2"]] == [({"a": 1, "b": 4}, ())]
    blind = made(blind=True)
    assert not any(isinstance(m, Put) for messages in blind.values() for m in messages)


def test_versions_are_kept_as_long_as_somebody_may_see_them() -> None:
    versions = Versions()
    for ts, units in ((2, 10), (4, 20), (7, 30)):
        versions.at[Stamp(Version(0, 0, ts), 0)] = {(1,): units}
    versions.correct(Stamp(Version(0, 0, 5), 0), {(1,): 1})
    assert [(at.version.sequence, e[1,]) for at, e in sorted(versions.at.items())] == [
        (2, 10),
        (4, 20),
        (5, 21),
        (7, 31),
    ]
    versions.truncate(Version(0, 0, 6))
    assert [at.version.sequence for at in sorted(versions.at)] == [5, 7]
    assert versions.value(Stamp(Version(0, 0, 7), 0)) == {(1,): 21}


def test_intelligent_buffering_waits_longer_further_down() -> None:
    dispatch = Dispatch(paper("cumulus-4.1"), uniform_layout(paper("cumulus-4.1"), {}, 3))
    assert dispatch.depths == {"m3": 0, "m2": 1, "m1": 2}
    assert dispatch.feeders == {("m1", 0): (("m2", 1),), ("m2", 1): (("m3", 2),)}
    for intelligent, periods in ((False, [0.002, 0.002]), (True, [0.002, 0.004])):
        play = Play(paper("cumulus-4.1"), buffer_s=0.002, intelligent=intelligent)
        buffer = play.nodes["node 1"].corrections.buffer
        assert [buffer.period_s(name) for name in ("m3", "m2")] == periods


def test_example_33_a_delta_is_multiplied_with_what_the_other_map_was_at_each_timestamp() -> None:
    program = paper("semester-3.3")
    play = Play(program)
    for ts, m3 in ((2, 5), (3, 7)):
        play.stamp(ts, "s", 1)
        play.arrive(Put, ts)
        for sender, read, value in (("node 1", 0, 1), ("node 2", 1, m3)):
            part = Slice(((0, read),), (1,), None, {(1,): value})
            play.deliver(sender, "node 0", Push(Version(0, 0, ts), play.dispatch.numbers["s", 1], (part,), {}))
    assert [play.value("m1", 1, below=b) for b in (3, 4)] == [5, 5 + 7]
    delta = Delta("m2", Stamp(Version(0, 0, 1), 0), {(1,): 10})
    play.deliver("node 1", "node 0", Corrective(Version(0, 0, 1), (delta,), (1,)))
    assert [play.value("m1", 1, below=b) for b in (3, 4)] == [5 + 10 * 5, 5 + 7 + 10 * 5 + 10 * 7]


@BOTH
def test_example_31_a_later_write_is_not_read(semantics: str) -> None:
    play = Play(paper("semester-3.1", semantics))
    play.stamp(1, "t", 1)
    play.everything(1)
    play.stamp(2, "r", 1)
    play.stamp(3, "s", 2)
    play.everything(3)
    play.everything(2)
    assert (play.value("m1", 1), play.value("m2", 2), play.value("m3", 2)) == (1, 1, 0)
    assert not any(node.maps()["m3"] for node in play.nodes.values() if "m3" in node.maps())
    assert play.corrections() == []


def _figure_6(semantics: str) -> Play:
    """Both maps have 1; then S(1) and T(1). The example's maps read each other: only the order bounds its cascades."""
    play = Play(paper("semester-3.2", semantics))
    play.stamp(1, "u", 1)
    play.everything(1)
    play.stamp(2, "s", 1)
    play.stamp(3, "t", 1)
    return play


@BOTH
def test_figure_6a_atomicity(semantics: str) -> None:
    play = _figure_6(semantics)
    for kind in (Fetch, Put):
        for ts in (2, 3):
            play.arrive(kind, ts)
    play.settle()
    assert (play.value("m1", 1), play.value("m2", 1)) == (2, 3)
    assert play.corrections() == [("node 0", "node 1", 2, {(1,): 1})]


@BOTH
def test_figure_6b_order(semantics: str) -> None:
    play = _figure_6(semantics)
    play.everything(3)
    assert (play.value("m1", 1), play.value("m2", 1)) == (1, 2)
    play.everything(2)
    assert (play.value("m1", 1), play.value("m2", 1)) == (2, 3)
    assert play.corrections() == [("node 0", "node 1", 2, {(1,): 1})]


@pytest.mark.parametrize("seed", sampled(range(25), 3))
def test_random_cases(seed: int) -> None:
    outcome = run_case(draw_case(seed, OPTIMISTIC), OPTIMISTIC)
    assert outcome.events
    assert outcome.commits


@pytest.mark.parametrize("seed", sampled(range(5), 2))
def test_cycles_are_bounded_by_the_order(seed: int) -> None:
    """Example 3.2's maps read each other, which the paper excludes in general: epochs cannot be flushed down a cycle, but the end is right."""
    case = replace(draw_case(seed, OPTIMISTIC), program=paper("semester-3.2"), epochs=0, coordinators=3)
    case = replace(case, layout=uniform_layout(case.program, {"m1": (2,)}, 3), arrivals=_cyclic_events(seed))
    outcome = run_case(case, replace(OPTIMISTIC, acyclic=False))
    assert outcome.events == 40


def _cyclic_events(seed: int) -> tuple[Arrival, ...]:
    choose = random.Random(seed)
    times = sorted(choose.uniform(0, 0.02) for _ in range(40))
    return tuple(Arrival(t, choose.randrange(3), 1, choose.choice("ssttu"), (choose.randint(1, 2),)) for t in times)


#: What is planted: a text of the protocol's code, what replaces it, and options in which it matters.
PLANTED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a lost WriteLog entry": ("            history[at] = history.get(at, 0) + units", "            history[at] = units", {}),
    "own writes are read": ("sum(u for at, u in history.items() if below is None or at < below)", "sum(history.values())", {}),
    "a lost ReceiveLog entry": ("                for below, by_sender in by_bound.items():", "                for below, by_sender in list(by_bound.items())[1:]:", {"suppression": "off"}),
    "a correction makes a SendLog entry": ("        if self.suppress == \"values\":\n", "        self.sent(Reference(name, (), (at,)), node, at)\n        if self.suppress == \"values\":\n", {}),
    "a lost SendLog entry": ("max(below, known.get((reference, node), below))", "known.get((reference, node), below)", {}),
    "the SendLog forgets too much": ("for entry in [e for e, below in known.items() if below.version <= through]", "for entry in list(known)", {}),
    "the ReceiveLog forgets too much": ("for below in [b for b in by_bound if b.version <= through]", "for below in list(by_bound)", {"suppression": "off"}),
    "the SendLog is not truncated": ("for entry in [e for e, below in known.items() if below.version <= through]", "for entry in []", {}),
    "the WriteLog is not truncated": ("                if len(old) > 1:", "                if not old:", {}),
    "a lost OperationLog entry": ("            if o.done and any(", "            if o.at.statement and o.done and any(", {}),
    "the OperationLog forgets too much": ("for at in [at for at in self.operations if at.version <= through]", "for at in [at for at in self.operations if self.operations[at].done]", {}),
    "a version compared the wrong way round (SendLog)": ("if at < below and (concerned := reference.of(delta)):\n                entries, highest", "if at > below and (concerned := reference.of(delta)):\n                entries, highest", {}),
    "a version compared the wrong way round (ReceiveLog)": ("                    if at < below and sender in by_sender:", "                    if at > below and sender in by_sender:", {"suppression": "off"}),
    "local readers are left out": ("                self.absorb(self.number, Delta(delta.map, delta.at, concerned), change, hops + 1)", "                pass", {}),
    "corrections are not recursive": ("        for reader, (concerned, below) in late.items():", "        for reader, (concerned, below) in late.items() if not hops else ():", {}),
    "hops are not counted from their cause": ("delta, change, hops)", "delta, change, hops + 9)", {}),
    "a write does not wait for all its slices": (">= count for i, count", ">= min(count, 1) for i, count", {"suppression": "off"}),
    "a correction overtakes the push that it corrects": ("[*self._sent_before(first), first] if first else []", "[first] if first else []", {"bypass": False, "blind": False}),
    "the commit is the maximum of the nodes'": ("self._minimum(message.epoch, min(known.nodes.values()))", "self._minimum(message.epoch, max(known.nodes.values()))", {}),
    "the commit is the maximum of the switches'": ("EpochCommit(epoch, min(known.values()))", "EpochCommit(epoch, max(known.values()))", {}),
    "the snapshot is what there is": ("        maps = self.maps(bound)", "        maps = self.maps()", {}),
    "the token is passed twice": ("            self._pass((self.number + 1) % self.case.coordinators)", "            for other in self._others() or [self.number]:\n                self._pass(other)", {}),
    "the token is kept": ("        self.token = False", "        self.token = True", {"log_limit": 40}),
    "maps are flushed before their sources": ("        if any(w not in known for w in wanted):\n            return", "        wanted = tuple(w for w in wanted if w in known)", {}),
    "one switch's end is enough": ("through, first = min(self.heard.values()), self.unprocessed()", "through, first = max(self.heard.values()), self.unprocessed()", {}),
    "what waits counts as processed": ("if first is not None and first <= through:", "if False:", {}),
    "held back corrections are not flushed at the end": ("        self.flush(name)\n", "", {"buffer_s": 0.02}),
    "a push overtakes held back corrections": ("        self.corrections.buffer.flush(reference.map, receiver)\n", "", {"buffer_s": 0.02}),
    "a push is suppressed whatever its TSx": ("if at not in known.at:\n                known", "if not known.at:\n                known", {"suppression": "timestamps"}),
    "a push is suppressed by a later version": ("if at not in known.at:\n                known", "if at > max(known.at, default=BEGINNING) or not known.at:\n                known", {"suppression": "timestamps"}),
    "earlier answers are not looked at": ("sorted(b for b in answered if b >= below)", "[below]", {"suppression": "values"}),
    "a late push corrects nothing": ("self.logs.operation.affected(of.map, part.at), put, change, 0)", "[], put, change, 0)", {"suppression": "timestamps", "missing": "optimistic", "blind": False}),
    "a correction makes no version": ("        if at not in self.at and (last := self.value(at)) is not None:", "        if False and (last := self.value(at)) is not None:", {"suppression": "timestamps"}),
    "nobody waits for the time-out": ("            operation.timed_out = True", "            pass", {"suppression": "timestamps", "missing": "time-out", "blind": False}),
    "a push announces one statement only": ("            if counts and Stamp(message.version, statement) not in", "            if not statement and counts and Stamp(message.version, statement) not in", {"blind": True}),
    "a batch is turned round": ("Batch(tuple(messages))", "Batch(tuple(messages[::-1]))", {"batch_s": 0.002}),
    "a put overtakes a put": ("            if not self.case.options[\"bypass\"]:", "            if isinstance(waiting.message, (Put, Fetch)):\n                return waiting\n            if True:", {"bypass": False, "blind": False, "suppression": "off"}),
    "a node is ready with the most of its maps": ("EpochReady(self.open, min(self.flushed.values()))", "EpochReady(self.open, max(self.flushed.values()))", {}),
    "a query sees later writes": ("Reference(message.map, (), ()), Stamp(message.version, 0))", "Reference(message.map, (), ()), None)", {"queries": 3}),
    "bypassing whatever is being written": ("not isinstance(waiting.message, Query) and not written & self._about(waiting.message)", "not isinstance(waiting.message, Query)", {"bypass": True, "blind": False}),
    "a request is not passed on": ("            self.outbox.send(coordinator((self.number + 1) % self.case.coordinators), message)", "            pass", {"log_limit": 40, "batch_s": 0.0}),
    "a product of two changes is counted twice": ("[*new[:i], difference, *old[i + 1 :]]", "[*new[:i], difference, *new[i + 1 :]]", {}),
    "what the switches sent is sent once more": ("            for wanted in self._groups(reads):", "            for wanted in self._groups(reads) * 2:", {}),
    "a version is pushed again": ("                known.at[at] = dict(entries)\n", "", {"suppression": "values"}),
    "corrections are held back too long": ("return period_s * (1 + self", "return period_s * (2 + self", {"buffer_s": 0.002, "intelligent": True}),
}  # fmt: skip


#: The seed to begin with, where a bug is rare; others before it do not notice.
FROM = {
    "earlier answers are not looked at": 39, "a product of two changes is counted twice": 16, "a correction makes a SendLog entry": 19,
    "corrections are not recursive": 11, "hops are not counted from their cause": 11, "the commit is the maximum of the nodes'": 9,
    "the commit is the maximum of the switches'": 12, "the token is passed twice": 5,
}  # fmt: skip


@pytest.mark.parametrize("bug", sampled(PLANTED, 4))
def test_planted_bugs_are_caught(bug: str) -> None:
    old, new, options = PLANTED[bug]
    planted = edited(OPTIMISTIC, old, new)
    for seed in range(FROM.get(bug, 0), SEEDS):
        case = draw_case(seed, OPTIMISTIC)
        try:
            run_case(replace(case, options={**case.options, **options}), planted)
        except (AssertionError, KeyError):
            return
    pytest.fail(f"{SEEDS} seeds have not noticed: {bug}")
