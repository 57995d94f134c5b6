"""A program with derivations of every kind, as the compiler would build it: any order of its events gives the same."""

from __future__ import annotations

#: Over the relations of :mod:`tests.support.random_programs`.
DERIVED = """
PROGRAM derived SEMANTICS SNAPSHOT;
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
MAP n[a INT] : INT;
MAP nb[b INT] : INT;
MAP v[a INT, b INT] : INT;
MAP j[] : INT;
MAP sc[b INT] : INT;
MAP sx[c INT NULL, x DECIMAL(9, 2)] : INT;
MAP sn[c INT NULL] : INT;
MAP ss[c INT NULL] : DECIMAL(15, 2);
MAP tn[n STRING] : INT;
MAP k[] : INT;
MAP d1[a INT, lo INT NULL, hi INT NULL, n INT] : INT;
MAP q1[lo INT NULL] : INT;
MAP d2[lo INT NULL, cnt INT] : INT;
MAP c2[cnt INT] : INT;
MAP pairs[cnt INT] : INT;
MAP d3[c INT NULL, least DECIMAL(9, 2) NULL, total DECIMAL(15, 2)] : INT;
MAP g[k INT, last STRING NULL] : INT;
MAP w[a INT, b INT, rk INT, before INT NULL] : INT;
MAP ranks[rk INT] : INT;
DERIVE d1[a] FROM n = n, lo = MIN(v), hi = MAX(v) SELECT lo = lo, hi = hi, n = n COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE d2[lo] FROM cnt = q1 SELECT cnt = cnt COUNT CASE WHEN cnt > 1 THEN 2 ELSE 0 END;
DERIVE d3[c] FROM n = sn, least = MIN(sx), total = ss SELECT least = least, total = total COUNT CASE WHEN n > 0 THEN n ELSE 0 END;
DERIVE g[] FROM k = k, last = MAX(tn) SELECT k = k, last = last COUNT 1;
WINDOW w FROM v PARTITION 1
  SELECT rank() :: INT OVER (ORDER BY b DESC NULLS LAST), lag(b) :: INT NULL OVER (ORDER BY b NULLS LAST);
VIEW q1[lo INT NULL] ROWS q1 COLUMNS lo = lo;
VIEW d3[c INT NULL, least DECIMAL(9, 2) NULL, total DECIMAL(15, 2)] ROWS d3
  COLUMNS c = c, total = total, least = least HIDDEN 1 ORDER BY 3 DESC, 1 LIMIT 3 OFFSET 1;
VIEW w[a INT, b INT, rk INT, before INT NULL] ROWS w COLUMNS a = a, b = b, rk = rk, before = before;
VIEW pairs[cnt INT] VALUES p = pairs COLUMNS cnt = cnt, p = p;
ON START DO { q1[7] += 1; q1[8] += 2; v[1, 9] += 1; n[1] += 1; nb[9] += 1; }
ON +r(A, B) DO { n[A] += 1; nb[B] += 1; v[A, B] += 1; j[] += n[B]; j[] += AFTER nb[A]; }
ON -r(A, B) DO { n[A] += -1; nb[B] += -1; v[A, B] += -1; j[] += -1 * n[B]; j[] += -1 * AFTER nb[A]; }
ON +s(B, C, X) DO { sc[B] += 1; sx[C, X] += 1; sn[C] += 1; ss[C] += X; q1[lo] += d1[B, lo, hi, n]; }
ON -s(B, C, X) DO { sc[B] += -1; sx[C, X] += -1; sn[C] += -1; ss[C] += -1 * X; q1[lo] += -1 * d1[B, lo, hi, n]; }
ON +t(C, N) DO { k[] += 1; IF N IS NOT NULL THEN tn[COALESCE(N, '')] += 1; }
ON -t(C, N) DO { k[] += -1; IF N IS NOT NULL THEN tn[COALESCE(N, '')] += -1; }
ON CHANGE d1(a, lo, hi, n) DO { q1[lo] += AFTER sc[a]; }
ON CHANGE d2(lo, cnt) DO { c2[cnt] += 1; pairs[cnt] += c2[cnt]; pairs[cnt] += AFTER c2[cnt]; }
ON CHANGE w(a, b, rk, before) DO { ranks[rk] += 1; }
"""

#: Over the relations of :mod:`tests.support.drops`: joins that need corrections, and derivations behind them.
SHOP = """
PROGRAM shop SEMANTICS SNAPSHOT;
RELATION customer(ck INT, nation STRING NULL) KEY (ck);
RELATION orders(ok INT, ck INT, priority INT) KEY (ok);
RELATION item(ok INT, price DECIMAL(12, 2), discount DECIMAL(4, 2));
MAP placed[ok INT, ck INT] : INT;
MAP prices[ok INT, price DECIMAL(12, 2)] : INT;
MAP lives[ck INT, nation STRING NULL] : INT;
MAP items[ck INT] : INT;
MAP spent[ck INT] : DECIMAL(18, 2);
MAP paid[ck INT, price DECIMAL(12, 2)] : INT;
MAP best[ck INT, most DECIMAL(12, 2) NULL, total DECIMAL(18, 2)] : INT;
MAP by_nation[nation STRING NULL] : DECIMAL(18, 2);
MAP customers[nation STRING NULL] : INT;
MAP totals[total DECIMAL(18, 2)] : INT;
MAP ranked[total DECIMAL(18, 2), place INT, share DOUBLE] : INT;
DERIVE best[ck] FROM n = items, total = spent, most = MAX(paid) SELECT most = most, total = total
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
WINDOW ranked FROM totals PARTITION 0
  SELECT rank() :: INT OVER (ORDER BY total DESC NULLS LAST), cume_dist() :: DOUBLE OVER (ORDER BY total NULLS LAST);
VIEW by_nation[nation STRING NULL] VALUES s = by_nation, n = customers EXISTS customers COLUMNS nation = nation, s = s, n = n;
VIEW ranked[total DECIMAL(18, 2), place INT, share DOUBLE] ROWS ranked
  COLUMNS place = place, share = share, total = total HIDDEN 1 ORDER BY 3 DESC LIMIT 5 OFFSET 1;
ON START DO { totals[0 :: DECIMAL(18, 2)] += 2; }
ON +customer(CK, N) DO { lives[CK, N] += 1; by_nation[N] += best[CK, m, t] * t; customers[N] += best[CK, m, t]; }
ON -customer(CK, N) DO { lives[CK, N] += -1; by_nation[N] += -1 * best[CK, m, t] * t; customers[N] += -1 * best[CK, m, t]; }
ON +orders(OK, CK, P) DO { placed[OK, CK] += 1; items[CK] += prices[OK, p]; spent[CK] += prices[OK, p] * p; paid[CK, p] += prices[OK, p]; }
ON -orders(OK, CK, P) DO { placed[OK, CK] += -1; items[CK] += -1 * prices[OK, p]; spent[CK] += -1 * prices[OK, p] * p; paid[CK, p] += -1 * prices[OK, p]; }
ON +item(OK, X, D) DO { prices[OK, X] += 1; items[k] += placed[OK, k]; spent[k] += placed[OK, k] * X; paid[k, X] += placed[OK, k]; }
ON -item(OK, X, D) DO { prices[OK, X] += -1; items[k] += -1 * placed[OK, k]; spent[k] += -1 * placed[OK, k] * X; paid[k, X] += -1 * placed[OK, k]; }
ON CHANGE best(ck, most, total) DO { totals[total] += 1; by_nation[n] += AFTER lives[ck, n] * total; customers[n] += lives[ck, n]; }
"""
