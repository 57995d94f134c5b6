"""Formats of dates: the pattern languages of dialects, as one.

A **format** is text with codes, as strftime has them: ``%Y-%m-%d``. A code may have modifiers and a width before its letter:

====== =============================================== ======== ===========================================
code   stands for                                      modifier means
====== =============================================== ======== ===========================================
``Y``  year, four digits                               ``-``    digits without zeros in front
``y``  its last two digits                             ``^``    upper case
``G``  year that the ISO week belongs to               ``_``    lower case
``m``  month                                           ``+``    filled up with spaces, to nine characters
``d``  day                                             ``=``    read: exactly so many digits
``H``  hour, 00 to 23                                  ``~``    a space for a zero in front
``I``  hour, 01 to 12
``M``  minute                                          ``%3f`` has three digits. Two digits of a year that is
``S``  second                                          read are those of 1969 to 2068, with ``%70y`` of 1970 to
``f``  fraction of the second, six digits              2069, with ``%0y`` of 2000 to 2099.
``p``  AM or PM
``j``  day of the year, three digits
``q``  quarter
``V``  ISO week, two digits
``u``  day of the week, 1 for Monday; ``w`` 0 for Sunday, ``e`` 1 for Sunday
``a``  first three letters of the weekday's name; ``A`` all of them; ``b`` and ``B`` of the month's
``t``  a space; as many as there are, when it is read
====== =============================================== ======== ===========================================

``%%`` is a percent sign; everything else stands for itself.

>>> translate("FMMonth DD, YYYY HH12:MI am", "postgres"), translate("MMM d, yyyy 'at' h:mm a", "spark")
('%B %d, %Y %I:%M %_p', '%b %-d, %Y at %-I:%=M %p')
>>> translate("%A %-d %b, %I:%M", "mysql")
'%A%t%-d%t%b,%t%I:%M'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m3.errors import ProgramError

__all__ = ["DATE_CODES", "TIME_CODES", "Code", "check_readable", "has_time", "split_format", "translate"]

CODE = re.compile(r"%([-^_+=~]*)([0-9]*)([A-Za-z%])|([^%]+)")
#: Codes of a date, and of a time of day.
DATE_CODES, TIME_CODES = "YyGmdjqVuweaAbB", "HIMSfp"
#: Codes that are read, too.
READ = "YymdHIMSfpjaAbB"
HINT = "years, months, days, hours, minutes, seconds, fractions, AM and PM, names of months and days, days of the year"


@dataclass(frozen=True)
class Code:
    """A part of a format: a letter with its modifiers and width, or, without a letter, a text that stands for itself."""

    letter: str = ""
    modifiers: str = ""
    width: str = ""
    text: str = ""


def split_format(written: str) -> list[Code]:
    """The parts of a format.

    Raises:
        ValueError: it has a code that does not exist; the argument is that code.
    """
    parts, end = [], 0
    for found in CODE.finditer(written):
        modifiers, width, letter, text = found.groups()
        if found.start() != end or (letter and letter not in DATE_CODES + TIME_CODES + "t%"):
            break
        end = found.end()
        parts.append(Code(text=text or "%") if letter in (None, "%") else Code(letter, modifiers, width))
    if end != len(written):
        raise ValueError(written[end : end + 2])
    return parts


def has_time(written: str) -> bool:
    """Whether a format has parts of a time of day."""
    return any(p.letter and p.letter in TIME_CODES for p in split_format(written))


def check_readable(written: str) -> None:
    """Fail where no text can be read by a format.

    Raises:
        ValueError: it has a code that cannot be read, or one twice, or no year; the argument says so.
    """
    letters = [p.letter for p in split_format(written) if p.letter and p.letter != "t"]
    wrong = next((c for i, c in enumerate(letters) if c not in READ or c in letters[:i]), None)
    if wrong is not None:
        raise ValueError(f"%{wrong}" if wrong not in READ else f"%{wrong} twice")
    if not set(letters) & {"Y", "y"}:
        raise ValueError("no year")


#: PostgreSQL's and Snowflake's words. Names of months and days are filled up to nine characters in PostgreSQL.
WORDS: Mapping[str, str] = {
    "YYYY": "%Y", "yyyy": "%Y", "YY": "%70y", "yy": "%70y", "MM": "%m", "mm": "%m", "DD": "%d", "dd": "%d", "DDD": "%j", "ddd": "%j", "HH24": "%H", "hh24": "%H",
    "HH12": "%I", "hh12": "%I", "MI": "%M", "mi": "%M", "SS": "%S", "ss": "%S", "MON": "%^b", "Mon": "%b", "mon": "%_b",
    "AM": "%p", "PM": "%p", "am": "%_p", "pm": "%_p", "DY": "%^a", "Dy": "%a", "dy": "%_a", **{f"FF{n}": f"%{n}f" for n in range(1, 7)}, **{f"ff{n}": f"%{n}f" for n in range(1, 7)},
}  # fmt: skip
POSTGRES: Mapping[str, str] = {
    **WORDS, "HH": "%I", "hh": "%I", "MONTH": "%+^B", "Month": "%+B", "month": "%+_B", "DAY": "%+^A", "Day": "%+A", "day": "%+_A",
    "MS": "%3f", "ms": "%3f", "US": "%f", "us": "%f", "Q": "%q", "q": "%q", "IYYY": "%G", "iyyy": "%G", "IW": "%V", "iw": "%V", "ID": "%u", "id": "%u", "D": "%e", "d": "%e",
    "TMMonth": "%B", "TMMon": "%b", "TMDay": "%A", "TMDy": "%a",
    "FMMM": "%-m", "FMDD": "%-d", "FMDDD": "%-j", "FMHH24": "%-H", "FMHH12": "%-I", "FMHH": "%-I", "FMMI": "%-M", "FMSS": "%-S", "FMYYYY": "%-Y",
    "FMMonth": "%B", "FMMONTH": "%^B", "FMmonth": "%_B", "FMDay": "%A", "FMDAY": "%^A", "FMday": "%_A",
}  # fmt: skip
SNOWFLAKE: Mapping[str, str] = {
    **{k.upper(): v.replace("^", "").replace("_", "") for k, v in WORDS.items() if k != "DDD" and k.upper() == k}, "MMMM": "%B", "FF": "%f000", "FF9": "%f000",
}  # fmt: skip
#: Java's letters, and those of .NET.
JAVA: Mapping[str, str] = {
    "yyyy": "%Y", "y": "%-Y", "yy": "%0y", "MMMM": "%B", "MMM": "%b", "MM": "%=m", "M": "%-m", "dd": "%=d", "d": "%-d", "HH": "%=H", "H": "%-H",
    "hh": "%=I", "h": "%-I", "mm": "%=M", "m": "%-M", "ss": "%=S", "s": "%-S", **{"S" * n: f"%{n}f" for n in range(1, 7)}, "a": "%p",
    "DDD": "%=j", "D": "%-j", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A", "q": "%q", "Q": "%q", "LLLL": "%B", "LLL": "%b", "LL": "%=m", "L": "%-m",
    "uuuu": "%Y",
}  # fmt: skip
JODA: Mapping[str, str] = {**{k: v.replace("=", "") for k, v in JAVA.items() if k[0] not in "LuqQ"}, "yy": "%69y"}
DOTNET: Mapping[str, str] = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dddd": "%A", "ddd": "%a", "dd": "%d", "d": "%-d", "HH": "%H", "H": "%-H",
    "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S", "tt": "%p", **{"f" * n: f"%{n}f" for n in range(1, 7)},
}  # fmt: skip
#: Codes of strftime -> ours, by dialect; those of MySQL and Trino as sqlglot has them, which is as C.
C: Mapping[str, str] = {
    **{c: f"%{c}" for c in "YymdHIMSfpjaAbB%"}, **{f"-{c}": f"%-{c}" for c in "mdHIMSjy"}, "F": "%Y-%m-%d", "T": "%H:%M:%S", "D": "%m/%d/%y", "R": "%H:%M",
}  # fmt: skip
DUCKDB: Mapping[str, str] = {
    **{k: v for k, v in C.items() if k not in "FTDR"},
    "g": "%3f",
    "n": "%f000",
    "w": "%w",
    "u": "%u",
    "V": "%V",
    "G": "%G",
}
MYSQL: Mapping[str, str] = {**{k: v for k, v in C.items() if k not in "FTDR"}, "y": "%70y", "w": "%w"}
TRINO: Mapping[str, str] = {**MYSQL, "y": "%70y"}
BIGQUERY: Mapping[str, str] = {
    **C, "-d": "%~d", "E3S": "%S.%3f", "E6S": "%S.%f", "E1S": "%S.%1f", "E2S": "%S.%2f", "E4S": "%S.%4f", "E5S": "%S.%5f", "Q": "%q", "V": "%V", "G": "%G", "u": "%u", "w": "%w",
}  # fmt: skip
STRFTIME: Mapping[str, Mapping[str, str]] = {"duckdb": DUCKDB, "mysql": MYSQL, "trino": TRINO, "bigquery": BIGQUERY}
#: Dialect -> what sqlglot makes of its words, back; where several words mean one, one of them.
WRITTEN: Mapping[str, Mapping[str, str]] = {
    "postgres": {
        "%u": "D", "%d": "DD", "%j": "DDD", "%-d": "FMDD", "%-j": "FMDDD", "%-I": "FMHH12", "%-H": "FMHH24", "%-M": "FMMI", "%-m": "FMMM", "%-S": "FMSS", "%I": "HH12", "%H": "HH24",
        "%V": "IW", "%G": "IYYY", "%M": "MI", "%m": "MM", "%z": "OF", "%S": "SS", "%A": "TMDay", "%a": "TMDy", "%b": "TMMon", "%B": "TMMonth", "%Aenlower": "day", "%aenlower": "dy",
        "%Z": "TZ", "%f": "US", "%U": "WW", "%y": "YY", "%Ythree": "YYY", "%Y": "YYYY",
    },
    "spark": {
        "%Y": "yyyy", "%y": "yy", "%B": "MMMM", "%b": "MMM", "%mstrict": "MM", "%-m": "M", "%dstrict": "dd", "%-d": "d", "%Hstrict": "HH", "%-H": "H", "%Istrict": "hh", "%-I": "h",
        "%Mstrict": "mm", "%-M": "m", "%Sstrict": "ss", "%-S": "s", "%f": "SSSSSS", "%p": "a", "%j": "DD", "%-j": "D", "%a": "E", "%A": "EEEE", "%Z": "z", "%z": "Z",
    },
    "tsql": {
        "%Y": "yyyy", "%y": "yy", "%B": "MMMM", "%b": "MMM", "%m": "MM", "%-m": "M", "%d": "dd", "%-d": "d", "%H": "HH", "%-H": "H", "%I": "hh", "%h": "hour", "%-I": "h", "%M": "mm",
        "%-M": "m", "%S": "ss", "%-S": "s", "%f": "ffffff", "%A": "dddd", "%j": "dayofyear", "%W": "week", "%V": "isowk", "%w": "dw",
    },
    "snowflake": {
        "%Y": "YYYY", "%y": "YY", "%B": "MMMM", "%b": "MON", "%m": "MM", "%d": "DD", "%a": "DY", "%H": "HH24", "%I": "HH12", "%M": "MI", "%S": "SS", "%f": "FF6", "%p": "AM",
        "%f_nine": "FF", **{f"%f_{name}": f"FF{n}" for n, name in enumerate(("zero", "one", "two", "three", "four", "five"))}, "%z": "TZHTZM", "%:z": "TZH:TZM", "%-z": "TZH",
    },
}  # fmt: skip
#: Dialect -> its words; whether a run of one letter is one word; whether case says nothing.
LANGUAGES: Mapping[str, tuple[Mapping[str, str], bool]] = {
    "postgres": (POSTGRES, False), "snowflake": (SNOWFLAKE, False), "spark": (JAVA, True), "tsql": (DOTNET, True), "joda": (JODA, True),
}  # fmt: skip
LITERALS: Mapping[str, str] = {"spark": "'", "joda": "'", "tsql": "'", "postgres": '"', "snowflake": '"'}


#: Formats that TO_CHAR and TO_NUMBER have for numbers: ``FM999,990.00``, ``0000``, ``S9.9EEEE``.
OF_NUMBERS = re.compile(r"(FM|[SL$]|MI|PR)*[09][09,.DGVX]*(EEEE|[SL$]|MI|PR|TH)*", re.IGNORECASE)


def translate(pattern: str, dialect: str | None) -> str:
    """A pattern of a dialect, as sqlglot hands it over, as a format.

    Args:
        pattern: for most dialects sqlglot has turned it into codes of strftime, which are turned back.
        dialect: sqlglot's name of the view's dialect, or ``joda`` for Trino's functions that take Joda's patterns.

    Raises:
        ProgramError: a part of it means nothing here; the error says which.
    """
    if dialect is None or dialect not in LANGUAGES:
        return _translate_codes(pattern, STRFTIME.get(dialect or "", C), dialect)
    if OF_NUMBERS.fullmatch(pattern.strip()):
        hint = "CAST(a AS VARCHAR) writes a number, ROUND and LPAD shape it"
        raise ProgramError(f"{pattern!r}, a format of numbers", kind="unsupported-expression", hint=hint)
    words, runs = LANGUAGES[dialect]
    pattern = _write_back(pattern, WRITTEN.get(dialect, {}))
    parts: list[str] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == LITERALS[dialect]:
            text, i = _read_literal(pattern, i, c)
            parts.append(text.replace("%", "%%"))
            continue
        word = _read_word(pattern, i, words, runs, fold=dialect == "snowflake")
        if not word and c.isalpha():
            raise _refusal(
                pattern[i : i + _run(pattern, i)] if runs else re.findall("[A-Za-z]+", pattern[i:])[0], pattern
            )
        parts.append(words[word.upper() if dialect == "snowflake" else word] if word else c.replace("%", "%%"))
        i += len(word) or 1
    return "".join(parts)


def _translate_codes(pattern: str, codes: Mapping[str, str], dialect: str | None) -> str:
    parts = []
    spaces = "%t" if dialect in ("duckdb", "mysql") else " "
    for found in re.finditer(r"%(E[0-9*]S|-?[A-Za-z%]|.?)|[^%]+", pattern):
        code = found[1]
        if code is None:
            if dialect is None and re.search("[A-Za-z]", found[0]):
                raise _refusal(found[0], pattern)
            parts.append(found[0].replace(" ", spaces))
        elif code in codes:
            parts.append(codes[code])
        else:
            raise _refusal(found[0], pattern)
    return "".join(parts)


def _write_back(pattern: str, words: Mapping[str, str]) -> str:
    longest: Sequence[str] = sorted(words, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda code: words[code[0]], pattern) if longest else pattern


def _read_literal(pattern: str, start: int, quote: str) -> tuple[str, int]:
    """A text in quotes, of which two are one; and where it ends."""
    if pattern[start : start + 2] == quote * 2:
        return quote, start + 2
    end = pattern.find(quote, start + 1)
    if end < 0:
        raise _refusal(quote, pattern)
    return pattern[start + 1 : end], end + 1


def _run(pattern: str, start: int) -> int:
    return len(pattern[start:]) - len(pattern[start:].lstrip(pattern[start]))


def _read_word(pattern: str, start: int, words: Mapping[str, str], runs: bool, fold: bool) -> str:
    """The word at a place; nothing if there is none."""
    if runs:
        word = pattern[start : start + _run(pattern, start)]
        return word if word in words else ""
    rest = pattern[start : start + 8]
    found = (w for w in sorted(words, key=len, reverse=True) if (rest.upper() if fold else rest).startswith(w))
    word = next(found, "")
    following = pattern[start + len(word) : start + len(word) + 2]
    if word and not fold and following.lower() == "th":
        raise _refusal(word + following, pattern)
    return pattern[start : start + len(word)]


def _refusal(part: str, pattern: str) -> ProgramError:
    return ProgramError(f"{part!r} in the format {pattern!r} of a date", kind="bad-format", hint=HINT)
