"""M3 text -> :class:`~m3.program.Program`. The only module that knows lark.

The grammar is ``grammar.lark``; a parsed tree is typed here, with the declarations at hand. Figure 1's forms are all
read: ``target[..] += IF cond THEN expr ELSE 0``, ``ON Insert_R(..)`` and ``ON Delete_R(..)`` besides ``ON +R(..)`` and
``ON -R(..)``. Also accepted, and printed in the canonical form: ``IF cond THEN target[..] += expr`` and ``-=``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from importlib import resources
from typing import Any, TypeVar

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from m3.check import check
from m3.collected import INPUTS
from m3.datatypes import Type
from m3.dictionary import FUNCTIONS
from m3.dictionary.types import Value
from m3.errors import FollowUp, M3Error, Notes, ProgramError, Span, SyntaxProblem
from m3.formatting import format_name, format_program, format_scalar, format_statement
from m3.program import (
    START,
    Check,
    Column,
    Derivation,
    Derived,
    Factor,
    Frame,
    Input,
    MapDecl,
    MapRef,
    OutputColumn,
    Program,
    Relation,
    Statement,
    Trigger,
    View,
    ViewList,
    ViewValue,
    WindowFunction,
    Windowing,
)
from m3.scalars import OPERATIONS, Call, Const, Scalar, Var, call, const

__all__ = [
    "Node",
    "Types",
    "build_scalar",
    "build_type",
    "format_name",
    "format_program",
    "format_scalar",
    "format_statement",
    "name_of",
    "parse",
    "read_program",
    "span_of",
    "text_of",
]


T = TypeVar("T")
#: Terminals without a spelling of their own, in plain words.
WORDS = {"NAME": "a name", "QUOTED": "a name", "NUMBER": "a number", "STRING": "a text in quotes", "$END": "the end"}


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = resources.files("m3").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True)


def parse(text: str, file: str = "") -> Program:
    """The program a text describes; statements and map reads carry their spans.

    Args:
        text: M3 text. Without a PROGRAM header the program is called ``m3``; without SEMANTICS it is sequential.
        file: the text's name, for spans.

    Raises:
        SyntaxProblem: the text does not follow the grammar.
        ProgramError: a name is not declared, a variable not bound, or a scalar ill-typed.
            :func:`m3.check.check` has the other rules. Either knows the other errors that were found.
    """
    program, notes = _read(text, file)
    notes.stop()
    return program


def read_program(text: str, file: str = "") -> Program:
    """The program a text describes, if it keeps all rules of the language.

    >>> text = "RELATION r(a INT); MAP m[a INT] : INT MAP n[] : TEXT; ON +r(a) DO { m[b] += 1; n[] += 1; o[] += 1; }"
    >>> try:
    ...     read_program(text)
    ... except M3Error as error:
    ...     print("\\n".join(f"{e.span.column}: {e.message}" for e in error.all))
    39: unexpected 'MAP'
    71: variable 'b' is not bound
    90: no map 'o'

    Args:
        text, file: as for :func:`parse`.

    Raises:
        M3Error: the first of all errors that do not follow from each other; it knows the others.
    """
    program, notes = _read(text, file)
    if any(isinstance(e, SyntaxProblem) for e in notes.errors):  # what a declaration would have said is not known
        notes.stop()
    with notes.part():
        check(program)
    notes.stop()
    return program


def _read(text: str, file: str) -> tuple[Program, Notes]:
    """The program as far as it can be read, and what is wrong with the rest."""
    builder = _Builder(text, file)
    return builder.program(_read_declarations(text, file, builder)), builder.notes


def _read_declarations(text: str, file: str, builder: _Builder) -> list[Node]:
    """The syntax trees of all declarations. Where there is a mistake, each declaration is read by itself, so every one that has a mistake
    is told of; the names of these are known all the same."""
    try:
        return list(_parser().parse(text).children)
    except UnexpectedInput as whole:
        plain = NO_CODE.sub(lambda found: _blank(found[0]), text)
        starts = [0, *(found.start("word") for found in DECLARATION.finditer(plain) if found.start("word"))]
        trees: list[Node] = []
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            try:
                trees += _parser().parse(_blank(text[:start]) + text[start:end]).children
            except UnexpectedInput as error:
                builder.notes.errors.append(_explain_syntax(text[:end], file, error))
                builder.broken |= {name.strip('"') for name in NAMED.findall(text[start:end])}
        if not builder.notes.errors:  # of several headers
            builder.notes.errors.append(_explain_syntax(text, file, whole))
        return trees


#: Texts, quoted names and comments; where a declaration begins, behind the one before it; what a text declares.
NO_CODE = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*")
DECLARATION = re.compile(
    r"(?:^|[;}])\s*(?P<word>(?:PROGRAM|RELATION|MAP|DERIVE|WINDOW|VIEW|ON)\b)(?!\s*\[)", re.IGNORECASE
)
NAMED = re.compile(r"\b(?:RELATION|MAP|VIEW)\s+(\"[^\"]+\"|\w+)", re.IGNORECASE)


def _blank(text: str) -> str:
    """As many lines and characters, and nothing else."""
    return re.sub(r"[^\n]", " ", text)


def _explain_syntax(text: str, file: str, error: UnexpectedInput) -> SyntaxProblem:
    """A lark error in plain words: what is there, and what could be."""
    line, column, found = error.line, error.column, ""
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        expected, found = set(error.accepts or error.expected), str(error.token)
    elif isinstance(error, UnexpectedCharacters):
        expected, found = set(error.allowed or ()), text[error.pos_in_stream or 0]
    if isinstance(error, UnexpectedEOF) or found == "" or line < 1:
        lines = text.rstrip().splitlines() or [""]
        line, column = len(lines), len(lines[-1]) + 1
    what = f"unexpected {found!r}" if found else "the text ends too early"
    hint = f"expected {_either(expected)}" if expected else ""
    return SyntaxProblem(what, kind="m3-syntax", span=Span(line, column, max(1, len(found)), file), hint=hint)


def _either(terminals: set[str]) -> str:
    spelled = {t.name: t.pattern.value for t in _parser().terminals if isinstance(t.pattern, PatternStr)}
    words = sorted({WORDS.get(t) or repr(spelled.get(t, t.lower())) for t in terminals if t not in ("WS", "COMMENT")})
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


class _Builder:
    """Types a tree. Declarations are read first, so they may stand anywhere."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        #: What is wrong, and what is declared wrongly: nobody is told that it is not declared.
        self.notes, self.broken = Notes(), set[str]()
        self.places: dict[str, Span] = {}
        self.relations: dict[str, Relation] = {}
        self.maps: dict[str, MapDecl] = {}

    def program(self, trees: Sequence[Node]) -> Program:
        """The whole program, without what is wrong in it."""
        parts: dict[str, list[Node]] = {k: [] for k in ("header", "relation", "map", "derived", "view", "trigger")}
        for child in trees:
            parts[_SECTIONS.get(child.data, child.data)].append(child)
        relations = self._read_each(parts["relation"], self._relation, "relation")
        maps = self._read_each(parts["map"], self._map, "map")
        self.relations, self.maps = {r.name: r for r in relations}, {m.name: m for m in maps}
        name, semantics = self._header(parts["header"])
        views = self._read_each(parts["view"], self._view, "view")
        derived = self._read_each(parts["derived"], self._derived, "derived")
        triggers = self._read_each(parts["trigger"], self._trigger, "trigger")
        return Program(name, semantics, relations, maps, triggers, views, derived, self.places)

    def _read_each(self, nodes: Sequence[Node], read: Callable[[Node], T], what: str) -> tuple[T, ...]:
        """What can be read of some declarations."""
        made = []
        for node in nodes:
            span, before = span_of(node, self.file), len(self.notes.errors)
            with self.notes.part(span):
                made.append(one := read(node))
                place = (
                    one.event if isinstance(one, Trigger) else f"{what} {getattr(one, 'map', getattr(one, 'name', ''))}"
                )
                self.places[place] = span
            if len(self.notes.errors) > before and what in ("relation", "map"):
                self.broken.add(name_of(node.children[0]))
        return tuple(made)

    def _header(self, headers: list[Node]) -> tuple[str, str]:
        if not headers:
            return "m3", "sequential"
        name, semantics = headers[0].children
        return name_of(name), "sequential" if semantics is None else str(semantics.children[1]).lower()

    def _fail(self, node: Node, message: str, kind: str, hint: str) -> ProgramError:
        return ProgramError(message, kind=kind, span=span_of(node, self.file), hint=hint)

    def _columns(self, node: Node) -> tuple[Column, ...]:
        return tuple(Column(name_of(c.children[0]), build_type(c.children[1], self.file)) for c in node.children)

    def _relation(self, node: Node) -> Relation:
        name, columns, key, rows = node.children
        names = tuple(name_of(k) for k in key.children) if key else ()
        if rows and not rows.isdigit():
            raise self._fail(node, f"{name_of(name)} has {rows} rows", "bad-rows", "a whole number")
        return Relation(name_of(name), self._columns(columns), names, int(rows) if rows else None)

    def _map(self, node: Node) -> MapDecl:
        name, keys, value, meaning = node.children
        text = text_of(meaning) if meaning else ""
        return MapDecl(name_of(name), self._columns(keys), build_type(value, self.file), text)

    def _find_map(self, node: Node) -> MapDecl:
        name = name_of(node)
        if name not in self.maps and name in self.broken:
            raise FollowUp
        if name not in self.maps:
            known = ", ".join(self.maps) or "none"
            raise self._fail(node, f"no map {name!r}", "unknown-map", f"known maps: {known}; declare it with MAP")
        return self.maps[name]

    def _derivation(self, node: Node) -> Derivation:
        name, keys, *inputs, outputs, count = node.children
        decl, names = self._find_map(name), tuple(name_of(k) for k in keys.children)
        given = tuple(self._input(i) for i in inputs)
        types = {n: k.type for n, k in zip(names, decl.keys, strict=False)}
        for one in given:
            source = self.maps[one.map]
            if one.kind not in ("value", "now") and len(source.keys) <= len(names) + len(one.at):
                raise self._fail(node, f"{one.kind} of {one.map}, which has too few keys", "wrong-arity", "add a key")
            types[one.name] = one.type_in(source, len(names))
        columns = tuple(self._output(o, types) for o in outputs.children) if outputs else ()
        return Derivation(decl.name, names, given, columns, build_scalar(count, types, self.file))

    def _input(self, node: Node) -> Input:
        if node.data == "value_input":
            name, source = node.children
            return Input(name_of(name), self._find_map(source).name)
        name, kind, source, at, order, parameter = node.children
        if str(kind).lower() not in INPUTS:
            hint = f"{', '.join(k.upper() for k in INPUTS)} of a map, or the map itself"
            raise self._fail(node, f"no input {kind}(..)", "unknown-function", hint)
        return Input(
            name_of(name),
            self._find_map(source).name,
            str(kind).lower(),
            tuple(name_of(n) for n in at.children) if at else (),
            _places(order),
            _parameter(parameter),
        )

    def _output(self, node: Node, types: Types) -> OutputColumn:
        name, scalar = node.children
        return OutputColumn(name_of(name), build_scalar(scalar, types, self.file), self._written(scalar))

    def _written(self, node: Node) -> Span:
        """Where a scalar of a view is written, with its text. It is kept with the program, so it does not say in which folder."""
        meta = node.meta
        end = None if meta.end_line == meta.line else (meta.end_line, meta.end_column)
        return replace(span_of(node, ""), end=end, text=self.text[meta.start_pos : meta.end_pos])

    def _derived(self, node: Node) -> Derived:
        return self._windowing(node) if node.data == "windowing" else self._derivation(node)

    def _windowing(self, node: Node) -> Windowing:
        name, source, partition, flagged, *functions = node.children
        types = {k.name: k.type for k in self._find_map(source).keys}
        made = tuple(self._window(f, types) for f in functions)
        own = self._find_map(name).name
        return Windowing(own, self._find_map(source).name, int(partition), made, flagged is not None)

    def _window(self, node: Node, types: Types) -> WindowFunction:
        op, args, result, order, frame = node.children
        return WindowFunction(
            str(op).lower(),
            tuple(build_scalar(a, types, self.file) for a in args.children),
            tuple(self._window_key(k, types) for k in order.children) if order else (),
            self._frame(frame) if frame else None,
            build_type(result, self.file),
        )

    def _window_key(self, node: Node, types: Types) -> tuple[Scalar, bool, bool]:
        scalar, direction, place = node.children
        descending = direction is not None and str(direction).upper() == "DESC"
        return build_scalar(scalar, types, self.file), descending, str(place).upper() == "FIRST"

    def _frame(self, node: Node) -> Frame:
        unit, *bounds, exclude = node.children
        start, end = (
            None if b.upper() == "UNBOUNDED" else Decimal(b) if "." in b else int(b)
            for b in (str(b.children[0]) for b in bounds)
        )
        return Frame(str(unit).lower(), start, end, str(exclude).lower() if exclude else "")

    def _view(self, node: Node) -> View:
        name, columns, values, lists, exists, outputs, hidden, having, order, limit, offset, checks, sql = node.children
        keys = self._columns(columns)
        pairs = [v.children for v in values.children] if values else []
        types = {k.name: k.type for k in keys} | {name_of(n): self._find_map(m).value for n, m in pairs}
        made = tuple(map(self._view_list, lists.children)) if lists else ()
        types |= {one.name: one.type_in(self.maps[one.map]) for one in made}
        return View(
            name_of(name),
            keys,
            tuple(ViewValue(name_of(n), name_of(m)) for n, m in pairs),
            self._find_map(exists.children[0]).name if exists else None,
            tuple(self._output(o, types) for o in outputs.children),
            build_scalar(having.children[0], types, self.file) if having else None,
            tuple((int(o.children[0]) - 1, o.data == "descending") for o in order.children) if order else (),
            int(limit.children[0]) if limit else None,
            text_of(sql.children[0]) if sql else None,
            int(offset.children[0]) if offset else 0,
            exists is not None and exists.data == "repeated",
            int(hidden.children[0]) if hidden else 0,
            tuple(map(self._check, checks.children)) if checks else (),
            made,
            self._written(having.children[0]) if having else None,
        )

    def _view_list(self, node: Node) -> ViewList:
        name, source, at, order, limit, distinct, empty = node.children
        decl, names = self._find_map(source), tuple(name_of(n) for n in at.children)
        if len(decl.keys) <= len(names):
            raise self._fail(node, f"a list of {decl.name}, which has too few keys", "wrong-arity", "add a key")
        first = int(limit.children[0]) if limit else None
        return ViewList(name_of(name), decl.name, names, _places(order), distinct is not None, empty is not None, first)

    def _check(self, node: Node) -> Check:
        name, failure = node.children
        decl = self._find_map(name)
        if failure is None:
            return Check(decl.name)
        scalar, relations, place = failure.children
        expression = build_scalar(scalar, {k.name: k.type for k in decl.keys}, self.file)
        names = tuple(map(name_of, relations.children)) if relations else ()
        return Check(decl.name, expression, names, _place(place) if place else None)

    def _trigger(self, node: Node) -> Trigger:
        if node.data == "start_trigger":
            (statements,) = node.children
            return Trigger(1, START, (), self._statements(statements, {}))
        if node.data == "change_trigger":
            return self._body(0, self._derived_map(node.children[0]), node)
        return self._body(*self._event(node.children[0], node.children[1]), node)

    def _derived_map(self, node: Node) -> Relation:
        """A derived map's rows as a relation."""
        decl = self._find_map(node)
        return Relation(decl.name, decl.keys)

    def _body(self, number: int, relation: Relation, node: Node) -> Trigger:
        name, params, statements = node.children[-3:]
        names = tuple(name_of(p) for p in params.children)
        if len(names) != len(relation.columns):
            hint = f"columns: {', '.join(c.name for c in relation.columns)}"
            raise self._fail(name, f"{relation.name} has {len(relation.columns)} columns", "wrong-arity", hint)
        types = {n: c.type for n, c in zip(names, relation.columns, strict=True)}
        return Trigger(number, relation.name, names, self._statements(statements, types))

    def _statements(self, node: Node | None, types: Types) -> tuple[Statement, ...]:
        """The statements that can be read."""
        made = []
        for statement in node.children if node else ():
            with self.notes.part(span_of(statement, self.file)):
                made.append(self._statement(statement, types))
        return tuple(made)

    def _event(self, sign: Node | None, node: Node) -> tuple[int, Relation]:
        """``+R``, ``-R``, ``Insert_R``, ``Delete_R``, or ``R`` for an insert."""
        name = name_of(node)
        if name in self.relations:
            return (-1 if sign and str(sign.children[0]) == "-" else 1), self.relations[name]
        for prefix, number in (("insert_", 1), ("delete_", -1)):
            rest = name[len(prefix) :]
            if sign is None and name.lower().startswith(prefix) and rest in self.relations:
                return number, self.relations[rest]
        if name in self.broken or name.partition("_")[2] in self.broken:
            raise FollowUp
        known = ", ".join(self.relations) or "none"
        raise self._fail(node, f"no relation {name!r}", "unknown-relation", f"known: {known}; declare it with RELATION")

    def _statement(self, node: Node, params: Types) -> Statement:
        if node.data == "guarded":
            condition, inner = node.children
            statement = self._statement(inner, params)
            types = self._bound(statement, params)
            return replace(statement, conditions=(*self._conditions(condition, types), *statement.conditions))
        target, right = node.children
        guards: list[Node] = []
        while right.data == "conditional":
            guard, right, zero = right.children
            guards.append(guard)
            if zero != "0":
                span = Span(zero.line or 1, zero.column or 1, len(zero), self.file)
                raise SyntaxProblem("IF ... ELSE something else than 0", kind="m3-syntax", span=span, hint="ELSE 0")
        factors = self._factors(right, params, node.data == "decrement")
        bare = Statement(name_of(target.children[0]), (), factors)
        types = self._bound(bare, params)
        keys = tuple(build_scalar(k, types, self.file) for k in target.children[1].children)
        conditions = tuple(c for guard in guards for c in self._conditions(guard, types))
        return Statement(self._find_map(target.children[0]).name, keys, factors, conditions, span_of(target, self.file))

    def _bound(self, statement: Statement, params: Types) -> dict[str, Type]:
        """The types of all variables: the parameters', and for loop variables those of the maps that bind them."""
        types = dict(params)
        for ref in statement.reads():
            types.update((k.name, k.type) for k in ref.keys if isinstance(k, Var) and k.name not in types)
        return types

    def _conditions(self, node: Node, types: Types) -> tuple[Scalar, ...]:
        """An unparenthesised AND is several conditions."""
        parts = node.children if node.data == "and" else [node]
        return tuple(build_scalar(p, types, self.file) for p in parts)

    def _factors(self, term: Node, params: Types, negative: bool) -> tuple[Factor, ...]:
        """The factors; map reads are typed first, because they bind the loop variables. A lone ``1`` is the empty
        product."""
        types = dict(params)
        references: dict[int, MapRef] = {}
        for position, node in enumerate(term.children):
            if node.data in ("reference", "after"):
                decl = self._find_map(node.children[0])
                nodes = node.children[1].children
                if len(nodes) != len(decl.keys):
                    hint = f"its keys: {', '.join(k.name for k in decl.keys) or 'none'}"
                    message = f"map {decl.name} has {len(decl.keys)} keys, not {len(nodes)}"
                    raise self._fail(node, message, "wrong-arity", hint)
                fresh = {
                    name_of(n.children[0]): k.type
                    for n, k in reversed(list(zip(nodes, decl.keys, strict=True)))
                    if n.data == "variable" and name_of(n.children[0]) not in types
                }
                types.update(fresh)
                keys = tuple(build_scalar(n, types, self.file) for n in nodes)
                references[position] = MapRef(decl.name, keys, node.data == "after", span_of(node, self.file))
        scalars = {i: build_scalar(n, types, self.file) for i, n in enumerate(term.children) if i not in references}
        factors: list[Factor] = [references.get(i) or scalars[i] for i in range(len(term.children))]
        if len(factors) == 1 and factors == [const(1)] and term.children[0].data == "number":
            factors = []
        return (const(-1), *factors) if negative else tuple(factors)


def _places(order: Node | None) -> tuple[tuple[bool, bool], ...]:
    """The places of an order: (descending, NULLs first)."""
    pairs = (place.children for place in order.children) if order else ()
    return tuple((str(d).upper() == "DESC", str(p).upper() == "FIRST") for d, p in pairs)


def _place(node: Node) -> Span:
    file, line, column, length, last, behind, written = node.children
    end = None if last is None else (int(last), int(behind))
    text = "" if written is None else text_of(written)
    return Span(int(line), int(column), int(length), text_of(file), end, text)


def _parameter(node: Node | None) -> Decimal | str | None:
    if node is None:
        return None
    (token,) = node.children
    return Decimal(str(token)) if node.data == "fraction" else text_of(token)


#: What a top-level node is, where its name does not say it.
_SECTIONS = {
    "derivation": "derived",
    "windowing": "derived",
    "change_trigger": "trigger",
    "start_trigger": "trigger",
}


# Scalar expressions of M3 text: syntax tree -> typed :mod:`m3.scalars`.


#: A lark tree: ``data``, ``children`` and ``meta``.
Node = Any
Types = Mapping[str, Type]

COMPARISONS = {"<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
#: What is written ``NAME(arguments)``, and how many arguments it takes.
CALLED: Mapping[str, tuple[int, int]] = {
    "coalesce": (1, 99),
    "same": (2, 2),
    "attempt": (1, 1),
    "fails": (1, 1),
    **{f.name: f.arity for f in FUNCTIONS.values()},
}
#: Nodes whose children are all scalars and whose name is the operation's.
PLAIN = ("or", "and", "not", "is_null", "like", "concat", "add", "sub", "mul", "div", "neg", "case")


def span_of(node: Node, file: str) -> Span:
    """The place of a node; of several lines, the first."""
    meta = node.meta
    length = meta.end_column - meta.column if meta.end_line == meta.line else 1
    return Span(meta.line, meta.column, max(1, length), file)


def name_of(node: Node) -> str:
    """The name in a ``name`` node, without quotes."""
    token = str(node.children[0])
    return token[1:-1].replace('""', '"') if token.startswith('"') else token


def text_of(token: object) -> str:
    """The text of a string token."""
    return str(token)[1:-1].replace("''", "'")


def build_type(node: Node, file: str) -> Type:
    """The type in a ``type`` node.

    Raises:
        ProgramError: a DECIMAL out of range.
    """
    base, nullable = node.children
    kind, *rest = (str(c) for c in base.children)
    precision, scale = [int(r) for r in rest if r.isdigit()] or (0, 0)
    try:
        return Type(kind.lower(), precision, scale, nullable is not None)
    except ProgramError as error:
        raise ProgramError(error.message, kind=error.kind, span=span_of(node, file), hint=error.hint) from error


def build_scalar(node: Node, types: Types, file: str) -> Scalar:
    """The scalar in an expression node.

    Args:
        node: the tree.
        types: of the variables in scope.
        file: the text's name, for spans.

    Raises:
        ProgramError: an unknown variable or function, or types that do not fit; at the innermost node.
    """
    try:
        return _build(node, types, file)
    except M3Error as error:
        if error.span is not None:
            raise
        raise type(error)(error.message, kind=error.kind, span=span_of(node, file), hint=error.hint) from error
    except ValueError as error:
        hint = "DATE 'YYYY-MM-DD', TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"
        raise ProgramError(str(error), kind="bad-literal", span=span_of(node, file), hint=hint) from error


def _build(node: Node, types: Types, file: str) -> Scalar:
    if node.data in PLAIN:
        return call(node.data, *(build_scalar(c, types, file) for c in node.children))
    if node.data in _LITERALS:
        return _LITERALS[node.data](node)
    match node.data:
        case "paren":
            return build_scalar(node.children[0], types, file)
        case "variable":
            return _variable(name_of(node.children[0]), types)
        case "comparison":
            left, *operator, right = node.children
            op = COMPARISONS[str(operator[0])] if operator else "eq"
            return call(op, build_scalar(left, types, file), build_scalar(right, types, file))
        case "function":
            name, arguments = str(node.children[0]).lower(), node.children[1].children
            if name not in CALLED:
                raise ProgramError(f"no function {name!r}", kind="unknown-function", hint=f"one of {', '.join(CALLED)}")
            least, most = CALLED[name]
            if not least <= len(arguments) <= most:
                raise ProgramError(f"{name} with {len(arguments)} arguments", kind="wrong-arity", hint=OPERATIONS[name])
            return call(name, *(build_scalar(a, types, file) for a in arguments))
        case "cast" | "try_cast":
            return call(node.data, build_scalar(node.children[0], types, file), to=build_type(node.children[1], file))
        case "typed":
            return _build_typed(node, types, file)
        case "is_not_null" | "not_like":
            positive = "is_null" if node.data == "is_not_null" else "like"
            return call("not", call(positive, *(build_scalar(c, types, file) for c in node.children)))
        case "in" | "not_in":
            first, options = node.children
            inside = call("in", *(build_scalar(c, types, file) for c in (first, *options.children)))
            return inside if node.data == "in" else call("not", inside)
    hint = "parts of a scalar are variables, literals and operations; map reads are factors of their own"
    raise ProgramError(f"{node.data} in a scalar", kind="bad-scalar", hint=hint)


_LITERALS: Mapping[str, Callable[[Node], Scalar]] = {
    "number": lambda node: _number(str(node.children[0])),
    "string": lambda node: const(text_of(node.children[0])),
    "true": lambda _: const(True),
    "false": lambda _: const(False),
    "date": lambda node: const(datetime.date.fromisoformat(text_of(node.children[0]))),
    "timestamp": lambda node: _timestamp(text_of(node.children[0])),
}


def _timestamp(text: str) -> Const:
    value = datetime.datetime.fromisoformat(text)
    if value.tzinfo is not None:
        raise ValueError(f"a timestamp with an offset from UTC: {text}")
    return const(value)


def _number(text: str) -> Const:
    """A DOUBLE has an exponent, a DECIMAL a point."""
    if "e" in text.lower():
        return const(float(text))
    return const(Decimal(text) if "." in text else int(text))


def _variable(name: str, types: Types) -> Var:
    if name not in types:
        hint = f"in scope: {', '.join(types) or 'none'}; a loop variable is a bare key of a map read in the term"
        raise ProgramError(f"variable {name!r} is not bound", kind="unbound-variable", hint=hint)
    return Var(name, types[name])


def _build_typed(node: Node, types: Types, file: str) -> Scalar:
    """``e :: TYPE``: a NULL, a literal or an operation with a type of its own."""
    inner, given = node.children
    t = build_type(given, file)
    if inner.data == "null":
        return Const(None, t.with_null())
    scalar = build_scalar(inner, types, file)
    if isinstance(scalar, Var):
        raise ProgramError(
            f"{scalar.name} :: {t}", kind="type-mismatch", hint="a variable's type is declared; use CAST"
        )
    if isinstance(scalar, Call):
        return Call(scalar.op, scalar.args, t)
    return Const(_as_kind(scalar.value, t), t)


def _as_kind(value: Value, t: Type) -> Value:
    """An integer literal as the DECIMAL or DOUBLE that its type makes it."""
    if t.kind == "double" and isinstance(value, int | Decimal):
        return float(value)
    return Decimal(value) if t.kind == "decimal" and isinstance(value, int) else value
