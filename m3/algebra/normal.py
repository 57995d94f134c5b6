"""A signed join with keys and factors -> a monomial in normal form.

Equalities between sources become shared variables (unification); everything over one source becomes a filter or factor
of its atom; what really needs several sources is kept over variables, which stand for the largest parts that one source
can compute alone. NULL never joins by ``=``: a nullable side is also required to be NOT NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from m3.algebra.rows import Branch, Source, owners
from m3.algebra.terms import Atom, Monomial, localised
from m3.datatypes import Type
from m3.errors import ProgramError
from m3.failures import may_fail
from m3.program import Column
from m3.scalars import Call, Const, Scalar, Scope, Var, bare, call, conjuncts
from m3.simplify import as_filter

__all__ = ["common_type", "to_monomial"]


def to_monomial(
    branch: Branch,
    keys: Sequence[tuple[Column, Scalar]],
    factors: Iterable[Scalar] = (),
    conditions: Iterable[Scalar] = (),
) -> Monomial | None:
    """The monomial of a branch.

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
        for implied in _with_implied(condition):
            normal.require(implied)
    named = [normal.key(column.name, scalar) for column, scalar in keys]
    return normal.monomial(branch.coefficient, named, factors)


def _with_implied(condition: Scalar) -> Iterator[Scalar]:
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
    for owner in owners(condition):
        mine = [[c for c in option if owners(c) == [owner]] for option in rest]
        if all(mine):
            yield _any([_all(m) for m in mine])
    yield _any([_all(option) for option in rest])


def _all(scalars: list[Scalar]) -> Scalar:
    return scalars[0] if len(scalars) == 1 else call("and", *scalars)


def _any(scalars: list[Scalar]) -> Scalar:
    return scalars[0] if len(scalars) == 1 else call("or", *scalars)


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
        return Var("", self.members[0].type if self.strict else _nullable(self), self.scope)


@dataclass
class _Normal:
    sources: dict[Scope, Source]
    local: dict[Scope, list[Scalar]] = field(default_factory=dict)
    cross: list[Scalar] = field(default_factory=list)
    classes: list[_Class] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def require(self, condition: Scalar) -> None:
        """Place one conjunct."""
        touched = owners(condition)
        if len(touched) == 1:
            self._filter(touched[0], condition)
            return
        if isinstance(condition, Call) and condition.op in ("eq", "same"):
            left, right = condition.args
            alike = _unified(left, right)
            strict = condition.op == "eq"
            if len(owners(left)) == 1 and len(owners(right)) == 1 and (strict or alike == (left, right)):
                self._equate(*alike, strict=strict)
                return
        self.cross.append(condition)

    def _filter(self, owner: Scope, condition: Scalar) -> None:
        known = self.local.setdefault(owner, [])
        if condition not in known:
            known.append(condition)

    def _equate(self, left: Scalar, right: Scalar, *, strict: bool) -> None:
        first, second = self._class(left), self._class(right)
        if first is not second:
            first.members += [m for m in second.members if m not in first.members]
            self.classes = [c for c in self.classes if c is not second]
        first.strict = first.strict or second.strict or strict

    def _class(self, scalar: Scalar) -> _Class:
        found = next((c for c in self.classes if scalar in c.members), None)
        if found is None:
            found = _Class([scalar], Scope("part", next(self.numbers)))
            self.classes.append(found)
        return found

    def key(self, wish: str, scalar: Scalar) -> Scalar:
        """Prepare a key: the largest parts over one source get variables; named after the key where that is one."""
        if len(owners(scalar)) == 1:
            found = self._class(scalar)
            found.name = found.name or self._fresh(wish)
        else:
            self._abstract(scalar)
        return scalar

    def _fresh(self, wish: str) -> str:
        taken, name = {c.name for c in self.classes}, wish
        for n in itertools.count(2):
            if name not in taken:
                return name
            name = f"{wish}_{n}"
        raise AssertionError("unreachable")

    def _abstract(self, scalar: Scalar) -> Scalar:
        """The scalar over the classes' placeholders; makes the classes it needs. What may fail stays within its attempt."""
        if isinstance(scalar, Const) or not owners(scalar):
            return scalar
        if len(owners(scalar)) == 1 and not may_fail(scalar):
            return self._class(scalar).variable
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
        self._settle()
        names = {c.scope: c.name for c in self.classes}
        new_keys, conditions, terms = (tuple(_named(s, names) for s in group) for group in scalars)
        atoms = tuple(self._atom(source, mine[source.scope]) for source in self.sources.values())
        return localised(Monomial(new_keys, atoms, conditions, terms, weight))

    def _settle(self) -> None:
        """Name the classes, and turn what equalities imply within a source into filters."""
        for found in self.classes:
            column = next((m.name for m in found.members if isinstance(m, Var)), "")
            found.name = found.name or self._fresh(column or "part")
            found.strict = found.strict or any(map(self._known, found.members))
            if found.strict:
                for member in found.members:
                    if member.type.nullable:
                        self._filter(owners(member)[0], call("not", call("is_null", member)))
            for owner, group in itertools.groupby(
                sorted(found.members, key=lambda m: owners(m)[0]), key=lambda m: owners(m)[0]
            ):
                first, *others = group
                for other in others:
                    self._filter(owner, call("eq" if found.strict else "same", first, other))

    def _known(self, member: Scalar) -> bool:
        """Whether a member is never NULL: then no member of its class is."""
        guard = call("not", call("is_null", member))
        return not member.type.nullable or guard in self.local.get(owners(member)[0], ())

    def _atom(self, source: Source, factors: list[Scalar]) -> Atom:
        bindings: dict[str, Scalar] = {}
        for found in self.classes:
            for member in found.members:
                if owners(member) == [source.scope]:
                    bindings.setdefault(found.name, bare(member))
        conditions = self.local.get(source.scope, [])
        return Atom(
            source.relation.name,
            tuple(bindings.items()),
            tuple(map(bare, conditions)),
            tuple(map(bare, factors)),
        )


def _named(scalar: Scalar, names: Mapping[Scope, str]) -> Scalar:
    """The scalar with the names that the classes have got."""
    if isinstance(scalar, Var) and scalar.scope is not None:
        return Var(names[scalar.scope], scalar.type)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(_named(a, names) for a in scalar.args), scalar.type, scalar.span)
    return scalar


def _nullable(found: _Class) -> Type:
    return found.members[0].type.with_null(any(m.type.nullable for m in found.members))


def _unified(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """Both sides with one type, by casts, so that equal values are equal keys. What the type has no room for is NULL: nothing
    is equal to it."""
    if left.type.same_as(right.type):
        return left, right
    common = common_type(left, right)
    a, b = (s if s.type.same_as(common) else _fitted(call("cast", s, to=common)) for s in (left, right))
    return a, b


def _fitted(cast: Scalar) -> Scalar:
    return Call("attempt", (cast,), cast.type.with_null()) if may_fail(cast) else cast


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
