"""What the compiler's passes hand to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from m3.algebra import Aggregate, ViewQuery, canonical, value_type, variable_type
from m3.datatypes import Type
from m3.formatting import format_name, format_scalar
from m3.program import Column, MapDecl, Relation, Statement, View
from m3.scalars import Scalar

__all__ = ["Definition", "Draft", "Maps", "describe"]


@dataclass(frozen=True)
class Definition:
    """A map and the aggregate it holds; the map's keys are the aggregate's, in order."""

    name: str
    aggregate: Aggregate

    def declaration(self) -> MapDecl:
        """The map as a program declares it."""
        aggregate = self.aggregate
        keys = tuple(Column(k, variable_type(aggregate, k)) for k in aggregate.keys)
        return MapDecl(self.name, keys, value_type(aggregate), describe(aggregate))


@dataclass(frozen=True)
class Draft:
    """A program under construction. ``statements`` are (event sign, relation, statement)."""

    name: str
    relations: tuple[Relation, ...]
    queries: tuple[ViewQuery, ...]
    definitions: tuple[Definition, ...] = ()
    views: tuple[View, ...] = ()
    statements: tuple[tuple[int, str, Statement], ...] = ()


class Maps:
    """The maps so far, one per meaning: equal aggregates get the same map."""

    def __init__(self, definitions: Sequence[Definition] = ()) -> None:
        self.definitions: list[Definition] = []
        self._by_meaning: dict[Aggregate, str] = {}
        for definition in definitions:
            self.keep(definition.aggregate, definition.name)

    def keep(self, aggregate: Aggregate, wish: str) -> str:
        """The name of the map for a view's aggregate, whose keys keep their order.

        Args:
            aggregate: what the map holds.
            wish: its name, if it is new and the name is free.
        """
        return self._named(aggregate, canonical(aggregate, ordered=True)[0], wish, numbered=False)

    def auxiliary(self, aggregate: Aggregate) -> tuple[str, tuple[str, ...]]:
        """The map for an aggregate whose keys may come in any order.

        Returns:
            The map's name, and the variables of ``aggregate`` in the order of the map's keys.
        """
        form, names = canonical(aggregate, ordered=False)
        back = {new: old for old, new in names.items()}
        keys = tuple(back[k] for k in form.keys)
        wish = "m_" + "_".join(sorted(a.relation for a in aggregate.atoms))
        return self._named(Aggregate(keys, aggregate.atoms), form, wish, numbered=True), keys

    def key_types(self, name: str) -> list[Type]:
        """The types of a map's keys, in order."""
        aggregate = next(d.aggregate for d in self.definitions if d.name == name)
        return [variable_type(aggregate, k) for k in aggregate.keys]

    def _named(self, aggregate: Aggregate, form: Aggregate, wish: str, *, numbered: bool) -> str:
        if form not in self._by_meaning:
            name = self._fresh(wish, numbered)
            self._by_meaning[form] = name
            self.definitions.append(Definition(name, aggregate))
        return self._by_meaning[form]

    def _fresh(self, wish: str, numbered: bool) -> str:
        taken = {d.name for d in self.definitions}
        name, n = (f"{wish}_1" if numbered else wish), 1
        while name in taken:
            n += 1
            name = f"{wish}_{n}"
        return name


def describe(aggregate: Aggregate) -> str:
    """The aggregate as SQL text, for people."""
    aliases = list(_aliases(aggregate))
    factors = [_sql(f, alias) for alias, atom in zip(aliases, aggregate.atoms, strict=True) for f in atom.factors]
    value = f"SUM({' * '.join(_grouped(f) if len(factors) > 1 else f for f in factors)})" if factors else "COUNT(*)"
    keys = [_binding(aggregate, aliases, k) for k in aggregate.keys]
    tables = [
        atom.relation if atom.relation == alias else f"{atom.relation} {alias}"
        for alias, atom in zip(aliases, aggregate.atoms, strict=True)
    ]
    parts = [f"SELECT {', '.join([*keys, value])} FROM {', '.join(tables)}"]
    conditions = list(_conditions(aggregate, aliases))
    parts += [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    parts += [f"GROUP BY {', '.join(keys)}"] if keys else []
    return " ".join(parts)


def _aliases(aggregate: Aggregate) -> Iterator[str]:
    names = [a.relation for a in aggregate.atoms]
    for i, name in enumerate(names):
        yield name if names.count(name) == 1 else f"{name}_{names[: i + 1].count(name)}"


def _sql(scalar: Scalar, alias: str) -> str:
    return format_scalar(scalar, lambda column: f"{alias}.{format_name(column)}")


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def _places(aggregate: Aggregate, aliases: list[str], variable: str) -> list[str]:
    atoms = zip(aliases, aggregate.atoms, strict=True)
    return [_sql(expr, alias) for alias, atom in atoms for name, expr in atom.bindings if name == variable]


def _binding(aggregate: Aggregate, aliases: list[str], variable: str) -> str:
    return _places(aggregate, aliases, variable)[0]


def _conditions(aggregate: Aggregate, aliases: list[str]) -> Iterator[str]:
    for variable in dict.fromkeys(name for atom in aggregate.atoms for name, _ in atom.bindings):
        first, *others = _places(aggregate, aliases, variable)
        yield from (f"{first} = {other}" for other in others)
    for alias, atom in zip(aliases, aggregate.atoms, strict=True):
        yield from (_or_grouped(_sql(c, alias)) for c in atom.conditions)


def _or_grouped(text: str) -> str:
    return f"({text})" if " OR " in text else text
