"""How far a stream has been read, and what of it has to be known to go on."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace

__all__ = ["Mark", "Position", "name_code"]


def name_code(name: str) -> str:
    """Eight characters for a file's name."""
    return base64.urlsafe_b64encode(
        hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=6).digest()
    ).decode()


@dataclass(frozen=True)
class Mark:
    """The place in a database's log of the last transaction, and the highest time of any: what comes again, as it does after
    a connector was restarted, is not behind it."""

    database: str
    place: tuple[int | str, ...]
    ts_ms: int


@dataclass(frozen=True)
class Position:
    """What is kept in the catalog between two deliveries.

    Attributes:
        file: the name of the file that is being read; "" before the first.
        offset: the bytes of it that are in the log; ``line``: the lines. ``tail`` is the digest of its end.
        event: the number of the next event.
        done: :func:`name_code` of the files before it, as many as are still there.
        mark: the last place in the database's log.
        open: the transaction that was ended by waiting; what comes of it later is too late.
        ended: the last transaction of which there was an END.
        counts: rows and messages that were left out, by reason, since the beginning.
    """

    file: str = ""
    offset: int = 0
    line: int = 0
    tail: str = ""
    event: int = 1
    done: tuple[str, ...] = ()
    mark: Mark | None = None
    open: str | None = None
    ended: str | None = None
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Position:
        """From :meth:`text`; None is the beginning.

        >>> at = Position("a.json", 7, 1, "ab", 5, mark=Mark("postgresql/shop", (1, 2), 9), counts={"tombstone": 1})
        >>> Position.parse(at.text()) == at
        True
        """
        if text is None:
            return cls()
        found = json.loads(text)
        mark = found.pop("mark", None)
        if mark:
            found["mark"] = Mark(mark["database"], tuple(mark["place"]), mark["ts_ms"])
        return cls(**{**found, "done": tuple(found.get("done", ()))})

    def text(self) -> str:
        """As it is kept in the catalog."""
        return json.dumps({name: value for name, value in asdict(self).items() if value or name == "offset"})

    def counted(self, counts: Counter[str]) -> Position:
        """With more that was left out."""
        return replace(self, counts=dict(sorted((Counter(self.counts) + counts).items())))
