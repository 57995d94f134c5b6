"""What the maps of a program hold, found from its triggers alone.

A map **means** a sum of products of relations if each change of a relation, of however many rows, changes that sum by as much as the
map's statements add. So we look for the sum whose differences are what the statements add, with the meaning of what they read put in:

- ``T_R`` is what the statements for a change ``dR`` of the relation R add, as a sum of products of relations and of ``dR``. Reads as
  before the event are of R; AFTER reads are of ``R + dR``. (See :func:`Meanings.added`.)
- If there is a ``Q`` with ``Q(R + dR) - Q(R) = T_R`` for each R, then Euler's formula for homogeneous polynomials gives its terms: those
  of all ``T_R`` that have one ``dR``, with R put for it, divided by their number of atoms. (See :func:`Meanings.integral`.)
- Whether that ``Q`` has these differences is checked term by term, for all relations. (See :func:`Meanings.difference`.)

Deletes are inserts times -1 in most programs, and all that counts is a relation's rows, inserts less deletes. So that other programs
can be told, a relation has a second content: all its deletes so far. A change of that alone is what the statements for deletes and
those for inserts add together, which mostly is nothing.

A derived map's rows are made of other maps' state by its derivation, and its changes are events as a relation's are: here it is a
relation. So is a map of which no meaning is found; it is *opaque*, and what is known of it is itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from m3.confluence.products import (
    CHANGE,
    DELETES,
    DELETES_CHANGE,
    NULL_TESTED,
    ROWS,
    Atom,
    Coefficient,
    Product,
    Sum,
    Term,
    add,
    column,
    keyed,
    normal,
    shifted,
    subsets,
    term,
)
from m3.program import START, MapRef, Program, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, conjuncts
from m3.statements import moments, reads_between

__all__ = [
    "CONTENT_OF",
    "OTHER",
    "THIS",
    "Event",
    "Meanings",
    "Partial",
    "TooLarge",
    "added_once",
    "changes",
    "commute",
    "content_name",
    "divided",
    "expand",
    "summed_once",
]


#: As many products are looked at for a proof; all of TPC-H together has 3,000.
MAX_PRODUCTS = 50_000
#: As many times a relation may be in one product.
MAX_ALIKE = 10
#: What the change of a content is, and back.
CHANGE_OF = {ROWS: CHANGE, DELETES: DELETES_CHANGE}
CONTENT_OF = {change: content for content, change in CHANGE_OF.items()}


class TooLarge(Exception):
    """What a map means has too many products to be looked at."""


def content_name(relation: str, sign: int) -> str:
    """What an atom's relation is called: a map may have a relation's name."""
    return relation if sign else f"\0{relation}"


@dataclass
class Meanings:
    """The meanings found so far, by map. ``multiplied_out``: sums within factors are taken apart, which takes longer and finds more."""

    program: Program
    multiplied_out: bool = False
    known: dict[str, Sum] = field(default_factory=dict)
    _after: dict[tuple[str, str], Sum] = field(default_factory=dict)
    _work: int = 0
    _normal: dict[Product, Product | None] = field(default_factory=dict)

    @property
    def sequential(self) -> bool:
        """Whether statements see what those before them have added."""
        return self.program.semantics == "sequential"

    @cached_property
    def nullable(self) -> dict[str, tuple[bool, ...]]:
        """Which columns of relations, derived and opaque maps may be NULL."""
        found = {content_name(m.name, 0): tuple(k.type.nullable for k in m.keys) for m in self.program.maps}
        return found | {r.name: tuple(c.type.nullable for c in r.columns) for r in self.program.relations}

    @cached_property
    def statements(self) -> dict[str, dict[tuple[str, int], list[tuple[Trigger, int]]]]:
        """The statements by target and by event (relation, sign), each as its trigger and its index."""
        found: dict[str, dict[tuple[str, int], list[tuple[Trigger, int]]]] = {m.name: {} for m in self.program.maps}
        for trigger in self.program.triggers:
            for index, statement in enumerate(trigger.statements):
                found[statement.target].setdefault((trigger.relation, trigger.sign), []).append((trigger, index))
        return found

    def relations(self, target: str) -> list[tuple[str, int]]:
        """The relations whose changes have statements for a map; with 0 for a derived map, else 1."""
        return list(dict.fromkeys((name, abs(sign)) for name, sign in self.statements[target] if name != START))

    def opaque(self, name: str) -> None:
        """A map is known by itself alone: its entries are rows, and their values how often they are there."""
        keys = tuple(column(0, i) for i in range(len(self.program.map_by_name[name].keys)))
        self.known[name] = {Product(((content_name(name, 0), ROWS),), keys): 1}

    def is_opaque(self, name: str) -> bool:
        """Whether a map is known by itself alone."""
        own = (content_name(name, 0), ROWS)
        return any(atom == own for product in self.known[name] for atom in product.atoms)

    def not_opaque(self) -> dict[str, Sum]:
        """The meanings of all other maps."""
        return {name: meaning for name, meaning in self.known.items() if not self.is_opaque(name)}

    def added(self, target: str, relation: str, sign: int) -> Sum:
        """``T_R``: what a map's statements for a change of a relation's contents add to it, of however many rows.

        Raises:
            Between: a read is neither before nor after.
        """
        total: Sum = {}
        mine = self.statements[target]
        inserts, deletes = mine.get((relation, sign), []), mine.get((relation, -1), []) if sign else []
        for trigger, index in inserts:
            self._add_statement(total, trigger, index, CHANGE)
        if sign and not _are_mirrored(inserts, deletes):
            for trigger, index in (*inserts, *deletes):
                self._add_statement(total, trigger, index, DELETES_CHANGE)
        return total

    def start(self, target: str) -> Sum:
        """What there is before the first event."""
        total: Sum = {}
        for trigger, index in self.statements[target].get((START, 1), ()):
            for product, coefficient in self.expanded(trigger, index, Partial(1, (), {})):
                self.add(total, product, coefficient)
        return total

    def _add_statement(self, total: Sum, trigger: Trigger, index: int, kind: int) -> None:
        values = {param: column(0, i) for i, param in enumerate(trigger.params)}
        start = Partial(1, ((content_name(trigger.relation, trigger.sign), kind),), values)
        for product, coefficient in self.expanded(trigger, index, start):
            self.add(total, product, coefficient)

    def expanded(self, trigger: Trigger, index: int, start: Partial) -> Iterable[tuple[Product, Coefficient]]:
        """What a statement adds, see :func:`m3.confluence.meaning.expand`."""
        statement = trigger.statements[index]
        times = moments(trigger, index, sequential=self.sequential)
        name = content_name(trigger.relation, trigger.sign)
        refs = zip(statement.reads(), times, strict=True)
        reads = [self.after(ref.map, name) if after else self.known[ref.map] for ref, after in refs]
        self.count(math.prod(map(len, reads)))
        return expand(statement, reads, start, multiplied_out=self.multiplied_out)

    def add(self, total: Sum, product: Product, coefficient: Coefficient) -> None:
        """Add a product in any form to a sum."""
        self.count()
        if product not in self._normal:
            self._normal[product] = normal(product, self.nullable)
        found = self._normal[product]
        if found is not None and coefficient:
            add(total, found, coefficient)

    def count(self, products: int = 1) -> None:
        """Count the products that are looked at.

        Raises:
            TooLarge: they are too many for a proof.
        """
        self._work += products
        if self._work > MAX_PRODUCTS:
            raise TooLarge

    def after(self, name: str, content: str) -> Sum:
        """What a map means after a change of a relation."""
        key = (name, content)
        if key not in self._after:
            self._after[key] = {**self.known[name], **self.difference(self.known[name], content)}
        return self._after[key]

    def difference(self, meaning: Sum, content: str) -> Sum:
        """By how much a sum changes with a relation: ``Q(R + dR) - Q(R)``."""
        total: Sum = {}
        for product, coefficient, is_normal in changes(meaning, content):
            if is_normal:
                add(total, product, coefficient)
            else:
                self.add(total, product, coefficient)
        return total

    def integral(self, start: Sum, differences: Iterable[Sum]) -> Sum:
        """The only sum that may have these differences and the given constant: see the module."""
        total: Sum = dict(start)
        for difference in differences:
            for product, coefficient in difference.items():
                changed = {i: CONTENT_OF[kind] for i, (_, kind) in enumerate(product.atoms) if kind in CONTENT_OF}
                if len(changed) == 1:
                    self.add(total, _replace_kinds(product, changed), divided(coefficient, len(product.atoms)))
        return total


def changes(meaning: Sum, content: str) -> Iterator[tuple[Product, Coefficient, bool]]:
    """The products by which a sum changes with a relation, their coefficients, and whether they are in normal form already: if one
    atom is of the relation, it keeps its place."""
    for product, coefficient in meaning.items():
        places = [i for i, (name, _) in enumerate(product.atoms) if name == content]
        if len(places) > MAX_ALIKE:
            raise TooLarge
        for chosen in subsets(places):
            kinds = {i: CHANGE_OF[product.atoms[i][1]] for i in chosen}
            yield _replace_kinds(product, kinds), coefficient, len(places) == 1


def _replace_kinds(product: Product, kinds: dict[int, int]) -> Product:
    atoms: list[Atom] = list(product.atoms)
    for place, kind in kinds.items():
        atoms[place] = (atoms[place][0], kind)
    return product._replace(atoms=tuple(atoms))


def divided(coefficient: Coefficient, by: int) -> Coefficient:
    """A coefficient divided, as a whole number where it is one."""
    found = Fraction(coefficient) / by
    return int(found) if found.denominator == 1 else found


def _are_mirrored(inserts: Sequence[tuple[Trigger, int]], deletes: Sequence[tuple[Trigger, int]]) -> bool:
    """Whether the statements for deletes plainly are those for inserts times -1."""
    if len(inserts) != len(deletes):
        return False
    if any(a.params != b.params for (a, _), (b, _) in zip(inserts, deletes, strict=True)):
        return False
    plain = [_split_sign(t.statements[i]) for t, i in inserts]
    return [(-number, rest) for number, rest in plain] == [_split_sign(t.statements[i]) for t, i in deletes]


def _split_sign(statement: Statement) -> tuple[int, Statement]:
    """The product of a statement's integers, and the statement without them."""
    number, rest = 1, []
    for factor in statement.factors:
        if isinstance(factor, Const) and isinstance(factor.value, int):
            number *= factor.value
        else:
            rest.append(factor)
    return number, replace(statement, factors=tuple(rest))


# A statement as a sum of products: what it adds, with what the maps it reads mean put in.


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
            # ``a = b`` of one type is that both are the same and not NULL.
            for part in conjuncts(condition):
                if (
                    isinstance(part, Call)
                    and part.op in ("eq", "same")
                    and part.args[0].type.same_as(part.args[1].type)
                ):
                    left, right = (keyed(a, partial.values) for a in part.args)
                    partial.equations.append((left, right))
                    if part.op == "eq":
                        partial.conditions.extend((1 + t[0], NULL_TESTED, "BOOL", t) for t in (left, right))
                elif not (isinstance(part, Const) and part.value is True):
                    partial.conditions.append(term(part, partial.values))
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


# Single events: by how much one event changes a map, and whether two of them may change places.
#
# Two events may change places where the second adds the same whether the first has been or not, less what the first adds the less
# for the second: ``P_e(D + f) - P_e(D) = P_f(D + e) - P_f(D)``, where ``P_e(D)`` is what e adds to a map when the relations contain D.
# If that holds for all pairs of events of a program, any order of the same events ends in the same maps.


#: (relation, 1), (relation, -1), or (derived map, 0).
Event = tuple[str, int]
#: The given rows of the event at hand, and of the other one.
THIS, OTHER = -1, -2


def added_once(meanings: Meanings, target: str, event: Event, row: int = THIS) -> Sum:
    """What one event adds to a map, as a sum of products of the relations' contents before it and of its given row. Statements that
    read in the middle of what their trigger adds are left out."""
    total: Sum = {}
    for trigger, index in meanings.statements[target].get(event, ()):
        if reads_between(trigger, index, sequential=meanings.sequential):
            continue
        values = {param: column(row, i) for i, param in enumerate(trigger.params)}
        start = Partial(1, (), values, factors=[_weight(row)] if trigger.sign == 0 else [])
        for product, coefficient in meanings.expanded(trigger, index, start):
            _collapse(meanings, total, product, coefficient, row, {row: event})
    return total


def commute(meanings: Meanings, first: Event, adds_first: Sum, second: Event, adds_second: Sum) -> bool:
    """Whether two events may change places; given what each adds, as rows ``THIS`` and ``OTHER``."""
    rows = {THIS: first, OTHER: second}
    later = _compute_change(meanings, adds_first, OTHER, rows)
    return later == _compute_change(meanings, adds_second, THIS, rows)


def _compute_change(meanings: Meanings, meaning: Sum, row: int, rows: Mapping[int, Event]) -> Sum:
    """By how much a sum changes with the event of a given row."""
    total: Sum = {}
    name, sign = rows[row]
    for product, coefficient, _ in changes(meaning, content_name(name, sign)):
        _collapse(meanings, total, product, coefficient, row, rows)
    return total


def _collapse(
    meanings: Meanings,
    total: Sum,
    product: Product,
    coefficient: Coefficient,
    row: int,
    rows: Mapping[int, Event],
) -> None:
    """Add a product with the given row put where the change of a content is; ``rows``: the events of all given rows."""
    _, sign = rows[row]
    kept: list[Atom] = []
    factors: list[Term] = []
    places: dict[int, int] = {}
    for place, (name, kind) in enumerate(product.atoms):
        if kind not in CONTENT_OF:
            places[place] = len(kept)
            kept.append((name, kind))
            continue
        if kind == DELETES_CHANGE and sign > 0:
            return  # an insert changes no deletes
        places[place] = row
        coefficient *= -1 if sign < 0 and kind != DELETES_CHANGE else 1
        factors += [_weight(row)] if sign == 0 else []
    meanings.count()
    moved = product.moved(places)
    moved = moved._replace(atoms=tuple(kept), factors=(*moved.factors, *factors))
    found = normal(moved, meanings.nullable, {r: content_name(*event) for r, event in rows.items()})
    if found is not None:
        add(total, found, coefficient)


def _weight(row: int) -> Term:
    """How many times the row of a derived map's change comes, or goes."""
    return column(row, -1)


def summed_once(meanings: Meanings, start: Sum, added: Mapping[Event, Sum]) -> Sum | None:
    """The sum that single events change by as much as is given (with rows ``THIS``); None where none is found.

    The parts of highest degree determine that of the sum; what that leaves of the differences is of a lower degree, and so on.
    """
    if any(sign == 0 for _, sign in added):
        return None
    total, left = dict(start), {event: dict(sum_) for event, sum_ in added.items()}
    while any(left.values()):
        degree = max(len(product.atoms) for sum_ in left.values() for product in sum_)
        part: Sum = {}
        for (name, sign), sum_ in left.items():
            for product, coefficient in sum_.items():
                if len(product.atoms) == degree:
                    for kind, times in ((DELETES, 1), (ROWS, 1 if sign > 0 else 0)):
                        if times:
                            # The given row is joined: it is one more atom.
                            moved = product.moved({THIS: len(product.atoms)})
                            grown = moved._replace(atoms=(*product.atoms, (name, kind)))
                            meanings.add(part, grown, divided(coefficient, degree + 1))
        for product, coefficient in part.items():
            add(total, product, coefficient)
        for event, sum_ in left.items():
            for product, coefficient in _compute_change(meanings, part, THIS, {THIS: event}).items():
                add(sum_, product, -coefficient)
            if any(len(product.atoms) >= degree for product in sum_):
                return None
    return total
