PROGRAM q22 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q22_groups_count[] : INT
  MEANING 'SELECT COUNT(*) FROM customer WHERE customer.c_acctbal > 0.00 AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')';
MAP q22_groups_avg_sum[] : DECIMAL(25, 2)
  MEANING 'SELECT SUM(customer.c_acctbal) FROM customer WHERE customer.c_acctbal > 0.00 AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'')';
MAP q22_exists_n[o_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders GROUP BY orders.o_custkey';
MAP q22_count[cntrycode STRING] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), COUNT(*) FROM customer, q22_groups WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2) UNION ALL SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(-1) FROM customer, q22_groups, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2)';
MAP q22_totacctbal[cntrycode STRING] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(customer.c_acctbal) FROM customer, q22_groups WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2) UNION ALL SELECT SUBSTRING(customer.c_phone, 1, 2), SUM(-1 * customer.c_acctbal) FROM customer, q22_groups, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') AND customer.c_acctbal > q22_groups.avg GROUP BY SUBSTRING(customer.c_phone, 1, 2)';
MAP m_customer_1[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, COUNT(*) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_q22_exists_1[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, COUNT(*) FROM customer, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_2[cntrycode STRING, c_acctbal DECIMAL(15, 2), o_custkey INT] : INT
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey, COUNT(*) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey';
MAP m_customer_3[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, SUM(customer.c_acctbal) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_q22_exists_2[cntrycode STRING, c_acctbal DECIMAL(15, 2)] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, SUM(customer.c_acctbal) FROM customer, q22_exists WHERE customer.c_custkey = q22_exists.o_custkey AND SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal';
MAP m_customer_4[cntrycode STRING, c_acctbal DECIMAL(15, 2), o_custkey INT] : DECIMAL(25, 2)
  MEANING 'SELECT SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey, SUM(customer.c_acctbal) FROM customer WHERE SUBSTRING(customer.c_phone, 1, 2) IN (''13'', ''31'', ''23'', ''29'', ''30'', ''18'', ''17'') GROUP BY SUBSTRING(customer.c_phone, 1, 2), customer.c_acctbal, customer.c_custkey';
MAP q22_groups[avg DECIMAL(38, 15) NULL] : INT
  MEANING 'one row';
MAP q22_exists[o_custkey INT] : INT
  MEANING 'one row per (o_custkey)';

DERIVE q22_groups[]
  FROM count = q22_groups_count, avg_sum = q22_groups_avg_sum
  SELECT avg = CASE WHEN count > 0 THEN avg_sum / count ELSE NULL :: DECIMAL(38, 15) END
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;
DERIVE q22_exists[o_custkey]
  FROM n = q22_exists_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;

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

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN q22_groups[avg] ELSE 0;
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN c_acctbal * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * c_acctbal * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  m_customer_q22_exists_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN q22_exists[c_custkey] ELSE 0;
  m_customer_q22_exists_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal * q22_exists[c_custkey] ELSE 0;
  q22_groups_count[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  q22_groups_avg_sum[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
  m_customer_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  m_customer_2[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN 1 ELSE 0;
  m_customer_3[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
  m_customer_4[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN c_acctbal ELSE 0;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * q22_groups[avg] ELSE 0;
  q22_count[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN -1 * c_acctbal * q22_groups[avg] ELSE 0;
  q22_totacctbal[SUBSTRING(c_phone, 1, 2)] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > avg THEN c_acctbal * q22_exists[c_custkey] * q22_groups[avg] ELSE 0;
  m_customer_q22_exists_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * q22_exists[c_custkey] ELSE 0;
  m_customer_q22_exists_2[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal * q22_exists[c_custkey] ELSE 0;
  q22_groups_count[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  q22_groups_avg_sum[] += IF c_acctbal > 0.00 AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
  m_customer_1[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  m_customer_2[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 ELSE 0;
  m_customer_3[SUBSTRING(c_phone, 1, 2), c_acctbal] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
  m_customer_4[SUBSTRING(c_phone, 1, 2), c_acctbal, c_custkey] += IF SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17') THEN -1 * c_acctbal ELSE 0;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q22_exists_n[o_custkey] += 1;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q22_exists_n[o_custkey] += -1;
}

ON CHANGE q22_groups(avg) DO {
  q22_count[cntrycode] += IF c_acctbal > avg THEN m_customer_1[cntrycode, c_acctbal] ELSE 0;
  q22_count[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_q22_exists_1[cntrycode, c_acctbal] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN m_customer_3[cntrycode, c_acctbal] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_q22_exists_2[cntrycode, c_acctbal] ELSE 0;
}

ON CHANGE q22_exists(o_custkey) DO {
  q22_count[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_2[cntrycode, c_acctbal, o_custkey] * q22_groups[avg] ELSE 0;
  q22_totacctbal[cntrycode] += IF c_acctbal > avg THEN -1 * m_customer_4[cntrycode, c_acctbal, o_custkey] * q22_groups[avg] ELSE 0;
  m_customer_q22_exists_1[cntrycode, c_acctbal] += m_customer_2[cntrycode, c_acctbal, o_custkey];
  m_customer_q22_exists_2[cntrycode, c_acctbal] += m_customer_4[cntrycode, c_acctbal, o_custkey];
}
