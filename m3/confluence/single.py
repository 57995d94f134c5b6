"""Single events: by how much one event changes a map, and whether two of them may change places.

Two events may change places where the second adds the same whether the first has been or not, less what the first adds the less
for the second: ``P_e(D + f) - P_e(D) = P_f(D + e) - P_f(D)``, where ``P_e(D)`` is what e adds to a map when the relations contain D.
If that holds for all pairs of events of a program, any order of the same events ends in the same maps.
"""

from __future__ import annotations

from collections.abc import Mapping

from m3.confluence.expansion import Partial
from m3.confluence.meaning import CONTENT_OF, Meanings, changes, content_name, divided
from m3.confluence.products import DELETES, DELETES_CHANGE, ROWS, Atom, Coefficient, Product, Sum, add, normal
from m3.confluence.terms import Term, column
from m3.moments import reads_between

__all__ = ["OTHER", "THIS", "Event", "added_once", "commute", "summed_once"]

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
    later = _changed(meanings, adds_first, OTHER, rows)
    return later == _changed(meanings, adds_second, THIS, rows)


def _changed(meanings: Meanings, meaning: Sum, row: int, rows: Mapping[int, Event]) -> Sum:
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
                            grown = _with_row(product, (name, kind))
                            meanings.add(part, grown, divided(coefficient, degree + 1))
        for product, coefficient in part.items():
            add(total, product, coefficient)
        for event, sum_ in left.items():
            for product, coefficient in _changed(meanings, part, THIS, {THIS: event}).items():
                add(sum_, product, -coefficient)
            if any(len(product.atoms) >= degree for product in sum_):
                return None
    return total


def _with_row(product: Product, atom: Atom) -> Product:
    """The product with the given row joined: one more atom."""
    moved = product.moved({THIS: len(product.atoms)})
    return moved._replace(atoms=(*product.atoms, atom))
