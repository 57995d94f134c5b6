"""Every part of a query is read, or refused: no clause is dropped in silence.

A syntax node has arguments (``node.args``); a pass reads those that it knows. :data:`READ` says for each kind of node that a
query is built of which arguments the passes read, so that what a dialect adds (PIVOT, TABLESAMPLE, WITH TIES) is refused:

>>> import sqlglot
>>> from m3.sql.places import Source
>>> def refused(sql):
...     try:
...         refuse_unread(sqlglot.parse_one(sql, read="duckdb"), Source(sql))
...     except Exception as error:
...         print(error.message)
>>> refused("SELECT a FROM r LIMIT 5")
>>> refused("SELECT a FROM r LIMIT 50%")
LIMIT with PERCENT is not supported
>>> refused("SELECT * FROM (SELECT a FROM r) AS x TABLESAMPLE 10%")
SUBQUERY with SAMPLE is not supported
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from m3.sql.places import Source

__all__ = ["READ", "REWRITTEN", "is_wrapper", "refuse_unread"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SET = _names("this expression distinct with_ order limit offset")
#: Kind of node -> the arguments that the passes read, or that change no row: hints, and the schemas of tables.
READ: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: _names(
        "expressions from_ joins laterals where group having qualify windows distinct order limit offset with_ hint "
        "operation_modifiers"
    ),
    exp.Subquery: _names("this alias with_ order limit offset joins"),
    exp.Union: _SET,
    exp.Except: _SET,
    exp.Intersect: _SET,
    exp.Values: _names("expressions alias order limit offset"),
    exp.From: _names("this"),
    exp.Table: _names("this alias db catalog joins only hints"),
    exp.TableAlias: _names("this columns"),
    exp.Join: _names("this on side kind using method hint"),
    exp.Lateral: _names("this alias"),
    exp.With: _names("expressions recursive"),
    exp.CTE: _names("this alias materialized"),
    exp.Where: _names("this"),
    exp.Group: _names("expressions grouping_sets cube rollup all"),
    exp.Rollup: _names("expressions"),
    exp.Cube: _names("expressions"),
    exp.GroupingSets: _names("expressions"),
    exp.Having: _names("this"),
    exp.Qualify: _names("this"),
    exp.Order: _names("this expressions"),
    exp.Ordered: _names("this desc nulls_first"),
    exp.Limit: _names("expression limit_options"),
    exp.Fetch: _names("direction count limit_options"),
    exp.LimitOptions: _names("rows"),
    exp.Offset: _names("expression"),
    exp.Distinct: _names("expressions on"),
    exp.Window: _names("this partition_by order spec alias over"),
    exp.WindowSpec: _names("kind start start_side end end_side exclude"),
    exp.Star: _names("except_ replace rename"),
    exp.Alias: _names("this alias"),
    exp.Column: _names("this table db catalog"),
    exp.Filter: _names("this expression"),
    exp.Exists: _names("this"),
    exp.In: _names("this expressions query"),
}
#: What rewritings read, and leave nothing of.
REWRITTEN: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Join: _names("match_condition"),
    exp.Lateral: _names("view outer ordinality"),
    exp.Table: _names("ordinality"),
}
#: Parts of a clause that are spoken of as the clause.
PARTS: Mapping[type[exp.Expr], str] = {exp.LimitOptions: "LIMIT", exp.WindowSpec: "WINDOW", exp.Ordered: "ORDER BY"}
HINT = "SELECT .. FROM .. WHERE .. GROUP BY .. HAVING .. ORDER BY .. LIMIT n OFFSET m"


def refuse_unread(
    tree: exp.Expr, source: Source, rewritten: Mapping[type[exp.Expr], frozenset[str]] = MappingProxyType({})
) -> exp.Expr:
    """The tree, of which some pass reads every part.

    Args:
        tree: the query.
        source: its text.
        rewritten: further arguments that are read.

    Raises:
        CompileError: at the first part that no pass reads, of kind ``unsupported-clause``.
    """
    for node in tree.walk(bfs=False):
        known = READ.get(type(node))
        for name, value in node.args.items() if known is not None else ():
            read = known is None or name in known or name in rewritten.get(type(node), ())
            if not read and value not in (None, False, [], ""):
                _fail(node, name, value, source)
    return tree


def _fail(node: exp.Expr, name: str, value: object, source: Source) -> None:
    first = value[0] if isinstance(value, list) else value
    place = first if isinstance(first, exp.Expr) and any("start" in n.meta for n in first.walk()) else node
    clause, part = PARTS.get(type(node), node.key.upper()), name.strip("_").upper().replace("_", " ")
    source.fail(place, f"{clause} with {part} is not supported", "unsupported-clause", HINT)


def is_wrapper(node: exp.Expr, *read: str) -> bool:
    """Whether a node is nothing but parentheses around a query, but for arguments that the caller has ``read``."""
    if isinstance(node, exp.Paren):
        return True
    known = ("this", "alias", *read)
    return isinstance(node, exp.Subquery) and not any(v for name, v in node.args.items() if name not in known)
