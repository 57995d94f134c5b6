"""The identity of a map: a digest of what it means, whatever it is called, and whatever else is in its program (decision 60).

A map that means a sum of products (:mod:`m3.confluence.meaning`) is known by that sum in normal form: by the relations' names, by the columns that occur, with their
types, and by its own keys' and value's types. A derived map is known by its derivation, over the identities of the maps that it is computed
from; where a product is over its rows, that identity stands for them. So names, the order of views, comments and counters of the compiler do not enter.

A map without a meaning, for which order matters, has no identity; nor has what is computed from it. Two maps with one identity have the same entries after the
same events. The converse holds as far as the normal form is one: a map that is not recognised is made again, which costs time, and is never wrong.

Identities are compared within one process. They are never stored, so a better normal form harms nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from m3.confluence.meaning import content_name
from m3.confluence.products import Product, Sum, Term, add, column, mapped, normal
from m3.confluence.proof import meanings_of
from m3.dataflow import map_graph, once_per_program, reachable, restrict_to, strata
from m3.datatypes import Type
from m3.program import Derivation, MapDecl, Program, Windowing
from m3.scalars import rename

__all__ = ["identities", "identities_like"]


@once_per_program
def identities(program: Program) -> Mapping[str, str]:
    """map -> its identity; maps that have none are left out.

    >>> from m3 import parse
    >>> text = "RELATION R(a INT, b INT); MAP {0}[k INT] : INT; ON +R({1}, {2}) {{ {0}[{1}] += 1 }} ON -R({1}, {2}) {{ {0}[{1}] += -1 }}"
    >>> identities(parse(text.format("m", "a", "b")))["m"] == identities(parse(text.format("n", "x", "y")))["n"]
    True

    Args:
        program: a checked program.
    """
    return _Identities(program).found()


def identities_like(program: Program, other: Program) -> Mapping[str, str]:
    """The identities of those maps of a program that may be maps of another one, since they are of the same types and follow from the same relations. No
    other map of the program is one of the other's.

    Args:
        program: a checked program.
        other: the other one; the smaller, the less is looked at.
    """
    signs = set(_signs(other).values())
    like = [name for name, sign in _signs(program).items() if sign in signs]
    found = identities(restrict_to(program, like))
    return {name: found[name] for name in like if name in found}


@once_per_program
def _signs(program: Program) -> dict[str, object]:
    """What maps of one identity have in common, found at once. (Where statements cancel each other out, a relation is too many; then a map is not recognised.)"""
    graph, relations = map_graph(program), {m.name: list[str]() for m in program.maps}
    for relation in program.relation_by_name:
        targets = {s.target for t in program.triggers if t.relation == relation and t.sign for s in t.statements}
        for name in set[str]().union(*(reachable(graph, target) for target in targets)):
            relations[name].append(relation)
    return {
        m.name: (
            *(repr(k.type) for k in m.keys),
            repr(m.value),
            m.name in program.derivation_by_map,
            *sorted(relations[m.name]),
        )
        for m in program.maps
    }


class _Identities:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._meanings = meanings_of(program)
        self._found: dict[str, str] = {}
        #: What a product's atom is of -> what it is called here. Relations have a blank in it, so that no digest is one.
        self._names = {content_name(r.name, 1): f"relation {r.name}" for r in program.relations}
        #: What an atom is of -> the numbers that its columns have here. A relation's are in the order of their names: the normal form prefers
        #: lower numbers, and must not depend on how columns are declared.
        self._places: dict[str, tuple[int, ...]] = {}
        #: What it is called here -> the names and types of its columns, by these numbers.
        self._columns: dict[str, tuple[tuple[str, Type], ...]] = {}
        for relation in program.relations:
            by_name = sorted(relation.columns, key=lambda column: column.name)
            atom = content_name(relation.name, 1)
            self._places[atom] = tuple(map(by_name.index, relation.columns))
            self._columns[self._names[atom]] = tuple((c.name, c.type) for c in by_name)
        self._nullable = {of: tuple(type_.nullable for _, type_ in columns) for of, columns in self._columns.items()}

    def found(self) -> dict[str, str]:
        """All identities."""
        derived = self._program.derivation_by_map
        for name in [name for stratum in strata(self._program) for name in stratum]:
            said = self._describe_derived(name) if name in derived else self._describe_sum(name)
            if said is None:
                continue
            declared = self._program.map_by_name[name]
            types = [repr(key.type) for key in declared.keys], repr(declared.value)
            self._found[name] = hashlib.sha256(repr((types, said)).encode()).hexdigest()
            if name in derived:
                self._note_rows(declared)
        return self._found

    def _note_rows(self, declared: MapDecl) -> None:
        """A derived map's rows may be in products, under its identity."""
        atom, called = content_name(declared.name, 0), self._found[declared.name]
        self._names[atom] = called
        self._places[atom] = tuple(range(len(declared.keys)))
        self._columns[called] = tuple((str(place), key.type) for place, key in enumerate(declared.keys))
        self._nullable[called] = tuple(key.type.nullable for key in declared.keys)

    def _describe_sum(self, name: str) -> object | None:
        """A map's meaning, with what it is about called by names that last."""
        meaning = self._meanings.get(name)
        if meaning is None or any(atom not in self._names for p in meaning for atom, _ in p.atoms):
            return None
        total: Sum = {}
        for product, coefficient in meaning.items():
            again = normal(self._call(product), self._nullable)
            if again is not None:
                add(total, again, coefficient)
        return sorted((repr(_say(product, self._columns)), str(coefficient)) for product, coefficient in total.items())

    def _call(self, product: Product) -> Product:
        """A product with its atoms called by names that last, and their columns numbered as here."""

        def number(given: Term) -> Term:
            return column(given[2], self._places[product.atoms[given[2]][0]][given[3]])

        return product.with_columns(number)._replace(
            atoms=tuple((self._names[atom], kind) for atom, kind in product.atoms)
        )

    def _describe_derived(self, name: str) -> object | None:
        derived = self._program.derivation_by_map[name]
        if any(read not in self._found for read in derived.reads()):
            return None
        if isinstance(derived, Windowing):
            keys = self._program.map_by_name[derived.source].keys
            names = {key.name: f"k{place}" for place, key in enumerate(keys)}
            functions = tuple(f.with_names(names) for f in derived.functions)
            return "window", self._found[derived.source], derived.partition, functions, derived.flagged
        return "row", *self._describe_row(derived)

    def _describe_row(self, derived: Derivation) -> tuple[object, ...]:
        """A derivation, with its group's keys and its inputs called by their places."""
        names = {key: f"k{place}" for place, key in enumerate(derived.keys)}
        names |= {given.name: f"i{place}" for place, given in enumerate(derived.inputs)}
        inputs = [
            replace(g, name=names[g.name], map=self._found[g.map], at=tuple(names[a] for a in g.at))
            for g in derived.inputs
        ]
        outputs = [rename(output.expression, names) for output in derived.outputs]
        return len(derived.keys), inputs, outputs, rename(derived.count, names)


def _say(product: Product, columns: Mapping[str, tuple[tuple[str, Type], ...]]) -> Product:
    """A product with its columns called by their names, and said to be of their types: other columns beside them change nothing."""

    def say(given: Term) -> Term:
        name, type_ = columns[product.atoms[given[2]][0]][given[3]]
        return (1, 1, given[2], name, repr(type_))

    return product._replace(
        keys=tuple(mapped(t, say) for t in product.keys),
        equations=tuple(sorted((mapped(a, say), mapped(b, say)) for a, b in product.equations)),
        conditions=tuple(sorted((mapped(t, say) for t in product.conditions), key=repr)),
        factors=tuple(sorted((mapped(t, say) for t in product.factors), key=repr)),
    )
