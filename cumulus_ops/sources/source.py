"""The interface of a source; who writes one imports what it hands over from here, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

import pyarrow as pa

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.casting import is_readable_as, plain_text
from cumulus_ops.files.columns import RawFile
from cumulus_ops.project.errors import COLUMN_NOT_DEPLOYED, SetupProblem, columns_wait
from cumulus_ops.project.settings import LandingSettings, Project, SourceSettings
from cumulus_ops.project.yaml_nodes import Item
from m3.program import Relation

__all__ = ["Delivery", "Part", "RawFile", "Source", "SourceKind", "make_readable", "match_columns", "tables_of"]


# Which tables relations follow, as every kind of source says it: ``tables: {relation: table}``.


def tables_of(project: Project, item: Item, *, lists: bool = False) -> dict[str, tuple[str, Item]]:
    """relation -> its table's name, and where the project's file says so.

    Args:
        project: has the relations.
        item: a mapping from relations to tables.
        lists: or else a list of relations whose tables have their names.

    Raises:
        InputProblem: there is none, one is no relation, or two relations follow one table.
    """
    known = [relation.name for relation in project.relations]
    found: dict[str, tuple[str, Item]] = {}
    if lists and item.is_list:
        entries = [(n, n, item) for n in item.words()]
    else:
        entries = [(relation, entry.text(), entry) for relation, entry in item.section().items()]
    for relation, table, entry in entries:
        if relation not in known:
            hint = f"write `relation: table`; the relations are {', '.join(known)}"
            raise entry.problem(f"{relation!r} is not a relation", kind="unknown-relation", hint=hint)
        if table in (name for name, _ in found.values()):
            hint = "a table is followed by one relation of a source"
            raise entry.problem(f"{table!r} is followed by two relations", kind="doubled-table", hint=hint)
        found[relation] = (table, entry)
    if not found:
        raise item.problem("no table is named", kind="no-tables", hint="write `tables: {relation: table}`")
    return found


# Columns that come from elsewhere, before the checks see them.


def match_columns(relation: Relation, files: LandingSettings, found: Collection[str], place: str) -> dict[str, str]:
    """column of a relation -> what it is called where it comes from: by its own name, or else by one that it had before (``was:``). Those that are
    missing, and may be, are left out.

    Args:
        relation: as it is declared.
        files: the older names of its columns, and those that are not deployed yet.
        found: the columns that are there.
        place: for people.

    Raises:
        SetupProblem: a column is missing; or is declared, and not deployed yet: now its values would be left out.
    """
    if waiting := sorted(files.waiting & set(found)):
        hint = "`cumulus deploy`: then it goes on where it is, and nothing is lost"
        raise SetupProblem(columns_wait(waiting), kind=COLUMN_NOT_DEPLOYED, place=place, hint=hint)
    names = {c.name: (c.name, *files.older.get(c.name, ())) for c in relation.columns}
    matched = {c: next((name for name in known if name in found), None) for c, known in names.items()}
    missing = [
        c.name
        for c in relation.columns
        if matched[c.name] is None and not c.type.nullable and relation.default_of(c.name) is None
    ]
    if missing:
        raise SetupProblem(
            f"has no column {', '.join(map(repr, missing))}",
            kind="missing-column",
            place=place,
            hint=f"it has {', '.join(sorted(found))}; the relation's columns have the same names, or say by `was:` which they had",
        )
    return {column: name for column, name in matched.items() if name is not None}


def make_readable(table: pa.Table, relation: Relation, place: str) -> pa.Table:
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


class Source(Protocol):
    """Something that events come from, for one coordinator.

    ``name``: its name in the project.
    """

    name: str

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """What waits behind a position, in the order in which it is to be appended.

        What comes before ``position`` is in the event log for good, and may be forgotten where it came from; where backups are made, up to
        ``catalog.backups.may_forget(name, position)``, from which it may be asked again when the catalog is restored. It may be asked again
        from the same position, after a crash, and then hands over the same events; how they are divided into deliveries may differ.

        It does not wait: if nothing is there, nothing is handed over, and it will be asked again. What comes meanwhile is for the next time, so
        that there is an end to it. Each delivery begins where the one
        before it ended. A delivery is appended after it was taken from the iterator, and the next one may be taken before that.

        Args:
            position: where the last delivery that was appended ended; None at first, and for sources without positions.
        """
        ...

    def close(self) -> None:
        """Release what it holds; it will not be asked any more."""
        ...


class SourceKind(Protocol):
    """A class of sources. Making one checks its options, and opens nothing: that waits for the first poll."""

    def __call__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> Source:
        """Make the source that ``settings`` describe."""
        ...
