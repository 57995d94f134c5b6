"""Functions of text. Characters are code points; positions count from 1."""

from __future__ import annotations

from collections.abc import Sequence

from m3.datatypes import BOOL, INT, LONGEST_TEXT, STRING, Type
from m3.dictionary.entry import Entry
from m3.dictionary.types import Operand, Rule
from m3.errors import ProgramError

__all__ = ["TEXTS"]


def _typed_by_pattern(result: Type) -> Rule:
    """Regular expressions and what is said of them are part of the program: one that comes with the data would have to be judged row by row."""

    def judge(args: Sequence[Operand]) -> Type:
        if not all(hasattr(arg, "value") for arg in args[1:]):
            hint = "a constant regular expression, or LIKE"
            raise ProgramError("a computed regular expression", kind="regular-expression", hint=hint)
        return result

    return judge


def _hex_type(args: Sequence[Operand]) -> Type:
    if args[0].type.kind not in ("string", "int"):
        raise ProgramError(
            f"HEX of {args[0].type}", kind="wrong-type", hint="of a text, or of an INT: CAST(a AS BIGINT)"
        )
    return STRING


def _padding(name: str) -> str:
    """How Spark is asked for LPAD and RPAD: a length beyond the longest text is an error."""
    beyond = f"CASE WHEN b > {LONGEST_TEXT} THEN CAST(raise_error('{name} to too long a text') AS STRING) ELSE"
    return " | ".join(f"{beyond} {name}(a, place(b), {fill}) END" for fill in ("' '", "c"))


TEXT = ("string",)
#: Whether Spark finds a part of this number.
PARTS = "abs(c) <= (char_length(a) - char_length(replace(a, b, ''))) div char_length(b) + 1"
#: Lengths and places are 64 bits here and 32 in Spark, which the proof's ``place`` cuts off.
TEXTS = (
    Entry("upper", "UPPER(a)", TEXT, STRING, forms=("UPPER(s)", "UCASE(s)"), spark="upper(a)", differs={"postgres": "ß stays", "duckdb": "ß is ẞ"}, examples={"UPPER('straße')": "STRASSE"}),
    Entry("lower", "LOWER(a)", TEXT, STRING, forms=("LOWER(s)", "LCASE(s)"), spark="lower(a)", differs={"postgres": "İ is i without its dot above", "duckdb": "İ is i without its dot above"}, examples={"LOWER('Ab')": "ab"}),
    Entry("concat", "the texts one after the other; NULL if one is, and empty for NULL in CONCAT of PostgreSQL, DuckDB and T-SQL", TEXT, STRING, variadic=True, distinct=True, spark="concat(a) | concat(a, b) | concat(a, b, c)", forms=("postgres spark duckdb tsql snowflake bigquery trino generic | s || part := ...", "CONCAT(s, part) := ..."), examples={"'a' || 'b'": "ab"}),
    Entry("concat_ws", "CONCAT_WS(separator, a, b): NULLs are skipped", ("string", "string"), STRING, optional=1, variadic=True, nulls="first", forms=("CONCAT_WS(glue, s, part) := ...",), examples={"CONCAT_WS('-', 'a', NULL, 'b')": "a-b"}),
    Entry("substring", "SUBSTRING(a, start, length); before the first character, and of lengths below 0, as the dialect has it", ("string", "int", "int"), STRING, optional=1, rises=(2,), spark="substring(a, place(b), char_length(a)) | substring(a, place(b), place(c))", forms=("SUBSTRING(s, start, len) := ...", "SUBSTR(s, start) := ...", "mysql duckdb generic | MID(s, start, len) := ...", "postgres spark duckdb mysql generic | SUBSTRING(s FROM start FOR len) := ..."), examples={"SUBSTRING('hello', 2, 3)": "ell"}),
    Entry("substring_signed", "SUBSTRING(a, start, length) of DuckDB", ("string", "int", "int"), STRING, optional=1),
    Entry("substring_standard", "SUBSTRING(a, start, length) of the SQL standard", ("string", "int", "int"), STRING, optional=1, fails=("negative-length",), blame=(2,), rises=(2,)),
    Entry("like", "a LIKE pattern ESCAPE character", ("string", "string", "string"), BOOL, optional=1, fails=("bad-pattern",), blame=(1, 2), forms=("s LIKE part := ...", "s ILIKE part := ...", "s LIKE part ESCAPE '!' := ..."), examples={"'abc' LIKE 'a%'": "True"}),
    Entry("regexp_like", "whether a regular expression occurs in a text", ("string", "string"), _typed_by_pattern(BOOL), fails=("regular-expression",), blame=(1,), forms=("REGEXP_LIKE(s, pattern) := ...", "postgres spark duckdb mysql tsql bigquery trino generic | REGEXP_LIKE(s, pattern, 'i') := ...", "duckdb | REGEXP_FULL_MATCH(s, pattern) := ...", "bigquery | REGEXP_CONTAINS(s, pattern) := ...", "spark mysql generic | s RLIKE pattern := ...", "postgres | s ~ pattern := ...", "postgres | s ~* pattern := ..."), examples={"REGEXP_LIKE('abc', '^a.c$')": "True"}, differs={"snowflake": "of the whole text, as there"}),
    Entry("regexp_replace", "a with a replacement for all matches; the groups of the pattern are written as the dialect has them", TEXT * 3, _typed_by_pattern(STRING), fails=("regular-expression", "overflow"), blame=(1, 2), forms=("spark mysql snowflake bigquery trino generic | REGEXP_REPLACE(s, pattern, 'x') := ...", "snowflake trino | REGEXP_REPLACE(s, pattern) := ...", "postgres duckdb | REGEXP_REPLACE(s, pattern, 'x', 'g') := ..."), examples={"REGEXP_REPLACE('a-b', '[a-z]', '<$0>')": "<a>-<b>"}),
    Entry("regexp_replace_first", "a with a replacement for the first match", TEXT * 3, _typed_by_pattern(STRING), fails=("regular-expression", "overflow"), blame=(1, 2), forms=("postgres duckdb | REGEXP_REPLACE(s, pattern, 'x') := ...", "mysql snowflake | REGEXP_REPLACE(s, pattern, 'x', 1, 1) := ..."), examples={"REGEXP_REPLACE('a-b', '[a-z]', 'x')": "x-b"}),
    Entry("regexp_extract", "a group of the first match, empty without one", ("string", "string", "int"), _typed_by_pattern(STRING), fails=("regular-expression",), blame=(1, 2), forms=("spark duckdb | REGEXP_EXTRACT(s, pattern, 0) := ...", "duckdb | REGEXP_EXTRACT(s, pattern) := ...", "spark | REGEXP_EXTRACT(s, '(a+)b') := ..."), examples={"REGEXP_EXTRACT('a@b.c', '@(.+)$', 1)": "b.c", "REGEXP_EXTRACT('a', 'b', 0)": ""}),
    Entry("regexp_substr", "the first match, or a group of it; NULL without one", ("string", "string", "int"), _typed_by_pattern(STRING), nulls="partial", fails=("regular-expression",), blame=(1, 2), forms=("postgres spark mysql snowflake bigquery generic | REGEXP_SUBSTR(s, pattern) := ...", "bigquery trino | REGEXP_EXTRACT(s, pattern) := ...", "trino | REGEXP_EXTRACT(s, '(a+)b', 1) := ...", "postgres | SUBSTRING(s FROM pattern) := ...", "snowflake | REGEXP_SUBSTR(s, '(a+)b', 1, 1, 'e', 1) := ..."), examples={"REGEXP_SUBSTR('a12', '[0-9]+')": "12", "REGEXP_SUBSTR('a', 'b')": None}),
    Entry("regexp_count", "how many matches there are, one after the other", TEXT * 2, _typed_by_pattern(INT), fails=("regular-expression",), blame=(1,), forms=("postgres spark snowflake trino generic | REGEXP_COUNT(s, pattern) := ...",), examples={"REGEXP_COUNT('banana', 'an')": "2"}),
    Entry("regexp_instr", "where the first match begins, from 1; 0 without one", TEXT * 2, _typed_by_pattern(INT), fails=("regular-expression",), blame=(1,), forms=("postgres spark mysql snowflake bigquery generic | REGEXP_INSTR(s, pattern) := ...",), examples={"REGEXP_INSTR('banana', 'n.n')": "3"}),
    Entry("length", "LENGTH(a) in characters", TEXT, INT, forms=("CHAR_LENGTH(s)", "CHARACTER_LENGTH(s)", "postgres spark duckdb snowflake bigquery trino generic | LENGTH(s)", "LEN(s)", "tsql | LEN(s) := length(rtrim(s))", "mysql | LENGTH(s) := octet_length(s)"), spark="char_length(a)", examples={"CHAR_LENGTH('日本')": "2"}, differs={"mysql": "LENGTH counts bytes of UTF-8, as there", "tsql": "LEN leaves blanks at the end out, as there"}),
    Entry("octet_length", "OCTET_LENGTH(a) in bytes of UTF-8", TEXT, INT, forms=("OCTET_LENGTH(s)", "BYTE_LENGTH(s)"), spark="octet_length(a)", examples={"OCTET_LENGTH('é')": "2"}),
    Entry("bit_length", "8 * OCTET_LENGTH(a)", forms=("BIT_LENGTH(s) := 8 * octet_length(s)",), examples={"BIT_LENGTH('a')": "8"}),
    Entry("trim", "a without blanks, or some characters, at both ends", TEXT * 2, STRING, optional=1, forms=("TRIM(s)", "TRIM(s, characters)", "spark | TRIM(characters, s) := trim(s, characters)", "BTRIM(s)", "BTRIM(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(characters FROM s) := trim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(BOTH characters FROM s) := trim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(BOTH FROM s) := trim(s)"), spark="trim(a) | TRIM(BOTH b FROM a)", examples={"TRIM('xaxbx', 'x')": "axb"}),
    Entry("ltrim", "a without blanks, or some characters, at the start", TEXT * 2, STRING, optional=1, forms=("LTRIM(s)", "LTRIM(s, characters)", "spark | LTRIM(characters, s) := ltrim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(LEADING characters FROM s) := ltrim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(LEADING FROM s) := ltrim(s)"), spark="ltrim(a) | TRIM(LEADING b FROM a)", examples={"LTRIM('  a ')": "a "}),
    Entry("rtrim", "a without blanks, or some characters, at the end", TEXT * 2, STRING, optional=1, forms=("RTRIM(s)", "RTRIM(s, characters)", "spark | RTRIM(characters, s) := rtrim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(TRAILING characters FROM s) := rtrim(s, characters)", "postgres spark duckdb mysql tsql trino generic | TRIM(TRAILING FROM s) := rtrim(s)"), spark="rtrim(a) | TRIM(TRAILING b FROM a)", examples={"RTRIM(' a  ')": " a"}),
    Entry("replace", "REPLACE(a, old, new)", TEXT * 3, STRING, fails=("overflow",), forms=("REPLACE(s, old, new)", "spark duckdb tsql snowflake trino bigquery generic | REPLACE(s, old) := replace(s, old, '')"), examples={"REPLACE('aba', 'a', 'x')": "xbx"}),
    Entry("translate", "TRANSLATE(a, old characters, new characters)", TEXT * 3, STRING, forms=("TRANSLATE(s, old, new)",), spark="translate(a, b, c)", examples={"TRANSLATE('abc', 'ab', 'x')": "xc"}),
    Entry("left", "the first characters; a length below 0 is as the dialect has it", ("string", "int"), STRING, fails=("negative-length",), blame=(1,), rises=(0, 1), spark="CASE WHEN b < 0 THEN CAST(raise_error('LEFT of a length below 0') AS STRING) ELSE left(a, place(b)) END", forms=("LEFT(s, len) := ...",), examples={"LEFT('hello', 2)": "he"}),
    Entry("right", "the last characters; a length below 0 is as the dialect has it", ("string", "int"), STRING, fails=("negative-length",), blame=(1,), forms=("RIGHT(s, len) := ...",), examples={"RIGHT('hello', 2)": "lo"}),
    Entry("left_signed", "LEFT(a, length): below 0, all but so many at the end", ("string", "int"), STRING),
    Entry("right_signed", "RIGHT(a, length): below 0, all but so many at the start", ("string", "int"), STRING),
    Entry("position", "where a part is first, from 1, or from a place on; 0 when it is not there", ("string", "string", "int"), INT, optional=1, forms=("STRPOS(s, part)", "INSTR(s, part)", "POSITION(part IN s) := position(s, part)", "LOCATE(part, s) := position(s, part)", "LOCATE(part, s, start) := position(s, part, start)", "spark | LOCATE(part, s, start) := CASE WHEN start IS NULL THEN 0 ELSE position(s, part, start) END", "CHARINDEX(part, s) := position(s, part)", "tsql snowflake | CHARINDEX(part, s, start) := position(s, part, CASE WHEN start < 1 THEN 1 ELSE start END)"), spark="locate(b, a) | CASE WHEN a IS NULL OR b IS NULL OR c IS NULL THEN NULL WHEN c < 1 THEN 0 WHEN b = '' THEN 1 ELSE locate(b, a, place(c)) END", examples={"POSITION('l' IN 'hello')": "3"}),
    Entry("lpad", "LPAD(a, length, fill)", ("string", "int", "string"), STRING, optional=1, fails=("overflow",), blame=(1,), forms=("LPAD(s, len, fill)", "LPAD(s, len)"), spark=_padding("lpad"), examples={"LPAD('7', 3, '0')": "007"}),
    Entry("rpad", "RPAD(a, length, fill)", ("string", "int", "string"), STRING, optional=1, fails=("overflow",), blame=(1,), rises=(1,), forms=("RPAD(s, len, fill)", "RPAD(s, len)"), spark=_padding("rpad"), examples={"RPAD('7', 3, '0')": "700"}),
    Entry("space", "blanks", forms=("SPACE(n) := repeat(' ', n)",), examples={"'a' || SPACE(2) || 'b'": "a  b"}),
    Entry("reverse", "REVERSE(a)", TEXT, STRING, distinct=True, forms=("REVERSE(s)",), spark="reverse(a)", examples={"REVERSE('abc')": "cba"}),
    Entry("repeat", "a so many times; none for numbers below 1", ("string", "int"), STRING, fails=("overflow",), rises=(1,), forms=("REPEAT(s, n)", "tsql | REPLICATE(s, n)"), spark="exactly_repeat(a, b)", examples={"REPEAT('ab', 2)": "abab"}),
    Entry("initcap", "words in capitals; a word ends at what is no letter and no digit, in Spark at a blank", TEXT * 2, STRING, optional=1, forms=("INITCAP(s)", "spark | INITCAP(s) := initcap(s, ' ')", "snowflake bigquery | INITCAP(s, characters)"), spark="exactly_initcap(a) | exactly_initcap(a, b)", differs={"postgres": "ß at the start of a word stays", "spark": "ß at the start of a word is Ss"}, examples={"INITCAP('hello wORLD')": "Hello World"}),
    Entry("starts_with", "whether a text begins with a part", TEXT * 2, BOOL, forms=("STARTS_WITH(s, part)", "STARTSWITH(s, part)", "postgres duckdb | s ^@ part := starts_with(s, part)", "PREFIX(s, part)"), spark="startswith(a, b)", examples={"STARTS_WITH('abc', 'ab')": "True"}),
    Entry("ends_with", "whether a text ends with a part", TEXT * 2, BOOL, forms=("ENDS_WITH(s, part)", "ENDSWITH(s, part)", "SUFFIX(s, part)"), spark="endswith(a, b)", examples={"ENDS_WITH('abc', 'bc')": "True"}),
    Entry("contains", "whether a part is in a text", TEXT * 2, BOOL, forms=("postgres spark duckdb mysql tsql snowflake bigquery generic | CONTAINS(s, part)",), spark="contains(a, b)", examples={"CONTAINS('abc', 'b')": "True"}),
    Entry("split_part", "the part of this number between delimiters, from 1, or from -1 at the end; empty when there is none", ("string", "string", "int"), STRING, fails=("out-of-domain",), blame=(2,), forms=("snowflake | SPLIT_PART(s, delimiter, i) := split_part(s, delimiter, CASE WHEN i = 0 THEN 1 ELSE i END)", "SPLIT_PART(s, delimiter, i)"), spark="split_part(a, b, place(c))", differs={"duckdb": "an empty delimiter splits into characters"}, examples={"SPLIT_PART('a-b-c', '-', 2)": "b"}),
    Entry("count_parts", "how many parts SPLIT_PART(a, delimiter, ..) has", TEXT * 2, INT),
    Entry("find_part", "the part of this number between delimiters that are written out; NULL when there is none", ("string", "string", "int"), STRING, nulls="partial", forms=("duckdb | STRING_SPLIT(s, ',')[2] := ...", "postgres | (STRING_TO_ARRAY(s, ','))[2] := ...", "spark | TRY_ELEMENT_AT(SPLIT(s, ','), 2) := ...", "trino | ELEMENT_AT(SPLIT(s, ','), 2) := ...", "snowflake | SPLIT(s, ',')[1] := ...", "snowflake | GET(SPLIT(s, ','), 1) := ...", "bigquery | SPLIT(s, ',')[SAFE_OFFSET(1)] := ...", "bigquery | SPLIT(s, ',')[SAFE_ORDINAL(2)] := ..."), spark=f"CASE WHEN {PARTS} THEN split_part(a, b, place(c)) END", examples={"STRING_SPLIT('a-b-c', '-')[2]": "b"}),
    Entry("take_part", "the part of this number between delimiters that are written out; an error when there is none", ("string", "string", "int"), STRING, fails=("out-of-domain",), blame=(0,), forms=("spark | SPLIT(s, ',')[1] := ...", "spark | ELEMENT_AT(SPLIT(s, ','), 2) := ...", "trino | SPLIT(s, ',')[2] := ...", "bigquery | SPLIT(s, ',')[OFFSET(1)] := ...", "bigquery | SPLIT(s, ',')[ORDINAL(2)] := ..."), spark=f"CASE WHEN a IS NULL THEN NULL WHEN {PARTS} THEN split_part(a, b, place(c)) ELSE CAST(raise_error('no such part') AS STRING) END", examples={"SPLIT('a-b-c', '-')[1]": "b"}),
    Entry("substring_index", "what is before so many delimiters, or behind so many from the end when the number is below 0; all of it when there are fewer", ("string", "string", "int"), STRING, forms=("mysql spark | SUBSTRING_INDEX(s, delimiter, i)",), spark="exactly_substring_index(a, b, c)", examples={"SUBSTRING_INDEX('a-b-c', '-', 2)": "a-b"}),
    Entry("ascii", "the code point of the first character, 0 of the empty text", TEXT, INT, rises=(0,), forms=("ASCII(s)",), spark="ascii(a)", examples={"ASCII('A')": "65"}),
    Entry("hex", "hexadecimal digits in upper case: of the bytes of a text's UTF-8, or of the 64 bits of a number without zeros in front", ("any",), _hex_type, forms=("spark duckdb mysql | HEX(s)", "spark duckdb mysql | HEX(n)", "duckdb | TO_HEX(s)", "duckdb | TO_HEX(n)", "postgres | TO_HEX(n) := lower(hex(bits_or(n, 0)))", "postgres | ENCODE(CONVERT_TO(s, 'UTF8'), 'hex') := lower(hex(concat(s)))", "snowflake | HEX_ENCODE(s) := hex(concat(s))", "trino | TO_HEX(TO_UTF8(s)) := hex(concat(s))", "bigquery | TO_HEX(CAST(s AS BYTES)) := lower(hex(concat(s)))"), spark="hex(a)", differs={"postgres": "TO_HEX of an integer of 32 bits has 32"}, examples={"HEX('é')": "C3A9", "HEX(255)": "FF"}),
    Entry("bin", "the 64 bits of a as digits, without zeros in front", ("int",), STRING, distinct=True, forms=("spark duckdb mysql | BIN(n)", "postgres | TO_BIN(n)"), spark="bin(a)", differs={"postgres": "TO_BIN of an integer of 32 bits has 32"}, examples={"BIN(5)": "101"}),
    Entry("base64", "the bytes of a text's UTF-8 in base 64, on one line", TEXT, STRING, distinct=True, forms=("spark | BASE64(s)", "snowflake | BASE64_ENCODE(s)", "duckdb | TO_BASE64(ENCODE(s)) := base64(s)", "duckdb | BASE64(ENCODE(s)) := base64(s)", "trino | TO_BASE64(TO_UTF8(s)) := base64(s)", "bigquery | TO_BASE64(CAST(s AS BYTES)) := base64(s)"), spark="replace(base64(encode(a, 'UTF-8')), chr(13)||chr(10), '')", examples={"BASE64('abc')": "YWJj"}),
    Entry("unicode", "the code point of the first character", forms=("snowflake | UNICODE(s) := ascii(s)", "tsql | UNICODE(s) := CASE WHEN s = '' THEN NULL ELSE ascii(s) END", "duckdb | UNICODE(s) := CASE WHEN s = '' THEN -1 ELSE ascii(s) END", "duckdb | ORD(s) := CASE WHEN s = '' THEN -1 ELSE ascii(s) END", "trino | CODEPOINT(s) := ascii(s)"), examples={"UNICODE('A')": "65"}),
    Entry("overlay", "a with another text in the place of some characters", forms=(
        "postgres | OVERLAY(s PLACING new FROM start FOR len) := concat(left(s, start - 1), new, CASE WHEN start + len < 1 THEN s ELSE substring(s, start + len) END)",
        "postgres | OVERLAY(s PLACING new FROM start) := concat(left(s, start - 1), new, substring(s, start + length(new)))",
        "spark | OVERLAY(s PLACING new FROM start FOR len) := concat(substring(s, 1, start - 1), new, substring(s, start + CASE WHEN len < 0 THEN length(new) ELSE len END, 2147483647))",
        "spark | OVERLAY(s PLACING new FROM start) := concat(substring(s, 1, start - 1), new, substring(s, start + length(new), 2147483647))",
        "mysql | INSERT(s, start, len, new) := CASE WHEN len IS NULL OR new IS NULL THEN NULL WHEN start < 1 OR start > length(s) THEN s WHEN len < 0 THEN concat(substring(s, 1, start - 1), new) ELSE concat(substring(s, 1, start - 1), new, substring(s, start + len)) END",
        "tsql | STUFF(s, start, len, new) := CASE WHEN start < 1 OR start > length(s) OR len < 0 THEN NULL ELSE concat(substring(s, 1, start - 1), CASE WHEN new IS NULL THEN '' ELSE new END, substring(s, start + len)) END"),
        examples={"OVERLAY('Txxxxas' PLACING 'hom' FROM 2 FOR 4)": "Thomas"}),
    Entry("soundex", "the letter and three digits of how a word sounds; the text itself if it does not begin with one of A to Z", TEXT, STRING, forms=("spark | SOUNDEX(s)",), spark="soundex(a)", examples={"SOUNDEX('Miller')": "M460"}),
    Entry("md5", "MD5(a): 32 hexadecimal digits of the text's UTF-8", TEXT, STRING, forms=("postgres spark duckdb mysql snowflake generic | MD5(s)", "bigquery | TO_HEX(MD5(s)) := md5(s)", "trino | TO_HEX(MD5(TO_UTF8(s))) := upper(md5(s))", "tsql | CONVERT(VARCHAR(32), HASHBYTES('MD5', s), 2) := upper(md5(s))"), spark="md5(a)", examples={"MD5('abc')": "900150983cd24fb0d6963f7d28e17f72"}),
    Entry("sha1", "SHA1(a): 40 hexadecimal digits of the text's UTF-8", TEXT, STRING, forms=("spark duckdb mysql snowflake | SHA1(s)", "spark mysql | SHA(s)"), spark="sha1(a)", examples={"SHA1('abc')": "a9993e364706816aba3e25717850c26c9cd0d89d"}),
    Entry("sha2", "SHA2(a, bits) of 224, 256, 384 or 512 bits, 0 for 256: hexadecimal digits of the text's UTF-8", ("string", "int"), STRING, fails=("out-of-domain",), blame=(1,), forms=("spark mysql snowflake | SHA2(s, bits)", "snowflake | SHA2(s) := sha2(s, 256)", "duckdb | SHA256(s) := sha2(s, 256)", "bigquery | TO_HEX(SHA256(s)) := sha2(s, 256)", "trino | TO_HEX(SHA256(TO_UTF8(s))) := upper(sha2(s, 256))"), spark="sha2(a, CAST(b AS INT))", duckdb="sha256(a)", examples={"SHA2('abc', 256)": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}),
    Entry("crc32", "the CRC-32 of the text's UTF-8, as in gzip", TEXT, INT, forms=("spark mysql | CRC32(s)",), spark="crc32(a)", examples={"CRC32('abc')": "891568578"}),
    Entry("levenshtein", "LEVENSHTEIN(a, b): how many characters have to be changed, added or left out; of up to 255 characters", TEXT * 2, INT, fails=("out-of-domain",), forms=("postgres spark duckdb trino | LEVENSHTEIN(s, part)", "snowflake | EDITDISTANCE(s, part)"), spark="levenshtein(a, b)", differs={"duckdb": "bytes"}, examples={"LEVENSHTEIN('kitten', 'sitting')": "3"}),
    Entry("chr", "the character of a code point", ("int",), STRING, fails=("out-of-domain",), rises=(0,), distinct=True, forms=("CHR(n)", "CHAR(n)"), spark="CASE WHEN a BETWEEN 1 AND 1114111 AND NOT a BETWEEN 55296 AND 57343 OR a IS NULL THEN decode(unhex(lpad(hex(a), 8, '0')), 'UTF-32') ELSE CAST(raise_error('CHR of no character') AS STRING) END", differs={"spark": "the character of the number's last byte"}, examples={"CHR(8364)": "€"}),
    Entry("strlen", "STRLEN(a) in bytes of UTF-8", forms=("duckdb | STRLEN(s) := octet_length(s)",)),
)  # fmt: skip
