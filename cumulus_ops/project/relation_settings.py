"""What ``cumulus.yaml`` says of relations: their columns, what their keys mean, how their landed files are read, which are sealed, value by
value, and which have only inserts."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from cumulus_ops.project.settings import OP_WORDS, KeySettings, LandingSettings, SealSettings
from cumulus_ops.project.yaml_nodes import Item, Problems, Section, identifier
from m3.datatypes import BOOL, DATE, DOUBLE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation

__all__ = [
    "COLUMN_KEYS",
    "FILE_KEYS",
    "PRODUCERS",
    "RELATION_KEYS",
    "RESERVED",
    "canonical_text",
    "check_column_name",
    "column_defaults",
    "file_settings",
    "insert_only_relations",
    "read_relation",
    "relation_seals",
    "relation_settings",
]

#: What may be said of a relation, and of its files.
RELATION_KEYS = ("columns", "key", "rows", "file", "mode", "writers", "insert_only", "seals")
FILE_KEYS = ("null_values", "ops", "delimiter")


#: Names of columns that files, the event log and maps have beside those of a relation.
RESERVED = ("op", "event", "_sign", "_version", "_offset", "_value")


#: What a column may say.
COLUMN_KEYS = ("type", "was", "default")
DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
TYPES: Mapping[str, Type] = {
    "int": INT, "integer": INT, "bigint": INT, "string": STRING, "text": STRING, "varchar": STRING, "date": DATE,
    "timestamp": TIMESTAMP, "boolean": BOOL, "double": DOUBLE,
}  # fmt: skip
TYPE_HINT = (
    'one of bigint, int, "decimal(15,2)", string, date, timestamp, boolean, double; add ` null` if it may be NULL'
)
DEFAULT_HINT = "write a value as files have it: 0, 1.50, 2026-01-31, true; without `default`, rows that came without the column have NULL"


ROWS_MAX = 10**15


def relation_settings(item: Item, relations: tuple[Relation, ...], problems: Problems) -> dict[str, Any]:
    """The fields of a :class:`~cumulus_ops.project.settings.Project` that concern relations, beside these themselves.

    Args:
        item: the entry ``relations``.
        relations: all of them, which have no errors.
        problems: where errors are noted.
    """
    read = problems.read
    return {
        "keys": read(lambda: _keys(item), {}),
        "seals": read(lambda: relation_seals(item, relations), {}),
        "renamed": read(lambda: _renamed(item), {}),
        "insert_only": read(lambda: insert_only_relations(item), ()),
    }


def column_defaults(columns: Section, known: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """(column, text) of the columns that say what rows have that came without them.

    Raises:
        InputProblem: that is no value of the column; with the place in the file.
    """
    for column in known:
        item = columns.entries[column.name]
        found = item.section(COLUMN_KEYS).get("default") if item.is_mapping else None
        if found is not None:
            text = canonical_text(found.text(), column.type)
            if text is None:
                message = f"{found.text()!r} is no {column.type.with_null(False)}"
                raise found.problem(message, kind="bad-default", hint=DEFAULT_HINT)
            yield column.name, text


def canonical_text(text: str, type_: Type) -> str | None:
    """A value's text, the same in each wider type; None if it is none of the type.

    >>> from m3.datatypes import DATE, INT, decimal
    >>> [canonical_text(*pair) for pair in (("1.50", decimal(9, 2)), ("1.005", decimal(9, 2)), ("007", INT), ("2026-02-30", DATE))]
    ['1.5', None, '7', None]
    """
    try:
        match type_.kind:
            case "int" | "decimal":
                number = Decimal(text)
                shown = f"{number.normalize():f}"
                scale = len(shown.partition(".")[2])
                digits = len(shown.partition(".")[0].lstrip("-0"))
                fits = abs(number) < 1 << 63 if type_.kind == "int" else digits <= type_.precision - type_.scale
                return shown if fits and scale <= (type_.scale if type_.kind == "decimal" else 0) else None
            case "date":
                return datetime.date.fromisoformat(text).isoformat()
            case "timestamp":
                moment = datetime.datetime.fromisoformat(text)
                return None if moment.tzinfo else moment.isoformat(sep=" ")
            case "bool":
                return text.lower() if text.lower() in ("true", "false") else None
            case "double":
                return repr(float(text)) if math.isfinite(float(text)) else None
    except (ValueError, ArithmeticError):
        return None
    return text


DELIMITERS_HINT = 'write one character, such as ";", or `tab`'


def check_column_name(name: str, item: Item) -> None:
    """Refuses a relation's column with the name of one that files or the event log have beside it.

    Raises:
        InputProblem: with the place in the file.
    """
    if name.casefold() in RESERVED:
        hint = f"{', '.join(RESERVED)} are columns of files and of the event log: declare it under another name, and write files so"
        raise item.problem(f"{name!r} is a reserved name", kind="reserved-name", hint=hint)


def file_settings(section: Section, base: LandingSettings) -> LandingSettings:
    """The settings of a mapping; what it does not say is as in ``base``.

    Raises:
        InputProblem: with the place in the file.
    """
    null_values, ops, delimiter = (section.entries.get(key) for key in FILE_KEYS)
    if null_values is not None:
        base = replace(base, null_values=null_values.words())
    if ops is not None:
        if not ops.is_mapping and ops.text() != "insert":
            hint = (
                "write `ops: insert` if files without the column `op` have inserts alone, or `ops: {new: I, gone: D}`"
            )
            raise ops.problem(f"{ops.text()!r} is neither insert nor a mapping of words", hint=hint)
        base = replace(base, ops=_words(ops) if ops.is_mapping else "insert")
    if delimiter is not None:
        base = replace(base, delimiter=_delimiter(delimiter))
    return base


def _words(item: Item) -> dict[str, str]:
    """``{new: I, gone: D}``."""
    words: dict[str, str] = {}
    meanings = dict(OP_WORDS)
    for word, entry in item.section().items():
        words[word] = op = entry.choice(("I", "D", "U"))
        if meanings.setdefault(word.strip().upper(), op) != op:
            hint = "words are compared in capitals; take it out, and let the source write another one"
            raise entry.problem(f"{word!r} means {meanings[word.strip().upper()]} already", hint=hint)
    return words


def _delimiter(item: Item) -> str:
    text = str(item.node.value) if isinstance(item.node.value, str) else ""
    if text in ("tab", "\\t"):
        return "\t"
    if len(text) != 1 or not text.isascii() or text.isalnum() or text in '"\r\n':
        raise item.problem(f"{text!r} is no delimiter", hint=DELIMITERS_HINT)
    return text


#: Whose seals close a value (see :class:`~cumulus_ops.project.settings.SealSettings`).
PRODUCERS = ("all", "registered", "one")


#: The types whose values have one text each.
EXACT = ("int", "decimal", "string", "date", "timestamp", "bool")


HINT = "write `seals: {day: [day]}`, or `{day: {key: [day], producers: all}}`"


def insert_only_relations(relations: Item) -> tuple[str, ...]:
    """The relations that say ``insert_only: true``.

    Raises:
        InputProblem: one of them is upserted.
    """
    return tuple(name for name, item in relations.section().items() if _is_insert_only(item.section()))


def _is_insert_only(section: Section) -> bool:
    item, mode = section.get("insert_only"), section.get("mode")
    if item is None or item.choice(("true", "false")) == "false":
        return False
    if mode is not None and mode.text() == "upsert":
        hint = "an update by key deletes the old row: take out one of the two, or write `mode: strict`"
        raise item.problem("a relation with `mode: upsert` has deletes", kind="bad-insert-only", hint=hint)
    return True


def relation_seals(item: Item, relations: tuple[Relation, ...]) -> dict[str, tuple[SealSettings, ...]]:
    """The seals of the relations that have some.

    Args:
        item: all relations.
        relations: the same, read.

    Raises:
        InputProblem: a seal names no columns of its relation, or such as have no exact text.
    """
    known = {relation.name: relation for relation in relations}
    entries = {name: entry.section().get("seals") for name, entry in item.section().items()}
    found = {name: _seals(seals, known[name]) for name, seals in entries.items() if seals is not None}
    return {name: seals for name, seals in found.items() if seals}


def _seals(item: Item, relation: Relation) -> tuple[SealSettings, ...]:
    if not item.is_mapping:
        raise item.problem("seals have names", kind="bad-seal", hint=HINT)
    return tuple(_seal(name, entry, relation) for name, entry in item.section().items())


def _seal(name: str, item: Item, relation: Relation) -> SealSettings:
    if not name.isidentifier() or not name.isascii():
        hint = "letters, digits and _, not a digit first: it is a part of the names of seal files"
        raise item.problem(f"{name!r} is not a name", kind="bad-name", hint=hint)
    if item.is_list:
        return SealSettings(name, _columns(item, relation))
    if not item.is_mapping:
        raise item.problem("is neither a list of columns nor a mapping", kind="bad-seal", hint=HINT)
    section = item.section(("key", "producers"))
    producers = section.get("producers")
    columns = _columns(section.need("key", HINT), relation)
    return SealSettings(name, columns, producers.choice(PRODUCERS) if producers else PRODUCERS[0])


def _columns(item: Item, relation: Relation) -> tuple[str, ...]:
    columns = item.words()
    if not columns or len(set(columns)) < len(columns):
        raise item.problem("an empty list, or a column twice", kind="bad-seal", hint=HINT)
    types = {column.name: column.type for column in relation.columns}
    for name in columns:
        if name not in types:
            raise item.problem(
                f"{name!r} is not a column",
                kind="unknown-column",
                hint=f"columns of {relation.name}: {', '.join(types)}",
            )
        type_ = types[name]
        if type_.kind not in EXACT:
            hint = f"equal values of a {type_} may have several texts: seal another column, or declare {name} as decimal or bigint"
            raise item.problem(f"{name} is a {type_}, which cannot be sealed", kind="bad-seal", hint=hint)
    return columns


def _keys(relations: Item) -> dict[str, KeySettings]:
    """The relations that are not trusted."""
    every = ((name, _key_settings(entry)) for name, entry in relations.section().items())
    return {name: known for name, known in every if known is not None}


def column_type(item: Item) -> Type:
    """The type a column is declared with, e.g. ``decimal(15,2) null``."""
    if item.is_mapping:
        item = item.section(COLUMN_KEYS).need("type", "write `{type: bigint, was: its_older_name}`")
    text = item.text().lower()
    bare = text.removesuffix(" null").strip()
    nullable = bare != text
    if match := DECIMAL.fullmatch(bare):
        precision, scale = int(match[1]), int(match[2])
        if not 0 < precision <= MAX_PRECISION or scale > precision:
            raise item.problem(
                f"{bare} is out of range", kind="bad-type", hint=f"0 <= scale <= precision <= {MAX_PRECISION}"
            )
        return decimal(precision, scale).with_null(nullable)
    if bare not in TYPES:
        raise item.problem(f"unknown type {text!r}", kind="bad-type", hint=TYPE_HINT)
    return TYPES[bare].with_null(nullable)


def read_relation(name: str, item: Item) -> Relation:
    """A table with its columns and key.

    Raises:
        InputProblem: with all that is wrong with it.
    """
    identifier(name, item)
    section = item.section(RELATION_KEYS)
    columns = section.need("columns", "write `columns: {id: bigint}`").section()
    problems = Problems()
    read = [problems.read(partial(_column, column, entry), None) for column, entry in columns.items()]
    problems.stop()
    known = tuple(c for c in read if c is not None)
    key_item = section.get("key")
    key = key_item.words() if key_item else ()
    for part in key:
        if key_item and part not in columns.entries:
            raise key_item.problem(
                f"{part!r} is not a column", kind="unknown-column", hint=f"columns: {', '.join(columns.entries)}"
            )
    rows = section.get("rows")
    defaults = problems.read(lambda: tuple(column_defaults(columns, known)), ())
    problems.stop()
    return Relation(name, known, key, rows.integer(1, ROWS_MAX) if rows else None, defaults=defaults)


def _column(name: str, item: Item) -> Column:
    check_column_name(name, item)
    return Column(identifier(name, item), column_type(item))


def _renamed(relations: Item) -> dict[str, dict[str, tuple[str, ...]]]:
    """relation -> column -> the names that it had before."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, entry in relations.section().items():
        columns = entry.section(RELATION_KEYS).need("columns", "write `columns: {id: bigint}`").section()
        for column, item in columns.items():
            was = item.section(COLUMN_KEYS).get("was") if item.is_mapping else None
            if was is not None:
                names = was.words() if was.is_list else (was.text(),)
                if column in names:
                    raise was.problem(f"{column} was {column}", kind="bad-name", hint="`was` says an older name")
                found.setdefault(name, {})[column] = names
    return found


def _key_settings(item: Item) -> KeySettings | None:
    section = item.section(RELATION_KEYS)
    mode, writers, key = section.get("mode"), section.get("writers"), section.get("key")
    chosen = mode.choice(("trusted", "strict", "upsert")) if mode else "trusted"
    settings = KeySettings(chosen, writers.choice(("one", "any")) if writers else "one")
    names = key.words() if key else ()
    if writers and (chosen == "trusted" or not names):
        raise writers.problem(
            "`writers` says who may write a key", kind="bad-key", hint="give `key`, and `mode: strict`"
        )
    if mode is None or chosen == "trusted":
        return None
    if chosen == "upsert" and not names:
        raise mode.problem("an upsert needs a key", kind="bad-key", hint="write `key: [id]`, or `mode: strict`")
    columns = section.need("columns", "").section()
    for name in names:
        entry = columns.get(name)
        if entry is not None and column_type(entry).nullable:
            hint = f"write `{name}: {str(column_type(entry)).removesuffix(' null').lower()}`, without null"
            raise entry.problem(f"the key's column {name} may be NULL", kind="bad-key", hint=hint)
    return settings
