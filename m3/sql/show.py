"""Resolved queries, and bags of rows, as text for people: in docstrings, and to look at a pass's result.

What stands for a subquery, a group's key or an aggregate is named and said below: ``value := (SELECT ..)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from m3.algebra.derive import Registry
from m3.algebra.rows import Branch, Rows
from m3.algebra.terms import unused_name
from m3.datatypes import INT
from m3.formatting import format_scalar
from m3.program import Column, Relation
from m3.scalars import Call, Const, Key, Scalar, Var
from m3.sql.block import Block, Combined, Constants, From, Limited, Numbers, Order, Query, Table
from m3.sql.names import Context, Names
from m3.sql.places import Source

__all__ = ["EXAMPLE", "join_example", "resolve_example", "show", "show_rows"]

#: The tables of the examples in docstrings; ``id`` is a key of r, which may have NULL in x.
EXAMPLE = (
    Relation("r", (Column("id", INT), Column("a", INT), Column("x", INT.with_null())), ("id",)),
    Relation("s", (Column("b", INT), Column("c", INT))),
)


def resolve_example(sql: str) -> Query:
    """A query over the tables of the examples, resolved."""
    source = Source(sql, "example")
    return _resolve(source, Context(source, {r.name: r for r in EXAMPLE}, Registry(), "v"))


def join_example(sql: str) -> Rows:
    """The rows of a query over the tables of the examples."""
    from m3.sql.joining import Workspace
    from m3.sql.normalise import normalise
    from m3.sql.select import rows_of

    source = Source(sql, "example")
    context = Context(source, {r.name: r for r in EXAMPLE}, Registry(), "v")
    return rows_of(normalise(_resolve(source, context)), Workspace(context, rows_of=rows_of))


def _resolve(source: Source, context: Context) -> Query:
    from m3.sql.resolve import resolve_query

    return resolve_query(source.parse(None), Names(context))


def show(query: Query) -> str:
    """A resolved query as text.

    >>> print(show(resolve_example("SELECT a, (SELECT MAX(c) FROM s WHERE b = o.id) m FROM r o WHERE x > 1 AND id = 3")))
    FROM r AS o
    WHERE o.x > 1 AND o.id = 3
    SELECT o.a AS a, value AS m
      value := value of
        FROM s
        WHERE s.b = o.id
        GROUP BY ()
          max := max(s.c)
        SELECT max AS max_1
    """
    return "\n".join(_Writer().query(query))


def show_rows(rows: Rows) -> str:
    """A bag of rows as text: a line for each signed join.

    >>> print(show_rows(join_example("SELECT a FROM r WHERE x > 1 UNION ALL SELECT c FROM s")))
    + r.a AS a FROM r WHERE r.x > 1
    + s.c AS a FROM s
    """
    return "\n".join(_Writer().branch(b, rows.columns) for b in rows.branches)


class _Writer:
    def __init__(self) -> None:
        self._names: dict[Key, str] = {}

    def name(self, variable: Var) -> str:
        """What a variable is called: its table and name, with a number where that is not enough."""
        if variable.key not in self._names:
            scope = variable.scope
            wish = f"{scope.label}.{variable.name}" if scope is not None and scope.label else variable.name
            self._names[variable.key] = unused_name(wish, self._names.values())
        return self._names[variable.key]

    def scalar(self, scalar: Scalar) -> str:
        """An expression."""
        return format_scalar(self._name_variables(scalar), lambda name: name)

    def _name_variables(self, scalar: Scalar) -> Scalar:
        match scalar:
            case Var():
                return Var(self.name(scalar), scalar.type)
            case Call(op, args, type_):
                return Call(op, tuple(map(self._name_variables, args)), type_)
            case Const():
                return scalar

    def scalars(self, scalars: Iterable[Scalar], separator: str = ", ") -> str:
        """Several expressions."""
        return separator.join(map(self.scalar, scalars))

    def query(self, query: Query) -> Iterator[str]:
        """The lines of a query."""
        match query:
            case Block():
                yield from self._write_block(query)
            case Combined():
                yield from _indent(self.query(query.left))
                yield query.operator.upper() + ("" if query.distinct else " ALL")
                yield from _indent(self.query(query.right))
            case Constants():
                yield "VALUES " + ", ".join(f"({self.scalars(row)})" for row in query.rows)
            case Numbers():
                yield f"NUMBERS UP TO {self.scalar(query.count)}"
            case Limited():
                yield from self.query(query.query)
                yield f"AS ({', '.join(c.name for c in query.columns)})"
        if isinstance(query, Constants | Numbers):
            return
        if query.order:
            yield self._write_order((), query.order)
        if query.limit is not None or query.offset:
            offset = f" OFFSET {query.offset}" if query.offset else ""
            yield f"LIMIT {'ALL' if query.limit is None else query.limit}{offset}"

    def _write_block(self, block: Block) -> Iterator[str]:
        if block.source is not None:
            yield f"FROM {self._write_source(block.source)}"
            yield from _indent(self._write_tables(block.source))
        if block.conditions:
            yield f"WHERE {self.scalars(block.conditions, ' AND ')}"
        if block.grouping is not None:
            keys = {scalar: variable for variable, scalar in block.grouping.keys}
            sets = (", ".join(self.name(keys[s]) for s in chosen) for chosen in block.grouping.sets)
            yield f"GROUP BY {', '.join(f'({chosen})' for chosen in sets)}"
            yield from _indent(f"{self.name(v)} := {self.scalar(s)}" for v, s in block.grouping.keys)
            for a in block.grouping.aggregates:
                args = ("DISTINCT " if a.call.distinct else "") + (self.scalars(a.call.args) or "*")
                where = "" if a.call.where is None else f" FILTER (WHERE {self.scalar(a.call.where)})"
                yield f"  {self.name(a.variable)} := {a.call.function}({args}){where}"
        if block.having is not None:
            yield f"HAVING {self.scalar(block.having)}"
        for w in block.windows:
            yield f"WINDOW {self.name(w.variable)} := {w.function.op}({self.scalars(w.function.args)}) OVER ({self._write_order(w.partition, w.function.order)})"
        if block.qualify is not None:
            yield f"QUALIFY {self.scalar(block.qualify)}"
        distinct = "DISTINCT " if block.distinct else ""
        distinct += f"ON ({self.scalars(block.first_of)}) " if block.first_of is not None else ""
        yield f"SELECT {distinct}" + ", ".join(f"{self.scalar(o.scalar)} AS {o.name}" for o in block.outputs)
        for subquery in block.subqueries:
            values = self.scalars(subquery.operands)
            asked = f"{values} {subquery.operator} any of" if subquery.operands else f"{subquery.kind} of"
            yield f"  {self.name(subquery.variable)} := {asked}"
            yield from _indent(_indent(self.query(subquery.query)))

    def _write_source(self, source: From) -> str:
        if isinstance(source, Table):
            name = source.rows.name if isinstance(source.rows, Relation) else f"({source.alias})"
            return name if name.lower() == source.alias.lower() else f"{name} AS {source.alias}"
        on = f" ON {self.scalars(source.on, ' AND ')}" if source.on else ""
        return (
            f"{self._write_source(source.left)} {f'{source.side} JOIN'.lstrip()} {self._write_source(source.right)}{on}"
        )

    def _write_tables(self, source: From) -> Iterator[str]:
        if not isinstance(source, Table):
            yield from (*self._write_tables(source.left), *self._write_tables(source.right))
        elif not isinstance(source.rows, Relation):
            yield f"({source.alias}) :="
            yield from _indent(self.query(source.rows))

    def _write_order(self, partition: Iterable[Scalar], order: Iterable[Order]) -> str:
        parts = [f"PARTITION BY {text}"] if (text := self.scalars(partition)) else []
        keys = ", ".join(self.scalar(s) + (" DESC" if down else "") for s, down, _ in order)
        return " ".join([*parts, *([f"ORDER BY {keys}"] if keys else [])])

    def branch(self, branch: Branch, columns: Iterable[Var]) -> str:
        """A signed join: its sign, what its columns are, its tables and its conditions."""
        found = (f"{self.scalar(branch.env[c.key])} AS {c.name}" for c in columns)
        sign = {1: "+ ", -1: "- "}.get(branch.coefficient, f"{branch.coefficient} * ")
        tables = f" FROM {', '.join(s.relation.name for s in branch.sources)}" if branch.sources else ""
        where = f" WHERE {self.scalars(branch.conditions, ' AND ')}" if branch.conditions else ""
        return f"{sign}{', '.join(found)}{tables}{where}"


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
