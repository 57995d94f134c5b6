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

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from m3.dictionary.spans import read_descriptors
from m3.errors import CompileError, FollowUp, M3Error, Span, SyntaxProblem, combine_errors, shortened
from m3.sql.mistakes import CLOSING, FAILURES, OPENING, complete_place, explain_statements, find_lookalike, locate
from m3.sql.recovery import explain_queries

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
    "mark_elsewhere",
    "refuse_unread",
]


class Source:
    """A SQL text, for turning nodes into spans and problems into errors.

    Errors that do not depend on each other are collected: what is read within :meth:`attempt` may fail, and reading goes on.
    """

    def __init__(self, sql: str, file: str = "") -> None:
        self.sql, self.file = sql, file
        #: The query by itself, the views that it reads included.
        self.complete = sql
        self.dialect: str | None = None
        #: The errors found so far, and how often reading failed: also for what follows from them.
        self.problems: list[M3Error] = []
        self.failures = 0

    def __deepcopy__(self, _: object) -> Source:
        return self  # nodes of other views know their texts; copies of nodes know the same

    def parse(self, dialect: str | None) -> exp.Expression:
        """The single statement of the text.

        Raises:
            SyntaxProblem: the text is not SQL, or not exactly one statement.
        """
        self.dialect = dialect
        try:
            statements = [s for s in sqlglot.parse(read_descriptors(self.sql), read=dialect) if s is not None]
        except RecursionError as error:
            raise SyntaxProblem("too deeply nested", kind="too-deep", span=Span(1, 1, 1, self.file)) from error
        except FAILURES as error:
            raise explain_queries(self.sql, self.file, dialect, error) from error
        if len(statements) != 1 or statements[0].key not in QUERIES or not isinstance(statements[0], exp.Expression):
            raise explain_statements(self.sql, self.file, dialect)
        lookalike = find_lookalike(self.sql, self.file, dialect)
        if lookalike is not None:
            raise lookalike
        unread = find_unread(self.sql, statements[0], dialect)
        if unread is not None:
            given, span = self.sql[unread.start : unread.end + 1], self._locate(unread.start, unread.end)
            message = f"{unread.function.upper()} takes no argument {given}"
            raise CompileError(message, kind="wrong-arity", span=span, hint="leave it out: nothing would read it")
        key = find_whole_key(self.sql, dialect)
        if key is not None:
            message = f"the key {key.text!r} in JSON"
            hint = f"'$.{key.text}' if it is a path, '$.\"{key.text}\"' if it is one key"
            span = self._locate(key.start, key.end)
            raise CompileError(message, kind="unsupported-expression", span=span, hint=hint)
        return statements[0]

    def span(self, node: exp.Expr) -> Span:
        """The place of a node: that of its tokens, or of the nearest surrounding node that has some."""
        places = [n.meta for n in node.walk() if "start" in n.meta]
        if not places:
            return self.span(node.parent) if node.parent else Span(1, 1, 1, self.file)
        return self._locate(min(p["start"] for p in places), max(p["end"] for p in places))

    def point(self, node: exp.Expr) -> Span:
        """The place of a node for a person: with the call's name and all its parentheses, in the text in which it stands."""
        found = self._find(node)
        if found is None:
            return self.point(node.parent) if node.parent else Span(1, 1, 1, self.file)
        source, start, end = found
        return locate(source.sql, source.file, start, end)

    def point_query(self, node: exp.Expr) -> Span:
        """The place of a subquery for a person, from its SELECT on."""
        found = self._find(node)
        if found is None:
            return self.point(node)
        source, start, end = found
        before = [t for t in source.tokens if t.start < start]
        while before and before[-1].text.upper() in ("SELECT", "DISTINCT"):
            start = before.pop().start
        return locate(source.sql, source.file, start, end)

    def name(self, node: exp.Expr) -> str:
        """What a node is called where it is written: the function's name, or else its text."""
        text = self.text(node)
        if isinstance(node.this, exp.Expr) and "(" not in text and text == self.text(node.this):
            text, called = node.sql(self.dialect), None  # the tokens behind it have no place: a[1], a -> 'b'
        else:
            called = (CALLED if "(" in text or not isinstance(node, exp.Func) else NAMED).match(text)
        return called[1].upper() if called else f"`{shortened(' '.join(text.split()), 60)}`"

    def text(self, node: exp.Expr) -> str:
        """A node as it is written, or the nearest surrounding one that is; as it would be written, if it stands in no text."""
        found = self._find(node)
        if found is None:
            return self.text(node.parent) if node.parent is not None else node.sql(self.dialect)
        return found[0].sql[found[1] : found[2] + 1]

    def _find(self, node: exp.Expr) -> tuple[Source, int, int] | None:
        """The text in which a node stands, and the first and the last of its characters there."""
        own = [(self, n.meta["start"], n.meta["end"]) for n in node.walk() if "start" in n.meta]
        places = own or [n.meta["elsewhere"] for n in node.walk() if "elsewhere" in n.meta]
        if not places:
            return None
        source = places[0][0]
        first, last = min(p[1] for p in places), max(p[2] for p in places)
        for inner in (n for n in reversed(list(node.walk())) if isinstance(n, WIDER)):
            if (place := source._widen(inner)) is not None:
                first, last = min(first, place[0]), max(last, place[1])
        names: Sequence[str] = ()
        if not {"start", "elsewhere"} & set(node.meta):  # what has a place begins with its own name
            names = WORDS.get(type(node)) or (type(node).sql_names() if isinstance(node, exp.Func) else ())
        return source, *complete_place(source.tokens, first, last, names, called=isinstance(node, exp.Func))

    def _widen(self, node: exp.Expr) -> tuple[int, int] | None:
        """The first and the last character of a form of which some words have no place in the tree; None if none has."""
        places = [n.meta if "start" in n.meta else None for n in node.walk()]
        known = [(p["start"], p["end"]) for p in places if p is not None]
        known += [n.meta["elsewhere"][1:] for n in node.walk() if "elsewhere" in n.meta and not known]
        if not known:
            return None
        starts = [t.start for t in self.tokens]
        first, last = bisect_left(starts, min(known)[0]), bisect_left(starts, max(end for _, end in known) + 1) - 1
        words = [t.text.upper() for t in self.tokens]
        before = BEFORE.get(type(node), ())
        while first > 0 and words[first - 1] in before:
            first -= 1
        behind: tuple[str, ...] = ("END",) if isinstance(node, exp.Case) else ()
        if isinstance(node, exp.Interval) and isinstance(node.args.get("unit"), exp.Expr):
            unit = node.args["unit"].name.upper()
            behind = (unit, f"{unit}S", unit.removesuffix("S"))
        if last + 1 < len(words) and words[last + 1] in behind:
            last += 1
        return self.tokens[first].start, self.tokens[last].end

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the text."""
        return sqlglot.tokenize(self.sql, read=self.dialect)

    def _locate(self, start: int, end: int) -> Span:
        return locate(self.sql, self.file, start, end)

    def fail(self, node: exp.Expr, message: str, kind: str, hint: str) -> NoReturn:
        """Raise a CompileError that points at ``node``."""
        raise CompileError(message, kind=kind, span=self.point(node), hint=hint)

    @contextmanager
    def guard(self, node: exp.Expr) -> Iterator[None]:
        """Errors without a place are reported at ``node``."""
        try:
            yield
        except M3Error as error:
            if error.span is not None or isinstance(error, FollowUp):
                raise
            raise CompileError(error.message, kind=error.kind, span=self.point(node), hint=error.hint) from error

    def attempt(self, node: exp.Expr) -> Attempt:
        """What fails within, at ``node``, is noted, and reading goes on behind it. Who needs what was to be read asks :meth:`stop`."""
        return Attempt(self, node)

    def stop(self, before: int) -> None:
        """Give up where reading has failed more than ``before`` times.

        Raises:
            FollowUp: it has.
        """
        if self.failures > before:
            raise FollowUp


class Attempt:
    """Notes the error that ends what is done within."""

    def __init__(self, source: Source, node: exp.Expr) -> None:
        self._source, self._node = source, node

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Whether it was an error of the text, which is noted."""
        if not isinstance(error, M3Error):
            return False
        self._source.failures += 1
        if error.span is None and not isinstance(error, FollowUp):
            error.span = self._source.point(self._node)
        if not isinstance(error, FollowUp):
            self._source.problems.append(error)
        return True


def mark_elsewhere(tree: exp.Expr, source: Source) -> None:
    """Nodes of another view's text have no place in this one, but errors are reported where they are."""
    for node in tree.walk():
        if "start" in node.meta:
            start, end = node.meta["start"], node.meta["end"]
            node.meta.clear()
            node.meta["elsewhere"] = (source, start, end)


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


#: What a view may be.
QUERIES = ("select", "union", "except", "intersect", "subquery", "values", "pivot")
#: A call, as it is written.
CALLED, NAMED = re.compile(r"([A-Za-z_][\w.]*)\s*\("), re.compile(r"([A-Za-z_]\w*)$")
#: Forms that are no functions to sqlglot -> the words before their parentheses.
WORDS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Exists: ("EXISTS",), exp.Cast: ("CAST",), exp.TryCast: ("TRY_CAST", "CAST"), exp.Coalesce: ("COALESCE",),
    exp.LogicalAnd: ("EVERY", *exp.LogicalAnd.sql_names()), exp.JSONObjectAgg: ("JSON_OBJECTAGG", "JSON_OBJECT_AGG"),
}  # fmt: skip
#: Forms of which words have no place in the tree, and those before their first operand.
BEFORE: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Case: ("CASE", "WHEN"), exp.Neg: ("-",), exp.Not: ("NOT",), exp.Interval: ("INTERVAL",)
}  # fmt: skip
WIDER = tuple(BEFORE)
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


def find_whole_key(sql: str, dialect: str | None) -> Token | None:
    """The first text of DuckDB's that is a key of JSON as a whole, dots and brackets included: the parser takes it for a path.

    >>> token = find_whole_key("SELECT s ->> '$.a.b', s ->> 'a', s ->> 'a.b' FROM t", "duckdb")
    >>> token.text
    'a.b'
    """
    if dialect != "duckdb":
        return None
    tokens = sqlglot.tokenize(sql, read=dialect)
    places = {a.start for a in _find_arguments(tokens) if a.number == 2 and a.function.lower().startswith("json")}
    places |= {t.start for before, t in pairwise(tokens) if before.token_type in (TokenType.ARROW, TokenType.DARROW)}
    texts = (t for t in tokens if t.token_type is TokenType.STRING and t.start in places)
    return next((t for t in texts if not t.text.startswith(("$", "/")) and set(t.text) & set(".[")), None)


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
    exp.Limit: _split_names("this expression limit_options"),  # of a list, too
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
    exp.DatetimeTrunc: _split_names("zone"),
    exp.DateDiff: _split_names("zone"),
    exp.TimeToStr: _split_names("culture zone"),
    exp.TimeStrToTime: _split_names("zone"),
    exp.Date: _split_names("zone"),
    exp.Timestamp: _split_names("zone"),
    exp.Explode: _split_names("expressions"),
    exp.Posexplode: _split_names("expressions"),
    exp.Split: _split_names("limit"),
    exp.RegexpSplit: _split_names("limit mode"),
    exp.StringToArray: _split_names("null"),
    exp.JSONExtract: _split_names("json_query option quote on_condition emits expressions"),
    exp.JSONExtractScalar: _split_names("expressions"),
}
#: Arguments of functions in which sqlglot itself remembers how a dialect spells them, True or False. An expression in one of them is
#: an argument of the text that was one too many: the 9 of ``LEFT(s, 2, 9)``.
FLAGS = _split_names(
    "allow_overflow big_int binary casts_non_integer_decimals check_null clamp_position date_part_boundary deterministic empty_if_group_missing "
    "fractions_supported from_first input_type_preserved is_end_exclusive is_null is_nvl json_access json_subtype json_type negative_length_returns_empty "
    "null_delim_is_null null_if_no_match null_is_empty null_on_text_overflow null_on_zero_variance only_json_types preserve_end_of_month probe_date_format "
    "requires_json requires_string return_type returns_list_for_maps round_input safe scalar_only typed variant_extract with_tz zero_on_all_null zero_start"
)
#: What rewritings read, and leave nothing of.
REWRITTEN: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Join: _split_names("match_condition"),
    exp.Lateral: _split_names("view outer ordinality cross_apply"),
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
    before = source.failures
    for node in tree.walk(bfs=False):
        for name, value in node.args.items():
            if value not in (None, False, [], ""):
                with source.attempt(node):
                    _refuse_argument(node, name, value, source, rewritten)
        if isinstance(node, exp.NthValue) and node.args.get("from_first") is False:
            source.fail(node, "NTH_VALUE from the last", "unsupported-clause", "order by .. DESC")
    if source.failures > before:
        raise combine_errors(source.problems)
    return tree


def _refuse_argument(
    node: exp.Expr, name: str, value: Any, source: Source, rewritten: Mapping[type[exp.Expr], frozenset[str]]
) -> None:
    # an expression where sqlglot keeps a flag, or TRIM's LEADING, was one argument too many
    flag = name in FLAGS or (isinstance(node, exp.Trim) and name == "position")
    if flag and type(node) not in READ and isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
        source.fail(value, f"{source.name(node)} takes no argument {source.text(value)}", "wrong-arity", TOO_MANY)
    kind = type(node)
    known = READ.get(kind)
    unread = UNREAD.get(kind, ()) if known is None else {name} - known - rewritten.get(kind, frozenset())
    if name in unread and known is None:
        every = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)]
        given = [v for v in every if any("start" in n.meta for n in v.walk())]
        shown = f"takes no argument {source.text(given[0])}" if given else "is not supported in this form"
        source.fail(given[0] if given else node, f"{source.name(node)} {shown}", "unsupported-clause", TOO_MANY)
    if name in unread:
        first = value[0] if isinstance(value, list) else value
        place = first if isinstance(first, exp.Expr) and any("start" in n.meta for n in first.walk()) else node
        clause, part = PARTS.get(kind, node.key.upper()), name.strip("_").upper().replace("_", " ")
        shown = f"with {part} is" if part not in ("THIS", "EXPRESSION", "EXPRESSIONS") else "in this form is"
        source.fail(place, f"{clause} {shown} not supported", "unsupported-clause", HINT)


def is_wrapper(node: exp.Expr, *read: str) -> bool:
    """Whether a node is nothing but parentheses around a query, but for arguments that the caller has ``read``."""
    if isinstance(node, exp.Paren):
        return True
    known = ("this", "alias", *read)
    return isinstance(node, exp.Subquery) and not any(v for name, v in node.args.items() if name not in known)
