"""The logs of a node (semester paper, sections 3.2 and 3.3): what it has written, received, sent, and evaluated.

All are kept to the commit point: until then a correction may concern them. In the paper's notation a sent slice is ``mr(TSx, TSy)``: TSx is its last write,
TSy the update that reads it. Here TSy is ``below``, the stamp below which the read sees writes (exclusive), and TSx a write's stamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cumulus_papers.case import BEGINNING, Stamp, Version
from cumulus_papers.run import Entries, add_to
from m3.statements import Key

__all__ = ["Operation", "OperationLog", "ReceiveLog", "Reference", "SendLog", "WriteLog"]


class Reference(NamedTuple):
    """A map reference: the entries of a map whose keys have the values ``key`` at the positions ``path``. None: the keys have no
    values, as those of a statement may whose conditions do not hold; it has no entries."""

    map: str
    path: tuple[int, ...]
    key: Key | None

    def has(self, key: Key) -> bool:
        """Whether an entry belongs to it."""
        return tuple(key[i] for i in self.path) == self.key

    def of(self, entries: Mapping[Key, int]) -> Entries:
        """The entries that belong to it."""
        return {k: u for k, u in entries.items() if self.has(k)}


Reader = tuple[Reference, int]


class WriteLog:
    """The node's own maps: every entry's deltas, by their stamps. A value is the sum of those below a bound."""

    def __init__(self, beginning: Mapping[str, Entries]) -> None:
        self.maps: dict[str, dict[Key, dict[Stamp, int]]] = {
            name: {key: {BEGINNING: units} for key, units in entries.items()} for name, entries in beginning.items()
        }

    def add(self, name: str, at: Stamp, delta: Mapping[Key, int]) -> None:
        """A write, or a correction of one; every later value has it in its sum (step 2)."""
        for key, units in delta.items():
            history = self.maps[name].setdefault(key, {})
            history[at] = history.get(at, 0) + units

    def value(self, reference: Reference, below: Stamp | None) -> Entries:
        """The entries of a reference, as of a bound (exclusive; None: with everything)."""
        entries: Entries = {}
        for key, history in self.maps[reference.map].items():
            if reference.has(key):
                units = sum(u for at, u in history.items() if below is None or at < below)
                if units:
                    entries[key] = units
        return entries

    def last(self, reference: Reference, below: Stamp) -> Stamp:
        """TSx: the stamp of the last write of a reference below a bound."""
        stamps = (
            at
            for key, history in self.maps[reference.map].items()
            if reference.has(key)
            for at in history
            if at < below
        )
        return max(stamps, default=BEGINNING)

    def truncate(self, through: Version) -> None:
        """Coalesce what is committed into one delta per entry, at the stamp of its last write."""
        for entries in self.maps.values():
            for history in entries.values():
                old = [at for at in history if at.version <= through]
                if len(old) > 1:
                    units = sum(history.pop(at) for at in old)
                    history[max(old)] = units

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have coalesced."""
        histories = (history for entries in self.maps.values() for history in entries.values())
        return any(sum(at.version <= through for at in history) > 1 for history in histories)

    def __len__(self) -> int:
        return sum(len(history) for entries in self.maps.values() for history in entries.values())


class SendLog:
    """Who has read what: for each map reference and write node only the highest TSy. Readers on the node itself are in it, too.

    Args:
        suppress: what it knows of sent slices besides (section 3.5, PUSH optimization): nothing (``off``), their TSx
            (``timestamps``), or what the write node has at each TSx (``values``).
    """

    def __init__(self, suppress: str = "off") -> None:
        self.suppress = suppress
        self.highest: dict[str, dict[Reader, Stamp]] = {}
        self.known: dict[Reader, Versions] = {}
        self.answered: dict[Reader, set[Stamp]] = {}

    def sent(self, reference: Reference, node: int, below: Stamp) -> None:
        """A slice has been sent, or need not be."""
        known = self.highest.setdefault(reference.map, {})
        known[reference, node] = max(below, known.get((reference, node), below))

    def missing(
        self, writes: WriteLog, reference: Reference, node: int, below: Stamp
    ) -> Iterator[tuple[Stamp, Entries]]:
        """The versions that a write node needs for a read, and does not have: (TSx, entries). They count as sent."""
        known = self.known.setdefault((reference, node), Versions())
        if self.suppress == "timestamps":
            at = writes.last(reference, below)
            if at not in known.at:
                known.at[at] = {}
                yield at, writes.value(reference, below)
            return
        # With values: by what it has, every read so far must see what it should; a version that is new to it may come between.
        answered = self.answered.setdefault((reference, node), set())
        answered.add(below)
        for bound in sorted(b for b in answered if b >= below):
            entries = writes.value(reference, bound)
            if known.value(bound) != entries:
                at = writes.last(reference, bound)
                known.at[at] = dict(entries)
                yield at, entries

    def corrected(self, node: int, name: str, at: Stamp, delta: Mapping[Key, int]) -> None:
        """A correction has been sent: the write node adds it to what it has."""
        if self.suppress == "values":
            for (reference, reader), known in self.known.items():
                if reader == node and reference.map == name:
                    known.correct(at, reference.of(delta))

    def readers(self, name: str, at: Stamp, delta: Mapping[Key, int]) -> dict[int, tuple[Entries, Stamp]]:
        """Who has read too early for a write: by node, what of the delta it has to be told, and its highest TSy."""
        late: dict[int, tuple[Entries, Stamp]] = {}
        for (reference, node), below in self.highest.get(name, {}).items():
            if at < below and (concerned := reference.of(delta)):
                entries, highest = late.get(node, ({}, below))
                late[node] = {**entries, **concerned}, max(highest, below)
        return dict(sorted(late.items()))

    def truncate(self, through: Version) -> None:
        """Forget reads below the commit point: no write will come below them."""
        for known in self.highest.values():
            for entry in [e for e, below in known.items() if below.version <= through]:
                del known[entry]
        for versions in self.known.values():
            versions.truncate(through)
        for bounds in self.answered.values():
            bounds.difference_update([b for b in bounds if b.version <= through])

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have removed."""
        bounds = [*self.answered.values(), *(known.values() for known in self.highest.values())]
        old = any(b.version <= through for of in bounds for b in of)
        return old or any(versions.stale(through) for versions in self.known.values())

    def __len__(self) -> int:
        return sum(map(len, self.highest.values()))


class Versions:
    """A slice as of several TSx."""

    def __init__(self) -> None:
        self.at: dict[Stamp, Entries] = {}

    def value(self, below: Stamp) -> Entries | None:
        """The most recent version below a bound; None: there is none."""
        last = max((at for at in self.at if at < below), default=None)
        return None if last is None else self.at[last]

    def correct(self, at: Stamp, delta: Mapping[Key, int]) -> None:
        """Add a delta to all versions from a stamp on; it makes a version of its own."""
        if not delta:
            return
        if at not in self.at and (last := self.value(at)) is not None:
            self.at[at] = dict(last)
        for version, entries in self.at.items():
            if version >= at:
                add_to(entries, delta)

    def truncate(self, through: Version) -> None:
        """Forget all versions up to the commit point but the last."""
        for at in sorted(at for at in self.at if at.version <= through)[:-1]:
            del self.at[at]

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have removed."""
        return sum(at.version <= through for at in self.at) > 1


class ReceiveLog:
    """What nodes, this one too, have sent: by map reference and TSy; and the flags, which say what has come for which statement."""

    def __init__(self) -> None:
        self.slices: dict[Reference, dict[Stamp, dict[int, Entries]]] = {}
        self.flags: dict[tuple[Stamp, int], set[int]] = {}

    def flag(self, operation: Stamp, read: int, sender: int) -> None:
        """A statement's read has got what a node has for it."""
        self.flags.setdefault((operation, read), set()).add(sender)

    def put(self, reference: Reference, below: Stamp, at: Stamp | None, sender: int, entries: Entries) -> None:
        """A slice has come."""
        self.slices.setdefault(reference, {}).setdefault(below, {})[sender] = dict(entries)

    def value(self, reference: Reference, below: Stamp) -> Entries:
        """What a read sees: what all nodes have sent for it."""
        return _union(self.slices.get(reference, {}).get(below, {}).values())

    def correct(self, sender: int, name: str, at: Stamp, delta: Mapping[Key, int]) -> None:
        """Step 1 of a correction: add the delta to all slices of its sender that succeed it."""
        for reference, by_bound in self.slices.items():
            if reference.map == name and (concerned := reference.of(delta)):
                for below, by_sender in by_bound.items():
                    if at < below and sender in by_sender:
                        add_to(by_sender[sender], concerned)

    def truncate(self, through: Version) -> None:
        """Forget what updates up to the commit point have read."""
        for by_bound in self.slices.values():
            for below in [b for b in by_bound if b.version <= through]:
                del by_bound[below]
        self._truncate_flags(through)

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have removed."""
        bounds = (below for by_bound in self.slices.values() for below in by_bound)
        return any(b.version <= through for b in bounds) or any(at.version <= through for at, _ in self.flags)

    def _truncate_flags(self, through: Version) -> None:
        for known in [k for k in self.flags if k[0].version <= through]:
            del self.flags[known]

    def __len__(self) -> int:
        return sum(len(by) for by_bound in self.slices.values() for by in by_bound.values())


class VersionedReceiveLog(ReceiveLog):
    """The same by TSx (section 3.5, PUSH optimization): a read sees the most recent version of the map prior to its TSy."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[Reference, dict[int, Versions]] = {}

    def put(self, reference: Reference, below: Stamp, at: Stamp | None, sender: int, entries: Entries) -> None:
        """A version has come."""
        assert at is not None
        self.versions.setdefault(reference, {}).setdefault(sender, Versions()).at[at] = dict(entries)

    def value(self, reference: Reference, below: Stamp) -> Entries:
        """What a read sees, by now."""
        return _union(v.value(below) or {} for v in self.versions.get(reference, {}).values())

    def correct(self, sender: int, name: str, at: Stamp, delta: Mapping[Key, int]) -> None:
        """Add the delta to all versions of its sender that succeed it."""
        for reference, by_sender in self.versions.items():
            if reference.map == name and sender in by_sender:
                by_sender[sender].correct(at, reference.of(delta))

    def truncate(self, through: Version) -> None:
        """Forget versions that no update above the commit point sees."""
        for by_sender in self.versions.values():
            for versions in by_sender.values():
                versions.truncate(through)
        self._truncate_flags(through)

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have removed."""
        versions = (v for by_sender in self.versions.values() for v in by_sender.values())
        return super().stale(through) or any(v.stale(through) for v in versions)

    def __len__(self) -> int:
        return sum(len(v.at) for by_sender in self.versions.values() for v in by_sender.values())


def _union(slices: Iterable[Entries]) -> Entries:
    entries: Entries = {}
    for one in slices:
        entries.update(one)
    return entries


@dataclass
class Operation:
    """A statement of an update that this node evaluates. ``reads``: for each of its reads the reference and TSy; ``fetches``: how many nodes
    will send something for it. ``done``: it has written."""

    at: Stamp
    trigger: int
    arguments: dict[str, Any]
    reads: tuple[tuple[Reference, Stamp], ...]
    fetches: tuple[int, ...]
    done: bool = False
    timed_out: bool = False


@dataclass
class OperationLog:
    """The updates in which this node has written something, or will: TS, trigger and arguments."""

    operations: dict[Stamp, Operation] = field(default_factory=dict)

    def affected(self, name: str, at: Stamp) -> list[Operation]:
        """What has been evaluated from a map, as of later than a stamp."""
        return [
            o
            for o in self.operations.values()
            if o.done and any(reference.map == name and at < below for reference, below in o.reads)
        ]

    def open(self) -> Iterator[Operation]:
        """What still waits for slices."""
        return (o for o in self.operations.values() if not o.done)

    def truncate(self, through: Version) -> None:
        """Forget what is committed."""
        for at in [at for at in self.operations if at.version <= through]:
            del self.operations[at]

    def stale(self, through: Version) -> bool:
        """Whether there is something that truncation should have removed."""
        return any(at.version <= through for at in self.operations)

    def __len__(self) -> int:
        return len(self.operations)
