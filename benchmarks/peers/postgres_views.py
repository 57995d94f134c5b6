"""Incremental views in plain SQL: what triggers a query needs so that PostgreSQL keeps its sums up to date.

The classic delta rule, for inserts: with T the table after a statement and D the rows it inserted, the change of a query
over T is minus the sum, over all non-empty sets of T's occurrences in FROM, of (-1)^|set| times the query with D in
their places. Each sum and the number of rows per group is a column of a table; a statement-level trigger with a
transition table adds the change. It holds for blocks of joins, filters and sums, not for EXISTS, MIN or nested sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import sqlglot
from sqlglot import exp

from benchmarks.workload import relations_of, sql_of, without_order

__all__ = ["QUERIES", "Incremental", "incremental"]

#: Queries of one block (or with a plain subquery in FROM) of joins, filters and sums.
QUERIES = ("q1", "q3", "q5", "q6", "q7", "q8", "q9", "q10", "q12", "q14", "q19")
DELTA = "inserted_rows"


@dataclass(frozen=True)
class Incremental:
    """A query as an incrementally maintained table ``view``: statements to run once, and the query that reads it."""

    statements: tuple[str, ...]
    answer: str


def incremental(query: str) -> Incremental:
    """The statements for a query of :data:`QUERIES`; its tables exist already."""
    select = sqlglot.parse_one(without_order(sql_of(query)))
    assert isinstance(select, exp.Select)
    keys = _keys(select)
    sums = _sums(select)
    statements = [_view(select, keys, sums), f"CREATE UNIQUE INDEX ON view ({', '.join(keys)})"]
    statements += _indexes(select, query)
    for relation in relations_of([query]):
        statements += _trigger(select, relation, keys, sums)
    return Incremental(tuple(statements), _answer(select, keys, sums))


def _keys(select: exp.Select) -> dict[str, exp.Expression]:
    """Column of the view -> expression; a constant where the query has no groups, so that there is one row."""
    group = select.args.get("group")
    found = group.expressions if group else [exp.Literal.number(1)]
    return {f"k{i}": expression for i, expression in enumerate(found)}


def _sums(select: exp.Select) -> dict[str, exp.Expression]:
    """Column of the view -> what it sums; AVG is a sum over the number of rows."""
    inside = [aggregate.this for e in select.expressions for aggregate in e.find_all(exp.Sum, exp.Avg)]
    different = list(dict.fromkeys(inside))
    return {f"s{i}": expression for i, expression in enumerate(different)}


def _body(select: exp.Select, keys: dict[str, exp.Expression], sums: dict[str, exp.Expression]) -> exp.Select:
    """The query that computes the view's rows from the tables."""
    body = select.copy()
    columns = [e.copy().as_(name) for name, e in keys.items()]
    columns += [exp.Sum(this=e.copy()).as_(name) for name, e in sums.items()]
    body.set("expressions", [*columns, exp.Count(this=exp.Star()).as_("n")])
    if select.args.get("group") is None:  # otherwise there would be a row of NULLs for no rows
        body.set("having", exp.Having(this=sqlglot.condition("count(*) > 0")))
    return body


def _view(select: exp.Select, keys: dict[str, exp.Expression], sums: dict[str, exp.Expression]) -> str:
    return f"CREATE TABLE view AS {_body(select, keys, sums).sql('postgres')}"


def _indexes(select: exp.Select, query: str) -> Iterator[str]:
    """One on each column that is joined on."""
    columns = {
        side.name
        for equality in select.find_all(exp.EQ)
        if isinstance(equality.this, exp.Column) and isinstance(equality.expression, exp.Column)
        for side in (equality.this, equality.expression)
    }
    prefixes = {
        "l": "lineitem", "o": "orders", "c": "customer", "s": "supplier", "p": "part", "ps": "partsupp", "n": "nation",
        "r": "region",
    }  # fmt: skip
    for column in sorted(columns):
        table = prefixes[column.split("_")[0]]
        if table in relations_of([query]):
            yield f"CREATE INDEX ON {table} ({column})"


def _trigger(
    select: exp.Select, relation: str, keys: dict[str, exp.Expression], sums: dict[str, exp.Expression]
) -> Iterator[str]:
    adds = []
    values = [*sums, "n"]
    for sign, body in _changes(_body(select, keys, sums), relation):
        signed = ", ".join([*keys, *(f"{sign} * {name}" for name in values)])
        updates = ", ".join(f"{name} = view.{name} + excluded.{name}" for name in values)
        adds.append(
            f"INSERT INTO view SELECT {signed} FROM ({body.sql('postgres')}) AS change "
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {updates}"
        )
    lines = "; ".join(adds)
    yield f"CREATE FUNCTION add_{relation}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {lines}; RETURN NULL; END $$"
    yield (
        f"CREATE TRIGGER maintain AFTER INSERT ON {relation} REFERENCING NEW TABLE AS {DELTA} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION add_{relation}()"
    )


def _changes(body: exp.Select, relation: str) -> Iterator[tuple[int, exp.Select]]:
    """Sign and query for each non-empty set of the relation's occurrences."""
    count = sum(table.name == relation for table in body.find_all(exp.Table))
    for size in range(1, count + 1):
        for places in combinations(range(count), size):
            changed = body.copy()
            occurrences = [table for table in changed.find_all(exp.Table) if table.name == relation]
            for place in places:
                alias = occurrences[place].alias_or_name
                occurrences[place].replace(exp.to_table(DELTA).as_(alias))
            yield (1 if size % 2 else -1), changed


def _answer(select: exp.Select, keys: dict[str, exp.Expression], sums: dict[str, exp.Expression]) -> str:
    """The query's columns from the view's."""
    names = {expression.sql(): name for name, expression in [*keys.items(), *sums.items()]}

    def rewritten(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Sum):
            return exp.column(names[node.this.sql()])
        if isinstance(node, exp.Avg):
            return exp.Div(this=exp.column(names[node.this.sql()]), expression=exp.column("n"))
        if isinstance(node, exp.Count):
            return exp.column("n")
        if isinstance(node, exp.Column):
            return exp.column(names[node.sql()])
        return node

    columns = [e.transform(rewritten).sql("postgres") for e in select.expressions]
    return f"SELECT {', '.join(columns)} FROM view"
