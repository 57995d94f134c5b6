"""Which closed values still wait for a seal of another relation: they are not worth a look until that has closed them, too.

A view over several relations needs one seal of each. A value that is closed in one of them, and for long in no other, stays undone; the
database passes it over by its index, so that a look costs what there is to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, FromClause, and_, false, or_, select

from cumulus_ops.catalog import tables as t

__all__ = ["Seals", "only_waiting"]

#: The seals of a view as (relation, seal), the first one first, where their values are the same texts.
Seals = Sequence[tuple[str, str]]


def only_waiting(views: Mapping[str, Seals]) -> ColumnElement[bool]:
    """The condition that all that a value of ``seal_value`` makes final, and is not final yet, waits for other seals of the same value.

    Args:
        views: the seals of each view that is sealed.
    """
    concerned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for view, seals in views.items():
        for seal in seals:
            concerned[seal].append(view)
    alone = {seal for seal, names in concerned.items() if all(len(views[name]) == 1 for name in names)}
    each = (_waits(seal, {n: views[n] for n in names}) for seal, names in concerned.items() if seal not in alone)
    return or_(false(), *each)


def _waits(seal: tuple[str, str], views: Mapping[str, Seals]) -> ColumnElement[bool]:
    """The same for the values of one seal, which concerns these views."""
    v = t.seal_value.c
    ready = {name: and_(*(_closed(other) for other in seals if other != seal)) for name, seals in views.items()}
    final = {name: _final(name, seals[0]) for name, seals in views.items()}
    some = or_(*(~ready[name] & ~final[name] for name, seals in views.items() if len(seals) > 1))
    others = [final[name] if len(seals) == 1 else ~ready[name] | final[name] for name, seals in views.items()]
    return and_(v.relation == seal[0], v.seal == seal[1], some, *others)


def _closed(seal: tuple[str, str]) -> ColumnElement[bool]:
    p = t.seal_value.alias()
    return select(p.c.id).where(*_same(p, seal), p.c.closed_at.is_not(None)).correlate(t.seal_value).exists()


def _final(view: str, first: tuple[str, str]) -> ColumnElement[bool]:
    p, f = t.seal_value.alias(), t.final_partition.c
    mine = select(f.value).join(p, p.c.id == f.value).where(f.view == view, *_same(p, first))
    return mine.correlate(t.seal_value).exists()


def _same(p: FromClause, seal: tuple[str, str]) -> list[ColumnElement[bool]]:
    return [p.c.relation == seal[0], p.c.seal == seal[1], p.c.value == t.seal_value.c.value]
