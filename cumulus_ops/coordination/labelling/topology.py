"""Which interfaces an annotation file connects: as its streams say, or else those of the same name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.annotations import Component, Stream
from cumulus_ops.yaml_nodes import Item

__all__ = ["Edge", "Entry", "connect", "interface_of"]

Interface = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """What the file says of a stream. ``topology``: where it leads, from ``source`` (None: outside) to ``targets`` (none: it leaves)."""

    name: str
    item: Item
    stream: Stream
    source: Interface | None
    targets: tuple[Interface, ...]
    topology: bool


@dataclass(frozen=True)
class Edge:
    """A stream, and the name of the interface that it comes from or leads to."""

    interface: str
    stream: Stream


def interface_of(components: Sequence[Component], item: Item, text: str, stream: str, kind: str) -> Interface:
    """The interface that ``Report.click`` names; ``Report`` alone is its interface called like the stream, or its only one.

    Args:
        components: those of the file.
        item: where an error points to.
        text: what is written.
        stream: the stream's name.
        kind: ``in`` or ``out``.
    """
    component = next((c for c in components if text == c.name or text.startswith(f"{c.name}.")), None)
    if component is None:
        known, name = ", ".join(c.name for c in components), text.partition(".")[0]
        raise item.problem(f"there is no component {name!r}", kind="unknown-component", hint=f"known: {known}")
    name, interface = component.name, text[len(component.name) + 1 :]
    there = list(dict.fromkeys(p.source if kind == "in" else p.target for p in component.paths))
    wanted = interface or (stream if stream in there else there[0] if len(there) == 1 else "")
    if wanted not in there:
        what = (
            f"{name} has no {'input' if kind == 'in' else 'output'} {interface!r}"
            if interface
            else f"{name} has several"
        )
        raise item.problem(
            what, kind="unknown-interface", hint=f"write one of {', '.join(f'{name}.{i}' for i in there)}"
        )
    return name, wanted


def connect(components: Sequence[Component], entries: Sequence[Entry]) -> tuple[Edge, ...]:
    """All streams. Where no entry says where one leads, an output is connected with the inputs of the same name of other components. What is
    left over comes from outside, or leaves, under the name of its interface."""
    said = list(_said(entries)) if entries else list(_by_name(components))
    loose = list(_loose(components, {s.source for s in said}, {s.target for s in said}))
    streams = sorted([*said, *loose], key=lambda s: (s.source is not None, s.target is None))  # as they flow
    count = Counter(s.name for s in said) if entries else Counter[str]()
    return tuple(_named(streams, {name for name, often in count.items() if often == 1}))


def _said(entries: Sequence[Entry]) -> Iterator[Stream]:
    for entry in entries:
        for target in dict.fromkeys(entry.targets) or (None,):
            yield replace(entry.stream, name=entry.name, source=entry.source, target=target)


def _by_name(components: Sequence[Component]) -> Iterator[Stream]:
    for one in components:
        for name in dict.fromkeys(p.target for p in one.paths):
            for other in components:
                if other is not one and name in {p.source for p in other.paths}:
                    yield Stream(name, (one.name, name), (other.name, name))


def _loose(
    components: Sequence[Component], sources: Collection[Interface | None], targets: Collection[Interface | None]
) -> Iterator[Stream]:
    for component in components:
        for name in dict.fromkeys(p.source for p in component.paths):
            if (component.name, name) not in targets:
                yield Stream(name, None, (component.name, name))
        for name in dict.fromkeys(p.target for p in component.paths):
            if (component.name, name) not in sources:
                yield Stream(name, (component.name, name), None)


def _named(streams: Sequence[Stream], own: Collection[str]) -> Iterator[Edge]:
    """Streams with names that no other one has: where several share one, their ends are added, but for the one that the file has named."""
    count = Counter(s.name for s in streams)
    taken = set(own)
    for stream in streams:
        name = stream.name
        if count[name] > 1 and name in own:
            own = set(own) - {name}  # what the file says comes first
        elif count[name] > 1:
            name += f" from {'.'.join(stream.source)}" if stream.source else ""
            name += f" to {'.'.join(stream.target)}" if stream.target else ""
            while name in taken:
                name += " again"
        taken.add(name)
        yield Edge(stream.name, replace(stream, name=name))
