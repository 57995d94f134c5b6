"""Forms of queries that mean other queries: SQL -> SQL in which they are written out, for the compiler and for the proof.

As with the forms of functions (:mod:`.forms`), both share what a form means; that it means the right thing is tested on the text, by databases.
A form that is not known stays as it is, so that its reader refuses it.

    >>> import sqlglot
    >>> def show(sql, dialect="duckdb"): return respell_query(sqlglot.parse_one(sql, read=dialect), dialect).sql(dialect)
    >>> show("SELECT * FROM r PIVOT (SUM(x) FOR k IN ('a', 'b' AS c))")
    "SELECT * FROM (SELECT * EXCLUDE (k, x), SUM(x) FILTER(WHERE k = 'a') AS a, SUM(x) FILTER(WHERE k = 'b') AS c FROM r GROUP BY ALL) AS r"
    >>> show("SELECT * FROM r UNPIVOT (v FOR k IN (x, y))")[:88]
    'SELECT * FROM (SELECT r.* EXCLUDE (x, y), _unpivoted.* FROM r CROSS JOIN LATERAL (SELECT'
    >>> show("SELECT a FROM r ORDER BY x LIMIT 2 WITH TIES")
    'SELECT a FROM r QUALIFY RANK() OVER (ORDER BY x) <= 2 ORDER BY x'
    >>> show("SELECT a FROM r WHERE a = ANY(ARRAY[1, x]) AND a <> ALL(ARRAY[2])", "postgres")
    'SELECT a FROM r WHERE (a = 1 OR a = x) AND (a <> 2)'
    >>> show("SELECT a, COUNT(*) FROM r GROUP BY a WITH ROLLUP", "mysql")
    'SELECT a, COUNT(*) FROM r GROUP BY ROLLUP (a)'
    >>> show("SELECT a FROM r UNION ALL BY NAME SELECT b, a FROM s")
    'SELECT a, NULL AS b FROM r UNION ALL SELECT a, b FROM s'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from m3.dictionary.spans import group_by_spans

__all__ = ["respell_query"]

SPARK = ("spark", "databricks", "hive")
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def respell_query(tree: exp.Expr, dialect: str | None) -> exp.Expr:
    """The query with the forms that are known written out.

    Args:
        tree: the query; it is changed.
        dialect: sqlglot's name of its dialect.
    """
    for node in list(tree.walk()):
        rule = RULES.get(type(node))
        made = rule(node, dialect) if rule is not None else None
        if made is not None and made is not node:
            if node is tree:
                tree = made
            else:
                node.replace(made)
    return tree


# PIVOT and UNPIVOT. The columns that a PIVOT groups by are those that it does not mention: ``* EXCLUDE (..)`` and GROUP BY ALL.

#: What of a PIVOT says only how its columns are called, which sqlglot has done.
NAMING = ("identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming", "value_columns_first", "unpivot")
READ = ("expressions", "fields", "columns", "alias", *NAMING)
UNPIVOT_READ = ("expressions", "fields", "alias", "include_nulls", *NAMING)


def _write_pivots(table: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """A table, or a derived one, with PIVOT or UNPIVOT behind it."""
    pivots = table.args.get("pivots") or []
    if len(pivots) != 1:
        return None
    (pivot,) = pivots
    known = UNPIVOT_READ if pivot.args.get("unpivot") else READ
    if any(value for name, value in pivot.args.items() if name not in known):
        return None
    source = table.copy()
    source.set("pivots", None)
    source.set("joins", None)
    make = _unpivot if pivot.args.get("unpivot") else _pivot
    query = make(source, pivot, dialect)
    if query is None:
        return None
    alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.alias_or_name or "_pivoted"))
    return exp.Subquery(this=query, alias=alias.copy(), joins=table.args.get("joins"))


def _pivot(source: exp.Expr, pivot: exp.Expr, dialect: str | None) -> exp.Select | None:
    fields, names = pivot.args.get("fields") or [], pivot.args.get("columns") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        return None
    (field,) = fields
    cases = [(_unname(v), _name_value(v)) for v in field.expressions]
    columns = field.this.expressions if isinstance(field.this, exp.Tuple) else [field.this]
    tests = [_test_values(columns, value, dialect) for value, _ in cases]
    aggregates = pivot.expressions
    if not cases or any(t is None for t in tests) or not all(isinstance(a.unalias(), exp.AggFunc) for a in aggregates):
        return None
    if len(names) != len(cases) * len(aggregates) or isinstance(field.this, exp.Tuple):
        names = [
            exp.to_identifier("_".join([name, *([a.alias or a.sql(dialect)] if len(aggregates) > 1 else [])]))
            for _, name in cases
            for a in aggregates
        ]
    listed = _list_aggregates(tests, aggregates, names, dialect)
    return _group_rest(source, [*columns, *aggregates], listed)


def _unname(value: exp.Expr) -> exp.Expr:
    return value.this if isinstance(value, exp.PivotAlias | exp.Alias) else value


def _name_value(value: exp.Expr) -> str:
    if isinstance(value, exp.PivotAlias | exp.Alias):
        return str(value.args["alias"].name)
    parts = value.expressions if isinstance(value, exp.Tuple) else [value]
    return "_".join(p.name if isinstance(p, exp.Literal | exp.Column | exp.Identifier) else p.sql() for p in parts)


def _test_values(columns: Sequence[exp.Expr], value: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """The condition that a row is one of a value's; T-SQL writes values as names."""
    values = value.expressions if isinstance(value, exp.Tuple) else [value]
    if dialect == "tsql":
        values = [exp.Literal.string(v.name) if isinstance(v, exp.Column) else v for v in values]
    if len(values) != len(columns) or any(v.find(exp.Column, exp.Query) for v in values):
        return None
    same = (exp.NullSafeEQ if isinstance(v, exp.Null) else exp.EQ for v in values)
    tests = [s(this=c.copy(), expression=v.copy()) for s, c, v in zip(same, columns, values, strict=True)]
    return exp.and_(*tests) if len(tests) > 1 else tests[0]


def _list_aggregates(
    tests: Sequence[exp.Expr | None], aggregates: Sequence[exp.Expr], names: Sequence[exp.Expr], dialect: str | None
) -> list[exp.Expr]:
    """Each aggregate of the rows of each value. In Spark one of no rows is NULL, also a COUNT."""
    listed: list[exp.Expr] = []
    for place, (test, aggregate) in enumerate((t, a) for t in tests for a in aggregates):
        assert test is not None
        filtered: exp.Expr = _filter(aggregate.unalias(), test)
        if dialect in SPARK and isinstance(aggregate.unalias(), exp.Count | exp.CountIf):
            there = exp.GT(this=_filter(exp.Count(this=exp.Star()), test), expression=exp.Literal.number(0))
            filtered = exp.Case(ifs=[exp.If(this=there, true=filtered)])
        listed.append(exp.alias_(filtered, names[place].name, quoted=bool(names[place].args.get("quoted"))))
    return listed


def _filter(aggregate: exp.Expr, test: exp.Expr) -> exp.Expr:
    return exp.Filter(this=aggregate.copy(), expression=exp.Where(this=test.copy()))


def _group_rest(source: exp.Expr, used: Sequence[exp.Expr], listed: Sequence[exp.Expr]) -> exp.Select:
    """A grouping by all columns that are not mentioned."""
    mentioned = {
        c.name.lower(): c.this.copy()
        for node in used
        for c in node.find_all(exp.Column)
        if not isinstance(c.this, exp.Star)
    }
    star = exp.Star(except_=list(mentioned.values()))
    return exp.Select(expressions=[star, *listed], from_=exp.From(this=source), group=exp.Group(all=True))


#: What a statement is read of.
SAID = ("this", "expressions", "using", "group", "into", "unpivot", "with_")


def _write_pivot_statement(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """DuckDB's ``PIVOT r ON k IN (..) USING SUM(x) GROUP BY g`` and ``UNPIVOT r ON x, y INTO NAME k VALUE v``, as queries."""
    if node.arg_key == "pivots" or not isinstance(node.this, exp.Expr):
        return None
    if any(value for name, value in node.args.items() if name not in SAID):
        return None
    source = node.this.copy()
    if isinstance(source, exp.Subquery) and not source.alias:
        source.set("alias", exp.TableAlias(this=exp.to_identifier("_pivoted")))
    made = _unpivot_columns(node, source, dialect) if node.args.get("unpivot") else _pivot_values(node, source, dialect)
    if made is not None and node.args.get("with_") is not None:
        made.set("with_", node.args["with_"].copy())
    return made


def _unpivot_columns(node: exp.Expr, source: exp.Expr, dialect: str | None) -> exp.Select | None:
    into = node.args.get("into")
    if into is None or len(into.expressions) != 1 or node.args.get("using") or node.args.get("group") is not None:
        return None
    return _list_cases(source, node.expressions, into.this, [into.expressions[0]], dialect, keep=False)


def _pivot_values(node: exp.Expr, source: exp.Expr, dialect: str | None) -> exp.Select | None:
    fields = node.expressions
    if (
        not fields
        or not all(isinstance(f, exp.In) and f.expressions for f in fields)
        or node.args.get("into") is not None
    ):
        return None
    aggregates = node.args.get("using") or [exp.Count(this=exp.Star())]
    cases: list[tuple[list[exp.Expr], list[str]]] = [([], [])]
    for field in fields:
        tests = [(_test_values([field.this], _unname(v), dialect), _name_value(v)) for v in field.expressions]
        if any(t is None for t, _ in tests):
            return None
        cases = [([*c, t], [*n, name]) for c, n in cases for t, name in tests if t is not None]
    plain = len(aggregates) == 1 and not aggregates[0].alias
    names = [
        exp.to_identifier("_".join([*n, *([] if plain else [a.alias or a.sql(dialect).lower()])]), quoted=True)
        for _, n in cases
        for a in aggregates
    ]
    listed = _list_aggregates([exp.and_(*c) for c, _ in cases], aggregates, names, dialect)
    group = node.args.get("group")
    if group is None:
        return _group_rest(source, [*(f.this for f in fields), *aggregates], listed)
    keys = [k.copy() for k in group.expressions]
    return exp.Select(expressions=[*keys, *listed], from_=exp.From(this=source), group=group.copy())


def _unpivot(source: exp.Expr, pivot: exp.Expr, dialect: str | None) -> exp.Select | None:
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or len(pivot.expressions) != 1:
        return None
    values = pivot.expressions[0].expressions if isinstance(pivot.expressions[0], exp.Tuple) else pivot.expressions
    keep, first = bool(pivot.args.get("include_nulls")), bool(pivot.args.get("value_columns_first"))
    return _list_cases(source, fields[0].expressions, fields[0].this, values, dialect, keep=keep, first=first)


def _list_cases(
    source: exp.Expr,
    columns: Sequence[exp.Expr],
    name: exp.Expr,
    values: Sequence[exp.Expr],
    dialect: str | None,
    *,
    keep: bool,
    first: bool = False,
) -> exp.Select | None:
    """Each row once for every column: its name, and its value. Rows whose values are all NULL are left out, unless they are to be kept."""
    rows: list[exp.Select] = []
    groups = [_unname(c) for c in columns]
    for column, group in zip(columns, groups, strict=True):
        parts = group.expressions if isinstance(group, exp.Tuple) else [group]
        if len(parts) != len(values) or not all(isinstance(p, exp.Column) for p in parts):
            return None
        called = _name_value(column)
        if dialect == "snowflake" and not isinstance(column, exp.PivotAlias) and not parts[0].this.args.get("quoted"):
            called = called.upper()
        label = exp.alias_(exp.Literal.string(called), name.name)
        held = [exp.alias_(p.copy(), v.name) for p, v in zip(parts, values, strict=True)]
        rows.append(exp.Select(expressions=[*held, label] if first else [label, *held]))
    query: exp.Expr = rows[0]
    for row in rows[1:]:
        query = exp.Union(this=query, expression=row, distinct=False)
    taken = [c.this.copy() for group in groups for c in group.find_all(exp.Column)]
    alias = exp.TableAlias(this=exp.to_identifier("_unpivoted"))
    owner = source.alias_or_name
    if not owner:
        owner = "_pivoted"
        source.set("alias", exp.TableAlias(this=exp.to_identifier(owner)))
    select = exp.Select(
        expressions=[
            exp.Column(this=exp.Star(except_=taken), table=exp.to_identifier(owner)),
            exp.Column(this=exp.Star(), table=exp.to_identifier("_unpivoted")),
        ],
        from_=exp.From(this=source),
        joins=[exp.Join(this=exp.Lateral(this=exp.Subquery(this=query), alias=alias), kind="CROSS")],
    )
    if not keep:
        known = [exp.not_(exp.Is(this=exp.column(v.name, "_unpivoted"), expression=exp.null())) for v in values]
        select.set("where", exp.Where(this=exp.or_(*known)))
    return select


# Clauses: WITH TIES, WITH ROLLUP, GROUPING_ID, BY NAME.


def _write_ties(select: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """``LIMIT n WITH TIES`` are the rows of a rank up to n."""
    limit, order = select.args.get("limit"), select.args.get("order")
    options = limit.args.get("limit_options") if limit is not None else None
    if (
        limit is None
        or options is None
        or not options.args.get("with_ties")
        or options.args.get("percent")
        or order is None
    ):
        return None
    if any(select.args.get(x) for x in ("offset", "distinct", "qualify")):
        return None
    items = select.expressions
    entries = []
    for entry in order.expressions:
        copy, inner = entry.copy(), entry.this
        if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
            place = int(inner.name) - 1 if inner.name.isdigit() else -1
            if not 0 <= place < len(items) or any(i.is_star for i in items):
                return None
            copy.set("this", items[place].unalias().copy())
        named = next((i for i in items if isinstance(i, exp.Alias) and isinstance(inner, exp.Column) and not inner.table
                      and i.alias.lower() == inner.name.lower()), None)  # fmt: skip
        if named is not None:
            copy.set("this", named.this.copy())
        entries.append(copy)
    rank = exp.Window(this=exp.Rank(), order=exp.Order(expressions=entries), over="OVER")
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.args.get("expression")
    count = count if count is not None else exp.Literal.number(1)
    select.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=count.copy())))
    select.set("limit", None)
    return select


def _write_select(select: exp.Expr, dialect: str | None) -> exp.Expr | None:
    group_by_spans(select)
    return _write_ties(select, dialect)


def _write_rollup(group: exp.Expr, _: str | None) -> exp.Expr | None:
    """``GROUP BY a, b WITH ROLLUP`` (CUBE) is ROLLUP (a, b)."""
    for clause in ("rollup", "cube"):
        found = group.args.get(clause) or []
        if len(found) == 1 and not found[0].expressions and group.expressions:
            found[0].set("expressions", group.expressions)
            group.set("expressions", None)
            return group
    return None


def _follow_ordinal(entry: exp.Expr, select: exp.Expr | None) -> exp.Expr:
    """An entry of GROUP BY; a number stands for a column of the list."""
    items = select.expressions if select is not None else []
    known = entry.is_int and 1 <= int(entry.name) <= len(items)
    found: exp.Expr = items[int(entry.name) - 1].unalias() if known else entry
    return found


def _write_grouping_id(node: exp.Expr, _: str | None) -> exp.Expr | None:
    """``GROUPING_ID()`` is about all that is grouped by, in its order."""
    select = node.find_ancestor(exp.Select)
    group = select.args.get("group") if select is not None else None
    if node.expressions or group is None:
        return None
    found: dict[exp.Expr, None] = {}

    def visit(part: exp.Expr) -> None:
        if isinstance(part, exp.Tuple | exp.Paren | exp.Rollup | exp.Cube | exp.GroupingSets):
            for child in part.iter_expressions():
                visit(child)
        else:
            found[_follow_ordinal(part, select)] = None

    said = () if group.args.get("grouping_sets") and group.expressions else ("rollup", "cube", "grouping_sets")
    for entry in (*group.expressions, *(e for clause in said for e in group.args.get(clause) or ())):
        visit(entry)
    node.set("expressions", [e.copy() for e in found])
    return node


def _write_by_name(node: exp.Expr, _: str | None) -> exp.Expr | None:
    """``UNION BY NAME`` of two lists without a star: both get the columns of both, NULL where they have none."""
    if not node.args.get("by_name") or any(node.args.get(x) for x in ("side", "kind", "on")):
        return None
    sides = [s.this if isinstance(s, exp.Subquery) else s for s in (node.this, node.expression)]
    if not all(
        isinstance(s, exp.Select) and not any(i.is_star or not i.alias_or_name for i in s.expressions) for s in sides
    ):
        return None
    if any(s.args.get(x) for s in sides for x in ("order", "distinct", "limit")):
        return None
    listed = [{i.alias_or_name.lower(): i for i in s.expressions} for s in sides]
    names = {name: item for items in reversed(listed) for name, item in items.items()}
    order = [*listed[0], *(n for n in listed[1] if n not in listed[0])]
    for side, items in zip(sides, listed, strict=True):
        columns = [items.get(n) or exp.alias_(exp.null(), names[n].alias_or_name) for n in order]
        side.set("expressions", [c.copy() for c in columns])
    node.set("by_name", None)
    return node


# Conditions: ANY and ALL of an array that is written out, IN (VALUES ..).


def _write_quantified(node: exp.Expr, _: str | None) -> exp.Expr | None:
    """``x < ANY(ARRAY[a, b])`` is ``(x < a OR x < b)``, ALL is AND."""
    other = node.args.get("expression")
    if isinstance(other, exp.Any):
        array, every = other.this.unnest(), False
    elif isinstance(other, exp.All):
        array, every = other.this.unnest(), True
    elif isinstance(other, exp.Anonymous) and str(other.this).lower() == "all" and len(other.expressions) == 1:
        array, every = other.expressions[0].unnest(), True
    else:
        return None
    if not isinstance(array, exp.Array) or not array.expressions:
        return None
    tests = [type(node)(this=node.this.copy(), expression=e.copy()) for e in array.expressions]
    joined: exp.Expr = tests[0]
    for test in tests[1:]:
        joined = (exp.And if every else exp.Or)(this=joined, expression=test)
    return exp.Paren(this=joined)


def _write_in_values(node: exp.Expr, _: str | None) -> exp.Expr | None:
    """``x IN (VALUES (1), (2))`` is a subquery."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Values):
        return None
    values = node.expressions[0].copy()
    values.set("alias", exp.TableAlias(this=exp.to_identifier("_values")))
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=values))
    node.set("query", exp.Subquery(this=query))
    node.set("expressions", None)
    return node


RULES: Mapping[type[exp.Expr], Callable[[exp.Expr, str | None], exp.Expr | None]] = {
    exp.Table: _write_pivots,
    exp.Subquery: _write_pivots,
    exp.Pivot: _write_pivot_statement,
    exp.Select: _write_select,
    exp.Group: _write_rollup,
    exp.GroupingId: _write_grouping_id,
    exp.Union: _write_by_name,
    exp.In: _write_in_values,
    **dict.fromkeys(COMPARISONS, _write_quantified),
}
