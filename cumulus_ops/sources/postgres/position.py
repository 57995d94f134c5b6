"""Where a source is: a place in the log of one database, which another or a restored database does not have."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cumulus_ops.errors import IntegrityProblem

__all__ = ["Position", "lsn_number", "lsn_text"]


@dataclass(frozen=True)
class Position:
    """``system``, ``timeline`` and ``database`` say whose log, ``slot`` what keeps it for us, ``tables`` (relation=schema.table) what was
    copied at the beginning. ``lsn``: transactions whose commit is written before it (exclusive) are in; None is where the slot
    began, directly after the initial copy."""

    system: str
    timeline: int
    database: str
    slot: str
    tables: tuple[str, ...]
    lsn: int | None = None

    def text(self) -> str:
        """What the catalog keeps.

        >>> Position("7", 1, "shop", "s", ("orders=public.orders",), 0x16B3748).text()
        '{"database": "shop", "lsn": "0/16B3748", "slot": "s", "system": "7", "tables": ["orders=public.orders"], "timeline": 1}'
        """
        lsn = None if self.lsn is None else lsn_text(self.lsn)
        return json.dumps({**self.__dict__, "lsn": lsn}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Inverse of :meth:`text`.

        Raises:
            IntegrityProblem: it is not a position of this kind of source.
        """
        try:
            found = json.loads(text)
            lsn = None if found["lsn"] is None else lsn_number(found["lsn"])
            return cls(**{**found, "lsn": lsn, "tables": tuple(found["tables"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise IntegrityProblem(
                f"{text!r} is no position of a PostgreSQL source",
                kind="bad-position",
                hint="a source keeps its kind; give the new one another name",
            ) from problem


def lsn_number(text: str) -> int:
    """A place in the log, in bytes.

    >>> hex(lsn_number("2/16B3748"))
    '0x2016b3748'
    """
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def lsn_text(lsn: int) -> str:
    """As PostgreSQL writes it.

    >>> lsn_text(0x2016b3748)
    '2/16B3748'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
