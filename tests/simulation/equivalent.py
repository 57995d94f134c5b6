"""Mutants that random cases cannot notice (:mod:`tests.simulation.mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

_LABELS = "versions are compared with each other only; which number is the first, and steps of two, change nothing"
_COSTS = "what is counted here is only what it costs"
_NOBODY = "cases have no events that no trigger waits for; test_simulated_programs has one"
_CLOCK = "when an epoch ends is anybody's choice"

_WATCHED = "only who watches hears of it, and is told less than there is to complain of"
_EARLY = "how large logs are when a node wants the epoch to end is anybody's choice"
_CAUTIOUS = "a node that hears only of ends of epochs knows less of what it has got, and its snapshots go less far"
_SWITCHES = "what a switch sends is neither a PUSH nor a correction"
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
    "optimistic.logs SendLog.readers: max  =>  min": _WATCHED,
    "optimistic.node Node._try: 0  =>  -1": _WATCHED,
    "optimistic.buffer CorrectionBuffer._messages: max  =>  min": _WATCHED,
    "optimistic.inbox Inbox.__init__: 0  =>  -1": _LABELS,
    "optimistic.switch Switch.__init__: 0  =>  -1": _LABELS,
    "optimistic.node Node.committed: self.epochs.kept = len(self.logs)  =>  pass": _EARLY,
    "optimistic.node Node._arrived: self.epochs.heard_of(message.version, message)  =>  pass": _CAUTIOUS,
    "optimistic.logs OperationLog.affected: reference.map == name and at < below  =>  reference.map == name": _MORE,
    "optimistic.inbox Inbox._sent_before: w.sender == waiting.sender and isinstance(w.message, (Push, Corrective))  =>  "
    "w.sender == waiting.sender": _SWITCHES,
}
