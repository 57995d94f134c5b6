"""Random small programs over three relations: M3 built statement by statement, and SQL views."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from m3.dataflow import strata
from m3.datatypes import BOOL, INT, STRING, decimal
from m3.program import Column, Factor, MapDecl, MapRef, Program, Relation, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, call, const

R = Relation("r", (Column("a", INT), Column("b", INT)))
S = Relation("s", (Column("b", INT), Column("c", INT.with_null()), Column("x", decimal(9, 2))))
T = Relation("t", (Column("c", INT), Column("n", STRING.with_null())))
RELATIONS = (R, S, T)
#: Integer parameters of each relation's triggers, which may be keys and factors.
PARAMS = {"r": ("pa", "pb"), "s": ("pb",), "t": ("pc",)}
ALL_PARAMS = {"r": ("pa", "pb"), "s": ("pb", "pc", "px"), "t": ("pc", "pn")}


@st.composite
def m3_programs(draw: st.DrawFn) -> Program:
    """Any program of up to five integer maps, cycles, self-reads and, outside of cycles, AFTER reads included."""
    widths = draw(st.lists(st.integers(0, 2), min_size=2, max_size=5))
    maps = tuple(MapDecl(f"m{i}", tuple(Column(f"k{j}", INT) for j in range(w)), INT) for i, w in enumerate(widths))
    events = draw(
        st.lists(st.sampled_from([(s, r) for s in (1, -1) for r in PARAMS]), min_size=2, max_size=5, unique=True)
    )
    triggers = tuple(
        Trigger(sign, relation, ALL_PARAMS[relation], tuple(_statements(draw, maps, relation)))
        for sign, relation in events
    )
    program = Program("random", draw(st.sampled_from(["snapshot", "sequential"])), RELATIONS, maps, triggers)
    return _with_after(draw, program) if program.semantics == "snapshot" else program


@st.composite
def cyclic_programs(draw: st.DrawFn) -> Program:
    """Programs in which what follows from itself mostly has one key in common, as running totals of an account have."""
    names = [f"m{i}" for i in range(draw(st.integers(1, 3)))]
    maps = tuple(MapDecl(name, (Column("k", INT),), INT) for name in names)
    relations = draw(st.lists(st.sampled_from(list(PARAMS)), min_size=1, max_size=2, unique=True))

    def statement(relation: str, key: Var) -> Statement:
        read = draw(st.sampled_from([[], *([n] for n in names), *([n, names[0]] for n in names)]))
        factors = [MapRef(name, (key,)) for name in read] + draw(st.sampled_from([[], [const(-1)], [key]]))
        written = draw(st.sampled_from([key] * 2 + [Var(param, INT) for param in PARAMS[relation]]))
        return Statement(draw(st.sampled_from(names)), (written,), tuple(factors), ())

    def trigger(relation: str) -> Trigger:
        key = Var(draw(st.sampled_from(PARAMS[relation])), INT)
        return Trigger(
            1, relation, ALL_PARAMS[relation], tuple(statement(relation, key) for _ in range(draw(st.integers(1, 3))))
        )

    semantics = draw(st.sampled_from(["snapshot", "sequential"]))
    return Program("random", semantics, RELATIONS, maps, tuple(map(trigger, relations)))


def _with_after(draw: st.DrawFn, program: Program) -> Program:
    """Some reads turned into AFTER reads, which have a meaning where the map read does not depend on the target."""
    place = {name: i for i, stratum in enumerate(strata(program)) for name in stratum}

    def factor(statement: Statement, given: Factor) -> Factor:
        apart = isinstance(given, MapRef) and place[given.map] != place[statement.target]
        return replace(given, after=True) if apart and draw(st.booleans()) else given

    def changed(statement: Statement) -> Statement:
        return replace(statement, factors=tuple(factor(statement, f) for f in statement.factors))

    triggers = (replace(t, statements=tuple(map(changed, t.statements))) for t in program.triggers)
    return replace(program, triggers=tuple(triggers))


def _statements(draw: st.DrawFn, maps: tuple[MapDecl, ...], relation: str) -> list[Statement]:
    return [_statement(draw, maps, relation) for _ in range(draw(st.integers(1, 4)))]


def _statement(draw: st.DrawFn, maps: tuple[MapDecl, ...], relation: str) -> Statement:
    bound = [Var(p, INT) for p in PARAMS[relation]]
    factors: list[Factor] = []
    for _ in range(draw(st.integers(0, 2))):
        source = draw(st.sampled_from(maps))
        keys = [_key(draw, bound, f"l{len(bound) + i}") for i in range(len(source.keys))]
        factors.append(MapRef(source.name, tuple(keys)))
        bound += [k for k in keys if isinstance(k, Var) and k not in bound]
    if draw(st.booleans()):
        factors.append(draw(st.sampled_from([const(2), const(-1), call("add", bound[0], const(1)), bound[-1]])))
    target = draw(st.sampled_from(maps))
    keys = tuple(draw(st.sampled_from([*bound, const(1)])) for _ in target.keys)
    return Statement(target.name, keys, tuple(factors), _conditions(draw, bound))


def _key(draw: st.DrawFn, bound: list[Var], fresh: str) -> Scalar:
    """A bound variable, a constant, or a new loop variable."""
    return draw(st.sampled_from([*bound, *bound, const(0), Var(fresh, INT)]))


def _conditions(draw: st.DrawFn, bound: list[Var]) -> tuple[Scalar, ...]:
    if draw(st.integers(0, 3)):
        return ()
    op = draw(st.sampled_from(["lt", "le", "eq", "ne"]))
    return (Call(op, (draw(st.sampled_from(bound)), Const(draw(st.integers(0, 3)), INT)), BOOL),)


JOINS = {
    ("r",): "r", ("s",): "s", ("t",): "t",
    ("r", "s"): "r JOIN s ON r.b = s.b", ("s", "t"): "s, t", ("r", "t"): "r, t",
    ("r", "s", "t"): "r, s, t", ("r", "r2"): "r JOIN r r2 ON r.b = r2.a",
}  # fmt: skip
ON = {("s", "t"): "s.c = t.c", ("r", "t"): "r.a = t.c", ("r", "s", "t"): "r.b = s.b AND s.c = t.c"}
KEYS = {"r": ["r.a", "r.b", "r.a + r.b"], "s": ["s.b", "s.c", "COALESCE(s.c, 9)"], "t": ["t.c", "t.n"], "r2": ["r2.b"]}
VALUES = {"r": ["r.a", "r.a * r.b"], "s": ["s.x", "s.c", "s.x * (1 - s.x)"], "t": ["t.c"], "r2": ["r2.b"]}
FILTERS = {
    "r": ["r.a < 3", "r.a <> r.b"], "s": ["s.x > 0 OR s.c IS NULL", "s.x BETWEEN -1 AND 2"],
    "t": ["t.n LIKE 'y%'", "t.n IN ('', 'x')", "NOT t.c = 1"], "r2": ["r2.b >= 1"],
}  # fmt: skip


@st.composite
def sql_views(draw: st.DrawFn) -> dict[str, str]:
    """One to three views over the relations, self-joins, NULLs, filters and grouping expressions included."""
    return {f"v{i}": _select(draw) for i in range(draw(st.integers(1, 3)))}


def _select(draw: st.DrawFn) -> str:
    tables = draw(st.sampled_from(list(JOINS)))
    keys = draw(st.lists(st.sampled_from([k for t in tables for k in KEYS[t]]), max_size=2, unique=True))
    values = [v for t in tables for v in VALUES[t]]
    aggregates = draw(st.lists(st.sampled_from([a.format(v) for v in values for a in ("SUM({})", "COUNT({})", "AVG({})")]),
                               max_size=2, unique=True))  # fmt: skip
    product = " * ".join(VALUES[t][0] for t in tables)
    columns = [f"{c} AS c{i}" for i, c in enumerate([*keys, *aggregates, f"SUM({product})", "COUNT(*)"])]
    filters = draw(st.lists(st.sampled_from([f for t in tables for f in FILTERS[t]]), max_size=2, unique=True))
    where = [*([ON[tables]] if tables in ON else []), *(f"({f})" for f in filters)]
    text = f"SELECT {', '.join(columns)} FROM {JOINS[tables]}"
    text += f" WHERE {' AND '.join(where)}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")
