"""SQL views -> one M3 program, through an ordered tuple of passes that can be stopped anywhere.

After each pass the draft's invariants are checked, and the finished program by :func:`m3.check.check`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from m3.algebra import DerivedQuery, Registry, WindowQuery
from m3.check import check
from m3.compiler.define import define_maps
from m3.compiler.draft import Draft
from m3.compiler.materialize import materialize_deltas, materialize_restricted
from m3.compiler.order import merge_statements, order_statements
from m3.dataflow import describe_dataflow
from m3.datatypes import INT
from m3.errors import CompileError
from m3.formatting import format_column, format_derived, format_program, format_statement
from m3.program import START, MapDecl, Program, Relation, Trigger
from m3.sql import parse_view

__all__ = ["PASSES", "STAGES", "compile_views", "emit"]

PASSES: tuple[Callable[[Draft], Draft], ...] = (
    define_maps,
    materialize_deltas,
    merge_statements,
    order_statements,
)
#: The passes when restricted M3 is asked for.
RESTRICTED_PASSES = (define_maps, materialize_restricted, merge_statements, order_statements)
#: Where one can stop: after each pass, and with the finished program's dataflow.
STAGES = ("algebra", "deltas", "merged", "m3", "dataflow")


def compile_views(
    name: str,
    relations: Sequence[Relation],
    views: Mapping[str, str],
    dialect: str | None = None,
    *,
    others: Mapping[str, str] | None = None,
    restricted: bool = False,
) -> Program:
    """The program that maintains the views.

    Args:
        name: the program's name.
        relations: the base tables; all of them are declared, also those that no view uses.
        views: SQL by view name; a view may read others.
        dialect: sqlglot's name of the SQL dialect; None for its generic one.
        others: further views that these may read, but that are not maintained for themselves.
        restricted: insist on the paper's restricted M3, where loop variables never join maps. By default they do where
            declared keys and numbers of rows make that cheaper (see :mod:`m3.compiler.lookups`).

    Returns:
        A program whose statements mean the same under both statement semantics.

    Raises:
        SyntaxProblem: a view's text is not SQL.
        CompileError: a view cannot be maintained; the error's span has the view's name as its file.
    """
    draft = _start(name, relations, views, dialect, others or {})
    return _finish(_run(draft, RESTRICTED_PASSES if restricted else PASSES))


def emit(
    stage: str,
    name: str,
    relations: Sequence[Relation],
    views: Mapping[str, str],
    dialect: str | None = None,
    *,
    others: Mapping[str, str] | None = None,
) -> str:
    """The intermediate result after a stage, as text.

    Args:
        stage: ``algebra`` (the maps of views and derivations as SQL), ``deltas`` (all maps, and the statements as they
            were found), ``merged`` (equal statements summed), ``m3`` (the program) or ``dataflow`` (its graph).
        name, relations, views, dialect, others: as for :func:`compile_views`.

    Raises:
        CompileError: as :func:`compile_views`, or of kind ``unknown-stage``.
    """
    if stage not in STAGES:
        raise CompileError(f"no stage {stage!r}", kind="unknown-stage", hint=f"one of {', '.join(STAGES)}")
    draft = _run(_start(name, relations, views, dialect, others or {}), PASSES[: STAGES.index(stage) + 1])
    if stage == "algebra":
        return _algebra(draft)
    if stage in ("deltas", "merged"):
        return _algebra(draft) + _statements(draft)
    program = _finish(draft)
    return format_program(program) if stage == "m3" else describe_dataflow(program)


def _start(
    name: str, relations: Sequence[Relation], views: Mapping[str, str], dialect: str | None, others: Mapping[str, str]
) -> Draft:
    registry = Registry([*(r.name for r in relations), *views])
    readable = {**others, **views}
    queries = tuple(parse_view(view, readable, relations, registry, dialect) for view in views)
    return Draft(name, tuple(relations), queries, tuple(registry.queries))


def _run(draft: Draft, passes: Sequence[Callable[[Draft], Draft]]) -> Draft:
    for step in passes:
        draft = step(draft)
        _check_draft(draft, getattr(step, "__name__", "materialize_restricted"))
    return draft


def _check_draft(draft: Draft, step: str) -> None:
    """Names are unique, every view and statement refers to defined maps, every map read has fewer atoms than its target."""
    sizes = {d.name: d.size for d in draft.definitions}
    derived = {d.relation.name: 0 for d in draft.derived}
    problems = ["two maps with one name"] if len(sizes) < len(draft.definitions) or set(derived) & set(sizes) else []
    sizes |= derived
    used = {m for v in draft.views for m in (v.exists, *(x.map for x in v.values))}
    used |= {m for d in draft.derivations for m in d.reads()}
    problems += [f"undefined map {m}" for m in used - set(sizes)]
    for _, _, statement in draft.statements:
        for ref in statement.reads():
            if sizes.get(ref.map, sizes[statement.target]) >= sizes[statement.target]:
                problems.append(f"{statement.target} reads {ref.map}, which is not smaller")
    if problems:
        raise CompileError(
            f"after {step}: {problems[0]}", kind="internal", hint="this is a bug of the compiler: report it"
        )


def _algebra(draft: Draft) -> str:
    lines = []
    for definition in draft.definitions:
        declaration = definition.declaration()
        keys = ", ".join(map(format_column, declaration.keys))
        lines.append(f"{definition.name}[{keys}] : {declaration.value}\n  := {declaration.meaning}")
    return "\n".join([*lines, *map(format_derived, draft.derivations)]) + "\n"


def _statements(draft: Draft) -> str:
    """The statements by map, each with its event."""
    signs = {1: "+", -1: "-", 0: "~"}
    return "".join(f"{signs[sign]}{relation}: {format_statement(s)}\n" for sign, relation, s in draft.statements)


def _finish(draft: Draft) -> Program:
    params = {name: tuple(c.name for c in r.columns) for name, r in draft.sources().items()} | {START: ()}
    groups = itertools.groupby(draft.statements, key=lambda s: (s[0], s[1]))
    triggers = tuple(
        Trigger(sign, relation, params[relation], tuple(s for _, _, s in group)) for (sign, relation), group in groups
    )
    maps = [d.declaration() for d in draft.definitions]
    maps += [MapDecl(d.relation.name, d.relation.columns, INT, _derived_meaning(d)) for d in draft.derived]
    program = Program(draft.name, "snapshot", draft.relations, tuple(maps), triggers, draft.views, draft.derivations)
    return check(program)


def _derived_meaning(query: DerivedQuery | WindowQuery) -> str:
    if isinstance(query, WindowQuery):
        return "rows with the results of window functions"
    return f"one row per ({', '.join(query.relation.key)})" if query.relation.key else "one row"
