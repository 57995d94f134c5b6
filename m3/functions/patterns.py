r"""Patterns of texts: LIKE, and regular expressions. Neither takes more steps than the text's length times the pattern's.

LIKE is matched here. Regular expressions are matched by RE2, which does not backtrack; the language imports no library for it, so
whoever runs programs hands one over (:func:`search_with`; decision 0045). What patterns may say is checked here (:func:`safe_regex`).

>>> like("a%b", "a!%_", "!"), like("abcb", "a%b"), like("abc", "a%b")
(True, True, False)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from m3.datatypes import LONGEST_PATTERN
from m3.errors import ProgramError, ValueProblem, shortened

__all__ = ["like", "like_regex", "safe_regex", "search", "search_with"]

#: The most that counts within counts may come to, as in RE2: ``(a{30}){30}`` are 900.
MOST_REPEATS = 1_000

Search = Callable[[str, str], bool]
#: Whether a regular expression occurs in a text.
_searches: list[Search] = []


def search_with(found: Search) -> None:
    """Have regular expressions matched by ``found``, given a regular expression of RE2 and a text: does it occur there?"""
    _searches[:] = [found]


def search(pattern: str, text: str) -> bool:
    """Whether a regular expression occurs in a text.

    Raises:
        ProgramError: nobody has handed over what matches them.
    """
    if not _searches:
        hint = "import cumulus_ops, or call m3.functions.search_with"
        raise ProgramError("nothing here matches regular expressions", kind="regular-expression", hint=hint)
    return _searches[0](safe_regex(pattern), text)


# -- LIKE ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """What stands between two ``%``: characters, None for any one (``_``). ``literal``: the same as a text, if there is no None."""

    characters: tuple[str | None, ...]
    literal: str | None

    def at(self, text: str, place: int) -> bool:
        """Whether the text has it at a place."""
        if self.literal is not None:
            return text.startswith(self.literal, place)
        here = text[place : place + len(self.characters)]
        return all(c is None or c == h for c, h in zip(self.characters, here, strict=True))

    def find(self, text: str, start: int, end: int) -> int:
        """The first place between two at which the text has all of it; -1 if there is none."""
        if self.literal is not None:
            return text.find(self.literal, start, end)
        return self._find_any(text, start, end)

    def _find_any(self, text: str, start: int, end: int) -> int:
        """Shift-and: bit i of ``state`` says that the last i + 1 characters of the text are the first i + 1 of the piece. So ``_``
        costs no second look at the text, whatever it holds."""
        anything = sum(1 << i for i, c in enumerate(self.characters) if c is None)
        allowed: dict[str, int] = {}
        for i, c in enumerate(self.characters):
            if c is not None:
                allowed[c] = allowed.get(c, anything) | 1 << i
        state, whole = 0, 1 << (len(self.characters) - 1)
        for place in range(start, end):
            state = (state << 1 | 1) & allowed.get(text[place], anything)
            if state & whole:
                return place + 1 - len(self.characters)
        return -1


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Whether a text is like a pattern: the first place of each piece leaves the most room to those behind it.

    Raises:
        ValueProblem: of the kind ``bad-pattern``, see :func:`like_regex`.
    """
    first, *others = _pieces(pattern, escape)
    if not others:
        return len(first.characters) == len(text) and first.at(text, 0)
    *inner, last = others
    place, end = len(first.characters), len(text) - len(last.characters)
    if place > end or not first.at(text, 0) or not last.at(text, end):
        return False
    for piece in inner:
        place = piece.find(text, place, end)
        if place < 0:
            return False
        place += len(piece.characters)
    return True


@lru_cache(maxsize=256)
def _pieces(pattern: str, escape: str) -> tuple[_Piece, ...]:
    pieces: list[list[str | None]] = [[]]
    for c, literal in _characters(pattern, escape):
        if c == "%" and not literal:
            if pieces[-1] or len(pieces) == 1:  # %% is %
                pieces.append([])
        else:
            pieces[-1].append(None if c == "_" and not literal else c)
    return tuple(_Piece(tuple(p), None if None in p else "".join(c or "" for c in p)) for p in pieces)


def _characters(pattern: str, escape: str) -> Iterator[tuple[str, bool]]:
    """The characters of a LIKE pattern, and whether each stands for itself by its escape."""
    if len(escape) > 1:
        raise ValueProblem(f"the escape {shortened(escape)!r}", kind="bad-pattern", hint="one character")
    if len(pattern) > LONGEST_PATTERN:
        raise ValueProblem(
            f"a pattern of {len(pattern)} characters", kind="bad-pattern", hint=f"at most {LONGEST_PATTERN}"
        )
    characters = iter(pattern)
    for c in characters:
        if not escape or c != escape:
            yield c, False
            continue
        literal = next(characters, None)
        if literal is None:
            message = f"the pattern {shortened(pattern)!r} ends in its escape"
            raise ValueProblem(message, kind="bad-pattern", hint="double the escape")
        yield literal, True


@lru_cache(maxsize=256)
def like_regex(pattern: str, escape: str = "") -> str:
    r"""A LIKE pattern as a regular expression that must match the whole text, newlines included.

    Args:
        pattern: ``%`` is any text and ``_`` any character.
        escape: a character that makes the next one literal; none by default.

    Raises:
        ValueProblem: the pattern ends in its escape character, that is not one character, or the pattern is too long.

    Example:
        >>> like_regex("a!%b%", "!")
        'a%b.*'
    """
    wild = {"%": ".*", "_": "."}
    return "".join(
        re.escape(c) if literal else wild.get(c, re.escape(c)) for c, literal in _characters(pattern, escape)
    )


# -- regular expressions -------------------------------------------------------------------------------------------

SAFE_TOKEN = re.compile(
    r"""\[\^?(?:\\[\\\]\[^.$*+?(){}|/-]|\\[dw]|[A-Za-z0-9_ .,:;!@#%=<>/'"$*+?(){}|-])+\]  # a class
    |\\[\\\]\[^.$*+?(){}|/-]|\\[dwDW]    # an escape
    |\{[0-9]{1,3}(?:,[0-9]{0,3})?\}       # a count
    |\((?!\?)|[)|*+?.^$]|[^\\\[\](){}|*+?.^$\n]""",
    re.VERBOSE,
)


@lru_cache(maxsize=256)
def safe_regex(pattern: str) -> str:
    r"""A regular expression that means the same in RE2, Python, Java and PostgreSQL for texts without newlines; in RE2's words.

    Literals, classes, groups, alternatives, counts, ``^``, ``$`` and backslash d, w, D, W (ASCII); nothing else.

    >>> safe_regex("^a{2,3}$")
    '^a{2,3}\\z'

    Raises:
        ProgramError: it has something else, is not a regular expression, or is longer than :data:`LONGEST_PATTERN` when its
            counts are written out.
    """
    tokens, place = list[str](), 0
    while place < len(pattern):
        token = SAFE_TOKEN.match(pattern, place)
        if token is None:
            raise _not_portable(pattern, pattern[place:])
        tokens.append(token[0])
        place = token.end()
    if re.search(r"(?:^|[^\\])[*+?}][*+?{]", pattern):
        raise _not_portable(pattern, "a repeated repetition")
    try:
        re.compile("".join(r"\Z" if t == "$" else t for t in tokens), re.ASCII)
    except (re.error, OverflowError) as error:
        raise _not_portable(pattern, str(error)) from error
    _refuse_large(pattern, tokens)
    return "".join(r"\z" if t == "$" else t for t in tokens)


def _refuse_large(pattern: str, tokens: list[str]) -> None:
    """Fail if counts make too much of a regular expression."""
    groups = [[0, 0, 1]]  # of each open group: its size so far, that of its last part, and the most repetitions within
    repeats = 1  # within the last part
    for token in tokens:
        group = groups[-1]
        if token == "(":
            groups.append([0, 0, 1])
        elif token == ")" and len(groups) > 1:
            size, last, repeats = groups.pop()
            groups[-1][0] += groups[-1][1]
            groups[-1][1] = size + last + 1
            groups[-1][2] = max(groups[-1][2], repeats)
        elif token[0] == "{":
            least, _, most = token[1:-1].partition(",")
            times = max(int(most or 0), int(least) + (token[-2] == ","))
            repeats *= max(times, 1)
            group[1], group[2] = group[1] * max(times, 1), max(group[2], repeats)
        elif token not in ("*", "+", "?"):
            group[0], group[1], repeats = group[0] + group[1], 1, 1
        if groups[-1][2] > MOST_REPEATS or groups[-1][0] + groups[-1][1] > LONGEST_PATTERN:
            raise _not_portable(pattern, "counts that come to too much")


def _not_portable(pattern: str, what: str) -> ProgramError:
    hint = "literals, [classes], (groups), |, *, +, ?, {n,m}, ^, $, \\d and \\w; or use LIKE"
    message = f"the regular expression {shortened(pattern)!r}, at {shortened(what)!r}"
    return ProgramError(message, kind="regular-expression", hint=hint)
