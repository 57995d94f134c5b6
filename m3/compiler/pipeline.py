"""SQL views -> one M3 program, through an ordered tuple of passes that can be stopped anywhere.

After each pass the draft's invariants are checked, and the finished program by :func:`m3.check.check`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from m3.algebra.attempts import drop_implied
from m3.algebra.derive import DerivedQuery, Registry, WindowQuery, map_function
from m3.algebra.rows import ViewQuery
from m3.algebra.terms import Atom, Monomial, Polynomial
from m3.check import check
from m3.clock import CLOCK_RELATION
from m3.compiler.maps import Draft, Maps
from m3.compiler.materialize import materialize_deltas, materialize_restricted
from m3.compiler.passing import expand_time
from m3.dataflow import describe_dataflow, graph_of, in_order
from m3.datatypes import INT
from m3.errors import CompileError, FollowUp, M3Error, Span, combine_errors
from m3.failures import find_place
from m3.formatting import format_column, format_derived, format_program, format_scalar, format_statement
from m3.program import (
    START,
    Check,
    Derivation,
    Derived,
    Factor,
    Input,
    MapDecl,
    Program,
    Relation,
    Statement,
    Trigger,
    View,
    ViewList,
    ViewValue,
    Windowing,
)
from m3.scalars import Call, Const, Scalar, Var, call, const, substitute
from m3.sql.view import parse_view

__all__ = [
    "PASSES",
    "STAGES",
    "Checks",
    "check_views",
    "compile_views",
    "define_maps",
    "emit",
    "merge_statements",
    "order_statements",
]


# What has to be empty for a view to be right: the maps that count what fails in it, or in what it is made of.


class Checks:
    """The checks of views.

    Args:
        maps: gets the maps that count failures.
        derived: the derived relations of the program.
    """

    def __init__(self, maps: Maps, derived: Sequence[DerivedQuery | WindowQuery]) -> None:
        self._maps = maps
        self._derived = {query.relation.name: query for query in derived}

    def of(self, query: ViewQuery) -> tuple[Check, ...]:
        """The checks of a view: of its own sums, and of the derived relations that it is made of, directly or not."""
        own = [*(p for _, p in query.values), *(p for p, _ in query.checks), *(x.polynomial for x in query.lists)]
        own += [query.exists] if isinstance(query.exists, Polynomial) else []
        first = [query.exists.name] if isinstance(query.exists, Relation) else []
        found = [Check(self._maps.keep(p, f"{query.name}_several"), place=at) for p, at in query.checks]
        found += self._check_failures(query.name, own)
        waiting, seen = [*first, *_list_relations(own)], set[str]()
        while waiting:
            name = waiting.pop(0)
            derived = self._derived.get(name)
            if derived is None or name in seen:
                continue
            seen.add(name)
            inputs = list(derived.polynomials())
            found += self._check_failures(query.name, inputs)
            if derived.failing:
                found.append(self._check_rows(query.name, derived))
            waiting += _list_relations(inputs)
        checks: dict[str, Check] = {}
        for check_ in found:  # one map may count what fails in several of them
            checks.setdefault(check_.map, check_)
        return tuple(checks.values())

    def _check_failures(self, view: str, polynomials: Sequence[Polynomial]) -> Iterator[Check]:
        for failure in drop_implied(f for p in polynomials for f in p.failures):
            name = self._maps.keep(failure.polynomial, f"{view}_failed")
            relations = tuple(r for r in failure.relations if r not in self._derived)
            # the map may be older, and its keys named otherwise
            pairs = zip(failure.polynomial.columns, self._maps.columns(name), strict=True)
            expression = substitute(failure.expression, {old.name: Var(new.name, new.type) for old, new in pairs})
            yield Check(name, expression, relations, find_place(failure.expression) or Span(1, 1, 1, view))

    def _check_rows(self, view: str, query: DerivedQuery | WindowQuery) -> Check:
        """The check of a derived relation's rows that could not be computed."""
        *columns, flag = query.relation.columns
        keys = columns[: len(query.relation.key)] if isinstance(query, DerivedQuery) else columns[: query.partition]
        variables = tuple(Var(c.name, c.type) for c in keys)
        wanted = call("eq", Var(flag.name, flag.type), const(1))
        atom = Atom(query.relation.name, tuple((v.name, v) for v in variables), (wanted,))
        name = self._maps.keep(Polynomial(tuple(keys), INT, (Monomial(variables, (atom,)),)), f"{view}_failed")
        places = [find_place(f.expression) or f.place for f in query.failing]
        written = (p.text if p else _describe_failing(f.expression) for f, p in zip(query.failing, places, strict=True))
        text = " or ".join(dict.fromkeys(written))
        return Check(name, const(text), (), next((p for p in places if p is not None), Span(1, 1, 1, view)))


def _list_relations(polynomials: Sequence[Polynomial]) -> list[str]:
    every = [p for polynomial in polynomials for p in (polynomial, *(f.polynomial for f in polynomial.failures))]
    return list(dict.fromkeys(a.relation for p in every for t in p.terms for a in t.atoms))


def _describe_failing(scalar: Scalar) -> str:
    """An expression of a group for people, without the condition that something was added up."""
    if isinstance(scalar, Call) and scalar.op == "case" and len(scalar.args) == 3:
        scalar = scalar.args[1]
    return scalar.name if isinstance(scalar, Var) else format_scalar(scalar)


# Pass 1: give everything that is maintained a map, one per meaning.


def define_maps(draft: Draft) -> Draft:
    """Queries -> views and derivations over maps.

    The existence map of a view (its row count per group) is also its COUNT(*), and views that ask for the same
    aggregate share its map:

    >>> from m3.sql.show import EXAMPLE
    >>> print(emit("algebra", "p", EXAMPLE, {"v": "SELECT b, SUM(c) AS t FROM s GROUP BY b"}), end="")
    v_count[b INT] : INT
      := SELECT s.b, COUNT(*) FROM s GROUP BY s.b
    v_t[b INT] : INT
      := SELECT s.b, SUM(s.c) FROM s GROUP BY s.b
    """
    maps = Maps.of(draft)
    derivations = tuple(_define_derived(query, maps) for query in draft.derived)
    checks = Checks(maps, draft.derived)
    views = tuple(_define_view(query, maps, checks) for query in draft.queries)
    return replace(draft, definitions=tuple(maps.definitions), views=views, derivations=derivations)


def _define_derived(query: DerivedQuery | WindowQuery, maps: Maps) -> Derived:
    name = query.relation.name
    if isinstance(query, WindowQuery):
        source = maps.keep(query.source, f"{name}_rows")
        kept = zip(query.source.columns, maps.columns(source), strict=True)
        # the map that holds the rows may be older: named otherwise, and narrower
        columns = {old.name: Var(new.name, new.type) for old, new in kept}
        functions = tuple(map_function(f, lambda s: substitute(s, columns)) for f in query.functions)
        return Windowing(name, source, query.partition, functions, bool(query.failing))
    inputs = tuple(
        Input(
            x.name,
            maps.keep(x.polynomial, "ticks" if x.kind == "now" else f"{name}_{x.name}"),
            x.kind,
            x.at,
            x.order,
            x.parameter,
        )
        for x in query.inputs
    )
    return Derivation(name, query.relation.key, inputs, query.outputs, query.count)


def _define_view(query: ViewQuery, maps: Maps, checks: Checks) -> View:
    if isinstance(query.exists, Relation):
        exists = query.exists.name
    else:
        exists = maps.keep(query.exists, f"{query.name}_rows" if query.repeated else f"{query.name}_count")
    values = tuple(ViewValue(name, maps.keep(p, f"{query.name}_{name}")) for name, p in query.values)
    lists = tuple(
        ViewList(x.name, maps.keep(x.polynomial, f"{query.name}_{x.name}"), x.at, x.order, x.distinct, x.empty, x.limit)
        for x in query.lists
    )
    return View(
        query.name,
        query.keys,
        values,
        exists,
        query.columns,
        query.having,
        query.order,
        query.limit,
        query.sql,
        query.offset,
        query.repeated,
        query.hidden,
        checks.of(query),
        lists,
        query.having_place,
    )


# Pass 3 and 4: sum equal statements, and order the statements of each trigger.


Event = tuple[int, str]
Shape = tuple[Event, str, tuple[Scalar, ...], tuple[Factor, ...], frozenset[Scalar]]


def merge_statements(draft: Draft) -> Draft:
    """Statements of one trigger that differ only in an integer coefficient become one; zero ones vanish.

    The two first-order terms of a symmetric self-join are the same statement:

    >>> from m3.program import MapRef
    >>> same = (1, "r", Statement("q", (), (MapRef("m", (Var("a", INT),)),)))
    >>> [format_statement(s) for _, _, s in merge_statements(Draft("p", (), (), statements=(same, same))).statements]
    ['q[] += 2 * m[a]']
    """
    totals: dict[Shape, tuple[int, Statement]] = {}
    for sign, relation, statement in draft.statements:
        coefficient, rest = _split_coefficient(statement.factors)
        # the order of conditions means nothing; factors are made in one order
        shape = ((sign, relation), statement.target, statement.keys, rest, frozenset(statement.conditions))
        before, first = totals.get(shape, (0, statement))
        totals[shape] = (before + coefficient, first)
    merged = tuple(
        (*event, replace(first, factors=rest if total == 1 else (const(total), *rest)))
        for (event, _, _, rest, _), (total, first) in totals.items()
        if total
    )
    return replace(draft, statements=merged)


def _split_coefficient(factors: tuple[Factor, ...]) -> tuple[int, tuple[Factor, ...]]:
    """The product of the literal integers, and the other factors."""
    coefficient, rest = 1, []
    for factor in factors:
        if isinstance(factor, Const) and type(factor.value) is int and factor.type.kind == "int":
            coefficient *= factor.value
        else:
            rest.append(factor)
    return coefficient, tuple(rest)


def order_statements(draft: Draft) -> Draft:
    """Within a trigger, a map is written after all statements that read it as before the event, and before those that
    read it after.

    Then running the statements in order (sequential semantics) and all at once (snapshot semantics) is the same. Only
    where a relation joins itself three times or more there may be no such order: a statement can then need one map both
    before and after the event. All programs of the compiler are declared with snapshot semantics, which is right always.

    >>> from m3.sql.show import EXAMPLE
    >>> views = {"v": "SELECT COUNT(*) AS n FROM s JOIN s AS t ON s.b = t.b"}
    >>> [line for line in emit("merged", "p", EXAMPLE, views).splitlines() if line.startswith("+")]
    ['+s: v_count[] += m_s_1[b]', '+s: v_count[] += AFTER m_s_1[b]', '+s: m_s_1[b] += 1']
    >>> print(emit("m3", "p", EXAMPLE, views).partition("ON +s(b, c) DO ")[2].partition("ON")[0].strip())
    {
      v_count[] += m_s_1[b];
      m_s_1[b] += 1;
      v_count[] += AFTER m_s_1[b];
    }
    """
    events = list(dict.fromkeys((sign, relation) for sign, relation, _ in draft.statements))
    ranks = {name: i for i, name in enumerate(["", *draft.sources()])}
    ordered: list[tuple[int, str, Statement]] = []
    for event in sorted(events, key=lambda e: (ranks[e[1]], -e[0])):
        mine = [s for sign, relation, s in draft.statements if (sign, relation) == event]
        ordered += [(*event, s) for s in _order_trigger(mine, draft)]
    return replace(draft, statements=tuple(ordered))


def _order_trigger(statements: list[Statement], draft: Draft) -> list[Statement]:
    sizes = {d.name: (-d.size, i) for i, d in enumerate(draft.definitions)}
    writers: dict[str, list[int]] = {}
    for i, statement in enumerate(statements):
        writers.setdefault(statement.target, []).append(i)
    edges = [
        (w, i) if ref.after else (i, w)  # who reads a map as before the event comes before who writes it
        for i, statement in enumerate(statements)
        for ref in statement.reads()
        for w in writers.get(ref.map, ())
    ]
    places = {i: (*sizes[s.target], i) for i, s in enumerate(statements)}
    order = in_order(graph_of(range(len(statements)), edges), places.__getitem__)
    return [statements[i] for i in order or sorted(places, key=places.__getitem__)]


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
            declared keys and numbers of rows make that cheaper (see :mod:`m3.compiler.materialize`).

    Returns:
        A program whose statements mean the same under both statement semantics.

    Raises:
        SyntaxProblem: a view's text is not SQL.
        CompileError: a view cannot be maintained; the error's span has the view's name as its file. It knows the other errors
            that were found, of this view and of others.
    """
    draft = _start_draft(name, relations, views, dialect, others or {})
    return _finish_program(_run_passes(draft, RESTRICTED_PASSES if restricted else PASSES))


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
    draft = _run_passes(_start_draft(name, relations, views, dialect, others or {}), PASSES[: STAGES.index(stage) + 1])
    if stage == "algebra":
        return _describe_algebra(draft)
    if stage in ("deltas", "merged"):
        signs = {1: "+", -1: "-", 0: "~"}
        lines = (f"{signs[sign]}{relation}: {format_statement(s)}\n" for sign, relation, s in draft.statements)
        return _describe_algebra(draft) + "".join(lines)
    program = _finish_program(draft)
    return format_program(program) if stage == "m3" else describe_dataflow(program)


def _start_draft(
    name: str, relations: Sequence[Relation], views: Mapping[str, str], dialect: str | None, others: Mapping[str, str]
) -> Draft:
    registry = Registry([*(r.name for r in relations), *views])
    parsed = _parse_views(views, relations, registry, dialect, others)
    queries, depends_on_now = expand_time(parsed, registry, {r.name: r for r in relations})
    declared = (*relations, CLOCK_RELATION) if depends_on_now else tuple(relations)
    return Draft(name, declared, tuple(queries), tuple(registry.queries))


def check_views(
    relations: Sequence[Relation],
    views: Mapping[str, str],
    dialect: str | None = None,
    *,
    others: Mapping[str, str] | None = None,
    broken: Collection[str] = (),
) -> tuple[M3Error, ...]:
    """All that is wrong with views; nothing if they can be maintained. Takes less time than to compile them.

    >>> from m3.sql.show import EXAMPLE
    >>> views = {"v": "SELECT aa, SUM(x) AS s FROM r WHERE y > 0 GROUP BY a", "w": "SELECT s + t FROM v", "u": "SELECT 1 FROM q"}
    >>> for error in check_views(EXAMPLE, views):
    ...     print(f"{error.span}: {error.message}")
    v:1:37: no column 'y'
    v:1:8: no column 'aa'
    u:1:15: no relation 'q'

    Args:
        relations, views, dialect, others: as for :func:`compile_views`.
        broken: names of tables and views that are there, but have errors that somebody else reports: who reads them is not blamed.
    """
    try:
        registry = Registry([*(r.name for r in relations), *views])
        queries = _parse_views(views, relations, registry, dialect, others or {}, broken)
        expand_time(queries, registry, {r.name: r for r in relations})
    except FollowUp:
        return ()
    except M3Error as error:
        return error.all
    return ()


def _parse_views(
    views: Mapping[str, str],
    relations: Sequence[Relation],
    registry: Registry,
    dialect: str | None,
    others: Mapping[str, str],
    broken: Collection[str] = (),
) -> tuple[ViewQuery, ...]:
    queries, errors = [], []
    for view in views:
        try:
            queries.append(parse_view(view, {**others, **views}, relations, registry, dialect, broken))
        except M3Error as error:
            errors.append(error)
    if errors:
        raise combine_errors(errors)
    return tuple(queries)


def _run_passes(draft: Draft, passes: Sequence[Callable[[Draft], Draft]]) -> Draft:
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
    used = {m for v in draft.views for m in v.maps()}
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


def _describe_algebra(draft: Draft) -> str:
    lines = []
    for definition in draft.definitions:
        declaration = definition.declaration()
        keys = ", ".join(map(format_column, declaration.keys))
        lines.append(f"{definition.name}[{keys}] : {declaration.value}\n  := {declaration.meaning}")
    return "\n".join([*lines, *map(format_derived, draft.derivations)]) + "\n"


def _finish_program(draft: Draft) -> Program:
    params = {name: tuple(c.name for c in r.columns) for name, r in draft.sources().items()} | {START: ()}
    groups = itertools.groupby(draft.statements, key=lambda s: (s[0], s[1]))
    triggers = tuple(
        Trigger(sign, relation, params[relation], tuple(s for _, _, s in group)) for (sign, relation), group in groups
    )
    maps = [d.declaration() for d in draft.definitions]
    for query in draft.derived:
        key = ", ".join(query.relation.key)
        meaning = f"one row per ({key})" if key else "one row"
        meaning = "rows with the results of window functions" if isinstance(query, WindowQuery) else meaning
        maps.append(MapDecl(query.relation.name, query.relation.columns, INT, meaning))
    program = Program(draft.name, "snapshot", draft.relations, tuple(maps), triggers, draft.views, draft.derivations)
    return check(program)
