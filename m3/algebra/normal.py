"""A signed join with keys and factors -> a monomial in normal form.

Equalities between sources become shared variables (unification); everything over one source becomes a filter or factor
of its atom; what really needs several sources is kept over variables, which stand for the largest parts that one source
can compute alone. NULL never joins by ``=``: a nullable side is also required to be NOT NULL.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from m3.algebra.rows import Branch, Source, owners
from m3.algebra.terms import Atom, Monomial, Polynomial, localise, unused_name
from m3.datatypes import Type
from m3.errors import ProgramError
from m3.failures import may_fail
from m3.program import Column
from m3.scalars import Call, Const, Scalar, Scope, Var, bare, call, conjuncts, rename
from m3.simplify import as_filter

__all__ = ["DeltaTerm", "Form", "canonical", "canonical_monomial", "common_type", "delta", "form_of", "to_monomial"]


def to_monomial(
    branch: Branch,
    keys: Sequence[tuple[Column, Scalar]],
    factors: Iterable[Scalar] = (),
    conditions: Iterable[Scalar] = (),
) -> Monomial | None:
    """The monomial of a branch.

    >>> from m3.compiler.maps import describe
    >>> from m3.sql.correlation import count_rows
    >>> from m3.sql.show import join_example, show_rows
    >>> rows = join_example("SELECT a FROM r JOIN s ON b = id AND c = x")
    >>> print(show_rows(rows))
    + r.a AS a FROM r, s WHERE s.b = r.id AND s.c = r.x
    >>> print(describe(count_rows(rows.branches, rows.columns)))
    SELECT r.a, COUNT(*) FROM r, s WHERE r.id = s.b AND r.x = s.c AND NOT r.x IS NULL GROUP BY r.a

    Args:
        branch: a join without free variables.
        keys: the target's key columns, and what each is in the branch (over source columns, of the column's type).
        factors: what is summed, a product (over source columns).
        conditions: further conditions (over source columns).

    Returns:
        the monomial, or None when no row can meet the conditions.
    """
    wanted = as_filter(call("and", *branch.conditions, *conditions)) if (branch.conditions or conditions) else None
    if isinstance(wanted, Const):
        if wanted.value is not True:
            return None
        wanted = None
    normal = _Normal({s.scope: s for s in branch.sources})
    for condition in conjuncts(wanted) if wanted is not None else ():
        for implied in _list_implied(condition):
            normal.require(implied)
    named = [normal.key(column.name, scalar) for column, scalar in keys]
    return normal.monomial(branch.coefficient, named, factors)


def _list_implied(condition: Scalar) -> Iterator[Scalar]:
    """The conjuncts that an OR of ANDs implies: what all alternatives share, and per source the alternatives of it."""
    if not (isinstance(condition, Call) and condition.op == "or" and len(owners(condition)) > 1):
        yield condition
        return
    options = [list(dict.fromkeys(conjuncts(arg))) for arg in condition.args]
    common = [c for c in options[0] if all(c in other for other in options[1:])]
    yield from common
    rest = [[c for c in option if c not in common] for option in options]
    if not all(rest):
        return
    for owner in owners(condition):  # rows of one source that fit no alternative need not be joined
        mine = [[c for c in option if owners(c) == [owner]] for option in rest]
        if all(mine):
            yield _combine("or", [_combine("and", m) for m in mine])
    yield _combine("or", [_combine("and", option) for option in rest])


def _combine(op: str, scalars: list[Scalar]) -> Scalar:
    return scalars[0] if len(scalars) == 1 else call(op, *scalars)


@dataclass
class _Class:
    """Equal expressions of one or more sources; ``strict``: equal by ``=``, so never NULL."""

    members: list[Scalar]
    scope: Scope
    strict: bool = False
    name: str = ""

    @property
    def variable(self) -> Var:
        """What stands for it until all classes are known."""
        kind = self.members[0].type
        nullable = any(m.type.nullable for m in self.members)
        return Var("", kind if self.strict else kind.with_null(nullable), self.scope)


@dataclass
class _Normal:
    sources: dict[Scope, Source]
    local: dict[Scope, list[Scalar]] = field(default_factory=dict)
    cross: list[Scalar] = field(default_factory=list)
    classes: list[_Class] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    _found: dict[Scalar, _Class] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def require(self, condition: Scalar) -> None:
        """Place one conjunct."""
        touched = owners(condition)
        if len(touched) == 1:
            self._filter(touched[0], condition)
            return
        if isinstance(condition, Call) and condition.op in ("eq", "same"):
            left, right = condition.args
            alike = _unify(left, right)
            strict = condition.op == "eq"
            if len(owners(left)) == 1 and len(owners(right)) == 1 and (strict or alike == (left, right)):
                first, second = map(self._find_class, alike)
                if first is not second:  # by way of both, all their members are equal
                    first.members += second.members
                    self._found |= dict.fromkeys(second.members, first)
                    self.classes = [c for c in self.classes if c is not second]
                first.strict = first.strict or second.strict or strict
                return
        self.cross.append(condition)

    def _filter(self, owner: Scope, condition: Scalar) -> None:
        known = self.local.setdefault(owner, [])
        if condition not in known:
            known.append(condition)

    def _find_class(self, scalar: Scalar) -> _Class:
        found = self._found.get(scalar)
        if found is None:
            found = self._found[scalar] = _Class([scalar], Scope("part", next(self.numbers)))
            self.classes.append(found)
        return found

    def key(self, wish: str, scalar: Scalar) -> Scalar:
        """Prepare a key: the largest parts over one source get variables; named after the key where that is one."""
        if len(owners(scalar)) == 1:
            found = self._find_class(scalar)
            found.name = found.name or self._name_class(wish)
        else:
            self._abstract(scalar)
        return scalar

    def _name_class(self, wish: str) -> str:
        name = unused_name(wish, self._names)
        self._names.add(name)
        return name

    def _abstract(self, scalar: Scalar) -> Scalar:
        """The scalar over the classes' placeholders; makes the classes it needs. What may fail stays within its attempt."""
        if isinstance(scalar, Const) or not owners(scalar):
            return scalar
        if len(owners(scalar)) == 1 and not may_fail(scalar):
            return self._find_class(scalar).variable
        assert isinstance(scalar, Call)
        return Call(scalar.op, tuple(self._abstract(a) for a in scalar.args), scalar.type, scalar.span)

    def monomial(self, coefficient: int, keys: Sequence[Scalar], factors: Iterable[Scalar]) -> Monomial:
        """Everything put together."""
        weight, constant, across, mine = coefficient, [], [], {scope: [] for scope in self.sources}  # type: ignore[var-annotated]
        for factor in factors:
            touched = owners(factor)
            if isinstance(factor, Const) and factor.type.kind == "int" and isinstance(factor.value, int):
                weight *= factor.value
            elif not touched:
                constant.append(factor)
            elif len(touched) == 1:
                mine[touched[0]].append(factor)
            else:
                across.append(factor)
        scalars = [[self._abstract(s) for s in group] for group in (keys, self.cross, [*constant, *across])]
        self._settle_classes()
        names = {c.scope: c.name for c in self.classes}
        new_keys, conditions, terms = (tuple(_name_classes(s, names) for s in group) for group in scalars)
        bindings = self._bind_classes()
        atoms = tuple(
            Atom(
                source.relation.name,
                tuple(bindings[scope].items()),
                tuple(map(bare, self.local.get(scope, ()))),
                tuple(map(bare, mine[scope])),
            )
            for scope, source in self.sources.items()
        )
        return localise(Monomial(new_keys, atoms, conditions, terms, weight))

    def _settle_classes(self) -> None:
        """Name the classes, and turn what equalities imply within a source into filters."""
        for found in self.classes:
            column = next((m.name for m in found.members if isinstance(m, Var)), "")
            found.name = found.name or self._name_class(column or "part")
            # if one is never NULL, none is
            found.strict = found.strict or any(map(self._is_there, found.members))
            if found.strict:
                for member in found.members:
                    if member.type.nullable:
                        self._filter(_find_owner(member), call("not", call("is_null", member)))
            for owner, group in itertools.groupby(sorted(found.members, key=_find_owner), key=_find_owner):
                first, *others = group
                for other in others:
                    self._filter(owner, call("eq" if found.strict else "same", first, other))

    def _is_there(self, member: Scalar) -> bool:
        """Whether a member is never NULL, by its type or by a filter."""
        if not member.type.nullable:
            return True
        return call("not", call("is_null", member)) in self.local.get(_find_owner(member), ())

    def _bind_classes(self) -> dict[Scope, dict[str, Scalar]]:
        """For each source the variables of the classes that it has a member of; of several the first."""
        bindings: dict[Scope, dict[str, Scalar]] = {scope: {} for scope in self.sources}
        for found in self.classes:
            for member in found.members:
                bindings[_find_owner(member)].setdefault(found.name, bare(member))
        return bindings


def _find_owner(member: Scalar) -> Scope:
    """The one source that a member of a class is over."""
    (owner,) = owners(member)
    return owner


def _name_classes(scalar: Scalar, names: Mapping[Scope, str]) -> Scalar:
    """The scalar with the names that the classes have got."""
    if isinstance(scalar, Var) and scalar.scope is not None:
        return Var(names[scalar.scope], scalar.type)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(_name_classes(a, names) for a in scalar.args), scalar.type, scalar.span)
    return scalar


def _unify(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """Both sides with one type, by casts, so that equal values are equal keys. What the type has no room for is NULL: nothing
    is equal to it."""
    if left.type.same_as(right.type):
        return left, right
    common = common_type(left, right)

    def fit(side: Scalar) -> Scalar:
        if side.type.same_as(common):
            return side
        cast = call("cast", side, to=common)
        return Call("attempt", (cast,), cast.type.with_null()) if may_fail(cast) else cast

    return fit(left), fit(right)


def common_type(*scalars: Scalar) -> Type:
    """The type to which all of them are converted to be compared or united; nullable if one of them is.

    Raises:
        ProgramError: there is none.
    """
    kinds = {s.type.kind for s in scalars}
    nullable = any(s.type.nullable for s in scalars)
    if kinds == {"date", "timestamp"}:
        return Type("timestamp", nullable=nullable)
    if "double" in kinds and kinds <= {"double", "int", "decimal"}:
        return Type("double", nullable=nullable)
    if len(kinds) > 1 and not kinds <= {"int", "decimal"}:
        raise ProgramError(
            f"types {' and '.join(str(s.type) for s in scalars)} differ", kind="type-mismatch", hint="add a CAST"
        )
    return call("coalesce", *scalars).type.with_null(nullable)


# The canonical form of what a map holds: equal for two polynomials exactly when they are the same map.
#
# Polynomials are the same when they differ only in the names of variables (and so of table aliases) and in the order of
# terms, atoms, conditions, bindings and factors. Views share maps because of it: one map per meaning.


#: Orders of look-alike atoms (self-joins) that are tried, those of six; beyond, sharing may be missed but nothing is wrong.
MAX_ORDERS = 720
#: What a map is, apart from names.
Form = tuple[tuple[Type, ...], tuple[Monomial, ...]]


def canonical(polynomial: Polynomial) -> Form:
    """The canonical form of a map whose keys keep their order (a view's, or a derivation's input).

    >>> from m3.sql.correlation import count_rows
    >>> from m3.sql.show import join_example
    >>> one, other = map(join_example, ("SELECT t.a FROM r t, s u WHERE u.b = t.id", "SELECT a FROM s, r WHERE id = b"))
    >>> one, other = (count_rows(rows.branches, rows.columns) for rows in (one, other))
    >>> one == other, canonical(one) == canonical(other)
    (False, True)
    """
    terms = [canonical_monomial(t, ordered=True)[0] for t in polynomial.terms]
    return form_of([c.type for c in polynomial.columns], polynomial.value, tuple(sorted(terms, key=repr)))


def form_of(keys: Iterable[Type], value: Type, terms: tuple[Monomial, ...]) -> Form:
    """The form of a map: the types of its keys (NULLs or not) and values, and its canonical terms."""
    return (*(t.with_null(False) for t in keys), value), terms


def canonical_monomial(monomial: Monomial, *, ordered: bool) -> tuple[Monomial, dict[str, str]]:
    """The canonical form of one term.

    Args:
        monomial: any monomial.
        ordered: keep the order of the keys; otherwise they are put into canonical order.

    Returns:
        The canonical monomial and the canonical name of each variable.
    """
    keys = {k.name for k in monomial.keys if isinstance(k, Var)}
    signed = sorted(((_sign_atom(a, keys), a) for a in map(_sort_atom, monomial.atoms)), key=lambda pair: pair[0])
    candidates = [_number_variables(monomial, order, ordered) for order in _list_orders(signed)]
    return candidates[0] if len(candidates) == 1 else min(candidates, key=lambda candidate: repr(candidate[0]))


def _sort_atom(atom: Atom) -> Atom:
    return Atom(
        atom.relation,
        tuple(sorted(atom.bindings, key=lambda b: _text(b[1]))),
        _sort_unique(atom.conditions),
        tuple(sorted(atom.factors, key=_text)),
    )


def _sort_unique(scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return tuple(sorted(dict.fromkeys(scalars), key=_text))


#: A scalar as text, to sort by.
_text = functools.lru_cache(maxsize=1 << 16)(repr)


def _sign_atom(atom: Atom, keys: set[str]) -> str:
    """What an atom looks like apart from the names of its variables."""
    bindings = [(_text(expr), name in keys) for name, expr in atom.bindings]
    return repr((atom.relation, bindings, *([_text(s) for s in group] for group in (atom.conditions, atom.factors))))


def _list_orders(signed: list[tuple[str, Atom]]) -> Iterator[tuple[Atom, ...]]:
    """The orders of the atoms that keep them sorted by signature."""
    groups = [[a for _, a in g] for _, g in itertools.groupby(signed, key=lambda pair: pair[0])]
    if math.prod(math.factorial(len(g)) for g in groups) > MAX_ORDERS:
        yield tuple(a for _, a in signed)
        return
    for choice in itertools.product(*(itertools.permutations(g) for g in groups)):
        yield tuple(a for group in choice for a in group)


def _number_variables(monomial: Monomial, atoms: tuple[Atom, ...], ordered: bool) -> tuple[Monomial, dict[str, str]]:
    names: dict[str, str] = {}
    for atom in atoms:
        for name, _ in atom.bindings:
            names.setdefault(name, f"v{len(names):03}")
    renamed = tuple(
        Atom(a.relation, tuple((names[n], e) for n, e in a.bindings), a.conditions, a.factors) for a in atoms
    )
    keys = tuple(rename(k, names) for k in monomial.keys)
    return (
        Monomial(
            keys if ordered else tuple(sorted(keys, key=_text)),
            renamed,
            _sort_unique(tuple(rename(c, names) for c in monomial.conditions)),
            tuple(sorted((rename(f, names) for f in monomial.factors), key=_text)),
            monomial.coefficient,
        ),
        names,
    )


# Deltas: by how much a product changes when rows are inserted into, or deleted from, a relation.
#
# For a product of atoms ``A1 * ... * An`` and a change ``dR`` of a relation R, the occurrences of R change one after the
# other, so the difference telescopes: occurrence i contributes ``dAi`` times the earlier occurrences of R after the change
# and the later ones before it. Each term has one changed atom, whatever the change, so a delete is an insert times -1, and
# many rows can change at once.
#
# The papers' form is given too, over the state before the event alone: ``prod(Ai + dAi) - prod(Ai)`` expands into a sum
# over the non-empty sets S of occurrences, of ``sign^|S| * prod(dAi, i in S) * prod(Aj, j not in S)``. It holds for single
# rows only.


@dataclass(frozen=True)
class DeltaTerm:
    """One product of a delta.

    ``bound`` gives the variables that the event determines as expressions over its columns, ``conditions`` and
    ``factors`` are over its columns too. ``rest`` are the atoms that still have to be read, each with ``True`` where it
    must be read after the event, ``False`` where before, and ``None`` where it makes no difference.
    """

    coefficient: int
    bound: tuple[tuple[str, Scalar], ...]
    conditions: tuple[Scalar, ...]
    factors: tuple[Scalar, ...]
    rest: tuple[tuple[Atom, bool | None], ...]


def delta(monomial: Monomial, relation: str, sign: int, *, single: bool = False) -> Iterator[DeltaTerm]:
    """The terms of the change of ``monomial`` when rows of ``relation`` are inserted (1) or deleted (-1).

    Of a table joined with itself, either side changes: the second one after the first.

    >>> from m3.sql.correlation import count_rows
    >>> from m3.sql.show import join_example
    >>> (term,) = count_rows(join_example("SELECT 1 AS n FROM s, s AS t WHERE s.b = t.b").branches, ()).terms
    >>> [([name for name, _ in d.bound], [(a.relation, after) for a, after in d.rest]) for d in delta(term, "s", 1)]
    [(['b'], [('s', False)]), (['b'], [('s', True)])]

    Args:
        monomial: the product.
        relation: what changes.
        sign: 1 or -1; 0 for a change whose rows carry their own signs.
        single: the papers' form for single rows.
    """
    places = [i for i, a in enumerate(monomial.atoms) if a.relation == relation]
    if single:
        chosen_sets = (c for size in range(1, len(places) + 1) for c in itertools.combinations(places, size))
        for chosen in chosen_sets:
            left = tuple((a, None) for i, a in enumerate(monomial.atoms) if i not in chosen)
            yield _make_term([monomial.atoms[i] for i in chosen], left, monomial.coefficient * sign ** len(chosen))
        return
    for place in places:
        rest = [(a, None if i not in places else i < place) for i, a in enumerate(monomial.atoms) if i != place]
        yield _make_term([monomial.atoms[place]], tuple(rest), monomial.coefficient * (sign or 1))


def _make_term(replaced: list[Atom], rest: tuple[tuple[Atom, bool | None], ...], coefficient: int) -> DeltaTerm:
    bound: dict[str, Scalar] = {}
    conditions = [c for a in replaced for c in a.conditions]
    for name, expr in (b for a in replaced for b in a.bindings):
        first = bound.setdefault(name, expr)
        if first != expr:
            conditions.append(call("same", first, expr))
    factors = tuple(f for a in replaced for f in a.factors)
    return DeltaTerm(coefficient, tuple(bound.items()), tuple(dict.fromkeys(conditions)), factors, rest)
