"""Charts and values for pages: epochs against time, a row per coordinator, drawn from what the catalog says has happened; a view's rows as a line."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request

from cumulus_ops.catalog.epochs import EpochNumbers, Transition
from cumulus_ops.cli.output import cell_text
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.verdicts import FAILED
from cumulus_ops.templates import open_templates

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Bar", "Mark", "Sparkline", "Timeline", "age", "draw_timeline", "render", "sparkline"]


# From values to HTML: every value is escaped where a template shows it, and told as people say it.


UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def render(template: str, request: Request, **values: Any) -> str:
    """A page. ``root`` is where the application is mounted."""
    return _templates().get_template(template).render(root=request.scope["root_path"], **values)


@cache
def _templates() -> Environment:
    templates = open_templates("cumulus_ops.web", "html")
    templates.filters |= {"age": age, "number": number, "moment": moment, "seconds": seconds, "text": cell_text}
    templates.filters["commands"] = mark_commands
    return templates


def age(since: datetime.datetime | None, now: datetime.datetime | None = None) -> str:
    """How long ago a moment is, in its two largest units.

    >>> start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    >>> age(start, start + datetime.timedelta(hours=3, minutes=5, seconds=1))
    '3 h 5 min'
    """
    if since is None:
        return "–"
    return seconds(((now or datetime.datetime.now(datetime.UTC)) - since).total_seconds())


def seconds(length: float) -> str:
    """How long something is, in its two largest units.

    >>> seconds(3661.5)
    '1 h 1 min'
    """
    left = max(0, int(length))
    parts: list[str] = []
    for size, unit in UNITS:
        count, left = divmod(left, size)
        if count or parts or unit == "s":
            parts.append(f"{count} {unit}" if count or not parts else "")
        if len(parts) == 2:
            break
    return " ".join(filter(None, parts))


def number(value: float) -> str:
    """A number with its thousands apart.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def mark_commands(text: str) -> str:
    """A text of ours with what stands between backquotes marked as something to type.

    >>> mark_commands("`cumulus deploy` < now")
    Markup('<code>cumulus deploy</code> &lt; now')
    """
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def moment(at: datetime.datetime | None) -> str:
    """A moment to the second."""
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M:%S UTC")


# A small chart of a view: rows as a line, and marks where it was corrected, epoch by epoch.


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
    points = [(round(x, 1), round(HEIGHT - MARGIN - count / most * (HEIGHT - 2 * MARGIN), 1)) for x, count in shown]
    width = min(BAR, max(1.0, step * 0.6))
    mark = f"{HEIGHT:g}v-{BAR:.1f}h{width:.1f}v{BAR:.1f}"
    bars = "".join(f"M{place[e] - width / 2:.1f} {mark}" for e in epochs if e in corrected)
    title = [f"{rows[-1][1]:,} row{'s' * (rows[-1][1] != 1)} in epoch {rows[-1][0]}"] if rows else []
    title += [f"corrected in {len(corrected):,} of these epochs"] if corrected else []
    line = " ".join(f"{x},{y}" for x, y in points)
    return Sparkline(line, points[-1] if points else None, bars, "; ".join(title))


LEFT, RIGHT, ROW, TOP = 120.0, 1000.0, 26.0, 10.0
#: Who catches up leaves many epochs at once, long after their boundaries. If those were to take less than this share of the picture, it
#: follows the votes.
LEAST_SHARE = 0.1
FIRST_EPOCH = 2  # the longest that the first epoch is drawn, in epochs' lengths
TICKS = 5


@dataclass(frozen=True)
class Bar:
    """A coordinator's time in an epoch. ``state``: open, voted or fenced."""

    x: float
    y: float
    width: float
    epoch: int
    state: str
    title: str


@dataclass(frozen=True)
class Mark:
    """Something that happened at a moment. ``kind``: vote, fence, commit, passed, failed."""

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True)
class Timeline:
    """The picture: ``rows`` are (y, name), ``ticks`` (x, time)."""

    rows: Sequence[tuple[float, str]]
    bars: Sequence[Bar]
    marks: Sequence[Mark]
    ticks: Sequence[tuple[float, str]]
    height: float
    width: float = RIGHT


@dataclass(frozen=True)
class _Stay:
    """``left``: when it left the epoch, None while it has it open."""

    transition: Transition
    entered: datetime.datetime
    left: datetime.datetime | None


def draw_timeline(
    transitions: Sequence[Transition], epochs: Sequence[EpochNumbers], rhythm: Rhythm, now: datetime.datetime
) -> Timeline | None:
    """The picture of some epochs; None while there is nothing to draw.

    Args:
        transitions: ends of epochs, of consecutive ones; of the first of them only the end is drawn, as the begin of the next.
        epochs: when snapshots were committed and validated.
        rhythm: when epochs are to begin and to end.
        now: where the picture ends.
    """
    happened = [at for e in epochs for at in (e.committed_at, e.validated_at) if at is not None]
    stays = _find_stays(transitions, rhythm, by_votes=_follows_votes(transitions, happened))
    if not stays:
        return None
    first = min(stay.entered for stay in stays)
    # the picture ends now, unless nothing has happened for so long that what has would be too small to see
    last = max([*(stay.left for stay in stays if stay.left is not None), *(at for at in happened if at >= first)])
    scale = _Scale(first, max(last, min(now, last + (last - first) / 2)))
    who = sorted({stay.transition.coordinator for stay in stays})
    lanes = {c: TOP + ROW * i for i, c in enumerate(who)}
    snapshots = TOP + ROW * len(who)
    bars = [_draw_bar(stay, scale, lanes, now) for stay in stays]
    marks = [mark for stay in stays for mark in _draw_vote(stay, scale, lanes)]
    marks += [mark for e in epochs for mark in _draw_ends(e, first, scale, snapshots)]
    rows = [(y + ROW / 2, f"coordinator {c}") for c, y in lanes.items()]
    rows += [(snapshots + ROW / 2, "snapshots"), (snapshots + ROW * 1.5, "validations")]
    return Timeline(rows, bars, marks, scale.ticks(), snapshots + 2 * ROW + 22)


@dataclass(frozen=True)
class _Scale:
    begin: datetime.datetime
    end: datetime.datetime

    def x(self, at: datetime.datetime) -> float:
        share = (at - self.begin) / max(self.end - self.begin, datetime.timedelta(seconds=1))
        return round(LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT - 10), 1)

    def ticks(self) -> list[tuple[float, str]]:
        span = self.end - self.begin
        form = "%m-%d %H:%M" if span > datetime.timedelta(days=1) else "%H:%M:%S"
        moments = [self.begin + span * i / TICKS for i in range(TICKS + 1)]
        return [(self.x(at), at.strftime(form)) for at in moments]


def _follows_votes(transitions: Sequence[Transition], happened: Sequence[datetime.datetime]) -> bool:
    """Whether the picture follows the votes instead of the boundaries."""
    ends = [x.ends_at for x in transitions if x.ends_at is not None]
    votes = [x.voted_at for x in transitions if x.voted_at is not None]
    if not ends:
        return True
    return max(ends) - min(ends) < LEAST_SHARE * (max([*ends, *votes, *happened]) - min(ends))


def _find_stays(transitions: Sequence[Transition], rhythm: Rhythm, *, by_votes: bool) -> list[_Stay]:
    """Who was in which epoch when; the open epoch of each coordinator included."""
    ends = {(x.coordinator, x.epoch): x for x in transitions if _left_at(x, by_votes) is not None}
    found = []
    for (coordinator, epoch), transition in sorted(ends.items()):
        before, left = ends.get((coordinator, epoch - 1)), _left_at(transition, by_votes)
        assert left is not None
        entered = _left_at(before, by_votes) if before else None
        if entered is None and epoch == 0:
            entered = max(min(rhythm.begin(coordinator, 0), left), left - FIRST_EPOCH * rhythm.length)
        if entered is not None:
            found.append(_Stay(transition, min(entered, left), left))
        if (coordinator, epoch + 1) not in ends:
            found.append(_Stay(Transition(epoch + 1, coordinator), left, None))
    return found


def _left_at(transition: Transition, by_votes: bool) -> datetime.datetime | None:
    """When a coordinator left an epoch: at the boundary, or with the vote."""
    voted, ends = transition.voted_at, transition.ends_at
    return voted or ends if by_votes else ends or voted


def _draw_bar(stay: _Stay, scale: _Scale, lanes: Mapping[int, float], now: datetime.datetime) -> Bar:
    x, end = scale.x(stay.entered), scale.x(stay.left or now)
    transition = stay.transition
    state = "open" if transition.voted_at is None else "fenced" if transition.fenced else "voted"
    early = f", ended early: {transition.reason}" if transition.reason not in ("", "clock") else ""
    title = f"coordinator {transition.coordinator}, epoch {transition.epoch}: {state}{early}"
    return Bar(x, lanes[transition.coordinator], max(1.0, round(end - x, 1)), transition.epoch, state, title)


def _draw_vote(stay: _Stay, scale: _Scale, lanes: Mapping[int, float]) -> list[Mark]:
    transition = stay.transition
    if transition.voted_at is None:
        return []
    at = transition.voted_at.strftime("%H:%M:%S")
    kind = "fence" if transition.fenced else "vote"
    why = f" in its name: {transition.fenced}" if transition.fenced else ""
    title = f"epoch {transition.epoch} ended at {at}{why}"
    return [Mark(scale.x(transition.voted_at), lanes[transition.coordinator], kind, title)]


def _draw_ends(epoch: EpochNumbers, first: datetime.datetime, scale: _Scale, y: float) -> list[Mark]:
    marks = []
    if epoch.committed_at is not None and epoch.committed_at >= first:
        at = epoch.committed_at.strftime("%H:%M:%S")
        marks.append(Mark(scale.x(epoch.committed_at), y, "commit", f"snapshot of epoch {epoch.epoch} at {at}"))
    if epoch.validated_at is not None and epoch.validated_at >= first:
        kind = epoch.outcome or FAILED
        marks.append(Mark(scale.x(epoch.validated_at), y + ROW, kind, f"epoch {epoch.epoch}: validation {kind}"))
    return marks
