"""How landed files are read, as ``cumulus.yaml`` says it: ``null_values``, ``ops`` and ``delimiter``, for all or for a relation."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cumulus_ops.config import OP_WORDS, LandingSettings
from cumulus_ops.yaml_nodes import Item, Section

__all__ = ["FILE_KEYS", "check_column_name", "file_settings"]

#: What may be said of files.
FILE_KEYS = ("null_values", "ops", "delimiter")
#: Names of columns that files, the event log and maps have beside those of a relation.
RESERVED = ("op", "event", "_sign", "_version", "_offset", "_value")
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
        base = replace(base, ops=_words(ops) if ops.is_mapping else _all_inserts(ops))
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


def _all_inserts(item: Item) -> Literal["insert"]:
    if item.text() != "insert":
        hint = "write `ops: insert` if files without the column `op` have inserts alone, or `ops: {new: I, gone: D}`"
        raise item.problem(f"{item.text()!r} is neither insert nor a mapping of words", hint=hint)
    return "insert"


def _delimiter(item: Item) -> str:
    text = str(item.node.value) if isinstance(item.node.value, str) else ""
    if text in ("tab", "\\t"):
        return "\t"
    if len(text) != 1 or not text.isascii() or text.isalnum() or text in '"\r\n':
        raise item.problem(f"{text!r} is no delimiter", hint=DELIMITERS_HINT)
    return text
