"""Columns that come from elsewhere, before the checks see them."""

from __future__ import annotations

import pyarrow as pa

from cumulus_ops.errors import SetupProblem
from cumulus_ops.eventlog.casting import is_readable_as, plain_text
from m3.program import Relation

__all__ = ["readable"]


def readable(table: pa.Table, relation: Relation, place: str) -> pa.Table:
    """A table, if each of its columns may hold values of the relation's. What cannot be a value is not the rows' fault: nothing of them may be
    put aside, so the source stands still until somebody has looked.

    Raises:
        SetupProblem: a column may not.
    """
    for column in relation.columns:
        if column.name not in table.column_names:
            continue
        found = plain_text(table.column(column.name)).type
        if not is_readable_as(found, column.type):
            raise SetupProblem(
                f"column {column.name} is {found}, which cannot hold a {column.type} exactly",
                kind="wrong-type",
                place=place,
                hint=f"declare the column of {relation.name} as what it is, or convert it at the source",
            )
    return table
