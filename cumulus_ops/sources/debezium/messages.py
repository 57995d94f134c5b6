"""One line of a stream, whatever it is wrapped in, as a message.

=============================================  =====================================================
a line                                         is
=============================================  =====================================================
``{"before": .., "after": .., "op": ..}``      an envelope: a change
``{"status": "END", "id": ..}``                where a transaction begins or ends
``{"schema": .., "payload": ..}``              either of them, with its schema
``{"key": .., "value": ..}``                   either of them, with its key
``null``, or a ``value`` or ``payload`` null   a tombstone, which follows a delete
``{"ts_ms": ..}``, ``{.., "ddl": ..}``         a heartbeat, a change of a schema; neither concerns rows
=============================================  =====================================================

Only what surrounds the rows is decoded here; rows stay the text that they are (:class:`msgspec.Raw`) until many can be read at once.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

__all__ = [
    "IGNORED",
    "TOMBSTONE",
    "BadLine",
    "Counted",
    "Message",
    "Origin",
    "Place",
    "TransactionBlock",
    "database_of",
    "decode",
    "is_object",
    "place_of",
    "table_names",
    "transaction_key",
]


#: What is counted, and otherwise ignored.
TOMBSTONE, IGNORED = "tombstone", "ignored"


class Origin(msgspec.Struct, gc=False, rename={"transaction_number": "txId"}):
    """Where in which database a change was made: the envelope's ``source``."""

    connector: str | None = None
    name: str | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    snapshot: Any = None
    sequence: str | None = None
    ts_ms: int | None = None
    transaction_number: Any = None
    lsn: Any = None
    gtid: str | None = None
    file: str | None = None
    pos: int | None = None
    row: int | None = None
    commit_lsn: str | None = None
    change_lsn: str | None = None
    event_serial_no: int | None = None
    server_id: int | None = None


class TransactionBlock(msgspec.Struct, gc=False):
    """Which transaction a change belongs to, and its place there. Numbers may be texts."""

    id: str
    total_order: int | str | None = None
    data_collection_order: int | str | None = None


class Counted(msgspec.Struct, gc=False):
    """How many changes of a table a transaction has."""

    data_collection: str
    event_count: int | str


class Message(msgspec.Struct, gc=False):
    """An envelope, or the begin or end of a transaction (with ``status``)."""

    op: str | None = None
    before: Raw = Raw()
    after: Raw = Raw()
    source: Origin | None = None
    transaction: TransactionBlock | None = None
    status: str | None = None
    id: Any = None
    event_count: Any = None
    data_collections: list[Counted] | None = None


class _Value(Message, gc=False):
    """A message, or one wrapped with its schema."""

    schema: Raw = Raw()
    payload: Message | UnsetType | None = UNSET


class _Line(_Value, gc=False):
    """A value by itself, or with its key."""

    key: Raw = Raw()
    value: _Value | UnsetType | None = UNSET


class BadLine(ValueError):
    """A line that is no message; says why."""


_DECODER = msgspec.json.Decoder(_Line)
#: What messages that do not concern rows are known by.
HEARTBEAT = {"ts_ms", "ts_us", "ts_ns"}
SCHEMA_CHANGE = {"ddl", "tableChanges"}
UNWRAPPED = {"__op", "__deleted", "__table", "__lsn"}


def decode(line: bytes) -> tuple[Message | str, Raw, Raw]:
    """A line as ``(message, schema, key)``: the message, or :data:`TOMBSTONE` or :data:`IGNORED`; the texts of its schema and key.

    >>> message, schema, key = decode(b'{"key":{"id":1},"value":{"op":"d","before":{"id":1},"after":null}}')
    >>> message.op, bytes(message.before), bytes(message.after), bytes(schema), bytes(key)
    ('d', b'{"id":1}', b'null', b'', b'{"id":1}')
    >>> decode(b"null")[0]
    'tombstone'

    Raises:
        BadLine: it is none of these.
    """
    try:
        if not line.isascii():
            line.decode()  # what is not decoded further is not looked at otherwise
        found = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        if line.strip() == b"null":
            return TOMBSTONE, Raw(), Raw()
        why = "not UTF-8" if isinstance(problem, UnicodeDecodeError) else "not JSON"
        if isinstance(problem, msgspec.ValidationError):
            why = f"not a Debezium message: {problem}"
        elif isinstance(problem, RecursionError):
            why = "nested too deeply"
        raise BadLine(why) from None
    value: _Value | None = found
    if found.value is not UNSET:
        value = found.value
    if value is None:
        return TOMBSTONE, Raw(), found.key
    message = value if value.payload is UNSET else value.payload
    if message is None:
        return TOMBSTONE, Raw(), found.key
    if message.op is None and message.status is None:
        return _ignore_without_rows(line), Raw(), Raw()
    return message, value.schema, found.key


def is_object(text: Raw) -> bool:
    """Whether a JSON text is an object; a row that is not there is empty, or ``null``. Nothing else may come before Arrow's parser, which
    does not survive a ``null`` in the place of a row."""
    return bytes(text)[:1] == b"{"


def _ignore_without_rows(line: bytes) -> str:
    """:data:`IGNORED`, if it is a message of a kind that has no rows."""
    found = json.loads(line)
    for name in ("value", "payload"):
        if isinstance(found, dict) and isinstance(found.get(name), dict):
            found = found[name]
    names = set(found)
    if names <= HEARTBEAT or names & SCHEMA_CHANGE:
        return IGNORED
    if names & UNWRAPPED or not names & {"before", "after", "source"}:
        raise BadLine("a row without its envelope: take the ExtractNewRecordState transform out of the connector")
    raise BadLine("an envelope without op")


def table_names(source: Origin) -> tuple[str, ...]:
    """What a table may be called in a project, the shortest last: schema and table, or database and table where there are no schemas.

    >>> table_names(Origin(name="shop", db="store", schema="public", table="orders"))
    ('shop.public.orders', 'store.public.orders', 'public.orders')
    >>> table_names(Origin(name="shop", db="store", table="orders"))
    ('shop.store.orders', 'store.orders')
    """
    if source.schema:
        short = f"{source.schema}.{source.table}"
        return f"{source.name}.{short}", f"{source.db}.{short}", short
    short = f"{source.db}.{source.table}"
    return f"{source.name}.{short}", short


def transaction_key(message: Message, source: Origin) -> str | None:
    """What tells a change's transaction from others; None if it is one by itself."""
    if message.transaction is not None:
        id_ = message.transaction.id
        return id_.partition(":")[0] if source.connector == "postgresql" else id_
    if message.op == "r":
        return None
    if source.gtid:
        return source.gtid
    if source.transaction_number is not None:
        return str(source.transaction_number)
    if source.commit_lsn:
        return source.commit_lsn
    if source.file and source.pos is not None:
        return f"{source.file}:{source.pos}"
    return None


#: A place in a database's log; places of one database ascend.
Place = tuple[int | str, ...]


def place_of(source: Origin) -> Place | None:
    """A place in the database's log, if places ascend from one transaction to the next and within each."""
    if source.connector == "postgresql":
        if source.sequence and source.sequence.startswith('["'):
            committed, _, here = source.sequence[2:-2].partition('","')
            try:
                return int(committed), int(here)
            except ValueError:
                return None
        return None
    if source.file and source.pos is not None:
        number = source.file.rpartition(".")[2]
        return (int(number), source.pos, source.row or 0) if number.isdigit() else None
    if source.commit_lsn and source.change_lsn:
        return source.commit_lsn, source.change_lsn, source.event_serial_no or 0
    return None


def database_of(source: Origin) -> str:
    """What tells a database, and its log, from others."""
    parts = (source.connector, source.name, source.server_id)
    return "/".join(str(p) for p in parts if p)
