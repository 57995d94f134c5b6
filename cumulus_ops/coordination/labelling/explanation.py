"""The derivation of labels as text, step by step with the reasons, and what is to be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cumulus_ops.coordination.labelling.advice import advise
from cumulus_ops.coordination.labelling.analysis import Analysis, Step
from cumulus_ops.coordination.labelling.annotations import Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import Label
from cumulus_ops.coordination.labelling.strategies import Coordination
from cumulus_ops.coordination.plan import EdgePlan

__all__ = ["explain", "meaning_of", "steps_at", "summary"]

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
    blocks = [
        ["DATAFLOW", *_dataflow(dataflow)],
        ["DERIVATION", *_derivation(analysis.steps)],
        _strategies(dataflow, coordination),
    ]
    if coordination.ordered:
        blocks.append(["DERIVATION WITH COORDINATION", *_derivation(coordination.analysis.steps)])
    return "\n\n".join("\n".join(lines) for lines in [*blocks, summary(dataflow, analysis, coordination)]) + "\n"


def summary(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> list[str]:
    """What comes out, without coordination and with it, and advice."""
    rows = [("stream", "label", "with coordination", "strategy")]
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        after = coordination.analysis.labels[stream.name]
        rows.append((stream.name, str(analysis.labels[stream.name]), str(after), _strategy(edge)))
    label, after = analysis.label, coordination.analysis.label
    lines = [*_table(rows), "", f"{dataflow.name}: {label}: {meaning_of(label)}"]
    if after != label:
        lines.append(f"with coordination: {after}: {meaning_of(after)}")
    return lines + [f"advice: {text}" for text in advise(dataflow, analysis, coordination)]


def _strategy(edge: EdgePlan) -> str:
    if edge.strategy == "seal":
        return f"seal on {', '.join(edge.key)}" + (", with a vote" if edge.vote else ", one producer")
    return f"order, {edge.order}" if edge.strategy == "order" else edge.strategy


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _dataflow(dataflow: Dataflow) -> Iterator[str]:
    for component in dataflow.components:
        yield f"  {component.name}{_rep(component)}"
        yield from (f"    {p.source} -> {p.target}  {p.text}" for p in component.paths)
    for stream in dataflow.streams:
        yield f"  {stream.name}: {_ends(stream)}{_said(stream)}"


def _rep(component: Component) -> str:
    if not component.replicated:
        return ""
    return f" (replicated, {component.replicas} instances)" if component.replicas else " (replicated)"


def _ends(stream: Stream) -> str:
    source = ".".join(stream.source) if stream.source else "outside"
    return f"{source} -> {'.'.join(stream.target) if stream.target else 'outside'}"


def _said(stream: Stream) -> str:
    said = [f"sealed on {', '.join(sorted(stream.seal))}"] if stream.seal is not None else []
    said += ["replicated"] if stream.replicated else []
    return f" ({', '.join(said)})" if said else ""


def _derivation(steps: Iterable[Step]) -> Iterator[str]:
    """One paragraph for each interface; what a step made stands behind it."""
    place = ""
    for step in steps:
        if step.place != place and step.rule != "source":
            yield f"  {step.place}"
        place = step.place
        yield f"  {step.place} is {step.output}: {step.reason}" if step.rule == "source" else f"    {_step(step)}"


def steps_at(steps: Iterable[Step], component: str, interface: str) -> list[str]:
    """The lines of the derivation that are about an output."""
    name = f"{component}.{interface}"
    return [_step(s) for s in steps if s.place == name or (s.place.startswith("cycle ") and name in _members(s.place))]


def _members(place: str) -> list[str]:
    return place.removeprefix("cycle ").split(", ")


def _step(step: Step) -> str:
    came = ", ".join(map(str, step.inputs))
    match step.rule:
        case "label":
            return f"= {_marked(step.output)}"
        case "reconcile":
            return f"{{{_first(step.inputs)}}} is {step.output}: {step.reason}"
        case "merge":
            return f"{{{came}}} merge into {step.output}: {step.reason}"
        case "cycle":
            return f"{step.path}: {step.reason}"
        case "order":
            return f"{{{came}}} ordered: {step.output}: {step.reason}"
        case "seal":
            return f"{came} is {step.output}: {step.reason}"
    return f"{came} through {step.path}: {step.output} ({step.rule}: {step.reason})"


def _first(labels: Sequence[Label]) -> str:
    """The label that is reconciled, and those beside it."""
    others = ", ".join(map(str, labels[1:]))
    return f"{labels[0]}" + (f" beside {others}" if others else "")


def _marked(label: Label) -> str:
    return f"{label}, replicated" if label.replicated else str(label)


def _strategies(dataflow: Dataflow, coordination: Coordination) -> list[str]:
    lines = ["STRATEGIES"]
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        if edge.strategy != "none":
            lines.append(f"  {stream.name} ({edge.source} -> {edge.target}): {_strategy(edge)}")
            lines.append(f"    {edge.reason}")
    return lines if len(lines) > 1 else [*lines, "  none: nothing has to be coordinated"]
