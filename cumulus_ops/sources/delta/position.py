"""How far each table of a source has been read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

__all__ = ["Position", "Reached"]


@dataclass(frozen=True)
class Reached:
    """``version`` (inclusive) of the table with the id ``table`` is in the log."""

    version: int
    table: str


@dataclass(frozen=True)
class Position:
    """relation -> where its table is; a relation that has not begun is left out.

    >>> position = Position().after("orders", Reached(3, "6ad4"))
    >>> position.text()
    '{"orders": [3, "6ad4"]}'
    >>> Position.parse(position.text()) == position
    True
    """

    reached: Mapping[str, Reached] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Position:
        """From :meth:`text`; None is the beginning."""
        if text is None:
            return cls()
        return cls({relation: Reached(version, table) for relation, (version, table) in json.loads(text).items()})

    def text(self) -> str:
        """As it is kept in the catalog."""
        return json.dumps({r: [at.version, at.table] for r, at in sorted(self.reached.items())})

    def after(self, relation: str, reached: Reached) -> Position:
        """With one table further on."""
        return replace(self, reached={**self.reached, relation: reached})
