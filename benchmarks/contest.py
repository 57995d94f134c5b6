"""Contestants, and how they compete: interleaved turns (A, B, C, A, B, C, ...), medians, checked answers."""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.progress import say
from benchmarks.rows import Label, Row, machine

__all__ = ["Contestant", "Entry", "NotMeasured", "Turn", "Unsupported", "WrongAnswer", "compete"]


#: A turn that lasts longer, preparation included, is worth a line of its own.
LONG_S = 5.0


class Unsupported(Exception):
    """A contestant cannot do this; the message says why, and becomes the row's note."""


class NotMeasured(Exception):
    """This machine does not let us measure it; the message says why, and becomes the row's note."""


class WrongAnswer(Exception):
    """A contestant's final answer differs from DuckDB's; the message says where."""


@dataclass(frozen=True)
class Turn:
    """One measured run."""

    seconds: float
    events: int
    peak_rss_mb: float | None = None


class Contestant(Protocol):
    """Something that can be measured several times."""

    def turn(self, number: int) -> Turn:
        """Run once; turns come with ascending numbers from 0, the first ones may be warm-ups.

        Raises:
            Unsupported: it cannot.
        """
        ...

    def finish(self) -> str:
        """Called once after the last turn: checks the answer; what it returns is added to the row's note.

        Raises:
            WrongAnswer: the numbers measured are worth nothing.
        """
        ...


#: Opens a contestant; leaving the context releases what it holds.
Entry = Callable[[], AbstractContextManager[Contestant]]


@dataclass
class _Racer:
    name: str
    contestant: Contestant | None = None
    turns: list[Turn] = field(default_factory=list)
    failure: str = ""
    note: str = ""

    def attempt(self, number: int, warm_ups: int) -> None:
        if self.failure or self.contestant is None:
            return
        begun = time.monotonic()
        try:
            turn = self.contestant.turn(number)
        except Exception as error:
            self.failure = describe(error)
            return
        if time.monotonic() - begun > LONG_S:
            say(f"        turn {number + 1} of {self.name}: {turn.seconds:.3g} s")
        if number >= warm_ups:
            self.turns.append(turn)

    def finish(self) -> None:
        if self.failure or self.contestant is None:
            return
        try:
            self.note = self.contestant.finish()
        except Exception as error:
            self.failure = describe(error)


def describe(error: Exception) -> str:
    """One line for a row's note."""
    kinds = {Unsupported: "not expressible", NotMeasured: "not measured", WrongAnswer: "WRONG ANSWER"}
    kind = kinds.get(type(error), f"failed: {type(error).__name__}")
    return f"{kind}: {' '.join(str(error).split())[:240]}"


def compete(
    label: Label,
    entries: Mapping[str, Entry],
    repetitions: int,
    warm_ups: int = 0,
    cores: Mapping[str, int] | None = None,
    unwarmed: Collection[str] = (),
) -> list[Row]:
    """Measure contestants turn by turn, so that what disturbs the machine disturbs all of them.

    Args:
        label: what is measured.
        entries: name -> how to open the contestant.
        repetitions: measured turns of each.
        warm_ups: turns before that, not counted.
        cores: name -> the number of cores it uses, where that differs from the label's.
        unwarmed: who has no warm-up turns.

    Returns:
        one row per contestant; one that failed or refused has a note instead of a number.
    """
    say(
        f"{label.case} {label.query} {label.variant} sf {label.scale_factor:g} batch {label.batch_events}".replace(
            "  ", " "
        )
    )
    racers = [_Racer(name) for name in entries]
    with ExitStack() as stack:
        for racer in racers:
            try:
                racer.contestant = stack.enter_context(entries[racer.name]())
            except Exception as error:
                racer.failure = describe(error)
        for number in range(warm_ups + repetitions):
            for racer in racers:
                if number >= warm_ups or racer.name not in unwarmed:
                    racer.attempt(number, warm_ups)
        for racer in racers:
            racer.finish()
    return [_row(label, racer, (cores or {}).get(racer.name, label.cores)) for racer in racers]


def _row(label: Label, racer: _Racer, cores: int) -> Row:
    turns = [] if racer.failure else racer.turns
    times = [turn.seconds for turn in turns]
    median = statistics.median(times) if times else None
    events = round(statistics.median(turn.events for turn in turns)) if turns else 0
    memory = [turn.peak_rss_mb for turn in turns if turn.peak_rss_mb is not None]
    note = racer.failure or racer.note
    speed = f"{median:.3f} s" if median is not None else "-"
    say(f"    {racer.name:18} {speed:>10}  {events} events  {note}")
    return Row(
        case=label.case,
        contestant=racer.name,
        query=label.query,
        variant=label.variant,
        scale_factor=label.scale_factor,
        batch_events=label.batch_events,
        cores=cores,
        state_events=label.state_events,
        events=events,
        seconds=median,
        runs=len(times),
        min=min(times, default=None),
        max=max(times, default=None),
        events_per_s=events / median if median and events else None,
        peak_rss_mb=max(memory, default=None),
        note=note,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=machine(),
    )
