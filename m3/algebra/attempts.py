"""Sums over joined rows, in which what may fail is attempted; and the counts of the rows for which it fails.

A map must take every event, so no expression of it may raise. In the sum, an expression that may fail is attempted: where it
fails it is something of its type, and the row is wrong. That is no matter, because beside the sum stand its **failures**: for
each such expression a sum of its own that counts the rows for which it fails. A view is in error while one of them has an entry.
Being sums of the same joins they follow deletes and late events as everything does, and where nothing fails they are empty.

Before and after, for ``SELECT SUM(r.a / s.b) FROM r JOIN s ON r.k = s.k WHERE 10 / r.c > 1``::

    SUM(r.a / s.b)  of r, s  where r.k = s.k and 10 / r.c > 1

    SUM(ATTEMPT(r.a / s.b))  of r, s  where r.k = s.k and ATTEMPT(10 / r.c > 1)
    failures:  COUNT(*) by r.*       of r, s  where r.k = s.k and FAILS(10 / r.c > 1)
               COUNT(*) by r.a, s.b  of r, s  where r.k = s.k and ATTEMPT(10 / r.c > 1) and FAILS(r.a / s.b)

For which rows an expression is computed at all, SQL leaves open. Here it is the joined rows that meet the (other) conditions, so
that no row is blamed which the result does not depend on; only a side of an equality between tables is computed for all rows of
its table that meet the conditions on it, and if it has several, for their joined rows without the other side. As sums are of
signed joins (an outer join is one), the rows of one expression are counted over all of them: what one adds another may take away.

The rows of a failure are told apart by what the expression reads, and if that is one table, by its declared key, or else by all
columns: that is the example which an error shows. (An expression of several tables would need maps with all columns of each to
say more.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from m3.algebra.normal import to_monomial
from m3.algebra.rows import Branch, Source, owners
from m3.algebra.temporal import refuse_now, require_filters
from m3.algebra.terms import Failure, Monomial, Polynomial, polynomial
from m3.datatypes import INT, Type
from m3.failures import attempted, failed, may_fail, nonzero, tolerated
from m3.program import Column
from m3.scalars import Call, Const, Key, Scalar, Scope, Var, call, substitute, vars_of
from m3.simplify import simplify

__all__ = ["FAILED", "Part", "drop_implied", "sum_parts"]

#: The column of a derived relation that says whether its row could not be computed; it is no part of an example.
FAILED = "failed"


@dataclass(frozen=True)
class Part:
    """What one branch adds: for each row that meets the conditions, its keys and the sum of some products.

    ``keys``: the target's columns, and what they are in the branch; ``products``: each a product of factors that are summed;
    ``guards``: conditions beside the branch's own, that nothing summed is NULL; ``asked``: what the factors were made of, and
    anything else that is computed for each row."""

    branch: Branch
    keys: Sequence[tuple[Column, Scalar]]
    products: Sequence[Sequence[Scalar]] = ((),)
    guards: Sequence[Scalar] = ()
    asked: Sequence[Scalar] = ()


def sum_parts(columns: Iterable[Column], value: Type, parts: Iterable[Part]) -> Polynomial:
    """The sum of some parts, which never fails, with its failures.

    >>> from m3.compiler.maps import describe
    >>> from m3.sql.correlation import count_rows
    >>> from m3.sql.show import join_example
    >>> rows = join_example("SELECT a FROM r WHERE 10 % x = 1")
    >>> made = count_rows(rows.branches, rows.columns)
    >>> print(describe(made))
    SELECT r.a, COUNT(*) FROM r WHERE ATTEMPT(MOD(10, r.x) = 1) GROUP BY r.a
    >>> print(*(describe(f.polynomial) for f in made.failures))
    SELECT r.id, r.x, COUNT(*) FROM r WHERE FAILS(MOD(10, r.x) = 1) = 1 GROUP BY r.id, r.x

    Args:
        columns: the keys of the sum.
        value: the type of its values.
        parts: what is added up; the expressions asked for have the same places in all parts.
    """
    terms: list[Monomial] = []
    failures = _Failures()
    for part in _join_defaults(list(parts)):
        refuse_now([*(s for _, s in part.keys), *part.asked, *(f for factors in part.products for f in factors)])
        wanted = require_filters([*part.branch.conditions, *part.guards])
        conditions = list(failures.attempt_conditions(part.branch, wanted))
        branch = replace(part.branch, conditions=tuple(conditions))
        failures.count_asked(branch, [*(s for _, s in part.keys), *part.asked])
        keys = [(column, attempted(s)) for column, s in part.keys]
        for factors in part.products:
            made = to_monomial(branch, keys, [_attempt_factor(f) for f in factors])
            if made is not None:
                terms.append(made)
    return replace(polynomial(columns, value, terms), failures=tuple(failures.list_failures()))


def _join_defaults(parts: list[Part]) -> list[Part]:
    """The same parts, in which a subquery that counts takes nothing away where a comparison with it rises.

    ``a < (SELECT COUNT(*) ..)`` is what the groups have, and 0 where there is none: ``[a < count] + [a < 0] - [a < 0]``, of which the first and
    the last are about rows with a group. There ``a < 0`` implies ``a < count``, so they are ``[a < count AND a >= 0]``. That is one statement
    instead of two, and rows only come (:mod:`cumulus_ops.coordination.finality.monotone`).
    """
    joined = list(parts)
    for less in (p for p in parts if p.branch.coefficient < 0):
        for more in (p for p in joined if p.branch.coefficient == -less.branch.coefficient):
            rest = _find_rest(more, less)
            if rest is not None:
                conditions = (*more.branch.conditions, rest)
                joined[joined.index(more)] = replace(more, branch=replace(more.branch, conditions=conditions))
                joined.remove(less)
                break
    return joined


def _find_rest(more: Part, less: Part) -> Scalar | None:
    """What is true of the rows of ``more`` that are none of ``less``, if all of these are rows of ``more``, and only a comparison says which."""
    if more.branch.sources != less.branch.sources:
        return None
    if (more.keys, more.products, more.guards, more.asked) != (less.keys, less.products, less.guards, less.asked):
        return None
    ours = [c for c in more.branch.conditions if c not in less.branch.conditions]
    theirs = [c for c in less.branch.conditions if c not in more.branch.conditions]
    if len(ours) != 1 or len(theirs) != 1:
        return None
    (op, low, count), (other_op, other_low, default) = _order_sides(ours[0]), _order_sides(theirs[0])
    counts = {(source.scope, name) for source in more.branch.sources for name in source.counts}
    implied = isinstance(default, Const) and isinstance(default.value, int) and default.value <= 1
    if not implied or (op, low) != (other_op, other_low) or not isinstance(count, Var) or count.key not in counts:
        return None
    return simplify(call("not", theirs[0]))


def _order_sides(condition: Scalar) -> tuple[str, Scalar, Scalar]:
    """A comparison with what has to be less first; another condition is none."""
    match condition:
        case Call(op="not", args=(Call(op="lt" | "le" | "gt" | "ge" as op, args=args),)):
            return _order_sides(call({"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[op], *args))
        case Call(op="lt" | "le" as op, args=(low, high)):
            return op, low, high
        case Call(op="gt" | "ge" as op, args=(high, low)):
            return {"gt": "lt", "ge": "le"}[op], low, high
    return "", condition, condition


def _attempt_factor(factor: Scalar) -> Scalar:
    """A factor that is never NULL because it failed: it adds nothing then."""
    if not may_fail(factor):
        return factor
    attempt = call("attempt", factor)
    return attempt if not factor.type.nullable else call("coalesce", attempt, Const(0, factor.type.with_null(False)))


@dataclass
class _Failures:
    """The failures of a sum, by what they are about."""

    _terms: dict[object, list[Monomial]] = field(default_factory=dict)
    _about: dict[object, tuple[Scalar, tuple[str, ...], tuple[Column, ...]]] = field(default_factory=dict)

    def attempt_conditions(self, branch: Branch, conditions: Sequence[Scalar]) -> Iterator[Scalar]:
        """The conditions as ones that never fail."""
        for condition in conditions:
            if not may_fail(condition):
                yield condition
                continue
            others = [c for c in conditions if c != condition]
            inner = _read_not_null(condition)
            if inner is not None:
                self._count_joined(branch, others, inner)
                yield call("not", call("is_null", attempted(inner)))
            elif isinstance(condition, Call) and _is_join(condition):
                for side, other in (condition.args, condition.args[::-1]):
                    self._count_side(branch, others, side, owners(other))
                yield call(condition.op, *map(attempted, condition.args))
            else:
                self._count_joined(branch, others, condition)
                yield attempted(condition)

    def count_asked(self, branch: Branch, scalars: Sequence[Scalar]) -> None:
        """What is computed for each row of a branch whose conditions never fail."""
        for scalar in dict.fromkeys(scalars):
            known = call("not", call("is_null", attempted(scalar)))
            if known not in branch.conditions:  # else it has been asked for
                self._count_joined(branch, branch.conditions, scalar)

    def list_failures(self) -> Iterator[Failure]:
        """All failures of which rows exist."""
        for what, terms in self._terms.items():
            expression, relations, columns = self._about[what]
            yield Failure(expression, tuple(dict.fromkeys(relations)), polynomial(columns, INT, terms))

    def _count_side(self, branch: Branch, conditions: Sequence[Scalar], scalar: Scalar, other: Sequence[Scope]) -> None:
        """A side of an equality is computed for the rows of its source that meet the conditions on it, or if it has several, for
        the rows of all but the ``other`` side. However often these occur, once: it may link what is there in one join and is
        not in another, which would cancel out."""
        if not may_fail(scalar, nonzero(conditions)):
            return
        touched = set(owners(scalar))
        if len(touched) > 1:
            touched = {s.scope for s in branch.sources} - set(other)
        sources = tuple(s for s in branch.sources if s.scope in touched)
        mine = tuple(tolerated(c) for c in conditions if owners(c) and touched.issuperset(owners(c)))
        places = {s.scope: i for i, s in enumerate(sources)}
        bare: dict[Key, Scalar] = {
            v.key: Var(f"{places[s.scope]}.{v.name}", v.type) for s in sources for v in s.variables()
        }
        relations = tuple(s.relation.name for s in sources)
        what = (relations, substitute(scalar, bare), tuple(substitute(c, bare) for c in mine))
        if what not in self._terms:
            self._add_count(Branch(1, sources, mine), scalar, [s for s in sources if s.scope in owners(scalar)], what)

    def _count_joined(self, branch: Branch, conditions: Sequence[Scalar], scalar: Scalar) -> None:
        """An expression that is computed for the joined rows that meet some conditions."""
        if not may_fail(scalar, nonzero(conditions)):
            return
        touched = set(owners(scalar))
        sources = [s for s in branch.sources if s.scope in touched]
        restricted = replace(branch, conditions=tuple(map(tolerated, conditions)))
        self._add_count(restricted, scalar, sources)

    def _add_count(self, branch: Branch, scalar: Scalar, sources: Sequence[Source], what: object = None) -> None:
        named = _choose_columns(scalar, sources)
        keys = [(column, variable) for column, variable in named]
        term = to_monomial(branch, keys, (), (failed(scalar),))
        if term is None:
            return
        columns = tuple(column for column, _ in named)
        places: dict[Key, Scalar] = {v.key: Var(column.name, v.type) for column, v in named}
        about = substitute(scalar, places), tuple(s.relation.name for s in sources), columns
        self._about.setdefault(what or about, about)
        self._terms.setdefault(what or about, []).append(term)


# Failures that others imply.


def drop_implied(failures: Iterable[Failure]) -> list[Failure]:
    """The failures without those that are there only where another one is, in the same rows: of ``x + 1``, ``x + 2``, .. of an
    INT it is enough to look at the last. A view that has both is in error if and only if the last one fails.

    >>> from m3.sql.correlation import count_rows
    >>> from m3.sql.show import join_example
    >>> rows = join_example("SELECT a + 1 AS b, a + 7 AS c, a - 2 AS d, 3 + a AS e FROM r")
    >>> failures = count_rows(rows.branches, rows.columns).failures
    >>> [f.expression.args[1].value for f in drop_implied(failures)]
    [7, 2]
    """
    failures = list(dict.fromkeys(failures))
    strongest: dict[object, tuple[int, Failure]] = {}
    kept: dict[Failure, object] = {}
    for failure in failures:
        read = _read_offset(failure.expression)
        if read is None:
            continue
        base, offset = read
        kept[failure] = shape = (offset >= 0, base, _mark_failing(failure))
        if shape not in strongest or abs(offset) > strongest[shape][0]:
            strongest[shape] = abs(offset), failure
    return [f for f in failures if f not in kept or strongest[kept[f]][1] is f]


def _read_offset(scalar: Scalar) -> tuple[Scalar, int] | None:
    """``base + offset`` of INTs, which fails where ``base`` does or where it is beyond an INT."""
    if isinstance(scalar, Call) and scalar.op in ("add", "sub") and scalar.type.kind == "int":
        left, right = scalar.args
        if isinstance(right, Const) and isinstance(right.value, int):
            return left, right.value if scalar.op == "add" else -right.value
        if scalar.op == "add" and isinstance(left, Const) and isinstance(left.value, int):
            return right, left.value
    return None


def _mark_failing(failure: Failure) -> object:
    """What is counted, apart from the offset of what fails."""

    def mark(scalar: Scalar) -> Scalar:
        if not isinstance(scalar, Call):
            return scalar
        read = _read_offset(scalar.args[0]) if scalar.op == "fails" else None
        return Call(scalar.op, tuple(map(mark, scalar.args)) if read is None else read[:1], scalar.type)

    def mark_all(scalars: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return tuple(map(mark, scalars))

    made = failure.polynomial
    terms = tuple(
        replace(
            t,
            conditions=mark_all(t.conditions),
            atoms=tuple(replace(a, conditions=mark_all(a.conditions)) for a in t.atoms),
        )
        for t in made.terms
    )
    return failure.relations, made.columns, terms


def _read_not_null(condition: Scalar) -> Scalar | None:
    """What ``x IS NOT NULL`` is about: it is no filter of its own, but belongs to what is computed of x."""
    if isinstance(condition, Call) and condition.op == "not":
        (inner,) = condition.args
        if isinstance(inner, Call) and inner.op == "is_null":
            return inner.args[0]
    return None


def _is_join(condition: Call) -> bool:
    if condition.op not in ("eq", "same"):
        return False
    left, right = (owners(side) for side in condition.args)
    return bool(left and right) and not set(left) & set(right)


def _choose_columns(scalar: Scalar, sources: Sequence[Source]) -> list[tuple[Column, Var]]:
    """The columns that tell the rows of a failure apart."""
    read = vars_of(scalar)
    found: list[tuple[Column, Var]] = []
    taken: set[str] = set()
    for source in sources:
        columns = source.relation.columns if len(sources) == 1 else ()
        keys = (source.relation.key if columns else ()) or tuple(c.name for c in columns)
        for variable in source.variables():
            if (variable.name in keys and variable.name != FAILED) or variable.key in read:
                name = variable.name
                name = name if name.lower() not in taken else f"{source.relation.name}_{name}"
                while name.lower() in taken:
                    name += "_"
                taken.add(name.lower())
                found.append((Column(name, variable.type), variable))
    return found
