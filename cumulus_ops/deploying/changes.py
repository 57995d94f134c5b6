"""What a changed folder would do to a running project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import m3
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.catalog.revisions import Changes
from cumulus_ops.compute.extend import choose_drivers, relations_read
from cumulus_ops.coordination.plan import CoordinationPlan
from cumulus_ops.coordination.planning import extend_plan, goes_beyond, plan_coordination
from cumulus_ops.deploying.final_rows import FinalRows, find_final_rows
from cumulus_ops.layout.choices import Choices
from cumulus_ops.layout.partitioning import check_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.opening.columns import check_log, past_programs
from cumulus_ops.opening.compiling import Edit, bare_relations, find_edit
from cumulus_ops.opening.runtime import Runtime, digest_of
from cumulus_ops.project.definition import definition_of
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import FILE_NAME
from cumulus_ops.project.settings import Project
from m3.carry import carry_over
from m3.confluence.proof import prove
from m3.datatypes import Type
from m3.program import Program, Relation

__all__ = ["Change", "check_what_came", "find_change"]


@dataclass(frozen=True)
class Change:
    """A change of what a project maintains.

    ``views``: what becomes of those that do not stay as they are, ``added``, ``changed`` or ``removed``; ``relations``: what becomes of
    relations, in words. ``plan`` and ``coordination`` are what is to be maintained, ``record`` is how it is registered. ``fresh``: its groups that are new, and
    ``copies`` its new copies of groups that stay; ``dropped``: groups that go. ``drivers``: of new groups that are filled from what is there and the events of one relation, that relation;
    ``reads``: the relations whose events a backfill reads. ``is_replanned``: all maps
    are made anew, as they would be planned today. ``checked``: where relations have changed, the last batch of which it is known that its rows are rows of these.
    ``final_rows``: what has to stay of the views that change."""

    views: Mapping[str, str]
    relations: Mapping[str, str]
    plan: ProgramPlan
    coordination: CoordinationPlan
    record: ProgramRecord
    fresh: frozenset[str]
    kept: frozenset[str]
    copies: tuple[AccessPath, ...]
    dropped: frozenset[str]
    drivers: Mapping[str, str]
    reads: frozenset[str]
    is_replanned: bool = False
    checked: int | None = None
    final_rows: tuple[FinalRows, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether all views and relations stay as they are."""
        return not (self.views or self.relations or self.is_replanned)

    def told(self, back_to: int | None = None) -> Changes:
        """What is remembered of it; ``back_to``: the earlier revision that is deployed again."""
        return Changes(self.views, self.relations, self.is_replanned, back_to)


def find_change(rt: Runtime, *, replan: bool = False) -> Change:
    """Compile what was edited in a project's folder, and compare it with what is maintained. Nothing is changed.

    Args:
        rt: the open project.
        replan: make all maps anew, as today's rules and ``rows:`` have them.

    Raises:
        M3Error: a view is wrong.
        InputProblem: what is maintained cannot become this.
    """
    past, registered = cache(lambda: past_programs(rt.catalog)), rt.catalog.program.record()
    edit = find_edit(rt.as_edited, registered, past, whole=replan)
    relations = _changed_relations(rt.program, edit.new)
    checked = check_log(rt.as_edited, rt.catalog, (rt.program, *past()), edit.new) if relations else None
    _require_any_order(rt, edit)
    change = _plan_change(rt, edit, registered, relations, checked, replan=replan)
    finals = find_final_rows(rt, edit, change.plan.program, change.coordination, past)
    return replace(change, final_rows=finals)


def _plan_change(
    rt: Runtime,
    edit: Edit,
    registered: ProgramRecord,
    relations: Mapping[str, str],
    checked: int | None,
    *,
    replan: bool,
) -> Change:
    """What is to be maintained, beside what is."""
    program, stays = _carry(rt, edit, replan=replan)
    plan = plan_program(program, rt.plan.versions.name, rt.plan.choices.of(stays))
    check_layout(plan, rt.as_edited.layout)
    coordination = _coordinate(rt, edit, program)
    kept = frozenset(name for name in plan.groups if name in rt.plan.groups)
    fresh = frozenset(plan.groups) - kept
    drivers = {} if rt.project.executor.kind == "spark" else choose_drivers(plan, fresh, _count_rows(rt))
    undriven = fresh - drivers.keys()
    text, digest = digest_of(program)
    record = replace(
        registered,
        digest=digest,
        text=text,
        compiled=plan.json,
        choices=plan.choices_json,
        definition=definition_of(_keep_settings(rt, edit.new)),
        coordination=coordination.to_json(),
    )
    return Change(
        edit.views,
        relations,
        plan,
        coordination,
        record,
        fresh,
        kept,
        tuple(path for name in sorted(kept) for path in plan.paths[name] if path not in rt.plan.paths[name]),
        frozenset(rt.plan.groups) - kept,
        drivers,
        relations_read(plan, undriven) | {*drivers.values()},
        replan,
        checked,
    )


def _carry(rt: Runtime, edit: Edit, *, replan: bool) -> tuple[Program, frozenset[str]]:
    """The program to maintain, and the maps of the current one that stay in it."""
    begun = rt.catalog.revisions.deployment()  # if it is this change, it has these names already
    others = [r.number for r in rt.catalog.revisions.all() if begun is None or r.number != begun.number]
    used = {name for number in others for name in _maps_of(rt, number)}
    stays = () if replan else edit.stays
    together = rt.plan.choices.together()
    carried = carry_over(edit.old, edit.new, together, used, as_they_are=stays, order=edit.order, keep=not replan)
    return carried.program, frozenset(carried.kept)


def _count_rows(rt: Runtime) -> Counter[str]:
    """The events of each relation."""
    rows: Counter[str] = Counter()
    for file in rt.catalog.log.files():
        rows[file.relation] += file.rows
    return rows


def _coordinate(rt: Runtime, edit: Edit, program: Program) -> CoordinationPlan:
    """What has to be waited for. Only what is new is proved, where nothing else has to do with what stays."""
    before, after = rt.project, rt.as_edited
    planned = edit.stays & {view.view for view in rt.coordination.views}
    is_apart = not (before.seals or after.seals or after.dataflow or goes_beyond(rt.coordination))
    if planned and is_apart and set(before.insert_only) == set(after.insert_only):
        return extend_plan(after, program, rt.coordination, planned)
    return plan_coordination(after, program, prove(program), rt.plan.versions.name)


def check_what_came(rt: Runtime, change: Change) -> int | None:
    """See that what was appended since a change was found has rows of its relations, too; returns the last batch's id, None if these have not changed.

    Raises:
        InputProblem: some row is none.
    """
    if change.checked is None:
        return None
    past = (rt.program, *past_programs(rt.catalog))
    return check_log(rt.as_edited, rt.catalog, past, change.plan.program, change.checked)


def _keep_settings(rt: Runtime, new: Program) -> Project:
    """The project with the keys and seals that it has, of the columns as they are called from now on. Others are declared after the switch."""
    called = {r.name: {r.in_log(c.name): c.name for c in r.columns} for r in new.relations}

    def names(relation: str, columns: Sequence[str]) -> tuple[str, ...]:
        stored = rt.project.relation(relation).in_log
        return tuple(called[relation][stored(c)] for c in columns if stored(c) in called[relation])

    seals = {
        relation: tuple(replace(s, columns=names(relation, s.columns)) for s in of)
        for relation, of in rt.project.seals.items()
        if relation in called
    }
    return replace(
        rt.project,
        dialect=rt.as_edited.dialect,
        keys={relation: key for relation, key in rt.project.keys.items() if relation in called},
        seals={relation: tuple(s for s in of if s.columns) for relation, of in seals.items()},
        insert_only=tuple(relation for relation in rt.project.insert_only if relation in called),
    )


def _maps_of(rt: Runtime, revision: int) -> set[str]:
    choices = Choices.from_json(rt.catalog.program.record(revision).choices)
    return {name for group in choices.alike for name in group}


def _changed_relations(old: Program, new: Program) -> dict[str, str]:
    """What becomes of each relation that does not stay as it is."""
    before, after = (bare_relations(program.relations) for program in (old, new))
    found = {name: "removed" for name in before if name not in after}
    found |= {name: "added" for name in after if name not in before}
    return found | {
        name: _describe(before[name], after[name]) for name in after if before.get(name, after[name]) != after[name]
    }


def _describe(old: Relation, new: Relation) -> str:
    was, now = ({r.in_log(c.name): c for c in r.columns} for r in (old, new))
    said = [f"column {now[at].name} added" for at in now if at not in was]
    said += [f"column {was[at].name} removed" for at in was if at not in now]
    both = [(was[at], now[at]) for at in was if at in now]
    said += [f"column {a.name} is called {b.name}" for a, b in both if a.name != b.name]
    said += [f"column {b.name}: {_shown(a.type)} becomes {_shown(b.type)}" for a, b in both if a.type != b.type]
    called = {a.name: b.name for a, b in both}
    key = tuple(called.get(name, name) for name in old.key)
    said += [f"key: {', '.join(key) or 'none'} becomes {', '.join(new.key) or 'none'}"] if key != new.key else []
    return "; ".join(said) or "columns in another order"


def _shown(type_: Type) -> str:
    return f"{type_} NULL" if type_.nullable else str(type_)


def _require_any_order(rt: Runtime, edit: Edit) -> None:
    """New maps are made from what the tables contain, so no map may depend on the order of the events that led there. The order of a sequential
    program's statements may matter: beside others, these read what they read AFTER the event (:func:`m3.statements.as_snapshot`).

    Raises:
        InputProblem: the order of events matters, and something is changed.
    """
    in_order = not rt.plan.versions.summed or prove(edit.new).grain != "batch"
    if in_order and m3.format_program(edit.old) != m3.format_program(edit.new):
        raise InputProblem(
            "the order of events matters for this program, so no part of it can be made for itself",
            kind="order-sensitive",
            place=str(rt.as_edited.folder / FILE_NAME),
            hint="`cumulus anew` makes all maps again from the event log",
        )
