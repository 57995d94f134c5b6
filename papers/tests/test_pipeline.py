"""Pipeline scheduling ends in the serial interpreter's state, whatever the clocks say, and every planted bug is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bursts import after_program, burst
from cumulus_papers.case import STATEMENTS, Arrival, Case, Stamp, Version, paper
from cumulus_papers.kernel import Disorder
from cumulus_papers.layout import uniform_layout
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.protocols import pipeline as nodes
from cumulus_papers.protocols.pipeline import (
    Answered,
    Clock,
    CurrentTick,
    Evaluated,
    MaximumTick,
    Node,
    PipelineSystem,
    Push,
    Switch,
    TentativePut,
)
from cumulus_papers.run import Outcome, Wrong, node, run_case
from cumulus_papers.sweep import draw_case
from m3 import parse
from m3.check import check
from m3.errors import ProgramError
from m3.program import Program
from tests.support.sampling import sampled

PIPELINE = PROTOCOLS["pipeline"]
#: A planted bug must be found in one of these.
SEEDS = range(40)
#: Depths 2, 1, 0, as M1, M2 and M4 have in the system section's figure of the dataflow.
CHAIN = """PROGRAM chain SEMANTICS {semantics};
    RELATION r(a INT);
    MAP m1[a INT] : INT; MAP m2[a INT] : INT; MAP m4[a INT] : INT;
    ON +r(a) {{ m4[a] += 1; m2[a] += 10 * m4[a]; m1[a] += m2[a]; m1[a] += 100 * m4[a] }}"""


def chain(semantics: str = "SEQUENTIAL") -> Program:
    return check(parse(CHAIN.format(semantics=semantics)))


def case_of(program: Program, at_s: Sequence[float], layout_nodes: int = 3, **options: Any) -> Case:
    """Events r(1) of one switch at these times; a tick is a second, and an epoch has eight."""
    arrivals = tuple(Arrival(at, 0, 1, "r", (1,)) for at in at_s)
    chosen = {"ticks": 8, "skew": 0, "coalescing": False} | options
    return Case(
        0, "pipeline", program, uniform_layout(program, {}, layout_nodes), arrivals, epoch_s=8.0, options=chosen
    )


def watched(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, list[Any]]:
    """A run, and all that was told to those who watch."""
    told: list[Any] = []
    watch = PipelineSystem.watch

    def listen(self: Any, now_s: float, name: str, what: object) -> None:
        told.append(what)
        watch(self, now_s, name, what)

    monkeypatch.setattr(PipelineSystem, "watch", listen)
    return run_case(case, PIPELINE, record=True), told


def drawn(seed: int) -> Outcome:
    return run_case(draw_case(seed, PIPELINE), PIPELINE)


def complaint() -> str:
    """What is said of the first seed that goes wrong."""
    for seed in SEEDS:
        try:
            drawn(seed)
        except (Wrong, AssertionError) as error:
            return str(error)
    return ""


def test_random_cases_end_as_they_do_serially() -> None:
    outcomes = [drawn(seed) for seed in range(20)]
    assert all(o.commits == o.case.epochs for o in outcomes)
    total = sum((o.messages + o.counts for o in outcomes), Counter())
    for what in (*PIPELINE.kinds, "posted later than answered"):
        assert total[what], what


@pytest.mark.parametrize("semantics", ["SEQUENTIAL", "SNAPSHOT"])
def test_the_example_of_section_5(semantics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depths 2, 1, 0: what is posted at 2 updates M1 in tick 4, with M2 as of tick 3 and M4 as of tick 2."""
    outcome, told = watched(case_of(chain(semantics), [2.5]), monkeypatch)
    (version,) = outcome.stamped
    assert version == Version(2, 0, 1)
    assert {(e.map, e.tick) for e in told if isinstance(e, Evaluated)} == {("m4", 2), ("m2", 3), ("m1", 4)}
    assert {(e.map, e.tick) for e in told if isinstance(e, Answered)} == {("m4", 2), ("m2", 3)}
    pushes = {int(s.sent_s) for s in outcome.trace if isinstance(s.message, Push)}
    assert pushes == {3, 4}  # ticks 2 and 3 are over then


def test_a_tick_is_read_up_to_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three events of one tick: each reads what the smaller sequences wrote, and not the tick as a whole."""
    outcome, _ = watched(case_of(chain("SNAPSHOT"), [2.1, 2.2, 2.3]), monkeypatch)
    assert {v.epoch for v in outcome.stamped} == {2}
    assert outcome.system is not None
    assert outcome.system.maps() == {
        "m4": {(1,): 3},
        "m2": {(1,): 0 + 10 + 20},
        "m1": {(1,): 0 + 0 + 10 + 0 + 100 + 200},
    }


def test_events_are_posted_at_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks up to three ticks apart: all nodes hear of the tick of the foremost, and each answers with its own."""
    case = case_of(chain(), [0.5, 3.5, 4.0], skew=3)
    outcome, _ = watched(case, monkeypatch)
    ticks = [Clock.of(case, n).tick(0.5 + 1e-3) for n in case.layout.nodes]
    assert len(set(ticks)) > 1
    answers = [s.message.tick for s in outcome.trace if isinstance(s.message, CurrentTick) and s.message.sequence == 1]
    assert sorted(answers) == sorted(ticks)
    assert [v.epoch for v in outcome.stamped if v.sequence == 1] == [max(ticks)]


def test_an_event_costs_three_messages_per_node_and_one_per_push() -> None:
    outcome = run_case(case_of(chain(), [0.5, 0.6]), PIPELINE)
    assert outcome.messages == {"TentativePut": 6, "CurrentTick": 6, "MaximumTick": 6, "Push": 6}
    together = run_case(case_of(chain(), [0.5, 0.6], coalescing=True), PIPELINE)
    assert together.messages["Push"] == 3  # m4 to m2 and to m1, m2 to m1


def test_nodes_that_have_no_part_are_not_asked() -> None:
    program = paper("cumulus-3.1b")
    layout = uniform_layout(program, {"m1": (1, 2, 5), "m2": (2,), "m3": (5,)}, 17)
    arrivals = tuple(Arrival(at, 0, 1, r, (1,)) for at, r in ((0.1, "s"), (0.2, "t"), (0.3, "r")))
    case = replace(case_of(program, []), layout=layout, arrivals=arrivals)
    outcome = run_case(case, PIPELINE, record=True)
    asked = Counter(s.message.sequence for s in outcome.trace if isinstance(s.message, TentativePut))
    assert asked == {1: 1, 2: 1, 3: 17}
    assert outcome.messages["Push"] == 20


@pytest.mark.parametrize("skew", [0, 0.7, 5, 40])
def test_clocks_may_differ_by_anything(skew: float) -> None:
    """Far more than loosely: everything only takes longer."""
    case = draw_case(3, PIPELINE)
    run_case(replace(case, options={**case.options, "skew": skew, "ticks": 8}), PIPELINE)


def test_cyclic_programs_are_refused() -> None:
    case = replace(case_of(paper("semester-3.2"), []))
    with pytest.raises(ProgramError, match="cycle"):
        run_case(case, PIPELINE)


def test_two_switches_share_one_order() -> None:
    """Events of two switches in one tick: the smaller switch comes first, whoever was posted first."""
    program = chain("SNAPSHOT")
    arrivals = (Arrival(2.1, 1, 1, "r", (1,)), Arrival(2.4, 0, 1, "r", (1,)))
    case = replace(case_of(program, []), arrivals=arrivals, coordinators=2, disorder=Disorder(delay_s=1e-3))
    outcome = run_case(case, PIPELINE)
    assert sorted(outcome.stamped) == [Version(2, 0, 1), Version(2, 1, 1)]


@pytest.mark.parametrize("seed", sampled(range(5), 2))
def test_after_reads_see_the_events_own_writes(seed: int) -> None:
    run_case(burst(PIPELINE, after_program(), seed), PIPELINE)


def _push_at_once(self: Node, version: Version) -> None:
    _, message = self.undecided[version.coordinator, version.sequence]
    kept = replace(message, fetches=())
    self.undecided[version.coordinator, version.sequence] = (
        self.undecided[version.coordinator, version.sequence][0],
        kept,
    )
    POST(self, version)
    self._push(version.epoch, [(version, fetch) for fetch in message.fetches], {})


def _post_at_the_first(self: Switch, sequence: int, tick: int) -> None:
    ticks = self.tentative[sequence].ticks
    SWITCH_POST(self, sequence, next(iter(ticks.values()), 0))


def _own_tick(self: Node, version: Version) -> None:
    reply, message = self.undecided.pop((version.coordinator, version.sequence))
    own = version._replace(epoch=reply)
    self.undecided[own.coordinator, own.sequence] = reply, message
    POST(self, own)


def _may_close(*, clock: bool = True, decided: bool = True, pushed: bool = True) -> Any:
    """The condition, with parts left out."""

    def may_close(self: Node, tick: int) -> bool:
        waits = [len(self.pushes.get((v, p.number), ())) < p.fetches for v, _, p in self.schedule[tick].updates]
        return (
            (not clock or self.clock.tick(self.here.now) > tick)
            and (not decided or all(reply > tick for reply, _ in self.undecided.values()))
            and (not pushed or not any(waits))
        )

    return may_close


def _one_tick_deep(self: Node, version: Version, name: str) -> int:
    self.depths = {**self.depths, name: min(self.depths[name], 1)}
    return DUE(self, version, name)


def _keep_early(self: Node, through: int, level: int) -> None:
    kept = self.snapshots.setdefault(through, {})
    if not kept:
        kept.update((s, dict(e)) for s, e in self.segments.items())
    if level == max(self.depths[s.map] for s in self.segments):
        self.here.report(nodes.Committed(Version(through, STATEMENTS, 0), kept))


def _lose_a_push(self: Node, message: Any, sender: str) -> None:
    if isinstance(message, Push) and message.parts[0].version.sequence == 7:
        message = Push(message.parts[1:])
    RECEIVE(self, message, sender)


POST, SWITCH_POST, DUE, RECEIVE = Node._post, Switch._post, Node._due, Node.receive
UNBOUNDED = Stamp(Version(1 << 40, 0, 0), 0)

PLANTED: dict[str, tuple[Any, str, Any, str]] = {
    "a PUSH is not deferred": (Node, "_post", _push_at_once, "when only tick"),
    "the first tick returned instead of the maximum": (Switch, "_post", _post_at_the_first, "and got an event posted at"),
    "a node takes its own tick": (Node, "_post", _own_tick, "which no switch posted"),
    "a tick is closed that still goes on": (Node, "_may_close", _may_close(clock=False), "was closed"),
    "a tick is closed with tentative PUTs": (Node, "_may_close", _may_close(decided=False), "was closed"),
    "a tick is closed without its PUSHes": (Node, "_may_close", _may_close(pushed=False), "PUSHes for"),
    "depths are not told apart": (Node, "_due", _one_tick_deep, ""),
    "all of a tick is read": (nodes, "read_bound", lambda *_: UNBOUNDED, "serially"),
    "nothing of the own tick is read": (nodes, "read_bound", lambda p, v, s, a: Stamp(v, -1)._replace(version=Version(v.epoch, -1, 0)), "serially"),
    "statements of an event are not told apart": (nodes, "read_bound", lambda p, v, s, a: Stamp(v, 0), "serially"),
    "a snapshot of all maps at one tick": (Node, "_keep", _keep_early, "snapshot"),
    "a PUSH is lost": (Node, "receive", _lose_a_push, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(PLANTED, 3))
def test_planted_bugs_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, attribute, wrong, expected = PLANTED[name]
    monkeypatch.setattr(place, attribute, wrong)
    found = complaint()
    assert found
    assert expected in found


def test_participants_hear_of_the_same_tick() -> None:
    """Of each event, all nodes that were asked get one and the same maximum, which none of them had passed."""
    case = draw_case(1, PIPELINE)
    outcome = run_case(case, PIPELINE, record=True)
    told: dict[tuple[int, int], set[int]] = {}
    for sent in outcome.trace:
        if isinstance(sent.message, MaximumTick):
            v = sent.message.version
            told.setdefault((v.coordinator, v.sequence), set()).add(v.epoch)
    assert told
    assert all(len(ticks) == 1 for ticks in told.values())
    assert {s.receiver for s in outcome.trace if isinstance(s.message, MaximumTick)} <= {
        node(n) for n in case.layout.nodes
    }
