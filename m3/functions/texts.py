"""Functions of text. Characters are code points; positions count from 1.

LIKE is matched here, in no more steps than the text's length times the pattern's.

>>> like("a%b", "a!%_", "!"), like("abcb", "a%b"), like("abc", "a%b")
(True, True, False)
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from m3.datatypes import LONGEST_PATTERN, LONGEST_TEXT, Type
from m3.dictionary.types import Value
from m3.errors import ValueProblem, shortened
from m3.functions.kernel import Compute

__all__ = ["KERNELS", "like", "like_regex", "within"]


BLANKS = " "


def _substring(args: list[Any], _: Type) -> str:
    """1-based start; 0 counts as 1 and a negative start from the end, as in Spark SQL."""
    text, start, length = args if len(args) == 3 else (*args, len(args[0]))
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return str(text[max(0, first) : max(0, first + max(0, length))])


def _substring_signed(args: list[Any], _: Type) -> str:
    """As in DuckDB and SQLite: 0 is the position before the text, and a length below 0 goes backwards from the start."""
    text, start, length = args if len(args) == 3 else (*args, None)
    first = start - 1 if start > 0 else len(text) + start if start < 0 else -1
    if length is None:
        return str(text[max(0, first) :])
    last = first + length
    return str(text[max(0, min(first, last)) : max(0, first, last)])


def _substring_standard(args: list[Any], _: Type) -> str:
    """As in the SQL standard, and PostgreSQL: positions below 1 are before the text, and use up the length."""
    text, start, length = args if len(args) == 3 else (*args, None)
    if length is None:
        return str(text[max(0, start - 1) :])
    if length < 0:
        hint = "guard it with GREATEST(length, 0)"
        raise ValueProblem(f"SUBSTRING with a length of {length}", kind="negative-length", hint=hint)
    return str(text[max(0, start - 1) : max(0, start - 1 + length)])


def _right_signed(args: list[Any], _: Type) -> str:
    text, count = args
    return str(text[max(0, len(text) - count) :] if count > 0 else text[-count:] if count else "")


def _count(count: int) -> int:
    """The length of a beginning or an end."""
    if count < 0:
        hint = "guard it with CASE WHEN, or use SUBSTRING"
        raise ValueProblem(f"LEFT or RIGHT with a length of {count}", kind="negative-length", hint=hint)
    return count


def _right(args: list[Any], _: Type) -> str:
    count = _count(args[1])
    return str(args[0][-count:]) if count else ""


def _replace(args: list[Any], _: Type) -> str:
    """The length is known before the text is made: REPLACE of two REPEATs would be a terabyte."""
    text, old, new = args
    if not old:
        return str(text)
    if len(new) > len(old):
        within(len(text) + text.count(old) * (len(new) - len(old)), len(text))
    return str(text.replace(old, new))


def _repeat(args: list[Any], _: Type) -> str:
    text, times = args
    return str(text * (within(len(text) * times, len(text)) and times))


def _position(args: list[Any], _: Type) -> int:
    text, part, start = args if len(args) == 3 else (*args, 1)
    return 0 if start < 1 else 1 if part == "" else int(text.find(part, start - 1)) + 1


def within(length: int, given: int = 0) -> int:
    """The length of a text to be made, which may be longer than :data:`LONGEST_TEXT` only where a text of the ``given`` length is."""
    if length > max(LONGEST_TEXT, given):
        raise ValueProblem(f"a text of {length} characters", kind="overflow", hint=f"at most {LONGEST_TEXT}")
    return max(0, length)


def _padding(text: str, length: int, fill: str) -> str:
    missing = max(0, length - len(text))
    return (fill * (missing // len(fill) + 1))[:missing] if fill else ""


def _lpad(args: list[Any], _: Type) -> str:
    text, length, fill = args if len(args) == 3 else (*args, BLANKS)
    return str(_padding(text, within(length), fill) + text)[: max(0, length)]


def _rpad(args: list[Any], _: Type) -> str:
    text, length, fill = args if len(args) == 3 else (*args, BLANKS)
    return str(text + _padding(text, within(length), fill))[: max(0, length)]


def _of(characters: list[Any]) -> str:
    """What TRIM takes away, each character once: each of the text is looked for there."""
    return "".join(set(characters[0])) if characters else BLANKS


def _initcap(args: list[Any], _: Type) -> str:
    """Words end at the characters of the second argument; without it, at those that are no letters or digits."""
    text, delimiters = args if len(args) == 2 else (*args, None)
    ends = None if delimiters is None else set(delimiters)
    result, inside = [], False
    for c in text:
        result.append(c.lower() if inside else c.upper())
        inside = c.isalnum() if ends is None else c not in ends
    return "".join(result)


def _find_part(text: str, delimiter: str, number: int) -> str | None:
    parts = text.split(delimiter) if delimiter else [text]
    return parts[number - (number > 0)] if 0 < abs(number) <= len(parts) else None


def _take_part(args: list[Any], _: Type) -> str:
    part = _find_part(*args)
    if part is None:
        hint = "a function that is NULL there: SPLIT_PART, TRY_ELEMENT_AT, SAFE_OFFSET"
        raise ValueProblem(f"no part {args[2]} in {shortened(args[0], 60)!r}", kind="out-of-domain", hint=hint)
    return part


def _before_or_behind(text: str, delimiter: str, number: int) -> str:
    if not delimiter or not number:
        return ""
    parts = text.split(delimiter) if number > 0 else text.rsplit(delimiter)
    return delimiter.join(parts[:number] if number > 0 else parts[number:])


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


def _like(args: list[Any], _: Type) -> bool:
    return like(*args)


def _sha2(args: list[Any], _: Type) -> str:
    text, bits = args
    if bits not in (0, 224, 256, 384, 512):
        raise ValueProblem(f"SHA2 of {bits} bits", kind="out-of-domain", hint="224, 256, 384 or 512")
    return hashlib.new(f"sha{bits or 256}", text.encode()).hexdigest()


#: As in PostgreSQL: the time grows with the product of the lengths.
LONGEST_COMPARED = 255


def _refuse_long(name: str, a: str, b: str) -> None:
    if max(len(a), len(b)) > LONGEST_COMPARED:
        message = f"{name} of {max(len(a), len(b))} characters"
        raise ValueProblem(message, kind="out-of-domain", hint=f"LEFT(text, {LONGEST_COMPARED})")


def _hamming(args: list[Any], _: Type) -> int:
    a, b = args
    if len(a) != len(b):
        message = f"HAMMING of {len(a)} and {len(b)} characters"
        raise ValueProblem(message, kind="out-of-domain", hint="RPAD them to one length, or LEVENSHTEIN")
    return sum(c != d for c, d in zip(a, b, strict=True))


def _jaro(a: str, b: str) -> Fraction:
    """From the characters that both have within half of the longer one's length, each taken once, and how many of them are in another order."""
    _refuse_long("JARO", a, b)
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken: list[int] = []
    mine: list[str] = []
    for i, c in enumerate(a):
        near = (j for j in range(max(0, i - reach), min(len(b), i + reach + 1)) if b[j] == c and j not in taken)
        found = next(near, None)
        if found is not None:
            taken.append(found)
            mine.append(c)
    if not taken:
        return Fraction(0)
    common, moved = len(taken), sum(c != b[j] for c, j in zip(mine, sorted(taken), strict=True)) // 2
    return (Fraction(common, len(a)) + Fraction(common, len(b)) + Fraction(common - moved, common)) / 3


def _jaro_winkler(args: list[Any], _: Type) -> float:
    a, b = args
    found = _jaro(a, b)
    same = next((i for i, (c, d) in enumerate(zip(a[:4], b[:4], strict=False)) if c != d), min(len(a), len(b), 4))
    return float(found + Fraction(same, 10) * (1 - found) if found > Fraction(7, 10) else found)


def _levenshtein(args: list[Any], _: Type) -> int:
    a, b = args
    _refuse_long("LEVENSHTEIN", a, b)
    costs = list(range(len(b) + 1))
    for i, c in enumerate(a, 1):
        before, costs[0] = costs[0], i
        for j, d in enumerate(b, 1):
            before, costs[j] = costs[j], min(before + (c != d), costs[j] + 1, costs[j - 1] + 1)
    return costs[-1]


def _hex(args: list[Any], _: Type) -> str:
    (a,) = args
    return a.encode().hex().upper() if isinstance(a, str) else f"{a & (2**64 - 1):X}"


#: Letter -> the digit of how it sounds: 0 of vowels, which part equal digits; none of H and W, which do not.
SOUNDS: Mapping[str, str] = dict(zip("ABCDEFGIJKLMNOPQRSTUVXYZ", "012301202245501262301202", strict=True))


def _soundex(args: list[Any], _: Type) -> str:
    word = str(args[0])
    letters = [chr(ord(c) - 32) if "a" <= c <= "z" else c for c in word]
    if not letters or not "A" <= letters[0] <= "Z":
        return word
    found, last = letters[0], SOUNDS.get(letters[0], "")
    for c in letters[1:]:
        digit = last if c in "HW" else SOUNDS.get(c, "0")
        if digit not in ("0", last):
            found += digit
        last = digit
    return found[:4].ljust(4, "0")


KERNELS: Mapping[str, Compute] = {
    "hex": _hex,
    "bin": lambda args, _: f"{args[0] & (2**64 - 1):b}",
    "base64": lambda args, _: base64.b64encode(args[0].encode()).decode(),
    "soundex": _soundex,
    "md5": lambda args, _: hashlib.md5(args[0].encode(), usedforsecurity=False).hexdigest(),
    "sha1": lambda args, _: hashlib.sha1(args[0].encode(), usedforsecurity=False).hexdigest(),
    "sha2": _sha2,
    "crc32": lambda args, _: zlib.crc32(args[0].encode()),
    "hamming": _hamming,
    "jaro": lambda args, _: float(_jaro(*args)),
    "jaro_winkler": _jaro_winkler,
    "levenshtein": _levenshtein,
    "upper": lambda args, _: args[0].upper(),
    "lower": lambda args, _: args[0].lower(),
    "concat": lambda args, _: "".join(args),
    "concat_ws": _concat_ws,
    "substring": _substring,
    "substring_signed": _substring_signed,
    "substring_standard": _substring_standard,
    "like": _like,
    "length": lambda args, _: len(args[0]),
    "octet_length": lambda args, _: len(args[0].encode()),
    "trim": lambda args, _: args[0].strip(_of(args[1:])),
    "ltrim": lambda args, _: args[0].lstrip(_of(args[1:])),
    "rtrim": lambda args, _: args[0].rstrip(_of(args[1:])),
    "replace": _replace,
    "translate": _translate,
    "left": lambda args, _: args[0][: _count(args[1])],
    "right": _right,
    "left_signed": lambda args, _: args[0][: args[1]],
    "right_signed": _right_signed,
    "position": _position,
    "lpad": _lpad,
    "rpad": _rpad,
    "reverse": lambda args, _: args[0][::-1],
    "repeat": _repeat,
    "initcap": _initcap,
    "starts_with": lambda args, _: args[0].startswith(args[1]),
    "ends_with": lambda args, _: args[0].endswith(args[1]),
    "contains": lambda args, _: args[1] in args[0],
    "split_part": _split_part,
    "find_part": lambda args, _: _find_part(*args),
    "take_part": _take_part,
    "substring_index": lambda args, _: _before_or_behind(*args),
    "count_parts": lambda args, _: len(args[0].split(args[1])) if args[1] else 1,
    "ascii": lambda args, _: ord(args[0][0]) if args[0] else 0,
    "chr": _chr,
}


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
        # Shift-and: bit i of ``state`` says that the last i + 1 characters of the text are the first i + 1
        # of the piece. So ``_`` costs no second look at the text, whatever it holds.
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
