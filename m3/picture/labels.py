"""Which edges get their label drawn, and where: wherever it covers no box and no other label."""

from __future__ import annotations

from collections.abc import Sequence

from m3.picture.layout import Layout, Point, Route
from m3.picture.text import label_width, shortened

__all__ = ["place_labels"]

CHARACTERS, HEIGHT = 26, 12.0
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
    return x - width / 2, y - HEIGHT / 2, x + width / 2, y + HEIGHT / 2


def _overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
