"""No clause is dropped in silence: what :data:`m3.sql.places.READ` names is read, and everything else is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp, parse_one

from m3 import CompileError, M3Error, compile_views
from m3.sql.places import READ, Source, refuse_unread
from tests.unit.m3.company import RELATIONS
from tests.unit.m3.sql_suite import SUITE

#: What changes no row: names of schemas, hints, words that are only spelt in two ways.
INERT = {
    (exp.Select, "hint"), (exp.Select, "operation_modifiers"), (exp.Table, "hints"), (exp.Table, "only"), (exp.Table, "db"),
    (exp.Table, "catalog"), (exp.Column, "db"), (exp.Column, "catalog"), (exp.Join, "hint"), (exp.CTE, "materialized"),
    (exp.Fetch, "direction"), (exp.Fetch, "limit_options"), (exp.Limit, "limit_options"), (exp.LimitOptions, "rows"),
    (exp.Window, "over"), (exp.Order, "this"),
}  # fmt: skip
#: What is read to be refused.
REFUSED = (
    ("spark", "select a.emp_id from employees a lateral view explode(array(1)) x as y"),
    ("postgres", "with recursive x as (select 1 as a) select a from x"),
    ("postgres", "select sum(salary) over (order by emp_id rows unbounded preceding exclude ties) as s from employees"),
)
#: What is written seldom.
MORE = (
    ("postgres", "values (1, 2), (3, 4) order by 1 desc limit 1 offset 1"),
    ("postgres", "(with x as (select emp_id from employees) select emp_id from x) order by emp_id limit 3 offset 1"),
    ("postgres", "with x as (select emp_id from employees) (select emp_id from x) order by 1 limit 3 offset 1"),
    ("postgres", "(select emp_id from employees) union (select dept_id from employees) order by 1 limit 3 offset 1"),
    ("postgres", "with x as (select emp_id from employees) select emp_id from x except select emp_id from x where emp_id > 2"),
    ("postgres", "with x as (select emp_id from employees) select emp_id from x intersect select 1"),
    ("postgres", "with x as (select emp_id from employees) select emp_id from x union select 1"),
    ("postgres", "select emp_id from employees except all select dept_id from departments order by 1 limit 3 offset 1"),
    ("postgres", "select emp_id from employees intersect all select dept_id from departments order by 1 limit 3 offset 1"),
    ("postgres", "select emp_id from employees except select dept_id from departments"),
    ("postgres", "select emp_id from employees intersect select dept_id from departments"),
    ("postgres", "select * from (values (1, 2), (3, 4)) as x(a, b)"),
    ("postgres", "select x.a from (with y as (select emp_id as a from employees) select a from y) as x"),
    ("postgres", "select x.n from departments d cross join lateral (select count(*) as n from employees e where e.dept_id = d.dept_id) as x(n)"),
    ("duckdb", "select e.emp_id from employees e natural join departments d"),
    ("duckdb", "select e.emp_id from (employees e join departments d on e.dept_id = d.dept_id) left join projects p on p.dept_id = 1"),
    ("postgres", "select 1 as one from (select * from employees) as e, (values (1)) as x limit 3"),
    ("spark", "select dept_id, count(*) as n from employees group by dept_id with rollup"),
    ("spark", "select dept_id, count(*) as n from employees group by dept_id with cube"),
    ("spark", "select dept_id, active, count(*) as n from employees group by dept_id, active grouping sets ((dept_id), (active))"),
    ("postgres", "select count(distinct dept_id) as n from employees where emp_id not in (1, 2)"),
)  # fmt: skip


def queries() -> Iterator[tuple[str, exp.Expr]]:
    for dialect, sql, *_ in (*MORE, *REFUSED, *SUITE.values()):
        yield dialect, parse_one(sql, dialect=dialect)


def program_of(tree: exp.Expr, dialect: str) -> str:
    try:
        return str(compile_views("p", RELATIONS, {"v": tree.sql(dialect=dialect)}, dialect=dialect))
    except M3Error as error:
        return f"{error.kind}: {error.message}"


def test_what_is_said_to_be_read_is_read() -> None:
    """For each argument there is a query whose program is another one without it."""
    unproven = {(kind, name) for kind, names in READ.items() for name in names} - INERT
    for dialect, tree in queries():
        mine = [
            (node, name) for node in tree.walk() for name, value in node.args.items()
            if (type(node), name) in unproven and value not in (None, False, [], "")
        ]  # fmt: skip
        whole = program_of(tree, dialect) if mine else ""
        for node, name in mine:
            if (type(node), name) not in unproven:
                continue
            value = node.args.pop(name)
            if isinstance(value, bool):
                node.args[name] = not value
            try:
                changed = program_of(tree, dialect) != whole
            except Exception:  # a tree without its parts need not be one that sqlglot writes
                changed = True
            node.args[name] = value
            if changed:
                unproven.discard((type(node), name))
    assert not unproven


#: Arguments by which sqlglot remembers how a dialect spells a function, or that are False where they mean something: those that no
#: argument of a call can come to stand in (for the others see FLAGS).
#: The ordinals of UNNEST are a column that nobody may read.
SPELLING = {
    ("Count", "expressions"), ("Cast", "safe"), ("If", "false"), ("Div", "safe"), ("Div", "typed"),
    ("DataTypeParam", "expression"), ("JSONPathKey", "quoted"), ("Unnest", "explode_array"), ("Unnest", "offset"), ("Split", "null_returns_null"), ("Split", "empty_delimiter_returns_whole"),
    ("Pivot", "identify_pivot_strings"), ("Pivot", "prefixed_pivot_columns"), ("Pivot", "value_columns_first"), ("Pivot", "alias"),

    ("Array", "bracket_notation"), ("Array", "struct_name_inheritance"), ("Array", "value_constructor"),
}  # fmt: skip
LEAVES = (exp.Identifier, exp.Literal, exp.DataType, exp.Null, exp.Boolean, exp.Var, exp.Interval)


def test_what_functions_are_given_besides_is_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something put into each place that is empty in the suite's queries changes the program, or is refused."""
    given: list[exp.Expr] = []
    parsed = Source.parse

    def parse(source: Source, dialect: str | None) -> exp.Expr:
        source.dialect = dialect
        return given[-1].copy() if given else parsed(source, dialect)

    def compiled(tree: exp.Expr, sql: str, dialect: str) -> str:
        given[:] = [tree]
        try:
            return str(compile_views("p", RELATIONS, {"v": sql}, dialect=dialect))
        except M3Error as error:
            return error.kind

    monkeypatch.setattr(Source, "parse", parse)
    tried, silent = set(), set()
    for dialect, sql, *_ in SUITE.values():
        tree = parse_one(sql, dialect=dialect)
        empty = [
            (node, name) for node in tree.walk() if type(node) not in READ and not isinstance(node, LEAVES)
            for name in node.arg_types if not node.args.get(name) and (type(node), name) not in tried
        ]  # fmt: skip
        whole = compiled(tree, sql, dialect) if empty else ""
        for node, name in empty:
            if (type(node), name) in tried:
                continue
            tried.add((type(node), name))
            before = dict(node.args)
            node.args[name] = exp.Literal.string("x") if name != "expressions" else [exp.Literal.string("x")]
            if compiled(tree, sql, dialect) == whole:
                silent.add((type(node).__name__, name))
            node.args = before
    assert silent <= SPELLING, silent - SPELLING


@pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.__name__)
def test_what_is_not_read_is_refused(kind: type[exp.Expr]) -> None:
    unread = set(kind.arg_types) - READ[kind]
    for name in unread:
        node = kind(**{name: exp.Literal.number(1)})
        with pytest.raises(CompileError) as caught:
            refuse_unread(exp.Select(expressions=[node]), Source("select 1"))
        part = name.strip("_").upper().replace("_", " ")
        shown = (
            "in this form" if part in ("THIS", "EXPRESSION", "EXPRESSIONS") else f"with {part}"
        )  # the parser's words
        assert (caught.value.kind, shown in caught.value.message) == ("unsupported-clause", True)


#: Where a query may stand in another one, read or not.
PLACES = {
    "unread query": "with x as ({}) select dept_id from departments",
    "unread query in one": "with x as (with y as ({}) select 1 as one) select dept_id from departments",
    "read query": "with x as ({}) select count(*) as n from x",
    "derived table": "select count(*) as n from ({}) as x",
    "exists": "select dept_id from departments where exists ({})",
    "in": "select dept_id from departments where dept_id in ({})",
    "scalar": "select dept_id, ({}) as n from departments",
    "branch": "(select dept_id from departments) union all ({})",
    "lateral": "select d.dept_id from departments d cross join lateral ({}) as x",
}
#: A query each of whose clauses names something that is not there, or is no query.
WRONG = {
    "list": "select nope from employees", "table": "select 1 as one from nope", "where": "select dept_id from employees where nope = 1",
    "type": "select dept_id from employees where name", "from": "select e.dept_id from employees e join departments d on d.nope = 1",
    "group": "select max(dept_id) as m from employees group by nope", "having": "select max(dept_id) as m from employees having nope = 1",
    "order": "select dept_id from employees order by nope", "limit": "select dept_id from employees limit nope",
    "window": "select dept_id from employees window w as (partition by nope)", "qualify": "select dept_id from employees qualify nope > 1",
    "based window": "select dept_id from employees window w as (v order by emp_id)", "distinct": "select distinct on (nope) dept_id from employees",
    "filter": "select count(*) filter (where nope) as n from employees", "frame": "select sum(emp_id) over (order by nope) as n from employees",
    "delete": "delete from employees", "insert": "insert into employees values (1)", "update": "update employees set emp_id = 1",
    "returning": "delete from employees returning dept_id", "lock": "select dept_id from employees for update", "into": "select dept_id into z from employees",
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_refused_wherever_it_stands(wrong: str) -> None:
    """Nobody need read a part of a query for its errors to count. (What sqlglot does not parse there is refused as well.)"""
    for place, sql in PLACES.items():
        with pytest.raises(M3Error) as caught:
            compile_views("p", RELATIONS, {"v": sql.format(WRONG[wrong])}, dialect="postgres")
        assert caught.value.span is not None, place


def test_a_window_keeps_what_the_window_it_is_made_of_says() -> None:
    query = "select emp_id, row_number() over {} as n from employees window w as (partition by dept_id), v as (w order by emp_id)"
    programs = {
        str(compile_views("p", RELATIONS, {"v": query.format(over)}, dialect="postgres").maps)
        for over in ("v", "(w order by emp_id)", "(partition by dept_id order by emp_id)")
    }
    assert len(programs) == 1


BASES = (
    "",
    "partition by dept_id",
    "order by emp_id",
    "partition by dept_id order by emp_id",
    "order by emp_id rows 1 preceding",
)
BESIDE = (
    "",
    "partition by active",
    "partition by active order by salary",
    "order by salary",
    "rows 2 preceding",
    "order by salary rows 2 preceding",
)


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "spark", None])
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("base", BASES)
def test_a_window_overrides_nothing_of_the_window_it_is_made_of(base: str, beside: str, dialect: str | None) -> None:
    """As PostgreSQL has it, and in DuckDB a PARTITION BY too; what is said by both, or beside a frame, is refused, wherever it stands, and in chains."""
    parts = [part for part in ("partition by", "order by", "rows") if part in beside]
    added = "partition by" in parts and (dialect != "duckdb" or "partition by" in base)
    wrong = added or ("order by" in parts and "order by" in base) or (bool(parts) and "rows" in base)
    query = "select emp_id, sum(salary) over {} as n from employees window w as (" + base + "){}"
    told = [("(w {})", ""), ("v", ", v as (w {})"), ("v", ", u as (w), v as (u {})"), ("()", ", v as (w {})")]
    for over, more in told:
        text = query.format(over.format(beside), more.format(beside))
        if not wrong:
            compile_views("p", RELATIONS, {"v": text}, dialect=dialect)
            continue
        with pytest.raises(CompileError) as caught:
            compile_views("p", RELATIONS, {"v": text}, dialect=dialect)
        assert (caught.value.kind, "\n" in caught.value.message) == ("unsupported-window", False)
        assert ("'w'" in caught.value.message) or "u as" in more


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("duckdb", "pivot employees on dept_id using sum(salary)"),
        ("duckdb", "unpivot employees on columns(* exclude (emp_id)) into name k value v"),
        (
            "snowflake",
            "select * from (select dept_id, city, budget from departments) pivot (sum(budget) for city in (select city from stores))",
        ),
        ("duckdb", "select * from (select emp_id from employees) as x tablesample 10%"),
        ("duckdb", "select emp_id from employees tablesample 10%"),
        ("duckdb", "select emp_id from employees using sample 3"),
        ("duckdb", "select count(*) from generate_series(1, 3) as x tablesample 10%"),
        ("duckdb", "select emp_id from employees limit 50%"),
        ("tsql", "select top 50 percent emp_id from employees"),
        ("tsql", "select distinct top 1 with ties emp_id from employees order by emp_id"),
        ("postgres", "select emp_id from employees order by emp_id offset 1 fetch first 2 rows with ties"),
        ("clickhouse", "select emp_id from employees limit 1 by dept_id"),
        ("clickhouse", "select emp_id from employees final prewhere emp_id > 1"),
        ("clickhouse", "select dept_id, count(*) from employees group by dept_id with totals"),
        ("bigquery", "select as struct emp_id from employees"),
        ("oracle", "select e.emp_id from employees e, departments d where e.dept_id = d.dept_id(+)"),
        ("postgres", "select emp_id from employees for update"),
        ("tsql", "select round(salary, 1, 1) as a from employees"),
        ("bigquery", "select timestamp_trunc(at, day, 'UTC') as a from readings"),
        ("oracle", "select nth_value(salary, 2) from last over (order by emp_id) as a from employees"),
        ("spark", "select emp_id from employees distribute by emp_id sort by emp_id"),
    ],
)
def test_refused(dialect: str, sql: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_views("p", RELATIONS, {"v": sql}, dialect=dialect)
    assert caught.value.kind == "unsupported-clause"
    assert caught.value.span is not None
    assert caught.value.hint


def test_spans_of_a_descriptor_are_those_of_the_table() -> None:
    text = "select window_start, count(*) as n from {} as w group by window_start, window_end"
    described, plain = (
        compile_views("p", RELATIONS, {"v": text.format(table)}, dialect="trino")
        for table in (
            "table(hop(table readings, descriptor(at), interval '1' hour, interval '5' hour))",
            "hop(readings, at, interval '1' hour, interval '5' hour)",
        )
    )
    assert (described.maps, described.derivations) == (plain.maps, plain.derivations)
