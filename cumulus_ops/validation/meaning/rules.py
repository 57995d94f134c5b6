"""Every form of SQL that has a meaning written out: the tables of all modules as one, and functions that sqlglot does not know by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp, parse_one

from cumulus_ops.validation.meaning.aggregates import AGGREGATES, aggregate, first_value, is_aggregate
from cumulus_ops.validation.meaning.lists import is_list, of_lists, open_list
from cumulus_ops.validation.meaning.logic import LOGIC
from cumulus_ops.validation.meaning.moments import (
    MOMENTS,
    OPERATIONS,
    add_steps,
    amount_of,
    make_date,
    make_timestamp,
    now_of,
    part,
    to_date,
    truncate_moment,
)
from cumulus_ops.validation.meaning.numbers import EXPM1, LOG1P, NUMBERS, arithmetic, positive_mod
from cumulus_ops.validation.meaning.reader import VALUES, Reader, Rule
from cumulus_ops.validation.meaning.regexes import REGEXES
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, number, refusal
from cumulus_ops.validation.meaning.texts import TEXTS, as_text, place
from cumulus_ops.validation.meaning.windows import WINDOWS
from m3.datatypes import BOOL, DATE, INT, STRING, Type
from m3.dictionary import CONVERTED, FUNCTIONS
from m3.dictionary.forms import Operation, expand

__all__ = ["RULES"]


# Functions that sqlglot does not know by name, in any dialect.


Args = Sequence[exp.Expr]
#: The arguments of an operation where its row asks Spark, and what the proof's own functions begin with there.
LETTERS, OWN = "abcdefgh", "exactly_"


def _is_null(reader: Reader, args: Args, *, negated: bool = False) -> Term:
    tested = exp.Paren(this=exp.Is(this=reader.read(args[0]).node, expression=exp.Null()))
    return Term(exp.Not(this=tested) if negated else tested, BOOL)


def _shift(reader: Reader, unit: str, amount: exp.Expr, start: exp.Expr, sign: int = 1) -> Term:
    steps = amount_of(reader, amount, unit)
    if sign < 0:
        steps = {u: exp.Paren(this=exp.Neg(this=exp.Paren(this=n))) for u, n in steps.items()}
    return add_steps(reader.read(start), steps)


def _mid(reader: Reader, args: Args) -> Term:
    places = [
        exp.Cast(this=as_type(reader.read(a), INT), to=exp.DataType.build("INT", dialect="spark")) for a in args[1:]
    ]
    return Term(fn("substring", as_text(reader, args[0]).node, *places), STRING)


#: (name, number of arguments) -> its meaning.
NAMED: Mapping[tuple[str, int], Callable[[Reader, Args], Term]] = {
    ("date_part", 2): lambda reader, args: part(reader, args[0].name.upper(), reader.read(args[1])),
    ("datepart", 2): lambda reader, args: part(reader, args[0].name.upper(), reader.read(args[1])),
    ("isodow", 1): lambda reader, args: part(reader, "ISODOW", reader.read(args[0])),
    ("make_date", 3): lambda reader, args: make_date(*map(reader.read, args)),
    ("to_date", 1): lambda reader, args: to_date(reader, args[0]),
    ("isnull", 1): _is_null,
    ("isnotnull", 1): lambda reader, args: _is_null(reader, args, negated=True),
    ("mid", 3): _mid,
    **dict.fromkeys(
        (("cardinality", 1), ("array_size", 1), ("list_length", 1)),
        lambda reader, args: reader.read(exp.ArraySize(this=args[0])),
    ),
    ("list_extract", 2): lambda reader, args: reader.read(exp.Bracket(this=args[0], expressions=[args[1]], offset=1)),
    ("zeroifnull", 1): lambda reader, args: LOGIC[exp.Coalesce](
        reader, exp.Coalesce(this=args[0], expressions=[exp.Literal.number(0)])
    ),
    ("dateadd", 2): lambda reader, args: _shift(reader, "DAY", args[1], args[0]),
    ("date_sub", 2): lambda reader, args: _shift(reader, "DAY", args[1], args[0], -1),
    ("dateadd", 3): lambda reader, args: _shift(reader, args[0].name, args[1], args[2]),
    ("timestampadd", 3): lambda reader, args: _shift(reader, args[0].name, args[1], args[2]),
    ("datetrunc", 2): lambda reader, args: truncate_moment(reader, reader.read(args[1]), args[0]),
    ("pmod", 2): lambda reader, args: positive_mod(reader, *map(reader.read, args)),
    ("fmod", 2): lambda reader, args: arithmetic(reader, "mod", *map(reader.read, args)),
    ("log1p", 1): lambda reader, args: LOG1P(reader.read(args[0])),
    ("expm1", 1): lambda reader, args: EXPM1(reader.read(args[0])),
    ("make_timestamp", 6): lambda reader, args: make_timestamp(*map(reader.read, args)),
    **{
        (name, 0): lambda reader, _: now_of(reader)
        for name in ("now", "getdate", "sysdate", "sysdatetime", "localtimestamp")
    },
    **{
        (name, 0): lambda reader, _: now_of(reader)
        for name in ("transaction_timestamp", "statement_timestamp", "current_datetime")
    },
    **{(name, 0): lambda reader, _: now_of(reader, DATE) for name in ("today", "curdate")},
}


def _anonymous(reader: Reader, node: exp.Expr) -> Term:
    """A function that sqlglot does not know by name."""
    key = (str(node.this).lower(), len(node.expressions))
    if is_aggregate(node):
        return aggregate(reader, node, lambda x: x)
    if key in NAMED:
        return NAMED[key](reader, node.expressions)
    meaning = expand(node, reader.dialect)
    if meaning is None:
        raise refusal(f"{key[0].upper()} with {key[1]} arguments")
    return reader.read(meaning)


#: Operations that Spark has not, or not exactly: functions of Arrow compute them.
EXACTLY = ("gcd", "lcm", "factorial", "width_bucket", "round_even", "trunc")


@dataclass(frozen=True)
class _Typed:
    """An argument as rules of types look at it."""

    type: Type
    value: object


def _operation(reader: Reader, node: exp.Expr) -> Term:
    """An operation as its row of the dictionary asks Spark for it: ``a``, ``b``, ``c`` are its arguments."""
    if node.name in OPERATIONS:
        return OPERATIONS[node.name](reader, node)
    entry = FUNCTIONS[node.name]
    if node.name in EXACTLY:
        terms = [reader.read(n) for n in node.expressions]
        to = entry.result_type([_Typed(t.known, t.value) for t in terms])
        nodes = [as_type(t, INT) if entry.parameter(i) == "int" else t.node for i, t in enumerate(terms)]
        nodes += [number(0)] if node.name in ("round_even", "trunc") and len(nodes) == 1 else []
        return Term(reader.exactly(node.name, to, *nodes), to)
    result = entry.result
    if entry.spark and not isinstance(result, Type):
        terms = [reader.read(n) for n in node.expressions]
        result = entry.result_type([_Typed(t.known, t.value) for t in terms])
    if not isinstance(result, Type) or not entry.spark:
        raise refusal(f"the operation {entry.name}")
    args: dict[str, exp.Expr] = {}
    for i, (letter, given) in enumerate(zip(LETTERS, node.expressions, strict=False)):
        parameter = entry.parameter(i)
        wanted = CONVERTED.get(parameter, INT if parameter == "int" else None)
        term = as_text(reader, given) if parameter == "string" else reader.read(given)
        args[letter] = term.node if wanted is None else as_type(term, wanted)
    asked = _find_asked(entry.spark, frozenset(args)).transform(
        lambda part: args[part.name].copy() if isinstance(part, exp.Column) and part.name in args else part
    )
    asked = asked.transform(lambda part: _expand_helper(reader, part, result))
    made = cast(asked, result) if result.kind in ("int", "double") else asked
    return Term(made, result)


@lru_cache(maxsize=1024)
def _find_asked(spark: str, letters: frozenset[str]) -> exp.Expr:
    """The expression for Spark that has these arguments, of those that a row writes one after the other."""
    for text in spark.split(" | "):
        tree = parse_one(text, read="spark")
        if {c.name for c in tree.find_all(exp.Column)} == letters:
            return tree
    raise refusal(f"{spark} of {len(letters)} arguments")


def _expand_helper(reader: Reader, part: exp.Expr, to: Type) -> exp.Expr:
    """What stands for ``place(b)`` and for functions of the proof's own, see :class:`~m3.dictionary.Entry`."""
    name = part.name if isinstance(part, exp.Anonymous) else ""
    if name == "place":
        return place(part.expressions[0])
    return reader.exactly(name.removeprefix(OWN), to, *part.expressions) if name.startswith(OWN) else part


def _drop_sign(rule: Rule) -> Rule:
    """A rule for numbers, whose DOUBLEs have no negative zero."""

    def read(reader: Reader, node: exp.Expr) -> Term:
        found = rule(reader, node)
        if found.kind != "double":
            return found
        zero = exp.Literal(this="0.0D", is_string=False)
        return Term(exp.Paren(this=exp.Add(this=exp.Paren(this=found.node), expression=zero)), found.type, found.value)

    return read


def _element(reader: Reader, node: exp.Expr) -> Term:
    """The first element of a list is FIRST, and the last one LAST."""
    if not is_list(node.this) or len(node.expressions) != 1:  # a part of a text has been read by now
        raise refusal("an element of an array")
    at, start = node.expressions[0], node.args.get("offset") or 0
    is_last = at == exp.Neg(this=exp.Literal.number(1)) and start == 1
    if not is_last and at != exp.Literal.number(start):
        raise refusal("an element of a list that is not its first")
    skips = isinstance(node.this.unnest(), exp.IgnoreNulls)
    call, wrap = open_list(reader, node.this.unnest().this if skips else node.this)
    given = call.this.this if isinstance(call.this, exp.Limit) else call.this
    inner, places = (given.this, given.expressions) if isinstance(given, exp.Order) else (given, [])
    value = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
    made = (exp.Last if is_last else exp.First)(this=exp.Order(this=value, expressions=places) if places else value)
    skips = skips or bool(call.args.get("nulls_excluded")) or isinstance(call, exp.ArrayUniqueAgg)
    return first_value(reader, made, wrap, without_nulls=skips)


_CASTS: Mapping[type[exp.Expr], Rule] = {form: VALUES[form] for form in (exp.Cast, exp.TryCast)}

RULES: Mapping[type[exp.Expr], Rule] = {
    **VALUES, **LOGIC, **{form: _drop_sign(rule) for form, rule in {**NUMBERS, **_CASTS}.items()}, **TEXTS, **REGEXES, **MOMENTS, **AGGREGATES, **WINDOWS,
    **of_lists({**LOGIC, **TEXTS}), exp.Bracket: _element, exp.Anonymous: _anonymous, Operation: _operation,
}  # fmt: skip
