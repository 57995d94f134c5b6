"""Transactions as the rows of a relation: an update is its old row and its new one, or the new one alone where keys are maintained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from cumulus_ops.files.columns import EVENT, OP, Malformed, RawFile
from cumulus_ops.sources.debezium.columns import ImageReader, nulls_at
from cumulus_ops.sources.debezium.messages import is_object
from cumulus_ops.sources.debezium.transactions import Change, Transaction

__all__ = ["PLACEHOLDER", "RowMaker"]

#: What Debezium writes where a large value did not change and is not in the database's log.
PLACEHOLDER = "__debezium_unavailable_value"
FULL = "ALTER TABLE {table} REPLICA IDENTITY FULL (MySQL: binlog_row_image=FULL), or `mode: upsert` with a key for the relation"


class _Row(msgspec.Struct, gc=False):
    """A row of the relation. ``whole``: its columns have to be known, and not its key alone."""

    op: str
    image: Raw
    schema: Raw
    event: int
    change: Change
    whole: bool = True


@dataclass
class RowMaker:
    """Makes the rows of one relation.

    Args:
        reader: reads its rows.
        upsert: whether new rows replace the old ones with the same key, which then need not be in the messages.
        placeholder: what stands for a value that is not in the message.
    """

    reader: ImageReader
    upsert: bool = False
    placeholder: str = PLACEHOLDER
    rows: list[_Row] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)

    def raw(self, transactions: Sequence[tuple[int, Transaction]], is_first: bool) -> RawFile:
        """The rows of some transactions, each with the number of its event.

        Args:
            transactions: in their order.
            is_first: whether lines of which nobody knows the relation are counted here.
        """
        name = self.reader.relation.name
        for event, transaction in transactions:
            for change in transaction.changes:
                if change.relation == name:
                    self._add(event, change)
            for r in transaction.rejected:
                if r.relation == name or (r.relation is None and is_first):
                    self._refuse(r.line, r.kind, r.reason, r.text, event)
        lost = {m.event for m in self.malformed}
        if lost:
            self._leave_out(lost)
        while True:  # read again without those that turn out to be incomplete
            table = self._read_columns()
            before = len(self.malformed)
            self._require_complete(table)
            if len(self.malformed) == before:
                break
            self._leave_out({m.event for m in self.malformed})
        ordered = tuple(sorted(self.malformed, key=lambda m: m.row))
        return RawFile(
            self._fill_placeholders(table), np.array([r.change.line for r in self.rows], dtype=np.int64), (), ordered
        )

    def _add(self, event: int, change: Change) -> None:
        row, message = (change.schema, event, change), change.message
        old, new = is_object(message.before), is_object(message.after)
        match message.op:
            case "c" | "r" if new:
                self.rows.append(_Row("U" if self.upsert else "I", message.after, *row))
            case "u" if new and self.upsert:
                self.rows.append(_Row("U", message.after, *row))
            case "u" if new and old:
                self.rows.append(_Row("D", message.before, *row))
                self.rows.append(_Row("I", message.after, *row))
            case "d" if old:
                self.rows.append(_Row("D", message.before, *row, whole=not self.upsert))
            case "d" if self.upsert and is_object(_payload(change.key)):
                key = json.loads(bytes(_payload(change.key)))  # that alone is known
                columns = (self.reader.names_of(c.name) for c in self.reader.relation.columns)
                empty = dict.fromkeys(next((name for name in names if name in key), names[0]) for names in columns)
                image = {**empty, **key}
                self.rows.append(_Row("D", Raw(json.dumps(image).encode()), *row, whole=False))
            case "u" | "d":
                self._refuse_change(
                    event, change, "no-before", "no row before the change: " + FULL.format(table=change.table)
                )
            case "t":
                reason = "TRUNCATE says nothing of the rows that it takes away: delete them, or leave truncates out (skipped.operations)"
                self._refuse_change(event, change, "truncate", f"{change.table}: {reason}")
            case _:
                self._refuse_change(event, change, "malformed-line", f"op {message.op} without its row")

    def _refuse_change(self, event: int, change: Change, kind: str, reason: str) -> None:
        self._refuse(change.line, kind, reason, change.text, event)

    def _refuse(self, line: int, kind: str, reason: str, text: bytes, event: int) -> None:
        self.malformed.append(Malformed(line, reason, text.decode(errors="backslashreplace"), kind, event))

    def _leave_out(self, lost: set[int | None]) -> None:
        """The other rows of events that are rejected."""
        kept = []
        known = {(m.row, m.event) for m in self.malformed}
        for row in self.rows:
            if row.event not in lost:
                kept.append(row)
            elif (row.change.line, row.event) not in known:
                known.add((row.change.line, row.event))
                self._refuse_change(row.event, row.change, "part", "part of a rejected transaction")
        self.rows = kept

    # columns

    def _read_columns(self) -> pa.Table:
        relation = self.reader.relation
        if not self.rows:
            columns = {c.name: pa.array([], pa.string()) for c in relation.columns}
            return pa.table({**columns, OP: pa.array([], pa.string()), EVENT: pa.array([], pa.int64())})
        table = self.reader.read([r.image for r in self.rows], [r.schema for r in self.rows])
        by_key = np.fromiter((not r.whole for r in self.rows), dtype=bool, count=len(self.rows))
        if by_key.any():  # whatever stands in the other columns, it need not be the row's
            for i, name in enumerate(table.column_names):
                if name not in relation.key:
                    table = table.set_column(i, name, nulls_at(table.column(name), by_key))
        ops = pc.dictionary_encode(pa.array([r.op for r in self.rows], pa.string()))
        events = pa.array([r.event for r in self.rows], pa.int64())
        return table.append_column(OP, ops).append_column(EVENT, events)

    def _require_complete(self, table: pa.Table) -> None:
        """Refuse the rows that are not all there."""
        for index in np.flatnonzero(self._partial(table)).tolist():
            change = self.rows[index].change
            reason = "the row before the change is not whole: " + FULL.format(table=change.table)
            self._refuse_change(self.rows[index].event, change, "no-before", reason)
        for name in self._texts(table):
            for index in np.flatnonzero(_is(table.column(name), self.placeholder)).tolist():
                row = self.rows[index]
                if self._old_value(row, name) is None:
                    reason = f"{name}: did not change, and is not in the message: {FULL.format(table=row.change.table).partition(',')[0]}"
                    self._refuse_change(row.event, row.change, "unavailable-value", reason)

    def _partial(self, table: pa.Table) -> np.ndarray:
        """Which old rows have their key alone, as far as that can be seen."""
        relation = self.reader.relation
        old = np.fromiter((r.op == "D" and r.whole for r in self.rows), dtype=bool, count=len(self.rows))
        others = [c for c in relation.columns if c.name not in relation.key]
        if not old.any() or not others:
            return np.zeros(len(self.rows), dtype=bool)
        absent = {c.name: np.asarray(pc.is_null(table.column(c.name))) for c in others}
        required = [absent[c.name] for c in others if not c.type.nullable]
        gone = np.logical_or.reduce(required) if required else np.zeros(len(self.rows), dtype=bool)
        # A column with a default may be missing in whole rows, too.
        telling = [absent[c.name] for c in others if relation.default_of(c.name) is None]
        if relation.key and telling:
            gone |= np.logical_and.reduce(telling)
        return np.asarray(old & gone)

    def _texts(self, table: pa.Table) -> list[str]:
        return [c.name for c in self.reader.relation.columns if pa.types.is_string(table.column(c.name).type)]

    def _old_value(self, row: _Row, name: str) -> str | None:
        """The text that a column had before the change, if it is known."""
        message = row.change.message
        if not is_object(message.before) or message.op != "u":
            return None
        before = json.loads(bytes(message.before))
        value = next((before[known] for known in self.reader.names_of(name) if known in before), None)
        return value if isinstance(value, str) and value != self.placeholder else None

    def _fill_placeholders(self, table: pa.Table) -> pa.Table:
        """With the old values where they did not change."""
        for name in self._texts(table):
            where = np.flatnonzero(_is(table.column(name), self.placeholder))
            if len(where):
                values = table.column(name).to_pylist()
                for index in where.tolist():
                    values[index] = self._old_value(self.rows[index], name)
                table = table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))
        return table


def _payload(key: Raw) -> Raw:
    """A key without its schema."""
    if not is_object(key):
        return key
    found = json.loads(bytes(key))
    return Raw(json.dumps(found["payload"]).encode()) if set(found) == {"schema", "payload"} else key


def _is(column: pa.ChunkedArray, text: str) -> np.ndarray:
    return np.asarray(pc.fill_null(pc.equal(column, text), False))
