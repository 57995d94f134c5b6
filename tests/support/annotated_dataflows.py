"""Random annotated dataflows, small ones: for what must be true of all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Dependency, Stream

__all__ = ["ATTRIBUTES", "dataflows"]

ATTRIBUTES = ("a", "b", "c")
NAMES = st.frozensets(st.sampled_from(ATTRIBUTES), min_size=1, max_size=2)


@st.composite
def annotations(draw, source: str, target: str) -> Annotation:
    label = draw(st.sampled_from(("CR", "CW", "OR", "OW")))
    gate = draw(st.none() | NAMES) if label[0] == "O" else None
    kept = draw(st.none() | st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(ATTRIBUTES), max_size=2))
    return Annotation(source, target, label, gate, None if kept is None else tuple(sorted(kept.items())))


@st.composite
def components(draw, number: int) -> Component:
    pairs = draw(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("op")), min_size=1, max_size=3, unique=True))
    paths = tuple(draw(annotations(source, target)) for source, target in pairs)
    return Component(f"C{number}", paths, draw(st.sampled_from((None, None, True, False))))


@st.composite
def dataflows(draw, largest: int = 3) -> Dataflow:
    """Up to ``largest`` components with some streams between them, back and forth; every interface has a stream."""
    parts = tuple(draw(components(i)) for i in range(draw(st.integers(1, largest))))
    inputs = [(c.name, name) for c in parts for name in dict.fromkeys(p.source for p in c.paths)]
    outputs = [(c.name, name) for c in parts for name in dict.fromkeys(p.target for p in c.paths)]
    pairs = draw(st.lists(st.tuples(st.sampled_from(outputs), st.sampled_from(inputs)), max_size=4, unique=True))
    ends = [(None, i) for i in inputs if draw(st.booleans()) or i not in {b for _, b in pairs}]
    ends += [*pairs, *((o, None) for o in outputs)]
    streams = tuple(draw(_stream(f"s{i}", source, target)) for i, (source, target) in enumerate(ends))
    known = draw(st.lists(st.tuples(NAMES, st.sampled_from(ATTRIBUTES), st.booleans()), max_size=2))
    return Dataflow("drawn", parts, streams, tuple(Dependency(*one) for one in known))


@st.composite
def _stream(draw, name, source, target) -> Stream:
    if source is not None:
        return Stream(name, source, target, replicated=draw(st.sampled_from((None, None, None, True))))
    seal = draw(st.none() | NAMES)
    label = draw(st.sampled_from(("Async", "Async", "Async", "Run", "Inst")))
    return Stream(name, source, target, seal, draw(st.sampled_from((None, None, True))), label)
