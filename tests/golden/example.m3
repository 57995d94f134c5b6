PROGRAM example SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP example_count[c_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey GROUP BY customer.c_nationkey';
MAP example_weighted[c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, SUM(orders.o_totalprice * lineitem.l_discount) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey GROUP BY customer.c_nationkey';
MAP m_lineitem_orders_1[c_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey GROUP BY orders.o_custkey';
MAP m_customer_1[c_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_nationkey';
MAP m_lineitem_1[o_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey';
MAP m_orders_1[c_custkey INT, o_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_lineitem_orders_2[c_custkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_custkey, SUM(orders.o_totalprice * lineitem.l_discount) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey GROUP BY orders.o_custkey';
MAP m_lineitem_2[o_orderkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_discount) FROM lineitem GROUP BY lineitem.l_orderkey';
MAP m_orders_2[c_custkey INT, o_orderkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, SUM(orders.o_totalprice) FROM orders GROUP BY orders.o_custkey, orders.o_orderkey';

VIEW example[c_nationkey INT]
  VALUES weighted = example_weighted
  EXISTS example_count
  COLUMNS c_nationkey = c_nationkey,
    weighted = weighted
  SQL 'select c.c_nationkey, sum(o.o_totalprice * l.l_discount) as weighted
from customer c, orders o, lineitem l
where c.c_custkey = o.o_custkey and o.o_orderkey = l.l_orderkey
group by c.c_nationkey';

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  example_count[c_nationkey] += m_lineitem_orders_1[c_custkey];
  example_weighted[c_nationkey] += m_lineitem_orders_2[c_custkey];
  m_customer_1[c_custkey, c_nationkey] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  example_count[c_nationkey] += -1 * m_lineitem_orders_1[c_custkey];
  example_weighted[c_nationkey] += -1 * m_lineitem_orders_2[c_custkey];
  m_customer_1[c_custkey, c_nationkey] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  example_count[c_nationkey] += m_lineitem_1[o_orderkey] * m_customer_1[o_custkey, c_nationkey];
  example_weighted[c_nationkey] += o_totalprice * m_lineitem_2[o_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_1[o_custkey] += m_lineitem_1[o_orderkey];
  m_lineitem_orders_2[o_custkey] += o_totalprice * m_lineitem_2[o_orderkey];
  m_orders_1[o_custkey, o_orderkey] += 1;
  m_orders_2[o_custkey, o_orderkey] += o_totalprice;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  example_count[c_nationkey] += -1 * m_lineitem_1[o_orderkey] * m_customer_1[o_custkey, c_nationkey];
  example_weighted[c_nationkey] += -1 * o_totalprice * m_lineitem_2[o_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_1[o_custkey] += -1 * m_lineitem_1[o_orderkey];
  m_lineitem_orders_2[o_custkey] += -1 * o_totalprice * m_lineitem_2[o_orderkey];
  m_orders_1[o_custkey, o_orderkey] += -1;
  m_orders_2[o_custkey, o_orderkey] += -1 * o_totalprice;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  example_count[c_nationkey] += m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  example_weighted[c_nationkey] += l_discount * m_orders_2[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_orders_1[c_custkey] += m_orders_1[c_custkey, l_orderkey];
  m_lineitem_orders_2[c_custkey] += l_discount * m_orders_2[c_custkey, l_orderkey];
  m_lineitem_1[l_orderkey] += 1;
  m_lineitem_2[l_orderkey] += l_discount;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  example_count[c_nationkey] += -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  example_weighted[c_nationkey] += -1 * l_discount * m_orders_2[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_orders_1[c_custkey] += -1 * m_orders_1[c_custkey, l_orderkey];
  m_lineitem_orders_2[c_custkey] += -1 * l_discount * m_orders_2[c_custkey, l_orderkey];
  m_lineitem_1[l_orderkey] += -1;
  m_lineitem_2[l_orderkey] += -1 * l_discount;
}
