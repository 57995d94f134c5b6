PROGRAM test SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q11_groups_count[] : INT
  MEANING 'SELECT COUNT(*) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_name = ''GERMANY''';
MAP q11_groups_sum[] : DECIMAL(38, 2)
  MEANING 'SELECT SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_name = ''GERMANY''';
MAP q11_groups_2_count[ps_partkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, COUNT(*) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_name = ''GERMANY'' GROUP BY partsupp.ps_partkey';
MAP q11_groups_2_sum[ps_partkey INT] : DECIMAL(38, 2)
  MEANING 'SELECT partsupp.ps_partkey, SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp, supplier, nation WHERE partsupp.ps_suppkey = supplier.s_suppkey AND supplier.s_nationkey = nation.n_nationkey AND nation.n_name = ''GERMANY'' GROUP BY partsupp.ps_partkey';
MAP q13_matched_n[o_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders WHERE NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY orders.o_custkey';
MAP q13_groups_count[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer, orders WHERE customer.c_custkey = orders.o_custkey AND NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY customer.c_custkey UNION ALL SELECT customer.c_custkey, COUNT(*) FROM customer GROUP BY customer.c_custkey UNION ALL SELECT customer.c_custkey, SUM(-1) FROM customer, q13_matched WHERE customer.c_custkey = q13_matched.o_custkey GROUP BY customer.c_custkey';
MAP q13_groups_c_count[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer, orders WHERE customer.c_custkey = orders.o_custkey AND NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY customer.c_custkey';
MAP q15_groups_count[supplier_no INT] : INT
  MEANING 'SELECT lineitem.l_suppkey, COUNT(*) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1996-01-01'' AND lineitem.l_shipdate < DATE ''1996-04-01'' GROUP BY lineitem.l_suppkey';
MAP q15_groups_total_revenue[supplier_no INT] : DECIMAL(38, 4)
  MEANING 'SELECT lineitem.l_suppkey, SUM(lineitem.l_extendedprice * (1 - lineitem.l_discount)) FROM lineitem WHERE lineitem.l_shipdate >= DATE ''1996-01-01'' AND lineitem.l_shipdate < DATE ''1996-04-01'' GROUP BY lineitem.l_suppkey';
MAP q15_groups_2_count[] : INT
  MEANING 'SELECT COUNT(*) FROM q15_groups';
MAP q15_groups_2_max[value0 DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups.total_revenue_2, COUNT(*) FROM q15_groups GROUP BY q15_groups.total_revenue_2';
MAP q17_groups_count[l_partkey INT] : INT
  MEANING 'SELECT lineitem.l_partkey, COUNT(*) FROM lineitem GROUP BY lineitem.l_partkey';
MAP q17_groups_avg_sum[l_partkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, SUM(lineitem.l_quantity) FROM lineitem GROUP BY lineitem.l_partkey';
MAP q22_groups_count[] : INT
  MEANING 'SELECT COUNT(*) FROM customer WHERE customer.c_acctbal > 0.00 AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')';
MAP q22_groups_avg_sum[] : DECIMAL(25, 2)
  MEANING 'SELECT SUM(customer.c_acctbal) FROM customer WHERE customer.c_acctbal > 0.00 AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')';
MAP q22_exists_n[o_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders GROUP BY orders.o_custkey';
MAP q11_rows[ps_partkey INT, value DECIMAL(38, 2)] : INT
  MEANING 'SELECT q11_groups_2.ps_partkey, q11_groups_2.sum_2, COUNT(*) FROM q11_groups_2, q11_groups WHERE q11_groups_2.sum_2 > (q11_groups.sum_2 * 0.0001) GROUP BY q11_groups_2.ps_partkey, q11_groups_2.sum_2';
MAP q11_failed[ps_partkey INT] : INT
  MEANING 'SELECT q11_groups_2.ps_partkey, COUNT(*) FROM q11_groups_2 WHERE q11_groups_2.failed = 1 GROUP BY q11_groups_2.ps_partkey';
MAP q11_failed_2[] : INT
  MEANING 'SELECT COUNT(*) FROM q11_groups WHERE q11_groups.failed = 1';
MAP q13_count[c_count INT] : INT
  MEANING 'SELECT q13_groups.c_count_2, COUNT(*) FROM q13_groups GROUP BY q13_groups.c_count_2';
MAP q15_rows[s_suppkey INT, s_name STRING, s_address STRING, s_phone STRING, total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT supplier.s_suppkey, supplier.s_name, supplier.s_address, supplier.s_phone, q15_groups.total_revenue_2, COUNT(*) FROM supplier, q15_groups, q15_groups_2 WHERE supplier.s_suppkey = q15_groups.supplier_no AND q15_groups.total_revenue_2 = q15_groups_2.max_2 AND NOT q15_groups_2.max_2 IS NULL GROUP BY supplier.s_suppkey, supplier.s_name, supplier.s_address, supplier.s_phone, q15_groups.total_revenue_2';
MAP q15_failed[supplier_no INT] : INT
  MEANING 'SELECT q15_groups.supplier_no, COUNT(*) FROM q15_groups WHERE q15_groups.failed = 1 GROUP BY q15_groups.supplier_no';
MAP q17_count[] : INT
  MEANING 'SELECT COUNT(*) FROM lineitem, part, q17_groups WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_partkey = q17_groups.l_partkey AND part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' AND lineitem.l_quantity < (0.2 * q17_groups.avg)';
MAP q17_avg_yearly[] : DECIMAL(25, 2)
  MEANING 'SELECT SUM(lineitem.l_extendedprice) FROM lineitem, part, q17_groups WHERE lineitem.l_partkey = part.p_partkey AND lineitem.l_partkey = q17_groups.l_partkey AND part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' AND lineitem.l_quantity < (0.2 * q17_groups.avg)';
MAP q22_count[cntrycode STRING] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), COUNT(*) FROM customer, q22_groups WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2) UNION ALL SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(-1) FROM customer, q22_groups, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2)';
MAP q22_totacctbal[cntrycode STRING] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(customer.c_acctbal) FROM customer, q22_groups WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2) UNION ALL SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(-1 * customer.c_acctbal) FROM customer, q22_groups, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2)';
MAP m_supplier_1[s_nationkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_nationkey, supplier.s_suppkey';
MAP m_nation_1[s_nationkey INT] : INT
  MEANING 'SELECT nation.n_nationkey, COUNT(*) FROM nation WHERE nation.n_name = ''GERMANY'' GROUP BY nation.n_nationkey';
MAP m_partsupp_1[ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_suppkey';
MAP m_partsupp_supplier_1[s_nationkey INT] : INT
  MEANING 'SELECT supplier.s_nationkey, COUNT(*) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY supplier.s_nationkey';
MAP m_partsupp_2[ps_suppkey INT] : DECIMAL(38, 2)
  MEANING 'SELECT partsupp.ps_suppkey, SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp GROUP BY partsupp.ps_suppkey';
MAP m_partsupp_supplier_2[s_nationkey INT] : DECIMAL(38, 2)
  MEANING 'SELECT supplier.s_nationkey, SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY supplier.s_nationkey';
MAP m_partsupp_3[ps_partkey INT, ps_suppkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, COUNT(*) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_supplier_3[ps_partkey INT, s_nationkey INT] : INT
  MEANING 'SELECT partsupp.ps_partkey, supplier.s_nationkey, COUNT(*) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY partsupp.ps_partkey, supplier.s_nationkey';
MAP m_partsupp_4[ps_partkey INT, ps_suppkey INT] : DECIMAL(38, 2)
  MEANING 'SELECT partsupp.ps_partkey, partsupp.ps_suppkey, SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp GROUP BY partsupp.ps_partkey, partsupp.ps_suppkey';
MAP m_partsupp_supplier_4[ps_partkey INT, s_nationkey INT] : DECIMAL(38, 2)
  MEANING 'SELECT partsupp.ps_partkey, supplier.s_nationkey, SUM(partsupp.ps_supplycost * partsupp.ps_availqty) FROM partsupp, supplier WHERE partsupp.ps_suppkey = supplier.s_suppkey GROUP BY partsupp.ps_partkey, supplier.s_nationkey';
MAP m_customer_1[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer GROUP BY customer.c_custkey';
MAP m_q11_groups_1[part DECIMAL(38, 6) NULL] : INT
  MEANING 'SELECT q11_groups.sum_2 * 0.0001, COUNT(*) FROM q11_groups GROUP BY q11_groups.sum_2 * 0.0001';
MAP m_q15_groups_q15_groups_2_1[s_suppkey INT, total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups.supplier_no, q15_groups.total_revenue_2, COUNT(*) FROM q15_groups, q15_groups_2 WHERE q15_groups.total_revenue_2 = q15_groups_2.max_2 AND NOT q15_groups_2.max_2 IS NULL GROUP BY q15_groups.supplier_no, q15_groups.total_revenue_2';
MAP m_supplier_2[s_address STRING, s_name STRING, s_phone STRING, s_suppkey INT] : INT
  MEANING 'SELECT supplier.s_address, supplier.s_name, supplier.s_phone, supplier.s_suppkey, COUNT(*) FROM supplier GROUP BY supplier.s_address, supplier.s_name, supplier.s_phone, supplier.s_suppkey';
MAP m_q15_groups_2_1[total_revenue DECIMAL(38, 4)] : INT
  MEANING 'SELECT q15_groups_2.max_2, COUNT(*) FROM q15_groups_2 WHERE NOT q15_groups_2.max_2 IS NULL GROUP BY q15_groups_2.max_2';
MAP m_q15_groups_supplier_1[s_suppkey INT, total_revenue DECIMAL(38, 4), s_address STRING, s_name STRING, s_phone STRING] : INT
  MEANING 'SELECT supplier.s_suppkey, q15_groups.total_revenue_2, supplier.s_address, supplier.s_name, supplier.s_phone, COUNT(*) FROM supplier, q15_groups WHERE supplier.s_suppkey = q15_groups.supplier_no GROUP BY supplier.s_suppkey, q15_groups.total_revenue_2, supplier.s_address, supplier.s_name, supplier.s_phone';
MAP m_part_1[l_partkey INT] : INT
  MEANING 'SELECT part.p_partkey, COUNT(*) FROM part WHERE part.p_brand = ''Brand#23'' AND part.p_container = ''MED BOX'' GROUP BY part.p_partkey';
MAP m_q17_groups_1[part DECIMAL(38, 14) NULL, l_partkey INT] : INT
  MEANING 'SELECT 0.2 * q17_groups.avg, q17_groups.l_partkey, COUNT(*) FROM q17_groups GROUP BY 0.2 * q17_groups.avg, q17_groups.l_partkey';
MAP m_lineitem_1[l_partkey INT, l_quantity DECIMAL(15, 2)] : INT
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_quantity, COUNT(*) FROM lineitem GROUP BY lineitem.l_partkey, lineitem.l_quantity';
MAP m_lineitem_2[l_partkey INT, l_quantity DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT lineitem.l_partkey, lineitem.l_quantity, SUM(lineitem.l_extendedprice) FROM lineitem GROUP BY lineitem.l_partkey, lineitem.l_quantity';
MAP m_customer_2[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, COUNT(*) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_q22_exists_1[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, COUNT(*) FROM customer, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_3[cntrycode STRING, c_acctbal DECIMAL(15, 2), o_custkey INT] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey, COUNT(*) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey';
MAP m_customer_4[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, SUM(customer.c_acctbal) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_q22_exists_2[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, SUM(customer.c_acctbal) FROM customer, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_5[cntrycode STRING, c_acctbal DECIMAL(15, 2), o_custkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey, SUM(customer.c_acctbal) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey';
MAP q11_groups[sum_2 DECIMAL(38, 2) NULL, failed INT] : INT
  MEANING 'one row';
MAP q11_groups_2[ps_partkey INT, sum_2 DECIMAL(38, 2), failed INT] : INT
  MEANING 'one row per (ps_partkey)';
MAP q13_matched[o_custkey INT] : INT
  MEANING 'one row per (o_custkey)';
MAP q13_groups[c_custkey INT, c_count_2 INT] : INT
  MEANING 'one row per (c_custkey)';
MAP q15_groups[supplier_no INT, total_revenue_2 DECIMAL(38, 4), failed INT] : INT
  MEANING 'one row per (supplier_no)';
MAP q15_groups_2[max_2 DECIMAL(38, 4) NULL] : INT
  MEANING 'one row';
MAP q17_groups[l_partkey INT, avg DECIMAL(38, 15) NULL] : INT
  MEANING 'one row per (l_partkey)';
MAP q22_groups[avg DECIMAL(38, 15) NULL] : INT
  MEANING 'one row';
MAP q22_exists[o_custkey INT] : INT
  MEANING 'one row per (o_custkey)';

DERIVE q11_groups[]
  FROM count = q11_groups_count, sum = q11_groups_sum
  SELECT sum_2 = ATTEMPT(CASE WHEN count > 0 THEN sum ELSE NULL :: DECIMAL(38, 2) END),
    failed = CASE WHEN FAILS(CASE WHEN count > 0 THEN sum ELSE NULL :: DECIMAL(38, 2) END) = 1 THEN 1 ELSE 0 END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q11_groups_2[ps_partkey]
  FROM count = q11_groups_2_count, sum = q11_groups_2_sum
  SELECT sum_2 = ATTEMPT(sum),
    failed = CASE WHEN FAILS(sum) = 1 THEN 1 ELSE 0 END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q13_matched[o_custkey]
  FROM n = q13_matched_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q13_groups[c_custkey]
  FROM count = q13_groups_count, c_count = q13_groups_c_count
  SELECT c_count_2 = c_count
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q15_groups[supplier_no]
  FROM count = q15_groups_count, total_revenue = q15_groups_total_revenue
  SELECT total_revenue_2 = ATTEMPT(total_revenue),
    failed = CASE WHEN FAILS(total_revenue) = 1 THEN 1 ELSE 0 END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q15_groups_2[]
  FROM count = q15_groups_2_count, max = MAX(q15_groups_2_max)
  SELECT max_2 = max
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q17_groups[l_partkey]
  FROM count = q17_groups_count, avg_sum = q17_groups_avg_sum
  SELECT avg = CASE WHEN count > 0 THEN avg_sum / count ELSE NULL :: DECIMAL(38, 15) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q22_groups[]
  FROM count = q22_groups_count, avg_sum = q22_groups_avg_sum
  SELECT avg = CASE WHEN count > 0 THEN avg_sum / count ELSE NULL :: DECIMAL(38, 15) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q22_exists[o_custkey]
  FROM n = q22_exists_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

VIEW q11[ps_partkey INT, value DECIMAL(38, 2) NULL]
  ROWS q11_rows
  COLUMNS ps_partkey = ps_partkey,
    value = value
  ORDER BY 2 DESC
  CHECKS q11_failed FAILS 'sum(ps_supplycost * ps_availqty)' OF () AT 'q11' 16 5 32 'sum(ps_supplycost * ps_availqty)',
    q11_failed_2 FAILS 'sum(ps_supplycost * ps_availqty)' OF () AT 'q11' 18 13 32 'sum(ps_supplycost * ps_availqty)'
  SQL '-- TPC-H Q11, important stock identification; validation parameters NATION = GERMANY, FRACTION = 0.0001.
select
    ps_partkey,
    sum(ps_supplycost * ps_availqty) as value
from
    partsupp,
    supplier,
    nation
where
    ps_suppkey = s_suppkey
    and s_nationkey = n_nationkey
    and n_name = ''GERMANY''
group by
    ps_partkey
having
    sum(ps_supplycost * ps_availqty) > (
        select
            sum(ps_supplycost * ps_availqty) * 0.0001
        from
            partsupp,
            supplier,
            nation
        where
            ps_suppkey = s_suppkey
            and s_nationkey = n_nationkey
            and n_name = ''GERMANY''
    )
order by
    value desc
';

VIEW q13[c_count INT]
  VALUES count = q13_count
  EXISTS q13_count
  COLUMNS c_count = c_count,
    custdist = count
  ORDER BY 2 DESC, 1 DESC
  SQL '-- TPC-H Q13, customer distribution; validation parameters WORD1 = special, WORD2 = requests.
select
    c_count,
    count(*) as custdist
from
    (
        select
            c_custkey,
            count(o_orderkey) as c_count
        from
            customer left outer join orders on
                c_custkey = o_custkey
                and o_comment not like ''%special%requests%''
        group by
            c_custkey
    ) as c_orders
group by
    c_count
order by
    custdist desc,
    c_count desc
';

VIEW q15[s_suppkey INT, s_name STRING, s_address STRING, s_phone STRING, total_revenue DECIMAL(38, 4) NULL]
  ROWS q15_rows
  COLUMNS s_suppkey = s_suppkey,
    s_name = s_name,
    s_address = s_address,
    s_phone = s_phone,
    total_revenue = total_revenue
  ORDER BY 1
  CHECKS q15_failed FAILS 'sum(l_extendedprice * (1 - l_discount))' OF () AT 'q15' 5 9 39 'sum(l_extendedprice * (1 - l_discount))'
  SQL '-- TPC-H Q15, top supplier; validation parameter DATE = 1996-01-01. The view of the specification is a WITH.
with revenue as (
    select
        l_suppkey as supplier_no,
        sum(l_extendedprice * (1 - l_discount)) as total_revenue
    from
        lineitem
    where
        l_shipdate >= date ''1996-01-01''
        and l_shipdate < date ''1996-01-01'' + interval ''3'' month
    group by
        l_suppkey
)
select
    s_suppkey,
    s_name,
    s_address,
    s_phone,
    total_revenue
from
    supplier,
    revenue
where
    s_suppkey = supplier_no
    and total_revenue = (
        select
            max(total_revenue)
        from
            revenue
    )
order by
    s_suppkey
';

VIEW q17[]
  VALUES avg_yearly = q17_avg_yearly, count = q17_count
  EXISTS q17_count
  COLUMNS avg_yearly = (CASE WHEN count > 0 THEN avg_yearly ELSE NULL :: DECIMAL(25, 2) END / 7.0) :: DECIMAL(38, 15) NULL
  SQL '-- TPC-H Q17, small-quantity-order revenue; validation parameters BRAND = Brand#23, CONTAINER = MED BOX.
select
    sum(l_extendedprice) / 7.0 as avg_yearly
from
    lineitem,
    part
where
    p_partkey = l_partkey
    and p_brand = ''Brand#23''
    and p_container = ''MED BOX''
    and l_quantity < (
        select
            0.2 * avg(l_quantity)
        from
            lineitem
        where
            l_partkey = p_partkey
    )
';

VIEW q22[cntrycode STRING]
  VALUES count = q22_count, totacctbal = q22_totacctbal
  EXISTS q22_count
  COLUMNS cntrycode = cntrycode,
    numcust = count,
    totacctbal = totacctbal
  ORDER BY 1
  SQL '-- TPC-H Q22, global sales opportunity; validation parameters I1 to I7 = 13, 31, 23, 29, 30, 18, 17.
select
    cntrycode,
    count(*) as numcust,
    sum(c_acctbal) as totacctbal
from
    (
        select
            substring(c_phone from 1 for 2) as cntrycode,
            c_acctbal
        from
            customer
        where
            substring(c_phone from 1 for 2) in (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')
            and c_acctbal > (
                select
                    avg(c_acctbal)
                from
                    customer
                where
                    c_acctbal > 0.00
                    and substring(c_phone from 1 for 2) in (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')
            )
            and not exists (
                select
                    *
                from
                    orders
                where
                    o_custkey = c_custkey
            )
    ) as custsale
group by
    cntrycode
order by
    cntrycode
';

ON +nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q11_groups_count[] += IF n_name = 'GERMANY' THEN m_partsupp_supplier_1[n_nationkey] ELSE 0;
  q11_groups_sum[] += IF n_name = 'GERMANY' THEN m_partsupp_supplier_2[n_nationkey] ELSE 0;
  q11_groups_2_count[ps_partkey] += IF n_name = 'GERMANY' THEN m_partsupp_supplier_3[ps_partkey, n_nationkey] ELSE 0;
  q11_groups_2_sum[ps_partkey] += IF n_name = 'GERMANY' THEN m_partsupp_supplier_4[ps_partkey, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'GERMANY' THEN 1 ELSE 0;
}

ON -nation(n_nationkey, n_name, n_regionkey, n_comment) DO {
  q11_groups_count[] += IF n_name = 'GERMANY' THEN -1 * m_partsupp_supplier_1[n_nationkey] ELSE 0;
  q11_groups_sum[] += IF n_name = 'GERMANY' THEN -1 * m_partsupp_supplier_2[n_nationkey] ELSE 0;
  q11_groups_2_count[ps_partkey] += IF n_name = 'GERMANY' THEN -1 * m_partsupp_supplier_3[ps_partkey, n_nationkey] ELSE 0;
  q11_groups_2_sum[ps_partkey] += IF n_name = 'GERMANY' THEN -1 * m_partsupp_supplier_4[ps_partkey, n_nationkey] ELSE 0;
  m_nation_1[n_nationkey] += IF n_name = 'GERMANY' THEN -1 ELSE 0;
}

ON +supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q11_groups_count[] += m_partsupp_1[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_sum[] += m_partsupp_2[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_count[ps_partkey] += m_nation_1[s_nationkey] * m_partsupp_3[ps_partkey, s_suppkey];
  q11_groups_2_sum[ps_partkey] += m_nation_1[s_nationkey] * m_partsupp_4[ps_partkey, s_suppkey];
  q15_rows[s_suppkey, s_name, s_address, s_phone, total_revenue] += m_q15_groups_q15_groups_2_1[s_suppkey, total_revenue];
  m_partsupp_supplier_1[s_nationkey] += m_partsupp_1[s_suppkey];
  m_partsupp_supplier_2[s_nationkey] += m_partsupp_2[s_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += m_partsupp_3[ps_partkey, s_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += m_partsupp_4[ps_partkey, s_suppkey];
  m_q15_groups_supplier_1[s_suppkey, total_revenue, s_address, s_name, s_phone] += q15_groups[s_suppkey, total_revenue, any_failed];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
  m_supplier_2[s_address, s_name, s_phone, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q11_groups_count[] += -1 * m_partsupp_1[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_sum[] += -1 * m_partsupp_2[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_count[ps_partkey] += -1 * m_nation_1[s_nationkey] * m_partsupp_3[ps_partkey, s_suppkey];
  q11_groups_2_sum[ps_partkey] += -1 * m_nation_1[s_nationkey] * m_partsupp_4[ps_partkey, s_suppkey];
  q15_rows[s_suppkey, s_name, s_address, s_phone, total_revenue] += -1 * m_q15_groups_q15_groups_2_1[s_suppkey, total_revenue];
  m_partsupp_supplier_1[s_nationkey] += -1 * m_partsupp_1[s_suppkey];
  m_partsupp_supplier_2[s_nationkey] += -1 * m_partsupp_2[s_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += -1 * m_partsupp_3[ps_partkey, s_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += -1 * m_partsupp_4[ps_partkey, s_suppkey];
  m_q15_groups_supplier_1[s_suppkey, total_revenue, s_address, s_name, s_phone] += -1 * q15_groups[s_suppkey, total_revenue, any_failed];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
  m_supplier_2[s_address, s_name, s_phone, s_suppkey] += -1;
}

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN q22_groups[avg] ELSE 0;
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN c_acctbal * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * c_acctbal * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q13_groups_count[c_custkey] += q13_matched_n[c_custkey];
  q13_groups_count[c_custkey] += 1;
  q13_groups_count[c_custkey] += -1 * q13_matched[c_custkey];
  q13_groups_c_count[c_custkey] += q13_matched_n[c_custkey];
  m_customer_q22_exists_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN q22_exists[c_custkey] ELSE 0;
  m_customer_q22_exists_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal * q22_exists[c_custkey] ELSE 0;
  q22_groups_count[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  q22_groups_avg_sum[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
  m_customer_1[c_custkey] += 1;
  m_customer_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  m_customer_3[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  m_customer_4[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
  m_customer_5[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * q22_groups[avg] ELSE 0;
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * c_acctbal * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN c_acctbal * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q13_groups_count[c_custkey] += -1 * q13_matched_n[c_custkey];
  q13_groups_count[c_custkey] += -1;
  q13_groups_count[c_custkey] += q13_matched[c_custkey];
  q13_groups_c_count[c_custkey] += -1 * q13_matched_n[c_custkey];
  m_customer_q22_exists_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * q22_exists[c_custkey] ELSE 0;
  m_customer_q22_exists_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal * q22_exists[c_custkey] ELSE 0;
  q22_groups_count[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  q22_groups_avg_sum[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
  m_customer_1[c_custkey] += -1;
  m_customer_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  m_customer_3[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  m_customer_4[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
  m_customer_5[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
}

ON +part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q17_count[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN m_q17_groups_1[part, p_partkey] * m_lineitem_1[p_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN m_q17_groups_1[part, p_partkey] * m_lineitem_2[p_partkey, l_quantity] ELSE 0;
  m_part_1[p_partkey] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' THEN 1 ELSE 0;
}

ON -part(p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment) DO {
  q17_count[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN -1 * m_q17_groups_1[part, p_partkey] * m_lineitem_1[p_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < part THEN -1 * m_q17_groups_1[part, p_partkey] * m_lineitem_2[p_partkey, l_quantity] ELSE 0;
  m_part_1[p_partkey] += IF p_brand = 'Brand#23' AND p_container = 'MED BOX' THEN -1 ELSE 0;
}

ON +partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q11_groups_count[] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_sum[] += (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_count[ps_partkey] += m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_sum[ps_partkey] += (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  m_partsupp_supplier_1[s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_2[s_nationkey] += (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_1[ps_suppkey] += 1;
  m_partsupp_2[ps_suppkey] += (ps_supplycost * ps_availqty);
  m_partsupp_3[ps_partkey, ps_suppkey] += 1;
  m_partsupp_4[ps_partkey, ps_suppkey] += (ps_supplycost * ps_availqty);
}

ON -partsupp(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment) DO {
  q11_groups_count[] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_sum[] += -1 * (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_count[ps_partkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_sum[ps_partkey] += -1 * (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey] * m_nation_1[s_nationkey];
  m_partsupp_supplier_1[s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_2[s_nationkey] += -1 * (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += -1 * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += -1 * (ps_supplycost * ps_availqty) * m_supplier_1[s_nationkey, ps_suppkey];
  m_partsupp_1[ps_suppkey] += -1;
  m_partsupp_2[ps_suppkey] += -1 * (ps_supplycost * ps_availqty);
  m_partsupp_3[ps_partkey, ps_suppkey] += -1;
  m_partsupp_4[ps_partkey, ps_suppkey] += -1 * (ps_supplycost * ps_availqty);
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q13_groups_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN m_customer_1[o_custkey] ELSE 0;
  q13_groups_c_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN m_customer_1[o_custkey] ELSE 0;
  q13_matched_n[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN 1 ELSE 0;
  q22_exists_n[o_custkey] += 1;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q13_groups_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 * m_customer_1[o_custkey] ELSE 0;
  q13_groups_c_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 * m_customer_1[o_custkey] ELSE 0;
  q13_matched_n[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 ELSE 0;
  q22_exists_n[o_custkey] += -1;
}

ON +lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q17_count[] += IF l_quantity < part THEN m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < part THEN l_extendedprice * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q15_groups_count[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN 1 ELSE 0;
  q15_groups_total_revenue[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN (l_extendedprice * (1 - l_discount)) ELSE 0;
  q17_groups_count[l_partkey] += 1;
  q17_groups_avg_sum[l_partkey] += l_quantity;
  m_lineitem_1[l_partkey, l_quantity] += 1;
  m_lineitem_2[l_partkey, l_quantity] += l_extendedprice;
}

ON -lineitem(l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment) DO {
  q17_count[] += IF l_quantity < part THEN -1 * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < part THEN -1 * l_extendedprice * m_part_1[l_partkey] * m_q17_groups_1[part, l_partkey] ELSE 0;
  q15_groups_count[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN -1 ELSE 0;
  q15_groups_total_revenue[l_suppkey] += IF l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' THEN -1 * (l_extendedprice * (1 - l_discount)) ELSE 0;
  q17_groups_count[l_partkey] += -1;
  q17_groups_avg_sum[l_partkey] += -1 * l_quantity;
  m_lineitem_1[l_partkey, l_quantity] += -1;
  m_lineitem_2[l_partkey, l_quantity] += -1 * l_extendedprice;
}

ON CHANGE q11_groups(sum_2, failed) DO {
  q11_rows[ps_partkey, value] += IF value > sum_2 * 0.0001 THEN q11_groups_2[ps_partkey, value, any_failed] ELSE 0;
  q11_failed_2[] += IF failed = 1 THEN 1 ELSE 0;
  m_q11_groups_1[sum_2 * 0.0001] += 1;
}

ON CHANGE q11_groups_2(ps_partkey, sum_2, failed) DO {
  q11_rows[ps_partkey, sum_2] += IF sum_2 > part THEN m_q11_groups_1[part] ELSE 0;
  q11_failed[ps_partkey] += IF failed = 1 THEN 1 ELSE 0;
}

ON CHANGE q13_matched(o_custkey) DO {
  q13_groups_count[o_custkey] += -1 * m_customer_1[o_custkey];
}

ON CHANGE q13_groups(c_custkey, c_count_2) DO {
  q13_count[c_count_2] += 1;
}

ON CHANGE q15_groups(supplier_no, total_revenue_2, failed) DO {
  q15_rows[supplier_no, s_name, s_address, s_phone, total_revenue_2] += m_q15_groups_2_1[total_revenue_2] * m_supplier_2[s_address, s_name, s_phone, supplier_no];
  m_q15_groups_q15_groups_2_1[supplier_no, total_revenue_2] += m_q15_groups_2_1[total_revenue_2];
  m_q15_groups_supplier_1[supplier_no, total_revenue_2, s_address, s_name, s_phone] += m_supplier_2[s_address, s_name, s_phone, supplier_no];
  q15_groups_2_count[] += 1;
  q15_groups_2_max[total_revenue_2] += 1;
  q15_failed[supplier_no] += IF failed = 1 THEN 1 ELSE 0;
}

ON CHANGE q15_groups_2(max_2) DO {
  q15_rows[s_suppkey, s_name, s_address, s_phone, max_2] += IF NOT max_2 IS NULL THEN m_q15_groups_supplier_1[s_suppkey, max_2, s_address, s_name, s_phone] ELSE 0;
  m_q15_groups_q15_groups_2_1[s_suppkey, max_2] += IF NOT max_2 IS NULL THEN q15_groups[s_suppkey, max_2, any_failed] ELSE 0;
  m_q15_groups_2_1[max_2] += IF NOT max_2 IS NULL THEN 1 ELSE 0;
}

ON CHANGE q17_groups(l_partkey, avg) DO {
  q17_count[] += IF l_quantity < 0.2 * avg THEN m_part_1[l_partkey] * m_lineitem_1[l_partkey, l_quantity] ELSE 0;
  q17_avg_yearly[] += IF l_quantity < 0.2 * avg THEN m_part_1[l_partkey] * m_lineitem_2[l_partkey, l_quantity] ELSE 0;
  m_q17_groups_1[0.2 * avg, l_partkey] += 1;
}

ON CHANGE q22_groups(avg) DO {
  q22_count[cntrycode] += IF c_acctbal > avg THEN m_customer_2[cntrycode, c_acctbal] ELSE 0;
  q22_count[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_q22_exists_1[cntrycode, c_acctbal] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN m_customer_4[cntrycode, c_acctbal] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_q22_exists_2[cntrycode, c_acctbal] ELSE 0;
}

ON CHANGE q22_exists(o_custkey) DO {
  q22_count[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_3[cntrycode, c_acctbal, o_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_5[cntrycode, c_acctbal, o_custkey] * q22_groups[avg] ELSE 0;
  m_customer_q22_exists_1[cntrycode, c_acctbal] += m_customer_3[cntrycode, c_acctbal, o_custkey];
  m_customer_q22_exists_2[cntrycode, c_acctbal] += m_customer_5[cntrycode, c_acctbal, o_custkey];
}
