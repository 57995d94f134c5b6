PROGRAM q7 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q7_count[supp_nation STRING, cust_nation STRING, l_year INT] : INT
  MEANING 'SELECT nation_1.n_name, nation_2.n_name, YEAR(lineitem.l_shipdate), COUNT(*) FROM supplier, lineitem, orders, customer, nation nation_1, nation nation_2 WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_1.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_2.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation_1.n_name = ''FRANCE'' OR nation_1.n_name = ''GERMANY'') AND (nation_2.n_name = ''GERMANY'' OR nation_2.n_name = ''FRANCE'') AND ((nation_1.n_name = ''FRANCE'') AND (nation_2.n_name = ''GERMANY'') OR (nation_1.n_name = ''GERMANY'') AND (nation_2.n_name = ''FRANCE'')) GROUP BY nation_1.n_name, nation_2.n_name, YEAR(lineitem.l_shipdate)';
MAP q7_revenue[supp_nation STRING, cust_nation STRING, l_year INT] : DECIMAL(38, 4)
  MEANING 'SELECT nation_1.n_name, nation_2.n_name, YEAR(lineitem.l_shipdate), SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders, customer, nation nation_1, nation nation_2 WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation_1.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation_2.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation_1.n_name = ''FRANCE'' OR nation_1.n_name = ''GERMANY'') AND (nation_2.n_name = ''GERMANY'' OR nation_2.n_name = ''FRANCE'') AND ((nation_1.n_name = ''FRANCE'') AND (nation_2.n_name = ''GERMANY'') OR (nation_1.n_name = ''GERMANY'') AND (nation_2.n_name = ''FRANCE'')) GROUP BY nation_1.n_name, nation_2.n_name, YEAR(lineitem.l_shipdate)';
MAP m_customer_lineitem_nation_orders_1[l_year INT, s_suppkey INT, part_4 BOOL, part_2 BOOL, cust_nation STRING] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_suppkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, COUNT(*) FROM lineitem, orders, customer, nation WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''GERMANY'' OR nation.n_name = ''FRANCE'') GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_suppkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_nation_1[part BOOL, part_3 BOOL, supp_nation STRING, s_nationkey INT] : INT
  MEANING 'SELECT nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, nation.n_nationkey, COUNT(*) FROM nation WHERE (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, nation.n_nationkey';
MAP m_supplier_1[s_nationkey INT, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_orders_1[c_custkey INT, o_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_customer_1[c_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_nationkey';
MAP m_nation_2[part_4 BOOL, part_2 BOOL, cust_nation STRING, c_nationkey INT] : INT
  MEANING 'SELECT nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, nation.n_nationkey, COUNT(*) FROM nation WHERE (nation.n_name = ''GERMANY'' OR nation.n_name = ''FRANCE'') GROUP BY nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, nation.n_nationkey';
MAP m_lineitem_nation_supplier_1[l_year INT, o_orderkey INT, part BOOL, part_3 BOOL, supp_nation STRING] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, COUNT(*) FROM supplier, lineitem, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_lineitem_nation_orders_supplier_1[l_year INT, part BOOL, part_3 BOOL, supp_nation STRING, c_custkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, orders.o_custkey, COUNT(*) FROM supplier, lineitem, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, orders.o_custkey';
MAP m_customer_lineitem_nation_orders_supplier_1[l_year INT, part_4 BOOL, part_2 BOOL, cust_nation STRING, s_nationkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''GERMANY'' OR nation.n_name = ''FRANCE'') GROUP BY YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, supplier.s_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_2[c_nationkey INT, l_year INT, part BOOL, part_3 BOOL, supp_nation STRING] : INT
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, COUNT(*) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_customer_lineitem_nation_orders_2[l_year INT, s_suppkey INT, part_4 BOOL, part_2 BOOL, cust_nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_suppkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, orders, customer, nation WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''GERMANY'' OR nation.n_name = ''FRANCE'') GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_suppkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_lineitem_nation_supplier_2[l_year INT, o_orderkey INT, part BOOL, part_3 BOOL, supp_nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_lineitem_nation_orders_supplier_2[l_year INT, part BOOL, part_3 BOOL, supp_nation STRING, c_custkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, orders.o_custkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, orders.o_custkey';
MAP m_customer_lineitem_nation_orders_supplier_3[l_year INT, part_4 BOOL, part_2 BOOL, cust_nation STRING, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND customer.c_nationkey = nation.n_nationkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''GERMANY'' OR nation.n_name = ''FRANCE'') GROUP BY YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, supplier.s_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_4[c_nationkey INT, l_year INT, part BOOL, part_3 BOOL, supp_nation STRING] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders, customer, nation WHERE supplier.s_suppkey = lineitem.l_suppkey AND supplier.s_nationkey = nation.n_nationkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' AND (nation.n_name = ''FRANCE'' OR nation.n_name = ''GERMANY'') GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), nation.n_name = ''FRANCE'', nation.n_name = ''GERMANY'', nation.n_name';
MAP m_lineitem_1[l_year INT, o_orderkey INT, s_suppkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_orders_1[l_year INT, s_suppkey INT, c_custkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_suppkey, orders.o_custkey, COUNT(*) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_suppkey, orders.o_custkey';
MAP m_customer_lineitem_orders_1[c_nationkey INT, l_year INT, s_suppkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), lineitem.l_suppkey, COUNT(*) FROM lineitem, orders, customer WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), lineitem.l_suppkey';
MAP m_lineitem_supplier_1[l_year INT, o_orderkey INT, s_nationkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_orders_supplier_1[l_year INT, c_custkey INT, s_nationkey INT] : INT
  MEANING 'SELECT YEAR(lineitem.l_shipdate), orders.o_custkey, supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), orders.o_custkey, supplier.s_nationkey';
MAP m_customer_lineitem_orders_supplier_1[c_nationkey INT, l_year INT, s_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), supplier.s_nationkey, COUNT(*) FROM supplier, lineitem, orders, customer WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), supplier.s_nationkey';
MAP m_lineitem_2[l_year INT, o_orderkey INT, s_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_lineitem_orders_2[l_year INT, s_suppkey INT, c_custkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_suppkey, orders.o_custkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, orders WHERE lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_suppkey, orders.o_custkey';
MAP m_customer_lineitem_orders_2[c_nationkey INT, l_year INT, s_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem, orders, customer WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), lineitem.l_suppkey';
MAP m_lineitem_supplier_2[l_year INT, o_orderkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), lineitem.l_orderkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), lineitem.l_orderkey, supplier.s_nationkey';
MAP m_lineitem_orders_supplier_2[l_year INT, c_custkey INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT YEAR(lineitem.l_shipdate), orders.o_custkey, supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY YEAR(lineitem.l_shipdate), orders.o_custkey, supplier.s_nationkey';
MAP m_customer_lineitem_orders_supplier_2[c_nationkey INT, l_year INT, s_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, YEAR(lineitem.l_shipdate), supplier.s_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM supplier, lineitem, orders, customer WHERE supplier.s_suppkey = lineitem.l_suppkey AND lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey AND lineitem.l_shipdate >= DATE ''1995-01-01'' AND lineitem.l_shipdate <= DATE ''1996-12-31'' GROUP BY customer.c_nationkey, YEAR(lineitem.l_shipdate), supplier.s_nationkey';

VIEW q7[supp_nation STRING, cust_nation STRING, l_year INT]
  VALUES revenue = q7_revenue
  EXISTS q7_count
  COLUMNS supp_nation = supp_nation,
    cust_nation = cust_nation,
    l_year = l_year,
    revenue = revenue
  ORDER BY 1, 2, 3
  SQL '-- TPC-H Q7, volume shipping; validation parameters NATION1 = FRANCE, NATION2 = GERMANY.
select
    supp_nation,
    cust_nation,
    l_year,
    sum(volume) as revenue
from
    (
        select
            n1.n_name as supp_nation,
            n2.n_name as cust_nation,
            extract(year from l_shipdate) as l_year,
            l_extendedprice * (1 - l_discount) as volume
        from
            supplier,
            lineitem,
            orders,
            customer,
            nation n1,
            nation n2
        where
            s_suppkey = l_suppkey
            and o_orderkey = l_orderkey
            and c_custkey = o_custkey
            and s_nationkey = n1.n_nationkey
            and c_nationkey = n2.n_nationkey
            and (
                (n1.n_name = ''FRANCE'' and n2.n_name = ''GERMANY'')
                or (n1.n_name = ''GERMANY'' and n2.n_name = ''FRANCE'')
            )
            and l_shipdate between date ''1995-01-01'' and date ''1996-12-31''
    ) as shipping
group by
    supp_nation,
    cust_nation,
    l_year
order by
    supp_nation,
    cust_nation,
    l_year
';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q7_count[n_name, cust_nation, l_year] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') AND (n_name = 'FRANCE' AND part_2 OR n_name = 'GERMANY' AND part_4) THEN m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, n_nationkey] ELSE 0;
  q7_revenue[n_name, cust_nation, l_year] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') AND (n_name = 'FRANCE' AND part_2 OR n_name = 'GERMANY' AND part_4) THEN m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, n_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, s_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN m_customer_lineitem_orders_supplier_1[n_nationkey, l_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, n_nationkey] ELSE 0;
  q7_count[supp_nation, n_name, l_year] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') AND (part AND n_name = 'GERMANY' OR part_3 AND n_name = 'FRANCE') THEN AFTER m_customer_lineitem_nation_orders_supplier_2[n_nationkey, l_year, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_3[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, s_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN m_customer_lineitem_orders_supplier_2[n_nationkey, l_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, n_nationkey] ELSE 0;
  q7_revenue[supp_nation, n_name, l_year] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') AND (part AND n_name = 'GERMANY' OR part_3 AND n_name = 'FRANCE') THEN AFTER m_customer_lineitem_nation_orders_supplier_4[n_nationkey, l_year, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN m_customer_lineitem_orders_1[n_nationkey, l_year, s_suppkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, c_custkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_lineitem_orders_supplier_1[l_year, c_custkey, n_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN m_customer_lineitem_orders_2[n_nationkey, l_year, s_suppkey] ELSE 0;
  m_lineitem_nation_orders_supplier_2[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, c_custkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_lineitem_orders_supplier_2[l_year, c_custkey, n_nationkey] ELSE 0;
  m_lineitem_nation_supplier_1[l_year, o_orderkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_lineitem_supplier_1[l_year, o_orderkey, n_nationkey] ELSE 0;
  m_lineitem_nation_supplier_2[l_year, o_orderkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN m_lineitem_supplier_2[l_year, o_orderkey, n_nationkey] ELSE 0;
  m_nation_1[n_name = 'FRANCE', n_name = 'GERMANY', n_name, n_nationkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN 1 ELSE 0;
  m_nation_2[n_name = 'FRANCE', n_name = 'GERMANY', n_name, n_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN 1 ELSE 0;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q7_count[n_name, cust_nation, l_year] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') AND (n_name = 'FRANCE' AND part_2 OR n_name = 'GERMANY' AND part_4) THEN -1 * m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, n_nationkey] ELSE 0;
  q7_revenue[n_name, cust_nation, l_year] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') AND (n_name = 'FRANCE' AND part_2 OR n_name = 'GERMANY' AND part_4) THEN -1 * m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, n_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, s_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN -1 * m_customer_lineitem_orders_supplier_1[n_nationkey, l_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, n_nationkey] ELSE 0;
  q7_count[supp_nation, n_name, l_year] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') AND (part AND n_name = 'GERMANY' OR part_3 AND n_name = 'FRANCE') THEN -1 * AFTER m_customer_lineitem_nation_orders_supplier_2[n_nationkey, l_year, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_3[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, s_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN -1 * m_customer_lineitem_orders_supplier_2[n_nationkey, l_year, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, n_nationkey] ELSE 0;
  q7_revenue[supp_nation, n_name, l_year] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') AND (part AND n_name = 'GERMANY' OR part_3 AND n_name = 'FRANCE') THEN -1 * AFTER m_customer_lineitem_nation_orders_supplier_4[n_nationkey, l_year, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN -1 * m_customer_lineitem_orders_1[n_nationkey, l_year, s_suppkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, c_custkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_lineitem_orders_supplier_1[l_year, c_custkey, n_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN -1 * m_customer_lineitem_orders_2[n_nationkey, l_year, s_suppkey] ELSE 0;
  m_lineitem_nation_orders_supplier_2[l_year, n_name = 'FRANCE', n_name = 'GERMANY', n_name, c_custkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_lineitem_orders_supplier_2[l_year, c_custkey, n_nationkey] ELSE 0;
  m_lineitem_nation_supplier_1[l_year, o_orderkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_lineitem_supplier_1[l_year, o_orderkey, n_nationkey] ELSE 0;
  m_lineitem_nation_supplier_2[l_year, o_orderkey, n_name = 'FRANCE', n_name = 'GERMANY', n_name] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 * m_lineitem_supplier_2[l_year, o_orderkey, n_nationkey] ELSE 0;
  m_nation_1[n_name = 'FRANCE', n_name = 'GERMANY', n_name, n_nationkey] += IF (n_name = 'FRANCE' OR n_name = 'GERMANY') THEN -1 ELSE 0;
  m_nation_2[n_name = 'FRANCE', n_name = 'GERMANY', n_name, n_nationkey] += IF (n_name = 'GERMANY' OR n_name = 'FRANCE') THEN -1 ELSE 0;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_nation_1[part, part_3, supp_nation, s_nationkey] * m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_nation_1[part, part_3, supp_nation, s_nationkey] * m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey] += m_lineitem_orders_1[l_year, s_suppkey, c_custkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey] += m_lineitem_orders_2[l_year, s_suppkey, c_custkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey];
  m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation] += m_lineitem_1[l_year, o_orderkey, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation] += m_lineitem_2[l_year, o_orderkey, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey] += m_lineitem_orders_1[l_year, s_suppkey, c_custkey];
  m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey] += m_lineitem_orders_2[l_year, s_suppkey, c_custkey];
  m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey] += m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey] += m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey] += -1 * m_lineitem_orders_1[l_year, s_suppkey, c_custkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey] += -1 * m_lineitem_orders_2[l_year, s_suppkey, c_custkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += -1 * m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += -1 * m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey];
  m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation] += -1 * m_lineitem_1[l_year, o_orderkey, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation] += -1 * m_lineitem_2[l_year, o_orderkey, s_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey];
  m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey] += -1 * m_lineitem_orders_1[l_year, s_suppkey, c_custkey];
  m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey] += -1 * m_lineitem_orders_2[l_year, s_suppkey, c_custkey];
  m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey] += -1 * m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey] += -1 * m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey];
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] += m_lineitem_orders_1[l_year, s_suppkey, c_custkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] += m_lineitem_orders_2[l_year, s_suppkey, c_custkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] += m_lineitem_orders_1[l_year, s_suppkey, c_custkey];
  m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] += m_lineitem_orders_2[l_year, s_suppkey, c_custkey];
  m_customer_1[c_custkey, c_nationkey] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, c_custkey];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, c_custkey];
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] += -1 * m_lineitem_orders_1[l_year, s_suppkey, c_custkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] += -1 * m_lineitem_orders_2[l_year, s_suppkey, c_custkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += -1 * m_lineitem_orders_supplier_1[l_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += -1 * m_lineitem_orders_supplier_2[l_year, c_custkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] += -1 * m_lineitem_orders_1[l_year, s_suppkey, c_custkey];
  m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] += -1 * m_lineitem_orders_2[l_year, s_suppkey, c_custkey];
  m_customer_1[c_custkey, c_nationkey] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN m_customer_1[o_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[l_year, o_orderkey, s_suppkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, o_custkey] += m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[l_year, o_orderkey, s_suppkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, o_custkey] += m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_supplier_1[l_year, o_custkey, s_nationkey] += m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] += m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_supplier_2[l_year, o_custkey, s_nationkey] += m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey];
  m_lineitem_orders_1[l_year, s_suppkey, o_custkey] += m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_2[l_year, s_suppkey, o_custkey] += m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_orders_1[o_custkey, o_orderkey] += 1;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q7_count[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation] ELSE 0;
  q7_revenue[supp_nation, cust_nation, l_year] += IF (part AND part_2 OR part_3 AND part_4) THEN -1 * m_customer_1[o_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] * m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_supplier_3[l_year, part_4, part_2, cust_nation, s_nationkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, l_year, part, part_3, supp_nation] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_1[l_year, s_suppkey, part_4, part_2, cust_nation] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[l_year, o_orderkey, s_suppkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_lineitem_nation_orders_supplier_1[l_year, part, part_3, supp_nation, o_custkey] += -1 * m_lineitem_nation_supplier_1[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_nation_orders_2[l_year, s_suppkey, part_4, part_2, cust_nation] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[l_year, o_orderkey, s_suppkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey];
  m_lineitem_nation_orders_supplier_2[l_year, part, part_3, supp_nation, o_custkey] += -1 * m_lineitem_nation_supplier_2[l_year, o_orderkey, part, part_3, supp_nation];
  m_customer_lineitem_orders_supplier_1[c_nationkey, l_year, s_nationkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey, l_year, s_nationkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_1[c_nationkey, l_year, s_suppkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_supplier_1[l_year, o_custkey, s_nationkey] += -1 * m_lineitem_supplier_1[l_year, o_orderkey, s_nationkey];
  m_customer_lineitem_orders_2[c_nationkey, l_year, s_suppkey] += -1 * m_customer_1[o_custkey, c_nationkey] * m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_supplier_2[l_year, o_custkey, s_nationkey] += -1 * m_lineitem_supplier_2[l_year, o_orderkey, s_nationkey];
  m_lineitem_orders_1[l_year, s_suppkey, o_custkey] += -1 * m_lineitem_1[l_year, o_orderkey, s_suppkey];
  m_lineitem_orders_2[l_year, s_suppkey, o_custkey] += -1 * m_lineitem_2[l_year, o_orderkey, s_suppkey];
  m_orders_1[o_custkey, o_orderkey] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q7_count[supp_nation, cust_nation, YEAR(l_shipdate)] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' AND (part AND part_2 OR part_3 AND part_4) THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  q7_revenue[supp_nation, cust_nation, YEAR(l_shipdate)] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' AND (part AND part_2 OR part_3 AND part_4) THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[YEAR(l_shipdate), part_4, part_2, cust_nation, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, YEAR(l_shipdate), part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_3[YEAR(l_shipdate), part_4, part_2, cust_nation, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, YEAR(l_shipdate), part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_1[YEAR(l_shipdate), l_suppkey, part_4, part_2, cust_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[YEAR(l_shipdate), part, part_3, supp_nation, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_2[YEAR(l_shipdate), l_suppkey, part_4, part_2, cust_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_2[YEAR(l_shipdate), part, part_3, supp_nation, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey, YEAR(l_shipdate), s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey, YEAR(l_shipdate), s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_nation_supplier_1[YEAR(l_shipdate), l_orderkey, part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_lineitem_nation_supplier_2[YEAR(l_shipdate), l_orderkey, part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, YEAR(l_shipdate), l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_1[YEAR(l_shipdate), c_custkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_customer_lineitem_orders_2[c_nationkey, YEAR(l_shipdate), l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_2[YEAR(l_shipdate), c_custkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_orders_1[YEAR(l_shipdate), l_suppkey, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_supplier_1[YEAR(l_shipdate), l_orderkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN m_supplier_1[s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_2[YEAR(l_shipdate), l_suppkey, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_supplier_2[YEAR(l_shipdate), l_orderkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_1[YEAR(l_shipdate), l_orderkey, l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN 1 ELSE 0;
  m_lineitem_2[YEAR(l_shipdate), l_orderkey, l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q7_count[supp_nation, cust_nation, YEAR(l_shipdate)] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' AND (part AND part_2 OR part_3 AND part_4) THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  q7_revenue[supp_nation, cust_nation, YEAR(l_shipdate)] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' AND (part AND part_2 OR part_3 AND part_4) THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[YEAR(l_shipdate), part_4, part_2, cust_nation, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[c_nationkey, YEAR(l_shipdate), part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_3[YEAR(l_shipdate), part_4, part_2, cust_nation, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_4[c_nationkey, YEAR(l_shipdate), part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_1[YEAR(l_shipdate), l_suppkey, part_4, part_2, cust_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_1[YEAR(l_shipdate), part, part_3, supp_nation, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_nation_orders_2[YEAR(l_shipdate), l_suppkey, part_4, part_2, cust_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] * m_nation_2[part_4, part_2, cust_nation, c_nationkey] ELSE 0;
  m_lineitem_nation_orders_supplier_2[YEAR(l_shipdate), part, part_3, supp_nation, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey, YEAR(l_shipdate), s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey, YEAR(l_shipdate), s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_nation_supplier_1[YEAR(l_shipdate), l_orderkey, part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_lineitem_nation_supplier_2[YEAR(l_shipdate), l_orderkey, part, part_3, supp_nation] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_nation_1[part, part_3, supp_nation, s_nationkey] ELSE 0;
  m_customer_lineitem_orders_1[c_nationkey, YEAR(l_shipdate), l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_1[YEAR(l_shipdate), c_custkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_customer_lineitem_orders_2[c_nationkey, YEAR(l_shipdate), l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] * m_customer_1[c_custkey, c_nationkey] ELSE 0;
  m_lineitem_orders_supplier_2[YEAR(l_shipdate), c_custkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_orders_1[YEAR(l_shipdate), l_suppkey, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_supplier_1[YEAR(l_shipdate), l_orderkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * m_supplier_1[s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_orders_2[YEAR(l_shipdate), l_suppkey, c_custkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, l_orderkey] ELSE 0;
  m_lineitem_supplier_2[YEAR(l_shipdate), l_orderkey, s_nationkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_supplier_1[s_nationkey, l_suppkey] ELSE 0;
  m_lineitem_1[YEAR(l_shipdate), l_orderkey, l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 ELSE 0;
  m_lineitem_2[YEAR(l_shipdate), l_orderkey, l_suppkey] += IF l_shipdate >= DATE '1995-01-01' AND l_shipdate <= DATE '1996-12-31' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
}
