"""What sources show and ``cumulus.yaml`` does not say: the lines to write. A person decides; a name that is gone and one that is new may be one column, or two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.columns import is_widened
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.relation_settings import RESERVED
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.foreign import explain_errors, make_source
from cumulus_ops.sources.shapes import Describes, ShownColumn, columns_of_files
from m3.datatypes import MAX_PRECISION, Type, decimal
from m3.program import Column, Relation

__all__ = ["Proposal", "Proposals", "propose", "yaml_type"]

#: The digits of the numbers of a bigint.
INT_DIGITS = 19


@dataclass(frozen=True)
class Proposal:
    """What could become of a column: ``add``, ``remove``, ``rename``, ``widen``, or ``leave out``, for no column type holds it. ``line``: what to write below the relation's
    ``columns:``, "" for nothing; ``instead``: the column that it is written instead of, "" for none. ``source``: who shows it; ``why``, in words."""

    source: str
    relation: str
    kind: str
    line: str
    instead: str
    why: str


@dataclass(frozen=True)
class Proposals:
    """What could be written; and, by their names, the sources that could not be asked."""

    columns: Sequence[Proposal]
    problems: Mapping[str, str]


def propose(project: Project, catalog: Catalog) -> Proposals:
    """Ask all sources which columns they have, and compare that with what the project's folder declares. Nothing is changed.

    Args:
        project: as its folder says.
        catalog: knows where the sources are.
    """
    found: list[Proposal] = []
    problems: dict[str, str] = {}
    for relation, (path, landed) in sorted(columns_of_files(project).items()):
        found += _compare(project, relation, f"files such as {path.parent.name}/{path.name}", landed, is_file=True)
    for settings in project.sources:
        try:
            with explain_errors(settings.name), closing(make_source(project, settings, catalog)) as source:
                shown = source.columns() if isinstance(source, Describes) else {}
        except CumulusError as problem:
            problems[settings.name] = problem.message
            continue
        for relation, columns in shown.items():
            found += _compare(project, relation, f"source {settings.name}", columns)
    return Proposals(found, problems)


def _compare(
    project: Project, name: str, source: str, shown: Sequence[ShownColumn], *, is_file: bool = False
) -> Iterator[Proposal]:
    """What a source shows of a relation otherwise than it is declared."""
    relation, older = project.relation(name), project.settings_of(name).older
    by_name = {column.name: column for column in shown}
    matched = {
        c.name: next((n for n in (c.name, *older.get(c.name, ())) if n in by_name), None) for c in relation.columns
    }
    known = {*matched.values(), *(n for of in older.values() for n in of)}
    new = [column for column in shown if column.name not in known]
    # A file need not have columns that may be missing.
    gone = [c for c in relation.columns if matched[c.name] is None and not (is_file and _is_optional(relation, c))]
    renamed = _find_renamed(gone, new)
    for column in gone:
        if column.name in renamed:
            yield _rename(relation, column, renamed[column.name], source)
        else:
            why = f"{source} has it no more" if not is_file else f"{source} have it no more"
            yield Proposal(source, name, "remove", "", column.name, why)
    for other in new:
        if other.name not in {o.name for o in renamed.values()}:
            yield _add(relation, other, source)
    for column in relation.columns:
        there = by_name.get(matched[column.name] or "")
        wider = None if there is None or there.is_guess or there.type is None else _wider(column.type, there.type)
        if there is not None and wider is not None:
            line = _line(relation, column.name, wider)
            yield Proposal(source, name, "widen", line, column.name, f"{source} has {there.what}, which may hold more")


def _is_optional(relation: Relation, column: Column) -> bool:
    return column.type.nullable or relation.default_of(column.name) is not None


def _find_renamed(gone: Sequence[Column], new: Sequence[ShownColumn]) -> dict[str, ShownColumn]:
    """column -> the new one that it may be: the only one of its kind, as it is the only one that is gone.

    >>> from m3.datatypes import INT, STRING
    >>> new = [ShownColumn("total", INT.with_null()), ShownColumn("note", STRING)]
    >>> {name: column.name for name, column in _find_renamed([Column("price", INT)], new).items()}
    {'price': 'total'}
    """

    def alike(column: Column, other: ShownColumn) -> bool:
        kinds = {column.type.kind, other.type.kind} if other.type else set()
        return other.name.isidentifier() and (len(kinds) == 1 or kinds == {"int", "decimal"})

    pairs = [(column, other) for column in gone for other in new if alike(column, other)]
    return {
        column.name: other
        for column, other in pairs
        if sum(c is column for c, _ in pairs) == 1 and sum(o is other for _, o in pairs) == 1
    }


def _rename(relation: Relation, column: Column, other: ShownColumn, source: str) -> Proposal:
    wider = None if other.is_guess or other.type is None else _wider(column.type, other.type)
    line = f'{other.name}: {{type: "{yaml_type(wider or column.type)}", was: {column.name}}}'
    why = f"if what {source} calls {other.name} is that column; if it is another one, take {column.name} out, and add {other.name}"
    return Proposal(source, relation.name, "rename", line, column.name, why)


def _add(relation: Relation, other: ShownColumn, source: str) -> Proposal:
    if other.type is None or not other.name.isidentifier() or other.name.casefold() in RESERVED:
        why = f"{source} has it as {other.what}, which no column type holds"
        if other.type is not None:
            why = f"{source} has it by a name that no column can have"
        return Proposal(source, relation.name, "leave out", "", other.name, why)
    if other.default is not None:
        quoted = other.default.replace("'", "''")
        line = f"{other.name}: {{type: \"{yaml_type(other.type)}\", default: '{quoted}'}}"
        return Proposal(source, relation.name, "add", line, "", f"{source} has given its older rows this value")
    said = "looks so in" if other.is_guess else "is so in"
    return Proposal(
        source, relation.name, "add", f"{other.name}: {yaml_type(other.type.with_null())}", "", f"it {said} {source}"
    )


def _line(relation: Relation, name: str, type_: Type) -> str:
    default = relation.default_of(name)
    return (
        f"{name}: {yaml_type(type_)}"
        if default is None
        else f"{name}: {{type: \"{yaml_type(type_)}\", default: '{default}'}}"
    )


def _wider(declared: Type, shown: Type) -> Type | None:
    """The type of which all values of both are; None if the declared one is it, or there is none.

    >>> from m3.datatypes import INT, STRING
    >>> [str(_wider(*pair)) for pair in ((decimal(9, 2), decimal(8, 3)), (INT, decimal(5, 2)), (decimal(20, 2), INT), (decimal(9, 2), decimal(8, 2)), (INT, STRING))]
    ['DECIMAL(10, 3)', 'DECIMAL(21, 2)', 'DECIMAL(21, 2)', 'None', 'None']
    """
    numbers = [(t.precision - t.scale, t.scale) if t.kind == "decimal" else (INT_DIGITS, 0) for t in (declared, shown)]
    if {declared.kind, shown.kind} - {"int", "decimal"} or is_widened(shown, declared):
        return None
    if declared.kind == shown.kind == "int":
        return None
    scale = max(s for _, s in numbers)
    precision = scale + max(w for w, _ in numbers)
    return decimal(precision, scale).with_null(declared.nullable) if precision <= MAX_PRECISION else None


def yaml_type(type_: Type) -> str:
    """A type as ``cumulus.yaml`` has it.

    >>> yaml_type(decimal(9, 2).with_null())
    'decimal(9,2) null'
    """
    words = {"int": "bigint", "bool": "boolean", "decimal": f"decimal({type_.precision},{type_.scale})"}
    return words.get(type_.kind, type_.kind) + (" null" if type_.nullable else "")
