"""What the terminal shows: one line per thing that happened, a spinner on a terminal, the table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cumulus_ops.project.verdicts import FAILED, PASSED, UNPROVED

if TYPE_CHECKING:
    from cumulus_ops.epochs.status import EpochReport, Status

__all__ = ["Display", "epoch_table"]

WIDTH = 130  # of plain output, which no window limits


class Display:
    """Prints progress with the seconds since the beginning; plain lines when the output is not a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        if not self.console.is_terminal:
            self.console = Console(highlight=False, width=WIDTH, no_color=True, file=self.console.file)
        self.started = time.monotonic()
        self._seen: dict[str, str] = {}

    def say(self, text: str, *, markup: bool = False) -> None:
        """One line; brackets in it are brackets, unless it has ``markup``."""
        line = text if markup else escape(text)
        self.console.print(f"[dim]{time.monotonic() - self.started:6.1f} s[/dim]  {line}", soft_wrap=True)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """A spinner while something takes long."""
        with self.console.status(text):
            yield

    def show_changes(self, status: Status) -> None:
        """A line for each thing that changed since the last call."""
        for key, text in _lines(status):
            if self._seen.get(key) != text:
                self._seen[key] = text
                self.say(text, markup=True)

    def remember(self, status: Status) -> None:
        """Take what is true now for shown: only what changes from now on is."""
        self._seen = dict(_lines(status))


def _lines(status: Status) -> Iterator[tuple[str, str]]:
    """What there is to say of each thing, by the thing."""
    for coordinator in status.coordinators:
        yield f"c{coordinator.index}", f"coordinator {coordinator.index} is in epoch {coordinator.epoch}"
    for epoch in status.epochs:
        yield f"e{epoch.epoch}", _epoch_line(epoch)
    for error in status.in_error:
        yield f"v{error.view}", f"view {error.view} is in error {escape(str(error))}"


def _epoch_line(epoch: EpochReport) -> str:
    """What there is to say of an epoch in its state."""
    head = f"epoch {epoch.epoch}: "
    if epoch.state == "open":
        return head + "open, events are being applied"
    if epoch.state == "complete":
        return head + f"all coordinators have voted to end it, {epoch.events:,} events"
    if epoch.state == "committed":
        return head + f"snapshot committed, {epoch.corrections:,} corrections, {epoch.entries:,} map entries"
    colour = COLOURS.get(epoch.validation, "yellow")
    return head + f"[{colour}]validation {epoch.validation}[/{colour}]"


COLOURS = {PASSED: "green", FAILED: "red", UNPROVED: "magenta"}
#: The columns of numbers: title -> the number. Of those in PUT_ASIDE only the ones are shown that say something.
PUT_ASIDE: dict[str, Callable[[EpochReport], int]] = {
    "repeats": lambda e: e.duplicates,
    "quarantined": lambda e: e.quarantined,
    "files aside": lambda e: e.files_aside,
}
NUMBERS: dict[str, Callable[[EpochReport], int]] = {
    "events": lambda e: e.events,
    "inserts": lambda e: e.inserts,
    "deletes": lambda e: e.deletes,
    **PUT_ASIDE,
    "corrections": lambda e: e.corrections,
    "map entries": lambda e: e.entries,
}


def epoch_table(epochs: Sequence[EpochReport]) -> Table:
    """The table per epoch."""
    numbers = {name: n for name, n in NUMBERS.items() if name not in PUT_ASIDE or any(map(n, epochs))}
    table = Table(title="Snapshots", title_justify="left")
    for name in ("epoch", *numbers, "seconds", "validation"):
        table.add_column(name, justify="left" if name == "validation" else "right")
    for e in epochs:
        outcome = e.validation or e.state
        colour = COLOURS.get(outcome, "yellow")
        cells = (f"{number(e):,}" for number in numbers.values())
        table.add_row(str(e.epoch), *cells, f"{e.seconds:.1f}", f"[{colour}]{escape(_outcome(e))}[/{colour}]")
    return table


def _outcome(epoch: EpochReport) -> str:
    """What became of an epoch, in words."""
    outcome = epoch.validation or epoch.state
    if ", " in epoch.proved:  # not just that all views are equal
        outcome += f": {epoch.proved}"
    if "publish" in epoch.expired:
        outcome += ", not published"
    if epoch.without:
        outcome += f", without batch {', '.join(str(b.batch) for b in epoch.without)}"
    if epoch.in_error:
        outcome += f", in error: {', '.join(v.view for v in epoch.in_error)}"
    if epoch.through > epoch.epoch and epoch.state != "open":
        outcome += f", and nothing since, to epoch {epoch.through}"
    return outcome
