"""A small chart of a view: rows as a line, and marks where it was corrected, epoch by epoch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = ["Sparkline", "sparkline"]

WIDTH, HEIGHT = 180.0, 30.0
MARGIN = 2.0
BAR = 8.0  # at most as wide


@dataclass(frozen=True)
class Sparkline:
    """``line``: the points of rows, as SVG has them; ``bars``: marks of epochs with corrections, as one path; ``title``: what it says."""

    line: str
    last: tuple[float, float] | None
    bars: str
    title: str
    width: float = WIDTH
    height: float = HEIGHT


def sparkline(epochs: Sequence[int], rows: Sequence[tuple[int, int]], corrected: Collection[int]) -> Sparkline:
    """The chart.

    >>> sparkline([0, 1], [(0, 5), (1, 10)], {1}).line
    '46.0,15.0 134.0,2.0'

    Args:
        epochs: those on the axis, ascending.
        rows: (epoch, rows of the view).
        corrected: the epochs in which maps of it were corrected.
    """
    step = (WIDTH - 2 * MARGIN) / max(1, len(epochs))
    place = {epoch: MARGIN + step * (i + 0.5) for i, epoch in enumerate(epochs)}
    shown = [(place[epoch], count) for epoch, count in rows if epoch in place]
    most = max((count for _, count in shown), default=0) or 1
    points = [(round(x, 1), round(_y(count / most), 1)) for x, count in shown]
    bars = "".join(_bar(place[e], step) for e in epochs if e in corrected)
    return Sparkline(
        " ".join(f"{x},{y}" for x, y in points), points[-1] if points else None, bars, _title(rows, len(corrected))
    )


def _y(share: float) -> float:
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def _bar(x: float, step: float) -> str:
    width, height = min(BAR, max(1.0, step * 0.6)), BAR
    return f"M{x - width / 2:.1f} {HEIGHT:g}v-{height:.1f}h{width:.1f}v{height:.1f}"


def _title(rows: Sequence[tuple[int, int]], corrected: int) -> str:
    said = [f"{rows[-1][1]:,} row{'s' * (rows[-1][1] != 1)} in epoch {rows[-1][0]}"] if rows else []
    if corrected:
        said.append(f"corrected in {corrected:,} of these epochs")
    return "; ".join(said)
