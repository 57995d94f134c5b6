"""What was interrupted: parts that a running project needs, and that were gone for a while. In a file beside the state, since the catalog may be what was gone.

A line is written by whoever has seen a part die and come back: ``cumulus up`` of its servers, a step of what it needs, a coordinator of a batch that another has left.
Several see the same outage; who reads has them as one.
"""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cumulus_ops.project.small_files import replace_file

__all__ = ["INTERRUPTIONS", "Interruption", "interruptions", "note"]

INTERRUPTIONS = "interruptions.jsonl"
#: So many lines are kept, at least; the file is cut when it is longer than so many bytes.
KEPT, BYTES = 200, 200_000
#: So many of the latest are shown, of a day.
LATEST, DAY_S = 5, 86_400.0
CHARACTERS = 300


@dataclass(frozen=True)
class Interruption:
    """``part``: what was gone, from ``since`` to ``until``, in seconds since 1970; ``why``, as far as anybody knows; ``then``: what was done about it."""

    part: str
    since: float
    until: float
    why: str
    then: str

    def __str__(self) -> str:
        begun, ended = (datetime.datetime.fromtimestamp(s, datetime.UTC) for s in (self.since, self.until))
        until = f" to {ended:%H:%M:%S}" if ended - begun >= datetime.timedelta(seconds=1) else ""
        why = f" ({self.why})" if self.why else ""
        return f"{begun:%Y-%m-%d %H:%M:%S}{until} UTC: {self.part}{why}; {self.then}"


def note(state: Path, found: Interruption) -> None:
    """Add a line. What cannot be written is not worth a failure."""
    line = {name: value[:CHARACTERS] if isinstance(value, str) else value for name, value in asdict(found).items()}
    with suppress(OSError):
        file = state / INTERRUPTIONS
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), "w", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")  # one write: of several who do so at once, each has its line
        if file.stat().st_size > BYTES:
            replace_file(file, "".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[-KEPT:]))


def interruptions(state: Path, latest: int = LATEST, within_s: float = DAY_S) -> tuple[Interruption, ...]:
    """The latest of the last day, newest first; what several have seen of one outage is one."""
    recent = [one for one in _together(_read(state)) if one.until > time.time() - within_s]
    return tuple(recent[-latest:][::-1])


def _read(state: Path) -> list[Interruption]:
    found = []
    with suppress(FileNotFoundError):
        for line in (state / INTERRUPTIONS).read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError):  # half a line, of who was killed while writing it
                found.append(Interruption(**json.loads(line)))
    return sorted(found, key=lambda one: one.since)


def _together(found: Iterable[Interruption]) -> list[Interruption]:
    """Those of one part that overlap, as one: why, as the first has it; then, what each has done."""
    joined: list[Interruption] = []
    for one in found:
        place = next((i for i, last in enumerate(joined) if last.part == one.part and one.since <= last.until), None)
        if place is None:
            joined.append(one)
            continue
        last = joined[place]
        then = last.then if one.then in last.then.split(", ") else f"{last.then}, {one.then}"
        joined[place] = Interruption(one.part, last.since, max(last.until, one.until), last.why, then)
    return joined
