"""What the compiler's passes hand to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from m3.algebra.derive import DerivedQuery, WindowQuery
from m3.algebra.normal import Form, canonical, canonical_monomial, form_of
from m3.algebra.rows import ViewQuery
from m3.algebra.terms import Monomial, Polynomial, narrow, value_type, variable_type
from m3.formatting import format_name, format_scalar
from m3.program import Column, Derived, MapDecl, Relation, Statement, View
from m3.scalars import Scalar, Var, variables

__all__ = ["Definition", "Draft", "Maps", "describe"]


@dataclass(frozen=True)
class Definition:
    """A map and what it holds; the map's keys are the polynomial's columns."""

    name: str
    polynomial: Polynomial

    @property
    def size(self) -> int:
        """The atoms of its largest term."""
        return max((len(t.atoms) for t in self.polynomial.terms), default=0)

    def declaration(self) -> MapDecl:
        """The map as a program declares it."""
        return MapDecl(self.name, self.polynomial.columns, self.polynomial.value, describe(self.polynomial))


@dataclass(frozen=True)
class Draft:
    """A program under construction. ``statements`` are (event sign, relation, statement)."""

    name: str
    relations: tuple[Relation, ...]
    queries: tuple[ViewQuery, ...]
    derived: tuple[DerivedQuery | WindowQuery, ...] = ()
    definitions: tuple[Definition, ...] = ()
    views: tuple[View, ...] = ()
    derivations: tuple[Derived, ...] = ()
    statements: tuple[tuple[int, str, Statement], ...] = ()

    def sources(self) -> dict[str, Relation]:
        """Everything that triggers can be about, by name: base tables and derived relations."""
        return {r.name: r for r in (*self.relations, *(d.relation for d in self.derived))}


@dataclass
class Maps:
    """The maps so far, one per meaning: equal polynomials get the same map."""

    definitions: list[Definition] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    derived: dict[str, Relation] = field(default_factory=dict)
    #: The derived relations that have one row at most: a group of everything.
    single: frozenset[str] = frozenset()
    _by_meaning: dict[Form, str] = field(default_factory=dict)
    _columns: dict[str, tuple[Column, ...]] = field(default_factory=dict)

    @staticmethod
    def of(draft: Draft) -> Maps:
        """The maps of a draft."""
        single = frozenset(d.relation.name for d in draft.derived if isinstance(d, DerivedQuery) and not d.relation.key)
        derived = {d.relation.name: d.relation for d in draft.derived}
        maps = Maps(taken=set(draft.sources()), derived=derived, single=single)
        for definition in draft.definitions:
            maps.keep(definition.polynomial, definition.name)
        return maps

    def keep(self, polynomial: Polynomial, wish: str) -> str:
        """The name of the map for a polynomial, whose keys keep their order.

        Args:
            polynomial: what the map holds.
            wish: its name, if it is new and the name is free.
        """
        form = canonical(polynomial)
        if form not in self._by_meaning:
            self._define_map(form, narrow(polynomial), self._name_map(wish, numbered=False))
        return self._by_meaning[form]

    def keep_auxiliary(self, monomial: Monomial) -> tuple[str, tuple[str | None, ...]]:
        """The map for a product whose keys, plain variables, may come in any order.

        Returns:
            The map's name, and the variables of ``monomial`` in the order of the map's keys; None for keys that may have
            any value.
        """
        derived = self._find_derived(monomial)
        if derived is not None:
            return derived
        shape, names = canonical_monomial(monomial, ordered=False)
        back = {new: old for old, new in names.items()}
        keys = tuple(back[k.name] for k in shape.keys if isinstance(k, Var))
        value = value_type(f for group in (monomial.factors, *(a.factors for a in monomial.atoms)) for f in group)
        form = form_of([variable_type(monomial, k) for k in keys], value, (shape,))
        if form not in self._by_meaning:
            columns = tuple(Column(k, variable_type(monomial, k)) for k in keys)
            ordered = Monomial(
                tuple(Var(c.name, c.type) for c in columns), monomial.atoms, monomial.conditions, monomial.factors
            )
            wish = "m_" + "_".join(sorted(a.relation for a in monomial.atoms))
            self._define_map(form, Polynomial(columns, value, (ordered,)), self._name_map(wish, numbered=True))
        return self._by_meaning[form], keys

    def _find_derived(self, monomial: Monomial) -> tuple[str, tuple[str | None, ...]] | None:
        """A derived relation is a map already; columns that nobody asks for are looped over, if the group is given."""
        if len(monomial.atoms) != 1 or monomial.conditions or monomial.factors:
            return None
        (atom,) = monomial.atoms
        relation = self.derived.get(atom.relation)
        columns = {expr.name: name for name, expr in atom.bindings if isinstance(expr, Var)}
        if relation is None or atom.conditions or atom.factors or len(columns) < len(atom.bindings):
            return None
        missing = {c.name for c in relation.columns} - set(columns)
        if missing and (missing & set(relation.key) or not (relation.key or relation.name in self.single)):
            return None
        return relation.name, tuple(columns.get(c.name) for c in relation.columns)

    def columns(self, name: str) -> tuple[Column, ...]:
        """The keys of a map."""
        if name in self.derived:
            return self.derived[name].columns
        return self._columns[name]

    def _define_map(self, form: Form, polynomial: Polynomial, name: str) -> None:
        self._by_meaning[form] = name
        self.taken.add(name)
        self._columns[name] = polynomial.columns
        self.definitions.append(Definition(name, polynomial))

    def _name_map(self, wish: str, *, numbered: bool) -> str:
        wish = "".join(c if c.isprintable() else "_" for c in wish[:60])
        name, n = (f"{wish}_1" if numbered else wish), 1
        while name in self.taken:
            n += 1
            name = f"{wish}_{n}"
        return name


# What a map means, as SQL text for people.


def describe(polynomial: Polynomial) -> str:
    """The polynomial as SQL; its terms are put together with UNION ALL, and their values are to be added."""
    return " UNION ALL ".join(map(_describe_term, polynomial.terms)) or "nothing"


def _describe_term(term: Monomial) -> str:
    names = [a.relation for a in term.atoms]
    aliases = [n if names.count(n) == 1 else f"{n}_{names[: i + 1].count(n)}" for i, n in enumerate(names)]
    places = _find_places(term, aliases)
    factors = [_format_local(f, alias) for alias, atom in zip(aliases, term.atoms, strict=True) for f in atom.factors]
    factors += [_format_placed(f, places) for f in term.factors]
    factors = ([str(term.coefficient)] if term.coefficient != 1 else []) + factors
    product = " * ".join(_enclose(f, " ") if len(factors) > 1 else f for f in factors)
    value = f"SUM({product})" if factors else "COUNT(*)"
    keys = [_format_placed(k, places) for k in term.keys]
    tables = [
        atom.relation if atom.relation == alias else f"{atom.relation} {alias}"
        for alias, atom in zip(aliases, term.atoms, strict=True)
    ]
    parts = [f"SELECT {', '.join([*keys, value])}", *([f"FROM {', '.join(tables)}"] if tables else [])]
    conditions = [
        *_list_joins(term, aliases),
        *(
            _enclose(_format_local(c, alias), " OR ")
            for alias, atom in zip(aliases, term.atoms, strict=True)
            for c in atom.conditions
        ),
        *(_enclose(_format_placed(c, places), " OR ") for c in term.conditions),
    ]
    parts += [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    grouped = [text for text, key in zip(keys, term.keys, strict=True) if any(variables(key))]
    parts += [f"GROUP BY {', '.join(grouped)}"] if grouped else []
    return " ".join(parts)


def _format_local(scalar: Scalar, alias: str) -> str:
    return format_scalar(scalar, lambda column: f"{alias}.{format_name(column)}")


def _find_places(term: Monomial, aliases: list[str]) -> dict[str, str]:
    """For each variable the first expression that it is."""
    found: dict[str, str] = {}
    for alias, atom in zip(aliases, term.atoms, strict=True):
        for name, expr in atom.bindings:
            text = _format_local(expr, alias)
            found.setdefault(name, text if isinstance(expr, Var) else f"({text})")
    return found


def _format_placed(scalar: Scalar, places: dict[str, str]) -> str:
    text = format_scalar(scalar, lambda variable: places[variable])
    return text.removeprefix("(").removesuffix(")") if isinstance(scalar, Var) and text.startswith("(") else text


def _list_joins(term: Monomial, aliases: list[str]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for alias, atom in zip(aliases, term.atoms, strict=True):
        for name, expr in atom.bindings:
            places.setdefault(name, []).append(_format_local(expr, alias))
    for first, *others in places.values():
        yield from (f"{first} = {other}" for other in others)


def _enclose(text: str, sign: str) -> str:
    """The text in parentheses, if it has a sign that binds less than what is around it."""
    return f"({text})" if sign in text else text
