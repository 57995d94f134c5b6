"""What is simulated: a program, a layout, a history of events, and settings; and the version that an event gets.

Versions are the papers' (Cumulus paper, section 4.1): (epoch, coordinator, sequence) orders events, the statement's index extends it for
writes. A write of statement i has the version ``(event, i)``. What statement i of an event reads is **everything below a bound**: in
a program with sequential statements ``(event, i)``; with snapshot statements ``(event, 0)``, and above the event's own writes for ``AFTER``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from cumulus_papers.kernel import Costs, Disorder, Message
from cumulus_papers.layout import Layout
from m3 import compile_views, parse
from m3.check import check
from m3.dataflow import is_cyclic, strata
from m3.datatypes import INT
from m3.errors import ProgramError
from m3.program import Column, Factor, MapDecl, MapRef, Program, Relation, Statement, Trigger
from m3.scalars import Scalar, Var, const
from m3.statements import SliceRead, slices_read

__all__ = [
    "BEGINNING",
    "PAPERS",
    "QUERIES",
    "UNDECIDED",
    "Arrival",
    "Case",
    "Event",
    "Read",
    "Stamp",
    "Version",
    "compiled",
    "distributable",
    "paper",
    "random_program",
    "read_bound",
    "reads_of",
]


#: Above every statement's index.
STATEMENTS = 1 << 20


class Version(NamedTuple):
    """An event's place in the introduced total order."""

    epoch: int
    coordinator: int
    sequence: int


class Stamp(NamedTuple):
    """A write's place: its event's version, and its statement."""

    version: Version
    statement: int


#: The epoch of an event that has no place in the order yet.
UNDECIDED = -2
#: Before all events: what the program starts with.
BEGINNING = Stamp(Version(-1, 0, 0), 0)


@dataclass(frozen=True)
class Event:
    """A stamped event."""

    version: Version
    sign: int
    relation: str
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Arrival(Message):
    """An insert (sign 1) or a delete (-1) that reaches a coordinator from outside at ``at_s``."""

    at_s: float
    coordinator: int
    sign: int
    relation: str
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One thing to simulate. Coordinators leave epochs every ``epoch_s`` seconds of virtual time, and go on in epoch ``epochs`` for good.
    ``options`` are the protocol's: switchable optimisations (True or False), and sizes."""

    seed: int
    protocol: str
    program: Program
    layout: Layout
    arrivals: tuple[Arrival, ...]
    coordinators: int = 1
    epoch_s: float = 1.0
    epochs: int = 1
    costs: Costs = field(default_factory=Costs)
    disorder: Disorder = field(default_factory=Disorder)
    options: Mapping[str, Any] = field(default_factory=dict)


def distributable(program: Program, *, acyclic: bool) -> None:
    """See that the messages of the papers' protocols can evaluate a program.

    Raises:
        ProgramError: it has derived maps, whose rows are computed anew from whole groups; or it is cyclic, and may not be.
    """
    if program.derivations:
        names = ", ".join(d.map for d in program.derivations)
        message = f"{program.name} has derived maps ({names}), which no statement's deltas maintain"
        raise ProgramError(message, kind="not-distributable", hint="run it on the engine, which refreshes them")
    if acyclic and any(is_cyclic(program, stratum) for stratum in strata(program)):
        message = f"{program.name} has a cycle in its dataflow"
        raise ProgramError(
            message, kind="not-distributable", hint="use a protocol that allows cycles: eventual, or a central one"
        )


@dataclass(frozen=True)
class Read:
    """One map read of one statement: its slice, and below which stamp it sees writes."""

    slice: SliceRead
    statement: int
    number: int


def reads_of(trigger: Trigger, index: int) -> tuple[Read, ...]:
    """The reads of a trigger's statement."""
    statement: Statement = trigger.statements[index]
    return tuple(Read(s, index, number) for number, s in enumerate(slices_read(statement, trigger.params)))


def read_bound(program: Program, version: Version, statement: int, after: bool) -> Stamp:
    """Below which stamp (exclusive) a statement of an event sees writes."""
    if program.semantics == "sequential":
        return Stamp(version, statement)
    return Stamp(version, STATEMENTS if after else 0)


# Programs to simulate: the papers' examples, queries compiled from SQL, and random ones.


#: Programs of the papers, by where they stand.
PAPERS = {
    "cumulus-2.1": """PROGRAM orders SEMANTICS SEQUENTIAL;
        RELATION lineitems(oid INT, price INT); RELATION orders(cid INT, oid INT, discount INT);
        RELATION customers(cid INT, nation INT);
        MAP q[nation INT] : INT; MAP m1[oid INT, nation INT] : INT; MAP m2[cid INT] : INT;
        MAP m3[cid INT, oid INT] : INT; MAP m4[oid INT] : INT; MAP m5[cid INT, nation INT] : INT;
        ON +lineitems(oid, price) { q[nation] += m1[oid, nation] * price; m2[cid] += m3[cid, oid] * price; m4[oid] += price }
        ON +orders(cid, oid, discount) { q[nation] += discount * m4[oid] * m5[cid, nation];
            m1[oid, nation] += discount * m5[cid, nation]; m2[cid] += discount * m4[oid]; m3[cid, oid] += discount }
        ON +customers(cid, nation) { q[nation] += m2[cid]; m1[oid, nation] += m3[cid, oid]; m5[cid, nation] += 1 }
        ON -lineitems(oid, price) { q[nation] -= m1[oid, nation] * price; m2[cid] -= m3[cid, oid] * price; m4[oid] -= price }
        ON -orders(cid, oid, discount) { q[nation] -= discount * m4[oid] * m5[cid, nation];
            m1[oid, nation] -= discount * m5[cid, nation]; m2[cid] -= discount * m4[oid]; m3[cid, oid] -= discount }
        ON -customers(cid, nation) { q[nation] -= m2[cid]; m1[oid, nation] -= m3[cid, oid]; m5[cid, nation] -= 1 }""",
    "cumulus-4.1": """PROGRAM fragment SEMANTICS {semantics};
        RELATION r(a INT, b INT); RELATION s(b INT);
        MAP m1[] : INT; MAP m2[a INT] : INT; MAP m3[b INT] : INT;
        ON +r(a, b) {{ m1[] += m2[a]; m2[a] += m3[b] }} ON +s(b) {{ m3[b] += 1 }}""",
    "cumulus-3.1a": """PROGRAM pairwise SEMANTICS {semantics};
        RELATION r(a INT); RELATION s(b INT);
        MAP m1[a INT, b INT] : INT; MAP m2[b INT] : INT;
        ON +r(a) {{ m1[a, b] += m2[b] }} ON +s(b) {{ m2[b] += 1 }}""",
    "cumulus-3.1b": """PROGRAM grid SEMANTICS {semantics};
        RELATION r(a INT); RELATION s(b INT); RELATION t(c INT);
        MAP m1[a INT, b INT, c INT] : INT; MAP m2[b INT] : INT; MAP m3[c INT] : INT;
        ON +r(a) {{ m1[a, b, c] += m2[b] * m3[c] }} ON +s(b) {{ m2[b] += 1 }} ON +t(c) {{ m3[c] += 1 }}""",
    "semester-3.1": """PROGRAM reads SEMANTICS {semantics};
        RELATION r(a INT); RELATION s(b INT); RELATION t(a INT);
        MAP m1[a INT] : INT; MAP m2[c INT] : INT; MAP m3[c INT] : INT;
        ON +r(a) {{ m3[c] += m1[a] * m2[c] }} ON +s(b) {{ m2[b] += 1 }} ON +t(a) {{ m1[a] += 1 }}""",
    "semester-3.2": """PROGRAM atomicity SEMANTICS {semantics};
        RELATION s(a INT); RELATION t(b INT); RELATION u(a INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT;
        ON +s(a) {{ m1[a] += m2[a] }} ON +t(b) {{ m2[b] += m1[b] }} ON +u(a) {{ m1[a] += 1; m2[a] += 1 }}""",
    "semester-3.3": """PROGRAM recursive SEMANTICS {semantics};
        RELATION s(a INT); RELATION t(a INT); RELATION u(a INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT; MAP m3[a INT] : INT;
        ON +s(a) {{ m1[a] += m2[a] * m3[a] }} ON +t(a) {{ m2[a] += 1 }} ON +u(a) {{ m3[a] += 1 }}""",
}  # fmt: skip

_R = Relation("r", (Column("a", INT), Column("b", INT)))
_S = Relation("s", (Column("b", INT), Column("c", INT)))
_T = Relation("t", (Column("c", INT), Column("d", INT)))
#: Queries whose compiled programs have no derived maps: joins, self-joins, conditions, several views that share maps.
QUERIES = (
    {"v": "SELECT r.a, COUNT(*) AS n, SUM(s.c) AS t FROM r JOIN s ON r.b = s.b GROUP BY r.a"},
    {"v": "SELECT t.d, SUM(r.a * t.d) AS x FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c GROUP BY t.d"},
    {"v": "SELECT x.a, COUNT(*) AS n FROM r x JOIN r y ON x.b = y.a GROUP BY x.a"},
    {
        "v": "SELECT SUM(r.a) AS x FROM r JOIN s ON r.b = s.b WHERE s.c > 0 AND r.a <> 1",
        "w": "SELECT b, SUM(c) AS c FROM s GROUP BY b",
    },
)


@cache
def paper(name: str, semantics: str = "SNAPSHOT") -> Program:
    """A program of the papers, by its name in :data:`PAPERS`; those that leave it open under either semantics."""
    text = PAPERS[name]
    return check(parse(text.format(semantics=semantics) if "{semantics}" in text else text))


@cache
def compiled(index: int) -> Program:
    """A query of :data:`QUERIES`, compiled."""
    return compile_views(f"query{index}", [_R, _S, _T], QUERIES[index])


RELATIONS = {"r": ("a", "b"), "s": ("b",), "t": ("c", "d")}
ATTEMPTS = 50
#: The share of products whose factors are one map: what changes it changes both, and their product once more.
READ_TWICE = 0.3


def random_program(choose: random.Random, *, acyclic: bool) -> Program:
    """A restricted M3 program (Cumulus paper, section 2.1) of three to six maps: every loop variable stands on both sides, and in one read.

    In a cycle statements are linear, so that numbers grow no faster than exponentially with the events.
    """
    for _ in range(ATTEMPTS):
        widths = [choose.choice((0, 1, 1, 2)) for _ in range(choose.randint(3, 6))]
        maps = tuple(MapDecl(f"m{i}", tuple(Column(f"k{j}", INT) for j in range(w)), INT) for i, w in enumerate(widths))
        triggers = []
        for name, params in RELATIONS.items():
            wanted = [_statement(choose, maps, params, acyclic) for _ in range(choose.randint(1, 3))]
            statements = tuple(s for s in wanted if s is not None)
            if statements:
                triggers += [
                    Trigger(1, name, params, statements),
                    Trigger(-1, name, params, tuple(map(_negative, statements))),
                ]
        if any(True for t in triggers for s in t.statements for _ in s.reads()):
            relations = tuple(Relation(n, tuple(Column(c, INT) for c in p)) for n, p in RELATIONS.items())
            return check(Program("random", choose.choice(("snapshot", "sequential")), relations, maps, tuple(triggers)))
    raise AssertionError("unreachable")


def _statement(
    choose: random.Random, maps: Sequence[MapDecl], params: Sequence[str], acyclic: bool
) -> Statement | None:
    """Maps with lower numbers are computed from those with higher ones, or, in a cyclic program, now and then the other way round."""
    place = choose.randrange(len(maps))
    target = maps[place]
    deeper = list(maps[place + 1 :])
    backwards = not acyclic and choose.random() < 0.4
    sources = list(maps[: place + 1]) if backwards else deeper
    count = min(len(sources), 1 if backwards or not acyclic else choose.choice((0, 1, 1, 2)))
    factors: list[Factor] = []
    loops: list[Var] = []
    read = choose.sample(sources, count)
    if count == 2 and choose.random() < READ_TWICE:
        read[1] = read[0]
    for source in read:
        keys = [_key(choose, params, loops, len(target.keys)) for _ in source.keys]
        factors.append(MapRef(source.name, tuple(keys)))
    if not factors or choose.random() < 0.3:
        scalars: list[Scalar] = [const(1), const(2), Var(params[0], INT), const(-1)]
        factors.append(choose.choice(scalars))
    free: list[Scalar] = [*(Var(p, INT) for p in params), const(1)]
    aimed: list[Scalar] = [*loops, *(choose.choice(free) for _ in range(len(target.keys) - len(loops)))]
    choose.shuffle(aimed)
    return Statement(target.name, tuple(aimed), tuple(factors))


def _key(choose: random.Random, params: Sequence[str], loops: list[Var], room: int) -> Scalar:
    if len(loops) < room and choose.random() < 0.4:
        loops.append(Var(f"l{len(loops)}", INT))
        return loops[-1]
    return Var(choose.choice(params), INT)


def _negative(statement: Statement) -> Statement:
    return Statement(statement.target, statement.keys, (*statement.factors, const(-1)), statement.conditions)
