"""SQL text -> syntax, of which every part has a place and is read, or refused: nothing is dropped in silence.

What stands in the parentheses of a call is in the syntax tree, or refused.

sqlglot makes one node of the many spellings of a function, and some of its builders take the arguments that they know and
forget the others. The text still has them: an argument of which no node of the tree has the place is replaced by another
one, and if the tree is the same as before, nobody has read it.

>>> from m3.sql.places import Source
>>> def refused(sql):
...     try:
...         Source(sql).parse("postgres")
...     except Exception as error:
...         print(error.message)
>>> refused("SELECT MOD(a, 3), DATE_TRUNC('month', d) FROM r")
>>> refused("SELECT MOD(a, 3, 4) FROM r")
MOD takes no argument 4

A syntax node has arguments (``node.args``); a pass reads those that it knows. :data:`READ` says for each kind of node that a
query is built of which arguments the passes read, so that what a dialect adds (PIVOT, TABLESAMPLE, WITH TIES) is refused:

>>> def refused_clause(sql):
...     try:
...         refuse_unread(sqlglot.parse_one(sql, read="duckdb"), Source(sql))
...     except Exception as error:
...         print(error.message)
>>> refused_clause("SELECT a FROM r LIMIT 5")
>>> refused_clause("SELECT a FROM r LIMIT 50%")
LIMIT with PERCENT is not supported
>>> refused_clause("SELECT * FROM (SELECT a FROM r) AS x TABLESAMPLE 10%")
SUBQUERY with SAMPLE is not supported
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from m3.errors import CompileError, M3Error, Span, SyntaxProblem

__all__ = [
    "FAILURES",
    "READ",
    "REWRITTEN",
    "TOO_MANY",
    "UNREAD",
    "Argument",
    "Source",
    "find_unread",
    "fold_case",
    "is_wrapper",
    "refuse_unread",
]


class Source:
    """A SQL text, for turning nodes into spans and problems into errors."""

    def __init__(self, sql: str, file: str = "") -> None:
        self.sql, self.file = sql, file
        #: The query by itself, the views that it reads included.
        self.complete = sql
        self.dialect: str | None = None

    def parse(self, dialect: str | None) -> exp.Expression:
        """The single statement of the text.

        Raises:
            SyntaxProblem: the text is not SQL, or not exactly one statement.
        """
        self.dialect = dialect
        try:
            statements = [s for s in sqlglot.parse(self.sql, read=dialect) if s is not None]
        except sqlglot.errors.ParseError as error:
            unplaced = {"line": 1, "col": 1, "highlight": " ", "description": str(error)}
            details: dict[str, Any] = dict(error.errors[0] if error.errors else unplaced)
            length = len(details["highlight"] or " ")
            # sqlglot's column is that of the last character of the token
            span = Span(details["line"] or 1, max(1, (details["col"] or 1) - length + 1), length, self.file)
            raise SyntaxProblem(f"not SQL: {details['description']}", kind="sql-syntax", span=span, hint="") from error
        except RecursionError as error:
            raise SyntaxProblem("too deeply nested", kind="too-deep", span=Span(1, 1, 1, self.file)) from error
        except FAILURES as error:
            raise SyntaxProblem(f"not SQL: {error}", kind="sql-syntax", span=Span(1, 1, 1, self.file)) from error
        if len(statements) != 1 or not isinstance(statements[0], exp.Expression):
            raise SyntaxProblem("expected exactly one SELECT", kind="sql-syntax", span=Span(1, 1, 1, self.file))
        unread = find_unread(self.sql, statements[0], dialect)
        if unread is not None:
            given, span = self.sql[unread.start : unread.end + 1], self._locate(unread.start, unread.end)
            message = f"{unread.function.upper()} takes no argument {given}"
            raise CompileError(message, kind="wrong-arity", span=span, hint="leave it out: nothing would read it")
        return statements[0]

    def span(self, node: exp.Expr) -> Span:
        """The place of a node: that of its tokens, or of the nearest surrounding node that has some."""
        places = [n.meta for n in node.walk() if "start" in n.meta]
        if not places:
            return self.span(node.parent) if node.parent else Span(1, 1, 1, self.file)
        return self._locate(min(p["start"] for p in places), max(p["end"] for p in places))

    def _locate(self, start: int, end: int) -> Span:
        """The place of the characters from ``start`` to ``end``, inclusive, up to the end of the first line."""
        before = self.sql[:start]
        line_start = before.rfind("\n") + 1
        end_of_line = self.sql.find("\n", start)
        last = end if end_of_line < 0 else min(end, end_of_line - 1)
        return Span(before.count("\n") + 1, start - line_start + 1, max(1, last - start + 1), self.file)

    def fail(self, node: exp.Expr, message: str, kind: str, hint: str) -> NoReturn:
        """Raise a CompileError that points at ``node``."""
        raise CompileError(message, kind=kind, span=self.span(node), hint=hint)

    @contextmanager
    def guard(self, node: exp.Expr) -> Iterator[None]:
        """Errors without a place are reported at ``node``."""
        try:
            yield
        except M3Error as error:
            if error.span is not None:
                raise
            raise CompileError(error.message, kind=error.kind, span=self.span(node), hint=error.hint) from error


def fold_case(node: exp.Expr) -> exp.Expr:
    """A node with subqueries, its names in lower case: equal for nodes that read alike; any other node as it is.

    >>> first, second = (sqlglot.parse_one(f'SELECT (SELECT {x} FROM r)').expressions[0] for x in ("a", "A"))
    >>> first == second, fold_case(first) == fold_case(second)
    (False, True)
    """
    if node.find(exp.Query) is None:
        return node
    copy = node.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("this", name.name.lower())
        name.set("quoted", True)
    return copy


#: How sqlglot says that a text is not SQL; for calls without the arguments that it rewrites in many ways.
FAILURES = (sqlglot.errors.SqlglotError, ValueError, TypeError, AttributeError, LookupError)
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
#: No column, no unit and no format is called that.
PROBE = "nobody_reads_this"
#: Types, whose lengths mean nothing in some dialects (DuckDB, Spark): sqlglot forgets there that one was written, rightly.
TEXTS = {"bpchar", "string", *(type_.name.lower() for type_ in exp.DataType.TEXT_TYPES)}
#: Functions that sqlglot reads as others, which take more: name -> most arguments.
MOST: Mapping[str, int] = {"strpos": 2, "ifnull": 2, "nvl": 2}


@dataclass(frozen=True)
class Argument:
    """An argument of a call: the call's name, its number from 1, and its first and its last place in the text, inclusive."""

    function: str
    number: int
    start: int
    end: int


def find_unread(sql: str, tree: exp.Expression, dialect: str | None) -> Argument | None:
    """The first argument of a call that the tree does not depend on.

    Args:
        sql: the text.
        tree: what it was parsed to.
        dialect: sqlglot's name of its dialect.
    """
    places = sorted(node.meta["start"] for node in tree.walk() if "start" in node.meta)
    for argument in _find_arguments(sqlglot.tokenize(sql, read=dialect)):
        if argument.number > MOST.get(argument.function.lower(), argument.number):
            return argument
        if argument.number == 1 and argument.function.lower() in TEXTS:
            continue
        nearest = bisect_left(places, argument.start)
        if nearest < len(places) and places[nearest] <= argument.end:
            continue
        if _parse_with_another(sql, argument, dialect) == tree:
            return argument
    return None


def _parse_with_another(sql: str, argument: Argument, dialect: str | None) -> exp.Expr | None:
    """The tree of the text with something else in the argument's place; None if nothing else may stand there."""
    try:
        return sqlglot.parse_one(f"{sql[: argument.start]}{PROBE}{sql[argument.end + 1 :]}", read=dialect)
    except FAILURES:
        return None


@dataclass
class _Open:
    """A parenthesis that is not closed yet; ``name`` is empty if nothing is called by it. The tokens are those since the comma."""

    name: str
    number: int = 1
    first: Token | None = None
    last: Token | None = None

    def end(self) -> Iterator[Argument]:
        """The argument that ends here; the next one begins."""
        if self.name and self.first is not None and self.last is not None:
            yield Argument(self.name, self.number, self.first.start, self.last.end)
        self.number, self.first, self.last = self.number + 1, None, None


def _find_arguments(tokens: Sequence[Token]) -> Iterator[Argument]:
    """What stands between the commas of ``name(..)``, inner calls before the argument that they stand in."""
    open_ = [_Open("")]
    called = ""
    for token in tokens:
        kind = token.token_type
        if kind in CLOSING and len(open_) > 1:
            yield from open_.pop().end()
        if kind == TokenType.COMMA:
            yield from open_[-1].end()
        else:
            open_[-1].first, open_[-1].last = open_[-1].first or token, token
        if kind in OPENING:
            open_.append(_Open(called if kind == TokenType.L_PAREN else ""))
        called = token.text if token.text.isidentifier() else ""


# Which parts of a syntax node are read.


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
