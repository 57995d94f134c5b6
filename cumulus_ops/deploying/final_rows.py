"""Rows that are final by seals: nobody takes them back, so a view that changes has to say the same of them.

A view may change from a value on (``effective:``, :mod:`cumulus_ops.project.effective`): then its rows before that are those of the definition that it has had, and no final row is
of a value from there on. That is asked when the change is found, and again within the switch, for values are sealed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.plan import SEALED, CoordinationPlan
from cumulus_ops.opening.compiling import Edit, find_edit
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.effective import ORDERED, Effective
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import FILE_NAME
from cumulus_ops.query.answers import find_sealed_view
from m3.program import Program, View

__all__ = ["FinalRows", "find_final_rows"]


@dataclass(frozen=True)
class FinalRows:
    """What has to stay of a view that changes: all rows that are final, whose values are of a type of this ``kind``, if it is ``effective`` from a value on;
    else there may be none, and ``why`` says why that does not help."""

    view: str
    effective: Effective | None
    kind: str = ""
    why: str = "cannot say something else of them"

    def count(self, rt: Runtime) -> int:
        """How many partitions are final now.

        Raises:
            InputProblem: the change concerns one of them.
        """
        found = rt.catalog.finals.finals(self.view)
        for final in found:
            if self.effective is None:
                raise _refuse(rt, self.view, self.why)
            (text,) = json.loads(final.value)
            if self.effective.concerns(text, self.kind):
                later = f"and {self.effective.column} {text} is one of them: write a later value"
                raise _refuse(rt, self.view, f"cannot say something else from {self.effective.value} on, {later}")
        return len(found)


def _refuse(rt: Runtime, view: str, what: str) -> InputProblem:
    return InputProblem(
        f"view {view} has rows that are final by seals, and {what}",
        kind="final-view-changed",
        place=str(rt.as_edited.folder / FILE_NAME),
        hint=f"keep what it says of them: `{view}: {{sql: .., before: THE_OLD_FILE, effective: {{COLUMN: VALUE}}}}`; or give the changed view another name, and keep {view} "
        "for as long as somebody reads it",
    )


def find_final_rows(
    rt: Runtime, edit: Edit, new: Program, coordination: CoordinationPlan, past: Callable[[], Sequence[Program]]
) -> tuple[FinalRows, ...]:
    """What has to stay of the views that change.

    Args:
        rt: the open project.
        edit: what its folder says.
        new: the program that is to be maintained, and its plan.
        coordination: as above.
        past: the programs that were, the newest first.

    Raises:
        InputProblem: what is final would not stay.
    """
    found = []
    for name, what in edit.views.items():
        if what == "changed":
            rows = _find_rows(rt, name, new, coordination)
            rows.count(rt)
            found.append(rows)
        elif what == "added" and rt.catalog.finals.finals(name):
            before = next((p.view_by_name[name] for p in past() if name in p.view_by_name), None)
            if before is None or before.sql != new.view_by_name[name].sql:
                raise _refuse(rt, name, "was another one when it had them")
    return tuple(found)


def _find_rows(rt: Runtime, name: str, new: Program, coordination: CoordinationPlan) -> FinalRows:
    """Of one view. That it is effective from a value on counts only if all that follows from it does."""
    effective, sealed = rt.as_edited.effective.get(name), find_sealed_view(rt, rt.program.view_by_name[name])
    if effective is None or sealed is None:
        return FinalRows(name, None)
    if sealed.columns != (effective.column,) or any(sealed.forms) or sealed.types[0].kind not in ORDERED:
        shown = ", ".join(sealed.columns)
        return FinalRows(
            name,
            None,
            why=f"is effective by {effective.column}, and final by {shown}, which has to be the same column, with an order",
        )
    if not _says_the_same_before(rt, name, effective):
        return FinalRows(name, None, why=f"`before` is not what it has said until {effective.value}")
    planned = coordination.view(name)
    if (planned.final, planned.seals) != (SEALED, sealed.seals):
        return FinalRows(name, None, why="the changed one is not final by the same seals")
    before, after = _columns(rt.program.view_by_name[name]), _columns(new.view_by_name[name])
    if before != after:
        shown = ", ".join(f"{column} {type_}" for column, type_ in before)
        return FinalRows(name, None, why=f"they have the columns {shown}: CAST the new definition's to the same types")
    return FinalRows(name, effective, sealed.types[0].kind)


def _says_the_same_before(rt: Runtime, name: str, effective: Effective) -> bool:
    """Whether the old definition is what is maintained; or is the old part of it, up to the same value."""
    if effective.is_part_of(name, rt.project.views[name]):
        return True
    old = replace(rt.as_edited, views={**rt.as_edited.views, name: effective.before})
    return name not in find_edit(old, rt.catalog.program.record()).views


def _columns(view: View) -> list[tuple[str, str]]:
    return [(column.name, str(column.expression.type)) for column in view.visible]
