"""From a project's folder to its program; of a folder that was edited, only what was.

A view says something else than before only if its text does, or a table that it mentions. All other views stay as they are maintained, and nobody compiles
them again: also not a newer Cumulus, which might choose other maps for them. So an edit costs what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import m3
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.light import lazy_module
from cumulus_ops.opening.columns import follow, renamed_as
from cumulus_ops.project.definition import with_definition
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from m3.clock import CLOCK
from m3.formatting import program_from_json
from m3.program import Program, Relation

if TYPE_CHECKING:
    from m3 import carry
else:  # most processes open a program that nobody has edited
    carry = lazy_module("m3.carry")

__all__ = ["Edit", "bare_relations", "build_program", "find_edit"]


def build_program(project: Project, only: Collection[str] | None = None) -> Program:
    """The program of a project folder: its M3 file, or its views compiled.

    Args:
        project: the project.
        only: the views to compile; they may read the others. All of them if None.

    Raises:
        M3Error: the text or views are wrong; it names their files, and knows all errors that were found.
    """
    if project.program_file is not None:
        return _read_program(project)
    wanted = {name: text for name, text in project.views.items() if only is None or name in only}
    others = {name: text for name, text in project.views.items() if name not in wanted}
    try:
        return m3.compile_views(project.name, project.relations, wanted, project.dialect, others=others)
    except m3.M3Error as error:
        raise error.in_files({view: str(file) for view, file in project.view_files.items()}) from error


def _read_program(project: Project) -> Program:
    assert project.program_file is not None
    program = m3.read_program(read_text(project.program_file), str(project.program_file))
    declared = {r.name: r for r in project.relations}
    for relation in program.relations:
        if relation.name in declared and declared[relation.name].columns != relation.columns:
            raise InputProblem(
                f"relation {relation.name} differs between the M3 file and cumulus.yaml",
                kind="relation-mismatch",
                place=str(project.program_file),
                hint="declare the same columns and types in both",
            )
    relations = (replace(r, defaults=declared[r.name].defaults) if r.name in declared else r for r in program.relations)
    return replace(program, relations=tuple(relations))


@dataclass(frozen=True)
class Edit:
    """What a folder says beside what is maintained.

    ``old`` is what is maintained, with its columns called as in the folder; ``new`` has the folder's tables, and those of its views that may say something else.
    ``order``: all of the folder's views. ``views``: what becomes of those that say something else, ``added``, ``changed`` or ``removed``; ``stays``: those
    that stay with the maps that they have. ``are_tables_same``: no table is changed, added or removed. ``is_text``: it is a program in M3.
    ``is_ordered``: for that the order of events matters, so it is its text, and not what its views say."""

    old: Program
    new: Program
    order: tuple[str, ...]
    views: dict[str, str]
    stays: frozenset[str]
    are_tables_same: bool
    is_text: bool
    is_ordered: bool

    @property
    def is_change(self) -> bool:
        """Whether anything means something else."""
        if self.is_ordered:
            return m3.format_program(self.old) != m3.format_program(self.new)
        return bool(self.views) or not self.are_tables_same


def find_edit(
    project: Project, registered: ProgramRecord, past: Callable[[], Sequence[Program]] = tuple, *, whole: bool = False
) -> Edit:
    """Compile what was edited, and compare it with what is maintained.

    Args:
        project: as its folder says.
        registered: what is maintained.
        past: the programs that were, the newest first; asked only if tables differ.
        whole: compile all views.

    Raises:
        M3Error: a view is wrong.
    """
    stored = program_from_json(registered.compiled)
    deployed = with_definition(project, stored, registered.definition)
    is_text = project.program_file is not None or not all(view.sql for view in stored.views)
    if whole or is_text or registered.granularity != "batch":  # of a program that is by event, no part is for itself
        made = build_program(project)
    else:
        made = build_program(project, _find_suspects(deployed, project))
    is_same = bare_relations(made.relations) == bare_relations(stored.relations)
    new = follow(made, stored, () if is_same else past(), project.renamed)
    old = renamed_as(stored, new)
    order = tuple(view.name for view in new.views) if is_text else tuple(project.views)
    untouched = frozenset(order) - {view.name for view in new.views}
    views: dict[str, str] = carry.changed_views(old, new, untouched)
    same = frozenset() if is_text else _find_same(project, deployed, new, views)
    views = {name: what for name, what in views.items() if name not in same}
    is_ordered = is_text and not (registered.granularity == "batch" and carry.is_known(stored))
    return Edit(old, new, order, views, untouched | same, is_same, is_text, is_ordered)


def bare_relations(relations: Iterable[Relation]) -> dict[str, Relation]:
    """What tables are, whatever number of rows is declared."""
    return {r.name: replace(r, rows=None) for r in relations if r.name != CLOCK}


def _find_suspects(before: Project, after: Project) -> frozenset[str]:
    """The views that may say something else than before: their text does, that of those that they read included, or a table is another one that they mention.

    They are compared as text, which costs little, and takes too many rather than too few: a name in a comment counts."""
    tables = [bare_relations(p.relations) for p in (before, after)]
    if before.dialect != after.dialect or CLOCK in {r.name for r in after.relations}:
        return frozenset(after.views)
    changed = {name for name in {*tables[0], *tables[1]} if tables[0].get(name) != tables[1].get(name)}
    texts = m3.complete_texts(after.relations, after.views, after.dialect)
    return frozenset(
        name
        for name in after.views
        if name not in texts or texts[name] != before.views.get(name) or m3.mentions(texts[name], changed)
    )


def _find_same(project: Project, deployed: Project, new: Program, views: dict[str, str]) -> frozenset[str]:
    """Which of the views that seem to be changed say the same, and would be maintained by other maps today: with other ``rows:``, or by a newer Cumulus.
    To tell these, they are compiled again as they are registered."""
    changed = {name for name, what in views.items() if what == "changed"}
    if not changed:
        return frozenset()
    rows = {r.name: r.rows for r in project.relations}
    relations = tuple(replace(relation, rows=rows.get(relation.name)) for relation in deployed.relations)
    try:
        today = build_program(replace(deployed, relations=relations, program_file=None), changed)
    except m3.M3Error:  # this version refuses what an earlier one has taken
        return frozenset()
    return frozenset(changed - carry.changed_views(renamed_as(today, new), new).keys())
