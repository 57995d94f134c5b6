"""Eventual consistency with periodic snapshots (Cumulus paper, section 4): the worked examples, the invariants, and what planted bugs do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from cumulus_papers.case import Arrival, Case, Stamp, Version, paper
from cumulus_papers.layout import Layout, Segment
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.protocols.eventual.coordinator import Checkpoints, Coordinator, CycleState, collected
from cumulus_papers.protocols.eventual.expected import Expected
from cumulus_papers.protocols.eventual.messages import (
    Delta,
    EpochComplete,
    PartialCheckpoint,
    Plan,
    Switched,
    Token,
)
from cumulus_papers.protocols.eventual.node import (
    Entry,
    History,
    Node,
    Outbox,
    Versioned,
    Want,
    compute,
    minus,
    periods,
)
from cumulus_papers.protocols.eventual.system import EVENTUAL, Eventual, corrections
from cumulus_papers.run import Entries, Outcome, Wrong, coordinator, node, run_case
from cumulus_papers.sweep import draw_case
from m3 import parse
from m3.check import check
from m3.program import Program
from m3.statements import Key
from scripted import a_cycle_waits_for_what_feeds_it, rounds_count_all_epochs_that_are_not_settled
from tests.support.sampling import sampled

BOTH = ("SNAPSHOT", "SEQUENTIAL")
DEFAULTS = {name: values[0] for name, values in EVENTUAL.options.items()}


def case_of(
    program: Program, owner: Mapping[str, int], arrivals: Iterable[Arrival], coordinators: int = 1, **options: Any
) -> Case:
    """Maps in one segment each, and no disorder."""
    cuts = {m.name: (1,) * len(m.keys) for m in program.maps}
    layout = Layout(cuts, {Segment(name, (0,) * len(cuts[name])): node for name, node in owner.items()})
    chosen = {**DEFAULTS, "buffer_s": 0.0, **options}
    return Case(1, "eventual", program, layout, tuple(arrivals), coordinators, 0.1, 1, options=chosen)


def run(case: Case) -> Outcome:
    """Run a case, and see that it is right."""
    return run_case(case, EVENTUAL)


# Figure 5


def test_compute_is_the_relational_cross_product() -> None:
    """{[A] -> 1, [B] -> 2} x {[C] -> 2} = {[A, C] -> 2, [B, C] -> 4}."""
    text = """RELATION r(x INT); MAP m[a STRING, c STRING] : INT; MAP s[a STRING] : INT; MAP t[c STRING] : INT;
        ON +r(x) { m[a, c] += s[a] * t[c] }"""
    program = check(parse(text))
    m, s, t = Segment("m", (0, 0)), Segment("s", (0,)), Segment("t", (0,))
    copies = Versioned({s: {("A",): 1, ("B",): 2}, t: {("C",): 2}})
    stamp = Stamp(Version(0, 0, 1), 0)
    wants = (Want((s,), (), (), stamp), Want((t,), (), (), stamp))
    entry = Entry(stamp, program.triggers[0].statements[0], {"x": 0}, wants, frozenset({m}))
    layout = Layout({"m": (1, 1), "s": (1,), "t": (1,)}, {})
    assert compute(program, layout, entry, copies) == {("A", "C"): 2, ("B", "C"): 4}


def test_cleanup_folds_the_version_itself_and_keeps_later_ones() -> None:
    """Figure 5's Cleanup deletes V' < V, and sums V' <= V: V itself would stay in the history, and count once more."""
    m, versions = Segment("m", ()), [Version(0, 0, i) for i in range(3)]
    copies, history = Versioned({m: {}}), History()
    statement = paper("cumulus-4.1").triggers[0].statements[0]
    for i, version in enumerate(versions):
        copies.insert(m, Stamp(version, 0), {(): 10**i})
        history.insert(Entry(Stamp(version, 0), statement, {}, (Want((m,), (), (), Stamp(version, 0)),), frozenset()))
    copies.cleanup(versions[1])
    history.cleanup(versions[1])
    assert [units for _, units in copies.segments[m][()]] == [11, 100]
    assert copies.below(m, Stamp(versions[2], 0)) == {(): 11}
    assert list(history.entries) == [Stamp(versions[2], 0)]
    assert [e.stamp.version for e in history.readers[m]] == [versions[2]]


@pytest.mark.parametrize("semantics", BOTH)
def test_the_example_of_section_4_1_is_corrected_once(semantics: str) -> None:
    """Node 1 stores m2 and processes updates of m1, node 2 stores m3 and processes updates of m2. Node 1 has processed both events
    before the first one's update of m2 arrives."""
    rows = [(0.00, "s", (4,)), (0.01, "s", (4,)), (0.02, "s", (5,)), (0.03, "r", (1, 4)), (0.03001, "r", (1, 5))]
    arrivals = [Arrival(at, 0, 1, relation, row) for at, relation, row in rows]
    case = case_of(paper("cumulus-4.1", semantics), {"m1": 1, "m2": 1, "m3": 2}, arrivals)
    outcome = run_case(case, EVENTUAL, record=True)
    first, second = Version(0, 0, 4), Version(0, 0, 5)
    sums = corrections(outcome)
    assert sums.correction == {(second, 0): {(): 2}}
    assert {e: d for e, d in sums.first.items() if e[0] >= first} == {(first, 1): {(1,): 2}, (second, 1): {(1,): 1}}
    assert isinstance(outcome.system, Eventual)
    assert [p.cause for p in outcome.system.pushed if p.cascade] == [Stamp(first, 1)]
    assert outcome.system.maps() == {"m1": {(): 2}, "m2": {(1,): 3}, "m3": {(4,): 2, (5,): 1}}
    told = [(s.message.about()[0], s.receiver) for s in outcome.trace if s.message.kind == "Notify"]
    assert [to for version, to in told if version == first] == ["node 1", "node 2"]
    assert [to for version, to in told if version < first] == ["node 2"] * 3  # nobody else


def test_when_the_system_quiesces_maps_are_right_without_a_commit() -> None:
    """Two coordinators, whose events reach a node in another order than theirs; all after the last collection."""
    arrivals = [Arrival(0.5, 1, 1, "r", (1, 4)), Arrival(0.5005, 0, 1, "s", (4,)), Arrival(0.501, 1, 1, "r", (1, 4))]
    outcome = run(case_of(paper("cumulus-4.1"), {"m1": 1, "m2": 1, "m3": 2}, arrivals, coordinators=2))
    first, second = Version(1, 1, 1), Version(1, 1, 2)
    sums = corrections(outcome)
    assert sums.first == {(Version(1, 0, 1), 0): {(4,): 1}, (second, 1): {(1,): 1}}
    assert sums.correction == {(first, 1): {(1,): 1}, (second, 0): {(): 1}}
    assert outcome.system is not None
    assert outcome.system.maps() == {"m1": {(): 1}, "m2": {(1,): 2}, "m3": {(4,): 1}}


# Cycles


def ping_pong(relations: Iterable[str], gap_s: float = 1e-4, **options: Any) -> Case:
    """Two maps, each computed from the other, at two nodes: s corrects t, which corrects the next s, and so on."""
    arrivals = [Arrival(i * gap_s, 0, 1, relation, (1,)) for i, relation in enumerate(relations)]
    return case_of(paper("semester-3.2"), {"m1": 1, "m2": 0}, arrivals, **options)


def test_one_round_of_partial_checkpoints_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's cycle leader is free to send the full checkpoint when the partial one has come back. Here all deltas are still buffered when the
    epoch ends. The first round flushes u's, which corrects t's at the other node, which corrects the second s's at the leader, after its checkpoint."""
    case = ping_pong(["u", "s", "t", "s"], buffer_s=0.5)
    outcome = run_case(case, EVENTUAL)
    assert outcome.counts["rounds"] > 2
    monkeypatch.setattr(CycleState, "enough", lambda self, back: True)
    monkeypatch.setattr(Expected, "look", lambda *_: None)  # which would say it at once
    with pytest.raises(Wrong, match="after the checkpoint of epoch 0"):
        run_case(case, EVENTUAL)


def test_what_is_buffered_in_a_cycle_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partial checkpoint passes a node behind its deltas."""

    def ahead(self: Checkpoints, state: CycleState, message: PartialCheckpoint) -> None:
        self.here.send(node(state.cycle.after(self.number)), state.counted(message))

    monkeypatch.setattr(Checkpoints, "_pass_on", ahead)
    monkeypatch.setattr(Expected, "look", lambda *_: None)  # which would say it at once
    with pytest.raises(Wrong, match="after the checkpoint of epoch 0"):
        run(ping_pong(["u", "s", "t", "s"], buffer_s=0.5))


@pytest.mark.parametrize("leads", [True, False])
def test_a_cycle_waits_for_what_feeds_it(leads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the leader and at the other node: neither may let a round pass that the other would have stopped."""
    closed = Checkpoints._closed

    def at_once(self: Checkpoints, state: CycleState) -> int:
        return self.completed if (state.cycle.ring[0] == self.number) == leads else closed(self, state)

    monkeypatch.setattr(Checkpoints, "_closed", at_once)
    with pytest.raises(Wrong, match="after its checkpoint of epoch 0"):
        a_cycle_waits_for_what_feeds_it(EVENTUAL)


def test_rounds_that_count_one_epoch_only_see_less_than_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_one(self: CycleState, message: PartialCheckpoint) -> PartialCheckpoint:
        total = message.sent + self.sent[message.epoch], message.received + self.received[message.epoch]
        return PartialCheckpoint(message.cycle, message.epoch, *total, message.settled)

    monkeypatch.setattr(CycleState, "counted", of_one)
    monkeypatch.setattr(Expected, "look", lambda *_: None)  # which would say it at once
    with pytest.raises(Wrong, match="after the checkpoint of epoch 1"):
        rounds_count_all_epochs_that_are_not_settled(EVENTUAL)


def pushes(case: Case) -> int:
    """Messages with deltas, in a run that ends right."""
    return run_case(case, EVENTUAL).messages["Push"]


def test_without_buffers_messages_in_a_cycle_grow_exponentially() -> None:
    """Events ahead of a cascade are corrected along every path to them: every second Fibonacci number of messages. Buffered and
    aggregated it is at most one message per event and period."""
    lengths = (3, 4, 5, 6)
    alone = [pushes(ping_pong(["u", *"st" * n], 1e-5, cycle_buffer_s=0.0)) for n in lengths[:-1]]
    assert alone == [34, 89, 233]
    buffered = [pushes(ping_pong(["u", *"st" * n], 1e-5, cycle_buffer_s=0.005)) for n in lengths]
    assert all(many <= (2 * n + 1) ** 2 // 2 for many, n in zip(buffered, lengths, strict=True)), buffered
    assert pushes(ping_pong(["u", *"st" * 6], 1e-5, cycle_buffer_s=0.005, coalesce="all")) <= 2 * (2 * 6 + 1)


def test_slow_events_need_no_buffer() -> None:
    """An event that comes after all of the last one's deltas is never corrected; buffers longer than the gaps between events make corrections."""
    assert run_case(ping_pong(["u", *"st" * 6], 2e-3, cycle_buffer_s=0.0), EVENTUAL).counts["corrections"] == 0
    assert run_case(ping_pong(["u", *"st" * 6], 2e-3, cycle_buffer_s=0.02), EVENTUAL).counts["corrections"] > 0


# Staggering


def test_every_coordinator_has_every_place_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The highest priority moves first: 012, 120, 201, 012."""
    orders: list[list[int]] = []
    watch = Eventual.watch

    def watching(self: Eventual, now_s: float, name: str, what: object) -> None:
        watch(self, now_s, name, what)
        if isinstance(what, Switched):
            orders.append(self._order())

    monkeypatch.setattr(Eventual, "watch", watching)
    run_case(case_of(paper("cumulus-4.1"), {"m1": 1, "m2": 1, "m3": 2}, [], coordinators=3), EVENTUAL)
    assert orders == [[1, 2, 0], [2, 0, 1], [0, 1, 2]]


# Collection


def test_garbage_is_collected_every_so_many_epochs_and_at_the_last() -> None:
    for every, ends in ((1, (0, 1, 2, 3, 4)), (2, (1, 3, 4)), (3, (2, 4))):
        case = replace(chain(collect_every=every), epochs=5)
        assert collected(case) == ends
        assert [c.epoch for c in sorted(run(case).committed_s)] == list(ends)


def test_only_nodes_with_events_since_the_last_collection_are_asked() -> None:
    """All events are in the first of two epochs, at two nodes (nobody processes anything at q's)."""
    outcome = run(replace(chain(), epochs=2))
    assert outcome.messages["Commit"] == outcome.messages["Confirmation"] == 2


# Options


def chain(relations: str = "tsrtsrtsr", gap_s: float = 1e-5, **options: Any) -> Case:
    """q(a) from m2(a) from m3(b), at three nodes; updates of all, nearly at once."""
    text = """PROGRAM chain; RELATION r(a INT); RELATION s(a INT); RELATION t(a INT);
        MAP q[a INT] : INT; MAP m2[a INT] : INT; MAP m3[a INT] : INT; MAP m4[a INT] : INT;
        ON +r(a) { q[a] += m2[a] } ON +s(a) { m2[a] += m3[a]; m4[a] += m3[a] } ON +t(a) { m3[a] += 1 }"""
    arrivals = [Arrival(i * gap_s, 0, 1, relation, (1,)) for i, relation in enumerate(relations)]
    return case_of(check(parse(text)), {"q": 0, "m2": 1, "m3": 2, "m4": 1}, arrivals, **options)


def test_the_dispatch_table_spares_messages() -> None:
    told = {on: run_case(chain(dispatch=on), EVENTUAL).messages["Notify"] for on in (True, False)}
    assert told == {True: 3 + 3 + 3, False: 3 * 9}  # who has m3 processes s, and t


def test_coalescing_makes_one_message_of_an_events_deltas() -> None:
    many = {how: run_case(chain(coalesce=how), EVENTUAL).messages["Push"] for how in ("off", "event", "all")}
    assert many["off"] > many["event"] >= many["all"], many


def test_intelligent_buffering_waits_longer_further_down() -> None:
    """As long on average; what arrives from further up meanwhile is merged into what waits."""
    uniform, intelligent = (chain("tsr" * 10, 1e-3, buffer_s=0.008, intelligent=i) for i in (False, True))
    assert set(periods(uniform).values()) == {0.008}
    waits = periods(intelligent)
    assert waits["m3"] < waits["m2"] == waits["m4"] < waits["q"]
    assert sum(waits.values()) == pytest.approx(4 * 0.008)
    merged, sent = zip(
        *((o.counts["merged"], o.messages["Push"]) for o in map(run, (uniform, intelligent))), strict=True
    )
    assert merged[0] < merged[1], merged
    assert sent[0] > sent[1], sent


# Seeds


@pytest.mark.parametrize("seed", sampled(range(25), 3))
def test_random_cases_are_right(seed: int) -> None:
    outcome = run_case(draw_case(seed, EVENTUAL), EVENTUAL)
    assert outcome.commits == outcome.counts["collections"]


def test_it_is_registered() -> None:
    assert PROTOCOLS["eventual"] is EVENTUAL


# Planted bugs: one per mechanism

Plant = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, Plant] = {}


def bug(plant: Plant) -> Plant:
    """Register a planted bug by its name."""
    BUGS[plant.__name__] = plant
    return plant


@bug
def difference_against_the_first_delta(m: pytest.MonkeyPatch) -> None:
    """What has been sent since is forgotten."""

    def store(self: Entry, delta: Entries) -> None:
        self.sent = delta if self.sent is None else self.sent

    m.setattr(Entry, "store", store)


@bug
def difference_as_printed(m: pytest.MonkeyPatch) -> None:
    """Nothing is subtracted: the history is not asked."""
    m.setattr(Entry, "difference", lambda self, delta: minus(delta, {}))


@bug
def history_entry_lost_without_a_delta(m: pytest.MonkeyPatch) -> None:
    """A statement whose first delta is empty is not remembered as a reader."""
    affected = History.affected

    def lossy(self: History, segment: Segment, stamp: Stamp, delta: Entries) -> Iterator[Stamp]:
        return (s for s in affected(self, segment, stamp, delta) if self.entries[s].sent)

    m.setattr(History, "affected", lossy)


@bug
def no_corrections_of_other_coordinators_events(m: pytest.MonkeyPatch) -> None:
    affected = History.affected

    def own(self: History, segment: Segment, stamp: Stamp, delta: Entries) -> Iterator[Stamp]:
        of = stamp.version.coordinator
        return (s for s in affected(self, segment, stamp, delta) if s.version.coordinator == of)

    m.setattr(History, "affected", own)


@bug
def push_compares_versions_the_wrong_way_round(m: pytest.MonkeyPatch) -> None:
    concerns = Want.concerns

    def wrong(self: Want, stamp: Stamp, delta: Entries) -> bool:
        return stamp >= self.below and concerns(replace(self, below=Stamp(Version(1 << 20, 0, 0), 0)), stamp, delta)

    m.setattr(Want, "concerns", wrong)


@bug
def compute_reads_later_versions(m: pytest.MonkeyPatch) -> None:
    m.setattr(Versioned, "below", lambda self, segment, bound, path=(), key=(): _slice(self.now(segment), path, key))


@bug
def compute_reads_its_own_version(m: pytest.MonkeyPatch) -> None:
    """Figure 5's `V' <= V`, taken literally."""
    below = Versioned.below

    def inclusive(self: Versioned, segment: Segment, bound: Stamp, *rest: Any) -> Entries:
        return below(self, segment, Stamp(bound.version, 1 << 20), *rest)

    m.setattr(Versioned, "below", inclusive)


@bug
def epochs_are_compared_last(m: pytest.MonkeyPatch) -> None:
    """An event of a new epoch reads as if coordinators' numbers came first."""
    below = Versioned.below

    def wrong(self: Versioned, segment: Segment, bound: Stamp, *rest: Any) -> Entries:
        if bound.version.coordinator:
            bound = Stamp(Version(bound.version.epoch, 0, bound.version.sequence), bound.statement)
        return below(self, segment, bound, *rest)

    m.setattr(Versioned, "below", wrong)


@bug
def cleanup_folds_later_versions(m: pytest.MonkeyPatch) -> None:
    cleanup = Versioned.cleanup
    m.setattr(Versioned, "cleanup", lambda self, through: cleanup(self, Version(through.epoch + 1, 1, 0)))


@bug
def nothing_is_folded(m: pytest.MonkeyPatch) -> None:
    m.setattr(Versioned, "cleanup", lambda self, through: None)


@bug
def history_is_kept(m: pytest.MonkeyPatch) -> None:
    m.setattr(History, "cleanup", lambda self, through: None)


@bug
def cleanup_forgets_later_history(m: pytest.MonkeyPatch) -> None:
    cleanup = History.cleanup
    m.setattr(History, "cleanup", lambda self, through: cleanup(self, Version(1 << 20, 0, 0)))


@bug
def token_passed_twice(m: pytest.MonkeyPatch) -> None:
    switch = Coordinator._switch

    def twice(self: Coordinator) -> None:
        switch(self)
        if self.staggered:
            self.here.send(coordinator((self.number + 2) % self.case.coordinators), Token())

    m.setattr(Coordinator, "_switch", twice)


@bug
def lowest_priority_switches_first(m: pytest.MonkeyPatch) -> None:
    """Token passed the other way round."""

    def backwards(self: Coordinator) -> None:
        left = self.epoch
        self.epoch, self.sequence = left + 1, 0
        self.here.report(Switched(self.epoch))
        self.here.send(coordinator((self.number - self.staggered) % self.case.coordinators), Token())
        if left in self.collected:
            self._collect(left)

    m.setattr(Coordinator, "_switch", backwards)


@bug
def one_confirmation_is_enough(m: pytest.MonkeyPatch) -> None:
    complete = Coordinator._complete

    def early(self: Coordinator) -> None:
        for nodes in self.unconfirmed.values():
            if len(nodes) == 1:
                nodes.clear()
        complete(self)

    m.setattr(Coordinator, "_complete", early)


@bug
def confirmed_before_the_last_event(m: pytest.MonkeyPatch) -> None:
    """The coordinator asks for confirmations before it switches: events of the epoch follow."""
    token = Coordinator._token

    def early(self: Coordinator) -> None:
        if self.epoch in self.collected and self.epoch not in self.unconfirmed:
            self._collect(self.epoch)
        token(self)

    def switch(self: Coordinator) -> None:
        self.epoch, self.sequence = self.epoch + 1, 0
        self.here.report(Switched(self.epoch))
        self.here.send(
            coordinator((self.number + 1) % self.case.coordinators if self.staggered else self.number), Token()
        )

    m.setattr(Coordinator, "_token", early)
    m.setattr(Coordinator, "_switch", switch)


@bug
def complete_before_all_coordinators_are(m: pytest.MonkeyPatch) -> None:
    def early(self: Coordinator, epoch: int, by: str) -> None:
        self.complete.setdefault(epoch, set()).add(by)
        if len(self.complete[epoch]) == max(1, self.case.coordinators - 1):
            for n in self.case.layout.nodes[self.number :: self.case.coordinators]:
                self.here.send(node(n), EpochComplete(epoch))

    m.setattr(Coordinator, "_completed", early)


@bug
def epochs_completed_out_of_order(m: pytest.MonkeyPatch) -> None:
    """An epoch whose confirmations are all here overtakes an earlier one."""

    def any_order(self: Coordinator) -> None:
        for epoch in sorted(e for e, nodes in self.unconfirmed.items() if not nodes):
            del self.unconfirmed[epoch]
            for i in range(self.case.coordinators):
                if i != self.number:
                    self.here.send(coordinator(i), EpochComplete(epoch))
            self._completed(epoch, self.here.name)

    m.setattr(Coordinator, "_complete", any_order)


@bug
def nodes_forgotten_at_a_collection(m: pytest.MonkeyPatch) -> None:
    collect = Coordinator._collect

    def forgetful(self: Coordinator, epoch: int) -> None:
        self.sent_to.discard(max(self.sent_to, default=0))
        collect(self, epoch)

    m.setattr(Coordinator, "_collect", forgetful)


@bug
def checkpoint_before_all_in_edges(m: pytest.MonkeyPatch) -> None:
    def any_edge(self: Checkpoints, name: str) -> int:
        return max((self.known[name, sender] for sender in self.held[name]), default=self.completed)

    m.setattr(Checkpoints, "done", any_edge)


@bug
def checkpoint_before_what_is_buffered(m: pytest.MonkeyPatch) -> None:
    m.setattr(Outbox, "flush_map", lambda self, name: None)


@bug
def one_round_is_enough(m: pytest.MonkeyPatch) -> None:
    """The paper's rule."""
    m.setattr(CycleState, "enough", lambda self, back: True)


@bug
def deltas_received_in_a_cycle_are_not_counted(m: pytest.MonkeyPatch) -> None:
    m.setattr(CycleState, "enough", lambda self, back: back.sent == 0 or self.rounds > 1)


@bug
def replica_forgotten(m: pytest.MonkeyPatch) -> None:
    """A replica is made, and gets no deltas."""
    send = Node._send

    def owner_only(self: Node, delta: Delta) -> None:
        holders = self.plan.holders
        self.plan.holders = {**holders, delta.segment: holders[delta.segment][:1]}
        try:
            send(self, delta)
        finally:
            self.plan.holders = holders

    m.setattr(Node, "_send", owner_only)


@bug
def node_missing_in_the_dispatch_table(m: pytest.MonkeyPatch) -> None:
    dispatch = Plan.dispatch
    m.setattr(Plan, "dispatch", lambda self, table, of: dispatch(self, table, of)[:3])


@bug
def merging_keeps_the_last_delta_only(m: pytest.MonkeyPatch) -> None:
    m.setattr("cumulus_papers.protocols.eventual.node.merge", lambda one, other: other)


@bug
def late_delta_not_stored(m: pytest.MonkeyPatch) -> None:
    """The second delta of a write replaces the first."""
    insert = Versioned.insert

    def replacing(self: Versioned, segment: Segment, stamp: Stamp, delta: Entries) -> None:
        for key in delta:
            deltas = self.segments[segment].get(key, [])
            deltas[:] = [d for d in deltas if d[0] != stamp]
        insert(self, segment, stamp, delta)

    m.setattr(Versioned, "insert", replacing)


def _slice(entries: Entries, path: Iterable[int], key: Key) -> Entries:
    return {k: u for k, u in entries.items() if tuple(k[i] for i in path) == key}


#: Seeds within which each planted bug is caught; most are by the first three. Of the others, and where seed 0 is a long case, the first that catches it, which is tried first.
WITHIN = 60
CAUGHT_BY = {
    "checkpoint_before_what_is_buffered": 16,
    "cleanup_forgets_later_history": 14,
    "complete_before_all_coordinators_are": 3,
    "compute_reads_its_own_version": 4,
    "confirmed_before_the_last_event": 1,
    "deltas_received_in_a_cycle_are_not_counted": 6,
    "epochs_completed_out_of_order": 3,
    "node_missing_in_the_dispatch_table": 35,
    "nodes_forgotten_at_a_collection": 1,
    "one_round_is_enough": 6,
}


@pytest.mark.parametrize("name", sampled(sorted(BUGS), 3))
def test_planted_bugs_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name](monkeypatch)
    for seed in (CAUGHT_BY.get(name, 0), *range(WITHIN)):
        case = draw_case(seed, EVENTUAL)
        try:
            run_case(case, EVENTUAL)
        except (AssertionError, LookupError):
            return
    pytest.fail(f"{name} was not noticed in {WITHIN} seeds")
