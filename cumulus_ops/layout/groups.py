"""Map groups: maps whose entries come and go together, kept as one physical table with a value column for each.

Two maps belong to one group if every event adds to both at the same keys: the sums and counts of one view, and of several
views over the same join. The statements of such maps differ in what they multiply, and in nothing else. That is a
bisimulation on the dataflow graph, and the groups are its coarsest partition, found by refinement: begin with all maps of
equal key types in one block, and split a block while the statements of its members differ in their events, conditions, keys
or lookups, with the maps they look up taken for their blocks (Moore's minimisation of automata, with statements for symbols).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap

from cumulus_ops.layout.choices import Choices
from cumulus_ops.layout.statements import Product, ReadPlan, StatementPlan
from cumulus_ops.maps.columns import physical_type
from cumulus_ops.maps.encodings import is_number
from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.project.errors import IntegrityProblem
from m3.dataflow import restrict_to
from m3.explain.cost import Sizes
from m3.program import Column, Program
from m3.scalars import Scalar, rename

__all__ = [
    "Group",
    "Lookup",
    "Shape",
    "choose_copies",
    "find_groups",
    "group_statements",
    "loop_names",
    "note_taken",
    "project_groups",
    "reorder_reads",
    "shape_of",
]


# One copy of what is the same: a group that is another one seen through fewer of its keys is not kept.
#
# Several maps hold nearly the rows of one relation, each with the columns that its readers look at: lineitems by order and
# supplier, and by order, part and supplier. If everything that adds to the narrow group N adds to the wide group W, too, at keys
# that are N's and more, then N's values become value columns of W, and whoever looks N up looks W up and pays no attention to the
# other keys: sums over W are sums over N. A lookup then meets W's rows instead of N's. So N is only given up if it has no fewer
# than a :data:`SHARE` of W's rows, by declared keys and row counts, and if it is only looked up by statements: what views and
# derivations read stays as they read it.


#: The least share of the wide group's rows.
SHARE = 0.5

Places = tuple[int, ...]


def project_groups(
    program: Program, groups: Sequence[Group], statements: Sequence[StatementPlan], given: Choices
) -> tuple[tuple[Group, ...], list[StatementPlan], tuple[tuple[str, str], ...]]:
    """Groups without those that wider ones can stand in for.

    Args:
        program: the program.
        groups: its groups.
        statements: the statements of the groups.
        given: what is chosen already: its groups are moved as it says, and all others among themselves.

    Returns:
        the groups that are left, some with more members; their statements, which look only these up; and who has moved where, in that order.
    """
    by_target: dict[str, list[StatementPlan]] = {group.name: [] for group in groups}
    for statement in statements:
        by_target[statement.target].append(statement)
    kept = {group.name: group for group in groups}
    moved: dict[str, tuple[str, Places]] = {}
    chosen = {names[0] for names in given.alike}
    fresh = [group for group in groups if group.name not in chosen]
    sizes = Sizes(
        restrict_to(program, [name for group in fresh for name in group.members])
    )  # of the others nobody asks
    # What views and derivations read, or compute, stays as it is.
    needed = {name for view in program.views for name in view.maps()}
    needed |= {check.map for view in program.views for check in view.checks}
    needed |= {name for d in program.derivations for name in (d.map, *d.reads())}
    numbers = {group.name: place for place, group in enumerate(groups)}

    def move(narrow: Group, wide: Group) -> bool:
        """Move a group into a wider one, if all its statements do the same there."""
        pairs = _pair_statements(by_target[narrow.name], by_target[wide.name], numbers)
        places = None if pairs is None else _find_places(len(narrow.keys), pairs)
        if pairs is None or places is None:
            return False
        by_target[wide.name] = list(starmap(_add_products, pairs))
        gone = kept.pop(narrow.name)
        through = {name: tuple(places[place] for place in gone.places(name)) for name in gone.members}
        kept[wide.name] = replace(wide, members=(*wide.members, *gone.members), narrow={**wide.narrow, **through})
        moved[narrow.name] = wide.name, places
        del by_target[narrow.name]
        return True

    for name, into in given.moves:
        if not move(kept[name], kept[into]):
            raise IntegrityProblem(f"the stored plan keeps {name} within {into}, which is not wider", kind="plan-moves")
    for narrow in sorted(fresh, key=lambda g: len(g.keys)):
        few = sizes.size(narrow.name)
        if needed & set(narrow.members) or not by_target[narrow.name] or few is None:
            continue
        for wide in sorted((g for g in kept.values() if g.name not in chosen), key=lambda g: len(g.keys)):
            many = sizes.size(wide.name) if len(wide.keys) > len(narrow.keys) else None
            if many is not None and few >= SHARE * many and move(kept[narrow.name], wide):
                break
    left = [
        replace(s, reads=tuple(_move_read(read, moved) for read in s.reads))
        for group in kept.values()
        for s in by_target[group.name]
    ]
    moves = tuple((narrow, wide) for narrow, (wide, _) in moved.items())
    return tuple(kept[group.name] for group in groups if group.name in kept), left, moves


def _pair_statements(
    narrow: Sequence[StatementPlan], wide: Sequence[StatementPlan], numbers: Mapping[str, int]
) -> list[tuple[StatementPlan, StatementPlan]] | None:
    """Each statement of the narrow group with the one of the wide group that does the same at more keys."""
    # By all but keys and factors; where that does not tell the statements of a group apart, there are no pairs.
    ours, theirs = ({shape_of(replace(s, keys=()), numbers): s for s in group} for group in (narrow, wide))
    if ours.keys() != theirs.keys() or len(ours) < len(narrow) or len(theirs) < len(wide):
        return None
    return [(ours[shape], theirs[shape]) for shape in ours]


def _find_places(width: int, pairs: Sequence[tuple[StatementPlan, StatementPlan]]) -> Places | None:
    """The wide group's key that each key of the narrow one is, in all statements."""
    keys = [(_name_keys(few), _name_keys(many)) for few, many in pairs]
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


def _name_keys(statement: StatementPlan) -> tuple[Scalar, ...]:
    names = loop_names(statement)
    return tuple(rename(key, names) for key in statement.keys)


def _add_products(few: StatementPlan, many: StatementPlan) -> StatementPlan:
    """The wide group's statement with the narrow one's products."""
    back = {place: name for name, place in loop_names(many).items()}
    names = {name: back[place] for name, place in loop_names(few).items()}
    carried = dict(many.carried) | dict(few.carried)
    products = (*many.products, *_rename_factors(few.products, names))
    return replace(many, carried=tuple(carried.items()), products=products)


def _move_read(read: ReadPlan, moved: Mapping[str, tuple[str, Places]]) -> ReadPlan:
    """A lookup of a group that is not kept, in the one that stands in for it."""
    while read.path.map in moved:  # a wide group may have gone into a wider one
        wide, places = moved[read.path.map]
        path = AccessPath(wide, tuple(places[place] for place in read.path.bound))
        read = replace(read, path=path, free=tuple((places[place], name) for place, name in read.free))
    return read


#: What two statements must have in common to be one chain of lookups: all but their factors.
Shape = tuple[object, ...]
Blocks = Mapping[str, int]


@dataclass(frozen=True)
class Group:
    """A physical table. It is called after its first member, whose key columns it has; ``members`` are its value columns.
    ``narrow``: for members with fewer keys, which of the group's these are, one after the other; such a member is the sum over
    the other keys (:mod:`cumulus_ops.layout.groups`)."""

    name: str
    keys: tuple[Column, ...]
    members: tuple[str, ...]
    narrow: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)

    def places(self, member: str) -> tuple[int, ...]:
        """Which of the group's keys a member's keys are."""
        return self.narrow.get(member, tuple(range(len(self.keys))))


def find_groups(
    program: Program, statements: Sequence[StatementPlan], alike: Sequence[tuple[str, ...]] = ()
) -> tuple[Group, ...]:
    """The groups of a program's maps, in the order of their first members.

    Args:
        program: the program.
        statements: all its statements, each by itself.
        alike: groups that are chosen already; they stay as they are, and no other map joins them.
    """
    chosen = {name: names[0] for names in alike for name in names}
    derived = {d.map for d in program.derivations}
    by_target: dict[str, list[StatementPlan]] = {m.name: [] for m in program.maps}
    for statement in statements:
        by_target[statement.target].append(statement)
    first = {
        m.name: (tuple((k.type.kind, k.type.scale) for k in m.keys), m.name if m.name in derived else "")
        if m.name not in chosen
        else chosen[m.name]
        for m in program.maps
    }
    blocks = _number_blocks(first)
    # Each round can only split blocks, since the old block is a part of the new sign; so it ends when their number stays.
    while True:
        shapes = {
            name: (blocks[name], frozenset(Counter(shape_of(s, blocks) for s in by_target[name]).items()))
            if name not in chosen
            else blocks[name]
            for name in by_target
        }
        finer = _number_blocks(shapes)
        if len(set(finer.values())) == len(set(blocks.values())):
            break
        blocks = finer
    members: dict[int, list[str]] = {}
    for name, block in blocks.items():
        members.setdefault(block, []).append(name)
    for names in alike:  # in their order: the first gives the name
        members[blocks[names[0]]] = list(names)
    return tuple(Group(names[0], program.map_by_name[names[0]].keys, tuple(names)) for names in members.values())


def _number_blocks(signs: Mapping[str, object]) -> dict[str, int]:
    numbers: dict[object, int] = {}
    return {name: numbers.setdefault(sign, len(numbers)) for name, sign in signs.items()}


def loop_names(statement: StatementPlan) -> dict[str, str]:
    """The loop variables by the order in which they are bound: their names do not matter."""
    names = dict.fromkeys(name for read in statement.reads for _, name in read.free)
    return {name: f"%{place}" for place, name in enumerate(names)}


def shape_of(statement: StatementPlan, blocks: Blocks) -> Shape:
    """What a statement is but for its factors, with the maps it looks up taken for their blocks."""
    loops = loop_names(statement)
    reads = tuple(
        (
            blocks[read.path.map],
            read.path.bound,
            tuple(rename(b, loops) for b in read.bound),
            tuple((place, loops[name]) for place, name in read.free),
            read.after,
        )
        for read in statement.reads
    )
    late = tuple(rename(c, loops) for c in statement.late_conditions)
    keys = tuple(rename(k, loops) for k in statement.keys)
    return (statement.relation, statement.sign, statement.conditions, reads, late, keys, statement.offset)


def group_statements(groups: Sequence[Group], statements: Sequence[StatementPlan]) -> list[StatementPlan]:
    """The statements of all groups: those of a group's first member, each with the products of all members."""
    group_of = {name: group.name for group in groups for name in group.members}
    numbers = {name: place for place, group in enumerate(groups) for name in group.members}
    found: dict[tuple[str, Shape], list[StatementPlan]] = {}
    for statement in statements:
        found.setdefault((statement.target, shape_of(statement, numbers)), []).append(statement)
    members = {group.name: group.members for group in groups}
    together: list[StatementPlan] = []
    for target, shape in found:
        if target in members:
            columns = [found[name, shape] for name in members[target]]
            for same in zip(*columns, strict=True):
                first = same[0]
                original = {place: name for name, place in loop_names(first).items()}
                carried = dict(first.carried)
                products: list[Product] = []
                for statement in same:
                    names = {name: original[place] for name, place in loop_names(statement).items()}
                    carried |= dict(statement.carried)
                    products += _rename_factors(statement.products, names)
                reads = tuple(replace(r, path=replace(r.path, map=group_of[r.path.map])) for r in first.reads)
                merged = replace(first, carried=tuple(carried.items()), reads=reads, products=tuple(products))
                together.append(merged)
    return together


def _rename_factors(products: Iterable[Product], names: Mapping[str, str]) -> list[Product]:
    """Products with the loop variables of another statement of their shape."""
    return [replace(p, late_factors=tuple(rename(f, names) for f in p.late_factors)) for p in products]


def note_taken(statements: Sequence[StatementPlan]) -> list[StatementPlan]:
    """The statements with what each lookup takes: for those of one trigger that begin with the same lookups the same, so that
    what one has found will do for the others."""
    taken: dict[object, dict[tuple[str, ...], None]] = {}
    for statement in statements:
        for place in range(len(statement.reads)):
            known = taken.setdefault(_chain(statement, place), {})
            known.update(dict.fromkeys(product.reads[: place + 1] for product in statement.products))
    return [
        replace(
            statement,
            reads=tuple(
                replace(read, taken=tuple(taken[_chain(statement, place)]))
                for place, read in enumerate(statement.reads)
            ),
        )
        for statement in statements
    ]


def _chain(statement: StatementPlan, place: int) -> tuple[object, ...]:
    return (statement.relation, statement.sign, statement.offset, statement.reads[: place + 1])


def reorder_reads(
    statement: StatementPlan, order: Sequence[int]
) -> tuple[tuple[ReadPlan, ...], tuple[tuple[str, ...], ...]]:
    """A statement's lookups in another order, and for each product the value columns that it takes, in that order."""
    columns = tuple(tuple(product.reads[i] for i in order) for product in statement.products)
    reads = tuple(
        replace(statement.reads[i], taken=tuple(dict.fromkeys(c[: place + 1] for c in columns)))
        for place, i in enumerate(order)
    )
    return reads, columns


# Which sorted copies of a group there are, so that every lookup finds the first columns of one known.
#
# Statements look a group up by different sets of key columns. A copy sorted by (a, b) serves lookups by a and b, by a, and for
# everything: so copies are chains of sets, one within the other. Numbers come before texts, which a search code only has as a
# hash: a lookup by some of the columns can only be served if they are numbers. Copies but the first one keep the columns that
# their lookups look at, and are summed over the others.


@dataclass(frozen=True)
class Lookup:
    """How a group is looked up: the known key columns; the one by whose values entries are to be ordered (-1: none); the other
    key columns and the value columns that are looked at."""

    bound: frozenset[int]
    order: int = -1
    free: frozenset[int] = frozenset()
    values: frozenset[str] = frozenset()


@dataclass
class _Chain:
    """A copy in the making: its sets of columns, the largest first, and the column by whose values entries are ordered."""

    sets: list[frozenset[int]]
    order: int = -1
    lookups: list[Lookup] = field(default_factory=list)


def choose_copies(
    group: Group, lookups: Iterable[Lookup], given: tuple[AccessPath, ...] = ()
) -> tuple[tuple[AccessPath, ...], dict[Lookup, AccessPath]]:
    """The copies of a group, and the one that serves each lookup.

    Args:
        group: the group; if nobody looks it up, it is kept once, by its whole key.
        lookups: all that statements and derivations do.
        given: copies that are chosen already; others are only made for what none of them serves.

    Returns:
        the copies, the first one with all columns; and the copy of each lookup.
    """
    numbers = frozenset(i for i, key in enumerate(group.keys) if is_number(physical_type(key.type)))
    chains: list[_Chain] = []
    served = {x: path for x in set(lookups) for path in reversed(given) if _serves(path, x, numbers)}  # the first wins
    wanted = sorted(
        set(lookups) - served.keys(), key=lambda x: (x.order < 0, -len(x.bound), sorted(x.bound), sorted(x.free))
    )
    for lookup in wanted or [Lookup(frozenset(range(len(group.keys))))] * (not given):
        # A copy that serves the lookup, too, or can be made to.
        if lookup.order >= 0:
            fitting = [c for c in chains if lookup.bound in c.sets and lookup.order == c.order]
        else:
            own = lookup.bound if lookup.bound <= numbers else None  # texts have hashes only
            fitting = [c for c in chains if lookup.bound in c.sets or (own is not None and own < c.sets[-1])]
        chain = fitting[0] if fitting else None
        if chain is None:
            ordered = lookup.order >= 0 and lookup.bound <= numbers and lookup.order in numbers
            longer = [lookup.bound | {lookup.order}] if ordered else []
            chain = _Chain([*longer, lookup.bound], lookup.order)
            chains.append(chain)
        elif lookup.bound not in chain.sets:
            chain.sets.append(lookup.bound)
        chain.lookups.append(lookup)
    paths: list[AccessPath] = []
    for chain in chains:
        path = _make_path(group, chain, numbers, first=not paths and not given)
        paths.append(replace(path, again=sum((p.bound, p.order) == (path.bound, path.order) for p in (*given, *paths))))
    served |= {lookup: path for chain, path in zip(chains, paths, strict=True) for lookup in chain.lookups}
    return (*given, *paths), served


def _serves(path: AccessPath, lookup: Lookup, numbers: frozenset[int]) -> bool:
    """Whether a copy has what a lookup looks at, and finds it by what the lookup knows: texts only as a whole, since a search code has them as a hash."""
    width = len(lookup.bound)
    begins = lookup.bound == frozenset(path.bound[:width]) and (lookup.bound <= numbers or width == len(path.bound))
    in_order = lookup.order < 0 or lookup.order == path.order
    keys = path.keys is None or (lookup.bound | lookup.free | {lookup.order} - {-1}) <= frozenset(path.keys)
    return begins and in_order and keys and (path.values is None or lookup.values <= frozenset(path.values))


def _make_path(group: Group, chain: _Chain, numbers: frozenset[int], *, first: bool) -> AccessPath:
    bound: list[int] = []
    for columns in reversed(chain.sets):
        bound += sorted(columns - set(bound), key=lambda i: (i not in numbers, i))
    kept = set(bound) | {chain.order} - {-1}
    kept = kept.union(*(lookup.free for lookup in chain.lookups))
    values = frozenset[str]().union(*(lookup.values for lookup in chain.lookups))
    all_keys, all_values = len(kept) == len(group.keys), values >= set(group.members)
    return AccessPath(
        group.name,
        tuple(bound),
        chain.order,
        None if first or all_keys else tuple(sorted(kept)),
        None if first or all_values else tuple(name for name in group.members if name in values),
    )
