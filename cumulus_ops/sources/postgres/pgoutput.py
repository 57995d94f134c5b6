"""The messages of PostgreSQL's own output plugin, ``pgoutput`` (version 1 of its protocol), as tables of changes.

A transaction is Begin, changes, Commit; transactions come in the order of their commits, each as a whole. A Relation message describes a
table before its first change, and again when it was altered. Begin names the place of the commit in the server's log: the transaction's
number here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.columns import EVENT, OP
from cumulus_ops.project.errors import IntegrityProblem, SetupProblem
from cumulus_ops.sources.postgres.connection import TableSettings
from m3.datatypes import Type

__all__ = [
    "BUILT_IN",
    "OPERATIONS",
    "PADDING",
    "Decoder",
    "Fields",
    "big_endian",
    "change_schema",
    "may_hold",
    "parse_rows",
    "readable",
    "suitable",
]


# Which of PostgreSQL's types a column may have, and how their texts become those that the checks read.
#
# Values travel as the texts that PostgreSQL prints, so no digit is lost; the checks cast them to the declared types, and reject what has no
# meaning there, such as the numeric NaN or the date infinity.


#: The numbers by which the stream names PostgreSQL's own types.
BUILT_IN: Mapping[int, str] = {
    16: "bool", 18: "char", 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text", 114: "json", 700: "float4", 701: "float8",
    1042: "bpchar", 1043: "varchar", 1082: "date", 1114: "timestamp", 1184: "timestamptz", 1700: "numeric", 2950: "uuid", 3802: "jsonb",
}  # fmt: skip
INTEGERS = ("int2", "int4", "int8")
TEXTS = ("text", "varchar", "bpchar", "name", "uuid", "json", "jsonb", "enum", "citext")
SUITABLE: Mapping[str, tuple[str, ...]] = {
    "int": (*INTEGERS, "numeric"),
    "decimal": (*INTEGERS, "numeric"),
    "double": ("float8", *INTEGERS),
    "string": (*TEXTS, *INTEGERS, "numeric"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamptz"),
    "bool": ("bool",),
}


def may_hold(type_: Type, postgres: str) -> bool:
    """Whether a column of a relation may follow a column of a PostgreSQL type."""
    return postgres in SUITABLE[type_.kind]


def suitable(type_: Type) -> str:
    """The types that it may follow, for people."""
    return ", ".join(SUITABLE[type_.kind])


def readable(values: pa.Array | pa.ChunkedArray, postgres: str) -> pa.Array | pa.ChunkedArray:
    """Texts as PostgreSQL prints them, as the checks read them.

    >>> readable(pa.array(["t", None]), "bool").to_pylist()
    ['true', None]
    >>> readable(pa.array(["2026-01-02 03:04:05.5+00"]), "timestamptz").to_pylist()
    ['2026-01-02 03:04:05.5']
    """
    if postgres == "bool":
        return pc.if_else(pc.equal(values, "t"), "true", "false")
    if postgres == "bpchar":  # its trailing blanks mean nothing; PostgreSQL's own cast to text removes them, too
        return pc.utf8_rtrim(values, " ")
    if postgres == "timestamptz":  # the session's time zone is UTC
        return pc.if_else(pc.ends_with(values, "+00"), pc.utf8_slice_codeunits(values, 0, -3), values)
    return values


# Rows inside the messages of the stream, read column by column and not row by row.
#
# A row is the number of its columns (int16) and for each a letter: ``n`` NULL, ``u`` an unchanged large value that is not sent, ``t`` a text,
# which follows as its length (int32) and its bytes. Where a column begins in a row, its columns before tell; so for many rows at once
# one step per column finds all of its values.


NULL, UNCHANGED, TEXT = ord("n"), ord("u"), ord("t")
#: Bytes behind the last message, so that reading a little too far does no harm.
PADDING = b"\0" * 16


def big_endian(data: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """Unsigned numbers of ``size`` bytes at the places ``at``, as int64."""
    number: np.ndarray = data[at].astype(np.int64)
    for i in range(1, size):
        number = number << 8 | data[at + i]
    return number


@dataclass(frozen=True)
class Fields:
    """Where one column's values are, of many rows: the letter of each, and where its text begins and how long it is."""

    kind: np.ndarray
    begin: np.ndarray
    length: np.ndarray

    def take(self, where: np.ndarray) -> Fields:
        """Those of some rows, in another order."""
        return Fields(self.kind[where], self.begin[where], self.length[where])

    def filled_from(self, old: Fields) -> Fields:
        """With the values of old rows where this one is unchanged and not sent."""
        missing = self.kind == UNCHANGED
        if not missing.any():
            return self
        return Fields(*(np.where(missing, theirs, mine) for mine, theirs in zip(self.arrays, old.arrays, strict=True)))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kind, begin and length."""
        return self.kind, self.begin, self.length

    @property
    def is_unchanged(self) -> np.ndarray:
        """Which values are not there."""
        return np.asarray(self.kind == UNCHANGED)

    @classmethod
    def concat(cls, parts: list[Fields]) -> Fields:
        """One after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts), strict=True)))

    def texts(self, data: np.ndarray) -> pa.Array:
        """The values as strings, copied out of the messages at once."""
        valid = self.kind == TEXT
        offsets = np.zeros(len(valid) + 1, np.int64)
        np.cumsum(self.length, out=offsets[1:])
        where = np.repeat(self.begin - offsets[:-1], self.length) + np.arange(offsets[-1])
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
        buffers = [bitmap, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[where])]
        return pa.StringArray.from_buffers(len(valid), buffers[1], buffers[2], buffers[0], int((~valid).sum()))


def parse_rows(data: np.ndarray, at: np.ndarray, columns: int) -> tuple[list[Fields], np.ndarray]:
    """The values of rows that begin at ``at``, each of so many columns, and where each row ends.

    Raises:
        IntegrityProblem: a row has another number of columns than its table.
    """
    if len(at) and (big_endian(data, at, 2) != columns).any():
        raise IntegrityProblem(
            "a row does not fit its table", kind="bad-message", hint="this is a bug; please report it"
        )
    at, found = at + 2, []
    for _ in range(columns):
        kind = data[at]
        is_text = kind == TEXT
        length = np.where(is_text, big_endian(data, np.where(is_text, at + 1, 0), 4), 0)
        found.append(Fields(kind, at + 5, length))
        at = at + 1 + np.where(is_text, 4 + length, 0)
    return found, at


#: What `op` may say; the last ones are no operations, so that the checks reject these rows, and their transactions, with these words.
NO_OLD_ROW = "an update or delete without the whole old row: ALTER TABLE ... REPLICA IDENTITY FULL"
NOT_SENT = "an update that does not send an unchanged large value: ALTER TABLE ... REPLICA IDENTITY FULL"
OPERATIONS = pa.array(["I", "D", "U", NO_OLD_ROW, NOT_SENT])
INSERT, DELETE, UPDATE, BARE, PARTIAL = range(5)
BEGIN_, RELATION, INSERT_, UPDATE_, DELETE_, TRUNCATE_ = b"BRIUDT"
WHOLE, KEY = ord("O"), ord("K")


def change_schema(settings: TableSettings) -> pa.Schema:
    """The relation's columns as texts, ``op`` and ``event``."""
    columns = [(c.name, pa.string()) for c in settings.relation.columns]
    return pa.schema([*columns, (OP, pa.dictionary(pa.int8(), pa.string())), (EVENT, pa.int64())])


@dataclass(frozen=True)
class _Described:
    """A table as the stream describes it: all its columns, where the relation's are among them (None: it had none of the name then), and their types."""

    settings: TableSettings
    count: int
    where: tuple[int | None, ...]
    types: tuple[str, ...]

    def default_of(self, place: int) -> str | None:
        """What a column is in rows that were written before it was there; None for NULL, and if it was there."""
        relation = self.settings.relation
        return relation.default_of(relation.columns[place].name) if self.where[place] is None else None


@dataclass(frozen=True)
class _Block:
    """Rows of one kind: ``order`` sorts them among the others."""

    order: np.ndarray
    op: np.ndarray
    fields: list[Fields]


class Decoder:
    """Turns portions of messages into changes of relations; what a message needs of earlier ones is kept.

    Args:
        tables: what is wanted, by (schema, table).
        leaves: partitions of what is wanted. Their changes are sent under the root's name, with the root's claim that old rows are whole;
            whether they are, only the partition's own description says.
        types: names of types by their numbers.
        check: says what is wrong with a table's columns (names and types), None if nothing is.
        begin: transactions before (exclusive) are left out,
        end: and those from here on.
        skips_truncates: whether truncated tables keep their rows here, instead of stopping the source.
    """

    def __init__(
        self,
        tables: Mapping[tuple[str, str], TableSettings],
        leaves: Mapping[tuple[str, str], TableSettings],
        types: Mapping[int, str],
        check: Callable[[TableSettings, Mapping[str, str]], SetupProblem | None],
        begin: int,
        end: int,
        *,
        skips_truncates: bool = False,
    ) -> None:
        self._tables, self._leaves, self._types, self._check = tables, leaves, types, check
        self._begin, self._end, self._skips_truncates = begin, end, skips_truncates
        self._known: dict[int, _Described | SetupProblem | None] = {}
        self._incomplete: dict[TableSettings, set[bytes]] = {}
        self._commit = 0

    def decode(self, messages: Sequence[bytes]) -> Iterator[tuple[TableSettings, pa.Table]]:
        """The changes of a portion: tables of :func:`change_schema`, several of a relation in their order.

        Raises:
            SetupProblem: a changed table does not have the relation's columns any more, or was truncated.
        """
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        starts = np.cumsum(lengths) - lengths
        data = np.frombuffer(b"".join([*messages, PADDING]), np.uint8)
        kind = data[starts]
        # Each message's transaction; the first ones may be of one that began in an earlier portion.
        begins = np.flatnonzero(kind == BEGIN_)
        commits = np.concatenate([[self._commit], big_endian(data, starts[begins] + 1, 8)])
        self._commit = int(commits[-1])
        event = np.asarray(commits[np.searchsorted(begins, np.arange(len(kind)), side="right")])
        inside = (event >= self._begin) & (event < self._end)
        described = np.flatnonzero(kind == RELATION)
        for at, until in zip([-1, *described], [*described, len(starts)], strict=True):
            if at >= 0:
                # Relation: number, schema, table, replica identity; and for each column flags, name, type and its modifier.
                message = messages[at]
                number, names = struct.unpack_from(">I", message, 1)[0], message[5:]
                schema, table, rest = names.split(b"\0", 2)
                name = schema.decode() or "pg_catalog", table.decode()
                settings = self._tables.get(name)
                self._known[number] = None if settings is None else self._columns(settings, rest[1:])
                if name in self._leaves:
                    incomplete = self._incomplete.setdefault(self._leaves[name], set())
                    (incomplete.discard if rest[:1] == b"f" else incomplete.add)(schema + b"." + table)
            part = slice(at + 1, until)
            yield from self._changes(data, starts[part], np.where(inside[part], kind[part], 0), event[part])

    def _columns(self, settings: TableSettings, rest: bytes) -> _Described | SetupProblem:
        (count,), rest = struct.unpack_from(">H", rest), rest[2:]
        types: dict[str, str] = {}
        for _ in range(count):
            name, rest = rest[1:].split(b"\0", 1)
            types[name.decode()] = self._types.get(struct.unpack_from(">I", rest)[0], "an unknown type")
            rest = rest[8:]
        problem = self._check(settings, types)
        if problem is not None:
            return problem
        names = list(types)
        wanted = [settings.name_of(c.name, types) for c in settings.relation.columns]
        where = tuple(None if name is None else names.index(name) for name in wanted)
        return _Described(settings, count, where, tuple("text" if name is None else types[name] for name in wanted))

    def _changes(
        self, data: np.ndarray, starts: np.ndarray, kind: np.ndarray, event: np.ndarray
    ) -> Iterator[tuple[TableSettings, pa.Table]]:
        truncated: set[int] = set()
        for at in (starts[kind == TRUNCATE_] + 1).tolist():  # how many relations, options (int8), and their numbers
            count = int(big_endian(data, np.array([at]), 4)[0])
            truncated.update(big_endian(data, at + 5 + 4 * np.arange(count), 4).tolist())
        changing = np.flatnonzero((kind == INSERT_) | (kind == UPDATE_) | (kind == DELETE_))
        number = big_endian(data, starts[changing] + 1, 4)
        for relation in {*np.unique(number).tolist(), *truncated}:
            table = self._known.get(relation)
            if isinstance(table, SetupProblem):
                raise table
            if table is None:
                continue
            mine = changing[number == relation]
            if relation in truncated and not self._skips_truncates:
                raise SetupProblem(
                    f"{table.settings.place} was truncated: its rows are gone, and none of them is named",
                    kind="truncated",
                    place=table.settings.place,
                    hint="begin again (docs/sources-postgres.md), or write `truncates: skip` to go on with these rows as they are; "
                    "DELETE names the rows",
                )
            if len(mine) == 0:
                continue
            blocks = _blocks(table, data, starts, kind, mine, bool(self._incomplete.get(table.settings)))
            yield table.settings, _table(table, data, event, blocks)


def _blocks(
    table: _Described, data: np.ndarray, starts: np.ndarray, kind: np.ndarray, mine: np.ndarray, incomplete: bool
) -> list[_Block]:
    """Inserts, deletes and updates of a relation. Its number is followed by the letter of what comes: K (the old key), O (the whole old
    row, if not ``incomplete``) or N (the new row)."""
    which = kind[mine]
    whole_only = table.settings.mode != "upsert"
    inserts, deletes, updates = mine[which == INSERT_], mine[which == DELETE_], mine[which == UPDATE_]
    new, _ = parse_rows(data, starts[inserts] + 6, table.count)
    blocks = [_Block(inserts * 2, np.full(len(inserts), INSERT, np.int8), _pick_wanted(table, new, len(inserts)))]
    old, _ = parse_rows(data, starts[deletes] + 6, table.count)
    letter = data[starts + 5]
    letter = np.where(letter == WHOLE, KEY, letter) if incomplete else letter
    is_bare = (letter[deletes] == KEY) & whole_only
    blocks.append(
        _Block(deletes * 2, np.where(is_bare, BARE, DELETE).astype(np.int8), _pick_wanted(table, old, len(deletes)))
    )
    for chosen in (WHOLE, KEY):
        some = updates[letter[updates] == chosen]
        old, ends = parse_rows(data, starts[some] + 6, table.count)
        new, _ = parse_rows(data, ends + 1, table.count)
        if chosen == WHOLE:
            new = [n.filled_from(o) for n, o in zip(new, old, strict=True)]
        bad = BARE if chosen == KEY and whole_only else None
        old, new = (_pick_wanted(table, fields, len(some)) for fields in (old, new))
        blocks += _pair(some, old, new, bad)
    some = updates[(letter[updates] != WHOLE) & (letter[updates] != KEY)]
    new, _ = parse_rows(data, starts[some] + 6, table.count)
    fields = _pick_wanted(table, new, len(some))
    op = np.where(_is_partial(fields, len(some)), PARTIAL, BARE if whole_only else UPDATE).astype(np.int8)
    blocks.append(_Block(some * 2, op, fields))
    return blocks


def _pair(some: np.ndarray, old: list[Fields], new: list[Fields], bad: int | None) -> list[_Block]:
    """Updates as the deletion of the old row and the insertion of the new one."""
    delete = np.full(len(some), DELETE if bad is None else bad, np.int8)
    insert = np.where(_is_partial(new, len(some)), PARTIAL, INSERT).astype(np.int8)
    return [_Block(some * 2, delete, old), _Block(some * 2 + 1, insert, new)]


def _pick_wanted(table: _Described, fields: list[Fields], rows: int) -> list[Fields]:
    nowhere = np.zeros(rows, np.int64)
    missing = Fields(np.full(rows, NULL, np.uint8), nowhere, nowhere)
    return [missing if i is None else fields[i] for i in table.where]


def _is_partial(fields: list[Fields], count: int) -> np.ndarray:
    missing = np.zeros(count, bool)
    for field in fields:
        missing |= field.is_unchanged
    return missing


def _table(table: _Described, data: np.ndarray, event: np.ndarray, blocks: list[_Block]) -> pa.Table:
    """The blocks' rows in the order of their messages."""
    order = np.concatenate([b.order for b in blocks])
    sort = np.argsort(order, kind="stable")
    op = np.concatenate([b.op for b in blocks])[sort]
    is_by_key = (op == DELETE) & (table.settings.mode == "upsert")
    columns = []
    for i, type_ in enumerate(table.types):
        field = Fields.concat([b.fields[i] for b in blocks]).take(sort)
        default = table.default_of(i)
        texts = readable(field.texts(data), type_)
        if default is not None:  # a delete by key says nothing of the other columns
            texts = pc.if_else(pa.array(is_by_key), pa.scalar(None, pa.string()), default)
        columns.append(texts)
    columns.append(pa.DictionaryArray.from_arrays(pa.array(op, pa.int8()), OPERATIONS))
    columns.append(pa.array(event[order[sort] // 2], pa.int64()))
    return pa.Table.from_arrays(columns, schema=change_schema(table.settings))
