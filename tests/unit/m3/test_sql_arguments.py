"""What is given to a function is read, or refused: of every function that sqlglot and the compiler know, in every dialect."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from sqlglot import Dialect, exp

from m3 import M3Error, compile_views
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP
from m3.program import Column, Relation
from m3.scalars import Scalar, Var
from m3.sql import rewrites
from m3.sql.calls import EXTREMES, MOMENTS, OF_PAIRS, ORDERED
from m3.sql.functions import HANDLERS, NAMED, make_reader
from m3.sql.places import Source
from m3.sql.rewrites import rewrite
from m3.sql.windows import NAMES as WINDOWED
from tests.support.sampling import sampled

DIALECTS = ("postgres", "spark", "duckdb", None)
COLUMNS = {"s": STRING, "i": INT, "f": DOUBLE, "t": DATE, "u": TIMESTAMP, "b": BOOL}
TABLE = Relation("r", tuple(Column(n, t.with_null()) for n, t in COLUMNS.items()), ())
#: Arguments that some function takes. (Two literals might be folded to what one of them is.)
GIVEN = (
    "", "s", "i", "f", "t", "u", "b", "s, s", "s, i", "i, i", "f, i", "f, f", "t, i", "i, t", "t, t", "u, u", "b, s", "s, 'a'", "t, 'month'",
    "'month', t", "u, '%Y'", "u, 'yyyy'", "i, 0.5", "i, 2", "interval '1' day, u", "t, interval '1' day", "s, s, s", "s, i, i", "s, i, s",
    "s, s, i", "i, i, i", "b, s, s", "'day', i, t", "'day', t, t", "day, t, t", "day, i, t", "i, 1, 0", "s, i, s, i", "i, i, i, i, i, i",
)  # fmt: skip
#: What is given besides; none of them is what a function means without it.
MORE = ("7", "s", "7, s", "i, 'x'")
#: The same for functions of many rows.
OF_GROUPS = ("", "s", "i", "b", "i, i", "s, 'a'", "i, 0.5", "i, 2", "i, 1, 0")
FORMS: tuple[type[exp.Expr], ...] = (*EXTREMES, *MOMENTS, *OF_PAIRS, *ORDERED, *WINDOWED)
AGGREGATES = sorted({
    *(name.lower() for form in FORMS if issubclass(form, exp.Func) for name in form.sql_names()), *rewrites.NAMED, *rewrites.FRACTIONS,
    "grouping", "listagg", "string_agg", "quantile", "max_by", "min_by", "any", "countif",
})  # fmt: skip


def compiled(call: str, dialect: str | None) -> str | None:
    """What a call is compiled to, without its places in the text; None if it is refused."""
    text = f"SELECT {call} AS q FROM r"
    try:
        made = compile_views("p", [TABLE], {"v": text}, dialect=dialect)
    except M3Error:
        return None
    return re.sub(r"Span\([^)]*\)", "", repr(made).replace(repr(text), ""))


def scalar(call: str, dialect: str | None) -> str | None:
    """The same for an expression of one row, which is faster."""
    source = Source(f"SELECT {call} AS q FROM r")
    try:
        tree = rewrite(source.parse(dialect), source)
        return re.sub(r"Span\([^)]*\)", "", repr(make_reader(source, column).read(tree.expressions[0].unalias())))
    except M3Error:
        return None


def column(node: exp.Expr) -> Scalar | None:
    known = isinstance(node, exp.Column) and not node.table and node.name in COLUMNS
    return Var(node.name, COLUMNS[node.name].with_null()) if known else None


def functions(dialect: str | None) -> list[str]:
    """A name of each function that the dialect has in its own way; of those that it makes the same thing of, one."""
    builders = {str(builder): (name, builder) for name, builder in builders_of(dialect).items()}
    known = {str(b) for b in builders_of(None).values()} if dialect is not None else set()
    own = {name for key, (name, builder) in builders.items() if key not in known and may_be_read(builder)}
    unnamed = {name.upper() for name, _ in NAMED} - set(builders_of(dialect))
    return sorted(own | unnamed)


def builders_of(dialect: str | None) -> dict[str, Callable[..., exp.Expr]]:
    parser = Dialect.get_or_raise(dialect).parser_class
    return {**parser.FUNCTIONS, **parser.FUNCTION_PARSERS}


def may_be_read(builder: Callable[..., exp.Expr]) -> bool:
    """Whether a builder makes something that has a handler, as far as it says what it makes."""
    made = getattr(builder, "__self__", None)
    return made is None or made in HANDLERS


def silent(name: str, given: str, form: str, means: Callable[[str], str | None]) -> Iterator[str]:
    """Calls that mean what they mean without their last arguments."""
    whole = means(form.format(name, given))
    for more in MORE if whole is not None else ():
        longer = form.format(name, f"{given}, {more}" if given else more)
        if means(longer) == whole:
            yield longer


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_function_has_an_argument_that_nobody_reads(dialect: str | None) -> None:
    calls = itertools.product(sampled(functions(dialect), 12), GIVEN)
    assert [c for name, given in calls for c in silent(name, given, "{}({})", lambda x: scalar(x, dialect))] == []


OF_MANY_ROWS = ("{}({})", "{}({}) FILTER (WHERE b)", "{}({}) OVER (ORDER BY i)")


@pytest.mark.parametrize("form", OF_MANY_ROWS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_aggregate_and_no_window_function_has_one(dialect: str | None, form: str) -> None:
    first = DIALECTS.index(dialect) + 2 * OF_MANY_ROWS.index(form)  # each function in two of the twelve cases
    calls = itertools.product(sampled([name for name in AGGREGATES if name != "count"], 18, first), OF_GROUPS)
    assert [c for name, given in calls for c in silent(name, given, form, lambda x: compiled(x, dialect))] == []


def test_count_reads_each_of_its_arguments_but_not_in_a_window() -> None:
    """What is not NULL, such as a literal, changes no count of rows without NULLs."""
    assert len({compiled(f"COUNT({given})", None) for given in ("s", "s, i", "s, i, f")}) == 3
    assert compiled("COUNT(s, i) OVER ()", None) is None


MODIFIED = (
    "{}(DISTINCT {})", "{}({} ORDER BY t)", "{}({}) FILTER (WHERE f > 1)", "{}({}) WITHIN GROUP (ORDER BY t)", "{}({}) IGNORE NULLS",
    "{}({} IGNORE NULLS)", "{}({}) RESPECT NULLS",
)  # fmt: skip
EXTREMES_OF_SETS = {
    "any_value",
    "arbitrary",
    "every",
    "some",
    *(n.lower() for form in EXTREMES if issubclass(form, exp.Func) for n in form.sql_names()),
    "bool_and",
    "bool_or",
    *(name.lower() for form in (exp.ArgMax, exp.ArgMin, exp.First, exp.Last) for name in form.sql_names()),
}
FIRSTS = {"any_value", "arbitrary", "first", "first_value", "last", "last_value"}
NEIGHBOURS = {"first", "first_value", "last", "last_value", "lag", "lead", "nth_value"}
#: What is the same in any order.
WITHOUT_ORDER = {
    "avg", "sum", "count", "countif", "min", "max", "every", "some", "bool_and", "bool_or", "booland_agg", "boolor_agg", "logical_and", "logical_or",
    "stddev", "stddev_pop", "stddev_samp", "stdev", "var_pop", "var_samp", "variance", "variance_pop", "variance_samp",
}  # fmt: skip
#: Words that change nothing: DISTINCT of an extreme, NULLs of what skips them anyhow or by default does not, the order of a sum.
IDLE = {
    "{}({} ORDER BY t)": WITHOUT_ORDER,
    "{}(DISTINCT {})": EXTREMES_OF_SETS | {"array_unique_agg"},
    "{}({}) IGNORE NULLS": FIRSTS | {"array_agg in spark"}, "{}({} IGNORE NULLS)": FIRSTS | {"array_agg in spark"},
    "{}({}) RESPECT NULLS": FIRSTS | NEIGHBOURS | {"array_agg in postgres", "array_agg in duckdb"},
}  # fmt: skip


@pytest.mark.parametrize("over", ["", " OVER (ORDER BY i)"])
@pytest.mark.parametrize("dialect", ["postgres", "spark", "duckdb"])
def test_no_word_within_a_call_is_dropped(dialect: str, over: str) -> None:
    first = DIALECTS.index(dialect)  # each function in two of the six cases
    calls = itertools.product(sampled(AGGREGATES, 9, first), ("s", "i", "b", "i, 2", "i, i", "s, 'a'", ""))
    assert [call for name, given in calls for call in unchanged(name, given, over, dialect)] == []


def unchanged(name: str, given: str, over: str, dialect: str) -> Iterator[str]:
    """Calls in which a word changes nothing, though it should."""
    whole = compiled(f"{name}({given}){over}", dialect)
    for form in MODIFIED if whole is not None else ():
        call = form.format(name, given) + over
        idle = {name, f"{name} in {dialect}"} & set(IDLE.get(form, ()))
        if not idle and compiled(call, dialect) == whole:
            yield call


@pytest.mark.parametrize("form", [*MODIFIED, "{}({}) OVER ()", "{}({}) OVER w"])
def test_functions_of_one_row_take_no_words_of_aggregates(form: str) -> None:
    names = (
        "abs",
        "upper",
        "length",
        "coalesce",
        "round",
        "concat",
        "greatest",
        "left",
        "substring",
        "nullif",
        "trim",
        "if",
        "lpad",
    )
    given_ = ("s", "i", "s, s", "s, i", "f, i", "b, s, s", "s, i, s")
    for name, given in sampled(itertools.product(names, given_), 12):
        assert [d for d in DIALECTS if compiled(form.format(name, given), d) is not None] == [], (name, given)


def test_the_argument_that_nobody_reads_is_underlined() -> None:
    for call, extra in (
        ("MOD(i, 2, 9)", "9"),
        ("LEFT(s, 2, 9)", "9"),
        ("STRPOS(s, 'a', 2)", "2"),
        ("UPPER(TRIM(s, 'x', s || 'y'))", None),
    ):
        with pytest.raises(M3Error) as caught:
            compile_views("p", [TABLE], {"v": f"SELECT {call} AS q FROM r"}, dialect="postgres")
        assert extra is None or f"takes no argument {extra}" in caught.value.message
        assert caught.value.span is not None


@pytest.mark.parametrize("type_", ["VARCHAR(30)", "CHAR(3)", "NUMERIC(9, 2)", "TIMESTAMP(3)"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_length_of_a_type_is_no_argument(type_: str, dialect: str | None) -> None:
    for cast in (f"CAST(s AS {type_})", f"s::{type_}"):
        Source(f"SELECT {cast} AS q FROM r").parse(dialect)
