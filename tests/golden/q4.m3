PROGRAM q4 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q4_exists_n[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem WHERE lineitem.l_commitdate < lineitem.l_receiptdate GROUP BY lineitem.l_orderkey';
MAP q4_count[o_orderpriority STRING] : INT
  MEANING 'SELECT orders.o_orderpriority, COUNT(*) FROM orders, q4_exists WHERE orders.o_orderkey = q4_exists.l_orderkey AND orders.o_orderdate >= DATE ''1993-07-01'' AND orders.o_orderdate < DATE ''1993-10-01'' GROUP BY orders.o_orderpriority';
MAP m_orders_1[l_orderkey INT, o_orderpriority STRING] : INT
  MEANING 'SELECT orders.o_orderkey, orders.o_orderpriority, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1993-07-01'' AND orders.o_orderdate < DATE ''1993-10-01'' GROUP BY orders.o_orderkey, orders.o_orderpriority';
MAP q4_exists[l_orderkey INT] : INT
  MEANING 'one row per (l_orderkey)';

DERIVE q4_exists[l_orderkey]
  FROM n = q4_exists_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW q4[o_orderpriority STRING]
  VALUES count = q4_count
  EXISTS q4_count
  COLUMNS o_orderpriority = o_orderpriority,
    order_count = count
  ORDER BY 1
  SQL '-- TPC-H Q4, order priority checking; validation parameter DATE = 1993-07-01.
select
    o_orderpriority,
    count(*) as order_count
from
    orders
where
    o_orderdate >= date ''1993-07-01''
    and o_orderdate < date ''1993-07-01'' + interval ''3'' month
    and exists (
        select
            *
        from
            lineitem
        where
            l_orderkey = o_orderkey
            and l_commitdate < l_receiptdate
    )
group by
    o_orderpriority
order by
    o_orderpriority
';

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q4_count[o_orderpriority] += IF o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' THEN q4_exists[o_orderkey] ELSE 0;
  m_orders_1[o_orderkey, o_orderpriority] += IF o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q4_count[o_orderpriority] += IF o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' THEN -1 * q4_exists[o_orderkey] ELSE 0;
  m_orders_1[o_orderkey, o_orderpriority] += IF o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q4_exists_n[l_orderkey] += IF l_commitdate < l_receiptdate THEN 1 ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q4_exists_n[l_orderkey] += IF l_commitdate < l_receiptdate THEN -1 ELSE 0;
}

ON CHANGE q4_exists(l_orderkey) DO {
  q4_count[o_orderpriority] += m_orders_1[l_orderkey, o_orderpriority];
}
