PROGRAM q9 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q9_count[nation STRING, o_year INT] : INT
  MEANING 'SELECT nation.n_name, YEAR(orders.o_orderdate), COUNT(*) FROM part, supplier, lineitem, partsupp, orders, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY nation.n_name, YEAR(orders.o_orderdate)';
MAP q9_sum_profit[nation STRING, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT nation.n_name, YEAR(orders.o_orderdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, supplier, lineitem, partsupp, orders, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY nation.n_name, YEAR(orders.o_orderdate) UNION ALL SELECT nation.n_name, YEAR(orders.o_orderdate), SUM(-1 * lineitem.l_quantity * partsupp.ps_supplycost) FROM part, supplier, lineitem, partsupp, orders, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY nation.n_name, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_orders_partsupp_supplier_1[p_partkey INT, nation STRING, o_year INT] : INT
  MEANING 'SELECT lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), COUNT(*) FROM supplier, lineitem, partsupp, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate)';
MAP m_lineitem_orders_part_partsupp_1[ps_suppkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM part, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_nation_1[nation STRING, s_nationkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey';
MAP m_part_1[p_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part WHERE part.p_name LIKE ''%green%'' GROUP BY part.p_partkey';
MAP m_supplier_1[s_nationkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_partsupp_1[p_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_orders_1[o_year INT, o_orderkey INT] : INT
  MEANING 'SELECT YEAR(orders.o_orderdate), orders.o_orderkey, COUNT(*) FROM orders GROUP BY YEAR(orders.o_orderdate), orders.o_orderkey';
MAP m_lineitem_orders_1[p_partkey INT, ps_suppkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_part_partsupp_supplier_1[o_orderkey INT, nation STRING] : INT
  MEANING 'SELECT lineitem.l_orderkey, nation.n_name, COUNT(*) FROM part, supplier, lineitem, partsupp, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, nation.n_name';
MAP m_lineitem_orders_part_partsupp_supplier_1[o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_nation_orders_partsupp_supplier_2[p_partkey INT, nation STRING, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, partsupp, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate)';
MAP m_lineitem_orders_part_partsupp_2[ps_suppkey INT, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_orders_2[p_partkey INT, ps_suppkey INT, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_part_partsupp_supplier_2[o_orderkey INT, nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, supplier, lineitem, partsupp, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, nation.n_name';
MAP m_lineitem_orders_part_partsupp_supplier_2[o_year INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(orders.o_orderdate), supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, supplier, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_nation_orders_partsupp_supplier_3[p_partkey INT, nation STRING, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate), SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM supplier, lineitem, partsupp, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, nation.n_name, YEAR(orders.o_orderdate)';
MAP m_lineitem_orders_part_partsupp_3[ps_suppkey INT, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM part, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_partsupp_2[p_partkey INT, ps_suppkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, SUM(partsupp.ps_supplycost) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_lineitem_orders_3[p_partkey INT, ps_suppkey INT, o_year INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_quantity) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_part_partsupp_supplier_3[o_orderkey INT, nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, nation.n_name, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM part, supplier, lineitem, partsupp, nation WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, nation.n_name';
MAP m_lineitem_orders_part_partsupp_supplier_3[o_year INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(orders.o_orderdate), supplier.s_nationkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM part, supplier, lineitem, partsupp, orders WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND part.p_name LIKE ''%green%'' GROUP BY YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_orders_partsupp_1[p_partkey INT, ps_suppkey INT, o_year INT] : INT
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), COUNT(*) FROM lineitem, partsupp, orders WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_partsupp_supplier_1[o_orderkey INT, p_partkey INT, nation STRING] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, nation.n_name, COUNT(*) FROM supplier, lineitem, partsupp, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, nation.n_name';
MAP m_lineitem_orders_partsupp_supplier_1[p_partkey INT, o_year INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, partsupp, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_part_partsupp_1[o_orderkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM part, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_1[o_orderkey INT, p_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_part_partsupp_supplier_1[o_orderkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_nationkey, COUNT(*) FROM part, supplier, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_orders_partsupp_2[p_partkey INT, ps_suppkey INT, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, partsupp, orders WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_partsupp_supplier_2[o_orderkey INT, p_partkey INT, nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, partsupp, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, nation.n_name';
MAP m_lineitem_orders_partsupp_supplier_2[p_partkey INT, o_year INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, partsupp, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_part_partsupp_2[o_orderkey INT, ps_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_2[o_orderkey INT, p_partkey INT, ps_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_part_partsupp_supplier_2[o_orderkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM part, supplier, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_orders_partsupp_3[p_partkey INT, ps_suppkey INT, o_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate), SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM lineitem, partsupp, orders WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, lineitem.l_suppkey, YEAR(orders.o_orderdate)';
MAP m_lineitem_nation_partsupp_supplier_3[o_orderkey INT, p_partkey INT, nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, nation.n_name, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM supplier, lineitem, partsupp, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, nation.n_name';
MAP m_lineitem_orders_partsupp_supplier_3[p_partkey INT, o_year INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM supplier, lineitem, partsupp, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_orderkey = orders.o_orderkey GROUP BY lineitem.l_partkey, YEAR(orders.o_orderdate), supplier.s_nationkey';
MAP m_lineitem_part_partsupp_3[o_orderkey INT, ps_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM part, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_3[o_orderkey INT, p_partkey INT, ps_suppkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, SUM(lineitem.l_quantity) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_part_partsupp_supplier_3[o_orderkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, supplier.s_nationkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM part, supplier, lineitem, partsupp WHERE part.p_partkey = lineitem.l_partkey AND part.p_partkey = partsupp.ps_partkey AND supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND part.p_name LIKE ''%green%'' GROUP BY lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_partsupp_1[o_orderkey INT, p_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, COUNT(*) FROM lineitem, partsupp WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_partsupp_supplier_1[o_orderkey INT, p_partkey INT, s_nationkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, partsupp WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey';
MAP m_lineitem_partsupp_2[o_orderkey INT, p_partkey INT, ps_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, partsupp WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_partsupp_supplier_2[o_orderkey INT, p_partkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, partsupp WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey';
MAP m_lineitem_partsupp_3[o_orderkey INT, p_partkey INT, ps_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM lineitem, partsupp WHERE lineitem.l_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, lineitem.l_suppkey';
MAP m_lineitem_partsupp_supplier_3[o_orderkey INT, p_partkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey, SUM(lineitem.l_quantity * partsupp.ps_supplycost) FROM supplier, lineitem, partsupp WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_suppkey = partsupp.ps_suppkey AND lineitem.l_partkey = partsupp.ps_partkey GROUP BY lineitem.l_orderkey, lineitem.l_partkey, supplier.s_nationkey';

VIEW q9[nation STRING, o_year INT]
  VALUES sum_profit = q9_sum_profit
  EXISTS q9_count
  COLUMNS nation = nation,
    o_year = o_year,
    sum_profit = sum_profit
  ORDER BY 1, 2 DESC
  SQL '-- TPC-H Q9, product type profit measure; validation parameter COLOR = green.
select
    nation,
    o_year,
    sum(amount) as sum_profit
from
    (
        select
            n_name as nation,
            extract(year from o_orderdate) as o_year,
            l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount
        from
            part,
            supplier,
            lineitem,
            partsupp,
            orders,
            nation
        where
            s_suppkey = l_suppkey
            and ps_suppkey = l_suppkey
            and ps_partkey = l_partkey
            and p_partkey = l_partkey
            and o_orderkey = l_orderkey
            and s_nationkey = n_nationkey
            and p_name like ''%green%''
    ) as profit
group by
    nation,
    o_year
order by
    nation,
    o_year desc
';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q9_count[n_name, o_year] += m_lineitem_orders_part_partsupp_supplier_1[o_year, n_nationkey];
  q9_sum_profit[n_name, o_year] += m_lineitem_orders_part_partsupp_supplier_2[o_year, n_nationkey];
  q9_sum_profit[n_name, o_year] += -1 * m_lineitem_orders_part_partsupp_supplier_3[o_year, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, n_name, o_year] += m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, n_name] += m_lineitem_part_partsupp_supplier_1[o_orderkey, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, n_name, o_year] += m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, n_name] += m_lineitem_part_partsupp_supplier_2[o_orderkey, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, n_name, o_year] += m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, n_name] += m_lineitem_part_partsupp_supplier_3[o_orderkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, n_name] += m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, n_name] += m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, n_name] += m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, n_nationkey];
  m_nation_1[n_name, n_nationkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q9_count[n_name, o_year] += -1 * m_lineitem_orders_part_partsupp_supplier_1[o_year, n_nationkey];
  q9_sum_profit[n_name, o_year] += -1 * m_lineitem_orders_part_partsupp_supplier_2[o_year, n_nationkey];
  q9_sum_profit[n_name, o_year] += m_lineitem_orders_part_partsupp_supplier_3[o_year, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, n_name, o_year] += -1 * m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, n_name] += -1 * m_lineitem_part_partsupp_supplier_1[o_orderkey, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, n_name, o_year] += -1 * m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, n_name] += -1 * m_lineitem_part_partsupp_supplier_2[o_orderkey, n_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, n_name, o_year] += -1 * m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, n_nationkey];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, n_name] += -1 * m_lineitem_part_partsupp_supplier_3[o_orderkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, n_name] += -1 * m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, n_name] += -1 * m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, n_nationkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, n_name] += -1 * m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, n_nationkey];
  m_nation_1[n_name, n_nationkey] += -1;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q9_count[nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_1[s_suppkey, o_year];
  q9_sum_profit[nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_2[s_suppkey, o_year];
  q9_sum_profit[nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_3[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_1[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_1[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += m_lineitem_orders_part_partsupp_1[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_2[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_2[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += m_lineitem_orders_part_partsupp_2[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_3[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_3[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += m_lineitem_orders_part_partsupp_3[s_suppkey, o_year];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_1[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, s_nationkey] += m_lineitem_orders_partsupp_1[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += m_lineitem_part_partsupp_1[o_orderkey, s_suppkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_2[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, s_nationkey] += m_lineitem_orders_partsupp_2[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += m_lineitem_part_partsupp_2[o_orderkey, s_suppkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation] += m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_3[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, s_nationkey] += m_lineitem_orders_partsupp_3[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += m_lineitem_part_partsupp_3[o_orderkey, s_suppkey];
  m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey] += m_lineitem_partsupp_1[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey] += m_lineitem_partsupp_2[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey] += m_lineitem_partsupp_3[o_orderkey, p_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q9_count[nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_1[s_suppkey, o_year];
  q9_sum_profit[nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_2[s_suppkey, o_year];
  q9_sum_profit[nation, o_year] += m_nation_1[nation, s_nationkey] * m_lineitem_orders_part_partsupp_3[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_1[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_1[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += -1 * m_lineitem_orders_part_partsupp_1[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_2[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_2[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += -1 * m_lineitem_orders_part_partsupp_2[s_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, o_year] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_orders_partsupp_3[p_partkey, s_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_part_partsupp_3[o_orderkey, s_suppkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += -1 * m_lineitem_orders_part_partsupp_3[s_suppkey, o_year];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_1[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, s_nationkey] += -1 * m_lineitem_orders_partsupp_1[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += -1 * m_lineitem_part_partsupp_1[o_orderkey, s_suppkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_2[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, s_nationkey] += -1 * m_lineitem_orders_partsupp_2[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += -1 * m_lineitem_part_partsupp_2[o_orderkey, s_suppkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation] += -1 * m_nation_1[nation, s_nationkey] * m_lineitem_partsupp_3[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, s_nationkey] += -1 * m_lineitem_orders_partsupp_3[p_partkey, s_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += -1 * m_lineitem_part_partsupp_3[o_orderkey, s_suppkey];
  m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey] += -1 * m_lineitem_partsupp_1[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey] += -1 * m_lineitem_partsupp_2[o_orderkey, p_partkey, s_suppkey];
  m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey] += -1 * m_lineitem_partsupp_3[o_orderkey, p_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q9_count[nation, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, o_year] ELSE 0;
  q9_sum_profit[nation, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, o_year] ELSE 0;
  q9_sum_profit[nation, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, o_year] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += IF p_name LIKE '%green%' THEN m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += IF p_name LIKE '%green%' THEN m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += IF p_name LIKE '%green%' THEN m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_orders_part_partsupp_1[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_1[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_partsupp_2[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_2[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_partsupp_3[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_orders_partsupp_3[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_1[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_2[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN m_lineitem_partsupp_3[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_part_1[p_partkey] += IF p_name LIKE '%green%' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q9_count[nation, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, o_year] ELSE 0;
  q9_sum_profit[nation, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, o_year] ELSE 0;
  q9_sum_profit[nation, o_year] += IF p_name LIKE '%green%' THEN m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, o_year] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_supplier_1[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_supplier_2[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation] ELSE 0;
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_supplier_3[p_partkey, o_year, s_nationkey] ELSE 0;
  m_lineitem_orders_part_partsupp_1[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_1[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_partsupp_2[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_2[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_orders_part_partsupp_3[ps_suppkey, o_year] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_orders_partsupp_3[p_partkey, ps_suppkey, o_year] ELSE 0;
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey] ELSE 0;
  m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_1[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_2[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey] += IF p_name LIKE '%green%' THEN -1 * m_lineitem_partsupp_3[o_orderkey, p_partkey, ps_suppkey] ELSE 0;
  m_part_1[p_partkey] += IF p_name LIKE '%green%' THEN -1 ELSE 0;
}

ON +partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q9_count[nation, o_year] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  q9_sum_profit[nation, o_year] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  q9_sum_profit[nation, o_year] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_1[ps_partkey, nation, o_year] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_2[ps_partkey, nation, o_year] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_3[ps_partkey, nation, o_year] += ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_1[ps_suppkey, o_year] += m_part_1[ps_partkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_2[ps_suppkey, o_year] += m_part_1[ps_partkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_3[ps_suppkey, o_year] += ps_supplycost * m_part_1[ps_partkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, ps_partkey, nation] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_1[ps_partkey, o_year, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, ps_partkey, nation] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_2[ps_partkey, o_year, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, ps_partkey, nation] += ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_3[ps_partkey, o_year, s_nationkey] += ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_1[ps_partkey, ps_suppkey, o_year] += m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey] += m_part_1[ps_partkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_2[ps_partkey, ps_suppkey, o_year] += m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey] += m_part_1[ps_partkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_3[ps_partkey, ps_suppkey, o_year] += ps_supplycost * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey] += ps_supplycost * m_part_1[ps_partkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_1[o_orderkey, ps_partkey, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_2[o_orderkey, ps_partkey, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_3[o_orderkey, ps_partkey, s_nationkey] += ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_1[o_orderkey, ps_partkey, ps_suppkey] += m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_2[o_orderkey, ps_partkey, ps_suppkey] += m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_3[o_orderkey, ps_partkey, ps_suppkey] += ps_supplycost * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += 1;
  m_partsupp_2[ps_partkey, ps_suppkey] += ps_supplycost;
}

ON -partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q9_count[nation, o_year] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  q9_sum_profit[nation, o_year] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  q9_sum_profit[nation, o_year] += ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_1[ps_partkey, nation, o_year] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_2[ps_partkey, nation, o_year] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_orders_partsupp_supplier_3[ps_partkey, nation, o_year] += -1 * ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_1[ps_suppkey, o_year] += -1 * m_part_1[ps_partkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_2[ps_suppkey, o_year] += -1 * m_part_1[ps_partkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_orders_part_partsupp_3[ps_suppkey, o_year] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_nation_partsupp_supplier_1[o_orderkey, ps_partkey, nation] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_1[ps_partkey, o_year, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_nation_partsupp_supplier_2[o_orderkey, ps_partkey, nation] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_2[ps_partkey, o_year, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey] += -1 * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_nation_partsupp_supplier_3[o_orderkey, ps_partkey, nation] += -1 * ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[nation, s_nationkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_3[ps_partkey, o_year, s_nationkey] += -1 * ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_1[ps_partkey, ps_suppkey, o_year] += -1 * m_lineitem_orders_1[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey] += -1 * m_part_1[ps_partkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_2[ps_partkey, ps_suppkey, o_year] += -1 * m_lineitem_orders_2[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey] += -1 * m_part_1[ps_partkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_3[ps_partkey, ps_suppkey, o_year] += -1 * ps_supplycost * m_lineitem_orders_3[ps_partkey, ps_suppkey, o_year];
  m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey] += -1 * ps_supplycost * m_part_1[ps_partkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_1[o_orderkey, ps_partkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_2[o_orderkey, ps_partkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_supplier_3[o_orderkey, ps_partkey, s_nationkey] += -1 * ps_supplycost * m_supplier_1[s_nationkey, ps_suppkey] * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_1[o_orderkey, ps_partkey, ps_suppkey] += -1 * m_lineitem_1[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_2[o_orderkey, ps_partkey, ps_suppkey] += -1 * m_lineitem_2[o_orderkey, ps_partkey, ps_suppkey];
  m_lineitem_partsupp_3[o_orderkey, ps_partkey, ps_suppkey] += -1 * ps_supplycost * m_lineitem_3[o_orderkey, ps_partkey, ps_suppkey];
  m_partsupp_1[ps_partkey, ps_suppkey] += -1;
  m_partsupp_2[ps_partkey, ps_suppkey] += -1 * ps_supplycost;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q9_count[nation, YEAR(o_orderdate)] += m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation];
  q9_sum_profit[nation, YEAR(o_orderdate)] += m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation];
  q9_sum_profit[nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, YEAR(o_orderdate)] += m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_1[YEAR(o_orderdate), s_nationkey] += m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, YEAR(o_orderdate)] += m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_2[YEAR(o_orderdate), s_nationkey] += m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, YEAR(o_orderdate)] += m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_3[YEAR(o_orderdate), s_nationkey] += m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey];
  m_lineitem_orders_part_partsupp_1[ps_suppkey, YEAR(o_orderdate)] += m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_2[ps_suppkey, YEAR(o_orderdate)] += m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_3[ps_suppkey, YEAR(o_orderdate)] += m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_1[p_partkey, YEAR(o_orderdate), s_nationkey] += m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_supplier_2[p_partkey, YEAR(o_orderdate), s_nationkey] += m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_supplier_3[p_partkey, YEAR(o_orderdate), s_nationkey] += m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_1[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_partsupp_1[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_2[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_partsupp_2[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_3[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_partsupp_3[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_1[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_1[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_2[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_2[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_3[p_partkey, ps_suppkey, YEAR(o_orderdate)] += m_lineitem_3[o_orderkey, p_partkey, ps_suppkey];
  m_orders_1[YEAR(o_orderdate), o_orderkey] += 1;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q9_count[nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_part_partsupp_supplier_1[o_orderkey, nation];
  q9_sum_profit[nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_part_partsupp_supplier_2[o_orderkey, nation];
  q9_sum_profit[nation, YEAR(o_orderdate)] += m_lineitem_nation_part_partsupp_supplier_3[o_orderkey, nation];
  m_lineitem_nation_orders_partsupp_supplier_1[p_partkey, nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_partsupp_supplier_1[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_1[YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_part_partsupp_supplier_1[o_orderkey, s_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_2[p_partkey, nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_partsupp_supplier_2[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_2[YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_part_partsupp_supplier_2[o_orderkey, s_nationkey];
  m_lineitem_nation_orders_partsupp_supplier_3[p_partkey, nation, YEAR(o_orderdate)] += -1 * m_lineitem_nation_partsupp_supplier_3[o_orderkey, p_partkey, nation];
  m_lineitem_orders_part_partsupp_supplier_3[YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_part_partsupp_supplier_3[o_orderkey, s_nationkey];
  m_lineitem_orders_part_partsupp_1[ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_part_partsupp_1[o_orderkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_2[ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_part_partsupp_2[o_orderkey, ps_suppkey];
  m_lineitem_orders_part_partsupp_3[ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_part_partsupp_3[o_orderkey, ps_suppkey];
  m_lineitem_orders_partsupp_supplier_1[p_partkey, YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_partsupp_supplier_1[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_supplier_2[p_partkey, YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_partsupp_supplier_2[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_supplier_3[p_partkey, YEAR(o_orderdate), s_nationkey] += -1 * m_lineitem_partsupp_supplier_3[o_orderkey, p_partkey, s_nationkey];
  m_lineitem_orders_partsupp_1[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_partsupp_1[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_2[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_partsupp_2[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_partsupp_3[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_partsupp_3[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_1[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_1[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_2[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_2[o_orderkey, p_partkey, ps_suppkey];
  m_lineitem_orders_3[p_partkey, ps_suppkey, YEAR(o_orderdate)] += -1 * m_lineitem_3[o_orderkey, p_partkey, ps_suppkey];
  m_orders_1[YEAR(o_orderdate), o_orderkey] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q9_count[nation, o_year] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  q9_sum_profit[nation, o_year] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  q9_sum_profit[nation, o_year] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_1[l_partkey, nation, o_year] += m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_1[l_orderkey, nation] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_2[l_partkey, nation, o_year] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_2[l_orderkey, nation] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_3[l_partkey, nation, o_year] += l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_3[l_orderkey, nation] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_1[l_suppkey, o_year] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_2[l_suppkey, o_year] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_3[l_suppkey, o_year] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_partsupp_supplier_1[l_orderkey, l_partkey, nation] += m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_1[l_partkey, o_year, s_nationkey] += m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_1[l_orderkey, s_nationkey] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_nation_partsupp_supplier_2[l_orderkey, l_partkey, nation] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_2[l_partkey, o_year, s_nationkey] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_2[l_orderkey, s_nationkey] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_nation_partsupp_supplier_3[l_orderkey, l_partkey, nation] += l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_3[l_partkey, o_year, s_nationkey] += l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_3[l_orderkey, s_nationkey] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_orders_partsupp_1[l_partkey, l_suppkey, o_year] += m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_1[l_orderkey, l_suppkey] += m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_orders_partsupp_2[l_partkey, l_suppkey, o_year] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_2[l_orderkey, l_suppkey] += (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_orders_partsupp_3[l_partkey, l_suppkey, o_year] += l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_3[l_orderkey, l_suppkey] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey];
  m_lineitem_partsupp_supplier_1[l_orderkey, l_partkey, s_nationkey] += m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_partsupp_supplier_2[l_orderkey, l_partkey, s_nationkey] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_partsupp_supplier_3[l_orderkey, l_partkey, s_nationkey] += l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_orders_1[l_partkey, l_suppkey, o_year] += m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_2[l_partkey, l_suppkey, o_year] += (l_extendedprice * (1 - l_discount)) * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_3[l_partkey, l_suppkey, o_year] += l_quantity * m_orders_1[o_year, l_orderkey];
  m_lineitem_partsupp_1[l_orderkey, l_partkey, l_suppkey] += m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_partsupp_2[l_orderkey, l_partkey, l_suppkey] += (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_partsupp_3[l_orderkey, l_partkey, l_suppkey] += l_quantity * m_partsupp_2[l_partkey, l_suppkey];
  m_lineitem_1[l_orderkey, l_partkey, l_suppkey] += 1;
  m_lineitem_2[l_orderkey, l_partkey, l_suppkey] += (l_extendedprice * (1 - l_discount));
  m_lineitem_3[l_orderkey, l_partkey, l_suppkey] += l_quantity;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q9_count[nation, o_year] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  q9_sum_profit[nation, o_year] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  q9_sum_profit[nation, o_year] += l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_1[l_partkey, nation, o_year] += -1 * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_1[l_orderkey, nation] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_1[o_year, s_nationkey] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_2[l_partkey, nation, o_year] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_2[l_orderkey, nation] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_2[o_year, s_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_orders_partsupp_supplier_3[l_partkey, nation, o_year] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_part_partsupp_supplier_3[l_orderkey, nation] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_part_partsupp_supplier_3[o_year, s_nationkey] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_1[l_suppkey, o_year] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_2[l_suppkey, o_year] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_part_partsupp_3[l_suppkey, o_year] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_nation_partsupp_supplier_1[l_orderkey, l_partkey, nation] += -1 * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_1[l_partkey, o_year, s_nationkey] += -1 * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_1[l_orderkey, s_nationkey] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_nation_partsupp_supplier_2[l_orderkey, l_partkey, nation] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_2[l_partkey, o_year, s_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_2[l_orderkey, s_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_nation_partsupp_supplier_3[l_orderkey, l_partkey, nation] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[nation, s_nationkey];
  m_lineitem_orders_partsupp_supplier_3[l_partkey, o_year, s_nationkey] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_supplier_3[l_orderkey, s_nationkey] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_orders_partsupp_1[l_partkey, l_suppkey, o_year] += -1 * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_1[l_orderkey, l_suppkey] += -1 * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_orders_partsupp_2[l_partkey, l_suppkey, o_year] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_2[l_orderkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_part_1[l_partkey] * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_orders_partsupp_3[l_partkey, l_suppkey, o_year] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_orders_1[o_year, l_orderkey];
  m_lineitem_part_partsupp_3[l_orderkey, l_suppkey] += -1 * l_quantity * m_part_1[l_partkey] * m_partsupp_2[l_partkey, l_suppkey];
  m_lineitem_partsupp_supplier_1[l_orderkey, l_partkey, s_nationkey] += -1 * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_partsupp_supplier_2[l_orderkey, l_partkey, s_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_partsupp_supplier_3[l_orderkey, l_partkey, s_nationkey] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey] * m_supplier_1[s_nationkey, l_suppkey];
  m_lineitem_orders_1[l_partkey, l_suppkey, o_year] += -1 * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_2[l_partkey, l_suppkey, o_year] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[o_year, l_orderkey];
  m_lineitem_orders_3[l_partkey, l_suppkey, o_year] += -1 * l_quantity * m_orders_1[o_year, l_orderkey];
  m_lineitem_partsupp_1[l_orderkey, l_partkey, l_suppkey] += -1 * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_partsupp_2[l_orderkey, l_partkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_partsupp_1[l_partkey, l_suppkey];
  m_lineitem_partsupp_3[l_orderkey, l_partkey, l_suppkey] += -1 * l_quantity * m_partsupp_2[l_partkey, l_suppkey];
  m_lineitem_1[l_orderkey, l_partkey, l_suppkey] += -1;
  m_lineitem_2[l_orderkey, l_partkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount));
  m_lineitem_3[l_orderkey, l_partkey, l_suppkey] += -1 * l_quantity;
}
