"""What is wrong with a text that is no SQL, and where: the parser's own words are about its classes, these are for who wrote the text.

>>> def explain(sql, dialect="postgres"):
...     try:
...         sqlglot.parse(sql, read=dialect)
...     except Exception as error:
...         problem = explain_syntax(sql, "v.sql", dialect, error)
...         print(f"{problem.message} ({problem.hint})")
>>> explain("SELECT a FORM r")
`r` is not expected here (did you mean FROM instead of FORM?)
>>> explain("SELECT SUM(a FROM r")
`SUM(` is not closed (add `)` where its arguments end)
>>> explain("SELECT ROUND() FROM r")
ROUND takes more arguments (write what it is about between its parentheses)
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from m3.errors import Span, SyntaxProblem, shortened

__all__ = [
    "CLOSING",
    "FAILURES",
    "OPENING",
    "complete_place",
    "explain_statements",
    "explain_syntax",
    "find_lookalike",
    "is_certain",
    "locate",
    "suggest_name",
    "tokenize",
]

#: How sqlglot says that a text is not SQL; for calls without the arguments that it rewrites in many ways.
FAILURES = (SqlglotError, ValueError, TypeError, AttributeError, LookupError)
OPENING = {TokenType.L_PAREN: "(", TokenType.L_BRACKET: "[", TokenType.L_BRACE: "{"}
CLOSING = {TokenType.R_PAREN: ")", TokenType.R_BRACKET: "]", TokenType.R_BRACE: "}"}
PARTNER = {"(": ")", "[": "]", "{": "}"}
#: Clauses of a SELECT in their order.
CLAUSES = ("WITH", "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET")
#: Words between which an expression has to stand.
GAPS = {
    f"{before} {behind}"
    for before in ("WHERE", "AND", "OR", "ON", "HAVING", "NOT", "WHEN", "THEN")
    for behind in ("AND", "OR", "GROUP", "ORDER", "HAVING", "LIMIT", "THEN", "WHERE", "ELSE")
}
SIDES = ("LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL")
FULL = {"GROUP": "GROUP BY", "ORDER": "ORDER BY"}
#: Words that people misspell where nothing else may stand.
KEYWORDS = (
    *CLAUSES, "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "USING", "UNION", "EXCEPT", "INTERSECT", "DISTINCT",
    "BETWEEN", "AND", "OR", "NOT", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "OVER", "PARTITION", "LATERAL", "VALUES", "BY", "AS",
    "ASC", "DESC", "LIKE", "EXISTS", "FILTER", "INTERVAL",
)  # fmt: skip
#: Characters that word processors and web pages put where SQL has others.
LOOKALIKES = {"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "´": "'", "–": "-", "—": "--", "；": ";", "，": ",", "（": "(", "）": ")"}  # fmt: skip
UNSEEN = {"\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad"}
#: What stands in a text that is no code: comments, and what is in quotes.
NO_CODE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`", re.DOTALL)
TEMPLATE = re.compile(r"\{\{(?P<said>.*?)\}\}|\{%.*?%\}|\$\{[^}]*\}", re.DOTALL)
REFERENCE = re.compile(r"\s*(?:ref|source)\(.*['\"](?P<name>\w+)['\"]\s*\)\s*", re.DOTALL)
OPENED = re.compile(
    r"--[^\n]*|/\*(?:.*?\*/)|(?P<open>/\*)|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|(?P<quote>['\"`])", re.DOTALL
)
MISSING = re.compile(r"Required keyword: '(\w+)' missing for")
TOO_MANY = re.compile(r"The number of provided arguments \((\d+)\) is greater than")
EXPECTED = re.compile(r"(?:Expected|Expecting) ([A-Z][A-Z ]*[A-Z]|AS|[)\]}>])(?: after ([A-Z]+))?\.?")
PARTS = "SELECT .. FROM .. WHERE .. GROUP BY .. HAVING .. ORDER BY .. LIMIT n"


def locate(sql: str, file: str, start: int, end: int) -> Span:
    """The place of the characters from ``start`` to ``end``, inclusive; its length ends with its first line.

    >>> locate("a\\nbc\\nd", "", 3, 5)
    Span(line=2, column=2, length=1, file='', end=(3, 2))
    """
    line_start = sql.rfind("\n", 0, start) + 1
    newline = sql.find("\n", start)
    line = sql.count("\n", 0, start) + 1
    if newline < 0 or end < newline:
        return Span(line, start - line_start + 1, max(1, end - start + 1), file, text=sql[start : end + 1])
    last = max(start, newline - 1 - (sql[newline - 1] == "\r"))
    behind = sql.count("\n", 0, end) + 1, end - sql.rfind("\n", 0, end) + 1
    return Span(line, start - line_start + 1, last - start + 1, file, behind, sql[start : end + 1])


def suggest_name(word: str, known: Iterable[str]) -> str:
    """The name that somebody probably meant, as the beginning of a hint; nothing where none is near.

    >>> suggest_name("o_prise", ["o_id", "o_price"]), suggest_name("x", ["o_id", "o_price"])
    ('did you mean o_price? ', '')
    """
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.7)
    return f"did you mean {names[close[0]]}? " if close else ""


def tokenize(sql: str, dialect: str | None) -> list[Token]:
    """The tokens of a text, none where it has none."""
    try:
        return sqlglot.tokenize(sql, read=dialect)
    except (SqlglotError, ValueError):
        return []


def complete_place(
    tokens: Sequence[Token], start: int, end: int, names: Iterable[str] = (), *, called: bool = False
) -> tuple[int, int]:
    """A place with the other halves of its parentheses, and with the call's name, if it is one of ``names``; if the place is that name and
    it is ``called``, with the parentheses behind it.

    >>> sql = "SELECT ROUND(CAST(a AS INT)) FROM r"
    >>> start, end = complete_place(sqlglot.tokenize(sql), 18, 18, ["CAST"])
    >>> sql[start:end + 1]
    'CAST(a AS INT)'
    """
    starts = [t.start for t in tokens]
    first, last = bisect_left(starts, start), bisect_left(starts, end + 1) - 1
    if not 0 <= first <= last < len(tokens):
        return start, end
    if first > 1 and tokens[first - 1].text == "(" and tokens[first - 2].text.upper() in names:
        first -= 2
    if called and first == last and [t.text for t in tokens[last + 1 : last + 2]] == ["("]:
        last += 1
    depth = least = 0
    for token in tokens[first : last + 1]:
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        least = min(least, depth)
    before, behind = first, last
    missing, extra = -least, depth - least
    while missing and before > 0:  # from right to left, closing ones open
        before -= 1
        missing += (tokens[before].token_type in CLOSING) - (tokens[before].token_type in OPENING)
    while extra and behind + 1 < len(tokens):
        behind += 1
        extra += (tokens[behind].token_type in OPENING) - (tokens[behind].token_type in CLOSING)
    first, last = first if missing else before, last if extra else behind
    return min(start, tokens[first].start), max(end, tokens[last].end)


class _Text:
    """A text in which an error was found."""

    def __init__(self, sql: str, file: str, dialect: str | None) -> None:
        self.sql, self.file, self.dialect = sql, file, dialect
        self.tokens = tokenize(sql, dialect)

    def problem(self, start: int, end: int, message: str, hint: str, kind: str = "sql-syntax") -> SyntaxProblem:
        return SyntaxProblem(message, kind=kind, span=locate(self.sql, self.file, start, end), hint=hint)

    def at(self, index: int, message: str, hint: str) -> SyntaxProblem:
        """An error at a token."""
        token = self.tokens[index]
        return self.problem(token.start, token.end, message, hint)

    def word(self, index: int) -> str:
        """A token as it is written; nothing before the first and behind the last."""
        if not 0 <= index < len(self.tokens):
            return ""
        token = self.tokens[index]
        return self.sql[token.start : token.end + 1]

    def said(self, index: int) -> str:
        """The same for a message."""
        return f"`{shortened(' '.join(self.word(index).split()), 40)}`"


def explain_syntax(sql: str, file: str, dialect: str | None, error: Exception) -> SyntaxProblem:
    """What is wrong with a text that the parser refuses.

    Args:
        sql: the text.
        file: its name.
        dialect: sqlglot's name of its dialect.
        error: what the parser says.
    """
    text = _Text(sql, file, dialect)
    known = _find_certain(text)
    if known is not None:
        return known
    details = error.errors[0] if isinstance(error, sqlglot.errors.ParseError) and error.errors else None
    if not text.tokens or details is None:
        return _find_refused_call(text, error)
    index = next(
        (i for i, t in enumerate(text.tokens) if (t.line, t.col) == (details["line"], details["col"])),
        len(text.tokens) - 1,
    )
    return _explain_parser(text, index, str(details["description"]))


def is_certain(sql: str, file: str, dialect: str | None) -> bool:
    """Whether something is wrong with a text as a whole, and not with a query in it: a quote or a parenthesis without its other half, .."""
    return _find_certain(_Text(sql, file, dialect)) is not None


def _find_certain(text: _Text) -> SyntaxProblem | None:
    """What can be said of a text without its parser."""
    lookalike = find_lookalike(text.sql, text.file, text.dialect)
    return find_template(text) or lookalike or find_open_quote(text) or find_unbalanced(text)


def find_template(text: _Text) -> SyntaxProblem | None:
    """What a template engine would replace."""
    found = TEMPLATE.search(text.sql)
    if found is None or any(m.start() <= found.start() < m.end() for m in NO_CODE.finditer(text.sql)):
        return None
    reference = REFERENCE.fullmatch(found["said"] or "")
    hint = "write the SQL that it stands for: nothing is filled in here"
    if reference is not None:
        hint = f"write {reference['name']}: tables and views are read by their names"
    elif (found["said"] or "").strip().startswith("config"):
        hint = "leave it out: cumulus.yaml says how views are kept"
    shown = shortened(" ".join(found[0].split()), 60)
    return text.problem(found.start(), found.end() - 1, f"`{shown}` belongs to a template", hint, "template")


def find_lookalike(sql: str, file: str, dialect: str | None) -> SyntaxProblem | None:
    """A character that looks like one of SQL, or like none at all; the parser takes it for a part of a name."""
    if sql.isascii():
        return None
    for place, character in enumerate(NO_CODE.sub(lambda match: " " * len(match[0]), sql)):
        if character not in UNSEEN and character not in LOOKALIKES:
            continue
        message, hint = f"{character} is not a character of SQL", f"write {LOOKALIKES.get(character)}"
        if character in UNSEEN:
            message, hint = f"an invisible character, U+{ord(character):04X}", "remove it: it came with a copied text"
        return _Text(sql, file, dialect).problem(place, place, message, hint)
    return None


def find_open_quote(text: _Text) -> SyntaxProblem | None:
    """A text, a name or a comment that nothing ends."""
    for found in OPENED.finditer(text.sql) if not text.tokens else ():
        mark = found["open"] or found["quote"]
        if mark:
            what = {"'": "a text", '"': "a name or a text", "`": "a name"}.get(mark, "a comment")
            end = "*/" if mark == "/*" else mark
            hint = f"close it with {end}" + ("; within a text it is written twice: 'it''s'" if mark == "'" else "")
            newline = text.sql.find("\n", found.start())
            last = (len(text.sql) if newline < 0 else newline) - 1
            return text.problem(found.start(), last, f"{what} that is not closed", hint)
    return None


def find_unbalanced(text: _Text) -> SyntaxProblem | None:
    """A parenthesis without its other half."""
    open_: list[int] = []
    for i, token in enumerate(text.tokens):
        if token.token_type in OPENING:
            open_.append(i)
        elif token.token_type in CLOSING:
            mark = CLOSING[token.token_type]
            if not open_:
                return text.at(i, f"`{mark}` closes nothing", "remove it, or open a parenthesis before it")
            if PARTNER[OPENING[text.tokens[open_[-1]].token_type]] != mark:
                break
            open_.pop()
    if not open_:
        return None
    first = open_[-1]
    mark = OPENING[text.tokens[first].token_type]
    named = (
        first > 0 and text.word(first - 1).isidentifier() and text.tokens[first - 1].end + 1 == text.tokens[first].start
    )
    start = text.tokens[first - named].start
    shown = text.sql[start : text.tokens[first].end + 1]
    hint = f"add `{PARTNER[mark]}` where its arguments end" if named else f"add `{PARTNER[mark]}`"
    return text.problem(start, text.tokens[first].end, f"`{shown}` is not closed", hint)


def _explain_parser(text: _Text, index: int, said: str) -> SyntaxProblem:
    """What the parser says of a token, in other words."""
    at_end = index == len(text.tokens) - 1
    if said.startswith("Found multiple"):
        word = text.word(index).upper()
        hint = "join the conditions by AND" if word in ("WHERE", "HAVING") else "leave one of them out"
        return text.at(index, f"{FULL.get(word, word)} for the second time", hint)
    call = _enclosing_call(text, index) if text.word(index) == ")" else None
    if (MISSING.match(said) or TOO_MANY.match(said)) and call is not None:
        fewer = TOO_MANY.match(said)
        message = f"{text.word(call).upper()} takes {'fewer' if fewer else 'more'} arguments"
        hint = (
            "write what it is about between its parentheses" if text.word(index - 1) == "(" else "see how it is written"
        )
        return text.problem(text.tokens[call].start, text.tokens[index].end, message, hint)
    if said.startswith("Failed to parse any statement following CTE"):
        return text.at(index, "WITH without a query behind it", "WITH a AS (SELECT ..) SELECT .. FROM a")
    if said.startswith("Required keyword: 'high'"):
        return text.at(index, "BETWEEN without AND", "write a BETWEEN low AND high")
    if MISSING.match(said) or (at_end and not said.startswith("Invalid expression")):
        return _explain_missing(text, index, at_end)
    if said.startswith("Expected table name"):
        hint = _hint_at(text, index) or "FROM a table, a view, or (SELECT ..) AS a"
        return text.at(index, f"a table is expected before {text.said(index)}", hint)
    expected = EXPECTED.match(said)
    if expected is not None and expected[1] == "END":
        return text.at(index, "CASE without END", "CASE WHEN condition THEN value ELSE value END")
    if expected is not None and expected[1].isalpha():
        where = f" in {expected[2]}" if expected[2] else ""
        hint = _hint_at(text, index) or f"write {expected[1]} before it"
        return text.at(index, f"{expected[1]} is missing{where} before {text.said(index)}", hint)
    return text.at(index, f"{text.said(index)} is not expected here", _hint_at(text, index) or PARTS)


def _explain_missing(text: _Text, index: int, at_end: bool) -> SyntaxProblem:
    """An operand, or a clause's contents, that is not there."""
    gap = next((i for i in range(1, len(text.tokens)) if (text.word(i - 1) + " " + text.word(i)).upper() in GAPS), None)
    if at_end and gap is not None:
        return text.at(gap, f"an expression is missing before {text.said(gap)}", "complete it, or leave one word out")
    if at_end and text.word(index) not in CLOSING.values():
        word = text.word(index).upper()
        shown = FULL.get(word, word) if word.isidentifier() else text.said(index)
        return text.at(index, f"nothing stands after {shown}", "complete it, or leave it out")
    before = text.word(index - 1)
    hint = _hint_at(text, index) or f"write an expression between {text.said(index - 1)} and {text.said(index)}"
    if before and not before.isidentifier() and text.word(index).upper() in KEYWORDS:
        return text.at(index - 1, f"nothing stands after {text.said(index - 1)}", hint)
    return text.at(index, f"an expression is missing before {text.said(index)}", hint)


def _enclosing_call(text: _Text, closing: int) -> int | None:
    """The name of the call that a parenthesis closes."""
    depth = 0
    for i in range(closing, 0, -1):
        depth += (text.tokens[i].token_type in CLOSING) - (text.tokens[i].token_type in OPENING)
        if depth == 0:
            name = text.word(i - 1).upper()
            return i - 1 if name.isidentifier() and (name not in KEYWORDS or name in ("LEFT", "RIGHT")) else None
    return None


def _hint_at(text: _Text, index: int) -> str:
    """What somebody probably meant who wrote a token that is out of place; nothing where that is not clear."""
    for i in (index - 1, index, index - 2):
        word = text.word(i)
        close = difflib.get_close_matches(word.upper(), KEYWORDS, n=1, cutoff=0.75) if len(word) > 2 else []
        if close and word.upper() not in KEYWORDS and word.upper() != f"{close[0]}S" and word.isidentifier():
            return f"did you mean {close[0]} instead of {word}?"
    before, word = text.word(index - 1), text.word(index)
    if before == "," and word.upper() in KEYWORDS:
        return f"remove the comma before {word.upper()}"
    if word.upper() in CLAUSES:
        later = [w for w in _clauses_before(text, index) if CLAUSES.index(w) > CLAUSES.index(word.upper())]
        if later:
            return f"{FULL.get(word.upper(), word.upper())} comes before {FULL.get(later[0], later[0])}"
    if before.upper() in ("GROUP", "ORDER", "PARTITION") and word.upper() != "BY":
        return f"write {before.upper()} BY"
    if (
        word.isidentifier()
        and word.upper() in KEYWORDS
        and before.upper() in ("SELECT", "AS", ".", "FROM", "JOIN", "BY", ",", "(")
    ):
        quote = "`" if text.dialect in ("mysql", "spark", "bigquery") else '"'
        return f"{word} is a word of SQL: as a name it is written {quote}{word}{quote}"
    if before.upper() in CLAUSES and text.word(index - 2).upper() == "AS":
        return f"a name is missing between AS and {before}"
    if before.upper() == "TOP":
        return "write LIMIT n at the end"
    if word.upper() in SIDES and text.word(index + 1).upper() not in ("JOIN", "OUTER"):
        return f"write {word.upper()} JOIN"
    if word.upper() == "IS":
        return "write IS NULL or IS NOT NULL"
    if "IN" in (text.word(index - 2).upper(), text.word(index - 3).upper()):
        return "write IN (a, b)"
    if _is_value(text, index - 1) and word != ")" and (_is_value(text, index) or word == "("):
        return f"a comma or an operator is missing between {text.said(index - 1)} and {text.said(index)}"
    return ""


def _is_value(text: _Text, index: int) -> bool:
    word = text.word(index)
    return (
        bool(word)
        and (word[0] in "'\"`" or word[0].isalnum() or word[0] == "_" or word == ")")
        and word.upper() not in KEYWORDS
    )


def _clauses_before(text: _Text, index: int) -> list[str]:
    """The clauses of the same SELECT that stand before a token."""
    depth, found = 0, []
    for i in range(index - 1, -1, -1):
        kind, word = text.tokens[i].token_type, text.word(i).upper()
        depth += (kind in CLOSING) - (kind in OPENING)
        if depth < 0:
            break
        if depth == 0 and word in CLAUSES:
            found.append(word)
            if word == "SELECT":
                break
    return found[::-1]


def _find_refused_call(text: _Text, error: Exception) -> SyntaxProblem:
    """The innermost call that the parser cannot take, where it does not say of what it speaks."""
    open_: list[int] = []
    for i, token in enumerate(text.tokens):
        if token.token_type in OPENING:
            open_.append(i)
        elif token.token_type in CLOSING and open_:
            call = open_.pop() - 1
            if call < 0 or not text.word(call).isidentifier():
                continue
            start, end = text.tokens[call].start, token.end
            try:
                sqlglot.parse_one(f"SELECT {text.sql[start : end + 1]}", read=text.dialect)
            except type(error):
                hint = "it takes other arguments, or more, or fewer"
                return text.problem(start, end, f"{text.word(call).upper()} cannot be read", hint)
            except FAILURES:  # another mistake, which is not the one that was reported
                continue
    return text.problem(0, max(0, len(text.sql) - 1), "this cannot be read as SQL", PARTS)


def explain_statements(sql: str, file: str, dialect: str | None) -> SyntaxProblem:
    """What is wrong with a text that is SQL, and not one query."""
    text = _Text(sql, file, dialect)
    known = find_template(text)
    if known is not None:
        return known
    ends = [i for i, t in enumerate(text.tokens) if t.token_type == TokenType.SEMICOLON]
    starts = [i for i in (0, *(e + 1 for e in ends)) if i < len(text.tokens) and i not in ends]
    if not starts:
        what = "there are only comments" if sql.strip() else "the text is empty"
        return text.problem(0, max(0, len(sql.split("\n")[0].rstrip()) - 1), what, "write one SELECT")
    if len(starts) > 1:
        hint = "a view is one query: give the other a file of its own, or name it by WITH"
        return text.at(starts[1], "a second statement", hint)
    word = text.word(starts[0]).upper()
    hint = "a view is its SELECT alone"
    if re.search(r"\bSELECT\b", sql, re.IGNORECASE):
        hint += ": leave out what stands before it"
    elif word == "CREATE":
        hint += "; cumulus.yaml declares the tables"
    problem = text.at(starts[0], f"{word} is not a query", hint)
    problem.kind = "not-a-select"
    return problem
