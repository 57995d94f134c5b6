PROGRAM q6 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q6_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' AND lineitem.l_discount >= 0.05 :: DECIMAL(3, 2) AND lineitem.l_discount <= 0.07 :: DECIMAL(3, 2) AND lineitem.l_quantity < 24';
MAP q6_revenue[] : DECIMAL(38, 4)
  MEANING 'SELECT SUM(lineitem.l_extendedprice * lineitem.l_discount) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' AND lineitem.l_discount >= 0.05 :: DECIMAL(3, 2) AND lineitem.l_discount <= 0.07 :: DECIMAL(3, 2) AND lineitem.l_quantity < 24';

VIEW q6[]
  VALUES revenue = q6_revenue, count = q6_count
  EXISTS q6_count
  COLUMNS revenue = CASE WHEN count > 0 THEN revenue ELSE NULL :: DECIMAL(38, 4) END
  SQL 'select
  sum(l_extendedprice * l_discount) as revenue
from lineitem
where l_shipdate >= date ''1994-01-01''
  and l_shipdate < date ''1994-01-01'' + interval ''1'' year
  and l_discount between 0.06 - 0.01 and 0.06 + 0.01
  and l_quantity < 24';

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q6_count[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN 1 ELSE 0;
  q6_revenue[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN (l_extendedprice * l_discount) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q6_count[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN -1 ELSE 0;
  q6_revenue[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN -1 * (l_extendedprice * l_discount) ELSE 0;
}
