"""SUM, COUNT and AVG -> aggregates of the algebra, with SQL's NULL rules.

SUM and AVG skip NULLs, and are NULL over no non-NULL input: where that can happen, COUNT of the expression is kept next
to the sum. The types are Spark SQL's: SUM(DECIMAL(p, s)) is DECIMAL(min(38, p + 10), s), SUM(INT) and COUNT are INT,
AVG(DECIMAL(p, s)) is DECIMAL(p + 4, s + 4), rounded half up. AVG(INT), a floating-point number in Spark, is exact here:
INT counts as DECIMAL(19, 0), so it is DECIMAL(23, 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from m3.algebra import Aggregate, sum_type, value_type
from m3.datatypes import INT, MAX_PRECISION, Type
from m3.errors import M3Error
from m3.scalars import Call, Const, Scalar, Var, call, const, numeric_as_decimal
from m3.sql.expressions import ExpressionReader
from m3.sql.joins import Body

__all__ = ["AggregateReader"]

Monomial = tuple[Scalar, ...]
NAMES = {exp.Sum: "sum", exp.Count: "count", exp.Avg: "avg"}


@dataclass
class AggregateReader:
    """Reads aggregate calls of one query and collects the maps they need in ``values``."""

    body: Body
    columns: ExpressionReader
    values: dict[str, Aggregate] = field(default_factory=dict)

    def read(self, node: exp.Expr, wish: str) -> Scalar:
        """What an aggregate call is, as an expression over ``values``.

        Args:
            node: the call.
            wish: a name for the map, e.g. the output column's.

        Raises:
            CompileError: another aggregate function, or one that cannot be maintained.
        """
        source = self.body.scope.source
        if type(node) not in NAMES:
            hint = "SUM, COUNT and AVG can be maintained; MIN and MAX cannot be undone by deletes"
            source.fail(node, f"{node.key.upper()} cannot be maintained", "unsupported-aggregate", hint)
        if isinstance(node.this, exp.Distinct):
            source.fail(
                node, "DISTINCT in an aggregate", "unsupported-aggregate", "group by the column in its own view"
            )
        if isinstance(node, exp.Count):
            return self._count(node, wish)
        scalar = self.columns.read(node.this)
        if not scalar.type.is_numeric:
            hint = "CAST the argument to DECIMAL(p, s): only INT and DECIMAL sums are exact"
            source.fail(node, f"{node.key.upper()} of {scalar.type}", "type-mismatch", hint)
        return self._sum(node, scalar, wish) if isinstance(node, exp.Sum) else self._avg(node, scalar, wish)

    def _value(self, wish: str, aggregate: Aggregate, node: exp.Expr) -> Var:
        """A variable for the entry of the aggregate's map; the same aggregate is kept once."""
        try:
            kind = value_type(aggregate)
        except M3Error as error:
            self.body.scope.source.fail(node, error.message, error.kind, error.hint)
        for name, known in self.values.items():
            if known == aggregate:
                return Var(name, kind)
        name, n = wish, 1
        while name in self.values or name in self.body.keys:
            n += 1
            name = f"{wish}_{n}"
        self.values[name] = aggregate
        return Var(name, kind)

    def _count(self, node: exp.Expr, wish: str) -> Scalar:
        if isinstance(node.this, exp.Star) or node.this is None:
            return self._rows(node)
        if node.expressions:
            self.body.scope.source.fail(node, "COUNT of several columns", "unsupported-aggregate", "COUNT one of them")
        guards = self._guards(node, self._strict_parts(node, self.columns.read(node.this)))
        return self._counted(node, guards, wish)

    def _rows(self, node: exp.Expr) -> Var:
        return self._value("count", self.body.aggregate(), node)

    def _counted(self, node: exp.Expr, guards: list[Scalar], wish: str) -> Var:
        return self._value(wish, self.body.aggregate(conditions=guards), node) if guards else self._rows(node)

    def _strict_parts(self, node: exp.Expr, scalar: Scalar) -> Iterator[Scalar]:
        """Single-table parts of an expression that is NULL as soon as one of them is."""
        if len(self.body.scope.owners_of(scalar)) <= 1 or not scalar.type.nullable:
            yield scalar
        elif isinstance(scalar, Call) and scalar.op not in ("and", "or", "case", "coalesce"):
            for arg in scalar.args:
                yield from self._strict_parts(node, arg)
        else:
            self._unsplittable(node, scalar)

    def _guards(self, node: exp.Expr, parts: Iterator[Scalar] | list[Scalar]) -> list[Scalar]:
        nullable = dict.fromkeys(p for p in parts if p.type.nullable)
        return [call("not", call("is_null", p)) for p in nullable]

    def _sum(self, node: exp.Expr, scalar: Scalar, wish: str) -> Scalar:
        total, guards = self._total(node, scalar, wish)
        if not guards and self.body.keys:
            return total
        return self._if_any(self._counted(node, guards, f"{wish}_n"), total)

    def _total(self, node: exp.Expr, scalar: Scalar, wish: str) -> tuple[Scalar, list[Scalar]]:
        """The sum over the rows where ``scalar`` is not NULL, and the conditions that say so."""
        monomials = self._monomials(node, scalar)
        guards = self._guards(node, [part for m in monomials for part in m])
        result = sum_type(scalar.type)
        sums = [self._value(wish, self.body.aggregate(_simplified(m), guards), node) for m in monomials]
        if any(s.type.scale > result.scale for s in sums):
            hint = "CAST the factors to fewer digits, so that the product stays within 38"
            self.body.scope.source.fail(node, f"the exact product does not fit {scalar.type}", "too-precise", hint)
        total: Scalar = sums[0] if sums else const(0)
        for other in sums[1:]:
            total = Call("add", (total, other), result)
        return (total if total.type == result else call("cast", total, to=result)), guards

    def _if_any(self, count: Scalar, value: Scalar) -> Scalar:
        nothing = Const(None, value.type.with_null())
        return call("case", call("gt", count, const(0)), value, nothing)

    def _avg(self, node: exp.Expr, scalar: Scalar, wish: str) -> Scalar:
        total, guards = self._total(node, scalar, f"{wish}_sum")
        count = self._counted(node, guards, f"{wish}_n")
        average = Call("div", (total, count), _avg_type(scalar.type))
        return average if not guards and self.body.keys else self._if_any(count, average)

    def _monomials(self, node: exp.Expr, scalar: Scalar) -> list[Monomial]:
        """``scalar`` as a sum of products of single-table factors."""
        if len(self.body.scope.owners_of(scalar)) <= 1:
            return [(scalar,)]
        assert isinstance(scalar, Call)
        parts = [self._monomials(node, a) for a in scalar.args] if scalar.op in ("add", "sub", "mul", "neg") else []
        match scalar.op:
            case "add":
                return parts[0] + parts[1]
            case "sub":
                return parts[0] + [(const(-1), *m) for m in parts[1]]
            case "mul":
                return [a + b for a in parts[0] for b in parts[1]]
            case "neg":
                return [(const(-1), *m) for m in parts[0]]
            case "case":
                return self._cases(node, scalar)
            case "cast" if scalar.type.kind == "decimal" and scalar.args[0].type.scale <= scalar.type.scale:
                return self._monomials(node, scalar.args[0])
        self._unsplittable(node, scalar)

    def _cases(self, node: exp.Expr, scalar: Call) -> list[Monomial]:
        """``CASE WHEN c THEN v ...`` is the sum of the values, each times the 0-or-1 indicator of its branch."""
        *branches, otherwise = scalar.args
        conditions, values = branches[::2], [*branches[1::2], otherwise]
        together = {alias for c in conditions for alias in self.body.scope.owners_of(c)}
        if len(together) > 1 or scalar.type.nullable:
            self._unsplittable(node, scalar)
        result: list[Monomial] = []
        for chosen, value in enumerate(values):
            if isinstance(value, Const) and value.value == 0:
                continue
            ones = [const(int(i == chosen)) for i in range(len(values))]
            tests = (x for pair in zip(conditions, ones, strict=False) for x in pair)
            result += [(call("case", *tests, ones[-1]), *m) for m in self._monomials(node, value)]
        return result

    def _unsplittable(self, node: exp.Expr, scalar: Scalar) -> NoReturn:
        tables = " and ".join(self.body.scope.owners_of(scalar))
        hint = "across tables only + - * (and CASE on conditions of one table) can be split into one factor per table"
        self.body.scope.source.fail(node, f"an expression over {tables} that is not a product", "not-a-product", hint)


def _simplified(monomial: Monomial) -> Monomial:
    return tuple(f for f in monomial if not (isinstance(f, Const) and f.value == 1))


def _avg_type(t: Type) -> Type:
    exact = numeric_as_decimal(t)
    scale = min(exact.scale + 4, MAX_PRECISION)
    return Type("decimal", min(exact.precision + 4, MAX_PRECISION), scale) if t != INT else Type("decimal", 23, 4)
