"""A statement as a sum of products: what it adds, with what the maps it reads mean put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from m3.confluence.products import Atom, Coefficient, Product, Sum
from m3.confluence.terms import NULL_TESTED, Term, keyed, shifted, term
from m3.program import MapRef, Statement
from m3.scalars import Call, Const, Scalar, Var, conjuncts

__all__ = ["Partial", "expand"]


@dataclass
class Partial:
    """A product in the making, with the values of the variables that are known so far."""

    coefficient: Coefficient
    atoms: tuple[Atom, ...]
    values: dict[str, Term]
    equations: list[tuple[Term, Term]] = field(default_factory=list)
    conditions: list[Term] = field(default_factory=list)
    factors: list[Term] = field(default_factory=list)


def expand(
    statement: Statement, reads: Iterable[Sum], start: Partial, *, multiplied_out: bool
) -> Iterator[tuple[Product, Coefficient]]:
    """The products that a statement adds, not yet in normal form, each with its coefficient.

    Args:
        statement: the statement.
        reads: what each of the maps it reads means, at the time at which it is read.
        start: the event, and the values of its parameters.
        multiplied_out: also take sums within factors apart.
    """
    partials = [start]
    for ref, meaning in zip(statement.reads(), reads, strict=True):
        partials = [_read(p, ref, product, c) for p in partials for product, c in meaning.items()]
    scalars = list(statement.scalars())
    for partial in partials:
        for condition in statement.conditions:
            _require(partial, condition)
        keys = tuple(keyed(k, partial.values) for k in statement.keys)
        equations, conditions = tuple(partial.equations), tuple(partial.conditions)
        for coefficient, factors in _products(scalars, partial.values, multiplied_out):
            product = Product(partial.atoms, keys, equations, conditions, (*partial.factors, *factors))
            yield product, partial.coefficient * coefficient


def _read(partial: Partial, ref: MapRef, product: Product, coefficient: Coefficient) -> Partial:
    """A partial product joined with one product of what a map means."""
    by = len(partial.atoms)
    values = dict(partial.values)
    equations = [*partial.equations, *((shifted(a, by), shifted(b, by)) for a, b in product.equations)]
    for key, found in zip(ref.keys, product.keys, strict=True):
        there = shifted(found, by)
        if isinstance(key, Var) and key.name not in values:
            values[key.name] = there
        else:
            equations.append((keyed(key, values), there))
    return Partial(
        partial.coefficient * coefficient,
        partial.atoms + product.atoms,
        values,
        equations,
        [*partial.conditions, *(shifted(c, by) for c in product.conditions)],
        [*partial.factors, *(shifted(f, by) for f in product.factors)],
    )


def _require(partial: Partial, condition: Scalar) -> None:
    """Add a condition. ``a = b`` of one type is that both are the same and not NULL."""
    for part in conjuncts(condition):
        if isinstance(part, Call) and part.op in ("eq", "same") and part.args[0].type.same_as(part.args[1].type):
            left, right = (keyed(a, partial.values) for a in part.args)
            partial.equations.append((left, right))
            if part.op == "eq":
                partial.conditions.extend((1 + t[0], NULL_TESTED, "BOOL", t) for t in (left, right))
        elif not (isinstance(part, Const) and part.value is True):
            partial.conditions.append(term(part, partial.values))


def _products(
    scalars: Sequence[Scalar], values: Mapping[str, Term], multiplied_out: bool
) -> Iterator[tuple[Coefficient, list[Term]]]:
    """A product of scalars as a sum of products of terms, numbers apart."""
    if not scalars:
        yield 1, []
        return
    for coefficient, factors in _factor(scalars[0], values, multiplied_out):
        for other, more in _products(scalars[1:], values, multiplied_out):
            yield coefficient * other, [*factors, *more]


def _factor(
    scalar: Scalar, values: Mapping[str, Term], multiplied_out: bool
) -> Iterator[tuple[Coefficient, list[Term]]]:
    """One factor as such a sum; what is rounded stays as it is."""
    match scalar:
        case Const(value=int() as value) if not isinstance(value, bool):
            yield value, []
        case Const(value=Decimal() as value):
            number = Fraction(value)
            yield (int(number) if number.denominator == 1 else number), []
        case Call(op="neg", args=(inner,)):
            yield from ((-c, f) for c, f in _factor(inner, values, multiplied_out))
        case Call(op="mul") if _is_exact(scalar, sum(a.type.scale for a in scalar.args)):
            yield from _products(scalar.args, values, multiplied_out)
        case Call(op="add" | "sub") if multiplied_out and _is_exact(scalar, max(a.type.scale for a in scalar.args)):
            yield from _factor(scalar.args[0], values, multiplied_out)
            sign = 1 if scalar.op == "add" else -1
            yield from ((sign * c, f) for c, f in _factor(scalar.args[1], values, multiplied_out))
        case _:
            yield 1, [term(scalar, values)]


def _is_exact(scalar: Call, scale: int) -> bool:
    return scalar.type.is_numeric and scalar.type.scale == scale
