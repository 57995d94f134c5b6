"""Annotated dataflows: components with paths from input to output interfaces, and the streams between them (Blazes, section IV).

An annotation says of one path through a component whether it is confluent or order-sensitive (C, O), and whether it only reads or
also writes the component's state (R, W). Of an order-sensitive path the **gate** says over which partitions of its input it works: a
set of attributes, None if each record is a partition of its own (``OR_*``, ``OW_*``), so that no seal is compatible.

The paths of a component are all that connects its interfaces: an output contains nothing of an input that no path leads from. The
component's state is one, and all its paths share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cumulus_ops.project.yaml_nodes import Item, Section, read_yaml

__all__ = [
    "Annotation",
    "Component",
    "Dataflow",
    "Dependency",
    "Edge",
    "Entry",
    "Schema",
    "Stream",
    "connect",
    "interface_of",
    "read_dataflow",
]


@dataclass(frozen=True)
class Annotation:
    """Of the path from an input to an output interface: ``label`` is ``CR``, ``CW``, ``OR`` or ``OW``; ``gate`` only of the latter two.

    ``lineage``: pairs (output attribute, input attribute) that are the same; what is not named is new, or changed. None: attributes keep
    their names. An output record has the value of **every** input record that it was made of: a path that combines records with
    different values of an attribute does not keep it, and has to say so.

    >>> Annotation("words", "counts", "OW", frozenset({"word", "batch"})).text
    'OW_{batch,word}'
    """

    source: str
    target: str
    label: str
    gate: frozenset[str] | None = None
    lineage: tuple[tuple[str, str], ...] | None = None

    @property
    def order_sensitive(self) -> bool:
        """Whether another order of the same input may give other output."""
        return self.label[0] == "O"

    @property
    def writes(self) -> bool:
        """Whether it changes the component's state."""
        return self.label[1] == "W"

    @property
    def severity(self) -> int:
        """1 to 4 (figure 7)."""
        return ("CR", "CW", "OR", "OW").index(self.label) + 1

    @property
    def text(self) -> str:
        """As the paper writes it: with its gate as a subscript."""
        if not self.order_sensitive:
            return self.label
        return f"{self.label}_*" if self.gate is None else f"{self.label}_{{{','.join(sorted(self.gate))}}}"


@dataclass(frozen=True)
class Component:
    """A component and its paths. ``replicated`` (Rep): several instances of it get the same input; None: if a stream into it is. ``replicas``: how
    many, if that is known."""

    name: str
    paths: tuple[Annotation, ...]
    replicated: bool | None = None
    replicas: int | None = None


@dataclass(frozen=True)
class Stream:
    """From an output interface (``component``, ``interface``) to an input; ``source`` None: from outside, ``target`` None: a sink.

    ``seal``: the attributes that it is punctuated on. ``replicated`` (Rep): each of several instances of the consumer gets all of it; None: as what it
    is made of. ``label``: what it is, coming from outside: ``Async``, ``Run`` or ``Inst``. ``producers``: how many instances produce records of one
    sealed value, if that is known."""

    name: str
    source: tuple[str, str] | None
    target: tuple[str, str] | None
    seal: frozenset[str] | None = None
    replicated: bool | None = None
    label: str = "Async"
    producers: int | None = None


@dataclass(frozen=True)
class Dependency:
    """A functional dependency: ``determinant`` determines ``dependent``; ``injective``: and no two values of it the same one. It is true of the
    records of ``stream``; None: wherever these attributes are, of all records together."""

    determinant: frozenset[str]
    dependent: str
    injective: bool = False
    stream: str | None = None


@dataclass(frozen=True)
class Schema:
    """The attributes of a stream, all of them, and its keys: no two of its records agree in one."""

    stream: str
    columns: tuple[str, ...]
    keys: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True)
class Dataflow:
    """Components, the streams between them, and what is known of their attributes."""

    name: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...]
    dependencies: tuple[Dependency, ...] = field(default=())
    schemas: tuple[Schema, ...] = field(default=())


# Which interfaces an annotation file connects: as its streams say, or else those of the same name.


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
    said: list[Stream] = []
    for entry in entries:
        ends = dict.fromkeys(entry.targets) or (None,)
        said += [replace(entry.stream, name=entry.name, source=entry.source, target=end) for end in ends]
    if not entries:
        outputs = [(c, name) for c in components for name in dict.fromkeys(p.target for p in c.paths)]
        for one, name in outputs:
            others = (c for c in components if c is not one and name in {p.source for p in c.paths})
            said += [Stream(name, (one.name, name), (other.name, name)) for other in others]
    sources, targets = {s.source for s in said}, {s.target for s in said}
    loose: list[Stream] = []
    for component in components:
        ins = ((component.name, name) for name in dict.fromkeys(p.source for p in component.paths))
        outs = ((component.name, name) for name in dict.fromkeys(p.target for p in component.paths))
        loose += [Stream(end[1], None, end) for end in ins if end not in targets]
        loose += [Stream(end[1], end, None) for end in outs if end not in sources]
    streams = sorted([*said, *loose], key=lambda s: (s.source is not None, s.target is None))  # as they flow
    count = Counter(s.name for s in said) if entries else Counter[str]()
    return tuple(_name_streams(streams, {name for name, often in count.items() if often == 1}))


def _name_streams(streams: Sequence[Stream], own: Collection[str]) -> Iterator[Edge]:
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


# Annotated dataflows from YAML files: the format of the Blazes paper (section VI), and what it takes to say the topology.
#
#     Splitter:
#       annotation:
#         - { from: tweets, to: words, label: CR }
#     Count:
#       annotation: { from: words, to: counts, label: OW, subscript: [word, batch] }
#     streams:
#       tweets: { Seal: [batch] }
#
# Every key of the file is a component, but for ``name``, ``streams``, ``schema`` and ``dependencies``. The pages of the documentation have the whole of it
# (docs/coordination.md).


RESERVED = ("name", "streams", "schema", "dependencies")
COMPONENT = ("annotation", "Rep")
PATH = ("from", "to", "label", "subscript", "lineage", "Rep")
STREAM = ("from", "to", "Seal", "Rep", "label", "producers")
DEPENDENCY = ("from", "to", "injective", "stream")
LABELS = ("CR", "CW", "OR", "OW")
TRUE, FALSE = ("true", "yes", "on"), ("false", "no", "off")
EXAMPLE = "write `- { from: words, to: counts, label: OW, subscript: [word, batch] }`"
FIRST = "write components with their annotations (docs/coordination.md)"
MANY = 1000


def read_dataflow(file: Path, known: Sequence[Component] = ()) -> Dataflow:
    """The dataflow that a file describes.

    Args:
        file: where it is.
        known: components that the file does not describe, and may connect its own with.

    Raises:
        InputProblem: the file is wrong, with its line and what to write instead.
    """
    item = read_yaml(file, {}, FIRST)
    # Names are shown in terminals and pictures.
    left, seen = [item.node], set[int]()
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node.value, str) and not node.value.isprintable():
            raise Item("", node, item.file, {}).problem(
                f"{node.value!r} cannot be shown", hint="use letters, digits and _"
            )
        if not isinstance(node.value, str):
            left += [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]
    root = item.section()
    components = tuple(_read_component(item) for name, item in root.items() if name not in RESERVED)
    if not components:
        raise root.item.problem("there is no component", kind="missing-key", hint=FIRST)
    components = (*known, *components)
    for component in known:
        double = root.get(component.name)
        if double is not None:
            raise double.problem("is called like a view", kind="duplicate", hint="call the component otherwise")
    streams = _read_streams(root, components)
    described = root.get("schema")
    columns = [] if described is None else [value for _, value in described.section().items()]
    schemas = [schema for item in columns for schema in _read_schemas(item, streams)]
    name = root.get("name")
    plain = tuple(edge.stream for edge in streams)
    dependencies = root.get("dependencies")
    elements = () if dependencies is None else dependencies.elements()
    determined = tuple(d for item in elements for d in _read_dependencies(item, streams))
    return Dataflow(name.text() if name else file.stem, components, plain, determined, tuple(schemas))


def _read_component(item: Item) -> Component:
    name = item.name
    if name == "annotation":
        hint = "indent it by two spaces more than the component's name above it"
        raise item.problem("stands beside the components, not in one", kind="unknown-key", hint=hint)
    if not item.is_mapping:
        raise item.problem(
            "is a component without annotations", kind="missing-key", hint=f"indent under it `annotation:`; {EXAMPLE}"
        )
    section = item.section(COMPONENT)
    listed = section.need("annotation", EXAMPLE)
    replicated, replicas = _read_rep(section.get("Rep"))
    paths: dict[tuple[str, str], Annotation] = {}
    for element in listed.elements() if listed.is_list else (listed,):
        path, rep = _read_path(element)
        replicated = rep if rep is not None else replicated
        if path is not None and paths.setdefault((path.source, path.target), path) is not path:
            hint = "keep the more severe one"
            raise element.problem(f"two paths lead from {path.source} to {path.target}", kind="duplicate", hint=hint)
    if not paths:
        raise listed.problem("there is no path", kind="missing-key", hint=EXAMPLE)
    return Component(name, tuple(paths.values()), replicated, replicas)


def _read_path(item: Item) -> tuple[Annotation | None, bool | None]:
    """A path, and Rep where it is said beside one; an entry with Rep alone is no path."""
    section = item.section(PATH)
    replicated, _ = _read_rep(section.get("Rep"))
    if set(section.entries) == {"Rep"}:
        return None, replicated
    source, target = section.need("from", EXAMPLE).text(), section.need("to", EXAMPLE).text()
    label = section.need("label", EXAMPLE).choice(LABELS)
    subscript, lineage = section.get("subscript"), section.get("lineage")
    if subscript is not None and label[0] == "C":
        raise subscript.problem(
            f"{label} has no subscript", hint="a confluent path is the same over any partitions: leave it out"
        )
    gate = None
    if subscript is not None and (subscript.is_list or subscript.text() != "*"):
        gate = _read_names(subscript)
    columns: tuple[tuple[str, str], ...] | None = None
    if lineage is not None and lineage.is_mapping:  # {day: batch}: batch is called day in the output
        columns = tuple((out, name.text()) for out, name in lineage.section().items())
    elif lineage is not None:  # [batch] keeps its name
        columns = tuple((name, name) for name in sorted(_read_names(lineage)))
    return Annotation(source, target, label, gate, columns), replicated


def _read_names(item: Item) -> frozenset[str]:
    """One name, or a list of them."""
    names = item.words() if item.is_list else (item.text(),)
    for name in names:
        if not name or names.count(name) > 1:
            raise item.problem(f"{name!r} occurs twice" if name else "a name is empty", hint="write [word, batch]")
    return frozenset(names)


def _read_boolean(item: Item) -> bool:
    text = item.text().lower()
    if text not in (*TRUE, *FALSE):
        raise item.problem(f"{item.text()!r} is neither true nor false", hint="write true or false")
    return text in TRUE


def _read_rep(item: Item | None) -> tuple[bool | None, int | None]:
    """``true``, ``false`` or how many instances there are."""
    if item is None:
        return None, None
    text = item.text()
    if text.isdigit():
        replicas = item.integer(1, MANY)
        return replicas > 1, replicas
    return _read_boolean(item), None


def _read_streams(root: Section, components: Sequence[Component]) -> tuple[Edge, ...]:
    item = root.get("streams")
    named = item.section().items() if item is not None else ()
    entries = [entry for name, value in named for entry in _read_entry(name, value, components)]
    edges = connect(components, [e for e in entries if e.topology])
    for entry in entries:
        if not entry.topology:
            chosen, told = _find_streams(entry.item, entry.name, edges), entry.stream
            if told.label != "Async" and any(e.stream.source is not None for e in chosen):
                raise entry.item.problem("only a stream from outside has a label of its own", hint="leave `label` out")
            edges = tuple(
                Edge(
                    e.interface,
                    replace(told, name=e.stream.name, source=e.stream.source, target=e.stream.target),
                )
                if e in chosen
                else e
                for e in edges
            )
    return edges


def _read_entry(name: str, item: Item, components: Sequence[Component]) -> list[Entry]:
    """An entry of ``streams``: with ``from`` or ``to`` it says where a stream leads, without it goes on about one that is known. One that
    comes from several outputs is a stream from each."""
    section = item.section(STREAM)
    sources, targets = _list_interfaces(section.get("from")), _list_interfaces(section.get("to"))
    into = tuple(interface_of(components, t, t.text(), name, "in") for t in targets)
    outs: list[tuple[str, str] | None] = [interface_of(components, s, s.text(), name, "out") for s in sources]
    leads = bool(sources or targets)
    seal, label, producers = section.get("Seal"), section.get("label"), section.get("producers")
    if label is not None and outs:
        raise label.problem(
            "only a stream from outside has a label of its own", hint="this one's is derived: leave it out"
        )
    stream = Stream(
        name,
        None,
        None,
        _read_names(seal) if seal is not None else None,
        _read_rep(section.get("Rep"))[0],
        label.choice(("Async", "Run", "Inst")) if label is not None else "Async",
        producers.integer(1, MANY) if producers is not None else None,
    )
    return [Entry(name, item, stream, out, into, leads) for out in outs or [None]]


def _list_interfaces(item: Item | None) -> tuple[Item, ...]:
    """One interface, or a list of them."""
    if item is None:
        return ()
    return item.elements() if item.is_list else (item,)


def _find_streams(item: Item, name: str, edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """The streams of that name, or of an interface of that name: those from outside, if there are any."""
    edges = tuple(edges)
    found = tuple(e for e in edges if e.stream.name == name) or tuple(e for e in edges if e.interface == name)
    if not found:
        known = ", ".join(dict.fromkeys(e.stream.name for e in edges))
        raise item.problem(
            f"there is no stream {name!r}",
            kind="unknown-stream",
            hint=f"known: {known}; a new one needs `from:` or `to:`",
        )
    return tuple(e for e in found if e.stream.source is None) or found


def _read_schemas(item: Item, edges: Sequence[Edge]) -> list[Schema]:
    name = item.name.partition(".")[2]
    keys: tuple[frozenset[str], ...] = ()
    if item.is_list:
        columns = item.words()
    else:
        section = item.section(("columns", "keys"))
        columns = section.need("columns", "write `columns: [id, campaign]`").words()
        listed = section.get("keys")
        keys = tuple(_read_names(k) for k in listed.elements()) if listed is not None else ()
    for unknown in sorted(frozenset().union(*keys) - set(columns)):
        raise item.problem(f"the key {unknown!r} is no column", hint=f"known: {', '.join(columns)}")
    return [Schema(e.stream.name, columns, keys) for e in _find_streams(item, name, edges)]


def _read_dependencies(item: Item, edges: Sequence[Edge]) -> list[Dependency]:
    section = item.section(DEPENDENCY)
    hint = "write `- { from: company, to: symbol, injective: true }`"
    determinant, dependents = _read_names(section.need("from", hint)), _read_names(section.need("to", hint))
    said, where = section.get("injective"), section.get("stream")
    injective = said is not None and _read_boolean(said)
    if injective and len(dependents) > 1:
        raise item.problem(
            "is injective into several attributes", hint="write one entry for each that is injective by itself"
        )
    streams = [None] if where is None else [e.stream.name for e in _find_streams(where, where.text(), edges)]
    return [Dependency(determinant, d, injective, s) for s in streams for d in sorted(dependents)]
