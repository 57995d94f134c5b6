"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from m3.datatypes import BOOL, INT, STRING, Type
from m3.errors import ProgramError, ValueProblem
from m3.functions.spec import Function, Value, table

__all__ = ["TEXTS", "like_regex", "safe_regex"]

LONGEST = 2**20
BLANKS = " "


def _substring(args: list[Any], _: Type) -> str:
    """1-based start; 0 counts as 1 and a negative start from the end, as in Spark SQL."""
    text, start, length = args if len(args) == 3 else (*args, LONGEST)
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return str(text[max(0, first) : max(0, first + max(0, length))])


def _count(count: int) -> int:
    """The length of a beginning or an end."""
    if count < 0:
        hint = "databases disagree about it; use SUBSTRING"
        raise ValueProblem(f"LEFT or RIGHT with a length of {count}", kind="negative-length", hint=hint)
    return count


def _right(args: list[Any], _: Type) -> str:
    count = _count(args[1])
    return str(args[0][-count:]) if count else ""


def _replace(args: list[Any], _: Type) -> str:
    text, old, new = args
    return str(text.replace(old, new)) if old else str(text)


def _position(args: list[Any], _: Type) -> int:
    text, part, start = args if len(args) == 3 else (*args, 1)
    return 0 if start < 1 else 1 if part == "" else int(text.find(part, start - 1)) + 1


def _within(length: int) -> int:
    if length > LONGEST:
        raise ValueProblem(f"a text of {length} characters", kind="overflow", hint=f"at most {LONGEST}")
    return max(0, length)


def _padding(text: str, length: int, fill: str) -> str:
    missing = max(0, length - len(text))
    return (fill * (missing // len(fill) + 1))[:missing] if fill else ""


def _lpad(args: list[Any], _: Type) -> str:
    text, length, fill = args if len(args) == 3 else (*args, BLANKS)
    return str(_padding(text, _within(length), fill) + text)[: max(0, length)]


def _rpad(args: list[Any], _: Type) -> str:
    text, length, fill = args if len(args) == 3 else (*args, BLANKS)
    return str(text + _padding(text, _within(length), fill))[: max(0, length)]


def _initcap(args: list[Any], _: Type) -> str:
    """Words end at the characters of the second argument; without it, at those that are no letters or digits."""
    text, delimiters = args if len(args) == 2 else (*args, None)
    result, inside = [], False
    for c in text:
        result.append(c.lower() if inside else c.upper())
        inside = c.isalnum() if delimiters is None else c not in delimiters
    return "".join(result)


def _split_part(args: list[Any], _: Type) -> str:
    text, delimiter, index = args
    if index == 0:
        raise ValueProblem("SPLIT_PART at 0", kind="out-of-domain", hint="parts count from 1, or from -1 backwards")
    parts = text.split(delimiter) if delimiter else [text]
    place = index - 1 if index > 0 else len(parts) + index
    return parts[place] if 0 <= place < len(parts) else ""


def _chr(args: list[Any], _: Type) -> str:
    (code,) = args
    if not 1 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueProblem(f"CHR of {code}", kind="out-of-domain", hint="a Unicode code point")
    return chr(code)


def _translate(args: list[Any], _: Type) -> str:
    text, old, new = args
    mapping: dict[int, str] = {}
    for i, c in enumerate(old):
        mapping.setdefault(ord(c), new[i : i + 1])
    return str(text.translate(mapping))


def _concat_ws(args: list[Any], _: Type) -> Value:
    separator, *parts = args
    return None if separator is None else separator.join(p for p in parts if p is not None)


@lru_cache(maxsize=1024)
def like_regex(pattern: str, escape: str = "") -> str:
    r"""A LIKE pattern as a regular expression that must match the whole text, newlines included.

    Args:
        pattern: ``%`` is any text and ``_`` any character.
        escape: a character that makes the next one literal; none by default.

    Raises:
        ValueProblem: the pattern ends in its escape character, or that is not one character.

    Example:
        >>> like_regex("a!%b%", "!")
        'a%b.*'
    """
    if len(escape) > 1:
        raise ValueProblem(f"the escape {escape!r}", kind="bad-pattern", hint="one character")
    parts, characters = [], iter(pattern)
    for c in characters:
        if escape and c == escape:
            literal = next(characters, None)
            if literal is None:
                raise ValueProblem(
                    f"the pattern {pattern!r} ends in its escape", kind="bad-pattern", hint="double the escape"
                )
            parts.append(re.escape(literal))
        else:
            parts.append({"%": ".*", "_": "."}.get(c, re.escape(c)))
    return "".join(parts)


@lru_cache(maxsize=1024)
def _like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    return re.compile(like_regex(pattern, escape), re.DOTALL)


def _like(args: list[Any], _: Type) -> bool:
    text, pattern, escape = args if len(args) == 3 else (*args, "")
    return _like_pattern(pattern, escape).fullmatch(text) is not None


SAFE_TOKEN = re.compile(
    r"""\[\^?(?:\\[\\\]\[^.$*+?(){}|/-]|\\[dw]|[A-Za-z0-9_ .,:;!@#%=<>/'"$*+?(){}|-])+\]  # a class
    |\\[\\\]\[^.$*+?(){}|/-]|\\[dwDW]    # an escape
    |\{[0-9]{1,3}(?:,[0-9]{0,3})?\}       # a count
    |\((?!\?)|[)|*+?.^$]|[^\\\[\](){}|*+?.^$\n]""",
    re.VERBOSE,
)


@lru_cache(maxsize=1024)
def safe_regex(pattern: str) -> str:
    """A regular expression that means the same in Python, Java, RE2 and PostgreSQL for texts without newlines.

    Literals, classes, groups, alternatives, counts, ``^``, ``$`` and backslash d, w, D, W (ASCII); nothing else.

    Raises:
        ProgramError: it has something else, or is not a regular expression.
    """
    parts, place = [], 0
    while place < len(pattern):
        token = SAFE_TOKEN.match(pattern, place)
        if token is None:
            raise _not_portable(pattern, pattern[place:])
        parts.append(r"\Z" if token[0] == "$" else token[0])
        place = token.end()
    if re.search(r"(?:^|[^\\])[*+?}][*+?{]", pattern):
        raise _not_portable(pattern, "a repeated repetition")
    try:
        re.compile("".join(parts), re.ASCII)
    except re.error as error:
        raise _not_portable(pattern, str(error)) from error
    return "".join(parts)


def _not_portable(pattern: str, what: str) -> ProgramError:
    hint = "literals, [classes], (groups), |, *, +, ?, {n,m}, ^, $, \\d and \\w; or use LIKE"
    return ProgramError(f"the regular expression {pattern!r}, at {what!r}", kind="regular-expression", hint=hint)


def _regexp_like(args: list[Any], _: Type) -> bool:
    text, pattern = args
    try:
        return re.search(safe_regex(pattern), text, re.ASCII) is not None
    except ProgramError as error:
        raise ValueProblem(error.message, kind=error.kind, hint=error.hint) from error


TEXT = ("string",)
TEXTS = table(
    Function("upper", "UPPER(a)", TEXT, STRING, lambda args, _: args[0].upper()),
    Function("lower", "LOWER(a)", TEXT, STRING, lambda args, _: args[0].lower()),
    Function("concat", "a || b", TEXT, STRING, lambda args, _: "".join(args), variadic=True),
    Function("concat_ws", "CONCAT_WS(separator, a, b): NULLs are skipped", ("string", "string"), STRING, _concat_ws, optional=1, variadic=True, nulls="first"),
    Function("substring", "SUBSTRING(a, start, length)", ("string", "int", "int"), STRING, _substring, optional=1),
    Function("like", "a LIKE pattern ESCAPE character", ("string", "string", "string"), BOOL, _like, optional=1),
    Function("regexp_like", "a RLIKE pattern", ("string", "string"), BOOL, _regexp_like),
    Function("length", "LENGTH(a) in characters", TEXT, INT, lambda args, _: len(args[0])),
    Function("octet_length", "OCTET_LENGTH(a) in bytes of UTF-8", TEXT, INT, lambda args, _: len(args[0].encode())),
    Function("trim", "TRIM(a, characters)", TEXT * 2, STRING, lambda args, _: args[0].strip(args[1] if len(args) > 1 else BLANKS), optional=1),
    Function("ltrim", "LTRIM(a, characters)", TEXT * 2, STRING, lambda args, _: args[0].lstrip(args[1] if len(args) > 1 else BLANKS), optional=1),
    Function("rtrim", "RTRIM(a, characters)", TEXT * 2, STRING, lambda args, _: args[0].rstrip(args[1] if len(args) > 1 else BLANKS), optional=1),
    Function("replace", "REPLACE(a, old, new)", TEXT * 3, STRING, _replace),
    Function("translate", "TRANSLATE(a, old characters, new characters)", TEXT * 3, STRING, _translate),
    Function("left", "LEFT(a, length)", ("string", "int"), STRING, lambda args, _: args[0][: _count(args[1])]),
    Function("right", "RIGHT(a, length)", ("string", "int"), STRING, _right),
    Function("position", "POSITION(a, part, start): 0 when it is not there", ("string", "string", "int"), INT, _position, optional=1),
    Function("lpad", "LPAD(a, length, fill)", ("string", "int", "string"), STRING, _lpad, optional=1),
    Function("rpad", "RPAD(a, length, fill)", ("string", "int", "string"), STRING, _rpad, optional=1),
    Function("reverse", "REVERSE(a)", TEXT, STRING, lambda args, _: args[0][::-1]),
    Function("repeat", "REPEAT(a, times)", ("string", "int"), STRING, lambda args, _: args[0] * (_within(len(args[0]) * args[1]) and args[1])),
    Function("initcap", "INITCAP(a, delimiters)", TEXT * 2, STRING, _initcap, optional=1),
    Function("starts_with", "STARTS_WITH(a, part)", TEXT * 2, BOOL, lambda args, _: args[0].startswith(args[1])),
    Function("ends_with", "ENDS_WITH(a, part)", TEXT * 2, BOOL, lambda args, _: args[0].endswith(args[1])),
    Function("contains", "CONTAINS(a, part)", TEXT * 2, BOOL, lambda args, _: args[1] in args[0]),
    Function("split_part", "SPLIT_PART(a, delimiter, index)", ("string", "string", "int"), STRING, _split_part),
    Function("ascii", "the code point of the first character", TEXT, INT, lambda args, _: ord(args[0][0]) if args[0] else 0),
    Function("chr", "the character of a code point", ("int",), STRING, _chr),
)  # fmt: skip
