"""Where in the SQL text a syntax node stands, and the errors that point there."""

from __future__ import annotations

from typing import Any, NoReturn

import sqlglot
from sqlglot import exp

from m3.errors import CompileError, Span, SyntaxProblem
from m3.sql.arguments import FAILURES, find_unread

__all__ = ["Source", "folded"]


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
            span=self._span(unread.start, unread.end),
            hint="leave it out: nothing would read it",
        )

    def span(self, node: exp.Expr) -> Span:
        """The place of a node: that of its tokens, or of the nearest surrounding node that has some."""
        places = [n.meta for n in node.walk() if "start" in n.meta]
        if not places:
            return self.span(node.parent) if node.parent else Span(1, 1, 1, self.file)
        return self._span(min(p["start"] for p in places), max(p["end"] for p in places))

    def _span(self, start: int, end: int) -> Span:
        """The place of the characters from ``start`` to ``end``, inclusive, up to the end of the first line."""
        before = self.sql[:start]
        line_start = before.rfind("\n") + 1
        end_of_line = self.sql.find("\n", start)
        last = end if end_of_line < 0 else min(end, end_of_line - 1)
        return Span(before.count("\n") + 1, start - line_start + 1, max(1, last - start + 1), self.file)

    def fail(self, node: exp.Expr, message: str, kind: str, hint: str) -> NoReturn:
        """Raise a CompileError that points at ``node``."""
        raise CompileError(message, kind=kind, span=self.span(node), hint=hint)


def folded(node: exp.Expr) -> exp.Expr:
    """A node with subqueries, its names in lower case: equal for nodes that read alike; any other node as it is.

    >>> first, second = (sqlglot.parse_one(f'SELECT (SELECT {x} FROM r)').expressions[0] for x in ("a", "A"))
    >>> first == second, folded(first) == folded(second)
    (False, True)
    """
    if node.find(exp.Query) is None:
        return node
    copy = node.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("this", name.name.lower())
        name.set("quoted", True)
    return copy
