PROGRAM q12 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q12_count[l_shipmode STRING] : INT
  MEANING 'SELECT lineitem.l_shipmode, COUNT(*) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_shipmode IN (''MAIL'', ''SHIP'') AND lineitem.l_commitdate < lineitem.l_receiptdate AND lineitem.l_shipdate < lineitem.l_commitdate AND lineitem.l_receiptdate >= DATE ''1994-01-01'' AND lineitem.l_receiptdate < DATE ''1995-01-01'' GROUP BY lineitem.l_shipmode';
MAP q12_high_line_count[l_shipmode STRING] : INT
  MEANING 'SELECT lineitem.l_shipmode, SUM(CASE WHEN orders.o_orderpriority = ''1-URGENT'' OR orders.o_orderpriority = ''2-HIGH'' THEN 1 ELSE 0 END) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_shipmode IN (''MAIL'', ''SHIP'') AND lineitem.l_commitdate < lineitem.l_receiptdate AND lineitem.l_shipdate < lineitem.l_commitdate AND lineitem.l_receiptdate >= DATE ''1994-01-01'' AND lineitem.l_receiptdate < DATE ''1995-01-01'' GROUP BY lineitem.l_shipmode';
MAP q12_low_line_count[l_shipmode STRING] : INT
  MEANING 'SELECT lineitem.l_shipmode, SUM(CASE WHEN orders.o_orderpriority <> ''1-URGENT'' AND orders.o_orderpriority <> ''2-HIGH'' THEN 1 ELSE 0 END) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_shipmode IN (''MAIL'', ''SHIP'') AND lineitem.l_commitdate < lineitem.l_receiptdate AND lineitem.l_shipdate < lineitem.l_commitdate AND lineitem.l_receiptdate >= DATE ''1994-01-01'' AND lineitem.l_receiptdate < DATE ''1995-01-01'' GROUP BY lineitem.l_shipmode';
MAP m_lineitem_1[o_orderkey INT, l_shipmode STRING] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_shipmode, COUNT(*) FROM lineitem WHERE lineitem.l_shipmode IN (''MAIL'', ''SHIP'') AND lineitem.l_commitdate < lineitem.l_receiptdate AND lineitem.l_shipdate < lineitem.l_commitdate AND lineitem.l_receiptdate >= DATE ''1994-01-01'' AND lineitem.l_receiptdate < DATE ''1995-01-01'' GROUP BY lineitem.l_orderkey, lineitem.l_shipmode';
MAP m_orders_1[o_orderkey INT] : INT
  MEANING 'SELECT orders.o_orderkey, COUNT(*) FROM orders GROUP BY orders.o_orderkey';
MAP m_orders_2[o_orderkey INT] : INT
  MEANING 'SELECT orders.o_orderkey, SUM(CASE WHEN orders.o_orderpriority = ''1-URGENT'' OR orders.o_orderpriority = ''2-HIGH'' THEN 1 ELSE 0 END) FROM orders GROUP BY orders.o_orderkey';
MAP m_orders_3[o_orderkey INT] : INT
  MEANING 'SELECT orders.o_orderkey, SUM(CASE WHEN orders.o_orderpriority <> ''1-URGENT'' AND orders.o_orderpriority <> ''2-HIGH'' THEN 1 ELSE 0 END) FROM orders GROUP BY orders.o_orderkey';

VIEW q12[l_shipmode STRING]
  VALUES high_line_count = q12_high_line_count, low_line_count = q12_low_line_count
  EXISTS q12_count
  COLUMNS l_shipmode = l_shipmode,
    high_line_count = high_line_count,
    low_line_count = low_line_count
  ORDER BY 1
  SQL '-- TPC-H Q12, shipping modes and order priority; validation parameters SHIPMODE1 = MAIL, SHIPMODE2 = SHIP,
-- DATE = 1994-01-01.
select
    l_shipmode,
    sum(
        case
            when o_orderpriority = ''1-URGENT'' or o_orderpriority = ''2-HIGH'' then 1
            else 0
        end
    ) as high_line_count,
    sum(
        case
            when o_orderpriority <> ''1-URGENT'' and o_orderpriority <> ''2-HIGH'' then 1
            else 0
        end
    ) as low_line_count
from
    orders,
    lineitem
where
    o_orderkey = l_orderkey
    and l_shipmode in (''MAIL'', ''SHIP'')
    and l_commitdate < l_receiptdate
    and l_shipdate < l_commitdate
    and l_receiptdate >= date ''1994-01-01''
    and l_receiptdate < date ''1994-01-01'' + interval ''1'' year
group by
    l_shipmode
order by
    l_shipmode
';

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q12_count[l_shipmode] += m_lineitem_1[o_orderkey, l_shipmode];
  q12_high_line_count[l_shipmode] += (CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) * m_lineitem_1[o_orderkey, l_shipmode];
  q12_low_line_count[l_shipmode] += (CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) * m_lineitem_1[o_orderkey, l_shipmode];
  m_orders_1[o_orderkey] += 1;
  m_orders_2[o_orderkey] += (CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END);
  m_orders_3[o_orderkey] += (CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END);
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q12_count[l_shipmode] += -1 * m_lineitem_1[o_orderkey, l_shipmode];
  q12_high_line_count[l_shipmode] += -1 * (CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) * m_lineitem_1[o_orderkey, l_shipmode];
  q12_low_line_count[l_shipmode] += -1 * (CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) * m_lineitem_1[o_orderkey, l_shipmode];
  m_orders_1[o_orderkey] += -1;
  m_orders_2[o_orderkey] += -1 * (CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END);
  m_orders_3[o_orderkey] += -1 * (CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END);
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q12_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN m_orders_1[l_orderkey] ELSE 0;
  q12_high_line_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN m_orders_2[l_orderkey] ELSE 0;
  q12_low_line_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN m_orders_3[l_orderkey] ELSE 0;
  m_lineitem_1[l_orderkey, l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN 1 ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q12_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN -1 * m_orders_1[l_orderkey] ELSE 0;
  q12_high_line_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN -1 * m_orders_2[l_orderkey] ELSE 0;
  q12_low_line_count[l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN -1 * m_orders_3[l_orderkey] ELSE 0;
  m_lineitem_1[l_orderkey, l_shipmode] += IF l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' THEN -1 ELSE 0;
}
