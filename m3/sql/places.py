"""Where in the SQL text a syntax node stands, and the errors that point there.

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
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from m3.errors import CompileError, Span, SyntaxProblem

__all__ = ["FAILURES", "Argument", "Source", "find_unread", "fold_case"]


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
        self._refuse_unread_arguments(statements[0])
        return statements[0]

    def _refuse_unread_arguments(self, tree: exp.Expression) -> None:
        unread = find_unread(self.sql, tree, self.dialect)
        if unread is None:
            return
        name, given = unread.function.upper(), self.sql[unread.start : unread.end + 1]
        raise CompileError(
            f"{name} takes no argument {given}",
            kind="wrong-arity",
            span=self._locate(unread.start, unread.end),
            hint="leave it out: nothing would read it",
        )

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
