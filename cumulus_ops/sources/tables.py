"""Which tables relations follow, as every kind of source says it: ``tables: {relation: table}``."""

from __future__ import annotations

from cumulus_ops.config import Project
from cumulus_ops.yaml_nodes import Item

__all__ = ["tables_of"]


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
    entries = [(n, n, item) for n in item.words()] if lists and item.is_list else _entries(item)
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


def _entries(item: Item) -> list[tuple[str, str, Item]]:
    return [(relation, entry.text(), entry) for relation, entry in item.section().items()]
