"""Programs of the papers' worked examples, in M3's text. ``{semantics}``: both kinds of statement semantics are wanted."""

from __future__ import annotations

__all__ = ["ATOMICITY", "EXAMPLE_2_1", "FIGURE_1", "FIGURE_5", "PRODUCT", "RECURSIVE", "STAYS_EMPTY"]

#: Cumulus paper, Example 2.1, with its deletions.
EXAMPLE_2_1 = """
PROGRAM example SEMANTICS {semantics};
RELATION customers(cid INT, nation STRING);
RELATION orders(cid INT, oid INT, discount DECIMAL(4, 2));
RELATION lineitems(oid INT, price DECIMAL(9, 2));
MAP q[nation STRING] : DECIMAL(24, 4);
MAP m1[oid INT, nation STRING] : DECIMAL(14, 2);
MAP m2[cid INT] : DECIMAL(23, 4);
MAP m3[cid INT, oid INT] : DECIMAL(14, 2);
MAP m4[oid INT] : DECIMAL(19, 2);
MAP m5[cid INT, nation STRING] : INT;
ON +lineitems(OID, PRICE) DO {{
  q[NATION] += m1[OID, NATION] * PRICE; m2[CID] += m3[CID, OID] * PRICE; m4[OID] += PRICE; }}
ON -lineitems(OID, PRICE) DO {{
  q[NATION] += -1 * m1[OID, NATION] * PRICE; m2[CID] += -1 * m3[CID, OID] * PRICE; m4[OID] += -1 * PRICE; }}
ON +orders(CID, OID, DISCOUNT) DO {{
  q[NATION] += DISCOUNT * m4[OID] * m5[CID, NATION]; m1[OID, NATION] += DISCOUNT * m5[CID, NATION];
  m2[CID] += DISCOUNT * m4[OID]; m3[CID, OID] += DISCOUNT; }}
ON -orders(CID, OID, DISCOUNT) DO {{
  q[NATION] += -1 * DISCOUNT * m4[OID] * m5[CID, NATION]; m1[OID, NATION] += -1 * DISCOUNT * m5[CID, NATION];
  m2[CID] += -1 * DISCOUNT * m4[OID]; m3[CID, OID] += -1 * DISCOUNT; }}
ON +customers(CID, NATION) DO {{ q[NATION] += m2[CID]; m1[OID, NATION] += m3[CID, OID]; m5[CID, NATION] += 1; }}
ON -customers(CID, NATION) DO {{
  q[NATION] += -1 * m2[CID]; m1[OID, NATION] += -1 * m3[CID, OID]; m5[CID, NATION] += -1; }}
"""

#: Cumulus paper, Figure 5 (compute): the product of two slices.
PRODUCT = """
PROGRAM product SEMANTICS {semantics};
RELATION l(k STRING, v INT);
RELATION r(k STRING, v INT);
RELATION go(n INT);
MAP left[k STRING] : INT;
MAP right[k STRING] : INT;
MAP both[a STRING, c STRING] : INT;
ON +l(K, V) DO {{ left[K] += V; }}
ON +r(K, V) DO {{ right[K] += V; }}
ON +go(N) DO {{ both[a, c] += left[a] * right[c]; }}
"""

#: Cumulus paper, section 4.1; semester paper, Example 2.1 and Figure 1. Event ``s`` gives m3 its values.
FIGURE_1 = """
PROGRAM figure1 SEMANTICS {semantics};
RELATION r(a INT, b INT);
RELATION s(b INT, v INT);
MAP m1[] : INT;
MAP m2[a INT] : INT;
MAP m3[b INT] : INT;
ON +r(A, B) DO {{ m1[] += m2[A]; m2[A] += m3[B]; }}
ON +s(B, V) DO {{ m3[B] += V; }}
"""

#: Semester paper, Figure 5: ``put`` writes mr, ``fetch`` reads it.
FIGURE_5 = """
PROGRAM figure5 SEMANTICS {semantics};
RELATION put(ts INT);
RELATION fetch(ts INT);
MAP mr[] : INT;
MAP mw[ts INT] : INT;
ON +put(TS) DO {{ mr[] += 1; }}
ON +fetch(TS) DO {{ mw[TS] += mr[]; }}
"""

#: Semester paper, Example 3.3. Events ``d`` and ``e`` give m2 and m3 their values.
RECURSIVE = """
PROGRAM recursive SEMANTICS {semantics};
RELATION s(a INT);
RELATION d(a INT, v INT);
RELATION e(a INT, v INT);
MAP m1[a INT] : INT;
MAP m2[a INT] : INT;
MAP m3[a INT] : INT;
ON +s(A) DO {{ m1[A] += m2[A] * m3[A]; }}
ON +d(A, V) DO {{ m2[A] += V; }}
ON +e(A, V) DO {{ m3[A] += V; }}
"""

#: Semester paper, Example 3.1. Event ``d`` gives m1 its values.
STAYS_EMPTY = """
PROGRAM stays_empty SEMANTICS {semantics};
RELATION r(a INT);
RELATION s(b INT);
RELATION d(a INT);
MAP m1[a INT] : INT;
MAP m2[c INT] : INT;
MAP m3[c INT] : INT;
ON +r(A) DO {{ m3[C] += m1[A] * m2[C]; }}
ON +s(B) DO {{ m2[B] += 1; }}
ON +d(A) DO {{ m1[A] += 1; }}
"""

#: Semester paper, Example 3.2 and Figure 6: two maps that are computed from each other. Event ``d`` gives both their values.
ATOMICITY = """
PROGRAM atomicity SEMANTICS {semantics};
RELATION s(a INT);
RELATION t(b INT);
RELATION d(a INT);
MAP m1[a INT] : INT;
MAP m2[a INT] : INT;
ON +s(A) DO {{ m1[A] += m2[A]; }}
ON +t(B) DO {{ m2[B] += m1[B]; }}
ON +d(A) DO {{ m1[A] += 1; m2[A] += 1; }}
"""
