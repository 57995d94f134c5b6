"""The derivation of labels as text, step by step with the reasons, and what is to be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from cumulus_ops.coordination.labelling.analysis import Analysis, Step
from cumulus_ops.coordination.labelling.annotations import Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import ASYNC, KINDS, Label, most_severe
from cumulus_ops.coordination.labelling.strategies import Coordination, advise
from cumulus_ops.coordination.plan import EdgePlan
from m3.dataflow import components, graph_of
from m3.picture.drawing import CHARACTERS, curve, place_labels, text_at, tip
from m3.picture.layout import KEYS_CHARACTERS, LINE, Box, Edge, Key, Layout, Node, arrange, name_lines, shortened

__all__ = ["explain", "meaning_of", "steps_at", "summary", "to_svg"]


MEANINGS = {
    "Seal": "the same contents in every run, and punctuations say when a partition is complete",
    "Async": "the same contents in every run, in any order",
    "Run": "other contents in another run, after a replay for instance",
    "Inst": "replicas answer differently in one run",
    "Diverge": "replicas' states stay different for good",
}


def meaning_of(label: Label) -> str:
    """What a label says, in words."""
    return MEANINGS[label.kind]


def explain(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> str:
    """All of it: the dataflow, each step of the derivation, the labels, and the strategies."""
    strategies = []
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        if edge.strategy != "none":
            strategies.append(f"  {stream.name} ({edge.source} -> {edge.target}): {_name_strategy(edge)}")
            strategies.append(f"    {edge.reason}")
    blocks = [
        ["DATAFLOW", *_describe_dataflow(dataflow)],
        ["DERIVATION", *_describe_steps(analysis.steps)],
        ["STRATEGIES", *(strategies or ["  none: nothing has to be coordinated"])],
    ]
    if coordination.ordered:
        blocks.append(["DERIVATION WITH COORDINATION", *_describe_steps(coordination.analysis.steps)])
    return "\n\n".join("\n".join(lines) for lines in [*blocks, summary(dataflow, analysis, coordination)]) + "\n"


def summary(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> list[str]:
    """What comes out, without coordination and with it, and advice."""
    rows = [("stream", "label", "with coordination", "strategy")]
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        after = coordination.analysis.labels[stream.name]
        rows.append((stream.name, str(analysis.labels[stream.name]), str(after), _name_strategy(edge)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    label, after = analysis.label, coordination.analysis.label
    lines = [*table, "", f"{dataflow.name}: {label}: {meaning_of(label)}"]
    if after != label:
        lines.append(f"with coordination: {after}: {meaning_of(after)}")
    return lines + [f"advice: {text}" for text in advise(dataflow, analysis, coordination)]


def _name_strategy(edge: EdgePlan) -> str:
    if edge.strategy == "seal":
        return f"seal on {', '.join(edge.key)}" + (", with a vote" if edge.vote else ", one producer")
    return f"order, {edge.order}" if edge.strategy == "order" else edge.strategy


def _describe_dataflow(dataflow: Dataflow) -> Iterator[str]:
    for component in dataflow.components:
        instances = f", {component.replicas} instances" if component.replicas else ""
        yield f"  {component.name}" + (f" (replicated{instances})" if component.replicated else "")
        yield from (f"    {p.source} -> {p.target}  {p.text}" for p in component.paths)
    for stream in dataflow.streams:
        source, target = (".".join(end) if end else "outside" for end in (stream.source, stream.target))
        notes = [f"sealed on {', '.join(sorted(stream.seal))}"] if stream.seal is not None else []
        notes += ["replicated"] if stream.replicated else []
        yield f"  {stream.name}: {source} -> {target}" + (f" ({', '.join(notes)})" if notes else "")


def _describe_steps(steps: Iterable[Step]) -> Iterator[str]:
    """One paragraph for each interface; what a step made stands behind it."""
    place = ""
    for step in steps:
        if step.place != place and step.rule != "source":
            yield f"  {step.place}"
        place = step.place
        yield (
            f"  {step.place} is {step.output}: {step.reason}"
            if step.rule == "source"
            else f"    {_describe_step(step)}"
        )


def steps_at(steps: Iterable[Step], component: str, interface: str) -> list[str]:
    """The lines of the derivation that are about an output."""
    name = f"{component}.{interface}"
    return [
        _describe_step(s)
        for s in steps
        if s.place == name or (s.place.startswith("cycle ") and name in s.place.removeprefix("cycle ").split(", "))
    ]


def _describe_step(step: Step) -> str:
    came = ", ".join(map(str, step.inputs))
    match step.rule:
        case "label":
            return f"= {step.output}" + (", replicated" if step.output.replicated else "")
        case "reconcile":
            first, *others = map(str, step.inputs)
            beside = f" beside {', '.join(others)}" if others else ""
            return f"{{{first}{beside}}} is {step.output}: {step.reason}"
        case "merge":
            return f"{{{came}}} merge into {step.output}: {step.reason}"
        case "cycle":
            return f"{step.path}: {step.reason}"
        case "order":
            return f"{{{came}}} ordered: {step.output}: {step.reason}"
        case "seal":
            return f"{came} is {step.output}: {step.reason}"
    return f"{came} through {step.path}: {step.output} ({step.rule}: {step.reason})"


# The dataflow as a picture, coloured by label: one SVG file, which says why when one points at something.


#: Fill and line of each label, on white and on black; the colours differ in brightness, too.
COLOURS = {
    "Seal": ("#dcebff", "#2f6fc4", "#17304f", "#6ea8f0"),
    "Async": ("#dcf5e3", "#2a8a4a", "#143a22", "#5cc583"),
    "Run": ("#fff3c4", "#a67c00", "#3f3510", "#e0bb3c"),
    "Inst": ("#ffe0c2", "#c9641a", "#4a2c0f", "#f09a48"),
    "Diverge": ("#ffd6d6", "#b3202c", "#4d1519", "#f2707a"),
}
STYLE = """
text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1b2430; }
.page { fill: #ffffff; }
.heading { font-size: 15px; font-weight: 600; }
.column { font-size: 11px; fill: #5c6773; }
.name { font-size: 12px; font-weight: 600; }
.keys { font-size: 10px; fill: #38424e; }
.shape { stroke-width: 1.4; }
.edge { fill: none; stroke-width: 1.6; }
.edge.order { stroke-dasharray: 7 3; stroke-width: 2.4; }
.edge.seal { stroke-dasharray: 2 3; stroke-width: 2.4; }
.tip { stroke: none; }
.label { font-size: 10px; pointer-events: none; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
.link:hover .edge, .node:hover .shape { stroke-width: 3; }
"""
DARK = """  text { fill: #e8edf3; }
  .page { fill: #10151c; }
  .column { fill: #97a3b0; }
  .keys { fill: #c9d3de; }
  .label { stroke: #10151c; }
"""
LEAST_WIDTH = 820.0
#: What edges that lead back need under the boxes.
BELOW = 44.0
OUTSIDE, INSIDE, LEAVING = "outside", "component", "leaving"


def to_svg(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> str:
    """The dataflow as a self-contained SVG document.

    Components have the colour of their worst output without coordination, streams that of their label; a stream that has to be sealed or
    ordered is dotted or dashed. Pointing at something shows its derivation.

    Returns:
        XML text ending in a newline.
    """
    edges = dict(_bundle_streams(dataflow, analysis, coordination))
    layout = arrange(_make_nodes(dataflow, analysis), list(edges))
    below = BELOW if any(route.back for route in layout.routes) else 0.0
    width, height = max(layout.width, LEAST_WIDTH), layout.height + below
    label = analysis.label
    title = f"{dataflow.name}: {label}, {meaning_of(label)}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr(title)}>'
    )
    lines = [head, f"<title>{escape(title)}</title>", f"<style>{_make_style()}</style>"]
    lines += [f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>', text_at(24, 30, "heading", title)]
    lines += [*_draw_routes(dataflow, analysis, coordination, layout, edges)]
    for box in layout.boxes:
        kind, name = box.node.key
        outputs = (found for (component, _), found in analysis.outputs.items() if component == name)
        lines.append(_draw_node(box, _find_worst(outputs).kind if kind == INSIDE else analysis.labels[name].kind))
    return "\n".join([*lines, *_draw_legend(height - 26), "</svg>"]) + "\n"


def _make_style() -> str:
    light = "".join(
        f".{k} .shape {{ fill: {c[0]}; stroke: {c[1]}; }}\n.{k} .edge {{ stroke: {c[1]}; }}\n.{k} .tip {{ fill: {c[1]}; }}\n"
        for k, c in COLOURS.items()
    )
    dark = "".join(
        f"  .{k} .shape {{ fill: {c[2]}; stroke: {c[3]}; }}\n  .{k} .edge {{ stroke: {c[3]}; }}\n  .{k} .tip {{ fill: {c[3]}; }}\n"
        for k, c in COLOURS.items()
    )
    return f"{STYLE}{light}@media (prefers-color-scheme: dark) {{\n{DARK}{dark}}}\n"


def _find_worst(labels: Iterator[Label]) -> Label:
    return most_severe(list(labels) or [Label(ASYNC)])


def _make_nodes(dataflow: Dataflow, analysis: Analysis) -> Iterator[Node]:
    # The layer of each component: right of all that leads to it, but for what leads back.
    names = [c.name for c in dataflow.components]
    links = [(s.source[0], s.target[0]) for s in dataflow.streams if s.source and s.target]
    graph = graph_of(names, links)
    layers: dict[str, int] = {}
    for group in components(graph):
        start = 1 + max((layers[a] for a, b in links if b in group and a not in group), default=0)
        for offset, name in enumerate(group):
            layers[name] = start + offset
    last = max(layers.values(), default=0) + 1
    for stream in dataflow.streams:
        if stream.source is None:
            label = str(analysis.labels[stream.name])
            yield Node(
                (OUTSIDE, stream.name), 0, label, f"{stream.name}: {label}: {meaning_of(analysis.labels[stream.name])}"
            )
    for component in dataflow.components:
        outputs = dict.fromkeys(p.target for p in component.paths)
        lines = [line for output in outputs for line in steps_at(analysis.steps, component.name, output)]
        kinds = dict.fromkeys(p.text for p in component.paths)
        yield Node(
            (INSIDE, component.name),
            layers[component.name],
            ", ".join([*kinds, *(["Rep"] if component.replicated else [])]),
            "\n".join([component.name, *lines]),
        )
    for stream in dataflow.streams:
        if stream.target is None:
            label = str(analysis.labels[stream.name])
            yield Node(
                (LEAVING, stream.name),
                last,
                label,
                f"{stream.name}: {label}: {meaning_of(analysis.labels[stream.name])}",
            )


def _bundle_streams(
    dataflow: Dataflow, analysis: Analysis, coordination: Coordination
) -> Iterator[tuple[Edge, list[tuple[Stream, EdgePlan]]]]:
    """An edge for each pair of boxes with streams between them."""
    found: dict[tuple[Key, Key], list[tuple[Stream, EdgePlan]]] = {}
    for stream, plan in zip(dataflow.streams, coordination.edges, strict=True):
        source = (INSIDE, stream.source[0]) if stream.source else (OUTSIDE, stream.name)
        target = (INSIDE, stream.target[0]) if stream.target else (LEAVING, stream.name)
        found.setdefault((source, target), []).append((stream, plan))
    for (source, target), streams in found.items():
        texts = []
        for stream, _ in streams if source[0] == INSIDE and target[0] == INSIDE else ():
            label = str(analysis.labels[stream.name])
            text = f"{stream.name}: {label}"  # the name only if there is room
            texts.append(text if len(text) <= CHARACTERS else label)
        yield Edge(source, target, tuple(texts), False), streams


def _draw_routes(
    dataflow: Dataflow,
    analysis: Analysis,
    coordination: Coordination,
    layout: Layout,
    edges: Mapping[Edge, Sequence[tuple[Stream, EdgePlan]]],
) -> Iterator[str]:
    for route in layout.routes:
        streams = edges[route.edge]
        worst = _find_worst(analysis.labels[s.name] for s, _ in streams)
        strategy = next((p.strategy for _, p in streams if p.strategy != "none"), "none")
        told = []
        for stream, plan in streams:
            before, after = analysis.labels[stream.name], coordination.analysis.labels[stream.name]
            told.append(f"{stream.name}, {plan.source} → {plan.target}: {before}: {meaning_of(before)}")
            if plan.strategy != "none":
                what = f"seal on {', '.join(plan.key)}" if plan.strategy == "seal" else f"order ({plan.order})"
                told.append(f"{what}: {plan.reason}")
            if after.bare != before.bare:
                told.append(f"with coordination: {after}")
        title = "\n".join(told)
        line = f'<path class="edge {strategy}" d="{curve(route)}"/>{tip(route.points[-1][1])}'
        yield f'<g class="link {worst.kind}"><title>{escape(title)}</title>{line}</g>'
    for (x, y), text in place_labels(layout).values():
        yield text_at(x, y - 4, "label", text, "middle")


def _draw_node(box: Box, colour: str) -> str:
    kind, name = box.node.key
    middle, radius = box.x + box.width / 2, 6 if kind == INSIDE else box.height / 2
    shape = f'<rect class="shape" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:.1f}"/>'
    lines = [
        f'<g class="node {kind} {colour}" data-name={quoteattr(name)}><title>{escape(box.node.title)}</title>{shape}'
    ]
    lines += [text_at(middle, box.y + 16 + LINE * i, "name", t, "middle") for i, t in enumerate(name_lines(name))]
    lines.append(text_at(middle, box.y + box.height - 8, "keys", shortened(box.node.keys, KEYS_CHARACTERS), "middle"))
    return "".join([*lines, "</g>"])


def _draw_legend(y: float) -> Iterator[str]:
    x = 24.0
    for kind in KINDS:
        yield f'<g class="{kind}"><rect class="shape" x="{x:.1f}" y="{y:.1f}" width="26" height="14" rx="4"/></g>'
        yield text_at(x + 32, y + 11, "column", kind)
        x += 56 + 6 * len(kind)
    for strategy, text in (("seal", "waits for seals"), ("order", "in one order")):
        yield f'<g class="Async"><path class="edge {strategy}" d="M{x:.1f} {y + 7:.1f}h30"/></g>{text_at(x + 36, y + 11, "column", text)}'
        x += 56 + 6 * len(text)
