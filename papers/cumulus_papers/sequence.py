"""The life of one event as a picture: a message sequence chart, time going down, an arrow for each message, with what it carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from xml.sax.saxutils import escape

from cumulus_papers.case import UNDECIDED, Event, Stamp, Version
from cumulus_papers.kernel import Message, Sent
from cumulus_papers.run import Load, Spec, load_case, run_case
from m3.errors import ProgramError

__all__ = ["Traced", "carried", "described", "messages_about", "to_svg", "trace_event"]

COLUMN, ROW, LEFT, TOP, BESIDE = 150, 20, 60, 84, 470
LABEL_CHARACTERS = 72
#: A character of the text below, of its size, in fonts with one width.
FIXED_WIDTH = 6.7
STYLE = """
text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1b2430; font-size: 11px; }
.page { fill: #ffffff; } .heading { font-size: 15px; font-weight: 600; } .note { fill: #5c6773; }
.life { stroke: #c3cad3; stroke-width: 1; } .actor { fill: #dcebff; stroke: #2f6fc4; } .actorname { font-weight: 600; text-anchor: middle; }
.arrow { fill: none; stroke: #2f6fc4; stroke-width: 1.4; } .local { stroke: #8793a0; stroke-dasharray: 4 3; }
.tip { fill: #2f6fc4; } .time { text-anchor: end; fill: #5c6773; font-size: 10px; }
.number { fill: #ffffff; stroke: #2f6fc4; stroke-width: 1.2; } .digits { text-anchor: middle; font-size: 9px; font-weight: 600; }
.message:hover .arrow { stroke: #d6246e; stroke-width: 2.4; }
.kind { font-weight: 600; } .below { font-family: ui-monospace, Menlo, Consolas, monospace; white-space: pre; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8edf3; } .page { fill: #10151c; } .note, .time { fill: #97a3b0; } .life { stroke: #38424e; }
  .actor { fill: #17304f; stroke: #6ea8f0; } .arrow { stroke: #6ea8f0; } .local { stroke: #6f7c8a; } .tip { fill: #6ea8f0; }
  .number { fill: #10151c; stroke: #6ea8f0; }
}
"""


def messages_about(trace: Sequence[Sent], version: Version) -> list[Sent]:
    """The messages that concern an event, those before it had its version too, in the order in which they were sent."""
    known = {version, version._replace(epoch=UNDECIDED)}
    found = [s for s in trace if known.intersection(s.message.about())]
    return sorted(found, key=lambda s: (s.sent_s, s.number))


def carried(message: Message) -> str:
    """What a message carries, in a line: its fields, without the event's version.

    >>> from cumulus_papers.protocols.target import Slice
    >>> from cumulus_papers.layout import Segment
    >>> from cumulus_papers.layout import Read
    >>> carried(Slice(Version(0, 0, 3), Read(0, 0, Segment("m2", (1,)), Segment("m1", (0, 1))), {(1,): 2}))
    'statement 0, read 0, m2[1], m1[0,1]; {[1] → 2}'
    """
    parts = (_show(value, name) for name, value in message.carries())
    return "; ".join(p for p in parts if p)


def _show(value: Any, name: str = "") -> str:
    match value:
        case Version():
            return ""
        case Stamp():
            return f"statement {value.statement}"
        case Event():
            return f"{'+' if value.sign > 0 else '-'}{value.relation}({', '.join(map(str, value.row))})"
        case dict():
            entries = ", ".join(f"{_key(k)} → {_show(v)}" for k, v in value.items())
            return "{" + entries + "}"
        case tuple() | list() | frozenset():
            return "[" + ", ".join(_show(v) for v in value) + "]" if value else ""
        case None:
            return ""
    if is_dataclass(value) and "__str__" not in vars(type(value)):
        return ", ".join(p for f in fields(value) if (p := _show(getattr(value, f.name), f.name)))
    return f"{name} {value}" if isinstance(value, int) and name else str(value)


def _key(key: Any) -> str:
    return f"[{', '.join(map(str, key))}]" if isinstance(key, tuple) else str(key)


@dataclass(frozen=True)
class Traced:
    """What is followed, in words, with a note on where; the messages that concern it; a text that stands below them, if there is one; and in which
    order actors stand, if not by their names."""

    what: str
    where: str
    messages: tuple[Sent, ...]
    below: str = ""
    order: tuple[str, ...] = ()

    @property
    def transmitted(self) -> tuple[Sent, ...]:
        """Those that went from one actor to another."""
        return tuple(s for s in self.messages if not s.local and s.sender)


def trace_event(spec: Spec, load: Load, number: int) -> Traced:
    """Simulate a load, and follow the event that comes ``number``-th (from 1) in the order of versions.

    Raises:
        ProgramError: there are not so many; or the protocol cannot evaluate the program.
    """
    outcome = run_case(load_case(spec, load), spec, record=True)
    if number > len(outcome.stamped):
        message = f"there are {len(outcome.stamped)} events, and no event {number}"
        raise ProgramError(message, kind="no-such-event", hint="choose an earlier one, or simulate more events")
    version = sorted(outcome.stamped)[number - 1]
    what = f"{_show(outcome.stamped[version])}, version {tuple(version)}: {outcome.case.protocol}"
    return Traced(what, outcome.case.program.name, tuple(messages_about(outcome.trace, version)))


def described(traced: Traced) -> list[str]:
    """The messages as lines of text."""
    lines = [traced.what]
    for s in traced.messages:
        where = f"{s.sender} to itself" if s.local else f"{s.sender} → {s.receiver}"
        size = "" if s.local else f" ({s.size} bytes)"
        lines.append(f"{s.sent_s * 1e3:9.3f} ms  {where}: {s.message.kind} {carried(s.message)}{size}")
    sent = traced.transmitted
    lines.append(f"{len(sent)} messages, {sum(s.size for s in sent)} bytes")
    return [*lines, *traced.below.splitlines()]


@dataclass(frozen=True)
class _Place:
    """Where things are drawn: an x for each actor, a y for each moment, and the x of the texts beside the chart."""

    x: dict[str, float]
    y: dict[tuple[float, int], float]
    beside: float


def to_svg(traced: Traced) -> str:
    """The chart of one event's messages, as a self-contained SVG document."""
    shown = [s for s in traced.messages if s.sender]
    named = {a for s in shown for a in (s.sender, s.receiver)}
    actors = [a for a in traced.order if a in named] or sorted(named, key=_natural)
    x = {name: LEFT + COLUMN / 2 + i * COLUMN for i, name in enumerate(actors)}
    moments = sorted({(s.sent_s, 2 * s.number) for s in shown} | {(s.arrived_s, 2 * s.number + 1) for s in shown})
    beside = LEFT + COLUMN * max(1, len(actors))
    place = _Place(x, {moment: TOP + 24 + ROW * i for i, moment in enumerate(moments)}, beside)
    below = traced.below.splitlines()
    chart = TOP + 40 + ROW * len(moments)
    width = max(beside + BESIDE, 32 + FIXED_WIDTH * max(map(len, below), default=0))
    height = chart + ROW * len(below)
    body = []
    for name, left in x.items():
        body.append(f'<line class="life" x1="{left:.1f}" y1="{TOP}" x2="{left:.1f}" y2="{chart - 16:.1f}"/>')
        body.append(f'<rect class="actor" x="{left - 62:.1f}" y="{TOP - 24}" width="124" height="24" rx="4"/>')
        body.append(f'<text class="actorname" x="{left:.1f}" y="{TOP - 8}">{escape(name)}</text>')
    last = ""
    for moment in moments:
        text = f"{moment[0] * 1e3:.3f}"
        if text != last:
            body.append(f'<text class="time" x="{LEFT - 6}" y="{place.y[moment] + 4:.1f}">{text}</text>')
        last = text
    body += [line for number, s in enumerate(shown, 1) for line in _arrow(place, number, s)]
    for number, line in enumerate(below, 1):
        body.append(f'<text class="below" x="16" y="{chart + ROW * number - 12:.1f}">{escape(line)}</text>')
    sent = traced.transmitted
    note = f"{traced.where}; {len(sent)} messages, {sum(s.size for s in sent)} bytes; times in milliseconds"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
            f'<text class="heading" x="16" y="26">{escape(traced.what)}</text>',
            f'<text class="note" x="16" y="44">{escape(note)}</text>',
            *body,
            "</svg>",
        ]
    )


def _natural(name: str) -> tuple[str, int]:
    word, _, number = name.rpartition(" ")
    return (word, int(number)) if number.isdigit() else (name, 0)


def _arrow(place: _Place, number: int, sent: Sent) -> list[str]:
    """A message: its arrow, a number where it starts, and beside the chart what it carries."""
    x1, x2 = place.x[sent.sender], place.x[sent.receiver]
    y1, y2 = place.y[sent.sent_s, 2 * sent.number], place.y[sent.arrived_s, 2 * sent.number + 1]
    way = -1 if x2 > x1 else 1
    path = f"M {x1:.1f} {y1:.1f} h 26 V {y2:.1f} h -20" if sent.local else f"M {x1:.1f} {y1:.1f} L {x2:.1f} {y2:.1f}"
    text = carried(sent.message)
    short = text if len(text) <= LABEL_CHARACTERS else text[: LABEL_CHARACTERS - 1] + "…"
    title = f"{sent.message.kind} from {sent.sender} to {sent.receiver}: {text} ({sent.size} bytes)"
    return [
        f'<g class="message"><title>{escape(title)}</title>',
        f'<path class="arrow{" local" if sent.local else ""}" d="{path}"/>',
        f'<path class="tip" d="M {x2 + (6 if sent.local else 0):.1f} {y2:.1f} l {way * 8} -4 v 8 z"/>',
        f'<circle class="number" cx="{x1:.1f}" cy="{y1:.1f}" r="8"/>',
        f'<text class="digits" x="{x1:.1f}" y="{y1 + 3.5:.1f}">{number}</text>',
        f'<text x="{place.beside:.1f}" y="{y1 + 4:.1f}"><tspan class="note">{number}</tspan> '
        f'<tspan class="kind">{escape(sent.message.kind)}</tspan> {escape(short)}</text>',
        "</g>",
    ]
