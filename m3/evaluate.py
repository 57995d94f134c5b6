"""Reference evaluation of scalars on Python values: what every operation of :mod:`m3.scalars` means.

Values are int, Decimal, str, date, datetime, bool, float (DOUBLE only) and None. NULL follows SQL's three-valued logic.
Exact numbers are computed exactly and then brought to the node's type: decimals are rounded half up to its scale, and
a result that does not fit is a :class:`~m3.errors.ValueProblem` of kind ``overflow``, never a wrong number.
A CAST from a decimal to INT truncates towards zero, as Spark SQL's does.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, Decimal, InvalidOperation
from fractions import Fraction

from m3.datatypes import INT64_MAX, INT64_MIN, Type
from m3.dictionary import FUNCTIONS
from m3.dictionary.types import EXACT, Value
from m3.errors import ValueProblem, shortened
from m3.functions import KERNELS
from m3.functions.numbers import division_by_zero
from m3.scalars import Call, Const, Scalar, Var

__all__ = ["DEFAULTS", "FAILURES", "Value", "coerce", "evaluate"]

#: What stands for a value that is missing because its expression fails, where NULL cannot.
DEFAULTS: Mapping[str, Value] = {
    "int": 0, "decimal": Decimal(0), "double": 0.0, "string": "", "bool": False,
    "date": datetime.date(1970, 1, 1), "timestamp": datetime.datetime(1970, 1, 1),
}  # fmt: skip
#: What evaluation may raise for some values, and not because of a defect.
FAILURES = (ValueProblem, ArithmeticError)
INT_DIGITS = 18  # behind the first of an INT
SINGLE_DIGIT = re.compile(r"-([0-9])(?![0-9])")
#: What a text may be that is cast, spaces around it aside; what else Python reads (``1_0``, other scripts' digits, weeks) is none.
SPACES = " \t\n\r\f\v"
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
NOT_FINITE = re.compile(r"nan|[-+]?inf(inity)?", re.IGNORECASE)
#: A date may come with a time of day, which is cut off, as in all dialects.
DAY = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?)?")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?")


def evaluate(scalar: Scalar, env: Mapping[str, Value]) -> Value:
    """The value of ``scalar`` where the variables have the values of ``env``.

    Args:
        scalar: the expression.
        env: a value (or None for NULL) for each variable.

    Returns:
        A value of the scalar's type: int for INT, Decimal with exactly ``scale`` decimals for DECIMAL, and so on.

    Raises:
        ValueProblem: ``overflow``, ``division-by-zero`` or ``bad-cast``.
        KeyError: a variable is missing from ``env``.
    """
    if isinstance(scalar, Const):
        return coerce(scalar.value, scalar.type)
    if isinstance(scalar, Var):
        return coerce(env[scalar.name], scalar.type)
    lazy = _LAZY.get(scalar.op)
    return lazy(scalar, env) if lazy else _strict(scalar, [evaluate(a, env) for a in scalar.args])


def coerce(value: Value, to: Type) -> Value:
    """``value``, already of a compatible kind, in the representation of ``to``.

    Raises:
        ValueProblem: it does not fit (``overflow``).
    """
    if value is None:
        return None
    if to.kind == "int" and not isinstance(value, bool):
        whole = int(value) if isinstance(value, Decimal) else value
        if isinstance(whole, int) and not INT64_MIN <= whole <= INT64_MAX:
            message = f"{whole} is out of the range of INT"
            raise ValueProblem(message, kind="overflow", hint="CAST to DECIMAL(38, 0) first")
        return whole
    if to.kind == "decimal":
        if isinstance(value, Decimal) and value.as_tuple().exponent == -to.scale:
            result = value if value else abs(value)
        else:
            exact = value if isinstance(value, Decimal) else Decimal(value)  # type: ignore[arg-type]
            result = EXACT.plus(exact.quantize(Decimal(1).scaleb(-to.scale), context=EXACT))  # there is no -0
        if result.copy_abs() >= Decimal(10) ** (to.precision - to.scale):
            raise ValueProblem(f"{value} does not fit {to}", kind="overflow", hint="widen the type with a CAST")
        return result
    if to.kind == "double":
        number = float(value) + 0.0  # type: ignore[arg-type]  # zero has no sign: -0.0 + 0.0 is 0.0
        return number if number == number else math.nan  # one object, so that it is one key of a map
    return value


def _logical(scalar: Call, env: Mapping[str, Value]) -> Value:
    """Three-valued AND and OR: the absorbing value decides, then NULL, then the neutral value."""
    absorbing = scalar.op == "or"
    unknown = False
    for arg in scalar.args:
        value = evaluate(arg, env)
        if value is absorbing:
            return absorbing
        unknown = unknown or value is None
    return None if unknown else not absorbing


def _case(scalar: Call, env: Mapping[str, Value]) -> Value:
    *branches, otherwise = scalar.args
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        if evaluate(condition, env) is True:
            return coerce(evaluate(value, env), scalar.type)
    return coerce(evaluate(otherwise, env), scalar.type)


def _coalesce(scalar: Call, env: Mapping[str, Value]) -> Value:
    values = (evaluate(a, env) for a in scalar.args)
    return coerce(next((v for v in values if v is not None), None), scalar.type)


def _in(scalar: Call, env: Mapping[str, Value]) -> Value:
    """Like a chain of ORs: one that is equal decides, then NULL."""
    needle, *others = (evaluate(a, env) for a in scalar.args)
    if needle is None:
        return None
    if any(o is not None and _compare("eq", needle, o) for o in others):
        return True
    return None if any(o is None for o in others) else False


def _is_null(scalar: Call, env: Mapping[str, Value]) -> Value:
    return evaluate(scalar.args[0], env) is None


def _attempt(scalar: Call, env: Mapping[str, Value]) -> Value:
    try:
        return coerce(evaluate(scalar.args[0], env), scalar.type)
    except FAILURES:
        return None if scalar.type.nullable else coerce(DEFAULTS[scalar.type.kind], scalar.type)


def _fails(scalar: Call, env: Mapping[str, Value]) -> Value:
    try:
        evaluate(scalar.args[0], env)
    except FAILURES:
        return 1
    return 0


def _same(scalar: Call, env: Mapping[str, Value]) -> Value:
    a, b = (evaluate(x, env) for x in scalar.args)
    return a is b if a is None or b is None else _compare("eq", a, b)


#: Operations that do not need all their arguments, or have a value of their own where one is NULL or fails.
_LAZY: Mapping[str, Callable[[Call, Mapping[str, Value]], Value]] = {
    "and": _logical, "or": _logical, "case": _case, "coalesce": _coalesce, "in": _in, "is_null": _is_null, "attempt": _attempt, "fails": _fails, "same": _same,
}  # fmt: skip


def _strict(scalar: Call, args: list[Value]) -> Value:
    """Operations of values: most are NULL as soon as one argument is."""
    entry = FUNCTIONS.get(scalar.op)
    if None in args and not (entry and entry.computes_nulls):
        return None
    if entry is not None:
        return coerce(KERNELS[scalar.op](args, scalar.type), scalar.type)
    if scalar.op in _COMPARE:
        return _compare(scalar.op, args[0], args[1])
    if scalar.op == "cast":
        return _cast(args[0], scalar.args[0].type, scalar.type)
    if scalar.op == "try_cast":
        try:
            return _cast(args[0], scalar.args[0].type, scalar.type)
        except ValueProblem:
            return None
    return coerce(_OPERATORS[scalar.op](args, scalar.type), scalar.type)


_COMPARE: Mapping[str, Callable[[object, object], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,  # type: ignore[operator]
    "le": lambda a, b: a <= b,  # type: ignore[operator]
    "gt": lambda a, b: a > b,  # type: ignore[operator]
    "ge": lambda a, b: a >= b,  # type: ignore[operator]
}


def _compare(op: str, a: Value, b: Value) -> bool:
    """A comparison; NaN equals itself and is greater than every other number."""
    if a != a or b != b:
        a, b = a != a, b != b
    return _COMPARE[op](_instant(a, b), _instant(b, a))


def _instant(value: Value, other: Value) -> Value:
    """A date compared with a timestamp counts as its midnight."""
    if isinstance(other, datetime.datetime) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time(), other.tzinfo)  # type: ignore[arg-type]
    return value


def _divide(args: list[Value], to: Type) -> Decimal | float:
    """``a / b`` rounded once, half up (away from zero), to the result's scale."""
    if to.kind == "double":
        return _divide_doubles(*args)  # type: ignore[arg-type]
    a, b = (Fraction(x) for x in args)  # type: ignore[arg-type]
    if b == 0:
        raise division_by_zero()
    units = abs(a / b) * 10**to.scale
    rounded = int(units + Fraction(1, 2))
    return Decimal(rounded if a * b >= 0 else -rounded).scaleb(-to.scale, context=EXACT)


def _divide_doubles(a: float, b: float) -> float:
    if b == 0:
        raise division_by_zero()
    return a / b


def _arithmetic(
    exact: Callable[[Decimal, Decimal], Decimal], of_doubles: Callable[[float, float], float]
) -> Callable[[list[Value], Type], Value]:
    def compute(args: list[Value], to: Type) -> Value:
        a, b = args
        if isinstance(a, float) and isinstance(b, float):
            return of_doubles(a, b)
        return exact(Decimal(a), Decimal(b))  # type: ignore[arg-type]

    return compute


def _negative(args: list[Value], _: Type) -> Value:
    (a,) = args
    return EXACT.minus(a) if isinstance(a, Decimal) else -a  # type: ignore[operator]


_OPERATORS: Mapping[str, Callable[[list[Value], Type], Value]] = {
    "add": _arithmetic(EXACT.add, operator.add),
    "sub": _arithmetic(EXACT.subtract, operator.sub),
    "mul": _arithmetic(EXACT.multiply, operator.mul),
    "div": _divide,
    "neg": _negative,
    "not": lambda args, _: not args[0],
}


def _cast(value: Value, source: Type, to: Type) -> Value:
    try:
        return coerce(_CASTS[to.kind](value, source), to)
    except (ValueError, InvalidOperation, OverflowError, TypeError, KeyError) as error:
        shown = repr(shortened(value)) if isinstance(value, str) else repr(value)
        raise ValueProblem(f"cannot cast {shown} to {to}", kind="bad-cast", hint="reject it at the source") from error


def _to_int(value: Value, _: Type) -> Value:
    match value:
        case str():
            number = Decimal(_meant(value, NUMBER))
            if number.adjusted() > INT_DIGITS:  # written out, 1e999999999 has as many digits
                raise OverflowError(value)
            return int(number.to_integral_value(rounding=ROUND_DOWN))
        case bool() | int() | float() | Decimal():
            return int(value)
    raise TypeError(value)


def _to_decimal(value: Value, _: Type) -> Value:
    match value:
        case str():
            return Decimal(_meant(value, NUMBER))
        case bool() | int() | Decimal():
            return Decimal(value)
        case float():
            number = Decimal(repr(value))  # the digits that are shown, and not the binary fraction's dozens
            if not number.is_finite():
                raise ValueError(value)
            return number
    raise TypeError(value)


def _to_double(value: Value, _: Type) -> Value:
    if isinstance(value, str):
        return float(_meant(value, NUMBER, NOT_FINITE))
    return float(value)  # type: ignore[arg-type]


def _meant(text: str, *forms: re.Pattern[str]) -> str:
    """A text without the spaces around it, which has one of these forms."""
    inner = text.strip(SPACES)
    if not any(form.fullmatch(inner) for form in forms):
        raise ValueError(text)
    return inner


def _to_string(value: Value, source: Type) -> Value:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
    return str(value)


def _to_date(value: Value, _: Type) -> Value:
    match value:
        case datetime.datetime():
            return value.date()
        case datetime.date():
            return value
        case str():
            day = _meant(value, DAY).replace("T", " ").partition(" ")[0]
            return datetime.date.fromisoformat(SINGLE_DIGIT.sub(r"-0\1", day))
    raise TypeError(value)


def _to_timestamp(value: Value, _: Type) -> Value:
    match value:
        case datetime.datetime():
            return value
        case datetime.date():
            return datetime.datetime.combine(value, datetime.time())
        case str():
            return datetime.datetime.fromisoformat(_meant(value, MOMENT))
    raise TypeError(value)


def _to_bool(value: Value, _: Type) -> Value:
    match value:
        case str():
            return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}[
                value.strip(SPACES).lower()
            ]
        case bool() | int() | Decimal() | float():
            return value != 0
    raise TypeError(value)


_CASTS: Mapping[str, Callable[[Value, Type], Value]] = {
    "int": _to_int,
    "decimal": _to_decimal,
    "double": _to_double,
    "string": _to_string,
    "date": _to_date,
    "timestamp": _to_timestamp,
    "bool": _to_bool,
}
