"""What a node keeps of a partition: for each key its values by the version that wrote them, until COMMIT discards the overwritten ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.protocols.blocking.collation import Reference, check_match
from cumulus_ops.simulation.store import Entries
from m3.statements import Key

__all__ = ["Versions"]


@dataclass
class Versions:
    """Key -> (version, value after it), ascending. A key without an entry is zero.

    >>> versions = Versions()
    >>> versions.add(1, {(7,): 10}); versions.add(3, {(7,): -4})
    >>> versions.as_of(2), versions.as_of(3), versions.discard(3), versions.as_of(3)
    ({(7,): 10}, {(7,): 6}, 1, {(7,): 6})
    """

    values: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, version: int, delta: Mapping[Key, int]) -> None:
        """Let a version add something."""
        for key, units in delta.items():
            values = self.values.setdefault(key, [])
            values.append((version, (values[-1][1] if values else 0) + units))

    def as_of(self, version: int, ref: Reference | None = None) -> Entries:
        """The entries after a version: all, or those that a reference means; no zeros."""
        found = {
            key: next((units for number, units in reversed(values) if number <= version), 0)
            for key, values in self.values.items()
            if ref is None or check_match(ref, key)
        }
        return {key: units for key, units in found.items() if units}

    def discard(self, version: int) -> int:
        """Forget the values that were overwritten before a version, or by it; how many."""
        forgotten = 0
        for key, values in list(self.values.items()):
            *overwritten, newest = [(0, 0), *(v for v in values if v[0] <= version)]
            forgotten += len(overwritten[1:])
            self.values[key] = [newest] * bool(newest[1]) + [v for v in values if v[0] > version]
            if not self.values[key]:
                del self.values[key]
        return forgotten
