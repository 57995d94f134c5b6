"""What a protocol does in cases made by hand, to the millisecond or the message: what random cases cannot know.

A check gets the protocol as a :class:`~cumulus_papers.run.Spec`, so that mutants of it can be looked at as well (:mod:`mutants`),
whose classes are others: messages and reports are known by their names here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bursts import AFTER, after_program, burst
from cumulus_papers.case import Arrival, Case, paper
from cumulus_papers.kernel import HANDLED_MAX, Costs, Simulation
from cumulus_papers.layout import Layout, Segment
from cumulus_papers.run import Outcome, Spec, run_case
from m3 import parse
from m3.check import check
from m3.program import Program

__all__ = ["SCRIPTED", "Check"]

Check = Callable[[Spec], None]
#: Protocol -> its checks.
SCRIPTED: dict[str, list[Check]] = {}
#: What handling and travelling take, at most.
SOON_S = 2e-3

#: q (depth 2) from p (1) from m3 and m5 (0), each at a node of its own.
CHAIN = """PROGRAM chain; RELATION r(a INT); RELATION s(a INT); RELATION t(a INT);
    MAP q[a INT] : INT; MAP p[a INT] : INT; MAP m3[a INT] : INT; MAP m5[a INT] : INT;
    ON +r(a) { q[a] += p[a] } ON +s(a) { p[a] += m3[a] * m5[a] } ON +t(a) { m3[a] += 1; m5[a] += 1 }"""
CHAINED = {"q": 0, "p": 1, "m3": 2, "m5": 3}
#: Five maps in a row feed a cycle of two, by the one or the other; all at different nodes.
FED = """PROGRAM fed; RELATION r(a INT); RELATION s(a INT); MAP m1[a INT] : INT; MAP m2[a INT] : INT;
    MAP f1[a INT] : INT; MAP f2[a INT] : INT; MAP f3[a INT] : INT; MAP f4[a INT] : INT; MAP f5[a INT] : INT;
    ON +r(a) {{ f1[a] += 1 }}
    ON +s(a) {{ m1[a] += m2[a]; m2[a] += m1[a]; {fed}[a] += f5[a];
               f2[a] += f1[a]; f3[a] += f2[a]; f4[a] += f3[a]; f5[a] += f4[a] }}"""


def chain() -> Program:
    """The chain."""
    return check(parse(CHAIN))


def scripted(protocol: str) -> Callable[[Check], Check]:
    """Note a check of a protocol."""

    def add(made: Check) -> Check:
        SCRIPTED.setdefault(protocol, []).append(made)
        return made

    return add


def made(
    spec: Spec,
    program: Program,
    owner: Mapping[str, int],
    events: Iterable[tuple[float, str]] = (),
    coordinators: int = 1,
    epochs: int = 1,
    **options: Any,
) -> Case:
    """Maps in one segment each, inserts of rows of ones, no disorder; the first value of each option, if not said otherwise."""
    cuts = {m.name: (1,) * len(m.keys) for m in program.maps}
    layout = Layout(cuts, {Segment(name, (0,) * len(cuts[name])): node for name, node in owner.items()})
    rows = {r.name: (1,) * len(r.columns) for r in program.relations}
    arrivals = tuple(Arrival(at_s, 0, 1, name, rows[name]) for at_s, name in events)
    chosen = {**{name: values[0] for name, values in spec.options.items()}, **options}
    return Case(1, spec.name, program, layout, arrivals, coordinators, 0.1, epochs, options=chosen)


def observed(spec: Spec, case: Case) -> tuple[Outcome, list[tuple[float, str, Any]]]:
    """A run, and what the actors have told, with the time."""
    told: list[tuple[float, str, Any]] = []
    simulation = Simulation(case.seed, case.costs, case.disorder, handled_max=HANDLED_MAX // 100)
    simulation.watchers.append(lambda now_s, name, what: told.append((now_s, name, what)))
    return run_case(case, spec, record=True, simulation=simulation), told


# Eventual consistency


def switches(spec: Spec, how: str) -> list[tuple[str, int, float]]:
    """When each of three coordinators begins each of two epochs."""
    case = made(spec, paper("cumulus-4.1"), {"m1": 1, "m2": 1, "m3": 2}, coordinators=3, epochs=2, skew_s=0.005)
    case = replace(case, options={**case.options, "epochs": how})
    told = observed(spec, case)[1]
    return [(name, what.epoch, at_s) for at_s, name, what in told if type(what).__name__ == "Switched"]


@scripted("eventual")
def the_token_is_held_for_a_period(spec: Spec) -> None:
    """A third of an epoch each; the token's travelling comes on top."""
    found = switches(spec, "staggered")
    assert [(name, epoch) for name, epoch, _ in found] == [(f"coordinator {i}", e) for e in (1, 2) for i in range(3)]
    times = [0.0, *(at_s for *_, at_s in found)]
    assert [b - a for a, b in pairwise(times)] == pytest.approx([0.1 / 3] * 6, abs=SOON_S)


@scripted("eventual")
def aligned_clocks_are_skewed_once(spec: Spec) -> None:
    found = {(name, epoch): at_s for name, epoch, at_s in switches(spec, "aligned")}
    expected = {(f"coordinator {i}", e): e * 0.1 + i * 0.005 for i in range(3) for e in (1, 2)}
    assert found == pytest.approx(expected, abs=SOON_S)


@scripted("eventual")
def every_third_epoch_and_the_last_is_collected(spec: Spec) -> None:
    case = made(spec, chain(), CHAINED, [(0.01, "t")], epochs=5, collect_every=3)
    outcome, told = observed(spec, case)
    assert {what.epoch for *_, what in told if type(what).__name__ == "Completed"} == {2, 4}
    assert outcome.commits == 2


@scripted("eventual")
def while_only_clocks_are_running_it_is_quiet(spec: Spec) -> None:
    events = [(0.02, "t"), (0.04, "s"), (0.06, "r")]
    assert observed(spec, made(spec, chain(), CHAINED, events))[0].counts["quiet before the end"] >= len(events)


def waits(spec: Spec, program: Program, owner: Mapping[str, int], events: str, **options: Any) -> dict[str, float]:
    """Map -> how long after hearing of an event its deltas go out; events are far apart."""
    case = made(spec, program, owner, [(0.02 * (i + 1), e) for i, e in enumerate(events)], epochs=3, **options)
    outcome, _ = observed(spec, case)
    heard = {(s.receiver, s.message.about()): s.arrived_s for s in outcome.trace if s.message.kind == "Notify"}
    pushes: list[Any] = [s for s in outcome.trace if s.message.kind == "Push"]
    return {s.message.deltas[0].segment.map: s.sent_s - heard[s.sender, s.message.about()] for s in pushes}


@scripted("eventual")
def a_statement_is_held_back_a_round_for_each_level(spec: Spec) -> None:
    found = waits(spec, chain(), CHAINED, "tsr", buffer_s=0.0, wait_s=0.004, round_s=0.002)
    assert found == pytest.approx({"m5": 0.004, "p": 0.006, "q": 0.008}, abs=5e-4)


@scripted("eventual")
def buffers_send_after_their_period(spec: Spec) -> None:
    uniform, intelligent = (waits(spec, chain(), CHAINED, "tsr", buffer_s=0.007, intelligent=i) for i in (False, True))
    assert uniform == pytest.approx(dict.fromkeys(("m5", "p", "q"), 0.007), abs=5e-4)
    assert intelligent == pytest.approx(
        {"m5": 0.004, "p": 0.008, "q": 0.012}, abs=5e-4
    )  # on average, m3 included, 0.007


@scripted("eventual")
def cycles_have_a_least_period(spec: Spec) -> None:
    for buffer_s, period_s in ((0.0, 0.004), (0.006, 0.006)):
        found = waits(spec, paper("semester-3.2"), {"m1": 1, "m2": 0}, "usts", buffer_s=buffer_s, cycle_buffer_s=0.004)
        assert found == pytest.approx({"m1": period_s, "m2": period_s}, abs=5e-4)


@scripted("eventual")
def what_is_held_back_is_released_when_the_epoch_is_collected(spec: Spec) -> None:
    case = made(spec, chain(), CHAINED, [(0.09, "t"), (0.15, "t")], buffer_s=0.0, wait_s=0.05)
    sent = [s.sent_s for s in observed(spec, case)[0].trace if s.message.kind == "Push"]
    assert sent == pytest.approx([0.1, 0.2], abs=SOON_S)


@scripted("eventual")
def a_cycle_waits_for_what_feeds_it(spec: Spec) -> None:
    """What feeds it is still buffered when the epoch ends: no round may pass the node that reads it before its checkpoint is there, be it the
    leader (which computes m1) or the other."""
    owner = {"m1": 1, "m2": 0, "f1": 2, "f2": 3, "f3": 4, "f4": 5, "f5": 6}
    events = [(i * 1e-4, e) for i, e in enumerate("rssssssss")]
    for fed in ("m1", "m2"):
        observed(spec, made(spec, check(parse(FED.format(fed=fed))), owner, events, buffer_s=0.5))


@scripted("eventual")
def rounds_go_on_until_nothing_is_under_way(spec: Spec) -> None:
    """All deltas are still buffered when the epoch ends: the first round flushes u's, which corrects t's, which corrects the second s's."""
    case = made(
        spec, paper("semester-3.2"), {"m1": 1, "m2": 0}, [(i * 1e-4, e) for i, e in enumerate("usts")], buffer_s=0.5
    )
    outcome, _ = observed(spec, case)
    assert outcome.counts["rounds"] == 4
    assert outcome.messages["PartialCheckpoint"] == 2 * (4 + 1)


@scripted("eventual")
def rounds_count_all_epochs_that_are_not_settled(spec: Spec) -> None:
    """The same, collected with the epoch after: its rounds are about both."""
    events = [(i * 1e-4, e) for i, e in enumerate("usts")]
    case = made(spec, paper("semester-3.2"), {"m1": 1, "m2": 0}, events, epochs=2, buffer_s=0.5, collect_every=2)
    assert observed(spec, case)[0].counts["rounds"] == 4


@scripted("eventual")
def what_an_event_writes_before_is_no_correction(spec: Spec) -> None:
    text = """PROGRAM own SEMANTICS SEQUENTIAL; RELATION r(a INT); MAP m1[a INT] : INT; MAP m2[a INT] : INT;
        ON +r(a) { m2[a] += 1; m1[a] += m2[a] }"""
    outcome, _ = observed(spec, made(spec, check(parse(text)), {"m1": 0, "m2": 0}, [(0.01, "r"), (0.01, "r")]))
    assert (outcome.counts["first"], outcome.counts["corrections"]) == (4, 0)


@scripted("eventual")
def epochs_may_be_complete_before_the_one_before_is_over(spec: Spec) -> None:
    """Messages take half an epoch, and checkpoints three of them."""
    events = [(0.02 * i, "tsr"[i % 3]) for i in range(20)]
    case = made(spec, chain(), CHAINED, events, epochs=4)
    for latency_s in (0.05, 0.15):
        assert observed(spec, replace(case, costs=Costs(latency_s=latency_s)))[0].commits == 4


# The blocking switch


@scripted("blocking")
def reads_see_what_their_statements_do(spec: Spec) -> None:
    """With AFTER, and without; of all orders of statements."""
    sequential = check(parse(AFTER.replace("SNAPSHOT", "SEQUENTIAL")))
    for seed in range(3):
        run_case(burst(spec, after_program(), seed), spec)
        run_case(burst(spec, sequential, seed), spec)


@scripted("blocking")
def what_a_program_starts_with_is_version_0(spec: Spec) -> None:
    text = """RELATION r(a INT); MAP m[a INT] : INT; MAP q[a INT] : INT;
        ON START { m[1] += 5; m[2] += 7 } ON +r(a) { q[a] += m[a]; m[a] += 1 }"""
    outcome, _ = observed(spec, made(spec, check(parse(text)), {"m": 0, "q": 1}, [(0.01, "r"), (0.02, "r")]))
    assert outcome.system is not None
    assert outcome.system.maps() == {"m": {(1,): 7, (2,): 7}, "q": {(1,): 11}}


@scripted("blocking")
def only_the_events_own_values_are_pushed(spec: Spec) -> None:
    """Of several in one partition."""
    case = made(spec, chain(), CHAINED, [(0.01 * i, "tttsrsr"[i]) for i in range(7)])
    run_case(replace(case, arrivals=tuple(replace(a, row=(1 + i % 3,)) for i, a in enumerate(case.arrivals))), spec)


@scripted("blocking")
def events_are_of_the_epoch_in_which_they_come(spec: Spec) -> None:
    events = [(0.05, "t"), (0.15, "t"), (0.25, "t"), (0.35, "t")]
    outcome = run_case(made(spec, chain(), CHAINED, events, epochs=3), spec)
    assert [version.epoch for version in sorted(outcome.stamped)] == [0, 1, 2, 3]


@scripted("blocking")
def while_only_clocks_are_running_the_switch_is_quiet(spec: Spec) -> None:
    events = [(0.1 + 0.01 * (i + 1), "t") for i in range(5)]  # after the first round
    assert (
        run_case(made(spec, chain(), CHAINED, events, epochs=3), spec).counts["quiet before the end"] >= len(events) - 1
    )
