"""Columns of relations that change: which column of the log each one is, and what cannot become of a relation that has events.

The log keeps each column under one name for good (:mod:`cumulus_ops.files.projection`). A column that was renamed is the one that it was; one that is declared anew is
a new one, also if there was one of its name before, whose values are not known of the rows that came without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import LEFT_OUT, LogFile
from cumulus_ops.files.log_files import read_rows
from cumulus_ops.keys.building import find_violations
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import FILE_NAME
from cumulus_ops.project.settings import Project
from m3.clock import CLOCK
from m3.datatypes import Type
from m3.formatting import program_from_json
from m3.program import Column, Program, Relation

__all__ = ["check_log", "follow", "is_widened", "past_programs", "renamed_as", "renamed_since"]

#: The digits of the numbers of a bigint.
INT_DIGITS = 19


def past_programs(catalog: Catalog) -> list[Program]:
    """The programs of all revisions that have been current, the newest first."""
    numbers = [r.number for r in catalog.revisions.all() if r.since is not None]
    return [program_from_json(catalog.program.record(n).compiled) for n in sorted(numbers, reverse=True)]


def follow(
    new: Program, old: Program, past: Sequence[Program], renamed: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Program:
    """A program whose relations know what their columns are called in the log.

    Args:
        new: compiled from the project's folder.
        old: what is maintained.
        past: all programs that were, the newest first: a relation that was taken out, and is there again, has the events that it had.
        renamed: relation -> column -> names that it had, as the folder says.

    Raises:
        InputProblem: a column that was there is to have another default.
    """

    def followed(relation: Relation) -> Relation:
        had = _find_all(relation.name, (old, *past))
        if not had or relation.name == CLOCK:
            return replace(relation, stored=())
        taken = {r.in_log(c.name) for r in had for c in r.columns}
        return _keep_defaults(_follow_columns(relation, had[0], taken, renamed.get(relation.name, {})), had[0])

    return replace(new, relations=tuple(map(followed, new.relations)))


def _find_all(name: str, programs: Sequence[Program]) -> list[Relation]:
    return [p.relation_by_name[name] for p in programs if name in p.relation_by_name]


def _follow_columns(new: Relation, old: Relation, taken: set[str], renamed: Mapping[str, tuple[str, ...]]) -> Relation:
    """
    >>> from m3.datatypes import INT
    >>> old, new = (Relation("r", tuple(Column(name, INT) for name in names)) for names in ("ab", "cba"))
    >>> _follow_columns(new, old, {"a", "b"}, {"c": ("a",)}).stored
    (('c', 'a'), ('a', 'a~2'))
    """
    left = {c.name: old.in_log(c.name) for c in old.columns}
    found = {
        c.name: left.pop(c.name) for c in new.columns if c.name in left and not _is_taken(c.name, new, old, renamed)
    }
    for column in new.columns:
        before = next((name for name in renamed.get(column.name, ()) if name in left), None)
        if column.name not in found and before is not None:
            found[column.name] = left.pop(before)
    for column in new.columns:
        if column.name not in found:
            found[column.name] = _free_name(column.name, taken)
            taken = {*taken, found[column.name]}
    return replace(new, stored=tuple((c.name, found[c.name]) for c in new.columns if found[c.name] != c.name))


def _keep_defaults(new: Relation, old: Relation) -> Relation:
    """A column has the default with which it was added, for good: rows of the log have it.

    Raises:
        InputProblem: it is to have another one.
    """
    had = {old.in_log(c.name): old.default_of(c.name) for c in old.columns}
    kept = {c.name: had.get(new.in_log(c.name), new.default_of(c.name)) for c in new.columns}
    for name, text in new.defaults:
        if kept[name] != text:
            before = "none" if kept[name] is None else kept[name]
            raise InputProblem(
                f"column {name} of {new.name} has {before} for a default, by which rows of the event log are read, and not {text}",
                kind="default-changed",
                place=FILE_NAME,
                hint="a default is given with the column: declare a new one beside it, or let the views say `COALESCE`",
            )
    return replace(new, defaults=tuple((name, text) for name, text in kept.items() if text is not None))


def _is_taken(name: str, new: Relation, old: Relation, renamed: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a column that was there is another one's now, which has not been there under its new name."""
    known = {c.name for c in old.columns}
    return any(name in renamed.get(c.name, ()) for c in new.columns if c.name not in known)


def _free_name(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}~{number}"
    return found


def renamed_since(old: Sequence[Relation], new: Sequence[Relation]) -> dict[str, dict[str, tuple[str, ...]]]:
    """relation -> column of ``new`` -> what it is called in ``old``, of those that are called otherwise there; both know their names in the log."""
    before = {r.name: {r.in_log(c.name): c.name for c in r.columns} for r in old}
    found: dict[str, dict[str, tuple[str, ...]]] = {
        r.name: {
            c.name: (before[r.name][r.in_log(c.name)],)
            for c in r.columns
            if before[r.name].get(r.in_log(c.name), c.name) != c.name
        }
        for r in new
        if r.name in before
    }
    return {name: columns for name, columns in found.items() if columns}


def renamed_as(old: Program, new: Program) -> Program:
    """A program with its relations' columns called as in another one, so that the two can be compared; columns that are gone have names that nothing has."""

    after = new.relation_by_name
    relations = (_called_as(r, after[r.name]) if r.name in after else r for r in old.relations)
    return replace(old, relations=tuple(relations))


def _called_as(old: Relation, new: Relation) -> Relation:
    names = {new.in_log(c.name): c.name for c in new.columns}
    called = {c.name: names.get(old.in_log(c.name), f"{c.name}~gone") for c in old.columns}
    columns = tuple(replace(c, name=called[c.name]) for c in old.columns)
    key, defaults = tuple(called[name] for name in old.key), tuple((called[n], text) for n, text in old.defaults)
    return replace(old, columns=columns, key=key, stored=new.stored, defaults=defaults)


# What cannot become of a relation that has events: then some of them would not be rows of it.


def check_log(project: Project, catalog: Catalog, past: Sequence[Program], new: Program, since: int = 0) -> int:
    """See that the events of the log are events of a changed program's relations.

    Args:
        project: the project.
        catalog: its catalog.
        past: the programs that were, the current one first.
        new: the changed program, which has followed them (:func:`follow`).
        since: only batches with later ids are looked at.

    Returns:
        the last batch's id; those that come later have not been looked at.

    Raises:
        InputProblem: a type is narrower; a column is not to be NULL, and some rows have no value; or a key is declared, and rows break it.
    """
    batches = [b for b in catalog.log.batches() if b.id > since]
    counted = {b.id for b in batches if b.state not in LEFT_OUT}
    files: dict[str, list[LogFile]] = {}
    for file in catalog.log.files():
        if file.batch in counted:
            files.setdefault(file.relation, []).append(file)
    for relation in new.relations:
        if relation.name == CLOCK or relation.name not in files:
            continue
        known = next((_called_as(r, relation) for r in _find_all(relation.name, past)), None)
        for message, kind, hint in _find_contradictions(project, relation, known, files[relation.name]):
            raise InputProblem(message, kind=kind, place=str(project.folder / FILE_NAME), hint=hint)
        if relation.key and (known is None or known.key != relation.key):
            _require_key(project, catalog, relation)
    return max((b.id for b in batches), default=since)


def _find_contradictions(
    project: Project, relation: Relation, known: Relation | None, files: Sequence[LogFile]
) -> Iterator[tuple[str, str, str]]:
    """What is wrong, of what kind, and what to do."""
    types = {} if known is None else {c.name: c.type for c in known.columns}
    for column in relation.columns:
        what, type_ = f"column {column.name} of {relation.name}", types.get(column.name)
        is_optional = column.type.nullable or relation.default_of(column.name) is not None
        if type_ is None and known is not None and not is_optional:
            written = str(column.type).lower()
            yield (
                f"{what} is new, and the rows in the event log have no value of it",
                "column-without-values",
                f"declare it `{written} null`, or `{{type: {written}, default: ..}}`; if it is another one by a new name, `{column.name}: {{type: {written}, was: THE_OLD_NAME}}`",
            )
        if type_ is not None and not is_widened(type_, column.type):
            yield (
                f"{what} is {type_} in the event log, and not every {type_} is a {column.type}",
                "type-narrowed",
                f"a type may become a wider one{_wider(type_)}; else declare a new column, by another name, `null`",
            )
    # Only where the log may have NULL, its rows are looked at.
    strict = [
        c.name
        for c in relation.columns
        if not c.type.nullable and (known is None or (c.name in types and types[c.name].nullable))
    ]
    for file in files if strict else ():
        loose = replace(relation, columns=tuple(Column(c.name, c.type.with_null()) for c in relation.columns))
        rows = read_rows(project.state, file, loose, strict)
        for name in strict:
            if rows[name].null_count:
                yield (
                    f"column {name} of {relation.name} is to be NOT NULL, and {rows[name].null_count:,} rows of batch {file.batch} have NULL",
                    "null-in-log",
                    f"declare it `null`, and let the views say what takes its place: COALESCE({name}, ..)",
                )


def is_widened(old: Type, new: Type) -> bool:
    """Whether every value of one type is one of another, NULL apart.

    >>> from m3.datatypes import INT, decimal
    >>> [is_widened(a, b) for a, b in ((INT, decimal(19, 0)), (INT, decimal(15, 2)), (decimal(9, 2), decimal(11, 4)), (decimal(9, 2), decimal(9, 3)))]
    [True, False, True, False]
    """
    if new.kind != "decimal" or old.kind not in ("int", "decimal"):
        return old.same_as(new)
    digits, scale = (INT_DIGITS, 0) if old.kind == "int" else (old.precision - old.scale, old.scale)
    return new.scale >= scale and new.precision - new.scale >= digits


def _wider(type_: Type) -> str:
    if type_.kind == "int":
        return f", `decimal({INT_DIGITS},0)` or `decimal({INT_DIGITS + 2},2)`"
    if type_.kind == "decimal":
        return f", with at least {type_.precision - type_.scale} digits before the point and {type_.scale} after it"
    return ", as decimals and bigint do"


def _require_key(project: Project, catalog: Catalog, relation: Relation) -> None:
    violations = find_violations(project, catalog, relation)
    if violations.keys:
        shown = "; ".join(violations.shown[:3])
        raise InputProblem(
            f"relation {relation.name} is to have the key {', '.join(relation.key)}, and {violations.keys:,} keys have not one row once: {shown}",
            kind="key-broken",
            place=str(project.folder / FILE_NAME),
            hint="let the source delete the rows that are too many, or declare no key",
        )
