"""Labels of streams: what may differ between orders, runs and replicas (Blazes, sections III-A and V-A).

In the order of severity: **Seal** (nondeterministic order, and punctuations say when a partition is complete), **Async** (nondeterministic
order, deterministic contents), **Run** (contents differ between runs), **Inst** (and between replicas in one run), **Diverge** (replicas'
states stay different for good). NDRead and Taint occur only within a component, until they are reconciled: a nondeterministic read of
state, and state that was written in a nondeterministic order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

__all__ = ["ASYNC", "DIVERGE", "INST", "KINDS", "NDREAD", "RUN", "SEAL", "TAINT", "Label", "most_severe"]

SEAL, ASYNC, RUN, INST, DIVERGE = KINDS = ("Seal", "Async", "Run", "Inst", "Diverge")
NDREAD, TAINT = "NDRead", "Taint"


@dataclass(frozen=True)
class Label:
    """Of a stream. ``key``: what it is sealed on (Seal only); ``gate``: of the read (NDRead only; None is ``*``). ``replicated`` (Rep): several
    instances get it.

    >>> str(Label("Seal", key=frozenset({"batch"}))), Label("Async").severity
    ('Seal_{batch}', 1)
    """

    kind: str
    key: frozenset[str] | None = None
    gate: frozenset[str] | None = None
    replicated: bool = False

    @property
    def severity(self) -> int:
        """From 0 (Seal) to 4 (Diverge); −1 of NDRead and Taint, which are not anybody's label in the end."""
        return KINDS.index(self.kind) if self.kind in KINDS else -1

    @property
    def deterministic(self) -> bool:
        """Whether its contents are the same in all orders, runs and replicas."""
        return self.kind in (SEAL, ASYNC)

    def with_replicated(self, replicated: bool | None) -> Label:
        """The same label with another Rep; None leaves it."""
        return self if replicated is None else replace(self, replicated=replicated)

    @property
    def bare(self) -> Label:
        """Without Rep."""
        return replace(self, replicated=False)

    def __str__(self) -> str:
        if self.kind == SEAL:
            return f"Seal_{{{','.join(sorted(self.key or ()))}}}"
        if self.kind == NDREAD:
            return f"NDRead_{'*' if self.gate is None else '{' + ','.join(sorted(self.gate)) + '}'}"
        return self.kind


def most_severe(labels: Iterable[Label]) -> Label:
    """The label of the highest severity, without Rep. Seals on one key are a seal on it, which takes a vote; on different keys, they
    are Async: no punctuation says that a value of one key has no more records in the other stream.

    >>> str(most_severe([Label("Async"), Label("Run")])), str(most_severe([Label("Seal", frozenset("a")), Label("Seal", frozenset("b"))]))
    ('Run', 'Async')
    """
    found = [label.bare for label in labels]
    highest = max(found, key=lambda label: label.severity)
    if highest.kind == SEAL and len({label.key for label in found}) > 1:
        return Label(ASYNC)
    return highest
