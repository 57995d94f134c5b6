"""Which seals are compatible with which gates: injective functional dependencies, chased through projections and renamings.

A seal says that no record of a key's value comes any more. That completes a partition of an order-sensitive path if the partition has
records of that value only: if some attributes of its gate are **injectively determined** by the key (Blazes, section V-A). Of company,
symbol and city, the symbol is, because a company has one symbol and a symbol one company; the city is not, for other companies
are there, too.

The attributes of a stream have origins, the names they had where they came from, so that what is known of these stays known when
a projection leaves some of them out, or calls them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.annotations import Dependency, Schema

__all__ = ["Attributes", "Rule", "compatible", "rules_of"]

Names = frozenset[str]
#: What is known: these attributes determine those.
Rule = tuple[Names, Names]


def compatible(gate: Names | None, key: Names, dependencies: Iterable[Dependency] = ()) -> bool:
    """Whether a seal on ``key`` completes partitions of ``gate`` (None: each record is one): some set of the gate's attributes is injectively
    determined by the key.

    >>> company, symbol, city = (frozenset({a}) for a in ("company", "symbol", "city"))
    >>> known = [Dependency(company, "symbol", injective=True), Dependency(company, "city")]
    >>> compatible(symbol, company, known), compatible(city, company, known), compatible(symbol | city, company, known)
    (True, False, True)
    """
    return Attributes("").compatible(gate, key, rules_of(dependencies))


def rules_of(dependencies: Iterable[Dependency]) -> frozenset[Rule]:
    """Dependencies as rules: an injective one holds in both directions."""
    found: set[Rule] = set()
    for known in dependencies:
        found.add((known.determinant, frozenset({known.dependent})))
        if known.injective:
            found.add((frozenset({known.dependent}), known.determinant))
    return frozenset(found)


def _closure(names: Names, rules: Iterable[Rule]) -> Names:
    """All that the attributes determine."""
    rules, size = list(rules), -1
    while len(names) != size:
        size = len(names)
        for determinant, dependents in rules:
            if determinant <= names:
                names |= dependents
    return names


@dataclass(frozen=True)
class Attributes:
    """The attributes of the records at an interface.

    ``origins`` are pairs (name, origin): an attribute with the same origin has the same values. None: each is its own origin. An attribute
    without an origin is new at ``place``. ``columns``: all there are, None if that is not known. ``rules`` are true of these records only."""

    place: str
    origins: frozenset[tuple[str, str]] | None = None
    columns: Names | None = None
    rules: frozenset[Rule] = frozenset()

    def origin(self, name: str) -> str:
        """Where the attribute comes from; no other attribute that is new has the same one."""
        if self.origins is None:
            return name
        return dict(self.origins).get(name, f"{name}@{self.place}")

    def _origins(self, names: Names) -> Names:
        return frozenset(map(self.origin, names))

    def compatible(self, gate: Names | None, key: Names, rules: Iterable[Rule]) -> bool:
        """See :func:`compatible`; ``rules`` are of origins."""
        if gate is None:
            return False
        known = [*rules, *self.rules]
        sealed = self._origins(key)
        # the largest set of the gate's attributes that the key determines; if any set determines the key, this one does
        within = _closure(sealed, known) & self._origins(gate)
        return sealed <= _closure(within, known)

    def described(self, schema: Schema | None, dependencies: Iterable[Dependency]) -> Attributes:
        """With what a stream's schema and its own dependencies say."""
        columns = self.columns if schema is None else frozenset(schema.columns)
        local = set(rules_of(dependencies))
        local |= {(key, columns) for key in (schema.keys if schema else ()) if columns is not None}
        rules = {(self._origins(a), self._origins(b)) for a, b in local}
        return replace(self, columns=columns, rules=self.rules | rules)

    def through(self, lineage: tuple[tuple[str, str], ...] | None, place: str) -> Attributes:
        """Those of what a path makes of these records."""
        if lineage is None:
            pairs = None if self.origins is None else self.origins
            return replace(self, place=place, origins=pairs, columns=None)
        return replace(
            self, place=place, origins=frozenset((out, self.origin(name)) for out, name in lineage), columns=None
        )

    def merged(self, other: Attributes) -> Attributes:
        """Those of the records of both: what is true of either alone may not be true of all."""
        if self.origins is None or other.origins is None:
            known = self.origins if other.origins is None else other.origins
            both = None if known is None else frozenset((a, b) for a, b in known if a == b)
        else:
            both = self.origins & other.origins
        columns = None if self.columns is None or other.columns is None else self.columns & other.columns
        return replace(self, origins=both, columns=columns, rules=self.rules & other.rules)

    def carried(self, key: Names, lineage: tuple[tuple[str, str], ...] | None, rules: Iterable[Rule]) -> Names | None:
        """What records made by a path are sealed on if these are sealed on ``key``: attributes that the path keeps, and that the key
        determines injectively. None: there are none."""
        kept = (
            {name: name for name in sorted(key | (self.columns or frozenset()))} if lineage is None else dict(lineage)
        )
        return self._sealed_by(key, kept, rules)

    def within(self, key: Names, columns: Names, rules: Iterable[Rule]) -> Names | None:
        """The same for a stream that has these ``columns`` only."""
        return self._sealed_by(key, {name: name for name in sorted(columns)}, rules)

    def _sealed_by(self, key: Names, kept: dict[str, str], rules: Iterable[Rule]) -> Names | None:
        """``kept``: new name -> name here."""
        back: dict[str, str] = {}
        for new, name in sorted(kept.items()):
            back.setdefault(name, new)
        if key <= back.keys():  # the identity, which is what people expect to read
            return frozenset(back[name] for name in key)
        known = [*rules, *self.rules]
        sealed = self._origins(key)
        determined = _closure(sealed, known)
        chosen = {new for new, name in kept.items() if self.origin(name) in determined}

        def seals(names: Iterable[str]) -> bool:
            return sealed <= _closure(self._origins(frozenset(kept[n] for n in names)), known)

        if not seals(chosen):
            return None
        for name in sorted(chosen):  # no more attributes than it takes
            if seals(chosen - {name}):
                chosen.discard(name)
        return frozenset(chosen)
