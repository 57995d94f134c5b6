"""One query block while it is read: which names mean what, and the rows of its FROM clause so far.

Inside a block a column of a table is a variable in the table's scope. What the block cannot say yet, the value of a
subquery or of a window function, is a placeholder variable; it becomes known, branch by branch, when it is expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from m3.algebra import Branch, Polynomial, Registry, Rows, add_conditions, bind, product
from m3.errors import M3Error
from m3.program import Relation
from m3.scalars import Key, Scalar, Var, named, vars_of
from m3.sql.correlation import close, converted, counted, standalone, stored
from m3.sql.places import Source

__all__ = ["Block", "Context", "Table", "is_placeholder"]


@dataclass
class Context:
    """What all blocks of one view share."""

    source: Source
    relations: Mapping[str, Relation]
    registry: Registry
    view: str
    dialect: str | None = None
    #: What must be 0 when the view is read: rows for which a scalar subquery has several values.
    checks: list[Polynomial] = field(default_factory=list)


@dataclass
class Table:
    """An entry of FROM: its alias, and the variable behind each column, in order."""

    alias: str
    columns: list[tuple[str, Var]]


#: What a placeholder may be: (value, factor) pairs whose factors, as sums of branches, partition the block's rows.
Case = tuple[Scalar, Sequence[Branch]]
#: Blocks with more branches are kept as relations of their own.
BRANCHES = 9


@dataclass
class Block:
    """A scope and its rows."""

    context: Context
    parent: Block | None
    number: int
    tables: list[Table] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=lambda: [Branch()])
    placeholders: dict[Key, list[Case]] = field(default_factory=dict)
    #: For placeholders of scalar subqueries: the subquery, and a factor that is 1 where it has several rows.
    several: dict[Key, tuple[exp.Expr, Branch]] = field(default_factory=dict)
    views: dict[str, Callable[[], Rows]] = field(default_factory=dict)
    #: The columns that USING merged, by their lower-case names; qualified names still mean one side's.
    merged: dict[str, tuple[str, Var]] = field(default_factory=dict)
    #: For the block behind a GROUP BY: the block before it, and what the group's columns are there.
    base: tuple[Block, dict[Key, Scalar]] | None = None
    #: The lower-case names that the query mentions; None where it may be all.
    mentioned: set[str] | None = None
    #: Subqueries that were read before, and their placeholders.
    known: dict[exp.Expr, Scalar] = field(default_factory=dict)
    #: Conditions of WHERE that may be applied as soon as their columns are known: no later join brings rows back.
    early: list[exp.Expr] = field(default_factory=list)
    #: Whether all tables have at most one row.
    single: bool = True

    @staticmethod
    def inside(context: Context, parent: Block | None) -> Block:
        """A new block within ``parent``."""
        return Block(context, parent, context.registry.number())

    def add(self, alias: str, rows: Rows, node: exp.Expr) -> tuple[Table, list[Branch]]:
        """Make a bag of rows known as a table.

        Returns:
            the table, and the bag's branches with the block's variables; they are not joined yet.
        """
        if alias.lower() in {t.alias.lower() for t in self.tables}:
            self.fail(node, f"table name {alias!r} occurs twice", "duplicate-alias", "give each its own alias")
        scope = self.context.registry.scope("table", alias)
        table = Table(alias, [(c.name, Var(c.name, c.type, scope)) for c in rows.columns])
        self.tables.append(table)
        self.single = self.single and rows.single
        return table, [bind_columns(b, rows, [v.key for _, v in table.columns]) for b in rows.branches]

    def fail(self, node: exp.Expr, message: str, kind: str, hint: str) -> Scalar:
        """Raise a CompileError at ``node``."""
        self.context.source.fail(node, message, kind, hint)

    def resolve(self, node: exp.Column) -> Var:
        """The variable that a column reference means, here or in an outer block.

        Raises:
            CompileError: no such table or column, or more than one.
        """
        block: Block | None = self
        while block is not None:
            found = list(block.candidates(node))
            if len(found) > 1:
                tables = " or ".join(alias for alias, _ in found)
                self.fail(node, f"column {node.name!r} is ambiguous: {tables}", "ambiguous-column", "add the table")
            if found:
                return found[0][1]
            if block.base is not None and any(True for _ in block.base[0].candidates(node)):
                return self._group_column(block, node)
            block = block.parent
        self._unknown(node)
        raise AssertionError("unreachable")

    def _group_column(self, block: Block, node: exp.Column) -> Var:
        """A column of a grouped query, as a subquery in its HAVING or list sees it."""
        assert block.base is not None
        before, keys = block.base
        wanted = before.resolve(node)
        key = next((key for key, scalar in keys.items() if scalar == wanted), None)
        if key is None:
            hint = "add it to GROUP BY, or aggregate it"
            self.fail(node, f"column {node.sql()!r} is not grouped", "not-grouped", hint)
        assert key is not None
        return named(key, wanted.type.with_null())

    def candidates(self, node: exp.Column) -> Iterator[tuple[str, Var]]:
        """The columns of this block that a reference could mean."""
        wanted, name = node.table.lower(), node.name.lower()
        if not wanted and name in self.merged:
            yield "USING", self.merged[name][1]
            return
        for table in self.tables:
            for column, variable in table.columns:
                if column.lower() == name and wanted in ("", table.alias.lower()):
                    yield table.alias, variable

    def _unknown(self, node: exp.Column) -> None:
        """Say what is not there: the column, where a table of its name is in reach, here or in an outer query."""
        tables = list(self._in_reach())
        meant = [t for t in tables if node.table.lower() in ("", t.alias.lower())]
        if node.table and not meant:
            hint = f"tables: {', '.join(t.alias for t in tables) or 'none'}"
            self.fail(node, f"no table {node.table!r} in FROM", "unknown-table", hint)
        known = ", ".join(dict.fromkeys(c for t in meant for c, _ in t.columns))
        self.fail(node, f"no column {node.sql()!r}", "unknown-column", f"columns: {known or 'none'}")

    def _in_reach(self) -> Iterator[Table]:
        """The tables of this block and of those around it, from the inside."""
        block: Block | None = self
        while block is not None:
            yield from (block.base[0] if block.base is not None else block).tables
            block = block.parent

    def placeholder(self, kind: Var, cases: list[Case]) -> Var:
        """Remember what a placeholder may be."""
        self.placeholders[kind.key] = cases
        return kind

    def expand(self, scalars: Iterable[Scalar]) -> None:
        """Make the placeholders in ``scalars`` known in all branches."""
        for key, variable in vars_of(*scalars).items():
            cases = self.placeholders.pop(key, None)
            if cases is None:
                continue
            if key in self.several:
                self._check(*self.several.pop(key))
            if len(self.branches) * sum(len(factor) for _, factor in cases) > BRANCHES:
                cases = self._packed(variable, cases)
            self.branches = [
                joined for value, factor in cases for joined in _with_value(product(self.branches, factor), key, value)
            ]
            self.compact()

    def _check(self, node: exp.Expr, several: Branch) -> None:
        """There must be no row for which the subquery has several rows."""
        closed = close(self.parent or self, product(self.branches, [several]))
        if closed.links:
            hint = "aggregate it, e.g. with MIN or MAX, or add LIMIT 1"
            self.fail(node, "a scalar subquery that may have several rows", "scalar-subquery", hint)
        self.context.checks.append(counted(closed.branches, ()))

    def _packed(self, wanted: Var, cases: list[Case]) -> list[Case]:
        """The cases as one relation with one row, if they are the same for all rows of the block."""
        branches = [
            Branch(f.coefficient, f.sources, f.conditions, {wanted.key: converted(value, wanted)})
            for value, factor in cases
            for f in factor
        ]
        if not standalone(branches):
            return cases
        (kept,) = stored(self, branches, [wanted])
        return [(kept.env[wanted.key], [Branch(1, kept.sources, kept.conditions)])]

    def compact(self, *, placeholders: bool = True) -> None:
        """Keep the rows as a relation of their own if they have many branches.

        Args:
            placeholders: keep what the expanded ones are.
        """
        if len(self.branches) <= BRANCHES:
            return
        unused = {v.key for t in self.tables for n, v in t.columns if not self.mentions(n)}
        typed = {v.key: v.type for t in self.tables for _, v in t.columns}
        first, *others = self.branches
        columns = []
        for key, scalar in first.env.items():
            found = [scalar.type, *(b.env[key].type for b in others if key in b.env)]
            if len(found) == len(self.branches) and key not in unused and (placeholders or not is_placeholder(key)):
                nullable = any(t.nullable for t in found)
                columns.append(named(key, typed.get(key, scalar.type).with_null(nullable)))
        kept = {c.key for c in columns} | set(self.placeholders)
        self.known = {n: s for n, s in self.known.items() if kept.issuperset(vars_of(s))}
        self.branches = stored(self, self.branches, columns)

    def mentions(self, name: str) -> bool:
        """Whether the query may use a column of this name."""
        return self.mentioned is None or name.lower() in self.mentioned

    def filter(self, condition: Scalar) -> None:
        """Keep the rows for which a condition is true."""
        self.expand([condition])
        self.branches = add_conditions(self.branches, [condition])

    def guarded(self, node: exp.Expr, action: Callable[[], Scalar]) -> Scalar:
        """The result of ``action``; its errors are reported at ``node``."""
        try:
            return action()
        except M3Error as error:
            if error.span is not None:
                raise
            return self.fail(node, error.message, error.kind, error.hint)


def is_placeholder(key: Key) -> bool:
    """Whether a variable stands for the value of a subquery or window function."""
    return not isinstance(key, str) and key[0].kind in ("subquery", "window")


def _with_value(branches: Iterable[Branch], key: Key, value: Scalar) -> Iterator[Branch]:
    for branch in branches:
        yield bind(branch, {key: branch.value(value)})


def bind_columns(branch: Branch, rows: Rows, keys: Sequence[Key]) -> Branch:
    """The branch with the columns of ``rows`` under other keys, and only those."""
    env = {key: branch.env[c.key] for key, c in zip(keys, rows.columns, strict=True)}
    return Branch(branch.coefficient, branch.sources, branch.conditions, env)
