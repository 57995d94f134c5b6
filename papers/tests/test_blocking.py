"""The blocking switch ends in the serial interpreter's state, commits consistent cuts, and every planted bug is found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursts import after_program, burst, one_after_the_other
from cumulus_papers.case import Version, paper, random_program
from cumulus_papers.kernel import Message, Simulation
from cumulus_papers.layout import PLACES, Segment, Tables, env_of, random_layout, uniform_layout
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.protocols.blocking import messages
from cumulus_papers.protocols.blocking.actors import Node, Switch
from cumulus_papers.protocols.blocking.messages import (
    Fetch,
    Push,
    Pushed,
    PushPart,
    Put,
    Reference,
    Versions,
    Wildcard,
    check_match,
    collate,
    indexes,
)
from cumulus_papers.run import Outcome, Wrong, node, run_case
from cumulus_papers.sweep import HANDLED_MAX, draw_case
from m3 import parse
from m3.check import check
from tests.support.sampling import sampled

BLOCKING = PROTOCOLS["blocking"]
#: A planted bug must be found in one of these.
SEEDS = range(40)


def complaint(run: Callable[[int], object]) -> str:
    """What is said of the first seed that goes wrong."""
    for seed in SEEDS:
        try:
            run(seed)
        except (Wrong, AssertionError) as error:
            return str(error)
    return ""


def drawn(seed: int) -> Outcome:
    case = draw_case(seed, BLOCKING)
    simulation = Simulation(case.seed, case.costs, case.disorder, handled_max=HANDLED_MAX)  # a lost PUSH has no end
    return run_case(case, BLOCKING, simulation=simulation)


def test_random_cases_end_as_they_do_serially() -> None:
    outcomes = [drawn(seed) for seed in range(20)]
    assert all(o.commits >= 1 for o in outcomes)
    total = sum((o.messages + o.counts for o in outcomes), Counter())
    for what in (*BLOCKING.kinds, "reads of overwritten versions", "values discarded"):
        assert total[what], what
    assert total["commits held back for a consistent cut"]


@pytest.mark.parametrize("coalescing", [False, True])
def test_the_grid_of_figure_3b(coalescing: bool) -> None:
    """2 x 5 target nodes: each node of m2 pushes to 5, each of m3 to 2; every PUT has two FETCHes."""
    program = paper("cumulus-3.1b")
    layout = uniform_layout(program, {"m1": (1, 2, 5), "m2": (2,), "m3": (5,)}, 17)
    case = one_after_the_other(BLOCKING, program, layout, [("s", (1,)), ("t", (1,)), ("r", (7,))])
    case = replace(case, options={**case.options, "coalescing": coalescing})
    outcome = run_case(case, BLOCKING, record=True)
    about = [s for s in outcome.trace if s.message.about() == (Version(1, 0, 3),)]
    pushes = Counter(s.sender for s in about if isinstance(s.message, Push))
    assert sorted(pushes.values()) == [2] * 5 + [5] * 2
    puts = [s.message for s in about if isinstance(s.message, Put)]
    assert [part.fetches for message in puts for part in message.parts] == [2] * 10
    fetches = [s.message for s in about if isinstance(s.message, Fetch)]
    assert len(fetches) == (7 if coalescing else 20)
    assert sum(len(message.parts) for message in fetches) == 20


@pytest.mark.parametrize("semantics", ["SNAPSHOT", "SEQUENTIAL"])
def test_the_two_statements_of_section_4_1(semantics: str) -> None:
    """With m3[4] = 2 and m3[5] = 1, R(1, 4) and R(1, 5) give m1 = 2 and m2[1] = 3; nothing is ever corrected."""
    program = paper("cumulus-4.1", semantics)
    layout = uniform_layout(program, {"m2": (2,), "m3": (2,)}, 5)
    events = [("s", (4,)), ("s", (4,)), ("s", (5,)), ("r", (1, 4)), ("r", (1, 5))]
    outcome = run_case(one_after_the_other(BLOCKING, program, layout, events), BLOCKING)
    assert outcome.system is not None
    maps = outcome.system.maps()
    assert maps["m1"] == {(): 2}
    assert maps["m2"] == {(1,): 3}


def test_collation_is_a_natural_join() -> None:
    """The join of the Cumulus paper's Figure 5, and one value in the tables of two references."""
    program = check(
        parse("""RELATION r(x INT); MAP t[a INT, b INT] : INT; MAP m[a INT] : INT; MAP n[b INT] : INT; MAP q[] : INT;
        ON +r(x) { t[a, b] += m[a] * n[b]; q[] += m[x] * m[7] }""")
    )
    layout = uniform_layout(program, {}, 2)
    trigger, env = program.triggers[0], {"x": 7}
    got = [Pushed("m", False, {(1,): 1, (2,): 2}), Pushed("n", False, {(3,): 2})]
    assert collate(program, layout, trigger, env, 0, Segment("t", (0, 0)), got) == {(1, 3): 2, (2, 3): 4}
    assert collate(program, layout, trigger, env, 1, Segment("q", ()), [Pushed("m", False, {(7,): 3})]) == {(): 9}


def test_only_what_a_partition_needs_is_pushed() -> None:
    """A loop variable's wildcard is cut to the interval of the partition that reads: no value is pushed twice."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (1, 4), "m2": (2,)}, 6)
    events = [("s", (b,)) for b in range(9)] + [("r", (1,))]
    outcome = run_case(one_after_the_other(BLOCKING, program, layout, events), BLOCKING, record=True)
    pushes = [s.message for s in outcome.trace if isinstance(s.message, Push)]
    pushed = Counter(k for m in pushes for part in m.parts for values in part.values for k in values.entries)
    assert pushed == {(b,): 1 for b in range(9)}


def test_what_a_program_starts_with_is_version_0() -> None:
    program = check(
        parse("""RELATION r(a INT); MAP m[a INT] : INT; MAP q[a INT] : INT;
        ON START { m[1] += 5; m[2] += 7 } ON +r(a) { q[a] += m[a]; m[a] += 1 }""")
    )
    layout = uniform_layout(program, {"m": (2,), "q": (3,)}, 4)
    outcome = run_case(
        one_after_the_other(BLOCKING, program, layout, [("r", (1,)), ("r", (2,)), ("r", (1,))]), BLOCKING
    )
    assert outcome.system is not None
    assert outcome.system.maps() == {"m": {(1,): 7, (2,): 8}, "q": {(1,): 11, (2,): 7}}


def test_wildcards_match_their_part_of_the_line() -> None:
    halves = [Reference("m", (Wildcard(*half), 5), False) for half in ((0, PLACES // 2), (PLACES // 2, PLACES))]
    for value in range(20):
        assert sum(check_match(ref, (value, 5)) for ref in halves) == 1
        assert not any(check_match(ref, (value, 6)) for ref in halves)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_spatial_index_says_what_the_directive_table_says(choose: random.Random) -> None:
    """Two algorithms, the system section's and Figure 4's: same targets, same reads, by node."""
    program = random_program(choose, acyclic=False)
    layout = random_layout(program, choose.randint(1, 8), choose)
    tables = Tables(program, layout)
    for event, index in indexes(program, layout).items():
        table = tables.by_event[event]
        for _ in range(8):
            env = env_of(index.trigger, tuple(choose.randint(0, 50) for _ in index.trigger.params))
            ours = {
                (put.statement, put.target): {(fetch.node, i) for fetch in put.fetches for i, _ in fetch.refs}
                for put in index.entry(index.cell_of(env))
            }
            theirs = {
                (write.statement, write.target): {(layout.owner[r.source], r.read) for r in write.reads}
                for write in table.directive(table.class_of(env)).writes
            }
            assert ours == theirs


def test_the_index_can_be_generated_beforehand() -> None:
    """Cuts in halves and in thirds make four intervals, not six; all entries are there."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (2, 3), "m2": (2,)}, 4)
    (index, other) = indexes(program, layout).values()
    assert len(list(map(index.entry, index.cells()))) == 2
    assert len(list(map(other.entry, other.cells()))) == 2
    puts = index.entry((0,))
    assert [p.target for p in puts] == [Segment("m1", (0, i)) for i in range(3)]
    assert [len(p.fetches) for p in puts] == [1, 2, 1]


@pytest.mark.parametrize("seed", sampled(range(5), 2))
def test_after_reads_see_the_events_own_writes(seed: int) -> None:
    run_case(burst(BLOCKING, after_program(), seed), BLOCKING)


class _Alone:
    """A node's surroundings in which nothing happens; ``sent`` is what it sent."""

    name, now = "node", 0.0

    def __init__(self) -> None:
        self.sent: list[tuple[str, Message]] = []

    def send(self, receiver: str, message: Message) -> None:
        self.sent.append((receiver, message))

    def after(self, delay_s: float, message: Message, *, background: bool = False) -> None:
        raise NotImplementedError

    def spend(self, seconds: float) -> None:
        pass

    def report(self, what: object) -> None:
        pass


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 3), st.randoms(use_true_random=False))
def test_messages_may_come_in_any_order(seed: int, choose: random.Random) -> None:
    """A node gets its messages of a whole run shuffled, and sends and ends up with the same."""
    case = burst(BLOCKING, paper("cumulus-2.1"), seed)
    outcome = run_case(case, BLOCKING, record=True)
    assert outcome.system is not None
    maps = outcome.system.maps()
    for n in case.layout.nodes:
        got = [s for s in outcome.trace if s.receiver == node(n) and isinstance(s.message, (Put, Fetch, Push))]
        choose.shuffle(got)
        here = _Alone()
        alone = Node(here, case, n, indexes(case.program, case.layout))
        for sent in got:
            alone.receive(sent.message, sent.sender)
        pushed = [
            (s.receiver, repr(s.message)) for s in outcome.trace if s.sender == node(n) and s.message.kind == "Push"
        ]
        assert sorted((to, repr(m)) for to, m in here.sent) == sorted(pushed)
        assert not alone.puts
        for segment, versions in alone.segments.items():
            found = maps.get(segment.map, {})
            mine = {k: u for k, u in found.items() if case.layout.segment_of(segment.map, k) == segment}
            assert versions.as_of(alone.done) == mine


def _commit_by_the_papers_rule_alone(self: Switch, incomplete: list[Any]) -> Any:
    return self._lowest_fetches(incomplete)


def _commit_the_highest(self: Switch, incomplete: list[Any]) -> Any:
    tags = [(n, tag) for d in incomplete for *_, fetches in d.puts for n, tag in fetches]
    return {n: max([tag for m, tag in tags if m == n], default=self.numbers[n]) for n in self.numbers}


def _answer_at_once(self: Node) -> None:
    for version, fetch in self.fetches:
        values = tuple(self._read(ref, fetch.number) for ref in fetch.refs)
        self.answers.setdefault((fetch.node, version), []).append(PushPart(fetch.put, values))
    self.fetches = []


def _read_the_newest(self: Node, ref: Reference, number: int) -> Pushed:
    return READ(self, ref, self.done)


def _overtake(self: Node) -> None:
    self._answer()
    while ready := [number for number in sorted(self.puts) if self._ready(number)]:
        self._execute(ready[-1])
        self._answer()
    self._push()


def _lose_a_push(self: Node, message: Message) -> None:
    if isinstance(message, Push) and len(message.parts) > 1:
        message = replace(message, parts=message.parts[1:])
    BUFFER(self, message)


def _one_number_per_node_and_event(self: Switch, event: Any, entry: Any, before: Any) -> Any:
    for to, put, fetches in PARTS(self, event, entry, before):
        self.numbers[to] = before[to] + 1
        yield to, replace(put, number=before[to] + 1), fetches


def _one_fetch_fewer(self: Switch, event: Any, entry: Any, before: Any) -> Any:
    for to, put, fetches in PARTS(self, event, entry, before):
        yield to, replace(put, fetches=max(put.fetches - 1, 0)), fetches


READ, BUFFER, PARTS = Node._read, Node._buffer, Switch._parts
DISCARD, AS_OF, INTERSECTING, MATCHES = Versions.discard, Versions.as_of, messages.intersecting, check_match

PLANTED: dict[str, tuple[Any, str, Any, str]] = {
    "a PUT is executed before its PUSHes are there": (Node, "_ready", lambda s, n: n in s.puts, "PUSHes for"),
    "a PUT overtakes another": (Node, "_go_on", _overtake, "was the last one complete"),
    "a PUSH is lost": (Node, "_buffer", _lose_a_push, ""),
    "a FETCH is answered before its version is complete": (Node, "_answer", _answer_at_once, ""),
    "a FETCH is answered with the newest values": (Node, "_read", _read_the_newest, ""),
    "a PUT says one FETCH fewer": (Switch, "_parts", _one_fetch_fewer, ""),
    "the PUTs of an event to one node share a number": (Switch, "_parts", _one_number_per_node_and_event, ""),
    "a FETCH is tagged with its own PUT": (Switch, "_tags", lambda s, *_: s.numbers, ""),
    "all statements read what was before the event": (Switch, "_tags", lambda s, f, before, now: before, "serially"),
    "all statements read what was before them": (Switch, "_tags", lambda s, f, before, now: now, "serially"),
    "COMMIT from the highest FETCH": (Switch, "_commit_point", _commit_the_highest, ""),
    "COMMIT from the FETCHes alone": (Switch, "_commit_point", _commit_by_the_papers_rule_alone, "snapshot"),
    "too much is discarded": (Versions, "discard", lambda s, v: DISCARD(s, v + 1), "serially"),
    "nothing is discarded": (Versions, "discard", lambda s, v: 0, "keeps"),
    "a version is compared the wrong way round": (Versions, "as_of", lambda s, v, r=None: AS_OF(s, v - 1, r), "serially"),
    "a partition is not read": (messages, "intersecting", lambda i, n: INTERSECTING(i, n)[: max(n - 1, 1)], "the directive table"),
    "a wildcard matches nothing": (messages, "check_match", lambda r, k: r.keys == k, "serially"),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(PLANTED, 3))
def test_planted_bugs_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, attribute, wrong, expected = PLANTED[name]
    monkeypatch.setattr(place, attribute, wrong)
    found = complaint(drawn)
    assert found
    assert expected in found


def test_an_after_read_of_what_was_before_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = after_program()
    monkeypatch.setattr(Switch, "_tags", lambda self, fetch, before, now: before)
    assert "serially" in complaint(lambda seed: run_case(burst(BLOCKING, program, seed), BLOCKING))


def test_statements_that_read_after_others_go_out_by_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the program some would miss what the event itself writes."""
    program = after_program()
    monkeypatch.setattr(Switch, "_depth", lambda self, put: (0, put.statement))
    assert complaint(lambda seed: run_case(burst(BLOCKING, program, seed), BLOCKING))
