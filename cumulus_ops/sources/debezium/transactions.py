"""Messages, in the order of the stream, as transactions.

A change says which transaction it belongs to: by its ``transaction`` block, or by what the database calls its transactions (PostgreSQL's
``txId``, MySQL's ``gtid``, ...); a snapshot's reads, and changes that say nothing, are each by itself. A database hands over one
transaction after the other, so one is whole when its END comes, or something of the next. What was not delivered as a whole is
rejected as a whole.

A connector that is started again repeats the last of what it has sent. Where the database's log has places that ascend, repeats are
known by them: a transaction that is not behind the last one, and not younger, is left out; and within a transaction, changes are replaced by
those that come again from the same place on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace

import msgspec
from msgspec import Raw

from cumulus_ops.sources.debezium.messages import (
    BadLine,
    Message,
    Origin,
    Place,
    database_of,
    decode,
    place_of,
    table_names,
    transaction_key,
)

__all__ = ["Assembler", "Change", "Mark", "Position", "Rejected", "Transaction", "name_code"]


# How far a stream has been read, and what of it has to be known to go on.


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

    def add_counts(self, counts: Counter[str]) -> Position:
        """With more that was left out."""
        return replace(self, counts=dict(sorted((Counter(self.counts) + counts).items())))


#: PostgreSQL's transactions are called ``number:place``, and the place is that of the single message.
NUMBER_AND_PLACE = re.compile(r"(\d+):(\d+)")
DATA = ("c", "u", "d", "r", "t")


class Change(msgspec.Struct, gc=False):
    """One envelope that concerns a relation. ``line`` is its 0-based number, ``order`` its place among those of its table."""

    relation: str
    table: str
    line: int
    message: Message
    key: Raw
    schema: Raw
    text: bytes
    place: Place | None

    @property
    def order(self) -> int | None:
        """Its 1-based place among the transaction's changes of its table."""
        block = self.message.transaction
        return None if block is None or block.data_collection_order is None else int(block.data_collection_order)


class Rejected(msgspec.Struct, gc=False):
    """A line that is not accepted, and why. ``relation`` is None if nobody knows."""

    relation: str | None
    line: int
    kind: str
    reason: str
    text: bytes


class Transaction(msgspec.Struct, gc=False):
    """What is accepted together, or not at all.

    ``key`` is None for a change by itself. ``begun``: there was a BEGIN. ``place`` and ``source`` are those of the last change that has a
    place, ``ts_ms`` the highest time."""

    key: str | None
    begun: bool = False
    changes: list[Change] = msgspec.field(default_factory=list)
    rejected: list[Rejected] = msgspec.field(default_factory=list)
    problem: tuple[str, str] | None = None
    source: Origin | None = None
    place: Place | None = None
    ts_ms: int = 0

    def reject(self, kind: str, reason: str) -> None:
        """All of it, for the first reason that was found."""
        self.problem = self.problem or (kind, reason)

    def settle(self) -> None:
        """Move the changes of a transaction that is rejected to what is rejected."""
        if self.problem:
            kind, reason = self.problem
            self.rejected += [Rejected(c.relation, c.line, kind, reason, c.text) for c in self.changes]
            self.changes = []


class Assembler:
    """Takes lines one after the other, and hands over transactions as they end.

    Args:
        relation_of: the relation of a table, given by the names that it may have; None if nobody asked for it.
        mark: the last place in the database's log.
        late: the transaction that was ended by waiting, whose rest comes too late.
        ended: the one of which the last END told.
        keyed: the relations that have a key.
    """

    def __init__(
        self,
        relation_of: Callable[[tuple[str, ...]], str | None],
        mark: Mark | None = None,
        late: str | None = None,
        ended: str | None = None,
        keyed: Collection[str] = (),
    ) -> None:
        self._relation_of, self.mark, self.late, self._keyed = relation_of, mark, late, keyed
        self.ended = ended
        self.open: Transaction | None = None
        self.counts: Counter[str] = Counter()
        self.counts_before: Counter[str] = Counter()  # without what belongs to the open one
        self._counted = False  # since then
        self.done: list[Transaction] = []
        self._tables: dict[tuple[str | None, ...], tuple[str, str | None]] = {}

    def feed(self, number: int, text: bytes) -> None:
        """Take the next line; what has ended by it is in ``done``."""
        if not text or text.isspace():
            return
        try:
            message, schema, key = decode(text)
            if isinstance(message, str):
                self._count(message)
            elif message.op in DATA:
                self._take_change(number, text, message, schema, key)
            elif message.status is not None:
                self._take_boundary(number, text, message)
            elif message.op == "m":
                self._count("logical message")
            else:
                raise BadLine(f"unknown op {message.op!r}")
        except BadLine as problem:
            rejected = Rejected(None, number, "malformed-line", str(problem), text)
            if self.open is None:
                self.done.append(Transaction(None, rejected=[rejected]))
                return
            self.open.rejected.append(rejected)
            self.open.reject("malformed-line", f"a line of transaction {self.open.key} cannot be read: {problem}")

    def end(self) -> None:
        """What is open has ended, if it is known that nothing more of it comes."""
        if self.open is not None:
            self._close()

    # messages

    def _take_change(self, number: int, text: bytes, message: Message, schema: Raw, key: Raw) -> None:
        source = message.source
        if source is None or source.table is None:
            raise BadLine("an envelope without its source")
        known = (source.name, source.db, source.schema, source.table)
        if known not in self._tables:
            names = table_names(source)
            self._tables[known] = (names[-1], self._relation_of(names))
        table, relation = self._tables[known]
        transaction = self._find_transaction(transaction_key(message, source), message)
        if relation is None:
            self._count(f"table {table}")
        else:
            place = None if message.op == "r" else place_of(source)
            change = Change(relation, table, number, message, key, schema, text, place)
            if place is not None:
                self._take_place(transaction, place, change)
            transaction.changes.append(change)
        if transaction.key is None:
            self._finish(transaction)

    def _find_transaction(self, key: str | None, message: Message) -> Transaction:
        """The one that a change belongs to, which may begin with it."""
        if self.open is not None:
            if key == self.open.key:
                return self.open
            if message.op == "r" and message.source is not None and message.source.snapshot == "incremental":
                return self.open  # read in between, while the stream goes on
            self._close()
        found = Transaction(key)
        if key is not None:
            self._open(found)
        return found

    def _take_place(self, transaction: Transaction, place: Place, change: Change) -> None:
        """Note where a transaction has come to, and take back the changes that come again, from this one on."""
        changes, last = transaction.changes, transaction.place
        if last is not None and place <= last:
            again = (
                i
                for i, c in enumerate(changes)
                if c.place is not None and (c.place > place or self._is_again(c, change))
            )
            index = next(again, len(changes))
            self._count("repeat", len(changes) - index)
            del changes[index:]
        source = change.message.source
        transaction.place, transaction.source = place, source
        if source is not None and source.ts_ms is not None and source.ts_ms > transaction.ts_ms:
            transaction.ts_ms = source.ts_ms

    def _is_again(self, old: Change, new: Change) -> bool:
        """Whether a change comes again. Rows that are inserted together may share a place: then their numbers tell, or that no key is
        inserted twice."""
        if old.place != new.place or old.table != new.table:
            return False
        if old.order is not None:
            return old.order == new.order
        images = [(m.op, bytes(m.before), bytes(m.after)) for m in (old.message, new.message)]
        return old.relation in self._keyed and images[0] == images[1]

    def _take_boundary(self, number: int, text: bytes, message: Message) -> None:
        id_ = str(message.id)
        match = NUMBER_AND_PLACE.fullmatch(id_)
        key = match[1] if match else id_
        if message.status == "BEGIN":
            if self.open is not None and self.open.key != key:
                self._close()
            if self.open is None:
                self._open(Transaction(key))
            assert self.open is not None
            self.open.begun = True
            return
        if message.status != "END":
            raise BadLine(f"unknown status {message.status!r}")
        if self.open is not None and self.open.key != key:
            self._close()
        counts, is_behind = self._read_counts(message), self._is_behind(id_)
        self.ended = self.ended if is_behind else id_
        if self.open is None:
            if counts and key != self.late and not is_behind:
                missing = ", ".join(f"{n} of {table}" for table, n in counts.items())
                lost = Transaction(None)
                reason = f"the changes of transaction {key} are missing: {missing}"
                lost.rejected.append(Rejected(None, number, "changes-missing", reason, text))
                self.done.append(lost)
            return
        found, self.open = self.open, None
        if found.problem is None:
            _check_counts(found, counts)
        self._finish(found)

    def _is_behind(self, id_: str) -> bool:
        """Whether it is the END of the last transaction that was taken, or of an earlier one: a connector began again behind its changes.
        What stands behind the last colon ascends, PostgreSQL's places as well as MySQL's transaction numbers."""
        (server, _, number), (last_server, _, last) = id_.rpartition(":"), (self.ended or "").rpartition(":")
        if NUMBER_AND_PLACE.fullmatch(id_):
            server = last_server  # there, it is the number of the transaction
        return server == last_server and number.isdigit() and last.isdigit() and int(number) <= int(last)

    # begins and ends of transactions

    def _open(self, found: Transaction) -> None:
        self.open = found
        if self._counted:
            self.counts_before, self._counted = Counter(self.counts), False

    def _count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times
        self._counted = True

    def _close(self) -> None:
        """End the open one without its END."""
        assert self.open is not None
        found, self.open = self.open, None
        if found.begun:
            found.reject("end-missing", f"the end of transaction {found.key} is missing")
        self._finish(found)

    def _finish(self, found: Transaction) -> None:
        if found.key is not None and found.key == self.late:
            found.reject(
                "late-part", f"the first part of transaction {found.key} was taken already, after waiting for the rest"
            )
        else:
            self.late = None if found.key is not None else self.late
        database = database_of(found.source) if found.source else ""
        mark = self.mark if self.mark is not None and self.mark.database == database else Mark(database, (), 0)
        if self._is_repeat(found, mark):
            self._count("repeat", len(found.changes))
            found.changes, found.problem = [], None  # a line of it that cannot be read is told nevertheless
        if found.key is not None and found.problem is None:
            _check_orders(found)
        if found.place is not None and (found.place > mark.place):
            self.mark = Mark(mark.database, found.place, max(found.ts_ms, mark.ts_ms))
        found.settle()
        if found.changes or found.rejected:
            self.done.append(found)

    def _is_repeat(self, found: Transaction, mark: Mark) -> bool:
        """Whether it comes again; if it only stands before what was read, but is younger, it is rejected."""
        if found.place is None or found.place > mark.place:
            return False
        if found.ts_ms <= mark.ts_ms:
            return True
        found.reject(
            "log-went-back",
            "its place in the database's log is before what was read, but its time is later: was the database restored, or replaced? "
            "Then begin anew, under another name of the source, with empty base tables",
        )
        return False

    # names

    def _read_counts(self, message: Message) -> Mapping[str, int]:
        """How many changes an END announces, of the tables that are asked for."""
        found = {}
        for counted in message.data_collections or ():
            parts = tuple(counted.data_collection.split("."))
            names = tuple(".".join(parts[i:]) for i in range(max(1, len(parts) - 1)))
            if self._relation_of(names) is not None:
                found[names[-1]] = int(counted.event_count)
        return found


def _check_counts(found: Transaction, counts: Mapping[str, int]) -> None:
    """Reject it if it has not as many changes of each table as its END says."""
    here = Counter(change.table for change in found.changes if change.message.op != "r")
    for table in sorted({*counts, *here}):
        if counts and counts.get(table, 0) != here[table]:
            reason = f"of transaction {found.key}, {here[table]} changes of {table} are here, and {counts.get(table, 0)} were announced"
            found.reject("changes-missing", reason)


def _check_orders(found: Transaction) -> None:
    """Reject it if a change is missing among those of its table."""
    last: dict[str, int] = {}
    for change in found.changes:
        order = change.order
        if order is None or change.message.op == "r":
            continue
        expected = last[change.table] = last.get(change.table, 0) + 1
        if order != expected:
            found.reject(
                "changes-missing", f"of transaction {found.key}, change no. {expected} of {change.table} is missing"
            )
            return
