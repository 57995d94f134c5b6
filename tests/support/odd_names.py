"""Queries with all their names replaced by odd ones: what they mean must not depend on how anything is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from sqlglot import exp, parse_one

from m3.program import Column, Relation
from tests.support.random_streams import Batch

__all__ = ["ODD", "Naming"]

#: Punctuation, quotes, keywords, other scripts, and names like those that the compiler gives.
ODD = (
    "o#1", "o#2", "a.b", ".", "#", "x@2", "@", "a^0", "a^1", "^", "?value1", "?", "$0", "%0.0", '"q"', "it's", "a b", " ",
    "select", "from", "Null", "date", "count", "sum", "grün", "表", "é", "ß", "{x}", "[y]", "a\\b", "a;--", "/*", "t\tu",
    "n", "N_2", "left_rows", "right_rows", "w_1", "w_2", "part_1", "key", "key_1", "order^1", "order_2", "order_3", "value0",
    "any_n", "any_a", "any_b", "v000", "v001", "k0", "i0", "_1", "_2", "m_t_1", "v_rows", "v_groups", "v_groups_2", "v_count",
    "v_distinct", "v_domain", "USING", "row", "group", "value", "exists", "in", "count_2", "x_n", "x_sum", "event", "any",
    "#0", "#1", "%0", "%1", "$1", "failed",
)  # fmt: skip
#: Names that the engine gives to columns of its tables.
ENGINE = ("_version", "_sign", "_value", "_point", "+")
#: Names that SQL gives by itself stay.
OWN = ("column_", "col")


@dataclass
class Naming:
    """An odd name for every name: one for tables and aliases, one for columns, which may be equal. Names are written now
    in one case and now in another.

    Args:
        seed: of the choice.
        names: what is chosen from.
    """

    seed: int
    names: tuple[str, ...] = (*ODD, *ENGINE)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._names: dict[str, dict[str, str]] = {"table": {}, "column": {}}

    def name(self, role: str, plain: str) -> str:
        """The odd name of a table or alias, or of a column."""
        known = self._names[role]
        if plain.lower() not in known:
            used = {x.lower() for x in known.values()}
            known[plain.lower()] = self._random.choice([n for n in self.names if n.lower() not in used])
        return known[plain.lower()]

    def relations(self, relations: Iterable[Relation]) -> list[Relation]:
        """The tables, renamed."""
        return [
            Relation(
                self.name("table", r.name),
                tuple(Column(self.name("column", c.name), c.type) for c in r.columns),
                tuple(self.name("column", k) for k in r.key),
                r.rows,
            )
            for r in relations
        ]

    def batches(self, batches: Iterable[Batch]) -> list[Batch]:
        """The stream on the renamed tables."""
        return [[(sign, self.name("table", relation), row) for sign, relation, row in batch] for batch in batches]

    def query(self, sql: str, dialect: str | None = None) -> str:
        """The query with other names."""
        tree = parse_one(sql, dialect=dialect)
        for node in list(tree.find_all(exp.Identifier)):
            if not node.name.startswith(OWN):
                node.replace(exp.to_identifier(self._cased(self.name(_role(node), node.name)), quoted=True))
        return tree.sql(dialect=dialect)

    def _cased(self, name: str) -> str:
        other = name.swapcase()
        return other if other.lower() == name.lower() and self._random.random() < 0.3 else name


_PLACES: Mapping[type[exp.Expr], str] = {exp.Table: "this", exp.TableAlias: "this", exp.Column: "table"}


def _role(node: exp.Identifier) -> str:
    """What an identifier names."""
    if _names_a_series(node):
        return "column"  # of a function in FROM without a list of columns, the alias is the column's name, too
    place = _PLACES.get(type(node.parent))
    return "table" if place is not None and node.arg_key == place else "column"


def _names_a_series(node: exp.Identifier) -> bool:
    alias = node.parent
    if not isinstance(alias, exp.TableAlias) or alias.args.get("columns"):
        return False
    aliased = alias.parent
    return isinstance(aliased, exp.Table) and isinstance(aliased.this, exp.GenerateSeries)
