"""A layout as SVG: shapes and colours by kind, in a light and a dark scheme, with tooltips; no scripts, no fonts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from m3.picture.layout import (
    KEYS_CHARACTERS,
    LINE,
    Box,
    Layout,
    Point,
    Route,
    label_width,
    lay_out,
    name_lines,
    shortened,
)
from m3.program import Program

__all__ = ["curve", "place_labels", "text_at", "tip", "to_svg"]


STYLE = """
text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1b2430; }
.page { fill: #ffffff; }
.heading { font-size: 15px; font-weight: 600; }
.column { font-size: 11px; fill: #5c6773; }
.name { font-size: 12px; font-weight: 600; }
.keys { font-size: 10px; fill: #4a5562; }
.shape { stroke-width: 1.3; }
.relation .shape { fill: #dcebff; stroke: #2f6fc4; }
.map .shape { fill: #f3f4f6; stroke: #7b8794; }
.derived .shape { fill: #ffe9cf; stroke: #c9741a; }
.view .shape { fill: #dcf5e3; stroke: #2a8a4a; }
.view .inner { fill: none; stroke: #2a8a4a; stroke-width: 0.8; }
.idle { opacity: 0.45; }
.edge { fill: none; stroke: #8793a0; stroke-width: 1.2; }
.edge.again { stroke: #c9741a; stroke-dasharray: 5 3; }
.tip { fill: #8793a0; }
.tip.again { fill: #c9741a; }
.label { font-size: 10px; pointer-events: none; fill: #38424e; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
.link:hover .edge { stroke: #d6246e; stroke-width: 2.6; }
.node:hover .shape { stroke-width: 2.6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8edf3; }
  .page { fill: #10151c; }
  .column { fill: #97a3b0; }
  .keys { fill: #b6c0cb; }
  .relation .shape { fill: #17304f; stroke: #6ea8f0; }
  .map .shape { fill: #232b35; stroke: #8793a0; }
  .derived .shape { fill: #46300f; stroke: #f0a548; }
  .view .shape { fill: #143a22; stroke: #5cc583; }
  .view .inner { stroke: #5cc583; }
  .edge { stroke: #6f7c8a; }
  .edge.again { stroke: #f0a548; }
  .tip { fill: #6f7c8a; }
  .tip.again { fill: #f0a548; }
  .label { fill: #c9d3de; stroke: #10151c; }
}
"""
CUT = 10.0  # of a derived map's corners
LEGEND = (("relation", "relation"), ("map", "map"), ("derived", "derived map"), ("view", "view"))


def to_svg(program: Program, title: str = "") -> str:
    """The program's dataflow as a self-contained SVG document.

    Relations are on the left, then the maps by depth (a map is right of all that it is computed from), views on the right.
    An edge is labelled with the events on which it matters, unless these are just its source's own; long names are
    shortened, and pointing at a box shows the whole of it.

    Args:
        program: a checked program.
        title: the heading; the program's name by default.

    Returns:
        XML text ending in a newline.
    """
    layout = lay_out(program)
    width, height = max(layout.width, 920.0), layout.height
    name = title or program.name
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr("Dataflow of " + name)}>'
    )
    lines = [head, f"<title>{escape('Dataflow of ' + name)}</title>", f"<style>{STYLE}</style>"]
    lines += [f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>', text_at(24, 30, "heading", name)]
    lines += [*_headings(layout), *_edges(layout), *map(_node, layout.boxes), *_legend(height - 26)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def text_at(x: float, y: float, kind: str, text: str, anchor: str = "start") -> str:
    """A line of text of a ``kind``, which is its style."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{where}>{escape(text)}</text>'


def _headings(layout: Layout) -> Iterator[str]:
    last = len(layout.columns) - 1
    has_views = any(b.node.key[0] == "view" for b in layout.boxes)
    for i, (x, width) in enumerate(layout.columns):
        text = "relations" if i == 0 else "views" if i == last and has_views else f"depth {i - 1}"
        yield text_at(x + width / 2, 58, "column", text, "middle")


def _edges(layout: Layout) -> Iterator[str]:
    for route in layout.routes:
        edge, again = route.edge, " again" if route.edge.dashed else ""
        text = f"{edge.source[1]} → {edge.target[1]}" + (f" on {', '.join(edge.events)}" if edge.events else "")
        yield f'<g class="link"><title>{escape(text)}</title>'
        yield f'<path class="edge{again}" d="{curve(route)}"/>{tip(route.points[-1][1], again)}</g>'
    for (x, y), label in place_labels(layout).values():
        yield text_at(x, y + 3, "label", label, "middle")


def curve(route: Route) -> str:
    """The path of an edge."""
    if route.back:
        (x, y), (u, v) = route.points[0]
        return (
            f"M{x:.1f} {y:.1f}C{x + 60:.1f} {max(y, v) + 60:.1f} {u - 60:.1f} {max(y, v) + 60:.1f} {u - 5:.1f} {v:.1f}"
        )
    parts = []
    for i, ((x, y), (u, v)) in enumerate(route.points):
        half, end = (u - x) / 2, u - 5 if i == len(route.points) - 1 else u
        parts.append(
            f"{'L' if i else 'M'}{x:.1f} {y:.1f}C{x + half:.1f} {y:.1f} {u - half:.1f} {v:.1f} {end:.1f} {v:.1f}"
        )
    return "".join(parts)


def tip(point: Point, again: str = "") -> str:
    """The tip of an edge's arrow; ``again`` is a second class for it."""
    x, y = point
    return f'<path class="tip{again}" d="M{x:.1f} {y:.1f}l-7 -3.2v6.4z"/>'


def _node(box: Box) -> str:
    node = box.node
    kind, name = node.key
    middle = box.x + box.width / 2
    lines = [f'<g class="node {kind}{" idle" if node.idle else ""}" data-name={quoteattr(name)}>']
    lines += [f"<title>{escape(node.title)}</title>", _shape(kind, box.x, box.y, box.width, box.height)]
    lines += [text_at(middle, box.y + 16 + LINE * i, "name", t, "middle") for i, t in enumerate(name_lines(name))]
    lines.append(text_at(middle, box.y + box.height - 8, "keys", shortened(node.keys, KEYS_CHARACTERS), "middle"))
    return "".join([*lines, "</g>"])


def _shape(kind: str, x: float, y: float, width: float, height: float) -> str:
    """A stadium for relations, cut corners for derived maps, a double frame for views, a rounded box for maps."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    if kind == "derived":
        cut, right = min(CUT, height / 3), x + width
        corners = [(x + cut, y), (right - cut, y), (right, y + height / 2), (right - cut, y + height)]
        corners += [(x + cut, y + height), (x, y + height / 2)]
        return f'<polygon class="shape" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'
    shape = f'<rect class="shape" {place} rx="{height / 2 if kind == "relation" else 2 if kind == "view" else 6:.1f}"/>'
    if kind == "view":
        inner = f'x="{x + 3:.1f}" y="{y + 3:.1f}" width="{width - 6:.1f}" height="{height - 6:.1f}"'
        shape += f'<rect class="inner" {inner}/>'
    return shape


def _legend(y: float) -> Iterator[str]:
    x = 24.0
    for kind, text in LEGEND:
        yield f'<g class="{kind}">{_shape(kind, x, y, 26, 14)}</g>{text_at(x + 32, y + 11, "column", text)}'
        x += 52 + 6 * len(text)
    for again, text in (("", "linear: adds products"), (" again", "re-evaluated")):
        yield f'<path class="edge{again}" d="M{x:.1f} {y + 7:.1f}h30"/>{text_at(x + 36, y + 11, "column", text)}'
        x += 56 + 6 * len(text)
    yield text_at(x, y + 11, "column", "± insert or delete · ~ changed row")


# Which edges get their label drawn, and where: wherever it covers no box and no other label.


CHARACTERS, LABEL_HEIGHT = 26, 12.0
ALONG = (0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2)

Area = tuple[float, float, float, float]


def place_labels(layout: Layout) -> dict[Route, tuple[Point, str]]:
    """The middle and the text of each label that finds room; the tooltip of an edge tells the events in any case."""
    taken: list[Area] = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in layout.boxes]
    found: dict[Route, tuple[Point, str]] = {}
    for route in sorted(layout.routes, key=lambda r: len(r.edge.label)):
        text = _text(route)
        point = _free(route, label_width(text), taken) if text else None
        if point is not None:
            found[route] = (point, text)
            taken.append(_area(point, label_width(text)))
    return found


def _text(route: Route) -> str:
    label, first = route.edge.label, route.edge.events[:1]
    if len(label) <= CHARACTERS or not first:
        return label
    more = len(route.edge.events) - 1
    return shortened(first[0], CHARACTERS - 3) + (f" +{more}" if more else "")


def _free(route: Route, width: float, taken: Sequence[Area]) -> Point | None:
    for start, end in reversed(route.points):
        for share in ALONG:
            point = _on_curve(start, end, share, route.back)
            if not any(_overlap(_area(point, width), other) for other in taken):
                return point
    return None


def _on_curve(start: Point, end: Point, share: float, back: bool) -> Point:
    """A point of the Bezier curve that the edge is drawn as."""
    (x, y), (u, v) = start, end
    low, half = max(y, v) + 60, (u - x) / 2
    corners = ((x + 60, low), (u - 60, low)) if back else ((x + half, y), (u - half, v))
    weights = ((1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3)
    points = (start, *corners, end)
    return sum(w * p[0] for w, p in zip(weights, points, strict=True)), sum(
        w * p[1] for w, p in zip(weights, points, strict=True)
    )


def _area(middle: Point, width: float) -> Area:
    x, y = middle
    return x - width / 2, y - LABEL_HEIGHT / 2, x + width / 2, y + LABEL_HEIGHT / 2


def _overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
