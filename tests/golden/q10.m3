PROGRAM q10 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q10_count[c_custkey INT, c_name STRING, c_acctbal DECIMAL(15, 2), c_phone STRING, n_name STRING, c_address STRING, c_comment STRING] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment, COUNT(*) FROM customer, orders, lineitem, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment';
MAP q10_revenue[c_custkey INT, c_name STRING, c_acctbal DECIMAL(15, 2), c_phone STRING, n_name STRING, c_address STRING, c_comment STRING] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment';
MAP m_lineitem_orders_1[c_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY orders.o_custkey';
MAP m_nation_1[n_name STRING, c_nationkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey';
MAP m_customer_1[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : INT
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, COUNT(*) FROM customer GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';
MAP m_lineitem_1[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem WHERE lineitem.l_returnflag = ''R'' GROUP BY lineitem.l_orderkey';
MAP m_orders_1[c_custkey INT, l_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_customer_lineitem_orders_1[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : INT
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';
MAP m_lineitem_orders_2[c_custkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_custkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY orders.o_custkey';
MAP m_lineitem_2[l_orderkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_returnflag = ''R'' GROUP BY lineitem.l_orderkey';
MAP m_customer_lineitem_orders_2[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';

VIEW q10[c_custkey INT, c_name STRING, c_acctbal DECIMAL(15, 2), c_phone STRING, n_name STRING, c_address STRING, c_comment STRING]
  VALUES revenue = q10_revenue
  EXISTS q10_count
  COLUMNS c_custkey = c_custkey,
    c_name = c_name,
    revenue = revenue,
    c_acctbal = c_acctbal,
    n_name = n_name,
    c_address = c_address,
    c_phone = c_phone,
    c_comment = c_comment
  ORDER BY 3 DESC
  LIMIT 20
  SQL 'select
  c_custkey,
  c_name,
  sum(l_extendedprice * (1 - l_discount)) as revenue,
  c_acctbal,
  n_name,
  c_address,
  c_phone,
  c_comment
from customer, orders, lineitem, nation
where c_custkey = o_custkey
  and l_orderkey = o_orderkey
  and o_orderdate >= date ''1993-10-01''
  and o_orderdate < date ''1993-10-01'' + interval ''3'' month
  and l_returnflag = ''R''
  and c_nationkey = n_nationkey
group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
order by revenue desc
limit 20';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  m_nation_1[n_name, n_nationkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  m_nation_1[n_name, n_nationkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_lineitem_orders_1[c_custkey] * m_nation_1[n_name, c_nationkey];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_lineitem_orders_2[c_custkey] * m_nation_1[n_name, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += m_lineitem_orders_1[c_custkey];
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += m_lineitem_orders_2[c_custkey];
  m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_lineitem_orders_1[c_custkey] * m_nation_1[n_name, c_nationkey];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_lineitem_orders_2[c_custkey] * m_nation_1[n_name, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1 * m_lineitem_orders_1[c_custkey];
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1 * m_lineitem_orders_2[c_custkey];
  m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q10_count[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_1[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  q10_revenue[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_2[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_1[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_2[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_lineitem_orders_1[o_custkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_1[o_orderkey] ELSE 0;
  m_lineitem_orders_2[o_custkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_2[o_orderkey] ELSE 0;
  m_orders_1[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q10_count[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_1[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  q10_revenue[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_2[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_1[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_2[o_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_lineitem_orders_1[o_custkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_1[o_orderkey] ELSE 0;
  m_lineitem_orders_2[o_custkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_2[o_orderkey] ELSE 0;
  m_orders_1[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_lineitem_orders_1[c_custkey] += IF l_returnflag = 'R' THEN m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_orders_2[c_custkey] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_returnflag = 'R' THEN 1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_1[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_lineitem_orders_1[c_custkey] += IF l_returnflag = 'R' THEN -1 * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_orders_2[c_custkey] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_returnflag = 'R' THEN -1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}
