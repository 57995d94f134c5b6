"""One copy of what is the same: a group that is another one seen through fewer of its keys is not kept.

Several maps hold nearly the rows of one relation, each with the columns that its readers look at: lineitems by order and
supplier, and by order, part and supplier. If everything that adds to the narrow group N adds to the wide group W, too, at keys
that are N's and more, then N's values become value columns of W, and whoever looks N up looks W up and pays no attention to the
other keys: sums over W are sums over N. A lookup then meets W's rows instead of N's. So N is only given up if it has no fewer
than a :data:`SHARE` of W's rows, by declared keys and row counts, and if it is only looked up by statements: what views and
derivations read stays as they read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cumulus_ops.layout.groups import Group, Shape, loop_names, shape_of
from cumulus_ops.layout.statements import ReadPlan, StatementPlan
from cumulus_ops.mapstore import AccessPath
from m3.explain.sizes import Sizes
from m3.program import Program
from m3.scalars import Scalar, rename

__all__ = ["project_groups"]

#: The least share of the wide group's rows.
SHARE = 0.5

Places = tuple[int, ...]


def project_groups(
    program: Program, groups: Sequence[Group], statements: Sequence[StatementPlan]
) -> tuple[tuple[Group, ...], list[StatementPlan]]:
    """Groups without those that wider ones can stand in for.

    Args:
        program: the program.
        groups: its groups.
        statements: the statements of the groups.

    Returns:
        the groups that are left, some with more members; and their statements, which look only these up.
    """
    by_target: dict[str, list[StatementPlan]] = {group.name: [] for group in groups}
    for statement in statements:
        by_target[statement.target].append(statement)
    kept = {group.name: group for group in groups}
    moved: dict[str, tuple[str, Places]] = {}
    sizes, needed = Sizes(program), _read_as_they_are(program)
    numbers = {group.name: place for place, group in enumerate(groups)}
    for narrow in sorted(groups, key=lambda g: len(g.keys)):
        if needed & set(narrow.members) or not by_target[narrow.name]:
            continue
        for wide in sorted(kept.values(), key=lambda g: len(g.keys)):
            if len(wide.keys) <= len(narrow.keys) or not _worth_it(sizes, narrow, wide):
                continue
            pairs = _paired(by_target[narrow.name], by_target[wide.name], numbers)
            places = None if pairs is None else _places(len(narrow.keys), pairs)
            if pairs is None or places is None:
                continue
            by_target[wide.name] = [_with_products(few, many) for few, many in pairs]
            kept[wide.name] = _with_members(wide, kept.pop(narrow.name), places)
            moved[narrow.name] = wide.name, places
            del by_target[narrow.name]
            break
    final = {name: _followed(name, moved) for name in moved}
    left = [_looked_up_elsewhere(s, final) for group in kept.values() for s in by_target[group.name]]
    return tuple(kept[group.name] for group in groups if group.name in kept), left


def _read_as_they_are(program: Program) -> frozenset[str]:
    """The maps that views and derivations read, or compute."""
    views = {v.map for view in program.views for v in view.values}
    views |= {view.exists for view in program.views if view.exists} | {
        c.map for view in program.views for c in view.checks
    }
    return frozenset(views | {name for d in program.derivations for name in (d.map, *d.reads())})


def _worth_it(sizes: Sizes, narrow: Group, wide: Group) -> bool:
    few, many = sizes.size(narrow.name), sizes.size(wide.name)
    return few is not None and many is not None and few >= SHARE * many


def _paired(
    narrow: Sequence[StatementPlan], wide: Sequence[StatementPlan], numbers: Mapping[str, int]
) -> list[tuple[StatementPlan, StatementPlan]] | None:
    """Each statement of the narrow group with the one of the wide group that does the same at more keys."""
    ours, theirs = (_by_shape(statements, numbers) for statements in (narrow, wide))
    if ours is None or theirs is None or ours.keys() != theirs.keys():
        return None
    return [(ours[shape], theirs[shape]) for shape in ours]


def _by_shape(statements: Sequence[StatementPlan], numbers: Mapping[str, int]) -> dict[Shape, StatementPlan] | None:
    """The statements by all but their keys and factors; None if that does not tell them apart."""
    found = {shape_of(replace(statement, keys=()), numbers): statement for statement in statements}
    return found if len(found) == len(statements) else None


def _places(width: int, pairs: Sequence[tuple[StatementPlan, StatementPlan]]) -> Places | None:
    """The wide group's key that each key of the narrow one is, in all statements."""
    keys = [(_named(few), _named(many)) for few, many in pairs]
    places: list[int] = []
    for i in range(width):
        same = [
            place
            for place in range(len(keys[0][1]))
            if place not in places and all(ours[i] == theirs[place] for ours, theirs in keys)
        ]
        if not same:
            return None
        places.append(same[0])
    return tuple(places)


def _named(statement: StatementPlan) -> tuple[Scalar, ...]:
    names = loop_names(statement)
    return tuple(rename(key, names) for key in statement.keys)


def _with_products(few: StatementPlan, many: StatementPlan) -> StatementPlan:
    """The wide group's statement with the narrow one's products."""
    back = {place: name for name, place in loop_names(many).items()}
    names = {name: back[place] for name, place in loop_names(few).items()}
    products = [replace(p, late_factors=tuple(rename(f, names) for f in p.late_factors)) for p in few.products]
    carried = dict(many.carried) | dict(few.carried)
    return replace(many, carried=tuple(carried.items()), products=(*many.products, *products))


def _with_members(wide: Group, narrow: Group, places: Places) -> Group:
    through = {name: tuple(places[place] for place in narrow.places(name)) for name in narrow.members}
    return replace(wide, members=(*wide.members, *narrow.members), narrow={**wide.narrow, **through})


def _followed(name: str, moved: Mapping[str, tuple[str, Places]]) -> tuple[str, Places]:
    """Where a group has gone in the end, and what its keys are there: a wide group may have gone into a wider one."""
    wide, places = moved[name]
    while wide in moved:
        wide, onward = moved[wide]
        places = tuple(onward[place] for place in places)
    return wide, places


def _looked_up_elsewhere(statement: StatementPlan, moved: Mapping[str, tuple[str, Places]]) -> StatementPlan:
    return replace(statement, reads=tuple(_elsewhere(read, moved) for read in statement.reads))


def _elsewhere(read: ReadPlan, moved: Mapping[str, tuple[str, Places]]) -> ReadPlan:
    if read.path.map not in moved:
        return read
    wide, places = moved[read.path.map]
    path = AccessPath(wide, tuple(places[place] for place in read.path.bound))
    return replace(read, path=path, free=tuple((places[place], name) for place, name in read.free))
