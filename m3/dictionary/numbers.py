"""Functions of exact numbers, most of which take a DOUBLE too; functions of DOUBLEs; and the statistics that are computed exactly from
sums and rounded to a DOUBLE at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from m3.datatypes import BOOL, DOUBLE, INT, Type
from m3.dictionary.entry import BY_HAND, Entry
from m3.dictionary.types import Operand, arithmetic_type, bounded, common_type, constant, first_type
from m3.errors import ProgramError

__all__ = ["DOUBLES", "NUMBERS"]


def _digits_type(args: Sequence[Operand]) -> Type:
    """ROUND and TRUNC: the scale becomes the constant number of digits, with room for one more integral digit."""
    t = args[0].type
    digits = constant(args[1]) if len(args) > 1 else 0
    if not isinstance(digits, int) and t.kind == "decimal":
        raise ProgramError(
            "a number of digits that is not constant", kind="digits", hint="ROUND(a, n) with a number for n"
        )
    if t.kind != "decimal" or not isinstance(digits, int):
        return t.with_null(False)
    scale = max(0, min(t.scale, digits))
    return bounded(t.precision - t.scale + 1 + scale, scale)


def _whole_type(args: Sequence[Operand]) -> Type:
    """CEIL and FLOOR: no decimals are left."""
    t = args[0].type
    return bounded(t.precision - t.scale + 1, 0) if t.kind == "decimal" else INT


def _sign_type(args: Sequence[Operand]) -> Type:
    return DOUBLE if args[0].type.kind == "double" else INT


def _common(name: str) -> Callable[[Sequence[Operand]], Type]:
    return lambda args: common_type(name, [a.type for a in args]).with_null(False)


#: FMOD of DuckDB: DOUBLEs, and the sign of the second.
QUOTIENT = "(CAST(x AS DOUBLE) / CAST(z AS DOUBLE))"
FLOORED = f"CASE WHEN z = 0 AND x IS NOT NULL THEN CAST('NaN' AS DOUBLE) ELSE CAST(x AS DOUBLE) - z * (trunc{QUOTIENT} - CASE WHEN {QUOTIENT} < trunc{QUOTIENT} THEN 1 ELSE 0 END) END"
NUMBERS = (
    Entry("mod", "a % b, with the sign of a", ("numeric",) * 2, lambda a: arithmetic_type("mod", a), alike=True, fails=("division-by-zero",), forms=("x % z := ...", "MOD(x, z) := ...", f"duckdb | FMOD(x, z) := {FLOORED}", "FMOD(x, z)",), differs={"duckdb": "FMOD has the sign of b; an error for the least INT by -1"}, errors={"duckdb": "NaN"}, examples={"-7 % 3": "-1"}),
    Entry("pmod", "PMOD(a, b), not negative where b is not", ("numeric",) * 2, lambda a: arithmetic_type("mod", a), alike=True, fails=("division-by-zero",), forms=("PMOD(x, z)",), differs={"spark": "what is below 0 by -Infinity is NaN, and by the least INT runs over"}, examples={"PMOD(-7, 3)": "2"}),
    Entry("idiv", "a DIV b, towards zero", ("numeric",) * 2, INT, alike=True, fails=("division-by-zero",), forms=("spark mysql generic | x DIV z := ...", "duckdb | n // i := ...", "postgres spark bigquery | DIV(x, z) := ...",), errors={"postgres": "a value", "spark": "a value"}, examples={"DIV(-7, 2)": "-3"}),
    Entry("series_length", "SERIES_LENGTH(a): how many elements a series has, up to 100,000", ("int",), INT, fails=("out-of-domain",)),
    Entry("abs", "|a|", ("numeric",), first_type, spark="abs(a)", fails=("overflow",), bounded=True, forms=("ABS(x)",), differs={"spark": "an error for a DECIMAL of more than 34 digits"}, examples={"ABS(-2)": "2"}),
    Entry("sign", "-1, 0 or 1", ("numeric",), _sign_type, spark="sign(a)", rises=(0,), forms=("SIGN(x)", "SIGNUM(x)",), differs={"postgres": "0 of NaN", "duckdb": "0 of NaN"}, examples={"SIGN(-2)": "-1"}),
    Entry("round", "ROUND(a, digits), half up", ("numeric", "int"), _digits_type, optional=1, fails=("overflow",), bounded=True, rises=(0,), forms=("ROUND(x) := ...", "ROUND(x, digits) := ...",), examples={"ROUND(2.5)": "3", "ROUND(1.25, 1)": "1.3"}),
    Entry("trunc", "TRUNC(a, digits), towards zero", ("numeric", "int"), _digits_type, optional=1, fails=("overflow",), bounded=True, rises=(0,), forms=("postgres duckdb mysql tsql snowflake bigquery trino generic | TRUNC(x) := ...", "postgres duckdb mysql tsql snowflake bigquery trino generic | TRUNC(x, digits) := ...", "TRUNCATE(x, digits) := ...",), examples={"TRUNC(-1.29, 1)": "-1.2"}),
    Entry("ceil", "the next integer, upwards", ("numeric",), _whole_type, fails=("overflow",), bounded=True, rises=(0,), forms=("CEIL(x) := ...", "CEILING(x) := ...",), examples={"CEIL(1.2)": "2"}),
    Entry("floor", "the next integer, downwards", ("numeric",), _whole_type, fails=("overflow",), bounded=True, rises=(0,), forms=("FLOOR(x) := ...",), examples={"FLOOR(-1.2)": "-2"}),
    Entry("bits_and", "a & b", ("int", "int"), INT, spark="a & b", forms=("n & i := bits_and(n, i)", "snowflake | BITAND(n, i) := bits_and(n, i)",), examples={"6 & 3": "2"}),
    Entry("bits_or", "a | b", ("int", "int"), INT, spark="a|b", forms=("snowflake | BITOR(n, i) := bits_or(n, i)", "postgres spark duckdb mysql tsql bigquery generic | n|i := bits_or(n, i)"), examples={"BITOR(6, 3)": "7"}),
    Entry("bits_xor", "a # b, the bits in which they differ", ("int", "int"), INT, spark="a ^ b", distinct=True, forms=("duckdb | XOR(n, i) := bits_xor(n, i)", "postgres | n # i := bits_xor(n, i)", "spark mysql tsql bigquery generic | n ^ i := bits_xor(n, i)", "snowflake | BITXOR(n, i) := bits_xor(n, i)",)),
    Entry("bit_count", "how many bits of the 64 of a are 1", ("int",), INT, forms=("spark duckdb mysql | BIT_COUNT(n)",), spark="bit_count(a)", examples={"BIT_COUNT(7)": "3"}),
    Entry("shift_left", "the 64 bits of a, so many places to the left, by 0 to 63", ("int", "int"), INT, fails=("out-of-domain",), blame=(1,), forms=(
        "bigquery | n << i := shift_left(n, i)", "postgres spark | n << i := shift_left(n, bits_and(i, 63))", "trino | BITWISE_LEFT_SHIFT(n, i)"), spark="shiftleft(a, CAST(b AS INT))"),
    Entry("shift_right", "the 64 bits of a, so many places to the right; the sign stays", ("int", "int"), INT, fails=("out-of-domain",), blame=(1,), rises=(0,), forms=(
        "postgres spark | n >> i := shift_right(n, bits_and(i, 63))", "duckdb | n >> i := CASE WHEN i BETWEEN 0 AND 63 THEN shift_right(n, i) ELSE 0 * n * sign(i) END", "trino | BITWISE_RIGHT_SHIFT_ARITHMETIC(n, i)"), spark="shiftright(a, CAST(b AS INT))"),
    Entry("shift_right_unsigned", "the 64 bits of a, so many places to the right, with zeros in front", ("int", "int"), INT, fails=("out-of-domain",), blame=(1,), forms=(
        "spark | SHIFTRIGHTUNSIGNED(n, i) := shift_right_unsigned(n, bits_and(i, 63))", "bigquery | n >> i := shift_right_unsigned(n, i)", "trino | BITWISE_RIGHT_SHIFT(n, i)"), spark="shiftrightunsigned(a, CAST(b AS INT))"),
    Entry("getbit", "bit i of a, from 0 for the last", forms=("spark | GETBIT(n, i) := shift_right(n, i) & 1", "spark | BIT_GET(n, i) := shift_right(n, i) & 1", "tsql | GET_BIT(n, i) := shift_right(n, i) & 1")),
    Entry("bits_counted", "how many bits of the 64 of a are 1", forms=("bigquery tsql | BIT_COUNT(n) := bit_count(n)", "trino | BIT_COUNT(n, 64) := bit_count(n)")),
    Entry("gcd", "the greatest common divisor", ("int", "int"), INT, fails=("overflow",), bounded=True, forms=("postgres duckdb | GCD(n, i)", "duckdb | GREATEST_COMMON_DIVISOR(n, i)"), examples={"GCD(12, -18)": "6"}),
    Entry("lcm", "the least common multiple", ("int", "int"), INT, fails=("overflow",), bounded=True, forms=("postgres duckdb | LCM(n, i)", "duckdb | LEAST_COMMON_MULTIPLE(n, i)"), examples={"LCM(4, -6)": "12"}),
    Entry("factorial", "a!, up to 33!", ("int",), Type("decimal", 38, 0), fails=("out-of-domain", "overflow"), rises=(0,), differs={"spark": "an error beyond 32 bits"}, errors={"postgres": "a value"}, forms=(
        "postgres duckdb snowflake | FACTORIAL(n)", "spark | FACTORIAL(n) := CASE WHEN n BETWEEN 0 AND 20 THEN CAST(factorial(n) AS BIGINT) END"), examples={"FACTORIAL(5)": "120"}),
    Entry("width_bucket", "WIDTH_BUCKET(a, low, high, n): in which of n equal parts of low to high a is, 0 below, n + 1 from high on; exact", ("numeric", "numeric", "numeric", "int"), INT, fails=("out-of-domain",), forms=(
        "postgres spark snowflake trino | WIDTH_BUCKET(x, low, high, n)",), errors={"spark": "NULL"}, differs={"spark": "NULL for 9223372036854775807 parts; runs over between DOUBLEs that are far apart", "postgres": "rounds in between"}, examples={"WIDTH_BUCKET(5.35, 0.024, 10.06, 5)": "3", "WIDTH_BUCKET(11, 0, 10, 5)": "6"}),
    Entry("round_even", "ROUND(a, digits), of two the even one", ("numeric", "int"), _digits_type, optional=1, fails=("overflow",), bounded=True, rises=(0,), forms=(
        "spark | BROUND(x, digits)", "spark | BROUND(x)", "duckdb | ROUND_EVEN(x, digits)", "duckdb | ROUNDBANKERS(x, digits)", "spark | RINT(f) := round_even(CAST(f AS DOUBLE))"), differs={"duckdb": "an error for the least INT"}, examples={"BROUND(2.5)": "2"}),
    Entry("e", "e, and the numbers that are none", forms=("spark trino | E() := 2.718281828459045e0", "trino | NAN() := CAST('NaN' AS DOUBLE)", "trino | INFINITY() := CAST('Infinity' AS DOUBLE)")),
    Entry("is_finite", "whether a DOUBLE is a finite number", forms=("trino | IS_FINITE(f) := NOT (is_nan(f) OR is_infinite(f))", "duckdb | ISFINITE(f) := NOT (is_nan(f) OR is_infinite(f))", "trino | IS_INFINITE(f) := is_infinite(f)")),
    Entry("safe_divide", "a / b, NULL by zero", forms=("bigquery | SAFE_DIVIDE(x, z) := CASE WHEN z = 0 THEN NULL ELSE x / z END", "spark | TRY_DIVIDE(x, z) := CASE WHEN z = 0 THEN NULL ELSE x / z END"), differs={"spark": "a DOUBLE of two INTs"}),
    *(
        Entry(f"try_{name}", f"a {sign} b, NULL where that is no INT", ("int", "int"), INT, nulls="partial", forms=(f"spark | TRY_{name.upper()}(n, i)", f"bigquery | SAFE_{name.upper()}(n, i)"), spark=f"try_{name}(a, b)", examples={f"TRY_{name.upper()}(9223372036854775807, {by})": None, f"TRY_{name.upper()}(3, 2)": value})
        for name, sign, by, value in (("add", "+", 1, "5"), ("subtract", "-", -1, "1"), ("multiply", "*", 2, "6"))
    ),
    Entry("safe_negate", "-a, NULL where that is no INT", forms=("bigquery | SAFE_NEGATE(n) := try_subtract(0, n)",)),
    Entry("try_mod", "a % b, NULL by zero", forms=("spark | TRY_MOD(x, z) := CASE WHEN z = 0 THEN NULL ELSE x % z END",)),
    Entry("equal_null", "whether two values are the same, NULL being one", forms=("snowflake spark | EQUAL_NULL(v, w) := v IS NOT DISTINCT FROM w",)),
    Entry("booland", "numbers as truth values, false for 0", forms=("snowflake | BOOLAND(x, z) := x <> 0 AND z <> 0", "snowflake | BOOLOR(x, z) := x <> 0 OR z <> 0", "snowflake | BOOLNOT(x) := x = 0")),
    Entry("plus", "a + b, a - b, a * b", forms=("duckdb | ADD(x, z) := x + z", "duckdb | SUBTRACT(x, z) := x - z", "duckdb | MULTIPLY(x, z) := x * z"), differs={"duckdb": "a DECIMAL of more than 38 digits keeps its decimals, or fails"}),
    Entry("arc_tangent", "ATAN2(a, b)", forms=("mysql | ATAN(f, g) := atan2(f, g)",)),
    Entry("nullifzero", "a, NULL for 0", forms=("snowflake spark | NULLIFZERO(x) := CASE WHEN x = 0 THEN NULL ELSE x END",)),
    Entry("positive", "a", forms=("spark | POSITIVE(x) := x",)),
    Entry("negative", "-a", forms=("spark | NEGATIVE(x) := -x",), differs={"spark": "an error for a DECIMAL of more than 34 digits"}),
    Entry("pi", "3.141592653589793", forms=("PI() := ...",)),
    Entry("nanvl", "a, or b where a is NaN", forms=("NANVL(f, g) := CASE WHEN is_nan(f) THEN g ELSE f END",)),
    Entry("sec", "1 / COS(a)", forms=("spark bigquery | SEC(f) := 1.0 / cos(f)",), errors={"spark": "NaN"}),
    Entry("csc", "1 / SIN(a)", forms=("spark bigquery | CSC(f) := 1.0 / sin(f)",), errors={"spark": "infinity, NaN"}),
    Entry("sech", "1 / COSH(a)", forms=("bigquery | SECH(f) := 1.0 / cosh(f)",)),
    Entry("csch", "1 / SINH(a)", forms=("bigquery | CSCH(f) := 1.0 / sinh(f)",)),
    Entry("coth", "1 / TANH(a)", forms=("bigquery | COTH(f) := 1.0 / tanh(f)",)),
    Entry("bits_not", "~a", ("int",), INT, spark="~a", falls=(0,), distinct=True, forms=("~n := bits_not(n)", "snowflake | BITNOT(n) := bits_not(n)",), examples={"~5": "-6"}),
    Entry("greatest", "the greatest that is not NULL", ("any",), _common("GREATEST"), variadic=True, nulls="all", alike=True, fails=("overflow",), bounded=True, rises=(0,), forms=("GREATEST(v, w) := ...",), examples={"GREATEST(1, 3, 2)": "3"}),
    Entry("least", "the least that is not NULL", ("any",), _common("LEAST"), variadic=True, nulls="all", alike=True, fails=("overflow",), bounded=True, rises=(0,), forms=("LEAST(v, w) := ...",), examples={"LEAST(1, 3, 2)": "1"}),
)  # fmt: skip


#: Functions whose domain is the same in Spark: all numbers, where the result is one.
OF_SPARK = ("sin", "cos", "sinh", "cosh", "tanh")


#: Function -> what databases have where it is not defined, or too large for a DOUBLE.
ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    **{name: {"spark": "NULL"} for name in ("ln", "log", "log2", "log10", "log1p")}, **{name: {"spark": "NaN"} for name in ("sqrt", "asin", "acos", "sin", "cos", "tan")},
    "exp": {"duckdb": "infinity", "spark": "infinity"}, "expm1": {"spark": "infinity"}, "power": {"duckdb": "infinity, NaN", "spark": "infinity, NaN", "postgres": "a value"},
    "cot": {"postgres": "infinity", "spark": "infinity, NaN"}, "acosh": {"duckdb": "NaN", "spark": "NaN"},
    **{name: {"duckdb": "infinity", "postgres": "infinity", "spark": "infinity"} for name in ("sinh", "cosh")}, "atanh": {"duckdb": "infinity", "postgres": "infinity", "spark": "infinity, NaN"},
}  # fmt: skip
#: What is one operation, rounded right, rises as the numbers do. The last bit of a logarithm may be wrong, and then it need not.
ROUNDED_RIGHT = ("sqrt", "degrees", "radians")


def _of_doubles(name: str, *others: str, count: int = 1, total: bool = False, by_hand: bool = False) -> Entry:
    """A function of DOUBLEs; outside of its domain it is an error, as in PostgreSQL."""
    fails = () if total else ("out-of-domain", "overflow")
    spark = f"{name}({', '.join('ab'[:count])})" if total or name in OF_SPARK else ""
    if name in ("asin", "acos"):
        beyond = f"CAST(raise_error('{name} of no angle') AS DOUBLE)"
        spark = f"CASE WHEN abs(a) > 1 AND NOT isnan(a) THEN {beyond} ELSE {name}(a) END"
    plain = f"{name.upper()}({'f' if count == 1 else 'f, g'})" + (f" := {BY_HAND}" if by_hand else "")
    text = f"{name.upper()} as DOUBLE"
    rises = (0,) if name in ROUNDED_RIGHT else ()
    differs = {"postgres": "an error where a result is too small for a DOUBLE"} if name in ("exp", "radians") else {}
    if name == "power":
        differs = {
            "spark": "NaN of 1 and -1 to the power of an infinity",
            "postgres": "of two exact numbers a NUMERIC; an error where a result is too small for a DOUBLE, and for a part of -Infinity",
        }
    return Entry(name, text, ("double",) * count, DOUBLE, fails=fails, rises=rises, forms=(plain, *others), spark=spark, differs=differs, errors=ELSEWHERE.get(name, {}))  # fmt: skip


def _of_sums(name: str, sums: str) -> Entry:
    """A statistic of numbers, by how many there are and their exact sums; NULL where it is not defined."""
    parameters = ("int", *["number"] * len(sums.split()))
    return Entry(name, f"{name.upper()}(n, {', '.join(sums.split())})", parameters, DOUBLE, nulls="partial")


# Functions of degrees. What is a whole number of degrees for a simple ratio is exactly that: SIND(30) is 0.5, and SIND(180) is 0.

#: An angle with the same sine, from -90 to 90 degrees.
FOR_SINE = "CASE WHEN abs(f % 360.0e0) <= 90 THEN (f % 360.0e0) WHEN abs(f % 360.0e0) <= 270 THEN sign(f) * 180.0e0 - (f % 360.0e0) ELSE (f % 360.0e0) - sign(f) * 360.0e0 END"
#: An angle from -90 to 90 degrees whose sine is the cosine.
FOR_COSINE = "(abs(180.0e0 - abs(f % 360.0e0)) - 90.0e0)"


def _sine(angle: str) -> str:
    return f"(CASE WHEN abs({angle}) = 30 THEN 0.5e0 * sign({angle}) ELSE sin(radians({angle})) END)"


def _ratio(part: str, of: str, infinite: int) -> str:
    """One by the other: infinite at an angle of each turn, and the opposite half a turn on; 1 or -1 between both axes."""
    ends = (f"(f >= 0) = (abs(f % 360.0e0) = {infinite})", f"abs(f % 180.0e0) = {infinite}")
    infinity = f"CASE WHEN {ends[0]} THEN CAST('Infinity' AS DOUBLE) ELSE CAST('-Infinity' AS DOUBLE) END"
    one = f"CASE WHEN abs(f % 90.0e0) = 45 THEN CAST(sign({part}) * sign({of}) AS DOUBLE) ELSE {part} / {of} END"
    return f"CASE WHEN {ends[1]} THEN {infinity} ELSE {one} END"


def _of_degrees(name: str, text: str, meaning: str) -> Entry:
    call = f"{name.upper()}({'f, g' if name == 'atan2d' else 'f'})"
    doubles = meaning.replace("f %", "CAST(f AS DOUBLE) %")
    if "%" in meaning:  # an angle without end has no sine
        doubles = f"CASE WHEN is_infinite(f) THEN sin(f) ELSE {doubles} END"
    errors = {"postgres": "infinity"} if name == "cotd" else {}
    return Entry(name, text, forms=(f"postgres | {call} := {doubles}",), errors=errors)


OF_DEGREES = (
    _of_degrees("sind", "the sine of an angle in degrees", _sine(FOR_SINE)),
    _of_degrees("cosd", "the cosine of an angle in degrees", _sine(FOR_COSINE)),
    _of_degrees("tand", "the tangent of an angle in degrees; infinite at 90", _ratio(_sine(FOR_SINE), _sine(FOR_COSINE), 90)),
    _of_degrees("cotd", "the cotangent of an angle in degrees; infinite at 0", _ratio(_sine(FOR_COSINE), _sine(FOR_SINE), 0)),
    _of_degrees("asind", "the angle in degrees that has a sine", "CASE WHEN abs(f) = 0.5 THEN 30.0e0 * sign(f) ELSE degrees(asin(f)) END"),
    _of_degrees("acosd", "the angle in degrees that has a cosine", "CASE WHEN abs(f) = 0.5 THEN 90.0e0 - 30.0e0 * sign(f) ELSE degrees(acos(f)) END"),
    _of_degrees("atand", "the angle in degrees that has a tangent", "degrees(atan(f))"),
    _of_degrees("atan2d", "the angle in degrees of the point (b, a)", "degrees(atan2(f, g))"),
)  # fmt: skip


DOUBLES = (
    _of_doubles("sqrt"),
    _of_doubles("exp"),
    _of_doubles("ln"),
    _of_doubles("log10", by_hand=True),
    _of_doubles("log2", by_hand=True),
    _of_doubles("log", count=2, by_hand=True),
    _of_doubles("log1p"),
    _of_doubles("expm1"),
    _of_doubles("power", "POW(f, g)", count=2),
    _of_doubles("cbrt", total=True),
    _of_doubles("sin"),
    _of_doubles("cos"),
    _of_doubles("tan"),
    _of_doubles("cot"),
    _of_doubles("asin"),
    _of_doubles("acos"),
    _of_doubles("atan", total=True),
    _of_doubles("atan2", "tsql | ATN2(f, g)", count=2, total=True),
    Entry("hypot", "the square root of a * a + b * b", ("double", "double"), DOUBLE, forms=("spark generic | HYPOT(f, g)",), spark="hypot(a, b)"),
    *OF_DEGREES,
    Entry("even", "the next even number, away from 0", forms=("duckdb | EVEN(f) := CASE WHEN is_infinite(f) THEN CAST(f AS DOUBLE) ELSE CAST(f AS DOUBLE) - CAST(f AS DOUBLE) % 2.0e0 + CASE WHEN CAST(f AS DOUBLE) % 2.0e0 = 0 THEN 0 ELSE 2 * sign(CAST(f AS DOUBLE)) END END",)),
    _of_doubles("sinh"),
    _of_doubles("cosh"),
    _of_doubles("tanh", total=True),
    _of_doubles("asinh", total=True),
    _of_doubles("acosh"),
    _of_doubles("atanh"),
    _of_doubles("degrees", total=True),
    _of_doubles("radians", total=True),
    Entry("is_nan", "whether a number is NaN; of NULL FALSE in Spark", ("double",), BOOL, rises=(0,), forms=("ISNAN(f) := ...", "IS_NAN(f) := ..."), spark="CASE WHEN a IS NOT NULL THEN isnan(a) END"),
    Entry("is_infinite", "whether a number is infinite", ("double",), BOOL, forms=("ISINF(f) := is_infinite(f)", "IS_INF(f) := is_infinite(f)"), spark="abs(a) = CAST('Infinity' AS DOUBLE)"),
    _of_sums("covar_pop", "x y xy"),
    _of_sums("covar_samp", "x y xy"),
    _of_sums("corr", "x y xx yy xy"),
    _of_sums("regr_slope", "x y xx xy"),
    _of_sums("regr_intercept", "x y xx xy"),
    _of_sums("regr_r2", "x y xx yy xy"),
    _of_sums("regr_sxx", "x xx"),
    _of_sums("regr_sxy", "x y xy"),
    _of_sums("skewness_pop", "x xx xxx"),
    _of_sums("skewness_samp", "x xx xxx"),
    _of_sums("kurtosis_pop", "x xx xxx xxxx"),
    _of_sums("kurtosis_samp", "x xx xxx xxxx"),
    _of_sums("var_pop", "sum squares"),
    _of_sums("var_samp", "sum squares"),
    _of_sums("stddev_pop", "sum squares"),
    _of_sums("stddev_samp", "sum squares"),
)  # fmt: skip
