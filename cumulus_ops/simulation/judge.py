"""Whether what a protocol did is right: its states against the serial interpreter's, over the events in the order of their versions.

Protocols report what happens (:meth:`~cumulus_ops.simulation.kernel.Here.report`): :class:`Stamped` when an event gets its version, :class:`Committed`
when a node has a snapshot. The judge compares at the end, whenever nothing is under way, and for every snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Event, Version
from cumulus_ops.simulation.layout import Layout, Segment
from m3.interpreter import Interpreter
from m3.program import Program
from m3.statements import Key

__all__ = ["Committed", "Judge", "Maps", "Stamped", "Wrong", "serial"]

Maps = dict[str, dict[Key, int]]
#: Quiet moments that are looked at, per run.
QUIET_MAX = 8


@dataclass(frozen=True)
class Stamped:
    """A coordinator has given an event its version."""

    event: Event


@dataclass(frozen=True)
class Committed:
    """A node has a snapshot: its segments after all events up to ``through`` (inclusive)."""

    through: Version
    segments: Mapping[Segment, Mapping[Key, int]]


class Wrong(AssertionError):
    """A protocol did what it must not; the message says what, and where."""


def serial(program: Program, events: Mapping[Version, Event], through: Version | None = None) -> Maps:
    """The maps after the events up to a version (inclusive; None: all), one after the other; without zeros and empty maps."""
    interpreter = Interpreter(program)
    for version in sorted(events):
        if through is None or version <= through:
            event = events[version]
            interpreter.apply(event.sign, event.relation, event.row)
    return {name: dict(entries) for name, entries in interpreter.maps.items() if entries}


@dataclass
class Judge:
    """Watches one run. ``maps``: reads the maps as they are at the moment, over all nodes."""

    program: Program
    layout: Layout
    maps: Callable[[], Maps]
    events: dict[Version, Event] = field(default_factory=dict)
    commits: dict[Version, dict[str, Committed]] = field(default_factory=dict)
    #: When the last node so far committed, by what it committed.
    committed_s: dict[Version, float] = field(default_factory=dict)
    quiet: int = 0

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report of an actor."""
        if isinstance(what, Stamped):
            version = what.event.version
            if version in self.events:
                raise Wrong(f"{name} gave out {version} twice")
            self.events[version] = what.event
        elif isinstance(what, Committed):
            self._committed(name, what)
            self.committed_s[what.through] = now_s

    def _committed(self, name: str, what: Committed) -> None:
        known = self.commits.setdefault(what.through, {})
        if name in known:
            raise Wrong(f"{name} committed {what.through} twice")
        earlier = max((v for v, by in self.commits.items() if name in by), default=what.through)
        if earlier > what.through:
            raise Wrong(f"{name} committed {what.through} after {earlier}")
        known[name] = what

    def at_rest(self) -> None:
        """Nothing is under way."""
        self.quiet += 1
        if self.quiet <= QUIET_MAX:
            self.compare(f"quiet moment {self.quiet}", self.maps(), serial(self.program, self.events))

    def finish(self) -> None:
        """After the run."""
        self.compare("the end", self.maps(), serial(self.program, self.events))
        for through in sorted(self.commits):
            segments = self._segments(through)
            self.compare(
                f"the snapshot through {through}", _union(segments), serial(self.program, self.events, through)
            )

    def _segments(self, through: Version) -> dict[Segment, Mapping[Key, int]]:
        segments: dict[Segment, Mapping[Key, int]] = {}
        for committed in self.commits[through].values():
            segments.update(committed.segments)
        missing = sorted(map(str, self.layout.owner.keys() - segments.keys()))
        if missing:
            raise Wrong(f"nobody has {', '.join(missing)} in the snapshot through {through}")
        return segments

    def compare(self, when: str, found: Maps, expected: Maps) -> None:
        """See that the maps are what they should be.

        Raises:
            Wrong: with the first entry that differs.
        """
        found = {name: kept for name, entries in found.items() if (kept := {k: u for k, u in entries.items() if u})}
        for name in sorted(found.keys() | expected.keys()):
            ours, theirs = found.get(name, {}), expected.get(name, {})
            for key in sorted(ours.keys() | theirs.keys(), key=repr):
                if ours.get(key, 0) != theirs.get(key, 0):
                    value = f"{name}{list(key)} is {ours.get(key, 0)}, serially {theirs.get(key, 0)}"
                    raise Wrong(f"at {when}: {value} ({len(self.events)} events)")


def _union(segments: Mapping[Segment, Mapping[Key, int]]) -> Maps:
    maps: Maps = {}
    for segment, entries in segments.items():
        maps.setdefault(segment.map, {}).update(entries)
    return maps
