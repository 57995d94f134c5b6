"""Mutants of recovery by tree clocks that nothing can notice (:mod:`recovery_mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

_ONE = "there is one, and the first is the last"
_FROM_1 = "times of messages begin with 1, and none is below 0"

_AGAIN = "cut off up to the same time again, nothing changes"
_OWN = "what is for a child was made of an input, unless the node has no parents"
_MORE = "diffs of nodes further up are not kept, or more is told than is asked for"
_TOLD = "Hold has said it, or Start"

#: Name of the mutant -> why nothing can notice it.
EQUIVALENT: dict[str, str] = {
    "logs DiffLog.rooted: 0  =>  -1": _FROM_1,
    "logs DiffLog.truncate: 0  =>  -1": _FROM_1,
    "logs DiffLog.fold: 0  =>  -1": _FROM_1,
    "clock Clock.is_linear: 0  =>  -1": _ONE,
    "clock Clock.at: 0  =>  -1": _ONE,
    "clock Clock.at: 0  =>  -1 #2": _ONE,
    "clock parse_clock: 0  =>  -1": "a search from before a text begins with the text",
    "clock parse_clock: 0  =>  -1 #2": _ONE,
    "graph Flow.order: in_order(self.children, lambda node: node) or ()  =>  in_order(self.children, lambda node: node)": "a flow has no cycle, so there is an order",
    "graph flow_of: 0  =>  -1": _ONE,
    "graph flow_of: 0  =>  -1 #2": _ONE,
    "node Node.__init__: 0  =>  -1": "what was told is not below 0, and only what is more is told",
    "node Node._process: False  =>  True": "who leaves it out has an input from outside, which has no origin",
    "node Node._report: self.tolerance - 1  =>  self.tolerance + 1": _MORE,
    "node Node._report: 1  =>  0": _MORE,
    "node Node._report: 0  =>  -1": _FROM_1,
    "node Node.restart: 0  =>  -1": _FROM_1,
    "sending Sender.resume: self.lives[order.child] = order.life  =>  pass": _TOLD,
    "sending Sender._passed: o and o[0] == parent  =>  o[0] == parent": _OWN,
    "sending Sender.hear_horizons: self.horizons.get(node, 0) < time  =>  self.horizons.get(node, 0) <= time": _AGAIN,
    "sending Sender.hear_horizons: 0  =>  -1": _FROM_1,
}
