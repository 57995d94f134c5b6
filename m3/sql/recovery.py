"""All syntax errors of a text that can be told apart: the first of each query in it.

The parser stops at its first error. But a query in parentheses (a CTE, a subquery, a table of FROM) and a side of UNION are queries by
themselves, whatever stands around them. So each is read alone, the innermost first; where one has an error, or none, the text around it
is read with ``SELECT 1`` in its place. Nothing is guessed: without parentheses that fit nothing is known but the first error.

>>> sql = "WITH a AS (SELECT x FORM r), b AS (SELECT y FROM s WHERE) SELECT * FROM a JON b UNION SELECT FROM"
>>> try:
...     sqlglot.parse(sql)
... except Exception as error:
...     for problem in explain_queries(sql, "v.sql", None, error).all:
...         print(problem.span.column, problem.message)
26 `r` is not expected here
52 nothing stands after WHERE
79 `b` is not expected here
94 nothing stands after FROM
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlglot
from sqlglot.tokenizer_core import Token

from m3.dictionary.spans import read_descriptors
from m3.errors import M3Error, SyntaxProblem, combine_errors
from m3.sql.mistakes import CLOSING, FAILURES, OPENING, explain_syntax, is_certain, tokenize

__all__ = ["explain_queries"]

SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
BEHIND = ("ALL", "DISTINCT", "BY", "NAME", "CORRESPONDING")


def explain_queries(sql: str, file: str, dialect: str | None, error: Exception) -> M3Error:
    """What is wrong with a text that the parser refuses: the first error of each query.

    Args:
        sql: the text.
        file: its name.
        dialect: sqlglot's name of its dialect.
        error: what the parser says.
    """
    first = explain_syntax(sql, file, dialect, error)
    tokens = tokenize(sql, dialect)
    if not tokens or is_certain(sql, file, dialect):
        return first
    found: list[SyntaxProblem] = []
    rest = sql
    for start, end in _find_queries(tokens):
        found += _read_alone(rest, start, end, file, dialect)
        rest = _without(rest, start, end)
    found += _read_alone(rest, 0, len(rest), file, dialect)
    return combine_errors(sorted(found, key=lambda e: (e.span.line, e.span.column) if e.span else (0, 0)) or [first])


def _find_queries(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """The queries in parentheses, those within others before them: first character, and the one behind the last."""
    open_: list[int] = []
    for i, token in enumerate(tokens):
        if token.token_type in OPENING:
            open_.append(i)
        elif token.token_type in CLOSING and open_:
            opened = open_.pop()
            if tokens[opened + 1].text.upper() == "SELECT" and tokens[opened].text == "(":
                yield tokens[opened].end + 1, token.start


def _read_alone(sql: str, start: int, end: int, file: str, dialect: str | None) -> list[SyntaxProblem]:
    """The first error of each side of a query, or else of the whole."""
    sides = _split_sides(sql, start, end, dialect)
    found = [p for side in sides if (p := _try(sql, *side, file, dialect)) is not None] if len(sides) > 1 else []
    whole = None if found else _try(sql, start, end, file, dialect)
    return found or ([whole] if whole is not None else [])


def _split_sides(sql: str, start: int, end: int, dialect: str | None) -> list[tuple[int, int]]:
    """The sides of the set operations of a query."""
    depth, sides, begin = 0, [], start
    tokens = tokenize(_blank_around(sql, start, end), dialect)
    for i, token in enumerate(tokens):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth == 0 and token.text.upper() in SET_OPERATIONS and i + 1 < len(tokens):
            sides.append((begin, token.start))
            behind = i + 1
            while behind < len(tokens) and tokens[behind].text.upper() in BEHIND:
                behind += 1
            begin = tokens[behind].start if behind < len(tokens) else end
    return [*sides, (begin, end)]


def _try(sql: str, start: int, end: int, file: str, dialect: str | None) -> SyntaxProblem | None:
    alone = _blank_around(sql, start, end)
    try:
        sqlglot.parse(read_descriptors(alone), read=dialect)
    except FAILURES as error:
        return explain_syntax(alone, file, dialect, error)
    return None


def _blank_around(sql: str, start: int, end: int) -> str:
    """One part of a text, on the same lines and columns."""
    return _blank(sql[:start]) + sql[start:end]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without(sql: str, start: int, end: int) -> str:
    """``SELECT 1`` in the place of a query, on as many lines."""
    word = sql.upper().index("SELECT", start, end) + len("SELECT")
    blank = _blank(sql[word:end])
    one = next((i for i, c in enumerate(blank) if i and c == " "), None)
    if one is None:
        return sql
    return sql[:start] + _blank(sql[start : word - 6]) + "SELECT" + blank[:one] + "1" + blank[one + 1 :] + sql[end:]
