"""Epochs against time, a row per coordinator: the staggered picture, drawn from what the catalog says has happened."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cumulus_ops.catalog import EpochNumbers, Transition
from cumulus_ops.rhythm import Rhythm
from cumulus_ops.verdicts import FAILED

__all__ = ["Bar", "Mark", "Timeline", "draw_timeline"]

LEFT, RIGHT, ROW, TOP = 120.0, 1000.0, 26.0, 10.0
#: Who catches up leaves many epochs at once, long after their boundaries. If those were to take less than this share of the picture, it
#: follows the seals.
LEAST_SHARE = 0.1
FIRST_EPOCH = 2  # the longest that the first epoch is drawn, in epochs' lengths
TICKS = 5


@dataclass(frozen=True)
class Bar:
    """A coordinator's time in an epoch. ``state``: open, sealed or fenced."""

    x: float
    y: float
    width: float
    epoch: int
    state: str
    title: str


@dataclass(frozen=True)
class Mark:
    """Something that happened at a moment. ``kind``: seal, fence, commit, passed, failed."""

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
    stays = _stays(transitions, rhythm, by_seals=_by_seals(transitions, happened))
    if not stays:
        return None
    first = min(stay.entered for stay in stays)
    scale = _Scale(first, _end(first, stays, epochs, now))
    who = sorted({stay.transition.coordinator for stay in stays})
    lanes = {c: TOP + ROW * i for i, c in enumerate(who)}
    snapshots = TOP + ROW * len(who)
    bars = [_bar(stay, scale, lanes, now) for stay in stays]
    marks = [mark for stay in stays for mark in _seal(stay, scale, lanes)]
    marks += [mark for e in epochs for mark in _ends(e, first, scale, snapshots)]
    rows = [(y + ROW / 2, f"coordinator {c}") for c, y in lanes.items()]
    rows += [(snapshots + ROW / 2, "snapshots"), (snapshots + ROW * 1.5, "validations")]
    return Timeline(rows, bars, marks, scale.ticks(), snapshots + 2 * ROW + 22)


def _end(
    first: datetime.datetime, stays: Sequence[_Stay], epochs: Sequence[EpochNumbers], now: datetime.datetime
) -> datetime.datetime:
    """Now, unless nothing has happened for so long that what has would be too small to see."""
    ends = [stay.left for stay in stays if stay.left is not None]
    happened = [at for e in epochs for at in (e.committed_at, e.validated_at) if at is not None and at >= first]
    last = max([*ends, *happened])
    return max(last, min(now, last + (last - first) / 2))


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


def _by_seals(transitions: Sequence[Transition], happened: Sequence[datetime.datetime]) -> bool:
    """Whether the picture follows the seals instead of the boundaries."""
    ends = [x.ends_at for x in transitions if x.ends_at is not None]
    seals = [x.sealed_at for x in transitions if x.sealed_at is not None]
    if not ends:
        return True
    return max(ends) - min(ends) < LEAST_SHARE * (max([*ends, *seals, *happened]) - min(ends))


def _stays(transitions: Sequence[Transition], rhythm: Rhythm, *, by_seals: bool) -> list[_Stay]:
    """Who was in which epoch when; the open epoch of each coordinator included."""
    ends = {(x.coordinator, x.epoch): x for x in transitions if _left(x, by_seals) is not None}
    found = []
    for (coordinator, epoch), transition in sorted(ends.items()):
        before, left = ends.get((coordinator, epoch - 1)), _left(transition, by_seals)
        assert left is not None
        entered = _left(before, by_seals) if before else None
        if entered is None and epoch == 0:
            entered = max(min(rhythm.begin(coordinator, 0), left), left - FIRST_EPOCH * rhythm.length)
        if entered is not None:
            found.append(_Stay(transition, min(entered, left), left))
        if (coordinator, epoch + 1) not in ends:
            found.append(_Stay(Transition(epoch + 1, coordinator), left, None))
    return found


def _left(transition: Transition, by_seals: bool) -> datetime.datetime | None:
    """When a coordinator left an epoch: at the boundary, or with the seal."""
    sealed, ends = transition.sealed_at, transition.ends_at
    return sealed or ends if by_seals else ends or sealed


def _bar(stay: _Stay, scale: _Scale, lanes: Mapping[int, float], now: datetime.datetime) -> Bar:
    x, end = scale.x(stay.entered), scale.x(stay.left or now)
    transition = stay.transition
    state = "open" if transition.sealed_at is None else "fenced" if transition.fenced else "sealed"
    early = f", ended early: {transition.reason}" if transition.reason not in ("", "clock") else ""
    title = f"coordinator {transition.coordinator}, epoch {transition.epoch}: {state}{early}"
    return Bar(x, lanes[transition.coordinator], max(1.0, round(end - x, 1)), transition.epoch, state, title)


def _seal(stay: _Stay, scale: _Scale, lanes: Mapping[int, float]) -> list[Mark]:
    transition = stay.transition
    if transition.sealed_at is None:
        return []
    at = transition.sealed_at.strftime("%H:%M:%S")
    kind = "fence" if transition.fenced else "seal"
    why = f" in its name: {transition.fenced}" if transition.fenced else ""
    title = f"epoch {transition.epoch} sealed at {at}{why}"
    return [Mark(scale.x(transition.sealed_at), lanes[transition.coordinator], kind, title)]


def _ends(epoch: EpochNumbers, first: datetime.datetime, scale: _Scale, y: float) -> list[Mark]:
    marks = []
    if epoch.committed_at is not None and epoch.committed_at >= first:
        at = epoch.committed_at.strftime("%H:%M:%S")
        marks.append(Mark(scale.x(epoch.committed_at), y, "commit", f"snapshot of epoch {epoch.epoch} at {at}"))
    if epoch.validated_at is not None and epoch.validated_at >= first:
        kind = epoch.outcome or FAILED
        marks.append(Mark(scale.x(epoch.validated_at), y + ROW, kind, f"epoch {epoch.epoch}: validation {kind}"))
    return marks
