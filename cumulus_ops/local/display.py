"""What the terminal shows: one line per thing that happened, a spinner on a terminal, the table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from cumulus_ops.snapshot import EpochReport, Status

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

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(f"[dim]{time.monotonic() - self.started:6.1f} s[/dim]  {text}", soft_wrap=True)

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
                self.say(text)

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
    if epoch.state == "sealed":
        return head + f"sealed by all coordinators, {epoch.events:,} events"
    if epoch.state == "committed":
        return head + f"snapshot committed, {epoch.corrections:,} corrections, {epoch.entries:,} map entries"
    colour = "green" if epoch.state == "validated" else "red"
    return head + f"[{colour}]validation {epoch.validation}[/{colour}]"


#: Column -> its number of an epoch; and those that are there only if some epoch has any.
NUMBERS = {"events": "events", "inserts": "inserts", "deletes": "deletes"}
LEFT_OUT = {"repeats": "duplicates", "quarantined": "quarantined", "files aside": "files_aside"}
WORK = {"corrections": "corrections", "map entries": "entries"}


def epoch_table(epochs: Sequence[EpochReport]) -> Table:
    """The table per epoch."""
    table = Table(title="Snapshots", title_justify="left")
    left_out = {column: name for column, name in LEFT_OUT.items() if any(getattr(e, name) for e in epochs)}
    columns = {**NUMBERS, **left_out, **WORK}
    for heading in ("epoch", *columns, "seconds", "validation"):
        table.add_column(heading, justify="left" if heading == "validation" else "right")
    for e in epochs:
        numbers = (f"{getattr(e, name):,}" for name in columns.values())
        table.add_row(str(e.epoch), *numbers, f"{e.seconds:.1f}", _outcome(e))
    return table


def _outcome(e: EpochReport) -> str:
    """What the validation said, and what the snapshot lacks."""
    outcome = e.validation or e.state
    colour = {"passed": "green", "failed": "red"}.get(outcome, "yellow")
    if "publish" in e.expired:
        outcome += ", not published"
    if e.without:
        outcome += f", without batch {', '.join(str(b.batch) for b in e.without)}"
    if e.in_error:
        outcome += f", in error: {', '.join(v.view for v in e.in_error)}"
    if e.through > e.epoch and e.state != "open":
        outcome += f", and nothing since, to epoch {e.through}"
    return f"[{colour}]{outcome}[/{colour}]"
