r"""Regular expressions: whether one occurs in a text, which part of it, how often, and what takes its place.

They are matched by RE2, in no more steps than the text's length times the pattern's; the language imports no library for it, so whoever
runs programs hands one over (:func:`search_with`; decision 0045). What patterns may say is checked here (:func:`safe_regex`).

Of several matches the leftmost is taken, and of those that begin there the one that Perl takes: the first alternative, and the most of what
repeats. The functions differ in what they do without a match, and dialects in which of them is meant.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from m3.datatypes import LONGEST_PATTERN, LONGEST_TEXT, Type
from m3.errors import ProgramError, ValueProblem, shortened
from m3.functions.kernel import Compute
from m3.functions.texts import within

__all__ = [
    "KERNELS",
    "Matcher",
    "capture",
    "check_replacement",
    "count_groups",
    "first_place",
    "grows",
    "is_lazy",
    "may_lack",
    "nonempty_regex",
    "safe_regex",
    "search",
    "search_with",
    "takes_longest",
]


class Matcher(Protocol):
    """What matches regular expressions of RE2."""

    def search(self, pattern: str, text: str) -> bool:
        """Whether one occurs in a text."""

    def replace_one(self, pattern: str, text: str, replacement: str, *, first: bool) -> str:
        r"""The text with a replacement for all matches, or the ``first``; ``\1`` is a group, ``\0`` the match, and two backslashes are one."""

    def extract_one(self, pattern: str, text: str) -> str | None:
        """What the group called ``found`` has in the first match, empty where it has no part in it; None without a match."""


#: What matches them.
_matchers: list[Matcher] = []


def search_with(found: Matcher) -> None:
    """Have regular expressions matched by ``found``."""
    _matchers[:] = [found]


def _matcher() -> Matcher:
    if not _matchers:
        hint = "import cumulus_ops, or call m3.functions.search_with"
        raise ProgramError("nothing here matches regular expressions", kind="regular-expression", hint=hint)
    return _matchers[0]


def search(pattern: str, text: str) -> bool:
    """Whether a regular expression occurs in a text.

    Raises:
        ProgramError: nobody has handed over what matches them.
    """
    return _matcher().search(safe_regex(pattern), text)


# -- what they compute ---------------------------------------------------------------------------------------------


def _as_values(compute: Callable[..., Any]) -> Compute:
    """A pattern that is none is an error of the row."""

    def computed(args: list[Any], _: Type) -> Any:
        try:
            return compute(*args)
        except ProgramError as error:
            raise ValueProblem(error.message, kind=error.kind, hint=error.hint) from error

    return computed


def _replace(first: bool) -> Callable[..., str]:
    def compute(text: str, pattern: str, replacement: str) -> str:
        regex = safe_regex(pattern) if first else nonempty_regex(pattern)
        check_replacement(pattern, replacement)
        if grows(len(text), replacement, first=first):
            within(_measure(regex, text, replacement, first), len(text))
        return _matcher().replace_one(regex, text, replacement, first=first)

    return compute


def grows(length: int, replacement: str, *, first: bool) -> bool:
    """Whether a text of a length may become longer than the longest: each part of it is in a group at most once for each time that this is written."""
    parts = PART.findall(replacement)
    groups = sum(1 for p in parts if p[1:].isdigit())
    most = length * (groups + 1) + (len(parts) - groups) * (1 if first else length)
    return most > LONGEST_TEXT


def _measure(regex: str, text: str, replacement: str, first: bool) -> int:
    """The length of the result, without making it: from those of texts with less in a match's place."""

    def length(part: str) -> int:
        return len(_matcher().replace_one(regex, text, part, first=first))

    rest, parts = length(""), PART.findall(replacement)
    matches = length("x") - rest
    groups = [p for p in parts if p[1:].isdigit()]
    return rest + matches * (len(parts) - len(groups)) + sum(length(p) - rest for p in groups)


def _count(text: str, pattern: str) -> int:
    """A character more for each match."""
    return len(_matcher().replace_one(nonempty_regex(pattern), text, r"\0x", first=False)) - len(text)


def _extract(text: str, pattern: str, group: int) -> str | None:
    return _matcher().extract_one(capture(pattern, group), text)


def _instr(text: str, pattern: str) -> int:
    before = _matcher().extract_one(first_place(pattern), text)
    return 0 if before is None else len(before) + 1


KERNELS: Mapping[str, Compute] = {
    "regexp_like": _as_values(lambda text, pattern: search(pattern, text)),
    "regexp_replace": _as_values(_replace(first=False)),
    "regexp_replace_first": _as_values(_replace(first=True)),
    "regexp_extract": _as_values(lambda *args: _extract(*args) or ""),
    "regexp_substr": _as_values(_extract),
    "regexp_count": _as_values(_count),
    "regexp_instr": _as_values(_instr),
}


# -- what patterns and replacements are ----------------------------------------------------------------------------

#: The most that counts within counts may come to, as in RE2: ``(a{30}){30}`` are 900.
MOST_REPEATS = 1_000
#: What opens a group without a number.
UNNUMBERED = "(?:"
#: What a pattern begins with in which upper and lower case are the same.
CASELESS = "(?i)"
#: A part of a replacement: a group, a backslash, or any other character.
PART = re.compile(r"\\[0-9]|\\\\|[^\\]", re.DOTALL)
SAFE_TOKEN = re.compile(
    r"""\[\^?(?:\\[\\\]\[^.$*+?(){}|/-]|\\[dws]|[A-Za-z0-9_ .,:;!@#%=<>/'"$*+?(){}|-]|&(?!&))+\]  # a class; && is an intersection in Java
    |\\[\\\]\[^.$*+?(){}|/-]|\\[dwsDWS]    # an escape
    |(?:\{[0-9]{1,3}(?:,[0-9]{0,3})?\}|[*+?])\??       # a repetition, as few as possible with the question mark
    |\((?!\?)|\(\?:|[)|.^$]|[^\\\[\](){}|*+?.^$\n]""",
    re.VERBOSE,
)


@lru_cache(maxsize=256)
def safe_regex(pattern: str) -> str:
    r"""A regular expression that means the same in RE2, Python, Java and PostgreSQL for texts without newlines; in RE2's words.

    Literals, classes, groups with and without numbers, alternatives, repetitions (lazy ones too), ``^``, ``$`` and backslash d, w, s, D, W, S (ASCII; a vertical tab is
    no blank), and ``(?i)`` at its start; nothing else.

    >>> safe_regex("^a{2,3}$")
    '^a{2,3}\\z'

    Raises:
        ProgramError: it has something else, is not a regular expression, or is longer than :data:`LONGEST_PATTERN` when its
            counts are written out.
    """
    start, tokens = split_regex(pattern)
    return start + "".join(r"\z" if t == "$" else t for t in tokens)


@lru_cache(maxsize=256)
def split_regex(pattern: str) -> tuple[str, list[str]]:
    """A regular expression's ``(?i)`` or nothing, and its tokens.

    Raises:
        ProgramError: as :func:`safe_regex`.
    """
    start = CASELESS if pattern.startswith(CASELESS) else ""
    tokens, place = list[str](), len(start)
    while place < len(pattern):
        token = SAFE_TOKEN.match(pattern, place)
        if token is None:
            raise _not_portable(pattern, pattern[place:])
        tokens.append(token[0])
        place = token.end()
    if any(_repeats(a) and _repeats(b) for a, b in itertools.pairwise(tokens)):
        raise _not_portable(pattern, "a repeated repetition")
    try:
        re.compile(_for_python(tokens), re.ASCII)
    except (re.error, OverflowError) as error:
        raise _not_portable(pattern, str(error)) from error
    _refuse_large(pattern, tokens)
    return start, tokens


def _repeats(token: str) -> bool:
    return token[0] in "*+?{"


def _for_python(tokens: list[str]) -> str:
    return "".join(r"\Z" if t == "$" else t for t in tokens)


def _refuse_large(pattern: str, tokens: list[str]) -> None:
    """Fail if counts make too much of a regular expression."""
    groups = [[0, 0, 1]]  # of each open group: its size so far, that of its last part, and the most repetitions within
    repeats = 1  # within the last part
    for token in tokens:
        group = groups[-1]
        if token in ("(", UNNUMBERED):
            groups.append([0, 0, 1])
        elif token == ")" and len(groups) > 1:
            size, last, repeats = groups.pop()
            groups[-1][0] += groups[-1][1]
            groups[-1][1] = size + last + 1
            groups[-1][2] = max(groups[-1][2], repeats)
        elif token[0] == "{":
            least, comma, most = token.strip("{}?").partition(",")
            times = max(int(most or 0), int(least) + bool(comma and not most))
            repeats *= max(times, 1)
            group[1], group[2] = group[1] * max(times, 1), max(group[2], repeats)
        elif not _repeats(token):
            group[0], group[1], repeats = group[0] + group[1], 1, 1
        if groups[-1][2] > MOST_REPEATS or groups[-1][0] + groups[-1][1] > LONGEST_PATTERN:
            raise _not_portable(pattern, "counts that come to too much")


def _not_portable(pattern: str, what: str) -> ProgramError:
    hint = "literals, [classes], (groups), (?:groups without a number), |, *, +, ?, {n,m}, *?, ^, $, \\d, \\w and \\s; or use LIKE"
    message = f"the regular expression {shortened(pattern)!r}, at {shortened(what)!r}"
    return ProgramError(message, kind="regular-expression", hint=hint)


def count_groups(pattern: str) -> int:
    """The number of groups.

    Raises:
        ProgramError: as :func:`safe_regex`.
    """
    return split_regex(pattern)[1].count("(")


def nonempty_regex(pattern: str) -> str:
    """As :func:`safe_regex`, of a pattern that does not match the empty text: next to another match, databases disagree about that.

    Raises:
        ProgramError: as :func:`safe_regex`, or it matches the empty text.
    """
    regex = safe_regex(pattern)
    if re.search(_for_python(split_regex(pattern)[1]), "") is not None:
        hint = "a pattern of at least one character: + instead of *"
        message = f"all matches of {shortened(pattern)!r}, which may be empty"
        raise ProgramError(message, kind="regular-expression", hint=hint)
    return regex


def capture(pattern: str, group: int) -> str:
    r"""A pattern of RE2 with one group, ``found``: that of a number, or for 0 the whole match.

    >>> capture("a(b)(c)$", 2)
    'a(?:b)(?P<found>c)\\z'

    Raises:
        ProgramError: as :func:`safe_regex`, or there is no such group.
    """
    start, tokens = split_regex(pattern)
    if not 0 <= group <= tokens.count("("):
        message = f"the group {group} of {shortened(pattern)!r}, which has {tokens.count('(')}"
        raise ProgramError(message, kind="regular-expression", hint="groups count from 1; 0 is the whole match")
    written, seen = [], 0
    for token in tokens:
        seen += token == "("
        found = "(?P<found>" if seen == group else "(?:"
        written.append(found if token == "(" else r"\z" if token == "$" else token)
    inner = "".join(written)
    return start + (inner if group else f"(?P<found>{inner})")


def first_place(pattern: str) -> str:
    """A pattern of RE2 whose group ``found`` is what is before the first match.

    Raises:
        ProgramError: as :func:`safe_regex`.
    """
    start, tokens = split_regex(pattern)
    inner = "".join({"(": "(?:", "$": r"\z"}.get(t, t) for t in tokens)
    return f"{start}^(?P<found>(?s:.*?))(?:{inner})"


def may_lack(pattern: str, group: int) -> bool:
    """Whether there may be a match in which a group has no part: there are alternatives, or it may be left out."""
    _, tokens = split_regex(pattern)
    around, seen = list[int](), 0  # the groups that are open
    for place, token in enumerate(tokens):
        if token in ("(", UNNUMBERED):
            around.append(seen + 1)  # the first group within
            seen += token == "("
        elif token == ")":
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            left_out = after.startswith(("*", "?", "{0"))
            if left_out and around[-1] <= group <= seen:  # all that were opened since are within
                return True
            around.pop()
    return bool(group) and "|" in tokens


def takes_longest(pattern: str) -> bool:
    """Whether the first alternative is the longest match, too, as POSIX and PostgreSQL take it: there are no alternatives, only single
    characters repeat, and each as often as it can. (What an earlier repetition takes, a later one could have taken only instead: a match of Perl's can be continued by
    what any longer one has behind it.)
    """
    _, tokens = split_regex(pattern)
    repeated = any(a == ")" and b[0] in "*+?{" for a, b in itertools.pairwise(tokens))
    return "|" not in tokens and not repeated and not is_lazy(pattern)


def is_lazy(pattern: str) -> bool:
    """Whether something repeats as few times as it can."""
    return any(_repeats(token) and len(token) > 1 and token.endswith("?") for token in split_regex(pattern)[1])


def check_replacement(pattern: str, replacement: str) -> None:
    """Fail if a replacement is none, or has a group that its pattern has not.

    Raises:
        ProgramError: of the kind ``regular-expression``.
    """
    groups = count_groups(pattern)
    wrong = "".join(PART.findall(replacement)) != replacement
    if wrong or any(int(p[1]) > groups for p in PART.findall(replacement) if p[1:].isdigit()):
        message = f"the replacement {shortened(replacement)!r} of {shortened(pattern)!r}, which has {groups} groups"
        raise ProgramError(message, kind="regular-expression", hint="groups of the pattern")
