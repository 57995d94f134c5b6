"""The rows of a result file: one measured (or refused) combination each, merged by what was measured."""

from __future__ import annotations

import csv
import dataclasses
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Label", "Row", "machine", "merge_rows", "read_rows", "write_rows"]


@dataclass(frozen=True, order=True)
class Label:
    """What is measured; together with the contestant the key of a row.

    ``query`` is ``q3``, or ``all`` for one program of all 22. ``variant`` is what else tells rows of a case apart.
    ``batch_events`` is the size of a batch asked for; 0 where there are no batches. ``state_events`` is how many
    events had been applied before the measurement.
    """

    case: str
    query: str
    variant: str = ""
    scale_factor: float = 0.0
    batch_events: int = 0
    cores: int = 0
    state_events: int = 0


@dataclass(frozen=True)
class Row:
    """One line of ``results/<case>.csv``. ``seconds`` is the median of ``runs`` runs, None where there is no number:
    then ``note`` says why. ``peak_rss_mb`` is of all processes of the contestant together, where they are its own."""

    case: str
    contestant: str
    query: str
    variant: str
    scale_factor: float
    batch_events: int
    cores: int
    state_events: int
    events: int
    seconds: float | None
    runs: int
    min: float | None
    max: float | None
    events_per_s: float | None
    peak_rss_mb: float | None
    note: str
    date: str
    machine: str

    @property
    def key(self) -> tuple[str, str, str, str, float, int, int, int]:
        """What a newer measurement replaces."""
        return (
            self.case,
            self.contestant,
            self.query,
            self.variant,
            self.scale_factor,
            self.batch_events,
            self.cores,
            self.state_events,
        )


def machine() -> str:
    """Number and model of the processors, and the memory."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        names = [
            line.split(":", 1)[1] for line in information.read_text().splitlines() if line.startswith("model name")
        ]
        model = " ".join(names[0].split()) if names else model
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} x {model}, {gib:.0f} GiB"


def merge_rows(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """All rows, newer ones instead of older ones with the same key, in a fixed order."""
    merged = {row.key: row for row in old} | {row.key: row for row in new}
    return sorted(merged.values(), key=_place)


def _place(row: Row) -> tuple[object, ...]:
    number = row.query.removeprefix("q")
    query = int(number) if number.isdigit() else 99
    return (row.case, row.scale_factor, row.variant, row.batch_events, query, row.cores, row.contestant, row.key)


def read_rows(file: Path) -> list[Row]:
    """The rows of a file; none if it does not exist."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return [_row(record) for record in csv.DictReader(lines)]


def _row(record: dict[str, str]) -> Row:
    def number(name: str) -> float | None:
        return float(record[name]) if record[name] else None

    return Row(
        case=record["case"],
        contestant=record["contestant"],
        query=record["query"],
        variant=record["variant"],
        scale_factor=float(record["scale_factor"]),
        batch_events=int(record["batch_events"]),
        cores=int(record["cores"]),
        state_events=int(record["state_events"]),
        events=int(record["events"]),
        seconds=number("seconds"),
        runs=int(record["runs"]),
        min=number("min"),
        max=number("max"),
        events_per_s=number("events_per_s"),
        peak_rss_mb=number("peak_rss_mb"),
        note=record["note"],
        date=record["date"],
        machine=record["machine"],
    )


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Replace the file, by one rename."""
    temporary = file.with_suffix(".tmp")
    file.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [f.name for f in dataclasses.fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in dataclasses.asdict(row).items()} for row in rows)
    temporary.rename(file)


def _text(value: object) -> object:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
