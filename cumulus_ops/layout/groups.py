"""Map groups: maps whose entries come and go together, kept as one physical table with a value column for each.

Two maps belong to one group if every event adds to both at the same keys: the sums and counts of one view, and of several
views over the same join. The statements of such maps differ in what they multiply, and in nothing else. That is a
bisimulation on the dataflow graph, and the groups are its coarsest partition, found by refinement: begin with all maps of
equal key types in one block, and split a block while the statements of its members differ in their events, conditions, keys
or lookups, with the maps they look up taken for their blocks (Moore's minimisation of automata, with statements for symbols).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cumulus_ops.layout.statements import Product, ReadPlan, StatementPlan
from m3.program import Column, Program
from m3.scalars import rename

__all__ = ["Group", "Shape", "find_groups", "group_statements", "loop_names", "reordered", "shape_of", "with_taken"]

#: What two statements must have in common to be one chain of lookups: all but their factors.
Shape = tuple[object, ...]
Blocks = Mapping[str, int]


@dataclass(frozen=True)
class Group:
    """A physical table. It is called after its first member, whose key columns it has; ``members`` are its value columns.
    ``narrow``: for members with fewer keys, which of the group's these are, one after the other; such a member is the sum over
    the other keys (:mod:`cumulus_ops.layout.projections`)."""

    name: str
    keys: tuple[Column, ...]
    members: tuple[str, ...]
    narrow: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)

    def places(self, member: str) -> tuple[int, ...]:
        """Which of the group's keys a member's keys are."""
        return self.narrow.get(member, tuple(range(len(self.keys))))


def find_groups(program: Program, statements: Sequence[StatementPlan]) -> tuple[Group, ...]:
    """The groups of a program's maps, in the order of their first members.

    Args:
        program: the program.
        statements: all its statements, each by itself.
    """
    derived = {d.map for d in program.derivations}
    by_target: dict[str, list[StatementPlan]] = {m.name: [] for m in program.maps}
    for statement in statements:
        by_target[statement.target].append(statement)
    first = {
        m.name: (tuple((k.type.kind, k.type.scale) for k in m.keys), m.name if m.name in derived else "")
        for m in program.maps
    }
    blocks = _numbered(first)
    # Each round can only split blocks, since the old block is a part of the new sign; so it ends when their number stays.
    while True:
        shapes = {
            name: (blocks[name], frozenset(Counter(shape_of(s, blocks) for s in by_target[name]).items()))
            for name in by_target
        }
        finer = _numbered(shapes)
        if len(set(finer.values())) == len(set(blocks.values())):
            break
        blocks = finer
    members: dict[int, list[str]] = {}
    for name, block in blocks.items():
        members.setdefault(block, []).append(name)
    return tuple(_group(program, names) for names in members.values())


def _group(program: Program, members: Sequence[str]) -> Group:
    return Group(members[0], program.map_by_name[members[0]].keys, tuple(members))


def _numbered(signs: Mapping[str, object]) -> dict[str, int]:
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
            together += [_together(same, group_of) for same in zip(*columns, strict=True)]
    return together


def _together(statements: Sequence[StatementPlan], group_of: Mapping[str, str]) -> StatementPlan:
    """Statements of one shape as one."""
    first = statements[0]
    original = {place: name for name, place in loop_names(first).items()}
    products: list[Product] = []
    carried = dict(first.carried)
    for statement in statements:
        names = {name: original[place] for name, place in loop_names(statement).items()}
        carried |= dict(statement.carried)
        products += [
            replace(p, late_factors=tuple(rename(f, names) for f in p.late_factors)) for p in statement.products
        ]
    reads = tuple(replace(r, path=replace(r.path, map=group_of[r.path.map])) for r in first.reads)
    return replace(first, carried=tuple(carried.items()), reads=reads, products=tuple(products))


def with_taken(statements: Sequence[StatementPlan]) -> list[StatementPlan]:
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


def reordered(
    statement: StatementPlan, order: Sequence[int]
) -> tuple[tuple[ReadPlan, ...], tuple[tuple[str, ...], ...]]:
    """A statement's lookups in another order, and for each product the value columns that it takes, in that order."""
    columns = tuple(tuple(product.reads[i] for i in order) for product in statement.products)
    reads = tuple(
        replace(statement.reads[i], taken=tuple(dict.fromkeys(c[: place + 1] for c in columns)))
        for place, i in enumerate(order)
    )
    return reads, columns
