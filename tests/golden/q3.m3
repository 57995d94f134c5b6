PROGRAM q3 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q3_count[l_orderkey INT, o_orderdate DATE, o_shippriority INT] : INT
  MEANING 'SELECT orders.o_orderkey, orders.o_orderdate, orders.o_shippriority, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND customer.c_mktsegment = ''BUILDING'' AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_orderdate, orders.o_shippriority';
MAP q3_revenue[l_orderkey INT, o_orderdate DATE, o_shippriority INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_orderkey, orders.o_orderdate, orders.o_shippriority, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND customer.c_mktsegment = ''BUILDING'' AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_orderdate, orders.o_shippriority';
MAP m_lineitem_orders_1[l_orderkey INT, c_custkey INT, o_orderdate DATE, o_shippriority INT] : INT
  MEANING 'SELECT orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_shippriority, COUNT(*) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_shippriority';
MAP m_customer_1[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer WHERE customer.c_mktsegment = ''BUILDING'' GROUP BY customer.c_custkey';
MAP m_lineitem_1[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY lineitem.l_orderkey';
MAP m_orders_1[c_custkey INT, o_orderdate DATE, l_orderkey INT, o_shippriority INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_shippriority, COUNT(*) FROM orders WHERE orders.o_orderdate < DATE ''1995-03-15'' GROUP BY orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_shippriority';
MAP m_lineitem_orders_2[l_orderkey INT, c_custkey INT, o_orderdate DATE, o_shippriority INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_shippriority, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_custkey, orders.o_orderdate, orders.o_shippriority';
MAP m_lineitem_2[l_orderkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY lineitem.l_orderkey';

VIEW q3[l_orderkey INT, o_orderdate DATE, o_shippriority INT]
  VALUES revenue = q3_revenue
  EXISTS q3_count
  COLUMNS l_orderkey = l_orderkey,
    revenue = revenue,
    o_orderdate = o_orderdate,
    o_shippriority = o_shippriority
  ORDER BY 2 DESC, 3
  LIMIT 10
  SQL 'select
  l_orderkey,
  sum(l_extendedprice * (1 - l_discount)) as revenue,
  o_orderdate,
  o_shippriority
from customer, orders, lineitem
where c_mktsegment = ''BUILDING''
  and c_custkey = o_custkey
  and l_orderkey = o_orderkey
  and o_orderdate < date ''1995-03-15''
  and l_shipdate > date ''1995-03-15''
group by l_orderkey, o_orderdate, o_shippriority
order by revenue desc, o_orderdate
limit 10';

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN m_lineitem_orders_1[l_orderkey, c_custkey, o_orderdate, o_shippriority] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN m_lineitem_orders_2[l_orderkey, c_custkey, o_orderdate, o_shippriority] ELSE 0;
  m_customer_1[c_custkey] += IF c_mktsegment = 'BUILDING' THEN 1 ELSE 0;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN -1 * m_lineitem_orders_1[l_orderkey, c_custkey, o_orderdate, o_shippriority] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN -1 * m_lineitem_orders_2[l_orderkey, c_custkey, o_orderdate, o_shippriority] ELSE 0;
  m_customer_1[c_custkey] += IF c_mktsegment = 'BUILDING' THEN -1 ELSE 0;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q3_count[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_customer_1[o_custkey] * m_lineitem_1[o_orderkey] ELSE 0;
  q3_revenue[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_customer_1[o_custkey] * m_lineitem_2[o_orderkey] ELSE 0;
  m_lineitem_orders_1[o_orderkey, o_custkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_lineitem_1[o_orderkey] ELSE 0;
  m_lineitem_orders_2[o_orderkey, o_custkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_lineitem_2[o_orderkey] ELSE 0;
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q3_count[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_customer_1[o_custkey] * m_lineitem_1[o_orderkey] ELSE 0;
  q3_revenue[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_customer_1[o_custkey] * m_lineitem_2[o_orderkey] ELSE 0;
  m_lineitem_orders_1[o_orderkey, o_custkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_lineitem_1[o_orderkey] ELSE 0;
  m_lineitem_orders_2[o_orderkey, o_custkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_lineitem_2[o_orderkey] ELSE 0;
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  m_lineitem_orders_1[l_orderkey, c_custkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] ELSE 0;
  m_lineitem_orders_2[l_orderkey, c_custkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN 1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  m_lineitem_orders_1[l_orderkey, c_custkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] ELSE 0;
  m_lineitem_orders_2[l_orderkey, c_custkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN -1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}
