"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

from collections.abc import Sequence

from m3.datatypes import BOOL, INT, STRING, Type
from m3.dictionary.entry import Entry
from m3.dictionary.types import Operand
from m3.errors import ProgramError

__all__ = ["TEXTS"]


def _pattern_type(args: Sequence[Operand]) -> Type:
    """Regular expressions are part of the program: one that comes with the data would have to be judged row by row."""
    if not hasattr(args[1], "value"):
        hint = "a constant regular expression, or LIKE"
        raise ProgramError("a computed regular expression", kind="regular-expression", hint=hint)
    return BOOL


TEXT = ("string",)
TEXTS = (
    Entry("upper", "UPPER(a)", TEXT, STRING),
    Entry("lower", "LOWER(a)", TEXT, STRING),
    Entry("concat", "a || b", TEXT, STRING, variadic=True, distinct=True),
    Entry("concat_ws", "CONCAT_WS(separator, a, b): NULLs are skipped", ("string", "string"), STRING, optional=1, variadic=True, nulls="first"),
    Entry("substring", "SUBSTRING(a, start, length)", ("string", "int", "int"), STRING, optional=1, rises=(2,)),
    Entry("substring_signed", "SUBSTRING(a, start, length) of DuckDB", ("string", "int", "int"), STRING, optional=1),
    Entry("substring_standard", "SUBSTRING(a, start, length) of the SQL standard", ("string", "int", "int"), STRING, optional=1, fails=("negative-length",), blame=(2,), rises=(2,)),
    Entry("like", "a LIKE pattern ESCAPE character", ("string", "string", "string"), BOOL, optional=1, fails=("bad-pattern",), blame=(1, 2)),
    Entry("regexp_like", "a RLIKE pattern", ("string", "string"), _pattern_type, fails=("regular-expression",), blame=(1,)),
    Entry("length", "LENGTH(a) in characters", TEXT, INT),
    Entry("octet_length", "OCTET_LENGTH(a) in bytes of UTF-8", TEXT, INT, spark="octet_length(a)"),
    Entry("trim", "TRIM(a, characters)", TEXT * 2, STRING, optional=1),
    Entry("ltrim", "LTRIM(a, characters)", TEXT * 2, STRING, optional=1),
    Entry("rtrim", "RTRIM(a, characters)", TEXT * 2, STRING, optional=1),
    Entry("replace", "REPLACE(a, old, new)", TEXT * 3, STRING, fails=("overflow",)),
    Entry("translate", "TRANSLATE(a, old characters, new characters)", TEXT * 3, STRING),
    Entry("left", "LEFT(a, length)", ("string", "int"), STRING, fails=("negative-length",), blame=(1,), rises=(0, 1)),
    Entry("right", "RIGHT(a, length)", ("string", "int"), STRING, fails=("negative-length",), blame=(1,)),
    Entry("left_signed", "LEFT(a, length): below 0, all but so many at the end", ("string", "int"), STRING),
    Entry("right_signed", "RIGHT(a, length): below 0, all but so many at the start", ("string", "int"), STRING),
    Entry("position", "POSITION(a, part, start): 0 when it is not there", ("string", "string", "int"), INT, optional=1),
    Entry("lpad", "LPAD(a, length, fill)", ("string", "int", "string"), STRING, optional=1, fails=("overflow",), blame=(1,)),
    Entry("rpad", "RPAD(a, length, fill)", ("string", "int", "string"), STRING, optional=1, fails=("overflow",), blame=(1,), rises=(1,)),
    Entry("reverse", "REVERSE(a)", TEXT, STRING, distinct=True),
    Entry("repeat", "REPEAT(a, times)", ("string", "int"), STRING, fails=("overflow",), rises=(1,)),
    Entry("initcap", "INITCAP(a, delimiters)", TEXT * 2, STRING, optional=1),
    Entry("starts_with", "STARTS_WITH(a, part)", TEXT * 2, BOOL),
    Entry("ends_with", "ENDS_WITH(a, part)", TEXT * 2, BOOL),
    Entry("contains", "CONTAINS(a, part)", TEXT * 2, BOOL),
    Entry("split_part", "SPLIT_PART(a, delimiter, index)", ("string", "string", "int"), STRING, fails=("out-of-domain",), blame=(2,)),
    Entry("count_parts", "how many parts SPLIT_PART(a, delimiter, ..) has", TEXT * 2, INT),
    Entry("ascii", "the code point of the first character", TEXT, INT, rises=(0,)),
    Entry("md5", "MD5(a): 32 hexadecimal digits of the text's UTF-8", TEXT, STRING, forms=("MD5(s)",), spark="md5(a)", examples={"MD5('abc')": "900150983cd24fb0d6963f7d28e17f72"}),
    Entry("sha1", "SHA1(a): 40 hexadecimal digits of the text's UTF-8", TEXT, STRING, forms=("spark duckdb mysql snowflake | SHA1(s)", "spark mysql | SHA(s)"), spark="sha1(a)", examples={"SHA1('abc')": "a9993e364706816aba3e25717850c26c9cd0d89d"}),
    Entry("sha2", "SHA2(a, bits) of 224, 256, 384 or 512 bits, 0 for 256: hexadecimal digits of the text's UTF-8", ("string", "int"), STRING, fails=("out-of-domain",), blame=(1,), forms=("spark mysql snowflake | SHA2(s, bits)", "snowflake | SHA2(s) := sha2(s, 256)", "duckdb | SHA256(s) := sha2(s, 256)"), spark="sha2(a, CAST(b AS INT))", duckdb="sha256(a)", examples={"SHA2('abc', 256)": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}),
    Entry("levenshtein", "LEVENSHTEIN(a, b): how many characters have to be changed, added or left out; of up to 255 characters", TEXT * 2, INT, fails=("out-of-domain",), forms=("postgres spark duckdb trino | LEVENSHTEIN(s, part)", "snowflake | EDITDISTANCE(s, part)"), spark="levenshtein(a, b)", differs={"duckdb": "bytes"}, examples={"LEVENSHTEIN('kitten', 'sitting')": "3"}),
    Entry("strlen", "STRLEN(a) in bytes of UTF-8", forms=("duckdb | STRLEN(s) := octet_length(s)",)),
    Entry("chr", "the character of a code point", ("int",), STRING, fails=("out-of-domain",), rises=(0,), distinct=True),
)  # fmt: skip
