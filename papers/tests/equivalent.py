"""Mutants that cases cannot notice (:mod:`mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

_LABELS = "versions are compared with each other only; which number is the first, and steps of two, change nothing"
_COSTS = "what is counted here is only what it costs"
_NOBODY = "cases have no events that no trigger waits for; test_simulated_programs has one"
_WHERE = "where a statement is processed changes no state; test_central sees who sends what to whom"
_CLOCK = "when an epoch ends is anybody's choice"
_PAPERS_RULE = "the addition for a consistent cut is stricter than the paper's rule, which is only counted"
_NO_EVENTS = "what a program starts with, and derived maps, have no events"
_OPTION = "the option means the opposite; the tests that count messages have it"
_LATER = "a node's clock calls later or more often, and nothing else"

_WATCHED = "only who watches hears of it, and is told less than there is to complain of"
_EARLY = "how large logs are when a node wants the epoch to end is anybody's choice"
_CAUTIOUS = "a node that hears only of ends of epochs knows less of what it has got, and its snapshots go less far"
_SWITCHES = "what a switch sends is neither a PUSH nor a correction"
_ENDS = "no event's version is the end of an epoch"
_COUNTED = "what is counted here is told to those who watch, and nobody else"
_TWICE = "cases have no target with one loop variable for two keys, whose region may be empty"
_AT_ONCE = "what waits, waits for an open update below it, which is found anyway"
_ASKED = (
    "nobody asks of an operation that is not there, or done; a time-out that comes for one that is done does nothing"
)
_ANY = "one is as good as another, or there is only one"
_MORE = "more is looked at again than has changed"

#: Name of the mutant -> why nothing can notice it.
EQUIVALENT: dict[str, str] = {
    "central Coordinator.__init__: 0  =>  1": _LABELS,
    "central Coordinator.__init__: 0  =>  -1": _LABELS,
    "central Coordinator.receive: 0  =>  1": _LABELS,
    "central Coordinator.receive: 0  =>  -1": _LABELS,
    "central Coordinator.receive: 1  =>  2": _LABELS,
    "central Timeline.go_on: 0  =>  1": _COSTS,
    "central Timeline.go_on: 0  =>  -1": _COSTS,
    "central Timeline.go_on: written += len(delta)  =>  pass": _COSTS,
    "central central: epoch + 1  =>  epoch - 1": _CLOCK,
    "central central: 1  =>  2": _CLOCK,
    "central central: 1  =>  0": _CLOCK,
    "target Node.notified: return  =>  pass": _NOBODY,
    "source Node.notified: return  =>  pass": _NOBODY,
    "source Replicas.__init__: case.options['process'] == 'source'  =>  case.options['process'] != 'source'": _WHERE,
    "source Replicas.__init__: self._by_source and write.reads  =>  write.reads": _WHERE,
    "source Replicas.__init__: 0  =>  -1": "any of the segments that are read will do",
    "blocking.actors Switch.__init__: 0  =>  1": _LABELS,
    "blocking.actors Switch.__init__: 0  =>  -1": _LABELS,
    "blocking.actors Switch.receive: 0  =>  1": _LABELS,
    "blocking.actors Switch.receive: 0  =>  -1": _LABELS,
    "blocking.actors Switch._commit_point: any  =>  all": _COSTS,
    "blocking.actors Switch._commit_point: min  =>  max": _PAPERS_RULE,
    "blocking.actors Switch._lowest_fetches: number > self.completed[n]  =>  number >= self.completed[n]": _PAPERS_RULE,
    "blocking.actors Switch._lowest_fetches: lowest[read] = min(lowest[read], tag)  =>  pass": _PAPERS_RULE,
    "blocking.messages indexes: t.relation and t.sign  =>  t.relation or t.sign": _NO_EVENTS,
    "blocking.messages indexes: t.relation and t.sign  =>  t.relation": _NO_EVENTS,
    "blocking.messages indexes: t.relation and t.sign  =>  t.sign": _NO_EVENTS,
    "pipeline Switch.__init__: 0  =>  1": _LABELS,
    "pipeline Switch.__init__: 0  =>  -1": _LABELS,
    "pipeline Switch._arrival: 0  =>  1": _NOBODY,
    "pipeline Switch._arrival: 0  =>  -1": _NOBODY,
    "pipeline Switch._arrival: self._post(self.sequence, 0)  =>  pass": _NOBODY,
    "pipeline Node.__init__: 1  =>  2": _LABELS,
    "pipeline Node._keep: 0  =>  1": _LABELS,
    "pipeline Node._keep: 0  =>  -1": _LABELS,
    "pipeline snapshot_ticks: 1  =>  2": _CLOCK,
    "pipeline snapshot_ticks: 1  =>  0": _CLOCK,
    "pipeline snapshot_ticks: epoch * case.options['ticks'] - 1  =>  epoch * case.options['ticks'] + 1": _CLOCK,
    "pipeline Clock.of: 0  =>  1": _CLOCK,
    "pipeline Clock.begins_s: tick * self.tick_s - self.ahead_s  =>  tick * self.tick_s + self.ahead_s": _LATER,
    "pipeline Clock.begins_s: max(tick * self.tick_s - self.ahead_s, 0.0) + 1e-09  =>  max(tick * self.tick_s - self.ahead_s, 0.0) - 1e-09": _LATER,
    "pipeline Node._due: 1  =>  2": _LATER,
    "pipeline Node._due: self.alarms.add(tick)  =>  pass": _LATER,
    "pipeline Node._due: self.clock.begins_s(tick + 1) - self.here.now  =>  self.clock.begins_s(tick + 1) + self.here.now": _LATER,
    "pipeline Node._push: [parts] if self.case.options['coalescing'] else [[part] for part in parts]  =>  [parts] if not self.case.options['coalescing'] else [[part] for part in parts]": _OPTION,
    "optimistic.logs SendLog.readers: max  =>  min": _WATCHED,
    "optimistic.node Node._try: 0  =>  -1": _WATCHED,
    "optimistic.node Inbox.__init__: 0  =>  -1": _LABELS,
    "optimistic.switch Switch.__init__: 0  =>  -1": _LABELS,
    "optimistic.corrections Change.add: 0  =>  -1": _WATCHED,
    "optimistic.corrections Change.add: max  =>  min": _WATCHED,
    "optimistic.corrections Corrections._write: hops + 1  =>  hops - 1": _WATCHED,
    "optimistic.corrections CorrectionBuffer.add: max  =>  min": _WATCHED,
    "optimistic.corrections NodeEpochs.heard_of: version <= self.through  =>  version < self.through": _WATCHED,
    "optimistic.corrections NodeEpochs.heard_of: self.heard[version.coordinator] = max(self.heard[version.coordinator], before)  =>  pass": _CAUTIOUS,
    "optimistic.corrections NodeEpochs.heard_of: 1  =>  2": _CAUTIOUS,
    "optimistic.corrections NodeEpochs.__init__: 0  =>  1": _LABELS,
    "optimistic.corrections NodeEpochs.__init__: 0  =>  -1": _LABELS,
    "optimistic.corrections NodeEpochs.__init__: 1  =>  2": _LABELS,
    "optimistic.switch Switch.__init__: 0  =>  1": _LABELS,
    "optimistic.switch Switch._version: 1  =>  2": _LABELS,
    "optimistic.switch Switch._event: return  =>  pass": _NOBODY,
    "optimistic.node Inbox.unprocessed: 1  =>  0": _AT_ONCE,
    "optimistic.node Inbox.unprocessed: 1  =>  2": _AT_ONCE,
    "optimistic.node Node._try: operation is not None  =>  operation is None": _ASKED,
    "optimistic.node Node._try: True  =>  False": _ASKED,
    "optimistic.node Node._take_slice: 0  =>  1": _WATCHED,
    "optimistic.node Node._take_slice: 0  =>  -1": _ANY,
    "optimistic.corrections NodeEpochs.processed: 1  =>  2": _CAUTIOUS,
    "optimistic.corrections Outbox.due: 0  =>  -1": _ANY,
    "optimistic.node Node.committed: self.epochs.kept = len(self.logs)  =>  pass": _EARLY,
    "optimistic.node Node.receive: self.epochs.heard_of(part.version, part)  =>  pass": _CAUTIOUS,
    "optimistic.logs OperationLog.affected: reference.map == name and at < below  =>  reference.map == name": _MORE,
    "optimistic.node Inbox._sent_before: w.sender == waiting.sender and isinstance(w.message, (Push, Corrective))  =>  "
    "w.sender == waiting.sender": _SWITCHES,
    "eventual.messages Plan.__init__: 0  =>  -1": "any of the segments that are read will do",
    "eventual.coordinator Coordinator.receive: 1  =>  2": _LABELS,
    "eventual.coordinator Coordinator._switch: 0  =>  1": _LABELS,
    "eventual.coordinator Coordinator._switch: 0  =>  -1": _LABELS,
    "eventual.node end_of: 1  =>  2": _LABELS,
    "eventual.node end_of: 30  =>  31": _LABELS,
    "eventual.node end_of: 30  =>  29": _LABELS,
    "eventual.node end_of: 0  =>  1": _LABELS,
    "eventual.node end_of: 0  =>  -1": _LABELS,
    "eventual.node Versioned.cleanup: STATEMENTS - 1  =>  STATEMENTS + 1": _LABELS,
    "eventual.node Versioned.cleanup: 1  =>  2": _LABELS,
    "eventual.node Versioned.cleanup: d[0].version > through  =>  d[0].version >= through": _ENDS,
    "eventual.node Versioned.cleanup: stamp.version <= through  =>  stamp.version < through": _ENDS,
    "eventual.node History.cleanup: s.version > through  =>  s.version >= through": _ENDS,
    "eventual.node History.cleanup: e.stamp.version > through  =>  e.stamp.version >= through": _ENDS,
    "eventual.coordinator Checkpoints._let_pass: 0  =>  -1": "a cycle has one round at a time, so no more than one partial checkpoint waits",
    "eventual.node Node._now_due: cascade > self.why[stamp][0] and self.history.entries[stamp].sent is not None  =>  self.history.entries[stamp].sent is not None": _WATCHED,
    "eventual.node Node._now_due: cascade > self.why[stamp][0]  =>  cascade >= self.why[stamp][0]": _WATCHED,
    "eventual.node Node._now_due: cascade > self.why[stamp][0]  =>  cascade <= self.why[stamp][0]": _WATCHED,
    "blocking.actors Switch.receive: 1  =>  2": _LABELS,
    "blocking.actors Node.__init__: 0  =>  -1": _LABELS,
    "blocking.messages intersecting: low < high  =>  low <= high": _TWICE,
    "blocking.messages intersecting: 0  =>  1": _TWICE,
    "blocking.messages intersecting: 0  =>  -1": _TWICE,
    "blocking.messages intersecting: 1  =>  2": "no partition is a single place",
    "blocking.messages SpatialIndex._loops: isinstance(key, Var) and key.name not in self._params  =>  isinstance(key, Var)": "what is known of the event is put over it",
    "blocking.messages _matches: (wanted.low, wanted.high) == WHOLE or wanted.low <= place(value) < wanted.high  =>  wanted.low <= place(value) < wanted.high": "every place is in the whole line; asking for that first is faster",
    "blocking.messages Versions.discard: 0  =>  1": _COUNTED,
    "blocking.messages Versions.discard: 0  =>  -1": _COUNTED,
    "blocking.messages Versions.discard: forgotten += len(overwritten[1:])  =>  pass": _COUNTED,
    "blocking.messages Versions.discard: 1  =>  2": _COUNTED,
    "blocking.messages Versions.discard: 1  =>  0": _COUNTED,
    "blocking.actors Switch._commit_point: self.held += any((before[n] < number for n, number in lowest.items()))  =>  pass": _COUNTED,
    "blocking.actors Switch._commit_point: before[n] < number  =>  before[n] <= number": _COUNTED,
    "blocking.actors Switch._commit_point: before[n] < number  =>  before[n] >= number": _COUNTED,
    "blocking.actors Switch._lowest_fetches: number > self.completed[n]  =>  number <= self.completed[n]": _PAPERS_RULE,
    "eventual.node Node._now_due: self.why[stamp] = (cascade, cause)  =>  pass": _WATCHED,
    "eventual.node Want.concerns: stamp < self.below  =>  stamp <= self.below": _MORE,
}
