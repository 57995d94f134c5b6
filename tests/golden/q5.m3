PROGRAM q5 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q5_count[n_name STRING] : INT
  MEANING 'SELECT nation.n_name, COUNT(*) FROM customer, orders, lineitem, supplier, nation, region WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' AND region.r_name = ''ASIA'' GROUP BY nation.n_name';
MAP q5_revenue[n_name STRING] : DECIMAL(38, 4)
  MEANING 'SELECT nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier, nation, region WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' AND region.r_name = ''ASIA'' GROUP BY nation.n_name';
MAP m_lineitem_orders_supplier_1[c_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT orders.o_custkey, supplier.s_nationkey, COUNT(*) FROM orders, lineitem, supplier WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY orders.o_custkey, supplier.s_nationkey';
MAP m_nation_1[n_name STRING, c_nationkey INT, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, nation.n_regionkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey, nation.n_regionkey';
MAP m_region_1[n_regionkey INT] : INT
  MEANING 'SELECT region.r_regionkey, COUNT(*) FROM region WHERE region.r_name = ''ASIA'' GROUP BY region.r_regionkey';
MAP m_customer_nation_region_1[c_custkey INT, c_nationkey INT, n_name STRING] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, nation.n_name, COUNT(*) FROM customer, nation, region WHERE customer.c_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND region.r_name = ''ASIA'' GROUP BY customer.c_custkey, customer.c_nationkey, nation.n_name';
MAP m_lineitem_supplier_1[l_orderkey INT, c_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_nationkey, COUNT(*) FROM lineitem, supplier WHERE lineitem.l_suppkey = supplier.s_suppkey GROUP BY lineitem.l_orderkey, supplier.s_nationkey';
MAP m_customer_1[c_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_nationkey';
MAP m_orders_1[c_custkey INT, l_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_supplier_1[c_nationkey INT, l_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_customer_lineitem_orders_1[c_nationkey INT, l_suppkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_suppkey, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey, lineitem.l_suppkey';
MAP m_customer_lineitem_orders_supplier_1[c_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, COUNT(*) FROM customer, orders, lineitem, supplier WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_1[n_name STRING, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_regionkey, COUNT(*) FROM customer, orders, lineitem, supplier, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY nation.n_name, nation.n_regionkey';
MAP m_lineitem_orders_supplier_2[c_custkey INT, c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_custkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM orders, lineitem, supplier WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY orders.o_custkey, supplier.s_nationkey';
MAP m_lineitem_supplier_2[l_orderkey INT, c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, supplier WHERE lineitem.l_suppkey = supplier.s_suppkey GROUP BY lineitem.l_orderkey, supplier.s_nationkey';
MAP m_customer_lineitem_orders_2[c_nationkey INT, l_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey, lineitem.l_suppkey';
MAP m_customer_lineitem_orders_supplier_2[c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_2[n_name STRING, n_regionkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT nation.n_name, nation.n_regionkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY nation.n_name, nation.n_regionkey';
MAP m_lineitem_orders_1[l_suppkey INT, c_custkey INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, orders.o_custkey, COUNT(*) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY lineitem.l_suppkey, orders.o_custkey';
MAP m_customer_nation_1[c_custkey INT, c_nationkey INT, n_name STRING, n_regionkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, nation.n_name, nation.n_regionkey, COUNT(*) FROM customer, nation WHERE customer.c_nationkey = nation.n_nationkey GROUP BY customer.c_custkey, customer.c_nationkey, nation.n_name, nation.n_regionkey';
MAP m_lineitem_1[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_orders_2[l_suppkey INT, c_custkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_suppkey, orders.o_custkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM orders, lineitem WHERE orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY lineitem.l_suppkey, orders.o_custkey';
MAP m_lineitem_2[l_orderkey INT, l_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';

VIEW q5[n_name STRING]
  VALUES revenue = q5_revenue
  EXISTS q5_count
  COLUMNS n_name = n_name,
    revenue = revenue
  ORDER BY 2 DESC
  SQL 'select
  n_name,
  sum(l_extendedprice * (1 - l_discount)) as revenue
from customer, orders, lineitem, supplier, nation, region
where c_custkey = o_custkey
  and l_orderkey = o_orderkey
  and l_suppkey = s_suppkey
  and c_nationkey = s_nationkey
  and s_nationkey = n_nationkey
  and n_regionkey = r_regionkey
  and r_name = ''ASIA''
  and o_orderdate >= date ''1994-01-01''
  and o_orderdate < date ''1994-01-01'' + interval ''1'' year
group by n_name
order by revenue desc';

ON +region(r_regionkey, r_name, r_comment) DO {
  q5_count[n_name] += IF r_name = 'ASIA' THEN m_customer_lineitem_nation_orders_supplier_1[n_name, r_regionkey] ELSE 0;
  q5_revenue[n_name] += IF r_name = 'ASIA' THEN m_customer_lineitem_nation_orders_supplier_2[n_name, r_regionkey] ELSE 0;
  m_customer_nation_region_1[c_custkey, c_nationkey, n_name] += IF r_name = 'ASIA' THEN m_customer_nation_1[c_custkey, c_nationkey, n_name, r_regionkey] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'ASIA' THEN 1 ELSE 0;
}

ON -region(r_regionkey, r_name, r_comment) DO {
  q5_count[n_name] += IF r_name = 'ASIA' THEN -1 * m_customer_lineitem_nation_orders_supplier_1[n_name, r_regionkey] ELSE 0;
  q5_revenue[n_name] += IF r_name = 'ASIA' THEN -1 * m_customer_lineitem_nation_orders_supplier_2[n_name, r_regionkey] ELSE 0;
  m_customer_nation_region_1[c_custkey, c_nationkey, n_name] += IF r_name = 'ASIA' THEN -1 * m_customer_nation_1[c_custkey, c_nationkey, n_name, r_regionkey] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'ASIA' THEN -1 ELSE 0;
}

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q5_count[n_name] += m_customer_lineitem_orders_supplier_1[n_nationkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_customer_lineitem_orders_supplier_2[n_nationkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_customer_lineitem_orders_supplier_1[n_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_customer_lineitem_orders_supplier_2[n_nationkey];
  m_customer_nation_region_1[c_custkey, n_nationkey, n_name] += m_region_1[n_regionkey] * m_customer_1[c_custkey, n_nationkey];
  m_customer_nation_1[c_custkey, n_nationkey, n_name, n_regionkey] += m_customer_1[c_custkey, n_nationkey];
  m_nation_1[n_name, n_nationkey, n_regionkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q5_count[n_name] += -1 * m_customer_lineitem_orders_supplier_1[n_nationkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_customer_lineitem_orders_supplier_2[n_nationkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_supplier_1[n_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_supplier_2[n_nationkey];
  m_customer_nation_region_1[c_custkey, n_nationkey, n_name] += -1 * m_region_1[n_regionkey] * m_customer_1[c_custkey, n_nationkey];
  m_customer_nation_1[c_custkey, n_nationkey, n_name, n_regionkey] += -1 * m_customer_1[c_custkey, n_nationkey];
  m_nation_1[n_name, n_nationkey, n_regionkey] += -1;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q5_count[n_name] += m_customer_lineitem_orders_1[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_customer_lineitem_orders_2[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_customer_lineitem_orders_1[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_customer_lineitem_orders_2[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[s_nationkey] += m_customer_lineitem_orders_1[s_nationkey, s_suppkey];
  m_customer_lineitem_orders_supplier_2[s_nationkey] += m_customer_lineitem_orders_2[s_nationkey, s_suppkey];
  m_lineitem_orders_supplier_1[c_custkey, s_nationkey] += m_lineitem_orders_1[s_suppkey, c_custkey];
  m_lineitem_orders_supplier_2[c_custkey, s_nationkey] += m_lineitem_orders_2[s_suppkey, c_custkey];
  m_lineitem_supplier_1[l_orderkey, s_nationkey] += m_lineitem_1[l_orderkey, s_suppkey];
  m_lineitem_supplier_2[l_orderkey, s_nationkey] += m_lineitem_2[l_orderkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q5_count[n_name] += -1 * m_customer_lineitem_orders_1[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_customer_lineitem_orders_2[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_1[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_2[s_nationkey, s_suppkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[s_nationkey] += -1 * m_customer_lineitem_orders_1[s_nationkey, s_suppkey];
  m_customer_lineitem_orders_supplier_2[s_nationkey] += -1 * m_customer_lineitem_orders_2[s_nationkey, s_suppkey];
  m_lineitem_orders_supplier_1[c_custkey, s_nationkey] += -1 * m_lineitem_orders_1[s_suppkey, c_custkey];
  m_lineitem_orders_supplier_2[c_custkey, s_nationkey] += -1 * m_lineitem_orders_2[s_suppkey, c_custkey];
  m_lineitem_supplier_1[l_orderkey, s_nationkey] += -1 * m_lineitem_1[l_orderkey, s_suppkey];
  m_lineitem_supplier_2[l_orderkey, s_nationkey] += -1 * m_lineitem_2[l_orderkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q5_count[n_name] += m_lineitem_orders_supplier_1[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_lineitem_orders_supplier_2[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_lineitem_orders_supplier_1[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_lineitem_orders_supplier_2[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += m_lineitem_orders_supplier_1[c_custkey, c_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += m_lineitem_orders_supplier_2[c_custkey, c_nationkey];
  m_customer_nation_region_1[c_custkey, c_nationkey, n_name] += m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += m_lineitem_orders_1[l_suppkey, c_custkey];
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += m_lineitem_orders_2[l_suppkey, c_custkey];
  m_customer_nation_1[c_custkey, c_nationkey, n_name, n_regionkey] += m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_1[c_custkey, c_nationkey] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q5_count[n_name] += -1 * m_lineitem_orders_supplier_1[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_lineitem_orders_supplier_2[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_lineitem_orders_supplier_1[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_lineitem_orders_supplier_2[c_custkey, c_nationkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += -1 * m_lineitem_orders_supplier_1[c_custkey, c_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += -1 * m_lineitem_orders_supplier_2[c_custkey, c_nationkey];
  m_customer_nation_region_1[c_custkey, c_nationkey, n_name] += -1 * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += -1 * m_lineitem_orders_1[l_suppkey, c_custkey];
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += -1 * m_lineitem_orders_2[l_suppkey, c_custkey];
  m_customer_nation_1[c_custkey, c_nationkey, n_name, n_regionkey] += -1 * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_1[c_custkey, c_nationkey] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q5_count[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_1[o_orderkey, c_nationkey] * m_customer_nation_region_1[o_custkey, c_nationkey, n_name] ELSE 0;
  q5_revenue[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_2[o_orderkey, c_nationkey] * m_customer_nation_region_1[o_custkey, c_nationkey, n_name] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_1[o_orderkey, c_nationkey] * m_customer_nation_1[o_custkey, c_nationkey, n_name, n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_2[o_orderkey, c_nationkey] * m_customer_nation_1[o_custkey, c_nationkey, n_name, n_regionkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[o_orderkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_1[o_custkey, c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_1[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_supplier_2[o_custkey, c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_supplier_2[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_1[l_suppkey, o_custkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_2[l_suppkey, o_custkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_lineitem_2[o_orderkey, l_suppkey] ELSE 0;
  m_orders_1[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q5_count[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_1[o_orderkey, c_nationkey] * m_customer_nation_region_1[o_custkey, c_nationkey, n_name] ELSE 0;
  q5_revenue[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_2[o_orderkey, c_nationkey] * m_customer_nation_region_1[o_custkey, c_nationkey, n_name] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_1[o_orderkey, c_nationkey] * m_customer_nation_1[o_custkey, c_nationkey, n_name, n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_2[o_orderkey, c_nationkey] * m_customer_nation_1[o_custkey, c_nationkey, n_name, n_regionkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[o_orderkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_1[o_custkey, c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_1[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_supplier_2[o_custkey, c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_supplier_2[o_orderkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_1[l_suppkey, o_custkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_1[o_orderkey, l_suppkey] ELSE 0;
  m_lineitem_orders_2[l_suppkey, o_custkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_lineitem_2[o_orderkey, l_suppkey] ELSE 0;
  m_orders_1[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q5_count[n_name] += m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_orders_supplier_1[c_custkey, c_nationkey] += m_orders_1[c_custkey, l_orderkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_orders_supplier_2[c_custkey, c_nationkey] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_supplier_1[l_orderkey, c_nationkey] += m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_supplier_2[l_orderkey, c_nationkey] += (l_extendedprice * (1 - l_discount)) * m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_orders_1[l_suppkey, c_custkey] += m_orders_1[c_custkey, l_orderkey];
  m_lineitem_orders_2[l_suppkey, c_custkey] += (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey];
  m_lineitem_1[l_orderkey, l_suppkey] += 1;
  m_lineitem_2[l_orderkey, l_suppkey] += (l_extendedprice * (1 - l_discount));
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q5_count[n_name] += -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_orders_supplier_1[c_custkey, c_nationkey] += -1 * m_orders_1[c_custkey, l_orderkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_1[c_nationkey, l_suppkey] += -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_orders_supplier_2[c_custkey, c_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_2[c_nationkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey];
  m_lineitem_supplier_1[l_orderkey, c_nationkey] += -1 * m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_supplier_2[l_orderkey, c_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[c_nationkey, l_suppkey];
  m_lineitem_orders_1[l_suppkey, c_custkey] += -1 * m_orders_1[c_custkey, l_orderkey];
  m_lineitem_orders_2[l_suppkey, c_custkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey];
  m_lineitem_1[l_orderkey, l_suppkey] += -1;
  m_lineitem_2[l_orderkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount));
}
