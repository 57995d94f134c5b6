"""Printing values: tables for people, JSON for scripts."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cumulus_ops.project.errors import InputProblem

if TYPE_CHECKING:
    import pyarrow as pa

    from cumulus_ops.catalog.epochs import LeftOut

__all__ = [
    "age_text",
    "cell_text",
    "console",
    "plain",
    "print_json",
    "print_left_out",
    "print_rows",
    "show_value",
    "size_text",
    "visible",
    "write_drawing",
]


WIDTH = 130
#: Control characters, ends of lines, what turns the direction of writing, halves of pairs.
UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def console() -> Console:
    """Standard output; wide and plain when it is not a terminal."""
    made = Console(highlight=False, emoji=False)
    return made if made.is_terminal else Console(highlight=False, emoji=False, width=WIDTH, no_color=True)


def print_json(value: Any) -> None:
    """One JSON document. Decimals and dates are strings: a script must not lose digits to floating point."""
    click.echo(json.dumps(value, default=plain, indent=2, ensure_ascii=False))


def plain(value: object) -> object:
    """What JSON has no literal for, as a value that it has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, Decimal | Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def size_text(size: float) -> str:
    """Bytes with three digits and a unit: ``7 B``, ``1.5 kB``, ``240 MB``."""
    for factor, unit in UNITS:
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"


def age_text(seconds: float) -> str:
    """How long something has been there: ``5 s``, ``12 min``, ``3 h``, ``2 d``.

    >>> [age_text(s) for s in (0.4, 119, 120, 7199, 7200, 172_800)]
    ['0 s', '119 s', '2 min', '119 min', '2 h', '2 d']
    """
    for factor, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * factor:
            return f"{int(seconds // factor)} {unit}"
    return f"{int(seconds)} s"


def visible(text: str) -> str:
    """A text as one line of its own characters only: what would move a terminal's cursor, colour it or turn its direction is spelled out.

    >>> visible("a\\x1b[31mb\\u202e")
    'a\\\\x1b[31mb\\\\u202e'
    """
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def show_value(value: object) -> str:
    """A value of the data, a name or a path for a table, where it may have several lines: nothing in it is markup.

    >>> show_value("[red]")
    '\\\\[red]'
    """
    return escape(_lines(value).plain)


def _lines(value: object) -> Text:
    """The same for where no markup is looked for at all."""
    return Text("\n".join(map(visible, str(value).split("\n"))))


def cell_text(value: object) -> str:
    """A value of a view for people; texts in lists have quotes.

    >>> cell_text([Decimal("1.50"), None]), cell_text(["a, b"]), cell_text(None), cell_text("x")
    ('[1.50, NULL]', '["a, b"]', 'NULL', 'x')
    """
    if isinstance(value, list):
        parts = (json.dumps(v, ensure_ascii=False) if isinstance(v, str) else cell_text(v) for v in value)
        return f"[{', '.join(parts)}]"
    return "NULL" if value is None else str(value)


def print_rows(rows: pa.Table, title: str, limit: int | None) -> None:
    """A table's rows, at most ``limit`` of them."""
    table = Table(title=_lines(title), title_justify="left")
    for field in rows.schema:
        is_number = str(field.type).startswith(("int", "uint", "decimal", "float", "double"))
        table.add_column(_lines(field.name), justify="right" if is_number else "left")
    for row in rows.slice(0, limit).to_pylist():
        table.add_row(*(_lines(cell_text(value)) for value in row.values()))
    out = console()
    out.print(table)
    left = rows.num_rows - (limit if limit is not None else rows.num_rows)
    out.print(
        f"{rows.num_rows} row{'' if rows.num_rows == 1 else 's'}"
        + (f", {left} not shown (--limit)" if left > 0 else "")
    )


def write_drawing(file: Path, svg: str) -> None:
    """Write a picture, and say so on stderr.

    Raises:
        InputProblem: the file cannot be written.
    """
    try:
        file.write_text(svg, encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that exists"
        raise InputProblem(f"cannot write it: {error.strerror}", kind="no-file", place=str(file), hint=hint) from error
    click.echo(f"wrote {file}", err=True)


def print_left_out(batches: Sequence[LeftOut]) -> None:
    """Batches that failed, and what became of them, as a table."""
    table = Table(title="Batches that failed", title_justify="left")
    for name in ("batch", "epoch", "coordinator", "drop", "events", "state", "reason"):
        table.add_column(name, justify="right" if name in ("batch", "epoch", "coordinator", "events") else "left")
    for b in batches:
        numbers = (str(b.batch), str(b.epoch), str(b.coordinator))
        table.add_row(*numbers, show_value(b.drop), f"{b.events:,}", b.fate, show_value(b.reason))
    console().print(table)
