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

__all__ = ["READ", "REWRITTEN", "TOO_MANY", "UNREAD", "is_wrapper", "refuse_unread"]


def _split_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SET = _split_names("this expression distinct with_ order limit offset")
#: Kind of node -> the arguments that the passes read, or that change no row: hints, and the schemas of tables.
READ: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: _split_names(
        "expressions from_ joins laterals where group having qualify windows distinct order limit offset with_ hint "
        "operation_modifiers"
    ),
    exp.Subquery: _split_names("this alias with_ order limit offset joins"),
    exp.Union: _SET,
    exp.Except: _SET,
    exp.Intersect: _SET,
    exp.Values: _split_names("expressions alias order limit offset"),
    exp.From: _split_names("this"),
    exp.Table: _split_names("this alias db catalog joins only hints"),
    exp.TableAlias: _split_names("this columns"),
    exp.Join: _split_names("this on side kind using method hint"),
    exp.Lateral: _split_names("this alias"),
    exp.With: _split_names("expressions recursive"),
    exp.CTE: _split_names("this alias materialized"),
    exp.Where: _split_names("this"),
    exp.Group: _split_names("expressions grouping_sets cube rollup all"),
    exp.Rollup: _split_names("expressions"),
    exp.Cube: _split_names("expressions"),
    exp.GroupingSets: _split_names("expressions"),
    exp.Having: _split_names("this"),
    exp.Qualify: _split_names("this"),
    exp.Order: _split_names("this expressions"),
    exp.Ordered: _split_names("this desc nulls_first"),
    exp.Limit: _split_names("expression limit_options"),
    exp.Fetch: _split_names("direction count limit_options"),
    exp.LimitOptions: _split_names("rows"),
    exp.Offset: _split_names("expression"),
    exp.Distinct: _split_names("expressions on"),
    exp.Window: _split_names("this partition_by order spec alias over"),
    exp.WindowSpec: _split_names("kind start start_side end end_side exclude"),
    exp.Star: _split_names("except_ replace rename"),
    exp.Alias: _split_names("this alias"),
    exp.Column: _split_names("this table db catalog"),
    exp.Filter: _split_names("this expression"),
    exp.Exists: _split_names("this"),
    exp.In: _split_names("this expressions query"),
}
_CAST = _split_names("format action default")
_RANK = _split_names("this expressions")
#: Arguments of functions that nobody reads. All others are read, or say only how a dialect spells the function.
UNREAD: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Cast: _CAST,
    exp.TryCast: _CAST,
    exp.ByteString: _split_names("is_bytes"),
    exp.Round: _split_names("truncate"),
    exp.Min: _split_names("count"),
    exp.Max: _split_names("count"),
    exp.First: _split_names("expression"),
    exp.Last: _split_names("expression"),
    exp.RowNumber: _RANK,
    exp.Rank: _RANK,
    exp.DenseRank: _RANK,
    exp.PercentRank: _RANK,
    exp.CumeDist: _RANK,
    exp.GroupConcat: _split_names("on_overflow"),
    exp.TimestampTrunc: _split_names("zone"),
    exp.DateTrunc: _split_names("zone"),
    exp.DateDiff: _split_names("zone"),
    exp.TimeToStr: _split_names("culture zone"),
    exp.TimeStrToTime: _split_names("zone"),
    exp.TsOrDsToDate: _split_names("default_date"),
    exp.LastDay: _split_names("unit"),
    exp.Week: _split_names("mode"),
    exp.Date: _split_names("zone expressions"),
    exp.Timestamp: _split_names("zone"),
    exp.AddMonths: _split_names("preserve_end_of_month"),
    exp.Explode: _split_names("expressions"),
    exp.JSONExtract: _split_names("json_query option quote on_condition emits expressions"),
    exp.JSONExtractScalar: _split_names("expressions"),
}
#: Arguments of functions in which sqlglot itself remembers how a dialect spells them, True or False. An expression in one of them is
#: an argument of the text that was one too many: the 9 of ``LEFT(s, 2, 9)``.
FLAGS = _split_names(
    "allow_overflow big_int binary casts_non_integer_decimals clamp_position date_part_boundary deterministic fractions_supported from_first "
    "input_type_preserved is_end_exclusive is_null is_nvl json_subtype json_type negative_length_returns_empty null_on_text_overflow "
    "null_on_zero_variance only_json_types probe_date_format requires_json requires_string return_type round_input safe scalar_only "
    "typed variant_extract with_tz zero_on_all_null zero_start"
)
#: What rewritings read, and leave nothing of.
REWRITTEN: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Join: _split_names("match_condition"),
    exp.Lateral: _split_names("view outer ordinality"),
    exp.Table: _split_names("ordinality"),
}
#: Parts of a clause that are spoken of as the clause.
PARTS: Mapping[type[exp.Expr], str] = {exp.LimitOptions: "LIMIT", exp.WindowSpec: "WINDOW", exp.Ordered: "ORDER BY"}
HINT = "SELECT .. FROM .. WHERE .. GROUP BY .. HAVING .. ORDER BY .. LIMIT n OFFSET m"
TOO_MANY = "leave it out: nothing would read it"


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
        for name, value in node.args.items():
            if value in (None, False, [], ""):
                continue
            # an expression where sqlglot keeps a flag, or TRIM's LEADING, was one argument too many
            flag = name in FLAGS or (isinstance(node, exp.Trim) and name == "position")
            if flag and type(node) not in READ and isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
                source.fail(value, f"{node.key.upper()} takes no argument {value.sql()}", "wrong-arity", TOO_MANY)
            kind = type(node)
            known = READ.get(kind)
            unread = UNREAD.get(kind, ()) if known is None else {name} - known - rewritten.get(kind, frozenset())
            if name in unread:
                first = value[0] if isinstance(value, list) else value
                place = first if isinstance(first, exp.Expr) and any("start" in n.meta for n in first.walk()) else node
                clause, part = PARTS.get(type(node), node.key.upper()), name.strip("_").upper().replace("_", " ")
                source.fail(place, f"{clause} with {part} is not supported", "unsupported-clause", HINT)
        if isinstance(node, exp.NthValue) and node.args.get("from_first") is False:
            source.fail(node, "NTH_VALUE from the last", "unsupported-clause", "order by .. DESC")
    return tree


def is_wrapper(node: exp.Expr, *read: str) -> bool:
    """Whether a node is nothing but parentheses around a query, but for arguments that the caller has ``read``."""
    if isinstance(node, exp.Paren):
        return True
    known = ("this", "alias", *read)
    return isinstance(node, exp.Subquery) and not any(v for name, v in node.args.items() if name not in known)
