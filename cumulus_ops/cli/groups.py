"""How maps are kept: the groups of a plan, their copies, and the views that they serve."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cumulus_ops.layout import CopySizes, Group, ProgramPlan, plan_program
from cumulus_ops.mapstore import AccessPath
from m3 import Program
from m3.explain.restrict import view_maps

__all__ = ["GROUPS", "CopyInfo", "GroupInfo", "describe_groups", "group_lines", "stored_groups"]

GROUPS = (
    "GROUPS (maps whose entries come and go together are one table; each of its copies is sorted for other lookups)"
)
WIDTH = 116
#: So many views of a group are named.
VIEWS = 5


@dataclass(frozen=True)
class CopyInfo:
    """A copy: the key columns it is sorted ``by``; the one by whose values the entries of one lookup are ordered, if it is a
    text or a double; the key and value columns it keeps."""

    by: tuple[str, ...]
    order: str | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    bytes_per_row: int


@dataclass(frozen=True)
class GroupInfo:
    """A group: its key columns, the maps whose values it keeps, the views that are read from it or need it to be kept up, and
    its copies, the one with all columns first."""

    name: str
    keys: tuple[str, ...]
    maps: tuple[str, ...]
    views: tuple[str, ...]
    copies: tuple[CopyInfo, ...]


def stored_groups(
    program: Program, scheme: str, *, rows: Mapping[str, float], view: str | None = None
) -> list[GroupInfo]:
    """The groups in which a program's maps are kept; of one view, those that serve it."""
    groups = describe_groups(plan_program(program, scheme), rows)
    return [group for group in groups if view is None or view in group.views]


def describe_groups(
    plan: ProgramPlan, rows: Mapping[str, float], names: Iterable[str] | None = None
) -> list[GroupInfo]:
    """The groups of a plan, or those with the given names, in the plan's order.

    Args:
        plan: the plan.
        rows: rows by relation, where they are known better than the program knows them.
        names: the groups' names.
    """
    sizes, served = CopySizes(plan, rows), {view.name: _needed(plan, view_maps(view)) for view in plan.program.views}
    chosen = set(plan.groups if names is None else names)
    return [
        GroupInfo(
            name,
            plan.key_names(name),
            group.members,
            tuple(view for view, needed in served.items() if name in needed),
            tuple(_copy(group, path, sizes.row_bytes(path)) for path in plan.paths[name]),
        )
        for name, group in plan.groups.items()
        if name in chosen
    ]


def _needed(plan: ProgramPlan, maps: Iterable[str]) -> frozenset[str]:
    """The groups of maps, and all that are looked up to keep these up."""
    needed = frozenset(plan.group_of[name] for name in maps)
    while more := plan.looked_up(needed) - needed:
        needed |= more
    return needed


def _copy(group: Group, path: AccessPath, size: int) -> CopyInfo:
    names = tuple(key.name for key in group.keys)
    return CopyInfo(
        tuple(names[place] for place in path.bound),
        names[path.order] if path.order >= 0 and path.order not in path.bound else None,
        names if path.keys is None else tuple(names[place] for place in path.keys),
        group.members if path.values is None else path.values,
        size,
    )


def group_lines(groups: Sequence[GroupInfo]) -> Iterator[str]:
    """The groups for a person to read."""
    for group in groups:
        yield from _wrapped(f"{group.name}{_list(group.keys)}   ({_serves(group.views)})", "  ", "    ")
        if len(group.maps) > 1:
            yield from _wrapped(f"maps {', '.join(group.maps)}", "      ", "  ")
        for copy in group.copies:
            yield from _wrapped(_copy_words(group, copy), "      ", "  ")
    if not groups:
        yield "  none"


def _copy_words(group: GroupInfo, copy: CopyInfo) -> str:
    parts = [f"sorted by {_list(copy.by)}" if copy.by else "not sorted"]
    if copy.order is not None:
        parts.append(f"then by {copy.order}")
    if copy.keys != group.keys:
        parts.append(f"keys {_list(copy.keys)} only")
    if copy.values != group.maps:
        parts.append(f"values {', '.join(copy.values)} only" if copy.values else "no values")
    return f"{', '.join(parts)}: about {copy.bytes_per_row} bytes a row"


def _serves(views: Sequence[str]) -> str:
    left = len(views) - VIEWS
    if left > 1:
        return f"serves {', '.join(views[:VIEWS])} and {left} more"
    return f"serves {', '.join(views) or 'no view'}"


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _wrapped(text: str, indent: str, hanging: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
