"""What ``cumulus.yaml`` says of relations: how their landed files are read, which are sealed, value by value, and which have only inserts."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from cumulus_ops.project.settings import OP_WORDS, LandingSettings, SealSettings
from cumulus_ops.project.yaml_nodes import Item, Section
from m3.datatypes import Type
from m3.program import Column, Relation

__all__ = [
    "COLUMN_KEYS",
    "FILE_KEYS",
    "PRODUCERS",
    "RESERVED",
    "canonical_text",
    "check_column_name",
    "column_defaults",
    "file_settings",
    "insert_only_relations",
    "relation_seals",
]

#: What may be said of files.
FILE_KEYS = ("null_values", "ops", "delimiter")


#: Names of columns that files, the event log and maps have beside those of a relation.
RESERVED = ("op", "event", "_sign", "_version", "_offset", "_value")


#: What a column may say.
COLUMN_KEYS = ("type", "was", "default")
DEFAULT_HINT = "write a value as files have it: 0, 1.50, 2026-01-31, true; without `default`, rows that came without the column have NULL"


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
