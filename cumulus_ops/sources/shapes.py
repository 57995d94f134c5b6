"""Which columns sources show: what their tables have now, or the newest of their files. Nothing is taken, and nothing of it is kept."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cumulus_ops.files.columns import EVENT, OP, found_columns, m3_type
from cumulus_ops.files.landed import Landed
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LandingSettings, Project
from cumulus_ops.sources.drops import natural, subject_of
from m3.datatypes import BOOL, DATE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal
from m3.program import Relation

__all__ = ["Describes", "ShownColumn", "arrow_column", "columns_of_files", "guess_column"]

#: Of a file so much is looked at, and of a landing folder so many drops.
HEAD_BYTES = 1 << 18
ROWS = 1000
DROPS = 20


@dataclass(frozen=True)
class ShownColumn:
    """A column as a source shows it. ``type``: the narrowest that holds what may come, NULL included; None if no column type does, or it is not known.
    ``what``: what the source calls that. ``default``: what its older rows have. ``is_guess``: the type is what the newest values look like."""

    name: str
    type: Type | None
    what: str = ""
    default: str | None = None
    is_guess: bool = False


@runtime_checkable
class Describes(Protocol):
    """A source that can say which columns it has."""

    def columns(self) -> Mapping[str, Sequence[ShownColumn]]:
        """relation -> the columns of its table, of those that can be told."""
        ...


def arrow_column(name: str, type_: Any, *, nullable: bool = True) -> ShownColumn:
    """A column of an Arrow type."""
    try:
        return ShownColumn(name, m3_type(type_, nullable=nullable), str(type_))
    except InputProblem:
        return ShownColumn(name, None, str(type_))


# What values look like, where nothing else says what they are.


LOOKS: tuple[tuple[str, Type], ...] = (
    (r"[+-]?[0-9]{1,18}", INT),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", DATE),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*", TIMESTAMP),
    (r"(?i:true|false)", BOOL),
)
NUMBER = re.compile(r"[+-]?([0-9]+)(?:\.([0-9]+))?")
#: A guessed decimal has at least so many digits.
DIGITS = 15


def guess_column(name: str, values: Iterable[object]) -> ShownColumn:
    """A column by some of its values: texts, or what JSON has.

    >>> [str(guess_column("x", v).type) for v in (["1", "-2"], ["1", "2.50"], ["2026-01-31", ""], ["1", "x"], [True, None], [Decimal("0.5"), 7])]
    ['INT', 'DECIMAL(15, 2)', 'DATE', 'STRING', 'BOOL', 'DECIMAL(15, 1)']
    """
    texts = ["true" if v is True else "false" if v is False else str(v) for v in values if v is not None and v != ""]
    return ShownColumn(name, _guess(texts).with_null(), "by its values", is_guess=True)


def _guess(texts: Sequence[str]) -> Type:
    for pattern, type_ in LOOKS if texts else ():
        if all(re.fullmatch(pattern, text) for text in texts):
            return type_
    numbers = [NUMBER.fullmatch(text) for text in texts]
    found = [number for number in numbers if number is not None]
    if not texts or len(found) < len(texts):
        return STRING
    whole, scale = max(len(n[1]) for n in found), max(len(n[2] or "") for n in found)
    return decimal(max(DIGITS, whole + scale), scale) if whole + scale <= MAX_PRECISION else STRING


# Files that have landed.


def columns_of_files(project: Project) -> dict[str, tuple[Path, list[ShownColumn]]]:
    """relation -> the newest file of it that has landed, and its columns, by the names that the relation has for them."""
    from cumulus_ops.files.formats import format_of

    relations = {relation.name: relation for relation in project.relations}
    found: dict[str, tuple[Path, list[ShownColumn]]] = {}
    for path in _newest_files(project.landing):
        name, kind = subject_of(path.name, {relation: [] for relation in relations}), format_of(path.name)[1]
        if name in relations and name not in found and kind:
            settings = project.settings_of(name)
            try:
                found[name] = path, list(_columns_of(path, kind, relations[name], settings, project.memory_bytes))
            except (InputProblem, OSError, ValueError, csv.Error):
                continue  # it is set aside, or will be, with the reason
    return found


def _newest_files(landing: Path) -> Iterator[Path]:
    drops = [drop for folder in _folders(landing) if folder.name.isdecimal() for drop in _folders(folder)]
    drops.sort(key=lambda drop: (natural(drop.name), drop.name), reverse=True)
    for drop in drops[:DROPS]:
        yield from sorted(path for path in drop.iterdir() if path.is_file() and not path.name.startswith((".", "_")))


def _folders(path: Path) -> list[Path]:
    return [p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))] if path.is_dir() else []


def _columns_of(
    path: Path, kind: str, relation: Relation, settings: LandingSettings, memory: int
) -> Iterator[ShownColumn]:
    """The columns of a file but ``op`` and ``event``; those that are the relation's have its names."""
    wanted = [*(c.name for c in relation.columns), *(o for older in settings.older.values() for o in older), OP, EVENT]
    match kind:
        case "parquet":
            import pyarrow.parquet as pq

            schema = pq.read_schema(path)
            shown = [arrow_column(field.name, field.type, nullable=field.nullable) for field in schema]
        case "csv":
            shown = _columns_of_csv(path, wanted, settings, memory)
        case _:
            shown = _columns_of_json(path, memory)
    places = found_columns(path, [column.name for column in shown], wanted)
    names = {place: name for name, place in places.items()}
    for place, column in enumerate(shown):
        if names.get(place) not in (OP, EVENT):
            yield ShownColumn(names.get(place, column.name.strip()), column.type, column.what, None, column.is_guess)


def _columns_of_csv(path: Path, wanted: Sequence[str], settings: LandingSettings, memory: int) -> list[ShownColumn]:
    from cumulus_ops.files.csv_files import read_form

    with Landed(path, memory) as file:
        head = file.read(HEAD_BYTES)
    form = read_form(path, head, wanted, settings)
    ignored = iter(form.ignored)
    names = [name if name in form.wanted else next(ignored) for name in form.names]
    lines, _, rest = head[form.skip :].decode(errors="replace").rpartition("\n")
    text = lines if len(head) == HEAD_BYTES else f"{lines}\n{rest}"
    rows = [row for row, _ in zip(csv.reader(io.StringIO(text), delimiter=form.delimiter), range(ROWS), strict=False)]
    nulls = {*form.null_values}
    columns = ([row[i] for row in rows if i < len(row) and row[i] not in nulls] for i in range(len(names)))
    return [guess_column(name, values) for name, values in zip(names, columns, strict=True)]


def _columns_of_json(path: Path, memory: int) -> list[ShownColumn]:
    """Of an object per line, or an array of them."""
    with Landed(path, memory) as file:
        text = file.read(HEAD_BYTES).decode(errors="replace").lstrip("\ufeff \t\r\n[")
    decoder, values = json.JSONDecoder(parse_float=Decimal), dict[str, list[object]]()
    for _ in range(ROWS):
        try:
            found, end = decoder.raw_decode(text)
        except ValueError:
            break  # the end of what was looked at
        for name, value in found.items() if isinstance(found, dict) else ():
            values.setdefault(name, []).append(value)
        text = text[end:].lstrip(", \t\r\n")
    return [guess_column(name, of) for name, of in values.items()]
