"""Mutants that random cases cannot notice (:mod:`tests.simulation.mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

_LABELS = "versions are compared with each other only; which number is the first, and steps of two, change nothing"
_COSTS = "what is counted here is only what it costs"
_NOBODY = "cases have no events that no trigger waits for; test_simulated_programs has one"
_WHERE = "where a statement is processed changes no state; test_central sees who sends what to whom"
_CLOCK = "when an epoch ends is anybody's choice"

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
    "source Replicas._choose: self._by_source and write.reads  =>  write.reads": _WHERE,
    "source Replicas._choose: 0  =>  -1": "any of the segments that are read will do",
}
