PROGRAM q11 SEMANTICS SNAPSHOT;

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
MAP q11_rows[ps_partkey INT, value DECIMAL(38, 2)] : INT
  MEANING 'SELECT q11_groups_2.ps_partkey, q11_groups_2.sum_2, COUNT(*) FROM q11_groups_2, q11_groups WHERE q11_groups_2.sum_2 > (q11_groups.sum_2 * 0.0001) GROUP BY q11_groups_2.ps_partkey, q11_groups_2.sum_2';
MAP q11_failed[ps_partkey INT] : INT
  MEANING 'SELECT q11_groups_2.ps_partkey, COUNT(*) FROM q11_groups_2 WHERE q11_groups_2.failed = 1 GROUP BY q11_groups_2.ps_partkey';
MAP q11_failed_2[] : INT
  MEANING 'SELECT COUNT(*) FROM q11_groups WHERE q11_groups.failed = 1';
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
MAP m_q11_groups_1[part DECIMAL(38, 6) NULL] : INT
  MEANING 'SELECT q11_groups.sum_2 * 0.0001, COUNT(*) FROM q11_groups GROUP BY q11_groups.sum_2 * 0.0001';
MAP q11_groups[sum_2 DECIMAL(38, 2) NULL, failed INT] : INT
  MEANING 'one row';
MAP q11_groups_2[ps_partkey INT, sum_2 DECIMAL(38, 2), failed INT] : INT
  MEANING 'one row per (ps_partkey)';

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
  m_partsupp_supplier_1[s_nationkey] += m_partsupp_1[s_suppkey];
  m_partsupp_supplier_2[s_nationkey] += m_partsupp_2[s_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += m_partsupp_3[ps_partkey, s_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += m_partsupp_4[ps_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += 1;
}

ON -supplier(s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment) DO {
  q11_groups_count[] += -1 * m_partsupp_1[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_sum[] += -1 * m_partsupp_2[s_suppkey] * m_nation_1[s_nationkey];
  q11_groups_2_count[ps_partkey] += -1 * m_nation_1[s_nationkey] * m_partsupp_3[ps_partkey, s_suppkey];
  q11_groups_2_sum[ps_partkey] += -1 * m_nation_1[s_nationkey] * m_partsupp_4[ps_partkey, s_suppkey];
  m_partsupp_supplier_1[s_nationkey] += -1 * m_partsupp_1[s_suppkey];
  m_partsupp_supplier_2[s_nationkey] += -1 * m_partsupp_2[s_suppkey];
  m_partsupp_supplier_3[ps_partkey, s_nationkey] += -1 * m_partsupp_3[ps_partkey, s_suppkey];
  m_partsupp_supplier_4[ps_partkey, s_nationkey] += -1 * m_partsupp_4[ps_partkey, s_suppkey];
  m_supplier_1[s_nationkey, s_suppkey] += -1;
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

ON CHANGE q11_groups(sum_2, failed) DO {
  q11_rows[ps_partkey, value] += IF value > sum_2 * 0.0001 THEN q11_groups_2[ps_partkey, value, any_failed] ELSE 0;
  q11_failed_2[] += IF failed = 1 THEN 1 ELSE 0;
  m_q11_groups_1[sum_2 * 0.0001] += 1;
}

ON CHANGE q11_groups_2(ps_partkey, sum_2, failed) DO {
  q11_rows[ps_partkey, sum_2] += IF sum_2 > part THEN m_q11_groups_1[part] ELSE 0;
  q11_failed[ps_partkey] += IF failed = 1 THEN 1 ELSE 0;
}
