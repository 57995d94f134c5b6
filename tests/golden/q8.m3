PROGRAM q8 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q8_rows_n[o_year INT, nation STRING, volume DECIMAL(32, 4)] : INT
  MEANING 'SELECT YEAR(orders.o_orderdate), nation_2.n_name, lineitem.l_extendedprice * (1 - lineitem.l_discount), COUNT(*) FROM part, supplier, lineitem, orders, customer, nation nation_1, nation nation_2, region WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_2.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_1.n_nationkey AND nation_1.n_regionkey = region.r_regionkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY YEAR(orders.o_orderdate), nation_2.n_name, lineitem.l_extendedprice * (1 - lineitem.l_discount)';
MAP q8_count[o_year INT] : INT
  MEANING 'SELECT q8_rows.o_year, COUNT(*) FROM q8_rows GROUP BY q8_rows.o_year';
MAP q8_mkt_share[o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT q8_rows.o_year, SUM(CASE WHEN q8_rows.nation = ''BRAZIL'' THEN q8_rows.volume ELSE 0 END) FROM q8_rows GROUP BY q8_rows.o_year';
MAP q8_mkt_share_2[o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT q8_rows.o_year, SUM(q8_rows.volume) FROM q8_rows GROUP BY q8_rows.o_year';
MAP m_customer_lineitem_nation_nation_orders_region_supplier_1[volume DECIMAL(32, 4), p_partkey INT, nation STRING, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation_2.n_name, YEAR(orders.o_orderdate), COUNT(*) FROM supplier, lineitem, orders, customer, nation nation_1, nation nation_2, region WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_2.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_1.n_nationkey AND nation_1.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation_2.n_name, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_part_region_1[volume DECIMAL(32, 4), s_suppkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM part, lineitem, orders, customer, nation, region WHERE part.p_partkey = lineitem.l_partkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_nation_1[nation STRING, s_nationkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey';
MAP m_part_1[p_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part WHERE part.p_type = ''ECONOMY ANODIZED STEEL'' GROUP BY part.p_partkey';
MAP m_supplier_1[s_nationkey INT, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_orders_1[o_year INT, o_custkey INT, l_orderkey INT] : INT
  MEANING 'SELECT YEAR(orders.o_orderdate), orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY YEAR(orders.o_orderdate), orders.o_custkey, orders.o_orderkey';
MAP m_customer_1[o_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_nationkey';
MAP m_nation_2[c_nationkey INT, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_nationkey, nation.n_regionkey, COUNT(*) FROM nation GROUP BY nation.n_nationkey, nation.n_regionkey';
MAP m_region_1[n_regionkey INT] : INT
  MEANING 'SELECT region.r_regionkey, COUNT(*) FROM region WHERE region.r_name = ''AMERICA'' GROUP BY region.r_regionkey';
MAP m_lineitem_nation_part_supplier_1[volume DECIMAL(32, 4), l_orderkey INT, nation STRING] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, nation.n_name, COUNT(*) FROM part, supplier, lineitem, nation WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, nation.n_name';
MAP m_lineitem_nation_orders_part_supplier_1[volume DECIMAL(32, 4), nation STRING, o_year INT, o_custkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_name, YEAR(orders.o_orderdate), orders.o_custkey, COUNT(*) FROM part, supplier, lineitem, orders, nation WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_name, YEAR(orders.o_orderdate), orders.o_custkey';
MAP m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey INT, volume DECIMAL(32, 4), nation STRING, o_year INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_name, YEAR(orders.o_orderdate), COUNT(*) FROM part, supplier, lineitem, orders, customer, nation WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_name, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_part_region_supplier_1[volume DECIMAL(32, 4), o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, orders, customer, nation, region WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_customer_lineitem_nation_nation_orders_part_supplier_1[volume DECIMAL(32, 4), nation STRING, n_regionkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), nation_2.n_name, nation_1.n_regionkey, YEAR(orders.o_orderdate), COUNT(*) FROM part, supplier, lineitem, orders, customer, nation nation_1, nation nation_2 WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_2.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_1.n_nationkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), nation_2.n_name, nation_1.n_regionkey, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_region_1[volume DECIMAL(32, 4), p_partkey INT, s_suppkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM lineitem, orders, customer, nation, region WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_supplier_1[volume DECIMAL(32, 4), l_orderkey INT, p_partkey INT, nation STRING] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, nation.n_name, COUNT(*) FROM supplier, lineitem, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, nation.n_name';
MAP m_lineitem_nation_orders_supplier_1[volume DECIMAL(32, 4), p_partkey INT, nation STRING, o_year INT, o_custkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), orders.o_custkey, COUNT(*) FROM supplier, lineitem, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), orders.o_custkey';
MAP m_customer_lineitem_nation_orders_supplier_1[c_nationkey INT, volume DECIMAL(32, 4), p_partkey INT, nation STRING, o_year INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), COUNT(*) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_region_supplier_1[volume DECIMAL(32, 4), p_partkey INT, o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, customer, nation, region WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' AND region.r_name = ''AMERICA'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_customer_lineitem_nation_nation_orders_supplier_1[volume DECIMAL(32, 4), p_partkey INT, nation STRING, n_regionkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation_2.n_name, nation_1.n_regionkey, YEAR(orders.o_orderdate), COUNT(*) FROM supplier, lineitem, orders, customer, nation nation_1, nation nation_2 WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_2.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_1.n_nationkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation_2.n_name, nation_1.n_regionkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_part_1[volume DECIMAL(32, 4), l_orderkey INT, s_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM part, lineitem WHERE part.p_partkey = lineitem.l_partkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_orders_part_1[volume DECIMAL(32, 4), s_suppkey INT, o_year INT, o_custkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate), orders.o_custkey, COUNT(*) FROM part, lineitem, orders WHERE part.p_partkey = lineitem.l_partkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate), orders.o_custkey';
MAP m_customer_lineitem_orders_part_1[c_nationkey INT, volume DECIMAL(32, 4), s_suppkey INT, o_year INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM part, lineitem, orders, customer WHERE part.p_partkey = lineitem.l_partkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_part_1[volume DECIMAL(32, 4), s_suppkey INT, n_regionkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, nation.n_regionkey, YEAR(orders.o_orderdate), COUNT(*) FROM part, lineitem, orders, customer, nation WHERE part.p_partkey = lineitem.l_partkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_suppkey, nation.n_regionkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_part_supplier_1[volume DECIMAL(32, 4), l_orderkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_orders_part_supplier_1[volume DECIMAL(32, 4), o_year INT, o_custkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), orders.o_custkey, supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, orders WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), orders.o_custkey, supplier.s_nationkey';
MAP m_customer_lineitem_orders_part_supplier_1[c_nationkey INT, volume DECIMAL(32, 4), o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, orders, customer WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_customer_lineitem_nation_orders_part_supplier_2[volume DECIMAL(32, 4), n_regionkey INT, o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_regionkey, YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, orders, customer, nation WHERE part.p_partkey = lineitem.l_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND part.p_type = ''ECONOMY ANODIZED STEEL'' AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), nation.n_regionkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_1[volume DECIMAL(32, 4), l_orderkey INT, p_partkey INT, s_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_orders_1[volume DECIMAL(32, 4), p_partkey INT, s_suppkey INT, o_year INT, o_custkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), orders.o_custkey, COUNT(*) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), orders.o_custkey';
MAP m_customer_lineitem_orders_1[c_nationkey INT, volume DECIMAL(32, 4), p_partkey INT, s_suppkey INT, o_year INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM lineitem, orders, customer WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_customer_lineitem_nation_orders_1[volume DECIMAL(32, 4), p_partkey INT, s_suppkey INT, n_regionkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, nation.n_regionkey, YEAR(orders.o_orderdate), COUNT(*) FROM lineitem, orders, customer, nation WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, lineitem.l_suppkey, nation.n_regionkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_supplier_1[volume DECIMAL(32, 4), l_orderkey INT, p_partkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem WHERE supplier.s_suppkey = lineitem.l_suppkey GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey';
MAP m_lineitem_orders_supplier_1[volume DECIMAL(32, 4), p_partkey INT, o_year INT, o_custkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), orders.o_custkey, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), orders.o_custkey, supplier.s_nationkey';
MAP m_customer_lineitem_orders_supplier_1[c_nationkey INT, volume DECIMAL(32, 4), p_partkey INT, o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, customer WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_2[volume DECIMAL(32, 4), p_partkey INT, n_regionkey INT, o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_regionkey, YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderdate >= DATE ''1995-01-01'' AND orders.o_orderdate <= DATE ''1996-12-31'' GROUP BY lineitem.l_extendedprice * (1 - lineitem.l_discount), lineitem.l_partkey, nation.n_regionkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP q8_rows[o_year INT, nation STRING, volume DECIMAL(32, 4)] : INT
  MEANING 'one row per (o_year, nation, volume)';

DERIVE q8_rows[o_year, nation, volume]
  FROM n = q8_rows_n
  COUNT n;

VIEW q8[o_year INT]
  VALUES mkt_share = q8_mkt_share, mkt_share_2 = q8_mkt_share_2
  EXISTS q8_count
  COLUMNS o_year = o_year,
    mkt_share = (mkt_share / mkt_share_2) :: DECIMAL(38, 6) NULL
  ORDER BY 1
  SQL '-- TPC-H Q8, national market share; validation parameters NATION = BRAZIL, REGION = AMERICA,
-- TYPE = ECONOMY ANODIZED STEEL.
select
    o_year,
    sum(case when nation = ''BRAZIL'' then volume else 0 end) / sum(volume) as mkt_share
from
    (
        select
            extract(year from o_orderdate) as o_year,
            l_extendedprice * (1 - l_discount) as volume,
            n2.n_name as nation
        from
            part,
            supplier,
            lineitem,
            orders,
            customer,
            nation n1,
            nation n2,
            region
        where
            p_partkey = l_partkey
            and s_suppkey = l_suppkey
            and l_orderkey = o_orderkey
            and o_custkey = c_custkey
            and c_nationkey = n1.n_nationkey
            and n1.n_regionkey = r_regionkey
            and r_name = ''AMERICA''
            and s_nationkey = n2.n_nationkey
            and o_orderdate between date ''1995-01-01'' and date ''1996-12-31''
            and p_type = ''ECONOMY ANODIZED STEEL''
    ) as all_nations
group by
    o_year
order by
    o_year
';

ON +region(r_regionkey, r_name, r_comment) DO {
  q8_rows_n[o_year, nation, volume] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_orders_part_supplier_2[volume, r_regionkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, r_regionkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += IF r_name = 'AMERICA' THEN m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, r_regionkey, o_year] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'AMERICA' THEN 1 ELSE 0;
}

ON -region(r_regionkey, r_name, r_comment) DO {
  q8_rows_n[o_year, nation, volume] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_orders_part_supplier_2[volume, r_regionkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, r_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, r_regionkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += IF r_name = 'AMERICA' THEN -1 * m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, r_regionkey, o_year] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'AMERICA' THEN -1 ELSE 0;
}

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q8_rows_n[o_year, nation, volume] += m_region_1[n_regionkey] * m_customer_lineitem_nation_orders_part_supplier_1[n_nationkey, volume, nation, o_year];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += m_region_1[n_regionkey] * m_customer_lineitem_nation_orders_supplier_1[n_nationkey, volume, p_partkey, nation, o_year];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += m_region_1[n_regionkey] * m_customer_lineitem_orders_part_supplier_1[n_nationkey, volume, o_year, s_nationkey];
  q8_rows_n[o_year, n_name, volume] += AFTER m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, n_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += m_customer_lineitem_nation_orders_part_supplier_1[n_nationkey, volume, nation, o_year];
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += m_region_1[n_regionkey] * m_customer_lineitem_orders_part_1[n_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, n_name, o_year] += m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, n_nationkey];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += m_region_1[n_regionkey] * m_customer_lineitem_orders_supplier_1[n_nationkey, volume, p_partkey, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, n_name, o_year] += AFTER m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, n_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += m_customer_lineitem_nation_orders_supplier_1[n_nationkey, volume, p_partkey, nation, o_year];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += m_customer_lineitem_orders_part_supplier_1[n_nationkey, volume, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, n_name, n_regionkey_1, o_year] += AFTER m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey_1, o_year, n_nationkey];
  m_lineitem_nation_orders_part_supplier_1[volume, n_name, o_year, o_custkey] += m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, n_nationkey];
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += m_region_1[n_regionkey] * m_customer_lineitem_orders_1[n_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, n_name, o_year] += m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, n_nationkey];
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += m_customer_lineitem_orders_part_1[n_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += m_customer_lineitem_orders_supplier_1[n_nationkey, volume, p_partkey, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, n_name, n_regionkey_1, o_year] += AFTER m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey_1, o_year, n_nationkey];
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, n_name] += m_lineitem_part_supplier_1[volume, l_orderkey, n_nationkey];
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, n_name, o_year, o_custkey] += m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, n_nationkey];
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] += m_customer_lineitem_orders_1[n_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, n_name] += m_lineitem_supplier_1[volume, l_orderkey, p_partkey, n_nationkey];
  m_nation_1[n_name, n_nationkey] += 1;
  m_nation_2[n_nationkey, n_regionkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q8_rows_n[o_year, nation, volume] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_nation_orders_part_supplier_1[n_nationkey, volume, nation, o_year];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_nation_orders_supplier_1[n_nationkey, volume, p_partkey, nation, o_year];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_orders_part_supplier_1[n_nationkey, volume, o_year, s_nationkey];
  q8_rows_n[o_year, n_name, volume] += -1 * AFTER m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, n_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += -1 * m_customer_lineitem_nation_orders_part_supplier_1[n_nationkey, volume, nation, o_year];
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_orders_part_1[n_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, n_name, o_year] += -1 * m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, n_nationkey];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_orders_supplier_1[n_nationkey, volume, p_partkey, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, n_name, o_year] += -1 * AFTER m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, n_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += -1 * m_customer_lineitem_nation_orders_supplier_1[n_nationkey, volume, p_partkey, nation, o_year];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += -1 * m_customer_lineitem_orders_part_supplier_1[n_nationkey, volume, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, n_name, n_regionkey_1, o_year] += -1 * AFTER m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey_1, o_year, n_nationkey];
  m_lineitem_nation_orders_part_supplier_1[volume, n_name, o_year, o_custkey] += -1 * m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, n_nationkey];
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += -1 * m_region_1[n_regionkey] * m_customer_lineitem_orders_1[n_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, n_name, o_year] += -1 * m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, n_nationkey];
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += -1 * m_customer_lineitem_orders_part_1[n_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += -1 * m_customer_lineitem_orders_supplier_1[n_nationkey, volume, p_partkey, o_year, s_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, n_name, n_regionkey_1, o_year] += -1 * AFTER m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey_1, o_year, n_nationkey];
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, n_name] += -1 * m_lineitem_part_supplier_1[volume, l_orderkey, n_nationkey];
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, n_name, o_year, o_custkey] += -1 * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, n_nationkey];
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] += -1 * m_customer_lineitem_orders_1[n_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, n_name] += -1 * m_lineitem_supplier_1[volume, l_orderkey, p_partkey, n_nationkey];
  m_nation_1[n_name, n_nationkey] += -1;
  m_nation_2[n_nationkey, n_regionkey] += -1;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q8_rows_n[o_year, nation, volume] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year];
  m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, o_custkey] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] += m_nation_1[nation, s_nationkey] * m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year];
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_part_1[volume, l_orderkey, s_suppkey];
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, o_custkey] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey];
  m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, s_nationkey] += m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] += m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey];
  m_lineitem_part_supplier_1[volume, l_orderkey, s_nationkey] += m_lineitem_part_1[volume, l_orderkey, s_suppkey];
  m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, s_nationkey] += m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey];
  m_lineitem_supplier_1[volume, l_orderkey, p_partkey, s_nationkey] += m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q8_rows_n[o_year, nation, volume] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += -1 * m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += -1 * m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += -1 * m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year];
  m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, o_custkey] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += -1 * m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += -1 * m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year];
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_part_1[volume, l_orderkey, s_suppkey];
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, o_custkey] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey];
  m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, s_nationkey] += -1 * m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] += -1 * m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year];
  m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey];
  m_lineitem_part_supplier_1[volume, l_orderkey, s_nationkey] += -1 * m_lineitem_part_1[volume, l_orderkey, s_suppkey];
  m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, s_nationkey] += -1 * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey];
  m_lineitem_supplier_1[volume, l_orderkey, p_partkey, s_nationkey] += -1 * m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q8_rows_n[o_year, nation, volume] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] += m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year] += m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] += m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] += m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year] += m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_1[c_custkey, c_nationkey] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q8_rows_n[o_year, nation, volume] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += -1 * m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] += -1 * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, c_custkey];
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += -1 * m_lineitem_orders_part_supplier_1[volume, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year] += -1 * m_lineitem_orders_part_1[volume, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] += -1 * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] += -1 * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year] += -1 * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, c_custkey];
  m_customer_1[c_custkey, c_nationkey] += -1;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q8_rows_n[o_year, nation, volume] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, o_custkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, o_custkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] ELSE 0;
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, nation] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, s_nationkey] ELSE 0;
  m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey] ELSE 0;
  m_lineitem_part_supplier_1[volume, l_orderkey, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_supplier_1[volume, l_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_1[volume, l_orderkey, s_suppkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_part_1[p_partkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q8_rows_n[o_year, nation, volume] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, o_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, o_year] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_part_supplier_1[volume, nation, o_year, o_custkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, o_year, o_custkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, o_year] ELSE 0;
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, o_year, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_supplier_1[volume, l_orderkey, nation] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_nation_supplier_1[volume, l_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, o_year] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_supplier_1[volume, o_year, o_custkey, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_orders_supplier_1[volume, p_partkey, o_year, o_custkey, s_nationkey] ELSE 0;
  m_lineitem_orders_part_1[volume, s_suppkey, o_year, o_custkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_orders_1[volume, p_partkey, s_suppkey, o_year, o_custkey] ELSE 0;
  m_lineitem_part_supplier_1[volume, l_orderkey, s_nationkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_supplier_1[volume, l_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_1[volume, l_orderkey, s_suppkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 * m_lineitem_1[volume, l_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_part_1[p_partkey] += IF p_type = 'ECONOMY ANODIZED STEEL' THEN -1 ELSE 0;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q8_rows_n[YEAR(o_orderdate), nation, volume] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_part_supplier_1[volume, nation, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_lineitem_orders_part_supplier_1[volume, YEAR(o_orderdate), o_custkey, s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_orders_part_1[volume, s_suppkey, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_lineitem_orders_supplier_1[volume, p_partkey, YEAR(o_orderdate), o_custkey, s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_orders_1[volume, p_partkey, s_suppkey, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_orders_1[YEAR(o_orderdate), o_custkey, o_orderkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q8_rows_n[YEAR(o_orderdate), nation, volume] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_nation_orders_region_supplier_1[volume, p_partkey, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_supplier_1[volume, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_part_supplier_1[volume, nation, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_region_1[volume, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, volume, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_region_supplier_1[volume, p_partkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_nation_orders_supplier_1[volume, p_partkey, nation, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_supplier_2[volume, n_regionkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_part_supplier_1[volume, nation, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_nation_part_supplier_1[volume, o_orderkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_region_1[volume, p_partkey, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, volume, p_partkey, nation, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_nation_orders_part_1[volume, s_suppkey, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, volume, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[volume, p_partkey, n_regionkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[volume, p_partkey, nation, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_nation_supplier_1[volume, o_orderkey, p_partkey, nation] ELSE 0;
  m_customer_lineitem_orders_part_1[c_nationkey, volume, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_lineitem_orders_part_supplier_1[volume, YEAR(o_orderdate), o_custkey, s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_part_supplier_1[volume, o_orderkey, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_1[volume, p_partkey, s_suppkey, n_regionkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey, volume, p_partkey, YEAR(o_orderdate), s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_orders_part_1[volume, s_suppkey, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_part_1[volume, o_orderkey, s_suppkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, volume, p_partkey, s_suppkey, YEAR(o_orderdate)] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_lineitem_orders_supplier_1[volume, p_partkey, YEAR(o_orderdate), o_custkey, s_nationkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_supplier_1[volume, o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_orders_1[volume, p_partkey, s_suppkey, YEAR(o_orderdate), o_custkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 * m_lineitem_1[volume, o_orderkey, p_partkey, s_suppkey] ELSE 0;
  m_orders_1[YEAR(o_orderdate), o_custkey, o_orderkey] += IF o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31' THEN -1 ELSE 0;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q8_rows_n[o_year, nation, l_extendedprice * (1 - l_discount)] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, o_year] += m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_part_region_supplier_1[l_extendedprice * (1 - l_discount), o_year, s_nationkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[l_extendedprice * (1 - l_discount), nation, n_regionkey, o_year] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_part_region_1[l_extendedprice * (1 - l_discount), l_suppkey, o_year] += m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), nation, o_year] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_region_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, o_year, s_nationkey] += m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, n_regionkey, o_year] += m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_part_supplier_2[l_extendedprice * (1 - l_discount), n_regionkey, o_year, s_nationkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_lineitem_nation_orders_part_supplier_1[l_extendedprice * (1 - l_discount), nation, o_year, o_custkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_nation_orders_region_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year] += m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, nation, o_year] += m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_part_1[l_extendedprice * (1 - l_discount), l_suppkey, n_regionkey, o_year] += m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), o_year, s_nationkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[l_extendedprice * (1 - l_discount), l_partkey, n_regionkey, o_year, s_nationkey] += m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_lineitem_nation_part_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, nation] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_nation_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, o_year, o_custkey] += m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_orders_part_1[c_nationkey, l_extendedprice * (1 - l_discount), l_suppkey, o_year] += m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_part_supplier_1[l_extendedprice * (1 - l_discount), o_year, o_custkey, s_nationkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_nation_orders_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, n_regionkey, o_year] += m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, o_year, s_nationkey] += m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_nation_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, nation] += m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_1[l_extendedprice * (1 - l_discount), l_suppkey, o_year, o_custkey] += m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_part_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, s_nationkey] += m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_customer_lineitem_orders_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year] += m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, o_year, o_custkey, s_nationkey] += m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_part_1[l_extendedprice * (1 - l_discount), l_orderkey, l_suppkey] += m_part_1[l_partkey];
  m_lineitem_orders_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year, o_custkey] += m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, s_nationkey] += m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, l_suppkey] += 1;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q8_rows_n[o_year, nation, l_extendedprice * (1 - l_discount)] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_region_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, o_year] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_part_region_supplier_1[l_extendedprice * (1 - l_discount), o_year, s_nationkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_part_supplier_1[l_extendedprice * (1 - l_discount), nation, n_regionkey, o_year] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_part_region_1[l_extendedprice * (1 - l_discount), l_suppkey, o_year] += -1 * m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_part_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), nation, o_year] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_region_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, o_year, s_nationkey] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_nation_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, n_regionkey, o_year] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_part_supplier_2[l_extendedprice * (1 - l_discount), n_regionkey, o_year, s_nationkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_lineitem_nation_orders_part_supplier_1[l_extendedprice * (1 - l_discount), nation, o_year, o_custkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_nation_orders_region_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year] += -1 * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, nation, o_year] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_part_1[l_extendedprice * (1 - l_discount), l_suppkey, n_regionkey, o_year] += -1 * m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_orders_part_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), o_year, s_nationkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[l_extendedprice * (1 - l_discount), l_partkey, n_regionkey, o_year, s_nationkey] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_lineitem_nation_part_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, nation] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_nation_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, nation, o_year, o_custkey] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_orders_part_1[c_nationkey, l_extendedprice * (1 - l_discount), l_suppkey, o_year] += -1 * m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_part_supplier_1[l_extendedprice * (1 - l_discount), o_year, o_custkey, s_nationkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_customer_lineitem_nation_orders_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, n_regionkey, o_year] += -1 * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey] * m_nation_2[c_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, o_year, s_nationkey] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_nation_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, nation] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_1[l_extendedprice * (1 - l_discount), l_suppkey, o_year, o_custkey] += -1 * m_part_1[l_partkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_part_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, s_nationkey] += -1 * m_part_1[l_partkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_customer_lineitem_orders_1[c_nationkey, l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year] += -1 * m_orders_1[o_year, o_custkey, l_orderkey] * m_customer_1[o_custkey, c_nationkey];
  m_lineitem_orders_supplier_1[l_extendedprice * (1 - l_discount), l_partkey, o_year, o_custkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_part_1[l_extendedprice * (1 - l_discount), l_orderkey, l_suppkey] += -1 * m_part_1[l_partkey];
  m_lineitem_orders_1[l_extendedprice * (1 - l_discount), l_partkey, l_suppkey, o_year, o_custkey] += -1 * m_orders_1[o_year, o_custkey, l_orderkey];
  m_lineitem_supplier_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_1[l_extendedprice * (1 - l_discount), l_orderkey, l_partkey, l_suppkey] += -1;
}

ON CHANGE q8_rows(o_year, nation, volume) DO {
  q8_count[o_year] += 1;
  q8_mkt_share[o_year] += (CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END);
  q8_mkt_share_2[o_year] += volume;
}
