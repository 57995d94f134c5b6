"""What to write in the place of a function that is not there: what another dialect's function is called here, or the nearest names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from m3.dictionary import DIALECTS
from m3.dictionary.suggest import suggest
from m3.errors import M3Error
from m3.sql.places import FAILURES, Source

__all__ = ["hint_call", "hint_name"]

#: How people call the dialects.
NAMES: Mapping[str, str] = {
    "postgres": "PostgreSQL", "spark": "Spark", "duckdb": "DuckDB", "mysql": "MySQL", "tsql": "SQL Server", "snowflake": "Snowflake",
    "bigquery": "BigQuery", "trino": "Trino",
}  # fmt: skip

#: Functions that make or read bytes, which are no texts.
OF_BYTES = (
    "BASE64_DECODE_BINARY", "BASE64_DECODE_STRING", "CONVERT_FROM", "CONVERT_TO", "ENCODE", "FROM_BASE64", "FROM_HEX", "FROM_UTF8", "HEX_DECODE_BINARY",
    "HEX_DECODE_STRING", "TO_BINARY", "TO_UTF8", "TRY_TO_BINARY", "UNBASE64", "UNHEX",
)  # fmt: skip


class Reading(Protocol):
    """Reads expressions of one SQL text, in its dialect."""

    source: Source
    dialect: str | None

    def read(self, node: exp.Expr | None) -> object:
        """What a node means; M3Error if that is nothing here."""


def hint_call(reader: Reading, node: exp.Expr) -> str:
    """What to write instead of a call, or another expression, that is not supported.

    Args:
        reader: reads expressions of the same text: what is proposed for a call of another dialect can be read.
        node: the call.
    """
    name = reader.source.name(node)
    if not name.isidentifier():
        return "write it with other operators or functions: docs/functions.md has those that are maintained"
    if name.upper() in OF_BYTES:
        return "there is no type of bytes, which it makes or reads; a column of a table can hold what is computed elsewhere"
    return _translate(reader, node, name) or hint_name(name, reader.dialect)


def _translate(reader: Reading, node: exp.Expr, name: str) -> str:
    """The call in the view's dialect, if it is one of another dialect's."""
    here, written = reader.dialect or "", reader.source.text(node)
    owners = [d for d in DIALECTS if d != here and name in Dialect.get_or_raise(d).parser_class.FUNCTIONS]
    if name in Dialect.get_or_raise(here).parser_class.FUNCTIONS:
        return ""
    found: dict[str, list[str]] = {}  # dialects may mean different things by one name
    for owner in owners:
        try:
            (said,) = sqlglot.transpile(written, read=owner, write=here)
            tree = sqlglot.parse_one(said, read=here)
            if any(n.name.upper() == name for n in tree.find_all(exp.Anonymous)):
                continue
            reader.read(tree)
        except (M3Error, *FAILURES):  # then there is no such form
            continue
        found.setdefault(said, []).append(NAMES[owner])
    meant = [f"as in {' and '.join(who)}, it is {said}" for said, who in found.items()]
    return f"{name} is not in {NAMES.get(here, 'this dialect')}: {'; '.join(meant[:3])}" if meant else ""


def hint_name(name: str, dialect: str | None) -> str:
    """The forms of the function or aggregate of a name, or else of the nearest names.

    >>> hint_name("MEDAIN", "postgres"), hint_name("ROUND", "postgres")
    ('did you mean MEDIAN(x)?', 'write ROUND(x) or ROUND(x, digits)')
    """
    forms = suggest(name, dialect)
    if not forms:
        return "docs/functions.md has what is maintained; a column of a table can hold what is computed elsewhere"
    same = forms[0].startswith(f"{name}(")
    return f"write {' or '.join(forms)}" if same else f"did you mean {' or '.join(forms)}?"
