PROGRAM tpch SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey) ROWS 5;
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey) ROWS 25;
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey) ROWS 10000;
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey) ROWS 150000;
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey) ROWS 200000;
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey) ROWS 800000;
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey) ROWS 1500000;
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber) ROWS 6000000;

MAP q1_count[l_returnflag STRING, l_linestatus STRING] : INT
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_qty[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_quantity) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_base_price[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_extendedprice) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_disc_price[l_returnflag STRING, l_linestatus STRING] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_sum_charge[l_returnflag STRING, l_linestatus STRING] : DECIMAL(38, 6)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(ATTEMPT(lineitem.l_extendedprice * (1 - lineitem.l_discount) * (1 + lineitem.l_tax))) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_avg_disc_sum[l_returnflag STRING, l_linestatus STRING] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_returnflag, lineitem.l_linestatus, SUM(lineitem.l_discount) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' GROUP BY lineitem.l_returnflag, lineitem.l_linestatus';
MAP q1_failed[l_orderkey INT, l_linenumber INT, l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2)] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_linenumber, lineitem.l_extendedprice, lineitem.l_discount, lineitem.l_tax, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate <= DATE ''1998-09-02'' AND FAILS(lineitem.l_extendedprice * (1 - lineitem.l_discount) * (1 + lineitem.l_tax)) = 1 GROUP BY lineitem.l_orderkey, lineitem.l_linenumber, lineitem.l_extendedprice, lineitem.l_discount, lineitem.l_tax';
MAP q3_count[l_orderkey INT, o_orderdate DATE, o_shippriority INT] : INT
  MEANING 'SELECT orders.o_orderkey, orders.o_orderdate, orders.o_shippriority, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND customer.c_mktsegment = ''BUILDING'' AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_orderdate, orders.o_shippriority';
MAP q3_revenue[l_orderkey INT, o_orderdate DATE, o_shippriority INT] : DECIMAL(38, 4)
  MEANING 'SELECT orders.o_orderkey, orders.o_orderdate, orders.o_shippriority, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND customer.c_mktsegment = ''BUILDING'' AND orders.o_orderdate < DATE ''1995-03-15'' AND lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY orders.o_orderkey, orders.o_orderdate, orders.o_shippriority';
MAP q5_count[n_name STRING] : INT
  MEANING 'SELECT nation.n_name, COUNT(*) FROM customer, orders, lineitem, supplier, nation, region WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' AND region.r_name = ''ASIA'' GROUP BY nation.n_name';
MAP q5_revenue[n_name STRING] : DECIMAL(38, 4)
  MEANING 'SELECT nation.n_name, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier, nation, region WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND nation.n_regionkey = region.r_regionkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' AND region.r_name = ''ASIA'' GROUP BY nation.n_name';
MAP q6_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' AND lineitem.l_discount >= 0.05 :: DECIMAL(3, 2) AND lineitem.l_discount <= 0.07 :: DECIMAL(3, 2) AND lineitem.l_quantity < 24';
MAP q6_revenue[] : DECIMAL(38, 4)
  MEANING 'SELECT SUM(lineitem.l_extendedprice * lineitem.l_discount) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1994-01-01'' AND lineitem.l_shipdate < DATE ''1995-01-01'' AND lineitem.l_discount >= 0.05 :: DECIMAL(3, 2) AND lineitem.l_discount <= 0.07 :: DECIMAL(3, 2) AND lineitem.l_quantity < 24';
MAP q10_count[c_custkey INT, c_name STRING, c_acctbal DECIMAL(15, 2), c_phone STRING, n_name STRING, c_address STRING, c_comment STRING] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment, COUNT(*) FROM customer, orders, lineitem, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment';
MAP q10_revenue[c_custkey INT, c_name STRING, c_acctbal DECIMAL(15, 2), c_phone STRING, n_name STRING, c_address STRING, c_comment STRING] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_custkey, customer.c_name, customer.c_acctbal, customer.c_phone, nation.n_name, customer.c_address, customer.c_comment';
MAP example21_count[c_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey GROUP BY customer.c_nationkey';
MAP example21_discounted[c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, SUM(orders.o_totalprice * lineitem.l_discount) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey GROUP BY customer.c_nationkey';
MAP m_orders_1[c_custkey INT, o_orderdate DATE, l_orderkey INT, o_shippriority INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_shippriority, COUNT(*) FROM orders WHERE orders.o_orderdate < DATE ''1995-03-15'' GROUP BY orders.o_custkey, orders.o_orderdate, orders.o_orderkey, orders.o_shippriority';
MAP m_lineitem_1[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY lineitem.l_orderkey';
MAP m_customer_1[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer WHERE customer.c_mktsegment = ''BUILDING'' GROUP BY customer.c_custkey';
MAP m_lineitem_2[l_orderkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate > DATE ''1995-03-15'' GROUP BY lineitem.l_orderkey';
MAP m_orders_2[c_custkey INT, l_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_lineitem_3[l_orderkey INT, l_suppkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_supplier_1[c_nationkey INT, l_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_nation_1[n_name STRING, c_nationkey INT, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, nation.n_regionkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey, nation.n_regionkey';
MAP m_region_1[n_regionkey INT] : INT
  MEANING 'SELECT region.r_regionkey, COUNT(*) FROM region WHERE region.r_name = ''ASIA'' GROUP BY region.r_regionkey';
MAP m_customer_2[c_custkey INT, c_nationkey INT] : INT
  MEANING 'SELECT customer.c_custkey, customer.c_nationkey, COUNT(*) FROM customer GROUP BY customer.c_custkey, customer.c_nationkey';
MAP m_customer_lineitem_orders_supplier_1[c_nationkey INT] : INT
  MEANING 'SELECT customer.c_nationkey, COUNT(*) FROM customer, orders, lineitem, supplier WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_1[n_name STRING, n_regionkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_regionkey, COUNT(*) FROM customer, orders, lineitem, supplier, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY nation.n_name, nation.n_regionkey';
MAP m_lineitem_4[l_orderkey INT, l_suppkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem GROUP BY lineitem.l_orderkey, lineitem.l_suppkey';
MAP m_customer_lineitem_orders_supplier_2[c_nationkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_nationkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY customer.c_nationkey';
MAP m_customer_lineitem_nation_orders_supplier_2[n_name STRING, n_regionkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT nation.n_name, nation.n_regionkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem, supplier, nation WHERE customer.c_custkey = orders.o_custkey AND customer.c_nationkey = supplier.s_nationkey AND customer.c_nationkey = nation.n_nationkey AND orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_suppkey = supplier.s_suppkey AND orders.o_orderdate >= DATE ''1994-01-01'' AND orders.o_orderdate < DATE ''1995-01-01'' GROUP BY nation.n_name, nation.n_regionkey';
MAP m_orders_3[c_custkey INT, l_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders WHERE orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_lineitem_5[l_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem WHERE lineitem.l_returnflag = ''R'' GROUP BY lineitem.l_orderkey';
MAP m_nation_2[n_name STRING, c_nationkey INT] : INT
  MEANING 'SELECT nation.n_name, nation.n_nationkey, COUNT(*) FROM nation GROUP BY nation.n_name, nation.n_nationkey';
MAP m_customer_3[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : INT
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, COUNT(*) FROM customer GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';
MAP m_customer_lineitem_orders_1[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : INT
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, COUNT(*) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';
MAP m_lineitem_6[l_orderkey INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_returnflag = ''R'' GROUP BY lineitem.l_orderkey';
MAP m_customer_lineitem_orders_2[c_acctbal DECIMAL(15, 2), c_address STRING, c_comment STRING, c_custkey INT, c_name STRING, c_nationkey INT, c_phone STRING] : DECIMAL(38, 4)
  MEANING 'SELECT customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM customer, orders, lineitem WHERE customer.c_custkey = orders.o_custkey AND orders.o_orderkey = lineitem.l_orderkey AND orders.o_orderdate >= DATE ''1993-10-01'' AND orders.o_orderdate < DATE ''1994-01-01'' AND lineitem.l_returnflag = ''R'' GROUP BY customer.c_acctbal, customer.c_address, customer.c_comment, customer.c_custkey, customer.c_name, customer.c_nationkey, customer.c_phone';
MAP m_orders_4[c_custkey INT, o_orderkey INT] : INT
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, COUNT(*) FROM orders GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_lineitem_7[o_orderkey INT] : INT
  MEANING 'SELECT lineitem.l_orderkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_orderkey';
MAP m_orders_5[c_custkey INT, o_orderkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT orders.o_custkey, orders.o_orderkey, SUM(orders.o_totalprice) FROM orders GROUP BY orders.o_custkey, orders.o_orderkey';
MAP m_lineitem_8[o_orderkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_orderkey, SUM(lineitem.l_discount) FROM lineitem GROUP BY lineitem.l_orderkey';

VIEW q1[l_returnflag STRING, l_linestatus STRING]
  VALUES sum_qty = q1_sum_qty, sum_base_price = q1_sum_base_price, sum_disc_price = q1_sum_disc_price, sum_charge = q1_sum_charge, count = q1_count, avg_disc_sum = q1_avg_disc_sum
  EXISTS q1_count
  COLUMNS l_returnflag = l_returnflag,
    l_linestatus = l_linestatus,
    sum_qty = sum_qty,
    sum_base_price = sum_base_price,
    sum_disc_price = sum_disc_price,
    sum_charge = sum_charge,
    avg_qty = sum_qty / count,
    avg_price = sum_base_price / count,
    avg_disc = avg_disc_sum / count,
    count_order = count
  ORDER BY 1, 2
  CHECKS q1_failed FAILS l_extendedprice * (1 - l_discount) * (1 + l_tax) OF (lineitem) AT 'q1' 8 9 47
  SQL '-- TPC-H Q1, pricing summary report; validation parameter DELTA = 90.
select
    l_returnflag,
    l_linestatus,
    sum(l_quantity) as sum_qty,
    sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
    avg(l_quantity) as avg_qty,
    avg(l_extendedprice) as avg_price,
    avg(l_discount) as avg_disc,
    count(*) as count_order
from
    lineitem
where
    l_shipdate <= date ''1998-12-01'' - interval ''90'' day
group by
    l_returnflag,
    l_linestatus
order by
    l_returnflag,
    l_linestatus
';

VIEW q3[l_orderkey INT, o_orderdate DATE, o_shippriority INT]
  VALUES revenue = q3_revenue
  EXISTS q3_count
  COLUMNS l_orderkey = l_orderkey,
    revenue = revenue,
    o_orderdate = o_orderdate,
    o_shippriority = o_shippriority
  ORDER BY 2 DESC, 3
  LIMIT 10
  SQL '-- TPC-H Q3, shipping priority; validation parameters SEGMENT = BUILDING, DATE = 1995-03-15.
select
    l_orderkey,
    sum(l_extendedprice * (1 - l_discount)) as revenue,
    o_orderdate,
    o_shippriority
from
    customer,
    orders,
    lineitem
where
    c_mktsegment = ''BUILDING''
    and c_custkey = o_custkey
    and l_orderkey = o_orderkey
    and o_orderdate < date ''1995-03-15''
    and l_shipdate > date ''1995-03-15''
group by
    l_orderkey,
    o_orderdate,
    o_shippriority
order by
    revenue desc,
    o_orderdate
limit 10
';

VIEW q5[n_name STRING]
  VALUES revenue = q5_revenue
  EXISTS q5_count
  COLUMNS n_name = n_name,
    revenue = revenue
  ORDER BY 2 DESC
  SQL '-- TPC-H Q5, local supplier volume; validation parameters REGION = ASIA, DATE = 1994-01-01.
select
    n_name,
    sum(l_extendedprice * (1 - l_discount)) as revenue
from
    customer,
    orders,
    lineitem,
    supplier,
    nation,
    region
where
    c_custkey = o_custkey
    and l_orderkey = o_orderkey
    and l_suppkey = s_suppkey
    and c_nationkey = s_nationkey
    and s_nationkey = n_nationkey
    and n_regionkey = r_regionkey
    and r_name = ''ASIA''
    and o_orderdate >= date ''1994-01-01''
    and o_orderdate < date ''1994-01-01'' + interval ''1'' year
group by
    n_name
order by
    revenue desc
';

VIEW q6[]
  VALUES revenue = q6_revenue, count = q6_count
  EXISTS q6_count
  COLUMNS revenue = CASE WHEN count > 0 THEN revenue ELSE NULL :: DECIMAL(38, 4) END
  SQL '-- TPC-H Q6, forecasting revenue change; validation parameters DATE = 1994-01-01, DISCOUNT = 0.06, QUANTITY = 24.
select
    sum(l_extendedprice * l_discount) as revenue
from
    lineitem
where
    l_shipdate >= date ''1994-01-01''
    and l_shipdate < date ''1994-01-01'' + interval ''1'' year
    and l_discount between 0.06 - 0.01 and 0.06 + 0.01
    and l_quantity < 24
';

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
  SQL '-- TPC-H Q10, returned item reporting; validation parameter DATE = 1993-10-01.
select
    c_custkey,
    c_name,
    sum(l_extendedprice * (1 - l_discount)) as revenue,
    c_acctbal,
    n_name,
    c_address,
    c_phone,
    c_comment
from
    customer,
    orders,
    lineitem,
    nation
where
    c_custkey = o_custkey
    and l_orderkey = o_orderkey
    and o_orderdate >= date ''1993-10-01''
    and o_orderdate < date ''1993-10-01'' + interval ''3'' month
    and l_returnflag = ''R''
    and c_nationkey = n_nationkey
group by
    c_custkey,
    c_name,
    c_acctbal,
    c_phone,
    n_name,
    c_address,
    c_comment
order by
    revenue desc
limit 20
';

VIEW example21[c_nationkey INT]
  VALUES discounted = example21_discounted
  EXISTS example21_count
  COLUMNS c_nationkey = c_nationkey,
    discounted = discounted
  SQL '-- The query of the Cumulus paper''s Example 2.1: discounted order volume per nation of the customer.
select
    c_nationkey,
    sum(o_totalprice * l_discount) as discounted
from
    customer,
    orders,
    lineitem
where
    c_custkey = o_custkey
    and o_orderkey = l_orderkey
group by
    c_nationkey
';

ON +region(r_regionkey, r_name, r_comment) DO {
  q5_count[n_name] += IF r_name = 'ASIA' THEN m_customer_lineitem_nation_orders_supplier_1[n_name, r_regionkey] ELSE 0;
  q5_revenue[n_name] += IF r_name = 'ASIA' THEN m_customer_lineitem_nation_orders_supplier_2[n_name, r_regionkey] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'ASIA' THEN 1 ELSE 0;
}

ON -region(r_regionkey, r_name, r_comment) DO {
  q5_count[n_name] += IF r_name = 'ASIA' THEN -1 * m_customer_lineitem_nation_orders_supplier_1[n_name, r_regionkey] ELSE 0;
  q5_revenue[n_name] += IF r_name = 'ASIA' THEN -1 * m_customer_lineitem_nation_orders_supplier_2[n_name, r_regionkey] ELSE 0;
  m_region_1[r_regionkey] += IF r_name = 'ASIA' THEN -1 ELSE 0;
}

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q5_count[n_name] += m_customer_lineitem_orders_supplier_1[n_nationkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_customer_lineitem_orders_supplier_2[n_nationkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_customer_lineitem_orders_supplier_1[n_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_customer_lineitem_orders_supplier_2[n_nationkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  m_nation_1[n_name, n_nationkey, n_regionkey] += 1;
  m_nation_2[n_name, n_nationkey] += 1;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q5_count[n_name] += -1 * m_customer_lineitem_orders_supplier_1[n_nationkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_customer_lineitem_orders_supplier_2[n_nationkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_supplier_1[n_nationkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_customer_lineitem_orders_supplier_2[n_nationkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, n_nationkey, c_phone];
  m_nation_1[n_name, n_nationkey, n_regionkey] += -1;
  m_nation_2[n_name, n_nationkey] += -1;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q5_count[n_name] += m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[s_nationkey] += m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[s_nationkey] += m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q5_count[n_name] += -1 * m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey] * m_nation_1[n_name, s_nationkey, n_regionkey];
  m_customer_lineitem_orders_supplier_1[s_nationkey] += -1 * m_lineitem_3[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey];
  m_customer_lineitem_orders_supplier_2[s_nationkey] += -1 * m_lineitem_4[l_orderkey, s_suppkey] * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, s_nationkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q5_count[n_name] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_nation_2[n_name, c_nationkey] * m_orders_3[c_custkey, l_orderkey] * m_lineitem_5[l_orderkey];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += m_nation_2[n_name, c_nationkey] * m_orders_3[c_custkey, l_orderkey] * m_lineitem_6[l_orderkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey];
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_lineitem_1[l_orderkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_lineitem_2[l_orderkey] ELSE 0;
  example21_count[c_nationkey] += m_orders_4[c_custkey, o_orderkey] * m_lineitem_7[o_orderkey];
  example21_discounted[c_nationkey] += m_orders_5[c_custkey, o_orderkey] * m_lineitem_8[o_orderkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += m_orders_3[c_custkey, l_orderkey] * m_lineitem_5[l_orderkey];
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += m_orders_3[c_custkey, l_orderkey] * m_lineitem_6[l_orderkey];
  m_customer_1[c_custkey] += IF c_mktsegment = 'BUILDING' THEN 1 ELSE 0;
  m_customer_2[c_custkey, c_nationkey] += 1;
  m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q5_count[n_name] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_nation_2[n_name, c_nationkey] * m_orders_3[c_custkey, l_orderkey] * m_lineitem_5[l_orderkey];
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += -1 * m_nation_2[n_name, c_nationkey] * m_orders_3[c_custkey, l_orderkey] * m_lineitem_6[l_orderkey];
  m_customer_lineitem_orders_supplier_1[c_nationkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_3[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_lineitem_4[l_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey];
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN -1 * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_lineitem_1[l_orderkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF c_mktsegment = 'BUILDING' THEN -1 * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_lineitem_2[l_orderkey] ELSE 0;
  example21_count[c_nationkey] += -1 * m_orders_4[c_custkey, o_orderkey] * m_lineitem_7[o_orderkey];
  example21_discounted[c_nationkey] += -1 * m_orders_5[c_custkey, o_orderkey] * m_lineitem_8[o_orderkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1 * m_orders_3[c_custkey, l_orderkey] * m_lineitem_5[l_orderkey];
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1 * m_orders_3[c_custkey, l_orderkey] * m_lineitem_6[l_orderkey];
  m_customer_1[c_custkey] += IF c_mktsegment = 'BUILDING' THEN -1 ELSE 0;
  m_customer_2[c_custkey, c_nationkey] += -1;
  m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q5_count[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey] ELSE 0;
  q5_revenue[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] ELSE 0;
  q10_count[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_5[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  q10_revenue[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_6[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] ELSE 0;
  q3_count[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_customer_1[o_custkey] * m_lineitem_1[o_orderkey] ELSE 0;
  q3_revenue[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN m_customer_1[o_custkey] * m_lineitem_2[o_orderkey] ELSE 0;
  example21_count[c_nationkey] += m_lineitem_7[o_orderkey] * m_customer_2[o_custkey, c_nationkey];
  example21_discounted[c_nationkey] += o_totalprice * m_lineitem_8[o_orderkey] * m_customer_2[o_custkey, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_5[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN m_lineitem_6[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN 1 ELSE 0;
  m_orders_2[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN 1 ELSE 0;
  m_orders_3[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN 1 ELSE 0;
  m_orders_4[o_custkey, o_orderkey] += 1;
  m_orders_5[o_custkey, o_orderkey] += o_totalprice;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q5_count[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey] ELSE 0;
  q5_revenue[n_name] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] ELSE 0;
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] ELSE 0;
  q10_count[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_5[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  q10_revenue[o_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_6[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_3[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] ELSE 0;
  m_customer_lineitem_orders_supplier_2[c_nationkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 * m_customer_2[o_custkey, c_nationkey] * m_lineitem_4[o_orderkey, l_suppkey] * m_supplier_1[c_nationkey, l_suppkey] ELSE 0;
  q3_count[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_customer_1[o_custkey] * m_lineitem_1[o_orderkey] ELSE 0;
  q3_revenue[o_orderkey, o_orderdate, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 * m_customer_1[o_custkey] * m_lineitem_2[o_orderkey] ELSE 0;
  example21_count[c_nationkey] += -1 * m_lineitem_7[o_orderkey] * m_customer_2[o_custkey, c_nationkey];
  example21_discounted[c_nationkey] += -1 * o_totalprice * m_lineitem_8[o_orderkey] * m_customer_2[o_custkey, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_5[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 * m_lineitem_6[o_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, o_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_orders_1[o_custkey, o_orderdate, o_orderkey, o_shippriority] += IF o_orderdate < DATE '1995-03-15' THEN -1 ELSE 0;
  m_orders_2[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' THEN -1 ELSE 0;
  m_orders_3[o_custkey, o_orderkey] += IF o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' THEN -1 ELSE 0;
  m_orders_4[o_custkey, o_orderkey] += -1;
  m_orders_5[o_custkey, o_orderkey] += -1 * o_totalprice;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q5_count[n_name] += m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  example21_count[c_nationkey] += m_orders_4[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey];
  example21_discounted[c_nationkey] += l_discount * m_orders_5[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  q1_count[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN 1 ELSE 0;
  q1_sum_qty[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_quantity ELSE 0;
  q1_sum_base_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_extendedprice ELSE 0;
  q1_sum_disc_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
  q1_sum_charge[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN (ATTEMPT(l_extendedprice * (1 - l_discount) * (1 + l_tax))) ELSE 0;
  q1_avg_disc_sum[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN l_discount ELSE 0;
  q1_failed[l_orderkey, l_linenumber, l_extendedprice, l_discount, l_tax] += IF l_shipdate <= DATE '1998-09-02' AND FAILS(l_extendedprice * (1 - l_discount) * (1 + l_tax)) = 1 THEN 1 ELSE 0;
  q6_count[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN 1 ELSE 0;
  q6_revenue[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN (l_extendedprice * l_discount) ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN 1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
  m_lineitem_3[l_orderkey, l_suppkey] += 1;
  m_lineitem_4[l_orderkey, l_suppkey] += (l_extendedprice * (1 - l_discount));
  m_lineitem_5[l_orderkey] += IF l_returnflag = 'R' THEN 1 ELSE 0;
  m_lineitem_6[l_orderkey] += IF l_returnflag = 'R' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
  m_lineitem_7[l_orderkey] += 1;
  m_lineitem_8[l_orderkey] += l_discount;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q5_count[n_name] += -1 * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  q5_revenue[n_name] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey] * m_region_1[n_regionkey];
  m_customer_lineitem_nation_orders_supplier_1[n_name, n_regionkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  m_customer_lineitem_nation_orders_supplier_2[n_name, n_regionkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey] * m_nation_1[n_name, c_nationkey, n_regionkey];
  q10_count[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN -1 * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  q10_revenue[c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] * m_nation_2[n_name, c_nationkey] ELSE 0;
  m_customer_lineitem_orders_supplier_1[c_nationkey] += -1 * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  m_customer_lineitem_orders_supplier_2[c_nationkey] += -1 * (l_extendedprice * (1 - l_discount)) * m_orders_2[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey] * m_supplier_1[c_nationkey, l_suppkey];
  q3_count[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  q3_revenue[l_orderkey, o_orderdate, o_shippriority] += IF l_shipdate > DATE '1995-03-15' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_1[c_custkey, o_orderdate, l_orderkey, o_shippriority] * m_customer_1[c_custkey] ELSE 0;
  example21_count[c_nationkey] += -1 * m_orders_4[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey];
  example21_discounted[c_nationkey] += -1 * l_discount * m_orders_5[c_custkey, l_orderkey] * m_customer_2[c_custkey, c_nationkey];
  m_customer_lineitem_orders_1[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN -1 * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  m_customer_lineitem_orders_2[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) * m_orders_3[c_custkey, l_orderkey] * m_customer_3[c_acctbal, c_address, c_comment, c_custkey, c_name, c_nationkey, c_phone] ELSE 0;
  q1_count[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 ELSE 0;
  q1_sum_qty[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_quantity ELSE 0;
  q1_sum_base_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_extendedprice ELSE 0;
  q1_sum_disc_price[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
  q1_sum_charge[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * (ATTEMPT(l_extendedprice * (1 - l_discount) * (1 + l_tax))) ELSE 0;
  q1_avg_disc_sum[l_returnflag, l_linestatus] += IF l_shipdate <= DATE '1998-09-02' THEN -1 * l_discount ELSE 0;
  q1_failed[l_orderkey, l_linenumber, l_extendedprice, l_discount, l_tax] += IF l_shipdate <= DATE '1998-09-02' AND FAILS(l_extendedprice * (1 - l_discount) * (1 + l_tax)) = 1 THEN -1 ELSE 0;
  q6_count[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN -1 ELSE 0;
  q6_revenue[] += IF l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 :: DECIMAL(3, 2) AND l_discount <= 0.07 :: DECIMAL(3, 2) AND l_quantity < 24 THEN -1 * (l_extendedprice * l_discount) ELSE 0;
  m_lineitem_1[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN -1 ELSE 0;
  m_lineitem_2[l_orderkey] += IF l_shipdate > DATE '1995-03-15' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
  m_lineitem_3[l_orderkey, l_suppkey] += -1;
  m_lineitem_4[l_orderkey, l_suppkey] += -1 * (l_extendedprice * (1 - l_discount));
  m_lineitem_5[l_orderkey] += IF l_returnflag = 'R' THEN -1 ELSE 0;
  m_lineitem_6[l_orderkey] += IF l_returnflag = 'R' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
  m_lineitem_7[l_orderkey] += -1;
  m_lineitem_8[l_orderkey] += -1 * l_discount;
}
