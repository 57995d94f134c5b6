"""Regular expressions: in DuckDB's dialect they are what DuckDB says, in the others what their manuals say; wrong rules are noticed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import product

import duckdb
import pytest

import m3.sql.regexes
from m3 import CompileError, compile_views
from m3.datatypes import STRING
from m3.errors import M3Error
from m3.functions import may_lack, takes_longest
from m3.program import Column, Relation
from m3.sql.functions import read_constant
from m3.sql.places import Source

TEXTS = ("", "aabab", "a-b--日本aB", "b\\a$", "a\nb", "a \t-\vb 1_é")
PATTERNS = (
    "^a",
    "b$",
    "a|ab",
    "(a)(b)?",
    "[^a-z0-9]+",
    "(?i)B",
    "(.)b",
    "a.*?b",
    "a+?",
    "(a{1,2}?)(.??)b",
    r"\s+",
    r"[\s-]\S",
    r"\w+\W",
    "[*+]",
)
MAYBE_EMPTY = ("a*", "$", "(x|)")


def expressions(texts: tuple[str, ...]) -> Iterator[str]:
    """What is asked of both."""
    for text, pattern in product(texts, (*PATTERNS, *MAYBE_EMPTY)):
        groups = pattern.replace("(?i)", "").count("(")
        for new in ("-", r"<\0>\\") + ((r"\1\1",) if groups else ()):
            yield f"REGEXP_REPLACE('{text}', '{pattern}', '{new}')"
            if pattern in PATTERNS:
                yield f"REGEXP_REPLACE('{text}', '{pattern}', '{new}', 'g')"
                yield f"REGEXP_REPLACE('{text}', '{pattern}', '{new}', 'gi')"
        for group in range(groups + 1):
            yield f"REGEXP_EXTRACT('{text}', '{pattern}', {group})"
            yield f"REGEXP_EXTRACT('{text}', '{pattern}', {group}, 'i')"
        yield f"REGEXP_EXTRACT('{text}', '{pattern}')"
        yield f"REGEXP_MATCHES('{text}', '{pattern}')"
        yield f"REGEXP_FULL_MATCH('{text}', '{pattern}')"
        yield f"REGEXP_MATCHES('{text}', '{pattern}', 'i')"


def ours(sql: str, dialect: str | None) -> object:
    """The value of an expression; the error's message if it has none."""
    source = Source(f"select {sql}", "v")
    try:
        return read_constant(source.parse(dialect).expressions[0], source)
    except M3Error as error:
        return error.message


def differing(texts: tuple[str, ...]) -> list[tuple[str, object, object]]:
    """Expressions that are something else in DuckDB."""
    asked = list(expressions(texts))
    theirs = duckdb.connect().execute(f"SELECT {', '.join(asked)}").fetchone()
    assert theirs is not None
    pairs = ((sql, ours(sql, "duckdb"), value) for sql, value in zip(asked, theirs, strict=True))
    return [found for found in pairs if found[1] != found[2]]


def test_regular_expressions_are_duckdbs() -> None:
    assert differing(TEXTS) == []


@pytest.mark.parametrize("rule", ["REPLACE_FIRST", "EMPTY_WITHOUT_MATCH"])
def test_a_wrong_rule_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(m3.sql.regexes, rule, ())
    assert differing(TEXTS[1:2])


DOCUMENTED = [
    ("postgres", r"regexp_replace('Thomas', '.[mN]a.', 'M')", "ThM"),
    ("postgres", r"regexp_replace('foobarbaz', 'b..', 'X')", "fooXbaz"),
    ("postgres", r"regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g')", "fooXarYXazY"),
    ("postgres", r"regexp_replace('ab', 'b', '[\&]')", "a[b]"),
    ("duckdb", r"regexp_replace('http://www.foo.bar/x', '^https?://(?:www\.)?([^/]+)/.*$', '\1')", "foo.bar"),
    ("spark", "regexp_extract('abac', '(?:ab)+(a.)', 1)", "ac"),
    ("postgres", "substring('Thomas' from '...$')", "mas"),
    ("postgres", "substring('foobar' from 'o(.)b')", "o"),
    ("postgres", "substring('foobar' from 'z')", None),
    ("postgres", "regexp_substr('ABCDEF', 'c(.)(..)', 1, 1, 'i')", "CDEF"),
    ("postgres", "regexp_count('ABCABCAXYaxy', 'A.')", 3),
    ("postgres", "regexp_instr('ABCDEF', 'c(.)(..)', 1, 1, 0, 'i')", 3),
    ("spark", "regexp_replace('100-200', '([0-9]+)', 'num')", "num-num"),
    ("spark", r"regexp_replace('100-200', '(1)([0-9]+)', '$2\\$$1')", "00$1-200"),
    ("spark", "regexp_extract('100-200', '([0-9]+)-([0-9]+)')", "100"),
    ("spark", "regexp_extract('100-200', '([0-9]+)-([0-9]+)', 2)", "200"),
    ("spark", "regexp_extract('x', '([0-9]+)', 1)", ""),
    ("spark", "regexp_extract('<b>x</b>', '<(.+?)>')", "b"),
    ("spark", r"regexp_extract('a  b', 'a(\\s*)b')", "  "),
    ("bigquery", r"regexp_replace('a  b', r'\s+', ' ')", "a b"),
    ("trino", r"regexp_replace('a  b', '\s+?', '-')", "a--b"),
    ("spark", "regexp_substr('x', '[0-9]')", None),
    ("spark", "regexp_count('Steven Jones and Stephen Smith', 'Ste(v|ph)en')", 2),
    ("spark", "regexp_instr('a b@c', '@')", 4),
    ("mysql", "regexp_replace('a b c', 'b', 'X')", "a X c"),
    ("mysql", "regexp_replace('abc def ghi', '[a-z]+', 'X', 1, 0)", "X X X"),
    ("mysql", "regexp_substr('abc def ghi', '[a-z]+')", "abc"),
    ("mysql", "regexp_instr('dog cat dog', 'dog')", 1),
    ("snowflake", "regexp_replace('Customers - (NY)', '[()]', '')", "Customers - NY"),
    ("snowflake", "regexp_replace('aba', 'a', 'x', 1, 1)", "xba"),
    ("snowflake", r"regexp_replace('ab', '(a)(b)', '\\2\\1')", "ba"),
    ("snowflake", "regexp_substr('It was', 'w(.)', 1, 1, 'e')", "a"),
    ("snowflake", "regexp_substr('It was', 'w(.)(.)', 1, 1, 'e', 2)", "s"),
    ("snowflake", "regexp_substr('It was', 'W..', 1, 1, 'i')", "was"),
    ("snowflake", "regexp_substr('x', 'W')", None),
    ("snowflake", "regexp_like('abc', 'b')", False),
    ("snowflake", "regexp_count('nevermore1', '[a-z]')", 9),
    ("bigquery", "regexp_extract('foo@example.com', r'^[a-z.]+')", "foo"),
    ("bigquery", "regexp_extract('foo@example.com', r'@(.+)$')", "example.com"),
    ("bigquery", "regexp_extract('x', r'[0-9]')", None),
    ("bigquery", r"regexp_replace('# Heading', r'^# ([a-zA-Z0-9 ]+)$', '<h1>\\1</h1>')", "<h1>Heading</h1>"),
    ("bigquery", "regexp_contains('ab', r'b$')", True),
    ("bigquery", "regexp_instr('ab@c', '@')", 3),
    ("trino", "regexp_extract('1a 2b 14m', '([0-9]+)([a-z]+)', 2)", "a"),
    ("trino", "regexp_extract('1a', 'x')", None),
    ("trino", "regexp_replace('1a 2b 14m', '([0-9]+)([ab]) ', '3c$2 ')", "3ca 3cb 14m"),
    ("trino", "regexp_replace('1a 2b', '[0-9]')", "a b"),
    ("trino", "regexp_count('1a 2b 14m', ' ?[a-z]+ ?')", 3),
    (None, "regexp_replace('aba', 'a', 'x')", "xbx"),
    (None, "regexp_substr('aba', 'b')", "b"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql", "value"), DOCUMENTED)
def test_dialects_have_their_own_rules(dialect: str | None, sql: str, value: object) -> None:
    assert ours(sql, dialect) == value
    assert type(ours(sql, dialect)) is type(value)


REFUSED = [
    ("postgres", "regexp_replace(s, 'a|ab', 'x')"),
    ("postgres", "substring(s from '(ab)?b')"),
    ("postgres", "substring(s from 'a+?')"),
    ("snowflake", "regexp_substr(s, 'a.*?b')"),
    ("spark", "regexp_extract(s, 'a*?*', 0)"),
    ("spark", "regexp_extract(s, 'a??+', 0)"),
    ("postgres", "regexp_replace(s, 'a', 'x', 2)"),
    ("postgres", r"regexp_replace(s, 'a', '\0')"),
    ("postgres", "regexp_extract(s, 'a')"),
    ("postgres", "(regexp_match(s, 'a'))[1]"),
    ("duckdb", "regexp_replace(s, 'a*', 'x', 'g')"),
    ("duckdb", "regexp_replace(s, 'a', 'x', 'm')"),
    ("duckdb", r"regexp_replace(s, 'a', '\1')"),
    ("duckdb", "regexp_extract(s, 'a', 1)"),
    ("duckdb", "regexp_extract(s, s)"),
    ("duckdb", "regexp_replace(s, 'a', s)"),
    ("duckdb", "regexp_extract(s, 'a', ['x'])"),
    ("spark", "regexp_extract(s, 'a')"),
    ("spark", "regexp_replace(s, 'a', '${x}')"),
    ("spark", "regexp_replace(s, 'a', 'x', 2)"),
    ("spark", "regexp_replace(s, '(a)', '$10')"),
    ("spark", "regexp_count(s, 'a?')"),
    ("snowflake", "regexp_substr(s, 'a', 2)"),
    ("snowflake", "regexp_substr(s, 'a', 1, 2)"),
    ("snowflake", "regexp_instr(s, 'a', 1, 1, 1)"),
    ("bigquery", "regexp_extract(s, '(a)(b)')"),
    ("bigquery", "regexp_extract(s, '(a)?b')"),
    ("trino", "regexp_extract(s, '(a)|b', 1)"),
    ("mysql", "regexp_replace(s, 'a(?=b)', 'x')"),
    (None, "regexp_extract(s, 'a', 1)"),
    ("redshift", "regexp_replace(s, 'a', 'x')"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql"), REFUSED)
def test_what_has_another_meaning_is_refused(dialect: str | None, sql: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_views("v", [Relation("r", (Column("s", STRING),))], {"v": f"SELECT {sql} AS x FROM r"}, dialect=dialect)
    assert caught.value.span is not None


def test_what_postgres_takes_is_the_longest() -> None:
    """Of patterns that are taken there, Perl's match is the longest, for random patterns and texts; of others it is often not."""
    rng, shorter = random.Random(7), dict.fromkeys((True, False), 0)
    pieces = ("a", "b", "[ab]", "[bc]", ".", "(ab)", "(a|ab)", "(b)")
    for _ in range(2_000):
        pattern = "".join(
            rng.choice(pieces) + rng.choice(("", "", "?", "*", "+", "{1,2}")) for _ in range(rng.randint(1, 4))
        )
        text = "".join(rng.choice("abc") for _ in range(rng.randint(1, 7)))
        found = re.search(pattern, text)
        if found is not None:
            ends = range(found.start(), len(text) + 1)
            longest = max(end for end in ends if re.compile(pattern).fullmatch(text, found.start(), end))
            shorter[takes_longest(pattern)] += found.end() < longest
    assert shorter[True] == 0
    assert shorter[False] > 10


def test_groups_that_a_match_may_be_without() -> None:
    for pattern, group in (("(a)?b", 1), ("((a)b)*", 2), ("(a)(b){0,2}", 2), ("(a)|b", 1), ("(x(a)?)", 2)):
        assert may_lack(pattern, group), pattern
    for pattern, group in (("(a)(b)?", 1), ("((a)b)+", 2), ("(a)?", 0), ("((a)?)", 1)):
        assert not may_lack(pattern, group), pattern
