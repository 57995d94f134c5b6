"""What to write in the place of a function that is not there: what another dialect's function is called here, or the nearest names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Protocol

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from m3.dictionary import DIALECTS, ENTRIES
from m3.errors import M3Error
from m3.sql.places import FAILURES, Source

__all__ = ["hint_call"]

CALL = re.compile(r"([A-Z][A-Z0-9_]*)\(")
#: How people call the dialects.
NAMES: Mapping[str, str] = {
    "postgres": "PostgreSQL", "spark": "Spark", "duckdb": "DuckDB", "mysql": "MySQL", "tsql": "SQL Server", "snowflake": "Snowflake",
    "bigquery": "BigQuery", "trino": "Trino",
}  # fmt: skip
#: Functions that have no row in the dictionary.
AGGREGATES = (
    "SUM", "COUNT", "AVG", "MIN", "MAX", "VARIANCE", "STDDEV", "ANY_VALUE", "MEDIAN", "MODE", "STRING_AGG", "CORR", "CAST", "COALESCE",
    "NULLIF", "ROW_NUMBER", "RANK", "LAG", "LEAD",
)  # fmt: skip
#: How near a name has to be, from 0 to 1.
NEAR = 0.7


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
        return "write it with other operators or functions: docs/sql.md has what is maintained"
    return _translate(reader, node, name) or _suggest(name, reader.dialect)


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


def _suggest(name: str, dialect: str | None) -> str:
    """The forms of the same name, or else of the nearest names."""
    known = _forms_by_name(dialect)
    near = [name] if name in known else difflib.get_close_matches(name, known, 2, NEAR)
    forms = [form for word in near for form in known[word]]
    if forms:
        return f"write {' or '.join(forms[:3])}" if name in known else f"did you mean {' or '.join(forms[:3])}?"
    return "docs/sql.md has what is maintained; a column of a table can hold what is computed elsewhere"


@lru_cache(maxsize=16)
def _forms_by_name(dialect: str | None) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, form in _list_forms(dialect):
        found.setdefault(name, []).append(form)
    return {name: tuple(dict.fromkeys(forms)) for name, forms in found.items()}


def _list_forms(dialect: str | None) -> Iterator[tuple[str, str]]:
    yield from ((name, f"{name}(..)") for name in AGGREGATES)
    for entry in ENTRIES.values():
        texts = [f.text for f in entry.said if not f.dialects or dialect in f.dialects] or [entry.text] * (
            not entry.forms
        )
        for text in texts:
            call = CALL.match(text)
            if call is not None:
                yield call[1], text.partition(":")[0]
