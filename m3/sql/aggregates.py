"""Aggregate calls -> inputs of a group, with SQL's NULL rules.

SUM and AVG skip NULLs, and are NULL over no non-NULL input: where that can happen, COUNT of the expression is kept next
to the sum. The types are Spark SQL's: SUM(DECIMAL(p, s)) is DECIMAL(min(38, p + 10), s), SUM(INT) and COUNT are INT. AVG
is their quotient, rounded half up once, and has its type (:func:`~m3.dictionary.types.average_type`). VARIANCE and STDDEV keep
the exact count, sum and sum of squares. A DISTINCT aggregate is one over the distinct values, which are a derived relation; MIN and MAX read an ordered map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from sqlglot import exp

from m3.algebra.attempts import Part, sum_parts
from m3.algebra.derive import InputQuery
from m3.algebra.normal import Form, canonical
from m3.algebra.rows import Branch, ListQuery, add_conditions, bind, owners
from m3.algebra.terms import Polynomial, sum_type, unused_name
from m3.collected import COLLECTED, STATISTICS, takes_pairs
from m3.datatypes import BOOL, DOUBLE, Type
from m3.program import Input, MapDecl
from m3.scalars import Call, Const, Scalar, Scope, Var, call, const, numeric_as_decimal, substitute, vars_of
from m3.simplify import simplify
from m3.sql.block import AggregateCall, Place
from m3.sql.correlation import Closed, Space, count_rows, derive_distinct, name_columns, pair_columns
from m3.sql.lines import Line

__all__ = ["Grouping", "compute_default"]

Monomial = tuple[Scalar, ...]
#: What the arguments of the call that is looked at belong to.
ARGUMENTS = Scope("part", 0)


@dataclass
class Grouping:
    """The inputs that the calls of one grouping need; equal ones are kept once.

    Args:
        space: of the block whose rows are grouped.
        branches: those rows, closed.
        keys: the group's columns, which all branches know.
        taken: names that no input may have.
        total: the group is there without rows too (an aggregate without GROUP BY).
    """

    space: Space
    branches: Sequence[Branch]
    keys: Sequence[Var]
    taken: set[str]
    total: bool
    inputs: list[InputQuery] = field(default_factory=list)
    lists: list[ListQuery] = field(default_factory=list)
    _known: dict[object, Var] = field(default_factory=dict)

    def count_rows(self) -> Var:
        """How many rows the group has."""
        return self._add_input("count", "value", count_rows(self.branches, self.keys))

    def compute_result(self, wanted: AggregateCall, node: exp.Expr, wish: str, line: Line | None = None) -> Scalar:
        """A call's result as an expression over inputs; ``line`` is what its argument is made of, if its sum is kept.

        >>> from m3 import emit
        >>> from m3.sql.show import EXAMPLE
        >>> algebra = emit("algebra", "p", EXAMPLE, {"v": "SELECT a, AVG(x) AS m, MAX(x) AS y FROM r GROUP BY a"})
        >>> print(algebra.partition("DERIVE ")[2], end="")
        v_groups[a]
          FROM count = v_groups_count, m_sum = v_groups_m_sum, m_n = v_groups_m_n, y = MAX(v_groups_y)
          SELECT m = CASE WHEN m_n > 0 THEN (m_sum / m_n) :: DECIMAL(38, 19) ELSE NULL :: DECIMAL(38, 19) END,
            y_2 = y
          COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
        """
        if line is not None:
            return self._sum_line(wanted, line, node, wish)
        if wanted.function == "array":
            return self._add_list(wanted, wish)
        branches, args = self._bind_arguments(wanted)
        if wanted.function == "count":
            return self._count_values(branches, args, wish)
        if wanted.function in ("min", "max"):
            return self._add_input(wish, wanted.function, self._count_known(branches, args, args[0]))
        if wanted.function == "pick":
            return self._pick_row(wanted, branches, args, wish)
        if wanted.function in COLLECTED and not _is_exact(wanted):
            # something of all values in their order: they are the map's last keys, after what they are ordered by
            made = self._count_known(branches, args[:1], *args[1:], args[0])
            found = self._add_input(wish, wanted.function, made, (), wanted.order, wanted.parameter)
            if not takes_pairs(wanted.function) and wanted.function != "skewness_samp":
                return found
            return self._defined(wanted, self._count_values(branches, args, f"{wish}_n"), found)
        if wanted.function in ("sum", "avg") and wanted.type.kind == "double":
            return self._sum_floats(wanted, branches, args, wish)
        if wanted.function in ("sum", "avg"):
            return self._sum_exactly(wanted, branches, args, node, wish)
        if takes_pairs(wanted.function) or wanted.function == "regr_sxx":
            return self._compute_pairs(wanted, branches, args, node, wish)
        return self._compute_moment(wanted, branches, args, node, wish)

    def _bind_arguments(self, wanted: AggregateCall) -> tuple[list[Branch], list[Var]]:
        """The rows that the call looks at, and its arguments as variables that they know."""
        args = [Var(f"value{i}", arg.type, ARGUMENTS) for i, arg in enumerate(wanted.args)]
        known = (bind(b, {v.key: b.value(a) for v, a in zip(args, wanted.args, strict=True)}) for b in self.branches)
        branches = add_conditions(known, [wanted.where] if wanted.where is not None else [])
        if not wanted.distinct:
            return branches, args
        columns = [*self.keys, *args]
        relation = derive_distinct(self.space, _drop_nulls(branches, args), columns, "distinct")
        return [Closed(()).occurrence(self.space, relation, columns)], args

    def _add_input(
        self,
        wish: str,
        kind: str,
        made: Polynomial,
        at: Sequence[Var] = (),
        order: tuple[Place, ...] = (),
        parameter: Decimal | str | None = None,
    ) -> Var:
        names = tuple(v.name for v in at)
        form = (kind, canonical(made), names, order, parameter)
        if form not in self._known:
            name = unused_name(wish, self.taken)
            self.taken.add(name)
            self.inputs.append(InputQuery(name, kind, made, names, order, parameter))
            declared = MapDecl("", made.columns, made.value)
            self._known[form] = Var(name, Input(name, "", kind, names).type_in(declared, len(self.keys)))
            return self._known[form]
        found = next(i for i, x in enumerate(self.inputs) if x.name == self._known[form].name)
        before = self.inputs[found].polynomial
        failures = tuple(dict.fromkeys((*before.failures, *made.failures)))
        self.inputs[found] = replace(self.inputs[found], polynomial=replace(before, failures=failures))
        return self._known[form]

    def _add_list(self, wanted: AggregateCall, wish: str) -> Var:
        """A list that is made when the view is read; DISTINCT too, so one map does for both."""
        branches, args = self._bind_arguments(replace(wanted, distinct=False))
        made = count_rows(branches, [*self.keys, *args[1:], args[0]])
        name = unused_name(wish, self.taken)
        self.taken.add(name)
        keys = tuple(c.name for c in name_columns(self.keys))
        limit = None if wanted.parameter is None else int(wanted.parameter)
        self.lists.append(ListQuery(name, made, keys, wanted.order, wanted.distinct, not wanted.type.nullable, limit))
        return self.lists[-1].variable

    def _count_known(self, branches: list[Branch], args: list[Var], *columns: Var) -> Polynomial:
        """How many rows have no NULL among the arguments, also by further columns."""
        return count_rows(_drop_nulls(branches, args), [*self.keys, *columns], args)

    def _counts_all_rows(self, made: Polynomial) -> bool:
        return canonical(made) == self._all_rows

    @cached_property
    def _all_rows(self) -> Form:
        return canonical(count_rows(self.branches, self.keys))

    def _count_values(self, branches: list[Branch], args: list[Var], wish: str) -> Var:
        made = self._count_known(branches, args)
        return self._add_input("count" if self._counts_all_rows(made) else wish, "value", made)

    def _pick_row(self, wanted: AggregateCall, branches: list[Branch], args: list[Var], wish: str) -> Scalar:
        """The value of the first row: the extremes that the order asks for, one after the other, then the least value."""
        steps: list[tuple[Var, Scalar, str]] = []
        for (descending, first), arg in zip(wanted.order, args[1:], strict=True):
            if arg.type.nullable:
                null = Var(f"{arg.name}_missing", BOOL, ARGUMENTS)
                steps.append((null, call("is_null", arg), "max" if first else "min"))
            steps.append((arg, arg, "max" if descending else "min"))
        steps.append((args[0], args[0], "min"))
        known = [bind(b, {v.key: b.value(s) for v, s, _ in steps}) for b in branches]
        made = count_rows(known, [*self.keys, *(v for v, _, _ in steps)])
        found: list[Var] = []
        for variable, _, kind in steps:
            name = wish if variable is args[0] else f"{wish}_by_{variable.name}"
            found.append(self._add_input(name, kind, made, found))
        return found[-1]

    def _sum_floats(self, wanted: AggregateCall, branches: list[Branch], args: list[Var], wish: str) -> Scalar:
        """Floats have no exact differences: the group's values are kept, and summed anew when one of them changes."""
        made = self._count_known(branches, args, args[0])
        total = self._add_input(f"{wish}_sum" if wanted.function == "avg" else wish, "sum", made)
        if wanted.function == "sum":
            return total
        count = self._count_values(branches, args, f"{wish}_n")
        return if_any(count, call("div", total, call("cast", count, to=DOUBLE)))

    def _sum_exactly(
        self, wanted: AggregateCall, branches: list[Branch], args: list[Var], node: exp.Expr, wish: str
    ) -> Scalar:
        average = wanted.function == "avg"
        kind = _summed_type(wanted)
        total = self._sum_products(kind, branches, node, args, f"{wish}_sum" if average else wish)
        complete = self._is_complete(branches, args)
        if complete and not average:
            return total
        count = self._count_values(branches, args, f"{wish}_n")
        value = Call("div", (total, count), wanted.type.with_null(False)) if average else total
        return value if complete else if_any(count, value)

    def _sum_line(self, wanted: AggregateCall, line: Line, node: exp.Expr, wish: str) -> Scalar:
        """SUM or AVG of ``factor * x + offset``, from the sum and the count of x."""
        branches, (asked, base) = self._bind_arguments(replace(wanted, args=(*wanted.args, line.base)))
        kept = numeric_as_decimal(base.type)
        summed = self._sum_products(kept, branches, node, [base], f"{wish}_sum", asked=[asked])
        count = self._count_values(branches, [base], f"{wish}_n")
        # as an INT it is looked at when it is read, as any total
        total = call("cast", line.total(summed, count), to=sum_type(_summed_type(wanted)))
        value = Call("div", (total, count), wanted.type.with_null(False)) if wanted.function == "avg" else total
        return value if self._is_complete(branches, [base]) else if_any(count, value)

    def _is_complete(self, branches: list[Branch], args: list[Var]) -> bool:
        """Whether every row counts, and a group without rows does not exist: there is no NULL to tell from 0."""
        return not self.total and self._counts_all_rows(self._count_known(branches, args))

    def _compute_moment(
        self, wanted: AggregateCall, branches: list[Branch], args: list[Var], node: exp.Expr, wish: str
    ) -> Scalar:
        kind = numeric_as_decimal(wanted.args[0].type)
        total = self._sum_products(kind, branches, node, args, f"{wish}_sum")
        square = numeric_as_decimal(call("mul", args[0], args[0]).type)
        squares = self._sum_products(square, branches, node, [*args, *args], f"{wish}_squares")
        count = self._count_values(branches, args, f"{wish}_n")
        return call(wanted.function, count, total, squares)

    def _compute_pairs(
        self, wanted: AggregateCall, branches: list[Branch], args: list[Var], node: exp.Expr, wish: str
    ) -> Scalar:
        """The number of pairs, and the sums of the products that are named."""
        sums = []
        for name in STATISTICS[wanted.function]:
            factors = [args["xy".index(letter)] for letter in name]
            kind = numeric_as_decimal(factors[0].type if len(factors) == 1 else call("mul", *factors).type)
            sums.append(self._sum_products(kind, branches, node, factors, f"{wish}_{name}"))
        count = self._count_values(branches, args, f"{wish}_n")
        return self._defined(wanted, count, call(wanted.function, count, *sums))

    def _defined(self, wanted: AggregateCall, count: Scalar, result: Scalar) -> Scalar:
        """DuckDB has NaN where CORR, REGR_SLOPE and SKEWNESS are not defined, though there are enough values."""
        too_few = {"corr": 0, "regr_slope": 0, "skewness_samp": 2}.get(wanted.function)
        if self.space.context.dialect != "duckdb" or too_few is None:
            return result
        undefined = call("coalesce", result, call("cast", const("NaN"), to=DOUBLE))
        return call("case", call("gt", count, const(too_few)), undefined, Const(None, undefined.type.with_null()))

    def _sum_products(
        self,
        kind: Type,
        branches: list[Branch],
        node: exp.Expr,
        args: list[Var],
        wish: str,
        asked: Sequence[Var] | None = None,
    ) -> Var:
        """The sum of a product over the rows where it is not NULL. ``asked``: what is computed for each row, instead of ``args``."""
        value = sum_type(kind)
        parts = []
        for branch in branches:
            products = self._multiply_out([branch.env[a.key] for a in args], value)
            computed = [branch.env[a.key] for a in (args if asked is None else asked)]
            parts.append(Part(branch, pair_columns(branch, self.keys), products, _not_null(branch, args), computed))
        made_total = sum_parts(name_columns(self.keys), value, parts)
        factors = ([*t.factors, *(f for a in t.atoms for f in a.factors)] for t in made_total.terms)
        if any(sum(f.type.scale for f in term) > value.scale for term in factors):
            hint = "CAST the factors to fewer digits, so that the product stays within 38"
            self.space.context.source.fail(node, f"the exact product does not fit {value}", "too-precise", hint)
        return self._add_input(wish, "value", made_total)

    def _multiply_out(self, args: list[Scalar], value: Type) -> list[Monomial]:
        """The product of ``args`` as a sum of products whose factors are over one source each, where that is possible."""
        if any(isinstance(a, Const) and a.value is None for a in args):
            return []
        products: list[Monomial] = [()]
        for arg in args:
            products = [a + b for a in products for b in _split_monomials(arg)]
        simplified = [tuple(f for f in m if not (isinstance(f, Const) and f.value == 1)) for m in products]
        if any(sum(f.type.scale for f in m) > value.scale for m in simplified):
            return [tuple(args)]  # multiplied out it would have more decimals than the sum has room for
        return simplified


def _is_exact(wanted: AggregateCall) -> bool:
    """Whether a call is a statistic of exact numbers, whose sums are kept; of DOUBLEs all values are."""
    return wanted.function in STATISTICS and wanted.args[0].type.kind != "double"


def _summed_type(wanted: AggregateCall) -> Type:
    """The type of what SUM or AVG adds up; for AVG with room for the sum."""
    kind = wanted.args[0].type
    return numeric_as_decimal(kind) if wanted.function == "avg" else kind


def if_any(count: Scalar, value: Scalar) -> Scalar:
    """NULL where nothing was counted."""
    return call("case", call("gt", count, const(0)), value, Const(None, value.type.with_null()))


def _drop_nulls(branches: Iterable[Branch], columns: Sequence[Var]) -> list[Branch]:
    """The rows in which none of the columns is NULL."""
    return [kept for b in branches for kept in add_conditions([b], _not_null(b, columns))]


def _not_null(branch: Branch, columns: Sequence[Var]) -> list[Scalar]:
    """Conditions, over one source each where possible, that some columns are not NULL."""
    parts = (part for column in dict.fromkeys(columns) for part in _find_strict_parts(branch.env[column.key]))
    return [call("not", call("is_null", p)) for p in dict.fromkeys(parts) if p.type.nullable]


def _find_strict_parts(scalar: Scalar) -> Iterator[Scalar]:
    """Parts of an expression that is NULL exactly when one of them is."""
    strict = isinstance(scalar, Call) and scalar.op in ("add", "sub", "mul", "neg", "cast", "concat")
    if strict and isinstance(scalar, Call) and len(owners(scalar)) > 1 and scalar.type.nullable:
        for arg in scalar.args:
            yield from _find_strict_parts(arg)
    else:
        yield scalar


def _split_monomials(scalar: Scalar) -> list[Monomial]:
    """A scalar as a sum of products of single-source factors; itself where it is no such sum."""
    if len(owners(scalar)) <= 1 or not isinstance(scalar, Call):
        return [(scalar,)]
    parts = [_split_monomials(a) for a in scalar.args] if scalar.op in ("add", "sub", "mul", "neg") else []
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
            return _split_cases(scalar)
        case "cast" if scalar.type.kind == "decimal":
            inner = scalar.args[0].type
            if (
                inner.kind in ("int", "decimal") and inner.scale <= scalar.type.scale
            ):  # it only widens: no digit is lost
                return _split_monomials(scalar.args[0])
    return [(scalar,)]


def _split_cases(scalar: Call) -> list[Monomial]:
    """``CASE WHEN c THEN v ...`` is the sum of the values, each times the 0-or-1 indicator of its branch."""
    *branches, otherwise = scalar.args
    conditions, values = branches[::2], [*branches[1::2], otherwise]
    together = {alias for c in conditions for alias in owners(c)}
    if len(together) > 1 or scalar.type.nullable:
        return [(scalar,)]
    result: list[Monomial] = []
    for chosen, value in enumerate(values):
        if isinstance(value, Const) and value.value == 0:
            continue  # 0 times its indicator adds nothing
        ones = [const(int(i == chosen)) for i in range(len(values))]
        tests = (x for pair in zip(conditions, ones, strict=False) for x in pair)
        result += [(simplify(call("case", *tests, ones[-1])), *m) for m in _split_monomials(value)]
    return result


def compute_default(result: Scalar, inputs: Mapping[str, InputQuery]) -> Scalar:
    """A call's result over no rows at all."""
    types = {v.name: v.type for v in vars_of(result).values()}
    nothing: dict[str, Scalar] = {}
    for name, given in inputs.items():
        if name not in types:
            continue
        value = given.polynomial.value
        zero = const(0) if value.kind == "int" else Const(0, value)
        nothing[name] = zero if given.kind == "value" else Const(None, types[name])
    return simplify(substitute(result, nothing))
