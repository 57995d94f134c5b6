PROGRAM q13 SEMANTICS SNAPSHOT;

RELATION region(r_regionkey INT, r_name STRING, r_comment STRING) KEY (r_regionkey);
RELATION nation(n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) KEY (n_nationkey);
RELATION supplier(s_suppkey INT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15, 2), s_comment STRING) KEY (s_suppkey);
RELATION customer(c_custkey INT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15, 2), c_mktsegment STRING, c_comment STRING) KEY (c_custkey);
RELATION part(p_partkey INT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15, 2), p_comment STRING) KEY (p_partkey);
RELATION partsupp(ps_partkey INT, ps_suppkey INT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment STRING) KEY (ps_partkey, ps_suppkey);
RELATION orders(o_orderkey INT, o_custkey INT, o_orderstatus STRING, o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) KEY (o_orderkey);
RELATION lineitem(l_orderkey INT, l_partkey INT, l_suppkey INT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) KEY (l_orderkey, l_linenumber);

MAP q13_matched_n[o_custkey INT] : INT
  MEANING 'SELECT orders.o_custkey, COUNT(*) FROM orders WHERE NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY orders.o_custkey';
MAP q13_groups_count[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer, orders WHERE customer.c_custkey = orders.o_custkey AND NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY customer.c_custkey UNION ALL SELECT customer.c_custkey, COUNT(*) FROM customer GROUP BY customer.c_custkey UNION ALL SELECT customer.c_custkey, SUM(-1) FROM customer, q13_matched WHERE customer.c_custkey = q13_matched.o_custkey GROUP BY customer.c_custkey';
MAP q13_groups_c_count[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer, orders WHERE customer.c_custkey = orders.o_custkey AND NOT orders.o_comment LIKE ''%special%requests%'' GROUP BY customer.c_custkey';
MAP q13_count[c_count INT] : INT
  MEANING 'SELECT q13_groups.c_count_2, COUNT(*) FROM q13_groups GROUP BY q13_groups.c_count_2';
MAP m_customer_1[c_custkey INT] : INT
  MEANING 'SELECT customer.c_custkey, COUNT(*) FROM customer GROUP BY customer.c_custkey';
MAP q13_matched[o_custkey INT] : INT
  MEANING 'one row per (o_custkey)';
MAP q13_groups[c_custkey INT, c_count_2 INT] : INT
  MEANING 'one row per (c_custkey)';

DERIVE q13_matched[o_custkey]
  FROM n = q13_matched_n
  COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
DERIVE q13_groups[c_custkey]
  FROM count = q13_groups_count, c_count = q13_groups_c_count
  SELECT c_count_2 = c_count
  COUNT CASE WHEN count > 0 THEN 1 ELSE 0 END;

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

ON +customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q13_groups_count[c_custkey] += q13_matched_n[c_custkey];
  q13_groups_count[c_custkey] += 1;
  q13_groups_count[c_custkey] += -1 * q13_matched[c_custkey];
  q13_groups_c_count[c_custkey] += q13_matched_n[c_custkey];
  m_customer_1[c_custkey] += 1;
}

ON -customer(c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment) DO {
  q13_groups_count[c_custkey] += -1 * q13_matched_n[c_custkey];
  q13_groups_count[c_custkey] += -1;
  q13_groups_count[c_custkey] += q13_matched[c_custkey];
  q13_groups_c_count[c_custkey] += -1 * q13_matched_n[c_custkey];
  m_customer_1[c_custkey] += -1;
}

ON +orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q13_groups_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN m_customer_1[o_custkey] ELSE 0;
  q13_groups_c_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN m_customer_1[o_custkey] ELSE 0;
  q13_matched_n[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN 1 ELSE 0;
}

ON -orders(o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment) DO {
  q13_groups_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 * m_customer_1[o_custkey] ELSE 0;
  q13_groups_c_count[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 * m_customer_1[o_custkey] ELSE 0;
  q13_matched_n[o_custkey] += IF NOT o_comment LIKE '%special%requests%' THEN -1 ELSE 0;
}

ON CHANGE q13_matched(o_custkey) DO {
  q13_groups_count[o_custkey] += -1 * m_customer_1[o_custkey];
}

ON CHANGE q13_groups(c_custkey, c_count_2) DO {
  q13_count[c_count_2] += 1;
}
