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

__all__ = ["IGNORED", "TOMBSTONE", "BadLine", "Counted", "Message", "Origin", "TransactionBlock", "decode", "is_object"]

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
        raise BadLine(_why(line, problem)) from None
    value: _Value | None = found
    if found.value is not UNSET:
        value = found.value
    if value is None:
        return TOMBSTONE, Raw(), found.key
    message = value if value.payload is UNSET else value.payload
    if message is None:
        return TOMBSTONE, Raw(), found.key
    if message.op is None and message.status is None:
        return _without_rows(line), Raw(), Raw()
    return message, value.schema, found.key


def is_object(text: Raw) -> bool:
    """Whether a JSON text is an object; a row that is not there is empty, or ``null``. Nothing else may come before Arrow's parser, which
    does not survive a ``null`` in the place of a row."""
    return bytes(text)[:1] == b"{"


def _why(line: bytes, problem: Exception) -> str:
    if isinstance(problem, msgspec.ValidationError):
        return f"not a Debezium message: {problem}"
    if isinstance(problem, RecursionError):
        return "nested too deeply"
    return "not UTF-8" if isinstance(problem, UnicodeDecodeError) else "not JSON"


def _without_rows(line: bytes) -> str:
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
