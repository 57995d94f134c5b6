"""Failures kept: ``regressions/<name>.sql`` and the events in ``regressions/<name>.json``."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlglot import exp, parse_one

from m3.datatypes import Type
from tests.fuzz.queries import Made
from tests.fuzz.schema import BY_NAME, Batch, Row
from tests.fuzz.shrink import is_ordered

FOLDER = Path(__file__).parent / "regressions"


def names() -> list[str]:
    """The regressions that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.sql"))


def load(name: str) -> tuple[Made, list[Batch]]:
    """A regression."""
    sql = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").strip()
    raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    batches = [[(sign, relation, _row(relation, values)) for sign, relation, values in batch] for batch in raw]
    return make(sql), batches


def make(sql: str) -> Made:
    """A query as the checker wants it; it is compared in order when it orders by all of its columns."""
    tree = parse_one(sql, dialect="duckdb")
    tables = {t.name for t in tree.find_all(exp.Table)} & set(BY_NAME)
    return Made(-1, sql, frozenset(), tuple(sorted(tables)), is_ordered(tree))


def save(name: str, sql: str, batches: Sequence[Batch]) -> None:
    """Keep a failure."""
    (FOLDER / f"{name}.sql").write_text(f"{sql}\n", encoding="utf-8")
    (FOLDER / f"{name}.json").write_text(events_text(batches), encoding="utf-8")


def events_text(batches: Sequence[Batch]) -> str:
    """The events as JSON, one a line."""
    parts = [
        "[\n" + ",\n".join(json.dumps([sign, r, [_plain(v) for v in row]]) for sign, r, row in b) + "\n]"
        for b in batches
    ]
    return "[" + ", ".join(parts) + "]\n"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | datetime.date) else value


def _row(relation: str, values: Sequence[Any]) -> Row:
    columns = BY_NAME[relation].columns
    return tuple(_typed(value, c.type) for value, c in zip(values, columns, strict=True))


def _typed(value: Any, t: Type) -> Any:
    if value is None:
        return None
    if value != value:
        return math.nan  # one object, see tests.support.doubles
    return {"decimal": Decimal, "date": datetime.date.fromisoformat}.get(t.kind, lambda v: v)(value)
