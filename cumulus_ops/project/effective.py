"""A view that says something else from a value on: ``{sql: new.sql, before: old.sql, effective: {day: 2026-02-01}}``.

It is one query, the rows of both definitions one below the other, each of its own values. So whoever compiles it, proves it or says when its rows are final needs to know nothing
of this; only whether rows may stay that are final already is asked of its parts (:mod:`cumulus_ops.deploying.final_rows`).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cumulus_ops.project.yaml_nodes import Item, read_text

__all__ = ["KEYS", "ORDERED", "Effective", "read_effective"]

#: What an entry of ``views:`` says of such a view.
KEYS = ("sql", "before", "effective")
HINT = "write `{sql: views/new.sql, before: views/old.sql, effective: {day: 2026-02-01}}`: a column of the view, and its first value with the new definition"
#: How a value is written in SQL, by how it looks.
LITERALS = (
    (re.compile(r"\d{4}-\d{2}-\d{2}"), "DATE '{0}'"),
    (re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"), "TIMESTAMP '{0}'"),
    (re.compile(r"-?\d{1,18}(?:\.\d{1,18})?"), "{0}"),
)


@dataclass(frozen=True)
class Effective:
    """What a view says ``before`` a ``value`` of one of its columns, and ``since``, as SQL texts."""

    column: str
    value: str
    literal: str
    before: str
    since: str

    def text(self, name: str) -> str:
        """The view as one query. The newer definition comes first, so that its lines are those of its file.

        >>> print(Effective("day", "7", "7", "SELECT 1 AS day;", "SELECT 2 AS day").text("v"))
        SELECT * FROM (SELECT 2 AS day
        ) AS v_since WHERE day >= 7
        UNION ALL
        SELECT * FROM (SELECT 1 AS day
        ) AS v_before WHERE day < 7 OR day IS NULL
        """
        since, before = (text.rstrip().removesuffix(";") for text in (self.since, self.before))
        return (
            f"SELECT * FROM ({since}\n) AS {name}_since WHERE {self.column} >= {self.literal}\nUNION ALL\n"
            f"SELECT * FROM ({before}\n) AS {name}_before WHERE {self.column} < {self.literal} OR {self.column} IS NULL"
        )

    def is_part_of(self, name: str, text: str) -> bool:
        """Whether a text is this view's, but for what it says since the value."""
        begin, end = self.text(name).split(self.since.rstrip().removesuffix(";"), 1)
        return text.startswith(begin) and text.endswith(end)

    def concerns(self, text: str | None, kind: str) -> bool:
        """Whether a value of the column, as a text, has the new definition.

        >>> day = Effective("day", "2026-02-01", "", "", "")
        >>> [day.concerns(text, "date") for text in ("2026-01-31", "2026-02-01", None)]
        [False, True, False]
        """
        if text is None:
            return False
        if kind in ("int", "decimal"):
            return Decimal(text) >= Decimal(self.value)
        return datetime.datetime.fromisoformat(text) >= datetime.datetime.fromisoformat(self.value)


#: The kinds of types whose values have the order that their texts say.
ORDERED = ("int", "decimal", "date", "timestamp")


def read_effective(item: Item, existing: Callable[[Item], Path]) -> tuple[Path, Effective]:
    """The file of the newer definition, and both.

    Args:
        item: the view's entry.
        existing: the file that an entry names.

    Raises:
        InputProblem: with the place in the file.
    """
    section = item.section(KEYS)
    sql, before, since = (section.need(key, HINT) for key in KEYS)
    entries = list(since.section().items())
    if len(entries) != 1 or not entries[0][0].isidentifier():
        raise since.problem("says not one column and one value", kind="bad-effective", hint=HINT)
    ((column, entry),) = entries
    value = entry.text()
    literal = next((form.format(value) for pattern, form in LITERALS if pattern.fullmatch(value)), None)
    if literal is None:
        hint = "write a date, a timestamp as 2026-02-01 00:00:00, or a number"
        raise entry.problem(f"{value!r} has no place in an order", kind="bad-effective", hint=hint)
    file = existing(sql)
    return file, Effective(column, value, literal, read_text(existing(before)), read_text(file))
