"""Programs written by hand of which any order of the same events ends in the same maps: sums, joins, a join of a relation with itself."""

from __future__ import annotations

from hypothesis import strategies as st

from m3 import check, parse
from m3.program import Program

__all__ = ["ring_programs"]

PROGRAM = """
PROGRAM hand SEMANTICS {semantics};
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
MAP bs[b INT] : INT;
MAP as[a INT] : INT;
MAP ab[a INT, b INT] : INT;
MAP sums[b INT] : DECIMAL(18, 2);
MAP joined[a INT] : DECIMAL(18, 2);
MAP pairs[] : INT;
MAP twice[] : INT;
ON +r(A, B) DO {{ {insert} ab[A, B] += 1; joined[A] += sums[B]; twice[] += 2 * bs[B]; }}
ON -r(A, B) DO {{ {delete} ab[A, B] += -1; joined[A] += -1 * sums[B]; twice[] += -2 * bs[B]; }}
ON +s(B, C, X) DO {{ sums[B] += X; bs[B] += 1; joined[A] += X * ab[A, B]; twice[] += 2 * ab[A, B]; }}
ON -s(B, C, X) DO {{ sums[B] += (-X); bs[B] += -1; joined[A] += ab[A, B] * (-X); twice[] += ab[A, B] * (-1 - 1); }}
"""
#: A join of r with itself, read before and AFTER; and as the papers have it, which is right for single events alone.
SELF_JOINS = [
    (
        "pairs[] += as[A]; as[A] += 1; pairs[] += AFTER as[A];",
        "pairs[] += -1 * as[A]; as[A] += -1; pairs[] += -1 * AFTER as[A];",
    ),
    ("pairs[] += 2 * as[A]; pairs[] += 1; as[A] += 1;", "pairs[] += -2 * as[A]; pairs[] += 1; as[A] += -1;"),
]


@st.composite
def ring_programs(draw: st.DrawFn, *, summable: bool | None = None) -> Program:
    """Such a program, under either semantics. ``summable``: whether events of a batch may be added up, None for either."""
    joins = SELF_JOINS if summable is None else SELF_JOINS[:1] if summable else SELF_JOINS[1:]
    insert, delete = draw(st.sampled_from(joins))
    semantics = draw(st.sampled_from(["SEQUENTIAL", "SNAPSHOT"]))
    return check(parse(PROGRAM.format(semantics=semantics, insert=insert, delete=delete)))
